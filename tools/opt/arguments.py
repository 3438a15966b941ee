"""The arguments of hlo-opt. Order matters, and passes are flags, so this is a table and a loop, not argparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hloverlap.passes.errors import HloverlapError, did_you_mean

Kind = Literal["switch", "text", "bool", "number", "way"]  # a way may be left out: then it is the first choice


class UsageError(HloverlapError):
    """A mistake on the command line; the text is one sentence."""


@dataclass(frozen=True)
class Flag:
    """One flag. value: how help shows its value, "" for a switch; choices: the words allowed, () for any text."""

    name: str
    kind: Kind
    help: str
    value: str = ""
    default: str | None = None
    choices: tuple[str, ...] = ()


FLAGS = (
    Flag("o", "text", "write here, whole or not at all; '-' is stdout", "FILE", "-"),
    Flag("pass-pipeline", "text", "what to run, such as 'builtin.module(overlap,func.func(cse))'", "TEXT"),
    Flag(
        "emit",
        "text",
        "format of the output; by default what came in, or MLIR text for HLO",
        "mlir|bytecode|portable|export|hlo",
        None,
        ("mlir", "bytecode", "portable", "export", "hlo"),
    ),
    Flag(
        "target",
        "text",
        "what transfers cost: a machine such as h200 or gloo, or a JSON file [h200]",
        "NAME|FILE",
    ),
    Flag("topology", "text", "host of each partition: HOSTSxDEVICES, or a JSON list such as [0,0,1,1]", "HxD"),
    Flag(
        "remarks",
        "text",
        "how remarks are written to stderr",
        "text|json|sarif|none",
        "text",
        ("text", "json", "sarif", "none"),
    ),
    Flag(
        "check",
        "way",
        "run input and output and compare every bit: on virtual CPU devices, on StableHLO's interpreter, or on two or "
        "more processes (hosts, with --topology) that talk over gloo",
        "cpu|interpreter|processes",
        None,
        ("cpu", "interpreter", "processes"),
    ),
    Flag("reduce", "text", "shrink IN while COMMAND FILE still exits with 0; '{}' in it stands for FILE", "COMMAND"),
    Flag("list-passes", "switch", "show all passes with options, statistics and an example"),
    Flag("dump-pass-pipeline", "switch", "print the pipeline that runs, to stderr"),
    Flag("verify-each", "bool", "verify the module after each pass", "BOOL", "true"),
    Flag(
        "mlir-pass-pipeline-crash-reproducer",
        "text",
        "where the module and the pipeline go when a pass fails; by default among the temporary files",
        "FILE",
    ),
    Flag("run-reproducer", "switch", "run what the reproducer IN says, on the module in it"),
    Flag("split-input-file", "switch", "treat the parts between '// -----' lines as modules of their own"),
    Flag("verify-diagnostics", "switch", "check remarks and errors against '// expected-...' comments; no output"),
    Flag("allow-unregistered-dialect", "switch", "accept operations of unknown dialects"),
    Flag("mlir-print-ir-before-all", "switch", "print the IR before each pass"),
    Flag("mlir-print-ir-after-all", "switch", "print the IR after each pass"),
    Flag("mlir-print-ir-after-change", "switch", "print the IR after each pass that changed it"),
    Flag("mlir-print-debuginfo", "switch", "print locations"),
    Flag("mlir-elide-elementsattrs-if-larger", "number", "print constants of more elements as '...'", "N"),
    Flag("mlir-timing", "switch", "report the time of each pass"),
    Flag("mlir-pass-statistics", "switch", "report the statistics of each pass"),
    Flag("version", "switch", "show the versions of hloverlap, jaxlib and Python"),
    Flag("help", "switch", "show this help"),
)
_BY_NAME = {flag.name: flag for flag in FLAGS} | {"h": FLAGS[-1]}


@dataclass
class Arguments:
    """What was asked for. values: flag name -> text; passes: (name, options) of each pass flag in order."""

    input: str | None = None
    values: dict[str, str] = field(default_factory=dict)
    passes: list[tuple[str, str]] = field(default_factory=list)

    def __getitem__(self, name: str) -> str | None:
        """The flag's value as text, or its default."""
        return self.values.get(name, _BY_NAME[name].default)

    def on(self, name: str) -> bool:
        """Whether a switch or bool is set."""
        return (self[name] or "false") == "true"

    def number(self, name: str) -> int | None:
        """The value of a number."""
        value = self[name]
        return None if value is None else int(value)


def parse(argv: Sequence[str]) -> Arguments:
    """Reads the arguments; ``-flag`` and ``--flag`` are one. A flag not in FLAGS is taken for a pass.

    Raises UsageError. Whether a pass exists is not checked here.
    """
    parsed = Arguments()
    words = iter(argv)
    only_files = False
    for word in words:
        if word == "--" and not only_files:
            only_files = True
        elif only_files or not word.startswith("-") or word == "-":
            if parsed.input is not None:
                raise UsageError(f"one input at a time: '{parsed.input}' and '{word}' are two")
            parsed.input = word
        else:
            _flag(parsed, word, words)
    if "reduce" in parsed.values and (parsed.passes or "pass-pipeline" in parsed.values):
        raise UsageError("--reduce runs no passes: give them to its COMMAND")
    if parsed.passes and "pass-pipeline" in parsed.values:
        raise UsageError(f"give --pass-pipeline or passes such as --{parsed.passes[0][0]}, not both")
    return parsed


def _flag(parsed: Arguments, word: str, rest: Iterator[str]) -> None:
    name, given, value = word.lstrip("-").partition("=")
    flag = _BY_NAME.get(name)
    if flag is None and word.startswith("-o") and not word.startswith("--"):
        flag, given, value = _BY_NAME["o"], "=", word[2:]  # -oFILE
    if flag is None:
        parsed.passes.append((name, value))
        return
    spelled = f"-{name}" if len(name) == 1 else f"--{name}"
    if flag.kind in ("switch", "bool"):
        value = value.lower() if given else "true"
        value = {"1": "true", "0": "false"}.get(value, value)
        if value not in ("true", "false"):
            raise UsageError(f"{spelled} is true or false, not '{value}'")
    elif flag.kind == "way":
        value = value if given else flag.choices[0]
    elif not given:
        following = next(rest, None)
        if following is None:
            raise UsageError(f"{spelled} needs a value: {spelled} {flag.value}")
        value = following
    if flag.choices and value not in flag.choices:
        hint = did_you_mean(value, flag.choices)
        raise UsageError(f"{spelled} is one of {', '.join(flag.choices)}, not '{value}'{hint}")
    if flag.kind == "number" and not value.isdecimal():
        raise UsageError(f"{spelled} is a whole number, not '{value}'")
    if flag.name in parsed.values and flag.kind != "switch":
        raise UsageError(f"{spelled} is given twice")
    parsed.values[flag.name] = value


def unknown(name: str, pass_names: Sequence[str]) -> UsageError:
    """The error for a flag that is neither a flag nor a pass."""
    known = [f"--{each}" for each in (*_BY_NAME, *pass_names)]
    return UsageError(f"unknown flag '--{name}'{did_you_mean(f'--{name}', known)}")


def help_text() -> str:
    """What --help prints."""
    lines = [
        "usage: hlo-opt [IN] [-o OUT] [--pass-pipeline=TEXT | --PASS[=OPTIONS] ...] [flags]",
        "",
        "Rewrites a StableHLO module. IN is MLIR text or bytecode, a portable artifact, a jax.export artifact,",
        "HLO text or an HLO proto, told apart by content; '-' or nothing is stdin.",
        "",
        "  hlo-opt step.mlir --overlap --topology=2x4 -o fast.mlir",
        "  hlo-opt step.mlir --assign-collective-streams='max-streams=2 first-stream=4' --canonicalize",
        "  hlo-opt step.mlir --pass-pipeline='builtin.module(overlap,func.func(cse))' --check -o fast.mlir",
        "",
        "Passes run in the order in which they are given; --list-passes shows them.",
        "",
        "flags:",
    ]
    for flag in FLAGS:
        dashes = "-" if len(flag.name) == 1 else "--"
        spelled = f"{dashes}{flag.name}" + (f" {flag.value}" if dashes == "-" else flag.value and f"={flag.value}")
        extra = f" [{flag.default}]" if flag.default else ""
        lines.append(f"  {spelled:<41} {flag.help}{extra}")
    lines += [
        "",
        "exit status:",
        "  0  all is well",
        "  1  bad input, bad usage, a pass that failed, an expectation not met, or output that could not be written",
        "  3  --check found a difference; the output is not written",
    ]
    return "\n".join(lines)
