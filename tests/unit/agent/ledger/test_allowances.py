"""Budgets, and allowances as hard parts of them."""

from fractions import Fraction

import pytest

from hartley.agent.ledger import open_ledger
from hartley.errors import OptionError, Refused
from hartley.trusted.ledger.rows import NULL
from hartley.trusted.ledger.state import Balance


def test_raising_the_budget_shows_the_new_promise(ledger, q):
    entry = ledger.record("people", "budget", {"bits": 10})
    assert entry.told["before"] == "8"
    assert "at most 1,024 different transcripts" in entry.told["promise"]
    assert ledger.reserve("people", None, q(1), lambda _: 1024).balance.left == 1


def test_a_budget_is_never_lowered_below_what_is_spent_or_allotted(ledger, q):
    ledger.reserve("people", None, q(1), lambda _: 9)
    with pytest.raises(OptionError, match="exceed the budget") as refused:
        ledger.record("people", "budget", {"bits": 3})
    assert refused.value.hint == "give more bits"
    ledger.record("people", "allowance", {"analyst": "ann", "bits": 5})
    with pytest.raises(OptionError, match="allowances together") as refused:
        ledger.record("people", "budget", {"bits": 4})
    assert refused.value.hint == "give more bits, or lower the allowances first"
    ledger.record("people", "budget", {"bits": 5})


def test_allowances_are_hard_parts_of_the_budget(ledger, q, two):
    ledger.record("people", "allowance", {"analyst": "ann", "bits": "2.5"})
    ledger.record("people", "allowance", {"analyst": "bob", "bits": 5})
    with pytest.raises(OptionError, match="allowances together") as too_many:
        ledger.record("people", "allowance", {"analyst": "eve", "bits": "0.6"})
    assert too_many.value.hint == "give fewer bits, or raise the budget first"
    with pytest.raises(Refused):
        ledger.reserve("people", "ann", q(1), lambda _: 6)
    ledger.reserve("people", "ann", q(1), lambda _: 5)
    with pytest.raises(Refused) as caught:  # half a bit is left for all others
        ledger.reserve("people", "eve", q(2), two)
    assert caught.value.remaining == 0.0
    state = ledger.state("people")
    assert state.allowances["ann"] == Balance(Fraction(5, 2), 5)
    assert state.allowances["bob"] == Balance(Fraction(5), 1)
    assert state.free == Balance(Fraction(1, 2), 1)
    with pytest.raises(OptionError, match="spent more"):
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 2})


def test_a_repeat_that_another_paid_is_charged_to_the_asker_and_not_to_the_owner(
    ledger, q, two, forbidden
):
    for name in ("ann", "bob"):
        ledger.record("people", "allowance", {"analyst": name, "bits": 3})
    ledger.commit(ledger.reserve("people", "ann", q(1), lambda _: 4), ["1"])
    again = ledger.reserve("people", "bob", q(1), lambda _: 4)
    assert again.answers == ("1",)
    assert (again.cells, again.account_cells) == (1, 4)
    assert ledger.state("people").spent == 4
    assert ledger.balance("people", "bob").left == 2
    mixed = ledger.reserve("people", "bob", q(1, 2), two)
    assert (mixed.cells, mixed.account_cells) == (2, 2)
    assert ledger.reserve("people", "bob", q(2, 1), forbidden).sequence is None
    with pytest.raises(Refused):
        ledger.reserve("people", "bob", q(3), two)
    assert ledger.verify().holds


def test_unpaid_names_what_the_account_of_an_analyst_would_be_charged_for(ledger, q, two):
    ledger.record("people", "allowance", {"analyst": "bob", "bits": 3})
    ledger.reserve("people", "ann", q(1, 2), two)
    assert ledger.uncharged_questions("people", "ann", q(3, 2, 1, 4, 3)) == [0, 3]
    assert ledger.uncharged_questions("people", None, q(1, 2)) == []
    assert ledger.uncharged_questions("people", "bob", q(1, 2)) == [0, 1]


def test_an_analyst_sees_only_the_own_balance(ledger, q, two):
    ledger.record("people", "allowance", {"analyst": "ann", "bits": 3})
    ledger.reserve("people", "eve", q(1), lambda _: 32)
    with pytest.raises(Refused) as caught:
        ledger.reserve("people", "ann", q(2), lambda _: 9)
    assert caught.value.remaining == 3.0
    assert ledger.balance("people", "ann") == Balance(Fraction(3), 1)
    paid = ledger.reserve("people", "ann", q(1), two)
    (own,) = ledger.history("people", "ann")
    assert own.cells == 2  # not that another one had paid for it
    assert paid.balance == Balance(Fraction(3), 2)


def test_where_open_columns_eat_into_allowances_the_budget_still_holds(place, about, q, two):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(3, open_factor=3))
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 3})
        ledger.reserve("people", "ann", q(1), two)
        with pytest.raises(Refused, match="budget of the dataset"):
            ledger.reserve("people", "ann", q(2), two)
        with pytest.raises(Refused):
            ledger.reserve("people", "eve", q(2), two)
        assert ledger.verify().holds


def test_datasets_of_one_ledger_do_not_mix(ledger, about, q, two):
    ledger.record("other", "created", about(1))
    ledger.commit(ledger.reserve("people", "ann", q(1), two), ["1"])
    assert ledger.answers("other", q(1)) == [None]
    assert ledger.reserve("other", "ann", q(1), two).cells == 2
    assert ledger.datasets() == ["other", "people"]
    assert ledger.state("people").spent == 2
    assert [charge.analyst for charge in ledger.history("other")] == ["ann"]


def test_history_tells_what_was_asked_and_answered(ledger, q, two):
    paid = ledger.reserve("people", "ann", q(1, 2), lambda _: 3, note="SELECT AVG(age)")
    ledger.commit(paid, ["1", None])
    ledger.reserve("people", "bob", q(3), two)
    first, second = ledger.history("people")
    assert (first.note, first.answers, first.cells) == ("SELECT AVG(age)", ("1", NULL), 3)
    assert first.questions == tuple(q(1, 2))
    assert second.answers == (None,)
    assert [charge.analyst for charge in ledger.history("people", "bob")] == ["bob"]
