"""The values that a matrix is about: checked, in files, and as codes of Arrow columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hartley.errors import ColumnError, OptionError
from hartley.numerals import BinnedNumber
from hartley.policies.column import read_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

Value: TypeAlias = Any
"""Text, a number, a truth value or None for a missing one; a tuple of them over several columns."""


def as_list(values: object) -> Sequence[Value] | None:
    """Return values as a list of plain ones, refusing what has no order.

    Example:
        >>> as_list(np.array(["a", "b"])), as_list([np.int64(1), 2])
        (['a', 'b'], [1, 2])
    """
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    if values is None or isinstance(values, range):
        return values
    if isinstance(values, Sequence):
        return [value.item() if isinstance(value, np.generic) else value for value in values]
    raise OptionError("The values of the matrix are not a list", hint="list them, one per row")


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a table
    """Return the middle of a bin as the number that a policy file holds."""
    return float(value) if isinstance(value, BinnedNumber) else value


def check_values(values: Sequence[Value], columns: int) -> tuple[Value, ...]:
    """Return the values of a matrix, refusing what is doubled, mixed or of another form."""
    listed = tuple(
        tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else _plain(value)
        for value in values
    )
    if columns > 1 and not all(isinstance(v, tuple) and len(v) == columns for v in listed):
        raise OptionError(
            f"A value of a matrix over {columns} columns does not have {columns} parts",
            hint='write every value as a list: ["north", "F"]',
        )
    for place in range(columns):
        parts = [value[place] if columns > 1 else value for value in listed]
        kinds = {type(part) for part in parts if part is not None}
        plain = kinds <= {str, int, float, bool}
        if not plain or not (len(kinds) <= 1 or kinds == {int, float}):
            raise OptionError(
                "The values of the matrix are not all text, all numbers or all truth values",
                hint="write them in one form; turn columns of times, decimals or bytes into text "
                "first",
            )
        if any(isinstance(part, float) and not math.isfinite(part) for part in parts):
            raise OptionError("A value of the matrix is not a finite number", hint="leave it out")
    if len(set(listed)) < len(listed):
        raise OptionError("A value of the matrix is named twice", hint="name every value once")
    return listed


# --- in files -----------------------------------------------------------------------------------


def write_values(values: Sequence[Value]) -> list[Any]:
    """Return values as a policy file holds them.

    Example:
        >>> write_values(["a", None]), write_values([(1, 0.5)])
        (['a', {'missing': True}], [[1, {'number': '0.5'}]])
    """
    return [_write(value) for value in values]


def _write(value: Value) -> Any:  # noqa: ANN401 - as TOML has it
    if isinstance(value, tuple):
        return [_write(part) for part in value]
    if value is None:
        return {"missing": True}
    return {"number": repr(value)} if isinstance(value, float) else value


def read_values(items: object, field: str) -> tuple[Value, ...]:
    """Read values as a policy file holds them."""
    return tuple(_read(item, field) for item in read_list(items, field))


def _read(item: object, field: str) -> Value:
    if isinstance(item, list):
        return tuple(_read(part, field) for part in item)
    if isinstance(item, Decimal):
        return float(item)
    if not isinstance(item, dict):
        return item
    if item == {"missing": True}:
        return None
    try:
        (number,) = [float(item[key]) for key in item if key == "number"]
    except (TypeError, ValueError):
        raise OptionError(
            f"The field '{field}' has a value of an unknown form",
            hint='write text, whole numbers, {number = "0.5"} or {missing = true}',
        ) from None
    return number


# --- as codes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coder:
    """Turns Arrow columns into places in a list of values, and drawn places into columns."""

    columns: tuple[str, ...]
    keys: tuple[Any, ...]
    """The different values of each column, as Arrow arrays of the column's type."""
    places: NDArray[np.int32]
    """For every combination of the keys the place of the value; -1 where there is none."""
    released: tuple[Any, ...]
    """What is released in each column, by drawn place, as Arrow arrays."""

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        values: Sequence[Value],
        released: Sequence[Value],
        types: Sequence[Any],
    ) -> Coder:
        """Prepare the coding of columns of some Arrow types."""
        several = len(columns) > 1
        sides = list(zip(*values, strict=True)) if several else [tuple(values)]
        keys = [list(dict.fromkeys(side)) for side in sides]
        sizes = [len(key) for key in keys]
        places = np.full(math.prod(sizes), -1, np.int32)
        indices = [{part: i for i, part in enumerate(key)} for key in keys]
        for place, value in enumerate(values):
            parts = value if several else (value,)
            at = [index[part] for index, part in zip(indices, parts, strict=True)]
            places[np.ravel_multi_index(at, sizes)] = place
        same = list(values) == list(released)
        out = list(zip(*released, strict=True)) if several else [tuple(released)]
        return cls(
            tuple(columns),
            tuple(map(_typed, keys, types, columns)),
            places,
            tuple(map(_typed, out, types if same else [None] * len(columns), columns)),
        )

    def encode(self, columns: Sequence[Any]) -> NDArray[np.int32]:
        """Return the place of every row's value; -1 where the list does not have it."""
        import pyarrow.compute as pc

        joint, unknown = None, None
        for column, keys in zip(columns, self.keys, strict=True):
            places = pc.index_in(column, keys).fill_null(-1)
            code = places.to_numpy(zero_copy_only=False).astype(np.int64)
            absent = code < 0
            unknown = absent if unknown is None else unknown | absent
            joint = code if joint is None else joint * len(keys) + code
        assert joint is not None  # there is a column
        assert unknown is not None  # likewise
        return np.where(unknown, np.int32(-1), self.places[np.where(unknown, 0, joint)])

    def decode(self, drawn: NDArray[np.int32]) -> list[Any]:
        """Return what is released for drawn places, a column each."""
        import pyarrow as pa

        indices = pa.array(drawn)
        return [released.take(indices) for released in self.released]


def _typed(parts: Sequence[Value], kind: Any, column: str) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Return values as an Arrow array of a column's type."""
    import pyarrow as pa

    try:
        return pa.array(parts, type=kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise ColumnError(
            f"Column '{column}' holds values of a different kind from those of the matrix",
            hint="write the values of the matrix as the column holds them, as text or numbers",
        ) from None
