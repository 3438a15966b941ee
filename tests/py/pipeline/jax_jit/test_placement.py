"""Where the devices of a lowering are, as jax and the user say it."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap import pipeline
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.execution import running
from hloverlap.pipeline.jax_internals import lowerings
from hloverlap.pipeline.jax_jit.placement import placed, topology_of
from support.permutes import permute

LARGE, MATRIX = "tensor<16777216xf32>", "tensor<4096x4096xf32>"
RIGHT, LEFT = [(n, (n + 1) % 8) for n in range(8)], [(n, (n - 1) % 8) for n in range(8)]


def gpus(*places: tuple[int, int | None]) -> list[Any]:
    """GPUs with this process and this slice each; None for a plugin that does not say the slice."""
    rest = {"platform": "gpu", "device_kind": "NVIDIA H200"}
    return [
        SimpleNamespace(process_index=process, **rest, **({} if of is None else {"slice_index": of}))
        for process, of in places
    ]


def module(matmul: bool) -> str:
    """Two opposite permutes of 64 MiB, alone or beside a matmul."""
    dot = f"%2 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0] : ({MATRIX}, {MATRIX}) -> {MATRIX}"
    return f"""module attributes {{mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func public @main(%a: {LARGE}, %b: {LARGE}, %w: {MATRIX}) -> ({LARGE}, {LARGE}, {MATRIX}) {{
    {permute("%0", "%a", RIGHT, LARGE)}
    {permute("%1", "%b", LEFT, LARGE)}
    {dot if matmul else ""}
    return %0, %1, {"%2" if matmul else "%w"} : {LARGE}, {LARGE}, {MATRIX}
  }}
}}"""


H200 = targets.find("h200")
EIGHT_PROCESSES = gpus(*((n, 0) for n in range(8)))


def test_processes_are_not_hosts() -> None:
    assert topology_of(EIGHT_PROCESSES) == Topology.parse("1x8x1")
    assert topology_of(gpus((0, 0), (0, 0), (1, 0), (1, 0))) == Topology.parse("1x2x2")
    assert topology_of(gpus((0, 0), (1, 0), (2, 1), (3, 1))) == Topology.parse("2x2x1")
    assert topology_of(gpus((0, 0), (0, 0))) == Topology.parse("1x1x2")
    assert topology_of([]) is None


def test_what_nobody_says_is_unknown() -> None:
    assert topology_of(gpus((0, None), (1, None))) == Topology(None, (0, 1))
    assert topology_of(gpus((0, None), (0, None))) == Topology.parse("1x1x2")  # a process is on one host
    assert topology_of(lowerings.devices_of(jax.jit(lambda x: x).lower(1.0))) == Topology.parse("1x1x1")


@pytest.mark.parametrize(("text", "host"), [("1x1x4", (0,) * 4), ("2x2x1", None), ("1x4x1", None)])
def test_devices_that_are_only_compiled_for_do_not_say_their_host(text: str, host: tuple[int, ...] | None) -> None:
    pytest.importorskip("jax_plugins.xla_cuda13")
    config = {"target_config": H200.gpu_target_config}
    devices = topologies.get_topology_desc(platform="cuda", topology=text, **config).devices
    assert topology_of(devices) == Topology(host, Topology.parse(text).process)


@pytest.mark.parametrize("topology", ["1x8x1", topology_of(EIGHT_PROCESSES)])
@pytest.mark.parametrize("matmul", [True, False])
def test_eight_processes_of_one_host(topology: Topology | str, matmul: bool) -> None:
    result = running.run(module(matmul), "overlap", topology=topology, target=H200)
    assert str(result.module).count("_xla_stream_annotation") == (2 if matmul else 0)
    assert "xla_gpu_collective_permute_mode" not in result.compile_options
    assert "between hosts" not in " ".join(remark.message for remark in result.remarks)
    assert "MCT001" not in {remark.code for remark in result.remarks}
    assert {remark.code for remark in result.remarks if remark.code[:3] == "ACS"} == {"ACS001" if matmul else "ACS017"}


@pytest.mark.parametrize("topology", ["1x1x8", topology_of(gpus(*[(0, 0)] * 8))])
@pytest.mark.parametrize("matmul", [True, False])
def test_one_process_with_all(topology: Topology | str, matmul: bool) -> None:
    result = running.run(module(matmul), "overlap", topology=topology, target=H200)
    assert str(result.module).count("_xla_stream_annotation") == 2
    assert result.compile_options["xla_gpu_collective_permute_mode"] == "COLLECTIVES_PEER_MEMORY"


@pytest.mark.parametrize("topology", ["1x8", None])
def test_nothing_said_of_processes(topology: str | None) -> None:
    result = running.run(module(matmul=False), "overlap", topology=topology, target=H200)
    assert "xla_gpu_collective_permute_mode" not in result.compile_options
    (said,) = [remark.message for remark in result.remarks if remark.code == "ACS016"]
    assert said.endswith(
        "nobody said which process owns which device; a topology such as 1x1x8 says that one process owns all."
    )


def test_nothing_is_said_of_processes_where_they_do_not_matter() -> None:
    for target in (targets.find("b200"), targets.find("cpu"), None, Target("L4", platform="gpu", backend="gpu")):
        result = running.run(module(matmul=False), "overlap", topology="1x8", target=target)
        assert "ACS016" not in {remark.code for remark in result.remarks}


def test_a_smaller_mesh_is_where_its_devices_are() -> None:
    all_devices = jax.devices()
    given = Topology.parse("2x4")
    assert placed(given, all_devices) == given  # they are one process, which is not on two hosts
    assert placed(given, all_devices[2:6]) == Topology((0, 0, 1, 1))
    assert placed(given, all_devices[5:1:-1]) == Topology((1, 1, 0, 0))
    assert placed(given, all_devices[7:]) == Topology((1,), (0,))
    assert placed(Topology.parse("1x8"), all_devices[:4]) == Topology.parse("1x1x4")
    assert placed(Topology.parse("2x2"), all_devices[4:]) == Topology.parse("2x2")  # said of the partitions themselves
    assert placed(Topology.parse("2x3"), all_devices[4:]) == Topology.parse("1x1x4")  # of other devices
    assert placed(None, all_devices[4:]) == Topology.parse("1x1x4")
    assert placed(given, []) == given


def two_ways(mesh: Mesh) -> Any:
    ring = lambda by: [(n, (n + by) % mesh.size) for n in range(mesh.size)]  # noqa: E731

    def local(x: jax.Array) -> jax.Array:
        return jax.lax.ppermute(x, "x", ring(1)) + jax.lax.ppermute(2 * x, "x", ring(-1))

    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"))


def test_a_topology_is_of_the_machine_and_strict_does_not_mind_a_smaller_mesh() -> None:
    """A mesh across two hosts: its two opposite permutes are merged between them."""
    mesh = Mesh(np.array(jax.devices()[2:6]), "x")
    x = jax.device_put(np.arange(16, dtype=np.float32), NamedSharding(mesh, P("x")))
    with warnings.catch_warnings(), pipeline.enabled("overlap", topology="2x4", strict=True) as log:
        warnings.simplefilter("error")
        found = jax.jit(two_ways(mesh))(x)
        jax.jit(lambda x: x + 1)(x)
    assert (found == jax.jit(two_ways(mesh))(x)).all()
    assert "failed" not in {record.outcome for record in log}
    assert "cross hosts" not in " ".join(record.message for record in log)
