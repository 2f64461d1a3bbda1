"""Read the numbers of a column as indices on a step, and refuse those that do not lie on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.dialect import null_unless, number
from hartley.engines.maps.cell_rules import nearest_double
from hartley.engines.maps.cells import as_doubles, is_whole
from hartley.engines.maps.formula import check_tree, formula_steps
from hartley.engines.maps.rules import ProgramRule, UniformCells
from hartley.engines.maps.unfit_values import check_numbers, outside, refuse_rounded
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
EXACT_DIGITS = 15
"""Decimals of up to so many digits have a double each, so that doubles compare them exactly."""


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

    @property
    def decimals(self) -> int | None:
        """How many decimals the values have at most; None where some have no end."""
        _, _, divisor = self.integers()
        digits, rest = 0, divisor
        for prime in (2, 5):
            times = 0
            while rest % prime == 0:
                rest, times = rest // prime, times + 1
            digits = max(digits, times)
        return digits if rest == 1 else None

    def value_tree(self) -> Tree:
        """Return the value as a formula of the index: one quotient, rounded once."""
        first, step, divisor = self.integers()
        tree: Tree = ("var", self.column)
        for operation, by, idle in (("*", step, 1), ("+", first, 0), ("/", divisor, 1)):
            tree = tree if by == idle else (operation, tree, ("const", str(by)))
        return tree

    def is_exact(self, table: Table) -> Any:
        """Return where a long decimal has no more digits than the step; None of other columns.

        The double next to 0.300000000000000001 is that of 0.3, so that a comparison of doubles
        alone would take the one for the other.
        """
        column = table.expression[self.column]
        dtype = column.type()
        if not dtype.is_decimal() or self.rounding is not None:
            return None
        if (dtype.precision or math.inf) <= EXACT_DIGITS:
            return None
        if self.decimals is None:
            raise ColumnError(
                f"Column '{self.column}' holds decimals, which do not lie on a step of "
                f"{exactly(self.step)}",
                hint="declare a step with an end of its decimals, or convert the column to doubles",
            )
        return table.dialect.has_decimals(column, self.decimals)


@dataclass(frozen=True)
class RealSide:
    """A column read as the double that it holds, between declared ends."""

    column: str
    low: Fraction
    high: Fraction

    @property
    def ends(self) -> tuple[float, float]:
        """The range, as doubles."""
        return float(self.low), float(self.high)


@dataclass(frozen=True)
class IndexFormula(ProgramRule):
    """A column released as a formula over the indices of columns whose values lie on a step.

    In ``tree``, ("var", name) is the index of a column, a whole number. As long as no part of it
    exceeds 2^53 all of it is exact, and equal indices give equal doubles. A table in which a value
    of one of the columns is missing, outside its range or off its step is refused, and so is one
    with a record that is declared impossible.

    Example:
        >>> side = LatticeSide("x", Fraction(0), Fraction(1, 2), 20)
        >>> IndexFormula("x", side.value_tree(), (side,)).high
        Fraction(10, 1)
    """

    column: str
    tree: Tree
    sides: tuple[LatticeSide, ...]
    """Every column that the formula reads as indices, and the released column itself."""
    reals: tuple[RealSide, ...] = ()
    """The columns that it reads as they are."""
    possible: Tree | None = None
    """Which records are possible: 1 of those, 0 of others. All are if left out."""

    def __post_init__(self) -> None:
        check_tree(self.tree, column=self.column)
        if self.possible is not None:
            check_tree(self.possible, column=self.column)

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
        """Return the columns that are read, as doubles, and which long decimals are short."""
        lattices = [side.column for side in self.sides]
        check_numbers(table, [*lattices, *(side.column for side in self.reals)])
        refuse_rounded(table, {side.column: side.ends for side in self.reals})
        read = {f"l{i}_{j}": as_doubles(table, side.column) for j, side in enumerate(self.sides)}
        read |= {f"x{i}_{j}": as_doubles(table, side.column) for j, side in enumerate(self.reals)}
        exact = {f"e{i}_{j}": side.is_exact(table) for j, side in enumerate(self.sides)}
        return read | {name: holds for name, holds in exact.items() if holds is not None}

    def steps(self, table: Table, i: int) -> Steps:
        """Find the index of every column, then compute the formula over them."""
        read = {side.column: f"x{i}_{j}" for j, side in enumerate(self.reals)}
        for j, side in enumerate(self.sides):
            read[side.column] = f"k{i}_{j}"
            columns = f"l{i}_{j}", f"k{i}_{j}"
            whole = is_whole(table, side.column)
            yield from index_steps(table.dialect, side, columns, whole=whole)
            rows = yield {}
            if f"e{i}_{j}" in rows.columns:
                yield {f"k{i}_{j}": null_unless(rows[f"e{i}_{j}"], rows[f"k{i}_{j}"])}
        if self.possible is not None:
            yield from formula_steps(table.dialect, self.possible, read, prefix=f"p{i}")
        # Of indices alone every part is a whole number below 2^53, and the last one a value.
        bounded = not self.reals
        yield from formula_steps(table.dialect, self.tree, read, prefix=f"r{i}", bounded=bounded)

    @property
    def leaves_out_unfit(self) -> bool:
        """Whether a row is released as NULL if and only if something in it does not fit."""
        return not self.reals and self.possible is None

    def counted(self, table: Table, rows: Any, i: int) -> dict[str, Any]:
        """Count, for every column that is read, the values that do not fit, and odd records."""
        conditions: dict[str, Any] = {}
        if self.possible is not None:
            conditions[f"impossible{i}"] = (rows[f"p{i}"] < number(0.5)).sum()
        for j, real in enumerate(self.reals):
            unfit = outside(rows[f"x{i}_{j}"], real.ends, whole=is_whole(table, real.column))
            conditions |= {f"real_{what}{i}_{j}": holds.sum() for what, holds in unfit.items()}
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
            _refuse_values(side.column, missing, below + above)
            _refuse(side.column, between, f"off the declared step of {exactly(side.step)}", steps)
        for j, real in enumerate(self.reals):
            missing, below, above = (int(row[f"real_{w}{i}_{j}"] or 0) for w in UNFIT[:3])
            _refuse_values(real.column, missing, below + above)
        impossible = int(row.get(f"impossible{i}") or 0)
        if impossible:
            raise ColumnError(
                f"{counted(impossible, 'record')} {verb_for(impossible, 'is')} impossible by the "
                f"policy of column '{self.column}'",
                hint="correct the records, or the condition in the field 'possible'",
            )


def _refuse_values(column: str, missing: int, outside: int) -> None:
    _refuse(column, missing, "missing", "fill or drop them first: which are missing is not hidden")
    _refuse(column, outside, "outside the declared range", "declare a range that holds all")


def _refuse(column: str, rows: int, what: str, hint: str) -> None:
    """Raise an error for values of a column that do not fit, if there are any."""
    if rows:
        raise ColumnError(
            f"{counted(rows, 'value')} of column '{column}' {verb_for(rows, 'is')} {what}",
            hint=hint,
        )


def index_steps(
    dialect: Dialect, side: LatticeSide, columns: tuple[str, str], *, whole: bool
) -> Generator[dict[str, Any], Any, None]:
    """Name the index of a value, a whole number in a double; NULL of a value that has none.

    The index is guessed by one product and one sum, whose error is below 0.19 of a step (see
    ``uniform_steps``). Hence the guess for a value on the step, half a step added, is its index,
    and one comparison with the double nearest to (A + k W) / D, a correctly rounded quotient of
    whole numbers, shows whether the value lies on the step. A value that is rounded to the step is
    compared with the edge of its cell instead, which corrects the guess.

    Args:
        dialect: of the engine, which divides and rounds down.
        side: the lattice.
        columns: the column with the values as they are, and the column to name.
        whole: whether the column holds integers, of which none is NaN.
    """
    import ibis

    value, result = columns
    fitting, guessed = f"{result}_in", f"{result}_guess"
    rows = yield {}
    low, high = map(number, side.ends)
    inside = (rows[value] >= low) & (rows[value] <= high)
    # Of NaN both comparisons may hold: DuckDB answers them from statistics that leave NaN out.
    fits = inside if whole else ~rows[value].isnan() & inside
    first, width, divisor = side.integers()
    if whole and width == divisor == 1:  # every whole number lies on the step
        index = rows[value] - number(float(first)) if first else rows[value]
        yield {result: null_unless(fits, index)}
        return
    rows = yield {fitting: null_unless(fits, rows[value])}  # before products: they may overflow
    if side.rounding is None:
        rows = yield {guessed: dialect.floor(_scaled(rows[fitting], first, width, divisor, "1/2"))}
        scaled = rows[guessed] * number(float(width)) + number(float(first))
        nearest = dialect.divide(scaled, number(float(divisor)))
        yield {result: null_unless(nearest == rows[fitting], rows[guessed])}
        return
    first, width, divisor, _ = side.cells.integers()
    rows = yield {guessed: dialect.floor(_scaled(rows[fitting], first, width, divisor, "1/4"))}
    edge = dialect.divide(
        rows[guessed] * number(float(width)) + number(float(first)), number(float(divisor))
    )
    yield {result: ibis.ifelse(rows[fitting] < edge, rows[guessed] - number(1.0), rows[guessed])}


def _scaled(value: Any, first: int, width: int, divisor: int, shift: str) -> Any:
    """Return the index of a value, not yet whole, with a part of a step added."""
    return value * number(divisor / width) + number(float(Fraction(shift) - Fraction(first, width)))
