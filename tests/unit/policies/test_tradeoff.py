import dataclasses
import math
import re
import types

import numpy as np
import pytest

from hartley.errors import ColumnError, HartleyError, InputError, OptionError
from hartley.policies.distortion import search
from hartley.policies.distortion.first_order import solve_first
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.distortion.newton_blocks import _settings, one_blas_thread
from hartley.policies.distortion.problem import Found, Problem, evaluate, lower_bound, namespace
from hartley.policies.distortion.search import start_coarse
from hartley.policies.distortion.second_order import solve_second
from hartley.ranges.relations.distribution import JointDistribution

JOINT = np.array([[0.30, 0.10, 0.05], [0.10, 0.15, 0.30]])
TABLE = {
    "age": [30, 30, 40, 40, 50, 50, 50, None],
    "sex": ["F", "M", "F", "M", "F", "F", "M", "M"],
    "sick": ["yes", "no", "no", "no", "yes", "no", "yes", "no"],
    "ward": [1, 1, 1, 2, 2, 2, 1, 1],
}


@pytest.fixture(scope="module")
def answer():
    return PrivacyDistortion(JOINT, "squared").solve(lam=5)


# --- answers ----------------------------------------------------------------------------------


def test_an_answer_is_a_rule_with_its_numbers(answer):
    assert np.allclose(answer.matrix.sum(axis=1), 1)
    assert answer.matrix.min() >= 0
    assert answer.cost == answer.distortion + answer.lam * answer.risk
    assert answer.lam == pytest.approx(5)
    assert answer.gap < 1e-9
    assert set(answer.live) <= {0, 1, 2}
    assert answer.unit == "bits"


def test_an_answer_is_frozen(answer):
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.risk = 0


def test_the_sentences_state_the_numbers_and_the_proof(answer):
    told = " ".join(answer.sentences)
    assert f"{answer.risk:.6g} bits" in told
    assert "certified" in told
    assert "average" in told


def test_a_larger_lam_tells_less_and_distorts_more():
    model = PrivacyDistortion(JOINT, "squared")
    answers = [model.solve(lam=lam) for lam in (1.0, 3.0, 10.0)]
    assert answers[0].risk >= answers[1].risk >= answers[2].risk
    assert answers[0].distortion <= answers[1].distortion <= answers[2].distortion


def test_units_of_distortion_do_not_matter():
    small = PrivacyDistortion(JOINT, "squared").solve(lam=0.5)
    large = PrivacyDistortion(JOINT, "squared", values=[0, 1e6, 2e6]).solve(lam=0.5e12)
    assert large.cost == pytest.approx(1e12 * small.cost, rel=1e-9)
    assert large.gap < 1e-9 * 1e12


def test_a_distortion_that_needs_no_risk_gets_the_riskless_rule():
    model = PrivacyDistortion(JOINT, "squared")
    answer = model.solve(distortion=model.largest_distortion)
    assert answer.risk == pytest.approx(0, abs=1e-12)
    assert answer.distortion <= model.constant_distortion


def test_the_whole_risk_gets_the_most_faithful_rule():
    model = PrivacyDistortion(JOINT, "squared")
    assert model.solve(risk=model.largest_risk).distortion == 0


def test_equally_faithful_rules_are_chosen_for_their_risk():
    """Two released values stand for every key value; telling which key it was is not needed."""
    d = np.zeros((3, 2))
    answer = PrivacyDistortion(JOINT, d).solve(distortion=0)
    assert answer.risk == pytest.approx(0, abs=1e-9)
    shared = np.array([[0, 9, 0.0], [9, 0, 0], [9, 9, 0]])
    answer = PrivacyDistortion(JOINT, shared).solve(distortion=0)
    assert answer.risk == pytest.approx(0, abs=1e-9)
    assert answer.live == (2,)


def test_an_unrelated_key_is_released_as_it_is():
    model = PrivacyDistortion(np.outer([0.5, 0.5], [0.2, 0.3, 0.5]), "squared")
    for wish in ({"lam": 3.0}, {"risk": 0.0}, {"distortion": 0.1}):
        answer = model.solve(**wish)
        assert answer.distortion == 0
        assert answer.gap < 1e-12


def test_a_distortion_without_choice_has_one_answer():
    answer = PrivacyDistortion(JOINT, [[1.0], [2.0], [3.0]]).solve(lam=1.0)
    assert answer.matrix.tolist() == [[1.0], [1.0], [1.0]]
    assert answer.risk == 0


# --- what it is made of -----------------------------------------------------------------------


def test_a_joint_distribution_is_taken_as_its_matrix_is():
    one = PrivacyDistortion(JointDistribution.of(JOINT), "squared").solve(lam=1)
    assert one.cost == PrivacyDistortion(JOINT.tolist(), "squared").solve(lam=1).cost


def test_named_distortions_are_their_formulas():
    for name, formula in (
        ("squared", lambda x, y: (x - y) ** 2),
        ("absolute", lambda x, y: abs(x - y)),
        ("zero_one", lambda x, y: float(x != y)),
    ):
        values = [1.0, 2.5, 7.0]
        model = PrivacyDistortion(JOINT, name, values=values)
        assert model.distortion.tolist() == [[formula(x, y) for y in values] for x in values]
        assert (
            PrivacyDistortion(JOINT, formula, values=values).distortion == model.distortion
        ).all()


def test_a_hierarchy_counts_the_levels_until_two_values_meet():
    paths = {"flu": ("lung", "all"), "cough": ("lung", "all"), "gastritis": ("stomach", "all")}
    model = PrivacyDistortion(JOINT, paths, values=["flu", "cough", "gastritis"])
    assert model.distortion.tolist() == [[0, 1, 2], [1, 0, 2], [2, 2, 0]]


def test_other_released_values_than_the_keys_are_allowed():
    model = PrivacyDistortion(JOINT, np.ones((3, 5)) + np.eye(3, 5))
    answer = model.solve(lam=1.0)
    assert answer.matrix.shape == (3, 5)
    assert answer.values == (0, 1, 2, 3, 4)


def test_a_table_is_its_relative_frequencies():
    model = PrivacyDistortion.from_table(TABLE, confidential="sick", key="age", missing="drop")
    assert model.values == (30, 40, 50)
    assert model.rows == 7
    ordered = sorted(model.joint.matrix.tolist())
    assert np.allclose(ordered, [[1 / 7, 0, 2 / 7], [1 / 7, 2 / 7, 1 / 7]], atol=1e-15)
    assert model.distortion[0].tolist() == [0, 100, 400]


def test_several_columns_on_each_side_are_their_combinations():
    model = PrivacyDistortion.from_table(
        TABLE,
        confidential=["sick", "ward"],
        key=["age", "ward"],
        distortion="absolute",
        missing="drop",
    )
    assert model.values[0] == (30, 1)
    assert model.joint.matrix.shape == (4, 5)
    first, last = model.values.index((30, 1)), model.values.index((50, 2))
    assert model.distortion[first, last] == 21


def test_a_gaussian_grid_is_symmetric_and_normalised():
    model = PrivacyDistortion.gaussian(rho=0.5, points=5, reach=2)
    assert model.values == (-2, -1, 0, 1, 2)
    assert np.allclose(model.joint.matrix, model.joint.matrix.T)
    assert model.joint.matrix.sum() == pytest.approx(1)


# --- bad input --------------------------------------------------------------------------------


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
        ({"distortion": -1}, "between 0 and "),
        ({"distortion": 50}, "No perturbation reaches a distortion of 50"),
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
    with pytest.raises(OptionError, match="choose between 1 and 2"):
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
def test_tables_that_do_not_fit_are_refused(options, error, sentence):
    with pytest.raises(error, match=sentence):
        PrivacyDistortion.from_table(TABLE, **options)


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


def test_probabilities_whose_products_vanish_are_measured():
    """A grid that reaches to 29 standard deviations holds probabilities around 1e-200."""
    model = PrivacyDistortion.gaussian(rho=0.5, points=9, reach=29)
    answer = model.solve(distortion=model.constant_distortion / 2)
    assert 0 < answer.risk < model.largest_risk < 1e-12
    assert model.solve(risk=0).distortion == model.constant_distortion


# --- the curve --------------------------------------------------------------------------------


def test_a_curve_reports_its_progress_and_its_bounds():
    told = []
    curve = PrivacyDistortion(JOINT, "squared").curve(
        points=7, progress=lambda kind, share: told.append((kind, share))
    )
    assert told[-1] == ("curve", 1.0)
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert 3 <= len(curve.points) <= 7
    risks = [point.risk for point in curve.points]
    assert risks == sorted(risks, reverse=True)
    for point in curve.points:
        assert point.lower <= point.risk <= point.lower + 1e-4
        assert curve.lower(point.distortion) <= point.risk + 1e-12
    assert curve.upper(-1) == math.inf
    assert curve.to_dict()["points"][0]["risk"] == risks[0]


def test_the_curve_of_an_unrelated_key_is_one_point():
    curve = PrivacyDistortion(np.outer([0.5, 0.5], [0.2, 0.3, 0.5]), "squared").curve()
    assert [point.distortion for point in curve.points] == [0]


# --- methods ----------------------------------------------------------------------------------


def gaussian_problem(points, lam=1.22):
    model = PrivacyDistortion.gaussian(rho=0.95, points=points)
    return Problem.of(model.joint.matrix, model.distortion, lam), np.array(model.values)


def test_a_coarse_start_proves_a_bound_for_all_key_values():
    problem, grid = gaussian_problem(61)
    start = start_coarse(problem, grid, size=21)
    cold = solve_second(problem, tolerance=1e-7)
    bound = lower_bound(problem, start.scores)
    assert cold.cost - 0.02 < bound <= cold.cost
    assert evaluate(problem, start.rule).cost < cold.cost + 0.05
    warm = solve_second(
        problem, tolerance=1e-7, start=start_coarse(problem, grid, size=21, tolerance=1e-3)
    )
    assert warm.cost == pytest.approx(cold.cost, abs=2e-7)
    assert warm.gap <= 1e-7
    assert warm.steps < cold.steps


def test_large_alphabets_take_the_first_order_method_and_say_what_they_reached(monkeypatch):
    monkeypatch.setattr(search, "SECOND_WORK", 1.0)
    monkeypatch.setattr(search, "FIRST_STEPS", (200, 200))
    model = PrivacyDistortion.gaussian(rho=0.9, points=15, base=math.e)
    rough = model.solve(lam=1.0)
    exact = PrivacyDistortion.gaussian(rho=0.9, points=15, base=math.e, method="second").solve(
        lam=1.0
    )
    assert exact.cost <= rough.cost <= exact.cost + rough.gap + 1e-12
    assert 1e-9 < rough.gap < 1e-2


def test_a_method_can_be_chosen():
    first = PrivacyDistortion(JOINT, "squared", method="first").solve(lam=5, tolerance=1e-6)
    second = PrivacyDistortion(JOINT, "squared", method="second").solve(lam=5)
    assert first.gap < 1e-6
    assert abs(first.cost - second.cost) < 1e-6


class Guarded:
    """An array that only takes the operators and functions that all array libraries share."""

    def __init__(self, data):
        self.data = data

    def __array__(self, *args, **kwargs):
        raise AssertionError("turned into a NumPy array")

    def __array_namespace__(self):
        return SHARED

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    T = property(lambda self: Guarded(self.data.T))

    def __getitem__(self, place):
        return Guarded(self.data[place])

    def __float__(self):
        return float(self.data)


def bare(value):
    return value.data if isinstance(value, Guarded) else value


def operator(name):
    return lambda self, *others: Guarded(getattr(self.data, name)(*map(bare, others)))


for _name in (
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "matmul",
    "gt",
    "lt",
    "ge",
    "le",
    "neg",
    "and",
):
    setattr(Guarded, f"__{_name}__", operator(f"__{_name}__"))


def guarded(function):
    return lambda *args, **kwargs: Guarded(np.asarray(function(*map(bare, args), **kwargs)))


FUNCTIONS = (
    *("sum", "exp", "log", "abs", "where", "amax", "amin"),
    *("isfinite", "clip", "ones_like", "zeros_like"),
)
SHARED = types.SimpleNamespace(
    finfo=np.finfo, **{name: guarded(getattr(np, name)) for name in FUNCTIONS}
)


def test_the_first_order_method_runs_on_arrays_of_any_library():
    plain = Problem.of(JOINT, (np.arange(3)[:, None] - np.arange(3.0)) ** 2, 0.5)
    joint = Guarded(JOINT)
    other = Problem.of(joint, Guarded(plain.distortion), 0.5)
    assert namespace(joint) is SHARED
    one = solve_first(plain, tolerance=1e-6, most=60)
    other = solve_first(other, tolerance=1e-6, most=60)
    assert isinstance(other.rule, Guarded)
    assert (other.cost, other.bound) == (one.cost, one.bound)


def test_the_first_order_method_can_be_stopped():
    problem = Problem.of(JOINT, (np.arange(3)[:, None] - np.arange(3.0)) ** 2, 0.5)
    seen = []
    solve_first(problem, tolerance=0.0, told=lambda step, gap: seen.append((step, gap)) or True)
    assert len(seen) == 1


def test_a_rule_that_costs_more_is_not_kept():
    problem = Problem.of(JOINT, 1 - np.eye(3), 0.5)
    found = Found(np.zeros((2, 3)))
    found.try_rule(problem, np.eye(3))
    best = found.cost
    found.try_rule(problem, np.full((3, 3), 1 / 3))
    assert found.cost == best


def test_every_error_is_one_of_ours():
    with pytest.raises(HartleyError):
        PrivacyDistortion("nothing", "squared")


def test_the_number_of_blas_threads_is_what_it_was():
    before = [ask() for ask, _ in _settings()]
    inside = []

    @one_blas_thread()
    def fail():
        inside.extend(ask() for ask, _ in _settings())
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert set(inside) <= {1}
    assert [ask() for ask, _ in _settings()] == before
