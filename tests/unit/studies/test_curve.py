import csv
import io
import json

import pytest

from hartley.datasets.people import people
from hartley.errors import InputError, OptionError
from hartley.policies.tradeoff import PrivacyDistortion
from hartley.studies.curve import CSV_COLUMNS, privacy_curve

PEOPLE = people(600)


@pytest.fixture(scope="module")
def report():
    return privacy_curve(PEOPLE, confidential="diagnosis", key="age", bins={"age": 20}, points=6)


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
    report = privacy_curve(
        PEOPLE,
        confidential="weight",
        key="height",
        bins={"weight": 30, "height": 20},
        points=4,
    )
    assert all(point.limit is not None for point in report.curve.points)
    assert "no bound" in " ".join(report.notes)


def test_several_columns_are_listed_in_the_headline():
    report = privacy_curve(
        PEOPLE, confidential="diagnosis", key=["sex", "region"], distortion="zero_one", points=3
    )
    assert "sex and region" in report.headline
    assert "zero-one" in report.headline


def test_progress_is_told():
    told = []
    privacy_curve(
        {"a": [1, 2, 2, 3], "b": [1, 1, 2, 2]},
        confidential="b",
        key="a",
        points=4,
        progress=lambda kind, share: told.append((kind, share)),
    )
    assert told[-1] == ("curve", 1.0)


def test_bad_options_are_refused_before_any_work():
    with pytest.raises(OptionError, match="no distortion called far"):
        privacy_curve(PEOPLE, confidential="diagnosis", key="visits", distortion="far")
    with pytest.raises(InputError):
        privacy_curve(PEOPLE, confidential="diagnosis", key="nobody")
