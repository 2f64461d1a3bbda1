"""Every engine releases the same: the oracle's values, bit for bit, and the same text."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley import PolicyDocument, open_table
from hartley.boxes import parse_expression
from hartley.engines.cells import CutCells, UniformCells
from hartley.errors import ColumnError
from hartley.policies import KeptColumn, LineColumn
from hartley.policies.vector import arithmetic_tree
from hartley.tables.column_map import apply_map
from hartley.tables.release_rules import (
    Formula,
    Keep,
    Lookup,
    Quantized,
    count_at_ends,
    least_distance,
    lie_on_lattice,
    look_for_step,
)
from hartley.tables.writing import write_table

if TYPE_CHECKING:
    from collections.abc import Callable

TENTH = Fraction(1, 10)
STRETCH, BLUR = (
    PolicyDocument(
        (
            LineColumn.read(
                kind, "weight", line="sqrt(bp)/4 + (bp/100)**3/7", reach="4.5", low="-9", high="9"
            ),
            KeptColumn("bp", Fraction(85), Fraction(120)),
        )
    )
    for kind in ("stretch", "blur")
)


GROWTH = arithmetic_tree(parse_expression("exp(3*tenths) - weight/7"))
LOGARITHM = arithmetic_tree(parse_expression("log(10 + weight) - tenths"))
SIZE = parse_expression("weight**2/3 + 2*tenths - abs(weight)/7").to_tree()
RATIO = parse_expression("max(weight/3, bp/90 - 1) / (bp - 100)").to_tree()
EDGES = tuple(Fraction(k * k, 43) for k in range(41))


@dataclass(frozen=True)
class Spec:
    """Rules over a table, and what plain Python makes of a row."""

    name: str
    rules: tuple[Any, ...]
    table: str = "holes"
    ranges: tuple[tuple[str, tuple[Any, Any]], ...] = ()

    def __str__(self) -> str:
        return f"{self.name}:{self.table}"


SPECS = [
    Spec(
        "cells",
        (
            UniformCells("count", -5, 5, 4),
            UniformCells("wide", -(10**12), 10**12, 7),
            UniformCells("small", -300, Fraction("299.5"), 11),
            UniformCells("real", Fraction(-1, 3), Fraction(5, 3), 9),
            UniformCells("tenths", -9 * TENTH, 9 * TENTH, 18),
            UniformCells("weight", -10, 10, 8),
            UniformCells("money", 0, Fraction("123.45"), 3),
            UniformCells("Blood pressure", 80, 120, 5),
        ),
    ),
    Spec(
        "fine",
        (
            UniformCells("tenths", Fraction("-0.9"), Fraction("0.9"), 10**9),
            UniformCells("real", 0, 0, 3),
            UniformCells(
                "weight", Fraction("-3.141592653589793"), Fraction("9.99999999999999"), 100
            ),
        ),
        "full",
    ),
    Spec(
        "cuts",
        (
            CutCells(
                "tenths", tuple(k * TENTH for k in range(-9, 10)), tuple(k / 7 for k in range(18))
            ),
            CutCells("weight", (Fraction(-10), Fraction("2.5"), Fraction(10)), (-1 / 3, 1 / 3)),
            CutCells(
                "real",
                tuple(Fraction(k**3) for k in range(-60, 61)),
                tuple(k / 9 for k in range(120)),
            ),
        ),
    ),
    Spec(
        "categories",
        (
            Lookup(
                "text", (("a", "letter"), ("A", "letter"), ("ä", "odd"), ("it's", "odd")), "rest"
            ),
            Lookup("select", (("from", 1), ("where", 2))),
            Lookup("flag", ((True, "yes"), (False, "no"))),
            Lookup("count", tuple((k, k // 3) for k in range(-7, 3)), 99),
            Lookup("Blood pressure", tuple((k, f"{k // 7}") for k in range(60, 121)), "high"),
            Lookup("tenths", ((0, True),), other=False),
        ),
    ),
    Spec(
        "many categories",
        (
            Lookup(
                "text", tuple((letter, f"<{letter}>") for letter in map(chr, range(32, 300))), "?"
            ),
        ),
    ),
    Spec(
        "kept",
        (
            Keep("text"),
            Keep("real"),
            Keep("small"),
            Keep("flag"),
            Keep("weight", -2, Fraction(1, 3)),
        ),
        "few",
    ),
    Spec("kept types", (Keep("day"), Keep("moment"), Keep("money"), Keep("wide"), Keep("count"))),
    Spec("stretch", STRETCH.to_map()),
    Spec("blur", BLUR.to_map(), "full"),
    Spec(
        "formula",
        (
            Formula(
                "weight",
                (
                    "if",
                    ("<", ("abs", ("var", "weight")), ("const", "1.1")),
                    ("/", ("const", "1/3"), ("-", ("var", "bp"), ("const", "100"))),
                    ("min", ("neg", ("var", "weight")), ("sqrt", ("var", "weight"))),
                ),
                -10,
                10,
            ),
        ),
    ),
]
SPECS += [
    Spec(
        "query",
        (
            Quantized("size", SIZE, UniformCells("size", Fraction(-3), Fraction(40), 129)),
            Quantized("cut", SIZE, CutCells("cut", EDGES, tuple(k / 7 for k in range(40)))),
        ),
        ranges=(("tenths", (Fraction("-0.55"), Fraction(1, 3))), ("weight", (-9, 9))),
    ),
    Spec(
        "functions",
        (
            Quantized("growth", GROWTH, UniformCells("growth", Fraction(-9), Fraction(40), 10**9)),
            Keep("flag"),
        ),
        ranges=(("tenths", (Fraction("-0.55"), Fraction(1, 3))), ("weight", (-9, 9))),
    ),
    Spec("open query", (Quantized("size", RATIO, UniformCells("size", -2, 2, 30)), Keep("flag"))),
]
LOGARITHMS = Spec(
    "logarithms",
    (Quantized("log", LOGARITHM, UniformCells("log", Fraction(-3), Fraction(5), 10**9)),),
    ranges=(("tenths", (Fraction("-0.55"), Fraction(1, 3))), ("weight", (-9, 9))),
)
each_spec = pytest.mark.parametrize("wanted", SPECS, ids=str)


@pytest.fixture(scope="session")
def sources(tables) -> dict[str, Any]:
    """The tables, with a column that an expression can name."""
    return {
        name: table.append_column("bp", table["Blood pressure"]) for name, table in tables.items()
    }


@pytest.fixture(scope="session")
def mapped(sources) -> Callable[..., Any]:
    """Apply the rules of a spec on an engine: mapped(engine, spec)."""

    def apply(engine: Any, wanted: Spec, *, strict: bool = False) -> Any:
        held = engine.load(f"release_{wanted.table}", sources[wanted.table])
        ranges = dict(wanted.ranges)
        return apply_map(open_table(held), wanted.rules, strict=strict, ranges=ranges)

    return apply


@pytest.fixture(scope="session")
def written(mapped, tmp_path_factory) -> Callable[..., Any]:
    """Write what a spec releases, once an engine: written(engine, spec) -> its file and counts."""
    folder, found = tmp_path_factory.mktemp("written"), {}

    def write(engine: Any, wanted: Spec) -> Any:
        if (id(engine), wanted.name) not in found:
            path = folder / f"{len(found)}.parquet"
            counts = write_table(mapped(engine, wanted), path)
            found[id(engine), wanted.name] = pq.read_table(path), counts
        return found[id(engine), wanted.name]

    return write


def plain(value: Any) -> Any:
    """Show a value so that doubles are equal only if all their bits are."""
    return struct.pack(">d", value).hex() if isinstance(value, float) else value


def shown(table: Any) -> dict[str, list[Any]]:
    return {
        name: [plain(value) for value in table[name].to_pylist()] for name in table.column_names
    }


# --- plain Python -------------------------------------------------------------------------------


def clean(value: Any) -> Any:
    """Turn NaN into a missing value, every number into a double and minus zero into zero."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value) + 0.0 if isinstance(value, (int, float, Decimal)) else value


def computed(tree: Any, record: dict[str, Any], ranges: dict[str, Any]) -> float | None:
    """Compute an expression in doubles, in the order written; None where it has no value."""
    operation, *parts = tree
    if operation == "var":
        number = clean(record[parts[0]])
        if number is None or (parts[0] not in ranges and math.isinf(number)):
            return None
        low, high = ranges.get(parts[0], (-math.inf, math.inf))
        return min(max(number, float(low)), float(high))
    if operation == "const":
        return float(Fraction(parts[0]))
    if operation == "if":
        chosen = computed(parts[0], record, ranges)
        return None if chosen is None else computed(parts[1 if chosen else 2], record, ranges)
    numbers = [computed(part, record, ranges) for part in parts if isinstance(part, tuple)]
    if None in numbers or (operation == "/" and numbers[1] == 0):
        return None
    one, other = numbers[0], numbers[-1]
    return {
        "pow": lambda: math.prod([one] * parts[1]),
        "+": lambda: one + other,
        "-": lambda: one - other,
        "*": lambda: one * other,
        "/": lambda: one / other,
        "abs": lambda: abs(one),
        "max": lambda: max(one, other),
        "min": lambda: min(one, other),
        "sqrt": lambda: math.sqrt(one),
        "<": lambda: one < other,
        "<=": lambda: one <= other,
        "and": lambda: one and other,
    }[operation]()


def released(rule: Any, record: dict[str, Any]) -> Any:
    value = record[rule.column]
    if isinstance(rule, Lookup):
        key = clean(value)
        return None if key is None else dict(rule.groups).get(key, rule.other)
    if isinstance(rule, Keep) and rule.low is None:
        return clean(value) if isinstance(value, float) else value
    number = clean(value)
    if number is None:
        return None
    number = min(max(number, float(rule.low)), float(rule.high))
    if isinstance(rule, UniformCells):
        return middle(rule, number)
    if isinstance(rule, CutCells):
        pairs = zip(rule.edges, rule.values, strict=False)
        return [out for edge, out in pairs if float(edge) <= number][-1]
    return number


def middle(rule: UniformCells, number: float) -> float:
    width = (rule.high - rule.low) / rule.levels
    if width == 0:
        return float(rule.low)
    near = int((Fraction(number) - rule.low) // width)
    cells = range(max(near - 2, 0), min(near + 3, rule.levels))
    cell = max(k for k in cells if float(rule.low + k * width) <= number)
    return float(rule.low + (2 * cell + 1) * width / 2)


# --- contracts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted",
    [spec for spec in SPECS if not any(isinstance(r, Formula) for r in spec.rules)],
    ids=str,
)
def test_every_released_value_is_that_of_plain_python(engine, wanted, written, sources):
    assert_released(engine, wanted, written, sources)


@pytest.mark.lacks("fence")
def test_logarithms_are_those_of_plain_python(engine, written, sources):
    assert_released(engine, LOGARITHMS, written, sources)


@pytest.mark.long
@pytest.mark.needs("fence")
def test_logarithms_are_the_same_where_a_subquery_is_computed_again(engine, written, sources):
    """PostgreSQL plans the statement for a quarter of a minute, whatever the number of rows."""
    assert_released(engine, LOGARITHMS, written, sources)


def assert_released(engine: Any, wanted: Spec, written: Any, sources: Any) -> None:
    found = shown(written(engine, wanted)[0])
    records, ranges = sources[wanted.table].to_pylist(), dict(wanted.ranges)
    for rule in wanted.rules:
        one, shown_by = rule, records
        if isinstance(rule, Quantized):
            one = rule.cells
            shown_by = [{rule.column: computed(rule.tree, row, ranges)} for row in records]
        assert found[rule.column] == [plain(released(one, record)) for record in shown_by]


@each_spec
def test_files_hold_the_values_of_the_embedded_engine_bit_for_bit_and_the_same_is_counted(
    engine, embedded, wanted, written
):
    (found, counts), (expected, counted) = (written(one, wanted) for one in (engine, embedded))
    assert shown(found) == shown(expected)
    assert counts == counted


@pytest.mark.parametrize("wanted", [SPECS[0], SPECS[5]], ids=str)
def test_csv_files_are_the_same_byte_for_byte(engine, embedded, wanted, mapped, tmp_path):
    for number, one in enumerate((engine, embedded)):
        write_table(mapped(one, wanted), tmp_path / f"{number}.csv")
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def test_a_strict_map_refuses_with_the_same_words(engine, embedded, mapped, tmp_path):
    words = []
    for one in (engine, embedded):
        with pytest.raises(ColumnError) as refused:
            write_table(mapped(one, SPECS[0], strict=True), tmp_path / "out.parquet")
        words.append(str(refused.value))
    assert words[0] == words[1]
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_nothing(engine, mapped, tmp_path):
    def interrupt(_share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(mapped(engine, SPECS[0]), tmp_path / "out.csv", progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    assert mapped(engine, SPECS[0]).counts.rows == 300


STEPS = {
    "tenths": [k / 10 for k in range(600, 700)],
    "eighths": [k / 8 for k in range(480, 560)] * 2,
    "fine": [60 + 20 * math.sin(k) ** 2 for k in range(1, 400)],
    "holes": [None, math.nan, 60.5, -3.0, 0.0, 200.0, 1e300],
    "pounds": [pounds / 2.2046226218 for pounds in (90, 113, 157, 158, 201, 333)],
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_seen_on_every_engine(engine, name):
    """The oracle counts the digits that a number is written with, decimal and binary."""
    column = pa.table({"x": pa.array(STEPS[name], pa.float64())})
    table, ends = open_table(engine.load(f"steps_{name}", column)), (Fraction(0), Fraction(200))
    inside = [value for value in STEPS[name] if value is not None and 0 < value < 200]
    short = [
        -Decimal(repr(value)).as_tuple().exponent <= 11 or Fraction(value).denominator <= 2**38
        for value in inside
    ]
    evidence = look_for_step(table, "x", *ends)
    assert evidence.inside == len(inside)
    assert evidence.rounded == sum(short)
    assert evidence.repeated == len(inside) - len(set(inside))
    assert evidence.shows_step == (name not in ("fine", "pounds"))
    assert lie_on_lattice(table, "x", *ends) == (name in ("tenths", "eighths", "pounds"))
    assert count_at_ends(table, "x", *ends) == ((2, 2) if name == "holes" else (0, 0))
    gaps = [later - sooner for sooner, later in pairwise(sorted(set(inside)))]
    assert least_distance(table, "x", *ends) == min(gaps, default=None)


def test_values_off_a_declared_step_or_list_are_counted_alike(engine):
    values = [k / 4 for k in range(41)] + [None, -1.0, 11.0]
    table = pa.table(dict.fromkeys("xyz", pa.array(values)))
    half = Fraction(1, 2)
    whole = tuple(map(Fraction, range(11)))
    edges = (whole[0], *(value + half for value in whole[:-1]), whole[-1])
    few = ((Fraction(0), Fraction(1, 4)), (Fraction(5), Fraction(10)))
    rules = (
        UniformCells("x", -half, 10 + half, 11, listed=True),
        CutCells("y", (Fraction(0), Fraction(4), Fraction(10)), (0.0, 7.0), few),
        CutCells("z", edges, tuple(map(float, whole)), tuple(zip(whole, whole, strict=True))),
    )
    mapped = apply_map(open_table(engine.load("off_lists", table)), rules)
    assert [column.missing for column in mapped.counts.columns] == [1, 1, 1]
    on_few = sum(value <= 1 / 4 or value >= 5 for value in values[:41])
    assert [column.between for column in mapped.counts.columns] == [30, 41 - on_few, 30]


@pytest.mark.only("postgres")
def test_numbers_of_the_database_without_a_scale_are_not_kept_as_doubles(engine):
    backend = engine.load("off_any", pa.table({"x": [1]})).get_backend()
    backend.con.execute("DROP TABLE IF EXISTS unscaled")
    backend.con.execute(
        "CREATE TABLE unscaled AS SELECT 0.12345678901234567890 AS x, 0.25::numeric(12, 2) AS y"
    )
    backend.con.commit()
    held = open_table(backend.table("unscaled"))
    with pytest.raises(ColumnError, match="would round; hint: declare its scale, such as numeric"):
        apply_map(held, [Keep("x", 0, 1)])
    scaled = apply_map(held, [Keep("y", 0, 1)]).expression.to_pyarrow()
    assert scaled["y"].to_pylist() == [0.25]
