"""Problems that make no sense are refused in a sentence; unusual ones are solved."""

import math
import re

import numpy as np
import pytest

from hartley import ColumnError, InputError, OptionError, PrivacyDistortion

JOINT = np.array([[0.30, 0.10, 0.05], [0.10, 0.15, 0.30]])


@pytest.mark.parametrize(
    ("joint", "distortion", "sentence"),
    [
        ([[0.5, 0.0], [0.5, 0.0]], "squared", "column 1 of the joint distribution is zero"),
        ([[0.0, 0.0], [0.5, 0.5]], "squared", "row 0 of the joint distribution is zero"),
        ([[0.5, 0.2], [0.1, 0.1]], "squared", "does not add up to 1"),
        ([[0.5, -0.2], [0.4, 0.3]], "squared", "not a probability"),
        ([[0.5, 0.5]], "squared", "one value only, so there is nothing to tell"),
        ([[0.5], [0.5]], "squared", "one value only, so there is nothing to perturb"),
        (JOINT, [[0, 1, 1], [1, 0, 1]], "2 rows for 3 key values"),
        (JOINT, -np.eye(3), "negative or not a number"),
        (JOINT, np.full((3, 3), np.nan), "negative or not a number"),
        (JOINT, [["a"]], "not a matrix of numbers"),
        (JOINT, None, "not a matrix of numbers"),
        (JOINT, "cubic", "no distortion called cubic"),
        (JOINT, 1e200 * np.ones((3, 3)), "too small or too large"),
        (JOINT, 1e-320 * np.ones((3, 3)), "too small or too large"),
        (JOINT, {0: ("a",), 1: ("a",)}, "lacks key value number 2"),
        (JOINT, {0: ("a",), 1: ("a",), 2: ("a", "b")}, "differ in length"),
    ],
)
def test_what_makes_no_problem_is_refused_in_a_sentence(joint, distortion, sentence):
    with pytest.raises(OptionError, match=sentence) as refused:
        PrivacyDistortion(joint, distortion)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"base": 1}, "base 1 is not larger"),
        ({"method": "third"}, "no method called third"),
        ({"values": [1, 2]}, "2 key values for 3 columns"),
        ({"values": 3}, "0 key values for 3 columns"),
        ({"values": [1, 2, 2]}, "named twice"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        PrivacyDistortion(JOINT, "squared", **options)


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({}, "Exactly one of"),
        ({"lam": 1, "risk": 1}, "Exactly one of"),
        ({"lam": 0}, "not a positive number"),
        ({"lam": math.inf}, "not a positive number"),
        ({"lam": "much"}, "not a positive number"),
        ({"lam": True}, "not a positive number"),
        ({"lam": 10**400}, "not a positive number"),
        ({"lam": 1, "tolerance": "small"}, "tolerance small is not"),
        ({"risk": -0.1}, r"between 0 and 0\.\d+ bits"),
        ({"risk": 3}, r"No perturbation reaches a risk of 3 bits"),
        ({"distortion": -1}, "No perturbation reaches a distortion of -1; hint: choose 0 or more"),
        ({"distortion": math.nan}, "No perturbation reaches a distortion of nan"),
        ({"distortion": "near"}, "No perturbation reaches"),
        ({"lam": 1, "tolerance": 0}, "tolerance 0 is not"),
    ],
)
def test_what_no_rule_reaches_is_refused_with_the_interval(wish, sentence):
    with pytest.raises(OptionError) as refused:
        PrivacyDistortion(JOINT, "squared").solve(**wish)
    assert re.search(sentence, str(refused.value))


def test_a_distortion_below_the_most_faithful_names_what_can_be_reached():
    model = PrivacyDistortion(JOINT, 1.0 + np.ones((3, 3)) - np.eye(3))
    with pytest.raises(OptionError, match="choose 1 or more"):
        model.solve(distortion=0.5)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        (
            {"confidential": "sick", "key": "sex"},
            ColumnError,
            "'sex' contains something that is not a",
        ),
        ({"confidential": "nobody", "key": "age"}, ColumnError, "nobody"),
        (
            {"confidential": "sick", "key": "age", "missing": "value"},
            ColumnError,
            "'age' contains something that is not a number",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(options, error, sentence, table):
    with pytest.raises(error, match=sentence):
        PrivacyDistortion.from_table(table, **options)


@pytest.mark.parametrize(
    "keys", [[2**60, 2**60 + 1, 2**60 + 2], [1e-200, 2e-200, 3e-200], [1e155, -1e155, 0.0]]
)
def test_keys_whose_distances_doubles_cannot_hold_are_refused(keys):
    table = {"key": [*keys, keys[0]], "sick": ["yes", "no", "yes", "no"]}
    with pytest.raises(OptionError, match="too small or too large"):
        PrivacyDistortion.from_table(table, confidential="sick", key="key")


@pytest.mark.parametrize("unit", [1e-40, 1e40])
def test_keys_of_any_other_size_have_a_riskless_rule(unit):
    table = {"key": [unit, 2 * unit, 3 * unit, unit], "sick": ["yes", "no", "yes", "no"]}
    model = PrivacyDistortion.from_table(table, confidential="sick", key="key")
    last = model.curve(points=4).points[-1]
    assert last.risk == 0
    assert last.distortion / unit**2 == pytest.approx(0.25)  # 2 and 3 become one


def test_a_table_with_one_confidential_value_is_refused():
    with pytest.raises(InputError, match="nothing to tell"):
        PrivacyDistortion.from_table({"a": [1, 2], "b": ["x", "x"]}, confidential="b", key="a")


@pytest.mark.parametrize(
    "options",
    [
        {"rho": 1},
        {"rho": "high"},
        {"rho": 0.5, "points": 1},
        {"rho": 0.5, "points": 10**9},
        {"rho": 0.5, "reach": 0},
    ],
)
def test_a_gaussian_that_is_none_is_refused(options):
    with pytest.raises(OptionError):
        PrivacyDistortion.gaussian(**options)


def test_a_curve_needs_three_points_and_a_tolerance():
    model = PrivacyDistortion(JOINT, "squared")
    with pytest.raises(OptionError, match="3 points or more"):
        model.curve(points=2)
    with pytest.raises(OptionError, match="tolerance 0 is not"):
        model.curve(tolerance=0)


def test_numbers_of_numpy_are_numbers():
    model = PrivacyDistortion(JOINT, "squared")
    expected = model.solve(lam=2).cost
    assert [model.solve(lam=lam).cost for lam in (np.int64(2), np.float32(2))] == [expected] * 2
    assert len(model.curve(points=np.int64(4)).points) == 4
    grid = PrivacyDistortion.gaussian(rho=np.float32(0.5), points=np.int64(9))
    assert len(grid.values) == 9


def test_a_path_of_one_level_need_be_no_list():
    assert PrivacyDistortion(JOINT, {0: 1, 1: 1, 2: 2}).distortion[0].tolist() == [0, 1, 2]


@pytest.mark.slow
def test_probabilities_whose_products_vanish_are_measured():
    """A grid that reaches to 29 standard deviations holds probabilities around 1e-200."""
    model = PrivacyDistortion.gaussian(rho=0.5, points=9, reach=29)
    answer = model.solve(distortion=model.constant_distortion / 2)
    assert 0 < answer.risk < model.largest_risk < 1e-12
    assert model.solve(risk=0).distortion == model.constant_distortion


TRIPLE = np.arange(18.0).reshape(2, 3, 3)


@pytest.mark.parametrize(
    ("distortion", "sentence"),
    [
        (TRIPLE[:1], "1 matrices for 2 confidential values"),
        (TRIPLE[:, :2], "2 rows for 3 key values"),
        (-TRIPLE, "negative or not a number"),
        (TRIPLE[:, :, :0], "not an array of numbers"),
        (lambda _w, _x, _c: math.nan, "negative or not a number"),
        (lambda _w, _x, _c: "far", "not an array of numbers"),
    ],
)
def test_a_distortion_of_three_values_is_checked_like_one_of_two(distortion, sentence):
    with pytest.raises(OptionError, match=sentence) as refused:
        PrivacyDistortion(JOINT, distortion)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sees": "nothing"}, "A rule cannot see nothing"),
        ({"confidential_values": ["a"]}, "1 confidential values for 2 rows"),
        ({"confidential_values": ["a", "a"]}, "A confidential value is named twice"),
    ],
)
def test_what_a_rule_cannot_see_is_refused(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        PrivacyDistortion(JOINT, "squared", **options)


def test_a_function_of_three_values_gets_those_that_occur_together_by_name():
    asked = []

    def distance(w, x, c):
        asked.append((w, x, c))
        return abs(x - c) * (2 if w == "ill" else 1)

    joint = [[0.5, 0.0], [0.2, 0.3]]
    named = PrivacyDistortion(
        joint, distance, values=[10, 30], confidential_values=["well", "ill"], sees="both"
    )
    assert named.inputs == (("well", 10), ("ill", 10), ("ill", 30))
    assert named.distortion.tolist() == [[0, 20], [0, 40], [40, 0]]
    assert {(w, x) for w, x, _ in asked} == set(named.inputs)
    alone = PrivacyDistortion(joint, distance, values=[10, 30], confidential_values=["well", "ill"])
    assert alone.inputs == alone.values == (10, 30)
    assert alone.distortion == pytest.approx(np.array([[0, 180 / 7], [40, 0]]))


@pytest.mark.parametrize("distance", [lambda x, c: x != c, lambda x, c, scale=1: (x != c) * scale])
def test_a_function_that_takes_two_values_gets_two(distance):
    assert PrivacyDistortion(JOINT, distance).distortion.tolist() == (1 - np.eye(3)).tolist()


def test_a_table_gives_a_distortion_of_three_values_its_own_values():
    people = {"sick": ["yes", "no", "no", "no"], "age": [40, 30, 40, 30]}
    sides = {"confidential": "sick", "key": "age"}
    model = PrivacyDistortion.from_table(
        people, **sides, distortion=lambda w, x, c: (w == "yes") * abs(x - c), sees="both"
    )
    assert model.confidential_values == ("no", "yes")
    assert model.inputs == (("no", 30), ("no", 40), ("yes", 40))
    assert model.distortion.tolist() == [[0, 0], [0, 0], [10, 0]]
    array = np.zeros((2, 2, 2))
    array[1, 1, 0] = array[1, 0, 1] = 10  # the order is that of the sorted values
    same = PrivacyDistortion.from_table(people, **sides, distortion=array, sees="both")
    assert same.distortion.tolist() == model.distortion.tolist()
    # All who are well may be released as the sick are: nothing is told, nothing distorted.
    assert model.solve(distortion=0).risk == pytest.approx(0, abs=1e-9)


def test_a_rule_that_sees_the_secret_may_be_allowed_more_risk_than_the_key_has():
    """Where only the secret counts, the most faithful release tells it, and the key does not."""
    joint = np.full((2, 2), 0.25)
    array = np.array([[[0.0, 1.0]] * 2, [[1.0, 0.0]] * 2])  # release w
    model = PrivacyDistortion(joint, array, sees="both")
    assert model.largest_risk == pytest.approx(0)
    assert model.solve(risk=1).distortion == pytest.approx(0, abs=1e-9)
    assert model.solve(risk=0).distortion == pytest.approx(0.5, abs=1e-6)
