"""Detecting whether the numbers of a column are multiples of a step, and so not continuous."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.dialect import number
from hartley.engines.maps.cells import as_doubles
from hartley.engines.tables.view import run

if TYPE_CHECKING:
    from hartley.engines.dialects.dialect import Dialect
    from hartley.engines.tables.table import Table

DECIMALS, BINARY_DIGITS = 10**14, 2**46
"""A step is looked for as long as the range has at most so many of them.

Doubles are about a hundred times finer, so that fewer than four in a hundred numbers without a
step lie on one by chance."""
LATTICE_STEPS = 2**19
"""A lattice is searched for up to this many of its least distances; rounding hides a finer one."""
FIRST_ROWS = 2**16
"""So many rows are looked at first."""
PARTS, TOLERANCE = 60, 0.01
"""The least distance may be up to six steps; so near must a number be to a sixtieth of it."""
MOST_EXPONENT = 290
"""Powers of ten and of two beyond these would overflow on some engine."""


@dataclass(frozen=True)
class StepEvidence:
    """Evidence of a step in a column; only numbers strictly inside the range count."""

    inside: int
    rounded: int
    """Those that are short decimals or short binary fractions."""
    repeated: int
    """Rows less different values."""

    @property
    def shows_step(self) -> bool:
        """Whether a tenth is rounded, or one in a thousand occurs again.

        Of numbers without a step nearly none are rounded and none occur twice.
        """
        return 10 * self.rounded >= self.inside > 0 or 1000 * self.repeated > self.inside


def look_for_step(table: Table, name: str, low: Fraction, high: Fraction) -> StepEvidence:
    """Look for a step in a column of numbers, by two queries on the engine that holds it.

    A number x is a decimal of k digits exactly if it is the double nearest to round(x 10^k) / 10^k:
    with at most 15 digits the product rounds to the right integer, and the quotient is correctly
    rounded. Likewise for k binary digits, where the product itself is exact. So each row is
    decided exactly. A step that no such fraction is a multiple of (a third, a pound in
    kilograms) shows in values that occur again.

    Args:
        table: the table, on any engine.
        name: the column.
        low: the lower end of its declared range.
        high: the upper end.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> weights = open_table({"kg": [70.5, 71.0, 64.5]})
        >>> look_for_step(weights, "kg", Fraction(0), Fraction(200))
        StepEvidence(inside=3, rounded=3, repeated=0)
    """
    values = _inside(table, name, low, high)
    on_step = functools.reduce(
        operator.or_, _on_steps(table.dialect, values.x, max(abs(low), abs(high)))
    )
    query = values.aggregate(inside=values.count(), rounded=on_step.sum())
    row = run(table, query.to_pyarrow).to_pylist()[0]
    # By itself: beside other aggregates, DuckDB counts different values in one thread.
    different = int(run(table, table.dialect.count_distinct(values.x).to_pyarrow).as_py())
    inside = int(row["inside"])
    return StepEvidence(inside, rounded=int(row["rounded"] or 0), repeated=inside - different)


def least_distance(table: Table, name: str, low: Fraction, high: Fraction) -> float | None:
    """Return the least distance between two different numbers of a column, which no step exceeds.

    None if there are no two strictly inside the range. Sorts the column, on its engine.
    """
    return _spacing(table, _inside(table, name, low, high))[2]


def lie_on_lattice(table: Table, name: str, low: Fraction, high: Fraction) -> bool:
    """Tell whether the numbers of a column are whole multiples of some step apart.

    For steps that neither decimals nor repeated values show, such as pounds in kilograms when all
    weigh differently. Of numbers without a step one in fifty fits by chance; nine in ten have to,
    beside the two that give the distance. Fewer than four different numbers show nothing.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> pounds = open_table({"kg": [p / 2.2046226218 for p in (90, 113, 157, 158, 201)]})
        >>> lie_on_lattice(pounds, "kg", Fraction(0), Fraction(200))
        True
    """
    inside, largest = _inside(table, name, low, high), max(abs(low), abs(high))

    def too_close(least: float | None) -> bool:
        return least is not None and least * LATTICE_STEPS < largest

    # All numbers together lie no further apart than some of them. In a column without a step a few
    # are close enough, so that sorting all of a long one is rare.
    if too_close(_spacing(table, inside.limit(FIRST_ROWS))[2]):
        return False
    different, first, least = _spacing(table, inside)
    if different < 4 or least is None or too_close(least):
        return False
    values = inside.distinct()
    dialect = table.dialect
    steps = dialect.divide(values.x - number(first), number(least / PARTS))
    on_lattice = (steps - dialect.floor(steps + number(0.5))).abs() <= number(TOLERANCE)
    fitting = int(run(table, values.filter(on_lattice).count().to_pyarrow).as_py())
    return 10 * (fitting - 2) >= 9 * (different - 2)


def count_at_ends(table: Table, name: str, low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return how many numbers of a column lie at or beyond either end of a range.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> count_at_ends(open_table({"kg": [0, 70, 200, 230]}), "kg", Fraction(0), Fraction(200))
        (1, 2)
    """
    values = table.expression.select(x=as_doubles(table, name))
    values = values.filter(values.x.notnull(), ~values.x.isnan())
    query = values.aggregate(
        below=(values.x <= number(float(low))).sum(), above=(values.x >= number(float(high))).sum()
    )
    row = run(table, query.to_pyarrow).to_pylist()[0]
    return int(row["below"] or 0), int(row["above"] or 0)


def _spacing(table: Table, values: Any) -> tuple[int, float, float | None]:
    """Return how many different numbers there are, the first, and the least distance."""
    different = values.distinct()
    paired = table.dialect.with_previous(different, "x", "previous")
    apart = paired.mutate(d=paired.x - paired.previous)
    query = apart.aggregate(different=apart.count(), first=apart.x.min(), least=apart.d.min())
    row = run(table, query.to_pyarrow).to_pylist()[0]
    return int(row["different"]), float(row["first"] or 0.0), row["least"]


def _inside(table: Table, name: str, low: Fraction, high: Fraction) -> Any:
    """Return the numbers of a column strictly inside a range, as one column of doubles."""
    values = table.expression.select(x=as_doubles(table, name))
    # NaN is above every number on some engines and compares with none on others.
    return values.filter(
        values.x.notnull(),
        ~values.x.isnan(),
        values.x > number(float(low)),
        values.x < number(float(high)),
    )


def _on_steps(dialect: Dialect, value: Any, largest: Fraction) -> list[Any]:
    """Return the conditions that a number is a decimal, or a binary fraction, of few digits."""
    tens, twos = _exponent(largest, 10, DECIMALS), _exponent(largest, 2, BINARY_DIGITS)
    half, scale = number(0.5), number(10.0 ** abs(tens))
    if tens >= 0:
        decimal = dialect.divide(dialect.floor(value * scale + half), scale) == value
    else:
        decimal = dialect.floor(dialect.divide(value, scale) + half) * scale == value
    binary = value * number(2.0**twos)
    return [decimal, dialect.floor(binary) == binary]


def _exponent(largest: Fraction, base: int, most: int) -> int:
    """Return the largest k with largest * base^k <= most."""
    exponent = 0
    while largest * Fraction(base) ** (exponent + 1) <= most and exponent < MOST_EXPONENT:
        exponent += 1
    while largest * Fraction(base) ** exponent > most and exponent > -MOST_EXPONENT:
        exponent -= 1
    return exponent
