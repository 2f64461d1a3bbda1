"""How large the classes of a table are in a population that contains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.counting import distinct_counts
from hartley.errors import ColumnError, OptionError
from hartley.ranges.classes import combine_codes, encode_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.engines.view import View


def population_sizes(view: View, population: View) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sizes of the classes of equal keys of a table, and of the same in a population.

    Each side is grouped by its own engine; the groups alone meet here. A missing key is a value
    of its own. A population that has fewer of some class does not contain the table and is
    refused.

    Args:
        view: the keys of the table, with missing values kept.
        population: the same keys, in the same order, of the population.

    Example:
        >>> from hartley.engines.sources import open_table
        >>> from hartley.engines.view import prepare
        >>> people = prepare(open_table({"age": [30, 30, 40, 50]}), ["age"], missing="value")
        >>> sample = prepare(open_table({"age": [30, 40]}), ["age"], missing="value")
        >>> population_sizes(sample, people)
        (array([1, 1]), array([2, 1]))
    """
    here, there = distinct_counts(view), distinct_counts(population)
    encoded = [
        encode_column(_joined(here.column(i), there.column(i), column.name))
        for i, column in enumerate(view.columns)
    ]
    combined, _ = combine_codes([codes for codes, _ in encoded], [len(v) for _, v in encoded])
    _, classes = np.unique(combined, return_inverse=True)
    inside, outside = classes[: here.num_rows], classes[here.num_rows :]
    width = int(classes.max()) + 1
    sizes = np.bincount(inside, here.column("n").to_numpy(), width).astype(np.int64)
    held = np.bincount(outside, there.column("n").to_numpy(), width).astype(np.int64)
    found = sizes > 0
    lacking = int((held < sizes).sum())
    if lacking:
        raise OptionError(
            f"{population.table.name} has fewer records than {view.table.name} in {lacking:,} of "
            f"{int(found.sum()):,} classes of equal keys, so it is no population of it",
            hint="name a table that holds everybody, with its keys written in the same way",
        )
    return sizes[found], held[found]


def _joined(one: Any, other: Any, name: str) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Put two Arrow columns into one, if their values can be equal at all."""
    import pyarrow as pa

    columns = [
        pa.table({"c": column.cast(column.type.value_type)})
        if pa.types.is_dictionary(column.type)
        else pa.table({"c": column})
        for column in (one, other)
    ]
    try:
        return pa.concat_tables(columns, promote_options="permissive").column("c")
    except pa.ArrowException:
        raise ColumnError(
            f"Column '{name}' holds values of another type in the population",
            hint="convert it to one type in both tables",
        ) from None
