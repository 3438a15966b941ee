"""Random inputs: the same for the same seed, of every element type, of three kinds."""

import numpy as np
import pytest

from hloverlap.passes.mlir.dtypes import bits_of, dtype_of
from hloverlap.pipeline.equivalence.inputs import KINDS, bit_patterns, random_array

INTEGERS = ["i1", "i2", "ui2", "i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"]
SMALL_FLOATS = ["f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ"]
FLOATS = [*SMALL_FLOATS, "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "bf16", "f16", "f32", "f64"]
COMPLEX = ["complex<f32>", "complex<f64>"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("element", INTEGERS + FLOATS + COMPLEX)
def test_every_element_type_has_arrays_that_its_seed_decides(element, kind):
    dtype = dtype_of(element)
    for shape in ((), (0, 3), (5, 40)):
        array = random_array(shape, dtype, kind, (1, 2, 3))
        assert (array.shape, array.dtype) == (shape, dtype)
        assert bit_patterns(array).tobytes() == bit_patterns(random_array(shape, dtype, kind, (1, 2, 3))).tobytes()
    other = random_array((5, 40), dtype, kind, (1, 2, 4))
    assert (kind, element) == ("positive", "i2") or bit_patterns(array).tobytes() != bit_patterns(other).tobytes()


def test_an_element_type_that_no_array_holds_is_named():
    with pytest.raises(ValueError, match="no array can hold elements of type i3"):
        dtype_of("i3")


def test_small_integers_keep_loops_and_indices_sane():
    for kind in ("ordinary", "positive"):
        array = random_array((1000,), np.dtype(np.int64), kind, (0,))
        assert 0 <= array.min() <= array.max() <= 7
    assert 0 <= random_array((), np.dtype(np.int32), "special", (5,)) <= 7


def test_special_integers_use_every_bit():
    array = random_array((1000,), np.dtype(np.int64), "special", (0,))
    assert np.bitwise_or.reduce(array) == -1


@pytest.mark.parametrize("element", ["bf16", "f16", "f32", "f64"])
def test_special_floats_have_what_goes_wrong(element):
    array = random_array((4000,), dtype_of(element), "special", (0,)).astype(np.float64)
    patterns = bit_patterns(random_array((4000,), dtype_of(element), "special", (0,)))
    assert np.isinf(array).any()
    assert len(set(patterns[np.isnan(array)].tolist())) > 10, "NaNs carry payloads"
    assert int(1 << (bits_of(dtype_of(element)) - 1)) in patterns.tolist(), "-0"


def test_positive_inputs_keep_roots_and_quotients_finite():
    array = random_array((64, 5), np.dtype(np.float64), "positive", (0,))
    assert np.isfinite(np.log(array) / np.sqrt(array)).all()
    assert abs(random_array((), np.dtype(np.float64), "positive", (0,))) < 0.01, "a scalar is a step or a tolerance"


def test_bits_beyond_a_small_integer_do_not_count():
    import ml_dtypes

    assert bit_patterns(np.array([-1, 7], ml_dtypes.int4)).tolist() == [15, 7]
