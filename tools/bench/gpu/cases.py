"""Lists what is measured: programs and sizes, the most telling first."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from hloverlap.tools.bench.gpu import exchanges, variants
from hloverlap.tools.samples import (
    halo_exchange,
    moe_shifts,
    ring_attention,
    ring_attention_grad,
    ring_matmul,
    ring_matmul_unrolled,
    small_transfers,
)
from hloverlap.tools.samples.program import Program

KIB, MIB = 1 << 10, 1 << 20

# Rough speeds that only size the programs: a matmul as long as two transfers, a run of some milliseconds.
_LINK = 300e9  # bytes/s, one way between two GPUs of a host
_LATENCY = 10e-6  # seconds of a small transfer
_MATMUL = 600e12  # flop/s in bf16
_RUN = 8e-3  # seconds


@dataclasses.dataclass(frozen=True)
class Case:
    """One program of one size."""

    name: str
    """``family/size``."""
    build: Callable[[Sequence[jax.Device]], Program]
    """Makes the program on devices; raises ValueError where their number does not do."""
    bytes: int
    """Bytes of one transfer, a device."""
    sent: int
    """Bytes that a device sends in one direction in one run, for the bandwidth; 0 where that says nothing."""
    steps: int
    """Exchanges one after the other in one run."""
    variants: tuple[str, ...] = variants.USUAL
    """The names of the variants, plain first."""
    profiled: bool = False
    """Whether a trace of each variant is taken."""

    @property
    def family(self) -> str:
        """Gives the program's name without the size."""
        return self.name.partition("/")[0]


def cases(devices: int, tiny: bool = False) -> list[Case]:
    """Lists all cases for this number of devices, most telling first.

    tiny: for a test on CPUs, two steps of a few KiB.
    """
    made = list(_tiny(devices) if tiny else _full(devices))
    assert len({case.name for case in made}) == len(made), "two cases have one name"
    return made


def size_text(size: int) -> str:
    """Writes a size as ``4KiB`` or ``64MiB``."""
    return f"{size // MIB}MiB" if size >= MIB else f"{size // KIB}KiB"


def _full(devices: int) -> Iterator[Case]:
    yield _two_ways("opposite+matmul", 64 * MIB, beside=True, ring=False, profiled=True)
    yield _two_ways("ring+matmul", 64 * MIB, beside=True, ring=True, profiled=True)
    yield _two_ways("opposite+dot", 64 * MIB, beside=False, ring=False, profiled=True, dot=256)
    yield _two_ways("opposite", 64 * MIB, beside=False, ring=False)
    yield _two_ways("ring", 64 * MIB, beside=False, ring=True)
    for size in (4 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB):
        yield _link("one-way", size, ring=False)
        yield _link("one-way-ring", size, ring=True)
    yield _local("copy", exchanges.copies, size=512 * MIB, steps=16)
    yield _local("copy", exchanges.copies, size=16 * MIB, steps=256)
    yield _local("matmul", exchanges.matmuls, matmul=4096, steps=32)
    yield _local("matmul", exchanges.matmuls, matmul=8192, steps=6)
    yield _many(8, 4 * KIB)
    yield _many(2, 4 * KIB)
    yield _ring_matmul(16 * MIB, devices, profiled=True)
    yield _attention("ring_attention", ring_attention, 8 * MIB, devices)
    yield _attention("ring_attention_grad", ring_attention_grad, 8 * MIB, devices)
    yield _halo(8192, 8192, devices)
    yield _moe(1024, devices)
    yield _two_ways("opposite+matmul", MIB, beside=True, ring=False)
    yield _two_ways("ring+matmul", MIB, beside=True, ring=True)
    yield _two_ways("ring-unsorted+matmul", MIB, beside=True, ring=True, sort=False)
    yield _two_ways("opposite+dot", MIB, beside=False, ring=False, dot=256)
    yield _two_ways("opposite", MIB, beside=False, ring=False)
    yield _two_ways("opposite", 4 * KIB, beside=False, ring=False)
    yield _two_ways("opposite+matmul", 64 * KIB, beside=True, ring=False)
    yield _small(64)
    yield _ring_matmul_unrolled(16 * MIB, devices)
    yield _ring_matmul_unrolled(4 * MIB, devices)
    yield _ring_matmul_one_way(16 * MIB, devices)
    yield _many(8, MIB)
    yield _two_ways("ring+matmul", 16 * MIB, beside=True, ring=True)
    yield _two_ways("opposite+matmul", 16 * MIB, beside=True, ring=False)
    yield _two_ways("opposite+matmul", 256 * MIB, beside=True, ring=False)
    yield _two_ways("ring+matmul", 256 * MIB, beside=True, ring=True)
    yield _ring_matmul(128 * MIB, devices)
    yield _ring_matmul(MIB, devices)
    yield _two_ways("opposite+matmul", 4 * KIB, beside=True, ring=False)
    yield _two_ways("ring+matmul", 4 * KIB, beside=True, ring=True)
    yield _two_ways("ring", MIB, beside=False, ring=True)
    yield _two_ways("ring", 4 * KIB, beside=False, ring=True)
    yield _two_ways("opposite", 256 * MIB, beside=False, ring=False)
    yield _two_ways("ring", 256 * MIB, beside=False, ring=True)
    yield _moe(64, devices)
    yield _halo(256, 1 << 20, devices)
    yield _many(8, 64 * KIB)
    yield _small(4096)


def _tiny(devices: int) -> Iterator[Case]:
    def fix(case: Case, build: Callable[..., Program], **sizes: Any) -> Case:
        return dataclasses.replace(case, build=lambda found: build(found, **sizes), bytes=sizes.get("size", 4 * KIB))

    small = {"size": 4 * KIB, "steps": 4}
    yield fix(
        _two_ways("opposite+matmul", MIB, True, False, profiled=True),
        exchanges.two_ways,
        **small,
        matmul=32,
        ring=False,
    )
    yield fix(_two_ways("ring+matmul", MIB, True, True), exchanges.two_ways, **small, matmul=32)
    yield fix(_two_ways("opposite", MIB, False, False), exchanges.two_ways, **small, ring=False)
    yield fix(_link("one-way", 4 * KIB, ring=False), exchanges.one_way, **small, ring=False)
    yield fix(_link("one-way-ring", 4 * KIB, ring=True), exchanges.one_way, **small)
    yield fix(_link("one-way", 64 * KIB, ring=False), exchanges.one_way, size=64 * KIB, steps=4, ring=False)
    yield fix(_local("copy", exchanges.copies, size=MIB, steps=2), exchanges.copies, size=4 * KIB, steps=2)
    yield fix(_local("matmul", exchanges.matmuls, matmul=32, steps=2), exchanges.matmuls, matmul=32, steps=2)
    yield fix(_many(8, 4 * KIB), exchanges.many, **small, blocks=8)
    yield fix(_many(2, 4 * KIB), exchanges.many, **small, blocks=2)
    yield fix(_ring_matmul(MIB, devices), ring_matmul.build, rows=16 * devices, depth=16, columns=8 * devices)
    yield fix(_attention("ring_attention", ring_attention, MIB, devices), ring_attention.build, sequence=8 * devices)
    yield fix(_halo(8, 8, devices), halo_exchange.build, height=16, width=8 * devices, mesh_rows=_mesh_rows(devices))
    yield fix(_moe(4, devices), moe_shifts.build, tokens=4, width=8, hidden=8)


def _steps(seconds: float) -> int:
    """Counts the steps of a loop that make a run long enough to time, a multiple of 8."""
    return 8 * max(1, min(64, round(_RUN / seconds / 8)))


def _two_ways(
    family: str, size: int, beside: bool, ring: bool, sort: bool = True, dot: int = 0, profiled: bool = False
) -> Case:
    """Makes a case of two transfers in opposite directions.

    beside: a matmul as long as both transfers; dot: one of this size, too short to hide anything.

    A permute with nothing between its start and its done is made synchronous: the short one prevents that.
    """
    both = 2 * (_LATENCY + size / _LINK)
    steps = _steps(1.5 * both)
    matmul = 128 * max(2, round((both * _MATMUL / 2) ** (1 / 3) / 128)) if beside else dot

    def build(devices: Sequence[jax.Device]) -> Program:
        return exchanges.two_ways(devices, size=size, steps=steps, matmul=matmul, ring=ring, sort=sort)

    return Case(f"{family}/{size_text(size)}", build, size, size * steps, steps, profiled=profiled)


def _link(family: str, size: int, ring: bool) -> Case:
    steps = _steps(_LATENCY + size / _LINK)

    def build(devices: Sequence[jax.Device]) -> Program:
        return exchanges.one_way(devices, size=size, steps=steps, ring=ring)

    return Case(f"{family}/{size_text(size)}", build, size, size * steps, steps, (variants.PLAIN, "peer"))


def _local(family: str, build: Callable[..., Program], steps: int, **sizes: int) -> Case:
    """Makes a case without transfers. `bytes` is the size of the memory that is copied, or of one matrix."""
    size = sizes.get("size") or 2 * sizes["matmul"] ** 2
    name = f"{family}/{size_text(size) if 'size' in sizes else sizes['matmul']}"
    return Case(name, lambda devices: build(devices, steps=steps, **sizes), size, 0, steps, (variants.PLAIN,))


def _many(blocks: int, size: int) -> Case:
    steps = _steps(blocks * (_LATENCY + size / _LINK))
    wanted = (variants.PLAIN, "apart", "limit", "streams", "groups", "packed", "peer", "streams+peer", "auto")

    def build(devices: Sequence[jax.Device]) -> Program:
        return exchanges.many(devices, size=size, steps=steps, blocks=blocks)

    return Case(f"many/{blocks}x{size_text(size)}", build, size, blocks * size * steps, steps, wanted)


def _ring_matmul(size: int, devices: int, profiled: bool = False) -> Case:
    """Makes a case in which half blocks of `size` bytes travel each way.

    It has enough columns that a step's dots take as long as its transfers.
    """
    depth = 4096
    rows = 2 * devices * max(1, size // (2 * depth))

    def build(found: Sequence[jax.Device]) -> Program:
        return ring_matmul.build(found, rows=rows, depth=depth, columns=2048 * devices)

    sent = size * (devices - 1)
    return Case(f"ring_matmul/{size_text(size)}", build, size, sent, devices - 1, profiled=profiled)


def _ring_matmul_unrolled(size: int, devices: int) -> Case:
    """Makes a case of blocks of 4 MiB: XLA's dot merger takes matmuls of up to 32 MB, as theirs are."""
    depth = 4096
    rows = 2 * devices * (size // (2 * depth))

    def build(found: Sequence[jax.Device]) -> Program:
        return ring_matmul_unrolled.build(found, rows=rows, depth=depth, columns=2048 * devices)

    wanted = (*variants.USUAL, "dots", "streams+dots")
    return Case(f"ring_matmul_unrolled/{size_text(size)}", build, size, size * (devices - 1), devices - 1, wanted)


def _ring_matmul_one_way(size: int, devices: int) -> Case:
    depth = 4096
    rows = devices * (size // (2 * depth))

    def build(found: Sequence[jax.Device]) -> Program:
        return exchanges.ring_matmul_one_way(found, rows=rows, depth=depth, columns=2048 * devices)

    return Case(f"ring_matmul_one_way/{size_text(size)}", build, size, size * (devices - 1), devices - 1)


def _attention(family: str, sample: Any, size: int, devices: int) -> Case:
    """Makes a case with blocks of 1024 tokens of 128 values in bf16; keys and values travel.

    There are as many heads as make `size` bytes.
    """
    heads = max(1, size // (2 * 128 * 1024))

    def build(found: Sequence[jax.Device]) -> Program:
        program: Program = sample.build(found, sequence=1024 * devices, heads=heads, width=128, dtype=jnp.bfloat16)
        return program

    steps = devices - 1
    return Case(f"{family}/{size_text(size)}", build, size, 2 * size * steps, steps)


def _mesh_rows(devices: int) -> int:
    return 2 if devices % 2 == 0 else 1


def _halo(height: int, width: int, devices: int) -> Case:
    """Makes a case with a field of height x width values in f32 on each device."""
    rows, steps = _mesh_rows(devices), 8

    def build(found: Sequence[jax.Device]) -> Program:
        columns = devices // rows
        return halo_exchange.build(found, height=height * rows, width=width * columns, steps=steps, mesh_rows=rows)

    return Case(f"halo/{height}x{width}", build, 4 * width, 0, steps)


def _moe(tokens: int, devices: int) -> Case:
    """Makes a case with blocks of up to `tokens` / 2 tokens of 4096 values in bf16."""

    def build(found: Sequence[jax.Device]) -> Program:
        return moe_shifts.build(found, tokens=tokens, width=4096, hidden=4096)

    size = tokens // 2 * 4096 * 2
    return Case(f"moe_shifts/{size_text(size)}", build, size, 0, 1)


def _small(width: int) -> Case:
    return Case(f"small_transfers/{width}", lambda found: small_transfers.build(found, width=width), 32 * width, 0, 1)
