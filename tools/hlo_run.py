"""hlo-run runs an unmodified program, with its jits compiled through a pipeline, as ``python -m cProfile`` would."""

from __future__ import annotations

import argparse
import atexit
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hloverlap.passes.errors import TargetError
from hloverlap.passes.machine import targets
from hloverlap.tools import exit_status
from hloverlap.tools import main as shell
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.main import UsageError
from hloverlap.tools.parser import Parser
from hloverlap.tools.run import as_main
from hloverlap.tools.run.as_main import NotFoundError

if TYPE_CHECKING:
    from hloverlap.pipeline.jax_jit.import_hook import State
    from hloverlap.tools.run.as_main import Program
    from hloverlap.tools.run.workers import Shared

DEFAULT_PIPELINE = "overlap"
_DESCRIPTION = """\
Runs a Python program, unmodified, with its jitted functions rewritten by a pipeline before XLA compiles them.
Processes that it forks, or starts on the same Python with its environment, are rewritten as well.
At the end a summary on stderr says what became of each function. The program keeps its exit status."""
_EPILOG = f"""\
examples:
  hlo-run train.py --steps=100
  hlo-run --topology=2x4 --functions='train_*' -m package.train --steps=100
  hlo-run --pass-pipeline='canonicalize-permutes,assign-collective-streams{{max-streams=2}}' train.py

{exit_status.help_text()}
These are hlo-run's, when the program was not started. Once it runs, the exit status is the program's own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command. argv: without the program's name; by default the process's.

    Returns an exit status, or raises what the program raises, SystemExit included.
    """
    started: list[tuple[Program, Sequence[str], State]] = []

    def start(words: Sequence[str]) -> int:
        given = _parse(words)
        started.append((_find(given), given.arguments, _install(given)))
        return ExitStatus.FINE

    status = shell.run("hlo-run", start, argv)
    for program, arguments, state in started:  # outside of the shell: its signals and its errors are its own
        try:
            program.run(arguments)
        except NotFoundError as error:
            atexit.unregister(_finish)
            return shell.fail("hlo-run", str(error), error, ExitStatus.FAILED)
        except KeyboardInterrupt:
            state.interrupted = True
            raise
    return status


def _find(given: argparse.Namespace) -> Program:
    """Finds the program, and checks all arguments. Raises NotFoundError and UsageError."""
    program = as_main.module(given.program) if given.module else as_main.script(given.program)
    if refusal := _refusal(given.pass_pipeline, given.topology):
        raise UsageError(refusal)
    return program


def _install(given: argparse.Namespace) -> State:
    """Has the pipeline installed as soon as the program, or a Python that it starts, imports jax.

    The summary is written at the end.
    """
    # jaxlib must not be loaded in this process before the program does it: see `import_hook`.
    from hloverlap.tools.run import workers

    arguments = {
        "pipeline": given.pass_pipeline,
        "topology": given.topology,
        "target": given.target,
        "functions": given.functions,
        "strict": given.strict,
        "partitioner_permutes": given.partitioner,
    }
    shared = workers.share(arguments)
    state = shared.install(arguments)
    # At exit: after the program's threads and its own exit functions, whatever ended it.
    output = given.output and os.path.abspath(given.output)
    atexit.register(_finish, given.summary, output, state, shared, os.getpid())
    return state


def _refusal(pipeline: str, topology: str | None) -> str:
    """Says what there is against the pipeline or the topology, "" for nothing."""
    from hloverlap.passes.machine.topology import Topology

    try:
        if topology is not None:
            Topology.parse(topology)
    except ValueError as error:
        return str(error)
    if pipeline == DEFAULT_PIPELINE:
        return ""
    from hloverlap.pipeline.children import child

    end, said = child.run("hloverlap.tools.run.refusal", [pipeline])
    return said.decode().strip() if end.kind == "ok" else f"the process that looks at the pipeline {end}"


def _finish(form: str, path: str | None, state: State, shared: Shared, owner: int) -> None:
    """Writes the summary, and sees that this is the last that the process does."""
    if os.getpid() != owner:  # a fork: it has left its records, and the summary is its parent's
        return
    from hloverlap.tools.run import summary

    summary.show(form, path, state, shared.collect())
    if state.interrupted:
        # Python ends by the signal then, but forgets that when it runs more code at exit, as here.
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        "hlo-run",
        _DESCRIPTION,
        _EPILOG,
        usage="hlo-run [options] SCRIPT [ARGUMENT ...]\n       hlo-run [options] -m MODULE [ARGUMENT ...]",
    )
    add = parser.add_argument
    add("-m", dest="module", action="store_true", help="the program is a module or package, as for python -m")
    add("--pass-pipeline", default=DEFAULT_PIPELINE, metavar="TEXT", help="what to run on each function [overlap]")
    add("--topology", metavar="HxD", help="host and process of each device, as for hlo-opt [as jax says]")
    add("--target", metavar="NAME|FILE", help=f"{targets.described()}, or a TOML file [what the devices are]")
    add("--functions", default="*", metavar="NAMES", help="rewrite only these: names with * and ?, by commas [*]")
    add("--partitioner-permutes", dest="partitioner", action="store_true", help="also permutes that only XLA knows")
    add("--strict", action="store_true", help="a pass that fails ends the program")
    add("--summary", choices=("text", "json", "none"), default="text", help="form of the summary [text]")
    add("-o", dest="output", metavar="FILE", help="write the summary here [stderr]")
    add("program", nargs="?", metavar="SCRIPT", help="the program")
    add("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="all the rest is the program's")
    given = parser.parse_args(list(argv))
    if given.program is None:
        raise UsageError("which program? give a script, or -m and a module")
    try:
        given.target = targets.find(given.target) if given.target is not None else None
    except TargetError as error:
        raise UsageError(str(error)) from None
    return given


if __name__ == "__main__":
    sys.exit(main())
