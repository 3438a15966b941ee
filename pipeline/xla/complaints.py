"""Makes one line of what XLA says when it refuses a module: what is wrong, without the machine it was said on."""

from __future__ import annotations

import re

_PARTITIONER = re.compile(r"custom_partitioner: Traceback.*KeyError", re.DOTALL)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n?(?:[ \t]+.*\n?|\S*\n)*", re.MULTILINE)
_NO_SOURCE = re.compile(r"Suspected Python Code Location: <no source information>|\[xla::PythonStackTrace='[^']*'\]")
_PATH = re.compile(r'(?<![^\s"\'(])/(?:[\w.+-]+/)+(?=[\w.+-])')

_ELSEWHERE = (
    "the module calls a custom_partitioning, and only the process that made the module knows its partitioner; give the "
    "module after partitioning, which that process writes with "
    'XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=spmd-partitioning"'
)


def sentence(text: str) -> str:
    """Gives XLA's words as one line: of a Python traceback the last line, of a path on the machine the file's name."""
    if _PARTITIONER.search(text):
        return _ELSEWHERE
    text = _NO_SOURCE.sub("", _TRACEBACK.sub("", text))
    return " ".join(_PATH.sub("", text).split())
