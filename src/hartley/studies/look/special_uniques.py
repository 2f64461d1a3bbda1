"""Which small combinations of columns single people out, and whom most: special uniques."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import run
from hartley.errors import OptionError
from hartley.kernels.uniques import (
    FoundUniques,
    minimal_uniques,
    minimal_uniques_of_people,
    narrow_codes,
    size_of_search,
)
from hartley.ranges.classes import encode_column
from hartley.report import Readable, Report, Section
from hartley.tables.opening import open_table
from hartley.tables.view import prepare
from hartley.text import conjugate, count_of, listed, share_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

LARGEST = 4
"""Combinations of more columns are not looked at unless asked for."""
MOST_COLUMNS = 64
MOST_COMBINATIONS = 2**20
MOST_MEMORY = 2**31
"""Bytes that a search may keep."""


@dataclass(frozen=True)
class UniqueCombination:
    """Columns that single some records out, while no part of them does."""

    columns: tuple[str, ...]
    records: int
    """How many: people, where somebody may have several rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"columns": list(self.columns), "records": self.records}


@dataclass(frozen=True, eq=False)
class SpecialUniques(Readable):
    """Every minimal combination of few columns that singles a record out, with its records."""

    table: str
    columns: tuple[str, ...]
    rows: int
    largest: int
    _found: FoundUniques
    persons: NDArray[np.int64] | None = None
    """Whose each row is; None: one row is one person."""

    @cached_property
    def combinations(self) -> tuple[UniqueCombination, ...]:
        """The combinations, those of most records first."""
        combinations = [
            UniqueCombination(self._named(mask), self._people(records))
            for mask, records in self._found.parts
        ]
        return tuple(sorted(combinations, key=lambda c: (-c.records, len(c.columns), c.columns)))

    @cached_property
    def by_size(self) -> NDArray[np.int64]:
        """How many combinations of each size, from 1 on, single each record out: a row a record."""
        sizes = range(1, self.largest + 1)
        return np.stack([self._found.times_of_size(size, self.rows) for size in sizes], axis=1)

    @property
    def is_singled_out(self) -> NDArray[np.bool_]:
        """Whether some combination singles each record out."""
        return self._least <= self.largest

    @property
    def singled_out(self) -> int:
        """How many records some combination singles out."""
        return self.singled_out_by(self.largest)

    def singled_out_by(self, size: int) -> int:
        """How many records a combination of at most this many columns singles out."""
        return self._people(np.flatnonzero(self._least <= size))

    def _people(self, records: NDArray[Any]) -> int:
        return int(records.size if self.persons is None else np.unique(self.persons[records]).size)

    @cached_property
    def _least(self) -> NDArray[np.uint8]:
        return self._found.least_sizes(self.rows)

    @cached_property
    def scores(self) -> list[int]:
        r"""The score of every record: the sum of (M - m)! over its minimal combinations.

        .. math:: \sum_{U} (M - |U|)!

        with M columns in all. A record that few columns single out in many ways scores high. Whole
        numbers, exact.
        """
        all_columns, sizes = len(self.columns), range(1, self.largest + 1)
        weights = [factorial(all_columns - size) for size in sizes]
        most = sum(comb(all_columns, size) * factorial(all_columns - size) for size in sizes)
        if most < 2**63:
            scores: list[int] = (self.by_size @ np.array(weights, np.int64)).tolist()
            return scores
        # Weights beyond 64 bits are common from 21 columns on: added up as Python's whole numbers.
        large = self.by_size.astype(object) @ np.array(weights, object)
        return [int(score) for score in large]

    def of(self, record: int) -> tuple[tuple[str, ...], ...]:
        """Return the minimal combinations that single a record out, the record counted from 0."""
        own = [mask for mask, records in self._found.parts if (records == record).any()]
        return tuple(sorted(map(self._named, own), key=lambda names: (len(names), names)))

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(name for at, name in enumerate(self.columns) if mask >> at & 1)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        few = self.largest
        return (
            f"{self.singled_out:,} of {count_of(self.rows, 'record')} "
            f"({share_text(Fraction(self.singled_out, self.rows))}) "
            f"{conjugate(self.singled_out, 'is')} singled out by at most "
            f"{count_of(few, 'column')} of {len(self.columns)}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        said = [
            f"{count_of(size, 'column')}{' or fewer' if size > 1 else ''} "
            f"{conjugate(size, 'singles')} out {count_of(self.singled_out_by(size), 'record')}."
            for size in range(1, self.largest)
        ]
        said += [
            f"{listed(combination.columns)} together single out "
            f"{count_of(combination.records, 'record')}, and no part of them does."
            if len(combination.columns) > 1
            else f"{combination.columns[0]} alone singles out "
            f"{count_of(combination.records, 'record')}."
            for combination in self.combinations[:5]
        ]
        return tuple(said)

    def report(self) -> Report:
        """Return the combinations in sentences."""
        found = Section("What was found", points=self.sentences)
        return Report(f"Special uniques of {self.table}", self.headline, (), (found,))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON; no value of a record is in it."""
        return {
            "table": self.table,
            "columns": list(self.columns),
            "rows": self.rows,
            "largest": self.largest,
            "singled_out": self.singled_out,
            "singled_out_by": [self.singled_out_by(size + 1) for size in range(self.largest)],
            "combinations": [combination.to_dict() for combination in self.combinations],
            "headline": self.headline,
            "sentences": list(self.sentences),
        }


def special_uniques(
    table: object,
    columns: Sequence[str] | None = None,
    *,
    largest: int = LARGEST,
    progress: Callable[[float], None] = lambda _share: None,
) -> SpecialUniques:
    r"""Find all minimal combinations of few columns that single a record out.

    A combination singles a record out if no other record agrees with it on all of its columns; it
    is minimal if no part of it does. Its score sums (M - m)! over a record's minimal combinations
    of m out of M columns (Elliot, Manning and Ford 2002). Exact. A missing value is a value of its
    own. At most one pass over the records for every combination; combinations of columns with few
    values cost a pass over the different records alone.

    Args:
        table: a table: a file, a data frame, a database table or a dictionary of columns.
        columns: those that somebody may know; by default all.
        largest: the most columns of a combination.
        progress: called with the share of the work that is done.

    Example:
        >>> people = {"age": [30, 30, 40, 40], "sex": ["F", "M", "F", "F"], "job": [1, 1, 1, 2]}
        >>> uniques = special_uniques(people)
        >>> uniques.of(2), uniques.of(3)
        ((('age', 'job'),), (('job',),))
        >>> uniques.scores
        [1, 2, 1, 2]
    """
    opened = open_table(table)
    names = tuple(opened.columns if columns is None else columns)
    opened.require(names)
    _check(names, largest)
    view = prepare(opened, names, missing="value")
    largest = min(largest, len(names))
    combinations, memory = size_of_search(len(names), view.rows, largest)
    if memory > MOST_MEMORY or combinations > MOST_COMBINATIONS:
        raise OptionError(
            f"{len(names)} columns have too many combinations of up to {largest}",
            hint="name fewer columns, or look at smaller combinations",
        )
    data = run(opened, view.expression.to_pyarrow)
    encoded = [encode_column(data.column(f"c{i}")) for i in range(len(names))]
    codes = [narrow_codes(column, len(values)) for column, values in encoded]
    return uniques_of_codes(opened.name, names, codes, largest=largest, progress=progress)


def uniques_of_codes(  # noqa: PLR0913 - the rows, and what is asked of them
    table: str,
    names: tuple[str, ...],
    codes: Sequence[NDArray[Any]],
    *,
    largest: int = LARGEST,
    persons: NDArray[np.int64] | None = None,
    progress: Callable[[float], None] = lambda _share: None,
) -> SpecialUniques:
    """Find the special uniques of columns that are integer codes, narrow ones fastest.

    With the person of every row, a combination singles a person out if all rows of a class are
    theirs.
    """
    largest = min(largest, len(names))
    # Columns with many values first: what they single out is left out of all that follows.
    order = sorted(range(len(names)), key=lambda at: -int(codes[at].max(initial=0)))
    ordered = [codes[at] for at in order]
    if persons is None:
        uniques = minimal_uniques(ordered, largest, progress)
    else:
        uniques = minimal_uniques_of_people(ordered, persons, largest, progress)
    parts = [  # the bit of each column at its own place again
        (sum(1 << at for bit, at in enumerate(order) if mask >> bit & 1), records)
        for mask, records in uniques.parts
    ]
    rows = codes[0].size if codes else 0
    return SpecialUniques(table, names, rows, largest, FoundUniques(parts), persons)


def _check(names: Sequence[str], largest: int) -> None:
    if not names or len(names) > MOST_COLUMNS:
        raise OptionError(
            f"{count_of(len(names), 'column')} were named", hint=f"name 1 to {MOST_COLUMNS} columns"
        )
    for at, name in enumerate(names):
        if name in names[:at]:
            raise OptionError(f"Column '{name}' is named twice", hint="name it once")
    if type(largest) is not int or largest < 1:
        raise OptionError(
            "The most columns of a combination is no whole number above 0", hint="give 1 to 4"
        )
