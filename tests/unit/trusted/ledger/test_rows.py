"""What a row says, and by which rules it was priced."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley import open_ledger
from hartley.errors import EngineError, OptionError, Refused
from hartley.exact import read_integer, write_integer
from hartley.trusted.ledger.rows import (
    FIELDS,
    canonical,
    chained,
    charged_digests,
    check_hash,
    digest,
)
from hartley.trusted.ledger.state import Balance


@given(st.integers(0, 10**60), st.sampled_from([0, 12_000, 60_000]))
def test_integers_of_any_size_are_written_and_read(number, shift):
    assert read_integer(write_integer(number << shift)) == number << shift


PARTS = st.lists(st.text("12:a", max_size=4), max_size=4)


@given(PARTS, PARTS)
def test_different_lists_of_texts_have_different_hashes(one, other):
    assert (digest(*one) == digest(*other)) == (one == other)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_canonical_text_is_read_back_as_the_same_text(value):
    assert canonical(json.loads(canonical(value))) == canonical(value)
    assert canonical(value).isascii()


def row(**changes):
    """Return a row that charges for one question."""
    texts = dict.fromkeys(FIELDS, "") | {
        "kind": "reserve",
        "content": canonical({"version": "v", "questions": [{"about": "a"}]}),
        "cells": "2",
    }
    given = {name: texts[name] for name in FIELDS if name not in {"sequence", "previous", "hash"}}
    return chained(None, **(given | changes))


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "hash"])
def test_a_row_that_was_checked_before_is_checked_again_once_it_changed(name):
    good = row()
    check_hash(good)
    changed = replace(good, **{name: 7 if name == "sequence" else getattr(good, name) + " "})
    check_hash(good)
    with pytest.raises(EngineError, match="was changed"):
        check_hash(changed)


def test_equal_values_of_another_type_are_another_row():
    good = row()
    check_hash(good)
    with pytest.raises(EngineError, match="was changed"):
        check_hash(replace(good, sequence=1.0))  # its text is "1.0"


def test_what_a_caller_does_to_the_content_of_a_row_changes_no_later_reading():
    before = charged_digests(row())
    row().told["questions"].append({"about": "b"})
    assert charged_digests(row()) == before
    assert charged_digests(row(dataset="other")) != before


# --- rules ---

ACTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("ask"),
            st.sampled_from(["", "ann", "bob", "eve"]),
            st.lists(st.integers(0, 6), min_size=1, max_size=3),
        ),
        st.tuples(st.just("allow"), st.sampled_from(["ann", "bob"]), st.integers(0, 6)),
        st.tuples(st.just("budget"), st.integers(0, 12)),
        st.tuples(st.just("version"), st.integers(1, 2)),
    ),
    max_size=25,
)


class Plain:
    """The rules of the ledger once more, in the simplest words: nothing incremental."""

    def __init__(self):
        self.budget, self.version, self.opened = 8, 0, 1
        self.allowances, self.paid, self.charges = {}, set(), []

    def holder(self, who):
        return who if who in self.allowances else ""

    def spent(self, holder=None):
        """Multiply what was charged to all, or to one."""
        numbers = [cells for cells, *_ in self.charges]
        if holder is not None:
            numbers = [cells for _, cells, who in self.charges if who == holder]
        return math.prod(numbers) * (self.opened if not holder else 1)

    def limit(self, holder):
        free = self.budget - sum(self.allowances.values())
        return 2 ** (self.allowances[holder] if holder else free)

    def ask(self, who, keys):
        holder = self.holder(who)
        marks = [(key, self.version) for key in dict.fromkeys(keys)]
        own = [mark for mark in marks if (*mark, holder) not in self.paid]
        new = [mark for mark in own if not any(paid[:2] == mark for paid in self.paid)]
        if not own:
            return True
        cells, account_cells = (math.prod(2 + key % 2 for key, _ in x) for x in (new, own))
        if self.spent() * cells > 2**self.budget:
            return False
        if self.spent(holder) * account_cells > self.limit(holder):
            return False
        self.paid |= {(*mark, holder) for mark in own}
        self.charges.append((cells, account_cells, holder))
        return True

    def allow(self, who, bits):
        wanted = {**self.allowances, who: bits}
        spent = self.spent(who) if who in self.allowances else 1
        if sum(wanted.values()) > self.budget or spent > 2**bits:
            return False
        self.allowances = wanted
        return True

    def set_budget(self, bits):
        if self.spent() > 2**bits or sum(self.allowances.values()) > bits:
            return False
        self.budget = bits
        return True

    def renew(self, factor):
        if self.spent() * factor > 2**self.budget:
            return False
        self.version += 1
        self.opened *= factor
        return True


def act(ledger, plain, what):
    kind, *values = what
    try:
        if kind == "ask":
            keys = values[1]
            ledger.reserve(
                "people",
                values[0],
                [{"q": key} for key in keys],
                lambda new: math.prod(2 + keys[at] % 2 for at in new),
            )
        elif kind == "allow":
            ledger.record("people", "allowance", {"analyst": values[0], "bits": values[1]})
        elif kind == "budget":
            ledger.record("people", "budget", {"bits": values[0]})
        else:
            ledger.record("people", "version", {"rows": 1, "open_factor": values[0]})
    except (Refused, OptionError):
        done = False
    else:
        done = True
    acts = {"ask": plain.ask, "allow": plain.allow, "budget": plain.set_budget}
    return done, acts.get(kind, plain.renew)(*values)


@pytest.mark.slow
@settings(max_examples=60)
@given(ACTS)
def test_whatever_happens_the_balances_are_those_of_the_rules(tmp_path_factory, acts):
    folder, plain = tmp_path_factory.mktemp("acts"), Plain()
    with open_ledger(folder / "ledger.db") as ledger:
        ledger.record("people", "created", {"bits": 8, "schema": {}, "rows": 1})
        for what in acts:
            done, expected = act(ledger, plain, what)
            assert done == expected, what
            state = ledger.state("people")
            assert state.balance == Balance(Fraction(plain.budget), plain.spent())
            assert state.balance.left > 0
            assert {name: own.spent for name, own in state.allowances.items()} == {
                name: plain.spent(name) for name in plain.allowances
            }
            assert state.free.spent == plain.spent("")
        assert ledger.verify().holds
