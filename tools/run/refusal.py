"""Says what there is against a pipeline, in a process of its own: hlo-run must not load jaxlib before its program.

python -m hloverlap.tools.run.refusal TEXT     prints one error, or nothing
"""

from __future__ import annotations

import sys


def main(pipeline: str) -> None:
    """Runs `pipeline` on an empty module, so that options which only a pass can judge are judged as well."""
    from jaxlib.mlir import ir

    from hloverlap.passes.errors import PipelineError
    from hloverlap.passes.mlir.dialects import make_context
    from hloverlap.pipeline.execution import running

    try:
        running.run(ir.Module.parse("module {}", make_context()), pipeline)
    except PipelineError as error:
        print(error)


if __name__ == "__main__":
    main(sys.argv[1])
