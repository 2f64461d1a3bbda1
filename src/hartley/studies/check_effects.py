"""How many publications one person can cause here and now: of these data, not a promise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from hartley.engines.crosstabs.contributions import contributions
from hartley.engines.crosstabs.crosstab import Rounding
from hartley.engines.tables.condition import condition_columns, evaluate_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
    from hartley.engines.crosstabs.description import CategoryTree
    from hartley.ranges.schema.schema import Schema

MOST_RECORDS = 100_000
"""Records of the schema that are looked at, over the columns that the outputs use."""
MOST_PAIRS = 300_000
"""Pairs of a person and a record that could be in the place of theirs."""


@dataclass(frozen=True)
class EffectsNow:
    """How many publications a person of these data can cause: fewest and most over all people."""

    fewest: int
    most: int
    exact: bool
    """Whether the publication is a known function of the data: nothing is hidden in it."""


def effects_now(
    tables: Sequence[Crosstab], trees: Sequence[CategoryTree], schema: Schema, data: object
) -> EffectsNow | None:
    r"""Put every possible record in the place of every person's, and count the publications.

    .. math:: B_i = \log_2 |\{ f(D \text{ with } i\text{'s record replaced by } r) : r \in R_i \}|

    with the records of the schema that have the person's public columns. Numbers, nearest and
    midpoint rounding and marks are functions of the true cell and are followed. How cells were
    chosen to be hidden, and random or controlled rounding, is not known: such cells are held
    fixed, so that the counts are lower bounds then. Exact otherwise. The cost grows with the
    kinds of people times the kinds of records; None if there are too many.

    Args:
        tables: the outputs.
        trees: which categories are sums of others.
        schema: the public schema.
        data: the microdata.
    """
    conditions = list(dict.fromkeys(t.where for t in tables if t.where))
    looked_at = {name for text in conditions for name in condition_columns(text)}
    sums = {t.statistic[4:-1] for t in tables if t.statistic != "count"}
    dims = {dim for table in tables for dim in table.dims}
    names = sorted(looked_at | sums | dims)
    public = [n for n, column in schema.columns.items() if column.kind == "public"]
    if not schema.columns.keys() >= set(names):
        return None
    values = [_values(schema, name) for name in names]
    if any(v is None for v in values) or prod(len(v or ()) for v in values) > MOST_RECORDS:
        return None
    columns = dict(zip(names, zip(*product(*(v or () for v in values)), strict=True), strict=True))
    held = [evaluate_condition(c, {n: list(v) for n, v in columns.items()}) for c in conditions]
    truths = list(zip(*(truth.tolist() for truth in held), strict=True))
    possible = _kinds(columns, truths, tables, trees, public)
    listed = contributions(data, names, conditions)
    present = {name: [part.keys[at] for part in listed] for at, name in enumerate(names)}
    people = _kinds(present, [part.held for part in listed], tables, trees, public)
    if len(set(people)) * len(set(possible)) > MOST_PAIRS:
        return None
    truth: dict[tuple[int, int], Fraction] = {}
    for kind, part in zip(people, listed, strict=True):
        for cell, amount in kind.cells:
            truth[cell] = truth.get(cell, Fraction(0)) + part.rows * amount
    by_public: dict[tuple[str, ...], set[_Kind]] = {}
    for kind in possible:
        by_public.setdefault(kind.public, set()).add(kind)
    functions = [_functions(table) for table in tables]

    def shown(cell: tuple[int, int], value: Fraction) -> object:
        return functions[cell[0]](tables[cell[0]].cells[cell[1]], value)

    counts = [
        len({_change(shown, truth, kind, other) for other in by_public.get(kind.public, {kind})})
        for kind in set(people)
    ]
    hidden = any(
        cell.kind == "hidden" or (cell.kind == "rounded" and not _follows(table))
        for table in tables
        for cell in table.cells
    )
    return EffectsNow(min(counts, default=1), max(counts, default=1), exact=not hidden)


@dataclass(frozen=True)
class _Kind:
    """Records that the outputs treat alike: the cells they count in, and how much."""

    cells: tuple[tuple[tuple[int, int], Fraction], ...]
    public: tuple[str, ...]


def _values(schema: Schema, name: str) -> list[Any] | None:
    """Return the finite values of a column, as they are written in tables; None without them."""
    column = schema.columns[name]
    if column.values is not None:
        return list(column.values)
    if column.low is None or column.high is None or not column.step:
        return None
    count = int((column.high - column.low) / column.step) + 1
    numbers = [column.low + i * column.step for i in range(min(count, MOST_RECORDS + 1))]
    return [int(n) if Fraction(n).denominator == 1 else Fraction(n) for n in numbers]


def _kinds(
    columns: Mapping[str, Sequence[Any]],
    held: Sequence[tuple[bool, ...]],
    tables: Sequence[Crosstab],
    trees: Sequence[CategoryTree],
    public: Sequence[str],
) -> list[_Kind]:
    """Return for each record the published cells that it counts in."""
    size = len(next(iter(columns.values()), ()))
    conditions = list(dict.fromkeys(table.where for table in tables if table.where))
    places = [{cell.keys: at for at, cell in enumerate(table.cells)} for table in tables]
    above = {
        (tree.dim, part): parent
        for tree in trees
        for parent, parts in tree.parents.items()
        for part in parts
    }
    kinds = []
    for row in range(size):
        cells: list[tuple[tuple[int, int], Fraction]] = []
        for number, table in enumerate(tables):
            if table.where and not held[row][conditions.index(table.where)]:
                continue
            amount = Fraction(1)
            if table.statistic != "count":
                text = str(columns[table.statistic[4:-1]][row])
                amount = Fraction(0 if text == "missing" else text) * 10**table.places
            sets = [_sets(above, dim, str(columns[dim][row]).strip()) for dim in table.dims]
            cells += [
                ((number, places[number][keys]), amount)
                for keys in product(*sets)
                if keys in places[number]
            ]
        fixed = tuple(str(columns[name][row]).strip() for name in public if name in columns)
        kinds.append(_Kind(tuple(cells), fixed))
    return kinds


def _sets(above: Mapping[tuple[str, str], str], dim: str, key: str) -> list[str | None]:
    sets: list[str | None] = [None, key]
    while (dim, key) in above:
        key = above[dim, key]
        sets.append(key)
    return sets


def _change(
    shown: Callable[[tuple[int, int], Fraction], object],
    truth: Mapping[tuple[int, int], Fraction],
    kind: _Kind,
    other: _Kind,
) -> frozenset[tuple[tuple[int, int], object]]:
    """Return what a publication shows differently if one record takes the place of another."""
    changes: dict[tuple[int, int], Fraction] = {}
    for cell, amount in kind.cells:
        changes[cell] = changes.get(cell, Fraction(0)) - amount
    for cell, amount in other.cells:
        changes[cell] = changes.get(cell, Fraction(0)) + amount
    different = set()
    for cell, change in changes.items():
        before = truth.get(cell, Fraction(0))
        text = shown(cell, before + change)
        if change and text != shown(cell, before):
            different.add((cell, text))
    return frozenset(different)


def _follows(table: Crosstab) -> bool:
    rounding = table.described.get("rounding")
    return rounding is None or Rounding.parse(str(rounding)).kind in {"nearest", "midpoint"}


def _functions(table: Crosstab) -> Callable[[PublishedCell, Fraction], object]:
    """Return what a cell would show for a true value, its treatment held fixed."""
    follows, written = _follows(table), table.described.get("rounding")
    rounding = None if written is None else Rounding.parse(str(written))
    marks = sorted({(c.low, c.high) for c in table.cells if c.kind == "mark"}, key=str)

    def shown(cell: PublishedCell, value: Fraction) -> object:
        if cell.kind == "hidden" or not follows:
            return None
        if cell.kind == "rounded" and rounding is not None:
            return rounding.round(int(value // 10**table.places))
        for low, high in marks:
            if (low is None or low <= value) and (high is None or value <= high):
                return low, high
        return value

    return shown
