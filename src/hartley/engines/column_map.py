"""Execute a column map on the engine that holds the table, and count what it meets there."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hartley.engines.categories import (
    MOST_COMPARED,
    look_up_steps,
    search_label_steps,
    search_lists,
)
from hartley.engines.cells import (
    MOST_NESTED,
    Grid,
    clamp,
    compare_steps,
    grid_steps,
    uniform_steps,
)
from hartley.engines.formula import LARGEST, formula_steps, names_of, null_unless, number
from hartley.engines.rules import CutCells, Formula, Keep, Lookup, UniformCells, range_of
from hartley.engines.table import Kind, Table
from hartley.engines.view import run
from hartley.errors import ColumnError, OptionError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.engines.cells import Steps
    from hartley.engines.rules import Rule

__all__ = [
    "ColumnCounts",
    "CutCells",
    "Formula",
    "Keep",
    "Lookup",
    "MapCounts",
    "MappedTable",
    "UniformCells",
    "apply_map",
]

MOST_EXACT_DIGITS = 15
"""The embedded engine divides decimals of more digits than this with two roundings."""


@dataclass(frozen=True)
class ColumnCounts:
    """In how many rows a rule met something that it had to deal with."""

    column: str
    missing: int
    """NULL or NaN; released as NULL."""
    below: int
    """Below the range; clamped to its lower end."""
    above: int
    """Above the range; clamped to its upper end."""
    unknown: int
    """In no group; released as the label for all others."""
    undefined: int
    """Present, but the formula has no value there; released as NULL. Known once written."""


@dataclass(frozen=True)
class MapCounts:
    """What a map met in a table."""

    rows: int
    columns: tuple[ColumnCounts, ...]


@dataclass(frozen=True)
class MappedTable:
    """A table as a map releases it; nothing runs before it is counted or written."""

    table: Table
    rules: tuple[Rule, ...]
    strict: bool
    rows: Any
    """The Ibis expression of all that is computed: sources ``v``, results ``r``, by rule."""

    @property
    def expression(self) -> Any:
        """The Ibis expression of what is released, a column a rule."""
        return self.rows.select(
            **{rule.column: self.rows[f"r{i}"] for i, rule in enumerate(self.rules)}
        )

    @cached_property
    def counts(self) -> MapCounts:
        """What the map meets, found by one query; refused where that may not be released."""
        measured: dict[str, Any] = {"rows": self.rows.count()}
        for i, rule in enumerate(self.rules):
            met = _met(self.table, self.rows, i, rule)
            measured |= {f"{what}{i}": found.sum() for what, found in met.items()}
        found = run(self.table, self.rows.aggregate(**measured).to_pyarrow).to_pylist()[0]
        if not found["rows"]:
            raise TableError(
                f"{self.table.name} has no rows", hint="pass a table with at least one row"
            )
        kinds = [field.name for field in fields(ColumnCounts)[1:]]
        columns = tuple(
            ColumnCounts(rule.column, *(int(found.get(f"{kind}{i}") or 0) for kind in kinds))
            for i, rule in enumerate(self.rules)
        )
        for rule, counted in zip(self.rules, columns, strict=True):
            refuse_met(rule, counted, strict=self.strict)
        return MapCounts(int(found["rows"]), columns)


def apply_map(table: Table, rules: Iterable[Rule], *, strict: bool = False) -> MappedTable:
    """Return a table as rules release it: only the columns that they name, in their order.

    Args:
        table: the table, on any engine.
        rules: one a released column.
        strict: refuse, when counted or written, a table with any value that is missing, outside
            its range, in no group or where a formula is undefined.

    Example:
        >>> from hartley.engines.sources import open_table
        >>> table = open_table({"age": [17, 30, 120, None], "name": ["A", "B", "C", "D"]})
        >>> mapped = apply_map(table, [UniformCells("age", 0, 100, 10)])
        >>> mapped.expression.to_pyarrow().to_pydict()
        {'age': [15.0, 35.0, 95.0, None]}
        >>> mapped.counts.columns[0].above, mapped.counts.columns[0].missing
        (1, 1)
    """
    listed = tuple(
        rule.as_cuts() if isinstance(rule, UniformCells) and not rule.fits else rule
        for rule in rules
    )
    _check_rules(table, listed)
    inputs = _inputs(listed)
    rows = table.expression.select(
        **{f"v{i}": _source(table, rule) for i, rule in enumerate(listed)},
        **{held: _number(table, name) for name, held in inputs.items()},
    )
    rows = _join_lists(table, rows, listed)
    ranges = {rule.column: range_of(rule) for rule in listed}
    clamped = {held: _input(table, rows[held], name, ranges) for name, held in inputs.items()}
    for i, rule in enumerate(listed):
        if not isinstance(rule, Formula):
            clamped[f"c{i}"] = _clamped(table, rows[f"v{i}"], rule)
    programs = [_steps(table, i, rule, inputs) for i, rule in enumerate(listed)]
    return MappedTable(table, listed, strict, _execute(rows.mutate(**clamped), programs))


def _execute(rows: Any, programs: list[Steps]) -> Any:
    """Take every program one step further at a time, so that the steps of all share queries."""
    made = {program: next(program) for program in programs}
    while made:
        new = {name: value for columns in made.values() for name, value in columns.items()}
        rows = rows.mutate(**new) if new else rows
        going, made = list(made), {}
        for program in going:
            try:
                made[program] = program.send(rows)
            except StopIteration:
                continue
    return rows


# --- columns ----------------------------------------------------------------------------------


def _number(table: Table, name: str) -> Any:
    """Return a column as doubles, each the nearest one."""
    column = table.expression[name]
    dtype = column.type()
    digits = (dtype.precision or math.inf) if dtype.is_decimal() else 0
    if table.engine == "duckdb" and digits > MOST_EXACT_DIGITS:
        column = column.cast("string")
    return column.cast("float64")


def _source(table: Table, rule: Rule) -> Any:
    """Return the column that a rule reads, as doubles where it has a range."""
    if range_of(rule) is not None:
        return _number(table, rule.column)
    column = table.expression[rule.column]
    return null_unless(~column.isnan(), column) if column.type().is_floating() else column


def _clamped(table: Table, value: Any, rule: Rule) -> Any:
    ends = range_of(rule)
    if ends is None:
        return value
    low, high = ends
    if isinstance(rule, UniformCells) and low < high:
        high = math.nextafter(high, -math.inf)  # the last cell is closed
    return clamp(value, low, high, whole=_is_whole(table, rule.column))


def _input(table: Table, value: Any, name: str, ranges: Mapping[str, Any]) -> Any:
    """Return what a formula reads: clamped where the map says how, else NULL where infinite."""
    ends = ranges.get(name)
    if ends is not None:
        return clamp(value, *ends, whole=_is_whole(table, name))
    return null_unless(~value.isnan() & (value.abs() <= number(LARGEST)), value)


def _is_whole(table: Table, name: str) -> bool:
    """Tell whether a column holds integers, of which none is NaN."""
    return table.kind(name) is Kind.INTEGER


def _inputs(rules: Sequence[Rule]) -> dict[str, str]:
    """Return a name for every column that formulas read."""
    trees = [rule.tree for rule in rules if isinstance(rule, Formula)]
    names = dict.fromkeys(name for tree in trees for name in names_of(tree))
    return {name: f"x{j}" for j, name in enumerate(names)}


# --- rules ------------------------------------------------------------------------------------


def _steps(table: Table, i: int, rule: Rule, inputs: Mapping[str, str]) -> Steps:
    """Return the program that computes the result of a rule, column ``r``."""
    value, result = f"c{i}", f"r{i}"
    keys, values, starts = _list_names(i)
    if isinstance(rule, UniformCells):
        steps = uniform_steps(rule, value, result)
    elif isinstance(rule, CutCells) and _is_listed(table, rule):
        steps = grid_steps(Grid.over(_edges(rule)), value, (keys, values, starts), result)
    elif isinstance(rule, CutCells):
        steps = compare_steps(_edges(rule), rule.values, value, result)
    elif isinstance(rule, Lookup) and _is_listed(table, rule):
        steps = search_label_steps(rule, value, (keys, values, starts), result)
    elif isinstance(rule, Lookup):
        steps = look_up_steps(rule, value, result)
    elif isinstance(rule, Formula):
        steps = formula_steps(rule.tree, inputs, prefix=result)
    else:
        steps = _keep(value, result)
    return steps


def _keep(value: str, result: str) -> Steps:
    rows = yield {}
    yield {result: rows[value]}


def _edges(rule: CutCells) -> list[float]:
    return [float(edge) for edge in rule.edges]


def _is_listed(table: Table, rule: Rule) -> bool:
    """Tell whether a rule is lists to search: the embedded engine is slow at nested cases."""
    many = (isinstance(rule, CutCells) and len(rule.values) > MOST_NESTED) or (
        isinstance(rule, Lookup) and len(rule.groups) > MOST_COMPARED
    )
    return many and table.engine == "duckdb"


def _list_names(i: int) -> tuple[str, str, str]:
    return f"keys{i}", f"values{i}", f"starts{i}"


def _join_lists(table: Table, rows: Any, rules: Sequence[Rule]) -> Any:
    """Give every row the lists that are searched: one shared value, not a copy a row."""
    import ibis
    import pyarrow as pa

    lists: dict[str, Any] = {}
    for i, rule in enumerate(rules):
        if not _is_listed(table, rule):
            continue
        if isinstance(rule, CutCells):
            edges = _edges(rule)
            content: tuple[Any, ...] = (edges[:-1], rule.values, Grid.over(edges).starts)
        else:
            assert isinstance(rule, Lookup)
            content = search_lists(rule)
        named = zip(_list_names(i), content, strict=False)
        lists |= {name: pa.array([list(items)]) for name, items in named}
    # A join by value would be quicker for categories, but loses the order of the rows.
    return rows.cross_join(ibis.memtable(pa.table(lists))) if lists else rows


# --- checks and counts ------------------------------------------------------------------------


def _check_rules(table: Table, rules: Sequence[Rule]) -> None:
    names = [rule.column for rule in rules]
    if not rules:
        raise OptionError("The map names no column", hint="give a rule for what is to be released")
    if len({name.lower() for name in names}) < len(names):
        raise OptionError(
            "Two rules of the map name one column", hint="give every column one rule, case aside"
        )
    table.require(names)
    numeric = [rule.column for rule in rules if range_of(rule) is not None]
    formulas = [rule.tree for rule in rules if isinstance(rule, Formula)]
    read = [name for tree in formulas for name in names_of(tree)]
    table.require(read)
    for name in (*numeric, *read):
        if not table.kind(name).numeric and table.kind(name) is not Kind.EMPTY:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {table.kind(name)} values, not numbers",
                hint="convert it to numbers first, or merge or keep its values",
            )
    for rule in rules:
        if isinstance(rule, Lookup):
            _check_categories(table, rule)


def _check_categories(table: Table, rule: Lookup) -> None:
    kind, dtype = table.kind(rule.column), table.expression.schema()[rule.column]
    fitting = {
        str: dtype.is_string(),
        int: kind.numeric,
        bool: kind is Kind.BOOLEAN,
    }[type(rule.groups[0][0])]
    if not fitting and kind is not Kind.EMPTY:
        raise ColumnError(
            f"Column '{rule.column}' of {table.name} holds {kind} values, unlike its groups",
            hint="write the values of the groups as the column has them",
        )


def _met(table: Table, rows: Any, i: int, rule: Rule) -> dict[str, Any]:
    """Return what is counted of a rule, by name."""
    value = rows[f"v{i}"]
    if isinstance(rule, Lookup):
        return {"missing": value.isnull(), "unknown": rows[f"r{i}_unknown"]}
    ends = range_of(rule)
    if ends is None:
        return {"missing": value.isnull()}
    met = {
        "missing": value.isnull(),
        "below": value < number(ends[0]),
        "above": value > number(ends[1]),
    }
    if not _is_whole(table, rule.column):
        met["missing"] |= value.isnan()
        met["above"] &= ~value.isnan()
    return met


def refuse_met(rule: Rule, counted: ColumnCounts, *, strict: bool) -> None:
    """Refuse what a strict map, or groups without a label for others, may not release."""
    outside = counted.below + counted.above
    refused = [
        (strict, counted.missing, "missing", "fill or drop them first"),
        (strict, outside, "outside the declared range", "correct them first"),
        (strict, counted.unknown, "in no group", "add them to a group"),
        (strict, counted.undefined, "without a value of the formula", "see to its other columns"),
    ]
    if isinstance(rule, Lookup) and rule.other is None:
        refused.append((True, counted.unknown, "in no group", "give a label for all others"))
    for applies, rows, what, hint in refused:
        if applies and rows:
            values = "1 value" if rows == 1 else f"{rows:,} values"
            verb = "is" if rows == 1 else "are"
            raise ColumnError(
                f"{values} of column '{counted.column}' {verb} {what}",
                hint=hint + (", or release without strict" if strict else ""),
            )
