"""A first call: what the pipeline costs beside what XLA costs."""

from __future__ import annotations

import pathlib
import time

import jax
import pytest

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.equivalence.entry import Entry
from hloverlap.pipeline.formats import reading
from hloverlap.pipeline.jax_internals import executables
from hloverlap.pipeline.jax_jit import rewriting
from hloverlap.pipeline.jax_jit.config import JitConfig
from hloverlap.tools.samples import SAMPLES, module_path

MOST = 0.05  # of the time that XLA:CPU takes, which is less than what XLA:GPU takes
CORPUS = ("collective_matmul_4", "jaxfluids_riemann2d_4x2", "ringattention_fwd", "ringattention_grad")


def share_of_rewriting(path: pathlib.Path) -> float:
    """All that happens before XLA is called, as a share of what XLA takes, both in seconds of processor time.

    Of a few runs the best counts: the first one also imports the passes.
    """
    module = reading.read_path(str(path), make_context()).module
    entry = Entry.of(module)
    devices = jax.devices()[: entry.replicas * entry.partitions]
    config = JitConfig("overlap")
    start = time.process_time()
    executables.compile_and_load(module, devices, entry.replicas, entry.partitions, {}, entry.shardy)
    compiling = time.process_time() - start
    runs = []
    for _ in range(8):
        start = time.process_time()
        rewriting.rewrite(config, module, "cpu", devices)
        runs.append(time.process_time() - start)
    return min(runs) / compiling


@pytest.mark.timed
@pytest.mark.parametrize("name", [sample.name for sample in SAMPLES])
def test_passes_take_little_of_a_compile(name: str) -> None:
    assert share_of_rewriting(module_path(name)) < MOST


@pytest.mark.timed
@pytest.mark.parametrize("name", CORPUS)
def test_passes_take_little_of_a_compile_of_real_programs(name: str, corpus: pathlib.Path) -> None:
    assert share_of_rewriting(corpus / f"{name}.mlir") < MOST
