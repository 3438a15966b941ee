"""What MLIR warns of reaches the user of run, compile and jit, as it does that of hlo-opt."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import hloverlap
from hloverlap import Remark

# A second round finds nothing to do, and so nothing shows that the first was the last that was needed.
NEVER_DONE = "composite-fixed-point-pass{max-iterations=1 pipeline=cse}"
X = np.ones(3, np.float32)


def twice(x: jax.Array) -> jax.Array:
    return (x + x) * (x + x)


def warnings_among(remarks: tuple[Remark, ...]) -> list[str]:
    return [remark.message for remark in remarks if (remark.code, remark.severity) == ("", "warning")]


def test_run_hands_it_out() -> None:
    (warned,) = warnings_among(hloverlap.run(jax.jit(twice).lower(X), NEVER_DONE).remarks)
    assert "didn't converge in 1 iterations" in warned


def test_so_does_compile() -> None:
    assert len(warnings_among(hloverlap.compile(jax.jit(twice).lower(X), NEVER_DONE).result.remarks)) == 1


def test_so_do_the_records_of_jit() -> None:
    hloverlap.clear_records()
    hloverlap.jit(twice, NEVER_DONE)(X)
    (record,) = [each for each in hloverlap.records() if each.function == "twice"]
    assert len(warnings_among(record.remarks)) == 1


def test_what_was_said_before_a_pass_failed_is_on_the_error() -> None:
    module = """
        func.func @main(%x: tensor<f32>) -> tensor<f32> {
          %0 = stablehlo.add %x, %x : tensor<f32>
          return %0 : tensor<f32>
        } loc("f.py":1:1)
    """

    class Refuse(hloverlap.Pass):
        name = "refuse"
        summary = "Says something, and refuses."

        def run(self, op: object, context: hloverlap.Context) -> None:
            """Says something, and refuses."""
            context.remark("R001", "said before")
            raise hloverlap.PassError("no")

    with pytest.raises(hloverlap.PassFailedError) as raised:
        hloverlap.run(module, [Refuse()])
    assert [each.message for each in raised.value.remarks] == ["said before"]
    assert raised.value.pass_name == "refuse"
