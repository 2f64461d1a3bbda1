"""Ledgers in files: what is on the disk when the power fails, and files that can only be read."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from forgeries import q

from hartley import Agent, Schema, open_ledger
from hartley.errors import EngineError, Refused
from hartley.trusted.ledger import sqlite, sqlite as write_ahead_log
from hartley.trusted.ledger.ledger import hash_at

FRAME = 24 + 4096
"""Bytes of a page in a log."""


class Disk:
    """A ledger whose commits are watched, and the length of its log that is certainly on disk."""

    def __init__(self, folder, monkeypatch):
        self.path, self.log = folder / "ledger.db", folder / "ledger.db-wal"
        self.waits, self._copies = [], 0
        self._level, self._writing = {}, {}
        connect, flush = sqlite.SqliteLedgerStore._connect, os.fsync

        def watched(store):
            connection = connect(store)
            connection.set_trace_callback(lambda text: self._see(id(connection), text))
            return connection

        def fsync(handle):
            if os.fstat(handle).st_ino == self.log.stat().st_ino:
                self.waits.append("flush")
            flush(handle)

        monkeypatch.setattr(sqlite.SqliteLedgerStore, "_connect", watched)
        monkeypatch.setattr(write_ahead_log.os, "fsync", fsync)
        self.ledger = open_ledger(self.path)
        self.durable = self.log.stat().st_size
        self.file = self.path.read_bytes()

    def _see(self, connection, text):
        if text.startswith("PRAGMA synchronous"):
            self._level[connection] = text.rpartition(" ")[2]
        elif text == "BEGIN IMMEDIATE":
            self._writing[connection] = True
        elif text == "BEGIN":
            self._writing[connection] = False
        elif text == "COMMIT" and self._writing[connection]:
            self.waits.append(self._level.get(connection, "FULL"))

    def after(self, call):
        """Do something, and note what is on the disk afterwards."""
        self.waits.clear()
        result = call()
        if {"FULL", "flush"} & {*self.waits}:
            self.durable = self.log.stat().st_size
        return result

    def images(self, folder, order):
        """Yield ledgers as they may be found after the power failed now."""
        log = self.log.read_bytes()
        assert self.path.read_bytes() == self.file, "no page was copied to the file yet"
        cuts = {self.durable, len(log)} | {order.randrange(self.durable, len(log) + 1)}
        parts = [log[:cut] for cut in cuts]
        frames = range(self.durable, len(log), FRAME)
        missing = order.sample(frames, min(2, len(frames)))  # what came later is there
        parts += [log[:frame] + bytes(FRAME) + log[frame + FRAME :] for frame in missing]
        for part in parts:
            self._copies += 1
            copy = folder / f"copy{self._copies}.db"
            copy.write_bytes(self.file)
            copy.with_name(copy.name + "-wal").write_bytes(part)
            with open_ledger(copy) as opened:
                yield opened


@pytest.fixture
def disk(tmp_path, monkeypatch, about):
    made = Disk(tmp_path, monkeypatch)
    made.after(lambda: made.ledger.record("people", "created", about(60)))
    yield made
    made.ledger.close()


def reserve(ledger, number):
    return ledger.reserve("people", None, [{"q": number}], lambda _: 2)


def answer(number):
    return [str(number % 2)]


def test_an_answer_that_does_not_wait_is_seen_at_once_on_every_store(ledger, two):
    paid = ledger.reserve("people", None, q(1), two)
    entry = ledger.commit(paid, ["1"], durable=False)
    assert ledger.reserve("people", None, q(1), two).answers == ("1",)
    assert ledger.head().hash == entry.hash
    assert ledger.verify().holds


def test_only_the_rows_of_answers_do_not_wait_for_the_disk(disk):
    ledger = disk.ledger
    paid = disk.after(lambda: reserve(ledger, 1))
    assert disk.waits == ["FULL"]
    disk.after(lambda: ledger.commit(paid, ["1"], durable=False))
    assert disk.waits == ["NORMAL"]
    more = disk.after(lambda: reserve(ledger, 2))
    assert disk.waits == ["FULL"], "the connection that did not wait is used again"
    disk.after(lambda: ledger.commit(more, ["0"]))
    assert disk.waits == ["FULL"]


def test_a_head_that_is_given_out_is_on_the_disk(disk):
    ledger = disk.ledger
    paid = disk.after(lambda: reserve(ledger, 1))
    disk.after(ledger.head)
    assert disk.waits == [], "a charge is there already"
    disk.after(lambda: ledger.commit(paid, ["1"], durable=False))
    disk.after(ledger.head)
    assert disk.waits == ["flush"]
    disk.after(ledger.head)
    assert disk.waits == [], "and stays there"
    more = reserve(ledger, 2)
    disk.after(lambda: ledger.commit(more, ["0"]))
    disk.after(ledger.head)
    assert disk.waits == [], "this answer has waited itself"


def test_another_process_flushes_what_it_did_not_write(disk):
    paid = reserve(disk.ledger, 1)
    disk.ledger.commit(paid, ["1"], durable=False)
    with open_ledger(disk.path) as other:
        head = disk.after(other.head)
    assert disk.waits == ["flush"]
    assert head.sequence == 3


@pytest.mark.parametrize("what", ["verify", "export", "backup", "save_head"])
def test_what_is_kept_elsewhere_names_rows_on_the_disk(disk, tmp_path, what):
    ledger = disk.ledger
    ledger.commit(reserve(ledger, 1), ["1"], durable=False)
    given = [] if what == "verify" else [tmp_path / "given"]
    disk.after(lambda: getattr(ledger, what)(*given))
    assert "flush" in disk.waits


@pytest.mark.parametrize("seed", range(4))
def test_no_charge_is_lost_and_answers_are_found_again(disk, tmp_path, seed):
    order, ledger = random.Random(seed), disk.ledger  # noqa: S311 - random cases, not secrets
    certain, shown, heads, open_ = 1, {}, [], []
    lost = 0
    for number in range(14):
        act = order.choice(["ask", "ask", "ask", "charge", "finish", "event", "head"])
        if act in {"ask", "charge"}:
            paid = disk.after(lambda number=number: reserve(ledger, number))
            certain = paid.sequence
            open_.append((number, paid))
        if act == "event":
            about = {"analyst": f"a{number}", "bits": 1}
            certain = disk.after(lambda about=about: ledger.record("people", "allowance", about))
            certain = certain.sequence
        if act == "head":
            heads.append(disk.after(ledger.head))
            certain = heads[-1].sequence
        if act in {"ask", "finish"} and open_:
            asked, paid = open_.pop(order.randrange(len(open_)))
            done = answer(asked)
            disk.after(lambda paid=paid, done=done: ledger.commit(paid, done, durable=False))
            shown[asked] = done
        rows = ledger.entries()
        for found in disk.images(tmp_path, order):
            here = found.entries()
            assert here == rows[: len(here)]
            assert len(here) >= certain
            assert {entry.kind for entry in rows[len(here) :]} <= {"commit"}
            assert found.verify().holds
            lost += len(rows) - len(here)
            assert all(found.store.read(partial(hash_at, head=head)) == head.hash for head in heads)
            for asked, said in shown.items():
                again = reserve(found, asked)
                assert again.sequence is None, "it is paid for"
                assert again.cells == 1
                if again.answers == (None,):
                    assert found.commit(again, said) is not None
                else:
                    assert again.answers == tuple(said)
            assert found.verify().holds
    assert lost, "some answers were not on the disk"


def test_after_a_failed_flush_the_log_is_copied_before_the_next_charge(disk, tmp_path):
    ledger = disk.ledger
    ledger.commit(reserve(ledger, 1), ["1"], durable=False)

    def failing(_):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error

    with pytest.raises(EngineError, match="does not answer"):
        ledger.store.write(failing)
    # A reader that began before prevents that a page it needs is replaced.
    reader = sqlite3.connect(disk.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM hartley_entries").fetchone()
    reserve(ledger, 2)
    reader.close()
    alone = tmp_path / "alone.db"
    alone.write_bytes(disk.path.read_bytes())  # as if nothing of the log were on the disk
    with open_ledger(alone) as found:
        assert [entry.kind for entry in found.entries()] == ["created", "reserve", "commit"]
        assert found.verify().holds


def test_nothing_is_charged_while_the_log_cannot_be_copied(disk, monkeypatch):
    monkeypatch.setattr(sqlite, "bring_over", lambda _: False)
    disk.ledger.store._in_doubt = True
    for _ in range(2):
        with pytest.raises(EngineError, match="does not answer"):
            reserve(disk.ledger, 1)
    monkeypatch.undo()
    assert reserve(disk.ledger, 1).sequence == 2


def test_a_flush_that_fails_is_an_error_and_leaves_the_log_in_doubt(disk, monkeypatch):
    ledger = disk.ledger
    ledger.commit(reserve(ledger, 1), ["1"], durable=False)

    def fail(_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(write_ahead_log.os, "fsync", fail)
        with pytest.raises(EngineError, match="does not answer"):
            ledger.head()
    assert ledger.store._in_doubt
    assert ledger.head().sequence == 3
    reserve(ledger, 2)
    assert not ledger.store._in_doubt


# --- only reading ---

DRIVER = Path(__file__).with_name("only_reading.py")
CAPABILITIES = "-dac_override,-dac_read_search"
"""With these, root may write whatever the mode of a file says."""
PEOPLE = {
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
def prepared(tmp_path):
    """A folder of its own with a ledger, its schema and its copy; writable again in the end."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "schema.toml").write_text(Schema.read(PEOPLE).to_toml())
    with Agent({"age": [30, 45, 60]}, PEOPLE, ledger=home / "l.db", budget=4) as agent:
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
def test_what_reads_works_and_what_writes_is_refused(prepared, tmp_path, log, mode):
    if log != "none":
        leave_log(prepared, index=log != "left")
    for path in prepared.iterdir():
        path.chmod(0o444)
    prepared.chmod(mode)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    before = {path.name: path.read_bytes() for path in prepared.iterdir() if path.suffix == ".db"}
    words = [
        sys.executable,
        DRIVER,
        prepared / "l.db",
        prepared / "schema.toml",
        elsewhere,
    ]
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
    assert {
        path.name: path.read_bytes() for path in prepared.iterdir() if path.suffix == ".db"
    } == (before)
    if log == "none":
        assert not [name for name in found["left"] if "-" in name]  # nothing beside the file
    with open_ledger(elsewhere / "x.db") as copy:
        assert copy.verify().rows == found["rows"]


@pytest.fixture
def reading(prepared, monkeypatch):
    """A ledger that says of itself that it cannot be written to."""
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    with open_ledger(prepared / "l.db") as ledger:
        monkeypatch.undo()
        assert ledger.store.only_reads
        yield prepared / "l.db", ledger


@pytest.mark.parametrize("lost", ["%", "copy %"], ids=["all", "the digest"])
def test_repeats_need_no_key(prepared, monkeypatch, lost):
    """A ledger that was restored, or is of an earlier Hartley, has none and cannot draw one."""
    with (
        open_ledger(prepared / "l.db") as ledger,
        ledger.store.pool.lend() as connection,
    ):
        connection.execute("DELETE FROM hartley_private WHERE name LIKE ?", (lost,))
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    with Agent(None, PEOPLE, ledger=prepared / "l.db") as agent:
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").value == 2
        with pytest.raises(Refused, match="is read-only here"):
            agent.ask("SELECT COUNT(*) FROM people WHERE age > 50")


NO_KEY = [EngineError("does not answer", hint="-"), Refused("may not write its key", hint="-")]


@pytest.fixture(params=NO_KEY, ids=["no answer", "no right to the key"])
def error(request, prepared, monkeypatch):  # noqa: ARG001 - after it was prepared
    """What reading the key raises."""

    def secret(_):
        raise request.param

    monkeypatch.setattr("hartley.trusted.data.read_secret", secret)
    return request.param


@pytest.mark.usefixtures("error")
def test_repeats_need_no_right_to_the_key(prepared, monkeypatch):
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    with Agent(None, PEOPLE, ledger=prepared / "l.db") as agent:
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").value == 2


def test_no_copy_is_opened_unchecked_where_charges_are_possible(prepared, error):
    with pytest.raises(type(error), match=error.problem):
        Agent(None, PEOPLE, ledger=prepared / "l.db")


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


def test_a_copy_that_was_made_to_be_read_is_removed(prepared, monkeypatch, tmp_path):
    leave_log(prepared, index=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("hartley.trusted.ledger.sqlite.os.access", lambda *_: False)
    monkeypatch.setattr(
        "hartley.trusted.ledger.sqlite.SqliteLedgerStore._reads_along",
        lambda *_: False,
        raising=True,
    )
    with open_ledger(prepared / "l.db") as ledger:
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
def test_a_file_that_nobody_may_read_is_a_sentence(prepared):
    (prepared / "l.db").chmod(0)
    code = "import sys; from hartley.cli.main import main; main()"
    words = [sys.executable, "-c", code, "ledger", "verify", str(prepared / "l.db")]
    done = subprocess.run([*unprivileged(), *words], capture_output=True, text=True, check=False)
    assert done.returncode in {1, 2}
    assert "; hint: " in done.stderr
    assert "Something went wrong" not in done.stderr
