"""What XLA can do, by the version of jaxlib."""

import subprocess
import sys

import pytest

from hloverlap.passes.machine.capabilities import Capabilities, of_version


@pytest.mark.parametrize(
    ("version", "streams"),
    [("0.10.2", {0, 1, 2}), ("0.11.1", {0, 1, 2}), ("0.11.2", {0, 1, 2, 3}), ("0.12.0.1", {0, 1, 2, 3})],
)
def test_stream_3_is_xlas_own_from_0_11_2_on(version, streams):
    found = of_version(version)
    assert found.reserved_streams == streams
    assert found.has_scale_up_domain == (3 in streams)


def test_groups_are_whole_from_0_11_on_and_overlap_from_0_12_on():
    groups = {
        version: (of_version(version).keeps_groups, of_version(version).group_overlaps_compute)
        for version in ("0.10.2", "0.11.2", "0.12", "0.12.1.dev20260101")
    }
    assert list(groups.values()) == [(False, False), (True, False), (True, True), (True, True)]


def test_the_defaults_are_those_of_the_newest_version():
    assert Capabilities() == of_version("0.12.0.1")


def test_nobody_imports_jax_to_know_it():
    code = """import sys
from hloverlap.passes.machine.capabilities import capabilities
capabilities()
print("jax" in sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
