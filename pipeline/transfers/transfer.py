"""Compiles transfers of arrays with given shapes and shardings, and runs them on arrays like these."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hloverlap.pipeline.jax_internals.arrays import assembler, local_shards
from hloverlap.pipeline.jax_jit import aot
from hloverlap.pipeline.transfers import consensus, planning, transfer_module
from hloverlap.pipeline.transfers.payloads import Payload, payloads
from hloverlap.pipeline.transfers.planning import Shape, Slot
from hloverlap.pipeline.transfers.routes import TransferSpec, devices_of

# Merging is all there is to do: no compute stands beside the permutes.
PIPELINE = "canonicalize-permutes,merge-cross-host-transfers"

_MOST_TRANSFERS = 256  # compiled transfers that are kept
_ShardRef = tuple[int, int]  # the number of a payload, and that of one of its shards
_KEPT_ZEROS = 64 << 10  # bytes of a shard of zeros that is kept from call to call


@functools.lru_cache(maxsize=_MOST_TRANSFERS)
def transfer(specs: tuple[TransferSpec, ...], chunk_bytes: int) -> Transfer:
    """Plans and compiles, once for the same specs. Every process must call it with the same specs in one order."""
    devices = devices_of(*(side for spec in specs for side in spec.sides))
    position = {device: number for number, device in enumerate(devices)}
    moved = payloads(specs, chunk_bytes)
    boxes = [payload.boxes(position) for payload in moved]
    slots = planning.plan(boxes, [device.process_index for device in devices])
    if not any(device.process_index == jax.process_index() for device in devices):
        return Transfer(moved, devices, [])
    consensus.check_same_plan(specs, slots, devices, chunk_bytes)
    compiled = [
        _ModuleCall(chunk, transfer_module.compile(chunk, devices, PIPELINE), moved, devices)
        for chunk in planning.chunks(slots, chunk_bytes)
    ]
    return Transfer(moved, devices, compiled)


class Transfer:
    """Moves payloads between `devices`, in as many calls of XLA as there are modules."""

    def __init__(
        self, payloads: Sequence[Payload], devices: Sequence[jax.Device], modules: Sequence[_ModuleCall]
    ) -> None:
        self.modules = modules
        self._blocks = devices[0].platform == "cpu"
        self._payloads = payloads

    def __call__(self, arrays: Sequence[jax.Array]) -> list[jax.Array]:
        """Gives the arrays with their target shardings. Every process that owns one of the devices must call it.

        On CPU it returns when all is done: two modules in flight there may take each other's messages.
        """
        held = [payload.pack([arrays[number] for number in payload.members]) for payload in self._payloads]
        arrived: list[Sequence[Any]] = [[None] * len(payload.shards[1]) for payload in self._payloads]
        for module in self.modules:
            moved = module(held, arrived)
            if self._blocks:
                jax.block_until_ready(moved)
        found: dict[int, jax.Array] = {}
        for payload, shards in zip(self._payloads, arrived, strict=True):
            found |= zip(payload.members, payload.unpack(shards), strict=True)
        return [found[number] for number in range(len(arrays))]


class _ModuleCall:
    """One module, with the shards of the payloads that go into it and come out of it.

    What a call does is decided here, once: a call takes as long as XLA and jax take to make the arrays.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        rewritten: aot.Rewritten,
        payloads: Sequence[Payload],
        devices: Sequence[jax.Device],
    ) -> None:
        self.rewritten = rewritten
        mine = [(n, device) for n, device in enumerate(devices) if device.process_index == jax.process_index()]
        placement = transfer_module.sharding(devices)
        source, target = ([payload.shards[n] for payload in payloads] for n in (0, 1))
        self._slots = [
            _LocalSlot(
                planned=slot,
                dtype=jnp.dtype(slot.dtype),
                inputs=_ShardRefs([_shard_ref(slot.source.get(n), source, device) for n, device in mine], source),
                outputs=_ShardRefs([_shard_ref(slot.target.get(n), target, device) for n, device in mine], target),
                assemble=assembler(
                    transfer_module.global_shape(slot.source_shape, len(devices)),
                    transfer_module.module_dtype(jnp.dtype(slot.dtype)),
                    placement,
                ),
            )
            for slot in slots
        ]
        self._devices = [device for _, device in mine]
        self._zeros = functools.cache(_zeros)
        self._zero_arguments: dict[int, jax.Array] = {}

    def __call__(self, held: Sequence[Sequence[jax.Array]], arrived: list[Sequence[Any]]) -> Sequence[jax.Array]:
        """Runs the module. It takes shards from `held` and puts them into `arrived`; gives the module's results.

        held, arrived: the shards of each payload, in the order of this process's shards.
        """
        for_this_call = functools.cache(_zeros)  # one of a size is enough, unless it is given away
        arguments = []
        for number, slot in enumerate(self._slots):
            if slot.inputs.whole is not None:
                arguments.append(slot.argument(held[slot.inputs.whole]))
            elif number in self._zero_arguments:
                arguments.append(self._zero_arguments[number])
            else:
                is_kept = not slot.planned.donated and slot.planned.bytes <= _KEPT_ZEROS
                make = _zeros if slot.planned.donated else self._zeros if is_kept else for_this_call
                argument = slot.argument(
                    [
                        held[ref[0]][ref[1]] if ref else make(slot.planned.source_shape, slot.dtype, device)
                        for ref, device in zip(slot.inputs.refs, self._devices, strict=True)
                    ]
                )
                if is_kept and not slot.inputs.any:  # who only receives is spared making it again
                    self._zero_arguments[number] = argument
                arguments.append(argument)
        moved: Sequence[jax.Array] = self.rewritten(*arguments)
        for slot, array in zip(self._slots, moved, strict=True):
            if not slot.outputs.any:  # who only sends is spared taking the result apart
                continue
            shards = slot.results(local_shards(array))
            if slot.outputs.whole is not None:
                arrived[slot.outputs.whole] = shards
                continue
            for ref, shard in zip(slot.outputs.refs, shards, strict=True):
                if ref:
                    arrived[ref[0]][ref[1]] = shard  # type: ignore[index]  # these are lists still
        return moved


class _ShardRefs:
    """The shard of a payload, or None, for each device of this process."""

    def __init__(self, refs: Sequence[_ShardRef | None], shards: Sequence[Mapping[jax.Device, int]]) -> None:
        self.refs = refs
        self.any = any(refs)
        """Whether there is a shard."""
        first = refs[0] if refs else None
        in_order = first is not None and list(refs) == [(first[0], n) for n in range(len(shards[first[0]]))]
        self.whole = first[0] if first is not None and in_order else None
        """The payload whose shards, all and in order, these are; else None."""


@dataclasses.dataclass(frozen=True)
class _LocalSlot:
    """A slot as this process sees it."""

    planned: Slot
    dtype: np.dtype
    inputs: _ShardRefs
    """The shards that it takes."""
    outputs: _ShardRefs
    """The shards that it gives."""
    assemble: Callable[[Sequence[jax.Array]], jax.Array]
    """Makes the module's argument of shards."""

    @functools.cached_property
    def _is_converted(self) -> bool:
        """Says whether the module takes the shards in another form than they have."""
        return self.planned.source_shape == () or transfer_module.module_dtype(self.dtype) != self.dtype

    def argument(self, shards: Sequence[jax.Array]) -> jax.Array:
        """Makes the module's argument of a shard for each device."""
        return self.assemble([transfer_module.to_module(shard) for shard in shards] if self._is_converted else shards)

    def results(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Makes the shards that arrived of those of the module's result."""
        if not self._is_converted:
            return shards
        return [transfer_module.from_module(shard, self.planned.target_shape, self.dtype) for shard in shards]


def _shard_ref(payload: int | None, shards: Sequence[Mapping[jax.Device, int]], device: jax.Device) -> _ShardRef | None:
    return None if payload is None else (payload, shards[payload][device])


def _zeros(shape: Shape, dtype: np.dtype, device: jax.Device) -> jax.Array:
    zeros: jax.Array = jax.device_put(np.zeros(shape, dtype), device)
    return zeros
