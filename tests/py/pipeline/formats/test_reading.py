"""From bytes to a module, or to one line that says why not."""

import contextlib
import io
import random

import jaxlib.version
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.formats import conversion, export_artifact, nesting, reading, table
from hloverlap.pipeline.formats.errors import ReadError

UNREGISTERED = 'module {\n  "foo.bar"() : () -> ()\n}'

ASYNC_PERMUTES = """\
HloModule m, is_scheduled=true
ENTRY %main (p: f32[4], q: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %q = f32[4]{0} parameter(1)
  %s = ((f32[4]{0}, f32[4]{0}), (f32[4]{0}, f32[4]{0})) collective-permute-start(%p, %q), channel_id=1, \
source_target_pairs={{0,1},{1,0}}
  %d = (f32[4]{0}, f32[4]{0}) collective-permute-done(%s)
  ROOT %g = f32[4]{0} get-tuple-element(%d), index=0
}"""
PERMUTES_OF_TWO = """\
HloModule m
ENTRY %main (p: f32[4], q: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %q = f32[4]{0} parameter(1)
  %d = (f32[4]{0}, f32[4]{0}) collective-permute(%p, %q), channel_id=1, source_target_pairs={{0,1},{1,0}}
  ROOT %g = f32[4]{0} get-tuple-element(%d), index=0
}"""
FUSION = """\
HloModule m
f { a = f32[4] parameter(0)
  ROOT b = f32[4] add(a, a) }
ENTRY main { p = f32[4] parameter(0)
  ROOT r = f32[4] fusion(p), kind=kLoop, calls=f }"""

BITCAST = """\
HloModule m
ENTRY main {
  p = f32[4] parameter(0)
  ROOT r = f32[2,2] bitcast(p)
}"""
# What XLA's conversion leaves in MHLO: copies, as the partitioner makes them, erf and the largest elements.
PARTITIONED = """\
HloModule m, num_partitions=4
body { state = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[4] get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  sent = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  ROOT out = (s32[], f32[4]) tuple(next, sent) }
until { state = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  most = s32[] constant(3)
  ROOT less = pred[] compare(i, most), direction=LT }
ENTRY main { p = f32[4] parameter(0)
  plain = f32[4] copy(p)
  sharded = f32[4] copy(plain), sharding={replicated}
  marked = f32[4] copy(sharded), frontend_attributes={mine="yes"}
  error = f32[4] erf(marked), frontend_attributes={his="too"}
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, error)
  loop = (s32[], f32[4]) while(start), condition=until, body=body
  y = f32[4] get-tuple-element(loop), index=1
  largest = (f32[2], s32[2]) topk(y), k=2, largest=true
  ROOT r = f32[2] get-tuple-element(largest), index=0 }
"""


PERMUTES_OF_COPIES = """\
module {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = mhlo.copy %arg0 : tensor<4xf32>
    %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> \
: (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
"""


def hlo_proto(text: str) -> bytes:
    from jaxlib import _hlo

    return _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()


def refusal(data: bytes) -> str:
    with pytest.raises(ReadError) as caught:
        reading.read(data, "x", make_context())
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("format", table.FORMATS, ids=lambda format: format.name)
def test_every_format_gives_the_permute(format, encoded):
    source = reading.read(encoded[format], "x", make_context())
    assert source.format is format
    assert source.original == encoded[format]
    text = str(source.module)
    assert "dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>" in text
    if format is not table.HLO_PROTO:  # jax's proto does not say for how many devices it is
        assert "mhlo.num_partitions = 4 : i32" in text
    if format is not table.EXPORT:
        assert '_xla_stream_annotation = "3"' in text


@pytest.mark.parametrize("format", [table.HLO_TEXT, table.HLO_PROTO])
def test_hlo_says_for_how_many_devices_it_is(format, in_process, encoded):
    data = encoded[format]
    if format is table.HLO_TEXT:
        data = data.replace(b", num_partitions=4\n", b", replica_count=2, num_partitions=4\n", 1)
    else:
        computations = b"".join(bytes((3 << 3 | 2, 4, 1 << 3 | 2, 2, i, i + 4)) for i in range(4))
        assignment = bytes((1 << 3, 2, 2 << 3, 4)) + computations  # 2 replicas of 4 computations, each on 2 devices
        data += bytes((15 << 3 | 2, len(assignment))) + assignment
    attributes = reading.read(data, "x", make_context()).module.operation.attributes
    assert str(attributes["mhlo.num_partitions"]) == "4 : i32"
    assert str(attributes["mhlo.num_replicas"]) == "2 : i32"


def test_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"module @m {}")))
    source = reading.read_path("-", make_context())
    assert (source.name, str(source.module)) == ("<stdin>", "module @m {\n}\n")


def test_signature_of_main(encoded):
    assert reading.read(encoded[table.MLIR_TEXT], "x", make_context()).signature == "(tensor<16xf32>) -> tensor<16xf32>"


def test_files_that_are_none(tmp_path):
    for path, message in (
        (tmp_path, "a folder; give one of the files in it"),
        (tmp_path / "no", "cannot be read: No such file or directory"),
        ("a\0b", "cannot be read: embedded null byte"),
    ):
        with pytest.raises(ReadError) as caught:
            reading.read_path(str(path), make_context())
        assert str(caught.value) == f"{path}: {message}"


TWO_FROM_ONE = """module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}>
      : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""
IN_MLIR, IN_HLO = "looks like MLIR text, but ", "looks like HLO text, but "
OPTIMIZED = "HLO text that XLA has already optimized, which StableHLO cannot express: "


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "x", "empty; was the program that should have written it stopped?"),
        ("\n \n", "x", "empty; was the program that should have written it stopped?"),
        ("hello", "x", "looks like text, but neither MLIR nor HLO; give MLIR text or bytecode"),
        ("module {\n  func.func @f() { return %x : i32 }\n}", "x:2:27", f"{IN_MLIR}does not parse: use of undeclared"),
        ("module {\n", "x:1:9", f"{IN_MLIR}does not parse: expected operation name in quotes; the text ends there"),
        (TWO_FROM_ONE, "x:3:10", f"{IN_MLIR}does not parse: duplicate sources not allowed; correct it"),
        (UNREGISTERED, "x:2:12", f"{IN_MLIR}with an op of a dialect that is not registered; pass --allow-unregistered"),
        ("module {\n  foo.bar\n}", "x:2:3", f"{IN_MLIR}with an op 'foo.bar' of the unknown dialect 'foo'; write it in"),
        ("module {" * 5000 + "}" * 5000, "x", f"{IN_MLIR}nests more than {nesting.DEEPEST} levels deep"),
        (
            "HloModule m\n\nENTRY e {\n ROOT x = f32[4] foo(y)\n}",
            "x:4:18",
            f"{IN_HLO}XLA cannot parse it: expects opcode",
        ),
        (ASYNC_PERMUTES, "x", f"{OPTIMIZED}line 5, %s = ((f32[4]{{0}}, f32[4]{{0}}), (f32[4]{{0}}, f32[4]{{0}})) coll"),
        (
            PERMUTES_OF_TWO,
            "x",
            f"{OPTIMIZED}line 5, %d = (f32[4]{{0}}, f32[4]{{0}}) collective-permute(%p, %q), channel",
        ),
        (
            FUSION,
            "x",
            f"{OPTIMIZED}line 5, ROOT r = f32[4] fusion(p), kind=kLoop, calls=f }}; take an earlier",
        ),
        (
            BITCAST,
            "x",
            f"{OPTIMIZED}line 4, ROOT r = f32[2,2] bitcast(p); take an earlier dump: *.before_optimizations",
        ),
    ],
    ids=lambda value: None if len(value) < 40 else "",
)
def test_text_that_is_refused(text, place, message):
    assert refusal(text.encode()).startswith(f"{place}: {message}")


@pytest.mark.parametrize("encode", [str.encode, lambda text: hlo_proto(text)], ids=["text", "proto"])
def test_hlo_after_partitioning_is_read(in_process, encode):
    """Its copies, erf and topk are StableHLO's and CHLO's; who annotated a copy keeps it."""
    module = reading.read(encode(PARTITIONED), "x", make_context()).module
    text = str(module)
    assert '%0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{replicated}"}' in text
    assert '%1 = mhlo.copy %0 {mhlo.frontend_attributes = {mine = "yes"}}' in text
    assert '%2 = chlo.erf %1 {mhlo.frontend_attributes = {his = "too"}} : tensor<4xf32>' in text
    assert "chlo.top_k(" in text
    assert text.count("mhlo.copy") == 1


def test_hlo_brings_only_the_functions_that_run(in_process):
    """XLA's importer makes a function of every loop's body as well."""
    text = str(reading.read(PARTITIONED.encode(), "x", make_context()).module)
    assert text.count("func.func") == 1
    assert text.count("stablehlo.collective_permute") == 1


def test_mlir_text_with_what_the_converters_leave_is_read():
    """``str(module)`` of what XLA's conversion gives; a module is not changed by being read."""
    text = PERMUTES_OF_COPIES
    assert str(reading.read(text.encode(), "x", make_context()).module) == text


def test_tuple_elements_of_newer_hlo():
    newer = PARTITIONED.replace("ROOT less = pred[] compare(i, most)", "ROOT less = pred[] compare(%state#0, most)")
    if jaxlib.version.__version_info__ >= (0, 12):
        assert "stablehlo.while" in str(reading.read(newer.encode(), "x", make_context()).module)
    else:
        assert refusal(newer.encode()).startswith(
            "x:12: looks like HLO text, but it names elements of tuples as newer versions of XLA do and jaxlib 0.10"
        )


@pytest.mark.parametrize("start", [b"module @m {}\n// ", b"HloModule m\n// "])
def test_text_that_is_not_utf8(start):
    assert "x:2: looks like" in refusal(start + b"\xff")
    assert "is not UTF-8" in refusal(start + b"\xff")


@pytest.mark.parametrize(
    "format", [format for format in table.FORMATS if format is not table.MLIR_TEXT], ids=lambda format: format.name
)
def test_a_file_that_is_cut_off(format, encoded):
    data = encoded[format]
    assert refusal(data[: len(data) * 2 // 3]).startswith("x:")


def test_mlir_text_that_is_cut_off(encoded):
    data = encoded[table.MLIR_TEXT]
    for size in range(1, len(data) - 3, 21):
        assert refusal(data[:size]).startswith("x:")


def test_damaged_frames_never_reach_a_library(monkeypatch, encoded):
    """What is around the module is checked here; what is inside goes to a process that may end as it likes."""
    monkeypatch.setattr(conversion, "convert", lambda conversion, data, allow: encoded[table.MLIR_BYTECODE])
    numbers, context = random.Random(0), make_context()
    for format in (table.EXPORT, table.HLO_PROTO, table.PORTABLE):
        for _ in range(300):
            data = bytearray(encoded[format])
            data[numbers.randrange(min(len(data), 400))] ^= 1 << numbers.randrange(8)
            end = numbers.choice((len(data), numbers.randrange(len(data))))
            with contextlib.suppress(ReadError):
                reading.read(bytes(data[:end]), "x", context)


def test_bytecode_that_aborts_the_parser(monkeypatch):
    """MLIR's bindings end the process when a message about the input is not UTF-8."""
    context = make_context(allow_unregistered=True)
    image = io.BytesIO()
    ir.Module.parse(UNREGISTERED, context).operation.write_bytecode(image)
    message = refusal(image.getvalue().replace(b"foo", b"f\xffo"))
    assert message.startswith("x: looks like MLIR bytecode by MLIR")
    assert "the reader crashed: SIGABRT" in message


def test_input_that_keeps_the_parser_busy_for_ever(monkeypatch, encoded):
    monkeypatch.setattr(conversion, "TIME_LIMIT", 0.01)
    monkeypatch.setattr(conversion, "SECONDS_PER_BYTE", 0.0)
    assert "cannot be read: no end within 0.01" in refusal(encoded[table.MLIR_BYTECODE])


def test_unregistered_dialects_in_bytecode():
    image = io.BytesIO()
    ir.Module.parse(UNREGISTERED, make_context(allow_unregistered=True)).operation.write_bytecode(image)
    assert "pass --allow-unregistered-dialect" in refusal(image.getvalue())
    source = reading.read(image.getvalue(), "x", make_context(allow_unregistered=True))
    assert "foo.bar" in str(source.module)


@pytest.mark.parametrize(("version", "age"), [("99.0.0", "too new"), ("0.1.0", "too old")])
@pytest.mark.parametrize("format", [table.PORTABLE, table.EXPORT], ids=lambda format: format.name)
def test_versions_of_stablehlo_that_are_not_ours(version, age, format, encoded):
    """Some newer artifacts hold nothing new and are read; this one has lost its end."""
    data = encoded[format]
    module = export_artifact.module_of(data) if format is table.EXPORT else data
    start, _, rest = module.partition(b"\0")
    other = start[: start.rindex(b"_v")] + b"_v" + version.encode() + b"\0" + rest[: len(rest) // 2]
    if format is table.EXPORT:
        other = export_artifact.with_module(data, other)
    assert f"for StableHLO {version}, which is {age}: jaxlib " in refusal(other)


def test_mlir_prints_nothing_itself(capfd, encoded):
    for data in (b"module {", encoded[table.PORTABLE][:-20]):
        refusal(data)
    assert capfd.readouterr() == ("", "")


def test_nesting_counts_no_brackets_in_strings_or_comments():
    assert not nesting.too_deep(b'"a"() {b = "((("} : () -> ()\n' * 1000)
    assert not nesting.too_deep(b"// (((\n" * 1000)
    assert not nesting.too_deep(b"module { " + b"func.func private @f(tensor<4xf32>) -> tensor<4xf32>\n" * 1000 + b"}")
    assert nesting.too_deep(b"[" * (nesting.DEEPEST + 1))


def test_what_mlir_writes_and_cannot_read_again_is_damaged(encoded, monkeypatch):
    monkeypatch.setattr(conversion, "convert", lambda *given: b"ML\xefR\x0dMLIR\0\xff")
    with pytest.raises(ReadError, match=r"^x: looks like MLIR bytecode .*cannot be read: .*write it again"):
        reading.read(encoded[table.MLIR_BYTECODE], "x", make_context())
