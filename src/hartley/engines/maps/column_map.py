"""Executing a column map on the engine that holds the table, and counting unfit values."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.dialect import null_unless, number
from hartley.engines.maps.categories import as_executed, ends_of, join_lists, label_steps
from hartley.engines.maps.cells import (
    as_doubles,
    below_last,
    cell_steps,
    clamp,
    execute,
    is_whole,
)
from hartley.engines.maps.formula import LARGEST, formula_steps, names_of
from hartley.engines.maps.rules import (
    CutCells,
    Formula,
    Keep,
    Lookup,
    ProgramRule,
    Quantized,
    UniformCells,
    range_of,
)
from hartley.engines.maps.unfit_values import (
    ColumnCounts,
    MapCounts,
    Read,
    check_rules,
    column_counts,
    measured,
    refuse_rounded,
    refuse_unfit,
    trees_of,
)
from hartley.engines.tables.failures import run
from hartley.engines.tables.view import as_texts, rounded_texts
from hartley.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.engines.maps.cells import Steps
    from hartley.engines.maps.rules import Rule
    from hartley.engines.tables.table import Table

__all__ = [
    "ColumnCounts",
    "CutCells",
    "Formula",
    "Keep",
    "Lookup",
    "MapCounts",
    "MappedTable",
    "Quantized",
    "UniformCells",
    "apply_map",
]


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

    @cached_property
    def counts(self) -> MapCounts:
        """The unfit values, counted by one query; raises an error if they may not be released."""
        return self._count(range(len(self.rules)))

    @cached_property
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
        counted = measured(self.table, self.rows, looked_at, self.read)
        for i, rule in looked_at.items():
            if isinstance(rule, ProgramRule):
                counted |= rule.counted(self.table, self.rows, i)
        row = run(self.table, self.rows.aggregate(**counted).to_pyarrow).to_pylist()[0]
        if not row["rows"]:
            raise TableError(
                f"{self.table.name} has no rows", hint="pass a table with at least one row"
            )
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

    Args:
        table: the table, on any engine.
        rules: one rule per released column.
        strict: raise an error, when counted or written, if any value is missing, outside its
            range, in no group, or if a formula is undefined.
        ranges: declared ranges of columns that formulas read, besides those that rules have.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> table = open_table({"age": [17, 30, 120, None], "name": ["A", "B", "C", "D"]})
        >>> mapped = apply_map(table, [UniformCells("age", 0, 100, 10)])
        >>> mapped.expression.to_pyarrow().to_pydict()
        {'age': [15.0, 35.0, 95.0, None]}
        >>> mapped.counts.columns[0].above, mapped.counts.columns[0].missing
        (1, 1)
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
    clamped = {column.clamped: _input(rows, column) for column in read.values()}
    for i, rule in enumerate(listed):
        if _reads_own(rule) and not isinstance(rule, (Formula, ProgramRule)):
            clamped[f"c{i}"] = _clamped(table, rows[f"v{i}"], rule)
    held = {name: column.clamped for name, column in read.items()}
    programs = [_steps(table, i, rule, held) for i, rule in enumerate(listed)]
    programs += [
        cell_steps(table, cells, f"c{i}", f"r{i}_{name}")
        for i, rule in enumerate(listed)
        if isinstance(rule, CutCells)
        for name, cells in ends_of(rule).items()
    ]
    return MappedTable(table, listed, strict, execute(rows.mutate(**clamped), programs), read)


# --- columns ----------------------------------------------------------------------------------


def _source(table: Table, rule: Rule) -> Any:
    """Return the column that a rule reads, as doubles if it has a range."""
    if range_of(rule) is not None:
        return as_doubles(table, rule.column)
    column = table.expression[rule.column]
    return null_unless(~column.isnan(), column) if column.type().is_floating() else column


def _clamped(table: Table, value: Any, rule: Rule) -> Any:
    ends = range_of(rule)
    if ends is None:
        return value
    low, high = ends
    if isinstance(rule, UniformCells):
        high = below_last(rule)
    return clamp(value, low, high, whole=is_whole(table, rule.column))


def _input(rows: Any, column: Read) -> Any:
    """Return the input of a formula: clamped if the map has a range, otherwise NULL if infinite."""
    value = rows[column.held]
    if column.ends is not None:
        return clamp(value, *column.ends, whole=column.whole)
    return null_unless(~value.isnan() & (value.abs() <= number(LARGEST)), value)


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


# --- rules ------------------------------------------------------------------------------------


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
    """Release a column unchanged, except minus zero as zero, since equal values must look equal.

    Clamping moves minus zero to an end of the range unless the range has zero inside.
    """
    rows = yield {}
    column = rows[value]
    if column.type().is_floating() and (ends is None or ends[0] < 0 < ends[1]):
        zero = number(0.0).cast(column.type())
        column = (column == zero).ifelse(zero, column)
    yield {result: column}
