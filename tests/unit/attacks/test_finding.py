"""Numbers with their uncertainty."""

from math import comb

import pytest
from hypothesis import given, strategies as st

from hartley import OptionError
from hartley.attacks.finding import AttackEstimate, advantage, share


def tail(hits, trials, chance):
    """Return how likely at least so many hits are."""
    return sum(
        comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(hits, trials + 1)
    )


@pytest.mark.slow
@given(st.integers(1, 40), st.data())
def test_the_ends_of_a_share_are_the_chances_that_just_explain_it(trials, data):
    hits = data.draw(st.integers(0, trials))
    found = share(hits, trials, confidence=0.9)
    assert found.low <= found.value <= found.high
    if hits:
        assert tail(hits, trials, found.low) == pytest.approx(0.05, abs=1e-9)
    else:
        assert found.low == 0
    if hits < trials:
        assert 1 - tail(hits + 1, trials, found.high) == pytest.approx(0.05, abs=1e-9)
    else:
        assert found.high == 1


@pytest.mark.slow
@given(st.integers(2, 40), st.floats(0.02, 0.98))
def test_a_share_holds_the_truth_at_least_as_often_as_it_says(trials, chance):
    covered = sum(
        comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits)
        for hits in range(trials + 1)
        if share(hits, trials, confidence=0.8).covers(chance)
    )
    assert covered >= 0.8 - 1e-12


@pytest.mark.slow
@given(st.integers(1, 60), st.data())
def test_an_advantage_covers_nought_exactly_where_a_coin_is_not_refuted(games, data):
    wins = data.draw(st.integers(0, games))
    found = advantage(wins, games)
    assert found.covers(0) == share(wins, games).covers(0.5)
    assert found.low <= found.value <= found.high <= 1
    assert found.value == pytest.approx(advantage(games - wins, games).value)


def test_who_always_loses_has_the_advantage_of_who_always_wins():
    assert advantage(0, 1000).low > 0.99
    assert advantage(1000, 1000).value == 1


@pytest.mark.parametrize(("hits", "trials"), [(0, 0), (3, 2), (-1, 5)])
def test_counts_that_cannot_be_are_refused(hits, trials):
    with pytest.raises(OptionError, match="impossible"):
        share(hits, trials)


def test_an_exact_number_has_no_interval():
    assert AttackEstimate.exact(3).is_exact
    assert not share(5, 10).is_exact
    assert AttackEstimate.exact(3).to_dict() == {"value": 3, "low": 3, "high": 3, "confidence": 1}


def test_intervals_are_shown_outward():
    assert AttackEstimate(2.0, 1.99999, 2.00001).in_words() == "between 1.999 and 2.001 for certain"
    assert AttackEstimate(0.0, 0.0, 1.0).in_words() == "between 0 and 1 for certain"
    assert AttackEstimate.exact(0.5).in_words() == "exact"
