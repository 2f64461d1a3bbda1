"""Microaggregation: release every record as the average of a group of k or more similar ones."""

from __future__ import annotations

import math
import operator
import threading
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.engines.table import Kind, names_of
from hartley.errors import ColumnError, OptionError, TableError
from hartley.exact import LARGEST_EXACT_INTEGER, log_ratio
from hartley.inputs import formerly
from hartley.measures.anonymity import size_bands
from hartley.ranges.classes import rows_as_counted, single_out
from hartley.report import Cell, Grid, Heading, Readable, Report, Section, Tile
from hartley.schema.roles import chosen_columns, open_with_roles
from hartley.studies.look.anonymity import (
    count_again,
    few_tile,
    measured,
    release_chart,
    risk_measures,
    table_measures,
    tried,
)
from hartley.studies.release.disclosure import (
    SORTED,
    Disclosing,
    find_undone,
    in_order,
    refuse_people,
    refuse_unreleased,
    verdicts_on,
)
from hartley.tables.opening import open_table
from hartley.tables.view import keep_texts, run
from hartley.tables.writing import write_arrow
from hartley.text import count_of, few_digits

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.inputs import Columns, Progress, Rows
    from hartley.schema.roles import RolesSource
    from hartley.studies.look.anonymity import AnonymityReport

    Grouping = Callable[[NDArray[np.float64], int], NDArray[np.int32]]
    """From points and k to the group of every point."""


NEAR = 0.05
"""A released value this part of a standard deviation from the truth counts as near it."""
NEAR_THE_TRUTH = (
    "Near the truth: the average is within a twentieth of a standard deviation of the value that "
    "it replaces."
)
FINDS_THE_GROUP = (
    "An adversary who knows a person's averaged values finds the person's group, and can read the "
    "unchanged columns of that group."
)
LARGEST = 1e150
"""Larger numbers have squares that no double holds."""
ADVICE = {
    Kind.TEXT: "text, which has no averages",
    Kind.BOOLEAN: "yes and no, which have no averages",
    Kind.TIME: "times, which are not plain numbers",
    Kind.EMPTY: "no value at all",
}


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
class Microaggregation(Disclosing, Readable):
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
    def made(self) -> str:
        """The release in one sentence."""
        return (
            f"{self.rows:,} rows of {self.table} were made {self.k:,}-anonymous over "
            f"{', '.join(self.columns)}, as averages."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        smallest, largest = int(self.sizes.min()), int(self.sizes.max())
        bits = math.ceil(1000 * self.leakage) / 1000
        shared = ", ".join(self.columns)
        sentences = [
            (
                f"The averages of {count_of(self.sizes.size, 'group')} of {smallest:,}"
                f"{f' to {largest:,}' if smallest < largest else ''} lose "
                f"{100 * self.information_loss:.2f} % of the variation."
            ),
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
            sentences.append(
                f"Released as they are, and no part of this promise: {', '.join(self.kept)}."
            )
        return (*sentences, *self.judgements, SORTED)

    @cached_property
    def checked(self) -> AnonymityReport:
        """The released rows, counted again; kept, for it takes a pass for each column."""
        return count_again(self.released, self.columns, self.kept)

    def report(self) -> Report:
        """Return what was averaged and what counting again gives; its picture shows the groups."""
        again, bands = self.checked, size_bands(self.sizes)
        sizes = f"{bands[0].low}" + (f" to {bands[-1].high}" if len(bands) > 1 else "")
        units = "standardised" if self.standardised else "in their own units"
        averaged = f"Averaged by {self.method}, k = {self.k}: {', '.join(self.columns)}, {units}."
        headings = (
            Heading("column", "name"),
            Heading("lost", "amount"),
            Heading("moved by at most", "number"),
            Heading("near the truth", "amount"),
        )
        lost = tuple(
            (
                one.column,
                Cell(f"{100 * one.loss:.3g} %", share=one.loss),
                f"{one.largest_move:.4g}",
                f"{few_digits(100 * one.near / self.rows, 3)} %",
            )
            for one in self.losses
        )
        scaled = "; every column is scaled to standard deviation 1" if self.standardised else ""
        headline, lead = self.said
        return Report(
            f"Averages of {self.table}",
            headline,
            (
                Tile(f"{100 * self.information_loss:.2f} %", "of the variation lost (SSE / SST)"),
                Tile(f"{sum(band.classes for band in bands):,}", f"groups of {sizes} records"),
                *(self.verdict_tiles or (few_tile(again.people),)),
                Tile(
                    f"{self.unchanged:,}", "records in groups of equal records", self.unchanged > 0
                ),
            ),
            (
                Section(
                    "What was averaged",
                    (
                        averaged,
                        *((f"Released unchanged: {', '.join(self.kept)}.",) if self.kept else ()),
                        f"SSE {self.sse:.6g}, SST {self.sst:.6g}.",
                        NEAR_THE_TRUTH,
                    ),
                    chart=release_chart(
                        bands, [(one.column, one.loss) for one in self.losses], noun="group"
                    ),
                    table=Grid(headings, lost),
                ),
                Section(
                    "What the averages still reveal, counted again",
                    (again.people.sentence,),
                    table=measured((*table_measures(again), *risk_measures(again)[::2])),
                ),
                *tried(again, "What they reveal about the unchanged columns", FINDS_THE_GROUP),
                Section("What else a reader should know", points=self.sentences),
            ),
            "The loss is the sum of squared distances to the averages of the groups, divided by "
            f"the sum of squared distances to the average of all records{scaled}. Risks and "
            "leakage are rounded up.",
            lead,
        )

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
            **self.disclosed(),
            "check": self.checked.to_dict(),
        }

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> Path:
        """Write the released table as Parquet or CSV, by the ending of the path, whole or not."""
        rows = in_order(self.released, self.released.column_names)
        return write_arrow(rows, path, self.sources, spreadsheet_safe=spreadsheet_safe)


def released_groups(
    method: str, records: Records, k: int, grouping: Grouping, *, standardise: bool
) -> Microaggregation:
    """Group the records, replace them by averages and measure what that loses."""
    import pyarrow as pa

    k = int(k)
    points = records.points(standardise=standardise)
    # Numbered by their first record, so that numbers do not show how groups were formed.
    _, first, groups = np.unique(
        _beside(lambda: grouping(points, k)), return_index=True, return_inverse=True
    )
    labels = np.argsort(np.argsort(first)).astype(np.int32)[groups.reshape(-1)]
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


def _averages(
    values: NDArray[np.float64], labels: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the average of each group, and whether all its records are alike."""
    # An average is clipped to the range of its group, so that rounding never makes equal values
    # differ from their average.
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    start = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    grouped = values[order]
    low = np.minimum.reduceat(grouped, start, axis=0)
    high = np.maximum.reduceat(grouped, start, axis=0)
    average = np.add.reduceat(grouped, start, axis=0) / sizes[:, None]
    return np.clip(average, low, high) + 0.0, np.asarray((low == high).all(axis=1))


# --- points ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Records:
    """Numbers to group by, one row a record, and columns to release beside them."""

    table: str
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    kept: Any
    """An Arrow table of the columns that are released as they are."""
    paths: tuple[str, ...] = ()
    """The files that they were read from."""

    def points(self, *, standardise: bool) -> NDArray[np.float64]:
        """Return the records around their mean, every column of standard deviation 1 if wished."""
        centred = self.values - self.values.mean(axis=0)
        if standardise:
            # First to about 1, so that no square overflows or vanishes.
            centred /= np.abs(centred).max(axis=0)
            centred /= np.sqrt(np.square(centred).mean(axis=0))
        return np.asarray(centred)


def read_records(
    table: object, k: int, columns: str | Sequence[str] | None, keep: str | Sequence[str]
) -> Records:
    """Read the columns to group by and those to keep in one pass, and refuse unsuitable ones."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 2:
        raise OptionError(
            f"The group size k = {k} is not a whole number of 2 or more",
            hint="choose 3 to 10, as statistics offices do",
        )
    opened = open_table(table)
    kept_names = list(names_of(keep))
    others = (c for c in opened.columns if c not in kept_names)
    asked = list(others if columns is None else names_of(columns))
    _check_columns(opened, asked, kept_names)
    opened = keep_texts(opened, kept_names, exact=True)
    rows = run(opened, opened.expression.select(*asked, *kept_names).to_pyarrow)
    _refuse_empty(opened, rows.num_rows)
    if rows.num_rows < k:
        raise OptionError(
            f"The group size k = {k:,} is larger than the "
            f"{count_of(rows.num_rows, 'row')} of {opened.name}",
            hint="choose a smaller k, or give more records",
        )
    numbers = [_numbers(rows.column(i), name, opened.name) for i, name in enumerate(asked)]
    beside = rows_as_counted(rows.select(kept_names))
    return Records(opened.name, tuple(asked), np.column_stack(numbers), beside, opened.paths)


def _refuse_empty(table: Table, rows: int | None = None) -> None:
    if not (run(table, table.expression.count().to_pyarrow).as_py() if rows is None else rows):
        raise TableError(f"{table.name} has no rows", hint="give a table that has rows")


def _check_columns(table: Table, asked: list[str], kept_names: list[str]) -> None:
    if not asked:
        raise ColumnError(
            f"No column of {table.name} is left to group by", hint="name at least one"
        )
    named = [*asked, *kept_names]
    for name in named:
        if named.count(name) > 1:
            raise ColumnError(
                f"Column '{name}' is named twice",
                hint="name it once, among the columns to group by or among those to keep",
            )
    table.require(named)
    for name in asked:
        kind = table.kind(name)
        if not kind.numeric:
            _refuse_empty(table)  # an empty CSV file has columns of no kind
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {ADVICE[kind]}",
                hint="convert it to numbers, leave it out, or keep it as it is (keep=, --keep)",
            )


def _numbers(column: Any, name: str, table: str) -> NDArray[np.float64]:  # noqa: ANN401 - an Arrow column
    """Return the numbers of a column; each must be there, and they must differ."""
    import pyarrow as pa

    if column.null_count == 0:
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    if column.null_count or np.isnan(values).any():
        raise ColumnError(
            f"Column '{name}' of {table} has missing values",
            hint="fill them in or leave out these records first: no group can hold them",
        )
    if not np.abs(values).max() <= LARGEST:
        raise ColumnError(
            f"Column '{name}' of {table} holds numbers that are infinite or too large to square",
            hint=f"scale it to numbers below {LARGEST:g}",
        )
    if np.abs(values).max() >= LARGEST_EXACT_INTEGER and not pa.types.is_floating(column.type):
        raise ColumnError(
            f"Column '{name}' of {table} holds whole numbers beyond 2^53, which would be rounded",
            hint="subtract a constant first, leave it out, or keep it as it is (keep=, --keep)",
        )
    if values.min() == values.max():
        raise ColumnError(
            f"Column '{name}' of {table} has only one value, so it cannot group anything",
            hint="leave it out, or keep it as it is (keep=, --keep)",
        )
    return values


# --- microaggregation -----------------------------------------------------------------------------


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

    The k - 1 records nearest to r form a group with it, those nearest to s another; this repeats
    while at least 3k records remain (Domingo-Ferrer and Mateo-Sanz 2002; Domingo-Ferrer and Torra
    2005). The method is computed exactly, with the same groups as by comparing all pairs; ties go
    to the earlier record. The groups are good, not optimal.
    Coordinates are rounded to 40 bits (fewer beyond four million records), so that sums are exact.
    About n^1.4 in few columns; in many columns it nears n^2 / k.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group, at least 2.
        columns: numeric columns to group by and to replace; None for all that are not kept.
        standardise: give every column the standard deviation 1 first, so that units do not count.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> people = {"age": [20, 61, 22, 65, 63], "height": [170, 181, 172, 185, 183]}
        >>> averages = mdav(people, 2)
        >>> averages.groups.tolist(), averages.released["age"].to_pylist()
        ([0, 1, 0, 1, 1], [21.0, 63.0, 21.0, 63.0, 63.0])
        >>> round(averages.information_loss, 2)
        0.03
    """
    from hartley.kernels.neighbours import integer_points, mdav_groups

    def grouping(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
        return mdav_groups(integer_points(points), k)

    records = read_records(table, k, columns, keep)
    return released_groups("mdav", records, k, grouping, standardise=standardise)


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
    edges of one length the one between earlier records counts as shorter. About n log n log k in
    few columns.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group, at least 2.
        columns: numeric columns to group by and to replace; None for all that are not kept.
        standardise: give every column the standard deviation 1 first, so that units do not count.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> averages = mu_approx({"age": [20, 61, 22, 65, 63]}, 2)
        >>> averages.groups.tolist(), averages.released["age"].to_pylist()
        ([0, 1, 0, 1, 1], [21.0, 63.0, 21.0, 63.0, 63.0])
    """
    from hartley.kernels.games import mu_approx_groups
    from hartley.kernels.neighbours import integer_points

    def grouping(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
        return mu_approx_groups(integer_points(points), k)

    records = read_records(table, k, columns, keep)
    return released_groups("mu-approx", records, k, grouping, standardise=standardise)


def univariate_microaggregation(
    table: object, k: int, column: str | None = None, *, keep: str | Sequence[str] = ()
) -> Microaggregation:
    r"""Release one column as averages of groups with the least loss of all.

    .. math:: \min \sum_g \sum_{x \in g} (x - \bar x_g)^2 \quad\text{subject to}\quad |g| \ge k

    The optimum, up to the rounding of sums (Hansen and Mukherjee 2003). One sort, then n k.

    Args:
        table: anything that ``open_table`` opens.
        k: the least size of a group, at least 2.
        column: the numeric column to replace; None for the only one that is not kept.
        keep: columns to release as they are; all others are left out.

    Example:
        >>> averages = univariate_microaggregation({"age": [20, 61, 22, 65, 63]}, 2)
        >>> averages.released["age"].to_pylist(), round(averages.information_loss, 4)
        ([21.0, 63.0, 21.0, 63.0, 63.0], 0.0047)
    """
    from hartley.kernels.neighbours import univariate_groups

    records = read_records(table, k, column, keep)
    if len(records.columns) != 1:
        raise OptionError(
            f"The univariate optimum takes one column, not {len(records.columns)}",
            hint="name one column, or use the method mdav",
        )
    return released_groups(
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


@formerly(operator.not_, raw="standardise")
def microaggregate(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    k: int,
    columns: Columns | None = None,
    *,
    method: Literal["mdav", "mu-approx", "univariate"] = "mdav",
    raw: bool = False,
    keep: Columns | None = None,
    confidential: Columns | None = None,
    allow_dependence: Columns | None = None,
    roles: RolesSource | None = None,
    progress: Progress | None = None,
) -> Microaggregation:
    """Replace the records of a table by averages of groups of at least k similar ones.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        k: The smallest size of a group. In Python, at least 2.
        columns: The numeric columns to group by and to replace; default: all that are not kept. In
            Python, with roles the keys that are numbers.
        method: How to form groups; univariate is optimal for a single column. In Python, each is a
            function of its own too, which says how it works.
        raw: Measure distances in the columns' own units, without standardising them.
        keep: Columns to release unchanged; columns that are not named are not released. In Python,
            with roles by default those whose role is "kept".
        confidential: Columns to release unchanged although they are sensitive; a verdict says what
            the averages tell about each. In Python, by default those of the roles.
        allow_dependence: Columns to release unchanged although they tell a column that is averaged.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. An identifier
            is never released.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> averages = microaggregate({"age": [20, 61, 22, 65, 63]}, 2, method="univariate")
        >>> averages.released["age"].to_pylist()
        [21.0, 63.0, 21.0, 63.0, 63.0]
    """
    if method not in METHODS:
        raise OptionError(
            f"The method '{method}' is unknown", hint=f"choose one of {', '.join(METHODS)}"
        )
    if raw and method == "univariate":
        raise OptionError(
            "Units make no difference to the univariate optimum",
            hint="leave out raw (--raw)",
        )
    known_roles = None
    hidden = () if confidential is None else names_of(confidential)
    unchanged = () if keep is None else names_of(keep)
    if roles is not None:
        source = table
        table, known_roles = open_with_roles(source, roles)
        named = chosen_columns(known_roles, columns, "key", what="key")
        hidden = chosen_columns(known_roles, confidential, "confidential", what="")
        kept = chosen_columns(known_roles, keep, "kept", what="")
        unchanged = tuple(name for name in kept if name not in hidden)
        refuse_people("Averaging", known_roles.named("unit"), known_roles.named("household"))
        refuse_unreleased(source, known_roles, (*named, *unchanged, *hidden), (*unchanged, *hidden))
        columns = [n for n in named if columns is not None or table.kind(n).numeric]
        if not columns:
            raise OptionError(
                f"No key of {known_roles.file} holds numbers to average",
                hint="name numeric columns, or use anonymize for keys that are texts",
            )
    tell = progress or (lambda _what, _share: None)
    tell("group", 0.0)
    form: dict[str, Any] = {} if method == "univariate" else {"standardise": not raw}
    made = METHODS[method](table, k, columns, keep=(*unchanged, *hidden), **form)
    tell("group", 1.0)
    tell("judge", 0.0)
    made = replace(
        made,
        verdicts=verdicts_on(made.released, made.columns, hidden, roles=known_roles),
        undone=find_undone(
            table, made.kept, dict.fromkeys(made.columns, "averaged"), allow_dependence
        ),
    )
    tell("judge", 1.0)
    return made
