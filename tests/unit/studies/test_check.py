"""Published tables checked as a whole: verdicts, rules, insiders, several outputs, the price."""

import itertools
import random
from fractions import Fraction

import pytest

import hartley
from hartley.errors import InputError
from hartley.measures.sensitivity import Dominance, Frequency, Homogeneous, PPercent, read_rule
from hartley.studies.check import check

PEOPLE = hartley.people()
REGION, DIAGNOSIS, AGE = (
    PEOPLE.column(name).to_pylist() for name in ("region", "diagnosis", "age")
)
COLUMNS = {
    "region": {"kind": "private", "values": sorted(set(REGION))},
    "diagnosis": {"kind": "private", "values": sorted(set(DIAGNOSIS))},
    "age": {"kind": "private", "range": [0, 120], "step": 1},
    "visits": {"kind": "private", "range": [0, 20], "step": 1},
}
SCHEMA = {"table": {"name": "people"}, "columns": COLUMNS}


def crosstab(path, rows, columns, hide=10):
    """Write a crosstab as ACRO does: cells below a threshold are blank."""
    counts = {}
    for pair in zip(rows, columns, strict=True):
        counts[pair] = counts.get(pair, 0) + 1
    across = sorted(set(columns))
    lines = [",".join(["region", *across])]
    for row in sorted(set(rows)):
        cells = [counts.get((row, column), 0) for column in across]
        lines.append(",".join([row, *(str(n) if n >= hide or n == 0 else "" for n in cells)]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def pair(tmp_path):
    everybody = crosstab(tmp_path / "all.csv", REGION, DIAGNOSIS)
    adults = [i for i, age in enumerate(AGE) if age >= 20]
    part = crosstab(
        tmp_path / "adults.csv", [REGION[i] for i in adults], [DIAGNOSIS[i] for i in adults]
    )
    return everybody, part


def spec(*blocks, trees=()):
    return {"outputs": list(blocks), "trees": list(trees)}


DIMS = ["region", "diagnosis"]
TWO = spec(
    {"file": "all.csv", "dims": DIMS},
    {"file": "adults.csv", "dims": DIMS, "where": "age >= 20"},
)


def derived(report):
    """Return the derived cells of every atom outside the condition, by their value."""
    part = report.statistics[0]
    joint, found = part.joint, part.inference
    values = []
    for cell in joint.atoms.tolist():
        keys = dict(zip(joint.dims, joint.keys(cell), strict=True))
        if keys["selection"].startswith("not"):
            values.append(found.range(cell))
    return values


@pytest.mark.slow
def test_two_outputs_that_passed_one_by_one_single_people_out(pair):
    report = check(*pair, spec=TWO)
    settled = [found.low for found in derived(report) if found.settled]
    assert len(settled) == 35
    assert settled.count(0) == 15
    assert settled.count(1) == 9
    assert sum(1 <= value <= 9 for value in settled) == 16
    assert report.verdict == "disclosed"
    assert report.singled_out >= 9
    alone = check(pair[0], spec=TWO)
    assert alone.verdict in {"protected", "safe"}


def test_the_order_of_outputs_rows_and_columns_does_not_matter(pair, tmp_path):
    report = check(*pair, spec=TWO)
    lines = [line.split(",") for line in pair[0].read_text().splitlines()]
    order = [0, *reversed(range(1, len(lines[0])))]
    turned = tmp_path / "turned" / "all.csv"
    turned.parent.mkdir()
    turned.write_text(
        "\n".join(",".join(line[i] for i in order) for line in [lines[0], *reversed(lines[1:])])
    )
    other = check(pair[1], turned, spec=TWO)

    def facts(result):
        return {(tuple(sorted(c.keys.items())), c.outer, c.inner, c.verdict) for c in result.cells}

    assert facts(other) == facts(report)


def test_the_schema_says_how_conditions_lie_to_each_other(pair):
    assert check(*pair, spec=TWO, schema=SCHEMA).counts == check(*pair, spec=TWO).counts


def test_without_where_a_smaller_output_may_be_a_part(pair):
    plain = spec({"file": "all.csv", "dims": DIMS}, {"file": "adults.csv", "dims": DIMS})
    report = check(*pair, spec=plain)
    assert report.verdict == "open"
    assert report.counts["disclosed"] == 0
    assert report.counts["open"] > 9
    assert any("if it is a part of it" in note for note in report.notes)


@pytest.mark.parametrize(
    ("visits", "region", "effects"),
    [(False, "private", 72), (False, "public", 12), (True, "private", 1512)],
)
def test_bits_of_a_person(pair, tmp_path, visits, region, effects):
    schema = {**SCHEMA, "columns": COLUMNS | {"region": COLUMNS["region"] | {"kind": region}}}
    outputs, described = list(pair), [*TWO["outputs"]]
    if visits:
        numbers = PEOPLE.column("visits").to_pylist()
        for name, least in (("v_all.csv", 0), ("v_adults.csv", 20)):
            sums = {}
            for r, d, a, v in zip(REGION, DIAGNOSIS, AGE, numbers, strict=True):
                if a >= least:
                    sums[r, d] = sums.get((r, d), 0) + v
            path = tmp_path / name
            path.write_text(
                "region,diagnosis,n\n" + "".join(f"{r},{d},{n}\n" for (r, d), n in sums.items())
            )
            outputs.append(path)
            block = {"file": name, "dims": DIMS, "statistic": "sum(visits)"}
            described.append(block | ({"where": "age >= 20"} if least else {}))
    report = check(*outputs, spec=spec(*described), schema=schema)
    assert report.effects == effects
    assert report.bits == pytest.approx({72: 6.170, 12: 3.585, 1512: 10.562}[effects], abs=1e-3)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ("total", "everything,n\nyes,5000\n"),
        ("islands", "region,n\nislands,188\n"),
        ("cancer", "diagnosis,n\ncancer,146\n"),
    ],
)
def test_a_hidden_cell_is_known_as_soon_as_another_output_has_its_total(tmp_path, other, text):
    acro = tmp_path / "acro.csv"
    counts = {}
    for pair in zip(REGION, DIAGNOSIS, strict=True):
        counts[pair] = counts.get(pair, 0) + 1
    across = sorted(set(DIAGNOSIS))
    shown = {pair: n for pair, n in counts.items() if n >= 10}
    lines = [",".join(["region", *across, "All"])]
    for row in sorted(set(REGION)):
        cells = [shown.get((row, column)) for column in across]
        lines.append(
            ",".join(
                [row, *("" if n is None else str(n) for n in cells), str(sum(filter(None, cells)))]
            )
        )
    columns = [sum(shown.get((row, column), 0) for row in set(REGION)) for column in across]
    lines.append(",".join(["All", *map(str, columns), str(sum(columns))]))
    acro.write_text("\n".join(lines) + "\n")
    assert lines[-1].endswith(",4994")
    alone = check(acro, spec=spec({"file": "acro.csv", "dims": DIMS}))
    assert alone.counts["disclosed"] == 0
    more = tmp_path / "more.csv"
    if other == "total":
        more.write_text("region,n\nTotal,5000\n" + "".join(f"{r},\n" for r in sorted(set(REGION))))
        block = {"file": "more.csv", "dims": ["region"]}
    else:
        dim = "region" if other == "islands" else "diagnosis"
        more.write_text(text)
        block = {"file": "more.csv", "dims": [dim], "absent": "hidden"}
    report = check(acro, more, spec=spec({"file": "acro.csv", "dims": DIMS}, block))
    (hidden,) = [c for c in report.cells if c.keys == {"region": "islands", "diagnosis": "cancer"}]
    assert hidden.outer == (6, 6)
    assert hidden.verdict == "disclosed"


def line(tmp_path, *values, name="line.csv"):
    path = tmp_path / name
    *cells, total = values
    body = "".join(f"{chr(97 + i)},{v}\n" for i, v in enumerate(cells))
    path.write_text(f"g,n\n{body}Total,{total}\n")
    return path


def verdicts(report):
    return {"".join(cell.keys.values()): cell.verdict for cell in report.cells}


def test_frequency_on_lines(tmp_path):
    report = check(line(tmp_path, 15, "x", "x", 23), rules=["frequency<11"])
    assert verdicts(report) == {"a": "safe", "b": "disclosed", "c": "disclosed", "": "safe"}
    report = check(line(tmp_path, "x", "x", "x", 23), rules=["frequency<11"])
    assert verdicts(report) == {"a": "protected", "b": "protected", "c": "protected", "": "safe"}
    report = check(line(tmp_path, 4, "<5", "<5", 12), rules=["frequency<5"])
    assert verdicts(report) == {"a": "disclosed", "b": "disclosed", "c": "disclosed", "": "safe"}
    report = check(line(tmp_path, 9, "<5", "<5", 14), rules=["frequency<5"])
    assert verdicts(report) == {"a": "safe", "b": "protected", "c": "protected", "": "safe"}
    report = check(line(tmp_path, 0, 0, 3), rules=["frequency<5"], rounding="nearest 3")
    assert {cell.outer for cell in report.cells} == {(1, 1), (2, 2)}
    assert set(verdicts(report).values()) == {"disclosed"}


def test_the_number_of_values_left(tmp_path):
    table = line(tmp_path, 9, "<5", "<5", 14)  # 1+4, 2+3, 3+2, 4+1
    assert verdicts(check(table, rules=["frequency<5"], left=4))["b"] == "protected"
    assert verdicts(check(table, rules=["frequency<5"], left=5))["b"] == "disclosed"


def test_homogeneous_lines(tmp_path):
    assert verdicts(check(line(tmp_path, 7, 0, 0, 7), rules=["homogeneous"]))["a"] == "disclosed"
    marked = line(tmp_path, 7, "s", "s", 9)
    report = check(marked, rules=["homogeneous"], marks={"s": "1-9"})
    assert report.counts["disclosed"] == 0
    hidden, whole = line(tmp_path, 7, "x", "x", 7), spec({"file": "line.csv", "margins": "all"})
    assert check(hidden, spec=whole, rules=["homogeneous"]).counts["disclosed"] == 1
    assert check(hidden, rules=["homogeneous"]).counts["disclosed"] == 0  # the total is of the 7


FIRMS = {"g": ["a"] * 4 + ["b"], "firm": [1, 2, 3, 4, 5], "pay": [80, 15, 3, 2, 0]}


@pytest.mark.parametrize(("other", "verdict"), [(3, "protected"), (2, "disclosed")])
def test_p_percent(tmp_path, other, verdict):
    data = FIRMS | {"pay": [80, 15, 3, 2, other]}
    path = line(tmp_path, "x", "x", 100 + other)
    report = check(
        path,
        spec=spec({"file": "line.csv", "statistic": "sum(pay)"}),
        rules=["p%=10"],
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
        "spec": spec({"file": "line.csv", "statistic": "sum(pay)"}),
        "rules": ["p%=20"],
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


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rules": ["frequency<1"]}, "protects nobody"),
        ({"rules": ["p%=0"]}, "not positive"),
        ({"rules": ["p%=10"]}, "needs the contributions"),
        ({"rules": ["dominance=0,90"]}, "makes no sense"),
        ({"rules": ["k=5"]}, "unknown"),
        ({"insider": "sole"}, "microdata only"),
        ({"insider": "all"}, "unknown"),
        ({"left": 1}, "hide nothing"),
        ({"table": {"g": ["a"], "n": [1]}}, "microdata"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, options, problem):
    with pytest.raises(InputError, match=problem):
        check(line(tmp_path, 5, 6, 11), **options)


def test_what_does_not_add_up_is_named(tmp_path):
    with pytest.raises(InputError, match=r"everything = a \+ b cannot hold") as caught:
        check(line(tmp_path, 5, 6, 12))
    assert "rounding" in caught.value.hint
    with pytest.raises(InputError, match="named twice"):
        check(line(tmp_path, 5, 6, 11), tmp_path / "line.csv")
    other = line(tmp_path, 4, 7, 11, name="other.csv")
    with pytest.raises(InputError, match="different numbers for the same cells"):
        check(line(tmp_path, 5, 6, 11), other)
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("g,n\na,5\n")
    with pytest.raises(InputError, match="no category 'b'"):
        check(line(tmp_path, 5, 6, 11), fewer)
    gap = tmp_path / "gap.csv"
    gap.write_text("g,h,n\na,x,5\nb,y,6\n")
    with pytest.raises(InputError, match="does not list the cell"):
        check(gap)


def test_a_report_without_values_holds_none(pair):
    report = check(*pair, spec=TWO)
    text = str(report.to_dict(values=False)["statistics"])
    assert "outer" not in text
    assert "exactly" not in text


def test_rules_are_read_and_written():
    for text in ("frequency<5", "p%=12.5", "dominance=2,90", "homogeneous"):
        assert str(read_rule(text)) == text
    assert read_rule("homogeneous") == Homogeneous()
    assert Frequency() == read_rule("frequency<10")


def test_trees_of_the_description(tmp_path):
    towns = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
    sizes = {"c1": "ABIJ", "c2": "KLMN", "BIG": "LM", "small": "ABIJKN"}
    lines = [f"{t},{'x' if t in 'ABKLM' else n}" for t, n in towns.items()]
    lines += [f"{name},{sum(towns[t] for t in parts)}" for name, parts in sizes.items()]
    path = tmp_path / "towns.csv"
    path.write_text("town,n\n" + "\n".join([*lines, f"Total,{sum(towns.values())}"]) + "\n")
    trees = [
        {"dim": "town"} | {name: list(sizes[name]) for name in names}
        for names in (("c1", "c2"), ("BIG", "small"))
    ]
    report = check(path, spec=spec({"file": "towns.csv"}, trees=trees), rules=["frequency<4"])
    cells = {cell.keys.get("town"): cell for cell in report.cells}
    assert cells["K"].outer == (3, 3)
    assert cells["K"].verdict == "disclosed"
    assert [cells[t].verdict for t in "ABLM"] == ["protected"] * 4
    assert len(list(itertools.chain(report.sentences))) >= 1


@pytest.mark.slow
def test_answers_of_an_agent_are_known_too(tmp_path):
    schema = {
        "table": {"name": "people"},
        "columns": {
            "g": {"kind": "private", "values": ["a", "b", "c"]},
            "age": {"kind": "private", "range": [0, 99], "step": 1},
        },
    }
    data = {"g": ["a"] * 15 + ["b"] * 3 + ["c"] * 5, "age": [30] * 23}
    ledger = tmp_path / "ledger.db"
    with hartley.Agent(data, schema, budget=20, ledger=ledger) as agent:
        agent.ask("SELECT COUNT(*) FROM people WHERE g IN ('a', 'b')", error=0)
    path = line(tmp_path, 15, "x", "x", 23)
    assert check(path, rules=["frequency<8"], schema=schema).counts["disclosed"] == 0
    report = check(path, rules=["frequency<8"], schema=schema, against=ledger, charge=True)
    known = {c.keys["g"]: c.outer for c in report.cells if set(c.keys) == {"g"}}
    assert known["b"] == (3, 3)
    assert known["c"] == (5, 5)
    assert any("Booked" in note for note in report.notes)
    with hartley.open_ledger(ledger) as opened:
        charged = [charge.note for charge in opened.history("people")]
    assert any("publication" in note for note in charged)
    # the publication is paid for: a second time it is free
    again = check(path, rules=["frequency<8"], schema=schema, against=ledger, charge=True)
    assert [n for n in again.notes if "Booked" in n] == [n for n in report.notes if "Booked" in n]
    with hartley.Agent(data, schema, ledger=ledger) as agent:
        agent.ask("SELECT SUM(age) FROM people WHERE g = 'b'", error=0)
    sums = tmp_path / "sums.csv"
    sums.write_text("g,s\na,x\nb,x\nc,x\nTotal,690\n")
    block = {"file": "sums.csv", "statistic": "sum(age)"}
    both = check(path, sums, spec=spec(block), schema=schema, against=ledger)
    summed = both.statistics[1]
    assert summed.statistic == "sum(age)"
    assert {c.keys["g"]: c.outer for c in summed.cells if set(c.keys) == {"g"}}["b"] == (90, 90)
    other = {**schema, "columns": {"g": schema["columns"]["g"]}}
    with pytest.raises(InputError, match="another schema"):
        check(path, schema=other, against=ledger)
    with pytest.raises(InputError, match="columns of a schema"):
        check(path, against=ledger)
    with pytest.raises(InputError, match="No ledger"):
        check(path, charge=True)


def test_a_threshold_is_about_counts_and_not_about_sums(tmp_path):
    path = line(tmp_path, 3, 4, 7)
    assert check(path).counts["disclosed"] == 3
    sums = spec({"file": "line.csv", "statistic": "sum(pay)"})
    assert check(path, spec=sums).counts["disclosed"] == 0


def test_only_a_cell_with_one_row_has_a_sole_contributor(tmp_path):
    path = line(tmp_path, "x", "x", 12)
    two = {"g": ["a"] * 2 + ["b"] * 10}
    assert check(path, rules=["frequency<11"], table=two, insider="sole").counts["disclosed"] == 0
    one = {"g": ["a"] * 1 + ["b"] * 11}
    report = check(path, rules=["frequency<12"], table=one, insider="sole")
    assert verdicts(report)["b"] == "disclosed"
    assert verdicts(check(path, rules=["frequency<12"], table=one))["b"] == "protected"


def test_a_condition_about_a_dimension_needs_no_schema(tmp_path):
    everybody = tmp_path / "e.csv"
    everybody.write_text("g,h,n\na,u,20\na,v,x\nb,u,30\nb,v,x\n")
    part = tmp_path / "p.csv"
    part.write_text("h,n\nu,20\nv,13\n")
    described = spec(
        {"file": "e.csv", "dims": ["g", "h"]},
        {"file": "p.csv", "dims": ["h"], "where": "g = 'a'"},
    )
    report = check(everybody, part, spec=described)
    (cell,) = [c for c in report.cells if c.keys == {"g": "a", "h": "v"}]
    assert cell.outer == (13, 13)


def test_random_outputs_about_parts_never_exclude_the_truth(tmp_path):
    """Several conditions with a schema: the true table always fits and lies in every interval."""
    import numpy as np

    draw = np.random.default_rng(5)
    schema = {
        "table": {"name": "t"},
        "columns": {
            "g": {"kind": "private", "values": ["a", "b"]},
            "age": {"kind": "private", "range": [0, 9], "step": 1},
        },
    }
    conditions = ["age >= 3", "age >= 6", "age < 5 or age = 9", "g = 'a' and age > 2"]
    ages, groups = draw.integers(0, 10, 40), draw.choice(["a", "b"], 40)
    truths = [ages >= 3, ages >= 6, (ages < 5) | (ages == 9), (groups == "a") & (ages > 2)]
    blocks, files = [], []
    for number, (condition, held) in enumerate(zip(conditions, truths, strict=True)):
        name = f"o{number}.csv"
        counts = [int((held & (groups == g)).sum()) for g in "ab"]
        hidden = ["x" if draw.random() < 0.3 else str(n) for n in counts]
        (tmp_path / name).write_text(f"g,n\na,{hidden[0]}\nb,{hidden[1]}\n")
        blocks.append({"file": name, "dims": ["g"], "where": condition})
        files.append(tmp_path / name)
    report = check(*files, spec=spec(*blocks), schema=schema)
    part = report.statistics[0]
    joint, chosen = part.joint, part.selections
    order = [conditions.index(condition) for condition in chosen.conditions]
    held = list(zip(*(truths[at].tolist() for at in order), strict=True))
    assert {tuple(row) for row in held} <= set(chosen.patterns)
    for cell in joint.atoms.tolist():
        keys = dict(zip(joint.dims, joint.keys(cell), strict=True))
        pattern = chosen.patterns[chosen.axis.nodes.index(keys["selection"]) - 1]
        pairs = zip(groups.tolist(), held, strict=True)
        true = sum(g == keys["g"] and tuple(h) == pattern for g, h in pairs)
        found = part.inference.range(cell)
        assert found.low <= true
        assert found.high is None or true <= found.high


def test_two_spellings_of_a_condition_are_the_same_rows(tmp_path):
    schema = {
        "table": {"name": "t"},
        "columns": {
            "g": {"kind": "private", "values": ["a", "b"]},
            "age": {"kind": "private", "range": [0, 9], "step": 1},
        },
    }
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("g,n\na,x\nb,20\n")
    second.write_text("g,n\na,14\nb,x\n")
    described = spec(
        {"file": "first.csv", "where": "age >= 5"}, {"file": "second.csv", "where": "age > 4"}
    )
    report = check(first, second, spec=described, schema=schema)
    values = {(c.keys["g"], c.keys["selection"]): c.outer for c in report.cells}
    assert values["a", "age >= 5"] == (14, 14)
    assert values["b", "age > 4"] == (20, 20)
    never = spec({"file": "first.csv", "where": "age > 9"})
    with pytest.raises(InputError, match="No table fits"):
        check(first, spec=never, schema=schema)


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
            rules=["p%=10"],
            table=data,
        )


def test_hiding_is_priced_by_what_the_pattern_reads(tmp_path):
    # Two cells, values 0 and 1: three exact tables of sums, but four publications.
    columns = {
        "g": {"kind": "private", "values": ["a", "b"]},
        "pay": {"kind": "private", "range": [0, 1], "step": 1},
        "firm": {"kind": "private", "range": [1, 5], "step": 1},
    }
    schema = {"table": {"name": "t"}, "columns": columns}
    block = spec({"file": "line.csv", "statistic": "sum(pay)"})
    assert check(line(tmp_path, 4, 5, 9), spec=block, schema=schema).effects == 3
    assert check(line(tmp_path, "x", 5, 9), spec=block, schema=schema).effects == 4
    data = {"g": ["a", "b"] * 5, "pay": [1] * 9 + [0], "firm": [1, 2, 3, 4, 5] * 2}
    report = check(
        line(tmp_path, "x", "x", 9),
        spec=block,
        schema=schema,
        rules=["p%=10"],
        table=data,
        contributor="firm",
    )
    assert report.effects == 20  # the pattern may read who contributes


def test_a_line_of_unknown_size_with_one_category_is_disclosed(tmp_path):
    whole = spec({"file": "line.csv", "margins": "all"})
    report = check(line(tmp_path, "x", 0, 0, "x"), spec=whole, rules=["homogeneous"])
    assert verdicts(report)["a"] == "disclosed"
    assert check(line(tmp_path, 0, 0, 0, 0), rules=["homogeneous"]).counts["disclosed"] == 0


def test_what_a_condition_says_by_itself_is_no_news(tmp_path):
    everybody, part = tmp_path / "all.csv", tmp_path / "part.csv"
    everybody.write_text("g,h,n\na,x,20\na,y,30\nb,x,40\nb,y,50\n")
    part.write_text("h,n\nx,20\ny,30\n")
    described = spec({"file": "part.csv", "where": "g = 'a'"})
    assert check(everybody, part, spec=described, rules=["homogeneous"]).counts["disclosed"] == 0


def test_a_person_is_singled_out_whatever_the_rules_are(pair):
    report = check(*pair, spec=TWO, rules=["homogeneous"])
    assert report.singled_out == 9
    assert {c.rule for c in report.cells if c.singled_out} <= {"singled out", "homogeneous"}


def test_totals_of_shown_cells_leave_other_totals_in_place(tmp_path):
    path, dims = tmp_path / "a.csv", {"file": "a.csv", "dims": ["g", "h"]}
    path.write_text("g,x,y,Total\nA,s,15,15\nB,4,<5,8\n")
    report = check(path, spec=spec(dims), marks={"s": "hidden"}, rules=["frequency<5"])
    assert any("shown cells only" in guess for guess in report.guesses)
    (cell,) = [c for c in report.cells if c.keys == {"g": "B", "h": "y"}]
    assert (cell.outer, cell.verdict) == ((4, 4), "disclosed")
    path.write_text("g,x,y,Total\nA,s,15,15\nB,4,9,14\n")
    with pytest.raises(InputError, match="B = B"):
        check(path, spec=spec(dims), marks={"s": "hidden"})


@pytest.mark.parametrize("where", ["age >>= 20", "age = (select 1)", "drop table t"])
def test_what_is_no_condition_is_refused(tmp_path, where):
    with pytest.raises(InputError, match="condition"):
        check(line(tmp_path, 12, 13, 25), spec=spec({"file": "line.csv", "where": where}))


def lines(path, dim, **numbers):
    path.write_text("\n".join([f"{dim},n", *(f"{k},{n}" for k, n in numbers.items())]) + "\n")
    return path


def test_an_output_is_tried_with_every_group_that_it_fits(tmp_path):
    # The two outputs by g are about different rows; the one by h fits either, and only with the
    # second does it say that b has 2 people.
    everybody = lines(tmp_path / "all.csv", "g", a=30, b="x")
    part = lines(tmp_path / "part.csv", "g", a=25, b="x")
    total = lines(tmp_path / "total.csv", "h", u=13, v=14)
    report = check(everybody, part, total)
    assert report.counts["disclosed"] == 0
    doubtful = [cell for cell in report.cells if not cell.certain]
    whole = [cell for cell in doubtful if not {"h", "selection"} & set(cell.keys)]
    assert [(cell.keys, cell.verdict, cell.outer) for cell in whole] == [
        ({"g": "b"}, "open", (2, 2))
    ]
    assert any("total.csv may be about the same rows as part.csv" in note for note in report.notes)


def test_outputs_of_one_condition_may_be_nested(tmp_path):
    large = lines(tmp_path / "large.csv", "g", a=30, b=20)
    small = lines(tmp_path / "small.csv", "g", a=29, b=20)
    block = {"where": "age >= 20"}
    both = spec({"file": "large.csv", **block}, {"file": "small.csv", **block})
    report = check(large, small, spec=both)
    derived = {(cell.keys.get("g"), cell.verdict) for cell in report.cells if cell.derived}
    assert derived == {("a", "open"), (None, "open")}


def test_a_certainly_empty_derived_cell_is_not_open(tmp_path):
    # Nobody can be outside z >= 1: what is published about it leaves no room for anybody.
    everybody = lines(tmp_path / "all.csv", "g", a=2, b=2, Total=2)
    some = lines(tmp_path / "some.csv", "g", a=3, b=3, Total=6)
    block = {"file": "some.csv", "where": "z >= 1", "rounding": "random 3"}
    both = spec({"file": "all.csv", "rounding": "midpoint 4"}, block)
    report = check(everybody, some, spec=both, rules=["frequency<5"])
    assert "open" not in {cell.verdict for cell in report.cells}


def test_a_total_alone_is_an_output(tmp_path):
    report = check(
        lines(tmp_path / "a.csv", "g", Total=23), spec=spec({"file": "a.csv", "value": "n"})
    )
    assert [(cell.name, cell.outer) for cell in report.cells] == [("everything", (23, 23))]


def test_a_condition_rules_out_parts_that_a_tree_alone_names(tmp_path):
    # up = a + b is published for everybody; the second output is about c alone.
    everybody = lines(tmp_path / "all.csv", "g", up=12, c="x", Total="x")
    some = lines(tmp_path / "some.csv", "g", c="x", Total=3)
    tree = {"dim": "g", "up": ["a", "b"]}
    both = spec(
        {"file": "all.csv"},
        {"file": "some.csv", "where": "g = 'c'", "absent": "hidden"},
        trees=[tree],
    )
    report = check(everybody, some, spec=both)
    assert {cell.outer for cell in report.cells if cell.keys.get("g") == "c"} == {(3, 3)}


def test_a_suspected_total_is_named(tmp_path):
    report = check(lines(tmp_path / "a.csv", "g", a=30, b=20, alle=50))
    assert any("'alle' of g in a.csv is the sum of all others" in note for note in report.notes)
