"""Outputs about parts of a table: conditions, trees, totals and what else is known."""

import itertools

import pytest
from published_outputs import line, lines, spec

import hartley
from hartley.errors import InputError
from hartley.studies.check.certificate import save_certificate, verify_check
from hartley.studies.check.check import check
from hartley.studies.check.publication import select


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
    report = check(path, spec=spec({"file": "towns.csv"}, trees=trees), rule=["frequency<4"])
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
    assert check(path, rule=["frequency<8"], schema=schema).counts["disclosed"] == 0
    stated = spec({"file": "line.csv", "dims": ["g"], "statistic": "count", "where": "all rows"})
    charged = {"spec": stated, "rule": ["frequency<8"], "schema": schema, "against": ledger}
    report = check(path, **charged, charge=True)
    known = {c.keys["g"]: c.outer for c in report.cells if set(c.keys) == {"g"}}
    assert known["b"] == (3, 3)
    assert known["c"] == (5, 5)
    assert any("Booked" in note for note in report.notes)
    with hartley.open_ledger(ledger) as opened:
        notes = [charge.note for charge in opened.history("people")]
    assert any(f"publication {report.publication}" in note for note in notes)
    # the publication is paid for: a second time it is free
    again = check(path, **charged, charge=True)
    assert again.publication == report.publication
    assert "before: it costs nothing now" in again.notes[-1]
    assert report.notes[-1].split(". ")[1] == again.notes[-1].split(". ")[1]
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


def test_what_a_condition_says_by_itself_is_no_news(tmp_path):
    everybody, part = tmp_path / "all.csv", tmp_path / "part.csv"
    everybody.write_text("g,h,n\na,x,20\na,y,30\nb,x,40\nb,y,50\n")
    part.write_text("h,n\nx,20\ny,30\n")
    described = spec({"file": "part.csv", "where": "g = 'a'"})
    assert check(everybody, part, spec=described, rule=["homogeneous"]).counts["disclosed"] == 0


def test_totals_of_shown_cells_leave_other_totals_in_place(tmp_path):
    path, dims = tmp_path / "a.csv", {"file": "a.csv", "dims": ["g", "h"]}
    path.write_text("g,x,y,Total\nA,s,15,15\nB,4,<5,8\n")
    report = check(path, spec=spec(dims), marks={"s": "hidden"}, rule=["frequency<5"])
    assert "a.csv: 'Total' is the total of h, not tested" in report.guesses
    (cell,) = [c for c in report.cells if c.keys == {"g": "B", "h": "y"}]
    assert (cell.outer, cell.verdict) == ((4, 4), "disclosed")
    path.write_text("g,x,y,Total\nA,s,15,15\nB,4,9,14\n")
    with pytest.raises(InputError, match="B = B"):
        check(path, spec=spec(dims), marks={"s": "hidden"})


@pytest.mark.parametrize("where", ["age >>= 20", "age = (select 1)", "drop table t"])
def test_what_is_no_condition_is_refused(tmp_path, where):
    with pytest.raises(InputError, match="condition"):
        check(line(tmp_path, 12, 13, 25), spec=spec({"file": "line.csv", "where": where}))


def test_an_output_is_tried_with_every_group_that_it_fits(tmp_path):
    # The two outputs by g are about different rows; the one by h fits either, and only with the
    # second does it say that b has 2 people.
    everybody = lines(tmp_path / "all.csv", "g", a=30, b="x")
    part = lines(tmp_path / "part.csv", "g", a=25, b="x")
    total = lines(tmp_path / "total.csv", "h", u=13, v=14)
    both = spec(*({"file": name, "margins": "all"} for name in ("all.csv", "part.csv")))
    report = check(everybody, part, total, spec=both)
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
    block = {"file": "some.csv", "where": "z >= 1", "rounding": "random 3", "margins": "all"}
    both = spec({"file": "all.csv", "rounding": "midpoint 4", "margins": "all"}, block)
    report = check(everybody, some, spec=both, rule=["frequency<5"])
    assert "open" not in {cell.verdict for cell in report.cells}


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


def test_outputs_that_state_all_rows_are_about_the_same_rows(tmp_path):
    """Without where, the one may be a part of the other; where both state it, neither is."""
    first = lines(tmp_path / "a.csv", "g", a=12, b=14, c="x")
    second = lines(tmp_path / "b.csv", "g", a=11, b=14, c="x")
    third = lines(tmp_path / "c.csv", "h", p=20, q=10)
    stated = {"margins": "all", "where": "all rows"}
    blocks = [{"file": name, **stated} for name in ("a.csv", "b.csv", "c.csv")]
    with pytest.raises(InputError, match="state different numbers"):
        check(first, second, spec=spec(*blocks))
    report = check(first, third, spec=spec(*blocks))
    assert (4, 4) in [cell.outer for cell in report.cells]
    assert not any("without where" in note for note in report.notes)
    verify_check([first, third], save_certificate(report, tmp_path / "c.json"))
    report = check(first, second, spec=spec(blocks[0], {"file": "b.csv", "margins": "all"}))
    assert any("nowhere larger" in note for note in report.notes)


def test_categories_of_digits_keep_their_zeros_beside_texts():
    chosen = select(["zip = '007'"], {"zip": ["007", "other"]}, None)
    assert chosen.patterns == ((True,), (False,))
    assert chosen.possible == {("007",): frozenset([0]), ("other",): frozenset([1])}
