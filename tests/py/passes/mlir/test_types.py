"""Element types: their widths, their zeros, and what XLA does to them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.version import __version__ as jaxlib_version

from hloverlap.passes.mlir import dtypes
from hloverlap.passes.mlir.types import (
    bits_of,
    bits_type,
    bytes_of,
    element_of,
    elements_of,
    has_static_shape,
    is_token,
    is_widened,
    with_element,
    zero_of,
    zeros,
)

INTEGERS = ["i1", "i2", "ui2", "i4", "ui4", "i8", "ui8", "i16", "i32", "ui32", "i64", "ui64"]
ONE_NAN = ["f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2FNUZ"]
SEVERAL_NANS = ["f8E3M4", "f8E4M3", "f8E5M2"]
FLOATS = ["f4E2M1FN", *ONE_NAN, *SEVERAL_NANS, "bf16", "f16", "f32", "f64"]


@pytest.mark.parametrize(
    ("text", "bits", "size"),
    [
        ("tensor<3xi1>", 8, 3),
        ("tensor<3xi4>", 4, 2),
        ("tensor<3xf4E2M1FN>", 4, 2),
        ("tensor<2x3xf8E5M2>", 8, 6),
        ("tensor<2x3xbf16>", 16, 12),
        ("tensor<ui64>", 64, 8),
        ("tensor<5xcomplex<f32>>", 64, 40),
        ("tensor<0xf32>", 32, 0),
        ("tensor<?xf32>", 32, 0),
        ("!stablehlo.token", 0, 0),
    ],
)
def test_a_type_has_so_many_bits_an_element_and_so_many_bytes(
    mlir: ir.Context, text: str, bits: int, size: int
) -> None:
    value_type = ir.Type.parse(text)
    assert bits_of(element_of(value_type)) == bits
    assert bytes_of(value_type) == size
    assert is_token(value_type) == text.endswith("token")
    assert has_static_shape(value_type) == (text.startswith("tensor") and "?" not in text)


def test_elements_are_counted(mlir: ir.Context) -> None:
    assert [elements_of(ir.Type.parse(f"tensor<{shape}f32>")) for shape in ("", "3x", "2x3x4x", "2x0x")] == [
        1,
        3,
        24,
        0,
    ]


def test_bits_are_held_by_an_unsigned_integer(mlir: ir.Context) -> None:
    shaped = ir.Type.parse("tensor<2x3xf8E4M3>")
    assert str(with_element(shaped, bits_type(element_of(shaped)))) == "tensor<2x3xui8>"
    assert str(bits_type(ir.Type.parse("complex<f32>"))) == "ui64"


@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS])
def test_zeros_are_zero_bits_of_every_type(mlir: ir.Context, element: str) -> None:
    spelled = "false" if element == "i1" else "0" if element in INTEGERS else "0.0"
    assert zero_of(ir.Type.parse(f"tensor<2x3x{element}>")) == ir.Attribute.parse(
        f"dense<{spelled}> : tensor<2x3x{element}>"
    )


def test_zeros_are_built_of_complex_parts(mlir: ir.Context) -> None:
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        assert str(zeros(ir.Type.parse("tensor<3xcomplex<f64>>")).type) == "tensor<3xcomplex<f64>>"
        assert str(zeros(ir.Type.parse("tensor<bf16>")).type) == "tensor<bf16>"
    assert [op.operation.name for op in module.body] == [
        "stablehlo.constant",
        "stablehlo.complex",
        "stablehlo.constant",
    ]
    assert module.operation.verify()


@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS])
def test_mlirs_types_and_numpys_are_told_alike(mlir: ir.Context, element: str) -> None:
    dtype, mlirs = dtypes.dtype_of(element), ir.Type.parse(element)
    assert dtypes.bits_of(dtype) == bits_of(mlirs)
    assert dtypes.is_widened(dtype) == is_widened(mlirs)
    assert dtypes.is_float(dtype) == isinstance(mlirs, ir.FloatType)


def test_all_small_floats_but_f16_count_as_widened_whatever_the_version(mlir: ir.Context) -> None:
    assert [element for element in FLOATS if not is_widened(ir.Type.parse(element))] == ["f16", "f32", "f64"]
    assert not any(is_widened(ir.Type.parse(element)) for element in (*INTEGERS, "complex<f32>"))


def changed_bits(element: str) -> int:
    """How many elements XLA:CPU changes when it selects among, joins and updates slices of all bit patterns."""
    dtype = dtypes.dtype_of(element)
    width = min(dtypes.bits_of(dtype), 16)
    patterns = np.arange(1 << width).astype(f"uint{8 * dtype.itemsize}")
    if dtype.itemsize > 2:  # all signs and exponents, and the payload bits next to them
        patterns = (patterns | 1) << np.array(8 * dtype.itemsize - 16, patterns.dtype)
        patterns[::2] |= 1
    x, y = patterns.view(dtype), patterns[::-1].copy().view(dtype)

    @jax.jit
    def moved(x: jax.Array, y: jax.Array, start: jax.Array) -> tuple[jax.Array, ...]:
        joined = jnp.concatenate([x, y])
        return jnp.where(start > 0, x, y), joined, jax.lax.dynamic_update_slice(joined, y, [start])

    both = np.concatenate([patterns, patterns[::-1]])
    updated = both.copy()
    updated[3 : 3 + len(patterns)] = patterns[::-1]
    found = (np.asarray(each).view(patterns.dtype) for each in moved(x, y, jnp.int32(3)))
    return sum(int((one != other).sum()) for one, other in zip(found, (patterns, both, updated), strict=True))


@pytest.mark.parametrize("element", FLOATS)
def test_xla_changes_only_types_that_are_said_to_be_widened(mlir: ir.Context, element: str) -> None:
    with jax.enable_x64(True):
        changed = changed_bits(element)
    assert not changed or is_widened(ir.Type.parse(element))
    is_old = tuple(map(int, jaxlib_version.split(".")[:2])) < (0, 12)
    assert bool(changed) == (element in SEVERAL_NANS or (element == "bf16" and is_old)), "XLA is not what it was"
