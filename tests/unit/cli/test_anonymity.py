import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.datasets.people import people
from hartley.studies.look.anonymity import anonymity


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
    found = json.loads(run(*words, "--hierarchy", f"s={groups}", "--json"))["confidential"][0]
    assert found["hierarchical_closeness"] == pytest.approx(found["equal_closeness"] / 3)


@pytest.mark.slow
def test_columns_with_commas_in_their_names_are_found(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,"b, ""c""",d\n1,2,3\n1,2,4\n')
    found = json.loads(
        run("anonymity", path, "--keys", 'a,b, "c"', "--confidential", "d", "--json")
    )
    assert (found["keys"], found["k"]) == (["a", 'b, "c"'], 2)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_anonymize_writes_a_table_that_is_k_anonymous(table, tmp_path, method):
    out = tmp_path / "out.parquet"
    extra = ("--bins", "age=5,10,50", "--suppress", "0.05") if method == "full-domain" else ()
    words = "anonymize", table, "--keys", "age,sex", "-k", 4, "-o", out, "--method", method
    found = json.loads(run(*words, *extra, "--json"))
    report = anonymity(out, keys=["age", "sex"])
    assert report.k >= 4
    assert (report.classes, report.rows) == (found["classes"], 300 - found["suppressed"])
    assert found["check"]["k"] == report.k
    assert f"Written: {out}" in run(*words, *extra, "--text", "--force").replace("\n", "")


def test_a_population_lowers_the_risk_of_the_journalist(table, tmp_path):
    everybody = tmp_path / "everybody.csv"
    pc.write_csv(pa.concat_tables([people(300), people(300, seed=3)]).select(["sex"]), everybody)
    words = "anonymity", table, "--keys", "sex"
    alone = json.loads(run(*words, "--json"))
    found = json.loads(run(*words, "--population", everybody, "--json"))
    assert alone["journalist"] == alone["prosecutor"] == found["prosecutor"]
    assert found["journalist"] < found["prosecutor"]
    assert found["population"]["rows"] == 600
    assert alone["population"] is None
