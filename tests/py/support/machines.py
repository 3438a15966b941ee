"""Machines that no file describes."""

from hloverlap.passes.machine.target import Costs, Link, Target

EAGER = Target(
    "eager",
    backend="gpu",
    costs=Costs(
        launch=1000.0,
        same_process=Link(1.0, 1e9, member=1000.0),
        same_host=Link(1.0, 1e9, member=1000.0),
        cross_host=Link(1.0, 1e9),
        copy=1e12,
        pack=0.0,
        stream_bytes=0,
    ),
)
"""One on which whatever saves a launch pays, so that passes do all that they can."""
