"""Tells on which stream XLA:GPU puts what carries an annotation, and on which ops it reads none.

The rules are those of xla/service/gpu/execution_stream_assignment.cc and of the passes before it;
tests/py/passes/analysis/test_xla_rules.py compiles each of them, so that a version that moved one says so.
"""

from __future__ import annotations

import re

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS, Collective
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import INLINEABLE
from hloverlap.passes.mlir.symbols import CALL

DEFAULT_STREAM = 0  # of collectives without an annotation, and of groups
DOMAIN_STREAM = 3  # of collectives in the communication domain, with XLA's default of one stream a domain

# What XLA puts on a stream by itself. Of these, a version keeps the first `Capabilities.reserved_streams`.
RESERVED = (
    "whatever has no annotation runs there",
    "pipelined sends and receives run there",
    "pipelined sends and receives run there",
    "the communication domain 'scale_up_fabric' runs there",
)

_LIKE_COLLECTIVES = "collective"  # the stream of what has no annotation; on compute: where collectives go
_DOMAIN, _NO_DOMAIN = "scale_up_fabric", "unspecified"

# absl::SimpleAtoi into 32 bits: ASCII spaces around it are skipped. Ten digits are enough to be out of range.
_NUMBER = re.compile(r"[\t-\r ]*([+-]?)0*([0-9]{1,10})[\t-\r ]*")


def stream_of(text: str) -> int | None:
    """Gives the stream that the text of an annotation names; None where XLA aborts the process over it.

    A negative number is taken modulo 2**64. ``collective``, in any case, names no stream of its own.
    """
    if names_no_stream(text):
        return DEFAULT_STREAM
    number = _NUMBER.fullmatch(text)
    stream = int(number[1] + number[2]) if number else 2**31
    return stream % 2**64 if -(2**31) <= stream < 2**31 else None


def names_no_stream(text: str) -> bool:
    """Says whether an annotation is XLA's own word for where collectives go."""
    return text.lower() == _LIKE_COLLECTIVES


def is_domain(text: str | None) -> bool:
    """Says whether the text of a domain attribute, None for no attribute, puts a collective into the domain."""
    return text is not None and text.lower() == _DOMAIN


def is_valid_domain(text: str) -> bool:
    """Says whether XLA takes the text of a domain attribute."""
    return text.lower() in (_DOMAIN, _NO_DOMAIN)


def chosen_stream(fact: Collective, capabilities: Capabilities) -> int | None:
    """Gives the stream that a collective is put on by what it carries; None where it carries nothing, or aborts XLA."""
    if fact.stream is not None:
        return stream_of(fact.stream)
    if is_domain(fact.domain):
        return DOMAIN_STREAM if capabilities.has_scale_up_domain else DEFAULT_STREAM
    return None


def stays_whole(call: ir.Operation) -> bool:
    """Says whether XLA runs a call as it is; it inlines all others, whose annotation no collective gets."""
    return call.name == CALL and frontend_attributes.read(call).get(INLINEABLE) == "false"


def reads_annotation(op: ir.Operation, capabilities: Capabilities) -> bool:
    """Says whether XLA reads a stream annotation on an op of this kind, outside of groups.

    On compute that is no call only a version reads it that makes such compute asynchronous. A call that is inlined
    leaves it to the compute inside.
    """
    return op.name in KINDS or stays_whole(op) or capabilities.annotates_compute
