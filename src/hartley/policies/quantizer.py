"""Quantizers: what they share, and the uniform one, of equal cells released as their middles."""

from __future__ import annotations

import ast
import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from hartley.boxes.box import Interval
from hartley.boxes.expression import Expression, parse_expression
from hartley.errors import OptionError
from hartley.exact import floor_power, parse_number
from hartley.files import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


# --- calibration ----------------------------------------------------------------------------------
# Budget or accuracy in, levels of a quantizer out.


def levels_for_error(length: Fraction, error: object) -> int:
    """Return the fewest equal cells of an interval whose middles are within an error.

    Farokhi 2019, Theorem IV.2. Exact.
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
    """
    levels = levels_for_outputs(length, sensitivity, floor_power(bits))
    if rule == "printed":
        return max(1, math.floor(_power(bits) * length / sensitivity))
    return levels


def levels_for_outputs(length: Fraction, sensitivity: Fraction, outputs: object) -> int:
    """Return the most equal cells over a length of which one person reaches at most ``outputs``.

    Farokhi 2019 (Noiseless Privacy), Theorem 8, corrected and tight: of q cells one person
    reaches at most K exactly where q <= max(K, floor((K - 1) L / S)).
    """
    cells = read_outputs(outputs)
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
    return max(cells, math.floor((cells - 1) * length / sensitivity))


def read_outputs(outputs: object) -> int:
    """Return how many outputs one person may produce, as a whole number."""
    number = parse_number(outputs, name="the number of outputs")
    if number.denominator != 1 or number < 1:
        raise OptionError(
            f"One person cannot have {outputs} outputs", hint="give a whole number of 1 or more"
        )
    return int(number)


def _power(bits: object) -> Fraction:
    """Return 2^bits as the printed rules use it: not rounded down to a whole number of outputs."""
    budget = parse_number(bits, name="the budget in bits")
    if budget.denominator == 1:
        return Fraction(2) ** int(budget)
    with localcontext() as context:
        context.prec = int(budget) // 3 + 80
        return Fraction(Decimal(2) ** (Decimal(budget.numerator) / Decimal(budget.denominator)))


def cells_per_person(length: Fraction, sensitivity: Fraction, levels: int) -> int:
    """Return how many of some equal cells an interval of one person's reach can meet, at most.

    N(q) = min(q, ceil(q S / L) + 1); attained by an interval that begins just below an edge.
    """
    if sensitivity == 0 or length == 0:
        return 1
    return min(levels, math.ceil(levels * sensitivity / length) + 1)


def cells_met(edges: Sequence[Fraction], sensitivity: Fraction) -> int:
    """Return how many cells between explicit edges an interval of one person's reach can meet.

    Cells are half-open, the last one closed; the interval is closed and lies anywhere. The number
    is attained by an interval that begins at an edge or just below one.
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
    for even K and q <= (K + 1) R / 2 for odd K; q <= (floor(K/2) - 1) R / (R - 1), which is more
    where R < 2; and any q <= K is allowed too. Equal ranges of all people are assumed.
    """
    return levels_for_share(largest_share(coefficients), bits, rule=rule)


def levels_for_share(share: Fraction, bits: object, *, rule: Rule = "corrected") -> int:
    """Return the most equal cells where one person makes up a share 1/R of the range at most.

    As ``levels_for_indistinguishability``, for any number of people: of a mean over n it is 1/n.
    """
    if share == 0:
        raise OptionError(
            "Every coefficient of the query is zero", hint="give at least one that is not"
        )
    ratio, cells = 1 / share, floor_power(bits)
    if rule == "printed":
        return max(1, math.floor(ratio * (_power(bits) / 2 - 1)))
    if share == 1 and cells >= 2:
        raise OptionError(
            "The query is about one person alone: two outputs tell two values apart, however many "
            "cells there are",
            hint="choose the levels by the error, with UniformQuantizer.for_error",
        )
    if cells % 2:
        sharp = math.floor((cells + 1) * ratio / 2)
    else:
        sharp = math.ceil((Fraction(cells, 2) + 1) * ratio) - 1
    # Each of two values meets at most ceil(q (1 - 1/R)) + 1 cells, so that few tell them apart.
    narrow = math.floor((cells // 2 - 1) / (1 - share)) if cells >= 2 else 0
    return max(cells, sharp, narrow)


def largest_share(coefficients: Sequence[Fraction]) -> Fraction:
    """Return |c|_inf / |c|_1: which part of a linear query's range one person moves at most."""
    sizes = [abs(weight) for weight in coefficients]
    return max(sizes) / sum(sizes) if any(sizes) else Fraction(0)


def outputs_telling(coefficients: Sequence[Fraction], levels: int) -> int:
    """Return how many outputs can tell one value of a person from another; some two attain it."""
    return outputs_telling_share(largest_share(coefficients), levels)


def outputs_telling_share(share: Fraction, levels: int) -> int:
    r"""Return how many of q equal cells tell two values of somebody with a share 1/R of the range.

    .. math:: N = \min(q,\; \lfloor r \rfloor + \lceil r \rceil - 1,\;
        2 \lceil q - r \rceil + 2), \qquad r = q / R

    and none of one cell. Farokhi 2021, Theorem 5, sharp, also for R < 2. Exact.

    *Proof.* In units of a cell the answers to a value are an interval [t, t + W] with W = q - r and
    0 <= t <= r. It meets the cells from floor(t) to min(floor(t + W), q - 1). For t < t' the cells
    of one alone are, where both overlap, floor(t') - floor(t) on the left and as many as the last
    cells differ on the right: most for t = 0 and t' = r, floor(r) and ceil(r) - 1. Otherwise they
    are all cells of both, and an interval of length W meets at most ceil(W) + 1. No more than q
    exist. *Attained:* if R >= 2, by t = 0 and t' = r, which overlap or touch. If R < 2, then
    W < q/2. With m = ceil(W) + 1 and q >= 2m, let t begin just before the end of the first cell (at
    0 where W is whole) and t' likewise in cell q - m: both meet m cells, and none together. If q is
    2m - 1 or 2m - 2, one or both of them meet one cell less at an end of the range, and together
    all q. If q = 2m - 3, then t = 0 and t' = r share one cell: q - 1 = floor(r) + ceil(r) - 1.
    Somebody who counts for less has a smaller r, and no larger number.

    Example:
        >>> [outputs_telling_share(Fraction(1, 5), q) for q in (1, 9, 10, 14, 24)]
        [0, 2, 3, 4, 8]
    """
    if share == 0 or levels == 1:
        return 0  # nobody's value changes anything
    reach = levels * share
    touching = math.floor(reach) + math.ceil(reach) - 1
    return min(levels, touching, 2 * math.ceil(levels - reach) + 2)


Rule = Literal["corrected", "printed"]


class Quantizer:
    """Cells in order over an interval of numbers, each released as one number.

    What differs between equal cells, which are never listed, and cells between listed edges.
    """

    is_equal: ClassVar[bool]
    """Whether all cells have one width and are released as their middles."""

    if TYPE_CHECKING:
        # Not at run time, where a dataclass would take a property for the default of its field.
        @property
        def low(self) -> Fraction:
            """The first edge."""

        @property
        def high(self) -> Fraction:
            """The last edge."""

        @property
        def levels(self) -> int:
            """How many cells there are."""

        @property
        def edges(self) -> tuple[Fraction, ...]:
            """The edges of the cells, in order: one more than there are cells."""

        @property
        def error(self) -> Fraction:
            """The largest distance between a value and what is released for it."""

        @property
        def rule(self) -> Rule:
            """Whether the number of levels follows the corrected theorem or the one as printed."""

        @property
        def outputs(self) -> int:
            """How many different numbers are released."""

        def cell(self, value: object) -> int:
            """Return the number of the cell of a value; values outside are clamped."""

        def middle(self, cell: int) -> Fraction:
            """Return what is released for a cell."""

        def ends(self, cell: int) -> tuple[Fraction, Fraction]:
            """Return the lower and the upper edge of a cell."""

        def outputs_within(self, reach: Fraction) -> int:
            """Return how many numbers are released at most while a value moves over a length."""

        def steps(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
            """Return the edges between cells, and what is released for every cell."""

        def widths(self) -> tuple[Fraction, Fraction]:
            """Return the width of the narrowest and of the widest cell."""


@dataclass(frozen=True)
class UniformQuantizer(Quantizer):
    """Equal half-open cells over [low, high], the last one closed, each released as its middle.

    Example:
        >>> quantizer = UniformQuantizer(-2, 2, 4)
        >>> [str(edge) for edge in quantizer.edges], quantizer.error
        (['-2', '-1', '0', '1', '2'], Fraction(1, 2))
        >>> quantizer.cell(2), quantizer.middle(3)
        (3, Fraction(3, 2))
    """

    low: Fraction
    high: Fraction
    levels: int
    rule: Rule = "corrected"
    """Whether the number of levels follows the corrected theorem or the one as printed."""

    is_equal = True

    def __post_init__(self) -> None:
        interval = Interval.of((self.low, self.high))
        object.__setattr__(self, "low", interval.low)
        object.__setattr__(self, "high", interval.high)
        levels = parse_number(self.levels, name="the number of levels")
        if levels.denominator != 1 or levels < 1:
            raise OptionError(
                f"A quantizer cannot have {self.levels} levels",
                hint="give a whole number of 1 or more",
            )
        if self.rule not in ("corrected", "printed"):
            raise OptionError(
                f"The rule '{self.rule}' is unknown", hint="choose 'corrected' or 'printed'"
            )
        object.__setattr__(self, "levels", int(levels))

    @classmethod
    def for_error(cls, *, low: object, high: object, error: object) -> UniformQuantizer:
        """Return the fewest equal cells whose middles are never further off than an error.

        Farokhi 2019, Theorem IV.2: q = max(1, ceil(L / (2 error))), with I* = log2 q.

        Example:
            >>> UniformQuantizer.for_error(low=100, high=250, error="0.5").levels
            150
        """
        interval = Interval.of((low, high))
        return cls(low, high, levels_for_error(interval.length, error))  # type: ignore[arg-type]  # parsed above

    @classmethod
    def for_bits(
        cls,
        *,
        low: object,
        high: object,
        sensitivity: object,
        bits: object,
        rule: Rule = "corrected",
    ) -> UniformQuantizer:
        """Return the most equal cells of which one person's data can reach at most 2^bits.

        Theorem 8 of Farokhi 2019 (Noiseless Privacy), corrected: an interval of length S meets
        up to ceil(q S / L) + 1 of q cells, one more than the proof there counts.

        Args:
            low: the least value of the query.
            high: the largest value of the query.
            sensitivity: how far one person's data can move the query.
            bits: the budget.
            rule: "printed" gives the paper's own number, which is unsound.

        Example:
            >>> mean_of_two = {"low": 0, "high": 1, "sensitivity": "0.5", "bits": 1}
            >>> UniformQuantizer.for_bits(**mean_of_two).levels
            2
            >>> UniformQuantizer.for_bits(**mean_of_two, rule="printed").levels
            4
        """
        interval = Interval.of((low, high))
        levels = levels_for_bits(
            interval.length, parse_number(sensitivity, name="the sensitivity"), bits, rule=rule
        )
        return cls(low, high, levels, rule)  # type: ignore[arg-type]  # parsed above

    @classmethod
    def for_outputs(
        cls, outputs: int, *, low: object, high: object, sensitivity: object
    ) -> UniformQuantizer:
        """Return the most equal cells of which one person's data can reach at most ``outputs``.

        As ``for_bits``, with the number of outputs K itself: floor(2^bits) is all that counts.

        Args:
            outputs: how many outputs one person may produce.
            low: the least value of the query.
            high: the largest value of the query.
            sensitivity: how far one person's data can move the query.

        Example:
            >>> UniformQuantizer.for_outputs(3, low=0, high=1, sensitivity="0.1").levels
            20
        """
        interval = Interval.of((low, high))
        reach = parse_number(sensitivity, name="the sensitivity")
        return cls(low, high, levels_for_outputs(interval.length, reach, outputs))  # type: ignore[arg-type]  # parsed above

    @classmethod
    def for_indistinguishability(
        cls,
        *,
        coefficients: Sequence[object],
        low: object,
        high: object,
        bits: object,
        rule: Rule = "corrected",
    ) -> UniformQuantizer:
        """Return the most equal cells that keep two values of one person indistinguishable.

        Farokhi 2021, Theorem 5, sharp: of a linear query with these coefficients over people in
        [low, high], at most 2^bits outputs tell one value of a person from another. The cells
        cover exactly the range of the query.

        Example:
            >>> mean_of_five = {"coefficients": ["1/5"] * 5, "low": 0, "high": 1, "bits": 2}
            >>> UniformQuantizer.for_indistinguishability(**mean_of_five).levels
            14
            >>> UniformQuantizer.for_indistinguishability(**mean_of_five, rule="printed").levels
            5
        """
        people = Interval.of((low, high))
        weights = [parse_number(weight, name="a coefficient") for weight in coefficients]
        levels = levels_for_indistinguishability(weights, bits, rule=rule)
        ends = [sorted((weight * people.low, weight * people.high)) for weight in weights]
        return cls(sum(end[0] for end in ends), sum(end[1] for end in ends), levels, rule)  # type: ignore[arg-type]  # sums of fractions

    @property
    def width(self) -> Fraction:
        """The width of a cell."""
        return (self.high - self.low) / self.levels

    @property
    def error(self) -> Fraction:
        """The largest distance between a value and the middle of its cell."""
        return self.width / 2

    @property
    def edges(self) -> tuple[Fraction, ...]:
        """The edges of the cells, in order."""
        return tuple(self.low + k * self.width for k in range(self.levels + 1))

    def cell(self, value: object) -> int:
        """Return the number of the cell of a value; values outside are clamped."""
        number = parse_number(value, name="the value")
        if self.width == 0:
            return 0
        return min(max(int((number - self.low) // self.width), 0), self.levels - 1)

    def middle(self, cell: int) -> Fraction:
        """Return what is released for a cell."""
        return self.low + (2 * cell + 1) * self.width / 2

    def ends(self, cell: int) -> tuple[Fraction, Fraction]:
        """Return the lower and the upper edge of a cell."""
        low = self.low + cell * self.width
        return low, low + self.width

    @property
    def outputs(self) -> int:
        """How many different numbers are released: one where the interval is one number."""
        return self.levels if self.low < self.high else 1

    def outputs_within(self, reach: Fraction) -> int:
        """Return how many cells an interval of a length meets at most."""
        return cells_per_person(self.high - self.low, reach, self.levels)

    def steps(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the edges between cells, and the middle of every cell."""
        if self.width == 0:
            return (), (self.low,)
        return self.edges[1:-1], tuple(map(self.middle, range(self.levels)))

    def widths(self) -> tuple[Fraction, Fraction]:
        """Return the width of a cell, twice."""
        return self.width, self.width


Function = Literal["mean", "total"]


@dataclass(frozen=True)
class Aggregate:
    """The mean or the total of a column over all people: one number for a whole table."""

    function: Function
    column: str

    def __str__(self) -> str:
        return f"{self.function}({self.column})"


Query: TypeAlias = Expression | Aggregate
"""What is quantized: row by row, or over a whole table."""


def parse_query(text: str) -> Query:
    """Read a query: the mean or total of one column, or an expression over columns of a row.

    An expression in which a mean or total of one column is only a part is refused: read row by
    row it would say something else, and release more than it was certified for.
    """
    stripped = text.strip()
    for function in get_args(Function):
        inner = _argument(stripped, function)
        if inner is not None:
            return Aggregate(function, inner)
    _refuse_parts(text)
    return parse_expression(text)


def _argument(text: str, function: str) -> str | None:
    """Return the column that a function is applied to, or None where the text is another."""
    name, bracket, rest = text.partition("(")
    if name.strip() != function or not bracket or not rest.endswith(")"):
        return None
    inner = rest[:-1].strip()
    plain = inner and not any(letter in inner for letter in "()+-*/,<>=")
    return inner if plain and not inner[0].isdigit() else None


def _refuse_parts(text: str) -> None:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return  # said better where it is read
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in (*get_args(Function), "sum") and len(node.args) == 1:
            called = "total" if node.func.id == "sum" else node.func.id
            raise OptionError(
                f"The query '{one_line(text)}' uses the {called} of a column as a part",
                hint=f"ask for {called}(COLUMN) alone, and compute with the released value",
            )
