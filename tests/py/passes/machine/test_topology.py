"""Topologies as text."""

import pytest

from hloverlap.passes.errors import TopologyError
from hloverlap.passes.machine.topology import Topology


@pytest.mark.parametrize("text", ["1x1", "2x4", "1x2x4", "2x2x1", "[0,1,0,1]", "[0,0,1]", "[3,3]"])
def test_a_topology_is_read_again_as_it_is_written(text: str) -> None:
    assert str(Topology.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "spelled"), [(" 2x4 ", "2x4"), ("[0,0,1,1]", "2x2"), ("[0, 1]", "2x1"), ("2x1x4", "2x4")]
)
def test_what_is_the_same_is_written_alike(text: str, spelled: str) -> None:
    assert str(Topology.parse(text)) == spelled
    assert Topology.parse(text) == Topology.parse(spelled)


def test_xlas_three_numbers_are_domains_of_hosts() -> None:
    found = Topology.parse("2x3x4")
    assert found.size == 24
    assert len(set(found.host)) == 6
    assert found.hosts_per_domain == 3
    assert found.crosses((3, 4))


@pytest.mark.parametrize("text", ["", "0x4", "2x0", "0x2x4", "1x2x3x4", "2by4", "[]", "[0,-1]", "[true]", "{}", "[0,"])
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TopologyError, match=r"neither HOSTSxDEVICES.*nor a JSON list"):
        Topology.parse(text)
