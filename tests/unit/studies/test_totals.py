"""Totals that nobody declares: what they leave open, how they are declared, what a proof says."""

import json

import pytest
from published_outputs import line, lines, spec, verdicts
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.errors import CertificateError, InputError
from hartley.guarantees.table_certificate import sealed, verify_tables
from hartley.studies.check.certificate import save_certificate, verify_check
from hartley.studies.check.check import check
from hartley.studies.check.gate import assert_safe, check_gate
from hartley.tables.described import read_descriptions

RULES = ["frequency<11"]
COAST = {"coast": 60, "north": 25, "west": 35, "east": "x", "Total": 120}
A, B = {"A": ["A1", "A2"]}, {"B": ["B1", "B2"]}
LIST_21 = {"A1": "x", "A2": "x", "A": 8, "B": 15, "Total": 23}
LIST_22 = {"A1": "x", "A2": "x", "A": 8, "B1": "x", "B2": "x", "B": "x", "Total": 40}
LIST_23 = {"north": 15, "south": "x", "west": "x", "Total": 15}
TABLE_24 = "g,a,b,Total\nr1,15,x,15\nr2,x,12,12\nTotal,15,12,27\n"
ROWS = "g,a,b,Total\nr1,9,x,9\nr2,12,14,26\nTotal,21,14,35\n"


def tree(**parents):
    return spec(trees=({"dim": "g", **parents},))


def found(report):
    return {"".join(c.keys.values()): (c.verdict, c.outer) for c in report.cells}


def test_a_declared_tree_is_never_counted_twice(tmp_path):
    path = lines(tmp_path / "t.csv", "g", **COAST)
    report = check(path, spec=tree(coast=["north", "west"]), rule=RULES)
    assert found(report)["east"] == ("safe", (60, 60))
    assert found(check(path, rule=RULES))["east"] == ("open", (0, None))
    shown = spec(
        {"file": "t.csv", "margins": "shown"}, trees=({"dim": "g", "coast": ["north", "west"]},)
    )
    with pytest.raises(InputError, match="those of the shown cells, and they are not"):
        check(path, spec=shown)
    alone = lines(tmp_path / "t.csv", "g", **COAST | {"Total": 60})
    assert found(check(alone, spec=shown, rule=RULES))["east"] == ("protected", (0, None))


def test_a_subtotal_that_nobody_declares_is_open(tmp_path):
    path = lines(tmp_path / "t.csv", "g", **LIST_21)
    assert {found(check(path, rule=RULES))[key][0] for key in ("A1", "A2")} == {"open"}
    declared = found(check(path, spec=tree(**A), rule=RULES))
    assert declared["A1"] == declared["A2"] == ("disclosed", (0, 8))
    path = lines(tmp_path / "t.csv", "g", **LIST_22)
    hidden = ("A1", "A2", "B1", "B2", "B")
    assert {found(check(path, rule=RULES))[key][0] for key in hidden} == {"open"}
    declared = found(check(path, spec=tree(**A, **B), rule=RULES))
    assert declared["A1"] == declared["A2"] == ("disclosed", (0, 8))
    assert declared["B1"] == declared["B2"] == ("protected", (0, 32))
    assert declared["B"] == ("safe", (32, 32))


def test_hidden_zeros_fit_both_kinds_of_totals(tmp_path):
    path = lines(tmp_path / "t.csv", "g", **LIST_23)
    assert {found(check(path, rule=RULES))[key][0] for key in ("south", "west")} == {"open"}
    for margins, expected in (("all", ("safe", (0, 0))), ("shown", ("protected", (0, None)))):
        block = spec({"file": "t.csv", "margins": margins})
        cells = found(check(path, spec=block, rule=RULES))
        assert cells["south"] == cells["west"] == expected
    path.write_text(TABLE_24)
    assert check(path, rule=RULES).counts == {"disclosed": 0, "open": 2, "protected": 0, "safe": 2}


def test_a_table_of_two_dimensions_tests_its_totals(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,a,b,c,Total\nx,20,50,10,80\ny,s,19,s,49\nz,s,32,s,61\nTotal,45,101,44,190\n")
    options = {"marks": {"s": "hidden"}, "rule": ["frequency<20"]}
    report = check(path, **options)
    assert {c.outer for c in report.cells if c.stated[1] is None} == {(0, 25), (5, 30), (4, 29)}
    assert report.statistics[0].tables[0].reading == "tested"
    assert report.counts["open"] == 0
    # A category that is zero in all complete lines may be a subtotal of hidden ones.
    path.write_text("g,a,b,c,Total\nx,20,50,0,70\ny,s,19,s,49\nz,s,32,s,61\nTotal,s,101,s,180\n")
    assert check(path, **options).statistics[0].tables[0].reading == "untested"


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("g,n\nnorth,15\nsouth,x\nalle,27\n", "untested"),  # a total by another word
        ("g,n\nA1,x\nA2,x\nA,8\nB,15\n", "untested"),  # a subtotal, and no total
        ("g,n\nonly,x\n", "tested"),
        ("g,n\na,15\nb,12\nTotal,27\n", "complete"),
        ("g,n\na,9\nb,<5\nc,<5\nTotal,14\n", "untested"),
        ("g,F,M\na,12,x\nb,5,6\nc,7,4\n", "untested"),  # c + b = a in the only complete column
        ("g,F,M\na,13,x\nb,5,6\nc,7,4\n", "tested"),
        ("g,F,M,Total\nnorth,12,x,20\nsouth,5,6,11\n", "tested"),
        ("g,F,M,Total\nnorth,12,x,20\nsouth,5,6,11\nTotal,x,x,31\n", "untested"),
    ],
)
def test_what_tests_a_reading(tmp_path, text, reading):
    path = tmp_path / "t.csv"
    path.write_text(text)
    report = check(path)
    assert report.statistics[0].tables[0].reading == reading
    notes = [note for note in report.notes if "neither declared nor tested" in note]
    assert len(notes) == (reading == "untested")
    if reading == "untested":
        assert report.counts["protected"] == 0


@pytest.mark.parametrize("rounding", ["nearest 3", "random 3", "midpoint 6"])
def test_a_rounded_total_tests_nothing(tmp_path, rounding):
    path = line(tmp_path, 9, 3, "x", 15)
    report = check(path, rounding=rounding)
    assert {"disclosed", "open", "safe"} >= set(verdicts(report).values())
    assert verdicts(report)["c"] in {"disclosed", "open"}


def test_one_untested_total_leaves_all_outputs_beside_it_open(tmp_path):
    first = lines(tmp_path / "a.csv", "g", a="x", b="x", Total=40)
    second = lines(tmp_path / "b.csv", "h", u="x", v="x", Total=40)
    whole = {"file": "a.csv", "margins": "all"}
    assert check(first, spec=spec(whole), rule=RULES).counts["protected"] == 2
    both = check(first, second, spec=spec(whole), rule=RULES)
    assert both.counts["protected"] == 0
    assert both.counts["open"] == 4
    assert sum("neither declared nor tested" in note for note in both.notes) == 1


def test_the_line_to_paste_declares_the_total(tmp_path):
    path = lines(tmp_path / "t.csv", "g", a="x", b="x", c="x", Total=40)
    (note,) = check(path, rule=RULES).notes
    toml = tmp_path / "outputs.toml"
    toml.write_text(note.split(":\n", 1)[1])
    assert read_descriptions(toml).of(str(path)).margins == "all"
    assert check(path, spec=toml, rule=RULES).counts["protected"] == 3
    toml.write_text('[[outputs]]\nfile = "t.csv"\nstatistic = "count"\n')
    (note,) = check(path, spec=toml, rule=RULES).notes
    assert "what describes it already" in note
    toml.write_text(toml.read_text() + note.splitlines()[-1] + "\n")
    assert check(path, spec=toml, rule=RULES).counts["protected"] == 3


def test_neither_reading_fits_and_the_hint_names_trees(tmp_path):
    path = lines(tmp_path / "t.csv", "g", coast=60, north=25, west=35, east="x", Total=100)
    with pytest.raises(InputError, match="cannot hold") as refused:
        check(path)
    assert "[[trees]]" in refused.value.hint


def test_what_one_reading_discloses_stops_a_pipeline(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    report = check(path, rule=["homogeneous"])
    assert report.counts["open"] == 3
    assert sum(cell.suspected for cell in report.cells) == 2
    assert report.headline.endswith(
        "3 cells are open, 2 of them disclosed under an assumption that fits."
    )
    assert not check_gate(report, "disclosed")[0].passed
    assert check_gate(report, "never")[0].passed
    run = CliRunner().invoke(app, ["check", str(path), "--rule", "homogeneous"])
    assert run.exit_code == 3
    with pytest.raises(AssertionError, match="open under homogeneous"):
        assert_safe(path, rule=("homogeneous",))


@pytest.mark.parametrize("fail_on", ["disclosed", "open", "never"])
@pytest.mark.parametrize(
    "outputs",
    [[LIST_21], [LIST_23], [COAST], [{"a": 30, "b": 20}, {"a": 29, "b": 20}], [{"a": 30, "b": 12}]],
)
def test_the_exit_code_agrees_with_the_headline(tmp_path, outputs, fail_on):
    paths = [lines(tmp_path / f"{i}.csv", "g", **cells) for i, cells in enumerate(outputs)]
    report = check(*paths, rule=RULES)
    bad = any(not case.passed for case in check_gate(report, fail_on))
    says = report.headline[0].isdigit() or "of them disclosed under" in report.headline
    says |= fail_on == "open" and " open" in report.headline
    assert bad == (says and fail_on != "never")


def certificate(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_text(text)
    report = check(path, **options)
    saved = save_certificate(report, tmp_path / "c.json")
    return path, report, saved


@pytest.mark.parametrize("text", [TABLE_24, ROWS, "g,n\nA1,x\nA2,x\nA,8\nB,15\nTotal,23\n"])
@pytest.mark.parametrize("rules", [RULES, ["homogeneous"]])
def test_a_certificate_states_an_untested_reading(tmp_path, text, rules):
    path, report, saved = certificate(tmp_path, text, rule=rules)
    proved = verify_tables([path], saved)
    assert {name: proved.counts[name] for name in ("disclosed", "open", "protected")} == {
        name: report.counts[name] for name in ("disclosed", "open", "protected")
    }
    assert "neither declared nor tested" in proved.paragraph


def forged(saved, change):
    body = json.loads(saved.read_text())
    body.pop("seal")
    change(body)
    saved.write_text(json.dumps(body | {"seal": sealed(body)}))


def read_as(reading):
    def change(body):
        body["statistics"][0]["outputs"][0]["reading"] = reading

    return change


def declared_as(margins):
    def change(body):
        body["statistics"][0]["outputs"][0]["described"]["margins"] = margins
        read_as("declared")(body)

    return change


def claimed(before, after):
    def change(body):
        cells = body["statistics"][0]["cells"]
        cells["verdict"] = cells["verdict"].replace(before, after, 1)
        body["counts"][before] -= 1
        body["counts"][after] += 1

    return change


@pytest.mark.parametrize(
    "change",
    [
        read_as("tested"),
        read_as("declared"),
        read_as("complete"),
        read_as(None),
        declared_as("all"),
        claimed("open", "protected"),
        claimed("open", "safe"),
        claimed("open", "disclosed"),
    ],
)
def test_a_certificate_whose_reading_is_changed_is_refused(tmp_path, change):
    path, _, saved = certificate(tmp_path, TABLE_24, rule=RULES)
    verify_tables([path], saved)
    forged(saved, change)
    with pytest.raises(CertificateError):
        verify_tables([path], saved)


def test_a_derived_cell_is_listed_once(tmp_path):
    for name, n in (("all", 30), ("some", 29)):
        (tmp_path / f"{name}.csv").write_text(f"k,g,n\nz,a,{n}\nz,b,20\n")
    paths = [tmp_path / "all.csv", tmp_path / "some.csv"]
    report = check(*paths, spec=spec({"file": "some.csv", "where": "age >= 20"}))
    assert report.headline.startswith("2 cells of 2 outputs are disclosed, 2 of them")
    verify_tables(paths, save_certificate(report, tmp_path / "c.json"))
    # Everybody with g = 'b' is in the condition: that cell is the published one.
    every = lines(tmp_path / "every.csv", "g", a=15, b="x", c="x", Total=23)
    part = lines(tmp_path / "part.csv", "g", Total=3)
    where = {"file": "part.csv", "value": "n", "where": "g = 'b'"}
    both = check(every, part, spec=spec({"file": "every.csv", "margins": "all"}, where))
    assert found(both)["b"] == ("disclosed", (3, 3))
    assert not any(cell.derived for cell in both.cells)
    alone = tmp_path / "one.csv"
    alone.write_text("k,g,n\nz,a,3\nz,b,20\n")
    assert check(alone).headline == "1 cell of 1 output is disclosed."
    three = [
        lines(tmp_path / f"{i}.csv", "g", a=n, b=m)
        for i, n, m in ((1, 30, 20), (2, 29, 20), (3, 28, 19))
    ]
    keys = [tuple(sorted(c.keys.items())) for c in check(*three).cells if c.derived]
    assert len(keys) == len(set(keys)) > 0


def test_bands_that_overlap_get_the_trees_to_paste(tmp_path):
    first = tmp_path / "a.csv"
    second = tmp_path / "b.csv"
    first.write_text("age,n\n0-19,30\n20-39,40\n")
    second.write_text("age,n\n0-20,31\n21-39,39\n")
    hidden = spec(*({"file": name, "absent": "hidden"} for name in ("a.csv", "b.csv")))
    for described in (None, hidden):
        with pytest.raises(InputError, match="bands that overlap") as refused:
            check(first, second, spec=described)
    toml = tmp_path / "outputs.toml"
    toml.write_text(refused.value.hint.split("(--spec): ")[1])
    report = check(first, second, spec=toml)
    assert [(c.keys, c.outer, c.singled_out) for c in report.cells if c.derived] == [
        ({"age": "20"}, (1, 1), True)
    ]


def test_a_rounded_sum_beside_finer_ones_may_have_their_decimals(tmp_path):
    """97.5 rounds to 100: read in whole units, 100 could not be less than 98."""
    (tmp_path / "fine.csv").write_text("g,n\na,x\nb,40.5\n")
    (tmp_path / "rough.csv").write_text("g,n\na,60\nb,40\nTotal,100\n")
    blocks = [
        {"file": "fine.csv", "dims": ["g"], "statistic": "sum(v)"},
        {"file": "rough.csv", "dims": ["g"], "statistic": "sum(v)", "rounding": "nearest 5"},
    ]
    report = check(
        *(tmp_path / block["file"] for block in blocks),
        spec=spec(*(block | {"margins": "all"} for block in blocks)),
        rule=["frequency<5"],
    )
    (cell,) = [c for c in report.cells if c.keys == {"g": "a"}]
    assert cell.outer == (575, 619)
    saved = save_certificate(report, tmp_path / "c.json")
    assert verify_check([tmp_path / block["file"] for block in blocks], saved).counts


def test_a_letter_among_the_numbers_of_a_middle_column_may_be_a_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,u,v,Total\nr1,12,s,30\nr2,5,6,11\n")
    with pytest.raises(InputError) as caught:
        check(path)
    assert '--marks "s=hidden"' in caught.value.hint
    report = check(path, marks={"s": "hidden"}, rule=["frequency<3"])
    assert {cell.keys["columns"] for cell in report.cells if len(cell.keys) > 1} == {"u", "v"}
