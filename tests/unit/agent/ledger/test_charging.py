"""What is charged, what a repeat costs, and what becomes of answers."""

import json
import math
import pickle

import pytest

from hartley.agent.ledger import open_ledger
from hartley.errors import EngineError, OptionError, Refused
from hartley.exact import floor_power
from hartley.trusted.ledger.rows import NULL

# --- charges and repeats --------------------------------------------------------------------------


def test_charges_multiply_and_a_repeat_is_free(ledger, q, forbidden):
    first = ledger.reserve("people", "ann", q(1, 2), lambda _: 3)
    ledger.commit(first, ["4", "0"])
    second = ledger.reserve("people", "bob", q(3), lambda _: 5)
    again = ledger.reserve("people", "bob", q(2, 1), forbidden)
    assert (first.cells, second.cells, again.cells) == (3, 5, 1)
    assert again.answers == ("0", "4")
    assert again.complete
    assert again.sequence is None
    assert ledger.state("people").spent == 15
    assert ledger.state("people").balance.left == 256 // 15


def test_only_the_new_questions_of_a_batch_are_priced(ledger, q, two):
    ledger.reserve("people", "ann", q(1, 2), two)
    seen = []
    batch = ledger.reserve(
        "people", "ann", q(5, 1, 6, 5, 2), lambda new: seen.append(new) or len(new)
    )
    assert seen == [[0, 2]]
    assert batch.cells == 2
    assert batch.answers == (None,) * 5


def test_the_same_question_twice_in_a_batch_counts_once(ledger, q, two):
    paid = ledger.reserve("people", "ann", q(1, 1, 1), two)
    assert paid.cells == 2
    ledger.commit(paid, ["3", "3", "3"])
    assert ledger.answers("people", q(1, 9, 1)) == ["3", None, "3"]


def test_equal_questions_are_the_same_however_they_are_written(ledger, two, forbidden):
    ledger.reserve("people", "ann", [{"a": 1, "b": [2, None]}], two)
    assert ledger.reserve("people", "ann", [{"b": (2, None), "a": 1}], forbidden).sequence is None


def test_a_refused_charge_leaves_nothing_behind(ledger, q):
    before = ledger.head()
    with pytest.raises(Refused) as caught:
        ledger.reserve("people", "ann", q(1), lambda _: 257)
    assert caught.value.requested == pytest.approx(math.log2(257))
    assert caught.value.remaining == 8.0
    assert "hint" in str(caught.value)
    assert ledger.head() == before
    assert ledger.reserve("people", "ann", q(1), lambda _: 256).balance.left == 1
    assert ledger.reserve("people", "ann", q(2), lambda _: 1).balance.remaining == 0.0


@pytest.mark.parametrize("cells", [0, -1, 2.0, True, None])
def test_a_price_that_is_none_is_refused(ledger, cells, q):
    with pytest.raises(OptionError, match="A price is not a whole number"):
        ledger.reserve("people", "ann", q(1), lambda _: cells)


def test_a_failing_price_leaves_nothing_behind(ledger, q):
    before = ledger.head()
    with pytest.raises(ZeroDivisionError):
        ledger.reserve("people", "ann", q(1), lambda _: 1 // 0)
    assert ledger.head() == before
    assert ledger.verify().holds


def test_the_price_is_computed_before_the_ledger_is_locked(ledger, q):
    def price(new):
        # Another one asks meanwhile: were the ledger locked, this would wait for ever.
        ledger.reserve("people", "bob", q(2), lambda _: 2)
        return 2 ** len(new)

    paid = ledger.reserve("people", "ann", q(1, 2), price)
    assert paid.cells == 2  # the other question was paid for meanwhile
    assert ledger.state("people").spent == 4
    assert ledger.verify().holds


@pytest.mark.parametrize("bits", ["7/3", "0.5", "1.58", 3, 0, "100.25"])
def test_a_budget_of_a_fraction_of_bits_is_the_floor_of_its_power(place, about, bits, q):
    limit = floor_power(bits)
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(bits))
        with pytest.raises(Refused):
            ledger.reserve("people", None, q(1), lambda _: limit + 1)
        assert ledger.reserve("people", None, q(1), lambda _: limit).cells == limit


def test_products_of_any_size_are_exact(place, about, q):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(50_000))
        huge = 3**25_000
        ledger.reserve("people", None, q(1), lambda _: huge)
        left = 2**50_000 // huge
        with pytest.raises(Refused):
            ledger.reserve("people", None, q(2), lambda _: left + 1)
        ledger.reserve("people", None, q(2), lambda _: left)
        assert ledger.state("people").spent == huge * left
        assert ledger.verify().holds


# --- answers --------------------------------------------------------------------------------------


def test_committing_the_same_again_does_nothing(ledger, q, two):
    paid = ledger.reserve("people", "ann", q(1, 2), two)
    assert ledger.commit(paid, ["7", None]).kind == "commit"
    head = ledger.head()
    assert ledger.commit(paid, ["7", None]) is None
    assert ledger.commit(ledger.reserve("people", "bob", q(2), two), [NULL]) is None
    assert ledger.head() == head
    assert ledger.answers("people", q(1, 2)) == ["7", NULL]


def test_another_answer_to_the_same_question_is_an_error_that_shows_neither(ledger, q, two):
    paid = ledger.reserve("people", "ann", q(1), two)
    ledger.commit(paid, ["7341"])
    with pytest.raises(EngineError, match="differs from the one") as caught:
        ledger.commit(paid, ["9182"])
    assert not {"7341", "9182"} & set(str(caught.value).split())
    assert ledger.answers("people", q(1)) == ["7341"]


def test_an_answer_of_a_reservation_that_was_not_made_is_refused(ledger, place, about, q, two):
    with open_ledger(place.fresh()) as other:
        other.record("people", "created", about())
        paid = other.reserve("people", "ann", q(1), two)
    with pytest.raises(OptionError, match="not reserved"):
        ledger.commit(paid, ["1"])


@pytest.mark.parametrize("answers", [["1"], ["1", "-1"], ["1", "x"], ["1", 2], ["1", "01"], []])
def test_answers_are_cell_indices_one_a_question(ledger, answers, q, two):
    paid = ledger.reserve("people", "ann", q(1, 2), two)
    with pytest.raises(OptionError):
        ledger.commit(paid, answers)


def test_one_question_has_one_answer_in_a_batch(ledger, q, two):
    paid = ledger.reserve("people", "ann", q(1, 1), two)
    with pytest.raises(OptionError, match="two answers"):
        ledger.commit(paid, ["1", "2"])


def test_what_was_reserved_and_not_answered_is_found_again_and_not_charged_again(
    ledger, q, two, forbidden
):
    ledger.reserve("people", "ann", q(1, 2), two, note="SELECT 1")
    answered = ledger.reserve("people", "ann", q(3), two)
    ledger.commit(answered, ["3"])
    (left,) = ledger.pending("people")
    assert [json.loads(text) for text in left.questions] == q(1, 2)
    assert left.analyst == "ann"
    again = ledger.reserve("people", "ann", q(1, 2), forbidden)
    assert not again.complete
    ledger.commit(left, ["1", "2"])
    assert ledger.commit(again, ["1", "2"]) is None
    assert ledger.pending("people") == []
    assert ledger.state("people").spent == 8


def test_a_reservation_travels_between_processes(ledger, q, two):
    paid = ledger.reserve("people", "ann", q(1), two)
    ledger.commit(pickle.loads(pickle.dumps(paid)), ["1"])  # noqa: S301 - our own bytes
    assert ledger.answers("people", q(1)) == ["1"]
