"""Certificates of PRAM, and columns that are confidential and perturbed."""

import math
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from hartley.errors import CertificateError, InputError, OptionError
from hartley.guarantees.exhaustive import verify_exhaustively
from hartley.guarantees.promise import Certificate
from hartley.guarantees.verify import certify
from hartley.policies import KeptColumn, LineColumn, MergedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.random.pram import Pram
from hartley.studies.release.pram import joint_frequencies, pram
from hartley.tables.opening import open_table

JOB = Pram.retaining("0.7", ["care", "none", "trade"], column="job")

SEX = Pram.retaining("0.9", ["F", "M"], column="sex")


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
    assert "id, released as it is, singles people out: 2 of 4 records by itself." in report.general
    clamped = PolicyDocument((rule, KeptColumn("age", Fraction(0), Fraction(35))))
    assert pram(path, clamped, tmp_path / "again.csv", seed=1).singling.columns == ()


def test_who_has_no_confidential_value_is_left_out_and_named(tmp_path):
    table = {"sex": ["F", "M", "F", "M"], "ill": ["flu", "hiv", None, "flu"]}
    rule = Pram.retaining("0.9", ["F", "M"], column="sex")
    report = pram(table, rule, tmp_path / "out.csv", confidential="ill", seed=1)
    assert "1 row in which ill is missing is left out." in report.notes
    assert joint_frequencies(open_table(table), rule, "ill").sum() == pytest.approx(1)
    assert joint_frequencies(open_table(table), rule, "ill").shape == (2, 2)


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
