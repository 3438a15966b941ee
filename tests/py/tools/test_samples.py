"""The sample programs compute what they claim, and the modules that ship with them are what they lower to."""

import collections
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import PERMUTE, pairs_of
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir import dialects
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.jax_internals import executables
from hloverlap.tools.samples import SAMPLES, Sample, module_path, sample

NAMES = [entry.name for entry in SAMPLES]
FOLDER = module_path("ring_matmul").parent
TRAINING = FOLDER / "training"

# How many permutes each module shows. A permute in a loop's body counts once.
PERMUTES = {
    "ring_matmul": 2,
    "ring_matmul_unrolled": 2 * 3,
    "ring_attention": 2,
    "ring_attention_grad": 2 + 2,
    "halo_exchange": 8,
    "gpipe": 1 + 1,
    "moe_shifts": 4 * 3,
    "pmap_ring": 2 * 7,
    "small_transfers": 16,
    "rolls": 0,
    "sharded_convolution": 0,
    "tensor_parallel_mlp": 0,
    "tensor_parallel_block": 0,
    "fsdp_step": 0,
    "expert_layer": 0,
    "replica_ring": 2,
}


def run(*arguments: str, devices: int = 8, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Python with these arguments and so many virtual CPU devices."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONHASHSEED": hash_seed}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=300)


def permutes(text: str) -> collections.Counter[tuple[str, str, bool]]:
    """How often each (pairs, type, has a channel) occurs among a module's collective permutes."""
    module = ir.Module.parse(text, dialects.make_context())
    return collections.Counter(
        (str(list(map(list, pairs_of(op)))), str(op.results[0].type), "channel_handle" in op.attributes)
        for op in ops_in(module.operation, PERMUTE)
    )


def assert_close(got: object, want: object, tolerance: float) -> None:
    """Same tree and shapes, floats within the tolerance, everything else equal."""

    def compare(a: jax.Array, b: np.ndarray) -> None:
        assert a.shape == np.shape(b)
        if jnp.issubdtype(a.dtype, jnp.floating):
            np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), tolerance, tolerance)
        else:
            np.testing.assert_array_equal(np.asarray(a), b)

    jax.tree.map(compare, got, want)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_computes_what_plain_numpy_computes(name: str) -> None:
    program = sample(name).build()
    inputs = program.inputs(seed=1)
    got = jax.block_until_ready(program.compiled()(*inputs))
    assert_close(got, program.reference(*jax.tree.map(np.asarray, inputs)), program.tolerance)


@pytest.mark.parametrize(
    ("name", "devices", "sizes"),
    [
        ("ring_matmul", 4, {"rows": 64, "depth": 32, "columns": 16, "dtype": jnp.float32}),
        ("ring_matmul_unrolled", 8, {"rows": 64, "depth": 32, "columns": 16, "dtype": jnp.float32}),
        ("ring_attention", 2, {"batch": 2, "sequence": 16, "heads": 2, "width": 8, "dtype": jnp.bfloat16}),
        ("ring_attention_grad", 4, {"batch": 2, "sequence": 16, "heads": 2, "width": 8}),
        ("halo_exchange", 8, {"height": 16, "width": 8, "steps": 3, "mesh_rows": 4}),
        ("gpipe", 4, {"microbatches": 6, "batch": 2, "width": 8}),
        ("moe_shifts", 4, {"tokens": 8, "width": 16, "hidden": 16}),
        ("pmap_ring", 2, {"length": 6}),
        ("small_transfers", 4, {"width": 2}),
        ("rolls", 4, {"rows": 16, "columns": 8, "steps": 1}),
        ("sharded_convolution", 4, {"batch": 1, "height": 16, "width": 8, "channels": 2}),
        ("tensor_parallel_mlp", 4, {"batch": 8, "width": 8, "hidden": 16, "data": 1}),
        ("tensor_parallel_block", 4, {"batch": 2, "sequence": 8, "width": 16, "heads": 4, "data": 1}),
        ("fsdp_step", 4, {"batch": 8, "width": 16, "depth": 3}),
        ("expert_layer", 4, {"tokens": 2, "width": 8, "hidden": 8}),
    ],
)
def test_a_sample_takes_other_devices_and_sizes(name: str, devices: int, sizes: dict[str, object]) -> None:
    program = sample(name).build(jax.devices()[:devices], **sizes)
    inputs = program.inputs()
    assert_close(program.compiled()(*inputs), program.reference(*jax.tree.map(np.asarray, inputs)), program.tolerance)


def test_inputs_are_the_same_for_the_same_seed_and_placed_as_the_program_says() -> None:
    program = sample("small_transfers").build()
    (first,), (again,), (other,) = program.inputs(3), program.inputs(3), program.inputs(4)
    assert all(first[name].sharding == program.args[0][name].sharding for name in first)
    assert first["embedding"].dtype == ml_dtypes.float8_e4m3fn
    np.testing.assert_array_equal(first["attention"], again["attention"])
    assert not np.array_equal(first["attention"], other["attention"])


@pytest.mark.parametrize("entry", SAMPLES, ids=NAMES)
def test_the_topology_has_as_many_partitions_as_the_sample_has_devices(entry: Sample) -> None:
    assert Topology.parse(entry.topology).size == entry.devices


def test_the_list_of_samples_is_the_list_of_files() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.mlir")) == sorted([*NAMES, "replica_ring"])
    programs = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "__main__", "program", "lowering"}
    assert sorted(programs) == sorted(NAMES)


@pytest.mark.parametrize("name", [*NAMES, "replica_ring"])
def test_a_shipped_module_is_small_and_names_no_machine(name: str) -> None:
    text = module_path(name).read_text()
    assert len(text) < 100_000
    files = set(re.findall(r'loc\("([^"]+)":\d+:\d+', text))
    assert all(re.fullmatch(r"tools/samples/\w+\.py", file) for file in files)
    assert bool(files) == (name != "replica_ring")


@pytest.mark.parametrize("name", [*NAMES, "replica_ring"])
def test_a_shipped_module_has_the_permutes_it_is_made_for(name: str) -> None:
    found = permutes(module_path(name).read_text())
    assert found.total() == PERMUTES[name]
    assert all(channel == (name != "replica_ring") for _, _, channel in found)


@pytest.fixture(scope="module")
def lowered_again(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with every sample's module, lowered by the jax that is here in a process of its own."""
    folder = tmp_path_factory.mktemp("samples")
    done = run("-m", "hloverlap.tools.samples", "--write-all", str(folder), hash_seed="7")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_module_is_what_the_program_lowers_to(name: str, lowered_again: pathlib.Path) -> None:
    shipped, fresh = module_path(name).read_text(), (lowered_again / f"{name}.mlir").read_text()
    if jax.__version__ == "0.10.2":
        assert fresh == shipped, "lower it again: python -m hloverlap.tools.samples --write-all tools/samples"
    # A later jax spells the rest of the module in its own way, but sends the same things along the same pairs.
    assert permutes(fresh) == permutes(shipped)


def test_the_partitioner_makes_the_permutes_of_rolls() -> None:
    text = sample("rolls").build().lower().compile().as_text()
    assert text is not None
    pairs = set(re.findall(r"collective-permute\(.*source_target_pairs=(\{.*?\}\})", text))
    assert len(pairs) == 2


def test_the_replica_module_is_the_ring_of_pmap() -> None:
    program = sample("pmap_ring").build()
    (x,) = program.inputs()
    with dialects.make_context():
        module = ir.Module.parse(module_path("replica_ring").read_text())
        executable = executables.compile_and_load(module, jax.devices(), 8, 1, {}, False)
    replicas = NamedSharding(Mesh(np.array(jax.devices()), ("replica",)), PartitionSpec("replica"))
    (parts,) = executable.execute_sharded(
        [jax.device_put(x.reshape(-1), replicas)]
    ).disassemble_into_single_device_arrays()
    np.testing.assert_array_equal(np.stack(parts), program.compiled()(x))


def test_one_module_on_stdout_with_other_devices_and_sizes() -> None:
    done = run("-m", "hloverlap.tools.samples", "ring_matmul", "--devices=2", "--size=rows=64", "--emit=mlir")
    assert done.returncode == 0, done.stderr
    assert "mhlo.num_partitions = 2" in done.stdout
    assert permutes(done.stdout) == {("[[0, 1], [1, 0]]", "tensor<16x512xbf16>", True): 2}


def test_without_a_name_the_samples_are_listed_and_jax_stays_out() -> None:
    code = "import sys; from hloverlap.tools.samples.__main__ import main; main([]); assert 'jax' not in sys.modules"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == NAMES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ring_matmull"], "no sample is called 'ring_matmull'; did you mean 'ring_matmul'?"),
        (["ring_matmul", "--size=rows=100"], "rows is 100, which does not divide into 16 equal parts"),
        (["gpipe", "--size=depth=4"], "sample 'gpipe' has no size 'depth'; it has microbatches, batch, width, dtype"),
        (["--write-all=nowhere/at/all"], "No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str) -> None:
    done = run("-m", "hloverlap.tools.samples", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def losses(script: str, devices: int, steps: int = 5) -> list[float]:
    """What a training script prints on so many devices."""
    done = run(str(TRAINING / script), str(steps), devices=devices)
    assert done.returncode == 0, done.stderr
    lines = [re.fullmatch(r"step (\d+) loss (\S+)", line) for line in done.stdout.splitlines()]
    assert [int(line[1]) for line in lines if line] == list(range(steps))
    return [float(line[2]) for line in lines if line]


@pytest.mark.parametrize("script", ["ring_training.py", "auto_training.py"])
def test_training_on_eight_devices_goes_as_on_one(script: str) -> None:
    found = losses(script, devices=8)
    assert found == sorted(found, reverse=True)
    np.testing.assert_allclose(found, losses(script, devices=1), rtol=1e-4)


def test_pipelined_training_goes_as_layer_by_layer() -> None:
    spec = importlib.util.spec_from_file_location("gpipe_training", TRAINING / "gpipe_training.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    weights, inputs, labels = map(jnp.asarray, script.start_of_training(8))

    @jax.value_and_grad
    def loss(weights: jax.Array) -> jax.Array:
        x = inputs
        for w in weights:
            x = x + jnp.tanh(x @ w)
        scores = jax.nn.log_softmax(x[..., : script.CLASSES])
        return -jnp.mean(jnp.take_along_axis(scores, labels[..., None], axis=-1))

    expected = []
    for _ in range(5):
        value, gradient = jax.jit(loss)(weights)
        weights = weights - script.RATE * gradient
        expected.append(float(value))
    np.testing.assert_allclose(losses("gpipe_training.py", devices=8), expected, rtol=1e-3)
