"""Pipeline text: what is read, and where a mistake is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hloverlap.passes.errors import PipelineTextError
from hloverlap.pipeline.execution import text
from hloverlap.pipeline.execution.text import AnchorNode, OptionNode, PassNode


def test_passes_options_and_anchors_know_their_place():
    tree = text.parse("builtin.module(cse, func.func(canonicalize{top-down=false region-simplify=normal fast}))")
    options = (
        OptionNode("top-down", "false", 43, 52),
        OptionNode("region-simplify", "normal", 58, 74),
        OptionNode("fast", None, 81, 81),
    )
    canonicalize = PassNode("canonicalize", 30, options, "top-down=false region-simplify=normal fast")
    assert tree == AnchorNode("builtin.module", 0, (PassNode("cse", 15), AnchorNode("func.func", 20, (canonicalize,))))


@pytest.mark.parametrize("written", ["cse,symbol-dce", "builtin.module(cse,symbol-dce)", "any( cse ,\n symbol-dce )"])
def test_a_bare_list_stands_in_the_module(written):
    tree = text.parse(written)
    assert tree.name == "builtin.module"
    assert [child.name for child in tree.children] == ["cse", "symbol-dce"]


@pytest.mark.parametrize("written", ["", "  ", "builtin.module()"])
def test_no_passes_at_all(written):
    assert text.parse(written).children == ()


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("p{a=1}", "1"),
        ("p{a=}", ""),
        ("p{a='two words'}", "two words"),
        ('p{a="it\'s"}', "it's"),
        ("p{a={func.func(cse, inline{b=1})}}", "{func.func(cse, inline{b=1})}"),
        ("p{a=x,y,z}", "x,y,z"),
    ],
)
def test_values(written, value):
    (child,) = text.parse(written).children
    assert isinstance(child, PassNode)
    assert [option.value for option in child.options] == [value]


@pytest.mark.parametrize(
    ("written", "message", "caret"),
    [
        ("builtin.module(cse", "this '(' is never closed", "              ^"),
        ("builtin.module(func.func(cse)", "this '(' is never closed", "              ^"),
        ("builtin.module(cse))", "this ')' closes nothing", "                   ^"),
        ("cse,,inline", "expected the name of a pass or operation", "    ^"),
        ("cse,", "expected the name of a pass or operation", "    ^"),
        ("cse inline", "expected ','", "    ^"),
        ("func.func(cse inline)", "expected ',' or ')'", "              ^"),
        ("p{a=1", "this '{' is never closed", " ^"),
        ("p{=1}", "expected the name of an option", "  ^"),
        ("p{a='x}", "this '{' is never closed", " ^"),
        ("{a=1}", "expected the name of a pass or operation", "^"),
    ],
)
def test_a_mistake_is_shown_at_its_character(written, message, caret):
    with pytest.raises(PipelineTextError) as error:
        text.parse(written)
    assert str(error.value).split("\n") == [message, f"  {written}", f"  {caret}"]


def test_of_text_over_several_lines_the_wrong_line_is_shown():
    with pytest.raises(PipelineTextError) as error:
        text.parse("builtin.module(\n\tcse,\n\t?)")
    assert str(error.value) == "expected the name of a pass or operation\n  \t?)\n  \t^"


names = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
values = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12).filter(
    lambda value: not ("'" in value and '"' in value)
)
passes = st.tuples(names, st.lists(st.tuples(names, values), max_size=3))


@given(st.lists(passes, min_size=1, max_size=4))
def test_what_is_written_is_read_back(written):
    """Whatever the values hold, quoting brings them through."""
    elements = [
        text.element(name, " ".join(str(OptionNode(key, value, 0, 0)) for key, value in options))
        for name, options in written
    ]
    children = text.parse(f"builtin.module({','.join(elements)})").children
    assert all(isinstance(child, PassNode) for child in children)
    assert [(child.name, [(option.name, option.value) for option in child.options]) for child in children] == written


@given(st.text(alphabet="ab-.(){}=,' \n\"", max_size=24))
def test_any_text_is_a_tree_or_an_error_with_a_place(written):
    try:
        tree = text.parse(written)
    except PipelineTextError as error:
        position = error.position
    else:
        position = tree.position
    assert 0 <= position <= len(written)
