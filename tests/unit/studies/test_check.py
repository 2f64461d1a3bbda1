"""Outputs about the same people, checked together: what they tell beside each other."""

import pytest
from published_outputs import derived, line, lines, spec

import hartley
from hartley.errors import InputError
from hartley.studies.check.check import check

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


DIMS = ["region", "diagnosis"]

TWO = spec(
    {"file": "all.csv", "dims": DIMS},
    {"file": "adults.csv", "dims": DIMS, "where": "age >= 20"},
)


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


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rule": ["frequency<1"]}, "protects nobody"),
        ({"rule": ["p%=0"]}, "not positive"),
        ({"rule": ["p%=10"]}, "needs the contributions"),
        ({"rule": ["dominance=0,90"]}, "makes no sense"),
        ({"rule": ["k=5"]}, "unknown"),
        ({"insider": "sole"}, "microdata only"),
        ({"insider": "all"}, "microdata only"),
        ({"insider": "everybody"}, "unknown"),
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
    text = str(report.to_dict(show_values=False)["statistics"])
    assert "outer" not in text
    assert "exactly" not in text


def test_a_person_is_singled_out_whatever_the_rules_are(pair):
    report = check(*pair, spec=TWO, rule=["homogeneous"])
    assert report.singled_out == 9
    assert {c.rule for c in report.cells if c.singled_out} <= {"singled out", "homogeneous"}


def test_a_total_alone_is_an_output(tmp_path):
    report = check(
        lines(tmp_path / "a.csv", "g", Total=23), spec=spec({"file": "a.csv", "value": "n"})
    )
    assert [(cell.name, cell.outer) for cell in report.cells] == [("everything", (23, 23))]


def test_a_suspected_total_is_named(tmp_path):
    report = check(lines(tmp_path / "a.csv", "g", a=30, b=20, alle=50))
    assert any("'alle' of g in a.csv is the sum of all others" in note for note in report.notes)


def test_outputs_may_be_a_list_and_nothing_else(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("region,n\nnorth,15\nsouth,12\n")
    assert check([path]).outputs == check(path).outputs
    for other in (None, 3, {"region": ["north"], "n": [15]}, [[path]]):
        with pytest.raises(InputError, match="is no published table; hint: name the file"):
            check(other)
