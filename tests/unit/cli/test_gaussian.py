"""The command hartley gaussian."""

import json

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.errors import HartleyError

MESSY = """id, height ,weight,"inc, ome",city
1,170.5,70,1e3,=SUM(A1)
2,,80,2e3,Köln
3,165,NA,1.5e3,"A ""b"" c"
4,180,90,,x
5,175,85,3e3,y
6,160,55,2500,z
7,168,61,2200,z
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    return str(path)


def run(*words):
    result = CliRunner().invoke(app, ["gaussian", *map(str, words)])
    if isinstance(result.exception, HartleyError):
        raise result.exception
    return result


@pytest.mark.slow
def test_a_messy_table_is_read_released_and_reported(table, tmp_path):
    out, page = tmp_path / "noisy.csv", tmp_path / "page.html"
    result = run(
        table, "--key", "height,inc, ome", "--confidential", "weight", "--share", "0.5",
        "--standardise", "--null", "NA", "--missing", "drop", "--keep", "city",
        "--spreadsheet-safe", "--round", "height=1", "-o", out, "--html", page, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["rows"] == 4
    assert content["key"] == ["height", "inc, ome"]
    assert content["files"] == {"release": str(out), "report": str(page)}
    assert any("3 rows in which" in note for note in content["notes"])
    released = pyarrow.csv.read_csv(out)
    assert sorted(released["city"].to_pylist()) == ["'=SUM(A1)", "y", "z", "z"]
    assert page.read_text().startswith("<!doctype html>")


def test_covariances_need_no_table(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text(",w,x\nw,1,0.95\nx,0.95,1\n")
    result = run(
        "--covariance", path, "--key", "x", "--confidential", "w", "--distortion", "0.25", "--text"
    )
    assert "tells at most 0.814918 bits about w" in result.stdout
    assert "Whatever the distribution" in result.stdout
