"""Numeric columns of a table, and their means and covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.maps.unfit_values import refuse_no_rows
from hartley.engines.tables.view import run
from hartley.errors import ColumnError, OptionError, TableError
from hartley.wording import counted, listed, verb_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table

    Floats = NDArray[np.float64]

TREATMENTS = ("refuse", "drop")


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """Columns of numbers without a gap, and columns beside them as they are."""

    names: tuple[str, ...]
    values: Floats
    """A row a record, a column a name."""
    beside: Any
    """An Arrow table of the other columns, of the same rows."""
    dropped: int = 0
    """Rows that were left out because a number is missing or infinite."""

    @property
    def left_out_sentence(self) -> str:
        """Which rows were left out; empty where none was."""
        if not self.dropped:
            return ""
        return (
            f"{counted(self.dropped, 'row')} in which {listed(self.names, joint='or')} is missing "
            f"or infinite {verb_for(self.dropped, 'is')} left out."
        )

    def of(self, names: Sequence[str]) -> Floats:
        """Return some of the columns, in the order of their names; one may be named twice."""
        return self.values[:, [self.names.index(name) for name in names]]


def read_numeric(
    table: Table, names: Sequence[str], beside: Sequence[str] = (), *, missing: str = "refuse"
) -> NumericColumns:
    """Read numeric columns of a table, and others as they are.

    Args:
        table: the table.
        names: columns of numbers; one that is named twice is read once.
        beside: other columns, which may hold anything.
        missing: "refuse" a column with missing or infinite values, or "drop" such rows.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> read_numeric(open_table({"a": [1, 2]}), ["a"]).values.tolist()
        [[1.0], [2.0]]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if missing not in TREATMENTS:
        raise OptionError(
            f"The treatment of missing values '{missing}' is unknown",
            hint="choose 'refuse' or 'drop'",
        )
    columns = list(dict.fromkeys(names))
    named = [*columns, *beside]
    for name in named:
        if named.count(name) > 1:
            raise ColumnError(
                f"Column '{name}' is named twice",
                hint="a column is released perturbed or as it is, once",
            )
    table.require(named)
    for name in columns:
        if not table.kind(name).numeric:
            refuse_no_rows(table)  # a CSV file with a header alone has columns of text
            raise ColumnError(
                f"Column '{name}' of {table.name} does not hold numbers, so it has no covariance",
                hint="choose numeric columns, and name texts that mean missing (--null NA); for "
                "categories use PrivacyDistortion and Pram (hartley curve, hartley pram)",
            )
    rows = run(table, table.expression.select(*named).to_pyarrow)
    if rows.num_rows == 0:
        raise TableError(f"{table.name} has no rows", hint="give a table that has rows")
    values = np.column_stack(
        [
            pc.fill_null(rows.column(place).cast(pa.float64(), safe=False), np.nan).to_numpy()
            for place in range(len(columns))
        ]
    )
    whole = np.isfinite(values)
    if missing == "refuse" and not whole.all():
        name = columns[int(np.flatnonzero(~whole.all(axis=0))[0])]
        raise ColumnError(
            f"Column '{name}' of {table.name} has missing or infinite values",
            hint="leave out these records first, or drop them: --missing drop",
        )
    complete = whole.all(axis=1)
    if not complete.any():
        raise TableError(
            f"No row of {table.name} has a number in every column", hint="choose other columns"
        )
    rest = rows.select(list(range(len(columns), len(named))))
    if not complete.all():
        values, rest = values[complete], rest.filter(pa.array(complete))
    return NumericColumns(tuple(columns), values, rest, int((~complete).sum()))


def moments(values: Floats) -> tuple[Floats, Floats]:
    """Return the means and the covariances of rows of numbers, each row as likely as any other.

    Example:
        >>> [part.tolist() for part in moments(np.array([[0.0], [2.0]]))]
        [[1.0], [[1.0]]]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by name
        centre = values.mean(axis=0)
        centred = values - centre
        return centre, centred.T @ centred / len(values)


def check_names(confidential: Sequence[str], key: Sequence[str]) -> None:
    """Refuse a column that is named twice on one side."""
    for side in (confidential, key):
        for name in side:
            if list(side).count(name) > 1:
                raise ColumnError(f"Column '{name}' is named twice", hint="name it once a side")
