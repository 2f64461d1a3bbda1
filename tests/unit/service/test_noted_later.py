"""A worker whose power fails: what it has shown is asked again for nothing, with the same cells."""

import os
import shutil

import pytest

from hartley import Agent
from hartley.errors import InputError
from hartley.service.own_rows import LaterNote
from hartley.trusted.ledger import sqlite as write_ahead_log

SCHEMA = {
    "table": {"name": "people"},
    "columns": {"age": {"kind": "private", "range": [0, 100], "step": 1}},
}
TABLE = {"age": [3, 30, 40, 50, 99]}
QUESTION = "SELECT COUNT(*) FROM people WHERE age >= 40"


@pytest.fixture
def agent(tmp_path):
    """An agent as a worker has it, with the note of where the ledger ends written later."""
    folder = tmp_path / "present"
    folder.mkdir()
    with Agent(TABLE, SCHEMA, ledger=folder / "ledger.db", budget=20) as opened:
        opened.trusted.head_file = LaterNote(opened.trusted.head_file)
        yield opened


def after_a_power_failure(folder, length):
    """Return a copy of a folder whose log ends early."""
    copy = folder.with_name(f"found{length}")
    shutil.copytree(folder, copy)
    os.truncate(copy / "ledger.db-wal", length)
    return Agent(None, SCHEMA, ledger=copy / "ledger.db")


def test_an_answer_that_was_shown_is_found_again_for_nothing(agent, tmp_path):
    folder = tmp_path / "present"
    log = folder / "ledger.db-wal"
    sizes = []
    shown = agent.ask(QUESTION, paid=lambda: sizes.append(log.stat().st_size))
    assert log.stat().st_size > sizes[0], "the answer was written after the charge"
    with after_a_power_failure(folder, sizes[0]) as found:
        assert len(found.ledger.pending("people")) == 1
        again = found.ask(QUESTION)
        assert again.bits == 0
        assert again.to_dict()["rows"] == shown.to_dict()["rows"]
        assert found.spent == agent.spent
        assert not found.ledger.pending("people")
        assert found.ledger.verify().holds


def test_a_note_names_no_row_that_may_be_lost(agent, tmp_path, monkeypatch):
    folder = tmp_path / "present"
    log, flushed, flush = folder / "ledger.db-wal", [], os.fsync

    def fsync(handle):
        if os.fstat(handle).st_ino == log.stat().st_ino:
            flushed.append(log.stat().st_size)
        flush(handle)

    monkeypatch.setattr(write_ahead_log.os, "fsync", fsync)
    before = []
    agent.ask(QUESTION, paid=lambda: before.append(log.stat().st_size))
    assert not flushed, "an answer does not wait"
    agent.trusted.head_file.write()
    assert flushed == [log.stat().st_size]
    with after_a_power_failure(folder, flushed[0]) as found:
        assert not found.ledger.pending("people")
    with pytest.raises(InputError, match="older"):  # which is why it is flushed first
        after_a_power_failure(folder, before[0])


def test_an_agent_that_notes_at_once_waits_for_every_answer(tmp_path, monkeypatch):
    flushed, flush = [], os.fsync
    with Agent(TABLE, SCHEMA, ledger=tmp_path / "ledger.db", budget=20) as agent:
        log = tmp_path / "ledger.db-wal"

        def fsync(handle):
            if os.fstat(handle).st_ino == log.stat().st_ino:
                flushed.append(log.stat().st_size)
            flush(handle)

        monkeypatch.setattr(write_ahead_log.os, "fsync", fsync)
        levels, commit = [], agent.ledger.trusted.commit

        def committed(paid, answers, *, durable=True):
            levels.append(durable)
            return commit(paid, answers, durable=durable)

        monkeypatch.setattr(agent.ledger.trusted, "commit", committed)
        agent.ask(QUESTION)
        assert levels == [True]
        assert not flushed, "so its note needs no flush of the log"
