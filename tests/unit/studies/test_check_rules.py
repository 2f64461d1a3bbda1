"""The rules that a cell is judged by: frequencies, contributions, sums that may be negative."""

import itertools
import random
from fractions import Fraction
from html import unescape

import pytest
from published_outputs import line, spec, verdicts

from hartley.errors import InputError, OptionError
from hartley.measures.rules import Dominance, Frequency, Homogeneous, PPercent, read_rule
from hartley.reports import render
from hartley.studies.check.check import check
from hartley.studies.check.gate import check_gate, junit_text, sarif_text

# A list never tests its total: what is called protected in one needs the declaration.
WHOLE = spec({"file": "line.csv", "margins": "all"})
FIRMS = {"g": ["a"] * 4 + ["b"], "firm": [1, 2, 3, 4, 5], "pay": [80, 15, 3, 2, 0]}


def test_frequency_on_lines(tmp_path):
    report = check(line(tmp_path, 15, "x", "x", 23), rule=["frequency<11"])
    assert verdicts(report) == {"a": "safe", "b": "disclosed", "c": "disclosed", "": "safe"}
    report = check(line(tmp_path, "x", "x", "x", 23), spec=WHOLE, rule=["frequency<11"])
    assert verdicts(report) == {"a": "protected", "b": "protected", "c": "protected", "": "safe"}
    report = check(line(tmp_path, 4, "<5", "<5", 12), rule=["frequency<5"])
    assert verdicts(report) == {"a": "disclosed", "b": "disclosed", "c": "disclosed", "": "safe"}
    report = check(line(tmp_path, 9, "<5", "<5", 14), spec=WHOLE, rule=["frequency<5"])
    assert verdicts(report) == {"a": "safe", "b": "protected", "c": "protected", "": "safe"}
    report = check(line(tmp_path, 0, 0, 3), rule=["frequency<5"], rounding="nearest 3")
    assert {cell.outer for cell in report.cells} == {(1, 1), (2, 2)}
    assert set(verdicts(report).values()) == {"disclosed"}


def test_the_number_of_values_left(tmp_path):
    table = line(tmp_path, 9, "<5", "<5", 14)  # 1+4, 2+3, 3+2, 4+1
    assert verdicts(check(table, spec=WHOLE, rule=["frequency<5"], left=4))["b"] == "protected"
    assert verdicts(check(table, spec=WHOLE, rule=["frequency<5"], left=5))["b"] == "disclosed"


def test_homogeneous_lines(tmp_path):
    assert verdicts(check(line(tmp_path, 7, 0, 0, 7), rule=["homogeneous"]))["a"] == "disclosed"
    marked = line(tmp_path, 7, "s", "s", 9)
    report = check(marked, rule=["homogeneous"], marks={"s": "1-9"})
    assert report.counts["disclosed"] == 0
    hidden, whole = line(tmp_path, 7, "x", "x", 7), spec({"file": "line.csv", "margins": "all"})
    assert check(hidden, spec=whole, rule=["homogeneous"]).counts["disclosed"] == 1
    assert check(hidden, rule=["homogeneous"]).counts["disclosed"] == 0  # the total is of the 7


WARDS = "ward,diagnosis,n\nA,cancer,999\nA,none,1\nB,cancer,1\nB,none,999\n"
NEARLY = "homogeneous>=95%"


def test_a_line_of_nearly_one_category_is_disclosed(tmp_path):
    path = tmp_path / "wards.csv"
    path.write_text(WARDS)
    assert check(path, rule=["homogeneous"]).counts["disclosed"] == 0
    report = check(path, rule=[NEARLY])
    assert [c.keys for c in report.cells if c.verdict == "disclosed"] == [
        {"ward": "A", "diagnosis": "cancer"},
        {"ward": "B", "diagnosis": "none"},
    ]
    assert check(path, rule=["homogeneous>=99.9%"]).counts["disclosed"] == 2
    assert check(path, rule=["homogeneous>=99.91%"]).counts["disclosed"] == 0
    page, cases = render.page(report), check_gate(report, "disclosed")
    for text in (junit_text("check", cases), sarif_text("check", cases)):
        assert unescape(text).count(f"disclosed under {NEARLY}") == 2
    assert "at least 95\N{NO-BREAK SPACE}% of A have this category" in page
    assert {cell["rule"] for cell in report.to_dict()["statistics"][0]["cells"]} == {NEARLY, ""}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((95, 5, 100), ["disclosed", "safe"]),
        ((94, 6, 100), ["safe", "safe"]),
        (("x", "x", 100), ["protected", "protected"]),  # perhaps all of them, perhaps nobody
        ((96, "<6", "x"), ["disclosed", "safe"]),  # 96 of at most 101
        (("95-99", 5, "x"), ["open", "safe"]),  # 95 of at most 104, and never below 95 %
        ((0, 0, 0), ["safe", "safe"]),
        (("x", 0, "x"), ["open", "safe"]),  # perhaps nobody is there
    ],
)
def test_a_line_of_uncertain_counts_is_never_safe_by_mistake(tmp_path, numbers, expected):
    marks = {"95-99": "95-99"}
    report = check(line(tmp_path, *numbers), spec=WHOLE, rule=[NEARLY], marks=marks)
    assert [verdicts(report)[key] for key in "ab"] == expected


@pytest.mark.parametrize("share", ["50%", "101%", "nan%", "x%", "95", "%", ">=95%"])
def test_a_share_of_a_line_is_above_a_half(share):
    with pytest.raises(OptionError, match=r"write (a number|homogeneous>=95%|frequency<10)"):
        read_rule(f"homogeneous>={share}")


@pytest.mark.parametrize(("other", "verdict"), [(3, "protected"), (2, "disclosed")])
def test_p_percent(tmp_path, other, verdict):
    data = FIRMS | {"pay": [80, 15, 3, 2, other]}
    path = line(tmp_path, "x", "x", 100 + other)
    report = check(
        path,
        spec=spec({"file": "line.csv", "statistic": "sum(pay)", "margins": "all"}),
        rule=["p%=10"],
        table=data,
        contributor="firm",
    )
    (cell,) = [c for c in report.cells if c.keys == {"g": "a"}]
    assert cell.outer == (0, 100 + other)
    assert cell.verdict == verdict


def test_rules_about_contributions():
    amounts = [Fraction(x) for x in (80, 15, 3, 2)]
    assert PPercent(Fraction(10)).need(amounts) == 103
    assert Dominance(1, Fraction(75)).need(amounts) is not None
    assert Dominance(2, Fraction(90)).need(amounts) is not None
    assert Dominance(2, Fraction(95)).need(amounts) is None
    assert PPercent(Fraction(10)).need([Fraction(100)] * 5) is None


def test_a_sole_contributor_knows_the_other_cell(tmp_path):
    data = {"g": ["a", "b", "b", "b"], "firm": [1, 2, 3, 4], "pay": [40, 50, 8, 2]}
    options = {
        "spec": spec({"file": "line.csv", "statistic": "sum(pay)", "margins": "all"}),
        "rule": ["p%=20"],
        "table": data,
        "contributor": "firm",
    }
    path = line(tmp_path, "x", "x", 100)
    outsider = check(path, **options)
    (cell,) = [c for c in outsider.cells if c.keys == {"g": "b"}]
    assert (cell.outer, cell.verdict) == ((0, 100), "protected")
    insider = check(path, insider="sole", **options)
    (cell,) = [c for c in insider.cells if c.keys == {"g": "b"}]
    assert cell.verdict == "disclosed"
    assert "sole contributor of a" in cell.why


def test_rules_are_read_and_written():
    for text in ("frequency<5", "p%=12.5", "dominance=2,90", "homogeneous"):
        assert str(read_rule(text)) == text
    assert read_rule("homogeneous") == Homogeneous() == read_rule("homogeneous >= 100 %")
    for share in ("2/3", "0.95", "0.501"):
        assert read_rule(str(Homogeneous(Fraction(share)))) == Homogeneous(Fraction(share))
    assert Frequency() == read_rule("frequency<10")


def test_a_threshold_is_about_counts_and_not_about_sums(tmp_path):
    path = line(tmp_path, 3, 4, 7)
    assert check(path).counts["disclosed"] == 3
    sums = spec({"file": "line.csv", "statistic": "sum(pay)"})
    assert check(path, spec=sums).counts["disclosed"] == 0


def test_only_a_cell_with_one_row_has_a_sole_contributor(tmp_path):
    path = line(tmp_path, "x", "x", 12)
    two = {"g": ["a"] * 2 + ["b"] * 10}
    assert check(path, rule=["frequency<11"], table=two, insider="sole").counts["disclosed"] == 0
    one = {"g": ["a"] * 1 + ["b"] * 11}
    report = check(path, rule=["frequency<12"], table=one, insider="sole")
    assert verdicts(report)["b"] == "disclosed"
    assert verdicts(check(path, spec=WHOLE, rule=["frequency<12"], table=one))["b"] == "protected"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_sums_with_negative_values_have_bounds(tmp_path, seed):
    draw = random.Random(seed)  # noqa: S311 - a table to publish
    low, high = draw.choice([(-2, 2), (-3, 1)])
    body = [[draw.randint(low, high) for _ in range(3)] for _ in range(2)]
    places = list(itertools.product(["0", "1", "Total"], ["0", "1", "2", "Total"]))

    def numbers(table):
        rows = {"0": [0], "1": [1], "Total": [0, 1]}
        columns = {"0": [0], "1": [1], "2": [2], "Total": [0, 1, 2]}
        return {(r, c): sum(table[i][j] for i in rows[r] for j in columns[c]) for r, c in places}

    hidden = {p for p in places if draw.random() < (0.2 if "Total" in p else 0.6)}
    shown = {place: value for place, value in numbers(body).items() if place not in hidden}
    path = tmp_path / "t.csv"
    path.write_text("r,c,n\n" + "".join(f"{r},{c},{shown.get((r, c), 'x')}\n" for r, c in places))
    block = {"file": "t.csv", "statistic": "sum(v)", "margins": "all", "dims": ["r", "c"]}
    report = check(path, spec=spec(block | {"bounds": [low, high]}))
    values = {place: set() for place in places}
    for flat in itertools.product(range(low, high + 1), repeat=6):
        table = numbers([flat[:3], flat[3:]])
        if all(table[place] == value for place, value in shown.items()):
            for place in places:
                values[place].add(table[place])
    for cell in report.cells:
        mine = values[cell.keys.get("r", "Total"), cell.keys.get("c", "Total")]
        assert cell.outer == cell.inner == (min(mine), max(mine))


def test_negative_sums_without_bounds_are_refused(tmp_path):
    block = {"file": "line.csv", "statistic": "sum(pay)"}
    with pytest.raises(InputError, match="negative") as refused:
        check(line(tmp_path, 5, -3, 2), spec=spec(block))
    assert "bounds" in refused.value.hint
    report = check(line(tmp_path, "x", -3, 2.5), spec=spec(block | {"bounds": [-10, 10]}))
    assert [cell.interval(1) for cell in report.cells if cell.keys == {"g": "a"}] == ["exactly 5.5"]
    data = {"g": ["a", "b"], "pay": [5, -3]}
    with pytest.raises(InputError, match="not negative"):
        check(
            line(tmp_path, "x", "x", 2),
            spec=spec(block | {"bounds": [-10, 10]}),
            rule=["p%=10"],
            table=data,
        )


def test_hiding_is_priced_by_what_the_pattern_could_read(tmp_path):
    # Two cells, values 0 and 1: three tables of sums, but four if empty cells are left out.
    columns = {
        "g": {"kind": "private", "values": ["a", "b"]},
        "pay": {"kind": "private", "range": [0, 1], "step": 1},
        "firm": {"kind": "private", "range": [1, 5], "step": 1},
    }
    schema = {"table": {"name": "t"}, "columns": columns}
    block = spec({"file": "line.csv", "statistic": "sum(pay)"})
    for cells in ((4, 5, 9), ("x", 5, 9)):
        assert check(line(tmp_path, *cells), spec=block, schema=schema).effects == 4
    promised = spec({"file": "line.csv", "statistic": "sum(pay)", "complete": True})
    assert check(line(tmp_path, 4, 5, 9), spec=promised, schema=schema).effects == 3
    data = {"g": ["a", "b"] * 5, "pay": [1] * 9 + [0], "firm": [1, 2, 3, 4, 5] * 2}
    report = check(
        line(tmp_path, "x", "x", 9),
        spec=block,
        schema=schema,
        rule=["p%=10"],
        table=data,
        contributor="firm",
    )
    assert report.effects == 20  # the pattern may read who contributes


def test_a_line_of_unknown_size_with_one_category_is_disclosed(tmp_path):
    whole = spec({"file": "line.csv", "margins": "all"})
    report = check(line(tmp_path, "x", 0, 0, "x"), spec=whole, rule=["homogeneous"])
    assert verdicts(report)["a"] == "disclosed"
    assert check(line(tmp_path, 0, 0, 0, 0), rule=["homogeneous"]).counts["disclosed"] == 0
