import datetime as dt
import json
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.datasets.people import people
from hartley.errors import OptionError
from hartley.studies.look.anonymity import anonymity, attacks, column_measures


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people(300), path)
    return path


def run(*words):
    found = CliRunner().invoke(app, list(map(str, words)))
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.slow
def test_anonymity_prints_the_report_as_json_and_as_text(table):
    words = "anonymity", table, "--keys", "sex,region", "--confidential", "diagnosis"
    expected = anonymity(table, keys=["sex", "region"], confidential="diagnosis")
    assert json.loads(run(*words)) == json.loads(json.dumps(expected.to_dict()))
    text = run(*words, "--text")
    assert text.splitlines()[2] == expected.headline
    assert "What the keys reveal about diagnosis" in text
    for name, shown, _ in column_measures(expected["diagnosis"], expected.unit):
        assert re.search(rf"{re.escape(name.text)} .*{re.escape(shown.text)} ", text)
    for attack, verdict, _ in attacks(expected):
        words = (attack.text, attack.small, verdict.text, verdict.small)
        assert re.search(" +".join(words), text)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        [Decimal("1.10"), Decimal("2.35")],
        [dt.date(2020, 1, 31), dt.date(2021, 2, 1)],
        [True, False],
        [2**62 + 1, 2**62 + 3],
        [0.1, 1e300],
        ["a b", "c"],
    ],
)
def test_a_hierarchy_file_names_values_of_any_kind(tmp_path, values):
    path, groups = tmp_path / "t.parquet", tmp_path / "groups.csv"
    pq.write_table(pa.table({"key": [1, 2, 2], "s": pa.array([*values, None])}), path)
    groups.write_text("".join(f"{value},g,h\n" for value in (*values, "")))
    words = "anonymity", path, "--keys", "key", "--confidential", "s"
    found = json.loads(run(*words, "--hierarchy", f"s={groups}"))["confidential"][0]
    assert found["hierarchical_closeness"] == pytest.approx(found["equal_closeness"] / 3)


def test_bins_and_a_hierarchy_of_one_key_are_refused(table, tmp_path):
    groups = tmp_path / "ages.csv"
    groups.write_text("1,2\n")
    words = "anonymize", table, "--keys", "age", "-k", 2, "-o", tmp_path / "o.csv"
    with pytest.raises(OptionError, match="'age' has bins and a hierarchy"):
        run(*words, "--bins", "age=5", "--hierarchy", f"age={groups}")
    with pytest.raises(OptionError, match="would overwrite the hierarchy"):
        run(*words, "--hierarchy", f"age={groups}", "--html", groups)


@pytest.mark.slow
def test_columns_with_commas_in_their_names_are_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,"b, ""c""",d\n1,2,3\n1,2,4\n')
    found = json.loads(run("anonymity", path, "--keys", 'a,b, "c"', "--confidential", "d"))
    assert (found["keys"], found["k"]) == (["a", 'b, "c"'], 2)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_anonymize_writes_a_table_that_is_k_anonymous(table, tmp_path, method):
    out = tmp_path / "out.parquet"
    extra = ("--bins", "age=5,10,50", "--suppress", "0.05") if method == "full-domain" else ()
    words = "anonymize", table, "--keys", "age,sex", "-k", 4, "-o", out, "--method", method
    found = json.loads(run(*words, *extra))
    report = anonymity(out, keys=["age", "sex"])
    assert report.k >= 4
    assert (report.classes, report.rows) == (found["classes"], 300 - found["suppressed"])
    assert found["check"]["k"] == report.k
    assert f"Written: {out}" in run(*words, *extra, "--text").replace("\n", "")


def test_anonymize_refuses_to_overwrite_the_table(table):
    with pytest.raises(OptionError, match="would overwrite the table"):
        run("anonymize", table, "--keys", "age", "-k", 2, "-o", table)


def test_a_population_lowers_the_risk_of_the_journalist(table, tmp_path):
    everybody = tmp_path / "everybody.csv"
    pc.write_csv(pa.concat_tables([people(300), people(300, seed=3)]).select(["sex"]), everybody)
    words = "anonymity", table, "--keys", "sex"
    alone = json.loads(run(*words))
    found = json.loads(run(*words, "--population", everybody))
    assert alone["journalist"] == alone["prosecutor"] == found["prosecutor"]
    assert found["journalist"] < found["prosecutor"]
    assert found["population"]["rows"] == 600
    assert alone["population"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("anonymity", "--keys", "sex,age", "--confidential", "diagnosis"),
        ("anonymize", "--keys", "sex,age", "-k", "3", "--method", "mondrian", "-o", "out.csv"),
    ],
)
def test_a_page_is_written_beside_what_is_printed(table, tmp_path, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    told = run(words[0], table, *words[1:], "--html", page, "--text")
    assert "Report: " in told
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(run(words[0], table, *words[1:], "--html", page))["html"] == str(page)
    with pytest.raises(OptionError, match="would overwrite the table"):
        run(words[0], table, *words[1:], "--html", table)


def test_a_file_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(OptionError, match="names no format"):
        run("anonymize", tmp_path / "absent.csv", "--keys", "a", "-k", 2, "-o", "out.txt")
