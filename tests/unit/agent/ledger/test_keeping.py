"""Exports, heads, backups, restores, migrations, and the commands for them."""

import json
import sqlite3
import subprocess
import sys

import old_format
import pytest
from typer.testing import CliRunner

from hartley.agent.ledger import open_ledger
from hartley.cli.ledger import ledger_app
from hartley.errors import EngineError, HartleyError, InputError, OptionError
from hartley.trusted.ledger.rows import Head


def q(*keys):
    return [{"q": key} for key in keys]


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
    assert "ann has spent 2 of 4.5 bits" in own
    assert "bob" not in own
    shown = command("show", file, "--dataset", "people", "--analyst", "ann", "--json").stdout
    assert json.loads(shown)["datasets"][0].keys() == {"name", "analyst", "balance", "charges"}


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
