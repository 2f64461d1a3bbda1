"""Leakage and information, by hand, in their order and against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from hartley import (
    Channel,
    JointDistribution,
    OptionError,
    Relation,
    maximal_leakage,
    maximin_information,
    mutual_information,
    nonstochastic_leakage,
)
from hartley.measures import (
    information_transmission,
    leakage as module,
    maximal_alpha_leakage,
    nonstochastic_information,
    symmetric_leakage,
)

ALARM = Relation.from_pairs([(x, x == 0) for x in range(100)])
"""One of a hundred secrets sets off an alarm."""

pairs = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcde")), min_size=1, max_size=30)


def test_a_rare_alarm_leaks_all_and_informs_of_little():
    assert nonstochastic_leakage(ALARM) == pytest.approx(math.log2(100))
    assert nonstochastic_information(ALARM) == pytest.approx(math.log2(100 / 99))
    assert symmetric_leakage(ALARM) == 1.0
    assert information_transmission(ALARM) == 1.0
    assert maximin_information(ALARM) == 1.0


@given(pairs)
def test_leakages_are_ordered(drawn):
    relation = Relation.from_pairs(drawn)
    smaller, larger = nonstochastic_information(relation), nonstochastic_leakage(relation)
    assert 0 <= smaller <= larger
    assert maximin_information(relation) <= symmetric_leakage(relation) + 1e-12
    assert symmetric_leakage(relation) <= larger


@given(pairs)
def test_symmetric_measures_do_not_see_which_side_is_which(drawn):
    relation = Relation.from_pairs(drawn)
    for measure in (symmetric_leakage, information_transmission, maximin_information):
        assert measure(relation) == measure(relation.swap())


@given(pairs)
def test_transmission_is_zero_exactly_for_unrelated_sides(drawn):
    relation = Relation.from_pairs(drawn)
    assert (information_transmission(relation) == 0) == relation.is_unrelated()


def test_a_large_product_of_ranges_does_not_overflow():
    relation = Relation.from_pairs([(x, x) for x in range(70_000)])
    assert information_transmission(relation) == pytest.approx(math.log2(70_000))


# --- maximal leakage ------------------------------------------------------------------------------


@given(pairs)
def test_rows_a_distribution_and_its_channel_leak_the_same(drawn):
    relation = Relation.from_pairs(drawn)
    joint = JointDistribution.from_relation(relation)
    expected = maximal_leakage(relation)
    for source in (joint, joint.channel(), joint.channel().matrix):
        assert maximal_leakage(source) == pytest.approx(expected, abs=1e-12)


@given(pairs)
def test_it_lies_between_maximin_information_and_the_smaller_entropy(drawn):
    relation = Relation.from_pairs(drawn)
    bits = maximal_leakage(relation)
    smaller = min(relation.summary.secrets, relation.summary.released)
    assert maximin_information(relation) - 1e-12 <= bits <= math.log2(smaller) + 1e-12


@given(st.floats(0, 0.5))
def test_a_noisy_bit_leaks_what_its_larger_chance_says(flip):
    channel = [[1 - flip, flip], [flip, 1 - flip]]
    assert maximal_leakage(channel) == pytest.approx(math.log2(2 - 2 * flip), abs=1e-12)


def test_a_secret_that_never_occurs_leaks_nothing():
    joint = JointDistribution.of([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    assert maximal_leakage(joint) == 0.0


def test_a_useless_channel_leaks_exactly_nothing():
    assert maximal_leakage(Channel.of(np.full((3, 10), 0.1))) == 0.0


# --- maximin information --------------------------------------------------------------------------

few_pairs = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd")), min_size=1, max_size=10)


@settings(max_examples=50)
@given(few_pairs)
def test_it_is_the_finest_attribute_of_both_sides_that_always_agrees(drawn):
    secrets, released = sorted({x for x, _ in drawn}), sorted({y for _, y in drawn})
    best = 1
    for labels in product(range(len(secrets)), repeat=len(secrets)):
        attribute = dict(zip(secrets, labels, strict=True))
        told = {y: {attribute[x] for x, other in drawn if other == y} for y in released}
        if all(len(values) == 1 for values in told.values()):
            best = max(best, len(set(labels)))
    assert maximin_information(Relation.from_pairs(drawn)) == pytest.approx(math.log2(best))


def test_a_chain_of_overlaps_agrees_on_nothing():
    chain = [(x, y) for x in range(50) for y in (x, x + 1)]
    assert maximin_information(Relation.from_pairs(chain)) == 0.0
    assert maximin_information(Relation.from_pairs([*chain, (99, 99)])) == 1.0


# --- mutual information ---------------------------------------------------------------------------


@given(pairs)
def test_rows_and_their_relative_frequencies_tell_the_same(drawn):
    relation = Relation.from_pairs(drawn)
    joint = JointDistribution.from_relation(relation)
    expected = mutual_information(joint)
    assert mutual_information(relation) == pytest.approx(expected, abs=1e-12)
    assert mutual_information(joint.matrix.tolist()) == expected


@given(pairs)
def test_it_is_symmetric_and_at_most_either_entropy(drawn):
    relation = Relation.from_pairs(drawn)
    bits = mutual_information(relation)
    assert bits == pytest.approx(mutual_information(relation.swap()), abs=1e-12)
    assert 0 <= bits <= math.log2(min(relation.summary.secrets, relation.summary.released))


@pytest.mark.slow
@given(pairs, st.integers(2, 9))
def test_repeating_every_row_changes_nothing(drawn, times):
    once, often = Relation.from_pairs(drawn), Relation.from_pairs(drawn * times)
    assert mutual_information(often) == pytest.approx(mutual_information(once), abs=1e-12)


def test_a_noisy_bit_tells_one_minus_its_entropy():
    flip = Fraction(1, 10)
    keep = 1 - flip
    matrix = np.array([[keep, flip], [flip, keep]], dtype=float) / 2
    entropy = -sum(float(p) * math.log2(p) for p in (flip, keep))
    assert mutual_information(matrix) == pytest.approx(1 - entropy, rel=1e-12)


def test_independent_sides_tell_nothing():
    assert mutual_information(np.outer([0.2, 0.8], [0.3, 0.3, 0.4])) == pytest.approx(0, abs=1e-15)


# --- maximal alpha-leakage, against closed forms and direct maximisation --------------------------

ORDERS = (1, 1.0001, 1.01, 1.3, 2, 4, 20, 500, math.inf)


def entropy(*shares):
    return -sum(share * math.log2(share) for share in shares if share)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("flip", [0.1, 0.01, 0.3])
def test_a_symmetric_binary_channel_has_a_closed_form(flip, order):
    found = maximal_alpha_leakage([[1 - flip, flip], [flip, 1 - flip]], order)
    if order == 1:
        closed = 1 - entropy(flip, 1 - flip)
    elif order == math.inf:
        closed = math.log2(2 - 2 * flip)
    else:  # one less the Rényi entropy of the flip
        closed = 1 + math.log2(flip**order + (1 - flip) ** order) / (order - 1)
    assert found.lower - 1e-12 <= closed <= found.upper + 1e-12
    assert found.gap < 1e-9
    assert found.lower == pytest.approx(closed, abs=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_an_erasure_channel_has_a_closed_form(order):
    lost = 0.25
    found = maximal_alpha_leakage([[1 - lost, lost, 0], [0, lost, 1 - lost]], order)
    if order == 1:
        closed = 1 - lost
    elif order == math.inf:
        closed = math.log2(2 - lost)
    else:
        within = 2 ** (1 - 1 / order) * (1 - lost) + lost
        closed = order / (order - 1) * math.log2(within)
    assert found.lower == pytest.approx(closed, abs=1e-9)
    assert found.upper == pytest.approx(closed, abs=1e-9)


def test_the_capacity_of_a_channel_with_unequal_inputs():
    """The Z-channel: log2(1 + (1 - f) f^(f / (1 - f))), whose best law is not uniform."""
    flip = 0.5
    found = maximal_alpha_leakage([[1, 0], [flip, 1 - flip]], 1)
    closed = math.log2(1 + (1 - flip) * flip ** (flip / (1 - flip)))
    assert found.lower == pytest.approx(closed, abs=1e-9)
    assert found.upper == pytest.approx(closed, abs=1e-9)
    assert float(found.secrets[0]) == pytest.approx(3 / 5, abs=1e-6)


# --- against direct maximisation -----------------------------------------------------------------


def sibson(law, channel, order):
    if order == 1:
        mixed = law @ channel
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(channel > 0, channel * np.log2(channel / mixed), 0)
        return float(law @ terms.sum(axis=1))
    inner = (law @ channel**order) ** (1 / order)
    return order / (order - 1) * math.log2(inner.sum())


def arimoto(law, channel, order):
    joint = law[:, None] * channel
    posterior = ((joint**order).sum(axis=0) ** (1 / order)).sum()
    prior = (law**order).sum() ** (1 / order)
    return order / (order - 1) * math.log2(posterior / prior)


def largest(information, channel, order):
    """Return the largest information over laws of the secret, from several starts."""
    draws = np.random.default_rng(0)
    size = len(channel)

    def law(free):
        weights = np.exp(free - free.max())
        return weights / weights.sum()

    starts = [np.zeros(size), *draws.normal(size=(5, size))]
    return max(
        -minimize(lambda free: -information(law(free), channel, order), start, tol=1e-12).fun
        for start in starts
    )


@st.composite
def channels(draw):
    rows = draw(st.integers(2, 4))
    columns = draw(st.integers(2, 4))
    counts = st.lists(st.integers(0, 5), min_size=columns, max_size=columns).filter(any)
    return [
        [Fraction(count, sum(row)) for count in row]
        for row in draw(st.lists(counts, min_size=rows, max_size=rows))
    ]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(channels(), st.sampled_from([1, 1.2, 2, 5]))
def test_no_law_of_the_secret_exceeds_the_upper_side_and_one_reaches_the_lower(channel, order):
    doubles = np.array(channel, float)
    found = maximal_alpha_leakage(channel, order)
    law = np.array(found.secrets, float)
    assert sum(found.secrets) == 1
    assert found.lower == pytest.approx(max(sibson(law, doubles, order), 0), abs=1e-9)
    for draw in np.random.default_rng(1).dirichlet(np.ones(len(channel)), 50):
        assert sibson(draw, doubles, order) <= found.upper + 1e-12
    direct = largest(sibson, doubles, order)
    assert found.lower - 1e-5 <= direct <= found.upper + 1e-9
    assert found.gap < 1e-5


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(channels(), st.sampled_from([1.5, 3]))
def test_the_supremum_of_arimotos_information_is_the_same(channel, order):
    found = maximal_alpha_leakage(channel, order)
    direct = largest(arimoto, np.array(channel, float), order)
    assert found.lower - 1e-4 <= direct <= found.upper + 1e-9


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(channels())
def test_it_rises_with_the_order_up_to_the_maximal_leakage(channel):
    sides = [maximal_alpha_leakage(channel, order) for order in ORDERS]
    for before, after in pairwise(sides):
        assert before.lower <= after.upper
        assert before.lower <= after.lower + 1e-5
    assert sides[-1].lower <= maximal_leakage(np.array(channel, float)) + 1e-12
    assert sides[-1].upper == pytest.approx(maximal_leakage(np.array(channel, float)), abs=1e-12)
    assert all(side.upper <= sides[-1].upper for side in sides)
    assert all(side.lower <= side.upper for side in sides)


@settings(max_examples=20, deadline=None)
@given(channels(), st.sampled_from([1, 1.5, 7]))
def test_the_upper_side_is_the_divergence_from_the_law_of_the_outputs(channel, order):
    found = maximal_alpha_leakage(channel, order)
    doubles, outputs = np.array(channel, float), np.array(found.outputs, float)
    assert sum(found.outputs) == 1
    divergences = []
    for row in doubles:
        used = row > 0
        if order == 1:
            divergences.append((row[used] * np.log2(row[used] / outputs[used])).sum())
        else:
            total = (row[used] ** order * outputs[used] ** (1 - order)).sum()
            divergences.append(math.log2(total) / (order - 1))
    assert found.upper == pytest.approx(max(0.0, *divergences), abs=1e-9)


# --- sources, orders, solvers --------------------------------------------------------------------


def test_the_rows_of_a_relation_are_its_channel():
    relation = Relation.from_pairs([(0, "a")] * 9 + [(0, "b")] + [(1, "a")] + [(1, "b")] * 9)
    for order in (1, 2, math.inf):
        direct = maximal_alpha_leakage([[0.9, 0.1], [0.1, 0.9]], order)
        assert maximal_alpha_leakage(relation, order) == direct
    joint = JointDistribution.of([[0.45, 0.05], [0.05, 0.45]])
    assert maximal_alpha_leakage(joint, 2).upper == pytest.approx(
        maximal_alpha_leakage(relation, 2).upper, abs=1e-12
    )


@pytest.mark.parametrize("order", ORDERS)
def test_what_tells_nothing_and_what_tells_all(order):
    nothing = maximal_alpha_leakage([[0.5, 0.5, 0]] * 3, order)
    assert nothing.lower == 0
    assert nothing.upper < 1e-12
    everything = maximal_alpha_leakage(np.eye(8), order)
    assert everything.lower == pytest.approx(3, abs=1e-12)
    assert everything.upper == 3


def test_equal_secrets_share_one_place_in_the_law():
    found = maximal_alpha_leakage([[1, 0, 0], [1, 0, 0], [0, 0, 1]], 2)
    assert found.secrets == (Fraction(1, 2), 0, Fraction(1, 2))
    assert found.outputs == (Fraction(1, 2), 0, Fraction(1, 2))


def test_a_solver_that_fails_or_lies_costs_the_gap_and_never_the_truth(monkeypatch):
    channel = [[1, 0], [0.5, 0.5]]
    true = maximal_alpha_leakage(channel, 2)
    monkeypatch.setattr(module, "POLISHING", 1)
    for law in (None, np.array([1 - 1e-9, 1e-9])):
        monkeypatch.setattr(module, "_solve", lambda *_, law=law: law)
        found = maximal_alpha_leakage(channel, 2)
        assert found.lower <= true.upper
        assert true.lower <= found.upper
        assert found.gap > 1e-3


def test_other_bases():
    bits = maximal_alpha_leakage([[0.9, 0.1], [0.1, 0.9]], 3)
    nats = maximal_alpha_leakage([[0.9, 0.1], [0.1, 0.9]], 3, base=math.e)
    assert nats.upper == pytest.approx(bits.upper * math.log(2), abs=1e-12)


@pytest.mark.parametrize("order", [0.5, 0, -1, math.nan, "x", 1e9, -math.inf])
def test_an_order_below_one_is_refused(order):
    with pytest.raises(OptionError, match=r"order"):
        maximal_alpha_leakage([[0.9, 0.1], [0.1, 0.9]], order)


def test_a_channel_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("hartley.ranges.distribution.LARGEST_LAW", 3)
    for source in ([[0.9, 0.1], [0.1, 0.9]], Relation.from_pairs([(0, 0), (1, 1)])):
        with pytest.raises(OptionError, match="2 secrets and 2 released values is too large"):
            maximal_alpha_leakage(source, 2)


@pytest.mark.parametrize(
    "matrix", [[[0.5, 0.4]], [[2.0, -1.0]], [[math.nan]], [[1], [0.5, 0.5]], [], "text"]
)
def test_what_is_no_channel_and_no_joint_distribution_is_refused(matrix):
    with pytest.raises(OptionError, match=r"joint distribution.*; hint: "):
        mutual_information(matrix)
    for measure in (maximal_leakage, lambda channel: maximal_alpha_leakage(channel, 2)):
        with pytest.raises(OptionError, match=r"channel.*; hint: "):
            measure(matrix)
