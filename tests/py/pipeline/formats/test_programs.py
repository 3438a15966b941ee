"""What a Python caller may hand over as a program is told apart, and an error never quotes a module."""

import jax
import jax.export
import jax.numpy as jnp
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.formats import programs
from hloverlap.pipeline.formats.errors import ReadError

TEXT = "module { func.func @main() { return } }"


def f(x):
    return jnp.sin(x)


@pytest.fixture(scope="module")
def lowered():
    return jax.jit(f).lower(jnp.ones(4))


def test_text_bytes_and_paths(tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    (tmp_path / "{odd}").write_text(TEXT)
    for program, name in (
        (TEXT, "<text>"),
        ("// over lines\n" + TEXT, "<text>"),
        (TEXT.encode(), "<bytes>"),
        (bytearray(TEXT.encode()), "<bytes>"),
        (memoryview(TEXT.encode()), "<bytes>"),
        (str(path), str(path)),
        (path, str(path)),
        (str(tmp_path / "{odd}"), str(tmp_path / "{odd}")),
    ):
        module, called = programs.module_of(program)
        assert "func.func @main" in str(module)
        assert called == name


def test_modules_and_what_jax_made(lowered):
    module = ir.Module.parse(TEXT, make_context())
    for program, name in ((module, "<module>"), (lowered, "<lowered>"), (lowered.as_text("hlo"), "<text>")):
        found, called = programs.module_of(program)
        assert "@main" in str(found)
        assert called == name
        assert found is not program
    exported = jax.export.export(jax.jit(f))(jnp.ones(4))
    assert "stablehlo.sine" in str(programs.module_of(exported)[0])


def test_what_jax_made_is_not_changed(lowered):
    """A lowering is kept by jit for its next calls, in a context whose passes run on threads."""
    module = programs.module_of(lowered)[0]
    assert module.context is not lowered.compiler_ir("stablehlo").context
    module.operation.attributes["mine"] = ir.UnitAttr.get(module.context)
    assert "mine" not in lowered.as_text()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", "<text>: empty; was the program that should have written it stopped?"),
        ("no.mlir", "no.mlir: cannot be read: No such file or directory"),
        ("module { " + "foo.bar " * 1000 + "}", "<text>:1:10: looks like MLIR text, but with an op 'foo.bar' of the"),
        (b"module { foo.bar }", "<bytes>:1:10: looks like MLIR text, but with an op 'foo.bar' of the unknown"),
        ("x" * 5000, "x" * 200 + "…: cannot be read: File name too long"),
    ],
    ids=["empty", "path", "text", "bytes", "long"],
)
def test_errors_never_quote_a_module(program, message):
    with pytest.raises(ReadError) as caught:
        programs.module_of(program)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (jax.jit(f), "is no program: lower it first, with jax.jit"),
        (3, "int is no program: give a module, its text"),
    ],
    ids=["jit", "int"],
)
def test_what_is_no_program(program, message):
    with pytest.raises(TypeError, match=message):
        programs.module_of(program)
