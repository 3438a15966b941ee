"""Holds what this process has while the pipeline is inside `jax.jit`: one object, so that it can be looked at.

jax has one compile function and one set of caches in a process, so there is one `SESSION`. Importing this module
changes nothing of jax: the hook is put in place by who needs it first, and jit's user context is made then.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

from jaxlib.mlir import ir

from hloverlap.pipeline.jax_internals import executables, jit_hook
from hloverlap.pipeline.jax_jit import hook, rewriting
from hloverlap.pipeline.jax_jit.compilation import Compilation
from hloverlap.pipeline.jax_jit.config import Configs, JitConfig, Token
from hloverlap.pipeline.jax_jit.partitioner import PartitionerCallback
from hloverlap.pipeline.jax_jit.records import MOST_RECORDS, CompileRecord, RecordLog

logger = logging.getLogger("hloverlap.pipeline")


class Session:
    """Holds the hook in jit's compile, the configurations that are in use, and the records of what was compiled.

    It stays bounded however long the process runs: `most_records` records are kept, in all and in each open log, the
    partitioner's callback keeps its newest answers, and a configuration is forgotten with the last token of it.
    """

    def __init__(self, most_records: int = MOST_RECORDS) -> None:
        self.configs = Configs()
        self.log = RecordLog(most_records)
        self.partitioner = PartitionerCallback(self.configs)
        self.listeners: list[Callable[[CompileRecord], None]] = []
        self._most_records = most_records
        self._open: list[tuple[str, RecordLog]] = []
        self._installed: contextlib.ExitStack | None = None
        self._users = 0
        self._hook = contextlib.ExitStack()  # takes the hook out again
        self._context: Any = None  # jax's user context of a token, made when it is first needed
        self._lock = threading.RLock()  # of the fields above
        self._installing = threading.RLock()  # held while jax is asked, so never for `add`

    def acquire(self) -> None:
        """Puts the hook in place. Each call needs a `release`, but for functions that may be compiled at any time."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._hook.callback(self.partitioner.stop_listening)
                self._hook.callback(jit_hook.allow_in_nested_jits(hook.OPTION))
                self._hook.callback(jit_hook.wrap_compile(hook.wrapper(self.compile, self.active_token)))

    def release(self) -> None:
        """Takes the hook out when nobody needs it any more."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._hook.close()

    def active_token(self) -> str | None:
        """Gives the token of the configuration that is on for this thread or for all; None where none is."""
        return None if self._context is None else self._context.value

    def compile(
        self, token: str, module: ir.Module, options: Any, platform: str, devices: tuple[Any, ...], build: hook.Build
    ) -> Any:
        """Compiles a module by the configuration of a token, and keeps the record. See `Compilation.run`."""
        config = self.configs.find(token)
        return Compilation(config, token, module, options, platform, devices, build, self.partitioner, self.add).run()

    @contextlib.contextmanager
    def enabled(self, config: JitConfig) -> Iterator[RecordLog]:
        """Turns a configuration on for this thread, and gives the log of what it compiles."""
        with self._hooked_log(config) as (token, log), self._user_context()(token):
            yield log

    def install(self, config: JitConfig) -> RecordLog:
        """Turns a configuration on for all threads, instead of the one that is."""
        with self._installing:
            self.uninstall()
            with contextlib.ExitStack() as stack:
                token, log = stack.enter_context(self._hooked_log(config))
                self._user_context().set_global(token)
                stack.callback(self._user_context().set_global, None)
                self._installed = stack.pop_all()
            return log

    def uninstall(self) -> None:
        """Turns off what `install` turned on, if anything."""
        with self._installing:
            installed, self._installed = self._installed, None
            if installed is not None:
                installed.close()

    def add(self, record: CompileRecord) -> None:
        """Keeps a record, in the log of the process and in the open logs of its configuration, and tells `logging`."""
        with self._lock:
            logs = [log for token, log in self._open if token == record.token]
        for log in (self.log, *logs):
            log.add(record)
        for tell in self.listeners:
            tell(record)
        logger.info("%s: %s: %s", record.function, record.outcome, record.message)

    @contextlib.contextmanager
    def _hooked_log(self, config: JitConfig) -> Iterator[tuple[Token, RecordLog]]:
        """Keeps the hook in place and a log open, which begins with what was compiled too early."""
        token, log = self.configs.token(config), RecordLog(self._most_records)
        self.acquire()
        try:
            with self._lock:
                self._open.append((token, log))
            self._note_compiled_before(token)
            yield token, log
        finally:
            with self._lock:
                self._open = [each for each in self._open if each[1] is not log]
            self.release()

    def _user_context(self) -> Any:
        with self._lock:
            if self._context is None:
                self._context = jit_hook.user_context()
            return self._context

    def _note_compiled_before(self, token: Token) -> None:
        """Records what was compiled for several devices before this configuration was on, each function once."""
        known = {record.function for record in self.log if record.token == token}
        for executable in executables.live_executables():
            if len(devices := executable.local_devices()) > 1:
                function = rewriting.function_name(executable.hlo_modules()[0].name)
                if function not in known and token.config.covers(function):
                    known.add(function)
                    self.add(
                        CompileRecord(
                            function,
                            "compiled before",
                            "it was compiled before the pipeline was on; jax.jit compiles it anew when it is called, "
                            "but a jax.stages.Compiled that the program holds stays as it is",
                            devices[0].platform,
                            len(devices),
                            str(token),
                        )
                    )


SESSION = Session()


def records() -> tuple[CompileRecord, ...]:
    """Gives the newest `MOST_RECORDS` records of this process since `clear_records`, in order of compilation."""
    return tuple(SESSION.log)


def clear_records() -> None:
    """Forgets all records; logs of blocks and installations keep theirs."""
    SESSION.log.clear()
