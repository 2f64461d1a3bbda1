"""A design serves its objective best, and its certificate agrees with the theory's numbers."""

import itertools
import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError
from hartley.exact import floor_power
from hartley.guarantees.verify import certify
from hartley.policies.document import PolicyDocument
from hartley.studies.release.design import design

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.design.toml"))
SQUARE = {"x1": {"range": [-2, 2]}, "x2": {"range": [-2, 2]}}
BMI = {
    "objective": "hypothesis",
    "hypothesis": "weight >= 30 * (height/100)**2",
    "columns": {"weight": {"range": [0, 200]}, "height": {"range": [0, 250]}},
}
EPSILONS = {
    "0.05": 0.216321901,
    "0.1": 0.101688002,
    "0.2": 0.049624509,
    "0.5": 0.019691746,
    "1": 0.009852696,
    "2": 0.004938200,
    "5": 0.001982148,
}


@cache
def example(path):
    return design(path)


def cells(designed):
    (column,) = designed.document.columns
    return column.quantizer


def nats(designed, name):
    (value,) = [
        consequence.value
        for consequence in designed.certificate.consequences
        if consequence.name == name
    ]
    return value * math.log(2)


def over_square(query, gamma, objective="maximin"):
    error = 1 / Fraction(gamma)
    return design({"objective": objective, "query": query, "error": error, "columns": SQUARE})


# --- the papers' numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", ["1", "2", "2.2", "3.5"])
def test_the_mean_of_two_has_the_cells_and_the_leakage_of_example_iv_1(gamma):
    designed = over_square("(x1 + x2)/2", gamma)
    levels = math.ceil(2 * Fraction(gamma))
    assert cells(designed).levels == levels
    assert nats(designed, "maximin information") == pytest.approx(math.log(levels), abs=1e-9)
    assert nats(designed, "leakage") == pytest.approx(math.log(levels**2 / 2), abs=1e-9)


@pytest.mark.slow
def test_the_ellipses_of_example_iv_1_have_the_leakage_of_their_smallest_cell():
    designed = example(EXAMPLES[[path.name for path in EXAMPLES].index("ellipse.design.toml")])
    assert cells(designed).levels == 12
    assert nats(designed, "maximin information") == pytest.approx(2.484907, abs=1e-6)
    assert nats(designed, "leakage") == pytest.approx(5.478683, abs=2e-6)


def test_the_least_leakage_beats_equal_cells_as_the_theory_says():
    best, equal = (over_square("(x1 + x2)/2", "2.2", o) for o in ("leakage", "maximin"))
    assert math.exp(-nats(best, "leakage")) == pytest.approx(0.1033, abs=1e-3)
    assert math.exp(-nats(equal, "leakage")) == pytest.approx(0.0800, abs=1e-4)
    assert cells(best).error <= 1 / Fraction("2.2")


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "epsilon"), EPSILONS.items())
def test_the_body_mass_index_is_as_private_as_the_theory_says(rho, epsilon):
    designed = design(BMI | {"error": 1 / Fraction(rho)})
    assert 2**designed.certificate.value - 1 == pytest.approx(epsilon, rel=1e-5)
    assert 2**designed.certificate.value - 1 <= epsilon * (1 + 1e-8)  # promised, so rounded down
    assert designed.certificate.sound


@pytest.mark.slow
def test_the_policy_as_printed_leaves_as_many_records_open_as_the_stretched_one():
    blur, stretch = (design(BMI | {"error": 5, "policy": kind}) for kind in ("blur", "stretch"))
    assert blur.certificate.value == stretch.certificate.value > 0
    assert blur.certificate.sound
    assert blur.headline == stretch.headline
    assert "shows whether" not in blur.headline
    assert "Priv = 0" in blur.certificate.claim


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blur", "stretch"])
def test_the_success_of_a_test_is_that_of_its_own_assumption(kind):
    """By quadrature: 1 - 1/2 int min(p0, p1), each side spread evenly over its records."""
    designed = design(BMI | {"error": 5, "policy": kind}).certificate
    (success,) = (
        consequence.value
        for consequence in designed.consequences
        if consequence.name == "success of a test"
    )
    heights = np.linspace(0, 250, 200_001)
    lines = 30 * (heights / 100) ** 2
    below = np.clip(lines, 0, 200)
    crossed = (lines > 0) & (lines < 200)
    near = [np.minimum(5, below) * crossed, np.minimum(5, 200 - below) * crossed]
    masses = [below.mean(), (200 - below).mean()]
    truth = 1 - np.minimum(near[0] / masses[0], near[1] / masses[1]).mean() / 2
    assert success == pytest.approx(truth, abs=1e-5)
    assert success <= truth + 1e-9  # "or more"


@pytest.mark.parametrize(
    ("ends", "line", "reach", "truth"),
    [
        ((0, 10), 5, 1, Fraction(9, 10)),  # a fifth of either side is confused
        ((0, 10), 2, 1, Fraction(15, 16)),  # an eighth of the larger side, which decides
        ((0, 10), 1, 3, Fraction(5, 6)),  # the whole of one side, a third of the other
        ((0, 10), 5, 10, Fraction(1, 2)),  # everything: a coin
    ],
)
@pytest.mark.parametrize("kind", ["blur", "stretch"])
def test_the_success_of_a_test_of_one_column_is_exact(ends, line, reach, truth, kind):
    designed = design(
        {
            "objective": "hypothesis",
            "hypothesis": f"x >= {line}",
            "error": reach,
            "policy": kind,
            "columns": {"x": {"range": list(ends)}},
        }
    )
    (success,) = (
        consequence.value
        for consequence in designed.certificate.consequences
        if consequence.name == "success of a test"
    )
    assert success == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize(
    ("people", "bits", "levels", "printed"),
    [(2, 1, 2, 4), (4, 2, 12, 16), (10, 1, 10, 20), (10, 2, 30, 40), (8, 3, 56, 64)],
)
def test_a_mean_within_a_budget_has_the_cells_of_theorem_8_corrected(people, bits, levels, printed):
    wanted = {"objective": "bits", "query": "mean(x)", "people": people, "bits": bits}
    wanted["columns"] = {"x": {"range": [0, 1]}}
    sound, unsound = design(wanted), design(wanted | {"rule": "printed"})
    assert (cells(sound).levels, cells(unsound).levels) == (levels, printed)
    assert sound.certificate.value <= bits
    assert (sound.certificate.sound, unsound.certificate.sound) == (True, False)


@pytest.mark.slow
def test_the_heights_of_the_file_formats_have_150_cells():
    designed = example(EXAMPLES[[path.name for path in EXAMPLES].index("height.design.toml")])
    assert (cells(designed).levels, cells(designed).low, cells(designed).high) == (150, 100, 250)
    assert designed.document.columns[0].of == "mean(height)"
    assert designed.certificate.value == 1.0


# --- nothing better exists ----------------------------------------------------------------------


@pytest.mark.slow
@given(
    low=st.fractions(-5, 5, max_denominator=8),
    length=st.fractions(Fraction(1, 8), 9, max_denominator=8),
    error=st.fractions(Fraction(1, 10), 6, max_denominator=10),
    people=st.integers(1, 50),
)
@settings(max_examples=40)
def test_no_fewer_cells_keep_an_error(low, length, error, people):
    designed = design({
        "objective": "maximin", "query": "total(x)", "people": people, "error": error,
        "columns": {"x": {"range": [low, low + length]}},
    })  # fmt: skip
    levels = cells(designed).levels
    assert cells(designed).error <= error
    assert levels == 1 or people * length / (2 * (levels - 1)) > error


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    weights=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    bits=st.sampled_from(["1", "1.6", "2", "2.4", "3", "3.5"]),
    groups=st.integers(0, 2),
)
@settings(max_examples=30)
def test_records_have_the_least_largest_error_that_categories_leave_room_for(
    lengths, weights, bits, groups
):
    columns = {f"x{i}": {"range": [0, length]} for i, length in enumerate(lengths)}
    weights = {f"x{i}": weights[i] for i in range(len(lengths))}
    if groups:
        columns["job"] = {"values": [f"job {k}" for k in range(groups)]}
    designed = design({"objective": "bits", "bits": bits, "columns": columns, "weights": weights})
    limit = floor_power(bits) // max(groups, 1)
    levels = {c.name: c.quantizer.levels for c in designed.document.columns if c.name != "job"}
    assert math.prod(levels.values()) <= limit

    def largest(chosen):
        return max(
            Fraction(weights[f"x{i}"] * length, 2 * q)
            for i, (length, q) in enumerate(zip(lengths, chosen, strict=True))
        )

    tried = itertools.product(range(1, limit + 1), repeat=len(lengths))
    best = min(largest(chosen) for chosen in tried if math.prod(chosen) <= limit)
    assert largest(levels.values()) == best
    assert designed.certificate.value <= float(Fraction(bits)) + 1e-12
    assert designed.certificate.sound


# --- categories ---------------------------------------------------------------------------------


def test_a_hierarchy_is_cut_as_finely_as_the_bits_of_a_column_allow():
    above = {"Paris": "France", "Lyon": "France", "Rome": "Italy", "Bari": "Italy"}
    whole = above | {"France": "Europe", "Italy": "Europe"}
    town = {"values": list(above), "bits": 1, "hierarchy": whole}
    (column,) = design({"objective": "bits", "bits": 1, "columns": {"town": town}}).document.columns
    assert column.labels == ("France", "Italy")
    assert column.groups == (("Paris", "Lyon"), ("Rome", "Bari"))


def test_a_label_for_all_others_is_one_more_output():
    sex = {"values": ["F", "M"], "other": True}
    designed = design({"objective": "bits", "bits": 2, "columns": {"sex": sex}})
    assert designed.document.columns[0].other == "other"
    assert designed.headline.startswith("A record is released as one of 3 combinations")


def test_categories_that_take_more_than_the_budget_are_refused():
    columns = {"job": {"values": list("abcde")}, "age": {"range": [0, 100]}}
    with pytest.raises(OptionError, match="alone give 5 outputs, more than the 4 that 2 bits"):
        design({"objective": "bits", "bits": 2, "columns": columns})


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"objective": "maximin", "error": "1e-20"}, "more than can be told apart"),
        ({"objective": "bits", "bits": 70}, "more than can be told apart"),
        ({"objective": "leakage", "error": "1e-9"}, "needs .* cells"),
    ],
)
def test_a_limit_that_nothing_can_meet_is_refused(fields, problem):
    with pytest.raises(OptionError, match=problem):
        design(fields | {"query": "x + 0*y", "columns": {n: {"range": [0, 1]} for n in "xy"}})


def test_the_least_leakage_about_very_many_people_is_refused():
    with pytest.raises(OptionError, match="up to 10,000 people"):
        design({
            "objective": "leakage", "query": "mean(x)", "people": 10_001, "error": "0.1",
            "columns": {"x": {"range": [0, 1]}},
        })  # fmt: skip


# --- what a design says -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.split(".")[0])
def test_an_example_is_certified_from_its_policy_file_alone(path):
    designed = example(path)
    read = PolicyDocument.from_toml(designed.document.to_toml())
    assert read == designed.document
    assert certify(read) == designed.certificate
    assert designed.certificate.sound
    content = designed.to_dict()
    assert content["headline"] == designed.headline
    assert content["policy"] == designed.document.to_toml()
    assert content["certificate"]["claim"] == designed.certificate.claim


def test_the_answer_of_a_column_by_itself_is_released_under_its_name():
    designed = design({
        "objective": "maximin", "query": "age", "error": 5, "columns": {"age": {"range": [0, 30]}},
    })  # fmt: skip
    (column,) = designed.document.columns
    assert (column.name, column.of) == ("age", None)


@pytest.mark.slow
def test_an_answer_may_be_named():
    designed = design({
        "objective": "maximin", "query": "a*b", "name": "area", "error": 5,
        "columns": {"a": {"range": [0, 9]}, "b": {"range": [0, 9]}},
    })  # fmt: skip
    (column,) = designed.document.columns
    assert (column.name, column.of) == ("area", "a*b")


@pytest.mark.slow
def test_every_kind_of_design_has_its_picture():
    drawn = {}
    for path in EXAMPLES:
        sections = {section.title: section for section in example(path).report().sections}
        (chart,) = [section.chart for section in sections.values() if section.chart is not None]
        kinds = ["ruler" if one.ruler else "plane" if one.heat else "band" for one in chart.panels]
        groups = sections["The groups"].points if "The groups" in sections else ()
        drawn[path.name.split(".")[0]] = kinds, groups
    assert drawn == {
        "bmi": (["band"], ()),
        "ellipse": (["plane", "ruler"], ()),
        "height": (["ruler", "ruler"], ()),
        "people": (
            ["ruler"],
            (
                "sex: F; M",
                "region: coast (north, west, islands); inland (east, south, centre)",
            ),
        ),
    }


def test_weights_by_range_measure_errors_as_parts_of_the_range():
    columns = {"height": {"range": [100, 250]}, "income": {"range": [0, 200_000]}}
    designed = design({"objective": "bits", "bits": 6, "weights": "range", "columns": columns})
    assert [column.quantizer.levels for column in designed.document.columns] == [8, 8]


# --- how many cells are needed --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "columns", "error", "needed"),
    [
        # q = max(1, ceil(L / 2e)) with L the true length of the range.
        ("x*(1 - x)", {"x": [0, 1]}, "1/8", 1),
        ("x*(1 - x)", {"x": [0, 1]}, "0.12", 2),
        ("x*(1 - x)", {"x": [0, 1]}, "1/16", 2),
        ("(x**2 - 2)**2", {"x": [0, 2]}, "1", 2),
        ("x**3 - x", {"x": [-1, 1]}, "1/5", 2),
        ("x**3 - x", {"x": [-1, 1]}, "1/10", 4),
        ("x*y", {"x": [-1, 1], "y": [-1, 1]}, "1", 1),
        ("x*y - x**2", {"x": [0, 1], "y": [0, 1]}, "1/8", 5),
        ("x1**2 + 2*x2**2", {"x1": [-2, 2], "x2": [-2, 2]}, "1/2", 12),
    ],
)
def test_the_fewest_cells_are_claimed_where_they_are_known_and_bracketed_elsewhere(
    query, columns, error, needed
):
    ranges = {name: {"range": ends} for name, ends in columns.items()}
    designed = design({"objective": "maximin", "query": query, "error": error, "columns": ranges})
    used = cells(designed).levels
    (sentence,) = [
        text
        for text in designed.sentences
        if "cells" in text
        and "error" not in text
        and ("fewer cells" in text or "fewest cells" in text)
    ]
    assert used in (needed, needed + 1)
    if "fewer cells" in sentence:
        assert used == needed
    else:
        assert f"the fewest cells are {used - 1} or {used}, as far as" in sentence
        assert f"this release has {used}." in sentence
    assert ("fewer cells" in sentence) == (used == needed)


# --- columns with a step --------------------------------------------------------------------------


def test_nobody_errs_about_a_column_with_a_step_that_is_released_exactly():
    columns = {"visits": {"range": [0, 9], "step": 1}, "age": {"range": [0, 100]}}
    weights = {"visits": 1000}
    designed = design({"objective": "bits", "bits": 6, "columns": columns, "weights": weights})
    errors = [
        consequence.sentence
        for consequence in designed.certificate.consequences
        if consequence.name == "estimation error"
    ]
    assert {c.name: c.error for c in designed.document.columns}["visits"] == 0
    assert len(errors) == 1
    assert "range of age" in errors[0]
    assert not any("range of visits" in sentence for sentence in designed.sentences)
