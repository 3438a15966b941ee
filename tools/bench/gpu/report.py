"""Writes the results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hloverlap.tools.bench.gpu.variants import AUTO, BY_NAME, PLAIN, WITHIN

Results = Mapping[str, Any]
_COUNTS = ("synchronous", "asynchronous", "groups", "hidden", "together", "one_by_one")


def markdown(results: Results) -> str:
    """Writes all tables of one run."""
    parts = [_machine(results)]
    parts += [_speedups(results), _bandwidths(results), _auto(results), _overlaps(results)]
    parts += [_predictions(results["cases"], "What XLA was told to do")]
    for count, compiled in results.get("compiled", {}).items():
        parts.append(_predictions(compiled["cases"], f"Compiled for {count} GPUs that were not there"))
        parts.append(_rest(compiled, f" for {count} GPUs"))
    if results.get("constants"):
        parts.append(_constants(results["constants"]))
    parts.append(_rest(results))
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(results: Results) -> str:
    """Writes what to look at first, the speed-ups last: a terminal shows the end."""
    parts = [_rest(results), _auto(results), _overlaps(results)]
    if results.get("constants"):
        parts.append(_constants(results["constants"]))
    parts.append(_speedups(results))
    for count, compiled in results.get("compiled", {}).items():
        parts.append(_rest(compiled, f" for {count} GPUs"))
        parts.append(f"{len(compiled['cases'])} programs were compiled for {count} GPUs that were not there.")
    parts.append(_machine(results))
    return "\n\n".join(part for part in parts if part) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a Markdown table with aligned columns; the first is text, the others are numbers."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def text(line: Sequence[str]) -> str:
        cells = [
            cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        return f"| {' | '.join(cells)} |"

    rule = [("-" * w) if not i else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([text(lines[0]), f"| {' | '.join(rule)} |", *map(text, lines[1:])])


def seconds_of(case: Mapping[str, Any], variant: str) -> Mapping[str, Any] | None:
    """Gives what was measured of a variant, or of the variant that is the same program; None where nothing was."""
    told = case["variants"].get(variant, {})
    told = case["variants"].get(told.get("same_as", ""), told)
    return told if "seconds" in told else None


def _machine(results: Results) -> str:
    machine = results["machine"]
    if not machine:
        return "Nothing was measured."
    return (
        f"{machine['devices']} x {machine['kind']} ({machine['platform']}), jax {machine['jax']}, "
        f"jaxlib {machine['jaxlib']}, {results['seconds']:.0f} s in all."
    )


def _measured(results: Results) -> tuple[list[str], list[Mapping[str, Any]]]:
    """Gives the variants that any case measured, and the cases with more than plain."""
    cases = [case for case in results["cases"] if seconds_of(case, PLAIN) and len(case["variants"]) > 1]
    names = [name for name in BY_NAME if name != PLAIN and any(seconds_of(case, name) for case in cases)]
    return names, cases


def _speedups(results: Results) -> str:
    names, cases = _measured(results)
    if not cases:
        return ""
    rows = []
    for case in cases:
        plain = seconds_of(case, PLAIN)
        assert plain is not None
        spread = (plain["quartiles"][1] - plain["quartiles"][0]) / plain["seconds"]
        rows.append([case["name"], _time(plain["seconds"]), f"{spread:.1%}", *(_speedup(case, name) for name in names)])
    note = "Median time over plain jit's; `=` the same program as plain; `!` other bits than plain; `-` see below."
    return f"## Speed-up\n\n{note}\n\n{table(['program', 'plain', 'IQR', *names], rows)}"


def _speedup(case: Mapping[str, Any], name: str) -> str:
    if case["variants"].get(name, {}).get("same_as") == PLAIN:
        return "="
    told = seconds_of(case, name)
    if told is None:
        return "-"
    return f"{told['speedup']:.2f}{'' if told.get('equal', True) else '!'}"


def _bandwidths(results: Results) -> str:
    names, cases = _measured(results)
    rows = []
    for case in cases:
        if case["sent"]:
            told = [seconds_of(case, name) for name in (PLAIN, *names)]
            rows.append([case["name"], *(f"{each['bytes_per_second'] / 1e9:.1f}" if each else "-" for each in told)])
    note = "Bytes that a device sends in one direction over the time of the whole program, in GB/s."
    return f"## Bandwidth in each direction\n\n{note}\n\n{table(['program', PLAIN, *names], rows)}" if rows else ""


def _auto(results: Results) -> str:
    rows = []
    for case in _measured(results)[1]:
        if seconds_of(case, AUTO) is None:
            continue
        found = {name: told["auto_over_this"] for name in case["variants"] if (told := seconds_of(case, name))}
        best = max(found, key=lambda name: found[name][0])
        median, low, high = (ratio - 1 for ratio in found[best])
        shown = any(each[1] - 1 > WITHIN for each in found.values())
        verdict = "no" if shown else "yes" if median <= WITHIN else "not clear"
        rows.append([case["name"], best, f"{median:.1%}", f"{low:.1%} to {high:.1%}", verdict])
    header = ["program", "fastest", "auto is slower by", "with 99.5 %", f"within {WITHIN:.0%}"]
    note = "Medians of ratios of runs side by side, with the interval in which the sign test sees the true one."
    return f"## `auto` beside the fastest\n\n{note}\n\n{table(header, rows)}" if rows else ""


def _overlaps(results: Results) -> str:
    by_name = {case["name"]: case for case in results["cases"]}
    rows = []
    for name, variants in results.get("profiles", {}).items():
        for variant, traced in variants.items():
            found = list(traced["devices"].values())
            transfers, beside = (sum(each[key] for each in found) for key in ("transfers", "beside_compute"))
            if not transfers:
                continue
            told = by_name.get(name, {"variants": {}})["variants"].get(variant, {}).get("predicted") or {}
            share = f"{traced['together']:.0%}", f"{beside / transfers:.0%}"
            rows.append([name, variant, *share, str(told.get("together", "-")), told.get("launches", "-")])
    header = ["program", "variant", "two at once", "beside compute", "predicted pairs", "predicted launches"]
    note = "Shares of the time in which transfers ran, from traces, beside what the thunks say."
    return f"## Overlap\n\n{note}\n\n{table(header, rows)}" if rows else ""


def _predictions(cases: Sequence[Mapping[str, Any]], title: str) -> str:
    rows = []
    for case in cases:
        for name, told in case["variants"].items():
            predicted = told.get("predicted")
            if predicted and "same_as" not in told:
                counts = [str(predicted[key]) for key in _COUNTS]
                rows.append([case["name"], name, *counts])
    header = ["program", "variant", *(name.replace("_", " ") for name in _COUNTS)]
    return f"## {title}\n\n{table(header, rows)}" if rows else ""


def _constants(constants: Mapping[str, Any]) -> str:
    rows = []
    for name, value in constants.items():
        if isinstance(value, Mapping) and "latency_us" in value:
            text = (
                f"{value['latency_us']:.1f} us + bytes / {value['bandwidth_gbs']:.0f} GB/s (worst {value['error']:.0%})"
            )
        elif isinstance(value, Mapping):
            text = ", ".join(f"{key} {each:.1f}" for key, each in value.items())
        else:
            text = f"{value:.0f}"
        rows.append([name, text])
    return f"## Constants\n\n{table(['constant', 'value'], rows)}"


def _rest(results: Results, where: str = "") -> str:
    """Writes what is not in the tables, and why."""
    lines = [f"- {name}: {reason}" for name, reason in results["skipped"].items()]
    seen: dict[str, list[str]] = {}
    for case in results["cases"]:
        for name, told in case["variants"].items():
            if told["status"] not in ("measured", "compiled", "ran"):
                seen.setdefault(f"{name}: {told['status']}", []).append(case["name"])
            elif told.get("equal") is False:
                seen.setdefault(f"{name}: other bits than plain, by {told['difference']:g}", []).append(case["name"])
    lines += [f"- {text} ({', '.join(names)})" for text, names in seen.items()]
    lines += [f"- {name}: {text}" for name, found in results["broken"].items() for text in found]
    return f"## Not run, or not right{where}\n\n" + "\n".join(lines) if lines else ""


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"
