import math

import numpy as np
import pytest

from hartley.datasets.people import people
from hartley.errors import ColumnError, OptionError, TableError
from hartley.policies.gaussian import rule as module
from hartley.policies.gaussian.rule import GaussianRule

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
        (
            lambda _: GaussianRule.best(**SIDES, distortion=1, mean=[1]),
            OptionError,
            "1 means for 3 key columns",
        ),
        (
            lambda _: GaussianRule.best(**SIDES, distortion=1, mean=[0, 0, np.nan]),
            OptionError,
            "The mean contains an entry that is not a number",
        ),
        (
            lambda _: GaussianRule.best(**SIDES, distortion=1, columns="age"),
            OptionError,
            "1 names for 3 key columns",
        ),
        (
            lambda _: GaussianRule.from_table(
                people(50), confidential="diagnosis", key="age", distortion=1
            ),
            ColumnError,
            "does not hold numbers",
        ),
        (
            lambda _: GaussianRule.from_table(
                people(50), confidential="age", key="age", distortion=1
            ),
            ColumnError,
            "named twice",
        ),
        (
            lambda _: GaussianRule.from_table(
                {"a": [1.0, None, 2.0], "b": [1.0, 2.0, 3.0]},
                confidential="b",
                key="a",
                distortion=1,
            ),
            ColumnError,
            "missing or infinite values",
        ),
    ],
)
def test_mistakes_are_refused_in_a_sentence(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make(GaussianRule.best(**SIDES, distortion=1))


def test_an_empty_table_has_no_covariances():
    rule = GaussianRule.best(confidential=1, key=1, cross=0.5, distortion=1, columns="a")
    empty = people(5).slice(0, 0)
    with pytest.raises((TableError, ColumnError), match=r"no rows|holds no|not in"):
        rule.apply(empty)
