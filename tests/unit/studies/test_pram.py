"""PRAM on tables: rules, draws, reports, estimates and certificates."""

import json
import math
import random
import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hartley.errors import CertificateError, ColumnError, InputError, OptionError
from hartley.guarantees.exhaustive import verify_exhaustively
from hartley.guarantees.promise import Certificate
from hartley.guarantees.verify import certify
from hartley.policies import KeptColumn, LineColumn, MergedColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.policies.random.pram import Pram, pram_leakage
from hartley.reports.render import page as page_of
from hartley.studies.release.design import design
from hartley.studies.release.pram import (
    RuleWish,
    _drawn,
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


# --- estimates, and values in place of what was drawn ---------------------------------------------


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


# --- certificates, and columns that are confidential and perturbed --------------------------------


def test_a_certificate_bounds_every_guess_and_is_checked_again(tmp_path):
    path = PolicyDocument((JOB, SEX), design={"bits": "1.5"}).save(tmp_path / "policy.toml")
    promised = certify(PolicyDocument.load(path)).bind(path)
    assert promised.kind == "stochastic maximal leakage"
    assert promised.value == pytest.approx(math.log2(2.1 * 1.8), abs=1e-9)
    assert promised.value >= math.log2(2.1 * 1.8)
    assert not promised.sound
    assert "breaks the budget of 1.5 bits" in promised.claim
    assert "no certificate of noiseless privacy" in promised.claim
    assert any("do not depend on the table" in assumption for assumption in promised.assumptions)
    assert any("another table was drawn by" in assumption for assumption in promised.assumptions)
    saved = Certificate.load(promised.save(tmp_path / "certificate.json"))
    saved.check(path)
    assert certify(PolicyDocument.load(path), 2).sound
    assert certify(Pram.retaining("0.9", ["a", "b"])).value == pytest.approx(0.847997, abs=1e-6)


def test_the_bound_holds_for_the_whole_record_by_brute_force():
    # Two rules over records of both columns: no release of a record helps a guess more.
    large = np.kron(JOB.matrix.doubles, SEX.matrix.doubles)
    gain = large.max(axis=0).sum()
    assert math.log2(gain) <= certify(PolicyDocument((JOB, SEX))).value <= math.log2(gain) + 1e-9


def test_other_columns_count_with_their_outputs_and_kept_ones_without_bound():
    merged = MergedColumn("work", (("a", "b"), ("c",)), ("x", "y"))
    both = certify(PolicyDocument((SEX, merged)))
    assert both.value == pytest.approx(math.log2(1.8 * 3))
    certificate = certify(PolicyDocument((SEX, KeptColumn("age"))))
    assert math.isinf(certificate.value)
    assert not certificate.sound
    assert "age can take any value" in certificate.claim


def test_what_no_certificate_covers_is_refused():
    line = LineColumn.read("stretch", "w", line="30", reach="5", low="0", high="100")
    with pytest.raises(InputError, match="which no one certificate covers"):
        certify(PolicyDocument((SEX, line)))
    with pytest.raises(OptionError, match="drawn at random"):
        verify_exhaustively(PolicyDocument((SEX,)), people={"sex": ["F", "M"]})


def test_whom_kept_columns_single_out_is_counted_as_they_are_written(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id,sex,age\n007,F,30\n07,M,30\n8,F,31\n8,M,40\n")
    rule = Pram.retaining("0.9", ["F", "M"], column="sex")
    report = pram(path, rule, tmp_path / "out.csv", keep=["id", "age"], seed=1)
    ids, ages = report.singling.columns
    assert (ids.alone, ages.alone, report.singling.together) == (2, 2, 4)
    assert "id, released as it is, singles people out: 2 of 4 people by itself." in report.general
    assert (
        "Yet id and age, released as they are, single out 4 of 4 people: leave" in report.headline
    )
    clamped = PolicyDocument((rule, KeptColumn("age", Fraction(0), Fraction(35))))
    assert pram(path, clamped, tmp_path / "again.csv", seed=1).singling.columns == ()


def test_who_has_no_confidential_value_is_left_out_and_named(tmp_path):
    table = {"sex": ["F", "M", "F", "M"], "ill": ["flu", "hiv", None, "flu"]}
    rule = Pram.retaining("0.9", ["F", "M"], column="sex")
    report = pram(table, rule, tmp_path / "out.csv", confidential="ill", seed=1)
    assert "1 row in which ill is missing is left out." in report.notes
    assert joint_frequencies(open_table(table), rule, "ill").sum() == pytest.approx(1)
    assert joint_frequencies(open_table(table), rule, "ill").shape == (2, 2)


def test_missing_secrets_that_are_uneven_are_no_nothing(tmp_path):
    lacking = [None] * 10 + [0, 1] * 5
    for secrets, word in (([0, 1] * 5 + lacking[10:], "nothing"), (lacking, "shifts")):
        table = {"side": ["a"] * 10 + ["b"] * 10, "ill": secrets}
        report = pram(
            table, out=tmp_path / "o.csv", columns="side", retain="3/4", confidential="ill", seed=1
        )
        assert (report.verdict.word, report.verdict.left_out) == (word, secrets.count(None))
    # Of those who are released as a, three in four lack a value, of the others one in four.
    assert report.verdict.absent == (Fraction(1, 4), Fraction(3, 4))
    assert "it is missing in 10 rows" in report.headline
    even = pram(table, out=tmp_path / "o.csv", columns="side", retain="1/2", confidential="ill")
    assert even.verdict.word == "nothing"  # what is drawn has nothing to do with the truth


def test_a_certificate_is_written_with_its_policy_or_neither_is(people, tmp_path):
    files = {"policy_out": tmp_path / "p.toml", "certificate": tmp_path / "c.json"}
    report = pram(people, SEX, tmp_path / "out.csv", **files)
    assert report.certificate == Certificate.load(tmp_path / "c.json")
    report.certificate.check(tmp_path / "p.toml")
    for path in (*files.values(), tmp_path / "out.csv"):
        path.unlink()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CertificateError, match="Nothing is promised"):
        pram(people, SEX, tmp_path / "out.csv", keep="age", **files)
    assert sorted(tmp_path.iterdir()) == before


def test_a_column_may_be_confidential_and_perturbed(people, tmp_path):
    """What a column tells about itself is the information of the channel, from counts."""
    report = pram(
        people,
        out=tmp_path / "out.csv",
        columns="job",
        retain="0.7",
        confidential=["job", "sex"],
        seed=1,
    )
    told = report.columns[0].leakage.confidential
    table = pq.read_table(people)
    jobs = JOB.values
    shares = np.array([table["job"].to_pylist().count(job) for job in jobs]) / 5000
    released = shares @ JOB.matrix.doubles
    information = sum(
        shares[x] * chance * math.log2(chance / released[y])
        for (x, y), chance in np.ndenumerate(JOB.matrix.doubles)
    )
    # The sex adds nothing to what the job tells about itself: X^ is drawn from the job alone.
    assert told.average == pytest.approx(information, abs=1e-12)
    entropy = -sum(p * math.log2(p) for p in shares)
    assert told.unperturbed == pytest.approx(entropy, abs=1e-12)


def test_the_best_matrix_for_a_column_about_itself_is_that_of_rate_distortion(tmp_path):
    """Of a fair coin within an error of 0.11, 1 - H(0.11) bits: Section 4.5 of the paper."""
    table = {"coin": ["head", "tail"] * 50}
    report = pram(
        table, out=tmp_path / "out.csv", columns="coin", distortion=0.11, confidential="coin"
    )
    entropy = -0.11 * math.log2(0.11) - 0.89 * math.log2(0.89)
    told = report.columns[0].leakage.confidential
    assert told.average == pytest.approx(1 - entropy, abs=1e-6)
    assert told.unperturbed == 1


# --- the released row is judged as a whole --------------------------------------------------------

CROSSED = {
    "a": ["x0", "x1", "x0", "x1"] * 10,
    "c": ["z0", "z1", "z1", "z0"] * 10,
    "ill": ["no", "no", "yes", "yes"] * 10,
}


def test_a_drawn_column_is_judged_beside_what_is_kept(tmp_path):
    out = tmp_path / "o.csv"
    wish = {"columns": "a", "retain": "0.99", "confidential": "ill", "seed": 1}
    verdict = pram(CROSSED, out=out, keep="c", **wish).verdict
    assert (verdict.word, verdict.released) == ("nearly tells", ("a", "c"))
    assert (verdict.known[Fraction(99, 100)], verdict.groups) == (40, 4)
    assert verdict.guess_right == verdict.largest_share == Fraction(99, 100)
    assert pram(CROSSED, out=out, **wish).verdict.word == "nothing"  # of a alone it is true


def test_columns_that_are_drawn_one_by_one_are_judged_together(tmp_path):
    table = {name: [f"{name}0"] * 20 + [f"{name}1"] * 20 for name in ("a", "b", "ill")}
    out = tmp_path / "o.parquet"
    report = pram(
        table, out=out, columns=["a", "b"], retain="0.9", confidential="ill", seed=1, few=None
    )
    rows = pq.read_table(out).to_pylist()
    known = sum(row["a"][1] == row["b"][1] for row in rows)
    assert report.verdict.known[Fraction(19, 20)] == known > 0
    assert report.verdict.largest_share == Fraction(81, 82)


def some_rules(draw, table, groups):
    """Return rules with zeros, for the values of groups of columns."""
    rules = []
    for names in groups:
        rows = list(dict.fromkeys(zip(*(table[name] for name in names), strict=True)))
        parts = [[draw.choice([0, 0, 1, 7, 10**8 + 7]) for _ in rows] for _ in rows]
        for place, row in enumerate(parts):
            row[place] += draw.choice([1, 50])
        matrix = [[str(Fraction(part, sum(row))) for part in row] for row in parts]
        values = rows if len(names) > 1 else [value for (value,) in rows]
        rules.append(Pram(matrix, values, column=names))
    return rules


def masses_of(table, rules, kept, secret):
    """Return for every row that can be released the chance of each secret, times the rows."""
    masses = {}
    for row in range(len(table[secret])):
        beside = tuple(table[name][row] for name in kept)
        seen = [((), Fraction(1))]
        for rule in rules:
            true = tuple(table[name][row] for name in rule.columns)
            place = rule.values.index(true if len(true) > 1 else true[0])
            chances = [Fraction(int(p), rule.matrix.whole) for p in rule.matrix.parts[place]]
            out = [v if isinstance(v, tuple) else (v,) for v in rule.released]
            drawn = list(zip(out, chances, strict=True))
            seen = [(s + v, p * q) for s, p in seen for v, q in drawn]
        for values, chance in seen:
            mass = masses.setdefault(values + beside, dict.fromkeys(table[secret], Fraction(0)))
            mass[table[secret][row]] += chance
    return masses


def told_by(masses, written, secrets):
    """Return what a verdict says, by Bayes for every class of released rows."""
    there = [secret for secret in secrets if secret is not None]
    usual = {w: Fraction(there.count(w), len(there)) for w in there}
    mass = {row: {w: masses[row][w] for w in usual} for row in masses}
    after = {
        row: {w: p / sum(mass[row].values()) for w, p in mass[row].items()}
        for row in set(written)
        if any(mass[row].values())
    }
    sure = {row for row in after if len(usual) > 1 and max(after[row].values()) == 1}
    told = [row for row in written if row in sure]
    near = {
        c: {row for row in after if any(after[row][w] >= c > usual[w] for w in usual)} | sure
        for c in (Fraction(9, 10), Fraction(19, 20), Fraction(99, 100))
    }
    lacking = [masses[row].get(None, 0) / sum(masses[row].values()) for row in set(written)]
    return {
        "people": len(written),
        "groups": len(after),
        "values": len(usual),
        "told": len(told),
        "told_alone": sum(told.count(row) == 1 for row in sure),
        "told_uncommon": sum(
            usual[max(usual, key=after[row].get)] < max(usual.values()) for row in told
        ),
        "known": {c: sum(row in rows for row in written) for c, rows in near.items()},
        "ruled_out": sum(row in after and not all(after[row].values()) for row in written),
        "left": min(sum(p > 0 for p in each.values()) for each in after.values()),
        "guess_right": sum(max(each.values()) for each in mass.values()) / len(there),
        "guess_right_before": max(usual.values()),
        "largest_share": max(max(each.values()) for each in after.values()),
        "gain": max(each[w] / usual[w] for each in after.values() for w in usual),
        "shift": max(sum(abs(each[w] - usual[w]) for w in usual) for each in after.values()) / 2,
        "absent": (min(lacking), max(lacking)),
        "left_out": secrets.count(None),
        "apart": False,
    }


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_judged_as_fractions_judge_them(seed, tmp_path):
    draw = random.Random(seed)  # noqa: S311 - a table to release
    n, secrets = draw.randint(4, 30), ["s", "t"][: draw.randint(1, 2)]
    drawn, kept = ["a", "b"][: draw.randint(1, 2)], ["k", "l"][: draw.randint(0, 2)]
    table = {name: draw.choices("xyz"[: draw.randint(2, 3)], k=n) for name in drawn}
    table |= {"k": draw.choices(["u", "v", None], k=n), "l": draw.choices([1.5, -2.0, None], k=n)}
    some = ["p", "p", "p", "q", "r", None][: draw.randint(4, 6)]
    table |= {name: ["p", *draw.choices(some, k=n - 1)] for name in secrets}
    if len(drawn) == 2 and draw.random() < 0.5:
        table["s"] = ["pq"[x == y] for x, y in zip(table["a"], table["b"], strict=True)]
    rules = some_rules(draw, table, draw.choice([[drawn], [[name] for name in drawn]]))
    out = tmp_path / "o.parquet"
    report = pram(table, rules, out, keep=kept, confidential=secrets, seed=seed, few=None)
    rows = pq.read_table(out).to_pylist()
    written = [tuple(row[name] for name in [*drawn, *kept]) for row in rows]
    for name in secrets:
        wanted = told_by(masses_of(table, rules, kept, name), written, table[name])
        assert {field: getattr(report.verdicts[name], field) for field in wanted} == wanted


def test_numbers_are_known_within_a_distance_by_what_was_released(tmp_path):
    draw = random.Random(4)  # noqa: S311 - a table to release
    kept = ["low"] * 60 + ["any"] * 240
    table = {"side": draw.choices("ab", k=300), "job": kept}
    table["pay"] = [10 + k % 3 if job == "low" else 10 + k % 90 for k, job in enumerate(kept)]
    table["pay"][-5:] = [None] * 5
    for place in range(2):
        table["pay"][place] = 99 - place
    rules = some_rules(draw, table, [["side"]])
    out = tmp_path / "o.parquet"
    verdict = pram(table, rules, out, keep="job", confidential="pay", few=None).verdict
    width = verdict.within.width
    masses = masses_of(table, rules, ["job"], "pay")
    pays = [pay for pay in table["pay"] if pay is not None]

    def is_known(row, c):
        mass = {pay: p for pay, p in masses[row].items() if p and pay is not None}
        windows = [(v, v + width) for v in mass]
        held = [sum(p for v, p in mass.items() if x <= v <= y) for x, y in windows]
        usual = [Fraction(sum(x <= v <= y for v in pays), len(pays)) for x, y in windows]
        of_class = [p / sum(mass.values()) for p in held]
        pairs = list(zip(of_class, usual, strict=True))
        return any(p >= c > q or p == 1 > q for p, q in pairs)

    rows = [(row["side"], row["job"]) for row in pq.read_table(out).to_pylist()]
    known = {c: sum(is_known(row, c) for row in rows) for c in verdict.known}
    assert verdict.within.known == known
    assert known[Fraction(9, 10)] == 60
    assert verdict.within.told == sum(is_known(row, 2) for row in rows)
    assert "Within" in verdict.sentence


@pytest.mark.parametrize("module", ["studies.release", "policies.random"])
def test_what_is_too_much_to_judge_together_is_never_nothing(module, tmp_path, monkeypatch):
    monkeypatch.setattr(f"hartley.{module}.pram.MOST_JUDGED", 3)
    wish = {"columns": "a", "retain": "0.99", "confidential": "ill", "seed": 1}
    report = pram(CROSSED, out=tmp_path / "o.csv", keep="c", **wish)
    assert report.verdict.word == "shifts"
    assert "nothing follows" not in report.headline
    assert "too many combinations of values to be judged together" in report.headline
    # What is judged apart is still said, and one column alone is always judged.
    table = CROSSED | {"ill": CROSSED["c"]}
    assert pram(table, out=tmp_path / "o.csv", keep="c", **wish).verdict.told == 40
    assert pram(CROSSED, out=tmp_path / "o.csv", **wish).verdict.word == "nothing"


def test_what_is_coarsened_or_clamped_is_judged_as_it_is_released(tmp_path):
    table = {"sex": ["F", "M"] * 10, "age": [*range(20, 40)], "ill": [1] * 10 + [0] * 10}
    rule = Pram.retaining("1/2", ["F", "M"], column="sex")
    for age, told in (
        (QuantizedColumn("age", UniformQuantizer(0, 60, 2)), 20),
        (QuantizedColumn("age", UniformQuantizer(0, 90, 2)), 0),
        (KeptColumn("age", Fraction(50), Fraction(60)), 0),
        (KeptColumn("age"), 20),
    ):
        report = pram(table, PolicyDocument((rule, age)), tmp_path / "o.csv", confidential="ill")
        assert report.verdict.told == told


def test_products_of_matrices_with_long_parts_are_exact():
    rng = np.random.default_rng(5)
    parts, counts = rng.integers(2**62, size=(2, 4, 3)), rng.integers(2**31, size=(4, 4, 2))
    found = counts[None]
    for matrix in parts:
        found = _drawn(found, matrix)
    for secret, y, z in np.ndindex(2, 3, 3):
        wanted = sum(
            int(counts[i, j, secret]) * int(parts[0, i, y]) * int(parts[1, j, z])
            for i, j in np.ndindex(4, 4)
        )
        assert found[0, secret, y, z] == wanted
