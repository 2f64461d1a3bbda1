"""A ledger that is replaced, removed, locked or cut off under an open agent: nothing is shown."""

import os
import resource
import shutil
import signal
import sqlite3

import pytest
from typer.testing import CliRunner

from hartley import Agent
from hartley.agent.ledger import open_ledger
from hartley.cli.ledger import ledger_app
from hartley.errors import EngineError, HartleyError, InputError, Pending
from hartley.service.own_rows import LaterNote
from hartley.trusted.ledger import sqlite

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"
YOUNG = "SELECT COUNT(*) FROM people WHERE age < 40"
OTHER = "SELECT COUNT(*) FROM people WHERE age > 20"


def remove_logs(path):
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def moved(path, older):
    older.rename(path)
    remove_logs(path)


def moved_with_the_log(path, older):
    older.rename(path)


def deleted(path, older):
    del older
    path.unlink()
    remove_logs(path)


def linked(path, older):
    path.unlink()
    remove_logs(path)
    path.symlink_to(older)


def without_its_log(path, older):
    del older
    remove_logs(path)


def copied_over(path, older):
    assert path.stat().st_ino != older.stat().st_ino
    shutil.copyfile(older, path)  # the same file with other content
    remove_logs(path)


def cut_off(path, older):
    del older
    os.truncate(path, 0)
    remove_logs(path)


def restored(path, older):
    with open_ledger(path) as opened:
        opened.restore(older, force=True)


WAYS = [
    *(moved, moved_with_the_log, deleted, linked, without_its_log, copied_over, cut_off, restored),
]


@pytest.fixture
def older(agent, tmp_path):
    agent.ask(OLD)
    agent.ledger.backup(tmp_path / "older.db")
    agent.ask(OTHER)
    return tmp_path / "older.db"


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_charged_or_shown_once_the_ledger_is_another(agent, ledger, older, way):
    way(ledger, older)
    for _ in range(3):
        with pytest.raises(EngineError):
            agent.ask(YOUNG)
    for act in (agent.ask, agent.price):  # a repeat, which the older one holds too
        with pytest.raises(EngineError):
            act(OLD)
    for show in (agent.history, agent.summary, lambda: agent.spent):
        with pytest.raises(EngineError):
            show()
    agent.close()
    if ledger.exists() and ledger.stat().st_size:
        with open_ledger(ledger) as found:  # nothing was added to the other one
            assert YOUNG not in {charge.note for charge in found.history("people")}


@pytest.mark.parametrize("way", [moved, deleted, linked, copied_over])
def test_a_ledger_that_is_replaced_while_a_charge_is_committed_shows_nothing(
    agent, ledger, older, way, monkeypatch
):
    transact = sqlite._transact

    def replace_after(connection, work, look, level, until):
        result = transact(connection, work, look, level, until)
        if level is not None and ledger.exists() and older.exists():
            way(ledger, older)
            monkeypatch.setattr(sqlite, "_transact", transact)
        return result

    monkeypatch.setattr(sqlite, "_transact", replace_after)
    with pytest.raises(HartleyError):
        agent.ask(YOUNG)


def test_the_words_at_the_next_start_can_be_followed(agent, schema, ledger, older):
    newest = ledger.with_name("newest.db")
    agent.close()
    shutil.copyfile(ledger, newest)
    moved(ledger, older)
    with pytest.raises(InputError, match="older than the one last used") as refused:
        Agent(None, schema, ledger=ledger)
    (note,) = ledger.parent.glob("hartley.*.head")
    assert f"removing '{note}'" in refused.value.hint
    newest.rename(ledger)
    with Agent(None, schema, ledger=ledger) as again:
        assert again.ask(OTHER).bits == 0


@pytest.mark.parametrize("way", [moved, restored])
def test_the_next_start_misses_an_answer_that_was_shown_and_not_noted_before(
    agent, schema, ledger, way
):
    """A service notes only once a second where its ledger ends."""
    agent.ask(OLD)
    agent.ledger.backup(ledger.with_name("older.db"))
    agent.trusted.head_file = LaterNote(agent.trusted.head_file)
    agent.ask(YOUNG)
    way(ledger, ledger.with_name("older.db"))
    agent.trusted.head_file.write()
    agent.close()
    with pytest.raises(InputError, match="older than the one last used"):
        Agent(None, schema, ledger=ledger)


# --- a lock that another process holds ------------------------------------------------------------


@pytest.fixture
def locked(agent, ledger, monkeypatch):
    """Lock the ledger as another process would, after the agent has asked once."""
    agent.ask(OLD)
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.02)
    another = sqlite3.connect(ledger, isolation_level=None)
    another.execute("BEGIN IMMEDIATE")
    yield another
    another.close()


@pytest.mark.parametrize(
    "words",
    [["verify"], ["show"], ["budget", "--total", "13"], ["export", "x"], ["backup", "x"]],
)
def test_commands_say_who_holds_the_lock(locked, ledger, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert locked.in_transaction
    found = CliRunner().invoke(ledger_app, [words[0], str(ledger), *words[1:]])
    assert "Another process holds the lock of the ledger" in str(found.exception)


def test_a_charge_that_waits_for_another_process_says_so(agent, locked):
    with pytest.raises(EngineError, match="Another process holds the lock"):
        agent.ask(YOUNG)
    assert agent.ask(OLD).bits == 0  # readers wait for nobody
    locked.execute("ROLLBACK")
    assert agent.ask(YOUNG).bits > 0


def test_an_answer_that_cannot_be_recorded_is_paid_for(agent, locked, monkeypatch):
    locked.execute("ROLLBACK")
    cells = type(agent.trusted.data).cells

    def lock_first(held, questions):
        locked.execute("BEGIN IMMEDIATE")
        return cells(held, questions)

    monkeypatch.setattr(type(agent.trusted.data), "cells", lock_first)
    with pytest.raises(Pending, match="another process holds the lock") as pending:
        agent.ask(YOUNG)
    assert "paid for" in pending.value.hint
    assert "ledger.db" not in str(pending.value)
    locked.execute("ROLLBACK")
    monkeypatch.setattr(type(agent.trusted.data), "cells", cells)
    assert agent.ask(YOUNG).bits == 0


# --- files ----------------------------------------------------------------------------------------


def test_backups_and_restored_ledgers_are_for_their_owner_alone(ledger, older, tmp_path):
    ledger_app_says(["restore", older, tmp_path / "new.db"])
    for path in (older, tmp_path / "new.db", ledger):
        assert path.stat().st_mode & 0o777 == 0o600


def ledger_app_says(words):
    return CliRunner().invoke(ledger_app, [str(word) for word in words])


@pytest.mark.parametrize("content", [b"", b"no ledger", b"\0" * 5000])
def test_what_is_no_ledger_does_not_verify(tmp_path, content):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    found = ledger_app_says(["verify", path])
    assert isinstance(found.exception, InputError)
    assert "is not a ledger" in str(found.exception)
    assert path.read_bytes() == content


@pytest.fixture
def small_files():
    """Let no file become larger than some bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("most", [0, 5000, 20000])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(agent, ledger, older, small_files, most):
    folder = ledger.parent / "elsewhere"
    folder.mkdir()
    agent.close()
    small_files(most)
    found = [
        ledger_app_says(["backup", ledger, folder / "backup.db"]),
        ledger_app_says(["export", ledger, folder / "export.jsonl"]) if most < 5000 else None,
        ledger_app_says(["restore", older, folder / "restored.db"]),
    ]
    small_files(-1)
    for each in filter(None, found):
        assert isinstance(each.exception, HartleyError), each.exception
    assert list(folder.iterdir()) == []
