"""hlo-run: an unmodified program with its jits compiled through a pipeline, run as ``python -m cProfile`` would."""

from __future__ import annotations

import argparse
import atexit
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from hloverlap.pipeline.jax_jit.import_hook import State

FAILURE = 1
DEFAULT_PIPELINE = "overlap"
_DESCRIPTION = """\
Runs a Python program, unmodified, with its jitted functions rewritten by a pipeline before XLA compiles them.
At the end a summary on stderr says what became of each function. The program keeps its exit status."""
_EXAMPLES = """\
examples:
  hlo-run train.py --steps=100
  hlo-run --topology=2x4 --functions='train_*' -m package.train --steps=100
  hlo-run --pass-pipeline='canonicalize-permutes,assign-collective-streams{max-streams=2}' train.py

exit status: the program's own; 1 if hlo-run itself cannot start it, 2 for a mistake in the arguments"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command. argv: without the program's name; by default the process's.

    Returns an exit status, or raises what the program raises, SystemExit included.
    """
    given = _parse(sys.argv[1:] if argv is None else argv)
    # jaxlib must not be loaded in this process before the program does it: see `late`.
    from hloverlap.pipeline.jax_jit import import_hook
    from hloverlap.tools.run import as_main

    try:
        program = as_main.module(given.program) if given.module else as_main.script(given.program)
    except as_main.NotFoundError as error:
        return _fail(str(error))
    if refusal := _refusal(given.pass_pipeline, given.topology):
        return _fail(refusal)
    state = import_hook.install_with_jax(
        pipeline=given.pass_pipeline,
        topology=given.topology,
        functions=given.functions,
        strict=given.strict,
        partitioner_permutes=given.partitioner,
    )
    # At exit: after the program's threads and its own exit functions, whatever ended it.
    output = given.output and os.path.abspath(given.output)
    atexit.register(_finish, given.summary, output, state)
    try:
        program.run(given.arguments)
    except as_main.NotFoundError as error:
        atexit.unregister(_finish)
        return _fail(str(error))
    except KeyboardInterrupt:
        state.interrupted = True
        raise
    return 0


def _refusal(pipeline: str, topology: str | None) -> str:
    """What hlo-opt has against the pipeline or the topology, "" for nothing; asked of a process of its own."""
    from hloverlap.passes.machine.topology import Topology

    try:
        if topology is not None:
            Topology.parse(topology)
    except ValueError as error:
        return str(error)
    if pipeline == DEFAULT_PIPELINE:
        return ""
    import subprocess

    start = "import sys; from hloverlap.tools.hlo_opt import main; sys.exit(main())"
    command = [sys.executable, "-P", "-c", start, f"--pass-pipeline={pipeline}"]
    tried = subprocess.run(command, input="module {}", capture_output=True, text=True, check=False)
    return tried.stderr.strip().removeprefix("hlo-opt: error: ") if tried.returncode else ""


def _finish(form: str, path: str | None, state: State) -> None:
    """The last that this process does."""
    from hloverlap.tools.run import summary

    summary.show(form, path, state)
    if state.interrupted:
        # Python ends by the signal then, but forgets that when it runs more code at exit, as here.
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        "hlo-run",
        usage="hlo-run [options] SCRIPT [ARGUMENT ...]\n       hlo-run [options] -m MODULE [ARGUMENT ...]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-m", dest="module", action="store_true", help="the program is a module or package, as for python -m")
    add("--pass-pipeline", default=DEFAULT_PIPELINE, metavar="TEXT", help="what to run on each function [overlap]")
    add("--topology", metavar="HxD", help="host of each partition, as for hlo-opt [from the devices' processes]")
    add("--functions", default="*", metavar="NAMES", help="rewrite only these: names with * and ?, by commas [*]")
    add("--partitioner-permutes", dest="partitioner", action="store_true", help="also permutes that only XLA knows")
    add("--strict", action="store_true", help="a pass that fails ends the program")
    add("--summary", choices=("text", "json", "none"), default="text", help="form of the summary [text]")
    add("-o", dest="output", metavar="FILE", help="write the summary here [stderr]")
    add("program", nargs="?", metavar="SCRIPT", help="the program")
    add("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="all the rest is the program's")
    given = parser.parse_args(list(argv))
    if given.program is None:
        parser.error("which program? give a script, or -m and a module")
    return given


def _fail(message: str) -> int:
    print(f"hlo-run: error: {message}", file=sys.stderr)
    return FAILURE


if __name__ == "__main__":
    sys.exit(main())
