"""The accountant: exact products, safe rounding, refusals that say what remains."""

import math
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from hartley import Accountant, OptionError, Refused
from hartley.exact import floor_power
from hartley.guarantees.accountant import ChargedBudget

CELLS = st.lists(st.integers(1, 40), max_size=12)


@dataclass(frozen=True)
class Cost:
    cells: int

    def explain(self):
        return f"{self.cells} cells"


def by_length(batch):
    """A price that is not additive, so that a wrong split shows."""
    return Cost(1 + len(batch) ** 2)


@pytest.mark.slow
@given(charges=CELLS, bits=st.fractions(0, 20, max_denominator=7))
def test_the_product_of_charges_is_exact_and_never_passes_the_budget(charges, bits):
    balance, product = ChargedBudget(floor_power(bits)), 1
    for cells in charges:
        if product * cells <= floor_power(bits):
            balance, product = balance.charge(cells), product * cells
        else:
            with pytest.raises(Refused):
                balance.charge(cells)
        assert balance.charged == product <= balance.limit


@given(charges=CELLS, bits=st.fractions(0, 40, max_denominator=5))
def test_a_wish_of_what_remains_is_always_covered(charges, bits):
    balance = ChargedBudget(floor_power(bits))
    for cells in charges:
        balance = balance.charge(cells) if balance.covers(cells) else balance
    assert balance.covers(floor_power(balance.remaining))
    assert balance.spent + balance.remaining <= float(bits) + 1e-9


def test_an_exact_fit_is_covered_and_one_more_cell_is_not():
    balance = ChargedBudget(floor_power("1.585"))  # 3 cells
    assert balance.charge(3).room == 1
    with pytest.raises(Refused):
        balance.charge(4)


def test_a_refusal_says_what_was_requested_and_what_remains():
    accountant = Accountant(2, by_length)
    accountant.charge(["a"])
    with pytest.raises(Refused, match=r"costs 2\.322 bits; left: 1 bit") as caught:
        accountant.charge(["b", "c"])
    assert caught.value.requested == pytest.approx(math.log2(5))
    assert caught.value.requested >= math.log2(5)
    assert caught.value.remaining == 1.0
    assert pickle.loads(pickle.dumps(caught.value)).requested == caught.value.requested  # noqa: S301 - our own bytes
    assert accountant.spent == 1.0, "a refusal charges nothing"


def test_repeats_are_free_alone_and_inside_a_batch():
    accountant = Accountant(10, by_length)
    assert accountant.charge(["a", "b"]) == 5
    assert accountant.charge(["b"]) == 1
    assert accountant.charge(["a", "c", "b"]) == 2, "only c is new"
    assert accountant.charge(["d", "d"]) == 2, "a question twice is one question"
    assert accountant.balance.charged == 5 * 2 * 2


def test_a_refused_batch_is_not_free_later():
    accountant = Accountant(1, by_length)
    with pytest.raises(Refused):
        accountant.charge(["a", "b"])
    assert accountant.quote(["a"]) == 2


def test_open_columns_and_earlier_charges_count_from_the_start():
    accountant = Accountant(4, by_length, open_factor=3, charged=2, answered=["old"])
    assert accountant.balance.charged == 6
    assert accountant.balance.room == 2
    assert accountant.quote(["old"]) == 1
    with pytest.raises(OptionError, match="does not cover"):
        Accountant(2, by_length, open_factor=5)


def test_a_quote_charges_nothing():
    accountant = Accountant(4, by_length)
    assert [accountant.quote(["a"]) for _ in range(3)] == [2, 2, 2]
    assert accountant.balance.charged == 1


def test_an_explanation_names_repeats_price_and_verdict():
    accountant = Accountant(2, by_length)
    accountant.charge(["a"])
    assert accountant.explain(["a"]) == "1 question was charged before: free."
    words = accountant.explain(["a", "b", "c"])
    assert words.splitlines() == [
        "1 question was charged before: free.",
        "5 cells",
        "It costs 2.322 bits; 1 bit left, so it is refused.",
    ]
    assert accountant.explain(["b"]).endswith("It costs 1 bit; 1 bit left, so it is covered.")


@pytest.mark.parametrize("cells", [0, -3])
def test_a_charge_below_one_cell_is_no_price(cells):
    with pytest.raises(OptionError, match="no price"):
        ChargedBudget(8).charge(cells)


def test_a_full_budget_has_no_room():
    balance = ChargedBudget(4).charge(4)
    assert (balance.room, balance.remaining) == (1, 0.0)
    assert balance.covers(1), "a constant answer is always covered"
