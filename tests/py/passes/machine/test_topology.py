"""Topologies: as text, and what a pair of partitions crosses."""

from __future__ import annotations

import pytest

from hloverlap.passes.errors import TopologyError
from hloverlap.passes.machine import links, targets
from hloverlap.passes.machine.topology import Span, Topology

TWO_BY_TWO = (0, 0, 1, 1)


@pytest.mark.parametrize(
    "text",
    [
        *("1x1", "2x4", "1x2x4", "2x2x1", "2x1x4", "[0,1,0,1]", "[0,0,1]", "[3,3]"),
        *('{"process":[0,0]}', '{"host":[0,0,1],"process":[0,1,2]}', '{"host":[0,0],"process":[1,0]}'),
    ],
)
def test_a_topology_is_read_again_as_it_is_written(text: str) -> None:
    assert str(Topology.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "host", "process"),
    [
        (" 2x2 ", TWO_BY_TWO, None),
        ("1x3", (0, 0, 0), None),
        ("[0, 1, 0, 1]", (0, 1, 0, 1), None),
        ("[5]", (5,), None),
        ("2x1x2", TWO_BY_TWO, TWO_BY_TWO),
        ("2x2x1", TWO_BY_TWO, (0, 1, 2, 3)),
        ("1x2x2", (0, 0, 0, 0), TWO_BY_TWO),
        ('{"host": [0, 0], "process": [3, 4]}', (0, 0), (3, 4)),
        ('{"host": [0, 0]}', (0, 0), None),
        ('{"host": null, "process": [0, 1]}', None, (0, 1)),
    ],
)
def test_a_text_says_hosts_and_processes(
    text: str, host: tuple[int, ...] | None, process: tuple[int, ...] | None
) -> None:
    assert Topology.parse(text) == Topology(host, process)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0x4", "2x0", "2x", "x", "0x2x4", "2x0x4", "1x2x3x4", "2by4", "[]", "[0,-1]", "[-1]", "[0.5]", '["a"]'),
        *("[true]", "{}", "[0,", "[0", '{"host":[]}', '{"host":null}', '{"hosts":[0]}', '{"process":[0,null]}', "null"),
        *('{"host":[0,1],"process":[0,0]}', '{"host":[0,1],"process":[0]}', '"2x4"'),
    ],
)
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TopologyError) as raised:
        Topology.parse(text)
    assert f"topology '{text}'" in str(raised.value)
    assert "\n" not in str(raised.value)


SPANS = [
    ("2x2", (0, 1), Span.INSIDE_HOST),
    ("2x2", (1, 2), Span.NETWORK),
    ("2x1x2", (0, 1), Span.PROCESS),
    ("2x1x2", (1, 2), Span.NETWORK),
    ("2x2x1", (0, 1), Span.HOST),
    ("1x4x1", (0, 3), Span.HOST),
    ('{"process":[0,0,1,1]}', (0, 1), Span.PROCESS),
    ('{"process":[0,0,1,1]}', (1, 2), Span.BETWEEN_PROCESSES),
    ("2x2x1", (2, 2), Span.PROCESS),
    ("2x2x1", (0, 9), Span.PROCESS),  # no such partition
    ("2x2x1", (-1, 2), Span.PROCESS),
]


@pytest.mark.parametrize(("text", "pair", "span"), SPANS)
def test_what_a_pair_crosses(text: str, pair: tuple[int, int], span: Span) -> None:
    topology = Topology.parse(text)
    assert topology.span(pair) is span
    assert links.leaves(pair, topology, targets.find("h200")) == (span is Span.NETWORK)
    assert links.leaves(pair, topology, None) == (span is Span.NETWORK)
    # On CPUs every process boundary is a message, and every host has a process of its own at least.
    assert links.leaves(pair, topology, targets.find("cpu")) == (span not in (Span.PROCESS, Span.INSIDE_HOST))
    assert not links.leaves(pair, None, targets.find("cpu"))


def test_of_fewer_partitions_in_another_order() -> None:
    assert Topology.parse("2x2x1").of_partitions([3, 0]) == Topology((1, 0), (3, 0))
    assert Topology.parse("2x2").of_partitions([1, 2]) == Topology((0, 1))


def test_what_is_not_said_is_taken_from_elsewhere_unless_the_two_disagree() -> None:
    one_process = Topology((0,) * 4, (0,) * 4)
    assert Topology.parse("1x4").completed(one_process) == one_process
    assert Topology.parse("2x2").completed(one_process) == Topology.parse("2x2")
    assert Topology.parse("1x4x1").completed(one_process) == Topology.parse("1x4x1")
    assert Topology(None, TWO_BY_TWO).completed(Topology(TWO_BY_TWO)) == Topology.parse("2x1x2")
