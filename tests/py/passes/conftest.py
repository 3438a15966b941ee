"""MLIR contexts and short ways to write modules for the passes' tests."""

from collections.abc import Iterator

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context


@pytest.fixture
def mlir() -> Iterator[ir.Context]:
    """A context that is current during the test."""
    with make_context() as context, ir.Location.unknown():
        yield context
