"""Converts bytes that nobody has checked, by MLIR and XLA, in a process that may abort, hang or fill its memory.

    python -m hloverlap.pipeline.formats.convert_child CONVERSION [--allow-unregistered-dialect] < INPUT > OUTPUT

Every conversion into a module gives MLIR bytecode. With an exit status of ANSWERS the output says why there is none.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Literal, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from hloverlap.passes.mlir import diagnostics, mhlo
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import bytecode
from hloverlap.passes.remark import Remark
from hloverlap.pipeline.children.limits import limit
from hloverlap.pipeline.formats import naming
from hloverlap.pipeline.jax_internals import hlo

Answer: TypeAlias = Literal["malformed", "inexpressible", "optimized"]

# Exit statuses: the input is not what it should be; it is, but the other side has no words for it; it is HLO with an
# instruction that only XLA's optimizations make, and the output is the line of that instruction.
MALFORMED, INEXPRESSIBLE, OPTIMIZED = 3, 4, 5
ANSWERS: dict[int, Answer] = {MALFORMED: "malformed", INEXPRESSIBLE: "inexpressible", OPTIMIZED: "optimized"}

_MEMORY, _MEMORY_PER_BYTE = 256 << 20, 64  # bytes more than there are at the start; XLA's libraries take 70 MiB
_SECONDS, _SECONDS_PER_BYTE = 10, 1e-4  # of processor time; starting takes 0.4, and XLA needs up to 5e-6 for a byte


class InexpressibleError(Exception):
    """Says that something is well-formed, but that the other language has no word for it."""


class OptimizedError(Exception):
    """Says that HLO was already optimized; the text is the line of an instruction that shows it."""


def from_bytecode(data: bytes, context: ir.Context) -> bytes:
    """Reads MLIR bytecode, verifies it and writes it again."""
    return _bytecode(_parse(data, context))


def from_portable(data: bytes, context: ir.Context) -> bytes:
    """Reads a StableHLO portable artifact."""
    from jaxlib.mlir.dialects import stablehlo

    found: list[Remark] = []
    with diagnostics.collected(context, found):
        try:
            module = stablehlo.deserialize_portable_artifact(context, data)
            module.operation.verify()
        except (ValueError, ir.MLIRError) as error:
            raise ValueError(found[0].message if found else str(error)) from None
    return _bytecode(module)


def from_hlo_text(data: bytes, context: ir.Context) -> bytes:
    """Reads HLO text, as XLA dumps it."""
    text = data.decode()
    return _from_hlo(hlo.to_proto(hlo.from_text(text)), text, context)


def from_hlo_proto(data: bytes, context: ir.Context) -> bytes:
    """Reads a serialized HloModuleProto."""
    module = hlo.from_proto(data)  # raises for what is no HLO at all
    return _from_hlo(data, module.to_string(), context)


def to_hlo_text(data: bytes, context: ir.Context) -> bytes:
    """Writes bytecode as HLO text, as ``lowered.as_text("hlo")`` gives it."""
    return hlo.stablehlo_to_text(data, metadata=False).encode()


def to_hlo_text_with_metadata(data: bytes, context: ir.Context) -> bytes:
    """Writes bytecode as HLO text with each instruction's name and source line."""
    return hlo.stablehlo_to_text(data, metadata=True).encode()


CONVERSIONS: dict[str, Callable[[bytes, ir.Context], bytes]] = {
    function.__name__: function
    for function in (
        from_bytecode,
        from_portable,
        from_hlo_text,
        from_hlo_proto,
        to_hlo_text,
        to_hlo_text_with_metadata,
    )
}


def _from_hlo(proto: bytes, text: str, context: ir.Context) -> bytes:
    """Makes StableHLO, CHLO and what is left of MHLO; only of the functions that run.

    XLA's importer makes a function of each computation, also of the bodies of loops and reductions, which it makes
    regions of the ops as well (``import_all_computation`` in xla/hlo/translate/stablehlo.cc).
    """
    if instruction := _OPTIMIZED.search(text):
        raise OptimizedError(instruction[0].strip().partition(", metadata=")[0])
    try:
        module = _parse(hlo.proto_to_stablehlo(proto), context)
    except (RuntimeError, ValueError) as error:
        raise InexpressibleError(str(error)) from None
    mhlo.to_stablehlo(module.operation, keep_annotated=True)
    PassManager.parse("builtin.module(symbol-dce)", context).run(module.operation)
    return _bytecode(module)


# Instructions that XLA makes late, and that StableHLO has no words for: fusions; asynchronous pairs; bitcasts, which
# depend on layouts; permutes and all-to-alls of several operands, which only the combiner and the decomposer make.
_OPTIMIZED = re.compile(
    r"^ *(?:ROOT )?%?[\w.-]+ = (?:[^\s(]+|\(.*?\)) (?:fusion|bitcast|async-\w+|[\w-]+-start)\(.*"
    r"|^ *(?:ROOT )?%?[\w.-]+ = \(.*?\) (?:collective-permute|all-to-all)\(.*",
    re.MULTILINE,
)


def _parse(data: bytes, context: ir.Context) -> ir.Module:
    try:
        return ir.Module.parse(data, context)
    except ir.MLIRError as error:
        raise ValueError(error.error_diagnostics[0].message if error.error_diagnostics else str(error)) from None


def _bytecode(module: ir.Module) -> bytes:
    """Writes the module for the process that asked, if it can look at it: see naming."""
    if name := naming.undecodable(module):
        raise ValueError(f"the name {name} is no UTF-8")
    return bytecode(module)


def main(conversion: str, allow_unregistered: bool) -> int:
    """Converts stdin; returns the exit status."""
    data = sys.stdin.buffer.read()
    # A damaged length must not fill the machine, nor count for ever.
    limit(_MEMORY + _MEMORY_PER_BYTE * len(data), int(_SECONDS + _SECONDS_PER_BYTE * len(data)))
    # What libraries print must not get into the result.
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        try:
            result, status = CONVERSIONS[conversion](data, make_context(allow_unregistered)), 0
        except InexpressibleError as error:
            result, status = str(error).encode(), INEXPRESSIBLE
        except OptimizedError as error:
            result, status = str(error).encode(), OPTIMIZED
        except MemoryError:
            result, status = b"it asks for more memory than such a file can need", MALFORMED
        except Exception as error:  # whatever MLIR or XLA says is the answer of this process
            result, status = (str(error) or type(error).__name__).encode(), MALFORMED
        out.write(result)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--allow-unregistered-dialect" in sys.argv[2:]))
