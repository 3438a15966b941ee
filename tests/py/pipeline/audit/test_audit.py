"""What XLA:GPU makes of small modules, compiled for GPUs that are not here."""

import pathlib
from collections.abc import Callable

import jaxlib.version
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.capabilities import capabilities
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import OVERLAP_LIMIT
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.audit import audits, compiled
from hloverlap.pipeline.audit.audits import Setting, Subject
from hloverlap.pipeline.audit.compiled import Program
from hloverlap.pipeline.execution import running
from hloverlap.pipeline.formats.reading import read_path
from hloverlap.pipeline.xla.isolated_compile import Failure

pytestmark = pytest.mark.usefixtures("xla_gpu")

Rings = Callable[..., ir.Module]
ABORTS_ON_JOINED_STREAMS = jaxlib.version.__version_info__ < (0, 12)
H200 = Setting(targets.find("h200"))
FIVE, SIX = '_xla_stream_annotation = "5"', '_xla_stream_annotation = "6"'
BOTH = {OVERLAP_LIMIT: 2}


def codes(found: audits.Audit) -> list[str]:
    return [finding.code for finding in found.findings]


def test_streams_put_opposite_rings_in_flight_together(rings: Rings) -> None:
    plain, annotated = rings([(1, ""), (-1, "")]), rings([(1, FIVE), (-1, SIX)])
    texts = str(plain), str(annotated)
    found = audits.compare(Subject(plain, "plain"), Subject(annotated, "annotated", BOTH), H200)
    assert (str(plain), str(annotated)) == texts
    assert (found.before.totals.synchronous, found.before.totals.serialized) == (1, 1)
    assert "HLA101" in [hint.code for hint in found.before.hints]
    assert isinstance(found.after.outcome, Program)
    assert {launch.stream for launch in found.after.outcome.launches} == {
        "communication_stream[5]",
        "communication_stream[6]",
    }
    assert [launch.beside for launch in found.after.outcome.launches] == [(1,), (0,)]
    assert all(launch.flops >= 2 * 1024**3 for launch in found.after.outcome.launches)
    assert found.after.totals.peak_memory > 3 * (2 << 20)
    assert (found.verdict.word, found.after.findings) == ("same", ())  # of 2 MiB, too small to tell


def test_annotations_without_the_limit_lose(rings: Rings) -> None:
    found = audits.audit_one(Subject(rings([(1, FIVE), (-1, SIX)]), "annotated"), H200)
    assert codes(found) == ["HLA002", "HLA004"]
    (hint,) = [hint for hint in found.hints if hint.code == "HLA101"]
    assert hint.options == ((OVERLAP_LIMIT, 2),)
    trials = audits.try_hints(Subject(rings([(1, FIVE), (-1, SIX)]), "annotated"), found, H200)
    assert (trials[0].hint, trials[0].totals.in_flight, trials[0].totals.synchronous) == ("HLA101", 1, 0)


def test_the_combiner_takes_annotated_permutes_of_equal_pairs(rings: Rings) -> None:
    plain, annotated = rings([(1, ""), (1, "")]), rings([(1, FIVE), (1, SIX)])
    found = audits.compare(Subject(plain, "plain"), Subject(annotated, "annotated", BOTH), H200)
    assert codes(found.before) == ["HLA005"]
    assert found.verdict.word == ("worse" if ABORTS_ON_JOINED_STREAMS else "same")  # of 2 MiB, too small to tell
    assert "HLA102" in [hint.code for hint in found.after.hints]
    finding = found.after.findings[0]
    assert finding.ids == (0, 1)
    if ABORTS_ON_JOINED_STREAMS:
        assert isinstance(found.after.outcome, Failure)
        assert (finding.code, found.after.outcome.kind) == ("HLA001", "aborted")
        assert "XLA aborted: Check failed: " in finding.message
        assert "'5,6'" in finding.message
    else:
        assert finding.code == "HLA002"
        assert "combiner" in finding.message


def test_a_call_with_a_stream_around_a_permute_is_refused(rings: Rings) -> None:
    tensor = "tensor<1024x1024xbf16>"
    text = str(rings([(1, "")])).replace(" attributes {mhlo.frontend_attributes = {}}", "")
    permute = next(line for line in text.splitlines() if "collective_permute" in line)
    outlined = (
        f"  func.func private @wrapped(%arg0: {tensor}) -> {tensor} {{\n{permute}\n    return %0 : {tensor}\n  }}\n"
    )
    call = (
        '    %0 = func.call @wrapped(%arg0) {mhlo.frontend_attributes = {_xla_stream_annotation = "1", inlineable = '
        f'"false"}}}} : ({tensor}) -> {tensor}'
    )
    loop = text.replace(permute, _in_a_loop(call, tensor)).rstrip().removesuffix("}") + outlined + "}"
    found = audits.audit_one(Subject(ir.Module.parse(loop, make_context()), "call"), H200)
    assert isinstance(found.outcome, Failure), loop
    assert found.findings[0].ids == (0,)
    assert found.findings[0].message.startswith("XLA refused the module: ")
    assert "collective-permute-start" in found.findings[0].message
    assert "hloverlap" not in found.findings[0].message
    if not ABORTS_ON_JOINED_STREAMS:
        assert "NOT_FOUND: No ExecutionStreamId found" in found.findings[0].message


def _in_a_loop(call: str, tensor: str) -> str:
    return f"""\
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c7 = stablehlo.constant dense<7> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %c0, %x = %arg0) : tensor<i32>, {tensor}
    cond {{
      %more = stablehlo.compare LT, %i, %c7 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %next = stablehlo.add %i, %c1 : tensor<i32>
{call.replace("%0", "%moved").replace("%arg0", "%x")}
      stablehlo.return %next, %moved : tensor<i32>, {tensor}
    }}
    %0 = stablehlo.add %loop#1, %loop#1 : {tensor}"""


def test_an_annotation_that_is_no_number_aborts_xla_and_not_us(rings: Rings) -> None:
    found = audits.audit_one(Subject(rings([(1, '_xla_stream_annotation = "foo"')]), "foo"), H200)
    assert isinstance(found.outcome, Failure)
    assert found.outcome.kind == "aborted"
    assert found.findings[0].ids == (0,)
    assert [hint.code for hint in found.hints] == ["HLA103"]


def test_asking_again_compiles_nothing(rings: Rings, monkeypatch: pytest.MonkeyPatch) -> None:
    first = audits.audit_one(Subject(rings([(1, "")]), "ring"), H200)

    def fail(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiled, "compile_module", fail)
    assert audits.audit_one(Subject(rings([(1, "")]), "ring"), H200) == first
    with pytest.raises(AssertionError, match="compiled again"):
        audits.audit_one(Subject(rings([(1, "")]), "ring", BOTH), H200)


def test_a_compile_that_takes_too_long_is_given_up(rings: Rings) -> None:
    found = audits.audit_one(Subject(rings([(1, "")]), "ring"), Setting(targets.find("h200"), time_limit=0.05))
    assert found.findings[0].message == "the compile was given up: no end within 0.05 s"


def test_an_option_that_xla_does_not_know_is_the_users_mistake(rings: Rings) -> None:
    with pytest.raises(ValueError, match="xla_no_such_option"):
        audits.audit_one(Subject(rings([(1, "")]), "ring", {"xla_no_such_option": 1}), H200)


@pytest.mark.parametrize("name", [name for name in targets.names() if targets.find(name).gpu_target_config])
def test_every_target_loads(rings: Rings, name: str) -> None:
    found = audits.audit_one(
        Subject(rings([(1, "")], size=128), name), Setting(targets.find(name), Topology.parse("2x4"))
    )
    assert isinstance(found.outcome, Program)
    assert found.topology == "2x1x4"
    assert found.totals.launches == 1


def test_the_cpu_runs_collectives_in_turn(rings: Rings) -> None:
    found = audits.audit_one(Subject(rings([(1, ""), (1, "")], size=64), "cpu"), Setting(targets.find("cpu")))
    assert (found.totals.launches, found.totals.synchronous, found.totals.streams) == (2, 2, 0)
    assert found.hints == ()
    assert all("XLA:CPU runs collectives in turn" in each.message for each in found.findings if each.code == "HLA002")


def test_a_ring_whose_matmuls_xla_merges_gets_its_overlap_back(samples: pathlib.Path) -> None:
    module = read_path(str(samples / "ring_matmul_unrolled.mlir"), make_context()).module
    subject = Subject(module, "unrolled")
    found = audits.audit_one(subject, H200)
    assert found.totals.exposed == 6
    assert all("the dot merger joined the matmuls" in each.message for each in found.findings if each.code == "HLA002")
    (trial,) = [trial for trial in audits.try_hints(subject, found, H200) if trial.hint == "HLA106"]
    assert (trial.totals.synchronous, trial.totals.exposed) == (0, 0)


SAMPLES = (
    "ring_matmul",
    "replica_ring",
    "halo_exchange",
    "gpipe",
    "moe_shifts",
    "pmap_ring",
    "ring_attention",
    "rolls",
)
SAMPLES += ("small_transfers", "ring_matmul_unrolled", "ring_attention_grad")


def test_overlap_leaves_xla_the_streams_that_it_keeps(samples: pathlib.Path) -> None:
    first = capabilities().first_stream
    found = overlap(samples / "ring_matmul.mlir", None)
    assert isinstance(found.after.outcome, Program)
    streams = {launch.ids: launch.stream for launch in found.after.outcome.launches}
    assert streams == {(0,): f"communication_stream[{first}]", (1,): f"communication_stream[{first + 1}]"}
    assert "HLA103" not in [hint.code for hint in found.after.hints]


@pytest.mark.parametrize("name", SAMPLES)
def test_overlap_is_never_worse(samples: pathlib.Path, name: str) -> None:
    subject = Subject(read_path(str(samples / f"{name}.mlir"), make_context()).module, name)
    assert audits.compare(subject, audits.rewritten(subject, "overlap", H200), H200).verdict.word != "worse"


def test_dots_kept_apart_hide_all_of_an_unrolled_ring(samples: pathlib.Path) -> None:
    found = overlap(samples / "ring_matmul_unrolled.mlir", None, "overlap,keep-dots-apart")
    assert (found.before.totals.exposed, found.after.totals.exposed) == (6, 0)


@pytest.mark.parametrize("name", ["ring_matmul", "halo_exchange", "moe_shifts", "small_transfers", "ring_attention"])
def test_overlap_is_never_worse_on_two_hosts(samples: pathlib.Path, name: str) -> None:
    found = overlap(samples / f"{name}.mlir", "2x4")
    assert found.verdict.word != "worse"
    assert found.after.totals.launches <= found.before.totals.launches


@pytest.mark.parametrize(("name", "gains"), [("collective_matmul_4", True), ("ringattention_fwd", False)])
def test_overlap_on_real_modules(corpus: pathlib.Path, name: str, gains: bool) -> None:
    found = overlap(corpus / f"{name}.mlir", None)
    assert found.verdict.word != "worse"
    if gains:
        assert found.after.totals.in_flight > found.before.totals.in_flight


def test_what_xla_combines_by_itself_is_said(corpus: pathlib.Path) -> None:
    module = read_path(str(corpus / "ringattention_grad.mlir"), make_context()).module
    found = audits.audit_one(Subject(module, "grad"), H200)
    joined = [finding.ids for finding in found.findings if finding.code == "HLA005"]
    assert sorted(id for ids in joined for id in ids) == [0, 1, 2, 3, 4, 5]
    assert len(joined) == 2


@pytest.mark.parametrize(("name", "before", "after"), [("ring_matmul", 2, 1), ("halo_exchange", 5, 3)])
def test_merged_transfers_between_hosts_are_one_launch(
    samples: pathlib.Path, name: str, before: int, after: int
) -> None:
    found = overlap(samples / f"{name}.mlir", "2x4", "merge-cross-host-transfers{strategy=group}")
    if not capabilities().keeps_groups:  # a group in a loop is taken apart then, or made in turn
        assert found.verdict.word != "worse"
        return
    assert (found.before.totals.launches, found.after.totals.launches) == (before, after)
    if name == "ring_matmul" and capabilities().group_overlaps_compute:
        assert (found.before.totals.exposed, found.after.totals.exposed) == (1, 0)


def overlap(path: pathlib.Path, topology: str | None, pipeline: str = "overlap") -> audits.Comparison:
    """The module and what the pipeline makes of it."""
    module = read_path(str(path), make_context()).module
    result = running.run(module, pipeline, topology=topology)
    setting = Setting(targets.find("h200"), Topology.parse(topology) if topology else None)
    return audits.compare(
        Subject(module, path.name), Subject(result.module, "overlap", result.compile_options), setting
    )
