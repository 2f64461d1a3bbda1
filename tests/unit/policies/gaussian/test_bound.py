"""The bound for Gaussian models, proved on both sides."""

import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from hartley import OptionError, quadratic_gaussian_bound
from hartley.policies import mutual_information_bound, water_filling_bound
from hartley.policies.gaussian.bound import GaussianFrontier, Programme
from hartley.policies.gaussian.certificate import Dyadic, in_unit, minors
from hartley.policies.gaussian.model import moments, read_gaussian

KEY = np.array([[2.0, 0.9], [0.9, 1.0]])
SIDES = {"confidential": 1.0, "key": KEY, "cross": [0.9, 0.1]}


def test_a_programme_is_needed_where_water_filling_asks_for_too_much_noise():
    small = quadratic_gaussian_bound(**SIDES, distortion=0.1)
    large = quadratic_gaussian_bound(**SIDES, distortion=0.9)
    assert small.method.startswith("water-filling")
    assert large.method.startswith("semidefinite")
    assert large.gap < 1e-9
    assert not water_filling_bound(**SIDES, distortion=0.9).tight


def test_without_a_solver_the_sides_are_wide_and_still_true(monkeypatch):
    best = quadratic_gaussian_bound(**SIDES, distortion=0.9)
    monkeypatch.setattr(Programme, "solve", lambda *_: None)
    found = quadratic_gaussian_bound(**SIDES, distortion=0.9)
    assert found.low <= best.low
    assert found.high >= best.high
    assert found.gap > 1e-6


@pytest.mark.parametrize("wrong", ["nothing", "twice", "turned"])
def test_a_solver_that_lies_is_not_believed(monkeypatch, wrong):
    best = quadratic_gaussian_bound(**SIDES, distortion=0.9)
    honest = Programme.solve

    def lie(self, share):
        released, slope = honest(self, share)
        return {
            "nothing": (0 * released, slope),
            "twice": (2 * released, 2 * slope),
            "turned": (released[::-1, ::-1], -slope),
        }[wrong]

    monkeypatch.setattr(Programme, "solve", lie)
    found = quadratic_gaussian_bound(**SIDES, distortion=0.9)
    assert found.low <= best.high
    assert found.high >= best.low


def test_the_ends_need_no_programme():
    nothing = quadratic_gaussian_bound(**SIDES, distortion=3.0)
    assert (nothing.value, nothing.low, nothing.high, nothing.lam) == (0, 0, 0, math.inf)
    assert nothing.matrix == pytest.approx(KEY)
    whole = quadratic_gaussian_bound(**SIDES, distortion=0)
    assert whole.value == pytest.approx(whole.largest_risk)
    assert not whole.matrix.any()


def test_an_unrelated_key_tells_nothing():
    found = quadratic_gaussian_bound(confidential=1, key=np.eye(2), cross=[0, 0], distortion=0.5)
    assert (found.low, found.high, found.largest_risk) == (0, 0, 0)


# --- singular covariances ---------------------------------------------------------------------


def test_a_key_column_that_repeats_another_doubles_the_distortion():
    double = quadratic_gaussian_bound(
        confidential=1, key=[[1, 1], [1, 1]], cross=[0.8, 0.8], distortion=0.6
    )
    single = quadratic_gaussian_bound(confidential=1, key=1, cross=0.8, distortion=0.3)
    assert double.value == pytest.approx(single.value, abs=1e-12)
    assert double.matrix == pytest.approx(np.full((2, 2), 0.3), abs=1e-12)
    assert "follow from the others" in " ".join(double.notes)


def test_a_confidential_column_that_follows_from_others_changes_nothing():
    mix = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -2.0]])
    sides = {
        "confidential": np.array([[1.0, 0.3], [0.3, 1.0]]),
        "key": KEY,
        "cross": np.array([[0.5, 0.2], [0.4, 0.3]]),
    }
    more = {
        "confidential": mix @ sides["confidential"] @ mix.T,
        "key": KEY,
        "cross": mix @ sides["cross"],
    }
    one = quadratic_gaussian_bound(**sides, distortion=0.8)
    other = quadratic_gaussian_bound(**more, distortion=0.8)
    assert other.value == pytest.approx(one.value, abs=1e-9)
    assert "confidential columns follow" in other.notes[0]


def test_columns_that_nearly_follow_from_others_are_kept():
    near = 1 - 1e-11
    found = quadratic_gaussian_bound(
        confidential=[[1.0, near], [near, 1.0]], key=1.0, cross=[0.9, 0.9], distortion=0.01
    )
    assert found.notes == ()
    alone = quadratic_gaussian_bound(confidential=1.0, key=1.0, cross=0.9, distortion=0.01)
    assert found.low == pytest.approx(alone.low, abs=1e-5)
    assert found.high >= alone.low


def test_an_entropy_counts_exactly_where_confidential_columns_nearly_follow():
    inner = np.array([[14.0, 5.6, 10.3], [5.6, 5.09, 3.2], [10.3, 3.2, 8.09]])
    mixed = inner @ [0.3, 0.5, 0.2]
    last = [*mixed, mixed @ [0.3, 0.5, 0.2] + 1e-10]
    secret = np.vstack([np.column_stack([inner, mixed]), last])
    secret = (secret + secret.T) / 2
    sides = {"confidential": secret, "key": 1.0, "cross": secret[0] / 8, "distortion": 0.1}
    determinant = Fraction(1)
    left = [[Fraction(entry) for entry in row] for row in secret.tolist()]
    for step in range(4):
        determinant *= left[step][step]
        for row in left[step + 1 :]:
            share = row[step] / left[step][step]
            row[:] = [one - share * other for one, other in zip(row, left[step], strict=True)]
    most = 2 * math.log(2 * math.pi * math.e) + math.log(determinant) / 2
    whole = quadratic_gaussian_bound(**sides, base=math.e)
    found = quadratic_gaussian_bound(**sides, base=math.e, entropy=most - 0.1)
    assert found.low <= whole.high - 0.1 + 1e-12
    assert found.high >= whole.low - 0.1 - 1e-12


@pytest.mark.parametrize("distortion", [5e-324, 1e-300, 1e-30])
def test_hardly_any_distortion_tells_hardly_less_than_the_key(distortion):
    found = quadratic_gaussian_bound(**SIDES, distortion=distortion)
    assert found.low <= found.largest_risk <= found.high
    assert found.gap < 1e-9


def test_a_constant_key_column_costs_no_distortion():
    key = np.zeros((3, 3))
    key[np.ix_([0, 2], [0, 2])] = KEY
    found = quadratic_gaussian_bound(confidential=1, key=key, cross=[0.9, 0.0, 0.1], distortion=0.9)
    plain = quadratic_gaussian_bound(**SIDES, distortion=0.9)
    assert found.value == pytest.approx(plain.value, abs=1e-9)
    assert found.matrix[1].tolist() == [0, 0, 0]


def test_sample_covariances_of_dependent_columns_are_mended_and_said_so():
    rows = np.random.default_rng(1).standard_normal((500, 3))
    joint = np.cov(np.c_[rows, rows @ [1.0, 2.0, 0.1]].T)
    sides = {"confidential": joint[3:, 3:], "key": joint[:3, :3], "cross": joint[3:, :3]}
    found = quadratic_gaussian_bound(**sides, distortion=0.01)
    assert found.gap < 1e-9
    assert math.isinf(found.largest_risk)
    untouched = quadratic_gaussian_bound(**sides, distortion=0)
    assert math.isinf(untouched.value)
    assert 20 < untouched.low < math.inf
    assert "tells without end" in " ".join(untouched.sentences)
    with pytest.raises(OptionError, match="no closed form"):
        water_filling_bound(**sides, distortion=0.01)


# --- words, plain values, bad input -----------------------------------------------------------


def test_the_sentences_round_to_the_safe_side():
    found = quadratic_gaussian_bound(confidential=1, key=1, cross=0.95, distortion=0.25)
    text = " ".join(found.sentences)
    low = float(text.split("less than ")[1].split()[0])
    high = float(text.split("tells at most ")[1].split(";")[0])
    assert low <= found.low <= found.high <= high <= low + 2e-6
    assert "comparison and no bound" in text
    json.dumps(found.to_dict(), allow_nan=False)


def test_infinities_become_text_for_json():
    found = quadratic_gaussian_bound(confidential=1, key=1, cross=1, distortion=0)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["value"] == "inf"


def test_water_filling_says_whether_a_rule_reaches_it():
    tight = water_filling_bound(**SIDES, distortion=0.1)
    assert "Some rule tells just that." in tight.sentences
    loose = water_filling_bound(**SIDES, distortion=0.9)
    assert any("may tell more" in sentence for sentence in loose.sentences)
    assert loose.unit == "bits"


def test_units_are_rounded_outward():
    for nats in (0.1, 1.0, 7.3):
        assert in_unit(nats, 2, up=False) < nats / math.log(2) < in_unit(nats, 2, up=True)
    assert in_unit(0.3, math.e, up=True) == 0.3


def test_a_frontier_is_prepared_once_and_answers_alike():
    frontier = GaussianFrontier(read_gaussian(**SIDES))
    for distortion in (0.1, 0.5, 0.9, 1.5):
        alone = quadratic_gaussian_bound(**SIDES, distortion=distortion)
        assert frontier.bound(distortion).value == pytest.approx(alone.value, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"confidential": -1}, "negative variance"),
        ({"confidential": "a"}, "not a number"),
        ({"confidential": math.nan}, "not a number"),
        ({"confidential": 0}, "does not vary"),
        ({"confidential": [1, 2]}, "not a square matrix"),
        ({"key": [[1, 0], [1, 1]]}, "not symmetric"),
        ({"cross": [2, 2]}, "No distribution has these covariances"),
        ({"cross": [[0.1], [0.1]]}, "is 2 x 1, not 1 x 2"),
        ({"distortion": -1}, "0 or more"),
        ({"distortion": True}, "0 or more"),
        ({"distortion": math.inf}, "0 or more"),
        ({"base": 1}, "base"),
        ({"entropy": 9.0}, "entropy of 9.0"),
        ({"confidential": 5e-324, "cross": [0.0, 0.0]}, "variance below 1e-150"),
        ({"entropy": -math.inf}, "no density"),
        ({"key": [[1, 0], [0, 0]], "cross": [0.1, 0.1]}, "No distribution has these covariances"),
    ],
)
def test_bad_covariances_are_refused_in_a_sentence(change, sentence):
    with pytest.raises(OptionError, match=sentence):
        quadratic_gaussian_bound(**(SIDES | {"distortion": 0.5} | change))


def test_a_mixture_needs_a_distortion_to_mix_with():
    assert mutual_information_bound(information=1, constant_distortion=2, distortion=3) == 0
    with pytest.raises(OptionError, match="There is no bound"):
        mutual_information_bound(information=1, constant_distortion=0, distortion=0)


# --- exact elimination ------------------------------------------------------------------------


def test_a_matrix_that_is_not_symmetric_proves_nothing():
    turned = [[1.0, -1.0], [1.0, 1.0]]  # eigenvalues 1 + i and 1 - i: coefficients alternate
    assert minors(Dyadic.of(turned)) is None


# --- numbers whose covariance overflows are refused without a warning of numpy --------------------


def test_moments_that_overflow_are_not_finite_and_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, covariances = moments(np.array([[1.0], [1e308], [-1e308]]))
    assert not np.isfinite(covariances).any()
