"""A hypothesis strategy for valid StableHLO modules with collectives in every place where programs have them.

A module is written op by op, each of values that are there, so that hypothesis can shrink it op by op.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from generation.pairs import pairs
from support import permutes

FLOATS = ("f32", "bf16", "f16", "f64", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i32", "ui32", "i64", "i16", "i8", "ui8", "i4", "ui4", "ui2", "i1")
COMPLEX = ("complex<f32>", "complex<f64>")
SHAPES = ("2", "4", "4x2", "1", "2x3", "8", "")

# Where a module's ids come from: partitions of the whole (the channel is above 0), of a manual computation, replicas.
MODES = ("partition", "manual", "replica")


@dataclasses.dataclass(frozen=True)
class Generated:
    """A module and what is known of it.

    mode: one of MODES. runnable: whether it has a meaning outside a GPU; False where a custom call is in it.
    """

    text: str
    devices: int
    mode: str
    runnable: bool

    def __repr__(self) -> str:
        """So that hypothesis shows the module itself."""
        return f"{self.devices} devices, {self.mode}:\n{self.text}"


@dataclasses.dataclass(frozen=True)
class Value:
    """An SSA value. type: as text."""

    name: str
    type: str

    @property
    def element(self) -> str:
        """The element type of a tensor."""
        return split(self.type)[1]


@dataclasses.dataclass(frozen=True)
class Function:
    """A function that others may call."""

    name: str
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    is_group: bool = False


@st.composite
def modules(draw: st.DrawFn, most_ops: int = 10) -> Generated:
    """Modules of up to three functions beside main, with up to `most_ops` ops a block."""
    return _Writer(draw, most_ops).module()


def tensor(shape: str, element: str) -> str:
    """The text of a type: shape as in ``4x2``, "" for a scalar."""
    return f"tensor<{shape}x{element}>" if shape else f"tensor<{element}>"


def split(type_: str) -> tuple[str, str]:
    """Shape and element type of the text of a tensor type."""
    shape, element = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", type_).groups()  # type: ignore[union-attr]
    return shape.removesuffix("x"), element


class _Writer:
    def __init__(self, draw: st.DrawFn, most_ops: int) -> None:
        self.draw = draw
        self.most_ops = most_ops
        self.devices = draw(st.sampled_from([2, 4, 8, 3]))
        self.mode = draw(st.sampled_from(MODES))
        self.types = draw(st.lists(self._types(), min_size=1, max_size=3, unique=True))
        self.runnable = True
        self.may_be_opaque = draw(st.integers(0, 9)) == 9
        self.functions: list[Function] = []
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.line = 100

    def _types(self) -> st.SearchStrategy[str]:
        elements = st.sampled_from(FLOATS + INTEGERS + COMPLEX)
        return st.builds(tensor, st.sampled_from(SHAPES), elements)

    # --- text

    def write(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def location(self) -> str:
        self.line += 1
        return f'loc("model.py":{self.line}:1)'

    # --- functions

    def module(self) -> Generated:
        for number in range(self.draw(st.integers(0, 2))):
            self.function(f"helper{number}", is_group=self.draw(st.integers(0, 4)) == 0)
        self.main()
        counts = {"partition": (self.devices, 1), "manual": (self.devices, 1), "replica": (1, self.devices)}[self.mode]
        attributes = f"mhlo.num_partitions = {counts[0]} : i32, mhlo.num_replicas = {counts[1]} : i32"
        mesh = [f'  sdy.mesh @mesh = <["d"={self.devices}]>'] if self.mode == "manual" else []
        text = "\n".join([f"module @random attributes {{{attributes}}} {{", *mesh, *self.lines, "}\n"])
        return Generated(text, self.devices, self.mode, self.runnable)

    def function(self, name: str, is_group: bool) -> None:
        inputs = [
            Value(self.name(), self.draw(st.sampled_from(self.types))) for _ in range(self.draw(st.integers(1, 3)))
        ]
        arguments = ", ".join(f"{value.name}: {value.type}" for value in inputs)
        at = len(self.lines)
        self.indent += 1
        if is_group:
            results = [self.permute(value, plain=True) for value in inputs]
        else:
            results = self.returned(self.block(list(inputs), depth=1), fewest=1)
        self.write(f"return {_names(results)} : {_types(results)}")
        self.indent -= 1
        head = f"func.func private @{name}({arguments}) -> ({_types(results)}) {{"
        self.lines.insert(at, "  " * self.indent + head)
        self.write("}")
        types = tuple(value.type for value in inputs), tuple(value.type for value in results)
        self.functions.append(Function(name, *types, is_group))

    def main(self) -> None:
        inputs = [Value(self.name(), type_) for type_ in self.types for _ in range(self.draw(st.integers(1, 2)))]
        select = Value("%select", "tensor<i32>")
        inputs = [select, *inputs]
        at = len(self.lines)
        manual = self.mode == "manual"
        self.indent += 2 if manual else 1
        local = [dataclasses.replace(value, name=f"{value.name}_local") for value in inputs] if manual else inputs
        results = self.returned(self.block(list(local), depth=0), fewest=1)
        donor = ["jax.buffer_donor = true" if self.draw(st.integers(0, 4)) == 4 else "" for _ in inputs]
        donor[0] = "mhlo.is_same_data_across_replicas = true"
        whole = [self.whole(value.type) for value in inputs]
        arguments = ", ".join(
            f"{value.name}: {type_} {{{attribute}}}"
            for value, type_, attribute in zip(inputs, whole, donor, strict=True)
        )
        outer = [self.whole(value.type) for value in results]
        head = [f"  func.func public @main({arguments}) -> ({', '.join(outer)}) {{"]
        if manual:
            shards = [", ".join(self.sharding(value.type) for value in values) for values in (inputs, results)]
            block = ", ".join(f"{value.name}: {value.type}" for value in local)
            head.append(
                f"    %m:{len(results)} = sdy.manual_computation({_names(inputs)}) in_shardings=[{shards[0]}] "
                f'out_shardings=[{shards[1]}] manual_axes={{"d"}} ({block}) {{'
            )
            self.write(f"sdy.return {_names(results)} : {_types(results)}")
            self.indent -= 1
            self.write(f"}} : ({', '.join(whole)}) -> ({', '.join(outer)})")
            names = ", ".join(f"%m#{number}" for number in range(len(results)))
            self.write(f"return {names} : {', '.join(outer)}")
        else:
            self.write(f"return {_names(results)} : {_types(results)}")
        self.indent -= 1
        self.lines[at:at] = head
        self.write("}")

    def whole(self, type_: str) -> str:
        """The type of which `type_` is one device's part: in manual mode `devices` times as long."""
        shape, element = split(type_)
        if self.mode != "manual" or not shape:
            return type_
        first, *rest = shape.split("x")
        return tensor("x".join([str(int(first) * self.devices), *rest]), element)

    def sharding(self, type_: str) -> str:
        shape, _ = split(type_)
        dimensions = ['{"d"}', *["{}"] * shape.count("x")] if shape else []
        return f"<@mesh, [{', '.join(dimensions)}]>"

    def returned(self, values: Sequence[Value], fewest: int) -> list[Value]:
        """What a block hands on: mostly the latest, so that little is dead."""
        tensors = [value for value in values if value.type.startswith("tensor")]
        return tensors[-max(fewest, self.draw(st.integers(1, 4))) :]

    # --- blocks

    def block(self, values: list[Value], depth: int) -> list[Value]:
        """Writes ops that use `values` and what comes of them; gives all that can be used at the end."""
        makers: list[Callable[[list[Value], int], list[Value]]] = [
            self.some_permute, self.some_permute, self.some_permutes, self.compute, self.compute, self.compute,
            self.chain, self.barrier, self.call, self.reduce, self.token, self.opaque,
        ]  # fmt: skip
        if depth < 2:
            makers += [self.loop, self.branch]
        for _ in range(self.draw(st.integers(1, self.most_ops if depth == 0 else 5))):
            maker = makers[self.draw(st.integers(0, len(makers) - 1))]
            values += maker(values, depth)
        return values

    def pick(self, values: Sequence[Value]) -> Value:
        """A tensor among values; the latest are simplest."""
        tensors = [value for value in values if value.type.startswith("tensor") and value.name[:7] != "%select"]
        return tensors[-1 - self.draw(st.integers(0, len(tensors) - 1))]

    def some_permute(self, values: list[Value], depth: int) -> list[Value]:
        return [self.permute(self.pick(values))]

    def some_permutes(self, values: list[Value], depth: int) -> list[Value]:
        """Several side by side, as a halo exchange has them; perhaps over the same pairs, as small transfers have."""
        same = self.draw(pairs(self.devices)) if self.draw(st.booleans()) else None
        picked = [self.pick(values) for _ in range(self.draw(st.integers(2, 4)))]
        return [self.permute(value, same) for value in picked]

    def permute(self, value: Value, given: Sequence[tuple[int, int]] | None = None, plain: bool = False) -> Value:
        found = self.draw(pairs(self.devices)) if given is None else given
        channel = self.draw(st.integers(1, 2)) if self.mode != "replica" else None
        attributes = "" if plain else self.draw(st.sampled_from(_ATTRIBUTES))
        result = Value(self.name(), value.type)
        where = self.location()
        self.write(
            permutes.permute(
                result.name, value.name, found, value.type, channel=channel, attributes=attributes, location=where
            )
        )
        return result

    def compute(self, values: list[Value], depth: int) -> list[Value]:
        one = self.pick(values)
        alike = [value for value in values if value.type == one.type]
        other = alike[-1 - self.draw(st.integers(0, len(alike) - 1))]
        result = Value(self.name(), one.type)
        if one.element == "i1":
            op = self.draw(st.sampled_from(["xor", "and", "or"]))
        elif "complex" not in one.type:
            op = self.draw(st.sampled_from(["add", "subtract", "maximum", "multiply"]))
        else:
            op = self.draw(st.sampled_from(["add", "subtract", "multiply"]))
        self.write(f"{result.name} = stablehlo.{op} {one.name}, {other.name} : {one.type}")
        return [result]

    def chain(self, values: list[Value], depth: int) -> list[Value]:
        """Permutes of permutes."""
        value = self.pick(values)
        made = []
        for _ in range(self.draw(st.integers(2, 3))):
            value = self.permute(value)
            made.append(value)
        return made

    def barrier(self, values: list[Value], depth: int) -> list[Value]:
        through = [self.pick(values) for _ in range(self.draw(st.integers(1, 2)))]
        return self.results(
            [value.type for value in through],
            f"stablehlo.optimization_barrier {_names(through)} : {_types(through)}",
        )

    def call(self, values: list[Value], depth: int) -> list[Value]:
        """Of a function that is there, if its arguments are."""
        for function in self.functions[self.draw(st.integers(0, 2)) :]:
            arguments = []
            for type_ in function.inputs:
                fitting = [value for value in values if value.type == type_]
                if fitting:
                    arguments.append(fitting[-1 - self.draw(st.integers(0, len(fitting) - 1))])
            if len(arguments) < len(function.inputs):
                continue
            signature = f"({', '.join(function.inputs)}) -> ({', '.join(function.results)})"
            if function.is_group:
                attributes = '{mhlo.frontend_attributes = {_collectives_group = "", inlineable = "false"}} '
            else:
                attributes = ""
            if len(function.results) == 1 and not function.is_group and self.draw(st.integers(0, 4)) == 4:
                composite = f'stablehlo.composite "random.{function.name}" {_names(arguments)}'
                text = f"{composite} {{decomposition = @{function.name}}} : {signature}"
            else:
                text = f"func.call @{function.name}({_names(arguments)}) {attributes}: {signature}"
            return self.results(function.results, text)
        return []

    def reduce(self, values: list[Value], depth: int) -> list[Value]:
        """An all_reduce over everybody, of what XLA:CPU reduces: integers of less than a byte it does not."""
        value = self.pick(values)
        if value.element in ("i4", "ui4", "ui2"):
            return self.compute([value], depth)
        scalar = tensor("", value.element)
        group = f"dense<[{list(range(self.devices))}]> : tensor<1x{self.devices}xi64>"
        channel = (
            ", channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, use_global_device_ids"
            if self.mode != "replica"
            else ""
        )
        result = Value(self.name(), value.type)
        op = "or" if value.element == "i1" else "add"
        self.write(f'{result.name} = "stablehlo.all_reduce"({value.name}) <{{replica_groups = {group}{channel}}}> ({{')
        self.write(f"^bb0(%a{result.name[1:]}: {scalar}, %b{result.name[1:]}: {scalar}):")
        self.write(f"  %s{result.name[1:]} = stablehlo.{op} %a{result.name[1:]}, %b{result.name[1:]} : {scalar}")
        self.write(f"  stablehlo.return %s{result.name[1:]} : {scalar}")
        self.write(f"}}) : ({value.type}) -> {value.type} {self.location()}")
        return [result]

    def token(self, values: list[Value], depth: int) -> list[Value]:
        tokens = [value for value in values if value.type == "!stablehlo.token"]
        if not tokens:
            return self.results(["!stablehlo.token"], "stablehlo.create_token : !stablehlo.token")
        return self.results(["!stablehlo.token"], f"stablehlo.after_all {_names(tokens[-2:])} : !stablehlo.token")

    def opaque(self, values: list[Value], depth: int) -> list[Value]:
        """A custom call that only a GPU's runtime knows, with or without a side effect."""
        if not self.may_be_opaque:
            return []
        self.runnable = False
        value = self.pick(values)
        effect = "true" if self.draw(st.booleans()) else "false"
        return self.results(
            [value.type],
            f"stablehlo.custom_call @opaque({value.name}) {{has_side_effect = {effect}}} : "
            f"({value.type}) -> {value.type}",
        )

    def loop(self, values: list[Value], depth: int) -> list[Value]:
        """A while of up to three rounds, whose body may hold anything."""
        carried = [self.pick(values) for _ in range(self.draw(st.integers(1, 3)))]
        rounds = self.draw(st.integers(0, 3))
        start, limit, step, counter, next_ = (self.name() for _ in range(5))
        self.write(f"{start} = stablehlo.constant dense<0> : tensor<i32>")
        inner = [Value(self.name(), value.type) for value in carried]
        bound = ", ".join(f"{one.name} = {value.name}" for one, value in zip(inner, carried, strict=True))
        types = f"tensor<i32>, {_types(carried)}"
        result = self.name()
        self.write(f"{result}:{len(carried) + 1} = stablehlo.while({counter} = {start}, {bound}) : {types}")
        self.write(f"cond {{ {limit} = stablehlo.constant dense<{rounds}> : tensor<i32>")
        test = self.name()
        self.write(f"  {test} = stablehlo.compare LT, {counter}, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>")
        self.write(f"  stablehlo.return {test} : tensor<i1>")
        self.write("} do {")
        self.indent += 1
        # Free values may be used in the body as well as what the loop carries.
        free = values if self.draw(st.booleans()) else []
        made = self.block([*(value for value in free if value.type.startswith("tensor")), *inner], depth + 1)
        handed = []
        for value in inner:
            fitting = [one for one in made if one.type == value.type]
            handed.append(fitting[-1 - self.draw(st.integers(0, min(2, len(fitting) - 1)))])
        self.write(f"{step} = stablehlo.constant dense<1> : tensor<i32>")
        self.write(f"{next_} = stablehlo.add {counter}, {step} : tensor<i32>")
        self.write(f"stablehlo.return {next_}, {_names(handed)} : {types}")
        self.indent -= 1
        self.write("}")
        return [Value(f"{result}#{number}", value.type) for number, value in enumerate(carried, 1)]

    def branch(self, values: list[Value], depth: int) -> list[Value]:
        """A case or an if on a number that is the same on all devices; its branches may differ in what they send."""
        index, count = self.name(), self.draw(st.integers(1, 3))
        is_if = self.draw(st.booleans())
        if is_if:
            zero, count = self.name(), 2
            self.write(f"{zero} = stablehlo.constant dense<3> : tensor<i32>")
            select = "%select_local" if self.mode == "manual" else "%select"
            select = select if any(value.name == select for value in values) else zero
            self.write(f"{index} = stablehlo.compare GT, {select}, {zero} : (tensor<i32>, tensor<i32>) -> tensor<i1>")
        else:
            select = next((value.name for value in values if value.name[:7] == "%select"), "")
            if not select:
                select = self.name()
                self.write(f"{select} = stablehlo.constant dense<{self.draw(st.integers(0, 3))}> : tensor<i32>")
            self.write(f"{index} = stablehlo.add {select}, {select} : tensor<i32>")
        wanted = self.pick(values).type
        result = Value(self.name(), wanted)
        self.write(f'{result.name} = "stablehlo.{"if" if is_if else "case"}"({index}) ({{')
        for number in range(count):
            self.indent += 1
            made = self.block([value for value in values if value.type.startswith("tensor")], depth + 1)
            fitting = [value for value in made if value.type == wanted]
            self.write(f"stablehlo.return {fitting[-1].name} : {wanted}")
            self.indent -= 1
            if number < count - 1:
                self.write("}, {")
        self.write(f"}}) : ({'tensor<i1>' if is_if else 'tensor<i32>'}) -> {wanted}")
        return [result]

    def results(self, types: Sequence[str], text: str) -> list[Value]:
        """Writes an op with results of these types."""
        name = self.name()
        if len(types) == 1:
            self.write(f"{name} = {text}")
            return [Value(name, types[0])]
        self.write(f"{name}:{len(types)} = {text}")
        return [Value(f"{name}#{number}", type_) for number, type_ in enumerate(types)]


# What a permute may carry already. Simplest first: hypothesis shrinks towards it.
_ATTRIBUTES = (
    "",
    "",
    "",
    "",
    '{mhlo.frontend_attributes = {_xla_stream_annotation = "3"}}',
    '{mhlo.frontend_attributes = {_xla_stream_annotation = "7", combiner_key = "mine"}}',
    '{mhlo.frontend_attributes = {theirs = "kept"}}',
    '{mhlo.frontend_attributes = {_xla_stream_annotation = "9", combiner_key = "hloverlap.1", theirs = "kept"}}',
    "{foreign.note = [1, 2]}",
)


def _names(values: Sequence[Value]) -> str:
    return ", ".join(value.name for value in values)


def _types(values: Sequence[Value]) -> str:
    return ", ".join(value.type for value in values)
