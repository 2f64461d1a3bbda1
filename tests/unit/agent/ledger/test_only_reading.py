"""A ledger that cannot be written to: all that reads works, all that writes is refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hartley import Agent, Schema
from hartley.agent.ledger import open_ledger
from hartley.errors import EngineError, InputError, Refused

DRIVER = Path(__file__).with_name("only_reading.py")
CAPABILITIES = "-dac_override,-dac_read_search"
"""With these, root may write whatever the mode of a file says."""
SCHEMA = {
    "table": {"name": "people"},
    "columns": {"age": {"kind": "private", "range": [0, 127], "step": 1}},
}


def unprivileged():
    """Words before a command that make file modes count even for root."""
    if os.geteuid():
        return []
    tool = shutil.which("setpriv")
    if tool is None:
        pytest.skip("file modes do not stop root, and there is no setpriv")
    return [tool, "--bounding-set", CAPABILITIES, "--inh-caps", CAPABILITIES]


@pytest.fixture
def folder(tmp_path):
    """A folder of its own with a ledger, its schema and its copy; writable again in the end."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "schema.toml").write_text(Schema.read(SCHEMA).to_toml())
    with Agent({"age": [30, 45, 60]}, SCHEMA, ledger=home / "l.db", budget=4) as agent:
        agent.ask("SELECT COUNT(*) FROM people WHERE age > 40")
    yield home
    home.chmod(0o755)


def leave_log(home, *, index):
    """Leave the log of a process that died, with or without the index of the log."""
    with open_ledger(home / "l.db") as ledger:
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 1})
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(home / f"l.db{suffix}", home / f"kept{suffix}")
    for suffix in ("", "-wal", "-shm"):
        (home / f"kept{suffix}").replace(home / f"l.db{suffix}")
    if not index:
        (home / "l.db-shm").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("log", ["none", "left", "left with its index"])
@pytest.mark.parametrize("mode", [0o555, 0o755])
def test_what_reads_works_and_what_writes_is_refused(folder, tmp_path, log, mode):
    if log != "none":
        leave_log(folder, index=log != "left")
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(mode)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".db"}
    words = [sys.executable, DRIVER, folder / "l.db", folder / "schema.toml", elsewhere]
    done = subprocess.run(
        [*unprivileged(), *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    commands = ("verify", "show", "export", "backup", "price", "repeat")
    assert {name: found[name] for name in commands} == dict.fromkeys(commands, 0)
    assert found["answer"] == "2"
    assert found["rows"] == (3 if log == "none" else 4)  # also what only the log holds
    for act in ("new", "budget"):
        assert found[act].startswith("Refused: The ledger ")
        assert "is read-only here" in found[act]
        assert "; hint: " in found[act]
    assert "at most 4 of the 7 bits" in found["summary"]
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".db"} == (
        before
    )
    if log == "none":
        assert not [name for name in found["left"] if "-" in name]  # nothing beside the file
    with open_ledger(elsewhere / "x.db") as copy:
        assert copy.verify().rows == found["rows"]


@pytest.fixture
def reading(folder, monkeypatch):
    """A ledger that says of itself that it cannot be written to."""
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    with open_ledger(folder / "l.db") as ledger:
        monkeypatch.undo()
        assert ledger.store.only_reads
        yield folder / "l.db", ledger


@pytest.mark.parametrize("lost", ["%", "copy %"], ids=["all", "the digest"])
def test_repeats_need_no_key(folder, monkeypatch, lost):
    """A ledger that was restored, or is of an earlier Hartley, has none and cannot draw one."""
    with open_ledger(folder / "l.db") as ledger, ledger.store.pool.lend() as connection:
        connection.execute("DELETE FROM hartley_private WHERE name LIKE ?", (lost,))
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    with Agent(None, SCHEMA, ledger=folder / "l.db") as agent:
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").value == 2
        with pytest.raises(Refused, match="is read-only here"):
            agent.ask("SELECT COUNT(*) FROM people WHERE age > 50")


WITHOUT_KEY = pytest.mark.parametrize(
    "error",
    [EngineError("does not answer", hint="-"), Refused("may not write its key", hint="-")],
    ids=["no answer", "no right to the key"],
)


@WITHOUT_KEY
def test_repeats_need_no_right_to_the_key(folder, monkeypatch, error):
    def secret(_):
        raise error

    monkeypatch.setattr("hartley.trusted.data.read_secret", secret)
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    with Agent(None, SCHEMA, ledger=folder / "l.db") as agent:
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").value == 2


@WITHOUT_KEY
def test_no_copy_is_opened_unchecked_where_charges_are_possible(folder, monkeypatch, error):
    def secret(_):
        raise error

    monkeypatch.setattr("hartley.trusted.data.read_secret", secret)
    with pytest.raises(type(error), match=error.problem):
        Agent(None, SCHEMA, ledger=folder / "l.db")


def test_what_others_write_meanwhile_is_seen(reading):
    path, ledger = reading
    with pytest.raises(Refused, match="is read-only here"):
        ledger.record("people", "version", {"rows": 3})
    assert ledger.head().sequence == 3
    with open_ledger(path) as writer:
        writer.record("people", "version", {"rows": 3})
        assert ledger.head().sequence == 4  # from the log of the other
        writer.record("people", "version", {"rows": 3})
        assert ledger.verify().rows == 5
    assert ledger.head().sequence == 5  # from the file, after the log is gone
    with open_ledger(path) as writer:
        writer.record("people", "version", {"rows": 3})
    assert ledger.verify().rows == 6


def test_an_older_format_is_not_migrated_where_nothing_can_be_written(reading, monkeypatch):
    path, ledger = reading
    ledger.close()
    with open_ledger(path) as writer, writer.store.pool.lend() as connection:
        connection.execute("UPDATE hartley_head SET format = 1")
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    with pytest.raises(EngineError, match="older format and is read-only"):
        open_ledger(path)


def test_a_copy_that_was_made_to_be_read_is_removed(folder, monkeypatch, tmp_path):
    leave_log(folder, index=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    monkeypatch.setattr(
        "hartley.trusted.ledger.sqlite.SqliteLedgerStore._reads_along",
        lambda *_: False,
        raising=True,
    )
    with open_ledger(folder / "l.db") as ledger:
        assert list(tmp_path.glob("hartley-*"))
        assert ledger.verify().rows == 4
    assert not list(tmp_path.glob("hartley-*"))


def test_a_server_that_only_follows_serves_what_is_known(on_server, about):
    address = on_server.fresh()
    with open_ledger(address) as ledger:
        ledger.record("people", "created", about())
        ledger.commit(ledger.reserve("people", None, [{"q": 1}], lambda _: 2), ["5"])
    follows = f"{address}%20-cdefault_transaction_read_only%3Don"
    with open_ledger(follows) as ledger:
        assert ledger.reserve("people", None, [{"q": 1}], lambda _: 2).answers == ("5",)
        assert ledger.verify().holds
        with pytest.raises(Refused, match="is read-only here"):
            ledger.reserve("people", None, [{"q": 2}], lambda _: 2)


@pytest.mark.slow
def test_a_file_that_nobody_may_read_is_a_sentence(folder):
    (folder / "l.db").chmod(0)
    code = "import sys; from hartley.cli.main import main; main()"
    words = [sys.executable, "-c", code, "ledger", "verify", str(folder / "l.db")]
    done = subprocess.run([*unprivileged(), *words], capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}
    assert "; hint: " in done.stderr
    assert "Something went wrong" not in done.stderr


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises((InputError, EngineError), match="; hint: "):
        open_ledger(tmp_path)
