"""Rules for releasing columns, which every engine executes in the same way.

A map is a list of rules, one per released column. A column that no rule names is NOT released.
Every engine computes the same doubles, bit for bit: a rule uses comparisons and IEEE sums,
products, quotients and square roots in a fixed order, and its numbers reach the engine as text.

NULL stays NULL, and NaN is released as NULL; both are counted as missing. Minus zero is released as
zero. Infinite values lie outside every range. Rows keep the order in which the engine gives them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - the examples use it
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.engines.maps.formula import check_tree, nearest_double
from hartley.errors import OptionError
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from hartley.engines.maps.formula import Tree
    from hartley.engines.tables.table import Table

LARGEST_CELL = 2**48
"""Integers up to here: cells are guessed within one and their edges are exact quotients."""

MOST_CUTS = 2**16
"""The largest number of cells that are listed one by one."""


@dataclass(frozen=True)
class UniformCells:
    """Equal cells over [low, high]: a value becomes the middle of its cell.

    Value v lies in cell k when edge_k <= v < edge_(k+1), the last cell being closed, where edge_k
    is the double nearest to low + k (high - low) / levels; the double nearest to the exact middle
    is released. Values outside are clamped. Constant work per row for any number of cells.

    Example:
        >>> cells = UniformCells("age", Fraction(0), Fraction(100), 20)
        >>> cells.edge(3), cells.middle(3)
        (Fraction(15, 1), Fraction(35, 2))
    """

    column: str
    low: Fraction
    high: Fraction
    levels: int

    def __post_init__(self) -> None:
        _set_range(self, self.low, self.high)
        if isinstance(self.levels, bool) or not isinstance(self.levels, int) or self.levels < 1:
            raise OptionError(
                f"The number of levels for column '{self.column}' is not a positive whole number",
                hint="give 1 level or more",
            )
        if not self.fits and self.levels > MOST_CUTS:
            raise OptionError(
                f"The {self.levels:,} cells for column '{self.column}' are too fine to be told "
                "apart exactly",
                hint=f"use ends with fewer decimals, or up to {MOST_CUTS:,} levels",
            )

    @property
    def fits(self) -> bool:
        """Whether every edge is a quotient of integers that leave room in a double."""
        return max(map(abs, self.integers())) <= LARGEST_CELL

    def integers(self) -> tuple[int, int, int, int]:
        """Return A, W, D and B with edge_k = (A + k W) / D exactly, and B = A + levels W.

        Example:
            >>> UniformCells("x", Fraction(1, 10), Fraction(7, 10), 4).integers()
            (2, 3, 20, 14)
        """
        width = (self.high - self.low) / self.levels
        divisor = math.lcm(self.low.denominator, width.denominator)
        first, step = int(self.low * divisor), int(width * divisor)
        return first, step, divisor, first + self.levels * step

    def edge(self, number: int) -> Fraction:
        """Return the exact lower edge of a cell."""
        return self.low + number * (self.high - self.low) / self.levels

    def middle(self, cell: int) -> Fraction:
        """Return the exact middle of a cell."""
        return (self.edge(cell) + self.edge(cell + 1)) / 2

    def as_cuts(self) -> CutCells:
        """Return the same map as a list of cells."""
        numbers = range(self.levels)
        edges = tuple(map(self.edge, range(self.levels + 1)))
        return CutCells(self.column, edges, tuple(float(self.middle(k)) for k in numbers))


@dataclass(frozen=True)
class CutCells:
    """Cells between explicit edges, each released as a number of its own.

    Value v lies in cell k when edge_k <= v < edge_(k+1), edges rounded to the nearest double and
    the last cell closed. Values outside are clamped. The comparisons per row are as many as the
    number of cells has binary digits.

    Example:
        >>> CutCells("income", (Fraction(0), Fraction(20), Fraction(100)), (10.0, 60.0)).low
        Fraction(0, 1)
    """

    column: str
    edges: tuple[Fraction, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) == len(self.edges) - 1 <= MOST_CUTS:
            raise OptionError(
                f"The cuts for column '{self.column}' have {len(self.edges):,} edges and "
                f"{len(self.values):,} values",
                hint=f"give one value more than inner edges, and up to {MOST_CUTS:,} values",
            )
        edges = tuple(_exact(self.column, edge) for edge in self.edges)
        object.__setattr__(self, "edges", edges)
        if any(
            lower > upper or (lower == upper and len(edges) > 2)  # one cell may be one number
            for lower, upper in itertools.pairwise(edges)
        ):
            raise OptionError(
                f"The edges of the cuts for column '{self.column}' do not increase",
                hint="list them from the smallest to the largest, each once",
            )
        if not all(isinstance(value, float) and math.isfinite(value) for value in self.values):
            raise OptionError(
                f"A value of the cuts for column '{self.column}' is not a finite number",
                hint="give every cell a number to be released as",
            )

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        return self.edges[0]

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        return self.edges[-1]


@dataclass(frozen=True)
class Lookup:
    """Categories: a value becomes its label.

    A value that no group names becomes ``other``; without one the release is refused. Labels are
    all text, all whole numbers or all truth values. On the embedded engine as many comparisons a
    row as the number of values has binary digits, elsewhere one look-up a label.

    Example:
        >>> Lookup("job", (("nurse", "health"), ("teacher", "school")), "other").labels
        ('health', 'school', 'other')
    """

    column: str
    groups: tuple[tuple[object, object], ...]
    other: object | None = None

    def __post_init__(self) -> None:
        keys = [key for key, _ in self.groups]
        others = [] if self.other is None else [self.other]
        labels = [*(label for _, label in self.groups), *others]  # not self.labels: of any type
        for what, items in (("values", keys), ("labels", labels)):
            if len({type(item) for item in items}) != 1 or type(items[0]) not in (str, int, bool):
                raise OptionError(
                    f"The {what} of the groups for column '{self.column}' are not all text, all "
                    "whole numbers or all truth values",
                    hint="write them in one form; to keep a column as it is, use Keep",
                )
        if len(set(keys)) < len(keys):
            raise OptionError(
                f"A value stands in two groups of column '{self.column}'",
                hint="name every value once",
            )
        if any(isinstance(item, int) and abs(item) >= 2**53 for item in (*keys, *self.labels)):
            raise OptionError(
                f"A number in the groups for column '{self.column}' is too large to be exact",
                hint="stay below 2**53, or write codes as text",
            )

    @property
    def labels(self) -> tuple[object, ...]:
        """Everything that can be released, in the order of its first appearance."""
        named = [label for _, label in self.groups]
        return tuple(dict.fromkeys([*named, *([] if self.other is None else [self.other])]))


@dataclass(frozen=True)
class Formula:
    """A column released as arithmetic over columns, in doubles and in a fixed order.

    ``tree`` is what ``hartley.engines.maps.formula`` describes. The column is clamped to [low,
    high] first, and so is every other column that the formula names and for which the map has a
    rule with a range. A row in which the formula is undefined is released as NULL and counted. exp
    and log are refused: their last digit differs between engines. PostgreSQL stops where a product
    is too small or too large for a double.

    Example:
        >>> Formula("x", ("*", ("const", "2"), ("var", "x")), Fraction(0), Fraction(1)).column
        'x'
    """

    column: str
    tree: Tree
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        _set_range(self, self.low, self.high)
        check_tree(self.tree, column=self.column)


@dataclass(frozen=True)
class Quantized:
    """Arithmetic over columns whose result is put into cells; only the cell is released.

    ``tree`` is computed as by ``Formula``, in doubles and in a fixed order, over columns that are
    clamped where the map declares their ranges; the result is clamped to the range of the cells.

    Example:
        >>> cells = UniformCells("area", Fraction(0), Fraction(12), 12)
        >>> Quantized("area", ("*", ("var", "x"), ("var", "y")), cells).high
        Fraction(12, 1)
    """

    column: str
    """The name under which it is released; the table need not have it."""
    tree: Tree
    cells: UniformCells | CutCells

    def __post_init__(self) -> None:
        check_tree(self.tree, column=self.column)

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        return self.cells.low

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        return self.cells.high


@dataclass(frozen=True)
class Keep:
    """A column released unchanged, or clamped to a range and then released as a double.

    Example:
        >>> Keep("sex").low is None
        True
    """

    column: str
    low: Fraction | None = None
    high: Fraction | None = None

    def __post_init__(self) -> None:
        if self.low is not None or self.high is not None:
            _set_range(self, self.low, self.high)


class ProgramRule:
    """A rule that executes itself: it says what it reads, computes, counts and refuses."""

    column: str
    """The name under which it is released, and of the column that it reads."""

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        raise NotImplementedError

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        raise NotImplementedError

    def inputs(self, table: Table, i: int) -> dict[str, Any]:
        """Return the columns of the table that rule number i reads, under names of its own."""
        raise NotImplementedError

    def steps(self, table: Table, i: int) -> Generator[dict[str, Any], Any, None]:
        """Return the program that computes the result, column ``r``."""
        raise NotImplementedError

    def counted(self, table: Table, rows: Any, i: int) -> dict[str, Any]:
        """Return what is counted besides missing values and those outside the range, by name."""
        raise NotImplementedError

    @property
    def leaves_out_unfit(self) -> bool:
        """Whether NULL is released exactly where something does not fit, all of it refused.

        Such a table need not be counted before it is written: the NULLs written show it.
        """
        return False

    def refuse(self, row: Mapping[str, Any], i: int) -> None:
        """Refuse a table by what was counted of it."""
        raise NotImplementedError


Rule: TypeAlias = UniformCells | CutCells | Lookup | Formula | Quantized | Keep | ProgramRule
"""How one column is released."""


def range_of(rule: Rule) -> tuple[float, float] | None:
    """Return the range to which a rule clamps its column, as doubles, or None.

    Example:
        >>> range_of(Keep("sex")), range_of(Keep("age", Fraction(0), Fraction(100)))
        (None, (0.0, 100.0))
    """
    if isinstance(rule, Lookup) or rule.low is None or rule.high is None:
        return None
    return float(rule.low), float(rule.high)


def _set_range(rule: UniformCells | Formula | Keep, low: object, high: object) -> None:
    """Store the ends of a range as the exact numbers that they stand for."""
    ends = _exact(rule.column, low), _exact(rule.column, high)
    if ends[1] < ends[0]:
        raise OptionError(
            f"The range of column '{rule.column}' ends before it begins",
            hint="write the smaller end first",
        )
    object.__setattr__(rule, "low", ends[0])
    object.__setattr__(rule, "high", ends[1])


def _exact(column: str, number: object) -> Fraction:
    exact = parse_number(number, name=f"an end of a range of column '{column}'")
    nearest_double(exact, column=column)
    return exact
