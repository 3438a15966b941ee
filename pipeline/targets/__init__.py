"""The GPUs that a module can be compiled for without having one: a name -> a GpuTargetConfigProto in text form."""

from __future__ import annotations

import dataclasses
import pathlib

from hloverlap.passes.errors import TargetError

FOLDER = pathlib.Path(__file__).parent
LOCAL = "local"
CPU = "cpu"


@dataclasses.dataclass(frozen=True)
class Target:
    """What a module is compiled for.

    name: as the user spelled it. config: the proto's text; "" for `local` (the GPU that is there) and `cpu`.
    """

    name: str
    config: str

    @property
    def is_gpu(self) -> bool:
        """Whether XLA:GPU compiles for it."""
        return self.name != CPU


def names() -> tuple[str, ...]:
    """The targets that ship with the project, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.textproto")))


def load(name: str) -> Target:
    """The target of this name, or of the file of this name. Raises TargetError."""
    if name in (LOCAL, CPU):
        return Target(name, "")
    path = FOLDER / f"{name}.textproto"
    if name not in names():
        path = pathlib.Path(name)
        if not path.is_file():
            raise TargetError(f"target '{name}' is neither a file nor one of {', '.join([*names(), LOCAL, CPU])}")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(f"target '{name}' cannot be read: {error}") from None
    if "gpu_device_info" not in text:
        raise TargetError(f"target '{name}' is no GpuTargetConfigProto in text form: it has no gpu_device_info")
    return Target(name, text)
