"""The protocols between measures and ranges: what a measure may ask of any kind of range.

A measure is one function. It asks for the sizes that its formula names, and the range answers in
counts or in volumes; a question that the theory does not define for a kind of range is refused by
the range itself, in one sentence with a hint.

============================  ==============================================================
``JointRange``                ``Relation``, ``KeyClasses`` (counts), ``CutBox`` (volumes)
``JointFrequencies``          ``Relation``, ``KeyClasses`` (counts), ``JointDistribution``
``GuessedSide``               the same, and ``Channel``
``ClassTable``                ``Relation``, ``KeyClasses``
============================  ==============================================================
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Number
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from hartley.errors import ColumnError, OptionError
from hartley.exact import log_ratio, round_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.kernels.classes import ClassCounts
    from hartley.tables.counts import Coding
    from hartley.tables.view import ViewColumn


@dataclass(frozen=True)
class Size:
    """The size of a range, a count or a volume: an exact number, or two that it lies between."""

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, number: int | Fraction) -> Size:
        """Return a size that is known exactly."""
        exact = Fraction(number)
        return Size(exact, exact)

    @property
    def exact(self) -> bool:
        """Whether the size is known exactly."""
        return self.low == self.high

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Both bounds."""
        return self.low, self.high

    def log(self, base: float = 2) -> tuple[float, float]:
        """Return bounds on the logarithm, however small or large the size is, rounded outward."""
        low, high = (log_ratio(end.numerator, end.denominator, base=base) for end in self.ends)
        # The logarithm of a power of two to the base 2 is exact.
        plain = [
            end == 0
            or (base == 2 and end.numerator.bit_count() == end.denominator.bit_count() == 1)
            for end in self.ends
        ]
        return low if plain[0] else -round_up(-low), high if plain[1] else round_up(high)

    def log_from_below(self, base: float = 2) -> float:
        """Return the logarithm; where the size is bounded only, a number never above it."""
        # An exact size keeps the nearest double: rounding it down too would show 2.9999 for 3.
        if self.exact:
            return log_ratio(self.low.numerator, self.low.denominator, base=base)
        return self.log(base)[0]

    def log_narrowing(self, whole: Size, base: float = 2) -> float:
        """Return the logarithm of a whole over this part of it, or a number never below that."""
        if self.low == 0:
            return math.inf
        ratio = whole.high / self.low
        logarithm = log_ratio(ratio.numerator, ratio.denominator, base=base)
        return logarithm if self.exact and whole.exact else round_up(logarithm)


class JointRange(Protocol):
    """What could be true of a secret X together with what is released of it, Y."""

    @property
    def secret_size(self) -> Size:
        """The size of [X], all that the secret can be."""

    @property
    def largest_conditional(self) -> Size:
        """The size of the largest [X|y]: what the least telling released value leaves possible."""

    @property
    def smallest_conditional(self) -> Size:
        """The size of the smallest [X|y]: what the most telling released value leaves possible."""

    @property
    def released_count(self) -> int:
        """How many values the released side can take."""

    @property
    def pair_size(self) -> Size:
        """The size of [X, Y], all pairs that can occur."""

    @property
    def overlap_classes(self) -> int:
        """How many classes the overlap partition of [X, Y] has."""


@runtime_checkable
class GuessedSide(Protocol):
    """Something random that is released about a secret, as one guess sees it."""

    def peak_share(self) -> float:
        """Return the sum over the released values y of the largest P(y|x) of any secret x."""


@runtime_checkable
class JointFrequencies(GuessedSide, Protocol):
    """How often a secret and a released value occur together, counted or as probabilities."""

    def shared_bits(self) -> float:
        """Return the mutual information of both sides, in bits."""

    def beliefs(self) -> Beliefs:
        """Return what each released value makes somebody believe about the secret."""


@runtime_checkable
class ClassTable(Protocol):
    """Records in classes of equal released values, and how often each secret occurs in each."""

    def class_counts(self) -> ClassCounts:
        """Return how often each secret occurs in each class of equal released values."""


def counts_of(classes: ClassTable | ClassCounts) -> ClassCounts:
    """Ask a range for the counts of its classes; counts are taken as they are."""
    return classes.class_counts() if isinstance(classes, ClassTable) else classes


class Beliefs(Protocol):
    """How far the worst released value moves what is believed about a confidential side.

    Counts answer distances in exact fractions, probabilities in doubles.
    """

    def divergence(self, base: float) -> float:
        """Return the largest Kullback-Leibler divergence of p(x|y) from p(x)."""

    def disclosure(self, base: float) -> float:
        """Return the largest logarithm, either way, of p(x|y) over p(x)."""

    def equal_distance(self) -> Fraction | float:
        """Return the largest share that has to move, all values being equally far apart."""

    def ordered_distance(self) -> Fraction | float:
        """Return the longest move, values being as far apart as they are in their order."""

    def hierarchical_distance(self, levels: Sequence[ArrayLike]) -> Fraction | float:
        """Return the longest move, values being as far apart as their lowest common group."""


# --- the values behind the codes 0, 1, ... of one side of a relation ------------------------------


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

    @cached_property  # one value after another is asked for
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


def as_counted(column: Any) -> Any:
    """Return an Arrow column as its values are told apart: NaN is missing, minus zero is zero.

    What is released must be this too: records that count as alike would differ in the file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):  # which may list values that never occur
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):
        return column
    column = pc.add(column, pa.scalar(0, column.type))
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def rank_values(column: Any) -> tuple[NDArray[np.int64], Any]:
    """Number the values of an Arrow column in their order, a missing one last; also return them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), column.slice(0, 0)
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = flat.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(order) + 1, np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    rank[-1] = len(order)
    codes = encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
    return rank[codes], encoded.dictionary.take(order)


def encode_arrow(
    table: Any, columns: Sequence[ViewColumn]
) -> tuple[NDArray[np.int64], ArrowValues]:
    """Number the distinct rows of an Arrow table in their order."""
    codes = np.zeros(table.num_rows, np.int64)
    for i, column in enumerate(map(as_counted, table.columns)):
        table = table.set_column(i, table.column_names[i], column)
        single, ordered = rank_values(column)
        _, codes = np.unique(codes * (len(ordered) + 1) + single, return_inverse=True)
    _, first = np.unique(codes, return_index=True)
    return codes, ArrowValues(table.take(first), columns)
