"""The permutes of automatic sharding, which are in no StableHLO: on streams for an H200 that need not be here."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest
from jax._src import cache_key, compiler
from jaxlib.mlir import ir

from hloverlap import pipeline
from hloverlap.passes.assign_collective_streams import AssignCollectiveStreams
from hloverlap.pipeline.jax_internals import hlo, lowerings
from hloverlap.pipeline.jax_jit import partitioner
from hloverlap.pipeline.jax_jit.config import Configs, JitConfig

OVERLAP_LIMIT = "xla_gpu_experimental_parallel_collective_overlap_limit"
SCRIPT = pathlib.Path(__file__).with_name("gpu_rolls.py")
newer = pytest.mark.skipif(not hlo.can_annotate(), reason="this jaxlib cannot annotate HLO; see the older test")
older = pytest.mark.skipif(hlo.can_annotate(), reason="this jaxlib can annotate HLO; see the newer tests")

# What XLA passes on after partitioning: rolls both ways in a loop, which a called function does once more.
HLO = """
HloModule jit_rolls, num_partitions=4, frontend_attributes={hloverlap_partitioner_permutes="MARK"}

shift {
  x = f32[8] parameter(0)
  ROOT moved = f32[8] collective-permute(x), channel_id=4, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
}

body {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(state), index=1
  up = f32[8] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  down = f32[8] collective-permute(x), channel_id=2, source_target_pairs={{1,0},{2,1},{3,2},{0,3}}
  y = f32[8] add(up, down)
  ROOT out = (s32[], f32[8]) tuple(next, y)
}

condition {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(4)
  ROOT less = pred[] compare(i, n), direction=LT
}

ENTRY main {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[8]) tuple(zero, x)
  end = (s32[], f32[8]) while(start), condition=condition, body=body
  y = f32[8] get-tuple-element(end), index=1
  ROOT z = f32[8] call(y), to_apply=shift
}
"""


def compiled_for_gpu(folder: pathlib.Path, *asked: str) -> dict[str, dict[str, Any]]:
    """Gives program -> what the script prints about it."""
    if importlib.util.find_spec("jax_plugins") is None or importlib.util.find_spec("jax_plugins.xla_cuda13") is None:
        pytest.skip("the gpu extra is not installed")
    dump, cache = folder / "-".join(["dump", *asked]), folder / "cache"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "JAX_"))}
    environment |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_dump_to={dump} --xla_dump_hlo_as_text"}
    command = [sys.executable, str(SCRIPT), str(dump), str(cache), *asked]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(zip(("rolls", "halo", "train_step"), map(json.loads, ran.stdout.splitlines()), strict=True))


@newer
def test_permutes_of_automatic_sharding_are_on_streams_of_their_own(tmp_path: pathlib.Path) -> None:
    plain = compiled_for_gpu(tmp_path)
    placed = compiled_for_gpu(tmp_path, "partitioner-permutes")
    for name, permutes in {"rolls": 2, "halo": 2, "train_step": 12}.items():
        assert set(plain[name]["streams"]) == {"0"}
        assert {"4", "5"} <= set(placed[name]["streams"])
        assert placed[name]["outcome"] == "rewritten"
        assert placed[name]["options"][OVERLAP_LIMIT] >= 2
        assert placed[name]["partitioner"]["statistics"]["num-annotated"] == permutes
        assert {remark["code"] for remark in placed[name]["partitioner"]["remarks"]} == {"ACS001"}
        assert placed[name]["cached"] == plain[name]["cached"] + 1  # not the executable of the other setting


@older
def test_an_older_jaxlib_says_that_it_cannot(tmp_path: pathlib.Path) -> None:
    for told in compiled_for_gpu(tmp_path, "partitioner-permutes").values():
        assert told["partitioner"]["message"] == partitioner.TOO_OLD
        assert told["outcome"] == "unchanged"
        assert told["options"] == {}
        assert set(told["streams"]) == {"0"}


def test_a_cpu_has_no_streams() -> None:
    with pipeline.enabled(partitioner_permutes=True) as compiled:
        jax.jit(lambda x: jax.numpy.roll(x, 1))(sharded())
    (entry,) = [entry for entry in compiled if entry.function == "_lambda"]
    assert entry.partitioner == pipeline.PartitionerPermutes(partitioner.NOT_FOR_CPU)


def sharded() -> jax.Array:
    """An array in eight parts."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    return jax.device_put(np.ones(16, np.float32), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x")))


def test_the_wish_is_part_of_the_persistent_caches_key() -> None:
    module = lowerings.module_of(jax.jit(lambda x: x * 2).lower(sharded()))
    devices = np.array(jax.devices())
    options = compiler.get_compile_options(1, 8)

    def key(mark: str) -> str:
        copy = ir.Module.parse(str(module), module.context)
        if mark:
            partitioner.leave_mark(copy, mark)
        return cache_key.get(copy, devices, options, devices[0].client)

    assert len({key(""), key("one"), key("another")}) == 3


def transformed(config: JitConfig, text: str = HLO) -> tuple[Any, pipeline.PartitionerPermutes]:
    """The HLO module (None if it is left alone) and the answer, of what XLA would hand to us."""
    from jaxlib import _hlo

    configs = Configs()
    token = configs.token(config)
    callback = partitioner.PartitionerCallback(configs)
    mark = partitioner.make_mark(token, str(hash(text)))
    proto = _hlo.hlo_module_from_text(text.replace("MARK", mark)).as_serialized_hlo_module_proto()
    changed = callback.transform(proto)
    return (None if changed is None else hlo.from_proto(changed)), callback.answer(mark)


def streams(module: Any) -> dict[str, str]:
    """Gives permute -> its stream, "" for none."""
    return {
        permute.name: permute.get_frontend_attribute("_xla_stream_annotation") or "" for permute in hlo.permutes(module)
    }


@newer
def test_the_rules_are_those_of_the_pass() -> None:
    module, told = transformed(JitConfig("overlap", partitioner_permutes=True))
    assert streams(module) == {"moved": "", "up": "4", "down": "5"}
    assert told.annotated == 2
    assert [remark.code for remark in told.remarks] == ["ACS001", "ACS001", "ACS002"]


@newer
def test_the_options_are_those_of_the_pass_in_the_pipeline() -> None:
    module, _ = transformed(JitConfig("assign-collective-streams{first-stream=7}"))
    assert streams(module) == {"moved": "", "up": "7", "down": "8"}
    module, _ = transformed(JitConfig((AssignCollectiveStreams(first_stream=5),)))
    assert streams(module) == {"moved": "", "up": "5", "down": "6"}


@newer
def test_a_stream_of_the_user_stays() -> None:
    text = HLO.replace("{3,0}}\n  down", '{3,0}}, frontend_attributes={_xla_stream_annotation="3"}\n  down')
    module, told = transformed(JitConfig("overlap"), text)
    assert streams(module)["up"] == "3"
    assert streams(module)["down"] == "4"
    assert "ACS004" in {remark.code for remark in told.remarks}


@newer
def test_what_was_annotated_in_stablehlo_is_placed_again() -> None:
    own = '{3,0}}, frontend_attributes={_xla_stream_annotation="9",combiner_key="hloverlap.0"}\n  down'
    module, _ = transformed(JitConfig("overlap"), HLO.replace("{3,0}}\n  down", own))
    assert streams(module) == {"moved": "", "up": "4", "down": "5"}


@newer
def test_a_module_without_the_mark_or_without_permutes_is_left_alone() -> None:
    unmarked = HLO.replace(', frontend_attributes={hloverlap_partitioner_permutes="MARK"}', "")
    assert transformed(JitConfig("overlap"), unmarked)[0] is None
    header = 'HloModule m, frontend_attributes={hloverlap_partitioner_permutes="MARK"}'
    alone = f"{header}\nENTRY e {{ ROOT x = f32[] parameter(0) }}"
    module, told = transformed(JitConfig("overlap"), alone)
    assert module is None
    assert told.message == "There are no permutes after partitioning."


def test_an_error_in_the_callback_never_reaches_xla() -> None:
    from jaxlib import _hlo

    callback = partitioner.PartitionerCallback(Configs())
    mark = "no-such-token.0"
    proto = _hlo.hlo_module_from_text(HLO.replace("MARK", mark)).as_serialized_hlo_module_proto()
    assert callback.transform(proto) is None
    assert "KeyError" in callback.answer(mark).message
    assert callback.transform(b"hloverlap_partitioner_permutes, but no module") is None
