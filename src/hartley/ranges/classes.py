"""Classes of records that share their keys, and how often a confidential value occurs in each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import names_of
from hartley.errors import ColumnError, EngineError, OptionError, TableError
from hartley.exact import parse_step
from hartley.kernels.classes import (
    MOST_CELLS,
    WIDEST_KEY,
    ClassCounts,
    CubeCounter,
    group_keys,
)
from hartley.kernels.pairs import MOST_ROWS
from hartley.ranges.counting import CountedRange, Pairs, Summary
from hartley.ranges.distribution import CountedBeliefs
from hartley.ranges.joint_range import as_counted, encode_arrow, rank_values
from hartley.tables.counts import count_alone, distinct_counts, mixed_radix, values_of
from hartley.tables.opening import open_table
from hartley.tables.view import prepare, run
from hartley.text import count_of, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.tables.view import View

    Variable = str | Sequence[str]
    """A column, or several columns that make one variable together."""


FEW_ROWS = 100_000
"""Tables up to here are grouped by the engine: compiling and numbering would cost more."""
SPARSE = 16
"""A cube has at most so many counters a row."""
LARGEST_GRAPH = 2_000
"""No graph of more vertices is built."""
LARGEST_SEARCH = 100
"""In larger graphs independent sets are improved by exchanges, not searched for completely."""
EXCHANGES, REST = 2_000, 7
"""How often one vertex is put in for another before a search, and how long that one stays out."""
MOST_STEPS = 200_000
"""Branches of one search. A count, not a time, so that a result is the same on every machine."""


def population_sizes(view: View, population: View) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sizes of the classes of equal keys of a table, and of the same in a population.

    Both views have the same keys in the same order. Each side is grouped by its own engine; the
    groups alone meet here. A missing key is a value of its own. A population that has fewer of some
    class does not contain the table and is refused.
    """
    table_groups, population_groups = distinct_counts(view), distinct_counts(population)
    encoded = [
        encode_column(_joined(table_groups.column(i), population_groups.column(i), column.name))
        for i, column in enumerate(view.columns)
    ]
    combined, _ = combine_codes([codes for codes, _ in encoded], [len(v) for _, v in encoded])
    _, classes = np.unique(combined, return_inverse=True)
    inside, outside = classes[: table_groups.num_rows], classes[table_groups.num_rows :]
    width = int(classes.max()) + 1
    sizes = np.bincount(inside, table_groups.column("n").to_numpy(), width).astype(np.int64)
    held = np.bincount(outside, population_groups.column("n").to_numpy(), width).astype(np.int64)
    in_table = sizes > 0
    lacking = int((held < sizes).sum())
    if lacking:
        raise OptionError(
            f"{population.table.name} has fewer records than {view.table.name} in {lacking:,} of "
            f"{int(in_table.sum()):,} classes of equal keys, so it cannot be the population",
            hint="name a table of everybody, with the keys written in the same way",
        )
    return sizes[in_table], held[in_table]


def _joined(ours: Any, theirs: Any, name: str) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Put two Arrow columns into one, if their values can be equal at all."""
    import pyarrow as pa

    columns = [
        pa.table({"c": column.cast(column.type.value_type)})
        if pa.types.is_dictionary(column.type)
        else pa.table({"c": column})
        for column in (ours, theirs)
    ]
    try:
        return pa.concat_tables(columns, promote_options="permissive").column("c")
    except pa.ArrowException:
        raise ColumnError(
            f"Column '{name}' holds values of another type in the population",
            hint="convert it to one type in both tables",
        ) from None


@dataclass(frozen=True)
class KeyClasses(CountedRange):
    """A table by its classes of equal keys: how often each confidential value occurs in each.

    As a joint range the confidential value is the secret and the keys are what is released, so
    that every measure of a relation takes it too.
    """

    counts: ClassCounts
    list_values: Callable[[], list[Any]]
    """Makes the list of the confidential values that the codes stand for, which may be long."""

    @classmethod
    def of(cls, counts: ClassCounts) -> KeyClasses:
        """Return the classes of counted cells; their codes are the confidential values."""
        return cls(counts, lambda: list(range(counts.width)))

    @cached_property  # the list may be long, and one value after another is asked for
    def values(self) -> list[Any]:
        """In their order, a missing one, None, last."""
        return self.list_values()

    def pairs(self) -> Pairs:
        """Return the cells by code: confidential value, class, count."""
        counts = self.counts
        return Pairs(
            counts.codes.astype(np.int64),
            counts.members,
            counts.counts.astype(np.int64),
            (counts.width, len(counts)),
        )

    @cached_property  # counted from all pairs
    def summary(self) -> Summary:
        """Sizes of all ranges and conditional ranges, counted on first use."""
        return Summary.of_pairs(self.pairs())

    def class_counts(self) -> ClassCounts:
        """Return how often each confidential value occurs in each class."""
        return self.counts

    def beliefs(self) -> CountedBeliefs:
        """Return what the keys of each class make somebody believe, in exact fractions."""
        return CountedBeliefs(self.counts)

    def in_order(self, places: NDArray[np.int64]) -> KeyClasses:
        """Return the same classes with the values put in another order, given the place of each."""
        return KeyClasses(
            self.counts.regroup(places),
            lambda: [self.values[code] for code in np.argsort(places).tolist()],
        )


def count_classes(view: View, keys: Sequence[int], confidential: int | None = None) -> KeyClasses:
    """Count the classes of equal keys, and one confidential column within them.

    A missing key is a value of its own, so that two records that lack it are alike in it; a record
    whose confidential value is missing is left out. The order and the index of the rows play no
    part. Large tables on the embedded engine are streamed into a dense cube, or grouped there by
    one integer where the cube would be too large; others are grouped by their engine. One pass
    over the rows.
    """
    if view.rows > MOST_ROWS:
        raise TableError(
            f"{view.table.name} has more than {MOST_ROWS:,} rows", hint="count it in parts"
        )
    at = [*keys, *([] if confidential is None else [confidential])]
    columns = [view.columns[column] for column in at]
    narrow = replace(
        view,
        expression=view.expression.select(**{f"c{i}": f"c{column}" for i, column in enumerate(at)}),
        columns=tuple(columns),
    )
    has_value, streamed = confidential is not None, None
    if has_value and columns[-1].holes:
        narrow = replace(
            narrow,
            expression=narrow.expression.drop_null([f"c{len(keys)}"]),
            columns=(*columns[:-1], replace(columns[-1], keeps_missing=False)),
            rows=view.rows - columns[-1].missing,
        )
    if view.dialect.codes_large_tables and view.rows > FEW_ROWS:
        streamed = run(view.table, lambda: _count_keys(narrow, has_value=has_value))
    counted: KeyClasses = streamed or _group(narrow, has_value=has_value)
    if counted.counts.rows != narrow.rows:
        raise EngineError(
            f"{view.table.name} changed while it was being counted", hint="count it again"
        )
    return counted


def encode_column(column: Any) -> tuple[NDArray[np.int64], list[Any]]:  # noqa: ANN401 - Arrow carries no types
    """Return the codes of an Arrow column and its values in order, a missing one, None, last."""
    column = as_counted(column)
    codes, values = rank_values(column)
    return codes, [*values.to_pylist(), *([None] if column.null_count else [])]


def rows_as_counted(rows: Any) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Return an Arrow table with every column as its values are told apart."""
    import pyarrow as pa

    columns = [as_counted(column) for column in rows.columns]
    return pa.table(columns, names=rows.column_names) if columns else rows


def combine_codes(
    columns: Sequence[NDArray[np.int64]], widths: Sequence[int]
) -> tuple[NDArray[np.int64], int]:
    """Return one integer for each combination of codes, equal exactly where all codes are."""
    combined, width = columns[0].astype(np.int64), max(widths[0], 1)
    for codes, wide in zip(columns[1:], widths[1:], strict=True):
        if width * max(wide, 1) >= WIDEST_KEY:
            distinct, combined = np.unique(combined, return_inverse=True)
            width = distinct.size
        combined, width = combined * max(wide, 1) + codes, width * max(wide, 1)
    return combined, width


# --- columns that are released as they are ------------------------------------------------------


@dataclass(frozen=True)
class SingledOut:
    """How many people have a value of one column that nobody else has."""

    column: str
    alone: int
    """People whose value of the column nobody else has."""
    with_keys: int
    """People whose value of the column nobody else with the same keys has."""
    confidential: bool = False


@dataclass(frozen=True)
class Singling:
    """How many people the columns that are released as they are single out."""

    rows: int
    """The people."""
    columns: tuple[SingledOut, ...]
    together: int
    """People whom nobody else equals in the keys and all these columns; 0 where there are none."""
    has_keys: bool = True

    @property
    def warning(self) -> str:
        """Say how many people are singled out, for a headline; empty where nobody is."""
        if not self.together:
            return ""
        # As many as all columns do, some may single out by themselves.
        worst = [one.column for one in self.columns if one.with_keys == self.together]
        names = worst or [one.column for one in self.columns]
        more = f"{', '.join(names[:2])} and {len(names) - 2:,} more columns"
        named = listed(names) if len(names) <= 3 else more
        released = "it is, singles" if len(names) == 1 else "they are, single"
        return (
            f"Yet {named}, released as {released} out {self.together:,} of "
            f"{count_of(self.rows, 'person')}{self._beside}: leave out what nobody needs, or make "
            "it a key that is coarsened."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Name the columns that single somebody out, and how many they do."""
        return tuple(
            f"{one.column}, released as it is, "
            + ("identifies everybody" if one.alone == self.rows else "singles people out")
            + f": {one.alone:,} of {count_of(self.rows, 'person')} by itself"
            + (f", {one.with_keys:,}{self._beside}." if self.has_keys else ".")
            for one in self.columns
            if one.with_keys
        )

    @property
    def _beside(self) -> str:
        return " together with the keys" if self.has_keys else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON."""
        return {"columns": [asdict(singled) for singled in self.columns], "together": self.together}


def single_out(  # noqa: PLR0913, PLR0917 - the columns, and those that say who is who
    table: object,
    keys: Sequence[str],
    columns: Sequence[str],
    confidential: Sequence[str] = (),
    unit: str | None = None,
    household: str | None = None,
) -> Singling:
    """Count whom columns single out by themselves, with the keys, and all together; exact.

    A missing value is a value like any other. A row is a person, or else the unit, which no row
    lacks, says whose it is; people of one household are alone together. The engine groups the
    rows twice a column.

    Example:
        >>> singling = single_out({"age": ["30s"] * 3, "pay": [1, 1, 2]}, ["age"], ["pay"])
        >>> singling.columns[0].alone, singling.together
        (1, 1)
    """
    opened = open_table(table)
    counted = tuple(
        SingledOut(
            name,
            count_alone(opened, [name], unit, household),
            count_alone(opened, [*keys, name], unit, household),
            confidential=name in confidential,
        )
        for name in columns
    )
    together = count_alone(opened, [*keys, *columns], unit, household) if columns else 0
    rows = opened.expression
    people = rows.count() if unit is None else rows[unit].nunique()
    return Singling(
        int(run(opened, people.to_pyarrow).as_py()), counted, together, has_keys=bool(keys)
    )


def _count_keys(view: View, *, has_value: bool) -> KeyClasses | None:
    """Stream mixed-radix keys into a cube, or let the engine group them; None where none fit."""
    with mixed_radix(view) as rows:
        if not rows.fits:
            return None
        width = rows.codings[-1].width if has_value else 1
        if rows.cells <= min(MOST_CELLS, SPARSE * view.rows):
            cube = CubeCounter(classes=rows.cells // width, width=width)
            for keys in rows.stream():
                cube.add(keys)
            counts, observed = cube.finish()
        else:
            grouped = rows.grouped()
            keys, times = (grouped.column(name).to_numpy() for name in ("key", "n"))
            counts, observed = group_keys(keys.astype(np.int64), times, width)
        coding = rows.codings[-1]

    def list_values() -> list[Any]:
        listed = values_of(coding) if has_value else [None]
        return [listed[code] for code in observed.tolist()]

    return KeyClasses(counts, list_values)


def _group(view: View, *, has_value: bool) -> KeyClasses:
    """Let the engine group the rows and number what it found."""
    grouped = distinct_counts(view)
    encoded = [encode_column(grouped.column(i)) for i in range(len(view.columns))]
    times = grouped.column("n").to_numpy().astype(np.int64)
    keys = encoded[:-1] if has_value else encoded
    classes, _ = combine_codes([codes for codes, _ in keys], [len(values) for _, values in keys])
    codes, values = encoded[-1] if has_value else (np.zeros(times.size, np.int64), [None])
    return KeyClasses(ClassCounts.from_cells(classes, codes, times), lambda: values)


# --- which secrets a release can confuse: a graph, its powers, words that are never confused ------


@dataclass(frozen=True)
class ConfusabilityGraph:
    """Vertices are inputs of a release; two are joined if some output leaves both possible."""

    closed: tuple[int, ...]
    """For every vertex, itself and its neighbours, as bits."""

    @classmethod
    def of_pairs(cls, pairs: Pairs) -> ConfusabilityGraph:
        """Join the secrets that share a released value."""
        if pairs.sizes[0] > LARGEST_GRAPH:
            raise OptionError(
                f"A graph of {pairs.sizes[0]:,} secrets is too large to be searched",
                hint=f"take at most {LARGEST_GRAPH:,} secrets",
            )
        closed = [0] * pairs.sizes[0]
        for released in range(pairs.sizes[1]):
            secrets = pairs.secrets_of(released).tolist()
            together = sum(1 << secret for secret in secrets)
            for secret in secrets:
                closed[secret] |= together
        return cls(tuple(closed))

    @classmethod
    def of_edges(cls, size: int, edges: Iterable[tuple[int, int]]) -> ConfusabilityGraph:
        """Return the graph of listed edges."""
        closed = [1 << vertex for vertex in range(size)]
        for a, b in edges:
            closed[a] |= 1 << b
            closed[b] |= 1 << a
        return cls(tuple(closed))

    def __len__(self) -> int:
        return len(self.closed)

    @cached_property  # a semidefinite programme asks for it several times
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Every pair of vertices that can be confused, the smaller one first."""
        return tuple(
            (vertex, other)
            for vertex, together in enumerate(self.closed)
            for other in members(together >> vertex + 1 << vertex + 1)
        )

    def induced(self, vertices: tuple[int, ...]) -> ConfusabilityGraph:
        """Return the graph of some vertices, numbered in the order given."""
        place = {vertex: at for at, vertex in enumerate(vertices)}
        chosen = sum(1 << vertex for vertex in vertices)
        return ConfusabilityGraph(
            tuple(
                sum(1 << place[other] for other in members(self.closed[vertex] & chosen))
                for vertex in vertices
            )
        )

    def without_dominated(self) -> tuple[int, ...]:
        """Return vertices that suffice: what they carry without error, all of them carry.

        A vertex that is confused with everything another one is confused with, that one included,
        can be replaced by it in every word, and no two words become confused that were not. So
        independent sets of every power, and the theta function, stay as large.
        """
        alive = (1 << len(self)) - 1
        changed = True
        while changed:
            changed = False
            for vertex in range(len(self)):
                if not alive >> vertex & 1:
                    continue
                around = self.closed[vertex] & alive
                for other in members(around & ~(1 << vertex)):
                    if not self.closed[other] & alive & ~around:
                        alive &= ~(1 << vertex)
                        changed = True
                        break
        return tuple(members(alive))

    def times(self, other: ConfusabilityGraph) -> ConfusabilityGraph:
        """Return the graph of two uses: (i, j), vertex i * len(other) + j, is confused in both."""
        width = len(other)
        return ConfusabilityGraph(
            tuple(
                sum(second << at * width for at in members(first))
                for first in self.closed
                for second in other.closed
            )
        )

    def largest_independent_set(self, *, enough: int | None = None) -> IndependentSet:
        """Return vertices no two of which can be confused, as many as are found.

        Exchanges of one vertex for another, then branch and bound with greedy clique covers: exact
        where that ends within ``MOST_STEPS`` branches, which it mostly does up to 100 vertices.
        Larger graphs are left with what the exchanges give.
        """
        search = _IndependentSearch(self, self._exchanged(), enough)
        complete = len(self) <= LARGEST_SEARCH and search.run()
        return IndependentSet(tuple(sorted(search.best)), complete or len(search.best) == enough)

    def independent_sets(self, size: int) -> Iterator[int]:
        """Return independent sets of a size as bits: all, if ``MOST_STEPS`` branches suffice."""
        steps = MOST_STEPS
        stack = [(0, (1 << len(self)) - 1, size)]
        while stack and steps:
            steps -= 1
            chosen, candidates, missing = stack.pop()
            if not missing:
                yield chosen
                continue
            if len(_clique_cover(self, candidates)) < missing:
                continue
            lowest = candidates & -candidates
            vertex = lowest.bit_length() - 1
            stack.append((chosen, candidates ^ lowest, missing))
            stack.append((chosen | lowest, candidates & ~self.closed[vertex], missing - 1))

    def _exchanged(self) -> list[int]:
        """Add a vertex that is free, else exchange one that clashes with a single chosen one."""
        # A vertex that was just put out stays out for a while, so that the search moves on. The
        # draws are seeded: the same graph gives the same set.
        draws = Random(0)  # noqa: S311 - a search, not a secret
        chosen, best, everything = 0, 0, (1 << len(self)) - 1
        blocked_until = [0] * len(self)
        for step in range(EXCHANGES):
            clashes = [(around & chosen).bit_count() for around in self.closed]
            free = [vertex for vertex, count in enumerate(clashes) if count == 0]
            choices = free or [
                vertex
                for vertex, count in enumerate(clashes)
                if count == 1 and not chosen >> vertex & 1 and blocked_until[vertex] <= step
            ]
            if not choices:
                choices = list(members(everything & ~chosen))
            if not choices:
                break  # no two vertices are joined
            vertex = draws.choice(choices)
            for other in members(self.closed[vertex] & chosen):
                blocked_until[other] = step + REST
            chosen = chosen & ~self.closed[vertex] | 1 << vertex
            best = max(best, chosen, key=int.bit_count)
        return list(members(best))


@dataclass(frozen=True)
class IndependentSet:
    """Vertices no two of which are joined."""

    vertices: tuple[int, ...]
    is_largest: bool
    """Whether it is proved that no set is larger."""


def members(bits: int) -> Iterator[int]:
    """Return the places of the bits that are set, in order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _clique_cover(graph: ConfusabilityGraph, candidates: int) -> list[int]:
    """Cover vertices with cliques greedily: no independent set takes two vertices of one."""
    cliques = []
    while candidates:
        clique, fitting = 0, candidates
        while fitting:
            lowest = fitting & -fitting
            clique |= lowest
            fitting &= graph.closed[lowest.bit_length() - 1] ^ lowest
        cliques.append(clique)
        candidates &= ~clique
    return cliques


class _IndependentSearch:
    """Branch and bound for one graph, which starts from a set that is known."""

    def __init__(self, graph: ConfusabilityGraph, best: list[int], enough: int | None) -> None:
        # Vertices with few neighbours first: greedy covers and first branches are then good ones.
        self._order = sorted(range(len(graph)), key=lambda v: graph.closed[v].bit_count())
        self._graph = graph.induced(tuple(self._order))
        self._enough = len(graph) if enough is None else enough
        self._steps = MOST_STEPS
        self.best = best

    def run(self) -> bool:
        """Search on; return whether everything was searched or enough was found."""
        self._branch([], (1 << len(self._graph)) - 1)
        return self._steps > 0 or len(self.best) >= self._enough

    def _branch(self, chosen: list[int], candidates: int) -> None:
        if len(chosen) > len(self.best):
            self.best = [self._order[vertex] for vertex in chosen]
        cliques = _clique_cover(self._graph, candidates)
        # Vertices of the last cliques first: the cover of what remains shrinks clique by clique.
        for count in range(len(cliques), 0, -1):
            for vertex in members(cliques[count - 1]):
                if len(chosen) + count <= len(self.best) or len(self.best) >= self._enough:
                    return
                if not self._steps:
                    return
                self._steps -= 1
                candidates &= ~(1 << vertex)
                self._branch([*chosen, vertex], candidates & ~self._graph.closed[vertex])


# --- whether columns of a table are unrelated, given others or not, or form a Markov chain --------


def are_unrelated(
    table: object,
    variables: Sequence[Variable],
    *,
    given: Variable | None = None,
    bins: Mapping[str, object] | None = None,
    missing: str = "value",
) -> bool:
    r"""Return whether no variable says anything about the others, perhaps given one more.

    .. math:: [X_1, \dots, X_n | y] = [X_1 | y] \times \dots \times [X_n | y] \quad \forall y

    Definition II.1 of Farokhi 2019. Exact. Grows with the number of distinct rows.

    Example:
        >>> coins = {"one": [0, 0, 1, 1], "two": [0, 1, 0, 1], "sum": [0, 1, 1, 2]}
        >>> are_unrelated(coins, ["one", "two"])
        True
        >>> are_unrelated(coins, ["one", "two"], given="sum")
        False
    """
    if len(variables) < 2:
        raise OptionError("Unrelatedness needs at least two variables", hint="name two or more")
    wanted = [*variables, *([] if given is None else [given])]
    codes = _codes(table, wanted, bins, missing)
    condition = codes.pop() if given is not None else np.zeros_like(codes[0])
    return _product_given(codes, condition)


def is_markov_chain(
    table: object,
    variables: Sequence[Variable],
    *,
    bins: Mapping[str, object] | None = None,
    missing: str = "value",
) -> bool:
    r"""Return whether the variables form a Markov uncertainty chain in the given order.

    .. math:: X_1 - X_2 - \dots - X_n : \quad [X_i | x_j, x_l] = [X_i | x_j] \quad i < j < l

    For every three of them, the outer two are unrelated given the middle one (Ding and Farokhi
    2021, Section II). Exact. Grows with the number of distinct rows.

    Example:
        >>> is_markov_chain({"x": [1, 2, 3], "y": [1, 1, 2], "z": [0, 0, 0]}, ["x", "y", "z"])
        True
    """
    if len(variables) < 3:
        raise OptionError(
            "A Markov chain needs at least three variables", hint="name three or more"
        )
    codes = _codes(table, variables, bins, missing)
    return all(
        _product_given([codes[i], codes[k]], codes[j])
        for i, j, k in combinations(range(len(codes)), 3)
    )


def _codes(
    table: object,
    variables: Sequence[Variable],
    bins: Mapping[str, object] | None,
    missing: str,
) -> list[NDArray[np.int64]]:
    """Return the distinct rows of the variables, each variable as codes."""
    groups = [list(names_of(names)) for names in variables]
    columns = [name for names in groups for name in names]
    steps = {name: parse_step(step, column=name) for name, step in (bins or {}).items()}
    view = prepare(
        open_table(table), columns, steps=[steps.get(name) for name in columns], missing=missing
    )
    distinct = distinct_counts(view)
    codes, start = [], 0
    for names in groups:
        at = range(start, start + len(names))
        start += len(names)
        codes.append(
            encode_arrow(distinct.select([f"c{i}" for i in at]), [view.columns[i] for i in at])[0]
        )
    return codes


def _product_given(codes: list[NDArray[np.int64]], condition: NDArray[np.int64]) -> bool:
    """Return whether the joint range is a product of ranges under every value of the condition."""
    joint = condition
    for code in codes:
        _, joint = np.unique(joint * (code.max() + 1) + code, return_inverse=True)
    _, first = np.unique(joint, return_index=True)
    conditions = int(condition.max()) + 1
    together = np.bincount(condition[first], minlength=conditions)
    product = np.ones(conditions, np.int64)
    for code in codes:
        distinct = np.unique(condition * (code.max() + 1) + code)
        sizes = np.bincount(distinct // (code.max() + 1), minlength=conditions)
        product = np.minimum(product * sizes, joint.size + 1)  # more than there are rows is enough
    return bool((together == product).all())
