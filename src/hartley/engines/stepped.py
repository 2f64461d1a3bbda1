"""Whether the numbers of a column lie on a step: rounded values are no continuous ones."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.cells import as_doubles, floor
from hartley.engines.formula import number
from hartley.engines.view import run

if TYPE_CHECKING:
    from hartley.engines.table import Table

DECIMALS, BINARY_DIGITS = 10**14, 2**46
"""A step is looked for as long as the range has at most so many of them.

Doubles are about a hundred times finer, so that fewer than four in a hundred numbers without a
step lie on one by chance."""
MOST_EXPONENT = 290
"""Powers of ten and of two beyond these would overflow on some engine."""


@dataclass(frozen=True)
class StepEvidence:
    """What the numbers of a column show of a step; only those strictly inside the range count."""

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
    """Look for a step in a column of numbers, by one query on the engine that holds it.

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
        >>> from hartley.engines.sources import open_table
        >>> weights = open_table({"kg": [70.5, 71.0, 64.5]})
        >>> look_for_step(weights, "kg", Fraction(0), Fraction(200))
        StepEvidence(inside=3, rounded=3, repeated=0)
    """
    values = _inside(table, name, low, high)
    on_step = functools.reduce(operator.or_, _on_steps(values.x, max(abs(low), abs(high))))
    asked = values.aggregate(
        inside=values.count(), rounded=on_step.sum(), different=values.x.nunique()
    )
    found = run(table, asked.to_pyarrow).to_pylist()[0]
    inside = int(found["inside"])
    return StepEvidence(
        inside=inside,
        rounded=int(found["rounded"] or 0),
        repeated=inside - int(found["different"]),
    )


def least_distance(table: Table, name: str, low: Fraction, high: Fraction) -> float | None:
    """Return the least distance between two different numbers of a column, which no step exceeds.

    None where there are no two strictly inside the range. Sorts the column, on its engine.
    """
    import ibis

    ordered = _inside(table, name, low, high).distinct()
    distance = ordered.x - ordered.x.lag().over(ibis.window(order_by=ordered.x))
    least = run(table, ordered.mutate(d=distance).d.min().to_pyarrow).as_py()
    return None if least is None else float(least)


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


def _on_steps(value: Any, largest: Fraction) -> list[Any]:
    """Return the conditions that a number is a decimal, or a binary fraction, of few digits."""
    tens, twos = _exponent(largest, 10, DECIMALS), _exponent(largest, 2, BINARY_DIGITS)
    half, scale = number(0.5), number(10.0 ** abs(tens))
    if tens >= 0:
        decimal = floor(value * scale + half) / scale == value
    else:
        decimal = floor(value / scale + half) * scale == value
    binary = value * number(2.0**twos)
    return [decimal, floor(binary) == binary]


def _exponent(largest: Fraction, base: int, most: int) -> int:
    """Return the largest k with largest * base^k <= most."""
    exponent = 0
    while largest * Fraction(base) ** (exponent + 1) <= most and exponent < MOST_EXPONENT:
        exponent += 1
    while largest * Fraction(base) ** exponent > most and exponent > -MOST_EXPONENT:
        exponent -= 1
    return exponent
