"""Measures what runs faster on GPUs, by how much, and why.

    python tools/bench --seconds 540 --output results.json      # from a checkout; nothing needs to be installed
    python -m hloverlap.tools.bench report results.json         # its tables as Markdown

One process supervises, others measure: XLA may abort and NCCL may hang, and neither may cost what was measured before.
"""
