"""Every private name of jax and jaxlib that the package uses, asked of the versions that are installed.

With a new version a failure here is the list of what has moved. The lists are complete: the last tests find the names
in the sources, and fail for one that is used and not listed, or listed and not used. See docs/new-jax.md.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import jax
import pytest

from support.private_names import private_attributes, private_names

ROOT = pathlib.Path(__file__).resolve().parents[3]
VERSION = tuple(int(part) for part in jax.__version__.split(".")[:2])

# Name -> the first version that has it, where the older ones are asked for it too.
NAMES: dict[str, tuple[int, int] | None] = {
    "jax._src.compiler.compile_or_get_cached": None,
    "jax._src.compiler.get_compile_options": None,
    "jax._src.core.update_aval_with_sharding": None,
    "jax._src.distributed.global_state.client": None,
    "jax._src.interpreters.mlir.make_ir_context": None,
    "jax._src.interpreters.partial_eval.custom_staging_rules": None,
    "jax._src.interpreters.pxla.global_aval_to_result_handler": None,
    "jax._src.pjit.jit_p": None,
    "jax._src.sharding_impls.GSPMDSharding": None,
    "jax._src.xla_bridge.backends": None,
    "jax._src.xla_bridge.backends_are_initialized": None,
    "jaxlib._hlo.HloInstruction.set_frontend_attribute": (0, 12),
    "jaxlib._hlo.HloModule.from_serialized_hlo_module_proto": None,
    "jaxlib._hlo.HloOpcode.kCollectivePermute": None,
    "jaxlib._hlo.HloPrintOptions.short_parsable": None,
    "jaxlib._hlo.HloSharding.from_proto": None,
    "jaxlib._hlo.HloSharding.v3_to_v2_sharding": None,
    "jaxlib._hlo.hlo_module_from_text": None,
    "jaxlib._jax.DeviceList": None,
    "jaxlib._jax.mlir.hlo_to_stablehlo": None,
    "jaxlib._jax.mlir.mlir_module_to_xla_computation": None,
    "jaxlib.mlir._mlir_libs._jax_mlir_ext.register_dialects": None,
    "jaxlib.mlir._mlir_libs._mlirHlo.register_mhlo_dialect": None,
}

# What is used of objects that the names above give, under names that do not look private, so that no scan finds them.
MEMBERS: dict[str, tuple[int, int] | None] = {
    "jaxlib._hlo.HloComputation.instructions": None,
    "jaxlib._hlo.HloInstruction.get_frontend_attribute": (0, 12),  # by tests
    "jaxlib._hlo.HloInstruction.opcode": None,
    "jaxlib._hlo.HloModule.as_serialized_hlo_module_proto": None,
    "jaxlib._hlo.HloModule.computations": None,
    "jaxlib._hlo.HloModule.name": None,
    "jaxlib._hlo.HloModule.spmd_output_sharding": None,
    "jaxlib._hlo.HloModule.spmd_parameters_shardings": None,
    "jaxlib._hlo.HloModule.to_string": None,
    "jaxlib._hlo.HloPrintOptions.print_metadata": None,
    "jaxlib._jax.Client.compile": None,
    "jaxlib._jax.Client.compile_and_load": None,
    "jaxlib._jax.Client.live_executables": None,
    "jaxlib._jax.CompileOptions.env_option_overrides": None,
    "jaxlib._jax.CompileOptions.executable_build_options": None,
    "jaxlib._jax.DistributedRuntimeClient.blocking_key_value_get": None,
    "jaxlib._jax.DistributedRuntimeClient.key_value_set": None,
    "jaxlib._hlo.HloSharding.is_manual": None,
    "jaxlib._hlo.HloSharding.is_maximal": None,
    "jaxlib._hlo.HloSharding.is_replicated": None,
    "jaxlib._hlo.HloSharding.is_unknown": None,
    "jaxlib._hlo.HloSharding.is_unreduced": None,
    "jaxlib._hlo.HloSharding.replicate_on_last_tile_dim": None,
    "jaxlib._hlo.HloSharding.subgroup_types": None,
    "jaxlib._hlo.HloSharding.tile_assignment_devices": None,
    "jaxlib._hlo.HloSharding.tile_assignment_dimensions": None,
    "jaxlib._hlo.HloSharding.tuple_elements": None,
    "jaxlib._jax.ExecutableBuildOptions.allow_spmd_sharding_propagation_to_output": None,
    "jaxlib._jax.ExecutableBuildOptions.allow_spmd_sharding_propagation_to_parameters": None,
    "jaxlib._jax.ExecutableBuildOptions.use_shardy_partitioner": None,
    "jaxlib._jax.LoadedExecutable.get_parameter_shardings": None,
    "jaxlib._jax.LoadedExecutable.hlo_modules": None,
    "jaxlib._jax.LoadedExecutable.local_devices": None,
    "jaxlib._hlo.XlaComputation.as_hlo_module": None,
}

# Attribute -> an object that has it.
ATTRIBUTES: dict[str, str] = {
    "_arrays": "array",
    "_compiler_options_kvs": "lowering",
    "_device_list": "lowering",
    "_executable": "lowering",
    "_hlo": "lowering",
    "_lowering": "lowered",
}

WITH_PRIVATE_NAMES = ("pipeline/jax_internals/", "passes/mlir/")


@functools.cache
def objects() -> dict[str, Any]:
    """One of each kind of object whose attributes are used."""
    lowered = jax.jit(lambda x: x + 1).lower(1)
    return {"array": jax.numpy.ones(3), "lowered": lowered, "lowering": lowered._lowering}


def found(name: str) -> bool:
    """Whether a dotted name leads somewhere: through modules first, then through attributes."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("name", [*NAMES, *MEMBERS])
def test_the_name_is_where_it_was(name: str) -> None:
    since = (NAMES | MEMBERS)[name]
    here = f"in jax {jax.__version__}"
    if since is not None and since > VERSION:
        assert not found(name), f"{name} is there {here} already: correct the version in this list"
    else:
        assert found(name), f"{name} is not there {here}"


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_the_attribute_is_where_it_was(name: str) -> None:
    owner = objects()[ATTRIBUTES[name]]
    assert hasattr(owner, name), f"{type(owner).__name__}.{name} is not there in jax {jax.__version__}"


def sources() -> Iterator[tuple[str, str]]:
    """Each source of the package: its path from the root, and its text."""
    for folder in ("passes", "pipeline", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_the_list_of_names_is_that_of_the_sources() -> None:
    assert set().union(*(private_names(text) for _, text in sources())) == NAMES.keys()


def test_the_list_of_attributes_is_that_of_the_sources() -> None:
    assert set().union(*(private_attributes(text) for _, text in sources())) == ATTRIBUTES.keys()


def test_private_names_are_used_in_their_rooms_alone() -> None:
    users = [path for path, text in sources() if private_names(text) | private_attributes(text)]
    assert users
    assert [path for path in users if not path.startswith(WITH_PRIVATE_NAMES)] == []


SOURCE = """
import jax, jaxlib._hlo
import jax._src.core as core
from jax._src import compiler, pjit
from jax.experimental import _private
from jaxlib.mlir import ir, _mlir_libs

def f(lowered, array):
    from jax._src.lib import xla_client
    core.Tracer.aval
    hasattr(compiler.thing, "inner")
    jax._src.api.jit
    jaxlib._hlo.HloModule
    ir.Module.__name__
    return array._arrays, lowered._lowering._hlo

class C:
    _mine: int

    def __init__(self):
        self._own = self._mine
        other._own, other._theirs, self._inherited
"""


def test_the_scan_sees_every_way_to_name_something() -> None:
    assert private_names(SOURCE) == {
        "jax._src.api.jit",
        "jax._src.compiler.thing.inner",
        "jax._src.core.Tracer.aval",
        "jax._src.lib.xla_client",
        "jax._src.pjit",
        "jax.experimental._private",
        "jaxlib._hlo.HloModule",
        "jaxlib.mlir._mlir_libs",
    }
    assert private_attributes(SOURCE) == {"_arrays", "_hlo", "_inherited", "_lowering", "_theirs"}


def test_a_name_that_is_gone_is_told() -> None:
    assert found("jax._src.compiler.compile_or_get_cached")
    assert not found("jax._src.compiler.compile_or_get_cashed")
    assert not found("jax._src.no_such_module.name")


def test_the_page_on_new_versions_names_what_is_there() -> None:
    page = (ROOT / "docs" / "new-jax.md").read_text(encoding="utf-8")
    named = [text for text in re.findall(r"`([\w./-]+)`", page) if "/" in text]
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert {path.name for path in (ROOT / "pipeline" / "jax_internals").glob("[a-z]*.py")} <= {
        pathlib.PurePath(path).name for path in named
    }
