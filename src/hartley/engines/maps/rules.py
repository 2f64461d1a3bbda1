"""Rules for releasing columns, which every engine executes in the same way.

A map is a list of rules, one per released column. A column that no rule names is NOT released.
Every engine computes the same doubles, bit for bit: a rule uses comparisons and IEEE sums,
products, quotients and square roots in a fixed order, and its numbers reach the engine as text.

NULL stays NULL, and NaN is released as NULL; both are counted as missing. Minus zero is released as
zero. Infinite values lie outside every range. Rows keep the order in which the engine gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - the examples use it
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.engines.maps.cell_rules import MOST_CUTS, CutCells, UniformCells, set_range
from hartley.engines.maps.formula import check_tree
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from hartley.engines.maps.formula import Tree
    from hartley.engines.tables.table import Table

__all__ = [
    "MOST_CUTS",
    "CutCells",
    "Formula",
    "Keep",
    "Lookup",
    "ProgramRule",
    "Quantized",
    "Rule",
    "UniformCells",
    "range_of",
]


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
        set_range(self, self.low, self.high)
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
            set_range(self, self.low, self.high)


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
