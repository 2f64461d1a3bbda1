"""Microaggregation: release for every record the average of a group of at least k like it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.writing import CSV_ENDINGS, PARQUET_ENDINGS, whole_file
from hartley.errors import OptionError
from hartley.exact import log_ratio
from hartley.policies.records import Records, read_records

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Grouping = Callable[[NDArray[np.float64], int], NDArray[np.int32]]
    """From points and k to the group of every point."""


@dataclass(frozen=True, eq=False)
class Microaggregation:
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
    unchanged: int
    """Records in groups whose members were all alike, so that the average tells their values."""

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.groups.size)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each group has."""
        return np.bincount(self.groups)

    @property
    def information_loss(self) -> float:
        r"""The share of the variation that is lost: SSE / SST, from 0 to 1."""
        return self.sse / self.sst

    @property
    def leakage(self) -> float:
        """Bits that the averages tell at most about whose record one is: log2(n / smallest group).

        The non-stochastic leakage L0 with the record as the secret; a bound, since two groups may
        have the same average. It does not count the columns that are kept.
        """
        return log_ratio(self.rows, int(self.sizes.min()))

    @property
    def headline(self) -> str:
        """The release in one sentence."""
        groups = self.sizes.size
        return (
            f"{self.rows:,} records of {self.table} were released as the averages of {groups:,} "
            f"group{'s' * (groups != 1)} of {_between(self.sizes)}, which loses "
            f"{100 * self.information_loss:.2f} % of the variation."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        smallest = int(self.sizes.min())
        shared = ", ".join(self.columns)
        told = [
            f"Every released row of {shared} is shared by at least {smallest} records.",
            (
                f"These columns alone tell at most {self.leakage:.3f} bits about whose record one "
                f"is: they leave at least {smallest} of {self.rows:,} records possible."
            ),
        ]
        if self.unchanged:
            told.append(
                f"{self.unchanged:,} records are in groups of equal records, whose averages are "
                "their values themselves."
            )
        if self.kept:
            told.append(
                f"Released as they are, and no part of this promise: {', '.join(self.kept)}."
            )
        order = "The rows keep their order: if that tells something, the release tells it too."
        return (*told, order)

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
            "unchanged": self.unchanged,
        }

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the released table as Parquet or CSV, by the ending of the path, whole or not."""
        import pyarrow.csv
        import pyarrow.parquet

        parquet = check_ending(path) in PARQUET_ENDINGS
        with whole_file(path) as half:
            if parquet:
                pyarrow.parquet.write_table(self.released, half)
            else:
                pyarrow.csv.write_csv(self.released, half)
        return Path(path)


def check_ending(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file to write, and refuse one that names no format."""
    ending = Path(path).suffix.lower()
    if ending not in (*PARQUET_ENDINGS, *CSV_ENDINGS):
        raise OptionError(
            f"The ending of {Path(path).name} names no format that can be written",
            hint="end the name with .parquet or .csv",
        )
    return ending


# --- methods ----------------------------------------------------------------------------------


def mdav(
    table: object,
    k: int,
    columns: str | Sequence[str] | None = None,
    *,
    standardise: bool = True,
    keep: str | Sequence[str] = (),
) -> Microaggregation:
    r"""Release the averages of groups found by the maximum distance to average vector method.

    .. math:: r = \arg\max_x \|x - \bar x\|, \quad s = \arg\max_x \|x - r\|

    The k - 1 records nearest to r form a group with it, those nearest to s another; again with
    what is left, as long as that is 3k records (Domingo-Ferrer and Mateo-Sanz 2002;
    Domingo-Ferrer and Torra 2005). The method is carried out exactly, the same groups as by
    looking at all pairs, ties going to the earlier record; the groups are good, not optimal.
    Coordinates are rounded to 40 bits (fewer beyond four million records), so that sums are exact.
    About n^1.4 in few columns; in many columns it nears n^2 / k.

    Args:
        table: whatever ``open_table`` opens.
        k: the least size of a group, at least 2.
        columns: numeric columns to group by and to replace; None for all that are not kept.
        standardise: give every column the standard deviation 1 first, so that units do not count.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> people = {"age": [20, 61, 22, 65, 63], "height": [170, 181, 172, 185, 183]}
        >>> found = mdav(people, 2)
        >>> found.groups.tolist(), found.released["age"].to_pylist()
        ([0, 1, 0, 1, 1], [21.0, 63.0, 21.0, 63.0, 63.0])
        >>> round(found.information_loss, 2)
        0.03
    """
    from hartley.kernels.mdav import integer_points, mdav_groups

    records = read_records(table, k, columns, keep)
    return _released(
        "mdav",
        records,
        k,
        lambda points, k: mdav_groups(integer_points(points), k),
        standardise=standardise,
    )


def mu_approx(
    table: object,
    k: int,
    columns: str | Sequence[str] | None = None,
    *,
    standardise: bool = True,
    keep: str | Sequence[str] = (),
) -> Microaggregation:
    """Release the averages of groups found by mu-Approx, which follow the shape of the data.

    A forest is grown by joining every component of fewer than k records through its shortest
    outgoing edge; trees of more than max(2k - 1, 3k - 5) records are cut where at least k stay on
    both sides, the longest edge first; what is still larger than 2k - 1 is divided by MDAV
    (after Domingo-Ferrer, Sebe and Solanas 2008; to cut the longest edge first and to divide by
    MDAV is the choice made here). A heuristic: no bound on the loss is claimed. Deterministic: of
    edges of one length the one between earlier records counts as shorter. About k n log n in few
    columns.

    Args:
        table: whatever ``open_table`` opens.
        k: the least size of a group, at least 2.
        columns: numeric columns to group by and to replace; None for all that are not kept.
        standardise: give every column the standard deviation 1 first, so that units do not count.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> found = mu_approx({"age": [20, 61, 22, 65, 63]}, 2)
        >>> found.groups.tolist(), found.released["age"].to_pylist()
        ([0, 1, 0, 1, 1], [21.0, 63.0, 21.0, 63.0, 63.0])
    """
    from hartley.kernels.forest import mu_approx_groups
    from hartley.kernels.mdav import integer_points

    records = read_records(table, k, columns, keep)
    return _released(
        "mu-approx",
        records,
        k,
        lambda points, k: mu_approx_groups(integer_points(points), k),
        standardise=standardise,
    )


def univariate_microaggregation(
    table: object, k: int, column: str | None = None, *, keep: str | Sequence[str] = ()
) -> Microaggregation:
    r"""Release one column as averages of groups with the least loss of all.

    .. math:: \min \sum_g \sum_{x \in g} (x - \bar x_g)^2 \quad\text{subject to}\quad |g| \ge k

    The optimum, up to the rounding of sums (Hansen and Mukherjee 2003). One sort, then n k.

    Args:
        table: whatever ``open_table`` opens.
        k: the least size of a group, at least 2.
        column: the numeric column to replace; None for the only one that is not kept.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> found = univariate_microaggregation({"age": [20, 61, 22, 65, 63]}, 2)
        >>> found.released["age"].to_pylist(), round(found.information_loss, 4)
        ([21.0, 63.0, 21.0, 63.0, 63.0], 0.0047)
    """
    from hartley.kernels.univariate import univariate_groups

    records = read_records(table, k, column, keep)
    if len(records.columns) != 1:
        raise OptionError(
            f"The univariate optimum is of one column, not of {len(records.columns)}",
            hint="name one column, or take the method mdav",
        )
    return _released(
        "univariate",
        records,
        k,
        lambda points, k: univariate_groups(points[:, 0], k),
        standardise=True,
    )


METHODS: dict[str, Callable[..., Microaggregation]] = {
    "mdav": mdav,
    "mu-approx": mu_approx,
    "univariate": univariate_microaggregation,
}


# --- what comes of groups ---------------------------------------------------------------------


def _released(
    method: str, records: Records, k: int, grouping: Grouping, *, standardise: bool
) -> Microaggregation:
    """Group the records, replace them by averages and measure what that loses."""
    import pyarrow as pa

    k = int(k)
    points = records.points(standardise=standardise)
    labels = _by_first_record(grouping(points, k))
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
    return Microaggregation(
        method=method,
        table=records.table,
        k=k,
        columns=records.columns,
        kept=tuple(records.kept.column_names),
        standardised=standardise,
        groups=labels,
        released=pa.table(columns),
        sse=float(np.square(points - centres[labels]).sum()),
        sst=sst,
        unchanged=int(alike[labels].sum()),
    )


def _by_first_record(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number groups by their first record, so that no number tells how one was found."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int32)
    rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    return np.asarray(rank[inverse.reshape(-1)])


def _averages(
    values: NDArray[np.float64], labels: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the average of each group, and whether all its records are alike.

    An average is held between the least and the largest of its group, so that rounding never
    makes equal values differ from their average.
    """
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    start = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    grouped = values[order]
    low = np.minimum.reduceat(grouped, start, axis=0)
    high = np.maximum.reduceat(grouped, start, axis=0)
    average = np.add.reduceat(grouped, start, axis=0) / sizes[:, None]
    return np.clip(average, low, high), np.asarray((low == high).all(axis=1))


def _between(sizes: NDArray[np.int64]) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low}" if low == high else f"{low} to {high}"
