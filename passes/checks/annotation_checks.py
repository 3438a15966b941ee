"""Checks stream annotations, communication domains and groups that XLA does not take as they are meant.

It makes VCL001 to VCL004 and VCL013 to VCL016.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxlib.mlir import ir

from hloverlap.passes.analysis import groups, xla_streams
from hloverlap.passes.analysis.collectives import (
    KINDS,
    PERMUTE,
    Collective,
    collectives_in,
    functions_with_collectives,
)
from hloverlap.passes.checks.fault import Fault
from hloverlap.passes.context import Context
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import DOMAIN, STREAM
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.passes.mlir.symbols import CALL, CALLS, Symbols, symbol_name
from hloverlap.passes.mlir.walk import LOOP, TERMINATORS, function_of, ops_in

# More streams than this at once are no plan: XLA:GPU itself reserves four.
_MOST_STREAMS = 64

_ONLY_ONCE = "this XLA compiles it outside of loops only, and with an overlap limit of 1"


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at every op that carries one of the attributes."""
    for fault in find(module, symbols, context.capabilities):
        fault.tell(context)


def find(module: ir.Operation, symbols: Symbols, capabilities: Capabilities) -> list[Fault]:
    """Gives what is wrong, in the order of the text."""
    checker = _Checker(module, symbols, capabilities)
    return [fault for name, function in symbols.functions.items() for fault in checker.function(name, function)]


class _Checker:
    def __init__(self, module: ir.Operation, symbols: Symbols, capabilities: Capabilities) -> None:
        self._counts = device_counts(module)
        self._symbols = symbols
        self._capabilities = capabilities
        self._with_collectives = functions_with_collectives(symbols)
        self._grouped = groups.members_of_groups(symbols)
        # What XLA cannot take apart is in a way in a loop; that goes for versions that do not keep groups.
        self._looped = set() if capabilities.keeps_groups else groups.run_in_loops(symbols)

    def function(self, name: str, function: ir.Operation) -> Iterator[Fault]:
        for op in ops_in(function):
            held = frontend_attributes.read(op)
            if name in self._grouped:
                yield from self._inside_group(op, held)
            elif held:
                yield from self._op(op, held)

    def _op(self, op: ir.Operation, held: Mapping[str, str]) -> Iterator[Fault]:
        if DOMAIN in held and self._capabilities.has_scale_up_domain and (text := self._domain(op, held)):
            yield Fault("VCL014", "error", text, op)
            return  # XLA looks at it before it looks at the annotation
        if STREAM in held and self._reads(op):
            yield from self._stream(op, held[STREAM])
        if groups.is_group(op) and not self._capabilities.keeps_groups:
            text = (
                'A group that is to stay whole (inlineable = "false"): this XLA refuses it in most loops, and with an '
                "overlap limit above 1. Leave that attribute out."
            )
            yield Fault("VCL016", "warning", text, op)

    def _domain(self, op: ir.Operation, held: Mapping[str, str]) -> str:
        domain = held[DOMAIN]
        if op.name not in KINDS:
            if not self._computes(op):
                return ""
            return f"A communication domain, '{domain}', on what is no collective: XLA refuses the module."
        if not xla_streams.is_valid_domain(domain):
            return f"XLA knows no communication domain '{domain}' and refuses the module; there is 'scale_up_fabric'."
        stream = held.get(STREAM, "collective")
        if xla_streams.is_domain(domain) and not xla_streams.names_no_stream(stream):
            return f"The stream annotation '{stream}' beside a communication domain: XLA refuses the module."
        return ""

    def _reads(self, op: ir.Operation) -> bool:
        return xla_streams.reads_annotation(op, self._capabilities) and self._computes(op)

    def _computes(self, op: ir.Operation) -> bool:
        """Says whether an op is more than a call of mere collectives that XLA inlines: what that carries is dropped."""
        if op.name != CALL or xla_streams.stays_whole(op):
            return True
        callee = self._symbols.functions.get(str(self._symbols.callee(op)))
        return callee is not None and any(
            inner.name not in KINDS | TERMINATORS | CALLS for inner in ops_in(callee) if inner != callee
        )

    def _stream(self, op: ir.Operation, text: str) -> Iterator[Fault]:
        stream = xla_streams.stream_of(text)
        first = self._capabilities.first_stream
        said = f"The stream annotation '{text}'"
        if stream is None:
            problem = f"{said} is no decimal number of 32 bits: XLA aborts the process. Give a number from {first} up."
            yield Fault("VCL001", "error", problem, op)
            return
        if groups.is_group(op):
            problem = (
                "A stream annotation beside _collectives_group: XLA fails to compile it; take the annotation away."
            )
            yield Fault("VCL004", "error", problem, op)
        elif op.name == CALL and xla_streams.stays_whole(op) and self._symbols.callee(op) in self._with_collectives:
            yield self._annotated_call(op)
        elif stream >= 2**63:
            yield Fault("VCL002", "warning", f"{said} is negative: XLA takes it for stream {stream}.", op)
        elif stream >= _MOST_STREAMS:
            problem = f"{said} names a stream that nobody needs: XLA makes it all the same."
            yield Fault("VCL002", "warning", problem, op)
        elif stream < first and op.name in KINDS and not xla_streams.names_no_stream(text):
            problem = (
                f"{said} names a stream of XLA's own: {xla_streams.RESERVED[stream]}. Give a number from {first} up."
            )
            yield Fault("VCL013", "warning", problem, op)

    def _annotated_call(self, op: ir.Operation) -> Fault:
        called = f"A stream annotation on a call of '{self._symbols.callee(op)}', which holds a collective: "
        why = "XLA finds no stream for the collective and fails to compile"
        if not self._capabilities.keeps_groups:
            why = f"{_ONLY_ONCE}, as it finds no stream for the collective"
        inner = collectives_in(self._symbols.functions[str(self._symbols.callee(op))])
        return Fault("VCL003", self._once(op), f"{called}{why}; annotate the collective itself.", op, tuple(inner))

    def _inside_group(self, op: ir.Operation, held: Mapping[str, str]) -> Iterator[Fault]:
        if op.name in KINDS and STREAM in held:
            text = "A stream annotation inside a group: it has no effect, as the group is one launch on XLA's stream 0."
            yield Fault("VCL004", "warning", text, op)
        if op.name != PERMUTE:
            return
        fact = Collective.of(op)
        if self._counts.ids(fact.mode) is not None and not groups.all_receive(fact, self._counts):
            text = (
                "A permute in a group, and not every device receives something: a GPU that does not is left with what "
                "was in its memory, where it would get zeros. Take the permute out of the group."
            )
            yield Fault("VCL015", "warning", text, op)

    def _once(self, op: ir.Operation) -> str:
        """Gives the severity of what never compiles, or only outside of loops where a version does not keep groups."""
        if self._capabilities.keeps_groups:
            return "error"
        function = function_of(op)
        looped = function is not None and symbol_name(function) in self._looped
        return "error" if looped or _is_in_loop(op) else "warning"


def _is_in_loop(op: ir.Operation) -> bool:
    outer = op.parent
    while outer is not None and outer.name != LOOP:
        outer = outer.parent
    return outer is not None
