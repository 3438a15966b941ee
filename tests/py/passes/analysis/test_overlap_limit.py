"""What a higher overlap limit does to others is what XLA does: two opposite permutes beside chains of all-to-alls."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.capabilities import capabilities
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import OVERLAP_LIMIT
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.audit.audits import Setting, Subject, audit_all
from hloverlap.pipeline.audit.compiled import Program

BLOCK, ROWS, WEIGHT = "tensor<4x512x1024xbf16>", "tensor<2048x1024xbf16>", "tensor<1024x1024xbf16>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
GROUPS = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
DIMENSIONS = "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64"


def all_to_all(result: str, operand: str) -> str:
    carried = f"{DIMENSIONS}, {CHANNEL}, {GROUPS}"
    return f'%{result} = "stablehlo.all_to_all"(%{operand}) <{{{carried}}}> : ({BLOCK}) -> {BLOCK}'


def permute(result: str, operand: str, step: int) -> str:
    pairs = f"source_target_pairs = dense<{[[each, (each + step) % 4] for each in range(4)]}> : tensor<4x2xi64>"
    return f'%{result} = "stablehlo.collective_permute"(%{operand}) <{{{CHANNEL}, {pairs}}}> : ({BLOCK}) -> {BLOCK}'


def matmul(result: str, operand: str, weight: str) -> list[str]:
    return [
        f"%{result}.r = stablehlo.reshape %{operand} : ({BLOCK}) -> {ROWS}",
        f"%{result} = stablehlo.dot_general %{result}.r, %{weight}, contracting_dims = [1] x [0] "
        f": ({ROWS}, {WEIGHT}) -> {ROWS}",
    ]


def chains(count: int, layers: int, shared: bool) -> str:
    """Two permutes with a matmul each, and chains of all-to-all, matmul, tanh, all-to-all.

    shared: the matmuls of one layer have one weight.
    """
    blocks, weights = {"x": BLOCK, "y": BLOCK}, {"u": WEIGHT, "v": WEIGHT}
    lines = [permute("p", "x", 1), permute("q", "y", 3), *matmul("px", "x", "u"), *matmul("qy", "y", "v")]
    returned = {"px": ROWS, "qy": ROWS, "p": BLOCK, "q": BLOCK}
    for chain in range(count):
        last = f"z{chain}"
        blocks[last] = BLOCK
        for layer in range(layers):
            name = f"{chain}_{layer}"
            weight = f"w{layer}" if shared else f"w{name}"
            weights[weight] = WEIGHT
            lines += [all_to_all(f"a{name}", last), *matmul(f"m{name}", f"a{name}", weight)]
            lines.append(f"%t{name} = stablehlo.tanh %m{name} : {ROWS}")
            lines.append(f"%b{name} = stablehlo.reshape %t{name} : ({ROWS}) -> {BLOCK}")
            lines.append(all_to_all(f"o{name}", f"b{name}"))
            last = f"o{name}"
        returned[last] = BLOCK
    given = ", ".join(f"%{name}: {kind}" for name, kind in {**blocks, **weights}.items())
    types = ", ".join(returned.values())
    body = "\n".join([*lines, f"return {', '.join(f'%{name}' for name in returned)} : {types}"])
    return (
        "module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
        f"func.func public @main({given}) -> ({types}) {{\n{body}\n}}\n}}"
    )


def not_hidden(text: str, limit: int) -> int:
    """Compiles at a limit, with the permutes on streams of their own above 1; counts all-to-alls that nothing hides."""
    with make_context() as context:
        module = ir.Module.parse(text, context)
        for number, op in enumerate(ops_in(module.operation, PERMUTE) if limit > 1 else ()):
            stream_annotations.annotate(op, capabilities().first_stream + number, number)
        setting = Setting(targets.find("h200"), Topology.parse("1x4"), use_cache=False)
        (found,) = audit_all([Subject(module, "chains", {OVERLAP_LIMIT: limit})], setting)
    assert isinstance(found.outcome, Program), found.outcome
    return sum(not launch.hidden for launch in found.outcome.launches if launch.kind == "all-to-all")


def test_others_lose_where_matmuls_are_merged() -> None:
    text = chains(4, 3, shared=True)
    assert not_hidden(text, 1) < not_hidden(text, 2)


def test_others_lose_nothing_where_no_matmuls_are_merged() -> None:
    text = chains(2, 2, shared=False)
    assert not_hidden(text, 1) >= not_hidden(text, 2)
