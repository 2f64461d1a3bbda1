import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.datasets.people import people
from hartley.studies.release.release import release

POLICY = """
format = 1
title = "Weights near a line"

[[columns]]
name = "weight"
kind = "blur"
line = "30*(height/100)**2"
reach = "5"
low = "0"
high = "200"

[[columns]]
name = "height"
kind = "keep"
low = "0"
high = "250"
"""


@pytest.fixture
def files(tmp_path):
    pq.write_table(people(200), tmp_path / "people.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    release(tmp_path / "people.parquet", tmp_path / "policy.toml", tmp_path / "out.parquet")
    return tmp_path


def run(*words):
    ran = CliRunner().invoke(app, ["attack", *map(str, words)])
    if ran.exception and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    assert ran.exit_code == 0, ran.output
    return ran.output


@pytest.mark.slow
def test_knowledge_comes_from_the_true_table(files):
    words = "policy", files / "policy.toml", files / "out.parquet", "--step", "weight=0.1"
    before = json.loads(run(*words, "--json"))["hypotheses"][0]["open"]
    near = json.loads(
        run(*words, "--data", files / "people.parquet", "--known-within", "weight=1", "--json")
    )
    assert near["hypotheses"][0]["open"] < before
    assert near["hypotheses"][0]["known_beyond_the_promise"] == "weight"
    known = json.loads(
        run(*words[:3], "--data", files / "people.parquet", "--known", "weight", "--json")
    )
    assert known["hypotheses"][0]["open"] == 0
    rounded = json.loads(
        run(*words, "--data", files / "people.parquet", "--known-rounded", "weight=5", "--json")
    )
    assert near["hypotheses"][0]["open"] <= rounded["hypotheses"][0]["open"] <= before


@pytest.mark.slow
def test_the_true_table_says_nothing_that_is_shown(files):
    words = "policy", files / "policy.toml", files / "out.parquet", "--step", "weight=0.1"
    output = run(*words, "--data", files / "people.parquet", "--known-within", "weight=1", "--text")
    weights = pq.read_table(files / "people.parquet").column("weight").to_pylist()
    odd = {f"{weight}" for weight in weights if weight != round(weight)}
    assert not odd & set(output.replace(",", " ").split())
