"""A certificate of tables holds as it was written, and nothing in it can be changed."""

import json
import random

import pytest

from hartley.errors import CertificateError, OptionError
from hartley.guarantees.table_certificate import sealed, verify_tables
from hartley.studies.check import check
from hartley.studies.check_certificate import certify_tables, save_certificate, verify_check

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


def replaced(line, place, word):
    words = line.split()
    words[place] = str(word)
    return " ".join(words)


def place_of(body, verdict):
    return body["statistics"][0]["cells"]["verdict"].split().index(verdict)


def set_verdict(before, after):
    def change(body):
        cells = body["statistics"][0]["cells"]
        cells["verdict"] = replaced(cells["verdict"], place_of(body, before), after)
        body["counts"][before] -= 1
        body["counts"][after] += 1

    return change


def set_end(verdict, side, by):
    def change(body):
        cells, place = body["statistics"][0]["cells"], place_of(body, verdict)
        cells[side] = replaced(cells[side], place, int(cells[side].split()[place]) + by)

    return change


def another_number(part, name, place=0, by=1):
    def change(body):
        view = body["statistics"][0]["views"][0]
        holder = view if part is None else view[part]
        holder[name] = replaced(holder[name], place, int(holder[name].split()[place]) + by)

    return change


def a_cell_less(body):
    cells = body["statistics"][0]["cells"]
    body["counts"][cells["verdict"].split()[0]] -= 1
    for name, line in cells.items():
        cells[name] = " ".join(line.split()[1:])


def a_wider_table(body):
    """Claim that a table reaches more than the sums allow."""
    view, cells = body["statistics"][0]["views"][0], body["statistics"][0]["cells"]
    view["moves"] = {"start": "0 1", "cell": "6", "change": "1"}
    cells["most"] = replaced(cells["most"], 1, 26)
    set_verdict("disclosed", "protected")(body)


@pytest.mark.parametrize(
    "change",
    [
        set_verdict("disclosed", "safe"),
        set_verdict("disclosed", "protected"),
        set_verdict("protected", "disclosed"),
        set_verdict("protected", "safe"),
        set_end("protected", "low", 1),
        set_end("disclosed", "most", 1),
        set_end("disclosed", "high", 1),
        another_number(None, "base"),
        another_number("moves", "change"),
        another_number("moves", "cell", by=-100),
        another_number("moves", "start", 1),
        another_number("multipliers", "cell", by=10_000),
        another_number("multipliers", "denominator", by=-1),
        a_cell_less,
        a_wider_table,
        lambda body: body.update(rules=["frequency<2"]),
        lambda body: body.update(format=1),
        lambda body: body["counts"].update(disclosed=0),
        lambda body: body["statistics"].clear(),
        lambda body: body["statistics"][0]["views"].clear(),
        lambda body: body["statistics"][0]["outputs"][0].update(described={}),
    ],
)
def test_a_forged_certificate_is_refused_though_its_seal_fits(square, change):
    path, report, saved = square
    saved.write_text(forged(certify_tables(report).content, change))
    with pytest.raises(CertificateError):
        verify_tables([path], saved)


def test_a_disclosed_cell_cannot_be_left_out_though_nobody_published_it(tmp_path):
    everybody, old = tmp_path / "all.csv", tmp_path / "old.csv"
    everybody.write_text("g,n\na,15\nb,12\n")
    old.write_text("g,n\na,14\nb,12\n")
    spec = {"outputs": [{"file": "old.csv", "where": "age >= 2"}]}
    report = check(everybody, old, spec=spec, rules=["frequency<5"])
    assert all(cell.derived for cell in report.cells if cell.verdict == "disclosed")

    def leave_out(body):
        cells = body["statistics"][0]["cells"]
        at = cells["verdict"].split().index("disclosed")
        body["counts"]["disclosed"] -= 1
        for name, line in cells.items():
            cells[name] = " ".join(w for i, w in enumerate(line.split()) if i != at)

    saved = save_certificate(report, tmp_path / "c.json")
    assert verify_tables([everybody, old], saved).counts == report.counts
    saved.write_text(forged(certify_tables(report).content, leave_out))
    with pytest.raises(CertificateError, match="missing"):
        verify_tables([everybody, old], saved)


def test_multipliers_that_prove_something_else_are_refused(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,x\nb,x\nc,x\nab,5\nbc,7\nac,6\n")
    trees = [
        {"dim": "g", **tree}
        for tree in ({"ab": ["a", "b"]}, {"bc": ["b", "c"]}, {"ac": ["a", "c"]})
    ]
    report = check(
        path, spec={"outputs": [{"file": "line.csv"}], "trees": trees}, rules=["frequency<11"]
    )
    assert {c.outer for c in report.cells if c.keys.get("g") in {"a", "b", "c"}} == {
        (2, 2),
        (3, 3),
        (4, 4),
    }
    saved = save_certificate(report, tmp_path / "c.json")
    assert verify_tables([path], saved).counts == report.counts

    def another(body):
        proofs = body["statistics"][0]["views"][0]["multipliers"]
        proofs["numerator"] = " ".join(str(7 * int(n)) for n in proofs["numerator"].split())

    saved.write_text(forged(certify_tables(report).content, another))
    with pytest.raises(CertificateError):
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
    saved.write_text(forged(certify_tables(report).content, set_verdict("disclosed", "safe")))
    with pytest.raises(CertificateError):
        verify_tables([path], saved)


PAY = {"g": ["a", "a", "a", "a", "b"], "firm": [1, 2, 3, 4, 5], "pay": [80, 15, 3, 2, 3]}


@pytest.fixture
def firms(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,x\nb,x\nTotal,103\n")
    report = check(
        path,
        spec={"outputs": [{"file": "line.csv", "statistic": "sum(pay)"}]},
        rules=["p%=10", "dominance=1,75"],
        insider="sole",
        table=PAY,
        contributor="firm",
    )
    return path, report, save_certificate(report, tmp_path / "c.json")


def test_contributions_and_insiders_are_proved(firms):
    path, report, saved = firms
    assert len(report.statistics[0].views) == 2  # anybody, and firm 5, which is alone in b
    proved = verify_check([path], saved)
    assert proved.counts == report.counts
    assert "those that it states" in proved.paragraph
    assert json.loads(saved.read_text())["confidential"]
    assert not verify_check([path], saved, PAY).rests_on_contributions
    with pytest.raises(CertificateError, match="other contributions"):
        verify_check([path], saved, PAY | {"pay": [79, 16, 3, 2, 3]})


def no_insider(body):
    del body["statistics"][0]["views"][1]


def milder(body):
    body["statistics"][0]["contributions"]["1"] = "20 15 65"


@pytest.mark.parametrize("change", [no_insider, milder])
def test_the_microdata_refuse_what_a_forger_leaves_out(firms, change):
    path, report, saved = firms
    saved.write_text(forged(certify_tables(report).content, change))
    with pytest.raises(CertificateError):
        verify_check([path], saved, PAY)


SCHEMA = {
    "table": {"name": "t"},
    "columns": {
        "g": {"kind": "private", "values": ["a", "b"]},
        "age": {"kind": "private", "range": [0, 3], "step": 1},
    },
}


def test_the_price_and_the_conditions_are_proved(tmp_path):
    everybody, old = tmp_path / "all.csv", tmp_path / "old.csv"
    everybody.write_text("g,n\na,15\nb,12\n")
    old.write_text("g,n\na,14\nb,12\n")
    spec = {"outputs": [{"file": "old.csv", "where": "age >= 2"}]}
    report = check(everybody, old, spec=spec, schema=SCHEMA)
    assert (report.effects, report.singled_out) == (4, 2)
    saved = save_certificate(report, tmp_path / "c.json")
    assert verify_check([everybody, old], saved).counts == report.counts
    content = certify_tables(report).content
    for change in (
        lambda body: body["price"].update(publications="2"),
        lambda body: body["price"]["questions"].pop(),
        lambda body: body["statistics"][0]["selections"].update(patterns=[[True], [True]]),
    ):
        saved.write_text(forged(content, change))
        with pytest.raises(CertificateError):
            verify_check([everybody, old], saved)


def test_a_table_that_is_no_file_has_no_certificate(square):
    report = check(square[1].statistics[0].tables[0])
    assert certify_tables(report).counts
    from dataclasses import replace

    bare = replace(square[1].statistics[0].tables[0], path=None)
    with pytest.raises(OptionError, match="bound to files"):
        certify_tables(check(bare))
