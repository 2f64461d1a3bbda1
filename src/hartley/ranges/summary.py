"""The finite joint range as integers: its pairs, and all that most measures need of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.kernels.pairs import Tally

SCIPY_UP_TO = 100_000
"""Fewer pairs than this are joined by scipy, which needs no compilation."""


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
        """Collect pairs in any order, repeated or not.

        Example:
            >>> one = np.ones(3, np.int64)
            >>> Pairs.gather(np.array([1, 0, 1]), np.array([0, 1, 0]), one, (2, 2)).counts
            array([2, 1])
        """
        keys = released * sizes[0] + secret
        distinct, place = np.unique(keys, return_inverse=True)
        total = np.zeros(distinct.size, np.int64)
        np.add.at(total, place, counts)
        return cls(distinct % sizes[0], distinct // sizes[0], total, sizes)

    def swap(self) -> Pairs:
        """Return the pairs with the sides exchanged."""
        return Pairs.gather(self.released, self.secret, self.counts, self.sizes[::-1])

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the pairs of each released code begin; one more number closes the last."""
        return np.searchsorted(self.released, np.arange(self.sizes[1] + 1))

    def secrets_of(self, released: int) -> NDArray[np.int64]:
        """Return the conditional range of the secret given a released code."""
        return self.secret[self.offsets[released] : self.offsets[released + 1]]

    def distinct_images(self, image: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many distinct images of the secret each released code leaves possible."""
        width = int(image.max(initial=0)) + 1
        keys = np.unique(self.released * width + image[self.secret])
        return np.bincount(keys // width, minlength=self.sizes[1])

    def labels(self) -> NDArray[np.int32]:
        """Return the class of the overlap partition of each secret, numbered by first secret."""
        if self.secret.size > SCIPY_UP_TO:
            from hartley.kernels.components import component_labels

            return component_labels(self.secret, self.released, self.sizes)
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        nodes = sum(self.sizes)
        edges = (np.ones(self.secret.size), (self.secret, self.released + self.sizes[0]))
        _, found = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)
        return _renumbered(found[: self.sizes[0]])


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

    @property
    def secrets(self) -> int:
        """How many values the secret can take."""
        return int(self.secret_rows.size)

    @property
    def released(self) -> int:
        """How many values the released side can take."""
        return int(self.released_rows.size)

    @cached_property
    def classes(self) -> int:
        """How many classes the overlap partition has."""
        return int(self.secret_labels.max()) + 1

    @classmethod
    def of_pairs(cls, pairs: Pairs) -> Summary:
        """Summarise listed pairs."""
        secrets, released = pairs.sizes
        secret_rows = _sum_by(pairs.secret, pairs.counts, secrets)
        labels = pairs.labels()
        peak = np.zeros(released)
        np.maximum.at(peak, pairs.released, pairs.counts / secret_rows[pairs.secret])
        return cls(
            rows=int(pairs.counts.sum()),
            pairs=int(pairs.secret.size),
            secret_rows=secret_rows,
            released_rows=_sum_by(pairs.released, pairs.counts, released),
            secret_sizes=np.diff(pairs.offsets),
            released_sizes=np.bincount(pairs.secret, minlength=secrets),
            secret_labels=labels,
            released_labels=labels[pairs.secret[pairs.offsets[:-1]]],
            row_bits=float(pairs.counts @ np.log2(pairs.counts)),
            peak_share=math.fsum(peak),
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
        )
        return summary, secrets, released

    @classmethod
    def of_records(cls, counts: NDArray[np.int64]) -> Summary:
        """Summarise the relation of every record, a secret of its own, to what it releases."""
        rows, released = int(counts.sum()), int(counts.size)
        one = np.broadcast_to(np.int64(1), rows)
        classes = np.arange(released, dtype=np.int32)
        return cls(
            rows=rows,
            pairs=rows,
            secret_rows=one,
            released_rows=counts,
            secret_sizes=counts,
            released_sizes=one,
            secret_labels=np.repeat(classes, counts),
            released_labels=classes,
            row_bits=0.0,
            peak_share=float(released),
        )


def _renumbered(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number classes without gaps, in the order of their first members."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.empty(first.size, np.int32)
    ranks[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    return ranks[places]


def _sum_by(codes: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Add counts up by code, in exact integers."""
    total = np.zeros(size, np.int64)
    np.add.at(total, codes, counts)
    return total
