"""verify-collectives and hlo-audit say the same of stream annotations and of what the combiner joins."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.context import Context
from hloverlap.passes.machine.capabilities import capabilities
from hloverlap.passes.verify_collectives import VerifyCollectives
from hloverlap.pipeline.audit import findings, hints
from hloverlap.pipeline.audit.foresight import JOINED
from hloverlap.pipeline.audit.op_ids import tag
from hloverlap.pipeline.xla.isolated_compile import Failure

Rings = Callable[..., ir.Module]

ABORTED = Failure("aborted", "Check failed: absl::SimpleAtoi(it->second, &assigned_stream_id)")
FIRST = capabilities().first_stream
TEXTS = ["0", "3", "5", "63", "64", "-0", "-1", "-2", "-9223372036854775809", "+3", " 3", "3 ", "03", "collective"]
TEXTS += [
    "COLLECTIVE",
    "2147483647",
    "2147483648",
    "99999999999999999999",
    "foo",
    "",
    "1.5",
    "3,4",
    "²",
    "٣",
    "9" * 9999,
]


def stream(text: str, key: str = "") -> str:
    return f'_xla_stream_annotation = "{text}"' + (f', combiner_key = "{key}"' if key else "")


def said(module: ir.Module) -> list[tuple[str, str]]:
    """Codes and texts of the remarks of verify-collectives that are errors or warnings."""
    context = Context(capabilities=capabilities())
    VerifyCollectives().run(module.operation, context)
    return [(remark.code, remark.message) for remark in context.remarks if remark.severity != "remark"]


@pytest.mark.parametrize("text", TEXTS)
def test_both_say_the_same_of_a_text(rings: Rings, text: str) -> None:
    module = rings([(1, ""), (-1, stream(text))])
    tagged = tag(module)
    remarks = said(module)
    assert [(each.code, each.text) for each in tagged.foreseen] == remarks
    assert [each.ids for each in tagged.foreseen] == [(1,)] * len(remarks)
    given = [hint for hint in hints.suggest(ABORTED, tagged, {}) if hint.code in ("HLA102", "HLA103")]
    assert [(hint.code, hint.message, hint.ids) for hint in given] == [
        ("HLA103", f"#1: {message}", (1,)) for _, message in remarks
    ]
    (finding,) = findings.find(ABORTED, tagged.collectives, tagged.foreseen)
    aborts = [message for code, message in remarks if code == "VCL001"]
    assert finding.ids == ((1,) if aborts else ())
    assert all(message in finding.message for message in aborts)


@pytest.mark.parametrize("stays", [FIRST, FIRST + 1, 63])
def test_both_are_silent_about_a_stream_that_xla_leaves_alone(rings: Rings, stays: int) -> None:
    module = rings([(1, ""), (-1, stream(str(stays)))])
    assert (said(module), tag(module).foreseen) == ([], ())


@pytest.mark.parametrize("kept", range(1, FIRST))
def test_both_name_a_stream_of_xlas_own(rings: Rings, kept: int) -> None:
    module = rings([(1, ""), (-1, stream(str(kept)))])
    assert [code for code, _ in said(module)] == ["VCL013"] == [each.code for each in tag(module).foreseen]


def test_both_know_what_the_combiner_joins(rings: Rings) -> None:
    def found(*permutes: tuple[int, str], limit: int | None = None, **sizes: int) -> list[tuple[int, ...]]:
        module = rings(list(permutes), **sizes)
        tagged = tag(module) if limit is None else tag(module, limit)
        joined = [each for each in tagged.foreseen if each.code in JOINED]
        if limit is None:
            assert [(each.code, each.text) for each in joined] == [each for each in said(module) if each[0] in JOINED]
        return [each.ids for each in joined]

    assert found((1, stream("5")), (1, stream("6"))) == [(0, 1)]
    assert found((1, stream("5")), (1, "")) == [(0, 1)]
    assert found((1, ""), (1, "")) == []
    assert found((1, stream("5")), (-1, stream("6"))) == []
    assert found((1, stream("5", "a")), (1, stream("6", "b"))) == []
    assert found((1, stream("5", "a")), (1, stream("6", "a"))) == [(0, 1)]
    assert found((1, stream("5")), (1, stream("6")), size=4096) == []  # 64 MiB together
    assert found((1, stream("5")), (1, stream("6")), limit=0) == []
