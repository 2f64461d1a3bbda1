import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.studies.release.microaggregation import univariate_microaggregation


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(8)
    content = pa.table(
        {
            "age": random.integers(18, 90, 50),
            "income": random.normal(1e3, 200, 50),
            "sex": random.choice(["f", "m"], 50),
        }
    )
    pa.parquet.write_table(content, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def run(*words):
    return CliRunner().invoke(app, ["microaggregate", *map(str, words)], catch_exceptions=False)


@pytest.mark.slow
def test_text_tells_the_release_in_sentences(table):
    out = table.with_name("ages.csv")
    page = table.with_name("page.html")
    words = ("--k", 5, "--columns", "age", "--method", "univariate", "-o", out, "--html", page)
    lines = run(table, *words, "--details").stdout.splitlines()
    expected = univariate_microaggregation(str(table), 5, "age")
    assert f" • {expected.sentences[-1]}" in lines
    assert lines[-2:] == [f"Released: {out}", f"Report: {page}"]
    assert expected.headline in page.read_text()
    assert out.read_text().splitlines()[0] == '"age"'
