"""Executing a column map on the engine that holds the table, and counting unfit values."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hartley.engines.cells import (
    CutCells,
    UniformCells,
    as_doubles,
    below_last,
    cell_steps,
    clamp,
    execute,
    is_whole,
    nearest_double,
)
from hartley.engines.dialect import LARGEST_DOUBLE, null_unless, number
from hartley.engines.table import Kind, run
from hartley.errors import ColumnError, OptionError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.tables.release_rules import (
    Formula,
    Keep,
    Lookup,
    ProgramRule,
    Quantized,
    as_executed,
    check_tree,
    ends_of,
    formula_steps,
    join_lists,
    label_steps,
    names_of,
    range_of,
)
from hartley.tables.view import as_texts, no_rows, rounded_texts
from hartley.text import conjugate, count_of, exactly

if TYPE_CHECKING:
    from collections.abc import Container, Generator, Iterable, Mapping, Sequence

    from hartley.engines.cells import Steps
    from hartley.engines.dialect import Dialect
    from hartley.engines.table import Table
    from hartley.tables.release_rules import Rule, Tree

    Ends = tuple[float, float]


UNFIT = ("missing", "below", "above", "between")
"""Why a value has no index."""
EXACT_DIGITS = 15
"""Decimals of up to so many digits have a double each, so that doubles compare them exactly."""


# --- values that a map cannot release unchanged: they are counted, and refused if necessary -------


@dataclass(frozen=True)
class ColumnCounts:
    """The number of rows with unfit values of each sort, for one rule."""

    column: str
    missing: int
    """NULL or NaN, of a query any of its columns; released as NULL."""
    below: int
    """Below the range, of a query any of its columns; clamped to its lower end."""
    above: int
    """Above the range, of a query any of its columns; clamped to its upper end."""
    unknown: int
    """In no group; released as the label for all others."""
    undefined: int
    """Present, but the formula has no value there; released as NULL. Known once written."""
    between: int = 0
    """Off the declared step or list; released as if on it."""


@dataclass(frozen=True)
class Read:
    """A column that formulas read."""

    held: str
    """The column of the rows that holds it, as it is."""
    whole: bool
    """Whether it holds integers, of which none is NaN."""
    ends: Ends | None
    """Its declared range, if any."""

    @property
    def clamped(self) -> str:
        """The column of the rows that holds it clamped to its range."""
        return f"c{self.held}"


@dataclass(frozen=True)
class MapCounts:
    """The unfit values of a table, for all rules of a map."""

    rows: int
    columns: tuple[ColumnCounts, ...]


def measured(
    table: Table, rows: Any, rules: Mapping[int, Rule], read: Mapping[str, Read]
) -> dict[str, Any]:
    """Return the expressions to count, by name: the fields of ``ColumnCounts`` for every rule."""
    sums: dict[str, Any] = {"rows": rows.count()}
    for i, rule in rules.items():
        if isinstance(rule, Quantized):
            unfit = _unfit_by_query(rows, i, rule, read)
        else:
            unfit = _unfit(table, rows, i, rule)
        sums |= {f"{what}{i}": condition.sum() for what, condition in unfit.items()}
    return sums


def column_counts(row: Mapping[str, Any], i: int, column: str) -> ColumnCounts:
    """Return the counts of a rule; counts that do not apply are 0."""
    kinds = [field.name for field in fields(ColumnCounts)[1:]]
    return ColumnCounts(column, *(int(row.get(f"{kind}{i}") or 0) for kind in kinds))


def _unfit(table: Table, rows: Any, i: int, rule: Rule) -> dict[str, Any]:
    value = rows[f"v{i}"]
    if isinstance(rule, Lookup):
        return {"missing": value.isnull(), "unknown": rows[f"r{i}_unknown"]}
    ends = range_of(rule)
    if ends is None:
        return {"missing": value.isnull()}
    unfit = outside(value, ends, whole=is_whole(table, rule.column))
    inside = ~functools.reduce(operator.or_, unfit.values())
    if isinstance(rule, UniformCells) and rule.listed:
        unfit["between"] = inside & (value != rows[f"r{i}"])
    if isinstance(rule, CutCells) and rule.spans:
        first, last = rows[f"r{i}_first"], rows[f"r{i}_last"]
        unfit["between"] = inside & ((value < first) | (value > last))
    return unfit


def _unfit_by_query(rows: Any, i: int, rule: Quantized, read: Mapping[str, Read]) -> dict[str, Any]:
    """Look at the columns of a query; at its value only where a column declares no range."""
    # Of columns within their ranges the value can lie outside by rounding alone.
    unfit: dict[str, list[Any]] = {"missing": [], "below": [], "above": []}
    columns = [read[name] for name in names_of(rule.tree)]
    per_column = [
        missing(rows[column.held], whole=column.whole)
        if column.ends is None
        else outside(rows[column.held], column.ends, whole=column.whole)
        for column in columns
    ]
    if any(column.ends is None for column in columns):
        ends = float(rule.low), float(rule.high)
        answer = outside(rows[f"q{i}"], ends, whole=True)
        per_column.append({what: answer[what] for what in ("below", "above")})
    for conditions in per_column:
        for what, holds in conditions.items():
            unfit[what].append(holds)
    joined = {what: functools.reduce(operator.or_, holds) for what, holds in unfit.items() if holds}
    return {
        what: holds if what == "missing" else holds & ~joined["missing"]
        for what, holds in joined.items()
    }


def missing(value: Any, *, whole: bool) -> dict[str, Any]:
    """Return where a number is missing."""
    return {"missing": value.isnull() if whole else value.isnull() | value.isnan()}


def outside(value: Any, ends: Ends, *, whole: bool) -> dict[str, Any]:
    """Return where a number is missing, below and above a range; NaN is missing, not above."""
    below, above = value < number(ends[0]), value > number(ends[1])
    return missing(value, whole=whole) | {
        "below": below,
        "above": above if whole else above & ~value.isnan(),
    }


def refuse_unfit(rule: Rule, counts: ColumnCounts, *, strict: bool) -> None:
    """Raise an error for values that a strict map, or groups without ``other``, may not release."""
    refused = [
        (counts.missing, "missing", "fill or drop them first"),
        (counts.below + counts.above, "outside the declared range", "correct them first"),
        (counts.unknown, "in no group", "add them to a group"),
        (counts.between, "off the declared step or list", "declare them too"),
        (counts.undefined, "without a value of the formula", "see to its other columns"),
    ]
    if not strict:
        refused = []
        if isinstance(rule, Lookup) and rule.other is None:
            refused.append((counts.unknown, "in no group", "give a label for all others"))
    for rows, what, hint in refused:
        _refuse(counts.column, rows, what, hint + (", or release without strict" if strict else ""))


def _refuse(column: str, rows: int, what: str, hint: str) -> None:
    """Raise an error for values of a column that do not fit, if there are any."""
    if rows:
        raise ColumnError(
            f"{count_of(rows, 'value')} of column '{column}' {conjugate(rows, 'is')} {what}",
            hint=hint,
        )


def check_rules(table: Table, rules: Sequence[Rule]) -> None:
    """Raise an error for rules that name a column twice, a missing one or one of another kind."""
    names = [rule.column for rule in rules]
    if not rules:
        raise OptionError("The map names no column", hint="give a rule for what is to be released")
    if len({name.lower() for name in names}) < len(names):
        raise OptionError(
            "Two rules of the map name one column", hint="give every column one rule, case aside"
        )
    own = [rule for rule in rules if not isinstance(rule, Quantized)]
    table.require(rule.column for rule in own)
    numeric = [rule.column for rule in own if range_of(rule) is not None]
    check_numbers(table, (*numeric, *(name for tree in trees_of(rules) for name in names_of(tree))))
    for rule in rules:
        if isinstance(rule, Lookup):
            kind, dtype = table.kind(rule.column), table.expression.schema()[rule.column]
            fitting = {
                str: dtype.is_string(),
                int: kind.numeric,
                bool: kind is Kind.BOOLEAN,
            }[type(rule.groups[0][0])]
            if not fitting and kind is not Kind.EMPTY:
                raise ColumnError(
                    f"Column '{rule.column}' of {table.name} holds {kind} values, unlike its "
                    "groups",
                    hint="write the values of the groups as the column has them",
                )


def refuse_rounded(
    table: Table,
    ranges: Mapping[str, tuple[Any, Any]],
    kept: Container[str] = (),
    rounded: Container[str] = (),
) -> None:
    """Raise an error for whole numbers that doubles do not tell apart within their ranges.

    Decimals of columns that are kept count in their last digit; others are ``rounded`` already.
    """
    for name, ends in ranges.items():
        dtype = table.expression[name].type()
        digits: float = 0
        if dtype.is_decimal() and name in kept:
            digits = math.inf if dtype.scale is None else dtype.scale  # of PostgreSQL's numeric
        largest = max(map(abs, ends)) * 10**digits
        if name in rounded or (largest > LARGEST_EXACT_INTEGER and not dtype.is_floating()):
            raise ColumnError(
                f"Column '{name}' of {table.name} holds whole numbers or decimals, which a release "
                f"within {'a' if math.isinf(digits) else 'so large a'} range would round",
                hint="declare its scale, such as numeric(12, 2)"
                if math.isinf(digits)
                else "keep it without a range, which releases it exactly, or subtract a constant "
                "from it first",
            )


def check_numbers(table: Table, names: Iterable[str]) -> None:
    """Raise an error for a column that does not exist or does not hold numbers."""
    listed = list(names)
    table.require(listed)
    for name in listed:
        if not table.kind(name).numeric and table.kind(name) is not Kind.EMPTY:
            refuse_no_rows(table)  # a CSV file with a header alone has columns of text
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {table.kind(name)} values, not numbers",
                hint="convert it to numbers first, or merge or keep its values",
            )


def refuse_no_rows(table: Table) -> None:
    """Raise an error for a table without rows."""
    if not run(table, table.expression.limit(1).count().to_pyarrow).as_py():
        raise no_rows(table)


def trees_of(rules: Sequence[Rule]) -> list[Tree]:
    """Return the formulas of a map."""
    return [rule.tree for rule in rules if isinstance(rule, (Formula, Quantized))]


# --- a table released by a map --------------------------------------------------------------------


@dataclass(frozen=True)
class MappedTable:
    """The release of a table by a map; nothing runs before it is counted or written."""

    table: Table
    rules: tuple[Rule, ...]
    strict: bool
    rows: Any
    """The Ibis expression of all that is computed: sources ``v``, results ``r``, by rule."""
    read: Mapping[str, Read] = field(default_factory=dict)
    """The columns that formulas read, by name."""

    @property
    def expression(self) -> Any:
        """The Ibis expression of the release, one column per rule."""
        return self.rows.select(
            **{rule.column: self.rows[f"r{i}"] for i, rule in enumerate(self.rules)}
        )

    @cached_property  # a query over the whole table, tens of milliseconds
    def counts(self) -> MapCounts:
        """The unfit values, counted by one query; raises an error if they may not be released."""
        return self._count(range(len(self.rules)))

    @cached_property  # likewise
    def counts_before_writing(self) -> MapCounts:
        """The same, but for rules that write NULL for all that they refuse: these count as 0.

        ``counts`` has to be looked at if such a rule writes a NULL after all.
        """
        places = [
            i
            for i, rule in enumerate(self.rules)
            if not (isinstance(rule, ProgramRule) and rule.leaves_out_unfit)
        ]
        return self.counts if len(places) == len(self.rules) else self._count(places)

    def _count(self, places: Iterable[int]) -> MapCounts:
        looked_at = {i: self.rules[i] for i in places}
        sums = measured(self.table, self.rows, looked_at, self.read)
        for i, rule in looked_at.items():
            if isinstance(rule, ProgramRule):
                sums |= rule.counted(self.table, self.rows, i)
        row = run(self.table, self.rows.aggregate(**sums).to_pyarrow).to_pylist()[0]
        if not row["rows"]:
            raise no_rows(self.table)
        columns = tuple(column_counts(row, i, rule.column) for i, rule in enumerate(self.rules))
        for i, rule in looked_at.items():
            if isinstance(rule, ProgramRule):
                rule.refuse(row, i)
            refuse_unfit(rule, columns[i], strict=self.strict)
        return MapCounts(int(row["rows"]), columns)


def apply_map(
    table: Table,
    rules: Iterable[Rule],
    *,
    strict: bool = False,
    ranges: Mapping[str, tuple[object, object]] | None = None,
) -> MappedTable:
    """Return the release of a table by rules: only the columns that they name, in their order.

    A ``strict`` release raises an error, when counted or written, if any value is missing, outside
    its range or in no group, or if a formula is undefined. ``ranges`` are declared ranges of
    columns that formulas read, besides those that rules have.
    """
    listed = tuple(map(as_executed, rules))
    check_rules(table, listed)
    read = _read(table, listed, ranges or {})
    own = {rule.column: range_of(rule) for rule in listed if _reads_own(rule)}
    declared = own | {name: column.ends for name, column in read.items()}
    kept = {
        rule.column
        for rule in listed
        if isinstance(rule, Keep) or (isinstance(rule, UniformCells) and rule.listed)
    }
    rounded = rounded_texts(table, kept)
    refuse_rounded(table, {name: ends for name, ends in declared.items() if ends}, kept, rounded)
    table = as_texts(table, rounded) if rounded else table
    rows = table.expression.select(
        **{f"v{i}": _source(table, rule) for i, rule in enumerate(listed) if _reads_own(rule)},
        **{column.held: as_doubles(table, name) for name, column in read.items()},
        **{
            name: value
            for i, rule in enumerate(listed)
            if isinstance(rule, ProgramRule)
            for name, value in rule.inputs(table, i).items()
        },
    )
    rows = join_lists(table, rows, listed)
    clamped = {}
    for column in read.values():  # clamped if the map has a range, otherwise NULL if infinite
        value = rows[column.held]
        finite = ~value.isnan() & (value.abs() <= number(LARGEST_DOUBLE))
        clamped[column.clamped] = (
            null_unless(finite, value)
            if column.ends is None
            else clamp(value, *column.ends, whole=column.whole)
        )
    for i, rule in enumerate(listed):
        if _reads_own(rule) and not isinstance(rule, (Formula, ProgramRule)):
            value, ends = rows[f"v{i}"], range_of(rule)
            if ends is not None:
                high = below_last(rule) if isinstance(rule, UniformCells) else ends[1]
                value = clamp(value, ends[0], high, whole=is_whole(table, rule.column))
            clamped[f"c{i}"] = value
    held = {name: column.clamped for name, column in read.items()}
    programs = [_steps(table, i, rule, held) for i, rule in enumerate(listed)]
    programs += [
        cell_steps(table, cells, f"c{i}", f"r{i}_{name}")
        for i, rule in enumerate(listed)
        if isinstance(rule, CutCells)
        for name, cells in ends_of(rule).items()
    ]
    return MappedTable(table, listed, strict, execute(rows.mutate(**clamped), programs), read)


def _source(table: Table, rule: Rule) -> Any:
    """Return the column that a rule reads, as doubles if it has a range."""
    if range_of(rule) is not None:
        return as_doubles(table, rule.column)
    column = table.expression[rule.column]
    return null_unless(~column.isnan(), column) if column.type().is_floating() else column


def _reads_own(rule: Rule) -> bool:
    """Tell whether a rule reads the column of its own name."""
    return not isinstance(rule, Quantized)


def _read(
    table: Table, rules: Sequence[Rule], ranges: Mapping[str, tuple[object, object]]
) -> dict[str, Read]:
    """Return the columns that formulas read; where a rule has a range for one, that one holds."""
    given = [Keep(name, *ends) for name, ends in ranges.items()]  # type: ignore[arg-type]  # checked there
    own = [rule for rule in (*given, *rules) if _reads_own(rule) and range_of(rule) is not None]
    declared = {rule.column: range_of(rule) for rule in own}
    names = dict.fromkeys(name for tree in trees_of(rules) for name in names_of(tree))
    return {
        name: Read(f"x{j}", is_whole(table, name), declared.get(name))
        for j, name in enumerate(names)
    }


def _steps(table: Table, i: int, rule: Rule, held: Mapping[str, str]) -> Steps:
    """Return the program that computes the result of a rule, column ``r``."""
    value, result = f"c{i}", f"r{i}"
    if isinstance(rule, (UniformCells, CutCells)):
        steps = cell_steps(table, rule, value, result)
    elif isinstance(rule, Lookup):
        steps = label_steps(table, rule, value, result)
    elif isinstance(rule, Formula):
        steps = formula_steps(table.dialect, rule.tree, held, prefix=result)
    elif isinstance(rule, ProgramRule):
        steps = rule.steps(table, i)
    elif isinstance(rule, Quantized):
        steps = _query_steps(table, i, rule, held)
    else:
        steps = _keep(value, result, range_of(rule))
    return steps


def _query_steps(table: Table, i: int, rule: Quantized, held: Mapping[str, str]) -> Steps:
    """Compute a query, clamp the result and put it into cells."""
    answer, value = f"q{i}", f"c{i}"
    rows = yield from formula_steps(table.dialect, rule.tree, held, prefix=answer)
    high = below_last(rule.cells) if isinstance(rule.cells, UniformCells) else float(rule.high)
    yield {value: clamp(rows[answer], float(rule.low), high, whole=True)}
    yield from cell_steps(table, rule.cells, value, f"r{i}")


def _keep(value: str, result: str, ends: tuple[float, float] | None) -> Steps:
    """Release a column unchanged, except minus zero as zero, since equal values must look equal."""
    rows = yield {}
    column = rows[value]
    # Clamping moves minus zero to an end of the range unless the range has zero inside.
    if column.type().is_floating() and (ends is None or ends[0] < 0 < ends[1]):
        zero = number(0.0).cast(column.type())
        column = (column == zero).ifelse(zero, column)
    yield {result: column}


# --- numbers of a column as indices on a step -----------------------------------------------------


@dataclass(frozen=True)
class LatticeSide:
    """A column read as indices: index k stands for low + k step, k = 0, ..., last."""

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
        hidden = "fill or drop them first: which are missing is not hidden"
        wider = "declare a range that holds all"
        for j, side in enumerate(self.sides):
            missing, below, above, between = (int(row[f"{what}{i}_{j}"] or 0) for what in UNFIT)
            steps = "declare the step that they are recorded in"
            if side == self.own:
                steps += ', or write round = "nearest" in the policy'
            _refuse(side.column, missing, "missing", hidden)
            _refuse(side.column, below + above, "outside the declared range", wider)
            _refuse(side.column, between, f"off the declared step of {exactly(side.step)}", steps)
        for j, real in enumerate(self.reals):
            missing, below, above = (int(row[f"real_{w}{i}_{j}"] or 0) for w in UNFIT[:3])
            _refuse(real.column, missing, "missing", hidden)
            _refuse(real.column, below + above, "outside the declared range", wider)
        impossible = int(row.get(f"impossible{i}") or 0)
        if impossible:
            raise ColumnError(
                f"{count_of(impossible, 'record')} {conjugate(impossible, 'is')} impossible by the "
                f"policy of column '{self.column}'",
                hint="correct the records, or the condition in the field 'possible'",
            )


def index_steps(
    dialect: Dialect, side: LatticeSide, columns: tuple[str, str], *, whole: bool
) -> Generator[dict[str, Any], Any, None]:
    """Name the index of a value, a whole number in a double; NULL of a value that has none.

    The index is guessed by one product and one sum, whose error is below 0.19 of a step (see
    ``uniform_steps``). Hence the guess for a value on the step, half a step added, is its index,
    and one comparison with the double nearest to (A + k W) / D, a correctly rounded quotient of
    whole numbers, shows whether the value lies on the step. A value that is rounded to the step is
    compared with the edge of its cell instead, which corrects the guess. The columns are the one
    with the values and the one to name; ``whole``: the values are integers, of which none is NaN.
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
