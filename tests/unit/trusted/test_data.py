"""Coded copies, and ledgers that were replaced by older ones."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from hartley import Agent, open_ledger
from hartley.cli.ledger import ledger_app
from hartley.engines import codes as digests
from hartley.errors import EngineError, HartleyError, InputError, Pending
from hartley.service.own_rows import LaterNote
from hartley.trusted import data as loading
from hartley.trusted.ledger import sqlite
from hartley.trusted.ledger.rows import Head
from hartley.trusted.ledger.store import read_digest, read_secret

SCHEMA = {
    "table": {"name": "people"},
    "columns": {
        "age": {"kind": "private", "range": [0, 100], "step": 1},
        "area": {"kind": "public", "values": ["north", "south"]},
    },
}
DATA = {"age": list(range(20, 60)), "area": ["north", "south"] * 20}
OLD = "SELECT COUNT(*) FROM people WHERE age >= {}"


@pytest.fixture
def prepared(tmp_path):
    """A ledger with a dataset and its copy beside it."""
    Agent(DATA, SCHEMA, ledger=tmp_path / "ledger.db", budget=20).close()
    return tmp_path / "ledger.db"


def copies(prepared):
    return sorted(prepared.parent.glob("*.duckdb"))


def ask(prepared, limit=40, data=None, **more):
    with Agent(data, SCHEMA, ledger=prepared, **more) as agent:
        return agent.ask(OLD.format(limit)).value


# --- digests ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE coded SET c0 = 0",
        "UPDATE coded SET c1 = 1 - c1",  # as many of each as before
        "DELETE FROM coded WHERE c0 = 30; INSERT INTO coded VALUES (31, 0)",
        "UPDATE about SET content = replace(content, 'sources', 'Sources')",
        "UPDATE about SET content = 'nonsense'",
        "DROP TABLE about",
    ],
)
def test_a_changed_copy_is_refused_also_in_the_process_that_knew_it(prepared, change):
    assert ask(prepared) == 20
    (copy,) = copies(prepared)
    with duckdb.connect(str(copy)) as connection:
        connection.execute(change)
    for data in (None, DATA):
        with pytest.raises(
            InputError, match=r"(changed after it was made|can be opened).*; hint: "
        ):
            Agent(data, SCHEMA, ledger=prepared)
    assert ask(prepared, data=DATA, update=True) == 20


@pytest.mark.parametrize(
    ("name", "value", "error"), [("key", "\u00e9", EngineError), ("copy %", "\u00e9", InputError)]
)
def test_a_key_or_digest_that_was_changed_is_refused_in_words(prepared, name, value, error):
    with open_ledger(prepared) as opened, opened.store.pool.lend() as connection:
        changed = (value, name)
        connection.execute("UPDATE hartley_private SET value = ? WHERE name LIKE ?", changed)
    with pytest.raises(error, match="; hint: "):
        Agent(None, SCHEMA, ledger=prepared)


MANY = {"age": [20, 60] * 100_000, "area": ["north", "south"] * 100_000}
"""More than an engine reads when it opens a copy."""


def forged(tmp_path, copy):
    """The bytes of a copy of other rows, which an open engine reads in the place of its own."""
    (tmp_path / "elsewhere").mkdir()
    other = {**MANY, "age": [20, 20] * 100_000}
    Agent(other, SCHEMA, ledger=tmp_path / "elsewhere" / "ledger.db", budget=20).close()
    (forgery,) = (tmp_path / "elsewhere").glob("*.duckdb")
    assert forgery.stat().st_size == copy.stat().st_size
    return forgery.read_bytes()


def overwrite(copy, content):
    with copy.open("r+b") as file:
        file.write(content)


@pytest.mark.slow
def test_a_copy_that_is_changed_while_it_is_open_answers_nothing(tmp_path):
    prepared = tmp_path / "ledger.db"
    with Agent(MANY, SCHEMA, ledger=prepared, budget=20) as agent:
        (copy,) = copies(prepared)
        content, forgery = copy.read_bytes(), forged(tmp_path, copy)
        overwrite(copy, forgery)
        before = agent.ledger.head()
        with pytest.raises(InputError, match=r"changed after it was made; hint: put it back"):
            agent.ask(OLD.format(40))
        assert agent.ledger.head() == before  # nothing is charged
        overwrite(copy, content)
        assert agent.ask(OLD.format(40)).value == 100_000
        copy.chmod(0o400)  # touched, and as it was
        assert agent.ask(OLD.format(61)).value == 0


@pytest.mark.slow
def test_what_was_read_while_a_copy_was_changed_does_not_count(tmp_path, monkeypatch):
    prepared = tmp_path / "ledger.db"
    with Agent(MANY, SCHEMA, ledger=prepared, budget=20) as agent:
        (copy,) = copies(prepared)
        content, forgery = copy.read_bytes(), forged(tmp_path, copy)
        store = type(agent.trusted.data.coded.store)
        run = store.run

        @contextmanager
        def between(self, text):
            overwrite(copy, forgery)
            try:
                with run(self, text) as result:
                    yield result
            finally:
                overwrite(copy, content)

        monkeypatch.setattr(store, "run", between)
        with pytest.raises(Pending):
            agent.ask(OLD.format(40))
        monkeypatch.undo()
        with pytest.raises(Pending):  # the engine may remember what it read
            agent.ask(OLD.format(40))
        with pytest.raises(InputError, match="changed while it was read; hint: open the dataset"):
            agent.ask(OLD.format(50))
    assert ask(prepared) == 100_000


def test_a_copy_is_read_once_a_process_while_nobody_touches_it(prepared, monkeypatch):
    assert ask(prepared) == 20
    monkeypatch.setattr(digests, "_file_digest", lambda *_: pytest.fail("read again"))
    assert ask(prepared, 41) == 19


def test_the_copy_of_another_version_does_not_pass_for_this_one(prepared, tmp_path):
    (before,) = copies(prepared)
    kept = shutil.copy(before, tmp_path / "kept")
    ask(prepared, data={**DATA, "age": list(range(30, 70))}, update=True)
    (present,) = copies(prepared)
    shutil.copy(kept, present)
    with pytest.raises(InputError, match="holds another version of the data"):
        Agent(None, SCHEMA, ledger=prepared)


def test_nothing_that_depends_on_the_data_or_the_key_leaves_the_ledger(prepared, tmp_path):
    ask(prepared)
    with open_ledger(prepared) as opened:
        secret = read_secret(opened.store)
        digest = read_digest(opened.store, opened.state("people").version)
        opened.export(tmp_path / "export.jsonl")
        opened.backup(tmp_path / "backup.db")
        assert opened.verify().holds
        assert "key" not in repr(secret)
    assert digest is not None
    for name in ("export.jsonl", "backup.db"):
        content = (tmp_path / name).read_bytes()
        for private in (secret.key.hex(), secret.key, digest, secret.ledger):
            found = private if isinstance(private, bytes) else private.encode()
            assert found not in content, name
    assert secret.key.hex().encode() in prepared.read_bytes() + b"".join(
        path.read_bytes() for path in tmp_path.glob("ledger.db-wal")
    )
    assert (prepared.stat().st_mode & 0o077) == 0


@pytest.mark.slow
def test_a_restored_ledger_takes_its_copy_back_after_the_table_was_compared(prepared, tmp_path):
    ask(prepared)
    with open_ledger(prepared) as opened:
        opened.backup(tmp_path / "backup.db")
    prepared.unlink()
    with open_ledger(prepared) as opened:
        opened.restore(tmp_path / "backup.db")
    with pytest.raises(InputError, match=r"no digest of the coded copy.*; hint: pass the table"):
        Agent(None, SCHEMA, ledger=prepared)
    with pytest.raises(InputError, match="differs from the one"):
        Agent({**DATA, "age": DATA["age"][::-1]}, SCHEMA, ledger=prepared)
    assert ask(prepared, data=DATA) == 20
    assert ask(prepared) == 20


# --- the head -----------------------------------------------------------------------------------


def put_back(prepared, kept):
    for ending in ("-wal", "-shm"):
        prepared.with_name(prepared.name + ending).unlink(missing_ok=True)
    shutil.copy(kept, prepared)


def test_an_older_ledger_is_noticed(prepared, tmp_path):
    assert ask(prepared) == 20
    kept = shutil.copy(prepared, tmp_path / "kept")
    assert ask(prepared, 41) == 19
    newest = shutil.copy(prepared, tmp_path / "newest")
    put_back(prepared, kept)
    (note,) = tmp_path.glob("*.head")
    for more in ({}, {"update": True, "data": DATA}):
        with pytest.raises(InputError, match=rf"older than .*; hint: .*removing '.*{note.name}'"):
            ask(prepared, **more)
    assert len(copies(prepared)) == 1
    put_back(prepared, newest)
    assert ask(prepared, 41) == 19
    put_back(prepared, kept)
    note.unlink()  # the owner's act
    assert ask(prepared, 41) == 19


def test_a_ledger_that_is_gone_is_not_begun_again(prepared, tmp_path):
    ask(prepared)
    (note,) = tmp_path.glob("*.head")
    kept = prepared.rename(tmp_path / "kept")
    with pytest.raises(InputError, match=rf"no rows.*; hint: .*removing '.*{note.name}'"):
        Agent(DATA, SCHEMA, ledger=prepared, budget=5)
    assert not prepared.exists()
    Agent(DATA, SCHEMA, ledger=tmp_path / "other.db", budget=5).close()
    kept.rename(prepared)
    assert ask(prepared, 41) == 19
    prepared.unlink()
    note.unlink()  # the owner's act
    Agent(DATA, SCHEMA, ledger=prepared, budget=5).close()


def test_an_older_ledger_restored_by_its_rows_is_noticed(prepared, tmp_path):
    with open_ledger(prepared) as opened:
        opened.export(tmp_path / "old.jsonl")
    ask(prepared)
    prepared.unlink()
    with open_ledger(prepared) as opened:
        opened.restore(tmp_path / "old.jsonl")
    with pytest.raises(InputError, match="older than the one last used"):
        ask(prepared, data=DATA)


@pytest.mark.slow
def test_a_lower_head_is_no_alarm_and_another_ledger_in_the_folder_neither(prepared, tmp_path):
    (note,) = tmp_path.glob("*.head")
    early = note.read_text()
    ask(prepared)
    assert Head.from_json(note.read_text()).sequence > Head.from_json(early).sequence
    note.write_text(early)  # as by a process that was slower
    assert ask(prepared, 41) == 19
    with open_ledger(prepared) as opened:
        assert Head.from_json(note.read_text()) == opened.head()
    Agent(DATA, SCHEMA, ledger=tmp_path / "other.db", budget=5).close()
    assert ask(prepared, 42) == 18
    note.write_text("nonsense")
    with pytest.raises(InputError, match=rf"{note.name}.* cannot be read; hint: "):
        ask(prepared)


def test_a_folder_that_cannot_be_written_to_is_no_reason_to_refuse(prepared, monkeypatch):
    def fail(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fsync", fail)
    assert ask(prepared) == 20


# --- kills --------------------------------------------------------------------------------------

KILLED = textwrap.dedent("""
    import json, os, signal, sys
    from hartley import Agent
    from hartley.trusted.ledger.ledger import TrustedLedger
    from hartley.engines.coded_table import CopyJob
    from hartley.engines import duckdb

    schema, data, ledger, when = json.loads(sys.argv[1])

    def die(*_, **__):
        print("here", flush=True)
        if when.endswith("stopped"):
            os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGKILL)

    if when.startswith("filled"):
        duckdb.sync_folder = die          # linked under its name, the hidden one still there
    elif when.startswith("half"):
        CopyJob.compare = die             # the hidden file is there
    else:
        TrustedLedger.record = die               # whole, and not recorded
    Agent(data, schema, ledger=ledger, update=True)
""")


def start(prepared, when):
    """Start an update that ends, or stops, at some point; return once it is there."""
    words = [sys.executable, "-c", KILLED, json.dumps([SCHEMA, DATA, str(prepared), when])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "here\n"
    return process


def hidden(prepared):
    return [path for path in prepared.parent.iterdir() if ".part" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["half", "filled", "recording"])
def test_what_a_killed_update_has_left_is_removed(prepared, when):
    process = start(prepared, when)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert len(copies(prepared)) + len(hidden(prepared)) > 1
    assert ask(prepared) == 20
    assert (len(copies(prepared)), hidden(prepared)) == (1, [])
    assert not prepared.with_name("ledger.db.making").exists()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["half stopped", "recording stopped"])
def test_what_another_process_is_making_is_not_removed(prepared, when):
    process = start(prepared, when)
    try:
        before = {*copies(prepared), *hidden(prepared)}
        assert ask(prepared) == 20
        assert {*copies(prepared), *hidden(prepared)} == before
        assert len(before) > 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert ask(prepared, 41) == 19
    assert (len(copies(prepared)), hidden(prepared)) == (1, [])


@pytest.mark.slow
def test_a_copy_that_vanished_before_it_was_recorded_is_not_recorded(prepared, monkeypatch):
    made = loading.code_table

    def vanishing(*args, **options):
        coded = made(*args, **options)
        Path(options["place"]).unlink()
        return coded

    monkeypatch.setattr(loading, "code_table", vanishing)
    with open_ledger(prepared) as opened:
        before = opened.head()
        with pytest.raises(InputError, match="was removed before it was recorded"):
            Agent(DATA, SCHEMA, ledger=prepared, update=True)
        assert opened.head() == before


# --- replaced ledger ---

AT_LEAST_40 = "SELECT COUNT(*) FROM people WHERE age >= 50"
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
    agent.ask(AT_LEAST_40)
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
            act(AT_LEAST_40)
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
    agent.ask(AT_LEAST_40)
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
    agent.ask(AT_LEAST_40)
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
    assert agent.ask(AT_LEAST_40).bits == 0  # readers wait for nobody
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
