"""Coded copies are known again, an older ledger is noticed, and a kill leaves nothing for long."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from hartley.agent.agent import Agent
from hartley.agent.ledger import open_ledger
from hartley.engines import codes as digests
from hartley.errors import EngineError, InputError, Pending
from hartley.trusted import data as loading
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
def ledger(tmp_path):
    """A ledger with a dataset and its copy beside it."""
    Agent(DATA, SCHEMA, ledger=tmp_path / "ledger.db", budget=20).close()
    return tmp_path / "ledger.db"


def copies(ledger):
    return sorted(ledger.parent.glob("*.duckdb"))


def ask(ledger, limit=40, data=None, **more):
    with Agent(data, SCHEMA, ledger=ledger, **more) as agent:
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
def test_a_changed_copy_is_refused_also_in_the_process_that_knew_it(ledger, change):
    assert ask(ledger) == 20
    (copy,) = copies(ledger)
    with duckdb.connect(str(copy)) as connection:
        connection.execute(change)
    for data in (None, DATA):
        with pytest.raises(
            InputError, match=r"(changed after it was made|can be opened).*; hint: "
        ):
            Agent(data, SCHEMA, ledger=ledger)
    assert ask(ledger, data=DATA, update=True) == 20


@pytest.mark.parametrize(
    ("name", "value", "error"), [("key", "\u00e9", EngineError), ("copy %", "\u00e9", InputError)]
)
def test_a_key_or_digest_that_was_changed_is_refused_in_words(ledger, name, value, error):
    with open_ledger(ledger) as opened, opened.store.pool.lend() as connection:
        changed = (value, name)
        connection.execute("UPDATE hartley_private SET value = ? WHERE name LIKE ?", changed)
    with pytest.raises(error, match="; hint: "):
        Agent(None, SCHEMA, ledger=ledger)


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
    ledger = tmp_path / "ledger.db"
    with Agent(MANY, SCHEMA, ledger=ledger, budget=20) as agent:
        (copy,) = copies(ledger)
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
    ledger = tmp_path / "ledger.db"
    with Agent(MANY, SCHEMA, ledger=ledger, budget=20) as agent:
        (copy,) = copies(ledger)
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
    assert ask(ledger) == 100_000


def test_a_copy_is_read_once_a_process_while_nobody_touches_it(ledger, monkeypatch):
    assert ask(ledger) == 20
    monkeypatch.setattr(digests, "_file_digest", lambda *_: pytest.fail("read again"))
    assert ask(ledger, 41) == 19


def test_the_copy_of_another_version_does_not_pass_for_this_one(ledger, tmp_path):
    (before,) = copies(ledger)
    kept = shutil.copy(before, tmp_path / "kept")
    ask(ledger, data={**DATA, "age": list(range(30, 70))}, update=True)
    (present,) = copies(ledger)
    shutil.copy(kept, present)
    with pytest.raises(InputError, match="holds another version of the data"):
        Agent(None, SCHEMA, ledger=ledger)


def test_nothing_that_depends_on_the_data_or_the_key_leaves_the_ledger(ledger, tmp_path):
    ask(ledger)
    with open_ledger(ledger) as opened:
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
    assert secret.key.hex().encode() in ledger.read_bytes() + b"".join(
        path.read_bytes() for path in tmp_path.glob("ledger.db-wal")
    )
    assert (ledger.stat().st_mode & 0o077) == 0


@pytest.mark.slow
def test_a_restored_ledger_takes_its_copy_back_after_the_table_was_compared(ledger, tmp_path):
    ask(ledger)
    with open_ledger(ledger) as opened:
        opened.backup(tmp_path / "backup.db")
    ledger.unlink()
    with open_ledger(ledger) as opened:
        opened.restore(tmp_path / "backup.db")
    with pytest.raises(InputError, match=r"no digest of the coded copy.*; hint: pass the table"):
        Agent(None, SCHEMA, ledger=ledger)
    with pytest.raises(InputError, match="differs from the one"):
        Agent({**DATA, "age": DATA["age"][::-1]}, SCHEMA, ledger=ledger)
    assert ask(ledger, data=DATA) == 20
    assert ask(ledger) == 20


# --- the head -----------------------------------------------------------------------------------


def put_back(ledger, kept):
    for ending in ("-wal", "-shm"):
        ledger.with_name(ledger.name + ending).unlink(missing_ok=True)
    shutil.copy(kept, ledger)


def test_an_older_ledger_is_noticed(ledger, tmp_path):
    assert ask(ledger) == 20
    kept = shutil.copy(ledger, tmp_path / "kept")
    assert ask(ledger, 41) == 19
    newest = shutil.copy(ledger, tmp_path / "newest")
    put_back(ledger, kept)
    (note,) = tmp_path.glob("*.head")
    for more in ({}, {"update": True, "data": DATA}):
        with pytest.raises(InputError, match=rf"older than .*; hint: .*removing '.*{note.name}'"):
            ask(ledger, **more)
    assert len(copies(ledger)) == 1
    put_back(ledger, newest)
    assert ask(ledger, 41) == 19
    put_back(ledger, kept)
    note.unlink()  # the owner's act
    assert ask(ledger, 41) == 19


def test_a_ledger_that_is_gone_is_not_begun_again(ledger, tmp_path):
    ask(ledger)
    (note,) = tmp_path.glob("*.head")
    kept = ledger.rename(tmp_path / "kept")
    with pytest.raises(InputError, match=rf"no rows.*; hint: .*removing '.*{note.name}'"):
        Agent(DATA, SCHEMA, ledger=ledger, budget=5)
    assert not ledger.exists()
    Agent(DATA, SCHEMA, ledger=tmp_path / "other.db", budget=5).close()
    kept.rename(ledger)
    assert ask(ledger, 41) == 19
    ledger.unlink()
    note.unlink()  # the owner's act
    Agent(DATA, SCHEMA, ledger=ledger, budget=5).close()


def test_an_older_ledger_restored_by_its_rows_is_noticed(ledger, tmp_path):
    with open_ledger(ledger) as opened:
        opened.export(tmp_path / "old.jsonl")
    ask(ledger)
    ledger.unlink()
    with open_ledger(ledger) as opened:
        opened.restore(tmp_path / "old.jsonl")
    with pytest.raises(InputError, match="older than the one last used"):
        ask(ledger, data=DATA)


@pytest.mark.slow
def test_a_lower_head_is_no_alarm_and_another_ledger_in_the_folder_neither(ledger, tmp_path):
    (note,) = tmp_path.glob("*.head")
    early = note.read_text()
    ask(ledger)
    assert Head.from_json(note.read_text()).sequence > Head.from_json(early).sequence
    note.write_text(early)  # as by a process that was slower
    assert ask(ledger, 41) == 19
    with open_ledger(ledger) as opened:
        assert Head.from_json(note.read_text()) == opened.head()
    Agent(DATA, SCHEMA, ledger=tmp_path / "other.db", budget=5).close()
    assert ask(ledger, 42) == 18
    note.write_text("nonsense")
    with pytest.raises(InputError, match=rf"{note.name}.* cannot be read; hint: "):
        ask(ledger)


def test_a_folder_that_cannot_be_written_to_is_no_reason_to_refuse(ledger, monkeypatch):
    def fail(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fsync", fail)
    assert ask(ledger) == 20


# --- kills --------------------------------------------------------------------------------------

KILLED = textwrap.dedent("""
    import json, os, signal, sys
    from hartley.agent.agent import Agent
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


def start(ledger, when):
    """Start an update that ends, or stops, at some point; return once it is there."""
    words = [sys.executable, "-c", KILLED, json.dumps([SCHEMA, DATA, str(ledger), when])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "here\n"
    return process


def hidden(ledger):
    return [path for path in ledger.parent.iterdir() if ".part" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["half", "filled", "recording"])
def test_what_a_killed_update_has_left_is_removed(ledger, when):
    process = start(ledger, when)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert len(copies(ledger)) + len(hidden(ledger)) > 1
    assert ask(ledger) == 20
    assert (len(copies(ledger)), hidden(ledger)) == (1, [])
    assert not ledger.with_name("ledger.db.making").exists()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["half stopped", "recording stopped"])
def test_what_another_process_is_making_is_not_removed(ledger, when):
    process = start(ledger, when)
    try:
        before = {*copies(ledger), *hidden(ledger)}
        assert ask(ledger) == 20
        assert {*copies(ledger), *hidden(ledger)} == before
        assert len(before) > 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert ask(ledger, 41) == 19
    assert (len(copies(ledger)), hidden(ledger)) == (1, [])


@pytest.mark.slow
def test_a_copy_that_vanished_before_it_was_recorded_is_not_recorded(ledger, monkeypatch):
    made = loading.code_table

    def vanishing(*args, **options):
        coded = made(*args, **options)
        Path(options["place"]).unlink()
        return coded

    monkeypatch.setattr(loading, "code_table", vanishing)
    with open_ledger(ledger) as opened:
        before = opened.head()
        with pytest.raises(InputError, match="was removed before it was recorded"):
            Agent(DATA, SCHEMA, ledger=ledger, update=True)
        assert opened.head() == before
