"""`hloverlap.pipeline.run`: a program and a pipeline in, a module and word of what was done out."""

import subprocess
import sys

import pytest
from jaxlib.mlir import ir

import hloverlap.pipeline
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import bytecode
from hloverlap.passes.remark import Remark
from hloverlap.pipeline import PassFailedError, PipelineTextError, ReadError, TopologyError, run


def test_a_module_is_copied_never_changed(two_functions):
    module = ir.Module.parse(two_functions, make_context())
    before = str(module)
    result = run(module, "symbol-dce")
    assert str(module) == before
    assert "@unused" not in str(result.module)
    assert result.module.context is module.context
    assert result.changed


@pytest.mark.parametrize("kind", ["text", "bytecode", "path", "path object"])
def test_programs_come_as_bytes_and_paths(two_functions, tmp_path, kind):
    path = tmp_path / "m.mlir"
    path.write_text(two_functions)
    program = {
        "text": two_functions.encode(),
        "bytecode": bytecode(ir.Module.parse(two_functions, make_context())),
        "path": str(path),
        "path object": path,
    }[kind]
    assert "@unused" not in str(run(program, "symbol-dce").module)


@pytest.mark.parametrize("pipeline", ["", "canonicalize,cse", "inline"])
def test_nothing_to_do_is_no_change(pipeline):
    assert not run(b"module { func.func @f() { return } }", pipeline).changed


def test_a_sample_through_passes_with_nothing_to_do_is_unchanged(samples):
    tidy = run(samples / "ring_matmul.mlir", "canonicalize,cse").module
    assert not run(tidy, "canonicalize,cse").changed


def test_the_result_says_what_was_done(plugins, two_functions, tmp_path):
    result = run(two_functions.encode(), "note{times=2},symbol-dce,note")
    assert result.remarks[0] == Remark("NOTE1", "remark", "seen main", "func.func", "-", 2)
    assert [remark.message for remark in result.remarks] == ["seen main"] * 2 + ["seen unused"] * 2 + ["seen main"]
    assert result.statistics == {"note": {"num-noted": 3}}
    assert result.compile_options == {"xla_gpu_noted": 2}
    assert result.xla_flags == "--xla_gpu_noted=2"


def test_errors(plugins, two_functions, tmp_path):
    program = two_functions.encode()
    with pytest.raises(PipelineTextError, match="unknown pass 'nope'"):
        run(program, "nope")
    with pytest.raises(PassFailedError, match="refuse: the module has no music in it"):
        run(program, "refuse")
    with pytest.raises(PassFailedError, match="<bytes>:1: error: NOTE4: this is wrong"):
        run(program, "complain")
    with pytest.raises(ReadError, match=r"nothing\.mlir"):
        run(tmp_path / "nothing.mlir", "cse")
    with pytest.raises(ReadError, match="<bytes>"):
        run(b"", "cse")
    with pytest.raises(ValueError, match="none of HOSTSxDEVICES"):
        run(program, "cse", topology="many")


COUNTED = "module attributes {{{}}} {{ func.func @main() {{ return }} }}"


@pytest.mark.parametrize(
    ("attributes", "count"),
    [
        ("", None),
        ("mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32", 8),
        ("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32", 8),
        ("mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32", 4),
        ("mhlo.num_partitions = 4 : i32", 4),
        ("mhlo.num_replicas = 2 : i32", 2),
        ("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32", 1),
    ],
)
def test_a_topology_must_have_the_size_of_the_module(attributes, count):
    program = COUNTED.format(attributes).encode()
    for topology in (Topology((0,) * (count or 3)), f"1x{count or 3}"):
        run(program, "cse", topology=topology)
    if count:
        refusal = f"the topology has {count + 1} partitions but the module is for {count}"
        if count == 1:
            refusal = (
                "the topology gives the hosts of 2 devices, but the module runs on one device, so nothing in it goes"
            )
        with pytest.raises(TopologyError, match=refusal):
            run(program, "cse", topology=f"1x{count + 1}")


def test_importing_the_package_is_cheap_and_its_names_are_real():
    code = (
        "import sys, hloverlap.pipeline as p\n"
        "assert 'jaxlib' not in sys.modules\n"
        "assert set(p.__all__) <= set(dir(p))\n"
        "p.run(b'module {}', 'cse')\n"
        "assert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert all(getattr(hloverlap.pipeline, name) for name in hloverlap.pipeline.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        hloverlap.pipeline.nope  # noqa: B018
