"""What is asked of XLA: the tagged copy, the topology, the target, the place in the cache."""

import json
import pathlib
from collections.abc import Callable

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.audit.diagnose import ops_at_fault
from hloverlap.pipeline.audit.op_ids import tag
from hloverlap.pipeline.audit.topology import xla_topology
from hloverlap.pipeline.xla import answers
from hloverlap.pipeline.xla.isolated_compile import Failure

Rings = Callable[..., ir.Module]


def stream(text: str, key: str = "") -> str:
    return f'_xla_stream_annotation = "{text}"' + (f', combiner_key = "{key}"' if key else "")


def test_tags_stay_on_the_copy(rings: Rings) -> None:
    module = rings([(1, ""), (-1, stream("3"))])
    before = str(module)
    tagged = tag(module)
    assert str(module) == before
    copy = str(ir.Module.parse(tagged.image, make_context()))
    assert [f'hloverlap_id = "{number}"' in copy for number in range(3)] == [True, True, False]
    assert [(op.kind, op.stream, op.function, op.bytes) for op in tagged.collectives] == [
        ("collective_permute", None, "main", 2 << 20),
        ("collective_permute", "3", "main", 2 << 20),
    ]
    assert (tagged.replicas, tagged.partitions, tagged.shardy) == (1, 8, False)


def test_the_same_module_is_the_same_question(rings: Rings) -> None:
    assert tag(rings([(1, "")])).image == tag(rings([(1, "")])).image
    assert tag(rings([(1, "")])).image != tag(rings([(-1, "")])).image


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        (None, "1x1x8"),
        ("2x4", "2x1x4"),
        ("1x2x4", "1x2x4"),
        ("1x8x1", "1x8x1"),
        ("2x4x1", "2x4x1"),
        ("[0,0,0,0,1,1,1,1]", "2x1x4"),
        ("4x4", "4x1x4"),
    ],
)
def test_topologies_as_xla_spells_them(text: str | None, spelled: str) -> None:
    topology = text and Topology.parse(text)
    assert xla_topology(topology or None, 8) == spelled


@pytest.mark.parametrize(
    "text", ["1x4", "2by4", "[0,0,0,1,1,1,1,1]", "[0,1,0,1,0,1,0,1]", "0x0x0", '{"process":[0,0,0,0,0,0,0,0]}']
)
def test_topologies_that_xla_cannot_be_told(text: str) -> None:
    with pytest.raises(ValueError, match="topology"):
        xla_topology(Topology.parse(text), 8)


def test_a_failure_names_its_op(rings: Rings) -> None:
    tagged = tag(rings([(1, ""), (-1, stream("foo"))]))
    ops, foreseen = tagged.collectives, tagged.foreseen
    assert ops_at_fault(Failure("refused", 'NOT_FOUND: %p, frontend_attributes={hloverlap_id="1"}'), ops, foreseen) == (
        1,
    )
    assert ops_at_fault(
        Failure("aborted", "Check failed: SimpleAtoi(it->second, &assigned_stream_id)"), ops, foreseen
    ) == (1,)
    assert ops_at_fault(Failure("aborted", "Check failed: something else"), ops, foreseen) == ()
    missing = "No ExecutionStreamId found, source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}"
    assert ops_at_fault(Failure("refused", missing), ops, foreseen) == (0,)


def test_the_cache_forgets_what_is_damaged(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOVERLAP_CACHE", str(tmp_path))
    name = answers.key(["question", b"bytes"])
    assert answers.read(name) is None
    answers.write(name, {"answer": 42})
    assert answers.read(name) == {"answer": 42, "key": name}
    (path,) = tmp_path.glob("*/*")
    path.write_text(path.read_text()[:-3])
    assert answers.read(name) is None
    path.write_text(json.dumps({"answer": 42, "key": "another"}))
    assert answers.read(name) is None


def test_parts_of_a_key_do_not_run_together() -> None:
    assert answers.key(["ab", "c"]) != answers.key(["a", "bc"])


def test_an_unwritable_cache_is_no_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HLOVERLAP_CACHE", str(tmp_path / "file"))
    answers.write(answers.key(["x"]), {})
    assert answers.read(answers.key(["x"])) is None


def test_the_cache_stays_small(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOVERLAP_CACHE", str(tmp_path))
    monkeypatch.setattr(answers, "SIZE_LIMIT", 4000)
    for number in range(50):
        name = answers.key([str(number)])
        answers.write(name, {"text": "x" * 100})
        assert answers.read(name) is not None
    left = list(tmp_path.glob("*/*"))
    assert 2000 < sum(path.stat().st_size for path in left) <= 4000
