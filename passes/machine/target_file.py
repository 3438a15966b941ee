"""Reads a target from TOML. docs/new-target.md shows such a file; `_SCHEMA` is all that one can hold."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from hloverlap.passes.errors import TargetError, did_you_mean
from hloverlap.passes.machine.target import Costs, Host, Link, Target

Table = dict[str, Any]


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value else "a text in quotes"


def _texts(value: Any) -> str | None:
    return None if isinstance(value, list) and not any(map(_text, value)) else "a list of texts in quotes"


def _backend(value: Any) -> str | None:
    return None if value in ("gpu", "cpu") else '"gpu" or "cpu"'


def _number(value: Any, least: str, is_enough: Callable[[float], bool]) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if is_number and math.isfinite(value) and is_enough(value) else f"a number {least}"


def _positive(value: Any) -> str | None:
    return _number(value, "above 0", lambda number: number > 0)


def _not_negative(value: Any) -> str | None:
    return _number(value, "from 0 up", lambda number: number >= 0)


def _share(value: Any) -> str | None:
    return _number(value, "from 0 to below 1", lambda number: 0 <= number < 1)


def _whole(value: Any) -> str | None:
    return None if type(value) is int and value >= 0 else "a whole number from 0 up"


_LINK = {"latency": _positive, "bandwidth": _positive, "member": _not_negative, "one_way": _positive}
_HOST = dict.fromkeys(("run", "kernel", "transfer", "peer", "event", "turn"), _not_negative)

# The keys that a table may have, each with a table of its own or a function that says what a wrong value should be.
_SCHEMA: Mapping[str, Any] = {
    "name": _text,
    "base": _text,
    "aliases": _texts,
    "device": {"platform": _text, "kinds": _texts},
    "compiler": {"backend": _backend, "gpu_target_config": _text},
    "costs": {
        "launch": _positive,
        "same_process": _LINK,
        "same_host": _LINK,
        "cross_host": _LINK,
        "peer": _LINK,
        "peer_once": _not_negative,
        "copy": _positive,
        "pack": _not_negative,
        "matmul": _positive,
        "kernel": _not_negative,
        "slowdown": _share,
        "slowdown_one_way": _share,
        "host": _HOST,
        "spread": _share,
        "stream_bytes": _whole,
        "stream_bytes_beside_compute": _whole,
        "sequential_ops": _whole,
    },
}


def parse(text: str, name: str, base_of: Callable[[str], Table]) -> Target:
    """Makes the target that a file describes; of what it does not say, its ``base`` is asked.

    name: of the target, where the file gives none. base_of: gives the table of the target of a name. Raises TargetError
    with a sentence that does not name the file.
    """
    table = parse_table(text)
    if "base" in table:
        base = base_of(table.pop("base"))
        table = _merged({key: base[key] for key in ("compiler", "costs") if key in base}, table)
    if "backend" not in table.get("compiler", {}):
        raise TargetError(f"it says neither a base nor who compiles, 'compiler.backend'; a short one is: {_EXAMPLE}")
    return _target(table, name)


def parse_table(text: str) -> Table:
    """Reads what a file says, and checks it. Raises TargetError."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if text.lstrip().startswith("{"):
            raise TargetError(f"it is JSON, and a target is TOML, such as: {_EXAMPLE}") from None
        if "gpu_device_info" in text:
            raise TargetError(
                "it is a GpuTargetConfigProto, and a target is TOML: give that text between ''' and ''' as "
                'gpu_target_config under [compiler], beside backend = "gpu"'
            ) from None
        raise TargetError(f"it is no TOML: {error}") from None
    _check(table, _SCHEMA, "")
    return table


_EXAMPLE = 'base = "h200", and below it [costs] and launch = 6.0'


def _check(table: Table, schema: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        if key not in schema:
            raise TargetError(f"it has no '{where}{key}'{did_you_mean(key, list(schema))}; it has {', '.join(schema)}")
        expected = schema[key]
        if not callable(expected):
            if not isinstance(value, dict):
                raise TargetError(f"'{where}{key}' is a table of its own: [{where}{key}] and values below it")
            _check(value, expected, f"{where}{key}.")
        elif wanted := expected(value):
            raise TargetError(f"'{where}{key}' is {wanted}, not {value!r}")


def _merged(base: Table, table: Table) -> Table:
    """Gives what `base` says, with what `table` says in its place."""
    found = dict(base)
    for key, value in table.items():
        held = found.get(key)
        found[key] = _merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return found


def _target(table: Table, name: str) -> Target:
    device, compiler, costs = (table.get(part, {}) for part in ("device", "compiler", "costs"))
    parts = {key: _part(key, value) for key, value in costs.items() if isinstance(value, dict)}
    config = compiler.get("gpu_target_config")
    if config is not None and "gpu_device_info" not in config:
        raise TargetError("'compiler.gpu_target_config' is no GpuTargetConfigProto in text form: no gpu_device_info")
    return Target(
        name=table.get("name", name),
        aliases=tuple(table.get("aliases", ())),
        platform=device.get("platform", ""),
        kinds=tuple(device.get("kinds", ())),
        backend=compiler.get("backend", ""),
        gpu_target_config=config,
        costs=Costs(**{**costs, **parts}),
    )


def _part(key: str, values: Table) -> Link | Host:
    kind = Host if key == "host" else Link
    needed = [field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING]
    if missing := [name for name in needed if name not in values]:
        raise TargetError(f"'costs.{key}' has no {missing[0]}")
    return kind(**values)
