"""Options come from the fields of a pass; text and values agree."""

from __future__ import annotations

import pytest

from hloverlap.passes import registry
from hloverlap.passes.base import Pass
from hloverlap.passes.machine.topology import Topology


@pytest.mark.parametrize("name", [*registry.STEPS, *registry.BUILTIN])
def test_every_pass_can_be_found_and_is_documented(name: str) -> None:
    found = registry.find(name)
    assert found is not None
    assert issubclass(found, Pass)
    assert found.name == name
    assert found.summary.endswith(".")
    assert "before:" in found.example
    assert found.statistics
    assert all(option.help for option in found.options())
    assert str(found()) == name


def test_an_option_prints_as_it_is_read() -> None:
    found = registry.find("assign-collective-streams")
    assert found is not None
    made = found(max_streams=2, collectives="all")  # type: ignore[call-arg]
    assert str(made) == "assign-collective-streams{max-streams=2 collectives=all}"
    spelled = {option.field: option.parse(option.format(getattr(made, option.field))) for option in found.options()}
    assert found(**spelled) == made


@pytest.mark.parametrize(
    ("text", "host"),
    [("2x2", (0, 0, 1, 1)), ("1x3", (0, 0, 0)), ("[0, 1, 0, 1]", (0, 1, 0, 1)), ("[5]", (5,))],
)
def test_a_topology_is_hosts_by_devices_or_a_list(text: str, host: tuple[int, ...]) -> None:
    assert Topology.parse(text).host == host


@pytest.mark.parametrize("text", ["", "0x4", "2x0", "2x", "x", "[]", "[-1]", "[0.5]", '["a"]', "[true]", "{}", "[0"])
def test_anything_else_is_no_topology(text: str) -> None:
    with pytest.raises(ValueError, match="neither HOSTSxDEVICES"):
        Topology.parse(text)


def test_a_pair_crosses_when_its_ends_are_on_two_hosts() -> None:
    topology = Topology.parse("2x2")
    assert topology.any_crosses([(0, 1), (1, 2)])
    assert not topology.any_crosses([(0, 1), (2, 3)])
    assert not topology.any_crosses([(0, 9), (-1, 2)])  # no such partition
