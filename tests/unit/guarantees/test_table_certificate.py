"""A certificate of tables holds as it was written, and nothing in it can be changed."""

import json
import random
from itertools import pairwise

import pytest

from hartley import Agent, CertificateError, OptionError, check
from hartley.guarantees.table_certificate import sealed, verify_tables
from hartley.studies.check.certificate import certify_tables, save_certificate, verify_check

SQUARE = "r,a,b,c,Total\nx,20,50,10,80\ny,s,19,s,49\nz,s,32,s,61\nTotal,45,101,44,190\n"


@pytest.fixture
def square(tmp_path):
    path = tmp_path / "square.csv"
    path.write_text(SQUARE)
    report = check(
        path,
        spec={"outputs": [{"file": "square.csv", "dims": ["r", "c"]}]},
        rule=["frequency<26", "homogeneous"],
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


def refuse_forged(outputs, report, change, table=None, words=None):
    """Require that a forger's certificate of these outputs is refused."""
    saved = outputs[0].with_name("c.json")
    saved.write_text(forged(certify_tables(report).content, change))
    with pytest.raises(CertificateError, match=words):
        verify_check(outputs, saved, table)


def holding(outputs, report):
    """Require that a certificate of these outputs holds."""
    saved = save_certificate(report, outputs[0].with_name("c.json"))
    assert verify_check(outputs, saved).counts == report.counts


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


def set_word(name, word):
    """Write another word where the interval of the first cell stands."""

    def change(body):
        cells = body["statistics"][0]["cells"]
        cells[name] = replaced(cells[name], 0, word)

    return change


def a_word_less(name):
    def change(body):
        cells = body["statistics"][0]["cells"]
        cells[name] = " ".join(cells[name].split()[1:])

    return change


def a_cell_twice_in_a_change(body):
    """Split the first change of a cell into two that add up to it."""
    moves = body["statistics"][0]["views"][0]["moves"]
    first, *cells = moves["cell"].split()
    by, *changes = moves["change"].split()
    moves["cell"] = " ".join([first, first, *cells])
    moves["change"] = " ".join([str(2 * int(by)), str(-int(by)), *changes])
    start = [int(word) for word in moves["start"].split()]
    moves["start"] = " ".join(map(str, [0, *(n + 1 for n in start[1:])]))


def a_change_that_wraps_around(body):
    """Add 2**64, which is nothing in a word, to all changes."""
    moves = body["statistics"][0]["views"][0]["moves"]
    moves["change"] = " ".join(str(int(word) + 2**64) for word in moves["change"].split())


@pytest.mark.parametrize(
    "change",
    [
        set_word("verdict", "fine"),
        set_word("high", "."),
        set_word("high", 2**62),
        set_word("high", 2**63 - 1),
        set_word("low", -(2**63)),
        a_word_less("low"),
        a_word_less("most"),
        a_word_less("verdict"),
        a_cell_twice_in_a_change,
        a_change_that_wraps_around,
        another_number("moves", "change", by=-(2**63)),
        another_number(None, "base", by=2**63),
        lambda body: body["counts"].update(safe=body["counts"]["safe"] + 1),
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
        set_verdict("disclosed", "open"),
        lambda body: body.update(left=1),
        lambda body: body.update(rules=[]),
        lambda body: body.update(insider="sole"),
        lambda body: body.update(confidential=True),
        lambda body: body.update(attacker="nobody"),
        lambda body: body["not_promised"].pop(),
        lambda body: body["statistics"][0].update(decimals=1),
        lambda body: body["statistics"][0].update(categories=[["r", ["x"]]]),
    ],
)
def test_a_forged_certificate_is_refused_though_its_seal_fits(square, change):
    path, report, _ = square
    refuse_forged([path], report, change)


def test_a_disclosed_cell_cannot_be_left_out_though_nobody_published_it(tmp_path):
    everybody, old = tmp_path / "all.csv", tmp_path / "old.csv"
    everybody.write_text("g,n\na,15\nb,12\n")
    old.write_text("g,n\na,14\nb,12\n")
    spec = {"outputs": [{"file": "old.csv", "where": "age >= 2"}]}
    report = check(everybody, old, spec=spec, rule=["frequency<5"])
    assert all(cell.derived for cell in report.cells if cell.verdict == "disclosed")

    def leave_out(body):
        cells = body["statistics"][0]["cells"]
        at = cells["verdict"].split().index("disclosed")
        body["counts"]["disclosed"] -= 1
        for name, line in cells.items():
            cells[name] = " ".join(w for i, w in enumerate(line.split()) if i != at)

    holding([everybody, old], report)
    refuse_forged([everybody, old], report, leave_out, words="missing")


def test_multipliers_that_prove_something_else_are_refused(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,x\nb,x\nc,x\nab,5\nbc,7\nac,6\n")
    trees = [
        {"dim": "g", **tree}
        for tree in ({"ab": ["a", "b"]}, {"bc": ["b", "c"]}, {"ac": ["a", "c"]})
    ]
    report = check(
        path, spec={"outputs": [{"file": "line.csv"}], "trees": trees}, rule=["frequency<11"]
    )
    assert {c.outer for c in report.cells if c.keys.get("g") in {"a", "b", "c"}} == {
        (2, 2),
        (3, 3),
        (4, 4),
    }
    holding([path], report)

    def another(body):
        proofs = body["statistics"][0]["views"][0]["multipliers"]
        proofs["numerator"] = " ".join(str(7 * int(n)) for n in proofs["numerator"].split())

    refuse_forged([path], report, another)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kind": "hartley table certificate"}'])
def test_what_is_no_certificate_is_refused(tmp_path, square, text):
    other = tmp_path / "other.json"
    other.write_text(text)
    with pytest.raises(CertificateError):
        verify_tables([square[0]], other)


def test_lines_with_one_category_are_proved(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,17\nb,0\nc,0\nTotal,17\n")
    report = check(path, rule=["homogeneous"])
    assert report.counts["disclosed"] == 1
    holding([path], report)
    refuse_forged([path], report, set_verdict("disclosed", "safe"))


PAY = {"g": ["a", "a", "a", "a", "b"], "firm": [1, 2, 3, 4, 5], "pay": [80, 15, 3, 2, 3]}


@pytest.fixture
def firms(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,x\nb,x\nTotal,103\n")
    report = check(
        path,
        spec={"outputs": [{"file": "line.csv", "statistic": "sum(pay)"}]},
        rule=["p%=10", "dominance=1,75"],
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
    holding([everybody, old], report)
    for change in (
        lambda body: body["price"].update(publications="2"),
        lambda body: body["price"]["questions"].pop(),
        lambda body: body["price"].update(
            questions=body["price"]["questions"][:1], publications="2"
        ),
        lambda body: body["price"].clear(),
        lambda body: body["statistics"][0]["selections"].update(patterns=[[True], [True]]),
    ):
        refuse_forged([everybody, old], report, change)


def test_a_table_that_is_no_file_has_no_certificate(square):
    report = check(square[1].statistics[0].tables[0])
    assert certify_tables(report).counts
    from dataclasses import replace

    bare = replace(square[1].statistics[0].tables[0], path=None)
    with pytest.raises(OptionError, match="bound to files"):
        certify_tables(check(bare))


def unsorted_cells(body):
    """List the cells of a change backwards: each must be compared with bounds of its own."""
    moves = body["statistics"][0]["views"][0]["moves"]
    start = [int(word) for word in moves["start"].split()]
    for name in ("cell", "change"):
        words = moves[name].split()
        rows = [words[a:b][::-1] for a, b in pairwise(start)]
        moves[name] = " ".join(word for row in rows for word in row)


def test_a_change_beyond_a_bound_is_refused_in_any_order(tmp_path):
    # b is at most 4 by its mark; a and the total are free, so only b's own bound forbids b = 9.
    path = tmp_path / "line.csv"
    path.write_text("g,n\na,x\nb,<5\nTotal,x\n")
    report = check(path, rule=["frequency<8"])
    content = certify_tables(report).content
    saved = tmp_path / "c.json"
    saved.write_text(forged(content, unsorted_cells))
    assert verify_tables([path], saved).counts == report.counts
    base = [int(word) for word in content["statistics"][0]["views"][0]["base"].split()]

    def beyond(body):
        part = body["statistics"][0]
        # cells: 0 everything, 1 a, 2 b; everything and b grow by 8
        part["views"][0]["moves"] = {"start": "0 2", "cell": "2 0", "change": "8 8"}
        for name, ends in (("least", base), ("most", [base[0] + 8, base[1], base[2] + 8])):
            part["cells"][name] = " ".join(map(str, ends))

    saved.write_text(forged(content, beyond))
    with pytest.raises(CertificateError, match="does not fit"):
        verify_tables([path], saved)


def test_a_line_inside_a_tree_is_proved(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("g,n\na,3\nb,0\nc,12\nup,3\nTotal,15\n")
    spec = {"outputs": [{"file": "tree.csv"}], "trees": [{"dim": "g", "up": ["a", "b"]}]}
    report = check(path, spec=spec, rule=["homogeneous"])
    holding([path], report)
    assert report.counts["disclosed"] == 1


def test_outputs_cannot_be_looked_at_one_by_one(tmp_path):
    inside, total = tmp_path / "inside.csv", tmp_path / "total.csv"
    inside.write_text("g,n\na,15\nb,x\nc,x\n")
    total.write_text("g,n\nTotal,23\n")
    spec = {"outputs": [{"file": "total.csv", "dims": ["g"], "value": "n"}]}
    rules = ["frequency<11"]
    saved = tmp_path / "c.json"
    apart = [certify_tables(check(path, spec=spec, rule=rules)).content for path in (inside, total)]
    assert check(inside, total, spec=spec, rule=rules).counts["disclosed"] == 2
    counts = {name: sum(c["counts"][name] for c in apart) for name in apart[0]["counts"]}
    assert counts["disclosed"] == 0

    def one_by_one(body):
        body["outputs"] += apart[1]["outputs"]
        body["statistics"] += apart[1]["statistics"]
        body["counts"] = counts

    saved.write_text(forged(apart[0], one_by_one))
    with pytest.raises(CertificateError, match="divides the outputs"):
        verify_tables([inside, total], saved)


def test_outputs_of_different_rows_have_a_certificate(tmp_path):
    everybody, part, total = (tmp_path / name for name in ("all.csv", "part.csv", "total.csv"))
    everybody.write_text("g,n\na,15\nb,12\n")
    part.write_text("g,n\na,14\nb,12\n")
    total.write_text("h,n\nx,13\ny,14\n")
    saved = save_certificate(check(everybody, part, total), tmp_path / "c.json")
    verify_check([everybody, part, total], saved)


def unproved_ends(body):
    """Leave an insider out, and list multipliers that prove nothing for its cell."""
    view = body["statistics"][0]["views"][0]
    view["multipliers"] |= {
        "cell": "2 2",
        "side": "0 1",
        "start": "0 0 0",
        "relation": "",
        "numerator": "",
        "denominator": "1 1",
    }
    del body["statistics"][0]["views"][1]


def not_confidential(body):
    body["confidential"] = False
    milder(body)


@pytest.mark.parametrize("change", [no_insider, milder, unproved_ends, not_confidential])
def test_the_microdata_are_compared_whatever_a_forger_says_or_leaves_out(firms, change):
    path, report, _ = firms
    refuse_forged([path], report, change, PAY)


@pytest.mark.slow
def test_answers_of_a_ledger_are_part_of_the_proof(tmp_path):
    data = {"g": ["a"] * 15 + ["b"] * 3, "age": [0] * 15 + [2] * 3}
    ledger, path = tmp_path / "ledger.db", tmp_path / "line.csv"
    with Agent(data, SCHEMA, budget=20, ledger=ledger) as agent:
        agent.ask("SELECT COUNT(*) FROM t WHERE g = 'a'", error=0)
        agent.ask("SELECT SUM(age) FROM t WHERE g = 'b'", error=0)
    path.write_text("g,n\na,x\nb,x\nTotal,18\n")
    alone = check(path, rule=["frequency<8"], schema=SCHEMA)
    report = check(path, rule=["frequency<8"], schema=SCHEMA, against=ledger)
    assert alone.counts["disclosed"] == 0
    assert {c.outer for c in report.cells if c.keys == {"g": "b"}} == {(3, 3)}
    holding([path], report)
    content = certify_tables(report).content
    (part,) = (part for part in content["statistics"] if part["statistic"] == "count")
    assert [answer["low"] for answer in part["answers"]] == [15, 18]  # and the number of rows

    def another_answer(body):
        for part in body["statistics"]:
            for answer in part["answers"]:
                answer["low"] -= 1

    def no_answer(body):
        for part in body["statistics"]:
            part["answers"].clear()

    def other_rows(body):
        for part in body["statistics"]:
            part["selections"]["possible"] = [
                [keys, [0, 1]] for keys, _ in part["selections"]["possible"]
            ]

    def no_schema(body):
        other_rows(body)
        body["price"] = None

    for change in (another_answer, no_answer, other_rows, no_schema):
        refuse_forged([path], report, change)


def test_the_price_does_not_depend_on_the_order_of_the_outputs(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("g,n\na,x\nb,12\n")
    second.write_text("age,g,n\n" + "".join(f"{n},{g},10\n" for n in range(4) for g in "ab"))
    spec = {"outputs": [{"file": "b.csv", "value": "n", "rounding": "random 10"}]}
    for named in ((first, second), (second, first)):
        report = check(*named, spec=spec, schema=SCHEMA)
        saved = save_certificate(report, tmp_path / "c.json")
        for given in ((first, second), (second, first)):
            assert verify_check(given, saved).counts == report.counts
