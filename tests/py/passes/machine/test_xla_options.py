"""The names of XLA's options are in one file, and this XLA has them all."""

import ast
import pathlib
import re

import pytest

from hloverlap.passes.machine import targets, xla_options
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.audit import audits
from hloverlap.pipeline.audit.audits import Setting, Subject

ROOT = pathlib.Path(__file__).parents[4]
HOME = ROOT / "passes" / "machine" / "xla_options.py"
NAMES = {value for name, value in vars(xla_options).items() if name.isupper() and str(value).startswith("xla_")}
PARTS = ("passes", "pipeline", "tools")


# How XLA's options begin, as far as the project has to do with them.
OPTION = re.compile(r"xla_(gpu|cpu|tpu|dump|disable|allow|enable)_\w+|COLLECTIVES_\w+")


def named_in(path: pathlib.Path) -> set[str]:
    """The literals of a file that are the name of an option, or of a value."""
    literals = (node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if type(node) is ast.Constant)
    return {text for text in literals if isinstance(text, str) and OPTION.fullmatch(text)}


def test_no_other_file_spells_one():
    assert named_in(HOME) >= NAMES
    files = [path for part in PARTS for path in (ROOT / part).rglob("*.py") if path != HOME]
    assert {str(path.relative_to(ROOT)): named for path in files if (named := named_in(path))} == {}


@pytest.fixture
def module():
    from jaxlib.mlir import ir

    with make_context():
        yield ir.Module.parse("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }")


VALUES = {
    xla_options.OVERLAP_LIMIT: 2,
    xla_options.PERMUTE_MODE: xla_options.PEER_MEMORY,
    xla_options.COMBINE_THRESHOLD: 0,
    xla_options.DOT_MERGER: 0,
    xla_options.MULTI_STREAMING: True,
    xla_options.DISABLED_PASSES: "fusion",
    xla_options.EXCESS_PRECISION: False,
    xla_options.GROUPS_AS_AXES: False,
    xla_options.DUMP_HLO_AS_PROTO: True,
    xla_options.DUMP_AFTER_PASSES: "spmd-partitioning",
    xla_options.DUMP_TO: None,  # every audit gives these two
    xla_options.DUMP_HLO_AS_TEXT: None,
}


def test_this_xla_takes_all_of_them(module):
    assert VALUES.keys() == NAMES
    given = {name: value for name, value in VALUES.items() if value is not None}
    found = audits.audit_one(Subject(module, "all", given), Setting(targets.find("h200"), use_cache=False))
    assert not found.totals.failed, found.outcome


def test_and_no_other(module):
    with pytest.raises(ValueError, match="xla_gpu_no_such_option"):
        audits.audit_one(
            Subject(module, "none", {"xla_gpu_no_such_option": 1}), Setting(targets.find("h200"), use_cache=False)
        )
