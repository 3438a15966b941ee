"""From thunks and scheduled HLO to transfers: who is in flight with whom, and beside what."""

from hloverlap.pipeline.audit.launches import Launch, find_launches, serialized_pairs
from hloverlap.pipeline.audit.reasons import with_reasons
from hloverlap.pipeline.xla.hlo_text import parse_module
from hloverlap.pipeline.xla.thunks import Thunk

HEAD = """\
HloModule m, is_scheduled=true

%dot_computation (p0: bf16[512,512], p1: bf16[512,512]) -> bf16[512,512] {
  %p0 = bf16[512,512]{1,0} parameter(0)
  %p1 = bf16[512,512]{1,0} parameter(1)
  ROOT %dot = bf16[512,512]{1,0} dot(%p0, %p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

"""
TENSOR = "bf16[512,512]{1,0}"
SIZE = 512 * 512 * 2
FLOPS = 2 * 512**3


def start(name: str, operand: str, id: int) -> str:
    opcode, attributes = "collective-permute-start", f'frontend_attributes={{hloverlap_id="{id}"}}'
    return (
        f"  %{name} = ({TENSOR}, {TENSOR}) {opcode}(%{operand}), source_target_pairs={{{{0,1}},{{1,0}}}}, {attributes}"
    )


def done(name: str, of: str) -> str:
    return f"  %{name} = {TENSOR} collective-permute-done(%{of})"


def gemm(name: str, left: str) -> str:
    return f"  %{name} = {TENSOR} fusion(%{left}, %w), kind=kCustom, calls=%dot_computation"


def entry(*lines: str) -> str:
    parameters = [f"  %{name} = {TENSOR} parameter({index})" for index, name in enumerate("xyw")]
    return "\n".join([HEAD + "ENTRY %main (x: f32[], y: f32[], w: f32[]) -> f32[] {", *parameters, *lines, "}"])


def a_start(id: int, instruction: str, stream: str = "communication_stream[0]") -> Thunk:
    body = [("", [Thunk(id + 100, "kCollectivePermute", instruction)])]
    return Thunk(id, "kAsyncStart", instruction, stream, async_id=id, regions=body)


def a_done(id: int) -> Thunk:
    return Thunk(id + 50, "kAsyncDone", "", async_id=id)


def kernel(instruction: str) -> Thunk:
    return Thunk(0, "kCustomKernel", instruction)


TWO = entry(
    start("s1", "x", 0),
    start("s2", "y", 1),
    gemm("g", "w"),
    done("d1", "s1"),
    done("d2", "s2"),
    f"  ROOT %t = ({TENSOR}, {TENSOR}, {TENSOR}) tuple(%d1, %d2, %g)",
)


def of_two(*thunks: Thunk) -> list[Launch]:
    return find_launches(thunks, parse_module(TWO))


def test_two_streams_are_two_in_flight() -> None:
    first, second = of_two(
        a_start(1, "s1", "communication_stream[3]"),
        a_start(2, "s2", "communication_stream[4]"),
        kernel("g"),
        a_done(1),
        a_done(2),
    )
    assert (first.ids, second.ids) == ((0,), (1,))
    assert (first.beside, second.beside) == ((1,), (0,))
    assert (first.bytes, first.flops) == (SIZE, FLOPS)
    assert first.hidden
    assert serialized_pairs([first, second]) == []


def test_one_stream_runs_them_in_turn_though_both_are_started() -> None:
    launches = of_two(a_start(1, "s1"), a_start(2, "s2"), kernel("g"), a_done(1), a_done(2))
    assert [launch.beside for launch in launches] == [(), ()]
    assert [launch.queued for launch in launches] == [(1,), (0,)]
    assert serialized_pairs(launches) == [(0, 1)]


def test_windows_that_do_not_meet_run_in_turn_whatever_the_stream() -> None:
    launches = of_two(
        a_start(1, "s1", "communication_stream[3]"),
        a_done(1),
        a_start(2, "s2", "communication_stream[4]"),
        kernel("g"),
        a_done(2),
    )
    assert serialized_pairs(launches) == [(0, 1)]
    assert [launch.hidden for launch in launches] == [False, True]


def test_a_synchronous_one_holds_the_main_stream() -> None:
    launches = of_two(Thunk(1, "kCollectivePermute", "s1"), a_start(2, "s2"), kernel("g"), a_done(2))
    assert [launch.synchronous for launch in launches] == [True, False]
    explained = with_reasons(launches, parse_module(TWO), {})
    assert explained[0].lost.startswith("the overlap limit lets one collective be in flight")
    assert explained[1].lost == ""


def test_a_group_is_one_launch_of_several() -> None:
    members = [Thunk(2, "kCollectivePermute", "s1"), Thunk(3, "kCollectivePermute", "s2")]
    group = Thunk(4, "kGroup", "", regions=[("", members)])
    (launch,) = of_two(
        Thunk(1, "kAsyncStart", "s1", "communication_stream[0]", 1, [("", [group])]), kernel("g"), a_done(1)
    )
    assert (launch.ids, launch.members, launch.group, launch.bytes) == ((0, 1), 2, True, 2 * SIZE)


def test_a_chain_is_not_independent() -> None:
    text = entry(start("s1", "x", 0), done("d1", "s1"), start("s2", "d1", 1), done("d2", "s2"), "  ROOT %r = u8[] x()")
    launches = find_launches([a_start(1, "s1"), a_done(1), a_start(2, "s2"), a_done(2)], parse_module(text))
    assert [launch.peers for launch in launches] == [(), ()]


def test_of_two_chains_only_equal_steps_could_run_together() -> None:
    text = entry(
        *(
            line
            for step in (1, 2)
            for line in (start(f"s{step}", "x" if step == 1 else "d1", step), done(f"d{step}", f"s{step}"))
        ),
        *(
            line
            for step in (3, 4)
            for line in (start(f"s{step}", "y" if step == 3 else "d3", step), done(f"d{step}", f"s{step}"))
        ),
        "  ROOT %r = u8[] x()",
    )
    thunks = [thunk for step in (1, 2, 3, 4) for thunk in (a_start(step, f"s{step}"), a_done(step))]
    assert serialized_pairs(find_launches(thunks, parse_module(text))) == [(0, 2), (1, 3)]


def test_a_loop_between_start_and_done_is_compute_and_company() -> None:
    loop = f'  %l = {TENSOR} while(%y), condition=%c, body=%b, backend_config={{"known_trip_count":{{"n":"5"}}}}'
    body = "\n".join(
        [
            f"%b (p: {TENSOR}) -> {TENSOR} {{",
            f"  %p = {TENSOR} parameter(0)",
            start("inner", "p", 1),
            f"  %g = {TENSOR} fusion(%p, %p), kind=kCustom, calls=%dot_computation",
            f"  ROOT %i = {TENSOR} collective-permute-done(%inner)",
            "}\n\n",
        ]
    )
    text = entry(start("outer", "x", 0), loop, done("d", "outer"), "  ROOT %r = u8[] x()")
    text = text.replace("ENTRY", body + "ENTRY")
    inside = [a_start(3, "inner", "communication_stream[4]"), kernel("g"), a_done(3)]
    outer, inner = find_launches(
        [a_start(1, "outer"), Thunk(2, "kWhile", "l", regions=[("body", inside)]), a_done(1)], parse_module(text)
    )
    assert outer.beside == (1,)
    assert (outer.flops, outer.runs) == (5 * FLOPS, 1)
    assert (inner.flops, inner.runs) == (FLOPS, 5)


def test_what_xla_adds_carries_no_id() -> None:
    text = TWO.replace('frontend_attributes={hloverlap_id="0"}', 'metadata={op_name="jit(f)/roll"}')
    launches = find_launches([a_start(1, "s1"), a_done(1), a_start(2, "s2"), a_done(2)], parse_module(text))
    assert [(launch.ids, launch.origin) for launch in launches] == [((), "jit(f)/roll"), ((1,), "")]


def test_ids_that_a_combiner_drops_are_found_on_its_results() -> None:
    text = entry(
        f"  %s1 = ({TENSOR}, {TENSOR}) all-reduce-start(%x, %y), to_apply=%dot_computation",
        f"  %d1 = ({TENSOR}, {TENSOR}) all-reduce-done(%s1)",
        f'  %e0 = {TENSOR} get-tuple-element(%d1), index=0, frontend_attributes={{hloverlap_id="4"}}',
        f'  %e1 = {TENSOR} get-tuple-element(%d1), index=1, frontend_attributes={{hloverlap_id="5"}}',
        "  ROOT %r = u8[] x()",
    )
    start_thunk = Thunk(1, "kAsyncStart", "s1", "communication_stream[0]", 1, [("", [Thunk(2, "kAllReduce", "s1")])])
    (launch,) = find_launches([start_thunk, a_done(1)], parse_module(text))
    assert (launch.ids, launch.members) == ((4, 5), 2)


def test_an_annotated_combination_is_lost_to_the_main_stream() -> None:
    text = TWO.replace('hloverlap_id="0"', '_xla_stream_annotation="3,4",hloverlap_id="0,1"')
    launches = find_launches([Thunk(1, "kCollectivePermute", "s1"), kernel("g")], parse_module(text))
    (launch,) = with_reasons(launches, parse_module(text), {})
    assert launch.members == 2
    assert "combiner" in launch.lost
    assert "3,4" in launch.lost


def test_compute_that_needs_the_result_cannot_hide_it() -> None:
    text = entry(start("s1", "x", 0), done("d1", "s1"), gemm("g", "d1"), "  ROOT %r = u8[] x()")
    launches = find_launches([Thunk(1, "kCollectivePermute", "s1"), kernel("g")], parse_module(text))
    (launch,) = with_reasons(launches, parse_module(text), {})
    assert launch.lost == "all compute beside it depends on its result"


def test_a_merged_matmul_is_named() -> None:
    text = entry(
        start("s1", "x", 0),
        start("s2", "y", 1),
        done("d1", "s1"),
        done("d2", "s2"),
        "  %both = bf16[1024,512]{1,0} concatenate(%d1, %d2), dimensions={0}",
        "  %flat = bf16[1024,512]{1,0} bitcast(%both)",
        gemm("g", "flat"),
        "  ROOT %r = u8[] x()",
    )
    thunks = [Thunk(1, "kCollectivePermute", "s1"), Thunk(2, "kCollectivePermute", "s2"), kernel("g")]
    for launch in with_reasons(find_launches(thunks, parse_module(text)), parse_module(text), {}):
        assert launch.lost == "the dot merger joined the matmuls beside it into one that needs its result (g)"
