"""The values behind the codes 0, 1, ... of one side of a relation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.engines.counting.pairs import Coding
    from hartley.engines.tables.view import ViewColumn


class Values(ABC):
    """The values of one side, by code."""

    names: tuple[str, ...]
    binned: tuple[str, ...] = ()
    """The columns that are given in bins."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, codes: NDArray[np.int64]) -> list[Any]:
        """Return the values of some codes; several columns make a tuple."""

    def all(self) -> list[Any]:
        """Return every value in the order of the codes."""
        return self.take(np.arange(len(self)))

    def columns(self) -> list[list[Any]]:
        """Return every value, column by column."""
        values = self.all()
        return (
            [values]
            if len(self.names) == 1
            else [list(column) for column in zip(*values, strict=True)]
        )

    def code(self, value: object) -> int:
        """Return the code of a value."""
        try:
            return self._codes[_identity(value)]
        except (KeyError, TypeError):
            raise OptionError(
                f"The value asked for is not in the range of {' and '.join(self.names)}",
                hint="ask for one of the values that the range lists",
            ) from None

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {_identity(value): code for code, value in enumerate(self.all())}

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, where they are."""
        try:
            return np.asarray(self.all(), dtype=np.float64).reshape(len(self))
        except (TypeError, ValueError):
            raise ColumnError(
                f"The values of {' and '.join(self.names)} are not numbers",
                hint="choose one numeric column",
            ) from None


class ListedValues(Values):
    """Values held in a list."""

    def __init__(self, values: Sequence[Any], names: tuple[str, ...]) -> None:
        self._values, self.names = values, names

    def __len__(self) -> int:
        return len(self._values)

    def take(self, codes: NDArray[np.int64]) -> list[Any]:
        return [self._values[code] for code in codes.tolist()]


class RecordValues(Values):
    """Records that nothing but their number tells apart."""

    names = ("ROW",)

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def take(self, codes: NDArray[np.int64]) -> list[Any]:
        return list(codes.tolist())

    def code(self, value: object) -> int:
        if isinstance(value, (int, np.integer)) and 0 <= value < self._rows:
            return int(value)
        raise OptionError(
            "The record asked for does not exist",
            hint=f"records are numbered 0 to {self._rows - 1}",
        )


class ArrowValues(Values):
    """Values held in an Arrow table, a column each; binned columns hold numbers of bins."""

    def __init__(self, table: Any, columns: Sequence[ViewColumn]) -> None:
        self._table, self._columns = table, tuple(columns)
        self.names = tuple(column.name for column in columns)
        self.binned = tuple(column.name for column in columns if column.step is not None)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def take(self, codes: NDArray[np.int64]) -> list[Any]:
        rows = self._table.take(codes)
        columns = [
            [
                None if value is None else column.midpoint(value)
                for value in rows.column(i).to_pylist()
            ]
            if column.step is not None
            else rows.column(i).to_pylist()
            for i, column in enumerate(self._columns)
        ]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


class IntegerValues(Values):
    """Integers above a low one, or bins, of which only some occur."""

    def __init__(self, coding: Coding, present: NDArray[np.int64]) -> None:
        (self._column,) = coding.columns
        self.names = (self._column.name,)
        self.binned = self.names if self._column.step is not None else ()
        self._low = coding.low or 0
        self._missing = coding.width - 1 if coding.holes else -1
        self._present = present

    def __len__(self) -> int:
        return int(self._present.size)

    def take(self, codes: NDArray[np.int64]) -> list[Any]:
        offsets = self._present[codes].tolist()
        return [
            None if offset == self._missing else self._column.midpoint(self._low + offset)
            for offset in offsets
        ]


class JointValues(Values):
    """Pairs of a secret and a released value."""

    def __init__(
        self, secret: Values, released: Values, codes: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> None:
        self._sides, self._codes_of_pairs = (secret, released), codes
        self.names = (*secret.names, *released.names)

    def __len__(self) -> int:
        return int(self._codes_of_pairs[0].size)

    def take(self, codes: NDArray[np.int64]) -> list[Any]:
        secret, released = (
            side.take(of_pairs[codes])
            for side, of_pairs in zip(self._sides, self._codes_of_pairs, strict=True)
        )
        return list(zip(secret, released, strict=True))


def coded_values(coding: Coding, present: NDArray[np.int64]) -> Values:
    """Return the values behind those codes of an engine that occur."""
    if coding.low is not None:
        return IntegerValues(coding, present)
    return ArrowValues(coding.values.take(present), coding.columns)


def encode_list(values: Iterable[Any], name: str) -> tuple[NDArray[np.int64], ListedValues]:
    """Number the distinct values of a list in the order of their first appearance."""
    values = list(values)
    keys = list(map(_identity, values))
    distinct = dict(zip(reversed(keys), reversed(values), strict=True))  # the first of equals stays
    number = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    codes = np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))
    return codes, ListedValues([distinct[key] for key in number], (name,))


def _identity(value: Any) -> Any:
    """Return a key under which values are the same: True is not 1, and NaN is itself."""
    if isinstance(value, tuple):
        return tuple(map(_identity, value))
    if isinstance(value, (bool, np.bool_)):
        return bool, bool(value)
    if isinstance(value, Number) and value != value:  # noqa: PLR0124 - only NaN differs from itself
        return float, "NaN"
    return value


def encode_arrow(
    table: Any, columns: Sequence[ViewColumn]
) -> tuple[NDArray[np.int64], ArrowValues]:
    """Number the distinct rows of an Arrow table in their order."""
    codes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        single, size = _encode_column(column)
        _, codes = np.unique(codes * size + single, return_inverse=True)
    _, first = np.unique(codes, return_index=True)
    values = table.take(first)
    for i, column in enumerate(values.columns):
        if _is_floating(column):  # minus zero is zero
            values = values.set_column(i, values.field(i), _without_minus_zero(column))
    return codes, ArrowValues(values, columns)


def _encode_column(column: Any) -> tuple[NDArray[np.int64], int]:
    """Number the distinct values of a column in their order, a missing one last."""
    import pyarrow.compute as pc

    if _is_floating(column):
        column = _without_minus_zero(column)
    distinct = pc.unique(column)
    distinct = distinct.take(pc.array_sort_indices(distinct))
    codes = pc.index_in(column, value_set=distinct)
    return codes.to_numpy().astype(np.int64), len(distinct)


def _without_minus_zero(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.add(column, pa.scalar(0.0, column.type))


def _is_floating(column: Any) -> bool:
    from pyarrow import types

    return bool(types.is_floating(column.type))
