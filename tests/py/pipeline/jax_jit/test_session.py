"""What the pipeline holds of a process: nothing before it is used, and never more than its bounds."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import jax
import pytest
from jax._src import compiler

import hloverlap
from hloverlap.pipeline.jax_jit.config import Configs, JitConfig
from hloverlap.pipeline.jax_jit.partitioner import MOST_ANSWERS, PartitionerCallback
from hloverlap.pipeline.jax_jit.records import MOST_RECORDS, CompileRecord, RecordLog
from hloverlap.pipeline.jax_jit.session import SESSION, Session

CSE = JitConfig("cse")


def record(number: int) -> CompileRecord:
    return CompileRecord(f"f{number}", "unchanged", "", token=CSE.key)


@pytest.fixture
def session() -> Iterator[Session]:
    """A session of its own, which takes its hook out again."""
    original = compiler.compile_or_get_cached
    yield Session(most_records=3)
    assert compiler.compile_or_get_cached is original


def test_a_log_keeps_the_newest_records() -> None:
    log = RecordLog(most=3)
    for number in range(5):
        log.add(record(number))
    assert [each.function for each in log] == ["f2", "f3", "f4"]
    assert (len(log), log.dropped) == (3, 2)
    log.clear()
    assert (len(log), log.dropped) == (0, 0)


def test_the_logs_of_a_session_are_bounded(session: Session) -> None:
    with session.enabled(CSE) as log:
        kept = [each.function for each in log]  # what was compiled before
        for number in range(2 * MOST_RECORDS):
            session.add(record(number))
    assert len(kept) <= 3
    assert [each.function for each in log] == [each.function for each in session.log]
    assert [each.function for each in log] == [f"f{2 * MOST_RECORDS - n}" for n in (3, 2, 1)]


def test_a_closed_log_takes_no_more_records(session: Session) -> None:
    with session.enabled(CSE) as log:
        before = len(log)
    session.add(record(1))
    assert len(log) == before
    log = session.install(CSE)
    session.uninstall()
    before = len(log)
    session.add(record(1))
    assert len(log) == before


def test_a_log_takes_the_records_of_its_own_configuration_alone(session: Session) -> None:
    with session.enabled(JitConfig("canonicalize")) as log:
        before = len(log)
        session.add(record(1))
    assert len(log) == before


def test_a_configuration_is_forgotten_with_its_last_token() -> None:
    configs = Configs()
    for limit in range(1, 300):
        configs.token(JitConfig(f"assign-collective-streams{{first-stream={limit}}}"))
    gc.collect()
    assert len(configs) == 0
    token, again = (configs.token(JitConfig("cse")) for _ in range(2))
    assert (token, configs.find(str(token))) == (again, CSE)
    del token
    gc.collect()
    assert configs.find(again) == CSE
    del again
    gc.collect()
    with pytest.raises(KeyError):
        configs.find(CSE.key)


def test_functions_that_are_gone_leave_no_configuration_behind() -> None:
    def jitted(limit: int) -> None:
        f = hloverlap.jit(lambda x: x + limit, f"assign-collective-streams{{first-stream={limit}}}")
        assert f(1) == 1 + limit

    gc.collect()
    jax.clear_caches()
    before = len(SESSION.configs)
    for limit in range(1, 20):
        jitted(limit)
    jax.clear_caches()
    gc.collect()
    assert len(SESSION.configs) <= before


def test_a_lowering_keeps_the_configuration_of_its_function_alive() -> None:
    """Long after the function, and jit's caches, are gone."""
    hloverlap.clear_records()
    lowered = hloverlap.jit(lambda x: x * 3, "assign-collective-streams{first-stream=77}").lower(2)
    jax.clear_caches()
    gc.collect()
    assert lowered.compile()(2) == 6
    assert [each.outcome for each in hloverlap.records()] == ["unchanged"]


def test_a_function_keeps_its_configuration_when_another_of_the_same_is_gone() -> None:
    kept = hloverlap.jit(lambda x: x * 5, "assign-collective-streams{first-stream=78}")
    gone = hloverlap.jit(lambda x: x * 7, "assign-collective-streams{first-stream=78}")
    assert gone(1) == 7
    del gone
    gc.collect()
    assert kept(1) == 5


def test_the_partitioners_answers_are_bounded() -> None:
    callback = PartitionerCallback(Configs())
    for number in range(MOST_ANSWERS + 10):
        # The mark of a configuration that is gone: the answer says so.
        callback.transform(b"\x9a\x01" + _entry(f"gone.{number}"))
    assert "KeyError" in callback.answer(f"gone.{MOST_ANSWERS + 9}").message
    assert "XLA was not asked" in callback.answer("gone.0").message


def _entry(mark: str) -> bytes:
    """The module's frontend attribute as a HloModuleProto has it, behind its tag."""

    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    pair = field(1, field(1, b"hloverlap_partitioner_permutes") + field(2, mark.encode()))
    return bytes([len(pair)]) + pair


def test_a_session_that_nobody_uses_has_no_user_context(session: Session) -> None:
    assert session.active_token() is None
    session.uninstall()
    assert session._context is None
    with session.enabled(CSE):
        assert session.active_token() == CSE.key
    assert session.active_token() is None


def test_blocks_and_an_installation_in_any_order(session: Session) -> None:
    session.install(CSE)
    with session.enabled(JitConfig("canonicalize")):
        session.uninstall()
        assert session.active_token() == JitConfig("canonicalize").key
    assert session.active_token() is None
