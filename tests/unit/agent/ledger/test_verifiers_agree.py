"""The same forged ledgers through both verifiers: each is refused by both, at the same row."""

import json
import random
from dataclasses import replace

import pytest
from forgeries import compare, forged, problem_of, rechained

from hartley.agent.ledger import open_ledger
from hartley.agent.replay import replay, verify_prices
from hartley.trusted.ledger.charging import BatchPrices, RowPrice
from hartley.trusted.ledger.rows import canonical
from hartley.trusted.ledger.state import CONTENT
from hartley.trusted.pricing.regions import PublicParts

SCHEMA = {"table": {"name": "p", "population": "town"}}


class ByRegion(BatchPrices):
    """Prices that depend on the region, and name earlier rows."""

    by_holder = True

    def __init__(self, *cells, given=()):
        super().__init__()
        self._parts = PublicParts.of((("region", tuple(range(len(cells)))),), cells)
        self._given = given

    def compute(self, indices, holder):  # noqa: ARG002 - the same for everybody
        return RowPrice(self._parts.most, self._given, self._parts)


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
    told = ledger.reserve("p", None, [{"q": 3}], ByRegion(2, 4, 1), rules="3").sequence
    ledger.reserve("p", None, [{"q": 4}], ByRegion(3, 1, given=(told,)), rules="3")
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


FORGERIES = {
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


@pytest.mark.parametrize("name", FORGERIES)
def test_both_refuse_it_at_the_same_row(rows, name):
    at, forge = FORGERIES[name]
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


def put(plain, path, value):
    """Return a copy with another value at a path."""
    if not path:
        return value
    copied = plain.copy()
    copied[path[0]] = put(plain[path[0]], path[1:], value)
    return copied


@pytest.mark.slow
def test_another_value_anywhere_is_refused_by_both_or_by_neither(rows):
    order = random.Random(15)  # noqa: S311 - nothing secret
    refused = 0
    for at, entry in enumerate(rows):
        for name in ("content", "state"):
            plain = json.loads(getattr(entry, name))
            for path, value in values_in(plain):
                text = canonical(put(plain, path, order.choice(WRONG)))
                changed = replace(entry, **{name: text})
                said = compare(rechained([*rows[:at], changed]))
                same = text == canonical(plain)
                assert said is not None or same or path[0] in FREE, (entry.kind, path, value, text)
                refused += said is not None
    assert refused > 300


@pytest.mark.parametrize("name", ["unknown field in row 6", "cells '+4'", "fresh 0.0"])
def test_verifying_prices_refuses_it_in_a_store(rows, name, tmp_path):
    """As ``hartley ledger verify`` does; the indexes of the store fit its rows."""
    at, forge = FORGERIES[name]
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
