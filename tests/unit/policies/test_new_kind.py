"""The kind of policy that CONTRIBUTING.md adds does everything that a kind does."""

import csv
import re
from fractions import Fraction
from pathlib import Path

import pytest

import hartley
from hartley import (
    Certificate,
    CertificateError,
    InputError,
    PolicyDocument,
    UniformQuantizer,
    certify,
    release,
    verify_exhaustively,
)
from hartley.policies import KeptColumn, QuantizedColumn, register
from hartley.policies.kinds import KINDS

PAGE = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text()


def block(kind, containing):
    (text,) = [
        text
        for text in re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        if containing in text
    ]
    return text


@pytest.fixture
def sign():
    space = {"__name__": "contributing"}
    exec(compile(block("python", "class SignColumn"), "CONTRIBUTING.md", "exec"), space)  # noqa: S102 - our own page
    known = dict(KINDS)
    yield register(space["SignColumn"])
    KINDS.clear()
    KINDS.update(known)


def test_it_is_read_from_a_file_and_saved_to_one(sign, tmp_path):
    document = PolicyDocument.from_toml(block("toml", 'kind = "sign"'))
    assert document.columns == (sign("balance", Fraction(-1000), Fraction(1000)),)
    path = document.save(tmp_path / "policy.toml")
    assert PolicyDocument.load(path) == document
    assert PolicyDocument.load(path).digest == document.digest


def test_it_is_released_by_the_engine(sign, tmp_path):
    document = PolicyDocument((sign("balance", Fraction(-9), Fraction(9)), KeptColumn("name")))
    table = {"balance": [-2000.0, -0.5, 0.0, 3.0, None], "name": list("abcde")}
    report = release(table, document, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["balance"] for row in rows] == ["-1", "-1", "1", "1", ""]
    assert (report.columns[0].below, report.columns[0].missing) == (1, 1)


def test_it_is_certified_and_the_certificate_verified(sign, tmp_path):
    ages = QuantizedColumn("age", UniformQuantizer(0, 100, 7))
    document = PolicyDocument((sign("balance", Fraction(-9), Fraction(9)), ages))
    certificate = certify(document, 5)
    # Two signs or missing, and seven cells or missing.
    assert certificate.parameters["outputs"] == {"balance": 3, "age": 8}
    assert certificate.value == pytest.approx(4.584962500721156)
    assert certificate.sound
    path = document.save(tmp_path / "policy.toml")
    saved = Certificate.load(certificate.bind(path).save(tmp_path / "certificate.json"))
    saved.check(path)
    path.write_text(path.read_text().replace('"-9"', '"-8"'))
    with pytest.raises(CertificateError, match="another policy file"):
        saved.check(path)


def test_the_engine_itself_produces_no_more_outputs_than_it_promises(sign):
    document = PolicyDocument((sign("balance", Fraction(-9), Fraction(9)),))
    tried = verify_exhaustively(document, people={"balance": [*range(-12, 13), None]})
    assert tried == certify(document).parameters["outputs"]["balance"]


@pytest.mark.usefixtures("sign")
def test_its_own_refusals_name_the_column():
    text = block("toml", 'kind = "sign"').replace('"-1000"', '"5"')
    with pytest.raises(InputError, match="column 'balance' has one sign only"):
        PolicyDocument.from_toml(text)


def test_a_word_that_is_taken_is_refused(sign):
    class Another(sign):
        pass

    with pytest.raises(InputError, match="'sign' is registered already, by SignColumn"):
        register(Another)


def test_without_registration_the_file_is_refused():
    with pytest.raises(InputError, match="unknown kind 'sign'"):
        PolicyDocument.from_toml(block("toml", 'kind = "sign"'))


def test_the_package_is_used_as_it_is_installed(sign):
    assert hartley.certify(PolicyDocument((sign("x", Fraction(-1), Fraction(1)),))).sound
