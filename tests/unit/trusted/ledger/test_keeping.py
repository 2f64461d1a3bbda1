"""Ledgers exported, backed up and restored, also from files that nobody should trust."""

import json
import sqlite3
import subprocess
import sys
from fractions import Fraction

import old_format
import pytest
from forgeries import q
from hypothesis import HealthCheck, given, settings, strategies as st
from typer.testing import CliRunner

import hartley
from hartley import open_ledger
from hartley.agent.ledger import read_head
from hartley.cli.commands import attack_app
from hartley.cli.ledger import _spent, ledger_app
from hartley.errors import EngineError, HartleyError, InputError, OptionError
from hartley.trusted.ledger.rows import Head
from hartley.trusted.ledger.sqlite import SqliteLedgerStore
from hartley.trusted.ledger.state import Balance
from hartley.trusted.ledger.store import LedgerStore


@pytest.fixture
def full(place, filled):
    """A ledger in which everything happened once."""
    with open_ledger(place.fresh()) as ledger:
        filled(ledger)
        yield ledger


# --- exports, heads, backups --------------------------------------------------------------------


def test_an_export_restores_the_same_rows_on_either_store(full, sqlite_place, tmp_path):
    assert full.export(tmp_path / "ledger.jsonl") == 14
    with open_ledger(sqlite_place.fresh()) as copy:
        done = copy.restore(tmp_path / "ledger.jsonl")
        assert (done.rows, done.added, done.forgotten) == (14, 14, 0)
        assert copy.entries() == full.entries()
        assert copy.head() == full.head()
        assert copy.state("people") == full.state("people")
        assert copy.verify(head=full.head()).holds
        assert copy.reserve("people", "ann", q(7), lambda _: 2).cells == 2
        copy.export(tmp_path / "again.jsonl")
    one, two = ((tmp_path / name).read_text() for name in ("ledger.jsonl", "again.jsonl"))
    assert two.splitlines()[1:15] == one.splitlines()[1:]


def test_a_backup_restores_the_same_rows(place, full, tmp_path):
    full.backup(tmp_path / "backup")
    before = (tmp_path / "backup").read_bytes()
    with open_ledger(place.fresh()) as copy:
        copy.restore(tmp_path / "backup")
        assert copy.entries() == full.entries()
        assert copy.verify().holds
    assert (tmp_path / "backup").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_an_older_backup_in_the_place_of_the_ledger_is_found_by_a_saved_head(place, full, tmp_path):
    full.backup(tmp_path / "old")
    full.reserve("people", "bob", q(8), lambda _: 2)
    full.save_head(tmp_path / "head")
    with open_ledger(place.fresh()) as older:
        older.restore(tmp_path / "old")
        head = Head.from_json((tmp_path / "head").read_text())
        assert older.verify().holds
        report = older.verify(head=head)
        assert not report.holds
        assert "older ledger" in report.problem
        assert full.verify(head=head).holds


def test_a_restore_adds_rows_and_never_forgets_any_unless_forced(place, full, tmp_path):
    full.export(tmp_path / "short")
    full.commit(full.reserve("people", "bob", q(8), lambda _: 2), ["1"])
    full.export(tmp_path / "long")
    before = full.entries()
    with pytest.raises(OptionError, match="2 rows that the backup lacks"):
        full.restore(tmp_path / "short")
    assert full.entries() == before
    assert full.restore(tmp_path / "long").added == 0
    with open_ledger(place.fresh()) as other:
        other.restore(tmp_path / "short")
        assert other.restore(tmp_path / "long").added == 2
        assert other.entries() == before
        assert other.answers("people", q(8)) == ["1"]
    done = full.restore(tmp_path / "short", force=True)
    assert (done.rows, done.forgotten) == (14, 2)
    assert full.entries() == before[:14]
    assert full.verify().holds
    assert full.answers("people", q(8)) == [None]


def test_another_history_of_the_same_length_is_not_overwritten(full, place, filled, tmp_path):
    with open_ledger(place.fresh()) as other:
        filled(other)
        other.export(tmp_path / "other")
    with pytest.raises(OptionError, match="14 rows that the backup lacks"):
        full.restore(tmp_path / "other")


def test_a_backup_that_does_not_hold_changes_nothing(full, place, tmp_path):
    full.export(tmp_path / "good")
    lines = (tmp_path / "good").read_text().splitlines(keepends=True)
    bad = [*lines[:3], lines[3].replace("ann", "eve"), *lines[4:]]
    assert bad != lines
    (tmp_path / "bad").write_text("".join(bad))
    (tmp_path / "gap").write_text("".join(lines[:4] + lines[5:]))
    (tmp_path / "cut").write_text("".join(lines[:-1]))
    (tmp_path / "torn").write_text("".join(lines)[:-20])
    for name in ("bad", "gap", "cut", "torn"):
        with open_ledger(place.fresh()) as empty, pytest.raises(HartleyError, match="hint"):
            empty.restore(tmp_path / name)
        with open_ledger(place.fresh()) as empty:
            assert empty.head() is None


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "{}", '{"ledger":"hartley","format":2}\n{"sequence":1}', "é"]
)
def test_a_file_that_is_no_backup_is_refused(sqlite_place, tmp_path, text):
    (tmp_path / "file").write_text(text)
    with open_ledger(sqlite_place.fresh()) as ledger, pytest.raises(InputError):
        ledger.restore(tmp_path / "file")
    with open_ledger(sqlite_place.fresh()) as ledger, pytest.raises(InputError):
        ledger.restore(tmp_path / "no such file")


def test_no_file_is_overwritten_by_an_export_or_a_backup(full, tmp_path):
    (tmp_path / "file").write_text("mine")
    for act in (full.export, full.backup):
        with pytest.raises(OptionError, match="exists"):
            act(tmp_path / "file")
        with pytest.raises(OptionError, match="folder"):
            act(tmp_path / "nowhere" / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_an_export_tells_nothing_but_what_is_public(full, tmp_path):
    full.export(tmp_path / "ledger.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    told = {kind: set() for kind in ("version", "erasure", "reserve", "commit")}
    for line in lines[1:]:
        if line["kind"] in told:
            told[line["kind"]] |= json.loads(line["content"]).keys()
    assert told == {
        "version": {"rows", "version", "open_factor", "open_charge", "rules"},
        "erasure": {"rows", "version", "open_factor", "open_charge", "rules"},
        "reserve": {"questions", "fresh", "version", "note"},
        "commit": {"answers", "version"},
    }


# --- opening and migrating ----------------------------------------------------------------------


def test_rows_travel_between_stores_and_back_bit_for_bit(sqlite_place, on_server, filled, tmp_path):
    with open_ledger(on_server.fresh()) as there:
        with open_ledger(sqlite_place.fresh()) as here:
            filled(here)
            here.backup(tmp_path / "here")
            here.export(tmp_path / "here.jsonl")
        there.restore(tmp_path / "here")
        there.backup(tmp_path / "there")
        assert there.verify().holds
        there.reserve("people", "bob", q(3, 9), lambda _: 2)
        assert there.verify().holds
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here.jsonl").read_bytes()


def test_a_ledger_of_format_1_is_brought_to_the_present_one(place):
    address, rows = place.fresh(), old_format.rows()
    old_format.write(place, address, rows)
    with open_ledger(address) as ledger:
        report = ledger.verify()
        assert report.holds, report.problem
        assert report.rows == len(rows) + 1
        state = ledger.state("people")
        assert (state.open_factor, state.spent) == (9, 40)
        assert str(state.budget) == "25/2"
        assert (state.version, state.rows) == ("c" * 16, 50)
        assert state.schema == {"name": "people", "more": 1}
        first, second, third = ledger.history("people")
        assert (first.answers, first.note, first.cells) == (("7", "null"), "SELECT 1", 4)
        assert (second.answers, third.answers) == ((None,), (None,))
        assert [entry.time for entry in ledger.entries()][:-1] == [row[1] for row in rows]
        ledger.reserve("people", "ann", q(1), lambda _: 2)
        assert ledger.verify().holds
    with open_ledger(address) as again:
        assert again.head().sequence == len(rows) + 2


def test_a_head_saved_before_a_migration_can_still_be_checked(place):
    address, rows = place.fresh(), old_format.rows()
    old_format.write(place, address, rows)
    with open_ledger(address) as ledger:
        for row in rows:
            assert ledger.verify(head=Head(row[0], row[-1], 1)).holds
        assert not ledger.verify(head=Head(3, "0" * 64, 1)).holds
        assert not ledger.verify(head=Head(99, "0" * 64, 1)).holds


def test_a_broken_ledger_of_format_1_is_left_as_it_is(place):
    rows = old_format.rows()
    changed = (*rows[1][:5], "2", *rows[1][6:])
    for bad in ([rows[0], changed, *rows[2:]], rows[1:], [rows[0], *rows[2:]]):
        address = place.fresh()
        old_format.write(place, address, bad)
        with pytest.raises(EngineError, match="cannot be used"):
            open_ledger(address)
        assert len(place.run(address, ("SELECT * FROM hartley_entries", ()))) == len(bad)
        assert place.run(address, ("SELECT format FROM hartley_head", ()))[0][0] == 1


def test_an_empty_ledger_of_format_1_becomes_an_empty_one(place):
    address = place.fresh()
    old_format.write(place, address, [])
    with open_ledger(address) as ledger:
        assert ledger.verify().holds
        assert ledger.head() is None


@pytest.mark.parametrize(("version", "match"), [(3, "reads formats up to 2"), (0, "unknown")])
def test_an_unknown_format_is_refused_with_a_sentence(place, version, match):
    address = place.fresh()
    old_format.write(place, address, [], version=version)
    with pytest.raises(EngineError, match=match):
        open_ledger(address)


def test_what_is_no_ledger_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, and longer than a header" * 50)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    for name in ("text", "other.db", "nowhere/ledger.db"):
        with pytest.raises(InputError, match="; hint: "):
            open_ledger(tmp_path / name)
    for address in ("", ":memory:", "mysql://host/db", "sqlite://x"):
        with pytest.raises(OptionError):
            open_ledger(address)
    with pytest.raises(InputError):
        open_ledger(tmp_path / "absent.db", create=False)
    assert not (tmp_path / "absent.db").exists()


def test_a_server_that_is_not_there_is_an_error_without_the_password(on_server, tmp_path):
    with pytest.raises(EngineError, match="does not answer") as caught:
        open_ledger(f"postgresql://me:S3CRET@/db?host={tmp_path}")
    assert "S3CRET" not in str(caught.value)
    with pytest.raises(OptionError, match="cannot be read"):
        open_ledger("postgresql://host/db?nonsense=1")
    with pytest.raises(InputError, match="contains no ledger"):
        open_ledger(on_server.fresh(), create=False)


def test_a_lost_connection_is_replaced(on_server, about):
    address = on_server.fresh()
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    with open_ledger(address) as ledger:
        ledger.record("people", "created", about())
        for act in (
            lambda: ledger.reserve("people", "ann", q(1), lambda _: 2),
            lambda: ledger.state("people"),
            lambda: ledger.record("people", "version", {"rows": 3}),
        ):
            on_server.run(address, (end, ()))
            act()
        assert ledger.state("people").spent == 2
        assert ledger.verify().rows == 3


def test_a_charge_is_on_the_disk_before_it_counts(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger, ledger.store.pool.lend() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_charge_is_on_the_disk_of_the_server_whatever_its_default(on_server):
    address = on_server.fresh()
    on_server.run(address, ("ALTER DATABASE postgres SET synchronous_commit = off", ()))
    try:
        with open_ledger(address) as ledger, ledger.store.pool.lend() as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    finally:
        on_server.run(address, ("ALTER DATABASE postgres RESET synchronous_commit", ()))


def test_a_closed_ledger_leaves_one_file(tmp_path, filled):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        filled(ledger)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


def test_importing_the_ledger_loads_no_database():
    code = (
        "import sys, hartley.agent.ledger; "
        "print([m for m in ('sqlite3','psycopg','numpy','duckdb','ibis') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# --- commands -----------------------------------------------------------------------------------


def command(*words):
    return CliRunner().invoke(ledger_app, [str(word) for word in words])


@pytest.fixture
def file(tmp_path, filled):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        filled(ledger)
    return tmp_path / "ledger.db"


def test_verify_says_first_which_charges_it_could_not_compute_again(file):
    found = command("verify", file, "--json")
    assert found.exit_code == 1
    content = json.loads(found.stdout)
    assert (content["holds"], content["rows_intact"], content["rows"]) == (False, True, 14)
    charging = [1, 3, 5, 7, 8, 10, 11, 12, 13]
    assert content["rows_not_checked"] == [row for row in charging if row <= 14]
    assert command("verify", file, "--text").stdout.startswith("The chain is not checked in full")


def test_verify_names_the_first_bad_row_and_exits_with_1(file):
    connection = sqlite3.connect(file)
    connection.execute("DROP TRIGGER hartley_entries_stay")
    connection.execute("UPDATE hartley_entries SET cells = '1' WHERE sequence = 5")
    connection.commit()
    connection.close()
    found = command("verify", file, "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["first_bad_row"] == 5
    found = command("verify", file, "--text")
    assert found.exit_code == 1
    assert "row 5 was changed" in found.stdout


def test_show_tells_the_owner_everything_and_an_analyst_the_own(file):
    people = json.loads(command("show", file, "--json").stdout)["datasets"][1]
    assert people["balance"]["bits"] == "15"
    assert people["allowances"]["ann"] == {
        "bits": "9/2",
        "spent_cells": "4",
        "spent_bits": 2.0,
        "remaining_bits": pytest.approx(2.32, abs=0.01),
    }
    assert [charge["analyst"] for charge in people["charges"]] == ["ann", "bob", "bob"]
    text = command("show", file, "--text").stdout
    assert "SELECT COUNT(*) FROM other" in text
    own = command("show", file, "--dataset", "people", "--analyst", "ann", "--text").stdout
    assert "people, ann: 2 of 4.5 bits spent, 2.321 left (the largest price that fits" in own
    assert "bob" not in own
    shown = command("show", file, "--dataset", "people", "--analyst", "ann", "--json").stdout
    assert json.loads(shown)["datasets"][0].keys() == {"name", "analyst", "balance", "charges"}


@pytest.mark.parametrize(
    ("bits", "spent", "words"),
    [
        (16, 1 << 15, "15 of 16 bits spent, 1 left"),
        (16, 33_371, "15.027 of 16 bits spent, 0 left (the cheapest question costs 1 bit)"),
        (16, 13_100, "13.678 of 16 bits spent, 2.321 left"),
        (4, 3, "1.585 of 4 bits spent, 2.321 left (the largest price that fits: answers are"),
    ],
)
def test_bits_that_are_neither_spent_nor_left_are_explained(bits, spent, words):
    said = _spent(Balance(Fraction(bits), spent))
    assert said.startswith(words)
    assert ("(" in said) == ("(" in words)


def test_export_backup_and_restore_are_commands(file, tmp_path):
    found = command("export", file, tmp_path / "x.jsonl", "--head", tmp_path / "head", "--text")
    assert found.exit_code == 0, found.output
    assert "14 rows" in found.stdout
    assert command("backup", file, tmp_path / "x.db", "--json").exit_code == 0
    for source in ("x.jsonl", "x.db"):
        target = tmp_path / f"new-{source}.db"
        found = command("restore", tmp_path / source, target, "--json")
        assert json.loads(found.stdout)["added"] == 14
        found = json.loads(command("verify", target, "--head", tmp_path / "head", "--json").stdout)
        assert (found["rows_intact"], found["rows"]) == (True, 14)
    with open_ledger(file) as ledger:
        ledger.record("people", "version", {"rows": 3})
    refused = command("restore", tmp_path / "x.db", file)
    assert isinstance(refused.exception, OptionError)
    forced = command("restore", tmp_path / "x.db", file, "--force", "--text")
    assert "1 rows were lost" in forced.stdout


def test_commands_do_not_create_what_they_look_at(tmp_path):
    for words in (["verify"], ["show"], ["export", tmp_path / "x"], ["backup", tmp_path / "x"]):
        found = command(words[0], tmp_path / "absent.db", *words[1:])
        assert isinstance(found.exception, InputError)
    assert list(tmp_path.iterdir()) == []


# --- auditable ledger ---


@pytest.fixture
def path(tmp_path):
    """A ledger with one dataset, a charge and its answer."""
    with hartley.open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("people", "created", {"bits": 3, "schema": {"name": "people"}, "rows": 5})
        paid = ledger.reserve("people", "ann", [{"count": "all"}], lambda _: 2)
        ledger.commit(paid, ["7"])
    return tmp_path / "ledger.db"


def test_both_ledgers_charge_alike(path):
    with hartley.open_ledger(path, create=False) as ledger, hartley.open_ledger(path) as other:
        assert isinstance(ledger, hartley.Ledger)
        again = ledger.reserve("people", "bob", [{"count": "all"}], lambda _: 2)
        assert again.answers == ("7",)
        ledger.reserve("people", "bob", [{"count": "old"}], lambda _: 2)
        assert other.state("people") == ledger.trusted.state("people")
        assert [charge.cells for charge in other.history("people")] == [2, 2]
        assert other.overview("people").batches == 2
        assert other.verify().holds


def test_a_store_that_is_no_file_is_backed_up_as_lines(path, tmp_path, monkeypatch):
    whole, lines, fresh = (tmp_path / name for name in ("whole.db", "lines.jsonl", "fresh.db"))
    with hartley.open_ledger(path) as ledger:
        ledger.backup(whole)
        assert whole.read_bytes().startswith(b"SQLite format 3")
        monkeypatch.setattr(SqliteLedgerStore, "copy_to", LedgerStore.copy_to)
        ledger.backup(lines)
        ledger.export(tmp_path / "export.jsonl")
        assert lines.read_bytes() == (tmp_path / "export.jsonl").read_bytes()
        head = ledger.head()
    with hartley.open_ledger(fresh) as restored:
        assert restored.restore(lines).head == head


# --- hostile ---

DEEP = "[" * 100_000
HEADS = {
    "empty": b"",
    "no JSON": b"head",
    "not UTF-8": b'\xff\xfe{"format":2}',
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "deep": DEEP.encode(),
    "deep inside": b'{"format":2,"hash":' + DEEP.encode(),
    "a huge number": b'{"format":2,"hash":"ab","sequence":' + b"9" * 5000 + b"}",
    "more than a row": b'{"format":2,"hash":"ab","sequence":9223372036854775808}',
    "infinite": b'{"format":2,"hash":"ab","sequence":1e999}',
    "a fraction": b'{"format":2,"hash":"ab","sequence":1.5}',
    "text": b'{"format":2,"hash":"ab","sequence":"1"}',
    "true": b'{"format":2,"hash":"ab","sequence":true}',
    "none": b'{"format":2,"hash":"ab","sequence":0}',
    "below": b'{"format":2,"hash":"ab","sequence":-1}',
    "no hash": b'{"format":2,"sequence":1}',
    "a hash that is none": b'{"format":2,"hash":["ab"],"sequence":1}',
    "a format that is none": b'{"format":{"a":1},"hash":"ab","sequence":1}',
    "a format below": b'{"format":-1,"hash":"ab","sequence":1}',
    "two": b'{"format":2,"hash":"ab","sequence":1}{"format":2,"hash":"ab","sequence":1}',
    "long": b" " * 20_000 + b'{"format":2,"hash":"ab","sequence":1}',
}


def says(app, *words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("option", ["--head", "--from"])
def test_a_head_that_is_none_is_refused(file, tmp_path, name, option):
    (tmp_path / "head").write_bytes(HEADS[name])
    found = says(ledger_app, "verify", file, option, tmp_path / "head")
    assert isinstance(found.exception, InputError)
    assert "; hint: " in str(found.exception)


@pytest.mark.parametrize("option", ["--head", "--from"])
@pytest.mark.parametrize("name", [".", "nowhere", "nowhere/head", "x" * 300])
def test_a_head_that_is_no_file_is_refused(file, tmp_path, option, name):
    found = says(ledger_app, "verify", file, option, tmp_path / name)
    assert isinstance(found.exception, InputError)


@pytest.mark.parametrize(
    "head",
    [
        Head(10**9, "ab"),
        Head(2**63 - 1, ""),
        Head(3, "\u00e9\ud800"),
        Head(1, "ab", 1),
        Head(1, "ab", 7),
        Head(1, "ab", 10**30),
    ],
    ids=[1, 2, 3, 4, 5, 6],
)
def test_a_head_of_another_ledger_is_reported(place, filled, head):
    with open_ledger(place.fresh()) as ledger:
        filled(ledger)
        for report in (ledger.verify(head=head), ledger.verify(since=head)):
            assert not report.holds
            assert report.problem


@pytest.mark.parametrize("values", [(0, "ab"), (2**63, "ab"), ("1", "ab"), (1, b"ab"), (True, "a")])
def test_a_head_that_is_none_is_not_made(values):
    with pytest.raises(InputError, match="not in the format that a ledger writes"):
        Head(*values)


def test_a_head_in_a_file_is_read_back(file, tmp_path):
    with open_ledger(file) as ledger:
        assert read_head_of(ledger, tmp_path) == ledger.head()


def read_head_of(ledger, folder):
    ledger.save_head(folder / "head")
    return read_head(folder / "head")


# --- exports ------------------------------------------------------------------------------------


def lines(file, tmp_path):
    with open_ledger(file) as ledger:
        ledger.export(tmp_path / "good")
    return (tmp_path / "good").read_bytes().splitlines(keepends=True)


def hostile(good):
    """Yield contents of exports that somebody made up."""
    first = json.loads(good[0])
    yield DEEP.encode()
    yield good[0] + DEEP.encode()
    yield good[0] + b"\xff\xfe\n"
    yield b"\xff" + good[0]
    for name in ("ledger", "format", "sequence", "hash"):
        for value in (None, True, -1, 1.5, 10**400, "x", [], {}, "\ud800", "\0"):
            yield json.dumps({**first, name: value}).encode() + b"\n" + b"".join(good[1:])
        yield json.dumps({k: v for k, v in first.items() if k != name}).encode() + b"\n"
    row = json.loads(good[3])
    for name in row:
        for value in (None, True, -1, 1.5, 10**400, "x", [], {}, "\ud800", "\0", "9" * 5000):
            changed = json.dumps({**row, name: value}).encode() + b"\n"
            yield b"".join([*good[:3], changed, *good[4:]])
    yield b"".join([*good[:3], b"[]\n", *good[4:]])
    yield b"".join([*good[:3], b"\n", *good[4:]])
    yield b'{"format":2,"hash":"","ledger":"hartley","sequence":1e999}\n'
    yield good[0] + b'{"sequence":' + b"9" * 5000 + b"}\n"


@pytest.mark.slow
def test_no_made_up_export_is_restored_or_ends_in_a_traceback(file, place, tmp_path):
    tried = 0
    address = place.fresh()
    for content in hostile(lines(file, tmp_path)):
        (tmp_path / "bad").write_bytes(content)
        with open_ledger(address) as ledger:
            with pytest.raises(HartleyError, match="; hint: "):
                ledger.restore(tmp_path / "bad")
            assert ledger.head() is None
        tried += 1
    assert tried > 180


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_torn_export_ends_in_a_traceback(file, tmp_path, data):
    good = b"".join(lines(file, tmp_path)) if not (tmp_path / "good").exists() else (
        (tmp_path / "good").read_bytes()
    )  # fmt: skip
    start = data.draw(st.integers(0, len(good)))
    bad = (
        good[:start]
        + data.draw(st.binary(max_size=5))
        + good[start + data.draw(st.integers(0, 9)) :]
    )
    (tmp_path / "bad").write_bytes(bad)
    (tmp_path / "new.db").unlink(missing_ok=True)
    with open_ledger(tmp_path / "new.db") as ledger:
        try:
            ledger.restore(tmp_path / "bad")
        except HartleyError:
            assert ledger.head() is None
        else:
            assert ledger.verify().holds


def test_a_restore_from_what_is_no_file_is_a_sentence(tmp_path):
    for name in (".", "nowhere", "x" * 300):
        found = says(ledger_app, "restore", tmp_path / name, tmp_path / "new.db")
        assert isinstance(found.exception, InputError)


def test_a_backup_with_a_log_beside_it_is_restored_with_what_the_log_holds(tmp_path, filled):
    with open_ledger(tmp_path / "live.db") as live:
        filled(live)
        with open_ledger(tmp_path / "copy.db") as copy:  # while its log is not in its file yet
            assert (tmp_path / "live.db-wal").stat().st_size
            assert copy.restore(tmp_path / "live.db").rows == 14


# --- stores that somebody changed ---------------------------------------------------------------


def spoil(file, *statements):
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM hartley_head",
        "UPDATE hartley_head SET format = 'x'",
        "UPDATE hartley_head SET sequence = 'x'",
        "UPDATE hartley_head SET hash = x'00'",
        "UPDATE hartley_head SET sequence = -3",
        "DROP TABLE hartley_asked",
        "DROP TABLE hartley_entries",
    ],
)
def test_a_store_that_was_spoilt_is_a_sentence_in_every_command(file, tmp_path, statement):
    spoil(file, statement)
    acts = [
        (ledger_app, "verify", file),
        (ledger_app, "show", file),
        (ledger_app, "export", file, tmp_path / "x"),
        (ledger_app, "population", "town", "--budget", "3", file),
        (attack_app(), "reconstruction", file, "--dataset", "people"),
        (attack_app(), "differencing", file, "--dataset", "people"),
    ]
    for app, *words in acts:
        found = says(app, *words)
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            assert isinstance(found.exception, HartleyError), (words, found.exception)
        else:
            assert words[0] in {"export", "show", "population"} or found.exit_code == 1, words
    assert says(ledger_app, "verify", file).exit_code != 0


def test_a_server_without_the_note_is_a_sentence(on_server, filled):
    address = on_server.fresh()
    with open_ledger(address) as ledger:
        filled(ledger)
        on_server.run(address, ("DELETE FROM hartley_head", ()))
        for act in (ledger.head, ledger.verify, lambda: ledger.state("people")):
            with pytest.raises(EngineError, match="record of its last row is missing"):
                act()
    with pytest.raises(EngineError, match="record of its last row is missing"):
        open_ledger(address)


def test_a_ledger_that_is_made_again_on_its_server_takes_no_charge(on_server):
    """What was shown from the one before is not in it."""
    address, dataset = on_server.fresh(), {"bits": 8, "schema": {"name": "people"}, "rows": 5}
    with open_ledger(address) as opened, open_ledger(address) as other:
        opened.record("people", "created", dataset)
        opened.reserve("people", None, q(1), lambda _: 2)
        for table in ("entries", "asked", "answers", "head"):
            on_server.run(address, (f"DROP TABLE hartley_{table} CASCADE", ()))
        with pytest.raises(HartleyError):
            opened.reserve("people", None, q(2), lambda _: 2)
        with open_ledger(address) as again:
            again.record("people", "created", dataset)
        for act in (lambda: opened.reserve("people", None, q(2), lambda _: 2), opened.head):
            with pytest.raises(EngineError, match="lacks rows that it had"):
                act()
        assert other.history("people") == []


@pytest.mark.parametrize("attack", ["reconstruction", "differencing"])
def test_a_ledger_that_no_agent_wrote_is_not_attacked(file, attack):
    found = says(attack_app(), attack, file, "--dataset", "people")
    assert isinstance(found.exception, InputError)
    assert "No agent answered questions" in str(found.exception)


def test_a_damaged_file_is_a_sentence(file):
    content = bytearray(file.read_bytes())
    for start in range(4096, len(content), 2048):
        content[start : start + 600] = b"\xa5" * 600
    file.write_bytes(content)
    for words in (["verify", file], ["show", file]):
        found = says(ledger_app, *words)
        assert found.exit_code != 0
        assert isinstance(found.exception, (HartleyError, SystemExit))


# --- populations on the command line ------------------------------------------------------------


def test_a_population_is_set_shown_and_changed_by_commands(tmp_path):
    file = tmp_path / "new.db"
    made = says(ledger_app, "population", "town", "--budget", "3", file, "--text")
    assert made.exit_code == 0, made.exception
    assert "at most 8 different transcripts of all its datasets" in made.stdout
    with open_ledger(file) as ledger:
        schema = {"table": {"name": "a", "population": "town"}}
        ledger.record("a", "created", {"bits": 9, "schema": schema, "rows": 1})
        ledger.reserve("a", None, [{"q": 1}], lambda _: 4)
    shown = json.loads(says(ledger_app, "show", file, "--json").stdout)
    (town,) = shown["populations"]
    assert (town["name"], town["datasets"], town["balance"]["spent_bits"]) == ("town", ["a"], 2.0)
    assert shown["datasets"][0]["population"] == "town"
    text = says(ledger_app, "show", file, "--text").stdout
    assert "population town: 2 of 3 bits spent, 1 left; a" in text
    assert "1 of the budget of the population 'town' left" in text
    own = says(ledger_app, "show", file, "--analyst", "ann", "--json").stdout
    assert "populations" not in json.loads(own)
    changed = says(ledger_app, "population", "town", file, "--budget", "2", "--json")
    content = json.loads(changed.stdout)
    assert (content["before_bits"], content["balance"]["remaining_bits"]) == ("3", 0.0)
    refused = says(ledger_app, "population", "town", "--budget", "1", file)
    assert isinstance(refused.exception, OptionError)
    exchanged = says(ledger_app, "population", file, "--budget", "1", tmp_path / "town")
    assert isinstance(exchanged.exception, InputError)
    assert not (tmp_path / "town").exists()
