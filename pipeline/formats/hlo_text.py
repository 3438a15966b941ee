"""Reads and writes HLO text, as XLA dumps it, and holds what it shares with HLO protos."""

from __future__ import annotations

import re

from jaxlib.mlir import ir

from hloverlap.passes.mlir.modules import PARTITIONS, REPLICAS, bytecode
from hloverlap.pipeline.formats import conversion, errors
from hloverlap.pipeline.formats.errors import ReadError, WriteError
from hloverlap.pipeline.formats.format import Format, Source, Style
from hloverlap.pipeline.formats.mlir_text import first_word

_START = re.compile(rb"(?:HloModule|ENTRY)\s")
_HEADER = re.compile(rb"^\s*HloModule.*", re.MULTILINE)
_TUPLE_ELEMENT = re.compile(r"[(, ]%[\w.-]+#\d")  # from 0.12 on, for get-tuple-element
_COUNTS = {"replica_count": REPLICAS, "num_partitions": PARTITIONS}


class HloText(Format):
    """The format of what ``--xla_dump_hlo_as_text`` and ``lowered.as_text("hlo")`` give."""

    name = "HLO text"
    keeps_stablehlo = False

    def sniff(self, data: bytes) -> bool:
        """Says whether the first word is ``HloModule``."""
        return _START.match(data, first_word(data)) is not None

    def read(self, data: bytes, name: str, context: ir.Context) -> ir.Module:
        """Has a child process convert the text to StableHLO, and notes the number of devices that the header names."""
        try:
            data.decode("utf-8")
            module = conversion.to_module("from_hlo_text", data, context)
        except (UnicodeDecodeError, conversion.ConversionError) as error:
            raise self.explain(error, data, name) from None
        header = _HEADER.search(data)
        for key, attribute in _COUNTS.items():
            if header and (count := re.search(rf", {key}=(\d{{1,9}})(?=,|$)".encode(), header[0])):
                set_count(module, attribute, int(count[1]))
        return module

    def write(self, module: ir.Module, source: Source, style: Style) -> bytes:
        """Writes as ``lowered.as_text("hlo")`` does, and the number of devices, which that leaves out."""
        way = "to_hlo_text_with_metadata" if style.debuginfo else "to_hlo_text"
        try:
            text = conversion.convert(way, bytecode(module), module.context.allow_unregistered_dialects)
        except conversion.ConversionError as error:
            problem = errors.one_line(str(error))
            raise WriteError(f"{source.name}: XLA cannot express it as HLO: {problem}; use --emit=mlir") from None
        header, rest = text.split(b"\n", 1)
        attributes = module.operation.attributes
        for key, name in _COUNTS.items():
            if name in attributes and not re.search(rf", {key}=\d".encode(), header):
                count = ir.IntegerAttr(attributes[name]).value
                header += f", {key}={count}".encode() if count > 1 else b""
        return b"\n".join((header, rest))

    def explain(self, error: Exception, data: bytes, name: str) -> ReadError:
        """Explains why XLA refuses HLO, or why StableHLO cannot express it."""
        if isinstance(error, UnicodeDecodeError):
            return errors.not_utf8(data, name, self.name, error)
        return explain(error, data, name, self.name)


def set_count(module: ir.Module, attribute: str, count: int) -> None:
    """Says for how many devices a module is: HLO has that beside the program, and its conversion drops it."""
    if 0 < count < 2**31:
        number = ir.IntegerType.get_signless(32, module.context)
        module.operation.attributes[attribute] = ir.IntegerAttr.get(number, count)


def explain(error: Exception, data: bytes, name: str, what: str) -> ReadError:
    """Explains why XLA refuses HLO, or why StableHLO cannot express it."""
    message = str(error)
    kind = error.kind if isinstance(error, conversion.ConversionError) else ""
    if kind == "optimized":
        position = data.find(message.encode())  # in a proto it is not
        number = data.count(b"\n", 0, position) + 1
        where = f"line {number}, " if position >= 0 else ""
        return ReadError(
            f"{name}: {what} that XLA has already optimized, which StableHLO cannot express: {where}"
            f"{errors.one_line(message, 100)}; take an earlier dump: *.before_optimizations.txt, or with the "
            "partitioner's transfers *after_spmd-partitioning*.txt"
        )
    if kind == "inexpressible":
        return ReadError(
            f"{name}: {what} that cannot be turned into StableHLO: {errors.one_line(message)}; {errors.DAMAGED}, "
            "or XLA has already optimized it"
        )
    if match := re.search(r"was parsing (\d+):(\d+): error: ([^\n]*)", message):
        if _TUPLE_ELEMENT.search(message):
            return ReadError(
                f"{name}:{match[1]}: looks like {what}, but it names elements of tuples as newer versions of XLA do "
                f"and {errors.JAXLIB} cannot: read it with the jaxlib that dumped it"
            )
        problem = f"XLA cannot parse it: {match[3].rstrip(': ')}"
        return errors.damaged(f"{name}:{match[1]}:{match[2]}", what, problem)
    return errors.damaged(name, what, errors.cannot(error))
