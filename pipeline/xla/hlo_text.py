"""Reads XLA's HLO text as far as an audit needs it: instructions, operands, shapes, and a few attributes."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterator

_COMPUTATION = re.compile(r"(?P<entry>ENTRY )?%(?P<name>[^ ]+) \(.*\{$")
_OPERAND = re.compile(r"%([^\s,()#}]+)(?:#(\d+))?")
_CALLED = re.compile(r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%([^\s,}]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,<= ]*)\]")
_FRONTEND = re.compile(r'[{,](\w+)="((?:[^"\\]|\\.)*)"')

_BITS = {"pred": 8, "token": 0, "opaque": 0}


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One line of a computation."""

    name: str
    opcode: str
    shape: str
    """XLA's text of the shape."""
    operands: tuple[str, ...]
    elements: tuple[int | None, ...]
    """For each operand the element of its tuple that is meant (``%x#1`` of newer versions), else None."""
    attributes: str
    """XLA's text of what follows the operands."""
    is_root: bool

    @functools.cached_property
    def bytes(self) -> int:
        """Counts the bytes of the result; of a tuple, the sum of its leaves."""
        return shape_bytes(self.shape)

    @property
    def called(self) -> tuple[str, ...]:
        """Lists the names of the computations it calls, in textual order."""
        branches = _BRANCHES.search(self.attributes)
        listed = tuple(name for name, _ in _OPERAND.findall(branches[1])) if branches else ()
        return tuple(_CALLED.findall(self.attributes)) + listed

    def attribute(self, name: str) -> str:
        """Gives the text after ``name=``: up to the matching brace if it starts with one, else to a comma or space."""
        match = re.search(rf"(?:^|[\s,]){name}=", self.attributes)
        if match is None:
            return ""
        text = self.attributes[match.end() :]
        return text[: _closing(text, 0) + 1] if text.startswith("{") else re.split(r"[,\s]", text, maxsplit=1)[0]

    @functools.cached_property
    def frontend(self) -> dict[str, str]:
        """Gives the frontend attributes."""
        return dict(_FRONTEND.findall(self.attribute("frontend_attributes")))

    @property
    def trip_count(self) -> int:
        """Counts how often a loop runs, 1 when XLA does not know."""
        match = re.search(r'known_trip_count"?:\{"n":"(\d+)"', self.attributes)
        return int(match[1]) if match else 1


@dataclasses.dataclass(frozen=True)
class Computation:
    """A computation; `instructions` are in the order of the text, which is the schedule once XLA has made one."""

    name: str
    instructions: dict[str, Instruction]

    @property
    def root(self) -> Instruction:
        """Gives the instruction whose result is the computation's."""
        return next(instruction for instruction in self.instructions.values() if instruction.is_root)

    def operand_shape(self, instruction: Instruction, index: int) -> str:
        """Gives the shape of an operand, "" when it is not an instruction of this computation."""
        source = self.instructions.get(instruction.operands[index]) if index < len(instruction.operands) else None
        if source is None:
            return ""
        element = instruction.elements[index]
        return source.shape if element is None else tuple_parts(source.shape)[element]


@dataclasses.dataclass(frozen=True)
class Module:
    """All computations of a module."""

    computations: dict[str, Computation]
    """The computations by name, callees before callers."""
    entry: str
    """The name of the one that XLA starts with."""

    def find(self, instruction: str) -> tuple[Computation, Instruction] | None:
        """Finds the instruction of this name, and its computation; names are unique in a module."""
        computation = self._home.get(instruction)
        return (computation, computation.instructions[instruction]) if computation else None

    @functools.cached_property
    def _home(self) -> dict[str, Computation]:
        return {name: computation for computation in self.computations.values() for name in computation.instructions}

    def reached(self, instruction: Instruction) -> Iterator[Computation]:
        """Gives the computations that `instruction` calls, and theirs."""
        for name in instruction.called:
            computation = self.computations.get(name)
            if computation is not None:
                yield computation
                for inner in computation.instructions.values():
                    yield from self.reached(inner)


def parse_module(text: str) -> Module:
    """Reads ``*after_optimizations.txt``. Lines that are no instruction are passed over."""
    computations: dict[str, Computation] = {}
    entry = ""
    current: dict[str, Instruction] = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            header = _COMPUTATION.match(line)
            if header:
                current = {}
                computations[header["name"]] = Computation(header["name"], current)
                entry = header["name"] if header["entry"] else entry
            continue
        instruction = _instruction(line)
        if instruction is not None:
            current[instruction.name] = instruction
    return Module(computations, entry)


def shape_bytes(shape: str) -> int:
    """Counts the bytes of a shape in XLA's text, such as ``(bf16[2,8]{1,0}, s32[])``; sub-byte types round up."""
    total = 0
    for dtype, dimensions in _ARRAY.findall(re.sub(r"\{[^}]*\}", "", shape)):
        total += math.ceil(elements(dimensions) * bits(dtype) / 8)
    return total


def tuple_parts(shape: str) -> list[str]:
    """Gives the elements of a tuple shape; an array shape is its own only element."""
    if not shape.startswith("("):
        return [shape]
    parts = [""]
    depth = 0
    for character in re.sub(r"/\*[^*]*\*/", "", shape)[1:-1]:
        depth += (character in "({[") - (character in ")}]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def dimensions_of(shape: str) -> tuple[int, ...]:
    """Gives the dimensions of an array shape."""
    match = _ARRAY.search(shape)
    return tuple(int(size) for size in match[2].split(",") if size) if match else ()


def elements(dimensions: str) -> int:
    """Counts the elements of ``2,8``; a bounded dynamic dimension counts as its bound."""
    return math.prod(int(size.strip("<= ")) for size in dimensions.split(",") if size.strip())


def bits(dtype: str) -> int:
    """Counts the bits of an element of a type such as ``bf16``, ``f8e4m3fn``, ``c64`` or ``u4``."""
    if dtype in _BITS:
        return _BITS[dtype]
    match = re.search(r"\d+", dtype)
    return int(match[0]) if match else 8


def _instruction(line: str) -> Instruction | None:
    name, equals, rest = line.strip().partition(" = ")
    if not equals:
        return None
    is_root = name.startswith("ROOT ")
    end = _closing(rest, 0) + 1 if rest.startswith("(") else rest.index(" ")
    shape, rest = rest[:end], rest[end:].lstrip()
    opcode, _, _ = rest.partition("(")
    close = _closing(rest, len(opcode))
    operands = _OPERAND.findall(rest[len(opcode) : close + 1]) if opcode != "constant" else []
    return Instruction(
        name=name.removeprefix("ROOT ").lstrip("%"),
        opcode=opcode,
        shape=shape,
        operands=tuple(operand for operand, _ in operands),
        elements=tuple(int(element) if element else None for _, element in operands),
        attributes=rest[close + 1 :].lstrip(", "),
        is_root=is_root,
    )


def _closing(text: str, start: int) -> int:
    """Finds the index of the bracket that closes the one at `start`; the last index when none does.

    Strings do not count.
    """
    depth = 0
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|[(){}]').finditer(text, start):
        token = match[0]
        if token in "({":
            depth += 1
        elif token in ")}":
            depth -= 1
            if depth == 0:
                return match.start()
    return len(text) - 1
