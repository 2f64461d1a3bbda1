"""One number of a whole table: exact, in its cell, refused for other numbers of people."""

import json
import math
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import ColumnError, InputError
from hartley.policies import CutColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.studies.release.release import release

HEIGHTS = [170.25, 181.5, 165.0, 190.0]


def policy(of="mean(height)", cells=None, people=4, **design):
    return PolicyDocument(
        (QuantizedColumn("answer", cells or UniformQuantizer(100, 250, 150), of=of),),
        design={"people": people, "columns": {"height": ["100", "250"]}} | design,
    )


def test_one_row_holds_the_middle_of_the_cell_and_its_edges(tmp_path):
    report = release({"height": HEIGHTS, "name": list("ABCD")}, policy(), tmp_path / "out.parquet")
    released = pq.read_table(report.path).to_pydict()
    assert released == {"answer": [176.5], "answer_low": [176.0], "answer_high": [177.0]}
    assert sum(HEIGHTS) / 4 == 176.6875
    assert report.rows == 1
    assert report.withheld == ("name",)


def test_a_report_speaks_of_the_answer(tmp_path):
    heights = [*HEIGHTS, 300.0]
    report = release({"height": heights}, policy(people=5), tmp_path / "out.csv")
    assert report.headline == "mean(height) over 5 people of the dict was released to out.csv."
    assert report.sentences == (
        "answer is released within 0.5 of mean(height), for values in the declared ranges.",
        "1 value of height is outside the declared range and was clamped to it.",
        (
            "Each value was clamped to its declared range and cut off to a binary fraction, then "
            "all were added exactly."
        ),
    )
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["columns"][0]["people"] == 5
    assert "176" not in json.dumps(content["columns"])


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(st.integers(100 * 64, 250 * 64), min_size=4, max_size=30))
def test_the_cell_is_that_of_the_exact_answer(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("answer") / "out.parquet"
    heights = [step / 64 for step in steps]
    people = len(heights)
    total = UniformQuantizer(100 * people, 250 * people, 77)
    columns = (
        QuantizedColumn("mean", UniformQuantizer(100, 250, 900), of="mean(height)"),
        QuantizedColumn("sum", total, of="total(height)"),
        CutColumn("cut", (100, 170, 250), (150, 200), of="mean(height)"),
    )
    design = {"people": people, "columns": {"height": ["100", "250"]}}
    release({"height": heights}, PolicyDocument(columns, design=design), path)
    (row,) = pq.read_table(path).to_pylist()
    exact = sum(map(Fraction, heights))
    cell = math.floor((exact / people - 100) / Fraction(1, 6))
    assert row["mean"] == float(100 + (2 * min(cell, 899) + 1) * Fraction(1, 12))
    assert Fraction(row["mean_low"]) <= exact / people <= Fraction(row["mean_high"])
    assert row["sum"] == float(total.middle(total.cell(exact)))
    assert row["sum_low"] <= exact <= row["sum_high"]
    assert row["cut"] == (150 if exact / people < 170 else 200)


# --- other numbers of people --------------------------------------------------------------------


@pytest.mark.parametrize("of", ["mean(height)", "total(height)"])
@pytest.mark.parametrize("people", [1, 3, 5, 5000])
def test_a_table_of_other_people_than_promised_is_refused(tmp_path, of, people):
    cells = UniformQuantizer(100 * people, 250 * people, 9) if of.startswith("t") else None
    with pytest.raises(ColumnError, match="the dict holds 4 values of 'height', but the policy"):
        release({"height": HEIGHTS}, policy(of, cells, people), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", [None, math.nan])
@pytest.mark.parametrize("people", [4, 5])
def test_a_missing_value_is_no_person_and_no_zero(tmp_path, missing, people):
    table = {"height": pa.array([*HEIGHTS, missing], pa.float64())}
    with pytest.raises(
        ColumnError, match=r"1 value of 'mean\(height\)' is missing, which the prom"
    ):
        release(pa.table(table), policy(people=people), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_strict_release_of_an_answer_refuses_what_it_would_clamp_or_leave_out(tmp_path):
    for value, words in ((None, "missing"), (300.0, "outside the declared range")):
        with pytest.raises(ColumnError, match=f"1 value of column 'height' is {words}"):
            release({"height": [*HEIGHTS, value]}, policy(), tmp_path / "out.csv", strict=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (policy(people="many"), "does not say over how many people"),
        (policy(people=0), "does not say over how many people"),
        (policy(columns={"weight": ["0", "1"]}), "declares no range of 'height'"),
        (policy(of="mean(size)", columns={"size": ["0", "1"]}), "'size' is not in"),
    ],
)
def test_a_policy_that_leaves_open_what_an_answer_needs_is_refused(tmp_path, document, words):
    with pytest.raises(InputError, match=words):
        release({"height": HEIGHTS}, document, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_names_that_would_coincide_are_refused(tmp_path):
    cells = UniformQuantizer(100, 250, 3)
    columns = tuple(QuantizedColumn(name, cells, of="mean(height)") for name in ("a", "A_low"))
    with pytest.raises(InputError, match="would have one name"):
        release(
            {"height": HEIGHTS}, PolicyDocument(columns, design=policy().design), tmp_path / "o.csv"
        )
