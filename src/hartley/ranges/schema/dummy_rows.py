"""Invented rows over the domain of a schema, for analysts to write questions against."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.exact import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from hartley.ranges.schema.column import Column

MISSING_SHARE = 0.05


def dummy_rows(
    columns: Mapping[str, Column],
    n: int,
    seed: int,
    *,
    unit: str | None = None,
    rows_per_unit: int = 1,
) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    """Return an Arrow table of n invented rows, every value drawn alike from the schema alone.

    No data is touched, so the table tells nothing. A nullable column misses one value in twenty;
    public columns are the same in all rows of a person. Linear in the number of rows.

    Args:
        columns: the columns of the schema.
        n: how many rows to invent.
        seed: of the random numbers.
        unit: the column that names the person; without one, one row is one person.
        rows_per_unit: how many rows each invented person has.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.schema.column import Column
        >>> three = Fraction(3)
        >>> column = Column("x", "private", low=three, high=three, step=Fraction(1))
        >>> dummy_rows({"x": column}, 2, 0).to_pydict()
        {'x': [3, 3]}
    """
    import numpy as np
    import pyarrow as pa

    if n < 0 or seed < 0:
        raise OptionError(
            "The number of invented rows or their seed is negative",
            hint="ask for 0 rows or more with a seed of 0 or more",
        )
    draw = np.random.default_rng(seed)
    people = np.arange(n) // rows_per_unit
    arrays = {}
    if unit is not None and unit not in columns:
        arrays[unit] = pa.array(people + 1)
    for column in columns.values():
        codes = draw.integers(column.points, size=n)
        missing = draw.random(n) < (MISSING_SHARE if column.nullable else 0.0)
        if column.name == unit:
            codes, missing = people % column.points, np.zeros(n, dtype=bool)
        elif column.kind == "public":
            first = people * rows_per_unit
            codes, missing = codes[first], missing[first]
        arrays[column.name] = _values(column, codes, missing)
    return pa.table(arrays)


def _values(column: Column, codes: NDArray[np.int64], missing: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - a pyarrow array, untyped
    import pyarrow as pa

    if column.values is not None:
        listed = pa.array([*column.values, *([_further(column.values)] if column.other else [])])
        return listed.take(pa.array(codes, mask=missing))
    assert column.low is not None
    assert column.step is not None
    if column.date:
        days = int(column.low) + codes * int(column.step)
        return pa.array(days.astype("int32"), pa.int32(), mask=missing).cast(pa.date32())
    return pa.array(_numbers(column.low, column.step, codes), mask=missing)


def _numbers(low: Fraction, step: Fraction, codes: NDArray[np.int64]) -> NDArray[Any]:
    """Return low + code * step: whole where all are, else the nearest doubles."""
    import numpy as np

    divisor = math.lcm(low.denominator, step.denominator)
    first, width = int(low * divisor), int(step * divisor)
    last = abs(first) + width * int(codes.max(initial=0))
    if last <= LARGEST_EXACT_INTEGER and divisor <= LARGEST_EXACT_INTEGER:
        whole = first + codes * width
        return whole if divisor == 1 else whole / divisor
    points, at = np.unique(codes, return_inverse=True)
    return np.array([float(low + int(code) * step) for code in points])[at]


def _further(values: tuple[str | int | bool, ...]) -> str | int | bool:
    """Return a value that is not listed."""
    if isinstance(values[0], bool):
        return not values[0]
    if isinstance(values[0], int):
        return next(number for number in itertools.count() if number not in values)
    text = "other"
    while text in values:
        text += "'"
    return text
