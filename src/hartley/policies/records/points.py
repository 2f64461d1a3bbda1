"""Read the numeric columns of a table as points, one a record, and refuse unsuitable columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.tables.sources import open_table
from hartley.engines.tables.table import Kind, names_of
from hartley.engines.tables.view import keep_texts, run
from hartley.errors import ColumnError, OptionError, TableError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.ranges.relations.classes import rows_as_counted
from hartley.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table

LARGEST = 1e150
"""Larger numbers have squares that no double holds."""
ADVICE = {
    Kind.TEXT: "text, which has no averages",
    Kind.BOOLEAN: "yes and no, which have no averages",
    Kind.TIME: "times, which are not plain numbers",
    Kind.EMPTY: "no value at all",
}


@dataclass(frozen=True, eq=False)
class Records:
    """Numbers to group by, one row a record, and columns to release beside them."""

    table: str
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    kept: Any
    """An Arrow table of the columns that are released as they are."""
    paths: tuple[str, ...] = ()
    """The files that they were read from."""

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.values.shape[0])

    def points(self, *, standardise: bool) -> NDArray[np.float64]:
        """Return the records around their mean, every column of standard deviation 1 if wished."""
        centred = self.values - self.values.mean(axis=0)
        if standardise:
            # First to about 1, so that no square overflows or vanishes.
            centred /= np.abs(centred).max(axis=0)
            centred /= np.sqrt(np.square(centred).mean(axis=0))
        return np.asarray(centred)


def read_records(
    table: object, k: int, columns: str | Sequence[str] | None, keep: str | Sequence[str]
) -> Records:
    """Read the columns to group by and those to keep in one pass, and refuse unsuitable ones.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group.
        columns: numeric columns; None for all that are not kept.
        keep: columns to release as they are.

    Example:
        >>> read_records({"age": [30, 40], "sex": ["f", "m"]}, 2, "age", "sex").values.tolist()
        [[30.0], [40.0]]
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 2:
        raise OptionError(
            f"The group size k = {k} is not a whole number of 2 or more",
            hint="choose 3 to 10, as statistics offices do",
        )
    opened = open_table(table)
    kept_names = list(names_of(keep))
    asked = (
        [c for c in opened.columns if c not in kept_names]
        if columns is None
        else list(names_of(columns))
    )
    _check_columns(opened, asked, kept_names)
    opened = keep_texts(opened, kept_names, exact=True)
    rows = run(opened, opened.expression.select(*asked, *kept_names).to_pyarrow)
    _refuse_empty(opened, rows.num_rows)
    if rows.num_rows < k:
        raise OptionError(
            f"The group size k = {k:,} is larger than the "
            f"{counted(rows.num_rows, 'row')} of {opened.name}",
            hint="choose a smaller k, or give more records",
        )
    numbers = [_numbers(rows.column(i), name, opened.name) for i, name in enumerate(asked)]
    beside = rows_as_counted(rows.select(kept_names))
    return Records(opened.name, tuple(asked), np.column_stack(numbers), beside, opened.paths)


def _refuse_empty(table: Table, rows: int | None = None) -> None:
    if not (run(table, table.expression.count().to_pyarrow).as_py() if rows is None else rows):
        raise TableError(f"{table.name} has no rows", hint="give a table that has rows")


def _check_columns(table: Table, asked: list[str], kept_names: list[str]) -> None:
    if not asked:
        raise ColumnError(
            f"No column of {table.name} is left to group by", hint="name at least one"
        )
    named = [*asked, *kept_names]
    for name in named:
        if named.count(name) > 1:
            raise ColumnError(
                f"Column '{name}' is named twice",
                hint="name it once, among the columns to group by or among those to keep",
            )
    table.require(named)
    for name in asked:
        kind = table.kind(name)
        if not kind.numeric:
            _refuse_empty(table)  # an empty CSV file has columns of no kind
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {ADVICE[kind]}",
                hint="convert it to numbers, leave it out, or keep it as it is (keep=, --keep)",
            )


def _numbers(column: Any, name: str, table: str) -> NDArray[np.float64]:  # noqa: ANN401 - an Arrow column
    """Return the numbers of a column; each must be there, and they must differ."""
    import pyarrow as pa

    if column.null_count == 0:
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    if column.null_count or np.isnan(values).any():
        raise ColumnError(
            f"Column '{name}' of {table} has missing values",
            hint="fill them in or leave out these records first: no group can hold them",
        )
    if not np.abs(values).max() <= LARGEST:
        raise ColumnError(
            f"Column '{name}' of {table} holds numbers that are infinite or too large to square",
            hint=f"scale it to numbers below {LARGEST:g}",
        )
    if np.abs(values).max() >= LARGEST_EXACT_INTEGER and not pa.types.is_floating(column.type):
        raise ColumnError(
            f"Column '{name}' of {table} holds whole numbers beyond 2^53, which would be rounded",
            hint="subtract a constant first, leave it out, or keep it as it is (keep=, --keep)",
        )
    if values.min() == values.max():
        raise ColumnError(
            f"Column '{name}' of {table} has only one value, so it cannot group anything",
            hint="leave it out, or keep it as it is (keep=, --keep)",
        )
    return values
