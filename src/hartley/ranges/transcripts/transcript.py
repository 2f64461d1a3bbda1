"""Questions and answers seen so far, as a set of still possible records.

A row has one of finitely many records: the codes of the columns that some answer depends on. Every
answer bounds a sum over the rows of a whole number a record, so all answers together are linear
inequalities for how many rows have which record; an order statistic is two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

MISSING = -1
"""The code of a value that is not there."""
ABSENT = -2
"""The code, in every column, of the record that stands for no row at all."""
ANY_TYPE = -1
"""The type of a record that every row can have."""
FAR = 2**62
"""No sum over the rows is as large as this: all of them are exact in one word."""


@dataclass(frozen=True)
class Bound:
    """A sum over all rows of a whole number a record, from low to high; None is no end."""

    weights: NDArray[np.int64]
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Told:
    """One answer: the cell of a total, or of an order statistic, of the rows of some records.

    Example:
        >>> from fractions import Fraction
        >>> ones = np.array([0, 1, 1])
        >>> count = Told("how many", ones > 0, ones, 1, (2, 3), least=0, step=Fraction(2))
        >>> count.cells(np.array([1, 2, 4])), [(b.low, b.high) for b in count.bounds()]
        (array([0, 1, 2]), [(2, 3)])
    """

    text: str
    inside: NDArray[np.bool_]
    """Which records count."""
    values: NDArray[np.int64]
    """The whole number of each record, 0 of those that do not count."""
    cell: int | None
    """None of an order statistic of no rows."""
    ends: tuple[int, int]
    """The smallest and the largest number of the cell."""
    least: int = field(kw_only=True)
    """Where cells begin."""
    step: Fraction = field(kw_only=True)
    quantile: Fraction | None = field(kw_only=True, default=None)
    """Of an order statistic p: the ceil(p n)-th smallest, at least the first; None of a total."""

    @property
    def is_total(self) -> bool:
        """Whether the numbers of the rows are added up."""
        return self.quantile is None

    def cells(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell of each number: floor((number - least) / step)."""
        up, down = self.step.numerator, self.step.denominator
        over = numbers - self.least
        if int(np.abs(over).max(initial=0)) * down >= FAR:
            over = over.astype(object)
        return (over * down // up).astype(np.int64)

    def bounds(self) -> list[Bound]:
        r"""Return the answer as inequalities for how many rows have which record.

        Of n rows that count, the ceil(p n)-th smallest lies in [l, h] exactly where at least p n
        rows are at most h and fewer than p n are below l; in whole numbers, with p = a/b,

        .. math:: b |\{v \le h\}| - a n \ge 0, \qquad b |\{v < l\}| - a n \le -1
        """
        if self.quantile is None:
            return [Bound(self.values, *self.ends)]
        n = self.inside.astype(np.int64)
        if self.cell is None:
            return [Bound(n, 0, 0)]
        upto = (self.inside & (self.values <= self.ends[1])).astype(np.int64)
        below = (self.inside & (self.values < self.ends[0])).astype(np.int64)
        if self.quantile == 0:  # the smallest itself
            return [Bound(upto, 1, None), Bound(below, 0, 0)]
        a, b = self.quantile.numerator, self.quantile.denominator
        return [
            Bound(n, 1, None),
            Bound(b * upto - a * n, 0, None),
            Bound(b * below - a * n, None, -1),
        ]


@dataclass(frozen=True)
class Group:
    """Rows with the same public knowledge, so that nobody can tell them apart."""

    rows: int
    records: NDArray[np.int64]
    """Which records each of them can have, by their numbers."""
    name: str = ""
    """What is known of them, in words."""


@dataclass(frozen=True)
class Transcript:
    """All that was told about the rows of a table, and what was promised about it.

    Example:
        >>> from fractions import Fraction
        >>> ages = np.arange(4)[:, None]
        >>> total = Told("SUM(age)", ages[:, 0] >= 0, ages[:, 0], 5, (5, 5), least=0,
        ...              step=Fraction(1))
        >>> pair = Transcript(("age",), ages, (total,), (Group(2, np.arange(4)),), charged=4)
        >>> pair.rows, pair.known
        (2, False)
    """

    columns: tuple[str, ...]
    """Those that some answer depends on."""
    records: NDArray[np.int64]
    """The codes of each record, one row per record, one column per column."""
    answers: tuple[Told, ...]
    groups: tuple[Group, ...]
    """Together all rows; where rows are a secret, also those that may not be there."""
    charged: int
    """The product of what was charged for the answers, in cells."""
    left_out: int = 0
    """Answers that are not used here."""
    types: NDArray[np.int64] | None = None
    """What is public or open of each record, as a number, or ``ANY_TYPE``."""
    truth: NDArray[np.int64] | None = None
    """How many rows have each record, where that is known."""
    widths: NDArray[np.int64] | None = None
    """How many values of a column the code of each record stands for; one each if left out."""
    multiplicity: NDArray[np.int64] | None = None
    """How many records of private values each one stands for; one if left out."""
    private: tuple[bool, ...] | None = None
    """Which columns are private; all if left out."""
    people: bool = True
    """Whether every row is one person; else somebody can have several rows, or none."""

    @property
    def rows(self) -> int:
        """How many rows there are, or can be."""
        return sum(group.rows for group in self.groups)

    @cached_property
    def secrets(self) -> tuple[int, ...]:
        """The numbers of the private columns."""
        private = self.private or (True,) * len(self.columns)
        return tuple(i for i, hidden in enumerate(private) if hidden)

    def values(self, column: int, records: NDArray[np.int64]) -> int:
        """Count the values that a column has in some records, a missing one included."""
        codes, first = np.unique(self.records[records, column], return_index=True)
        present = records[first][codes != ABSENT]
        return present.size if self.widths is None else int(self.widths[present, column].sum())

    @property
    def known(self) -> bool:
        """Whether the true table is at hand."""
        return self.truth is not None

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """All answers as inequalities."""
        return tuple(bound for answer in self.answers for bound in answer.bounds())

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """The whole number of each record, one row per record, one column per bound."""
        if not self.bounds:
            return np.zeros((len(self.records), 0), np.int64)
        return np.stack([bound.weights for bound in self.bounds], axis=1)

    @cached_property
    def answer_values(self) -> NDArray[np.int64]:
        """The whole number that each answer takes of each record, a column an answer."""
        if not self.answers:
            return np.zeros((len(self.records), 0), np.int64)
        return np.stack([answer.values for answer in self.answers], axis=1)

    @cached_property
    def limits(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lower and the upper ends of all bounds; where there is none, out of reach."""
        lows = [-FAR if bound.low is None else bound.low for bound in self.bounds]
        highs = [FAR if bound.high is None else bound.high for bound in self.bounds]
        return np.array(lows, np.int64), np.array(highs, np.int64)

    def type_name(self, kind: int) -> str:
        """Name what is public or open of some records, without their values."""
        public_columns = [name for i, name in enumerate(self.columns) if i not in self.secrets]
        if self.types is None or kind == ANY_TYPE or not public_columns:
            return ""
        present = self.types[(self.records != ABSENT).any(axis=1)]
        return name_of_type(kind, int(present.max()) + 1, public_columns)

    def holds_truth(self) -> bool:
        """Return whether the true table is one of those that the answers leave possible."""
        assert self.truth is not None
        totals = self.truth @ self.weights
        low, high = self.limits
        return bool((low <= totals).all() and (totals <= high).all())


def name_of_type(kind: int, types: int, columns: Sequence[str]) -> str:
    """Name rows by the columns that everybody knows of them, without their values.

    Example:
        >>> name_of_type(0, 6, ["region"])
        'group 1 of 6 by region'
    """
    return f"group {kind + 1} of {types} by {', '.join(columns)}" if columns else ""


@dataclass(frozen=True)
class Alike:
    """Records of a group that neither an answer nor what is public tells apart, taken together."""

    weights: NDArray[np.int64]
    """The numbers of each kind of record, a column a bound."""
    types: NDArray[np.int64]
    """What is public or open of each kind, as a number, or ``ANY_TYPE``."""
    values: NDArray[np.int64]
    """The whole number that each answer takes of each kind, a column an answer."""
    kinds: NDArray[np.int64]
    """The kind of each of the group's records."""


def alike(transcript: Transcript, group: Group) -> Alike:
    """Return the kinds of records that the answers tell apart.

    Example:
        >>> from fractions import Fraction
        >>> old = np.array([0, 0, 1])
        >>> count = Told("old", old > 0, old, 1, (1, 1), least=0, step=Fraction(1))
        >>> everybody = Group(5, np.arange(3))
        >>> ages = np.arange(3)[:, None]
        >>> alike(Transcript(("age",), ages, (count,), (everybody,), 2), everybody).kinds
        array([0, 0, 1])
    """
    types = transcript.types
    mine = np.full(len(transcript.records), ANY_TYPE) if types is None else types
    weights, values = transcript.weights, transcript.answer_values
    numbers = np.column_stack([mine, weights, values])[group.records]
    different, kinds = np.unique(numbers, axis=0, return_inverse=True)
    end = 1 + weights.shape[1]
    return Alike(different[:, 1:end], different[:, 0], different[:, end:], kinds.reshape(-1))
