"""Checks that all processes are about to move the same arrays: else they would wait for each other for ever.

This is done once for each transfer that is compiled, through the key-value store of ``jax.distributed``.
"""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Sequence

import jax

from hloverlap.pipeline.jax_internals import distributed
from hloverlap.pipeline.transfers.planning import Slot
from hloverlap.pipeline.transfers.routes import TransferSpec

_SECONDS = 1800.0  # a process may be compiling something large before it comes
# How often these processes were compared, which makes the names of all comparisons differ. It counts for as long as
# jax.distributed keeps the names, which is the life of the process, and holds one number for each set of processes.
_comparisons: collections.Counter[tuple[int, ...]] = collections.Counter()


def check_same_plan(
    specs: Sequence[TransferSpec], slots: Sequence[Slot], devices: Sequence[jax.Device], chunk_bytes: int
) -> None:
    """Waits for the other processes that own some of these devices, and compares what they are about to do.

    Raises RuntimeError on each of them if it is not the same, or if one does not come.
    """
    processes = tuple(sorted({device.process_index for device in devices}))
    if len(processes) == 1:
        return
    arrays = [(spec.shape, spec.dtype.name, spec.donated) for spec in specs]
    plan = repr((chunk_bytes, arrays, [device.id for device in devices], list(slots)))
    mine = hashlib.sha256(plan.encode()).hexdigest()
    name = f"hloverlap/device_put/{'-'.join(map(str, processes))}/{_comparisons[processes]}"
    _comparisons[processes] += 1
    rule = "every process has to call it with the same structure, shapes, dtypes and shardings, in the same order"
    try:
        digests = distributed.exchange(name, mine, processes, _SECONDS)
    except Exception as error:
        raise RuntimeError(f"device_put: not all processes of {processes} came to move these arrays; {rule}") from error
    if others := [process for process, theirs in zip(processes, digests, strict=False) if theirs != mine]:
        me = jax.process_index()
        raise RuntimeError(f"device_put: process {others[0]} moves other arrays than process {me}; {rule}")
