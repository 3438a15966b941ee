"""What is to be done to the functions that jit compiles, and the names under which jit's caches know it."""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
from collections.abc import Iterable

from hloverlap.passes.analysis import cost
from hloverlap.passes.base import Pass
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.execution import resolution


@dataclasses.dataclass(frozen=True)
class Setting:
    """One way of compiling. pipeline: as text, or as passes; the other fields are as in `interface.jit`."""

    pipeline: str | tuple[Pass, ...]
    topology: Topology | None = None
    target: cost.Target | None = None
    verify_each: bool = True
    functions: str = "*"
    strict: bool = False
    partitioner_permutes: bool = False
    steps: resolution.Nest = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", resolution.resolve(self.pipeline, make_context()))

    @classmethod
    def of(
        cls,
        pipeline: str | Pass | Iterable[Pass],
        topology: Topology | str | None = None,
        target: cost.Target | str | None = None,
        verify_each: bool = True,
        functions: str = "*",
        strict: bool = False,
        partitioner_permutes: bool = False,
    ) -> Setting:
        """Reads what the user gave. Raises PipelineError, TopologyError, TargetError."""
        if isinstance(pipeline, Pass):
            pipeline = (pipeline,)
        elif not isinstance(pipeline, str):
            pipeline = tuple(pipeline)
        if isinstance(topology, str):
            topology = Topology.parse(topology)
        if isinstance(target, str):
            target = cost.named(target)
        return cls(pipeline, topology, target, verify_each, functions, strict, partitioner_permutes)

    def covers(self, function: str) -> bool:
        """Whether a function of this name is to be rewritten: `functions` holds patterns with * and ?, by commas."""
        return any(fnmatch.fnmatchcase(function, pattern.strip()) for pattern in self.functions.split(","))

    @property
    def topology_key(self) -> str:
        """The topology as text, "" when it is to be taken from the devices."""
        return "" if self.topology is None else ",".join(map(str, self.topology.host))


_by_token: dict[str, Setting] = {}


def register(setting: Setting) -> str:
    """A text that stands for the setting: the same in every process, and different for different settings."""
    fields = (
        str(setting.steps),
        setting.topology_key,
        setting.target,
        setting.verify_each,
        setting.functions,
        setting.strict,
        setting.partitioner_permutes,
    )
    token = hashlib.sha256(repr(fields).encode()).hexdigest()[:16]
    # Two classes of one name, as after a notebook cell is run again, are two settings.
    while _by_token.setdefault(token, setting) != setting:
        token = hashlib.sha256(token.encode()).hexdigest()[:16]
    return token


def find(token: str) -> Setting:
    """The setting of a token that `register` gave."""
    return _by_token[token]
