"""The curve of privacy against utility: golden numbers, bounds, and plain values."""

import json
import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from hartley.boxes.box import Box
from hartley.errors import InputError, OptionError
from hartley.policies.hypotheses.lines import StretchPolicy, Threshold
from hartley.policies.quantized_column import allocate_bits
from hartley.studies.release.design import design
from hartley.studies.release.specification import Specification
from hartley.studies.release.tradeoff import errors_for, read_errors, thinned, tradeoff
from hartley.studies.release.tradeoff_points import AnswerFacts, query_point

NATS = math.log(2)
BMI = {
    "objective": "hypothesis",
    "hypothesis": "weight >= 30 * (height/100)**2",
    "error": 5,
    "columns": {"weight": {"range": [0, 200]}, "height": {"range": [0, 250]}},
}


def mean_of(people, low, high, error, objective="maximin"):
    return {
        "objective": objective,
        "query": "mean(x)",
        "people": people,
        "error": error,
        "columns": {"x": {"range": [low, high]}},
    }


def point_of(spec, **options):
    """Return the point that a design asks for, alone."""
    wanted = Specification.read(spec)
    return query_point(AnswerFacts.of(wanted, **options), wanted.error)


# --- Farokhi 2019, Example IV.1 -------------------------------------------------------------------


@pytest.mark.parametrize("gamma", ["0.4", "0.5", "0.7", "1", "1.5", "2", "2.2", "5", "10"])
def test_the_mean_of_two_has_the_metrics_of_the_example(gamma):
    levels = max(1, math.ceil(2 * Fraction(gamma)))
    point = point_of(mean_of(2, -2, 2, str(1 / Fraction(gamma))))
    facts = point.equal
    assert facts.levels == levels
    assert facts.accuracy >= float(Fraction(gamma))
    assert facts.maximin_information * NATS == pytest.approx(math.log(levels))
    if levels == 1:
        assert (facts.leakage, facts.person_bits) == (0.0, 0.0)
        assert facts.privacy_of_leakage == facts.privacy_of_information == math.inf
        assert facts.smallest_error == pytest.approx(2 * math.sqrt(2))
    else:
        assert facts.leakage * NATS == pytest.approx(math.log(levels**2 / 2))
        assert facts.smallest_error == pytest.approx(4 * math.sqrt(2) / levels)
        assert facts.privacy_of_leakage == 1 / facts.leakage
        assert facts.privacy_of_information == 1 / facts.maximin_information
    assert facts.certainty == "exact"


@pytest.mark.parametrize("gamma", ["0.5", "0.8", "1", "1.1", "1.2", "1.5", "2", "2.2", "3.7", "9"])
def test_cells_of_least_leakage_reach_the_best_share_of_the_example(gamma):
    g = Fraction(gamma)
    best = (
        1
        if g <= Fraction(1, 2)
        else Fraction(1, 2)
        if g <= 1
        else min(Fraction(1, 3), 1 / (2 * g * g))
    )
    point = point_of(mean_of(2, -2, 2, str(1 / g)))
    assert point.best.leakage == pytest.approx(-math.log2(best), abs=2e-3)
    assert point.best.leakage >= -math.log2(best) - 1e-12
    assert point.leakage_limit <= -math.log2(best) + 1e-12
    assert point.best.leakage <= point.equal.leakage


def test_an_accuracy_of_two_point_two_leaks_less_with_uneven_cells():
    point = point_of(mean_of(2, -2, 2, str(1 / Fraction("2.2"))))
    assert 2**-point.equal.leakage == pytest.approx(0.0800, abs=5e-5)
    assert 2**-point.best.leakage == pytest.approx(0.1033, abs=5e-5)


@pytest.mark.slow
def test_the_query_of_ellipses_has_the_metrics_of_the_example():
    spec = {
        "objective": "leakage",
        "query": "x1**2 + 2*x2**2",
        "error": "0.5",
        "columns": {"x1": {"range": [-2, 2]}, "x2": {"range": [-2, 2]}},
    }
    point = point_of(spec, gap=1e-5)
    facts = point.equal
    assert (facts.levels, facts.accuracy) == (12, 2.0)
    assert facts.leakage * NATS == pytest.approx(5.478683, abs=1.1e-5)
    assert facts.maximin_information * NATS == pytest.approx(2.484907, abs=1e-6)
    assert facts.smallest_error is None
    assert "linear" in facts.reasons["smallest_error"]
    assert facts.smallest_error_bound == pytest.approx(math.sqrt(0.066797 / math.pi), abs=1e-5)
    assert facts.certainty == "bound"
    # A row belongs to one person, who can reach every cell, or be missing.
    assert facts.person_bits == pytest.approx(math.log2(13))
    assert point.leakage_limit <= point.best.leakage <= facts.leakage


# --- Example IV.2: heights ------------------------------------------------------------------------


@pytest.mark.parametrize(("levels", "error"), [(21, 10.1015), (22, 9.6424)])
def test_two_people_keep_ten_centimetres_with_21_bins_not_with_22(levels, error):
    facts = point_of(mean_of(2, 100, 250, str(Fraction(75, levels)))).equal
    assert facts.levels == levels
    assert facts.smallest_error == pytest.approx(error, abs=5e-5)
    assert (facts.smallest_error >= 10) == (facts.accuracy <= 0.28 + 1e-12)


@pytest.mark.parametrize(("people", "levels"), [(2, 9), (3, 10), (7, 20), (50, 60), (500, 600)])
def test_the_adversarys_error_depends_on_the_number_of_people(people, levels):
    facts = point_of(mean_of(people, 100, 250, str(Fraction(75, levels)))).equal
    truth = 150 * math.sqrt(people * (people - 1)) / levels
    assert facts.smallest_error == pytest.approx(truth, rel=1e-12)
    assert facts.smallest_error_bound <= facts.smallest_error
    assert facts.largest_error_bound <= facts.largest_error


def test_a_hundred_thousand_people_have_no_volumes_but_a_reason():
    point = point_of(mean_of(100_000, 100, 250, "0.5"))
    assert point.best is point.equal.leakage is point.equal.smallest_error_bound is None
    assert "10,000 people" in point.reasons["best"]
    assert "10,000 people" in point.equal.reasons["leakage"]
    assert point.equal.person_bits == 1.0
    assert point.equal.smallest_error > 0


# --- bits about one person ------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(1, 40))
def test_no_interval_of_one_persons_reach_meets_more_cells_than_is_said(people, levels):
    facts = point_of(mean_of(people, 0, 1, str(Fraction(1, 2 * levels)))).equal
    edges = [Fraction(k, levels) for k in range(levels)]
    hair = Fraction(1, 10**6)
    starts = [edge + shift for edge in edges for shift in (0, -hair) if edge + shift >= 0]
    reach = Fraction(1, people)
    met = max(
        sum(
            1
            for k in range(levels)
            if edges[k] <= start + reach and (k == levels - 1 or start < edges[k + 1])
        )
        for start in starts
        if start + reach <= 1
    )
    assert facts.person_bits >= math.log2(met) - 1e-12
    assert facts.person_bits_printed <= facts.person_bits


def test_the_printed_rule_says_too_little():
    # Noiseless Privacy, Theorem 8: the mean of two in [0, 1] in four cells; [0, 1/2] meets three.
    facts = point_of(mean_of(2, 0, 1, "1/8")).equal
    assert facts.person_bits_printed == 1.0
    assert facts.person_bits == pytest.approx(math.log2(3))


def test_a_budget_for_a_query_is_shown_where_the_corrected_rule_puts_it():
    spec = mean_of(4, 0, 1, None) | {"objective": "bits", "bits": 2}
    del spec["error"]
    curve = tradeoff(spec, errors=["0.1"])
    assert curve.chosen.equal.levels == 12  # 16 as printed
    assert curve.chosen.equal.person_bits <= 2


# --- records --------------------------------------------------------------------------------------

RECORD = {
    "objective": "bits",
    "bits": 6,
    "weights": {"weight": 2},
    "columns": {"age": {"range": [0, 10], "step": 1}, "weight": {"range": [30, 200]}},
}


def test_more_bits_never_make_the_largest_error_larger():
    curve = tradeoff(RECORD)
    errors = [point.largest.largest_error for point in curve.points]
    assert all(before >= after for before, after in pairwise(errors))
    for point in curve.points:
        assert point.largest.outputs <= 2**point.budget
        assert point.mean.mean_error <= point.largest.mean_error
        ranges = {"age": {"range": [0, 10], "step": 1}, "weight": [30, 200]}
        direct = allocate_bits(ranges, point.budget, weights={"weight": 2})
        assert direct.value == point.largest.largest_error
        assert dict(direct.levels) == dict(point.largest.levels)


def test_errors_for_records_become_the_bits_that_they_take():
    curve = tradeoff(RECORD, errors=[1, 5, 20])
    for error in (1, 5, 20):
        fitting = [p for p in curve.points if p.largest.largest_error <= error]
        least = min(fitting, key=lambda point: point.budget)
        # age has 11 points, of which runs of 2e + 1 are within e; weight counts twice
        outputs = math.ceil(Fraction(11, 2 * error + 1)) * math.ceil(Fraction(170, error))
        assert least.budget == pytest.approx(math.log2(outputs), abs=2e-3)


def test_categories_take_their_bits_first():
    spec = {
        "objective": "bits",
        "bits": 9,
        "columns": {"age": {"range": [0, 120], "step": 1}, "sex": {"values": ["F", "M", "X"]}},
    }
    curve = tradeoff(spec)
    assert curve.points[0].largest.outputs == 3
    assert curve.chosen.largest.outputs == 3 * 121
    assert curve.points[-1].budget == 9  # more bits change nothing
    assert curve.points[-1].mean is None
    assert "categories" in curve.points[-1].reasons["mean"]


def test_a_design_of_categories_alone_has_no_error_to_trade():
    spec = {"objective": "bits", "bits": 2, "columns": {"sex": {"values": ["F", "M"]}}}
    with pytest.raises(OptionError, match="no column of numbers"):
        tradeoff(spec)


# --- hypotheses -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rho", "epsilon"),
    [
        ("0.05", 0.216321901),
        ("0.1", 0.101688002),
        ("0.2", 0.049624509),
        ("0.5", 0.019691746),
        ("1", 0.009852696),
        ("2", 0.004938200),
        ("5", 0.001982148),
    ],
)
def test_the_body_mass_index_has_the_epsilon_of_the_example(rho, epsilon):
    error = 1 / Fraction(rho)
    curve = tradeoff(BMI, errors=[error], gap=1e-6)
    point = next(point for point in curve.points if point.error == error)
    assert point.accuracy == pytest.approx(float(Fraction(rho)))
    assert point.stretch.epsilon == pytest.approx(epsilon, rel=2e-6)
    assert point.stretch.epsilon <= epsilon + 1e-9
    assert point.stretch.privacy == pytest.approx(math.log2(1 + epsilon), rel=3e-6)
    assert point.stretch.deciding == pytest.approx(50_000 / (1 + epsilon), rel=1e-6)
    assert point.blur.claimed == pytest.approx(epsilon, rel=2e-6)
    assert (point.blur.epsilon, point.blur.privacy) == (0.0, 0.0)
    assert point.blur.deciding_share == 1.0


def test_a_line_that_leaves_the_range_is_claimed_to_hide_more_than_it_does():
    # Where the line runs outside, one side is certain, but the printed band counts it.
    spec = {
        "objective": "hypothesis",
        "hypothesis": "x >= 2*y - 0.5",
        "error": "0.25",
        "columns": {"x": {"range": [0, 1]}, "y": {"range": [0, 1]}},
    }
    point = tradeoff(spec, errors=["0.25"]).points[0]
    band = StretchPolicy(
        Threshold.parse(spec["hypothesis"]), "0.25", Box({"x": (0, 1), "y": (0, 1)})
    ).band()
    assert point.stretch.epsilon == pytest.approx(float(band.low / (1 - band.low)), rel=1e-3)
    assert point.blur.claimed > point.stretch.epsilon * 1.05


# --- errors to look at ----------------------------------------------------------------------------


def test_errors_are_read_from_text_and_lists():
    assert read_errors("0.1:10:3") == [Fraction(1, 10), 1, 10]
    assert read_errors(["0.5", 2]) == [Fraction(1, 2), 2]
    assert len(read_errors("1:1000")) == 16
    assert read_errors("2:2:5") == [2]


@pytest.mark.parametrize(
    "wish",
    ["", "1", "1:2:3:4", "2:1", "0:1", "-1:1", "a:b", "1:2:0", "1:2:1.5", "1:2:9999", "nan:1", []],
)
def test_errors_that_make_no_sense_are_refused(wish):
    with pytest.raises(InputError) as refused:
        read_errors(wish)
    assert refused.value.hint


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.fractions(Fraction(1, 1000), 1000),
    st.fractions(Fraction(1, 1000), 1000),
    st.none() | st.fractions(Fraction(1, 1000), 1000),
    st.integers(2, 20),
)
def test_usual_errors_cover_a_range_and_what_is_chosen(first, second, chosen, most):
    low, high = sorted((first, second))
    errors = errors_for(high, low, chosen, most=most)
    assert len(errors) <= most
    assert all(before >= after for before, after in pairwise(errors))
    assert errors[0] >= high
    assert errors[-1] <= low
    if chosen is not None:
        assert errors[-1] < chosen < errors[0]


def test_thinning_keeps_both_ends():
    assert thinned(list(range(100)), 5) == [0, 25, 50, 74, 99]


# --- as plain values ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [mean_of(2, -2, 2, "0.5"), mean_of(20_000, 0, 1, "0.1"), RECORD, BMI],
    ids=["mean", "many", "record", "hypothesis"],
)
def test_every_null_has_a_reason_and_nothing_is_infinite(spec):
    curve = tradeoff(spec, errors=[2, "0.5"])
    content = json.loads(json.dumps(curve.to_dict(), allow_nan=False))

    def check(values):
        for name, value in values.items():
            if value is None:
                assert values["reasons"][name]
            if isinstance(value, dict) and name != "reasons":
                check(value)

    for point in content["points"]:
        check(point)
    assert content["headline"] == curve.headline
    assert content["sentences"]
    assert sum(point["chosen"] for point in content["points"]) == 1


def test_progress_goes_from_nothing_to_everything():
    shares = []
    tradeoff(
        mean_of(2, -2, 2, "0.5"), errors=[1, 2], progress=lambda _, share: shares.append(share)
    )
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_the_sentences_name_what_the_numbers_say():
    curve = tradeoff(mean_of(2, -2, 2, "0.5"), errors=[1])
    assert curve.headline.startswith("Within an error of 0.5, mean(x) over 2 people takes 4 equal")
    assert "1.585 bits about any one person" in curve.headline
    assert any("P₁ = 1/L₀ = 0.3333" in sentence for sentence in curve.sentences)
    assert any("Theorem 8 as printed would say 1 bit" in sentence for sentence in curve.sentences)
    assert any("1.414" in sentence for sentence in curve.sentences)


ONE_COLUMN = {"columns": {"x": {"range": [0, 4]}}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        {"objective": "maximin", "query": "x", "error": 1, **ONE_COLUMN},
        {"objective": "leakage", "query": "x**2", "error": 2, **ONE_COLUMN},
        {"objective": "bits", "query": "x", "bits": 2, **ONE_COLUMN},
        {"objective": "bits", "query": "x", "bits": "2.5", **ONE_COLUMN},
        {"objective": "bits", "query": "x", "bits": 2, "sensitivity": 1, **ONE_COLUMN},
        mean_of(2, -2, 2, "0.5"),
    ],
    ids=["cells", "leakage", "a budget", "a budget with room", "sensitivity", "mean"],
)
def test_a_design_and_its_curve_say_one_number_for_one_reason(spec):
    designed, curve = design(spec), tradeoff(spec, errors=[1, 2])
    kind = "best" if spec["objective"] == "leakage" else "equal"
    assert getattr(curve.chosen, kind).person_bits == designed.certificate.value
    words = "A missing value is released as missing, which counts as one more output."
    assert (words in curve.sentences) == (words in designed.sentences)
    # That a value may be missing is no fault of the printed theorem.
    if designed.certificate.parameters.get("missing") == "counted":
        assert not any("Theorem 8 as printed" in sentence for sentence in curve.sentences)


VISITS = {"columns": {"visits": {"range": [0, 9], "step": 1}}, "objective": "bits"}


@pytest.mark.parametrize("spec", [RECORD, VISITS], ids=["weights", "a step"])
@pytest.mark.parametrize("bits", [2, "3.4", 4, 6])
def test_a_record_of_a_design_and_of_its_curve_tell_one_number(spec, bits):
    designed, curve = design(spec | {"bits": bits}), tradeoff(spec | {"bits": bits})
    assert curve.chosen.largest.bits == designed.certificate.value
    words = "A missing value is released as missing, which counts as one more output."
    assert (words in curve.sentences) == (words in designed.sentences)


def test_a_design_finer_than_can_be_shown_is_noted():
    curve = tradeoff(mean_of(2, 0, 1, "0.00001"), errors=["0.5", "0.1"])
    assert curve.chosen is None
    assert "50,000 cells" in curve.sentences[-1]
    with pytest.raises(OptionError, match="cells"):
        tradeoff(mean_of(2, 0, 1, "0.5"), errors=["0.00001"])
