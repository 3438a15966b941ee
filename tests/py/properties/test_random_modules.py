"""Every pass and every pipeline, on random modules: same results, same bytes in every process, nothing to do twice.

    pytest tests/py/properties                                   a few modules, always the same ones
    pytest tests/py/properties --examples=5000 --seed=7          a campaign

A module that shows a mistake is shrunk and left in the folder that the failure names.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from generation.modules import Generated, modules
from generation.worker import Worker
from hloverlap.passes import registry

# Every pass by itself, every named pipeline, and what options and order may change.
PIPELINES = (
    *registry.BUILTIN,
    *registry.PIPELINES,
    "merge-cross-host-transfers{scope=all}",
    "merge-cross-host-transfers{strategy=concat scope=all}",
    "merge-cross-host-transfers{strategy=group scope=all}",
    "assign-collective-streams{max-streams=2 first-stream=5 collectives=all}",
    "canonicalize-permutes,merge-cross-host-transfers{strategy=concat max-bytes=64},assign-collective-streams",
)
# One pass may leave something for another one before it, so these are not idempotent as a whole.
MIXED = (
    "lower-send-recv,compose-permutes,hoist-permutes,split-permutes-by-host,join-partial-permutes,overlap",
    "overlap,cse,func.func(canonicalize),symbol-dce,overlap",
)


@pytest.fixture(scope="session")
def workers() -> Iterator[tuple[Worker, Worker]]:
    """Two processes that hash differently."""
    both = Worker(hash_seed=1), Worker(hash_seed=2)
    yield both
    for worker in both:
        worker.close()


@st.composite
def topologies(draw: st.DrawFn, devices: int) -> str | None:
    """Nothing, everybody on one host, or hosts at random."""
    if draw(st.booleans()):
        return None
    return str(draw(st.lists(st.integers(0, 2), min_size=devices, max_size=devices)))


def problems(workers: tuple[Worker, Worker], module: Generated, topology: str | None, number: int) -> list[str]:
    """What is wrong, in sentences."""
    request = {
        "text": module.text, "pipelines": PIPELINES, "mixed": MIXED, "topology": topology,
        "runnable": module.runnable, "seed": number,
    }  # fmt: skip
    first, second = (worker.examine(**request, deep=worker is workers[0]) for worker in workers)
    found = [*first["problems"], *second["problems"]]
    for pipeline, image in first["images"].items():
        if second["images"].get(pipeline, image) != image:
            found.append(f"{pipeline}: two processes write different bytes")
    return found


def test_passes_keep_their_promises(workers: tuple[Worker, Worker], request: pytest.FixtureRequest) -> None:
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("random-modules")

    @seed(request.config.getoption("--seed"))
    @settings(
        max_examples=request.config.getoption("--examples"),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        phases=[Phase.generate] if request.config.getoption("--no-shrink") else [Phase.generate, Phase.shrink],
    )
    @given(data=st.data(), module=modules())
    def examine(data: st.DataObject, module: Generated) -> None:
        topology = data.draw(topologies(module.devices))
        found = problems(workers, module, topology, data.draw(st.integers(0, 9)))
        if found:
            left = folder / "shrunk.mlir"  # the last one written is the smallest
            left.write_text(module.text)
            (folder / "shrunk.txt").write_text("\n".join([f"topology {topology}", *found]))
            raise AssertionError("\n".join([f"the module is in {left}", *found]))

    examine()
