"""verify-collectives warns of what XLA really does: it is asked, in a process of its own that may abort."""

from __future__ import annotations

from collections.abc import Sequence

import jaxlib
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.context import Context
from hloverlap.passes.machine import targets
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import bytecode
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.verify_collectives import VerifyCollectives
from hloverlap.pipeline.execution import running
from hloverlap.pipeline.xla.isolated_compile import Dump, Failure, Request, compile_module
from support.small_modules import BACKWARD, FORWARD, function, module, permute

OLD_XLA = jaxlib.__version__.startswith("0.10.")


def annotated(result: str, operand: str, pairs: Sequence[Sequence[int]], stream: str) -> str:
    """A permute with a stream annotation."""
    attribute = f'}}> {{mhlo.frontend_attributes = {{_xla_stream_annotation = "{stream}"}}}} :'
    return permute(result, operand, pairs).replace("}> :", attribute)


def two(one: str, other: str) -> str:
    """A module of two independent permutes, and a matmul that they can run beside."""
    beside = [
        "%w = stablehlo.iota dim = 0 : tensor<1024x1024xf32>",
        "%d = stablehlo.dot %w, %w : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>",
        "%s = stablehlo.slice %d [0:1, 0:8] : (tensor<1024x1024xf32>) -> tensor<1x8xf32>",
        "%r = stablehlo.reshape %s : (tensor<1x8xf32>) -> tensor<8xf32>",
    ]
    total = "%2 = stablehlo.add %0, %1 : tensor<8xf32>"
    return module(function("main", 2, [one, other, *beside, total], ["%2", "%r"]))


def says(text: str) -> list[tuple[str, str]]:
    """Code and severity of each remark."""
    parsed = ir.Module.parse(text, make_context())
    context = Context()
    VerifyCollectives().run(parsed.operation, context)
    return [(remark.code, remark.severity) for remark in context.remarks]


def compiled(text: str) -> Dump | Failure:
    """What XLA:GPU makes of a module for four H200s."""
    request = Request(
        bytecode(ir.Module.parse(text, make_context())),
        backend="gpu",
        target_config=targets.find("h200").gpu_target_config,
        topology="1x1x4",
        replicas=1,
        partitions=4,
        shardy=True,
        options=(("xla_gpu_experimental_parallel_collective_overlap_limit", 2),),
    )
    return compile_module(request)


def test_joined_annotations_abort_xla_or_make_it_synchronous_and_are_caught_before() -> None:
    text = two(annotated("%0", "%a0", FORWARD, "5"), annotated("%1", "%a1", FORWARD, "6"))
    assert says(text) == [("VCL009", "error")]
    made = compiled(text)
    if OLD_XLA:
        assert isinstance(made, Failure)
        assert made.kind == "aborted", made
    else:
        assert isinstance(made, Dump)
        assert '"5,6"' in made.hlo  # which names no stream


def test_a_good_annotation_compiles_and_is_no_matter() -> None:
    text = two(annotated("%0", "%a0", FORWARD, "5"), permute("%1", "%a1", BACKWARD))
    assert says(text) == []
    assert isinstance(compiled(text), Dump)


def test_an_annotated_call_of_a_collective_fails_to_compile_and_is_caught_before() -> None:
    send = function("send", 1, [permute("%0", "%a0", FORWARD)], ["%0"], public=False)
    call = (
        '%0 = call @send(%a0) {mhlo.frontend_attributes = {_xla_stream_annotation = "1", inlineable = "false"}} : '
        "(tensor<8xf32>) -> tensor<8xf32>"
    )
    text = module(send, function("main", 1, [call], ["%0"]))
    assert says(text) == [("VCL003", "error")]
    made = compiled(text)
    assert isinstance(made, Failure)
    assert made.kind == "refused", made
    assert says(text.replace("_xla_stream", '_collectives_group = "", _xla_stream')) == [("VCL004", "error")]


@pytest.mark.parametrize("pairs", ["[[0, 1], [2, 1]]", "[[0, 1], [0, 2]]"])
def test_ids_that_are_there_twice_are_seen_where_no_verifier_looked(pairs: str) -> None:
    parsed = ir.Module.parse(module(function("main", 1, [permute("%0", "%a0", FORWARD)], ["%0"])), make_context())
    (permuted, *_) = Symbols(parsed.operation).functions["main"].regions[0].blocks[0].operations
    with parsed.context:
        permuted.operation.attributes["source_target_pairs"] = ir.Attribute.parse(f"dense<{pairs}> : tensor<2x2xi64>")
    context = Context()
    VerifyCollectives().run(parsed.operation, context)
    assert [remark.code for remark in context.remarks] == ["VCL005"]


def test_nothing_is_changed() -> None:
    text = two(annotated("%0", "%a0", FORWARD, "5"), annotated("%1", "%a1", BACKWARD, "100"))
    assert not running.run(text.encode(), "verify-collectives").changed
