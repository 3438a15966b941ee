"""Says what is to be done to the functions that jit compiles, and makes the tokens by which jit's caches know it."""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import threading
import weakref
from collections.abc import Iterable

from hloverlap.passes.base import Pass
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.execution import resolution


@dataclasses.dataclass(frozen=True)
class JitConfig:
    """Says one way to compile functions; `interface.jit` and `interface.enabled` say what each field does."""

    pipeline: str | tuple[Pass, ...]
    topology: Topology | None = None
    """None: what the devices of a function say."""
    target: Target | None = None
    """None: what the devices of a function say."""
    verify_each: bool = True
    functions: str = "*"
    strict: bool = False
    partitioner_permutes: bool = False
    steps: resolution.Nest = dataclasses.field(init=False)
    """The pipeline, read."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", resolution.resolve(self.pipeline, make_context()))

    @classmethod
    def of(
        cls,
        pipeline: str | Pass | Iterable[Pass],
        topology: Topology | str | None = None,
        target: Target | str | None = None,
        verify_each: bool = True,
        functions: str = "*",
        strict: bool = False,
        partitioner_permutes: bool = False,
    ) -> JitConfig:
        """Reads what the user gave. Raises PipelineError, TopologyError, TargetError."""
        if isinstance(pipeline, Pass):
            pipeline = (pipeline,)
        elif not isinstance(pipeline, str):
            pipeline = tuple(pipeline)
        if isinstance(topology, str):
            topology = Topology.parse(topology)
        if isinstance(target, str):
            target = targets.find(target)
        return cls(pipeline, topology, target, verify_each, functions, strict, partitioner_permutes)

    def covers(self, function: str) -> bool:
        """Says whether a function of this name is to be rewritten.

        `functions` holds patterns with * and ?, separated by commas.
        """
        return any(fnmatch.fnmatchcase(function, pattern.strip()) for pattern in self.functions.split(","))

    @property
    def key(self) -> str:
        """Writes text that is the same in every process, and different for configurations that do different things."""
        rest = (self.topology, self.target, self.verify_each, self.functions, self.strict, self.partitioner_permutes)
        return hashlib.sha256(repr((str(self.steps), *rest)).encode()).hexdigest()[:16]


class Token(str):
    """Stands for a configuration in jit's caches and options, as text, and keeps it alive.

    XLA is given the text alone. A jitted function, a lowering, a key of jit's caches and an open block each hold the
    token itself, so a configuration lives for as long as something may be compiled by it.
    """

    config: JitConfig

    @classmethod
    def of(cls, text: str, config: JitConfig) -> Token:
        """Makes the token."""
        token = cls(text)
        token.config = config
        return token


class Configs:
    """Holds the configurations in use, by their tokens. One that no token refers to any more is forgotten."""

    def __init__(self) -> None:
        self._by_text: weakref.WeakValueDictionary[str, JitConfig] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def token(self, config: JitConfig) -> Token:
        """Gives the token of a configuration: equal ones have the same text, in every process."""
        text = config.key
        with self._lock:
            # Two classes of one name, as after a notebook cell is run again, are two configurations.
            while (held := self._by_text.setdefault(text, config)) != config:
                text = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Token.of(text, held)

    def find(self, text: str) -> JitConfig:
        """Gives the configuration of a token's text. Raises KeyError where no token has it."""
        return self._by_text[text]

    def __len__(self) -> int:
        return len(self._by_text)
