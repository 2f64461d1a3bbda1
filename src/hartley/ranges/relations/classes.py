"""Classes of records that share their keys, and how often a confidential value occurs in each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.counting.classes import count_alone, mixed_radix, values_of
from hartley.engines.counting.pairs import distinct_counts
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.view import run
from hartley.errors import ColumnError, EngineError, OptionError, TableError
from hartley.kernels.cube import (
    MOST_CELLS,
    MOST_ROWS,
    WIDEST_KEY,
    ClassCounts,
    CubeCounter,
    group_keys,
)
from hartley.ranges.relations.beliefs import CountedBeliefs
from hartley.ranges.relations.counting import CountedRange, Pairs, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.view import View


def population_sizes(view: View, population: View) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sizes of the classes of equal keys of a table, and of the same in a population.

    Each side is grouped by its own engine; the groups alone meet here. A missing key is a value
    of its own. A population that has fewer of some class does not contain the table and is
    refused.

    Args:
        view: the keys of the table, with missing values kept.
        population: the same keys, in the same order, of the population.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> from hartley.engines.tables.view import prepare
        >>> people = prepare(open_table({"age": [30, 30, 40, 50]}), ["age"], missing="value")
        >>> sample = prepare(open_table({"age": [30, 40]}), ["age"], missing="value")
        >>> population_sizes(sample, people)
        (array([1, 1]), array([2, 1]))
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


FEW_ROWS = 100_000
"""Tables up to here are grouped by the engine: compiling and numbering would cost more."""
SPARSE = 16
"""A cube has at most so many counters a row."""


@dataclass(frozen=True)
class KeyClasses(CountedRange):
    """A table by its classes of equal keys: how often each confidential value occurs in each.

    As a joint range the confidential value is the secret and the keys are what is released, so
    that every measure of a relation takes it too.

    Example:
        >>> cells = np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]])
        >>> table = KeyClasses.of(ClassCounts.from_cells(*cells))
        >>> table.summary.secrets, table.summary.secret_sizes
        (2, array([2, 1]))
    """

    counts: ClassCounts
    list_values: Callable[[], list[Any]]
    """Makes the list of the confidential values that the codes stand for, which may be long."""

    @classmethod
    def of(cls, counts: ClassCounts) -> KeyClasses:
        """Return the classes of counted cells; their codes are the confidential values."""
        return cls(counts, lambda: list(range(counts.width)))

    @cached_property
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

    @cached_property
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

    Args:
        view: the columns, with missing values kept.
        keys: which of its columns are keys.
        confidential: which is confidential; without one every record has the same value.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> from hartley.engines.tables.view import prepare
        >>> table = open_table({"age": [30, 30, None, None, 30], "ill": ["a", "b", "a", "a", None]})
        >>> classes = count_classes(prepare(table, ["age", "ill"], missing="value"), [0], 1)
        >>> classes.counts.sizes, classes.counts.distinct, classes.values
        (array([2, 2]), array([2, 1]), ['a', 'b'])
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
    """Return the codes of an Arrow column and its values in order, a missing one, None, last.

    Example:
        >>> import pyarrow as pa
        >>> encode_column(pa.chunked_array([["b", None, "a", "b"]]))
        (array([1, 2, 0, 1]), ['a', 'b', None])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = as_counted(column)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), [None] if len(column) else []
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = flat.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(order.size + 1, np.int64)
    rank[order] = np.arange(order.size)
    rank[-1] = order.size
    codes = encoded.indices.fill_null(order.size).to_numpy(zero_copy_only=False)
    values = encoded.dictionary.take(pa.array(order)).to_pylist()
    return rank[codes], [*values, *([None] if encoded.null_count else [])]


def as_counted(column: Any) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Return an Arrow column as its values are told apart: NaN is missing, minus zero is zero.

    What is released must be this too: records that count as alike would differ in the file.

    Example:
        >>> import pyarrow as pa
        >>> as_counted(pa.array([-0.0, float("nan"), 1.5])).to_pylist()
        [0.0, None, 1.5]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):  # which may list values that never occur
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):
        return column
    column = pc.add(column, pa.scalar(0, column.type))
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def rows_as_counted(rows: Any) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Return an Arrow table with every column as its values are told apart."""
    import pyarrow as pa

    columns = [as_counted(column) for column in rows.columns]
    return pa.table(columns, names=rows.column_names) if columns else rows


def combine_codes(
    columns: Sequence[NDArray[np.int64]], widths: Sequence[int]
) -> tuple[NDArray[np.int64], int]:
    """Return one integer for each combination of codes, equal exactly where all codes are.

    Example:
        >>> combine_codes([np.array([0, 1, 1]), np.array([2, 0, 2])], [2, 3])
        (array([2, 3, 5]), 6)
    """
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
    """How many records have a value of one column that nobody else has."""

    column: str
    alone: int
    """Records whose value of the column occurs once."""
    with_keys: int
    """Records whose value of the column occurs once among those with the same keys."""
    confidential: bool = False
    """Whether the column is confidential, so that nobody is looked for by it."""


@dataclass(frozen=True)
class Singling:
    """How many records the columns that are released as they are single out."""

    rows: int
    columns: tuple[SingledOut, ...]
    together: int
    """Records that no other equals in the keys and all these columns; 0 where there are none."""
    has_keys: bool = True

    @property
    def identifying(self) -> tuple[str, ...]:
        """The columns that, together with the keys, single out more than half of the records.

        Nobody looks for people by a confidential column, unless it is a name in disguise.
        """
        return tuple(
            singled.column
            for singled in self.columns
            if 2 * (singled.alone if singled.confidential else singled.with_keys) > self.rows
        )

    @property
    def warning(self) -> str:
        """Name the identifying columns, for a headline; empty where there is none."""
        if not self.identifying:
            return ""
        alone = len(self.identifying) == 1
        released = "released as it is, singles" if alone else "released as they are, single"
        return f"Yet {' and '.join(self.identifying)}, {released} people out."

    @property
    def sentences(self) -> tuple[str, ...]:
        """Name the columns that single somebody out, and how many they do."""
        sentences = [self._sentence(singled) for singled in self.columns if singled.with_keys]
        if len(self.columns) > 1 and self.together:
            beside = " with the keys" * self.has_keys
            sentences.append(
                f"All columns that are released as they are, together{beside}, single out "
                f"{self.together:,} of {self.rows:,} records."
            )
        return tuple(sentences)

    def _sentence(self, singled: SingledOut) -> str:
        verb = (
            "nearly identifies people"
            if singled.column in self.identifying
            else "singles people out"
        )
        if singled.alone == self.rows:
            verb = "identifies everybody"
        beside = f", {singled.with_keys:,} together with the keys" if self.has_keys else ""
        return (
            f"{singled.column}, released as it is, {verb}: {singled.alone:,} of {self.rows:,} "
            f"records by itself{beside}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON."""
        return {"columns": [asdict(singled) for singled in self.columns], "together": self.together}


def single_out(
    table: object, keys: Sequence[str], columns: Sequence[str], confidential: Sequence[str] = ()
) -> Singling:
    """Count whom columns single out by themselves, with the keys, and all together; exact.

    A missing value is a value like any other. The engine groups the rows twice a column.

    Args:
        table: the released rows, anything that ``open_table`` opens.
        keys: the columns that are shared on purpose; none where no column is.
        columns: those that are released as they are.
        confidential: those of them that should stay unknown.

    Example:
        >>> singling = single_out({"age": ["30s"] * 3, "pay": [1, 1, 2]}, ["age"], ["pay"])
        >>> singling.columns[0].alone, singling.together
        (1, 1)
    """
    opened = open_table(table)
    counted = tuple(
        SingledOut(
            name,
            count_alone(opened, [name]),
            count_alone(opened, [*keys, name]),
            confidential=name in confidential,
        )
        for name in columns
    )
    together = count_alone(opened, [*keys, *columns]) if columns else 0
    rows = int(run(opened, opened.expression.count().to_pyarrow).as_py())
    return Singling(rows, counted, together, has_keys=bool(keys))


# --- ways to count ----------------------------------------------------------------------------


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
