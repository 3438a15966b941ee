"""A process that runs hlo-opt again and again: starting one for each of thousands of inputs would take hours.

    python -m generation.command_worker FOLDER [--fork]

With --fork the children in which MLIR and XLA convert bytes are forks of this process, which takes a hundredth of the
time of starting them; what runs in them is the same.

Each line of stdin is a JSON object: ``argv``, and ``out``, the file that may come out. The answer is a line of JSON.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import subprocess
import sys
import threading
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent


class CommandWorker:
    """Such a process, started again when it died or was late."""

    def __init__(self, folder: pathlib.Path, time_limit: float, fork: bool = False) -> None:
        self._arguments = [str(folder), *(["--fork"] if fork else [])]
        self._time_limit = time_limit
        self._process: subprocess.Popen[str] | None = None

    def run(self, argv: list[str], out: pathlib.Path) -> dict[str, Any]:
        """What came of one command: status, stderr, wrote, seconds and peak; or died, which says how.

        seconds: of processor time. peak: bytes by which the largest process grew.
        """
        if self._process is None:
            path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
            environment = os.environ | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "generation.command_worker", *self._arguments],
                env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(self._time_limit, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps({"argv": argv, "out": str(out)}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        finally:
            timer.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = process.wait()
        self._process = None
        return {"died": f"no answer within {self._time_limit:g} s" if status == -9 else f"ended with status {status}"}

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def main(folder: pathlib.Path, fork: bool) -> None:
    """Answers until stdin ends. What hlo-opt and the libraries under it write goes to files."""
    if fork:
        _fork_conversions(folder)
    answers = os.fdopen(os.dup(1), "w")
    stdout, stderr = (os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in ("stdout", "stderr"))
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    for line in sys.stdin:
        request = json.loads(line)
        for descriptor in (stdout, stderr):
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
        print(json.dumps(_run(request["argv"], folder, pathlib.Path(request["out"]))), file=answers, flush=True)


def _run(argv: list[str], folder: pathlib.Path, out: pathlib.Path) -> dict[str, Any]:
    import traceback

    from hloverlap.tools.hlo_opt import main as hlo_opt

    before, start = _peak(), _processor_time()
    try:
        status = hlo_opt(argv)
    except BaseException:  # it is what the test looks for
        traceback.print_exc()
        status = -1
    seconds = _processor_time() - start
    sys.stderr.flush()
    said = (folder / "stderr").read_bytes().decode("utf-8", "replace")
    return {
        "status": status, "stderr": said, "wrote": out.exists(), "seconds": seconds, "peak": _peak() - before,
    }  # fmt: skip


def _fork_conversions(folder: pathlib.Path) -> None:
    """Puts a fork where converting starts a process."""
    from jaxlib import _hlo, _jax  # type: ignore[attr-defined]  # noqa: F401  loaded once, for all forks

    from hloverlap.pipeline.children import child, ends
    from hloverlap.pipeline.formats import convert_child

    def run(module: str, arguments: list[str], data: bytes, time_limit: float) -> tuple[ends.End, bytes]:
        paths = [folder / name for name in ("conversion-in", "conversion-out", "conversion-err")]
        paths[0].write_bytes(data)
        forked = os.fork()
        if not forked:
            status = 1
            try:
                for number, path in enumerate(paths):
                    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
                    os.dup2(os.open(path, flags), number)
                sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  the other one is read up to some place
                status = convert_child.main(arguments[0], "--allow-unregistered-dialect" in arguments)
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])
        return ends.read(status, paths[2].read_bytes().decode(errors="replace")), paths[1].read_bytes()

    child.run = run  # type: ignore[assignment]


def _processor_time() -> float:
    """Seconds that this process and its children took: on a busy machine a clock says little."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


def _peak() -> int:
    """Bytes of the largest that this process or a child of it ever was."""
    usage = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return 1024 * max(usage)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), "--fork" in sys.argv)
