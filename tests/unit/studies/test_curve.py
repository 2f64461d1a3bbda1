import csv
import io
import json

import pytest

from hartley.datasets.people import people
from hartley.errors import InputError, OptionError
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.studies.curve import CSV_COLUMNS, curve

PEOPLE = people(600)


@pytest.fixture(scope="module")
def report():
    return curve(PEOPLE, confidential="diagnosis", key="age", bins={"age": 20}, points=6)


def test_the_ends_of_the_curve_are_those_of_the_model(report):
    model = PrivacyDistortion.from_table(
        PEOPLE, confidential="diagnosis", key="age", bins={"age": 20}
    )
    assert report.curve.points[0].risk == pytest.approx(model.largest_risk)
    assert report.curve.points[-1].risk == pytest.approx(0, abs=1e-9)
    assert report.key_values == len(model.values)
    assert report.rows == 600


def test_the_headline_names_both_sides_and_the_half_way_distortion(report):
    assert report.headline.startswith("Released as it is, age tells ")
    assert "diagnosis" in report.headline
    first, last = report.curve.points[0], report.curve.points[-1]
    assert first.distortion < report.half < last.distortion
    assert report.curve.upper(report.half) == pytest.approx(first.risk / 2)


def test_the_csv_holds_every_point(report):
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [float(row["risk"]) for row in rows] == [point.risk for point in report.curve.points]
    assert {row["gaussian"] for row in rows} == {""}


def test_the_report_is_plain_values(report):
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["headline"] == report.headline
    assert len(content["points"]) == len(report.curve.points)


def test_two_numeric_columns_are_compared_with_a_gaussian_that_is_called_no_bound():
    report = curve(
        PEOPLE,
        confidential="weight",
        key="height",
        bins={"weight": 30, "height": 20},
        points=4,
    )
    assert report.gaussian == pytest.approx([point.limit for point in report.curve.points])
    assert "no bound" in " ".join(report.notes)
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert [float(row["gaussian"]) for row in rows] == list(report.gaussian)


def test_several_numeric_columns_are_compared_with_the_programme_of_their_covariances():
    report = curve(
        PEOPLE,
        confidential=["weight", "income"],
        key=["height", "age"],
        bins={"weight": 40, "height": 30, "age": 40, "income": 50_000},
        points=4,
    )
    assert len(report.gaussian) == len(report.curve.points)
    assert list(report.gaussian) == sorted(report.gaussian, reverse=True)
    assert report.gaussian[0] > report.gaussian[-1] >= 0
    assert "height and age tell " in report.headline


def test_the_mixture_of_key_and_constant_is_never_below_the_best_rule(report):
    assert report.mixture[0] == pytest.approx(report.curve.largest_risk)
    assert report.mixture[-1] == pytest.approx(0, abs=1e-9)
    for point, mixed in zip(report.curve.points, report.mixture, strict=True):
        assert mixed >= point.risk - 1e-6
    slopes = {
        round((report.mixture[0] - mixed) / point.distortion, 9)
        for point, mixed in zip(report.curve.points, report.mixture, strict=True)
        if point.distortion
    }
    assert len(slopes) == 1, "it falls in a straight line"


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("t_closeness", "takes beliefs about diagnosis as far as"),
        ("delta_disclosure", "rules some value of diagnosis out"),
        ("maximal_leakage", "makes a guess of anything about diagnosis up to"),
    ],
)
def test_a_worst_case_is_named_and_has_no_bounds_of_the_average(objective, words):
    traced = curve(
        PEOPLE,
        confidential="diagnosis",
        key="age",
        bins={"age": 20},
        points=4,
        objective=objective,
    )
    assert words in traced.headline
    assert (traced.mixture, traced.gaussian) == ((), ())
    content = json.loads(json.dumps(traced.to_dict(), allow_nan=False))
    assert content["objective"] == objective
    rows = list(csv.DictReader(io.StringIO(traced.csv())))
    assert {row["mixture"] for row in rows} == {""}
    if objective != "delta_disclosure":
        assert traced.curve.upper(traced.half) <= traced.curve.largest_risk / 2
        assert "half of that" in traced.headline


def test_worst_cases_order_as_the_theory_says():
    """R <= max KL <= max |log ratio| for every rule, so for the key itself too."""
    risks = [
        curve(
            {"a": [1, 1, 1, 2, 2, 2, 3, 3], "b": [1, 2, 2, 1, 2, 1, 1, 2]},
            confidential="b",
            key="a",
            points=3,
            objective=objective,
        ).curve.largest_risk
        for objective in ("mutual_information", "t_closeness", "delta_disclosure")
    ]
    assert risks == sorted(risks)


def test_a_key_that_determines_the_confidential_side_has_no_finite_comparison():
    report = curve({"a": [1, 2, 3, 4], "b": [2, 4, 6, 8]}, confidential="b", key="a", points=4)
    assert report.to_dict()["gaussian"][0] == "inf"
    json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("confidential", "distortion"),
    [("diagnosis", "squared"), ("weight", "absolute"), ("sex", "squared")],
)
def test_categories_and_other_distortions_have_no_gaussian(confidential, distortion):
    report = curve(
        PEOPLE,
        confidential=confidential,
        key="height",
        distortion=distortion,
        bins={"height": 30} | ({"weight": 40} if confidential == "weight" else {}),
        points=3,
    )
    assert report.gaussian == ()
    assert "no bound" not in " ".join(report.notes)


def test_several_columns_are_listed_in_the_headline():
    report = curve(
        PEOPLE, confidential="diagnosis", key=["sex", "region"], distortion="zero_one", points=3
    )
    assert "sex and region" in report.headline
    assert "zero-one" in report.headline


def test_progress_is_told():
    shares = []
    curve(
        {"a": [1, 2, 2, 3], "b": [1, 1, 2, 2]},
        confidential="b",
        key="a",
        points=4,
        progress=lambda kind, share: shares.append((kind, share)),
    )
    assert shares[-1] == ("curve", 1.0)


def test_bad_options_are_refused_before_any_work():
    with pytest.raises(OptionError, match="no distortion called far"):
        curve(PEOPLE, confidential="diagnosis", key="visits", distortion="far")
    with pytest.raises(OptionError, match="no objective called worst"):
        curve(PEOPLE, confidential="diagnosis", key="visits", objective="worst")
    with pytest.raises(InputError):
        curve(PEOPLE, confidential="diagnosis", key="nobody")


def test_numbers_too_small_for_a_gaussian_have_a_curve_without_one():
    tiny = {"key": [1e-100, 2e-100, 1e-100, 2e-100], "told": [1.0, 2.0, 1.0, 1.0]}
    traced = curve(tiny, confidential="told", key="key", points=3)
    assert traced.gaussian == ()
    assert len(traced.mixture) == 3
