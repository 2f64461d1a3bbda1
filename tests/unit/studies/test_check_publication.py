"""A publication in a ledger: priced by its description, booked last, refused if impossible."""

import json

import pytest
from published_outputs import spec
from typer.testing import CliRunner

import hartley
from hartley.agent.replay import verify_prices
from hartley.cli.main import app
from hartley.errors import InputError, Refused
from hartley.studies.check.certificate import save_certificate, verify_check
from hartley.studies.check.check import check
from hartley.studies.check.publication import (
    PublishedNumbers,
    clamped_rows,
    price_publication,
    publication_questions as questions_of,
    read_ledger,
)
from hartley.tables.described import read_descriptions

COLUMNS = {
    "g": {"kind": "private", "values": ["a", "b"]},
    "v": {"kind": "private", "range": [0, 1], "step": 1},
}
SCHEMA = {"table": {"name": "t"}, "columns": COLUMNS}
DATA = {"g": ["a"] * 12 + ["b"] * 4, "v": [1, 0] * 8}
COUNTS = {"file": "n.csv", "dims": ["g"], "statistic": "count", "where": "all rows"}
SUMS = COUNTS | {"file": "s.csv", "statistic": "sum(v)"}


@pytest.fixture
def ledger(tmp_path):
    with hartley.Agent(DATA, SCHEMA, budget=9, ledger=tmp_path / "l.db") as agent:
        agent.ask("SELECT COUNT(*) FROM t WHERE g = 'b'", error=0)
    return tmp_path / "l.db"


def booked(ledger):
    with hartley.open_ledger(ledger) as opened:
        return [c.cells for c in opened.history("t") if (c.note or "").startswith("publication")]


def charge(ledger, text, block=SUMS, **more):
    path = ledger.parent / block["file"]
    path.write_text(f"g,n\n{text}")
    options = {"spec": spec(block), "schema": SCHEMA, "against": ledger, "charge": True}
    return check(path, **options | more)


@pytest.mark.parametrize("text", ["a,6\nb,2\n", "a,x\nb,2\n", "", "b,0\n", "a,x\nb,x\nTotal,8\n"])
def test_no_file_changes_what_is_booked(ledger, text):
    charge(ledger, text)
    assert booked(ledger) == [2]
    again = charge(ledger, "a,0\nb,1\n")
    assert booked(ledger) == [2]
    assert "before: it costs nothing now" in again.notes[-1]


def test_a_reservation_is_the_same_publication(ledger):
    reserved = check(spec=spec(SUMS), schema=SCHEMA, against=ledger, reserve=True)
    assert (reserved.effects, booked(ledger)) == (4, [2])
    assert charge(ledger, "a,6\n").publication == reserved.publication
    assert booked(ledger) == [2]
    assert charge(ledger, "a,12\n", COUNTS).publication != reserved.publication
    with pytest.raises(InputError, match="before there are outputs"):
        charge(ledger, "a,6\n", reserve=True)


@pytest.mark.parametrize(
    ("text", "block", "problem"),
    [
        ("c,3\n", COUNTS, "label 'c' of g is not in the schema"),
        ("a,17\n", COUNTS, "no data of the schema"),
        ("a,17\n", SUMS, "no data of the schema"),
        ("a,1.5\n", SUMS, "no data of the schema"),
        ("a,s\n", SUMS, "mark 's' is not declared"),
        ("a,3\n", SUMS | {"complete": True}, "not listed in a complete"),
        ("a,3\nb,x\n", SUMS | {"complete": True}, "hidden or not listed"),
        ("a,3\nb,4\nTotal,7\n", SUMS | {"complete": True}, "not declared"),
        ("a,3\nb,4\n", SUMS | {"complete": True, "total": "Total"}, "lacks some"),
        *(
            ("a,3\n", {k: v for k, v in SUMS.items() if k != name}, f"does not state {name}")
            for name in ("dims", "statistic", "where")
        ),
    ],
)
def test_what_does_not_follow_its_description_is_refused_before_booking(
    ledger, text, block, problem
):
    with pytest.raises(InputError, match=problem):
        charge(ledger, text, block)
    assert booked(ledger) == []


def test_a_sum_fits_the_count_that_is_told(ledger):
    folder = ledger.parent
    (folder / "n.csv").write_text("g,n\na,12\nb,4\n")
    (folder / "s.csv").write_text("g,n\na,3\nb,5\n")
    options = {"spec": spec(COUNTS, SUMS), "schema": SCHEMA, "against": ledger, "charge": True}
    with pytest.raises(InputError, match="the cell b is a number"):
        check(folder / "n.csv", folder / "s.csv", **options)
    # One of the two is withheld: the price is that of both.
    check(folder / "n.csv", **options)
    assert booked(ledger) == [2]


def test_a_file_is_compared_with_the_clamped_microdata(tmp_path):
    ledger = tmp_path / "l.db"
    with hartley.Agent(DATA, SCHEMA, budget=9, ledger=ledger):
        pass
    wild = {"g": DATA["g"], "v": [9 if v else -3 for v in DATA["v"]]}
    with pytest.raises(InputError, match="microdata do not have the numbers"):
        charge(ledger, "a,5\nb,2\n", table=wild)
    assert booked(ledger) == []
    report = charge(ledger, "a,6\nb,2\n", table=wild)
    assert any("compared with the microdata" in note for note in report.notes)
    report = charge(ledger, "a,6\nb,2\n")
    assert any("computed as described, not checked" in note for note in report.notes)


@pytest.mark.parametrize("way", ["charge", "against"])
def test_microdata_are_compared_with_conditional_answers_too(ledger, way):
    with hartley.Agent(DATA, SCHEMA, budget=9, ledger=ledger) as agent:
        agent.ask("SELECT COUNT(*) FROM t WHERE g = 'a' AND v = 1 OR v = 0", error=0)
        agent.ask("SELECT SUM(v) FROM t WHERE g = 'b'", error=0)
    options = {"table": DATA, "charge": way == "charge", "rule": ["p%=10"]}
    report = charge(ledger, "a,6\nb,x\n", **options)
    answered = [c for c in report.cells if any(p.output.startswith("answer") for p in c.places)]
    assert answered
    path = save_certificate(report, ledger.parent / "c.json")
    verify_check([ledger.parent / "s.csv"], path, DATA)
    other = DATA | {"v": [*DATA["v"][:-1], 1]}
    with pytest.raises(InputError, match="microdata do not have the numbers"):
        charge(ledger, "a,6\nb,x\n", **options | {"table": other, "rule": ["p%=20"]})
    assert len(booked(ledger)) == (way == "charge")


def test_conditions_of_answers_hold_where_the_agent_says(tmp_path):
    columns = COLUMNS | {"v": COLUMNS["v"] | {"nullable": True}}
    columns["g"] = columns["g"] | {"other": True, "nullable": True}
    schema = {"table": {"name": "t"}, "columns": columns}
    data = {"g": ["a", "b", None, "z", "a", "b"], "v": [0, 7, 1, None, None, -3]}
    asked = ["g = 'a'", "v = 1", "g NOT IN ('a')", "g IS NULL OR v IS NULL", "g <> 'b' AND v < 1"]
    with hartley.Agent(data, schema, budget=40, ledger=tmp_path / "l.db") as agent:
        for where in asked:
            agent.ask(f"SELECT COUNT(*) FROM t WHERE {where}", error=0)  # noqa: S608 - no data
    read = hartley.Schema.read(schema)
    answers = read_ledger(tmp_path / "l.db", read)
    rows = clamped_rows(data, read, answers.conditions)
    counted = {t.where: t.cells[0].low for t in answers.tables if t.where}
    assert len(counted) == len(asked)
    assert {name: sum(rows.column(name).to_pylist()) for name in counted} == counted


@pytest.mark.parametrize(
    "before", ["COUNT(*) FROM t WHERE g = 'b'", "SUM(v) FROM t", "g, SUM(v) FROM t GROUP BY g"]
)
def test_a_publication_costs_what_the_same_questions_would(tmp_path, before):
    """What was answered before lowers the charge as it lowers that of a question."""
    charges = []
    asked = ["SELECT g, COUNT(*) FROM t GROUP BY g", "SELECT g, SUM(v) FROM t GROUP BY g"]
    for way in ("ask", "reserve"):
        ledger = tmp_path / f"{way}.db"
        with hartley.Agent(DATA, SCHEMA, budget=9, ledger=ledger) as agent:
            agent.ask("SELECT " + before, error=0)
            if way == "ask":
                agent.ask(asked, error=0)
        if way == "reserve":
            check(spec=spec(SUMS), schema=SCHEMA, against=ledger, reserve=True)
        with hartley.open_ledger(ledger) as opened:
            charges.append([charge.cells for charge in opened.history("t")])
            assert verify_prices(opened).holds
    assert charges[0] == charges[1]


WIDE = {
    "table": {"name": "t"},
    "columns": {"g": {"kind": "private", "values": ["a", "b", "c", "d"]}},
}


def wide_charge(tmp_path, **more):
    """Charge a file that marks b and d and does not list c; also return what is said of b."""
    ledger, block = tmp_path / "w.db", COUNTS | {"margins": "all"} | more
    if not ledger.exists():
        data = {"g": ["a"] * 12 + ["b"] * 4 + ["d"] * 4}
        with hartley.Agent(data, WIDE, budget=9, ledger=ledger):
            pass
    report = charge(ledger, "a,12\nb,<5\nd,<5\n", block, schema=WIDE, rule=["frequency<5"])
    return report, [cell for cell in report.cells if cell.keys == {"g": "b"}]


def test_what_is_not_listed_is_judged_as_hidden_and_as_zero(tmp_path):
    """20 rows are public: b is 4 if c is empty, and nobody says whether it is."""
    report, cells = wide_charge(tmp_path)
    assert ("open", True) in {(cell.verdict, cell.suspected) for cell in cells}
    assert any("state absent" in note for note in report.notes)
    verify_check([tmp_path / "n.csv"], save_certificate(report, tmp_path / "c.json"))
    block = COUNTS | {"margins": "all", "labels": {"g": list("abcd")}}  # the same without a ledger
    total = {"file": "t.csv", "dims": ["h"], "where": "all rows", "margins": "all"}
    (tmp_path / "t.csv").write_text("h,n\np,10\nq,10\n")
    files = [tmp_path / name for name in ("n.csv", "t.csv")]
    plain = check(*files, spec=spec(block, total), rule=["frequency<5"])
    assert any(cell.suspected for cell in plain.cells if cell.keys == {"g": "b"})
    hidden, cells = wide_charge(tmp_path, absent="hidden")
    assert {(cell.verdict, cell.outer) for cell in cells} == {("protected", (1, 4))}
    zero, cells = wide_charge(tmp_path, absent="zero")
    assert {(cell.verdict, cell.outer) for cell in cells} == {("disclosed", (4, 4))}
    assert {r.effects for r in (report, hidden, zero)} == {4}


@pytest.mark.parametrize("rule", ["p%=10", "dominance=1,80"])
def test_shares_of_negative_values_are_refused_by_the_description(tmp_path, rule):
    columns = COLUMNS | {"v": {"kind": "private", "range": [-1, 1], "step": 1}}
    schema, ledger = {"table": {"name": "t"}, "columns": columns}, tmp_path / "l.db"
    with hartley.Agent(DATA, schema, budget=9, ledger=ledger):
        pass
    options = {"schema": schema, "rule": [rule]}
    block = SUMS | {"bounds": [-16, 16]}
    with pytest.raises(InputError, match="contributions that are not negative"):
        check(spec=spec(block), against=ledger, reserve=True, **options)
    with pytest.raises(InputError, match="contributions that are not negative"):
        charge(ledger, "a,6\nb,2\n", block, table=DATA, **options)
    assert booked(ledger) == []


def test_totals_of_the_shown_cells_are_no_totals_of_rows(tmp_path):
    """A file of these data, whose totals leave hidden cells out: nothing in it is impossible."""
    columns = COLUMNS | {"v": {"kind": "private", "range": [1, 2], "step": 1}}
    schema, ledger = {"table": {"name": "t"}, "columns": columns}, tmp_path / "l.db"
    with hartley.Agent(DATA | {"v": [1] * 16}, schema, budget=9, ledger=ledger):
        pass
    shown = {"margins": "shown", "total": "Total", "absent": "hidden"}
    charge(ledger, "a,12\nb,x\nTotal,12\n", SUMS | shown, schema=schema)
    (tmp_path / "n.csv").write_text("g,n\na,12\nb,x\nTotal,12\n")
    (tmp_path / "s.csv").write_text("g,n\na,12\nb,x\nTotal,12\n")
    blocks = spec(COUNTS | shown, SUMS | shown)
    files = [tmp_path / name for name in ("n.csv", "s.csv")]
    check(*files, spec=blocks, schema=schema, against=ledger, charge=True)


def test_a_label_of_the_schema_is_no_total(tmp_path):
    columns = COLUMNS | {"g": {"kind": "private", "values": ["All", "b"]}}
    schema, ledger = {"table": {"name": "t"}, "columns": columns}, tmp_path / "l.db"
    with hartley.Agent(DATA | {"g": ["All"] * 3 + ["b"] * 13}, schema, budget=9, ledger=ledger):
        pass
    for total in ({}, {"total": "All"}):
        with pytest.raises(InputError, match="reads as a total"):
            charge(ledger, "All,3\nb,13\n", COUNTS | total, schema=schema)
    report = charge(ledger, "All,3\nb,13\n", COUNTS | {"total": "Sum"}, schema=schema)
    assert {"g": "All"} in [cell.keys for cell in report.cells]


@pytest.mark.parametrize("way", ["charge", "reserve"])
def test_a_publication_that_another_process_books_meanwhile_is_booked_once(ledger, way):
    options = {"spec": spec(SUMS), "schema": SCHEMA, "against": ledger}

    def meanwhile(_):
        check(**options, reserve=True)

    if way == "charge":
        report = charge(ledger, "a,6\n", before=meanwhile)
    else:
        report = check(**options, reserve=True, before=meanwhile)
    assert booked(ledger) == [2]
    assert "costs nothing now" in report.notes[-1]


def test_nothing_is_booked_above_the_budget(tmp_path):
    with hartley.Agent(DATA, SCHEMA, budget=1, ledger=tmp_path / "l.db"):
        pass
    with pytest.raises(
        Refused, match=r"The publication costs 2 bits and 1 bit is left; .*fewer dims"
    ):
        charge(tmp_path / "l.db", "a,6\n")
    assert booked(tmp_path / "l.db") == []


@pytest.mark.parametrize(
    ("schema", "output", "more", "price"),
    [
        ({}, ("sum(v)", None, False), {}, 4),
        ({}, ("sum(v)", None, True), {}, 3),
        ({}, ("sum(v)", "v = 1", False), {}, 3),
        ({"rows": "private", "max_rows": 9}, ("sum(v)", None, False), {}, 5),
        ({"rows": "private", "max_rows": 9}, ("count", None, False), {}, 3),
        # Two rows a person: three counts of a; with sums each of 1, 2, 1 places for 0 to 2.
        ({"unit": "w", "rows_per_unit": 2}, ("count", None, False), {}, 3),
        ({"unit": "w", "rows_per_unit": 2}, ("sum(v)", None, False), {"contributor": "w"}, 10),
    ],
)
def test_prices_are_the_projections_of_one_person(schema, output, more, price):
    described = {"table": {"name": "t", **schema}, "columns": COLUMNS}
    read = hartley.Schema.read(described)
    numbers = PublishedNumbers("o", ("g",), *output)
    asked = questions_of([numbers], read, more.get("contributor"), reads=bool(more))
    assert price_publication(asked, read)[0] == price


def test_every_row_may_be_a_contributor():
    columns = {"g": {"kind": "public", "values": ["a"]}}
    columns["v"] = {"kind": "private", "range": [0, 2], "step": 1}
    table = {"name": "t", "unit": "who", "rows_per_unit": 2}
    schema = hartley.Schema.read({"table": table, "columns": columns})
    numbers = [PublishedNumbers("o", ("g",), "sum(v)", None, complete=False)]
    rows = questions_of(numbers, schema, reads=True)  # 0 and 2 are not 1 and 1
    assert price_publication(rows, schema)[0] == 6
    unit = questions_of(numbers, schema, "who", reads=True)
    assert price_publication(unit, schema)[0] == 5
    with pytest.raises(InputError, match="'firm' of o is not in the schema"):
        questions_of(numbers, schema, "firm", reads=True)


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def run(ledger, monkeypatch):
    folder = ledger.parent
    monkeypatch.chdir(folder)
    (folder / "t.toml").write_text(hartley.Schema.read(SCHEMA).to_toml())
    stated = "\n".join(f"{name} = {json.dumps(value)}" for name, value in SUMS.items())
    (folder / "o.toml").write_text(f"[[outputs]]\n{stated}\n")
    (folder / "s.csv").write_text("g,n\na,6\nb,x\n")
    options = ["--spec", "o.toml", "--schema", "t.toml", "--against", "l.db", "--json"]
    return lambda *words: CliRunner().invoke(app, ["check", *words, *options])


def test_what_a_ledger_says_may_itself_be_disclosed(ledger, run):
    """4 people of b are known from the ledger: no output lists them, and the gate stops."""
    files = ["--junit", "j.xml", "--sarif", "s.json", "--html", "p.html", "--certificate", "c.json"]
    ran = run("s.csv", "--charge", *files)
    assert ran.exit_code == 3, ran.output
    assert booked(ledger) == [2]
    assert "s.csv" in (ledger.parent / "j.xml").read_text()
    verify_check([ledger.parent / "s.csv"], ledger.parent / "c.json")


@pytest.mark.parametrize(
    "place", ["hartley.reports.render.render_page", "hartley.studies.check.gate.junit_text"]
)
def test_a_crash_before_the_booking_books_nothing(ledger, run, monkeypatch, place):
    def crash(*_, **__):
        raise RuntimeError("no power")

    with monkeypatch.context() as broken:
        broken.setattr(place, crash)
        assert run("s.csv", "--charge", "--html", "p.html", "--junit", "j.xml").exit_code
    assert booked(ledger) == []
    assert run("s.csv", "--charge", "--fail-on", "sometimes").exit_code
    assert run("s.csv", "--charge", "--fail-above", "many").exit_code
    assert booked(ledger) == []


def test_a_crash_after_the_booking_costs_nothing_more(ledger, run, monkeypatch):
    def crash(*_):
        raise OSError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr("hartley.files._Together.appear", crash)
        assert run("s.csv", "--charge", "--html", "p.html").exit_code
    assert booked(ledger) == [2]
    again = run("s.csv", "--charge", "--html", "p.html", "--fail-on", "never")
    assert again.exit_code == 0, again.output
    assert "costs nothing now" in json.loads(again.output)["notes"][-1]
    assert booked(ledger) == [2]


def test_the_command_reserves_without_files(ledger, run):
    ran = run("--reserve")
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.output)["publication"]
    assert booked(ledger) == [2]
    assert run("--reserve", "--certificate", "c.json").exit_code
    assert run("--reserve", "s.csv").exit_code


def test_the_certificate_of_a_charged_check_holds(ledger):
    report = charge(ledger, "a,6\n")
    path = save_certificate(report, ledger.parent / "c.json")
    verify_check([ledger.parent / "s.csv"], path)


@pytest.mark.parametrize("text", ["a,x\nb,x\nTotal,5\n", "a,x\nb,x\nTotal,4.5\n"])
def test_whole_sums_of_halves_are_no_reason_to_refuse(tmp_path, text):
    """Whether all sums happen to be whole depends on the data; what they can be does not."""
    columns = COLUMNS | {"v": {"kind": "private", "range": [0, 1], "step": "1/2"}}
    schema = {"table": {"name": "t"}, "columns": columns}
    last = 1.0 if text.endswith(",5\n") else 0.5
    data = {"g": ["a"] * 6 + ["b"] * 3, "v": [0.5] * 8 + [last]}
    with hartley.Agent(data, schema, budget=9, ledger=tmp_path / "l.db") as agent:
        assert agent.schema.name == "t"
    block = SUMS | {"margins": "all", "marks": {"x": "hidden"}}
    report = charge(tmp_path / "l.db", text, block, schema=schema, table=data)
    assert report.statistics[-1].places == 1
    saved = save_certificate(report, tmp_path / "c.json")
    verify_check([tmp_path / "s.csv"], saved, table=data)


SPACED = {"region": ["n ", "s", " w"]}


@pytest.mark.parametrize("label", ["n", "n ", " n"])
def test_labels_of_the_schema_are_read_without_spaces_at_their_ends(tmp_path, label):
    columns = {"region": {"kind": "private", "values": SPACED["region"]}}
    schema = {"table": {"name": "t", "rows": "public"}, "columns": columns}
    data = {"region": ["n "] * 12 + ["s"] * 4 + [" w"]}
    hartley.Agent(data, schema, budget=30, ledger=tmp_path / "l.db").close()
    path = tmp_path / "n.csv"
    path.write_text(f"region,n\n{label},12\ns,4\nw,0\ncoast,4\n")
    block = COUNTS | {
        "dims": ["region"],
        "where": "region <> ' w'",
        "absent": "zero",
        "total": "T ",
    }
    described = {"outputs": [block], "trees": [{"dim": "region", "coast ": ["s ", " w"]}]}
    options = {"spec": described, "schema": schema, "against": tmp_path / "l.db", "charge": True}
    report = check(path, table=data, **options)
    assert report.bits == pytest.approx(1.585, abs=0.01)
    assert booked(tmp_path / "l.db") == [report.effects]
    plain = {**described, "outputs": [{k: v for k, v in block.items() if k != "total"}]}
    assert check(path, table=data, spec=plain, schema=schema).bits == report.bits
    path.write_text(f"region,n\n{label},1\n")
    assert check(path, **options).publication == report.publication


@pytest.mark.parametrize("values", [["n ", "n"], ["n", "s", "\tn"]])
def test_labels_that_differ_by_spaces_at_an_end_are_refused_by_the_schema(tmp_path, values):
    columns = {"g": {"kind": "private", "values": values}}
    schema = {"table": {"name": "t", "rows": "public"}, "columns": columns}
    hartley.Agent({"g": ["n"]}, schema, budget=9, ledger=tmp_path / "l.db").close()
    with pytest.raises(InputError, match="differ by spaces at an end only"):
        check(spec=spec(COUNTS), schema=schema, against=tmp_path / "l.db", reserve=True)


def test_a_tree_names_no_category_twice():
    with pytest.raises(InputError, match="names a category twice"):
        read_descriptions({"trees": [{"dim": "g", "a": ["b"], "a ": ["c"]}]})
