"""Limits what a child may take."""

from __future__ import annotations


def limit(memory: int, seconds: int) -> None:
    """Limits this process from now on. Without effect where a system has no such limits.

    memory: bytes of data beside those that it has. seconds: of processor time; a process that passes it ends by
    SIGXCPU, which is a ``timeout``. No core is dumped.
    """
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_data() + memory,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError, StopIteration):
        pass


def _data() -> int:
    """Counts the bytes of this process that count as data. Raises OSError where a system does not say."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmData:"))
