"""Damaged input: files as a full disk, a bad line or a wrong program leaves them, and mistyped command lines."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

_WORDS = (
    b"0", b"-1", b"18446744073709551616", b"99999999999999999999999", b"tensor<", b"dense<", b"{", b"}", b"<", b">",
    b"(", b")", b"%0", b"@main", b"module", b"func.func", b"loc(", b"\"", b"\\", b"\0", b"\xff\xfe", b"#stablehlo",
    b"!stablehlo.token", b"?", b"x", b"[[[[", b"]]", b"9223372036854775807", b"HloModule", b"ENTRY", b"ML\xefR",
)  # fmt: skip

_PIPELINES = (
    "builtin.module(overlap)",
    "builtin.module(canonicalize-permutes,cse,func.func(canonicalize))",
    "builtin.module(assign-collective-streams{max-streams=2 first-stream=5},symbol-dce)",
    "builtin.module(merge-cross-host-transfers{strategy=concat scope=all max-bytes=1000})",
    "builtin.module(any(cse),strip-stream-annotations)",
)
_PIPELINE_WORDS = (
    "{",
    "}",
    "(",
    ")",
    ",",
    "=",
    "'",
    '"',
    " ",
    "\n",
    "\0",
    "é",
    "overlap",
    "func.func",
    "-1",
    "x" * 300,
)
_FLAGS = (
    "--overlap", "--topology=2x4", "--topology=[0,1]", "--emit=mlir", "--emit=hlo", "--remarks=json", "--check=maybe",
    "--verify-each=false", "--split-input-file", "--verify-diagnostics", "--mlir-timing", "--canonicalize",
    "--assign-collective-streams=max-streams=0", "--merge-cross-host-transfers=strategy=all",
    "--mlir-print-ir-after-all",
    "--mlir-elide-elementsattrs-if-larger=4", "--allow-unregistered-dialect", "--dump-pass-pipeline",
)  # fmt: skip


def damaged(generator: random.Random, bases: Mapping[str, bytes]) -> bytes:
    """One of the files, or none at all, with one to four damages."""
    names = sorted(bases)
    if generator.random() < 0.03:
        return generator.randbytes(generator.randrange(0, 400))
    data = bases[generator.choice(names)]
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        data = _damage(generator, data, bases[generator.choice(names)])
    return data


def _damage(generator: random.Random, data: bytes, other: bytes) -> bytes:
    if not data:
        return data
    at = generator.randrange(len(data))
    length = generator.choice((1, 1, 2, 8, 64, 512))
    match generator.randrange(10):
        case 0:  # cut off
            return data[:at]
        case 1:  # the start is missing
            return data[at:]
        case 2:  # one bit
            return data[:at] + bytes([data[at] ^ 1 << generator.randrange(8)]) + data[at + 1 :]
        case 3:  # bytes of anything
            return data[:at] + generator.randbytes(length) + data[at + length :]
        case 4:  # a hole
            return data[:at] + data[at + length :]
        case 5:  # zeros, as a file system leaves them
            return data[:at] + bytes(length) + data[at + length :]
        case 6:  # the same twice
            return data[: at + length] + data[at:]
        case 7:  # another file from here on
            return data[:at] + other[generator.randrange(len(other)) :]
        case 8:  # a word in the wrong place
            return data[:at] + generator.choice(_WORDS) + data[at:]
        case _:  # a word instead of another
            end = at
            while end < len(data) and chr(data[end]).isalnum():
                end += 1
            return data[:at] + generator.choice(_WORDS) + data[end:]


def mistyped(generator: random.Random) -> list[str]:
    """Arguments for hlo-opt of which some are wrong."""
    arguments = [generator.choice(_FLAGS) for _ in range(generator.randrange(3))]
    if generator.random() < 0.7:
        arguments.append("--pass-pipeline=" + _mistype(generator, generator.choice(_PIPELINES), _PIPELINE_WORDS))
    else:
        arguments.append(_mistype(generator, generator.choice(_FLAGS), _PIPELINE_WORDS))
    generator.shuffle(arguments)
    return arguments


def _mistype(generator: random.Random, text: str, words: Sequence[str]) -> str:
    for _ in range(generator.choice((1, 1, 2, 3))):
        at = generator.randrange(len(text) + 1)
        match generator.randrange(4):
            case 0:
                text = text[:at] + generator.choice(words) + text[at:]
            case 1:
                text = text[:at] + text[at + 1 :]
            case 2:
                text = text[:at]
            case _:
                text = text[:at] + text[max(0, at - 5) :]
    return text
