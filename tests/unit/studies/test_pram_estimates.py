"""Estimates from a perturbed table: frequencies, and values in place of what was drawn."""

import math
import re
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from hartley.errors import ColumnError, OptionError
from hartley.policies.document import PolicyDocument
from hartley.policies.random.pram import Pram
from hartley.reports.render import page as page_of
from hartley.studies.release.pram import estimate, pram

JOB = Pram.retaining("0.7", ["care", "none", "trade"], column="job")

SEX = Pram.retaining("0.9", ["F", "M"], column="sex")


def test_frequencies_are_estimated_from_the_release_and_the_policy_alone(people, tmp_path):
    policy = PolicyDocument((JOB, SEX)).save(tmp_path / "policy.toml")
    pram(people, policy, tmp_path / "out.parquet", seed=2)
    before = pq.read_table(people)
    for frequencies in estimate(tmp_path / "out.parquet", policy):
        (name,), (values,) = frequencies.columns, frequencies.values
        truth = [before.column(name).to_pylist().count(value) / 5000 for value in values]
        assert (
            np.abs(frequencies.shares - truth) <= 4 * frequencies.errors
        ).all()  # chance of a miss: 3e-4
    (joint,) = estimate(tmp_path / "out.parquet", policy, joint=True)
    pairs = list(
        zip(before.column("job").to_pylist(), before.column("sex").to_pylist(), strict=True)
    )
    truth = [[pairs.count((job, sex)) / 5000 for sex in SEX.values] for job in JOB.values]
    assert (np.abs(joint.shares - truth) <= 4 * joint.errors).all()  # likewise


def test_a_table_of_another_policy_is_refused(people):
    with pytest.raises(ColumnError, match="never releases"):
        estimate(people, Pram.retaining("0.9", ["a", "b"], column="job"))


@pytest.mark.slow
def test_estimates_are_released_and_both_distortions_are_reported(people, tmp_path):
    out, policy = tmp_path / "out.parquet", tmp_path / "p.toml"
    report = pram(
        people,
        out=out,
        columns="age",
        retain="0.6",
        distance="squared",
        reconstruct=True,
        confidential="sex",
        policy_out=policy,
        seed=1,
    )
    (step,) = report.reconstructions
    before, after = pq.read_table(people)["age"], pq.read_table(out)["age"]
    assert set(after.to_pylist()) <= set(step.pram.released)
    # What is measured on the drawn rows is what is exact for the law, up to chance.
    squares = np.square(np.array(before) - np.array(after))
    assert abs(squares.mean() - float(step.distortion)) < 4 * squares.std() / math.sqrt(5000)
    assert step.distortion < step.before
    assert step.risk <= step.risk_before
    assert f"to {float(step.distortion):.6g}"[:8] in " ".join(report.general)
    assert report.to_dict()["reconstruction"][0]["exact_distortion"] == str(step.distortion)
    # The policy file holds the estimates: the same rule releases and estimates again.
    (read,) = PolicyDocument.load(policy).prams
    assert read.released == step.pram.released
    again = pram(people, policy, tmp_path / "again.parquet", seed=1)
    assert pq.read_table(tmp_path / "again.parquet")["age"] == after
    assert again.reconstructions == ()
    (estimated,) = estimate(out, policy)
    assert estimated.shares.sum() == pytest.approx(1)


@pytest.mark.slow
def test_a_certified_rule_and_its_means_do_not_contradict_each_other(people, tmp_path):
    wish = {"columns": "age", "distortion": 60, "distance": "squared", "confidential": "sex"}
    report = pram(people, out=tmp_path / "out.csv", reconstruct=True, **wish)
    assert float(report.reconstructions[0].distortion) < 60
    assert "certified about the best rule is about rules that release values" in " ".join(
        report.notes
    )
    # The labels of the picture are short although the means have all the digits of a double.
    assert not re.search(r">\d+\.\d{7,}<", page_of(report))


def test_estimates_of_categories_are_the_likeliest_ones(people, tmp_path):
    report = pram(
        people, out=tmp_path / "out.csv", columns="job", retain="0.4", reconstruct=True, seed=1
    )
    (step,) = report.reconstructions
    assert step.distance == "zero_one"
    assert set(step.pram.released) <= {"care", "none", "trade"}
    assert step.distortion < step.before == Fraction(3, 5)


def test_rows_without_a_confidential_value_count_for_the_estimates(tmp_path):
    table = {"dose": [0, 0, 10, 10], "sick": ["yes", "no", None, None]}
    report = pram(
        table,
        out=tmp_path / "out.csv",
        columns="dose",
        retain="0.5",
        distance="squared",
        reconstruct=True,
        confidential="sick",
    )
    assert report.reconstructions[0].pram.released == (5.0,)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"columns": "age", "retain": "0.8", "invariant": True}, "exclude each other"),
        ({"policy": JOB}, "already names the columns"),
        (
            {"columns": "age", "retain": "0.8", "certificate": "c.json", "policy_out": "p.toml"},
            "No certificate covers estimates",
        ),
    ],
)
def test_estimates_that_promise_too_much_are_refused(people, tmp_path, options, sentence):
    options = {
        name: tmp_path / value if name in {"certificate", "policy_out"} else value
        for name, value in options.items()
    }
    with pytest.raises(OptionError, match=sentence):
        pram(people, out=tmp_path / "out.csv", reconstruct=True, distance="squared", **options)
    assert list(tmp_path.iterdir()) == [people]


@pytest.mark.slow
def test_a_singular_matrix_is_released_and_said_not_to_be_estimable(people, tmp_path):
    flat = Pram(np.full((3, 3), 1 / 3), JOB.values, column="job")
    report = pram(people, flat, tmp_path / "out.parquet")
    assert report.columns[0].estimate is None
    assert "cannot be estimated" in " ".join(report.sentences)
    assert report.columns[0].leakage.maximal < 1e-9
    assert "<svg" in page_of(report)
    with pytest.raises(OptionError, match="singular: it has the rank 1 for 3 values"):
        estimate(tmp_path / "out.parquet", flat)
