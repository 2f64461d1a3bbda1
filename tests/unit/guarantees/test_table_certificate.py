"""A certificate of tables holds as it was written, and nothing in it can be changed."""

import json
import random

import pytest

from hartley.errors import CertificateError
from hartley.guarantees.table_certificate import sealed, verify_tables
from hartley.studies.check import check
from hartley.studies.check_certificate import certify_tables, save_certificate

SQUARE = "r,a,b,c,Total\nx,20,50,10,80\ny,s,19,s,49\nz,s,32,s,61\nTotal,45,101,44,190\n"


@pytest.fixture
def square(tmp_path):
    path = tmp_path / "square.csv"
    path.write_text(SQUARE)
    report = check(
        path,
        spec={"outputs": [{"file": "square.csv", "dims": ["r", "c"]}]},
        rules=["frequency<26", "homogeneous"],
        marks={"s": "hidden"},
    )
    return path, report, save_certificate(report, tmp_path / "c.json")


def test_a_certificate_holds(square):
    path, report, saved = square
    assert verify_tables([path], saved).counts == report.counts
    assert report.counts["disclosed"] > 0
    assert report.counts["protected"] > 0


@pytest.mark.slow
def test_one_changed_digit_is_refused(square):
    path, _, saved = square
    text = saved.read_text()
    places = [i for i, c in enumerate(text) if c.isdigit()]
    for i in random.Random(7).sample(places, 60):  # noqa: S311 - places in a text
        digit = str((int(text[i]) + 1) % 10)
        saved.write_text(text[:i] + digit + text[i + 1 :])
        with pytest.raises(CertificateError):
            verify_tables([path], saved)


def forged(content, change):
    """Change a certificate and seal it again, as a forger would."""
    body = json.loads(json.dumps(content))
    change(body)
    return json.dumps(body | {"seal": sealed(body)})


def first(body, verdict):
    return next(c for c in body["statistics"][0]["cells"] if c["verdict"] == verdict)


def set_verdict(before, after):
    def change(body):
        first(body, before)["verdict"] = after
        body["counts"][before] -= 1
        body["counts"][after] += 1

    return change


def narrower(body):
    first(body, "protected")["outer"][0] += 1


def wider(body):
    first(body, "disclosed")["inner"][1] += 1


def another_table(body):
    body["statistics"][0]["witnesses"][0]["atoms"][0] += 1


def another_multiplier(body):
    multipliers = first(body, "disclosed")["multipliers"]
    for side in multipliers:
        for relation in side:
            side[relation] = "7/3"


def a_cell_less(body):
    cells = body["statistics"][0]["cells"]
    body["counts"][cells[0]["verdict"]] -= 1
    del cells[0]


@pytest.mark.parametrize(
    "change",
    [
        set_verdict("disclosed", "safe"),
        set_verdict("disclosed", "protected"),
        set_verdict("protected", "disclosed"),
        narrower,
        wider,
        another_table,
        a_cell_less,
        lambda body: body.update(rules=["frequency<2"]),
        lambda body: body["counts"].update(disclosed=0),
        lambda body: body["statistics"][0]["outputs"][0].update(described={}),
    ],
)
def test_a_forged_certificate_is_refused_though_its_seal_fits(square, change):
    path, report, saved = square
    saved.write_text(forged(certify_tables(report).content, change))
    with pytest.raises(CertificateError):
        verify_tables([path], saved)


def test_multipliers_that_prove_something_else_are_refused(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,15\nb,x\nc,x\nTotal,23\n")
    report = check(path, rules=["frequency<11"])
    saved = tmp_path / "c.json"
    saved.write_text(forged(certify_tables(report).content, another_multiplier))
    with pytest.raises(CertificateError, match="interval"):
        verify_tables([path], saved)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kind": "hartley table certificate"}'])
def test_what_is_no_certificate_is_refused(tmp_path, square, text):
    other = tmp_path / "other.json"
    other.write_text(text)
    with pytest.raises(CertificateError):
        verify_tables([square[0]], other)


def test_lines_with_one_category_are_proved(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,17\nb,0\nc,0\nTotal,17\n")
    report = check(path, rules=["homogeneous"])
    saved = save_certificate(report, tmp_path / "c.json")
    assert verify_tables([path], saved).counts["disclosed"] == 1
