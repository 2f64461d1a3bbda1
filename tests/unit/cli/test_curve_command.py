import json

import pytest
from typer.testing import CliRunner

from hartley.cli.main import app


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    rows = [(30, "yes"), (30, "no"), (40, "no"), (40, "no"), (50, "yes"), (50, "yes")]
    path.write_text("age,sick\n" + "".join(f"{age},{sick}\n" for age, sick in rows))
    return str(path)


def run(*words):
    return CliRunner().invoke(app, ["curve", *words])


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
