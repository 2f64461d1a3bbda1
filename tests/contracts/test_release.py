"""Every engine releases the same: the oracle's values, bit for bit, and the same text."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from hartley.engines.column_map import (
    CutCells,
    Formula,
    Keep,
    Lookup,
    UniformCells,
    apply_map,
)
from hartley.engines.sources import open_table
from hartley.engines.writing import write_table
from hartley.errors import ColumnError
from hartley.policies.columns import KeptColumn, LineColumn
from hartley.policies.document import PolicyDocument

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


@dataclass(frozen=True)
class Spec:
    """Rules over a table, and what plain Python makes of a row."""

    name: str
    rules: tuple[Any, ...]
    table: str = "holes"

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
        return apply_map(open_table(held), wanted.rules, strict=strict)

    return apply


def plain(value: Any) -> Any:
    """Show a value so that doubles are equal only if all their bits are."""
    return struct.pack(">d", value).hex() if isinstance(value, float) else value


def shown(table: Any) -> dict[str, list[Any]]:
    return {
        name: [plain(value) for value in table[name].to_pylist()] for name in table.column_names
    }


# --- plain Python -------------------------------------------------------------------------------


def clean(value: Any) -> Any:
    """Turn NaN into a missing value and every number into a double."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value) if isinstance(value, (int, float, Decimal)) else value


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
def test_every_released_value_is_that_of_plain_python(engine, wanted, mapped, sources):
    found = mapped(engine, wanted).expression.to_pyarrow()
    records = sources[wanted.table].to_pylist()
    for rule in wanted.rules:
        expected = [plain(released(rule, record)) for record in records]
        assert shown(found)[rule.column] == expected


@each_spec
def test_files_hold_the_values_of_the_embedded_engine_bit_for_bit_and_the_same_is_counted(
    engine, embedded, wanted, mapped, tmp_path
):
    files = []
    for number, one in enumerate((engine, embedded)):
        counts = write_table(mapped(one, wanted), tmp_path / f"{number}.parquet")
        files.append((shown(pq.read_table(tmp_path / f"{number}.parquet")), counts))
    assert files[0] == files[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.parquet", "1.parquet"]


@pytest.mark.parametrize("wanted", [SPECS[0], SPECS[3], SPECS[5]], ids=str)
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
