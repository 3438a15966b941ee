"""The door: what `import hloverlap` gives, when, and what it costs."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

import hloverlap
from hloverlap import pipeline

PROMISED = [
    "audit",
    "check",
    "clear_records",
    "compile",
    "device_put",
    "enabled",
    "install",
    "jit",
    "records",
    "run",
    "uninstall",
]
TYPES = ["Context", "HloverlapError", "Pass", "Remark", "Result", "Target", "Topology", "option"]
SHARED = ["topology", "target", "verify_each"]


def test_what_is_promised_is_there() -> None:
    assert {*PROMISED, *TYPES} <= set(dir(hloverlap))


def test_every_name_is_the_one_of_its_home() -> None:
    for name in dir(hloverlap):
        found = getattr(hloverlap, name)
        assert getattr(importlib.import_module(found.__module__), name) is found


def test_every_public_thing_has_a_docstring() -> None:
    assert [name for name in dir(hloverlap) if not inspect.getdoc(getattr(hloverlap, name))] == []


def test_star_gives_all_of_it() -> None:
    given: dict[str, object] = {}
    exec("from hloverlap import *", given)
    assert set(dir(hloverlap)) <= set(given)


def test_pipeline_gives_the_same() -> None:
    for name in dir(hloverlap):
        if name != "audit":
            assert getattr(pipeline, name) is getattr(hloverlap, name)
    assert inspect.ismodule(importlib.import_module("hloverlap.pipeline.audit"))
    given: dict[str, object] = {}
    exec("from hloverlap.pipeline import audit", given)
    assert inspect.ismodule(given["audit"])


@pytest.mark.parametrize("module", [hloverlap, pipeline])
def test_a_name_that_is_not_there_is_an_attribute_error(module: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_importing_loads_neither_jax_nor_jaxlib() -> None:
    code = "import sys, hloverlap; dir(hloverlap); print({'jax', 'jaxlib', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_module_can_be_run_without_jax() -> None:
    code = "import sys, hloverlap; hloverlap.run('module {}'); print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_the_stub_is_a_list_of_imports_in_order() -> None:
    stub = pathlib.Path(hloverlap.__file__).with_suffix(".pyi")
    lines = [line for line in stub.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert all(line.startswith("from hloverlap.") for line in lines)


def test_audit_and_check_take_what_they_can_of_them() -> None:
    audit, check = (inspect.signature(each).parameters for each in (hloverlap.audit, hloverlap.check))
    assert list(audit)[:5] == ["program", "pipeline", *SHARED]
    assert list(check)[:3] == ["before", "after", "topology"]


@pytest.mark.parametrize("name", ["run", "compile", "jit", "enabled", "install"])
def test_the_same_keywords_in_the_same_order(name: str) -> None:
    parameters = inspect.signature(getattr(hloverlap, name)).parameters
    keywords = [each for each, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    assert keywords[:3] == SHARED
    assert parameters["pipeline"].default == "overlap"
    assert [parameters[each].default for each in SHARED] == [None, None, True]
    assert [each for each in parameters if each not in keywords and each != "options"][-1] == "pipeline"


def test_what_is_raised_has_one_base() -> None:
    raised = [getattr(hloverlap, name) for name in dir(hloverlap) if name.endswith("Error")]
    assert len(raised) > 8
    assert all(issubclass(each, hloverlap.HloverlapError) for each in raised)


@pytest.mark.parametrize("topology", ["nonsense", "2x8", hloverlap.Topology((0, 1))])
def test_a_topology_that_cannot_be_used_raises_one_type(topology: hloverlap.Topology | str) -> None:
    with pytest.raises(hloverlap.TopologyError):
        hloverlap.run("module attributes {mhlo.num_partitions = 8 : i32} {}", topology=topology)


def test_a_target_that_is_not_there_raises_one_type() -> None:
    for call in (lambda: hloverlap.run("module {}", target="h900"), lambda: hloverlap.jit(lambda x: x, target="h900")):
        with pytest.raises(hloverlap.TargetError, match="h900"):
            call()
