"""Read the numbers of a column as indices on a step, and refuse those that do not lie on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.maps.cells import as_doubles
from hartley.engines.maps.formula import (
    check_tree,
    formula_steps,
    nearest_double,
    null_unless,
    number,
)
from hartley.engines.maps.rules import ProgramRule, UniformCells
from hartley.engines.maps.unfit_values import check_numbers, is_whole, outside
from hartley.errors import ColumnError, OptionError
from hartley.wording import counted, exactly, verb_for

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from hartley.engines.dialects.dialect import Dialect
    from hartley.engines.maps.cells import Steps
    from hartley.engines.maps.formula import Tree
    from hartley.engines.tables.table import Table

UNFIT = ("missing", "below", "above", "between")
"""Why a value has no index."""


@dataclass(frozen=True)
class LatticeSide:
    """A column read as indices: index k stands for low + k step, k = 0, ..., last.

    Example:
        >>> LatticeSide("kg", Fraction(30), Fraction(1, 10), 1700).integers()
        (300, 1, 10)
    """

    column: str
    low: Fraction
    step: Fraction
    last: int
    rounding: str | None = None
    """How values between the steps are read: "nearest", "down", or None where they are refused."""

    def __post_init__(self) -> None:
        nearest_double(self.low, column=self.column)
        if not self.cells.fits:
            raise OptionError(
                f"The steps of column '{self.column}' are too fine to be told apart exactly",
                hint="declare a coarser step, or ends with fewer decimals",
            )

    def integers(self) -> tuple[int, int, int]:
        """Return A, W and D with value_k = (A + k W) / D exactly."""
        divisor = math.lcm(self.low.denominator, self.step.denominator)
        return int(self.low * divisor), int(self.step * divisor), divisor

    @property
    def high(self) -> Fraction:
        """The last value."""
        return self.low + self.last * self.step

    @property
    def ends(self) -> tuple[float, float]:
        """The range, as doubles."""
        return float(self.low), float(self.high)

    @property
    def cells(self) -> UniformCells:
        """The cells of numbers that are read as one index each."""
        start = self.low if self.rounding == "down" else self.low - self.step / 2
        end = start + (self.last + 1) * self.step
        return UniformCells(self.column, start, end, self.last + 1)

    def value_tree(self) -> Tree:
        """Return the value as a formula of the index: one quotient, rounded once."""
        first, step, divisor = self.integers()
        scaled = ("*", ("const", str(step)), ("var", self.column))
        return ("/", ("+", ("const", str(first)), scaled), ("const", str(divisor)))


@dataclass(frozen=True)
class IndexFormula(ProgramRule):
    """A column released as a formula over the indices of columns whose values lie on a step.

    In ``tree``, ("var", name) is the index of a column, a whole number. As long as no part of it
    exceeds 2^53 all of it is exact, and equal indices give equal doubles. A table in which a value
    of one of the columns is missing, outside its range or off its step is refused.

    Example:
        >>> side = LatticeSide("x", Fraction(0), Fraction(1, 2), 20)
        >>> IndexFormula("x", side.value_tree(), (side,)).high
        Fraction(10, 1)
    """

    column: str
    tree: Tree
    sides: tuple[LatticeSide, ...]
    """Every column that the formula reads, and the released column itself."""

    def __post_init__(self) -> None:
        check_tree(self.tree, column=self.column)

    @property
    def own(self) -> LatticeSide:
        """The lattice of the released column."""
        return next(side for side in self.sides if side.column == self.column)

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        return self.own.low

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        return self.own.high

    def inputs(self, table: Table, i: int) -> dict[str, Any]:
        """Return the columns that are read as indices, as doubles."""
        check_numbers(table, (side.column for side in self.sides))
        return {f"l{i}_{j}": as_doubles(table, side.column) for j, side in enumerate(self.sides)}

    def steps(self, table: Table, i: int) -> Steps:
        """Find the index of every column, then compute the formula over them."""
        indices = {}
        for j, side in enumerate(self.sides):
            indices[side.column] = f"k{i}_{j}"
            columns = f"l{i}_{j}", f"k{i}_{j}"
            whole = is_whole(table, side.column)
            yield from index_steps(table.dialect, side, columns, whole=whole)
        yield from formula_steps(table.dialect, self.tree, indices, prefix=f"r{i}")

    def counted(self, table: Table, rows: Any, i: int) -> dict[str, Any]:
        """Count, for every column that is read as indices, the values that have none."""
        conditions: dict[str, Any] = {}
        for j, side in enumerate(self.sides):
            value, index = rows[f"l{i}_{j}"], rows[f"k{i}_{j}"]
            unfit = outside(value, side.ends, whole=is_whole(table, side.column))
            present = ~(unfit["missing"] | unfit["below"] | unfit["above"])
            unfit["between"] = present & index.isnull()
            conditions |= {f"{what}{i}_{j}": holds.sum() for what, holds in unfit.items()}
        return conditions

    def refuse(self, row: Mapping[str, Any], i: int) -> None:
        """Refuse a table with values that have no index: the promise is about indices alone."""
        for j, side in enumerate(self.sides):
            missing, below, above, between = (int(row[f"{what}{i}_{j}"] or 0) for what in UNFIT)
            steps = "declare the step that they are recorded in"
            if side == self.own:
                steps += ', or write round = "nearest" in the policy'
            for rows, what, hint in (
                (missing, "missing", "fill or drop them first: which are missing is not hidden"),
                (below + above, "outside the declared range", "declare a range that holds all"),
                (between, f"off the declared step of {exactly(side.step)}", steps),
            ):
                if rows:
                    raise ColumnError(
                        f"{counted(rows, 'value')} of column '{side.column}' "
                        f"{verb_for(rows, 'is')} {what}",
                        hint=hint,
                    )


def index_steps(
    dialect: Dialect, side: LatticeSide, columns: tuple[str, str], *, whole: bool
) -> Generator[dict[str, Any], Any, None]:
    """Name the index of a value, a whole number in a double; NULL of a value that has none.

    The index is guessed by one product and one sum and corrected by one comparison with the edge
    of its cell, as for equal cells. A value lies on the step if it is the double nearest to
    (A + k W) / D, one correctly rounded quotient of whole numbers.

    Args:
        dialect: of the engine, which divides and rounds down.
        side: the lattice.
        columns: the column with the values as they are, and the column to name.
        whole: whether the column holds integers, of which none is NaN.
    """
    import ibis

    value, result = columns
    first, width, divisor, _ = side.cells.integers()
    rows = yield {}
    unfit = outside(rows[value], side.ends, whole=whole)
    inside = ~(unfit["missing"] | unfit["below"] | unfit["above"])
    fitting, guessed = f"{result}_in", f"{result}_guess"
    rows = yield {fitting: null_unless(inside, rows[value])}
    shift = number(float(Fraction(1, 4) - Fraction(first, width)))
    rows = yield {guessed: dialect.floor(rows[fitting] * number(divisor / width) + shift)}
    edge = dialect.divide(
        rows[guessed] * number(float(width)) + number(float(first)), number(float(divisor))
    )
    rows = yield {
        result: ibis.ifelse(rows[fitting] < edge, rows[guessed] - number(1.0), rows[guessed])
    }
    if side.rounding is None:
        first, width, divisor = side.integers()
        scaled = rows[result] * number(float(width)) + number(float(first))
        nearest = dialect.divide(scaled, number(float(divisor)))
        yield {result: null_unless(nearest == rows[fitting], rows[result])}
