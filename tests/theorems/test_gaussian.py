"""The quadratic-Gaussian bound: its certificates, its closed forms, and what they must agree on."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.policies.gaussian.bound import (
    GaussianFrontier,
    quadratic_gaussian_bound,
    water_filling_bound,
    water_levels,
)
from hartley.policies.gaussian.certificate import Dyadic, ceiling, floor, minors
from hartley.policies.gaussian.model import read_gaussian

SEEDS = st.integers(0, 2**32 - 1)


def random_covariances(seed, *, most=4):
    rng = np.random.default_rng(seed)
    secrets, keys = rng.integers(1, most + 1, 2)
    root = rng.standard_normal((secrets + keys, secrets + keys + int(rng.integers(0, 3))))
    joint = root @ root.T * 10.0 ** rng.uniform(-3, 3)
    return {
        "confidential": joint[:secrets, :secrets],
        "key": joint[secrets:, secrets:],
        "cross": joint[:secrets, secrets:],
    }, rng


def told(sides, noise):
    """The objective of eq. (6) for any covariance of the noise, with plain inverses, in nats."""
    back = sides["cross"] @ np.linalg.inv(sides["key"])
    left = sides["confidential"] - back @ (sides["key"] - noise) @ back.T
    return (np.linalg.slogdet(sides["confidential"])[1] - np.linalg.slogdet(left)[1]) / 2


def random_noise(sides, distortion, rng):
    """Some covariance between 0 and that of the key, with at most so large a trace."""
    root = np.linalg.cholesky(sides["key"])
    size = len(root)
    turn = np.linalg.qr(rng.standard_normal((size, size)))[0]
    noise = root @ (turn * rng.random(size)) @ turn.T @ root.T
    return noise * min(1.0, distortion / noise.trace())


# --- certificates -----------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.floats(0.001, 0.999))
def test_both_sides_are_proved_and_close(seed, share):
    sides, rng = random_covariances(seed)
    distortion = share * float(sides["key"].trace())
    found = quadratic_gaussian_bound(**sides, distortion=distortion, base=math.e)
    assert 0 <= found.low <= found.high
    assert found.gap < 1e-8 * max(1.0, found.largest_risk)
    for _ in range(20):
        assert found.low <= told(sides, random_noise(sides, distortion, rng)) + 1e-9
    # The rule that comes with it: allowed, and as good as is said.
    for between in (found.matrix, sides["key"] - found.matrix):
        assert np.linalg.eigvalsh(between)[0] > -1e-8 * sides["key"].trace()
    assert found.matrix.trace() <= distortion * (1 + 1e-9)
    assert told(sides, found.matrix) == pytest.approx(found.high, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(-0.999, 0.999), st.floats(1e-6, 0.999), st.floats(1e-3, 1e3))
def test_one_column_is_enclosed_by_forty_digits_of_eq_8(rho, share, scale):
    cross = rho * scale
    found = quadratic_gaussian_bound(
        confidential=scale, key=scale, cross=cross, distortion=share * scale, base=math.e
    )
    with localcontext() as context:
        context.prec = 50
        square = Decimal(cross) ** 2 / Decimal(scale) ** 2
        kept = 1 - Decimal(share * scale) / Decimal(scale)
        exact = -(1 - square * kept).ln() / 2
    assert Decimal(found.low) <= exact <= Decimal(found.high)
    assert found.gap < 1e-12


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_any_multipliers_that_are_accepted_prove_a_true_bound(seed):
    sides, rng = random_covariances(seed, most=3)
    model = read_gaussian(**sides)
    distortion = float(rng.uniform(0.05, 0.9) * model.variance)
    size, keys = model.secret.shape[0], model.key.shape[0]
    root = rng.standard_normal((size, size))
    slope = np.linalg.inv(model.secret) * rng.uniform(1, 3) + 0.01 * root @ root.T
    cap = np.linalg.inv(model.key) * rng.uniform(0, 2) + 1e-3 * np.eye(keys)
    price = float(rng.uniform(0, 2) / model.variance)
    proved = floor(
        model.exact, (slope + slope.T) / 2, price, (cap + cap.T) / 2, Fraction(distortion)
    )
    best = quadratic_gaussian_bound(**sides, distortion=distortion, base=math.e)
    assert proved is None or proved <= best.high


def test_multipliers_that_prove_nothing_are_refused():
    model = read_gaussian(1.0, 1.0, 0.5).exact
    one = np.ones((1, 1))
    half = Fraction(1, 2)
    assert floor(model, one, 0.25, 0 * one, half) is not None
    assert floor(model, one, 0.2500001, 0 * one, half) is None  # u above Swx' N Swx
    assert floor(model, one, -0.1, 0 * one, half) is None
    assert floor(model, -one, 0.0, one, half) is None
    assert floor(model, one, 0.1, -one, half) is None


def test_rules_that_are_none_or_distort_too_much_are_refused():
    model = read_gaussian(1.0, 1.0, 0.5).exact
    assert ceiling(model, np.array([[0.75]]), Fraction(7, 16)) is not None
    assert ceiling(model, np.array([[0.75]]), Fraction(7, 16) - Fraction(1, 10**9)) is None
    assert ceiling(model, np.array([[1.0000001]]), Fraction(1)) is None


def brute_determinant(rows):
    total = Fraction(0)
    for order in permutations(range(len(rows))):
        swaps = sum(a > b for a, b in combinations(order, 2))
        total += (-1) ** swaps * math.prod(rows[i][j] for i, j in enumerate(order))
    return total


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_exact_elimination_agrees_with_all_principal_minors(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    root = rng.integers(-3, 4, (size, int(rng.integers(1, 5)))) / 4
    matrix = root @ root.T - (rng.random() < 0.5) * np.diag(rng.integers(0, 2, size) / 16)
    rows = [[Fraction(float(entry)) for entry in row] for row in matrix]
    negative = any(
        brute_determinant([[rows[i][j] for j in part] for i in part]) < 0
        for count in range(1, size + 1)
        for part in combinations(range(size), count)
    )
    found = minors(Dyadic.of(matrix))
    assert (found is None) == negative
    if found is not None:
        assert Fraction(*found.determinant) == brute_determinant(rows)
        assert found.rank == np.linalg.matrix_rank(matrix)


# --- closed forms -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_lemma_4_is_no_worse_than_any_other_shares(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    gains, caps = rng.exponential(1, size) + 1e-3, rng.exponential(1, size) + 1e-3
    total = float(rng.uniform(0, 1.2 * caps.sum()))
    best = water_levels(gains, caps, total)
    assert (best >= 0).all()
    assert (best <= caps).all()
    assert best.sum() == pytest.approx(min(total, caps.sum()))
    others = rng.random((300, size)) * caps
    others *= np.minimum(1.0, total / others.sum(axis=1))[:, None]
    worth = np.log1p(gains * best).sum()
    assert np.log1p(gains * others).sum(axis=1).max() <= worth + 1e-12


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.floats(0.01, 0.99))
def test_proposition_5_lies_below_the_bound_and_proposition_6_makes_them_equal(seed, share):
    sides, _ = random_covariances(seed, most=3)
    smallest = float(np.linalg.eigvalsh(sides["key"])[0])
    for distortion in (share * float(sides["key"].trace()), share * smallest):
        closed = water_filling_bound(**sides, distortion=distortion)
        exact = quadratic_gaussian_bound(**sides, distortion=distortion)
        assert closed.low <= closed.value <= exact.high + 1e-9
        assert closed.low == pytest.approx(closed.value, abs=1e-7)
        if distortion < smallest:
            assert closed.tight
            assert closed.equality_below == pytest.approx(smallest)
        if closed.tight:
            assert closed.value == pytest.approx(exact.value, abs=1e-7)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0.02, 0.98))
def test_independent_pairs_share_the_distortion_as_lemma_4_says(seed, share):
    """Parallel columns: the programme splits the distortion as the best of many splits does."""
    rng = np.random.default_rng(seed)
    rho, variances = rng.uniform(0.1, 0.95, 2), rng.uniform(0.2, 3, 2)
    distortion = share * float(variances.sum())
    found = quadratic_gaussian_bound(
        confidential=np.eye(2),
        key=np.diag(variances),
        cross=np.diag(rho * np.sqrt(variances)),
        distortion=distortion,
        base=math.e,
    )
    first = np.linspace(0, min(distortion, variances[0]), 20_001)
    first = np.append(first, np.clip(distortion - variances[1], 0, first[-1]))
    second = np.minimum(distortion - first, variances[1])
    risks = [
        -0.5 * np.log(1 - r**2 * (1 - part / v))
        for r, part, v in zip(rho, (first, second), variances, strict=True)
    ]
    assert found.value == pytest.approx(float((risks[0] + risks[1]).min()), abs=1e-6)


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.floats(0.02, 0.98))
def test_a_key_that_is_confidential_itself_gives_shannons_reverse_water_filling(seed, share):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((3, 3))
    key = root @ root.T + 0.1 * np.eye(3)
    distortion = share * float(key.trace())
    values = np.linalg.eigvalsh(key)
    low, high = 0.0, float(values.max())
    for _ in range(100):
        level = (low + high) / 2
        low, high = (level, high) if np.minimum(level, values).sum() < distortion else (low, level)
    rate = 0.5 * np.log(values / np.minimum(low, values)).sum()
    found = quadratic_gaussian_bound(
        confidential=key, key=key, cross=key, distortion=distortion, base=math.e
    )
    assert found.value == pytest.approx(float(rate), abs=1e-7)
    assert math.isinf(found.largest_risk)


# --- shape and invariance ---------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_the_bound_is_convex_never_grows_and_lies_below_the_mixture(seed):
    sides, _ = random_covariances(seed, most=3)
    frontier = GaussianFrontier(read_gaussian(**sides))
    at = np.linspace(0, 1, 9) * float(sides["key"].trace())
    found = [frontier.bound(float(distortion)) for distortion in at]
    risks = [each.value for each in found]
    assert all(a >= b - 1e-8 for a, b in pairwise(risks))
    if math.isfinite(risks[0]):
        middle = zip(risks, risks[1:], risks[2:], strict=False)
        assert all(b <= (a + c) / 2 + 1e-7 for a, b, c in middle)
    assert all(each.low <= each.mutual_information_bound + 1e-12 for each in found)


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.floats(0.05, 0.95))
def test_units_and_turns_of_either_side_do_not_matter(seed, share):
    sides, rng = random_covariances(seed, most=3)
    distortion = share * float(sides["key"].trace())
    secrets, keys = sides["cross"].shape
    mix = rng.standard_normal((secrets, secrets)) + 3 * np.eye(secrets)
    turn = 7 * np.linalg.qr(rng.standard_normal((keys, keys)))[0]
    moved = {
        "confidential": mix @ sides["confidential"] @ mix.T,
        "key": turn @ sides["key"] @ turn.T,
        "cross": mix @ sides["cross"] @ turn.T,
    }
    plain = quadratic_gaussian_bound(**sides, distortion=distortion)
    other = quadratic_gaussian_bound(**moved, distortion=49 * distortion)
    assert other.value == pytest.approx(plain.value, abs=1e-6)
