"""Records released as the averages of their groups: losses, leakage and sentences about them."""

from __future__ import annotations

import math
import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.maps.writing import write_arrow
from hartley.errors import OptionError
from hartley.exact import log_ratio
from hartley.measures.reidentification import size_bands
from hartley.ranges.relations.classes import Singling, single_out
from hartley.readable import ReadableResult
from hartley.wording import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.measures.reidentification import SizeBand
    from hartley.policies.records.points import Records

    Grouping = Callable[[NDArray[np.float64], int], NDArray[np.int32]]
    """From points and k to the group of every point."""

NEAR = 0.05
"""A released value this part of a standard deviation from the truth counts as near it."""


@dataclass(frozen=True)
class ColumnLoss:
    """What averaging did to one column."""

    column: str
    loss: float
    """The share of its variation that is lost: SSE / SST of the column alone."""
    largest_move: float
    """The largest distance of a value from its average, in the units of the column."""
    near: int
    """Records whose average is within a twentieth of a standard deviation of their value."""


@dataclass(frozen=True, eq=False)
class Microaggregation(ReadableResult):
    """Groups of k to 2k - 1 similar records, each released as its average."""

    method: str
    table: str
    k: int
    columns: tuple[str, ...]
    """The columns whose values are replaced by averages."""
    kept: tuple[str, ...]
    """The columns that are released as they are."""
    standardised: bool
    groups: NDArray[np.int32]
    """The group of every record, numbered by its first record."""
    released: Any
    """An Arrow table: the averages, then the columns that are kept, in the order of the records."""
    sse: float
    """Squared distances of the records to the averages of their groups, in all."""
    sst: float
    """Squared distances of the records to the average of all, in all."""
    losses: tuple[ColumnLoss, ...]
    """The loss of every column by itself."""
    unchanged: int
    """Records in groups of equal records, whose average is their own value."""
    singling: Singling
    """How many records the columns that are kept single out."""
    sources: tuple[str, ...] = ()
    """The files of the table, which nothing may overwrite."""

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.groups.size)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each group has."""
        return np.bincount(self.groups)

    @property
    def bands(self) -> tuple[SizeBand, ...]:
        """How many groups, and records in them, there are of every size."""
        return size_bands(self.sizes)

    @property
    def information_loss(self) -> float:
        r"""The share of the variation that is lost: SSE / SST, from 0 to 1."""
        return self.sse / self.sst

    @property
    def leakage(self) -> float:
        """The most bits that the averages tell about whose record is whose: log2(n / least size).

        The non-stochastic leakage L0 with the record as the secret; a bound, since two groups may
        have the same average. It does not count the columns that are kept.
        """
        return log_ratio(self.rows, int(self.sizes.min()))

    @property
    def headline(self) -> str:
        """The release in one sentence, and a warning if kept columns undo it."""
        groups = self.sizes.size
        made = (
            f"{self.rows:,} records of {self.table} were released as the averages of "
            f"{counted(groups, 'group')} of {_between(self.sizes)}, which loses "
            f"{100 * self.information_loss:.2f} % of the variation."
        )
        return f"{made} {self.singling.warning}".rstrip()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        smallest = int(self.sizes.min())
        bits = math.ceil(1000 * self.leakage) / 1000
        shared = ", ".join(self.columns)
        sentences = [
            f"Every released row of {shared} is shared by at least {smallest:,} records.",
            (
                f"These columns alone tell at most {bits:.3f} bits about whose record is whose: "
                f"they leave at least {smallest:,} of {self.rows:,} records possible."
            ),
        ]
        if near := max(self.losses, key=lambda loss: loss.near).near:
            sentences.append(
                f"Of the worst column {100 * near / self.rows:.3g} % of the averages are within "
                f"{100 * NEAR:g} % of a standard deviation of the value that they replace."
            )
        if self.unchanged:
            sentences.append(
                f"{self.unchanged:,} records are in groups of equal records, whose averages are "
                "their values themselves."
            )
        if self.kept:
            sentences += (
                f"Released as they are, and no part of this promise: {', '.join(self.kept)}.",
                *self.singling.sentences,
            )
        order = "The rows keep their order: if that tells something, the release tells it too."
        return (*sentences, order)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and sentences as plain values, ready for JSON; no value of the table."""
        sizes, counts = np.unique(self.sizes, return_counts=True)
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "method": self.method,
            "table": self.table,
            "k": self.k,
            "columns": list(self.columns),
            "kept": list(self.kept),
            "standardised": self.standardised,
            "rows": self.rows,
            "groups": int(self.sizes.size),
            "group_sizes": dict(zip(map(str, sizes.tolist()), counts.tolist(), strict=True)),
            "sse": self.sse,
            "sst": self.sst,
            "information_loss": self.information_loss,
            "leakage_bound": self.leakage,
            "losses": [asdict(loss) for loss in self.losses],
            "unchanged": self.unchanged,
            "singled_out": self.singling.to_dict(),
        }

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> Path:
        """Write the released table as Parquet or CSV, by the ending of the path, whole or not."""
        return write_arrow(self.released, path, self.sources, spreadsheet_safe=spreadsheet_safe)


def released_groups(
    method: str, records: Records, k: int, grouping: Grouping, *, standardise: bool
) -> Microaggregation:
    """Group the records, replace them by averages and measure what that loses.

    Args:
        method: the name of the way to group.
        records: the numbers, and the columns to keep.
        k: the least size of a group.
        grouping: finds the group of every point.
        standardise: give every column the standard deviation 1 first.
    """
    import pyarrow as pa

    k = int(k)
    points = records.points(standardise=standardise)
    labels = _by_first_record(_beside(lambda: grouping(points, k)))
    averages, alike = _averages(records.values, labels)
    centres, _ = _averages(points, labels)
    sst = float(np.square(points).sum())
    if sst == 0:
        raise OptionError(
            f"The numbers of {records.table} are too close to each other to be squared",
            hint="scale the columns, or let them be standardised",
        )
    columns = {name: averages[labels, i] for i, name in enumerate(records.columns)}
    columns |= {name: records.kept.column(name) for name in records.kept.column_names}
    unchanged, released = tuple(records.kept.column_names), pa.table(columns)
    return Microaggregation(
        method=method,
        table=records.table,
        k=k,
        columns=records.columns,
        kept=unchanged,
        standardised=standardise,
        groups=labels,
        released=released,
        sse=float(np.square(points - centres[labels]).sum()),
        sst=sst,
        losses=_losses(records, labels, averages),
        unchanged=int(alike[labels].sum()),
        singling=single_out(released, records.columns, unchanged),
        sources=records.paths,
    )


def _beside(work: Callable[[], NDArray[np.int32]]) -> NDArray[np.int32]:
    """Do long compiled work in its own thread, so that the main thread can be interrupted."""
    results: list[NDArray[np.int32]] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failed.append(error)

    # As a daemon, so that the process ends although the work does not.
    thread = threading.Thread(target=run, name="hartley-groups", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return results[0]


def _losses(
    records: Records, labels: NDArray[np.int32], averages: NDArray[np.float64]
) -> tuple[ColumnLoss, ...]:
    """Measure every column by itself, in standard deviations, so that no square overflows."""
    points = records.points(standardise=True)
    errors = np.abs(points - _averages(points, labels)[0][labels])
    lost = np.square(errors).sum(axis=0) / np.square(points).sum(axis=0)
    moves = np.abs(records.values - averages[labels]).max(axis=0)
    near = (errors <= NEAR).sum(axis=0)
    return tuple(
        ColumnLoss(*fields)
        for fields in zip(
            records.columns, lost.tolist(), moves.tolist(), near.tolist(), strict=True
        )
    )


def _by_first_record(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number groups by their first record, so that numbers do not show how groups were formed."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int32)
    rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    return np.asarray(rank[inverse.reshape(-1)])


def _averages(
    values: NDArray[np.float64], labels: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the average of each group, and whether all its records are alike.

    An average is clipped to the range of its group, so that rounding never makes equal values
    differ from their average.
    """
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    start = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    grouped = values[order]
    low = np.minimum.reduceat(grouped, start, axis=0)
    high = np.maximum.reduceat(grouped, start, axis=0)
    average = np.add.reduceat(grouped, start, axis=0) / sizes[:, None]
    return np.clip(average, low, high) + 0.0, np.asarray((low == high).all(axis=1))


def _between(sizes: NDArray[np.int64]) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
