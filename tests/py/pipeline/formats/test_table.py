"""What a file is, told from its bytes."""

import gzip
import pickle
import random
import zlib

import pytest

from hloverlap.pipeline.formats import foreign, portable, protobuf, table


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


@pytest.mark.parametrize("format", table.FORMATS, ids=lambda format: format.name)
def test_every_format_is_told_by_its_content(format, encoded):
    assert table.sniff(encoded[format]) is format


@pytest.mark.parametrize("format", table.FORMATS, ids=lambda format: format.name)
def test_a_file_cut_in_half_is_still_told(format, encoded):
    data = encoded[format]
    assert table.sniff(data[: len(data) // 2]) is format


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("module {}", table.MLIR_TEXT),
        ("// RUN: hlo-opt %s\n\nmodule @m {\n}", table.MLIR_TEXT),
        ("#loc = loc(unknown)\nmodule {} loc(#loc)", table.MLIR_TEXT),
        ('"func.func"() ({}) : () -> ()', table.MLIR_TEXT),
        ("func.func private @f()", table.MLIR_TEXT),
        ("\n\n%0 = stablehlo.constant dense<1> : tensor<i32>", table.MLIR_TEXT),
        ("// only a comment", table.MLIR_TEXT),
        ("HloModule m\n", table.HLO_TEXT),
        ("// from a dump\n/* of\nyesterday */ HloModule m, is_scheduled=true\n", table.HLO_TEXT),
        ("ENTRY main { ROOT p = f32[] parameter(0) }", table.HLO_TEXT),
        ("Dear reader,\n", None),
        ("", None),
    ],
)
def test_text(text, format):
    assert table.sniff(text.encode()) is format


def test_the_wrappers_of_hlo_are_looked_into(encoded):
    module = encoded[table.HLO_PROTO]
    proto = wrapped((1, module))
    snapshot = wrapped((1, proto), (4, b"cpu"))
    for data in (module, proto, snapshot):
        assert table.sniff(data) is table.HLO_PROTO
        assert bytes(protobuf.hlo_module(data)) == module


def test_the_version_of_a_portable_artifact(encoded):
    from jaxlib.mlir.dialects import stablehlo

    assert portable.version(encoded[table.PORTABLE]) == stablehlo.get_current_version()
    assert portable.version(encoded[table.MLIR_BYTECODE]) is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(b"module {}", mtime=0), "gzip; decompress it first"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd; decompress it first"),
        (zlib.compress(b"module {}"), "zlib data (as in jax's compilation cache); dump the module"),
        (b"PK\x03\x04rest", "a zip archive, such as an .npz; unpack the module first"),
        (pickle.dumps({"module": 1}), "a Python pickle; give a module, such as what jax.export"),
        ("module {}".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
        (b"\xef\xbb\xbfmodule {}", "text with a byte order mark; save it as UTF-8 without"),
        (b"#!/usr/bin/env python\n", "a script; give the module that the script lowers"),
        (b"<!doctype html>", "text, but neither MLIR nor HLO; give MLIR text"),
        (b"Dear reader,\n", "text, but neither MLIR nor HLO; give MLIR text"),
        (b"\x7fELF\x02\x01", "binary data of no known kind; give MLIR text"),
        (random.Random(0).randbytes(4096), "binary data of no known kind; give MLIR text"),
    ],
    ids=lambda value: value.partition(";")[0] if isinstance(value, str) else "",
)
def test_other_kinds_are_named(data, kind):
    assert table.sniff(data) is None
    assert str(foreign.explain(data, "x")).startswith(f"x: looks like {kind}")


@pytest.mark.parametrize("format", table.FORMATS, ids=lambda format: format.name)
def test_the_order_of_the_table_decides_nothing(format, encoded):
    """What is one format is no other, so that each can say alone what it is."""
    assert [found for found in table.FORMATS if found.sniff(encoded[format])] == [format]


def test_random_bytes_are_no_format():
    numbers = random.Random(1)
    assert not any(table.sniff(numbers.randbytes(numbers.randrange(1, 400))) for _ in range(2000))
