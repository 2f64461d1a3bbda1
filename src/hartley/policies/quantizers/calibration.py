"""Budget or accuracy in, levels of a quantizer out."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from hartley.errors import OptionError
from hartley.exact import floor_power, parse_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    Rule = Literal["corrected", "printed"]


def levels_for_error(length: Fraction, error: object) -> int:
    """Return the fewest equal cells of an interval whose middles are within an error.

    Farokhi 2019, Theorem IV.2. Exact.

    Example:
        >>> levels_for_error(Fraction(4), "0.5"), levels_for_error(Fraction(4), 100)
        (4, 1)
    """
    wanted = parse_number(error, name="the error")
    if wanted <= 0:
        raise OptionError(
            f"The error {error} is not positive",
            hint="give a positive error; a release with an error of 0 is the truth",
        )
    return max(1, math.ceil(length / (2 * wanted)))


def levels_for_bits(
    length: Fraction, sensitivity: Fraction, bits: object, *, rule: Rule = "corrected"
) -> int:
    """Return the most equal cells over a length of which one person can reach at most 2^bits.

    Farokhi 2019 (Noiseless Privacy), Theorem 8, corrected and tight: with K = floor(2^bits) every
    q up to max(K, floor((K - 1) L / S)) is sound. A query that nobody can move allows any number.

    Example:
        >>> levels_for_bits(Fraction(1), Fraction(1, 10), 1)
        10
    """
    levels = levels_for_outputs(length, sensitivity, floor_power(bits))
    if rule == "printed":
        return max(1, math.floor(_power(bits) * length / sensitivity))
    return levels


def levels_for_outputs(length: Fraction, sensitivity: Fraction, outputs: object) -> int:
    """Return the most equal cells over a length of which one person can reach at most so many.

    Farokhi 2019 (Noiseless Privacy), Theorem 8, corrected and tight: of q cells one person
    reaches at most K exactly where q <= max(K, floor((K - 1) L / S)).

    Example:
        >>> [levels_for_outputs(Fraction(1), Fraction(1, 10), K) for K in (1, 2, 3)]
        [1, 10, 20]
    """
    cells = parse_number(outputs, name="the number of outputs")
    if cells.denominator != 1 or cells < 1:
        raise OptionError(
            f"One person cannot have {outputs} outputs", hint="give a whole number of 1 or more"
        )
    if not 0 <= sensitivity <= length:
        raise OptionError(
            f"The sensitivity {sensitivity} is not between 0 and the length {length} of the range",
            hint="give how far one person's data can move the query",
        )
    if sensitivity == 0:
        raise OptionError(
            "Nobody's data moves this query, so every number of levels is private",
            hint="choose the levels by the error, with UniformQuantizer.for_error",
        )
    return max(int(cells), math.floor((cells - 1) * length / sensitivity))


def _power(bits: object) -> Fraction:
    """Return 2^bits as the printed rules use it: not rounded down to a whole number of outputs."""
    budget = parse_number(bits, name="the budget in bits")
    if budget.denominator == 1:
        return Fraction(2) ** int(budget)
    with localcontext() as context:
        context.prec = int(budget) // 3 + 80
        return Fraction(Decimal(2) ** (Decimal(budget.numerator) / Decimal(budget.denominator)))


def cells_reached(length: Fraction, sensitivity: Fraction, levels: int) -> int:
    """Return how many of some equal cells an interval of one person's reach can meet, at most.

    N(q) = min(q, ceil(q S / L) + 1); attained by an interval that begins just below an edge.

    Example:
        >>> cells_reached(Fraction(1), Fraction(1, 2), 4)
        3
    """
    if sensitivity == 0 or length == 0:
        return 1
    return min(levels, math.ceil(levels * sensitivity / length) + 1)


def cells_met(edges: Sequence[Fraction], sensitivity: Fraction) -> int:
    """Return how many cells between explicit edges an interval of one person's reach can meet.

    Cells are half-open, the last one closed; the interval is closed and lies anywhere. At most
    so many, attained by an interval that begins at an edge or just below one.

    Example:
        >>> cells_met([Fraction(k, 4) for k in range(5)], Fraction(1, 2))
        3
        >>> cells_met([Fraction(0), Fraction(1), Fraction(10)], Fraction(2))
        2
    """
    lower = edges[:-1]
    if sensitivity == 0:
        return 1
    met = 1
    for i, edge in enumerate(lower):
        met = max(met, bisect_right(lower, edge + sensitivity) - i)
        if i + 1 < len(lower):  # begins just below the next edge
            met = max(met, bisect_left(lower, lower[i + 1] + sensitivity) - i)
    return met


def levels_for_indistinguishability(
    coefficients: Sequence[Fraction], bits: object, *, rule: Rule = "corrected"
) -> int:
    """Return the most equal cells that keep any two values of one person indistinguishable.

    Farokhi 2021, Theorem 5, sharp: with R = |c|_1 / |c|_inf and K = floor(2^bits), q < (K/2 + 1) R
    for even K and q <= (K + 1) R / 2 for odd K; any q <= K is allowed too. Equal ranges of all
    people are assumed.

    Example:
        >>> fifths = [Fraction(1, 5)] * 5
        >>> [levels_for_indistinguishability(fifths, bits) for bits in (1, 2, 3)]
        [9, 14, 24]
        >>> [levels_for_indistinguishability(fifths, bits, rule="printed") for bits in (1, 2, 3)]
        [1, 5, 15]
    """
    largest = max((abs(weight) for weight in coefficients), default=Fraction(0))
    if largest == 0:
        raise OptionError(
            "Every coefficient of the query is zero", hint="give at least one that is not"
        )
    ratio = sum(abs(weight) for weight in coefficients) / largest
    cells = floor_power(bits)
    if rule == "printed":
        return max(1, math.floor(ratio * (_power(bits) / 2 - 1)))
    if cells % 2:
        sharp = math.floor((cells + 1) * ratio / 2)
    else:
        sharp = math.ceil((Fraction(cells, 2) + 1) * ratio) - 1
    return max(cells, sharp)


def outputs_telling(coefficients: Sequence[Fraction], levels: int) -> int:
    """Return how many outputs can tell one value of a person from another, at most.

    With r = q |c|_inf / |c|_1: min(q, floor(r) + ceil(r) - 1) of q equal cells.

    Example:
        >>> outputs_telling([Fraction(1, 5)] * 5, 14)
        4
    """
    sizes = [abs(weight) for weight in coefficients]
    if not any(sizes):
        return 0  # nobody's value changes anything
    share = levels * max(sizes) / sum(sizes)
    return min(levels, math.floor(share) + math.ceil(share) - 1) if levels > 1 else 0
