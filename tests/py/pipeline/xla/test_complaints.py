"""XLA's words about a module that it refuses, in one line."""

from __future__ import annotations

import pytest

from hloverlap.pipeline.xla.complaints import sentence

PARTITIONER = """\
INTERNAL: custom_partitioner: Traceback (most recent call last):
  File "/home/me/env/lib/python3.12/site-packages/jax/_src/custom_partitioning.py", line 153, in _partition
  File "/usr/lib/python3.12/weakref.py", line 136, in __getitem__
KeyError: b'139690657603152'
Suspected Python Code Location: <no source information>
[xla::PythonStackTrace='']"""


def test_a_partitioner_of_another_process_is_said_and_what_to_do() -> None:
    found = sentence(PARTITIONER)
    assert found.startswith("the module calls a custom_partitioning, and only the process that made the module knows")
    assert "--xla_dump_hlo_pass_re=spmd-partitioning" in found
    assert not {"/home", "Traceback", "\n"} & set(found.split())


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("INVALID_ARGUMENT: two\n  lines", "INVALID_ARGUMENT: two lines"),
        (
            'INTERNAL: callback: Traceback (most recent call last):\n  File "/home/me/f.py", line 3, in f\n'
            "    return 1 / 0\nZeroDivisionError: division by zero\n",
            "INTERNAL: callback: ZeroDivisionError: division by zero",
        ),
        ("CHECK failed in /build/xla/hlo/ir.cc:12: x", "CHECK failed in ir.cc:12: x"),
        ("cannot read 3 / 4 of s32[8]/f32[8]", "cannot read 3 / 4 of s32[8]/f32[8]"),
        ("op jit(f)/while/body/add failed", "op jit(f)/while/body/add failed"),
    ],
)
def test_other_words_are_one_line_without_the_machine(said: str, line: str) -> None:
    assert sentence(said) == line
