"""XLA compiles what comes out of random modules, and computes the same: a twentieth of them, since it takes seconds."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from generation.modules import Generated, modules
from hloverlap.pipeline import run
from hloverlap.pipeline.equivalence import checking
from support.machines import EAGER

PIPELINE = "lower-send-recv,compose-permutes,hoist-permutes,split-permutes-by-host,join-partial-permutes,overlap"


def test_what_comes_out_compiles_and_computes_the_same(request: pytest.FixtureRequest) -> None:
    assert request.config.cache is not None
    folder = request.config.cache.mkdir("random-modules")
    equal = []

    @seed(request.config.getoption("--seed"))
    @settings(
        max_examples=max(2, request.config.getoption("--examples") // 20),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        phases=[Phase.generate],  # one check takes too long to shrink by
    )
    @given(module=modules())
    def examine(module: Generated) -> None:
        hosts = str([number * 2 // module.devices for number in range(module.devices)])
        for pipeline in ("overlap", PIPELINE):
            result = run(module.text.encode(), pipeline, topology=hosts, target=EAGER)
            found = checking.check(module.text.encode(), str(result.module).encode(), seeds=(0, 2))
            equal.append(found.status == "equal")
            if found.status == "different" or (found.status == "not-run" and module.runnable):
                (folder / "xla.mlir").write_text(module.text)
                raise AssertionError(f"{pipeline}: {found}; the module is in {folder / 'xla.mlir'}")

    examine()
    assert any(equal)
