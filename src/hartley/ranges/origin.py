"""Where a relation comes from, and how its pairs are counted there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.summary import Pairs, Summary
from hartley.ranges.values import RecordValues, Values, coded_values, encode_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.counting import Progress
    from hartley.engines.view import View

TALLY_FROM = 200_000
"""DuckDB tables with more rows than this stream through the kernel and list no pairs."""

LARGEST_LIST = 50_000_000
"""More distinct pairs than this are never listed in memory."""


class Origin(ABC):
    """A source of pairs, summarised on demand."""

    view: View | None = None
    note: str | None = None
    names: tuple[tuple[str, ...], tuple[str, ...]]

    @abstractmethod
    def summary(self, progress: Progress | None = None) -> Summary:
        """Return the sizes of all ranges."""

    @abstractmethod
    def pairs(self) -> Pairs:
        """Return the distinct pairs."""

    @abstractmethod
    def values(self) -> tuple[Values, Values]:
        """Return what the codes of both sides stand for."""

    def swap(self) -> Origin:
        """Return the origin with the sides exchanged."""
        return ListedOrigin(self.pairs().swap(), *reversed(self.values()))


class ListedOrigin(Origin):
    """Pairs that are listed in memory."""

    def __init__(self, pairs: Pairs, secret: Values, released: Values) -> None:
        self._pairs, self._values = pairs, (secret, released)
        self.names = secret.names, released.names

    @cached_property
    def _summary(self) -> Summary:
        return Summary.of_pairs(self._pairs)

    def summary(self, progress: Progress | None = None) -> Summary:  # noqa: ARG002 - quick
        return self._summary

    def pairs(self) -> Pairs:
        return self._pairs

    def values(self) -> tuple[Values, Values]:
        return self._values


class RecordOrigin(Origin):
    """Every record is a secret of its own; only the released side is counted."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.names = ("ROW",), tuple(column.name for column in view.columns)

    @cached_property
    def _counted(self) -> tuple[Summary, tuple[Values, Values]]:
        from hartley.engines.counting import distinct_counts

        assert self.view is not None
        found = distinct_counts(self.view)
        codes, released = encode_arrow(found.drop_columns(["n"]), self.view.columns)
        counts = np.zeros(len(released), np.int64)
        np.add.at(counts, codes, found["n"].to_numpy())
        return Summary.of_records(counts), (RecordValues(int(counts.sum())), released)

    def summary(self, progress: Progress | None = None) -> Summary:  # noqa: ARG002 - one query
        return self._counted[0]

    @cached_property
    def _pairs(self) -> Pairs:
        counts = self.summary().released_rows
        _refuse_long(int(counts.sum()), self.names)
        released = np.repeat(np.arange(counts.size), counts)
        records = np.arange(released.size)
        return Pairs(records, released, np.ones_like(records), (records.size, counts.size))

    def pairs(self) -> Pairs:
        return self._pairs

    def values(self) -> tuple[Values, Values]:
        return self._counted[1]


class TableOrigin(Origin):
    """Columns of a table, counted where the table lives."""

    def __init__(
        self,
        view: View,
        secret_at: Sequence[int],
        released_at: Sequence[int],
        memory_limit: int | None = None,
    ) -> None:
        self.view: View = view
        self._at, self._memory_limit = (secret_at, released_at), memory_limit
        hidden, shown = (tuple(view.columns[i].name for i in at) for at in self._at)
        self.names = hidden, shown
        self._progress: Progress | None = None

    @property
    def _is_large(self) -> bool:
        return self.view.engine == "duckdb" and self.view.rows > TALLY_FROM

    @cached_property
    def _tallied(self) -> tuple[Summary, tuple[Values, Values]]:
        from hartley.ranges.tally import tally_pairs

        found = tally_pairs(
            self.view, *self._at, memory_limit=self._memory_limit, progress=self._progress
        )
        summary, secrets, released = Summary.of_tally(found.tally)
        if found.spilled:
            self.note = (
                "The rows did not fit in the memory limit, so the engine counted the pairs and "
                "spilled to disk; the numbers are the same, only slower."
            )
        return summary, (
            coded_values(found.secret, secrets),
            coded_values(found.released, released),
        )

    @cached_property
    def _listed(self) -> ListedOrigin:
        from hartley.engines.counting import distinct_counts

        if self._is_large:
            _refuse_long(self.summary().pairs, self.names)
        found = distinct_counts(self.view)
        sides = [
            encode_arrow(found.select([f"c{i}" for i in at]), [self.view.columns[i] for i in at])
            for at in self._at
        ]
        (hidden, secret), (shown, released) = sides
        counts = found["n"].to_numpy().astype(np.int64)
        pairs = Pairs.gather(hidden, shown, counts, (len(secret), len(released)))
        return ListedOrigin(pairs, secret, released)

    def summary(self, progress: Progress | None = None) -> Summary:
        self._progress = progress
        return self._tallied[0] if self._is_large else self._listed.summary()

    def pairs(self) -> Pairs:
        return self._listed.pairs()

    def values(self) -> tuple[Values, Values]:
        return self._tallied[1] if self._is_large else self._listed.values()

    def swap(self) -> Origin:
        secret_at, released_at = self._at
        return TableOrigin(self.view, released_at, secret_at, self._memory_limit)


def _refuse_long(pairs: int, names: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    if pairs > LARGEST_LIST:
        sides = " and ".join(", ".join(side) for side in names)
        raise OptionError(
            f"The relation of {sides} has {pairs:,} distinct pairs, too many to list",
            hint="bin a column, or choose columns with fewer values",
        )
