import csv
import io
import json
import math

import numpy as np
import pytest

from hartley.datasets.people import people
from hartley.errors import InputError, OptionError
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.random.reconstruction import reconstruct
from hartley.reports.render import page
from hartley.studies.release.curve import CSV_COLUMNS, curve

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


# --- means, rules that see both sides, columns on both sides -------------------------------------


@pytest.mark.slow
def test_means_distort_no_more_and_are_what_the_exact_step_says():
    sides = {"confidential": "weight", "key": ["age", "height"]}
    bins = {"weight": 30, "age": 30, "height": 20}
    report = curve(PEOPLE, **sides, bins=bins, points=6, reconstruct=True)
    model = PrivacyDistortion.from_table(PEOPLE, **sides, bins=bins)
    assert len(report.reconstructed) == len(report.curve.points)
    for point, after in zip(report.curve.points, report.reconstructed, strict=True):
        assert after <= point.distortion
    middle = report.curve.points[2]
    exact = reconstruct(model.solve(lam=middle.lam), model.joint, values=model.values)
    assert middle.reconstructed == pytest.approx(float(exact.distortion), rel=1e-3)
    assert float(exact.distortion) < middle.distortion
    # The mean of all is one function of any release: its error is the variance.
    law = model.joint.matrix.sum(axis=0)
    variance = sum(
        law @ column**2 - (law @ column) ** 2 for column in np.array(model.values, float).T
    )
    assert max(report.reconstructed) <= variance
    assert "need not be a value of the key" in " ".join(report.notes)
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert [float(row["reconstructed"]) for row in rows] == list(report.reconstructed)
    assert "means released" in page(report.report())
    assert "distortion with means" in page(report.report())


def test_means_are_not_worked_out_unasked_or_for_other_distortions(report):
    assert report.reconstructed == ()
    assert report.curve.points[0].reconstructed is None
    with pytest.raises(OptionError, match="squared distortion only"):
        curve(PEOPLE, confidential="sex", key="age", distortion="absolute", reconstruct=True)


@pytest.mark.parametrize("objective", ["mutual_information", "t_closeness"])
def test_rules_that_see_both_sides_are_never_worse(objective):
    sides = {"confidential": "diagnosis", "key": "age", "bins": {"age": 30}, "points": 5}
    key, both = (
        curve(PEOPLE, **sides, objective=objective, sees=sees, reconstruct=True)
        for sees in ("key", "both")
    )
    for point in key.curve.points:
        if point.distortion > both.curve.points[0].distortion:
            assert both.curve.lower(point.distortion) <= point.risk + 1e-9
    assert both.curve.points[-1].distortion <= key.curve.points[-1].distortion + 1e-6
    assert both.gaussian == ()
    assert both.to_dict()["sees"] == "both"
    assert "needs both" in " ".join(both.notes)
    assert "key and the confidential columns" in page(both.report())


def test_a_key_that_is_confidential_too_has_the_curve_of_rate_distortion():
    """Of a fair coin and the distance zero-one, R(D) = 1 - H(D)."""
    report = curve(
        {"coin": [0, 1] * 10}, confidential="coin", key="coin", distortion="zero_one", points=9
    )
    assert report.curve.largest_risk == 1
    for point in report.curve.points[1:-1]:
        share = point.distortion
        entropy = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
        assert point.risk == pytest.approx(1 - entropy, abs=1e-5)


def test_sides_that_share_a_column_have_the_joint_law_of_the_rows():
    rows = {"age": [30, 30, 40, 50, 50, 50], "sick": ["y", "n", "n", "y", "y", "n"]}
    report = curve(rows, confidential=["sick", "age"], key="age", points=4)
    alone = curve(rows, confidential="age", key="age", points=4)
    # I(W, X; X^) = I(X; X^), since the release is drawn from X alone.
    for point, other in zip(report.curve.points, alone.curve.points, strict=True):
        assert point.risk == pytest.approx(other.risk, abs=1e-6)
    counts = [2, 1, 3]
    entropy = -sum(count / 6 * math.log2(count / 6) for count in counts)
    assert report.curve.largest_risk == pytest.approx(entropy)
    assert report.confidential_values == 5


def test_a_column_on_both_sides_is_in_bins_where_it_is_released_only():
    rows = {"age": [30, 31, 40, 41], "sick": ["y", "n", "n", "y"]}
    report = curve(rows, confidential="age", key="age", bins={"age": 10}, points=3)
    assert (report.confidential_values, report.key_values) == (4, 2)
    assert report.curve.largest_risk == pytest.approx(1)
