"""PRAM on tables: how rows are drawn, which rules fit, and what the report says."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hartley.errors import ColumnError, InputError, OptionError
from hartley.policies import KeptColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.policies.random.pram import Pram, pram_leakage
from hartley.reports.render import page as page_of
from hartley.studies.release.design import design
from hartley.studies.release.pram import (
    RuleWish,
    best_rule,
    count_values,
    estimate,
    invariant_rule,
    joint_frequencies,
    matrix_rule,
    pram,
    retaining_rule,
)
from hartley.studies.release.release import release
from hartley.tables import writing
from hartley.tables.opening import open_table

JOB = Pram.retaining("0.7", ["care", "none", "trade"], column="job")

SEX = Pram.retaining("0.9", ["F", "M"], column="sex")


def test_a_table_is_drawn_as_the_rule_draws_its_codes(people, tmp_path):
    report = pram(people, [JOB, SEX], tmp_path / "out.parquet", keep="age", seed=11)
    before, after = pq.read_table(people), pq.read_table(tmp_path / "out.parquet")
    assert after.column_names == ["job", "sex", "age"]
    assert after.column("age") == before.column("age")
    for rule, column in zip([JOB, SEX], report.columns, strict=True):
        codes = [rule.values.index(value) for value in before.column(rule.name).to_pylist()]
        wanted = [rule.values[place] for place in rule.draw(codes, seed=11)]
        drawn = after.column(rule.name).to_pylist()
        assert drawn == wanted
        assert column.before.tolist() == np.bincount(codes).tolist()
        assert column.after.sum() == 5000
        changed = zip(drawn, before.column(rule.name).to_pylist(), strict=True)
        assert column.changed == sum(before != after for before, after in changed)


def test_chunks_formats_and_engines_of_writing_change_nothing(people, tmp_path, monkeypatch):
    pram(people, JOB, tmp_path / "one.parquet", seed=1)
    monkeypatch.setattr(writing, "CHUNK", 999)
    pram(people, JOB, tmp_path / "two.parquet", seed=1)
    release(people, PolicyDocument((JOB,)), tmp_path / "three.csv", seed=1)
    rows = pq.read_table(tmp_path / "one.parquet")
    assert rows == pq.read_table(tmp_path / "two.parquet")
    assert (
        rows.column("job").to_pylist()
        == pa.csv.read_csv(tmp_path / "three.csv").column(0).to_pylist()
    )
    pram(people, JOB, tmp_path / "other.parquet")
    assert rows != pq.read_table(tmp_path / "other.parquet")


@pytest.mark.slow
def test_columns_can_be_perturbed_together_and_beside_other_policies(people, tmp_path):
    both = retaining_rule(open_table(people), ["job", "sex"], "0.5").pram
    assert len(both.values) == 6
    ages = QuantizedColumn("age", UniformQuantizer(0, 100, 10))
    policy = PolicyDocument((ages, both))
    path = policy.save(tmp_path / "policy.toml")
    report = pram(people, path, tmp_path / "out.parquet", seed=3)
    after = pq.read_table(tmp_path / "out.parquet")
    assert after.column_names == ["age", "job", "sex"]
    assert set(after.column("age").to_pylist()) <= {10.0 * k + 5 for k in range(10)}
    assert report.columns[0].title == "job, sex"
    again = release(people, path, tmp_path / "again.parquet", seed=3)
    assert pq.read_table(tmp_path / "again.parquet") == after
    assert any("Drawn at random, row by row: job, sex" in sentence for sentence in again.sentences)


def test_texts_of_a_csv_file_are_taken_as_they_are_written(tmp_path):
    (tmp_path / "zips.csv").write_text("zip\n007\n7\n007\n8\n")
    table = open_table(tmp_path / "zips.csv")
    rule = retaining_rule(table, ["zip"], "1")
    assert rule.pram.values == ("007", "7", "8")
    pram(table, rule.pram, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().split() == ['"zip"', '"007"', '"7"', '"007"', '"8"']


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"job": ["care", "baker"]}, "holds a value that the matrix has no row for"),
        ({"job": ["care", None]}, "is missing, for which the matrix has no row"),
        ({"job": [1, 2]}, "of a different kind"),
        ({"work": ["care"]}, "Column 'job' is not in"),
        ({"job": []}, "no rows"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_and_nothing_is_left(tmp_path, content, problem):
    with pytest.raises(InputError, match=problem) as caught:
        pram(content, JOB, tmp_path / "out.parquet")
    assert "baker" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_files_are_not_overwritten_by_their_release(people, tmp_path):
    path = PolicyDocument((JOB,)).save(tmp_path / "policy.parquet")
    for out in (people, path):
        with pytest.raises(OptionError, match="would overwrite"):
            pram(people, path, out)
    with pytest.raises(OptionError, match="perturbs no column"):
        pram(people, PolicyDocument((KeptColumn("sex"),)), tmp_path / "out.parquet")
    with pytest.raises(OptionError, match="perturbs no column"):
        estimate(people, PolicyDocument((KeptColumn("sex"),)))


def test_missing_values_are_drawn_where_the_matrix_has_them(tmp_path):
    table = {"x": ["a", None] * 2000}
    rule = retaining_rule(open_table(table), ["x"], "0.5", missing="value").pram
    assert rule.values == ("a", None)
    report = pram(table, rule, tmp_path / "out.parquet", seed=4)
    assert 0.4 < pq.read_table(tmp_path / "out.parquet").column("x").null_count / 4000 < 0.6
    assert any("replaced by what was drawn" in sentence for sentence in report.sentences)
    with pytest.raises(ColumnError, match="2,000 values of column 'x' are missing"):
        retaining_rule(open_table(table), ["x"], "0.5")


@pytest.mark.slow
def test_the_best_rule_for_a_wish_reaches_it(people):
    table = open_table(people)
    wish = RuleWish(distortion=0.2, confidential=("sex",))
    rule = best_rule(table, ["job"], wish).pram
    counts = np.array(list(count_values(table, ["job"], "refuse").values())) / 5000
    assert counts @ (1 - np.diag(rule.matrix.doubles)) <= 0.2 + 1e-9
    leakage = pram_leakage(rule, joint_frequencies(table, rule, "sex")).confidential
    assert leakage.average <= leakage.unperturbed / 10  # job and sex are nearly independent here
    least = best_rule(table, ["job"], RuleWish(distortion=0.2)).pram
    assert counts @ (1 - np.diag(least.matrix.doubles)) == pytest.approx(0.2, abs=1e-6)
    for wrong in (RuleWish(), RuleWish(risk=0.1), RuleWish(lam=1.0, distortion=0.1)):
        with pytest.raises(OptionError):
            best_rule(table, ["job"], wrong)


def test_an_invariant_rule_fits_the_table(people):
    table = open_table(people)
    rule = invariant_rule(table, retaining_rule(table, ["job"], "0.6"))
    counts = np.array(list(count_values(table, ["job"], "refuse").values()))
    assert counts @ rule.pram.matrix.doubles == pytest.approx(counts, abs=1e-9)
    assert any("preserved in expectation" in note for note in rule.notes)


def test_a_matrix_is_read_from_a_csv_file(people, tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text(",care,none,trade\ncare,1/2,1/4,1/4\nnone,0.1,0.9,0\ntrade,0,0,1\n")
    rule = matrix_rule(open_table(people), ["job"], path).pram
    assert rule.matrix.texts()[0] == ["0.5", "0.25", "0.25"]
    assert rule.values == rule.released == ("care", "none", "trade")
    path.write_text(",1\nx,1\n")
    with pytest.raises(InputError, match="not a value of a column of integer values"):
        matrix_rule(open_table(people), ["age"], path)
    for wrong in ("", ",a\n", ",a\nb,1,2\n"):
        path.write_text(wrong)
        with pytest.raises(InputError, match="contains no matrix"):
            matrix_rule(open_table(people), ["job"], path)
    with pytest.raises(OptionError, match="for one column"):
        matrix_rule(open_table(people), ["job", "sex"], path)


def test_too_many_values_are_refused():
    table = open_table({"x": list(range(5000)), "y": list(range(5000))})
    with pytest.raises(OptionError, match="5,000 values, too many"):
        retaining_rule(table, ["x"], "0.5")
    pair = open_table({"x": [k % 100 for k in range(5000)], "y": [k // 50 for k in range(5000)]})
    with pytest.raises(OptionError, match="10,000 combinations of values"):
        retaining_rule(pair, ["x", "y"], "0.5")


@pytest.mark.slow
def test_a_report_says_what_is_told_and_keeps_the_true_frequencies_to_the_owner(people, tmp_path):
    report = pram(people, JOB, tmp_path / "out.parquet", confidential="sex", seed=1)
    text = " ".join(report.sentences)
    for words in (
        "maximal leakage",
        "(L0 = I* = 0)",
        "odds between",
        "About sex",
        "seed was chosen",
    ):
        assert words in text
    written = json.dumps(report.to_dict())
    for count in report.columns[0].before.tolist():
        assert f" {count}," not in written
    page = page_of(report)
    assert "Do not publish it" in page
    assert page.count("<svg") == 4  # two pictures, each wide and narrow
    assert f"{report.columns[0].before[0] / 5000:.4f}" in page


def test_a_design_for_it_is_sent_to_the_right_command():
    with pytest.raises(InputError, match="designed by hartley pram"):
        design({"objective": "pram", "columns": {"job": {"values": ["a", "b"]}}})


@pytest.mark.slow
def test_rules_are_worked_out_for_columns_as_the_command_does(people, tmp_path):
    first, second = tmp_path / "one.parquet", tmp_path / "other.parquet"
    report = pram(people, out=first, columns=["job", "sex"], retain="0.7", seed=1)
    rules = [
        Pram.retaining("0.7", ["care", "none", "trade"], column="job"),
        Pram.retaining("0.7", ["F", "M"], column="sex"),
    ]
    assert report.policy == PolicyDocument(tuple(rules))
    assert any("values of the matrix were taken" in note for note in report.notes)
    pram(people, rules, second, seed=1)
    assert pq.read_table(first).equals(pq.read_table(second))
    together = pram(people, out=first, columns=[["job", "sex"]], retain="0.7")
    assert together.policy.prams[0].columns == ("job", "sex")
    even = pram(people, out=first, columns="sex", retain="0.7", invariant=True)
    assert any("preserved in expectation" in note for note in even.notes)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"columns": "job", "retain": 0.5, "lam": 1}, "Both retain and lam give a matrix"),
        ({"columns": "job"}, "No matrix is given"),
        ({"retain": 0.5}, "No column to perturb"),
        ({"policy": JOB, "columns": "job"}, "already names the columns and matrices"),
        ({"policy": JOB, "invariant": True}, "already names the columns and matrices"),
        ({"policy": JOB, "certificate": "c.json"}, "No certificate can be written"),
        ({"policy": JOB, "policy_out": "out.csv"}, "would overwrite the release"),
    ],
)
def test_a_contradiction_is_refused_before_anything_is_written(people, tmp_path, options, problem):
    for name in {"policy_out", "certificate"} & options.keys():
        options = options | {name: tmp_path / options[name]}
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OptionError, match=problem):
        pram(people, out=tmp_path / "out.csv", **options)
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_to_write_must_be_named(people):
    with pytest.raises(OptionError, match="No file to write is named"):
        pram(people, SEX)
