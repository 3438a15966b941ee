"""Which answers are kept, and when a kept one no longer counts."""

from __future__ import annotations

import pathlib
import shutil
import sys
import typing

import pytest

import hloverlap
from hloverlap.pipeline.audit import compiled
from hloverlap.pipeline.audit.compiled import Outcome, Program
from hloverlap.pipeline.children import ends
from hloverlap.pipeline.xla import answers
from hloverlap.pipeline.xla.isolated_compile import Failure, FailureKind, Request

REQUEST = Request(b"module {}", "cpu", "", "1x1x1", 1, 1, False)


@pytest.fixture
def asked(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[Failure]:
    """What compiles come to, the last one first; those that were asked for are gone."""
    monkeypatch.setenv("HLOVERLAP_CACHE", str(tmp_path / "cache"))
    answers: list[Failure] = []
    monkeypatch.setattr(compiled, "compile_module", lambda request, time_limit: answers.pop())
    return answers


@pytest.mark.parametrize("kind", [*typing.get_args(ends.Kind), "request"])
def test_only_what_xla_said_is_kept(asked: list[Failure], kind: FailureKind) -> None:
    first, second = Failure(kind, "first"), Failure(kind, "second")
    asked += [second, first]
    assert compiled.outcomes([REQUEST]) == [first]
    is_kept = kind in ("ok", "refused", "aborted")
    assert compiled.outcomes([REQUEST]) == [first if is_kept else second]


def test_a_program_is_kept(asked: list[Failure], monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Outcome] = [Program((), 42)]
    monkeypatch.setattr(compiled, "_outcome", lambda request, time_limit: found.pop())
    assert compiled.outcomes([REQUEST]) == compiled.outcomes([REQUEST]) == [Program((), 42)]


def test_a_change_of_any_source_is_another_question(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that keeps size and time, as between two builds; what is not ours, such as compiled files, is none."""
    copy = tmp_path / "hloverlap"
    package = pathlib.Path(str(hloverlap.__file__)).parent
    for name in ("passes", "pipeline"):
        shutil.copytree(package / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(hloverlap, "__file__", str(copy / "__init__.py"))
    before = answers.fingerprint()
    sources = [*copy.rglob("*.py"), *copy.rglob("*.toml")]
    assert {path.name for path in sources} > {"hlo_text.py", "cost.py", "isolated_compile.py", "child.py", "op_ids.py"}
    for path in sources:
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b" ")
        assert answers.fingerprint() != before or not content, path
        path.write_bytes(content)
    (copy / "passes" / "__pycache__").mkdir()
    (copy / "passes" / "__pycache__" / "base.cpython-311.pyc").touch()
    assert answers.fingerprint() == before
    (copy / "passes" / "another.py").touch()
    assert answers.fingerprint() != before


def test_another_version_of_a_library_is_another_question(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "absent")])
    seen = set()
    for name in (
        "numpy-1.dist-info",
        "jax-9.dist-info",
        "jax_cuda13_plugin-9.dist-info",
        "nvidia_cuda_nvcc-9.dist-info",
    ):
        (tmp_path / name).mkdir()
        seen.add(answers.fingerprint())
    assert len(seen) == 4
    (tmp_path / "pytest-9.dist-info").mkdir()
    assert answers.fingerprint() in seen
