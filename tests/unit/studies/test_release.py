"""Releases from table and policy to file and report."""

import dataclasses
import json
import math
import shutil
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.engines.sources import open_table
from hartley.errors import ColumnError, InputError, OptionError
from hartley.policies.columns import (
    CutColumn,
    KeptColumn,
    LineColumn,
    MergedColumn,
    QuantizedColumn,
)
from hartley.policies.document import PolicyDocument
from hartley.policies.optimal import optimal_quantizer
from hartley.policies.quantizer import UniformQuantizer
from hartley.studies.release import release

POLICY = PolicyDocument(
    (
        QuantizedColumn("height", UniformQuantizer(100, 250, 15)),
        LineColumn.read("stretch", "weight", line="height/3", reach="5", low="30", high="200"),
        MergedColumn("job", (("nurse", "doctor"), ("teacher",)), ("health", "school"), "rest"),
        CutColumn("income", (Fraction(0), Fraction(1, 3), Fraction(1)), (Fraction(0), Fraction(1))),
        KeptColumn("sex"),
    )
)


@pytest.fixture
def people():
    return pa.table(
        {
            "name": ["SECRET-A", "SECRET-B", "SECRET-C", "SECRET-D"],
            "height": [171.5, math.nan, 300.0, 90.0],
            "weight": [60.0, 61.0, None, 20.0],
            "job": ["nurse", "SECRET-SPY", "teacher", None],
            "income": [0.2, 0.5, 7.0, 1 / 3],
            "sex": ["F", None, "M", "M"],
            "diagnosis": ["SECRET"] * 4,
        }
    )


@pytest.fixture
def report(people, tmp_path):
    return release(people, POLICY, tmp_path / "out.parquet")


def test_only_what_the_policy_names_is_released(report):
    found = pq.read_table(report.path)
    assert found.column_names == ["height", "weight", "job", "income", "sex"]
    assert found["height"].to_pylist() == [175.0, None, 245.0, 105.0]
    assert found["job"].to_pylist() == ["health", "rest", "school", None]
    assert found["income"].to_pylist() == [0.0, 1.0, 1.0, 1.0]
    assert report.withheld == ("name", "diagnosis")
    assert "SECRET" not in str(found.to_pydict())


def test_a_report_counts_what_was_met_and_knows_the_errors(report):
    counts = {
        column.name: (
            *(column.missing, column.below, column.above, column.unknown, column.undefined),
            column.error,
        )
        for column in report.columns
    }
    assert counts == {
        "height": (1, 1, 1, 0, 0, Fraction(5)),
        "weight": (1, 1, 0, 0, 1, Fraction(5)),
        "job": (1, 0, 0, 1, 0, None),
        "income": (0, 0, 1, 0, 0, Fraction(2, 3)),
        "sex": (1, 0, 0, 0, 0, Fraction(0)),
    }
    assert report.rows == 4
    assert report.policy_digest == POLICY.digest


def test_a_report_speaks_in_plain_sentences(report):
    assert report.headline == "4 rows of the table with 5 columns were released to out.parquet."
    assert report.sentences == (
        "height is released within 5 of its value, for values in its declared range.",
        "weight is released within 5 of its value, for values in its declared range.",
        "income is released within 2/3 of its value, for values in its declared range.",
        "sex is released as it is.",
        "1 value of height is missing and was released as such.",
        "2 values of height are outside the declared range and were clamped to it.",
        "1 value of weight is missing and was released as such.",
        "1 value of weight is outside the declared range and was clamped to it.",
        "1 value of weight is without a value of the formula and was released as missing.",
        "1 value of job is missing and was released as such.",
        "1 value of job is in no group and was released as the label for all others.",
        "1 value of income is outside the declared range and was clamped to it.",
        "1 value of sex is missing and was released as such.",
        "Not released: name, diagnosis.",
        "The rows keep their order: if that tells something, the release tells it too.",
    )


def test_a_report_becomes_plain_json_without_a_value_of_the_data(report):
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["format"] == 1
    assert content["columns"][3]["error"] == "2/3"
    assert content["columns"][2]["error"] is None
    assert content["headline"] == report.headline
    assert "SECRET" not in json.dumps(content)


def test_a_report_is_frozen(report):
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.rows = 0


def test_a_policy_may_be_a_file_and_the_table_too(people, tmp_path):
    pq.write_table(people, tmp_path / "people.parquet")
    path = POLICY.save(tmp_path / "policy.toml")
    report = release(str(tmp_path / "people.parquet"), path, tmp_path / "out.csv")
    assert report.table == "people.parquet"
    assert (tmp_path / "out.csv").read_text().count("\n") == 5


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_strict_release_refuses_and_leaves_nothing(people, tmp_path, ending):
    with pytest.raises(ColumnError, match=r"1 value of column 'height' is missing"):
        release(people, POLICY, tmp_path / f"out.{ending}", strict=True)
    assert list(tmp_path.iterdir()) == []


def test_a_strict_release_of_values_within_the_policy_succeeds(people, tmp_path):
    policy = PolicyDocument(POLICY.columns[-1:])
    clean = people.slice(0, 1)
    assert release(clean, policy, tmp_path / "out.parquet", strict=True).strict


def test_releasing_again_changes_nothing_more(people, tmp_path):
    policy = PolicyDocument((POLICY.columns[0], POLICY.columns[4]))
    release(people, policy, tmp_path / "one.parquet")
    again = release(tmp_path / "one.parquet", policy, tmp_path / "two.parquet")
    assert pq.read_table(tmp_path / "one.parquet") == pq.read_table(tmp_path / "two.parquet")
    assert again.columns[0].below == again.columns[0].above == 0


def test_the_table_is_not_overwritten_by_its_release(people, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people, path)
    before = path.read_bytes()
    (tmp_path / "link.parquet").symlink_to(path)
    sources = (path, str(path), [path], open_table(path), str(tmp_path / "peop*.parquet"))
    for out in (path, tmp_path / "link.parquet"):
        for source in sources:
            with pytest.raises(OptionError, match=r"overwrite the table people\.parquet"):
                release(source, POLICY, out)
    assert path.read_bytes() == before


def test_a_csv_table_already_open_is_not_overwritten_either(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex\nF\nM\n")
    with pytest.raises(OptionError, match=r"overwrite the table people\.csv"):
        release(open_table(path), PolicyDocument((KeptColumn("sex"),)), path)
    assert path.read_text() == "sex\nF\nM\n"


def test_the_policy_is_not_overwritten_by_its_release(people, tmp_path):
    path = POLICY.save(tmp_path / "policy.csv")
    before = path.read_bytes()
    with pytest.raises(OptionError, match=r"overwrite the policy policy\.csv"):
        release(people, path, path)
    assert path.read_bytes() == before


def test_progress_is_told_for_counting_and_releasing(people, tmp_path):
    told = []
    release(
        people,
        POLICY,
        tmp_path / "out.csv",
        progress=lambda what, share: told.append((what, share)),
    )
    assert told[:2] == [("count", 0.0), ("count", 1.0)]
    assert told[-1] == ("release", 1.0)


def test_a_missing_policy_file_is_refused(people, tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.toml cannot be read"):
        release(people, tmp_path / "nowhere.toml", tmp_path / "out.csv")


def test_one_row_is_spoken_of_as_one(people, tmp_path):
    policy = PolicyDocument(POLICY.columns[-1:])
    report = release(people.slice(0, 1), policy, tmp_path / "out.csv")
    assert report.headline == "1 row of the table with 1 column was released to out.csv."


def test_another_file_that_is_there_is_replaced(people, tmp_path):
    pq.write_table(people, tmp_path / "people.parquet")
    shutil.copy(tmp_path / "people.parquet", tmp_path / "copy.parquet")
    release(tmp_path / "people.parquet", POLICY, tmp_path / "copy.parquet")
    assert pq.read_table(tmp_path / "copy.parquet").num_rows == 4


def test_a_query_of_a_row_is_released_under_its_name(tmp_path):
    policy = PolicyDocument(
        (QuantizedColumn("size", UniformQuantizer(0, 12, 12), of="x1**2 + 2*x2**2"),),
        design={"columns": {"x1": ["-2", "2"], "x2": ["-2", "2"]}},
    )
    table = {"x1": [0.0, 2.0, 9.0, None], "x2": [1.0, -2.0, 0.0, 0.0], "name": list("ABCD")}
    report = release(table, policy, tmp_path / "out.parquet")
    assert pq.read_table(report.path).to_pydict() == {"size": [2.5, 11.5, 4.5, None]}
    assert report.withheld == ("name",)
    assert report.sentences[:3] == (
        "size is released within 0.5 of x1**2 + 2*x2**2, for values in the declared ranges.",
        "1 value of size is missing and was released as such.",
        "1 value of size is outside the declared range and was clamped to it.",
    )


def test_cells_of_listed_values_promise_their_error_for_these_alone(tmp_path):
    best = optimal_quantizer(None, [0, 1, 4, 5, 6, 7], 2, "leakage")
    policy = PolicyDocument((CutColumn.cut("age", best),))
    report = release({"age": [0, 4, 7]}, policy, tmp_path / "out.csv")
    assert report.sentences[0] == (
        "age is released within 2 of its value, for values that the policy was designed for."
    )
    assert (tmp_path / "out.csv").read_text().split() == ['"age"', "2", "2", "6"]
