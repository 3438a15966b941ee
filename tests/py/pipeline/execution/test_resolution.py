"""Names and options in pipeline text: what they become, and where a mistake is shown."""

import pytest

from hloverlap.passes import registry
from hloverlap.passes.errors import PipelineError, PipelineTextError
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.execution import resolution
from hloverlap.pipeline.execution.mlir_passes import KNOWN

CONTEXT = make_context()


def canonical(pipeline):
    return str(resolution.resolve(pipeline, CONTEXT))


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("cse", "builtin.module(cse)"),
        ("", "builtin.module()"),
        (
            "any(cse,func.func( canonicalize{ top-down=false } ))",
            "builtin.module(cse,func.func(canonicalize{top-down=false}))",
        ),
        ("note{times=1 word=seen}", "builtin.module(note)"),
        ("note{mark times=3}", "builtin.module(note{times=3 mark=true})"),
        ("note{mark=0 mood=bad word='a b'}", "builtin.module(note{word='a b' mood=bad})"),
        ("func.func(note-function,cse)", "builtin.module(func.func(note-function,cse))"),
        ("any(note-any),func.func(note-any),note-any", "builtin.module(any(note-any),func.func(note-any),note-any)"),
        ("inline{op-pipelines={func.func(cse)}}", "builtin.module(inline{op-pipelines={func.func(cse)}})"),
        ("sdy-propagation-pipeline", "builtin.module(sdy-propagation-pipeline)"),
    ],
)
def test_the_canonical_form_leaves_defaults_out_and_is_its_own(plugins, written, printed):
    assert canonical(written) == printed
    assert canonical(printed) == printed


def test_a_named_pipeline_becomes_its_passes():
    assert canonical("cse,overlap") == f"builtin.module(cse,{registry.PIPELINES['overlap']})"


def test_passes_can_be_given_as_objects(plugins):
    note = registry.find("note")
    assert canonical(note(times=2)) == "builtin.module(note{times=2})"
    assert canonical([note(), note(mark=True)]) == "builtin.module(note,note{mark=true})"
    with pytest.raises(PipelineError, match="3 is no pass"):
        canonical([note(), 3])
    with pytest.raises(PipelineError, match=r"runs on func.func: give text such as 'func.func\(note-function\)'"):
        canonical(registry.find("note-function")())


@pytest.mark.parametrize("name", KNOWN)
def test_every_suggested_mlir_pass_is_in_this_jaxlib(name):
    assert canonical(name) == f"builtin.module({name})"


MISTAKES = [
    (
        "assign-collective-stream{max-streams=2}",
        "unknown pass 'assign-collective-stream'; did you mean 'assign-collective-streams'?",
        0,
    ),
    ("cse,canonicalise", "unknown pass 'canonicalise'; did you mean 'canonicalize'?", 4),
    ("overlapp", "unknown pass 'overlapp'; did you mean 'overlap'?", 0),
    ("nott", "unknown pass 'nott'; did you mean 'note'?", 0),
    ("zzzzzz", "unknown pass 'zzzzzz'; --list-passes shows all", 0),
    ("fnc.func(cse)", "there is no operation 'fnc.func' to run passes on; did you mean 'func.func'?", 0),
    ("canonicalize(cse)", "there is no operation 'canonicalize' to run passes on", 0),
    ("note{tims=2}", "'note' has no option 'tims'; did you mean 'times'?", 5),
    ("note{zzzz=2}", "'note' has no option 'zzzz'; its options are word, times, mark, mood", 5),
    ("refuse{a=1}", "'refuse' has no option 'a'; it has none", 7),
    ("note{times=2 times=3}", "option 'times' is given twice", 13),
    ("note{times=two}", "option 'times': 'two' is not an integer", 11),
    ("note{mark=maybe}", "option 'mark': 'maybe' is neither true nor false", 10),
    ("note{mood=fair}", "option 'mood': 'fair' is not one of good, bad", 10),
    ("note{word}", "option 'word' needs a value: word=<str>", 5),
    ("note{mark times=0}", "'note': times must be at least 1", 16),
    ("overlap{max-streams=2}", "pipeline 'overlap' takes no options", 8),
    ("func.func(note)", "'note' runs on builtin.module but stands in func.func(...)", 10),
    ("func.func(overlap)", "'canonicalize-permutes' runs on builtin.module but stands in func.func(...)", 10),
    ("note-function", "'note-function' runs on func.func but stands in builtin.module(...)", 0),
    ("canonicalize{top-dwn=false}", "'canonicalize' has no option 'top-dwn'; did you mean 'top-down'?", 13),
    ("canonicalize{top-down=x}", "'canonicalize' refuses option 'top-down': ", 22),
    ("cse{a=1}", "'cse' has no option 'a'; it has none", 4),
    ("not-a-pass", "pass 'not-a-pass' cannot be loaded: TypeError: ", 0),
    ("not-there", "pass 'not-there' cannot be loaded: AttributeError: ", 0),
    ("not-importable", "pass 'not-importable' cannot be loaded: ModuleNotFoundError: ", 0),
]


@pytest.mark.parametrize(("written", "message", "position"), MISTAKES, ids=[written for written, *_ in MISTAKES])
def test_a_mistake_is_one_sentence_and_a_caret(plugins, capfd, written, message, position):
    with pytest.raises(PipelineTextError) as error:
        canonical(written)
    sentence, line, caret = str(error.value).split("\n")
    assert sentence.startswith(message)
    assert (line, caret) == (f"  {written}", f"  {' ' * position}^")
    assert capfd.readouterr() == ("", ""), "MLIR's own words come in the error, not beside it"


def test_an_unregistered_operation_can_be_an_anchor_where_they_are_allowed():
    context = make_context(allow_unregistered=True)
    assert str(resolution.resolve("my.op(cse)", context)) == "builtin.module(my.op(cse))"
