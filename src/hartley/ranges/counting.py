"""The pairs of a finite joint range as integers: where they come from and how they are counted."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.joint_range import RecordValues, Size, Values, coded_values, encode_arrow
from hartley.tables.counts import coded_rows, distinct_counts
from hartley.tables.view import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.kernels.pairs import Tally
    from hartley.tables.counts import CodedRows, Coding, Progress
    from hartley.tables.view import View


SCIPY_UP_TO = 100_000
"""Fewer pairs than this are joined by scipy, which needs no compilation."""
DEFAULT_MEMORY = 2_000_000_000
"""Rows that need more than this many bytes are grouped by the engine instead."""
TALLY_FROM = 200_000
"""Larger tables, on an engine that codes them, stream through the kernel and list no pairs."""
CODES_A_ROW = 8
"""Codes up to so many a row are numbered by a table of them, others by a sort."""
MOST_ROWS = 2**31 - 1
"""Products of two counts of so many rows fit into 63 bits."""
LARGEST_LIST = 50_000_000
"""More distinct pairs than this are never listed in memory."""


@dataclass(frozen=True)
class Pairs:
    """The distinct pairs of a relation by code, ordered by released code, then by secret code."""

    secret: NDArray[np.int64]
    released: NDArray[np.int64]
    counts: NDArray[np.int64]
    sizes: tuple[int, int]
    """How many secrets and how many released values there are."""

    @classmethod
    def gather(
        cls,
        secret: NDArray[np.int64],
        released: NDArray[np.int64],
        counts: NDArray[np.int64],
        sizes: tuple[int, int],
    ) -> Pairs:
        """Collect pairs in any order, repeated or not."""
        keys = released * sizes[0] + secret
        distinct, place = np.unique(keys, return_inverse=True)
        total = sum_by(place, counts, distinct.size)
        return cls(distinct % sizes[0], distinct // sizes[0], total, sizes)

    def swap(self) -> Pairs:
        """Return the pairs with the sides exchanged."""
        return Pairs.gather(self.released, self.secret, self.counts, self.sizes[::-1])

    @cached_property  # it is asked for with every code of a graph
    def offsets(self) -> NDArray[np.int64]:
        """Where the pairs of each released code begin; one more number closes the last."""
        return np.searchsorted(self.released, np.arange(self.sizes[1] + 1))

    def secrets_of(self, released: int) -> NDArray[np.int64]:
        """Return the conditional range of the secret given a released code."""
        return self.secret[self.offsets[released] : self.offsets[released + 1]]

    def distinct_images(self, image: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many distinct images of the secret each released code leaves possible."""
        width = int(image.max(initial=0)) + 1
        keys = distinct(self.released * width + image[self.secret])
        return np.bincount(keys // width, minlength=self.sizes[1])

    def labels(self) -> NDArray[np.int32]:
        """Return the class of the overlap partition of each secret, numbered by first secret."""
        if self.secret.size > SCIPY_UP_TO:
            from hartley.kernels.pairs import component_labels

            return component_labels(self.secret, self.released, self.sizes)
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        nodes = sum(self.sizes)
        edges = (np.ones(self.secret.size), (self.secret, self.released + self.sizes[0]))
        _, labels = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)
        return _renumbered(labels[: self.sizes[0]])


@dataclass(frozen=True)
class Summary:
    """Everything about a joint range that does not need its pairs one by one."""

    rows: int
    pairs: int
    secret_rows: NDArray[np.int64]
    released_rows: NDArray[np.int64]
    secret_sizes: NDArray[np.int64]
    """For every released value, how many secrets it leaves possible: the size of [X|y]."""
    released_sizes: NDArray[np.int64]
    """For every secret, how many released values it can produce: the size of [Y|x]."""
    secret_labels: NDArray[np.int32]
    released_labels: NDArray[np.int32]
    row_bits: float
    """Sum over the pairs of count * log2(count)."""
    peak_share: float
    """Sum over the released values of the largest count(pair) / count(secret)."""
    likely: NDArray[Any]
    """For every released value: count and total of its commonest secret, those of the secret whose
    share it raises most (of equal ones the larger), and of all secrets whose share it raises. Of
    more than 2^31 - 1 rows these are Python's integers, since products of counts are wider."""

    @property
    def secrets(self) -> int:
        """How many values the secret can take."""
        return int(self.secret_rows.size)

    @property
    def released(self) -> int:
        """How many values the released side can take."""
        return int(self.released_rows.size)

    @property
    def classes(self) -> int:
        """How many classes the overlap partition has."""
        return int(self.secret_labels.max()) + 1

    def shared_bits(self) -> float:
        """Return the mutual information of the relative frequencies, in bits, from sums alone."""
        sides = (
            # Of records every count is one, and no array of them is made.
            0.0 if rows.strides == (0,) else float(np.sum(rows * np.log2(rows)))
            for rows in (self.secret_rows, self.released_rows)
        )
        bits = (self.row_bits - sum(sides)) / self.rows + math.log2(self.rows)
        # The sums are rounded: the truth is never below zero nor above the smaller entropy.
        return min(max(bits, 0.0), math.log2(min(self.secrets, self.released)))

    @classmethod
    def of_pairs(cls, pairs: Pairs) -> Summary:
        """Summarise listed pairs."""
        secrets, released = pairs.sizes
        secret_rows = sum_by(pairs.secret, pairs.counts, secrets)
        labels = pairs.labels()
        peak = np.zeros(released)
        np.maximum.at(peak, pairs.released, pairs.counts / secret_rows[pairs.secret])
        return cls(
            rows=int(pairs.counts.sum()),
            pairs=int(pairs.secret.size),
            secret_rows=secret_rows,
            released_rows=sum_by(pairs.released, pairs.counts, released),
            secret_sizes=np.diff(pairs.offsets),
            released_sizes=np.bincount(pairs.secret, minlength=secrets),
            secret_labels=labels,
            released_labels=labels[pairs.secret[pairs.offsets[:-1]]],
            row_bits=float(pairs.counts @ np.log2(pairs.counts)),
            peak_share=math.fsum(peak),
            likely=_likely(pairs, secret_rows),
        )

    @classmethod
    def of_tally(cls, tally: Tally) -> tuple[Summary, NDArray[np.int64], NDArray[np.int64]]:
        """Summarise a tally; also return which of its codes occur on each side."""
        secrets, released = np.flatnonzero(tally.secret_rows), np.flatnonzero(tally.released_rows)
        labels = _renumbered(tally.labels[secrets])
        by_code = np.zeros(tally.secret_rows.size, np.int32)
        by_code[secrets] = labels
        summary = cls(
            rows=int(tally.secret_rows.sum()),
            pairs=int(tally.secrets_seen.sum()),
            secret_rows=tally.secret_rows[secrets],
            released_rows=tally.released_rows[released],
            secret_sizes=tally.secrets_seen[released],
            released_sizes=tally.released_seen[secrets],
            secret_labels=labels,
            released_labels=by_code[tally.first_secret[released]],
            row_bits=tally.row_bits,
            peak_share=tally.peak_share,
            likely=widened(tally.likely[:, released], int(tally.secret_rows.sum())),
        )
        return summary, secrets, released

    @classmethod
    def of_records(cls, counts: NDArray[np.int64]) -> Summary:
        """Summarise the relation of every record, a secret of its own, to what it releases."""
        rows, released = int(counts.sum()), int(counts.size)
        ones = np.broadcast_to(np.int64(1), rows)
        classes = np.arange(released, dtype=np.int32)
        return cls(
            rows=rows,
            pairs=rows,
            secret_rows=ones,
            released_rows=counts,
            secret_sizes=counts,
            released_sizes=ones,
            secret_labels=np.repeat(classes, counts),
            released_labels=classes,
            row_bits=0.0,
            peak_share=float(released),
            likely=widened(
                np.stack([np.ones_like(counts)] * 4 + [np.where(counts < rows, counts, 0)] * 2),
                rows,
            ),
        )


class CountedRange(ABC):
    """A finite joint range, whose sizes are counts: what ``JointRange`` asks, from a summary."""

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """Sizes of all ranges and conditional ranges."""

    @abstractmethod
    def pairs(self) -> Pairs:
        """Return the distinct pairs by code."""

    @property
    def secret_size(self) -> Size:
        """How many values the secret can take."""
        return Size.of(self.summary.secrets)

    @property
    def largest_conditional(self) -> Size:
        """How many secrets the least telling released value leaves possible."""
        return Size.of(int(self.summary.secret_sizes.max()))

    @property
    def smallest_conditional(self) -> Size:
        """How many secrets the most telling released value leaves possible."""
        return Size.of(int(self.summary.secret_sizes.min()))

    @property
    def released_count(self) -> int:
        """How many values the released side can take."""
        return self.summary.released

    @property
    def pair_size(self) -> Size:
        """How many pairs can occur."""
        return Size.of(self.summary.pairs)

    @property
    def overlap_classes(self) -> int:
        """How many classes the overlap partition has."""
        return self.summary.classes

    def peak_share(self) -> float:
        """Return the sum over the released values of the largest share of a secret's rows."""
        return self.summary.peak_share

    def shared_bits(self) -> float:
        """Return the mutual information of the relative frequencies of the rows, in bits."""
        return self.summary.shared_bits()


def _renumbered(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number classes without gaps, in the order of their first members."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.empty(first.size, np.int32)
    ranks[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    return ranks[places]


def _likely(pairs: Pairs, secret_rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return what ``Summary.likely`` holds, from listed pairs."""
    rows, sizes = int(pairs.counts.sum()), sum_by(pairs.released, pairs.counts, pairs.sizes[1])
    if rows > MOST_ROWS:
        from hartley.kernels.pairs import add_likely

        likely = np.zeros((sizes.size, 6), np.int64)
        columns = pairs.secret, pairs.released, pairs.counts
        add_likely(*columns, secret_rows, sizes, rows, likely)
        return widened(likely.T, rows)
    counts, totals, starts = pairs.counts, secret_rows[pairs.secret], pairs.offsets[:-1]

    def largest(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.maximum.reduceat(numbers, starts)

    most = largest(counts)
    of_most = largest(np.where(counts == most[pairs.released], totals, 0))
    # The share count / total in two digits of 31 bits: different shares of numbers below 2^31
    # differ by more than 2^-62, so their order is exact. Of equal shares the larger count stands.
    first, left = np.divmod(counts << 31, totals)
    second = np.where(first == largest(first)[pairs.released], (left << 31) // totals, -1)
    raising = np.where(second == largest(second)[pairs.released], counts, 0)
    raised = largest(raising)
    of_raised = largest(np.where(raising == raised[pairs.released], totals, 0))
    above = counts * rows > totals * sizes[pairs.released]
    all_raised = (np.add.reduceat(numbers * above, starts) for numbers in (counts, totals))
    return np.stack([most, of_most, raised, of_raised, *all_raised])


def widened(numbers: NDArray[np.int64], rows: int) -> NDArray[Any]:
    """Return numbers as Python's integers if products with counts of so many rows are wider."""
    return numbers.astype(object) if rows > MOST_ROWS else numbers


def numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number codes from 0 on without gaps, in their order."""
    top = int(codes.max(initial=-1)) + 1
    if top > CODES_A_ROW * codes.size:
        return np.unique(codes, return_inverse=True)[1]
    seen = np.zeros(top, bool)
    seen[codes] = True
    return (np.cumsum(seen) - 1)[codes]


def sum_by(codes: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Add counts up by code, in exact integers."""
    total = np.zeros(size, np.int64)
    np.add.at(total, codes, counts)
    return total


def distinct(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different codes in their order, by a sort, which is quicker than hashing them."""
    ordered: NDArray[np.int64] = np.sort(codes)
    different: NDArray[np.bool_] = np.diff(ordered, prepend=-1) != 0
    return ordered[different]


@dataclass(frozen=True)
class CodedTally:
    """A tally by code, what the codes mean and whether the engine had to spill."""

    tally: Tally
    secret: Coding
    released: Coding
    spilled: bool


def tally_pairs(
    view: View,
    secret_at: Sequence[int],
    released_at: Sequence[int],
    *,
    memory_limit: int | None = None,
    progress: Progress | None = None,
) -> CodedTally:
    """Count the pairs of a large table, given which columns make up each side.

    Where the packed rows fit in memory they stream through the kernel; otherwise the engine
    groups them, spilling to disk, and only the distinct pairs stream by. Memory then grows with
    the two ranges alone.
    """
    from hartley.kernels.pairs import PairTally, bytes_needed, table_changed

    def count() -> CodedTally:
        with coded_rows(view, secret_at, released_at, memory_limit) as rows:
            widths = rows.secret.width, rows.released.width
            needed = bytes_needed(view.rows, *widths)
            spilled = needed > (memory_limit or DEFAULT_MEMORY) or view.rows > MOST_ROWS
            if spilled:
                tally = _count_grouped(rows, progress)
            else:
                packed = PairTally(secrets=widths[0], released=widths[1])
                for keys in rows.packed(packed.secret_bits, progress):
                    packed.add(keys)
                tally = packed.finish()
            if int(tally.secret_rows.sum()) != view.rows:
                raise table_changed()
            return CodedTally(tally, rows.secret, rows.released, spilled)

    counted: CodedTally = run(view.table, count)
    return counted


def _count_grouped(rows: CodedRows, progress: Progress | None) -> Tally:
    """Let the engine group, and stream the distinct pairs twice."""
    from hartley.kernels.pairs import PairCounter

    counter = PairCounter(secrets=rows.secret.width, released=rows.released.width)
    report = progress or (lambda _share: None)
    with rows.grouped() as stream:
        for batch in stream(lambda share: report(share / 2)):
            counter.add(*batch)
        for batch in stream(lambda share: report(0.5 + share / 2)):
            counter.add_shares(*batch)
    return counter.finish()


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

    # What the origins cache is counted from all rows or all pairs, milliseconds and more each.

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
        assert self.view is not None
        distinct = distinct_counts(self.view)
        codes, released = encode_arrow(distinct.drop_columns(["n"]), self.view.columns)
        counts = sum_by(codes, distinct["n"].to_numpy(), len(released))
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
        secret_names, released_names = (tuple(view.columns[i].name for i in at) for at in self._at)
        self.names = secret_names, released_names
        self._progress: Progress | None = None

    @property
    def _is_large(self) -> bool:
        return self.view.dialect.codes_large_tables and self.view.rows > TALLY_FROM

    @cached_property
    def _tallied(self) -> tuple[Summary, tuple[Values, Values]]:
        counted = tally_pairs(
            self.view, *self._at, memory_limit=self._memory_limit, progress=self._progress
        )
        summary, secrets, released = Summary.of_tally(counted.tally)
        if counted.spilled:
            self.note = (
                "The rows did not fit in the memory limit, so the engine counted the pairs and "
                "spilled to disk; the numbers are the same, only slower."
            )
        return summary, (
            coded_values(counted.secret, secrets),
            coded_values(counted.released, released),
        )

    @cached_property
    def _listed(self) -> ListedOrigin:
        if self._is_large:
            _refuse_long(self.summary().pairs, self.names)
        distinct = distinct_counts(self.view)
        sides = [
            encode_arrow(distinct.select([f"c{i}" for i in at]), [self.view.columns[i] for i in at])
            for at in self._at
        ]
        (secret_codes, secret), (released_codes, released) = sides
        counts = distinct["n"].to_numpy().astype(np.int64)
        pairs = Pairs.gather(secret_codes, released_codes, counts, (len(secret), len(released)))
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
