"""Python passes and MLIR's own in one pipeline."""

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.errors import PassFailedError
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.execution import manager, resolution
from hloverlap.pipeline.execution.manager import Instrumentation


def run(text, pipeline, **instrumentation):
    """The rewritten text and the messages of the remarks, in order."""
    mlir = make_context()
    module = ir.Module.parse(text, mlir)
    context = Context()
    manager.run(resolution.resolve(pipeline, mlir), module.operation, context, Instrumentation(**instrumentation))
    return str(module), [remark.message for remark in context.remarks]


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        ("note", ["seen main", "seen unused"]),
        ("symbol-dce,note", ["seen main"]),
        ("note{word=before},symbol-dce,note{word=after}", ["before main", "before unused", "after main"]),
        # Each function goes through the whole nest before the next one starts, as with MLIR's own passes.
        (
            "func.func(note-function,cse,note-function)",
            ["main has 4 ops", "main has 3 ops", "unused has 1 ops", "unused has 1 ops"],
        ),
        ("func.func(cse),symbol-dce,func.func(note-function)", ["main has 3 ops"]),
        ("any(note-any),note-any", ["on func.func", "on func.func", "on builtin.module"]),
        ("builtin.module(builtin.module(note-any))", []),
        ("", []),
    ],
)
def test_passes_run_in_the_order_of_the_text(plugins, two_functions, pipeline, said):
    assert run(two_functions, pipeline)[1] == said


def test_mlir_passes_alone_change_the_module(two_functions):
    after, _ = run(two_functions, "symbol-dce,func.func(cse)")
    assert "@unused" not in after
    assert after.count("stablehlo.add") == 1


def test_a_nest_in_a_nest(plugins, two_functions):
    nested = f"module {{ module @inner {{ {two_functions} }} }}"
    _, said = run(nested, "builtin.module(builtin.module(builtin.module(func.func(cse,note-function))))")
    assert said == ["main has 3 ops", "unused has 1 ops"]


def test_any_runs_only_where_mlir_would(plugins):
    mesh = 'module { sdy.mesh @mesh = <["x"=2]> func.func @f() { return } }'
    assert run(mesh, "any(note-any),cse")[1] == ["on func.func"]


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("refuse", "refuse: the module has no music in it"),
        ("stumble", "stumble raised KeyError: 'no such key'"),
        ("break", "input:2: 'func.func' op entry block must have 0 arguments to match function signature"),
        ("cse,func.func(cse),stumble,note", "stumble raised KeyError: 'no such key'"),
    ],
)
def test_a_failed_pass_is_one_line_and_stops_the_run(plugins, two_functions, capfd, pipeline, message):
    with pytest.raises(PassFailedError) as error:
        run(two_functions, pipeline)
    assert str(error.value) == message
    assert capfd.readouterr() == ("", "")


def test_an_error_below_an_anchor_comes_up(plugins, two_functions):
    nested = f"module {{ module @inner {{ {two_functions} }} module @other {{ func.func @g() {{ return }} }} }}"
    with pytest.raises(PassFailedError, match="refuse: the module has no music in it"):
        run(nested, "builtin.module(builtin.module(builtin.module(refuse)))")


@pytest.mark.parametrize("declared", [{}, {"TST002": "said"}, {"TST001": "not said"}], ids=["none", "said", "other"])
def test_a_pass_that_declares_remarks_makes_no_others(two_functions, declared):
    class Speaks(Pass):
        name, summary, remarks = "speaks", "Speaks.", declared

        def run(self, op, context):
            context.remark("TST002", "said", op)

    mlir = make_context()
    module = ir.Module.parse(two_functions, mlir)
    steps, context = resolution.resolve(Speaks(), mlir), Context()
    if "TST001" not in declared:
        manager.run(steps, module.operation, context, Instrumentation())
        assert len(context.remarks) == 1
        return
    with pytest.raises(PassFailedError, match="does not declare \\['TST002'\\] among its remarks"):
        manager.run(steps, module.operation, context, Instrumentation())


def test_an_interrupt_is_not_swallowed(two_functions):
    import dataclasses

    from hloverlap.passes.base import Pass

    @dataclasses.dataclass(frozen=True)
    class Interrupted(Pass):
        name = "interrupted"
        summary = "The user has lost patience."

        def run(self, op, context):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(two_functions, Interrupted())


def test_without_verifier_a_broken_module_passes(plugins, two_functions):
    after, _ = run(two_functions, "break", verify_each=False)
    assert "function_type = () -> ()" in after


@pytest.mark.parametrize(
    ("flags", "seen", "unseen"),
    [
        ({"print_ir_before_all": True}, ["IR Dump Before note", "IR Dump Before CSEPass"], ["IR Dump After"]),
        ({"print_ir_after_all": True}, ["IR Dump After note", "IR Dump After CSEPass"], ["IR Dump Before"]),
        ({"print_ir_after_change": True}, ["IR Dump After CSEPass"], ["IR Dump After note"]),
        ({"timing": True}, ["Execution time report", "note", "CSEPass"], ["IR Dump"]),
    ],
)
def test_mlir_reports_on_both_kinds_of_pass(plugins, two_functions, capfd, flags, seen, unseen):
    run(two_functions, "note,func.func(cse)", **flags)
    report = capfd.readouterr().err
    assert all(text in report for text in seen)
    assert not any(text in report for text in unseen)


def test_ir_is_printed_below_an_anchor_with_python_passes_too(plugins, two_functions, capfd):
    run(two_functions, "func.func(note-function,cse)", print_ir_after_change=True)
    assert capfd.readouterr().err.count("IR Dump After CSEPass") == 1
