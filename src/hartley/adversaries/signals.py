"""The readings of a home and of its appliances, at the same times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.sources import open_table
from hartley.engines.view import run
from hartley.errors import ColumnError, OptionError, TableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.engines.table import Table


@dataclass(frozen=True)
class Signals:
    """One row an appliance, and the total."""

    names: tuple[str, ...]
    appliances: NDArray[np.float64]
    total: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many readings there are."""
        return int(self.total.size)


def signals_of(
    source: object, *, total: object = None, columns: Sequence[str] | None = None
) -> Signals:
    """Return the signals of appliances by name, or of the columns of a table.

    Rows of a table in which some reading is missing are left out; they stay in its order.

    Example:
        >>> found = signals_of({"lamp": [0, 60], "oven": [900, 900]})
        >>> found.names, found.total
        (('lamp', 'oven'), array([900., 960.]))
    """
    if isinstance(source, Mapping) and not isinstance(total, str) and columns is None:
        arrays = {str(name): _numbers(name, values) for name, values in source.items()}
        whole = None if total is None else _numbers("the total", total)
    else:
        arrays, whole = _from_table(open_table(source), total, columns)
    sizes = {values.size for values in (*arrays.values(), *([] if whole is None else [whole]))}
    if not arrays or len(sizes) != 1 or sizes == {0}:
        raise OptionError(
            "The appliances and the total have not one reading each at every time",
            hint="give at least one appliance, and all as many readings",
        )
    appliances = np.stack(list(arrays.values()))
    summed = appliances.sum(axis=0) if whole is None else whole
    return Signals(tuple(arrays), appliances, summed)


def _numbers(name: object, values: Any) -> NDArray[np.float64]:  # noqa: ANN401 - checked here
    try:
        found = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        found = np.array([np.nan])
    if not np.isfinite(found).all():
        raise OptionError(
            f"The readings of {name} are not all finite numbers",
            hint="leave out the times at which a reading is missing",
        )
    return found


def _from_table(
    table: Table, total: object, columns: Sequence[str] | None
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64] | None]:
    if total is not None and not isinstance(total, str):
        raise OptionError(
            "The total of a table is not the name of a column", hint="name the column, or none"
        )
    whole = [total] if isinstance(total, str) else []
    numbers = [name for name in table.columns if table.kind(name).numeric]
    listed = [name for name in (columns or numbers) if name not in whole]
    table.require([*listed, *whole])
    for name in (*listed, *whole):
        if not table.kind(name).numeric:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {table.kind(name)} values, not numbers",
                hint="name columns of numbers alone",
            )
    if not listed:
        raise ColumnError(f"{table.name} has no column of an appliance", hint="name some columns")
    found = run(table, table.expression.select(*listed, *whole).to_pyarrow)
    rows = {
        name: found.column(name).cast("float64").to_numpy().astype(np.float64)
        for name in (*listed, *whole)
    }
    kept = np.all([np.isfinite(values) for values in rows.values()], axis=0)
    if not kept.any():
        raise TableError(
            f"No row of {table.name} has a reading of all appliances", hint="choose other columns"
        )
    arrays = {name: rows[name][kept] for name in listed}
    return arrays, rows[whole[0]][kept] if whole else None
