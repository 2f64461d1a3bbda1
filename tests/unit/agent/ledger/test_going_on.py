"""Verifying from a saved head on: later rows are checked, earlier ones taken as saved."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from hartley.agent.ledger import open_ledger
from hartley.cli.ledger import ledger_app
from hartley.trusted.ledger.rows import FIELDS, Head

MARKS = ", ".join("?" * len(FIELDS))
INSERT = f"INSERT INTO hartley_entries ({', '.join(FIELDS)}) VALUES ({MARKS})"  # noqa: S608 - our own words
ROWS = 14


@pytest.fixture
def written(place, filled):
    address = place.fresh()
    with open_ledger(address) as ledger:
        filled(ledger)
        place.unlock(address)
        yield address, ledger.entries(), ledger


def head_at(entries, row):
    return Head(row, entries[row - 1].hash)


def test_from_every_row_on_the_rest_holds_and_ends_in_the_same_head(written):
    _, entries, ledger = written
    whole = ledger.verify()
    for row in range(1, ROWS + 1):
        report = ledger.verify(since=head_at(entries, row))
        assert report.holds, (row, report.problem)
        assert (report.rows, report.head) == (whole.rows, whole.head)
        assert report.since == head_at(entries, row)
        later = [entry for entry in entries[row:] if entry.kind == "reserve"]
        assert report.unpriced == len(later)  # no charge before is looked at again
        assert f"Rows 1 to {row} were taken from the saved head." in report.sentence
        assert f"{ROWS - row} rows after row {row}" in report.sentence


def put(place, address, *entries):
    for entry in entries:
        place.run(
            address,
            ("DELETE FROM hartley_entries WHERE sequence = ?", (entry.sequence,)),
            (INSERT, entry.fields),
        )


def test_every_later_change_is_found(place, written):
    address, entries, ledger = written
    for at in range(ROWS):
        changed = replace(entries[at], time="2001-01-01T00:00:00.000000Z")
        put(place, address, changed)
        for row in (1, 5, 9, 13):
            report = ledger.verify(since=head_at(entries, row))
            if at + 1 > row:
                assert (report.holds, report.first_bad) == (False, at + 1)
            elif at + 1 == row:
                assert not report.holds
        put(place, address, entries[at])
    assert ledger.verify(since=head_at(entries, 1)).holds


def rechained(entries, start):
    """Make the chain fit again from some row on."""
    found = list(entries[:start])
    for entry in entries[start:]:
        fitting = replace(entry, sequence=len(found) + 1, previous=found[-1].hash)
        found.append(replace(fitting, hash=fitting.expected_hash))
    return found


@pytest.mark.parametrize(
    "forgery",
    [
        (5, "cells", "2", "1"),
        (8, "cells", "3", "2"),
        (5, "content", '"fresh":[1]', '"fresh":[0,1]'),  # what was paid for before the head
        (6, "content", '"0"', '"7x"'),
        (12, "state", '"spent":"', '"spent":"1'),
        (9, "content", '"bits":"15"', '"bits":"1"'),
    ],
)
def test_a_forged_later_row_with_fitting_hashes_is_found_by_what_it_says(place, written, forgery):
    row, name, old, new = forgery
    address, entries, ledger = written
    value = getattr(entries[row - 1], name)
    assert old in value
    rows = list(entries)
    rows[row - 1] = replace(entries[row - 1], **{name: value.replace(old, new)})
    rows = rechained(rows, row - 1)
    put(place, address, *rows[row - 1 :])
    place.run(address, ("UPDATE hartley_head SET hash = ?", (rows[-1].hash,)))
    report = ledger.verify(since=head_at(entries, 4))
    assert (report.holds, report.first_bad) == (False, row)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM hartley_asked WHERE sequence = 12",
        "INSERT INTO hartley_asked VALUES ('ab', '', 12)",
        "UPDATE hartley_answers SET answer = '6' WHERE sequence = 6",
        "UPDATE hartley_head SET hash = 'x'",
        "UPDATE hartley_head SET sequence = 13",
    ],
)
def test_what_lies_beside_the_later_rows_is_compared(place, written, statement):
    address, entries, ledger = written
    place.run(address, (statement, ()))
    assert not ledger.verify(since=head_at(entries, 5)).holds


def test_a_head_that_is_not_in_the_chain_is_refused(written):
    _, entries, ledger = written
    for wrong in (Head(5, "0" * 64), Head(99, entries[-1].hash), Head(5, entries[5].hash)):
        report = ledger.verify(since=wrong)
        assert not report.holds
        assert "saved head" in report.problem


def test_a_used_version_and_an_answer_of_before_are_remembered(place, written):
    """The state that later rows build on is in the rows before the head."""
    _, entries, ledger = written
    head = head_at(entries, ROWS)
    paid = ledger.reserve("people", "ann", [{"q": 50}], lambda _: 2)
    ledger.commit(paid, ["1"])
    ledger.record("people", "version", {"rows": 3})
    assert ledger.verify(since=head).holds
    extended = ledger.entries()
    used = json.loads(entries[0].content)["version"]
    new = json.loads(extended[-1].content)["version"]
    forged = replace(
        extended[-1],
        content=extended[-1].content.replace(new, used),
        state=extended[-1].state.replace(new, used),
    )
    rows = rechained([*extended[:-1], forged], len(extended) - 1)
    put(place, written[0], rows[-1])
    place.run(written[0], ("UPDATE hartley_head SET hash = ?", (rows[-1].hash,)))
    report = ledger.verify(since=head)
    assert "version that was used before" in report.problem


def test_the_command_says_what_was_checked(tmp_path, filled):
    with open_ledger(tmp_path / "l.db") as ledger:
        filled(ledger)
        ledger.save_head(tmp_path / "head")
        ledger.record("people", "version", {"rows": 3})
    words = ["verify", str(tmp_path / "l.db"), "--from", str(tmp_path / "head")]
    text = CliRunner().invoke(ledger_app, [*words, "--text"]).stdout
    assert "The chain is not checked in full: the charge of row 15 was not computed" in text
    assert "Rows 1 to 14 were taken from the saved head" in text
    content = json.loads(CliRunner().invoke(ledger_app, [*words, "--json"]).stdout)
    assert (content["taken_from_saved_head"], content["rows"], content["holds"]) == (14, 15, False)
