"""The errors or budgets at which a tradeoff curve is measured."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.files import one_line
from hartley.policies.quantizers.allocation import AllocatedColumn
from hartley.studies.drafting import draft
from hartley.studies.specification_fields import read_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.studies.specification import Specification

USUAL, MOST = 16, 200
"""How many points a curve has by default, and at most."""
DIGITS = ("1", "1.25", "1.6", "2", "2.5", "3.2", "4", "5", "6.4", "8")
"""Ten numbers a decade, about evenly spaced for the eye."""


def read_errors(wish: str | Sequence[object]) -> list[Fraction]:
    """Read LOW:HIGH, LOW:HIGH:N or a list of errors.

    The N errors of a range are evenly spaced as logarithms and rounded to three digits.

    Example:
        >>> [float(error) for error in read_errors("0.1:10:3")]
        [0.1, 1.0, 10.0]
    """
    if not isinstance(wish, str):
        if not wish:
            raise OptionError("There is no error to look at", hint="write for example 0.1:10")
        return [read_error(error) for error in wish]
    parts = wish.split(":")
    if len(parts) not in (2, 3):
        raise OptionError(
            f"The errors '{one_line(str(wish))}' are not of the form LOW:HIGH",
            hint="write for example 0.1:10, or 0.1:10:20 for twenty of them",
        )
    low, high = (read_error(part.strip()) for part in parts[:2])
    count = parse_number(parts[2].strip() if len(parts) == 3 else USUAL, name="how many errors")
    if high < low:
        raise OptionError(
            f"The errors {wish} end before they begin", hint="write the smaller error first"
        )
    if count.denominator != 1 or not 1 <= count <= MOST:
        raise OptionError(
            f"The errors {wish} are not from 1 to {MOST} in number",
            hint="write for example 0.1:10:20",
        )
    return _between(low, high, int(count))


def _between(low: Fraction, high: Fraction, count: int) -> list[Fraction]:
    if count == 1 or low == high:
        return [low]
    ratio = log_ratio((high / low).numerator, (high / low).denominator) / (count - 1)
    inner = [low * Fraction(2 ** (k * ratio)) for k in range(1, count - 1)]
    return [low, *(Fraction(f"{float(error):.3g}") for error in inner), high]


def errors_for(
    high: Fraction, low: Fraction, chosen: Fraction | None, *, most: int = USUAL
) -> list[Fraction]:
    """Return round errors between two, both included, and around the chosen one.

    Example:
        >>> [float(error) for error in errors_for(Fraction(10), Fraction(1), None, most=5)]
        [10.0, 6.4, 3.2, 1.6, 1.0]
    """
    if chosen is not None:
        high, low = max(high, 2 * chosen), min(low, chosen / 2)
    errors = [high]
    for power in range(math.floor(math.log10(high)), math.floor(math.log10(low)) - 2, -1):
        for digits in reversed(DIGITS):
            error = Fraction(digits) * Fraction(10) ** power
            if low < error < high:
                errors.append(error)
    return thinned([*errors, low], most)


def thinned(places: Sequence[Fraction], most: int) -> list[Fraction]:
    """Leave out some of many places, evenly, and neither the first nor the last.

    Example:
        >>> [int(place) for place in thinned([Fraction(k) for k in range(9)], 3)]
        [0, 4, 8]
    """
    if len(places) <= most:
        return list(places)
    return [places[round(k * (len(places) - 1) / (most - 1))] for k in range(most)]


def budgets_for(wanted: Specification, errors: Sequence[Fraction] | None) -> list[Fraction]:
    """Return the budgets for a record to look at: whole bits, or those that errors take.

    An error takes log2 of the fewest levels of all columns within it, rounded up to thousandths.
    """
    assert wanted.bits is not None  # records are released within a budget
    labels = 1
    for column in draft(wanted):
        if column.cells is None:
            labels *= column.levels or 1
    least = Fraction(math.ceil(log_ratio(labels) * 1000), 1000)
    if errors is None:
        top = min(max(math.ceil(2 * wanted.bits), 12), _useful_bits(wanted, labels))
        places = thinned([Fraction(k) for k in range(math.ceil(least), top + 1)], USUAL + 9)
    else:
        places = [least + _bits_within(wanted, error) for error in errors]
    return sorted({*places, wanted.bits})


def _useful_bits(wanted: Specification, labels: int) -> int:
    """Return the whole bits with which every value is released as it is; a million if none do."""
    outputs = labels
    for name, column in wanted.columns.items():
        if column.range is not None:
            points = AllocatedColumn.of(name, {"range": column.range, "step": column.step}).points
            if points is None:
                return 10**6
            outputs *= points
    return max((outputs - 1).bit_length(), math.ceil(wanted.bits or 0))


def _bits_within(wanted: Specification, error: Fraction) -> Fraction:
    """Return the bits that it takes so that no column is off by more than an error."""
    outputs = 1
    for name, column in wanted.columns.items():
        if column.range is None:
            continue
        described = {"range": column.range, "step": column.step}
        levels = AllocatedColumn.of(name, described, wanted.weights.get(name, 1)).levels_within(
            error
        )
        assert levels is not None  # an error is positive
        outputs *= levels
    return Fraction(math.ceil(Fraction(log_ratio(outputs)) * 1000 + Fraction(1, 10**6)), 1000)
