"""Scan a raw table: what its columns seem to be, and whom it gives away as it is."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hartley.engines.tables.failures import run
from hartley.engines.tables.local_copies import suspected_encoding
from hartley.engines.tables.reading_options import AS_WRITTEN
from hartley.engines.tables.row_files import is_csv
from hartley.engines.tables.sources import is_address, open_table, open_texts
from hartley.engines.tables.table import Kind
from hartley.engines.tables.texts import TEXT
from hartley.errors import TableError, without_password
from hartley.kernels.numbering import number_values
from hartley.ranges.relations.classes import combine_codes
from hartley.ranges.relations.people import FEW, PeopleCounts, check_k
from hartley.studies.column_names import name_hint
from hartley.studies.scan_report import ScanReport
from hartley.studies.scanned_column import (
    CODES,
    CONFIDENTIAL,
    DATE,
    KEY,
    CodedColumn,
    scan_column,
)
from hartley.studies.special_uniques import LARGEST, uniques_of_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.reading_options import ReadingOptions
    from hartley.engines.tables.table import Table
    from hartley.studies.special_uniques import SpecialUniques

    Progress = Callable[[str, float], None]
    """Called with the name of the current step and the share of it that is done."""

MOST_KEYS = 8
"""A draft names no more keys: of the levels of more, little would be left."""
MOST_LOOKS = 2_500_000_000
"""Rows times combinations that a scan looks at: 15 columns of a million rows, by four."""
MOST_COMBINATIONS = 20_000


def scan(  # noqa: PLR0913 - each is one choice of the user's
    table: object,
    *,
    k: int = FEW,
    largest: int = LARGEST,
    null: str | Sequence[str] = (),
    names: Sequence[str] | None = None,
    reading: ReadingOptions = AS_WRITTEN,
    progress: Progress | None = None,
) -> ScanReport:
    """Scan a raw table: its columns, whom it gives away, and what to do next.

    Every column is judged by its name and its distinct values: identifier, quasi-identifier
    candidate, confidential candidate, constant, free text, date or code list, each with the reason.
    These are guesses for the owner to correct. What is counted is exact: the people whom the
    suspected keys single out or leave among fewer than k, those whose confidential value they give
    away, and all minimal combinations of up to four columns that single somebody out. Texts that
    differ by spaces around them count as one value, and suspected markers as missing. The table is
    held in memory; one pass over the rows for every combination.

    Args:
        table: anything that ``open_table`` opens.
        k: whoever shares the keys with fewer, themselves included, stands among few.
        largest: the most columns of a combination.
        null: text that stands for a missing value in CSV files, besides the empty field.
        names: names of the columns of CSV files that have no header line.
        reading: how files are written, where it is known; the encoding is guessed.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> people = {
        ...     "person_id": ["P1", "P2", "P3", "P4"], "age": [30, 30, 40, 40],
        ...     "sex": ["F", "F", "M", "?"], "diagnosis": ["flu", "flu", "hiv", "flu"],
        ... }
        >>> report = scan(people)
        >>> [column.what for column in report.columns]  # doctest: +NORMALIZE_WHITESPACE
        ['identifier', 'quasi-identifier candidate', 'quasi-identifier candidate',
         'confidential candidate']
        >>> report.people.unique, report.given_away
        (2, {'diagnosis': 4})
    """
    check_k(k)
    tell = progress or (lambda _what, _share: None)
    reading = _suspected(table, reading.with_marks(null, names))
    opened, coded, rows = _looked_at(table, reading, tell)
    scanned = [column.scanned for column in coded.values()]
    keys, without_role = _keys(coded)
    confidential = tuple(c.name for c in scanned if c.what == CONFIDENTIAL)
    classes, sizes = _classes([coded[name] for name in keys], rows)
    combined, not_combined = _combined(coded, rows, largest)
    uniques = None
    if combined:
        uniques = uniques_of_codes(
            opened.name,
            tuple(combined),
            [coded[name].codes for name in combined],
            largest=largest,
            progress=lambda share: tell("combine", share),
        )
    return ScanReport(
        table=opened.name,
        rows=rows,
        columns=tuple(scanned),
        keys=keys,
        confidential=confidential,
        without_role=without_role,
        people=PeopleCounts.of_classes(sizes, k),
        given_away={
            name: _given_away(classes, sizes, coded[name]) for name in confidential if keys
        },
        uniques=uniques,
        not_combined=not_combined,
        duplicates=_duplicates(list(coded.values()), rows, uniques),
        notes=_notes(opened, table),
        reading=_reading(reading, coded),
        class_sizes=sizes[classes],
        source=_source(table),
        sources=opened.paths,
    )


def _looked_at(
    table: object, reading: ReadingOptions, tell: Progress
) -> tuple[Table, dict[str, CodedColumn], int]:
    """Open a table and look at its columns; where its first lines mislead, a second time."""
    opened = open_texts(table, reading)
    if opened.sampled_types is not None:
        try:
            coded, rows = _coded_columns(opened, tell)
        except TableError:
            pass  # a later line is written in another way: the error of the whole file says how
        else:
            if _begins_as_it_goes_on(opened, coded):
                return opened, coded, rows
        opened = open_table(table, reading=reading)
    return opened, *_coded_columns(opened, tell)


def _begins_as_it_goes_on(table: Table, coded: dict[str, CodedColumn]) -> bool:
    """Tell whether all lines of a CSV file say about its header what the first ones did.

    The engine takes the first line for the header if it does not fit the type of a column. One
    column of numbers in all lines whose name is no number is enough; where all columns were texts
    in the first lines, all lines cannot say more.
    """
    types = table.sampled_types or {}
    if all(kind == TEXT for kind in types.values()):
        return True
    return any(
        types[name] in {"BIGINT", "DOUBLE"}
        and column.scanned.holds in {"whole numbers", "numbers"}
        and not (column.scanned.markers or column.scanned.strays or column.scanned.decimal_comma)
        and not re.match(r"[\s\d.+-]|column\d+$", name)  # the names that the engine gives
        for name, column in coded.items()
    )


def _coded_columns(table: Table, tell: Progress) -> tuple[dict[str, CodedColumn], int]:
    """Read the table once, and look at all of its columns."""
    usable = [
        name
        for name in table.columns
        if table.kind(name) is not Kind.NESTED and name not in table.blunt
    ]
    if not usable:
        raise TableError(f"{table.name} has no column of plain values", hint="pass another table")
    # The texts of a CSV file, not what the engine takes them for: 007 is not 7.
    expression = table.expression if table.texts is None else table.texts
    tell("read", 0.0)
    data = run(table, expression.select(*usable).to_pyarrow)
    rows = data.num_rows
    if rows == 0:
        raise TableError(f"{table.name} has no rows", hint="pass a table with at least one row")
    tell("read", 1.0)
    with ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hartley-scan") as pool:
        looks = pool.map(lambda name: scan_column(name, data.column(name), rows), usable)
        return dict(zip(usable, looks, strict=True)), rows


# --- what a draft makes of it -------------------------------------------------------------------


def _keys(coded: dict[str, CodedColumn]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the columns that become keys, and those that would be too many."""
    candidates = [c.scanned for c in coded.values() if c.scanned.what in {KEY, DATE, CODES}]
    # Those whose name says so first, then those that single out most.
    ranked = sorted(
        candidates, key=lambda c: (name_hint(c.name) != "key", c.what == CODES, -c.different)
    )
    chosen = {c.name for c in ranked[:MOST_KEYS]}
    keys = tuple(c.name for c in candidates if c.name in chosen)
    return keys, tuple((c.name, f"{c.what}: {c.why}") for c in candidates if c.name not in chosen)


def _combined(
    coded: dict[str, CodedColumn], rows: int, largest: int
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns to combine, and those for which there would be too many combinations."""
    known = [name for name, c in coded.items() if c.scanned.what in {KEY, DATE, CODES}]
    # A table of amounts alone: somebody may know one of them.
    candidates = known or [n for n, c in coded.items() if c.scanned.what == CONFIDENTIAL]
    looks = min(MOST_LOOKS // max(rows, 1), MOST_COMBINATIONS)
    most = len(candidates)
    while most > 1 and sum(comb(most, size) for size in range(1, largest + 1)) > looks:
        most -= 1
    ranked = sorted(candidates, key=lambda name: -coded[name].scanned.different)
    chosen = {*ranked[:most]}
    return [n for n in candidates if n in chosen], tuple(n for n in candidates if n not in chosen)


def _reading(reading: ReadingOptions, coded: dict[str, CodedColumn]) -> ReadingOptions:
    """Return how a draft reads the table: as it was read, and as its texts suggest."""
    scanned = [column.scanned for column in coded.values()]
    markers = sorted({marker for column in scanned for marker in column.markers})
    written = {column.dates[:2] for column in scanned if column.dates is not None}
    dates = {frozenset({"%d"}): "day-first", frozenset({"%m"}): "month-first"}
    return replace(
        reading.with_marks(markers, None),
        trim=reading.trim or any(column.strays for column in scanned),
        decimal="," if any(column.decimal_comma for column in scanned) else reading.decimal,
        dates=dates.get(frozenset(written), reading.dates),
    )


def _suspected(table: object, reading: ReadingOptions) -> ReadingOptions:
    """Guess the encoding of a CSV file that nobody named one for."""
    if reading.encoding != AS_WRITTEN.encoding or not isinstance(table, (str, os.PathLike)):
        return reading
    path = Path(table)
    if is_address(table) or not os.path.isfile(path) or not is_csv(str(path)):  # noqa: PTH113 - names of any length
        return reading
    if suspected_encoding(path, ["utf-8"]) == "utf-8":  # nearly always, and quickly decided
        return reading
    return replace(reading, encoding=suspected_encoding(path))


def _notes(table: Table, source: object) -> tuple[str, ...]:
    if isinstance(source, str) and _source(source) != source:
        return ("The password is left out of the commands: set PGPASSWORD, or use ~/.pgpass.",)
    if not table.surely_named and all(re.fullmatch(r"column\d+", name) for name in table.columns):
        return (f"{table.name} seems to have no header line: name its columns with --names.",)
    return ()


def _source(table: object) -> str | None:
    return without_password(os.fspath(table)) if isinstance(table, (str, os.PathLike)) else None


# --- whom it gives away -------------------------------------------------------------------------


def _classes(keys: Sequence[CodedColumn], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of every row by its keys, and the sizes of the classes."""
    if not keys:
        return np.zeros(rows, np.int64), np.array([rows])
    combined, _ = combine_codes([key.codes for key in keys], [key.width for key in keys])
    classes = _numbered(combined)
    return classes, np.bincount(classes)


def _numbered(values: NDArray[np.int64]) -> NDArray[np.int64]:
    numbered = number_values(values)
    if numbered is not None:
        return numbered[0]
    return np.unique(values, return_inverse=True)[1]


def _given_away(classes: NDArray[np.int64], sizes: NDArray[np.int64], column: CodedColumn) -> int:
    """Count the people in classes that hold one confidential value alone, missing ones aside."""
    codes = column.codes.astype(np.int64)
    present = codes < column.width - 1
    low = np.full(sizes.size, column.width, np.int64)
    high = np.full(sizes.size, -1, np.int64)
    np.minimum.at(low, classes[present], codes[present])
    np.maximum.at(high, classes[present], codes[present])
    return int(np.bincount(classes[present], minlength=sizes.size)[low == high].sum())


def _duplicates(columns: Sequence[CodedColumn], rows: int, uniques: SpecialUniques | None) -> int:
    """Count the rows that repeat an earlier one; none where a column differs in every row."""
    if any(column.scanned.once == rows for column in columns):
        return 0
    ordered = sorted(columns, key=lambda column: -column.width)
    codes = [column.codes for column in ordered]
    if uniques is not None:
        # A row that some columns single out has no copy: only the others are compared.
        others = np.flatnonzero(~uniques.is_singled_out)
        codes = [column[others] for column in codes]
    combined, _ = combine_codes(codes, [column.width for column in ordered])
    return int(combined.size - np.unique(combined).size)
