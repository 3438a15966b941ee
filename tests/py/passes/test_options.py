"""Options come from the fields of a pass; text and values agree."""

from __future__ import annotations

import pytest

from hloverlap.passes import registry
from hloverlap.passes.base import Pass


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
