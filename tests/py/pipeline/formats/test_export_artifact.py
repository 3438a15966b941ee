"""A rewritten jax.export artifact is still what jax.export reads and runs."""

import numpy as np
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.formats import export_artifact, reading, writing
from hloverlap.pipeline.formats.errors import WriteError

pytestmark = pytest.mark.usefixtures("in_process")

FIELDS = [
    *("fun_name", "in_tree", "in_avals", "out_tree", "out_avals", "nr_devices", "platforms", "ordered_effects"),
    *("unordered_effects", "disabled_safety_checks", "calling_convention_version", "module_kept_var_idx"),
    "uses_global_constants",
]


def annotated(artifact: bytes, stream: str) -> bytes:
    """The artifact with a stream for each of its permutes."""
    source = reading.read(artifact, "f.export", make_context())

    for op in ops_in(source.module.operation, "stablehlo.collective_permute"):
        frontend_attributes.update(op, {frontend_attributes.STREAM: stream})
    return writing.serialize(source, source.module, None)


def test_it_loads_and_runs(exported):
    from jax import export

    rewritten = annotated(exported.artifact, "3")
    before, after = export.deserialize(bytearray(exported.artifact)), export.deserialize(bytearray(rewritten))
    assert '_xla_stream_annotation = "3"' in after.mlir_module()
    assert '_xla_stream_annotation = "3"' not in before.mlir_module()
    np.testing.assert_array_equal(np.asarray(after.call(exported.argument)), exported.result)
    for field in FIELDS:
        assert getattr(after, field) == getattr(before, field), field


def test_its_derivative_still_runs(exported):
    import jax
    from jax import export

    def gradient(artifact):
        call = export.deserialize(bytearray(artifact)).call
        return np.asarray(jax.jit(jax.grad(lambda x: call(x).sum()))(exported.argument))

    np.testing.assert_array_equal(gradient(annotated(exported.artifact, "3")), gradient(exported.artifact))


def test_an_unchanged_module_gives_the_same_bytes(exported):
    source = reading.read(exported.artifact, "f.export", make_context())
    assert writing.serialize(source, source.module, None) == exported.artifact


def test_rewriting_again_adds_nothing(exported):
    once = annotated(exported.artifact, "3")
    assert annotated(once, "3") == once
    assert len(annotated(once, "4")) == len(once)


def test_a_shorter_module_stays_in_place_and_leaves_zeros(exported):
    module = export_artifact.module_of(exported.artifact)
    shorter = export_artifact.with_module(exported.artifact, module[:-8])
    assert len(shorter) == len(exported.artifact)
    assert export_artifact.module_of(shorter) == module[:-8]


def test_a_changed_signature_is_refused(exported):
    source = reading.read(exported.artifact, "f.export", make_context())
    other = ir.Module.parse("func.func public @main() { return }", source.module.context)
    with pytest.raises(WriteError, match=r"the pipeline changed the type of @main from \(tensor<16xf32>\)"):
        writing.serialize(source, other, None)


def test_jax_keeps_the_module_where_we_look_for_it(exported):
    """A failure here means that the private schema of jax.export has changed."""
    from jax._src.export import serialization_generated

    root = serialization_generated.Exported.GetRootAsExported(bytearray(exported.artifact))
    assert root.MlirModuleSerializedAsNumpy().tobytes() == export_artifact.module_of(exported.artifact)
