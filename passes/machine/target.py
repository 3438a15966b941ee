"""Describes one kind of machine: how to compile for it, and what transfers cost there.

Times are in microseconds, sizes in bytes, bandwidths in bytes a microsecond (1000 is 1 GB/s), all for one device with
the others doing the same at the same time. None is what nobody has measured, and no data sheet says.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Link:
    """A way from one device to another: a message of so many bytes takes ``latency + bytes / bandwidth``."""

    latency: float
    """Of a message, besides its launch."""

    bandwidth: float
    """In one direction."""

    member: float | None = None
    """Of each further permute in one launch."""

    one_way: float | None = None
    """The bandwidth where no device sends and receives at once; None where it is the same."""


@dataclasses.dataclass(frozen=True)
class Host:
    """How long the host, which starts everything that a device does, takes for each thing."""

    run: float
    """To begin a run of a program."""

    kernel: float
    """To start a kernel or a copy on the device itself."""

    transfer: float
    """To start a collective through NCCL."""

    peer: float
    """To start a collective that copies from device to device."""

    event: float
    """To let one stream wait for another: for each start and each done of an asynchronous collective."""

    turn: float
    """To begin another turn of a loop."""


@dataclasses.dataclass(frozen=True)
class Costs:
    """Says what transfers and copies cost."""

    launch: float | None = None
    """Of one collective."""

    same_process: Link | None = None
    """Between devices of one process, through NCCL on GPUs."""

    same_host: Link | None = None
    """Between devices of one host that different processes own."""

    cross_host: Link | None = None
    """Between devices of different hosts."""

    peer: Link | None = None
    """Inside a process when XLA copies from device to device instead of going through NCCL."""

    peer_once: float | None = None
    """How much longer the first copy from device to device of a permute takes in a run than later ones."""

    copy: float | None = None
    """The bandwidth of packing, of bytes read and written once each."""

    pack: float | None = None
    """Of the kernels that pack and unpack, without the bytes."""

    matmul: float | None = None
    """Floating point operations a microsecond of a large product of 16-bit matrices; a multiply-add is two."""

    kernel: float | None = None
    """What a kernel takes besides its operations and bytes, on the device."""

    slowdown: float | None = None
    """The share of its speed that compute loses while a transfer through NCCL holds multiprocessors."""

    slowdown_one_way: float | None = None
    """The same where no device sends and receives at once; None where it is the same."""

    host: Host | None = None
    """What the host takes to start things."""

    spread: float | None = None
    """How far predicted times of two variants of a program may be off, as a share of what differs between them."""

    stream_bytes: int | None = None
    """Permutes of fewer bytes lose more by a stream of their own than they gain; where `peer` is known, this is with
    such copies."""

    stream_bytes_beside_compute: int | None = None
    """The same of permutes between processes of a host, without such copies, beside which compute can run."""

    sequential_ops: int = 0
    """A function of at most so many ops, kept as a call, runs them one after the other on one thread, which for small
    ones is faster than handing each to a thread; 0 where XLA runs ops in a row anyway."""


@dataclasses.dataclass(frozen=True)
class Target:
    """One kind of machine, or a device of which nothing is known but its name."""

    name: str
    """What messages call it."""

    aliases: tuple[str, ...] = ()
    """Other names by which it can be asked for."""

    platform: str = ""
    """Which platform JAX says that its devices are of: ``gpu`` or ``cpu``."""

    kinds: tuple[str, ...] = ()
    """Each ``device_kind`` that JAX gives for it, whole; () for all of the platform."""

    backend: str = ""
    """Which XLA compiles for it, ``gpu`` or ``cpu``; "" when another one does, or nobody said."""

    gpu_target_config: str | None = None
    """What XLA:GPU has to know to compile without the device, a GpuTargetConfigProto in text form.

    "" asks the GPU that is there.
    """

    costs: Costs = Costs()
    """What transfers cost there, as far as that is known."""

    @property
    def is_gpu(self) -> bool:
        """Says whether XLA:GPU compiles for it."""
        return self.backend == "gpu"

    def recognises(self, platform: str, kind: str) -> bool:
        """Says whether a JAX device with this ``platform`` and ``device_kind`` is one of these."""
        return platform == self.platform and (not self.kinds or kind in self.kinds)
