"""What a rule leaks, and what a perturbed table lets estimate, against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

from hartley import OptionError, Pram, maximal_leakage
from hartley.policies import estimable, least_leaking, pram_leakage
from hartley.policies.random.estimates import (
    estimate_from_counts,
    left_inverse,
    nearest_frequencies,
)

RULE = Pram([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.05, 0.15, 0.8]], ["a", "b", "c"], column="x")
COIN = Pram.retaining("0.8", ["no", "yes"], column="y")


@st.composite
def rules(draw, size=None):
    size = size or draw(st.integers(2, 5))
    row = st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(any)
    rows = np.array(draw(st.lists(row, min_size=size, max_size=size)), float)
    return Pram(rows / rows.sum(axis=1, keepdims=True))


# --- leakage ------------------------------------------------------------------------------------


@pytest.mark.slow
@given(rules())
def test_leakage_of_a_channel_is_what_the_definitions_say(rule):
    found, matrix = pram_leakage(rule), rule.matrix.doubles
    size = len(matrix)
    plain = maximal_leakage(matrix)
    assert plain - 1e-12 <= found.maximal <= plain + 1e-9
    possible = [{x for x in range(size) if matrix[x, y] > 0} for y in range(size)]
    left = min(len(side) for side in possible if side)
    assert found.nonstochastic == pytest.approx(math.log2(size / left))
    groups = [{x} for x in range(size)]
    for side in possible:
        joined = [group for group in groups if group & side]
        groups = [group for group in groups if not group & side] + [set().union(*joined)] * bool(
            joined
        )
    assert found.maximin == pytest.approx(math.log2(len(groups)))
    assert found.maximin <= found.maximal
    ratios = [
        matrix[x, y] / matrix[z, y] if matrix[z, y] else math.inf
        for y in range(size)
        for x, z in itertools.product(range(size), repeat=2)
        if matrix[x, y] > 0
    ]
    worst = math.inf if found.odds is None else float(found.odds)
    assert worst == pytest.approx(max(ratios), rel=1e-9)


@pytest.mark.slow
@given(rules(size=3), st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any))
def test_what_is_told_about_a_confidential_side_is_summed_as_defined(rule, counts):
    joint = np.array(counts, float).reshape(2, 3) / sum(counts)
    told = pram_leakage(rule, joint).confidential
    after = joint @ rule.matrix.doubles
    prior = after.sum(axis=1)
    average, closest, largest = 0.0, 0.0, 0.0
    for y in range(3):
        mass = after[:, y].sum()
        if mass == 0:
            continue
        divergence = 0.0
        for w in range(2):
            if prior[w] == 0:
                continue
            share = after[w, y] / mass
            if share == 0:
                largest = math.inf
                continue
            divergence += share * math.log2(share / prior[w])
            largest = max(largest, abs(math.log2(share / prior[w])))
        average += mass * divergence
        closest = max(closest, divergence)
    assert told.average == pytest.approx(average, abs=1e-9)
    assert told.closeness == pytest.approx(closest, abs=1e-9)
    assert told.disclosure == pytest.approx(largest, abs=1e-9)
    assert told.average <= told.unperturbed + 1e-9  # what is drawn from the key tells no more


def test_leakage_is_said_in_plain_sentences():
    full = pram_leakage(Pram.retaining("0.9", ["a", "b"], column="x"), [[0.5, 0.0], [0.0, 0.5]])
    assert full.maximal == pytest.approx(0.847997, abs=1e-6)
    text = " ".join(full.sentences)
    for told in ("by 1.8 at most: 0.848 bits", "(L0 = I* = 0)", "factor of 9 at mo", "0.5310 bits"):
        assert told in text
    merged = pram_leakage(Pram([[1, 0], [1, 0], [0, 1]], released=[0, 1]))
    text = " ".join(merged.sentences)
    for told in ("only 1 of 3 values possible", "settles 1 bits (I*)", "without bound"):
        assert told in text
    with pytest.raises(OptionError, match="2 columns for 3 values"):
        pram_leakage(RULE, [[0.5, 0.5]])


# --- estimates ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("errors", ["errors", "population_errors"])
def test_estimates_are_unbiased_and_their_errors_are_right(errors):
    # 400 draws of one table, or of a table drawn anew each time: the mean is within four of its
    # standard errors (false alarm of 3 numbers: 2e-4), and the spread within 15 % of what is
    # claimed (four of its own, likewise).
    truth, generator = np.array([0.6, 0.3, 0.1]), np.random.default_rng(7)
    found = []
    for seed in range(400):
        codes = np.repeat(np.arange(3), [600, 300, 100])
        if errors == "population_errors":
            codes = generator.choice(3, size=500, p=truth)
        counts = np.bincount(RULE.draw(codes, seed=seed), minlength=3)
        found.append(estimate_from_counts(counts, RULE))
    shares = np.array([one.shares for one in found])
    claimed = np.sqrt(np.mean([getattr(one, errors) ** 2 for one in found], axis=0))
    spread = shares.std(axis=0, ddof=1)
    assert (np.abs(shares.mean(axis=0) - truth) <= 4 * spread / 20).all()
    assert spread == pytest.approx(claimed, rel=0.15)


@given(st.lists(st.integers(0, 500), min_size=6, max_size=6).filter(any))
def test_columns_perturbed_independently_are_estimated_as_by_one_large_matrix(counts):
    table = np.array(counts).reshape(3, 2)
    found = estimate_from_counts(table, [RULE, COIN])
    large = np.kron(RULE.matrix.doubles, COIN.matrix.doubles)
    inverse, rows = np.linalg.inv(large.T), table.sum()
    masked = table.ravel() / rows
    shares = inverse @ masked
    assert found.shares.ravel() == pytest.approx(shares, abs=1e-9)
    spread = inverse @ (np.diag(masked) - np.outer(masked, masked)) @ inverse.T
    assert found.population_errors.ravel() ** 2 * rows == pytest.approx(np.diag(spread), abs=1e-9)
    draws = inverse @ (np.diag(masked) - large.T @ np.diag(shares) @ large) @ inverse.T
    expected = np.maximum(np.diag(draws), 0)
    assert found.errors.ravel() ** 2 * rows == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@given(rules(), st.data())
def test_what_the_matrix_makes_of_frequencies_is_undone(rule, data):
    size = len(rule.values)
    counts = np.array(
        data.draw(st.lists(st.integers(0, 99), min_size=size, max_size=size).filter(any))
    )
    rank = np.linalg.matrix_rank(rule.matrix.doubles, tol=1e-10)
    alone = estimable(rule)
    if rank < size:
        with pytest.raises(OptionError, match=f"rank {rank} for {size} values"):
            left_inverse(rule)
        assert len(alone) < size
        return
    assert alone == rule.values
    if np.linalg.cond(rule.matrix.doubles) < 1e6:
        expected = counts / counts.sum()
        found = left_inverse(rule) @ (expected @ rule.matrix.doubles)
        assert found == pytest.approx(expected, abs=1e-8)


def test_more_released_values_than_values_can_be_undone():
    rule = Pram([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], ["a", "b"], released=[1, 2, 3])
    assert left_inverse(rule) @ rule.matrix.doubles.T == pytest.approx(np.eye(2))


def test_estimates_outside_are_said_to_be_and_projected_only_when_asked():
    found = estimate_from_counts([20, 0], COIN)
    assert found.outside == 2
    assert "unbiased as they are" in found.sentences[1]
    moved = estimate_from_counts([20, 0], COIN, project=True)
    assert moved.shares.tolist() == [1.0, 0.0]
    assert "are biased" in moved.sentences[1]
    assert estimate_from_counts([500, 500], COIN).inflation == pytest.approx(1 / 0.36)
    assert 1 <= estimate_from_counts([1, 0], COIN).inflation < np.inf


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=6))
def test_the_nearest_frequencies_are_nearest(numbers):
    shares = np.array(numbers)
    found = nearest_frequencies(shares)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    # Nearest in a convex set: no corner lies in front of it.
    for corner in np.eye(len(shares)):
        assert (shares - found) @ (corner - found) <= 1e-9


@pytest.mark.parametrize("counts", [[1, 2, 3], [1, -1], [0, 0], [[1, 2]]])
def test_counts_that_make_no_sense_are_refused(counts):
    with pytest.raises(OptionError):
        estimate_from_counts(counts, COIN)


# --- the least leakage --------------------------------------------------------------------------


@pytest.mark.slow
@given(st.data())
def test_the_least_leaking_rule_is_the_optimum_of_the_whole_programme(data):
    size = data.draw(st.integers(2, 6))
    whole = st.integers(0, 9)
    prior = np.array(data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)), float)
    prior /= prior.sum()
    square = st.lists(st.lists(whole, min_size=size, max_size=size), min_size=size, max_size=size)
    costs = np.array(data.draw(square), float)
    low, high = prior @ costs.min(axis=1), prior @ costs.max(axis=1)
    limit = low + data.draw(st.floats(0, 1)) * (high - low)
    knows = data.draw(st.sampled_from(["anything", "frequencies"]))
    guess = np.ones(size) if knows == "anything" else prior
    objective = np.concatenate([np.zeros(size * size), np.ones(size)])
    tops, sums = [], []
    for x, y in itertools.product(range(size), repeat=2):
        row = np.zeros(size * size + size)
        row[x * size + y], row[size * size + y] = guess[x], -1
        tops.append(row)
    tops.append(np.concatenate([(prior[:, None] * costs).ravel(), np.zeros(size)]))
    for x in range(size):
        row = np.zeros(size * size + size)
        row[x * size : (x + 1) * size] = 1
        sums.append(row)
    limits = np.concatenate([np.zeros(size * size), [limit + 1e-12]])
    whole_programme = linprog(objective, tops, limits, sums, np.ones(size))
    found = least_leaking(prior, costs, limit, knows=knows)
    assert found.gain == pytest.approx(whole_programme.fun, abs=1e-7)
    assert found.least_gain <= whole_programme.fun + 1e-7
    assert found.distortion <= limit + 1e-7


def test_a_rule_over_many_values_adds_pairs_until_it_is_optimal():
    generator = np.random.default_rng(3)
    prior = generator.dirichlet(np.ones(60))
    found = least_leaking(prior, "absolute", 6.0, knows="frequencies")
    assert found.gap <= 1e-9
    assert found.distortion == pytest.approx(6, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_least_leaking_rule_holds_no_dust(seed):
    prior = np.random.default_rng(seed).dirichlet(np.full(9, 0.3))
    parts = least_leaking(prior, "squared", 2.0).pram.matrix
    assert (parts.doubles[parts.parts > 0] > 1e-7).all()
    assert (parts.parts.sum(axis=1) == parts.whole).all()


# --- tables that a policy does not fit ----------------------------------------------------------


def test_a_table_that_was_never_perturbed_does_not_fit_the_policy():
    rule = Pram.retaining("0.8", ["no", "yes"], column="sick")
    found = estimate_from_counts([10_000, 0], rule)
    assert found.misfit == pytest.approx(50, rel=0.01)  # 1/3 below 0, give or take 1/150
    assert found.sentences[0].startswith("The table does not fit the policy: an estimate is 50 ")
    assert "unbiased" not in " ".join(found.sentences)
    told = found.to_dict()
    assert (told["fits"], told["standard_errors_outside"]) == (False, found.misfit)
    projected = estimate_from_counts([10_000, 0], rule, project=True)
    assert projected.misfit == found.misfit  # moving the estimates does not make them fit
    assert "does not fit" in projected.sentences[0]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 5, 40, 300, 20_000])
def test_what_was_drawn_by_a_policy_fits_it(rows):
    """Nobody's draw is called foreign: rare values, unseen values, several columns."""
    rng = np.random.default_rng(rows)
    rules = [
        Pram.retaining("0.6", range(5), column="a"),
        Pram.retaining("0.99", range(8), column="b"),
        Pram([["0.1", "0.9"], ["0.2", "0.8"]], range(2), column="c"),
    ]
    for rule, _ in itertools.product(rules, range(40)):
        truth = rng.multinomial(rows, rng.dirichlet(np.full(len(rule.values), 0.1)))
        drawn = rng.multinomial(truth, np.asarray(rule.matrix.doubles))  # a row for every value
        found = estimate_from_counts(drawn.sum(axis=0), rule)
        assert found.misfit is None
        assert found.to_dict()["fits"]


def test_a_value_that_is_listed_and_never_released_is_refused():
    rule = Pram([["0.9", "0.1", "0"], ["0.2", "0.8", "0"]], "ab", released="xyz", column="sick")
    assert estimate_from_counts([5, 5, 0], rule).rows == 10
    with pytest.raises(OptionError, match="'sick' holds a value that the policy never releases"):
        estimate_from_counts([5, 5, 1], rule)


def test_a_distortion_above_all_tells_nothing_and_one_that_no_rule_reaches_is_refused():
    assert least_leaking([1, 1, 2], "zero_one", 100).gain == pytest.approx(1)
    with pytest.raises(OptionError, match="No perturbation reaches a distortion of -1"):
        least_leaking([1, 1], "zero_one", -1)
    with pytest.raises(OptionError, match="not 2 numbers"):
        least_leaking([1, 1, 1], "zero_one", 0.5, values=["a", "b"])
