"""Numbers of a question as whole numbers of codes, so that equal questions get equal forms.

A column with code k means low + k step, so a linear form of columns is one of codes. It is
written with coefficients without a common factor, the first column counted once; what a multiple
or a constant adds is worked into the answer, which costs nothing. So SUM(2*a) and SUM(a), AVG(a)
and AVG(a + 5) ask the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from hartley.agent.batch import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.agent.questions.linear import Linear
    from hartley.ranges.schema import Column

LARGEST_ROW = 2**62
"""No form of a row is as large as this, nor any part of it: 64-bit integers hold it."""
LARGEST_TOTAL = 10**37
"""No total is larger than this: 128-bit integers and decimals of 38 digits hold it."""
LARGEST_SCALE = Fraction(10**60)
"""No factor or constant of an answer is larger, nor a factor smaller than one over this."""


@dataclass(frozen=True)
class Measure:
    """A form of codes, and how its whole numbers turn into values: scale times it, plus shift."""

    form: Form
    scale: Fraction
    shift: Fraction
    least: int
    """The smallest value of the form, by the schema."""
    most: int


def coded(linear: Linear, columns: Mapping[str, Column], *, signed: bool = True) -> Measure:
    """Return a form that begins at 0, for what a constant does not change.

    Where not `signed`, the direction of the values is kept: a median of -a is none of a.

    Example:
        >>> from hartley.agent.questions.linear import Linear
        >>> from hartley.ranges.schema import Column
        >>> low, high, step = Fraction(100), Fraction(250), Fraction(1, 2)
        >>> height = Column("h", "private", low=low, high=high, step=step)
        >>> found = coded(Linear((("h", Fraction(2)),), Fraction(3), Fraction(0)), {"h": height})
        >>> found.form  # 2 h + 3 is 1 k + 203
        Form(terms=(('h', 1),), constant=0, unit=Fraction(1, 2))
        >>> found.scale, found.shift, found.least, found.most
        (Fraction(1, 1), Fraction(203, 1), 0, 300)
    """
    factor, terms, unit, offset = _primitive(linear, columns, signed=signed)
    constant = -sum(min(0, c * (columns[name].points - 1)) for name, c in terms)
    shift = factor * (offset - unit * constant) + linear.constant
    most = constant + sum(max(0, c * (columns[name].points - 1)) for name, c in terms)
    return Measure(Form(terms, constant, unit), factor * unit, shift, 0, most)


def natural(linear: Linear, columns: Mapping[str, Column]) -> Measure:
    """Return a form that is the value itself, up to a factor, for sums of an unknown number.

    Example:
        >>> from hartley.agent.questions.linear import Linear
        >>> from hartley.ranges.schema import Column
        >>> low, high, step = Fraction(100), Fraction(250), Fraction(1, 2)
        >>> height = Column("h", "private", low=low, high=high, step=step)
        >>> found = natural(Linear((("h", Fraction(2)),), Fraction(0), Fraction(0)), {"h": height})
        >>> found.form, found.scale, found.least, found.most
        (Form(terms=(('h', 1),), constant=200, unit=Fraction(1, 2)), Fraction(1, 1), 200, 500)
    """
    factor, terms, unit, offset = _primitive(linear, columns, signed=True)
    total = offset + linear.constant / factor
    fine = _divisor(unit, total)
    constant = int(total / fine)
    finer = tuple((name, c * int(unit / fine)) for name, c in terms)
    ends = [sorted((0, c * (columns[name].points - 1))) for name, c in finer]
    least, most = (constant + sum(pair[side] for pair in ends) for side in (0, 1))
    return Measure(Form(finer, constant, fine), factor * fine, Fraction(0), least, most)


def _primitive(
    linear: Linear, columns: Mapping[str, Column], *, signed: bool
) -> tuple[Fraction, tuple[tuple[str, int], ...], Fraction, Fraction]:
    """Return factor, coefficients, unit and offset: factor (unit sum c k + offset) + constant."""
    kept = [(name, value) for name, value in linear.terms if value]
    factor = kept[0][1] if signed else abs(kept[0][1])
    steps, offset = [], Fraction(0)
    for name, value in kept:
        column = columns[name]
        assert column.low is not None
        assert column.step is not None
        steps.append(value / factor * column.step)
        offset += value / factor * column.low
    unit = reduce(_divisor, steps, Fraction(0))
    terms = tuple((name, int(s / unit)) for (name, _), s in zip(kept, steps, strict=True))
    return factor, terms, unit, offset


def _divisor(first: Fraction, second: Fraction) -> Fraction:
    """Return the greatest rational that divides two rationals, zero divided by all."""
    numerator = math.gcd(first.numerator * second.denominator, second.numerator * first.denominator)
    return Fraction(numerator, first.denominator * second.denominator)


def fits(measure: Measure, columns: Mapping[str, Column], rows: int, *, power: int = 1) -> bool:
    """Tell whether every engine can hold the form of every row and its total over all rows."""
    form = measure.form
    parts = [abs(form.constant), *(abs(c) * columns[name].points for name, c in form.terms)]
    largest = max(abs(measure.least), abs(measure.most))
    if not 1 / LARGEST_SCALE < abs(measure.scale) < LARGEST_SCALE > abs(measure.shift):
        return False
    return sum(parts) < LARGEST_ROW and max(rows, 1) * largest**power <= LARGEST_TOTAL
