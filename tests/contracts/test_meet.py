"""Every engine leaves the same records open: indices, sides and doubles, bit for bit."""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from hartley import PolicyDocument, open_table
from hartley.errors import ColumnError
from hartley.policies import read_column
from hartley.tables.column_map import apply_map

OBESE = "kg >= 30*(cm/100)**2"
WEIGHT = {"name": "kg", "low": "30", "high": "200", "step": "0.1", "reach": "4.3"}
ALONE = WEIGHT | {"kind": "meet", "others": {"cm": ["120", "220", "1"]}}
BOTH = {"name": "kg", "kind": "meet", "move": ["kg", "cm"], "step": ["0.1", "1"]}
BOTH |= {"low": ["30", "120"], "high": ["200", "220"]}
POLICIES = {
    "meet": ALONE | {"hypothesis": OBESE},
    "known within": ALONE | {"hypothesis": "kg < 30*(cm/100)**2", "known_within": "2.5"},
    "exp": ALONE | {"hypothesis": "kg >= 9*exp(cm/80)"},
    "several": BOTH
    | {"hypothesis": "kg - cm/2 >= 1/3 and 2*kg + 10 > cm or kg >= 150", "reach": ["1.05", "3"]},
    "norm": BOTH | {"hypothesis": "kg + cm >= 250", "reach": "5", "norm": "l2"},
    "blur": ALONE | {"kind": "blur", "line": "30*(cm/100)**2"},
}


def document(fields):
    columns = [read_column(fields, 1)]
    if "cm" not in columns[0].columns:
        columns.append(read_column({"name": "cm", "kind": "keep", "low": "120", "high": "220"}, 2))
    return PolicyDocument(tuple(columns))


def released(engine, name, columns, policy):
    """Release a table of an engine by a policy; all of its rows are counted."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    mapped = apply_map(open_table(engine.load(name, table)), policy.to_map())
    assert mapped.counts.rows == table.num_rows
    return mapped.expression.to_pyarrow().to_pydict()


def records():
    """Records all over the lattice, and close to the line, where rounding would decide."""
    pairs = [(kg, cm) for kg in range(300, 2001, 53) for cm in range(120, 221, 25)]
    for cm in range(120, 221, 2):
        line = 30 * (Fraction(cm) / 100) ** 2 * 10
        near = [int(line) + k for k in (-86, -85, -43, -1, 0, 1, 43, 86, 87)]
        pairs += [(kg, cm) for kg in near if 300 <= kg <= 2000]
    return [(Fraction(kg, 10), Fraction(cm)) for kg, cm in pairs]


def blurred(kg, cm):
    """Tell whether a record lies within reach of the line."""
    return abs(kg - 30 * (cm / 100) ** 2) <= Fraction("4.3")


def exactly(policy, kg, cm):
    """Return what is released by the definition, in rationals."""
    column = policy.columns[0]
    if column.kind == "meet":
        return column.policy.release({"kg": kg, "cm": cm})
    return {"kg": 30 * (cm / 100) ** 2 if blurred(kg, cm) else kg, "cm": cm}


@pytest.mark.parametrize("name", POLICIES)
def test_an_engine_releases_the_exact_values(engine, name):
    policy, rows = document(POLICIES[name]), records()
    if engine.listed.slow:
        rows = rows[::5]
    columns = {"kg": [float(kg) for kg, _ in rows], "cm": [int(cm) for _, cm in rows]}
    found = released(engine, f"lattice_{len(rows)}", columns, policy)
    for place, (kg, cm) in enumerate(rows):
        expected = exactly(policy, kg, cm)
        for column in ("kg", "cm"):
            value = found[column][place]
            if name == "blur" and column == "kg" and blurred(kg, cm):
                # The line is a double of the height alone; it is compared below.
                assert value == pytest.approx(float(expected["kg"]), rel=1e-14)
            else:
                assert struct.pack("<d", value) == struct.pack("<d", float(expected[column]))
    if name == "blur":
        lines = {}
        for (kg, cm), value in zip(rows, found["kg"], strict=True):
            if blurred(kg, cm):
                lines.setdefault(cm, set()).add(value)
        assert all(len(values) == 1 for values in lines.values())


def test_tables_are_executed_alike(engine):
    fields = {
        "name": "x",
        "kind": "meet",
        "hypothesis": "y <= x <= y + 4 or x == 15",
        "low": "0",
        "high": "20",
        "step": "0.5",
        "reach": "1.5",
        "others": {"y": ["-2", "3", "1"]},
    }
    column = read_column(fields, 1)
    rows = [(i, j) for j in range(6) for i in range(41)]
    columns = {"x": [i / 2 for i, _ in rows], "y": [j - 2 for _, j in rows]}
    found = released(engine, "fibres", columns, PolicyDocument((column,)))
    assert found["x"] == [column.policy.tables[j].released[i] / 2 for i, j in rows]


ROUNDED = {
    "nearest": [(30.04, 30.0), (76.76, 72.6), (76.84, 72.6), (199.96, 200.0)],
    "down": [(30.09, 30.0), (76.8, 72.6), (76.89, 72.6), (76.79, 80.9)],
}


@pytest.mark.parametrize("rounding", ROUNDED)
def test_an_engine_rounds_to_the_step_first(engine, rounding):
    fields = POLICIES["meet"] | {"round": rounding}
    cases = ROUNDED[rounding]
    columns = {"kg": [kg for kg, _ in cases], "cm": [160] * len(cases)}
    found = released(engine, f"between_{rounding}", columns, document(fields))
    assert found["kg"] == [out for _, out in cases]


MEET = document(POLICIES["meet"])
UNFIT = {
    "between": (76.85, 160, "1 value of column 'kg' is off the declared step of 0.1"),
    "above": (200.1, 160, "1 value of column 'kg' is outside the declared range"),
    "missing": (None, 160, "1 value of column 'kg' is missing"),
    "not a number": (float("nan"), 160, "1 value of column 'kg' is missing"),
    "infinite": (float("inf"), 160, "1 value of column 'kg' is outside the declared range"),
    "another column": (76.8, 119, "1 value of column 'cm' is outside the declared range"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_value_without_an_index_is_refused_on_every_engine(engine, name):
    kg, cm, problem = UNFIT[name]
    columns = {"kg": pa.array([76.8, kg], from_pandas=False), "cm": [160, cm]}
    with pytest.raises(ColumnError, match=problem):
        released(engine, f"unfit_{name.replace(' ', '_')}", columns, MEET)


# --- decimals: compared as they are, not by the doubles next to them ------------------------------

WIDE, DEEP = pa.decimal128(38, 18), pa.decimal128(18, 17)
OFF_BY_LITTLE = {
    "18 decimals": (WIDE, "76.800000000000000001"),
    "below": (WIDE, "76.799999999999999999"),
    "17 decimals": (WIDE, "76.80000000000000004"),
}


def test_a_sum_of_decimals_is_not_the_step_next_to_it(engine):
    """0.1 + 0.2 is 0.30000000000000004 in doubles; as a decimal of 18 digits it is no 0.3."""
    fields = {"name": "x", "kind": "meet", "hypothesis": "x >= 0.5"}
    fields |= {"low": "0", "high": "1", "step": "0.1", "reach": "0.1"}
    policy = PolicyDocument((read_column(fields, 1),))
    good = pa.array([Decimal("0.3"), Decimal("0.4"), Decimal("0.5"), Decimal(1)], DEEP)
    assert released(engine, "deep", {"x": good}, policy)["x"] == [0.4, 0.5, 0.4, 1.0]
    off = pa.array([Decimal("0.3"), Decimal("0.30000000000000001")], DEEP)  # the double 0.3 too
    with pytest.raises(ColumnError, match="1 value of column 'x' is off the declared step"):
        released(engine, "deep_off", {"x": off}, policy)


@pytest.mark.parametrize("name", OFF_BY_LITTLE)
def test_long_decimals_are_compared_exactly(engine, name):
    kind, text = OFF_BY_LITTLE[name]
    assert float(text) == 76.8  # doubles do not see the difference
    columns = {"kg": pa.array([Decimal("76.8"), Decimal(text)], kind), "cm": [160, 160]}
    with pytest.raises(ColumnError, match="1 value of column 'kg' is off the declared step"):
        released(engine, f"decimals_{name.replace(' ', '_')}", columns, MEET)


def test_long_decimals_on_the_step_are_released_as_doubles_are(engine):
    rows = [Decimal("76.8"), Decimal(30), Decimal("76.7"), Decimal("199.900000000000000000")]
    found = released(engine, "decimals_on", {"kg": pa.array(rows, WIDE), "cm": [160] * 4}, MEET)
    assert found["kg"] == [72.5, 30.0, 81.0, 199.9]


def test_the_largest_decimal_is_outside_the_range_and_no_error_of_the_engine(engine):
    rows = [Decimal("76.8"), Decimal("9" * 20 + "." + "9" * 18), None]
    table = pa.table({"kg": pa.array(rows, WIDE), "cm": [160] * 3})
    with pytest.raises(ColumnError, match="1 value of column 'kg' is missing"):
        released(engine, "decimals_wide", table, MEET)
    with pytest.raises(ColumnError, match="1 value of column 'kg' is outside"):
        released(engine, "decimals_wider", table.slice(0, 2), MEET)


def test_decimals_do_not_lie_on_a_third(engine):
    fields = POLICIES["meet"] | {"step": "1/3", "reach": "2"}
    columns = {"kg": pa.array([Decimal(76)], WIDE), "cm": [160]}
    with pytest.raises(ColumnError, match="do not lie on a step of 1/3"):
        released(engine, "decimals_third", columns, document(fields))


# --- other columns without a step, and impossible records -----------------------------------------


def test_a_line_over_values_without_a_step_is_computed_alike(engine):
    fields = POLICIES["meet"] | {"others": {"cm": ["120", "220"]}}
    heights = [120 + 100 * k / 37 for k in range(38)] + [160.0, 200.0]
    rows = [
        (round(30 * (cm / 100) ** 2 * 10) + k, cm)
        for cm in heights
        for k in (-87, -86, -1, 0, 1, 85, 86)
    ]
    rows = [(kg, cm) for kg, cm in rows if 300 <= kg <= 2000]
    columns = {"kg": [kg / 10 for kg, _ in rows], "cm": [cm for _, cm in rows]}
    found = released(engine, "heights", columns, document(fields))["kg"]
    for (kg, cm), output in zip(rows, found, strict=True):
        line = (30 * (Fraction(cm) / 100) ** 2 - 30) * 10
        index, near = kg - 300, line.denominator == 1  # on a value: neither side is certain
        below, above = index < line, index > line or (index == line and not near)
        up, down = min(index + 86, 1700), max(index - 86, 0)
        moved = index
        if below and up > line:
            moved = min(index + 43, 1700 - 43)
        elif above and down < line:
            moved = max(index - 43, 43)
        assert output == (300 + moved) / 10


def test_impossible_records_are_refused_on_every_engine(engine):
    fields = {"name": "x", "kind": "meet", "hypothesis": "x >= y", "possible": "x != y + 1"}
    fields |= {"low": "0", "high": "9", "step": "1", "reach": "2", "others": {"y": ["0", "9", "1"]}}
    policy = PolicyDocument((read_column(fields, 1),))
    rows = [(x, y) for x in range(10) for y in range(10) if x != y + 1]
    found = released(
        engine, "possible", {"x": [x for x, _ in rows], "y": [y for _, y in rows]}, policy
    )
    places = policy.columns[0].policy.places
    assert found["x"] == [places[y][x] for x, y in rows]
    with pytest.raises(ColumnError, match="2 records are impossible"):
        released(engine, "impossible", {"x": [1, 3, 5], "y": [0, 2, 9]}, policy)
