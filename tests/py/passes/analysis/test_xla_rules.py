"""What is said of XLA is what XLA does: it is asked, in processes of their own that may abort."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.analysis import combiner, xla_streams
from hloverlap.passes.analysis.collectives import PERMUTE, Collective
from hloverlap.passes.context import Context
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.capabilities import capabilities
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import COMBINE_THRESHOLD_DEFAULT
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.passes.verify_collectives import VerifyCollectives
from hloverlap.pipeline.audit.audits import Outcome, Setting, Subject, audit_all
from hloverlap.pipeline.audit.compiled import Program
from hloverlap.pipeline.audit.launches import Launch
from hloverlap.pipeline.audit.reasons import OVERLAP_LIMIT
from hloverlap.pipeline.xla.isolated_compile import Failure, workers

CAPABILITIES = capabilities()
TYPE = "tensor<256x256xbf16>"
DEVICES = 16

# Texts that name a stream, and texts that XLA aborts over; both hold for both versions.
NUMBERS = ["0", "-0", "3", "+3", " 3", "3 ", "03", "-1", "-2", "2147483647", "-2147483648", "collective", "Collective"]
NO_NUMBERS = [
    *("-9223372036854775809", "99999999999999999999", "2147483648"),
    *("foo", "", "1.5", "3,4", "+-3"),
]


def stream(text: str) -> str:
    return f'_xla_stream_annotation = "{text}"'


DOMAIN = 'collective_communication_domain = "scale_up_fabric"'
WHOLE = 'inlineable = "false"'
GROUP = f'_collectives_group = "", {WHOLE}'


def carrying(attributes: str) -> str:
    return f"{{mhlo.frontend_attributes = {{{attributes}}}}}" if attributes else ""


def permute(result: str, operand: str, attributes: str = "", step: int = 1, element: str = TYPE) -> str:
    """A permute of each device to the one that is `step` further."""
    pairs = [[device, (device + step) % DEVICES] for device in range(DEVICES)]
    return (
        f'{result} = "stablehlo.collective_permute"({operand}) <{{channel_handle = #stablehlo.channel_handle<handle = '
        f"1, type = 1>, source_target_pairs = dense<{pairs}> : tensor<{DEVICES}x2xi64>}}> {carrying(attributes)} : "
        f"({element}) -> {element}"
    )


def dot(result: str, one: str, other: str, attributes: str = "") -> str:
    how = f"contracting_dims = [1] x [0] {carrying(attributes)}"
    return f"{result} = stablehlo.dot_general {one}, {other}, {how} : ({TYPE}, {TYPE}) -> {TYPE}"


def function(
    name: str, given: Sequence[str], lines: Sequence[str], returned: Sequence[str], element: str = TYPE
) -> str:
    arguments = ", ".join(f"{each}: {element}" for each in given)
    types = ", ".join([element] * len(returned))
    body = "\n".join([*lines, f"return {', '.join(returned)} : {types}"])
    return f"func.func {'public' if name == 'main' else 'private'} @{name}({arguments}) -> ({types}) {{\n{body}\n}}"


def module(*functions: str) -> str:
    body = "\n".join(functions)
    return f"module attributes {{mhlo.num_partitions = {DEVICES} : i32, mhlo.num_replicas = 1 : i32}} {{\n{body}\n}}"


def beside_a_permute(*lines: str, inner: Sequence[str] = ()) -> str:
    """A module of a permute and of lines that give %d from %b and %c; @f is of the lines `inner`, from %x and %y."""
    called = [function("f", ["%x", "%y"], inner, ["%d"])] if inner else []
    main = [permute("%p", "%a", step=2), *lines, dot("%e", "%b", "%c")]
    return module(function("main", ["%a", "%b", "%c"], main, ["%p", "%d", "%e"]), *called)


def call(attributes: str, operands: str = "%b, %c") -> str:
    return f"%d = func.call @f({operands}) {carrying(attributes)} : ({TYPE}, {TYPE}) -> {TYPE}"


def in_a_loop(line: str) -> list[str]:
    """A loop around a line that gives %d from %b and %c; it gives %d, too."""
    body = line.replace("%d =", "%inner =").replace("%b", "%y")
    return [
        "%c0 = stablehlo.constant dense<0> : tensor<i32>",
        "%c1 = stablehlo.constant dense<1> : tensor<i32>",
        "%c7 = stablehlo.constant dense<7> : tensor<i32>",
        f"%loop:2 = stablehlo.while(%i = %c0, %y = %b) : tensor<i32>, {TYPE} cond {{",
        "%more = stablehlo.compare LT, %i, %c7 : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "stablehlo.return %more : tensor<i1> } do {",
        "%next = stablehlo.add %i, %c1 : tensor<i32>",
        body,
        f"stablehlo.return %next, %inner : tensor<i32>, {TYPE} }}",
        f"%d = stablehlo.add %loop#1, %loop#1 : {TYPE}",
    ]


def outcomes(texts: Sequence[str], limit: int = 1) -> list[Outcome]:
    """What XLA makes of modules for H200s, compiled side by side."""
    setting = Setting(targets.find("h200"), Topology.parse("2x8"), use_cache=False)
    options = {OVERLAP_LIMIT: limit} if limit > 1 else {}

    def one(text: str) -> Outcome:
        (found,) = audit_all([Subject(ir.Module.parse(text, make_context()), "x", options)], setting)
        return found.outcome

    with ThreadPoolExecutor(workers()) as pool:
        return list(pool.map(one, texts))


@functools.cache
def parsed(text: str) -> ir.Module:
    """A module, kept for as long as its ops are looked at."""
    return ir.Module.parse(text, make_context())


def permutes_of(text: str) -> list[Collective]:
    return [Collective.of(op) for op in ops_in(parsed(text).operation, PERMUTE)]


def launches(outcome: Outcome) -> tuple[Launch, ...]:
    assert isinstance(outcome, Program), outcome
    return outcome.launches


@pytest.fixture(autouse=True)
def _compiler() -> None:
    pytest.importorskip("jax_plugins.xla_cuda13", reason="the gpu extra is not installed")


def test_a_collective_is_on_the_stream_that_its_text_names() -> None:
    attributes = [*map(stream, NUMBERS), DOMAIN]
    pairs = [attributes[start : start + 2] for start in range(0, len(attributes), 2)]
    added = f"%d = stablehlo.add %f, %g : {TYPE}"
    texts = [
        beside_a_permute(permute("%f", "%a", one), permute("%g", "%b", other, step=3), added) for one, other in pairs
    ]
    for text, made in zip(texts, outcomes(texts, limit=4), strict=True):
        found = {id: launch.stream for launch in launches(made) for id in launch.ids}
        for number, fact in enumerate(permutes_of(text)):
            said = xla_streams.chosen_stream(fact, CAPABILITIES) or xla_streams.DEFAULT_STREAM
            assert found[number] == f"communication_stream[{said}]", (fact.stream, fact.domain)


def test_a_text_that_names_none_aborts() -> None:
    assert [xla_streams.stream_of(text) for text in NO_NUMBERS] == [None] * len(NO_NUMBERS)
    made = outcomes([beside_a_permute(permute("%d", "%b", stream(text))) for text in NO_NUMBERS], limit=2)
    kinds = [each.kind if isinstance(each, Failure) else "compiled" for each in made]
    assert dict.fromkeys(NO_NUMBERS, "aborted") == dict(zip(NO_NUMBERS, kinds, strict=True))


MOVED = [permute("%d", "%x")]

# Name -> a module. An error of verify-collectives stands for what XLA refuses or aborts over, and for nothing else.
PLACES = {
    "a matmul": beside_a_permute(dot("%d", "%b", "%c", stream("5"))),
    "a matmul, no number": beside_a_permute(dot("%d", "%b", "%c", stream("foo"))),
    "a call": beside_a_permute(call(f"{stream('5')}, {WHOLE}"), inner=[dot("%d", "%x", "%y")]),
    "a call, no number": beside_a_permute(call(f"{stream('foo')}, {WHOLE}"), inner=[dot("%d", "%x", "%y")]),
    "an inlined call, no number": beside_a_permute(call(stream("foo")), inner=[dot("%d", "%x", "%y")]),
    "an inlined permute, no number": beside_a_permute(call(stream("foo")), inner=MOVED),
    "a called permute": beside_a_permute(call(f"{stream('5')}, {WHOLE}"), inner=MOVED),
    "a called permute in a loop": beside_a_permute(*in_a_loop(call(f"{stream('5')}, {WHOLE}")), inner=MOVED),
    "an inlined permute": beside_a_permute(call(stream("5")), inner=MOVED),
    "another domain": beside_a_permute(permute("%d", "%b", DOMAIN.replace("up", "out"))),
    "a domain and a stream": beside_a_permute(permute("%d", "%b", f"{DOMAIN}, {stream('5')}")),
    "a domain and no stream": beside_a_permute(permute("%d", "%b", f"{stream('collective')}, {DOMAIN}")),
    "no domain and a stream": beside_a_permute(
        permute("%d", "%b", f"{DOMAIN.replace('scale_up_fabric', 'unspecified')}, {stream('5')}")
    ),
    "a matmul in a domain": beside_a_permute(dot("%d", "%b", "%c", DOMAIN)),
    "a call in a domain": beside_a_permute(call(f"{DOMAIN}, {WHOLE}"), inner=[dot("%d", "%x", "%y")]),
    "an inlined call in a domain": beside_a_permute(call(DOMAIN), inner=[dot("%d", "%x", "%y")]),
    "an inlined permute in a domain": beside_a_permute(call(DOMAIN), inner=MOVED),
}


def group(attributes: str, inside: str = "", loop: bool = False) -> str:
    """A module with a group of two permutes, the first of which carries `inside`."""
    given = "%y, %c" if loop else "%b, %c"
    made = f"%g:2 = func.call @g({given}) {carrying(attributes)} : ({TYPE}, {TYPE}) -> ({TYPE}, {TYPE})"
    added = f"%d = stablehlo.add %g#0, %g#1 : {TYPE}"
    lines = in_a_loop(f"{made}\n{added}") if loop else [made, added]
    members = function("g", ["%x", "%y"], [permute("%p", "%x", inside), permute("%q", "%y", step=3)], ["%p", "%q"])
    main = [permute("%m", "%a", step=2), *lines, dot("%e", "%b", "%c")]
    return module(function("main", ["%a", "%b", "%c"], main, ["%m", "%d", "%e"]), members)


PLACES |= {
    "a group": group(GROUP),
    "a group in a loop": group(GROUP, loop=True),
    "a group on a stream": group(f"{GROUP}, {stream('5')}"),
    "a group, no number": group(f"{GROUP}, {stream('foo')}"),
    "a group that XLA takes apart, on a stream": group(f'_collectives_group = "", {stream("5")}'),
    "inside a group": group(GROUP, stream("5")),
    "inside a group, no number": group(GROUP, stream("foo")),
    "inside a group that XLA takes apart, no number": group('_collectives_group = ""', stream("foo")),
}


def errors(text: str) -> list[str]:
    """Codes of the errors that verify-collectives says."""
    context = Context(capabilities=CAPABILITIES)
    VerifyCollectives().run(parsed(text).operation, context)
    return [remark.code for remark in context.errors()]


@functools.cache
def made_of_places() -> dict[str, Outcome]:
    limit = 4 if CAPABILITIES.keeps_groups else 1  # what is synchronous is on no stream, whatever it says
    return dict(zip(PLACES, outcomes(list(PLACES.values()), limit), strict=True))


@pytest.mark.parametrize("name", PLACES)
def test_an_error_is_what_xla_does_not_compile(name: str) -> None:
    made = made_of_places()[name]
    failed = isinstance(made, Failure)
    assert bool(errors(PLACES[name])) == failed, (errors(PLACES[name]), made if failed else "")
    if failed:
        assert (made.kind == "aborted") == ("VCL001" in errors(PLACES[name])), made


def two(one: str, other: str, rows: int = 256, more: int = 0) -> str:
    """A module of two permutes with the same pairs, and a matmul."""
    types = [f"tensor<{rows + extra}x2048xi32>" for extra in (0, more)]
    lines = [
        permute("%p", "%a", one, element=types[0]),
        permute("%q", "%b", other, element=types[1]),
        dot("%d", "%c", "%c"),
    ]
    body = "\n".join([*lines, f"return %p, %q, %d : {types[0]}, {types[1]}, {TYPE}"])
    given = f"%a: {types[0]}, %b: {types[1]}, %c: {TYPE}"
    return module(f"func.func public @main({given}) -> ({types[0]}, {types[1]}, {TYPE}) {{\n{body}\n}}")


JOINED = [
    ("", ""),
    (stream("5"), stream("6")),
    (stream("5"), stream("5")),
    (stream("5"), stream("05")),
    (stream("5"), ""),
    (stream("collective"), ""),
    (DOMAIN, ""),
    (DOMAIN, DOMAIN),
]


def test_what_becomes_of_what_the_combiner_joins() -> None:
    texts = [two(*each) for each in JOINED]
    for (one, other), text, made in zip(JOINED, texts, outcomes(texts, limit=2), strict=True):
        first, second = permutes_of(text)
        assert combiner.kind(first, 0) == combiner.kind(second, 0)
        said = combiner.outcome(first, second, CAPABILITIES)
        if said == "aborts":
            assert isinstance(made, Failure), (one, other)
            assert made.kind == "aborted"
            continue
        (launch,) = launches(made)
        assert launch.ids == (0, 1), (one, other)
        assert launch.synchronous == (said == "synchronous"), (one, other)
        stays = xla_streams.chosen_stream(first, CAPABILITIES) or 0
        if said != "synchronous":
            assert launch.stream == f"communication_stream[{0 if said == 'leaves domain' else stays}]", (one, other)


def test_what_the_combiner_joins() -> None:
    half = COMBINE_THRESHOLD_DEFAULT // 2 // (4 * 2048)
    cases = {
        "up to the limit": two("", "", half),
        "one more row": two("", "", half, 1),
        "keys": two('combiner_key = "a"', ""),
        "the same key": two('combiner_key = "a"', 'combiner_key = "a"'),
        "the order of the pairs": two("", "").replace("[[0, 1], [1, 2]", "[[1, 2], [0, 1]", 1),
    }
    for name, made in zip(cases, outcomes(list(cases.values()), limit=2), strict=True):
        first, second = permutes_of(cases[name])
        alike = combiner.kind(first, 0) == combiner.kind(second, 0)
        said = alike and combiner.fits(first.bytes, second.bytes)
        assert (len(launches(made)) == 1) == said, name


def test_a_start_and_a_done_are_one_transfer_that_drops_annotations() -> None:
    """Earlier versions know no such custom calls."""
    pairs = [[each, (each + 1) % DEVICES] for each in range(DEVICES)]
    config = f'async_collective_config = "{{\\22permutation\\22: {pairs}, \\22channel_id\\22: 1}}"'
    annotated = f"{stream('7')}, {config}"
    lines = [
        f'%s = stablehlo.custom_call @"collective-permute-start"(%a) {carrying(annotated)} : ({TYPE}) -> {TYPE}',
        dot("%d", "%c", "%c"),
        f'%p = stablehlo.custom_call @"collective-permute-done"(%s) : ({TYPE}) -> {TYPE}',
    ]
    (made,) = outcomes([module(function("main", ["%a", "%c"], lines, ["%p", "%d"]))], limit=1)
    if not CAPABILITIES.knows_async_pairs:
        assert isinstance(made, Failure)
        assert made.kind == "refused"
        return
    assert isinstance(made, Program)
    (launch,) = made.launches
    assert launch.ids == (0,)
    assert not launch.annotation
    assert "7" not in launch.stream
