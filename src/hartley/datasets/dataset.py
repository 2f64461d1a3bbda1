"""The Dataset class: a table with its name, units and origin."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

HALF_HOURS = tuple(f"{end // 60 % 24}:{end % 60:02d}" for end in range(30, 1441, 30))
"""The 48 columns of a day of half-hour readings, each named after the end of its half hour."""


@dataclass(frozen=True)
class Dataset:
    """A table with its name, units and origin; generated data are marked as synthetic.

    Example:
        >>> import pyarrow as pa
        >>> two = Dataset("ages", pa.table({"age": [30, None]}), synthetic=True, source="By hand.")
        >>> two.title, two.rows, two.numbers("age").tolist()
        ('ages (synthetic)', 2, [30.0, nan])
        >>> two.complete("age").rows
        1
    """

    name: str
    table: Any = field(repr=False)
    """A pyarrow table."""
    synthetic: bool
    source: str
    """One sentence that says where the table comes from."""
    units: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The unit of each column that has one."""
    notes: tuple[str, ...] = field(default=(), repr=False)
    """Sentences that a reader of the numbers must know."""

    @property
    def title(self) -> str:
        """The name for a figure or a table; it says so if the data are synthetic."""
        return f"{self.name} (synthetic)" if self.synthetic else self.name

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.table.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.column_names)

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return a column as double precision numbers, with NaN for missing values."""
        import pyarrow as pa

        try:
            values = self.table.column(self._known(column)).cast(pa.float64())
        except pa.ArrowInvalid:
            raise ColumnError(
                f"Column '{column}' of {self.name} does not hold numbers", hint="choose another one"
            ) from None
        numbers: NDArray[np.float64] = values.to_numpy().astype(np.float64, copy=False)
        return numbers

    def complete(self, *columns: str) -> Dataset:
        """Return the rows in which the named columns, or all of them, have values."""
        import pyarrow.compute as pc

        filled = np.ones(self.rows, dtype=bool)
        for column in columns or self.columns:
            filled &= pc.is_valid(self.table.column(self._known(column))).to_numpy()
        return replace(self, table=self.table.filter(filled))

    def readings(self, category: str = "GC") -> NDArray[np.float64]:
        """Return half-hour readings as an array of homes x days x 48, in kWh.

        Homes and days are in increasing order. Days on which any home misses a reading are left
        out. A table of mean profiles has one day.

        Args:
            category: GC general consumption, CL controlled load, GG gross generation.
        """
        if not {"Customer", "Consumption Category", *HALF_HOURS} <= set(self.columns):
            raise TableError(
                f"The data set {self.name} has no half-hour readings",
                hint="use solar_homes, or a table with its columns",
            )
        kinds = self.table.column("Consumption Category").to_numpy(zero_copy_only=False)
        table = self.table.filter(kinds == category)
        values = np.column_stack([table.column(name).to_numpy() for name in HALF_HOURS])
        homes, home = np.unique(table.column("Customer").to_numpy(), return_inverse=True)
        days, day = np.unique(_days(table), return_inverse=True)
        grid = np.full((homes.size, days.size, len(HALF_HOURS)), np.nan)
        grid[home, day] = values
        whole = ~np.isnan(grid).any(axis=(0, 2))
        if not whole.any():
            raise TableError(
                f"No day of {self.name} has readings of category '{category}' of every home",
                hint="use fewer homes, or another category",
            )
        return np.ascontiguousarray(grid[:, whole])

    def to_dict(self) -> dict[str, object]:
        """Return the description of the table, without its rows, as plain values."""
        return {
            "name": self.name,
            "synthetic": self.synthetic,
            "source": self.source,
            "rows": self.rows,
            "columns": list(self.columns),
            "units": dict(self.units),
            "notes": list(self.notes),
        }

    def _known(self, column: str) -> str:
        if column not in self.columns:
            raise ColumnError(
                f"The data set {self.name} has no column '{column}'",
                hint=f"its columns are {', '.join(self.columns[:20])}",
            )
        return column


def _days(table: Any) -> NDArray[np.int64]:  # noqa: ANN401 - a pyarrow table, untyped
    """Return the days as numbers; a table of mean profiles has no dates."""
    import pyarrow as pa

    days: NDArray[np.int64] = (
        table.column("date").cast(pa.int32()).fill_null(-1).to_numpy().astype(np.int64)
    )
    return days
