import json

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from hartley.cli.anonymity import anonymity_command, anonymize_command
from hartley.datasets.people import people
from hartley.errors import OptionError
from hartley.studies.anonymity import anonymity_report

APP = typer.Typer()
APP.command("anonymity")(anonymity_command)
APP.command("anonymize")(anonymize_command)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people(300), path)
    return path


def run(*words):
    found = CliRunner().invoke(APP, list(map(str, words)))
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.output


def test_anonymity_prints_the_report_as_json_and_as_text(table):
    words = "anonymity", table, "--keys", "sex,region", "--confidential", "diagnosis"
    expected = anonymity_report(table, keys=["sex", "region"], confidential="diagnosis")
    assert json.loads(run(*words)) == json.loads(json.dumps(expected.to_dict()))
    lines = run(*words, "--text").splitlines()
    assert lines[0] == expected.headline
    assert lines[1:] == [f"- {sentence}" for sentence in expected.sentences]


def test_anonymity_reads_orders_and_hierarchies(table, tmp_path):
    ages = sorted(set(people(300)["age"].to_pylist()))
    groups = tmp_path / "ages.csv"
    groups.write_text("".join(f"{age},{age // 10},{age // 50}\n" for age in ages))
    words = "anonymity", table, "--keys", "sex", "--confidential", "age,job"
    found = json.loads(run(*words, "--ordered", "job", "--hierarchy", f"age={groups}"))
    age, job = found["confidential"]
    assert age["hierarchical_closeness"] < age["equal_closeness"]
    assert age["ordered_closeness"] is None
    assert job["ordered_closeness"] > 0
    with pytest.raises(OptionError, match="cannot be read"):
        run(*words, "--hierarchy", f"age={tmp_path / 'none.csv'}")


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_anonymize_writes_a_table_that_is_k_anonymous(table, tmp_path, method):
    out = tmp_path / "out.parquet"
    extra = ("--bins", "age=5,10,50", "--suppress", "0.05") if method == "full-domain" else ()
    words = "anonymize", table, "--keys", "age,sex", "-k", 4, "-o", out, "--method", method
    found = json.loads(run(*words, *extra))
    report = anonymity_report(out, keys=["age", "sex"])
    assert report.k >= 4
    assert (report.classes, report.rows) == (found["classes"], 300 - found["suppressed"])
    assert f"Written: {out}" in run(*words, *extra, "--text").replace("\n", "")


def test_anonymize_refuses_to_overwrite_the_table(table):
    with pytest.raises(OptionError, match="would overwrite the table"):
        run("anonymize", table, "--keys", "age", "-k", 2, "-o", table)
