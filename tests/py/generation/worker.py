"""A process that examines modules, so that a crash is a finding and hash seeds can be compared.

    python -m generation.worker

Each line of stdin is a JSON object of arguments for `examine`; the answer is a line of JSON.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
TIME_LIMIT = 60.0


class Worker:
    """Such a process, started when it is needed and again when it died. hash_seed: its PYTHONHASHSEED."""

    def __init__(self, hash_seed: int) -> None:
        path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        self._environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": path}
        self._process: subprocess.Popen[str] | None = None

    def examine(self, **request: Any) -> dict[str, Any]:
        """What `examine` found, or a problem: that the process died, raised or was late."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(TIME_LIMIT, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = process.wait()
        self._process = None
        return {"problems": [f"the process ended with status {status}"], "images": {}}

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "generation.worker"]
        self._process = subprocess.Popen(
            command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self._process


def main() -> None:
    """Answers until stdin ends."""
    import traceback

    from generation.examining import examine

    for line in sys.stdin:
        try:
            answer = dataclasses.asdict(examine(**json.loads(line)))
        except Exception:  # it is what the test looks for
            answer = {"problems": [traceback.format_exc()], "images": {}}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
