"""From a module to bytes in any format, and to a file that is whole or not there."""

import io
import os
import stat

import pytest

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.formats import portable, reading, table, writing
from hloverlap.pipeline.formats.errors import WriteError
from hloverlap.pipeline.formats.table import EMIT

PAIRS = "source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]>"


@pytest.mark.parametrize("format", table.FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("word", EMIT)
def test_every_format_to_every_other(format, word, in_process, encoded):
    source = reading.read(encoded[format], "x", make_context())
    if word == "export" and format is not table.EXPORT:
        with pytest.raises(WriteError, match=r"^x: only a jax.export artifact can be written as one, and "):
            writing.serialize(source, source.module, EMIT[word])
        return
    before = str(source.module)
    once = writing.serialize(source, source.module, EMIT[word])
    assert str(source.module) == before, "writing leaves the module alone"
    again = reading.read(once, "y", make_context())
    assert again.format is EMIT[word]
    assert PAIRS in str(again.module)
    devices = source.module.operation.attributes
    assert ("mhlo.num_partitions" in again.module.operation.attributes) == ("mhlo.num_partitions" in devices)
    if EMIT[word] is not table.HLO_TEXT:  # whose names XLA numbers anew each time
        assert writing.serialize(again, again.module, None) == once


@pytest.mark.parametrize("format", table.FORMATS, ids=lambda format: format.name)
def test_what_came_in_goes_out(format, in_process, encoded):
    source = reading.read(encoded[format], "x", make_context())
    hlo = format in (table.HLO_TEXT, table.HLO_PROTO)
    assert table.sniff(writing.serialize(source, source.module, None)) is (table.MLIR_TEXT if hlo else format)


def test_text_is_what_print_gives(encoded, capsys):
    source = reading.read(encoded[table.MLIR_TEXT], "x", make_context())
    print(source.module)
    assert writing.serialize(source, source.module, None).decode() == capsys.readouterr().out


def test_locations_and_elision_of_constants():
    text = b"""
      func.func @f() -> tensor<4xi32> {
        %0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32> loc("here")
        return %0 : tensor<4xi32>
      }"""
    source = reading.read(text, "x", make_context())
    plain = writing.serialize(source, source.module, None)
    assert b"here" not in plain
    assert b"[1, 2, 3, 4]" in plain
    assert b'loc("here")' in writing.serialize(source, source.module, None, debuginfo=True)
    assert b"__elided__" in writing.serialize(source, source.module, None, elide_larger_than=3)


def test_hlo_is_what_jax_writes():
    import jax
    import jax.numpy as jnp

    lowered = jax.jit(lambda x: jnp.cos(x) * 2).lower(jnp.ones(4))
    source = reading.read(lowered.as_text(debug_info=True).encode(), "x", make_context())
    assert writing.serialize(source, source.module, table.HLO_TEXT).decode() == lowered.as_text("hlo")


def test_hlo_says_for_how_many_devices_it_is(in_process, encoded):
    source = reading.read(encoded[table.MLIR_TEXT], "x", make_context())
    header = writing.serialize(source, source.module, table.HLO_TEXT).split(b"\n", 1)[0]
    assert header.endswith(b", num_partitions=4")


def test_a_module_that_hlo_cannot_express(capfd):
    source = reading.read(b"func.func private @f()", "x", make_context())
    with pytest.raises(WriteError, match=r"^x: XLA cannot express it as HLO: .*; use --emit=mlir$"):
        writing.serialize(source, source.module, table.HLO_TEXT)
    assert capfd.readouterr() == ("", "")


def test_a_portable_artifact_keeps_its_version(in_process, encoded):
    from jaxlib.mlir.dialects import stablehlo

    context = make_context()
    module = reading.read(encoded[table.MLIR_TEXT], "x", context).module
    data = stablehlo.serialize_portable_artifact(module, stablehlo.get_minimum_version(), True)
    source = reading.read(data, "x", context)
    assert writing.serialize(source, source.module, None) == data


def test_a_new_portable_artifact_is_for_consumers_of_a_month_ago(encoded):
    from jaxlib.mlir.dialects import stablehlo

    source = reading.read(encoded[table.MLIR_TEXT], "x", make_context())
    version = portable.version(writing.serialize(source, source.module, table.PORTABLE))
    month = stablehlo.StablehloCompatibilityRequirement.WEEK_4
    assert version == stablehlo.get_version_from_compatibility_requirement(month)


def test_what_a_portable_artifact_cannot_hold(capfd):
    context = make_context(allow_unregistered=True)
    source = reading.read(b'func.func @main(%a: !foo.bar) { "foo.use"(%a) : (!foo.bar) -> ()\n return }', "x", context)
    with pytest.raises(WriteError, match=r"^x: cannot be written as a portable artifact for StableHLO .*bytecode$"):
        writing.serialize(source, source.module, table.PORTABLE)
    assert capfd.readouterr() == ("", "")


# --- files ---


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").touch()
    writing.write_whole(b"1", str(tmp_path / "new"))
    assert (tmp_path / "new").read_bytes() == b"1"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_keeps_its_permissions_and_a_link_its_place(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"0")
    target.chmod(0o640)
    link.symlink_to("target")
    writing.write_whole(b"1", str(link))
    assert link.is_symlink()
    assert target.read_bytes() == b"1"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link", "target"]


def test_a_link_to_nothing_gets_its_target(tmp_path):
    (tmp_path / "link").symlink_to("target")
    writing.write_whole(b"1", str(tmp_path / "link"))
    assert (tmp_path / "target").read_bytes() == b"1"


def test_devices_and_pipes_are_written_directly(tmp_path):
    writing.write_whole(b"1", os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writing.write_whole(b"1", str(tmp_path / "pipe"))
    assert os.read(reader, 9) == b"1"
    os.close(reader)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failure, step):
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def fail(*_):
        raise failure

    monkeypatch.setattr(os, step, fail)
    expected = KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else WriteError
    with pytest.raises(expected) as caught:
        writing.write_whole(b"new", str(path))
    if expected is WriteError:
        assert str(caught.value) == f"{path}: cannot be written: No space left on device"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_places_where_no_file_can_be(tmp_path):
    for path, message in (
        (tmp_path, "a folder; give the name of a file"),
        (tmp_path / "no" / "out", "cannot be written: there is no such folder; make it first"),
        ("a\0b", "cannot be written: embedded null byte"),
    ):
        with pytest.raises(WriteError) as caught:
            writing.write_whole(b"1", str(path))
        assert str(caught.value) == f"{path}: {message}"


def test_stdout(capfdbinary):
    writing.write_whole(b"ML\xefR", "-")
    assert capfdbinary.readouterr().out == b"ML\xefR"


def test_a_reader_of_stdout_that_goes_away(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(os.fdopen(writer, "wb")))
    with pytest.raises(BrokenPipeError):  # no mistake of the user's: the command ends, and says nothing
        writing.write_whole(b"1", "-")
