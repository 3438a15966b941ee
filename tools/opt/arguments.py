"""Reads the arguments of hlo-opt. Order matters, and passes are flags: this is a table and a loop, not argparse."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from hloverlap.passes.errors import did_you_mean
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.topology import FORMS
from hloverlap.tools import exit_status
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.main import UsageError


@dataclasses.dataclass(frozen=True)
class _Flag:
    """Says how a field of `Arguments` is spelled and shown."""

    help: str
    value: str
    """How help shows its value; "" for a switch, which may be given without one."""
    name: str
    """Without dashes; "" where it is the field's, with dashes between its words."""
    choices: tuple[str, ...]
    """The words allowed; () for any text."""
    may_be_bare: bool
    """Whether the value may be left out; it is the first of the choices then."""
    shown: str
    """The default, where help shows one."""


def _flag(
    default: Any,
    help: str,
    value: str = "",
    *,
    name: str = "",
    choices: tuple[str, ...] = (),
    may_be_bare: bool = False,
    shown: str = "",
) -> Any:
    """Makes a field that a flag sets."""
    metadata = {"flag": _Flag(help, value or "|".join(choices), name, choices, may_be_bare, shown)}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Says what was asked for. The order of the fields is that of the help."""

    output: str = _flag("-", "write here, whole or not at all; '-' is stdout", "FILE", name="o", shown="-")
    pass_pipeline: str | None = _flag(None, "what to run, such as 'builtin.module(overlap,func.func(cse))'", "TEXT")
    emit: str | None = _flag(
        None,
        "format of the output; by default what came in, or MLIR text for HLO",
        choices=("mlir", "bytecode", "portable", "export", "hlo"),
    )
    target: str | None = _flag(
        None, "the machine that the result is for, by its name below, or a TOML file of your own", "NAME|FILE"
    )
    topology: str | None = _flag(None, f"host and process of each partition: {FORMS}", "HxD")
    remarks: str = _flag(
        "text",
        "how remarks are written to stderr: as text, those that are alike once or all of them, or as JSON or SARIF",
        choices=("text", "all", "json", "sarif", "none"),
        shown="text",
    )
    check: str | None = _flag(
        None,
        "run input and output and compare every bit: on virtual CPU devices, on StableHLO's interpreter, or on two or "
        "more processes (those of --topology) that talk over gloo",
        choices=("cpu", "interpreter", "processes"),
        may_be_bare=True,
    )
    reduce: str | None = _flag(
        None, "shrink IN while COMMAND FILE still exits with 0; '{}' in it stands for FILE", "COMMAND"
    )
    list_passes: bool = _flag(False, "show all passes with options, statistics and an example")
    dump_pass_pipeline: bool = _flag(False, "print the pipeline that runs, to stderr")
    verify_each: bool | None = _flag(None, "verify the module after each pass", "BOOL", shown="true")
    crash_reproducer: str | None = _flag(
        None,
        "where the module and the pipeline go when a pass fails; by default among the temporary files",
        "FILE",
        name="mlir-pass-pipeline-crash-reproducer",
    )
    run_reproducer: bool = _flag(False, "run what the reproducer IN says, on the module in it")
    split_input_file: bool = _flag(False, "treat the parts between '// -----' lines as modules of their own")
    verify_diagnostics: bool = _flag(False, "check remarks and errors against '// expected-...' comments; no output")
    allow_unregistered_dialect: bool = _flag(False, "accept operations of unknown dialects")
    mlir_print_ir_before_all: bool = _flag(False, "print the IR before each pass")
    mlir_print_ir_after_all: bool = _flag(False, "print the IR after each pass")
    mlir_print_ir_after_change: bool = _flag(False, "print the IR after each pass that changed it")
    mlir_print_debuginfo: bool = _flag(False, "print locations")
    mlir_elide_elementsattrs_if_larger: int | None = _flag(None, "print constants of more elements as '...'", "N")
    mlir_timing: bool = _flag(False, "report the time of each pass")
    mlir_pass_statistics: bool = _flag(False, "report the statistics of each pass")
    version: bool = _flag(False, "show the versions of hloverlap, jaxlib and Python")
    help: bool = _flag(False, "show this help")

    input: str = "-"
    """The file to read; '-' is stdin."""
    passes: tuple[tuple[str, str], ...] = ()
    """The name and the options of each pass flag, in order."""

    @property
    def verifies_each(self) -> bool:
        """Says whether the verifier runs after each pass, which is so where nothing was said."""
        return self.verify_each is not False


_FIELDS = {
    (field.metadata["flag"].name or field.name.replace("_", "-")): field
    for field in dataclasses.fields(Arguments)
    if "flag" in field.metadata
}
_BY_NAME = _FIELDS | {"h": _FIELDS["help"]}


def parse(argv: Sequence[str]) -> Arguments:
    """Reads the arguments; ``-flag`` and ``--flag`` are one. What is no flag of ours is taken for a pass.

    Raises UsageError. Whether a pass exists is not checked here.
    """
    values: dict[str, Any] = {}
    passes: list[tuple[str, str]] = []
    words = iter(argv)
    only_files = False
    for word in words:
        if word == "--" and not only_files:
            only_files = True
        elif only_files or not word.startswith("-") or word == "-":
            if "input" in values:
                raise UsageError(f"one input at a time: '{values['input']}' and '{word}' are two")
            values["input"] = word
        else:
            _read_flag(word, words, values, passes)
    if "reduce" in values and (passes or "pass_pipeline" in values):
        raise UsageError("--reduce runs no passes: give them to its COMMAND")
    if passes and "pass_pipeline" in values:
        raise UsageError(f"give --pass-pipeline or passes such as --{passes[0][0]}, not both")
    return Arguments(**values, passes=tuple(passes))


def _read_flag(word: str, rest: Iterator[str], values: dict[str, Any], passes: list[tuple[str, str]]) -> None:
    """Puts the value of one flag into `values`, or a pass into `passes`."""
    name, equals, text = word.lstrip("-").partition("=")
    field = _BY_NAME.get(name)
    if field is None and word.startswith("-o") and not word.startswith("--"):
        field, equals, text = _BY_NAME["o"], "=", word[2:]  # -oFILE
    if field is None:
        passes.append((name, text))
        return
    flag: _Flag = field.metadata["flag"]
    spelled = _spelled(name)
    is_bool = str(field.type).startswith("bool")
    if is_bool:
        text = text if equals else "true"
    elif not equals and flag.may_be_bare:
        text = flag.choices[0]
    elif not equals:
        following = next(rest, None)
        if following is None:
            raise UsageError(f"{spelled} needs a value: {spelled} {flag.value}")
        text = following
    if field.name in values and flag.value:
        raise UsageError(f"{spelled} is given twice")
    if is_bool:
        values[field.name] = _read_bool(spelled, text)
    elif str(field.type).startswith("int"):
        values[field.name] = _read_number(spelled, text)
    elif flag.choices and text not in flag.choices:
        hint = did_you_mean(text, flag.choices)
        raise UsageError(f"{spelled} is one of {', '.join(flag.choices)}, not '{text}'{hint}")
    else:
        values[field.name] = text


def _read_bool(spelled: str, text: str) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in words:
        raise UsageError(f"{spelled} is true or false, not '{text}'")
    return words[text.lower()]


def _read_number(spelled: str, text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{spelled} is a whole number, not '{text}'")
    return int(text)


def _spelled(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def unknown(name: str, pass_names: Sequence[str]) -> UsageError:
    """Makes the error for a flag that is neither a flag nor a pass."""
    known = [_spelled(each) for each in (*_BY_NAME, *pass_names) if len(each) > 1]  # one letter resembles any word
    return UsageError(f"unknown flag '--{name}'{did_you_mean(f'--{name}', known)}")


def help_text() -> str:
    """Writes what --help prints."""
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
    for name, field in _FIELDS.items():
        flag: _Flag = field.metadata["flag"]
        joint = " " if len(name) == 1 else "="
        spelled = _spelled(name) + (f"{joint}{flag.value}" if flag.value else "")
        lines.append(f"  {spelled:<41} {flag.help}" + (f" [{flag.shown}]" if flag.shown else ""))
    lines += ["", f"targets: {targets.described()}"]
    return "\n".join([*lines, "", exit_status.help_text(ExitStatus.DIFFERENT, ExitStatus.NOT_CHECKED)])
