"""What a file is, told from its bytes."""

import gzip
import json
import pickle
import random
import zlib

import pytest

from hloverlap.pipeline.formats import kinds as formats
from hloverlap.pipeline.formats import protobuf
from hloverlap.pipeline.formats.kinds import Format


def wrapped(*parts: tuple[int, bytes]) -> bytes:
    """A protobuf message of fields that hold bytes."""
    message = b""
    for number, content in parts:
        size, length = len(content), b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        message += bytes([number << 3 | 2]) + length + bytes([size]) + content
    return message


@pytest.mark.parametrize("format", Format)
def test_every_format_is_told_by_its_content(format, encoded):
    assert formats.sniff(encoded[format]) is format


@pytest.mark.parametrize("format", Format)
def test_a_file_cut_in_half_is_still_told(format, encoded):
    data = encoded[format]
    assert formats.sniff(data[: len(data) // 2]) is format


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("module {}", Format.MLIR_TEXT),
        ("// RUN: hlo-opt %s\n\nmodule @m {\n}", Format.MLIR_TEXT),
        ("#loc = loc(unknown)\nmodule {} loc(#loc)", Format.MLIR_TEXT),
        ('"func.func"() ({}) : () -> ()', Format.MLIR_TEXT),
        ("func.func private @f()", Format.MLIR_TEXT),
        ("\n\n%0 = stablehlo.constant dense<1> : tensor<i32>", Format.MLIR_TEXT),
        ("// only a comment", Format.MLIR_TEXT),
        ("HloModule m\n", Format.HLO_TEXT),
        ("// from a dump\n/* of\nyesterday */ HloModule m, is_scheduled=true\n", Format.HLO_TEXT),
        ("ENTRY main { ROOT p = f32[] parameter(0) }", Format.HLO_TEXT),
        ("Dear reader,\n", None),
        ("", None),
    ],
)
def test_text(text, format):
    assert formats.sniff(text.encode()) is format


def test_the_wrappers_of_hlo_are_looked_into(encoded):
    module = encoded[Format.HLO_PROTO]
    proto = wrapped((1, module))
    snapshot = wrapped((1, proto), (4, b"cpu"))
    for data in (module, proto, snapshot):
        assert formats.sniff(data) is Format.HLO_PROTO
        assert bytes(protobuf.hlo_module(data)) == module


def test_the_version_of_a_portable_artifact(encoded):
    from jaxlib.mlir.dialects import stablehlo

    assert formats.portable_version(encoded[Format.PORTABLE]) == stablehlo.get_current_version()
    assert formats.portable_version(encoded[Format.MLIR_BYTECODE]) is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(b"module {}", mtime=0), "gzip"),
        (zlib.compress(b"module {}"), "zlib data (as in jax's compilation cache)"),
        (b"PK\x03\x04rest", "a zip archive"),
        (pickle.dumps({"module": 1}), "a Python pickle"),
        (b"\x7fELF\x02\x01", "an ELF binary"),
        (b"\x93NUMPY\x01\x00", "a NumPy array"),
        ("module {}".encode("utf-16"), "UTF-16 text"),
        (b"\xef\xbb\xbfmodule {}", "text with a byte order mark"),
        (json.dumps({"a": 1}).encode(), "JSON"),
        (b"<!doctype html>", "XML or HTML"),
        (b"#!/usr/bin/env python\n", "a script"),
        (b"Dear reader,\n", "text, but neither MLIR nor HLO"),
        (random.Random(0).randbytes(4096), "binary data of no known kind"),
    ],
)
def test_other_kinds_are_named(data, kind):
    assert formats.sniff(data) is None
    assert formats.describe_unknown(data)[0] == kind


def test_random_bytes_are_no_format():
    numbers = random.Random(1)
    assert not any(formats.sniff(numbers.randbytes(numbers.randrange(1, 400))) for _ in range(2000))
