"""Every change of a row behind the ledger's back is found, and the first bad row is named."""

import random
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from hartley.agent.ledger import open_ledger
from hartley.agent.replay import replay
from hartley.errors import EngineError
from hartley.trusted.ledger.chain import add_row, find
from hartley.trusted.ledger.rows import BEFORE_THE_FIRST, FIELDS, Entry, Head, canonical
from hartley.trusted.ledger.state import one_part

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
    "statement",
    [
        "DELETE FROM hartley_asked WHERE sequence = 3",
        "UPDATE hartley_asked SET account = 'eve' WHERE sequence = 3",
        "UPDATE hartley_asked SET sequence = sequence + 1",
        "INSERT INTO hartley_asked VALUES ('ab', '', 3)",
        "DELETE FROM hartley_answers",
        "UPDATE hartley_answers SET answer = '6' WHERE answer = '5'",
        "INSERT INTO hartley_answers VALUES ('ab', '1', 3)",
        "UPDATE hartley_head SET sequence = 13",
        "UPDATE hartley_head SET hash = 'x'",
    ],
)
def test_a_change_of_what_lies_beside_the_rows_is_found(place, written, statement):
    address, _, ledger = written
    place.run(address, (statement, ()))
    assert not ledger.verify().holds


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


def rechained(entries):
    """Make the chain fit again after a change."""
    found = []
    for number, entry in enumerate(entries, 1):
        previous = found[-1].hash if found else BEFORE_THE_FIRST
        fitting = replace(entry, sequence=number, previous=previous)
        found.append(replace(fitting, hash=fitting.expected_hash))
    return found


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


def test_rows_that_only_look_like_rows_do_not_break_the_check(sample):
    for content in ("[]", "null", "1", '{"bits":"1/0"}', '{"a":1,"a":1}', "{", '"x"', "NaN"):
        for at in range(len(sample)):
            changed = replace(sample[at], content=content)
            _, report = replay(rechained([*sample[:at], changed]))
            assert report.first_bad == at + 1
    strange = Entry(*([1] + ["x"] * (len(FIELDS) - 1)))
    assert not replay([strange])[1].holds
    assert canonical({}) == "{}"
