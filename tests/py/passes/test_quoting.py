"""`str` of a pass is text that makes the same pass again, whatever its options hold."""

from __future__ import annotations

import dataclasses
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hloverlap.passes import quoting, registry
from hloverlap.passes.base import Pass, option
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.execution import resolution, text


@dataclasses.dataclass(frozen=True)
class Say(Pass):
    name = "say"
    summary = "Takes any words."
    words: str = option("", "any text")
    more: str = option("default", "any text")


CONTEXT = make_context()
# What the grammar of pipelines is made of, more often than chance would have it.
WORDS = st.one_of(st.text(), st.text(alphabet="'\"{}(),=\\ \n\tab", max_size=12))


def read(pipeline: str) -> tuple[resolution.Step, ...]:
    """The steps that text stands for, with `Say` among the passes."""
    find = registry.find
    with mock.patch.object(registry, "find", lambda name: Say if name == "say" else find(name)):
        return resolution.resolve(pipeline, CONTEXT).steps


@given(WORDS, WORDS)
@example('it\'s "both"', "'\"'")
@example("{a,b}", "{a'b}")
@example("'", '"')
@example("", "}{")
@example("''\"", "\\'\"")
def test_every_text_comes_back(words: str, more: str) -> None:
    made = Say(words, more)
    assert read(str(made)) == (made,)
    assert read(f"builtin.module(cse,{made},func.func(cse))")[1] == made


@given(WORDS)
def test_a_node_of_the_tree_prints_as_it_was_read(words: str) -> None:
    node = text.OptionNode("words", words, 0, 0)
    (parsed,) = text.parse(f"say{{{node}}}").children
    assert isinstance(parsed, text.PassNode)
    assert [(each.name, each.value) for each in parsed.options] == [("words", words)]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", "plain"),
        ("two words", "'two words'"),
        ("it's", '"it\'s"'),
        ('a "b"', "'a \"b\"'"),
        ('it\'s "b"', "'it''s \"b\"'"),
        ("{a,b}", "{a,b}"),
        ("}", "'}'"),
        ("", "''"),
    ],
)
def test_a_value_is_written_as_plainly_as_can_be(value: str, written: str) -> None:
    assert quoting.quoted(value) == written
    assert quoting.unquoted(written) == value
