import json

import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.errors import HartleyError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    rows = [(30, "yes"), (30, "no"), (40, "no"), (40, "no"), (50, "yes"), (50, "yes")]
    path.write_text("age,sick\n" + "".join(f"{age},{sick}\n" for age, sick in rows))
    return str(path)


def run(*words):
    return CliRunner().invoke(app, ["curve", *words])


@pytest.mark.slow
def test_it_prints_json_and_writes_the_page_and_the_points(table, tmp_path):
    page, points = tmp_path / "curve.html", tmp_path / "curve.csv"
    result = run(
        *(table, "--key", "age", "--confidential", "sick", "--points", "4", "--json"),
        *("--html", str(page), "--csv", str(points)),
    )
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["key"] == ["age"]
    assert content["html"] == str(page)
    assert page.read_text().startswith("<!doctype html>")
    assert len(points.read_text().splitlines()) == len(content["points"]) + 1


def test_it_prints_text(table):
    result = run(table, "--key", "age", "--confidential", "sick", "--points", "3", "--text")
    assert result.exit_code == 0
    assert "Released as it is, age tells" in result.stdout


def test_it_takes_a_worst_case(table):
    result = run(
        *(table, "--key", "age", "--confidential", "sick", "--points", "3", "--json"),
        *("--objective", "t_closeness"),
    )
    assert json.loads(result.stdout)["objective"] == "t_closeness"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--key", "agee", "--confidential", "sick"], "agee"),
        (["--key", "sick", "--confidential", "age"], "not a number"),
        (["--key", "age", "--confidential", "sick", "--distortion", "odd"], "called odd"),
        (["--key", "age", "--confidential", "sick", "--objective", "odd"], "objective called odd"),
        (["--key", "age", "--confidential", "sick", "--html", "/nowhere/x.html"], "does not exist"),
    ],
)
def test_mistakes_are_refused_in_a_sentence(table, words, sentence):
    result = run(table, *words)
    assert isinstance(result.exception, HartleyError)
    assert sentence in str(result.exception)


def test_a_report_never_overwrites_the_table(table):
    result = run(table, "--key", "age", "--confidential", "sick", "--csv", table)
    assert isinstance(result.exception, HartleyError)
    assert "overwrite" in str(result.exception)


def test_it_takes_rules_that_see_both_sides_and_means(table):
    words = (table, "--key", "age", "--confidential", "sick", "--points", "4")
    result = run(*words, "--sees", "both", "--reconstruct", "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["sees"] == "both"
    for point in content["points"]:
        assert point["reconstructed"] <= point["distortion"]
    assert "reconstructed" in run(*words, "--reconstruct", "--text").stdout
    assert "reconstructed" not in run(*words, "--text").stdout


def test_a_column_may_be_on_both_sides(table):
    result = run(table, "--key", "age", "--confidential", "age,sick", "--points", "3", "--json")
    content = json.loads(result.stdout)
    # Three ages, each as frequent as the others: log2 of 3 bits about itself.
    assert content["largest_risk"] == pytest.approx(1.584962500721156)
