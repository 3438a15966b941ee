"""Asks the server of this process, which is started with the first question, and keeps answers on disk."""

from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
import subprocess
import threading
from typing import Any

from hloverlap.pipeline.children import child
from hloverlap.pipeline.partition.question import Answer, Partitioned, Question, TiledSharding
from hloverlap.pipeline.partition.server import shardings_of
from hloverlap.pipeline.xla import answers
from hloverlap.pipeline.xla.compile_child import MISSING, REFUSED
from hloverlap.pipeline.xla.isolated_compile import Failure, refusal

TIME_LIMIT = 300.0  # seconds for one module


def ask(question: Question, time_limit: float = TIME_LIMIT) -> Answer:
    """Has XLA partition a module, unless that is known already."""
    described = repr(dataclasses.replace(question, module=b""))
    name = answers.key(["partition", question.module, described, answers.fingerprint()])
    if (known := _load(answers.read(name))) is not None:
        return known
    answer = _SERVER.ask(question, time_limit)
    if isinstance(answer, Partitioned) or answer.is_xlas:
        answers.write(name, _store(answer))
    return answer


class _Server:
    """One child for all questions of this process, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: child.Child | None = None

    def ask(self, question: Question, time_limit: float) -> Answer:
        import tempfile

        with self._lock, tempfile.TemporaryDirectory(prefix="hloverlap-partition-") as name:
            folder = pathlib.Path(name)
            (folder / "module.mlirbc").write_bytes(question.module)
            described = {key: value for key, value in dataclasses.asdict(question).items() if key != "module"}
            (folder / "request.json").write_text(json.dumps(described), encoding="utf-8")
            said = self._say({"folder": name, "time_limit": time_limit})
            if isinstance(said, Failure):
                return said
            if said["kind"] == "ok":
                return _read(folder)
            if said["status"] in (REFUSED, MISSING):
                return refusal(said["message"], said["status"])
            return Failure(said["kind"], said["message"])

    def _say(self, request: dict[str, Any]) -> dict[str, Any] | Failure:
        """Has the server answer. One that died, as when the thread that started it ended, is started again once."""
        line = json.dumps(request).encode() + b"\n"
        for _ in range(2):
            if self._child is None or self._child.is_over():
                self._child = child.Child(
                    child.python("hloverlap.pipeline.partition.server"),
                    child.environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            if answer := self._child.ask(line):
                found: dict[str, Any] = json.loads(answer)
                return found
            ended = self._child.end()
            self._child.stop()
            self._child = None
            if ended.kind != "killed":
                break
        return Failure(ended.kind, ended.message)


# Per process and not per run: a program of many jits pays the start of jax once.
_SERVER = _Server()


def _read(folder: pathlib.Path) -> Partitioned:
    found = shardings_of(folder)
    return Partitioned(
        (folder / "partitioned.mlirbc").read_bytes(),
        *(tuple(_sharding(each) for each in found[name]) for name in ("arguments", "results")),
    )


def _sharding(said: list[list[int]] | None) -> TiledSharding | None:
    return None if said is None else TiledSharding(*map(tuple, said))


def _store(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Failure):
        return {"failure": dataclasses.asdict(answer)}
    sides = {
        name: [side and [side.tiles, side.devices] for side in getattr(answer, name)]
        for name in ("arguments", "results")
    }
    return {"partitioned": {"module": base64.b64encode(answer.module).decode(), **sides}}


def _load(stored: dict[str, Any] | None) -> Answer | None:
    """The answer of an entry; None when it is not one."""
    try:
        if stored and "failure" in stored:
            return Failure(**stored["failure"])
        if stored and "partitioned" in stored:
            held = stored["partitioned"]
            sides = (tuple(map(_sharding, held[name])) for name in ("arguments", "results"))
            return Partitioned(base64.b64decode(held["module"]), *sides)
    except (TypeError, KeyError, ValueError):
        return None
    return None
