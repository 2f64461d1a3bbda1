"""Every edit of a ledger is found, and a ledger that grew is checked from a saved head on."""

import json
import random
from dataclasses import replace
from itertools import combinations

import pytest
from forgeries import ByType, compare, forged, problem_of, rechained
from hypothesis import given, strategies as st
from typer.testing import CliRunner

from hartley import open_ledger
from hartley.agent.replay import replay, verify_prices
from hartley.cli.ledger import ledger_app
from hartley.errors import EngineError
from hartley.trusted.ledger.chain import add_row, find
from hartley.trusted.ledger.rows import BEFORE_THE_FIRST, FIELDS, Entry, Head, canonical
from hartley.trusted.ledger.state import CONTENT, one_part

ROWS = 14
MARKS = ", ".join("?" * len(FIELDS))
INSERT = f"INSERT INTO hartley_entries ({', '.join(FIELDS)}) VALUES ({MARKS})"  # noqa: S608 - our own words


@pytest.fixture
def written(place, filled):
    """A ledger with rows that show all that can happen, its triggers gone."""
    address = place.fresh()
    with open_ledger(address) as ledger:
        assert filled(ledger) == ROWS
        assert ledger.verify().holds
        place.unlock(address)
        yield address, ledger.entries(), ledger


def store(place, address, entries):
    """Put other rows in the place of those that were written."""
    place.run(
        address,
        ("DELETE FROM hartley_entries", ()),
        *((INSERT, entry.fields) for entry in entries),
    )


def check(place, written, entries):
    store(place, written[0], entries)
    return written[2].verify()


def edits(entry):
    """Yield a row with one field changed, in several ways a field."""
    for name in FIELDS:
        value = getattr(entry, name)
        if name == "sequence":
            changed = [value + 1000, -value]
        else:
            changed = [value + " ", value[:-1], "x", "", value.upper(), value.replace("1", "2")]
            if value.isdigit():
                changed += [str(int(value) + 1), f"0{value}"]
        for other in changed:
            if other != value:
                yield name, replace(entry, **{name: other})


@pytest.mark.slow
def test_every_edit_of_a_single_field_is_found_in_its_row(place, written):
    entries = written[1]
    order = random.Random(4)  # noqa: S311 - nothing secret
    tried = 0
    for at, entry in enumerate(entries):
        found = list(edits(entry))
        if place.name == "postgres":  # each takes longer; the rows in memory are all tried below
            found = order.sample(found, 12)
        for name, changed in found:
            report = check(place, written, [*entries[:at], changed, *entries[at + 1 :]])
            assert not report.holds, (at, name)
            first = 1 if name == "sequence" and changed.sequence < 0 else at + 1
            assert report.first_bad == first, (at, name)
            tried += 1
    assert tried >= 150
    assert check(place, written, entries).holds


def test_every_removed_row_is_found(place, written):
    entries = written[1]
    for at in range(ROWS):
        report = check(place, written, entries[:at] + entries[at + 1 :])
        assert not report.holds
        assert report.first_bad == (at + 1 if at < ROWS - 1 else None)
    for length in range(ROWS):  # all of the last ones
        assert not check(place, written, entries[:length]).holds


def test_every_exchange_of_two_rows_is_found(place, written):
    entries = written[1]
    pairs = list(combinations(range(ROWS), 2))
    if place.name == "postgres":
        pairs = pairs[::5]
    for one, other in pairs:
        rows = list(entries)
        rows[one] = replace(entries[other], sequence=entries[one].sequence)
        rows[other] = replace(entries[one], sequence=entries[other].sequence)
        report = check(place, written, rows)
        assert not report.holds
        assert report.first_bad == one + 1


def test_every_inserted_row_is_found(place, written):
    entries = written[1]
    for at in range(ROWS + 1):
        last = entries[at - 1] if at else None
        sound = replace(
            entries[5],
            sequence=at + 1,
            previous=last.hash if last else BEFORE_THE_FIRST,
        )
        sound = replace(sound, hash=sound.expected_hash)  # even with a hash that fits
        later = [replace(entry, sequence=entry.sequence + 1) for entry in entries[at:]]
        assert not check(place, written, [*entries[:at], sound, *later]).holds
    for number in (0, -1, -(2**63)):
        assert check(place, written, [replace(sound, sequence=number), *entries]).first_bad == 1


@pytest.mark.parametrize(
    ("statement", "later"),
    [
        ("DELETE FROM hartley_asked WHERE sequence = 3", False),
        ("DELETE FROM hartley_asked WHERE sequence = 12", True),
        ("UPDATE hartley_asked SET account = 'eve' WHERE sequence = 3", False),
        ("UPDATE hartley_asked SET sequence = sequence + 1", True),
        ("INSERT INTO hartley_asked VALUES ('ab', '', 3)", False),
        ("INSERT INTO hartley_asked VALUES ('ab', '', 12)", True),
        ("DELETE FROM hartley_answers", True),
        ("UPDATE hartley_answers SET answer = '6' WHERE answer = '5'", False),
        ("UPDATE hartley_answers SET answer = '6' WHERE sequence = 6", True),
        ("INSERT INTO hartley_answers VALUES ('ab', '1', 3)", False),
        ("UPDATE hartley_head SET sequence = 13", True),
        ("UPDATE hartley_head SET hash = 'x'", True),
    ],
)
def test_a_change_of_what_lies_beside_the_rows_is_found(place, written, statement, later):
    address, entries, ledger = written
    place.run(address, (statement, ()))
    assert not ledger.verify().holds
    assert not (later and ledger.verify(since=head_at(entries, 5)).holds)


def test_a_ledger_that_lost_its_last_rows_takes_no_more(place, written):
    address, entries, ledger = written
    for rows in (entries[:-1], [], [*entries[:-1], replace(entries[-1], state="{}")]):
        store(place, address, rows)
        with pytest.raises(EngineError, match=r"lacks rows|cannot be used"):
            ledger.record("third", "created", {"bits": 1, "schema": {}})
        with open_ledger(address) as other, pytest.raises(EngineError, match="cannot be used"):
            other.record("third", "created", {"bits": 1, "schema": {}})


def test_rows_cannot_be_changed_by_accident(place, filled):
    address = place.fresh()
    with open_ledger(address) as ledger:
        filled(ledger)
    for statement in (
        "UPDATE hartley_entries SET cells = '1'",
        "UPDATE hartley_entries SET cells = '1' WHERE sequence = 3",
        "DELETE FROM hartley_entries",
        "DELETE FROM hartley_entries WHERE sequence = 14",
    ):
        with pytest.raises(Exception, match="never"):
            place.run(address, (statement, ()))
    with open_ledger(address) as ledger:
        assert ledger.verify().holds


# --- whoever computes the hashes anew ------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    from pathlib import Path

    folder = Path(tmp_path_factory.mktemp("sample"))
    with open_ledger(folder / "ledger.db") as ledger:
        ledger.record("p", "created", {"bits": 6, "schema": {}, "rows": 1})
        ledger.record("p", "allowance", {"analyst": "ann", "bits": 3})
        for key in range(4):
            who = "ann" if key % 2 else None
            paid = ledger.reserve("p", who, [{"q": key}, {"q": 10}], lambda new: 1 + len(new))
            ledger.commit(paid, [str(key), "3"])
        entries = ledger.entries()
    assert replay(entries)[1].holds
    return entries


FORGED = ["time", "dataset", "analyst", "account", "kind", "content", "cells", "account_cells"]


@given(
    st.integers(0, 9),
    st.sampled_from([*FORGED, "schema", "rules", "state"]),
    st.text("123eva{}", max_size=3),
)
def test_a_forged_row_with_fitting_hashes_is_found_by_what_it_says(sample, at, name, value):
    changed = replace(sample[at], **{name: value})
    _, report = replay(rechained([*sample[:at], changed, *sample[at + 1 :]]))
    harmless = name == "time" or changed == sample[at]
    # Whose allowance is not charged may be anybody; rules may change with any charge.
    harmless |= name == "analyst" and sample[at].account == "" and sample[at].kind != "created"
    harmless |= name == "rules" and sample[at].kind == "reserve"
    assert harmless or not report.holds


@given(st.data())
def test_a_changed_charge_with_fitting_hashes_is_found(sample, data):
    at = data.draw(st.sampled_from([n for n, e in enumerate(sample) if e.kind == "reserve"]))
    name = data.draw(st.sampled_from(["cells", "account_cells"]))
    value = data.draw(st.integers(-3, 70).map(str))
    changed = replace(sample[at], **{name: value})
    _, report = replay(rechained([*sample[:at], changed, *sample[at + 1 :]]))
    assert report.holds == (changed == sample[at])


@given(st.data())
def test_removed_or_moved_rows_with_fitting_hashes_are_found_unless_they_are_the_last(sample, data):
    order = data.draw(st.permutations(range(len(sample))))
    kept = order[: data.draw(st.integers(1, len(sample)))]
    _, report = replay(rechained([sample[at] for at in kept]))
    # The answer to another question may as well come earlier or later, or be lost.
    told = [at for at in kept if sample[at].kind != "commit"]
    if told != list(range(told[-1] + 1 if told else 0)) and not answers_left_out(sample, told):
        assert not report.holds


def answers_left_out(sample, told):
    wanted = [at for at, entry in enumerate(sample) if entry.kind != "commit"]
    return told == wanted[: len(told)]


FORGERIES = {
    "the account paid already": ({"q": 1}, [], 1, 2),
    "everybody paid already": ({"q": 1}, [0], 2, 2),
    "nobody paid yet": ({"q": 2}, [], 1, 2),
    "no cell at all": ({"q": 2}, [0], 0, 1),
    "more than is left": ({"q": 2}, [0], 9, 9),
    "more than is left of the account": ({"q": 2}, [0], 2, 9),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_charge_that_the_ledger_would_not_make_is_found(place, about, name):
    question, fresh, cells, account_cells = FORGERIES[name]

    def forge(transaction):
        at = find(transaction, "people", "ann")
        after = replace(
            at,
            state=at.state.after(one_part(cells), at.state.rules),
            account=at.account.charged(one_part(account_cells)),
        )
        told = {"fresh": fresh, "questions": [question], "version": at.state.version}
        add_row(transaction, after, "reserve", told, cells=cells, account_cells=account_cells)

    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(4))
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 4})
        ledger.reserve("people", "ann", [{"q": 1}], lambda _: 2)
        assert ledger.verify().holds
        ledger.store.write(forge)
        assert ledger.verify().first_bad == 4


def test_a_saved_head_finds_whatever_was_forged_before_it(place, written):
    address, entries, ledger = written
    last = entries[-1]
    head = Head(last.sequence, last.hash)
    forged = rechained([replace(entries[0], time="2001-01-01T00:00:00.000000Z"), *entries[1:]])
    store(place, address, forged)
    place.run(address, ("UPDATE hartley_head SET hash = ?", (forged[-1].hash,)))
    assert ledger.verify().holds  # nothing within shows it
    report = ledger.verify(head=head)
    assert not report.holds
    assert "history was replaced" in report.problem


def test_prices_are_computed_again_where_they_can_be(place, filled):
    with open_ledger(place.fresh()) as ledger:
        filled(ledger)
        seen = []

        def reprice(schema, questions, rules):
            seen.append((schema["name"] if schema else None, rules))
            return None if questions == [{"q": 1}] else 2 * len(questions)

        report = ledger.verify(reprice)
        assert (report.holds, report.intact, report.unchecked) == (False, True, (8,))
        assert (report.repriced, report.unpriced) == (3, 1)
        assert set(seen) == {("people", "1"), (None, "1")}
        wrong = ledger.verify(lambda _, questions, __: 3 * len(questions))
    assert not wrong.holds
    assert wrong.first_bad == 3
    assert "a price that differs" in wrong.problem


def test_a_row_that_only_looks_like_one_does_not_break_the_check():
    assert not replay([Entry(*([1] + ["x"] * (len(FIELDS) - 1)))])[1].holds


# --- going on ---


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
    rows = rechained(rows)
    put(place, address, *rows[row - 1 :])
    place.run(address, ("UPDATE hartley_head SET hash = ?", (rows[-1].hash,)))
    report = ledger.verify(since=head_at(entries, 4))
    assert (report.holds, report.first_bad) == (False, row)


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
    rows = rechained([*extended[:-1], forged])
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


# --- verifiers agree ---

SCHEMA = {"table": {"name": "p", "population": "town"}}


def write(ledger):
    """Let every kind of row happen: 14 rows."""
    ledger.record("town", "population", {"bits": 40})
    ledger.record("p", "created", {"bits": 20, "schema": SCHEMA, "rows": 9, "open_factor": 2})
    ledger.record("p", "allowance", {"analyst": "ann", "bits": "9/2"})
    ledger.record("p", "budget", {"bits": 21})
    ledger.record("p", "period", {"per": "year", "bits": 12})
    first = ledger.reserve("p", None, [{"q": 1}, {"q": 2}], lambda new: 2 * len(new))
    ledger.commit(first, ["0", None])
    ledger.record("q", "created", {"bits": 9, "schema": {}, "rows": None})
    ledger.reserve("q", None, [{"q": 1}], lambda _: 3)
    told = ledger.reserve("p", None, [{"q": 3}], ByType(2, 4, 1), rules="3").sequence
    ledger.reserve("p", None, [{"q": 4}], ByType(3, 1, given=(told,)), rules="3")
    ledger.record("p", "version", {"rows": 10})
    ledger.record("p", "schema", {"schema": {**SCHEMA, "x": 1}})
    ledger.record("p", "erasure", {"rows": 8})
    return ledger.entries()


@pytest.fixture(scope="module")
def rows(folder):
    with open_ledger(folder / "agree.db") as ledger:
        return write(ledger)


POPULATION, CREATED, ALLOWANCE, BUDGET, PERIOD, RESERVE, COMMIT = range(7)
OTHER_RESERVE, PARTED, GIVEN, VERSION, NEW_SCHEMA, ERASURE = range(8, 14)


def without(entry, *words):
    """Leave fields out of a content."""
    content = {word: value for word, value in entry.told.items() if word not in words}
    return replace(entry, content=canonical(content))


def with_parts(entry, **lie):
    """Change the parts of a row's price."""
    return forged(entry, content={"parts": {**entry.told["parts"], **lie}})


FORGED_ALIKE = {
    # Fields that no ledger writes, and fields that are missing.
    **{
        f"unknown field in row {row + 1}": (row, lambda e: forged(e, content={"secret": "Ann"}))
        for row in (*range(7), *range(8, 14))
    },
    "no rows for the account": (GIVEN, lambda e: without(e, "account_given")),
    "no rows for the dataset": (GIVEN, lambda e: without(e, "given")),
    "parts without rows": (GIVEN, lambda e: without(e, "given", "account_given")),
    "no promise": (BUDGET, lambda e: without(e, "promise")),
    "no bits before": (ALLOWANCE, lambda e: without(e, "before")),
    "no open charge": (VERSION, lambda e: without(e, "open_charge")),
    "rows without a version": (NEW_SCHEMA, lambda e: forged(e, content={"rows": 3})),
    "a note about an erased person": (ERASURE, lambda e: forged(e, content={"note": "Ann left"})),
    # Numbers in another spelling, and values of another type.
    **{
        f"cells {text!r}": (RESERVE, lambda e, text=text: replace(e, cells=text))
        for text in ("+4", "04", " 4", "4 ", "4.0", "4_", "٤", "", "0", "-4")
    },
    "account cells +4": (RESERVE, lambda e: replace(e, account_cells="+4")),
    "factor +1": (VERSION, lambda e: forged(e, content={"open_factor": "+2"})),
    "charge 02": (VERSION, lambda e: forged(e, content={"open_charge": "02"})),
    **{
        f"bits {bits!r}": (BUDGET, lambda e, bits=bits: forged(e, content={"bits": bits}))
        for bits in ("21.0", "+21", "42/2", "2.1e1", 21, 21.0, "1e400000", "-1", "100001")
    },
    "bits of an allowance": (ALLOWANCE, lambda e: forged(e, content={"bits": "4.5"})),
    "bits before a budget": (BUDGET, lambda e: forged(e, content={"before": "19"})),
    "bits before an allowance": (ALLOWANCE, lambda e: forged(e, content={"before": "0"})),
    "bits before a population": (POPULATION, lambda e: forged(e, content={"before": "1"})),
    "bits before a period": (PERIOD, lambda e: forged(e, content={"before": "1 per year"})),
    "fresh 0.0": (RESERVE, lambda e: forged(e, content={"fresh": [0.0, 1]})),
    "fresh false": (RESERVE, lambda e: forged(e, content={"fresh": [False, True]})),
    "fresh as an object": (OTHER_RESERVE, lambda e: forged(e, content={"fresh": {}})),
    "questions as an object": (OTHER_RESERVE, lambda e: forged(e, content={"questions": {"1": 1}})),
    "given as an object": (PARTED, lambda e: forged(e, content={"given": {}})),
    "given 10.0": (GIVEN, lambda e: forged(e, content={"given": [10.0]})),
    "rows true": (
        VERSION,
        lambda e: forged(e, content={"rows": True}, state={"rows": True}),
    ),
    "rows -1": (VERSION, lambda e: forged(e, content={"rows": -1}, state={"rows": -1})),
    "rows 10.0": (VERSION, lambda e: forged(e, content={"rows": 10.0}, state={"rows": 10.0})),
    "version 1": (VERSION, lambda e: forged(e, content={"version": 1}, state={"version": 1})),
    "no name of a version": (
        VERSION,
        lambda e: forged(e, content={"version": ""}, state={"version": ""}),
    ),
    "a note that is no text": (RESERVE, lambda e: forged(e, content={"note": ["Ann"]})),
    "a promise that is no text": (CREATED, lambda e: forged(e, content={"promise": {"a": 1}})),
    "rules that are no text": (VERSION, lambda e: forged(e, content={"rules": 1})),
    # Prices of public types in another form.
    "parts with a run that differs in nothing": (
        PARTED,
        lambda e: with_parts(e, cuts={"region": [0, 1, 2, 5]}, cells=["2", "4", "1", "1"]),
    ),
    "parts that begin at 0.0": (PARTED, lambda e: with_parts(e, cuts={"region": [0.0, 1, 2]})),
    "parts that begin at 1": (PARTED, lambda e: with_parts(e, cuts={"region": [1, 2, 3]})),
    "parts that begin below 0, also in the state": (
        PARTED,
        lambda e: replace(
            e,
            content=e.content.replace("[0,1,2]", "[-1,0,1]"),
            state=e.state.replace("[0,1,2]", "[-1,0,1]"),
        ),
    ),
    "parts out of order": (PARTED, lambda e: with_parts(e, cuts={"region": [0, 2, 1]})),
    "parts of a column without runs": (
        PARTED,
        lambda e: with_parts(e, cuts={"region": [0, 1, 2], "sex": [0]}),
    ),
    "parts with a number too many": (PARTED, lambda e: with_parts(e, cells=["2", "4", "1", "1"])),
    "parts with a text": (PARTED, lambda e: with_parts(e, secret="Ann")),
    "parts whose largest is smaller": (PARTED, lambda e: with_parts(e, cells=["2", "3", "1"])),
    "parts with +2": (PARTED, lambda e: with_parts(e, cells=["+2", "4", "1"])),
    "parts as a text": (PARTED, lambda e: with_parts(e, cells="241")),
    "parts as an object": (PARTED, lambda e: with_parts(e, cells={"2": 0, "4": 0, "1": 0})),
    "no parts": (PARTED, lambda e: forged(e, content={"parts": None})),
    "parts without a number": (PARTED, lambda e: forged(e, content={"parts": {}})),
    "parts of nothing": (
        PARTED,
        lambda e: forged(e, content={"parts": {"cells": ["4"], "cuts": {}}}),
    ),
    # Answers.
    "an answer in a row about another dataset": (
        COMMIT,
        lambda e: replace(e, dataset="q"),
    ),
    "answers about unknown data": (COMMIT, lambda e: forged(e, content={"version": "ab" * 8})),
    "no answer": (COMMIT, lambda e: forged(e, content={"answers": {}})),
    "answers as a list": (COMMIT, lambda e: forged(e, content={"answers": []})),
}


def test_every_kind_of_row_is_forged(rows):
    assert {entry.kind for entry in rows} == CONTENT.keys() - {"migrated"}
    assert len(rows) == 14


def test_what_the_package_writes_holds_for_both(rows):
    assert problem_of(rows) is None
    assert replay(rows)[1].holds
    assert rechained(rows) == rows


@pytest.mark.parametrize("name", FORGED_ALIKE)
def test_both_refuse_it_at_the_same_row(rows, name):
    at, forge = FORGED_ALIKE[name]
    changed = forge(rows[at])
    assert changed != rows[at]
    entries = rechained([*rows[:at], changed, *rows[at + 1 :]])
    report = replay(entries)[1]
    assert not report.holds
    assert report.first_bad == at + 1
    assert problem_of(entries)[0] == at + 1


# --- every value in every row ---------------------------------------------------------------------

WRONG = (
    *(None, True, False, 0, 1, -1, 1.0, 2**64, 10**400, "", "0", "1", "-1", "+1", "01", "1.0"),
    *("1/2", "1e3", "\u0663", "nan", "null", "9" * 5000, "a\0b", [], {}, [[[[]]]], {"a": "1"}),
)
"""Numbers in other spellings and other types, among them what Python calls equal: 1, 1.0, True."""
FREE = {"note", "promise", "rules", "given", "account_given", "questions", "answers", "schema"}
"""What no balance is computed from; prices and answers are checked by others."""


def values_in(plain, path=()):
    """Yield the path to every value, and the value."""
    yield path, plain
    if isinstance(plain, (dict, list)):
        for word in plain if isinstance(plain, dict) else range(len(plain)):
            yield from values_in(plain[word], (*path, word))


def put_rows(plain, path, value):
    """Return a copy with another value at a path."""
    if not path:
        return value
    copied = plain.copy()
    copied[path[0]] = put_rows(plain[path[0]], path[1:], value)
    return copied


@pytest.mark.slow
def test_another_value_anywhere_is_refused_by_both_or_by_neither(rows):
    order = random.Random(15)  # noqa: S311 - nothing secret
    refused = 0
    for at, entry in enumerate(rows):
        for name in ("content", "state"):
            plain = json.loads(getattr(entry, name))
            for path, value in values_in(plain):
                text = canonical(put_rows(plain, path, order.choice(WRONG)))
                changed = replace(entry, **{name: text})
                said = compare(rechained([*rows[:at], changed]))
                same = text == canonical(plain)
                assert said is not None or same or path[0] in FREE, (entry.kind, path, value, text)
                refused += said is not None
    assert refused > 300


@pytest.mark.parametrize("name", ["unknown field in row 6", "cells '+4'", "fresh 0.0"])
def test_verifying_prices_refuses_it_in_a_store(rows, name, tmp_path):
    """As ``hartley ledger verify`` does; the indexes of the store fit its rows."""
    at, forge = FORGED_ALIKE[name]
    entries = rechained([*rows[:at], forge(rows[at]), *rows[at + 1 :]])
    with open_ledger(tmp_path / "ledger.db") as ledger:
        state = replay(entries[:at])[0]

        def keep(transaction):
            for entry in entries[: at + 1]:
                transaction.append(entry)
            for (digest, account), row in state.asked.items():
                transaction.note_asked([digest], account, row)

        ledger.store.write(keep)
        assert verify_prices(ledger).first_bad == at + 1
