"""A matrix of probabilities as exact numbers: read or refused, and as what a draw uses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hartley.errors import ColumnError, OptionError
from hartley.exact import parse_number
from hartley.policies.column import read_list
from hartley.text import BinnedNumber, exact_text

if TYPE_CHECKING:
    from numpy.typing import NDArray


# --- matrix ---------------------------------------------------------------------------------------


ROOM = 2**62
"""The largest common denominator, and the resolution of a draw."""
TOLERANCE = 1e-9
"""How far the sum of a row of doubles may be from 1."""
MOST_VALUES = 4000


@dataclass(frozen=True, eq=False)
class ExactMatrix:
    """Probabilities parts / whole in lowest terms, every row adding up to 1 exactly."""

    parts: NDArray[np.int64]
    whole: int

    def __post_init__(self) -> None:
        common = math.gcd(int(np.gcd.reduce(self.parts, axis=None)), self.whole)
        object.__setattr__(self, "parts", self.parts // common)
        object.__setattr__(self, "whole", self.whole // common)

    @classmethod
    def of(cls, matrix: object) -> ExactMatrix:
        """Read a matrix: texts and fractions as they are, doubles as decimals of 15 digits."""
        if isinstance(matrix, ExactMatrix):
            return matrix
        if isinstance(matrix, np.ndarray) and matrix.dtype.kind in "fiu":
            return _of_doubles(matrix.astype(np.float64))
        rows = _rows(matrix)
        if all(isinstance(entry, (float, int, np.number)) for row in rows for entry in row):
            return _of_doubles(np.array(rows, dtype=np.float64))
        exact = [
            [
                parse_number(str(p) if isinstance(p, Decimal) else p, name="a probability")
                for p in row
            ]
            for row in rows
        ]
        for number, row in enumerate(exact, 1):
            _check_row(row, sum(row), number, Fraction(0))
        return cls.exactly(exact)

    @classmethod
    def exactly(cls, rows: Sequence[Sequence[Fraction]]) -> ExactMatrix:
        """Take fractions whose rows add up to 1; rounded where they share no small denominator."""
        whole = math.lcm(*{entry.denominator for row in rows for entry in row})
        if whole > ROOM:
            return _of_doubles(np.array([[float(entry) for entry in row] for row in rows]))
        return cls(np.array([[int(entry * whole) for entry in row] for row in rows]), whole)

    @property
    def shape(self) -> tuple[int, int]:
        """How many values can be there, and how many can be released."""
        rows, columns = self.parts.shape
        return rows, columns

    @cached_property
    def doubles(self) -> NDArray[np.float64]:
        """The probabilities, rounded."""
        return self.parts / self.whole

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """What a draw uses: multiples of 2^-62, positive where the matrix is, rows adding to 1.

        The largest entry of a column is rounded down and the others up, so that rounding does not
        make a release tell more; the largest entry of a row takes what is too much, and the
        largest below its column's maximum what is left. What is impossible stays so.
        """
        scaled = self.parts.astype(object) * ROOM
        top = self.parts == self.parts.max(axis=0)
        weights: NDArray[np.int64] = np.where(
            top, scaled // self.whole, -(-scaled // self.whole)
        ).astype(np.int64)
        rest = np.array([ROOM - sum(row) for row in weights.tolist()], dtype=np.int64)
        largest = self.parts.argmax(axis=1)
        lower = np.where(top, 0, self.parts)
        places = np.where((rest > 0) & lower.any(axis=1), lower.argmax(axis=1), largest)
        weights[np.arange(len(weights)), places] += rest
        return weights

    def texts(self) -> list[list[str]]:
        """Return the probabilities as text, decimals where they end."""
        known: dict[int, str] = {}
        return [
            [known.setdefault(part, exact_text(Fraction(part, self.whole))) for part in row]
            for row in self.parts.tolist()
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactMatrix) or self.shape != other.shape:
            return False
        return self.whole == other.whole and bool((self.parts == other.parts).all())

    def __hash__(self) -> int:
        return hash((self.whole, self.parts.tobytes()))


# --- reading ------------------------------------------------------------------------------------


def _rows(matrix: object) -> list[list[Any]]:
    """Return a matrix as rows of equal length."""
    try:
        rows = [list(row) for row in matrix if not isinstance(row, str)]  # type: ignore[attr-defined]  # refused below
    except TypeError:
        rows = []
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise OptionError(
            "The matrix is not a list of rows of probabilities, all of the same length",
            hint='write one row a value: [["0.9", "0.1"], ["0.2", "0.8"]]',
        )
    return rows


def _of_doubles(matrix: NDArray[np.float64]) -> ExactMatrix:
    """Round doubles to decimals of 15 digits; the largest of a row takes what it then lacks."""
    if matrix.ndim != 2 or matrix.size == 0:
        raise OptionError(
            "The matrix is not a table of probabilities", hint="give one row per value"
        )
    _refuse_wide(matrix.shape)
    sums = matrix.sum(axis=1)
    wrong = ~(np.isfinite(matrix).all(axis=1) & (matrix >= 0).all(axis=1))
    wrong |= ~(np.abs(sums - 1) <= TOLERANCE)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        _check_row(matrix[at].tolist(), float(sums[at]), at + 1, Fraction(TOLERANCE))
    whole = 10**15
    parts = np.rint(matrix * whole).astype(np.int64)
    parts[np.arange(len(parts)), parts.argmax(axis=1)] += whole - parts.sum(axis=1)
    return ExactMatrix(parts, whole)


def _check_row(row: Sequence[Any], total: Fraction | float, number: int, slack: Fraction) -> None:
    """Refuse a row that is no probability distribution, and say why."""
    wrong = None
    if any(isinstance(entry, float) and not math.isfinite(entry) for entry in row):
        wrong = "contains an entry that is not a number", "write probabilities from 0 to 1"
    elif any(entry < 0 for entry in row):
        wrong = "holds a negative probability", "write probabilities from 0 to 1"
    elif not any(row):
        wrong = "is all zeros, so nothing could be released", "write 1 for the value to release"
    elif abs(Fraction(total) - 1) > slack:
        shown = f"{float(total):.12g}" if total < 1000 else "more than 1,000"
        wrong = f"adds up to {shown}, not to 1", "divide the row by its sum"
    if wrong is not None:
        raise OptionError(f"Row {number} of the matrix {wrong[0]}", hint=wrong[1])


def _refuse_wide(shape: tuple[int, ...]) -> None:
    if max(shape) > MOST_VALUES:
        raise OptionError(
            f"A matrix over {max(shape):,} values is too large",
            hint=f"merge values first, down to {MOST_VALUES:,}",
        )


def without_dust(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a solver's matrix with nothing where it left nearly nothing, its rows adding up to 1.

    A solver stops some 1e-13 before a probability is 0. Taken at its word, that would claim that
    a release is possible and that odds are bounded, by a factor of a million millions.

    Example:
        >>> without_dust(np.array([[0.75, 0.25], [1.0, 1e-13]])).tolist()
        [[0.75, 0.25], [1.0, 0.0]]
    """
    swept = np.where(matrix < 1e-7, 0.0, matrix)  # what a rule means to release is larger
    rows: NDArray[np.float64] = swept / swept.sum(axis=1, keepdims=True)
    return rows


# --- constructions ------------------------------------------------------------------------------


def retaining(probability: object, values: int) -> ExactMatrix:
    """Return the matrix that keeps a value with a probability, else draws one of the others."""
    probability_kept = parse_number(probability, name="the probability to keep a value")
    if not 0 <= probability_kept <= 1:
        raise OptionError(
            f"A value cannot be kept with probability {probability}",
            hint="give a number from 0 to 1, for example 0.8",
        )
    _refuse_wide((values,))
    if values < 2:
        raise OptionError(
            "There is only one value, so nothing can be perturbed",
            hint="choose a column with several values",
        )
    other = (1 - probability_kept) / (values - 1)
    rows = [[probability_kept if x == y else other for y in range(values)] for x in range(values)]
    return ExactMatrix.exactly(rows)


def invariant(matrix: ExactMatrix, frequencies: NDArray[np.float64]) -> ExactMatrix:
    r"""Return a matrix that preserves frequencies in expectation, from any matrix.

    .. math:: R_{xz} = \sum_y P_{xy} \frac{\pi_z P_{zy}}{\sum_u \pi_u P_{uy}}

    Gouweleeuw, Kooiman, Willenborg and de Wolf 1998: after a first draw y, the second stage draws
    what y may have come from. pi R = pi up to the 15 digits of an entry, which is checked. Two
    products of matrices.
    """
    first = matrix.doubles
    mass = frequencies @ first
    # A value that never comes about keeps itself, or what is most often there.
    back = np.zeros(first.shape[::-1])
    back[np.arange(len(mass)), frequencies.argmax()] = 1.0
    occurs = mass > 0
    back[occurs] = ((frequencies[:, None] * first) / np.where(occurs, mass, 1.0)).T[occurs]
    second = first @ back
    rule = _of_doubles(second / second.sum(axis=1, keepdims=True))
    moved = np.abs(frequencies @ rule.doubles - frequencies).max()
    assert moved <= 1e-14 * (len(mass) + 8)  # the construction, checked
    return rule


def guessing_gain(matrix: ExactMatrix) -> Fraction:
    r"""Return how many times as likely the best guess gets right by the release, at most.

    .. math:: \sum_y \max_x P(y|x)

    Its logarithm is the stochastic maximal leakage (Issa, Wagner and Kamath 2020, Theorem 1). The
    larger one of the matrix and of what is drawn, which is rounded to multiples of 2^-62. Exact.
    Linear in the size of the matrix.
    """
    shown = Fraction(sum(matrix.parts.max(axis=0).tolist()), matrix.whole)
    drawn = Fraction(sum(matrix.weights.max(axis=0).tolist()), sum(matrix.weights[0].tolist()))
    return max(shown, drawn)


def odds_factor(matrix: ExactMatrix) -> Fraction | None:
    r"""Return how much a release changes the odds of any two values, at most; None if unbounded.

    .. math:: \max_{y, x, x'} \frac{P(y|x)}{P(y|x')}

    Its natural logarithm is the epsilon of local differential privacy (Warner 1965; Kasiviswanathan
    et al. 2011). The larger one of the matrix and of what is drawn. Exact. Linear in the size of
    the matrix.
    """
    largest = Fraction(1)
    for numbers in (matrix.parts, matrix.weights):
        live = numbers[:, numbers.any(axis=0)]
        for most, least in zip(live.max(axis=0).tolist(), live.min(axis=0).tolist(), strict=True):
            if least == 0:
                return None
            largest = max(largest, Fraction(most, least))
    return largest


# --- values ---------------------------------------------------------------------------------------
# The values that a matrix is about: checked, in files, and as codes of Arrow columns.

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
    """Return values as a policy file holds them."""
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
