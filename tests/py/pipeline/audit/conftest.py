"""Modules with independent permutes, and XLA:GPU to compile them with."""

from __future__ import annotations

import importlib.util
import pathlib
from collections.abc import Callable, Sequence

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from support.permutes import permute

Ring = tuple[int, str]  # +1 or -1 around the ring, and the permute's frontend attributes


@pytest.fixture
def xla_gpu(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that takes this compiles with XLA:GPU, and starts with an empty cache."""
    if importlib.util.find_spec("jax_plugins") is None or importlib.util.find_spec("jax_plugins.xla_cuda13") is None:
        pytest.skip("the gpu extra is not installed")
    monkeypatch.setenv("HLOVERLAP_CACHE", str(tmp_path / "cache"))


def rings_text(permutes: Sequence[Ring], size: int = 1024, devices: int = 8) -> str:
    """Permutes of one size x size bf16 tensor each over a ring of devices, and one matmul beside them."""
    tensor = f"tensor<{size}x{size}xbf16>"
    count = len(permutes)
    arguments = ", ".join(f"%a{index}: {tensor}" for index in range(count + 2))
    results = ", ".join([tensor] * (count + 1))
    lines = [
        f"module @rings attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{",
        f"  func.func public @main({arguments}) -> ({results}) {{",
    ]
    for index, (step, attributes) in enumerate(permutes):
        pairs = [[device, (device + step) % devices] for device in range(devices)]
        carried = f"{{mhlo.frontend_attributes = {{{attributes}}}}}"
        lines.append(permute(f"%p{index}", f"%a{index}", pairs, tensor, attributes=carried))
    lines += [
        f"    %mm = stablehlo.dot_general %a{count}, %a{count + 1}, contracting_dims = [1] x [0] : "
        f"({tensor}, {tensor}) -> {tensor}",
        f"    return {', '.join(f'%p{index}' for index in range(count))}, %mm : {results}",
        "  }",
        "}",
    ]
    return "\n".join(lines)


@pytest.fixture
def rings() -> Callable[..., ir.Module]:
    """Makes modules of permutes beside a matmul, each given as (direction, text of its frontend attributes)."""
    return lambda permutes, **sizes: ir.Module.parse(rings_text(permutes, **sizes), make_context())
