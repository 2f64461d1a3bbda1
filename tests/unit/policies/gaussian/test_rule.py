import math

import numpy as np
import pytest

from hartley import ColumnError, OptionError, TableError, people
from hartley.policies import GaussianRule
from hartley.policies.gaussian import rule as module

JOINT = np.array(
    [
        [1.0, 0.3, 0.8, 0.1, 0.2],
        [0.3, 2.0, 0.2, 0.9, 0.1],
        [0.8, 0.2, 2.0, 0.4, 0.3],
        [0.1, 0.9, 0.4, 1.0, 0.1],
        [0.2, 0.1, 0.3, 0.1, 0.5],
    ]
)
SIDES = {"confidential": JOINT[:2, :2], "key": JOINT[2:, 2:], "cross": JOINT[:2, 2:]}
ROWS = 200_000


@pytest.fixture(scope="module")
def drawn():
    sample = np.random.default_rng(5).multivariate_normal([1, 2, 3, 4, 5], JOINT, ROWS)
    return sample[:, :2], sample[:, 2:]


@pytest.mark.slow
@pytest.mark.parametrize("distortion", [0.2, 1.4, 3.0])
def test_what_is_measured_is_what_is_promised(drawn, distortion):
    secrets, keys = drawn
    rule = GaussianRule.best(**SIDES, distortion=distortion, mean=[3, 4, 5], base=math.e)
    released = rule.apply(keys, seed=11)
    squares = np.square(released - keys).sum(axis=1)
    error = squares.std() / math.sqrt(ROWS)
    assert abs(squares.mean() - distortion) < 4 * error
    assert rule.distortion == pytest.approx(distortion, rel=1e-8)
    joint = np.cov(np.c_[secrets, released].T)
    seen = joint[:2, 2:] @ np.linalg.pinv(joint[2:, 2:], rcond=1e-12) @ joint[2:, :2]
    left = np.linalg.slogdet(joint[:2, :2] - seen)[1]
    measured = (np.linalg.slogdet(joint[:2, :2])[1] - left) / 2
    # Of canonical correlations r: variance sum r^2 / n, at most 2 R / n; bias 2 * 3 / 2n.
    error = math.sqrt(2 * rule.risk / ROWS)
    assert abs(measured - rule.risk) < 4 * error + 3 / ROWS


def test_what_the_release_hides_stays_hidden_to_the_last_digit(drawn):
    """Hidden directions differ by rounding errors alone, and those tell nothing of the key."""
    keys = drawn[1][:2000]
    rule = GaussianRule.best(**SIDES, distortion=3.0)
    assert rule.noise.size == 1
    released = rule.apply(keys, seed=5)
    latent = rule.apply(keys, seed=5) @ np.linalg.pinv(rule.outer).T
    rebuilt = latent @ rule.outer.T
    assert np.abs(released - rebuilt).max() < 1e-12
    assert np.linalg.matrix_rank(released, tol=1e-9) == 1
    swapped = keys.copy()
    swapped[:, :] += np.linalg.svd(rule.inner)[2][1]  # a direction that is not looked at
    assert rule.apply(swapped, seed=5) == pytest.approx(released, abs=1e-12)


def test_the_noise_is_independent_of_the_key_and_the_mean_stays(drawn):
    keys = drawn[1]
    rule = GaussianRule.best(**SIDES, distortion=1.4, mean=[3, 4, 5])
    released = rule.apply(keys, seed=3)
    errors = released.std(axis=0) / math.sqrt(ROWS)
    assert (np.abs(released.mean(axis=0) - keys.mean(axis=0)) < 6 * errors).all()
    # X - X^ is uncorrelated with X^, as Q = E[X|Q] demands.
    apart = keys - released
    together = np.cov(np.c_[released, apart].T)[:3, 3:]
    assert np.abs(together).max() < 6 * 2 / math.sqrt(ROWS)


def test_the_same_seed_draws_the_same_whatever_the_chunks(drawn, monkeypatch):
    keys = drawn[1][:1000]
    rule = GaussianRule.best(**SIDES, distortion=1.4)
    first = rule.apply(keys, seed=1)
    monkeypatch.setattr(module, "CHUNK", 7)
    assert rule.apply(keys, seed=1) == pytest.approx(first, abs=1e-12)
    assert (rule.apply(keys, seed=2) != first).any()
    assert (rule.apply(keys) != rule.apply(keys)).any()


def test_no_distortion_releases_the_key_and_all_of_it_the_mean(drawn):
    keys = drawn[1][:100]
    same = GaussianRule.best(**SIDES, distortion=0, mean=[3, 4, 5])
    assert same.apply(keys, seed=1) == pytest.approx(keys, abs=1e-12)
    nothing = GaussianRule.best(**SIDES, distortion=9, mean=[3, 4, 5])
    assert nothing.apply(keys, seed=1) == pytest.approx(np.tile([3.0, 4, 5], (100, 1)), abs=1e-12)
    assert nothing.risk == 0


def test_a_dependent_key_stays_dependent():
    key = np.random.default_rng(2).standard_normal(1000)
    rule = GaussianRule.best(confidential=1, key=[[1, 2], [2, 4]], cross=[0.5, 1.0], distortion=1.0)
    released = rule.apply(np.c_[key, 2 * key], seed=4)
    assert released[:, 1] == pytest.approx(2 * released[:, 0], abs=1e-12)
    assert released[:, 0].std() > 0.5


def test_shapes_of_one_column_are_kept():
    rule = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=0.5)
    assert rule.apply([1.0, 2.0], seed=1).shape == (2,)
    assert rule.apply(np.zeros((4, 1)), seed=1).shape == (4, 1)
    assert rule.apply(2.0, seed=1).shape == ()


def test_a_table_gives_its_own_rule_and_is_perturbed_by_it():
    table = people(4000)
    rule = GaussianRule.from_table(
        table, confidential="weight", key=["height", "age"], distortion=60
    )
    released = rule.apply(table, seed=1, keep="diagnosis")
    assert released.column_names == ["height", "age", "diagnosis"]
    keys = np.column_stack([table["height"].to_numpy(), table["age"].to_numpy()])
    values = np.column_stack([released["height"].to_numpy(), released["age"].to_numpy()])
    squares = np.square(values - keys).sum(axis=1)
    assert squares.mean() == pytest.approx(60, abs=4 * squares.std() / math.sqrt(4000))
    assert rule.bound.variance == pytest.approx(keys.var(axis=0).sum())


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda rule: rule.apply(np.zeros((3, 2))), OptionError, "rows of 3 numbers"),
        (lambda rule: rule.apply([["a", "b", "c"]]), OptionError, "rows of 3 numbers"),
        (lambda rule: rule.apply(np.full((1, 3), np.nan)), OptionError, "missing"),
        (lambda rule: rule.apply(np.zeros((1, 3)), seed=-1), OptionError, "seed -1"),
        (lambda rule: rule.apply({"a": [1]}), OptionError, "does not know the columns"),
        (lambda _: best(mean=[1]), OptionError, "1 means for 3 key columns"),
        (lambda _: best(mean=[0, 0, np.nan]), OptionError, "The mean contains an entry that is no"),
        (lambda _: best(columns="age"), OptionError, "1 names for 3 key columns"),
        (lambda _: of_people("diagnosis", "age"), ColumnError, "does not hold numbers"),
        (lambda _: of_people("age", ["height"] * 2), ColumnError, "'height' is named twice"),
        (
            lambda _: of_people("age", "height").apply(people(50), keep="height"),
            ColumnError,
            "'height' is named twice",
        ),
        (lambda rule: rule.reconstruct([[0] * 3], [[0] * 3] * 2, [1, -1]), OptionError, "negative"),
        (lambda rule: rule.reconstruct([[0] * 3], [[0] * 2]), OptionError, "rows of 3 numbers"),
        (
            lambda _: of_people("b", "a", {"a": [1.0, None], "b": [None, 2.0]}, missing="drop"),
            TableError,
            "No row of",
        ),
        (
            lambda _: of_people("b", "a", {"a": [1.0, None, 2.0], "b": [1.0, 2.0, 3.0]}),
            ColumnError,
            "missing or infinite values",
        ),
    ],
)
def test_mistakes_are_refused_in_a_sentence(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make(best())


def best(**options):
    return GaussianRule.best(**SIDES, distortion=1, **options)


def of_people(confidential, key, table=None, **options):
    sides = {"confidential": confidential, "key": key}
    return GaussianRule.from_table(table or people(50), **sides, distortion=1, **options)


def test_an_empty_table_has_no_covariances():
    rule = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=1, columns="a")
    empty = people(5).slice(0, 0)
    with pytest.raises((TableError, ColumnError), match=r"no rows|holds no|not in"):
        rule.apply(empty)


# --- a key that is not Gaussian ------------------------------------------------------------------


def channel_by_quadrature(points, chances, rule):
    """I(X;X^) in bits of one column of a finite law, on a fine grid."""
    at = np.linspace(-40, 40, 40_001)
    gain, deviation = float(rule.gain[0, 0]), math.sqrt(float(rule.noise_covariance[0, 0]))
    densities = [
        np.exp(-np.square((at - gain * x) / deviation) / 2) / deviation / math.sqrt(2 * math.pi)
        for x in points
    ]
    mixed = sum(p * density for p, density in zip(chances, densities, strict=True))
    total = 0.0
    for p, density in zip(chances, densities, strict=True):
        seen = density > 1e-300
        terms = np.zeros_like(at)
        terms[seen] = p * density[seen] * np.log2(density[seen] / mixed[seen])
        total += float(np.trapezoid(terms, at))
    return total


LAWS = [
    ([-1.0, 1.0], [0.5, 0.5]),
    ([-1.0, 4.0], [0.8, 0.2]),
    ([-3.0, 0.0, 3.0], [0.05, 0.9, 0.05]),
    ([-2.0, -1.0, 0.5, 2.5], [0.25, 0.25, 0.25, 0.25]),
]


@pytest.mark.parametrize(("points", "chances"), LAWS)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_what_is_told_about_any_key_is_at_most_what_is_said(points, chances, share):
    points, chances = np.array(points), np.array(chances)
    points = points - chances @ points
    variance = float(chances @ points**2)
    rule = GaussianRule.best(
        confidential=1, key=variance, cross=0.5 * math.sqrt(variance), distortion=share * variance
    )
    assert rule.key_information == pytest.approx(-0.5 * math.log2(share), abs=1e-9)
    information = channel_by_quadrature(points, chances, rule)
    assert information <= rule.key_information
    # The distortion needs the variance alone, whatever the law.
    gain, noise = float(rule.gain[0, 0]), float(rule.noise_covariance[0, 0])
    assert (1 - gain) ** 2 * variance + noise == pytest.approx(share * variance, rel=1e-9)


def test_a_gaussian_key_nearly_reaches_what_is_told_about_any():
    grid = np.linspace(-6, 6, 121)
    chances = np.exp(-(grid**2) / 2)
    chances /= chances.sum()
    rule = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=0.4)
    assert channel_by_quadrature(grid, chances, rule) == pytest.approx(
        rule.key_information, abs=1e-4
    )


def test_a_combination_without_noise_bounds_nothing():
    rule = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=0)
    assert math.isinf(rule.key_information)
    none = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=1)
    assert none.key_information == 0


@pytest.mark.parametrize(("points", "chances"), LAWS)
def test_estimates_of_a_finite_key_distort_less_and_are_its_conditional_means(points, chances):
    points, chances = np.array(points), np.array(chances)
    mean = float(chances @ points)
    variance = float(chances @ (points - mean) ** 2)
    rule = GaussianRule.best(
        confidential=1,
        key=variance,
        cross=0.5 * math.sqrt(variance),
        distortion=0.5 * variance,
        mean=mean,
    )
    grid = np.linspace(points.min() - 12, points.max() + 12, 20_001)
    gain, noise = float(rule.gain[0, 0]), float(rule.noise_covariance[0, 0])
    centres = mean + gain * (points - mean)
    densities = np.exp(-np.square(grid[:, None] - centres) / (2 * noise)) * chances
    densities /= math.sqrt(2 * math.pi * noise)
    with np.errstate(invalid="ignore"):
        means = densities @ points / densities.sum(axis=1)
    seen = densities.sum(axis=1) > 1e-200
    estimates = rule.reconstruct(grid, points, chances)
    assert estimates[seen] == pytest.approx(means[seen], abs=1e-8)
    errors = np.square(points[None, :] - estimates[:, None])
    distortion = float(np.trapezoid((densities * errors).sum(axis=1), grid))
    assert distortion < 0.5 * variance


def test_a_gaussian_release_is_its_own_best_estimate():
    grid = np.linspace(-7, 7, 2801)
    rule = GaussianRule.best(confidential=1, key=1, cross=0.8, distortion=0.3)
    released = np.array([-2.0, -0.3, 0.0, 1.1, 2.5])
    assert rule.reconstruct(released, grid, np.exp(-(grid**2) / 2)) == pytest.approx(
        released, abs=1e-6
    )


def test_estimates_of_what_tells_nothing_are_the_mean_of_the_law():
    nothing = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=2, mean=7)
    assert nothing.reconstruct([7.0, 7.0], [0.0, 10.0], [3, 1]).tolist() == [2.5, 2.5]
    exact = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=0)
    assert exact.reconstruct([10.0], [0.0, 10.0, 20.0]).tolist() == [10.0]


def test_estimates_of_several_columns_use_all_of_them(monkeypatch):
    rule = GaussianRule.best(
        confidential=np.eye(2),
        key=[[1.0, 0.3], [0.3, 2.0]],
        cross=[[0.7, 0.3], [0.1, 0.9]],
        distortion=1,
        mean=[3, 4],
    )
    points = np.random.default_rng(3).normal([3, 4], 1, (40, 2))
    released = rule.apply(points, seed=2)
    estimates = rule.reconstruct(released, points)
    precision = np.linalg.inv(rule.noise_covariance)
    for row, estimate in zip(released, estimates, strict=True):
        apart = row - (rule.mean + (points - rule.mean) @ rule.gain.T)
        logs = -np.einsum("ni,ij,nj->n", apart, precision, apart) / 2
        weights = np.exp(logs - logs.max())
        assert estimate == pytest.approx(weights @ points / weights.sum(), abs=1e-6)
    monkeypatch.setattr(module, "MOST_WEIGHTS", 100)
    assert rule.reconstruct(released, points) == pytest.approx(estimates, abs=1e-12)


# --- units, gaps, both sides ---------------------------------------------------------------------


def test_a_standardised_key_does_not_depend_on_its_units():
    table = people(3000)
    metres = {name: table[name].to_numpy() for name in ("height", "age", "weight")}
    metres["height"] = metres["height"] / 100
    options = {"confidential": "weight", "key": ["height", "age"], "standardise": True}
    centimetre, metre = (
        GaussianRule.from_table(rows, **options, distortion=0.7) for rows in (table, metres)
    )
    assert metre.risk == pytest.approx(centimetre.risk, rel=1e-6)
    keys = np.column_stack([metres["height"], metres["age"]])
    released = metre.apply(keys, seed=1)
    apart = np.square((released - keys) / keys.std(axis=0)).sum(axis=1)
    assert apart.mean() == pytest.approx(0.7, abs=4 * apart.std() / math.sqrt(3000))
    assert metre.distortions == pytest.approx(np.square(released - keys).mean(axis=0), rel=0.1)
    # X^ = mean + gain (X - mean) + noise in the units of the columns.
    noise = released - keys.mean(axis=0) - (keys - keys.mean(axis=0)) @ metre.gain.T
    assert np.cov(noise.T) == pytest.approx(metre.noise_covariance, abs=0.1)


def test_rows_with_gaps_are_left_out_where_that_is_wanted():
    rows = {"a": [1.0, None, 2.0, 4.0], "b": [1.0, 2.0, math.inf, 3.0], "c": ["x", "y", "z", None]}
    rule = GaussianRule.from_table(rows, confidential="b", key="a", distortion=1, missing="drop")
    assert rule.mean.tolist() == [2.5]
    released = rule.apply(rows, keep="c", missing="drop", seed=1)
    assert released["c"].to_pylist() == ["x", "z", None]


def test_a_column_on_both_sides_is_determined_by_the_key():
    """With W = X the risk is Shannon's: half the logarithm of variance over distortion."""
    table = people(2000)
    variance = table["height"].to_numpy().astype(float).var()
    rule = GaussianRule.from_table(
        table, confidential="height", key="height", distortion=variance / 16
    )
    assert rule.risk == pytest.approx(2, abs=1e-6)
    assert math.isinf(rule.bound.largest_risk)
    shared = GaussianRule.from_table(
        table, confidential=["weight", "height"], key=["height"], distortion=variance / 16
    )
    # Given the key, the weight adds nothing to what is told about both.
    assert shared.risk == pytest.approx(2, abs=1e-6)


def test_noise_without_a_seed_is_normal_and_fresh():
    rule = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=0.5)
    drawn = rule.apply(np.zeros(200_000))
    deviation = math.sqrt(float(rule.noise_covariance[0, 0]))
    assert abs(drawn.mean()) < 5 * deviation / math.sqrt(200_000)
    assert drawn.std() == pytest.approx(deviation, rel=0.01)
    kurtosis = np.mean((drawn / deviation) ** 4)
    assert kurtosis == pytest.approx(3, abs=0.1)
    # The next chunk goes on where the last one stopped, and repeats nothing.
    assert np.unique(drawn).size == drawn.size
