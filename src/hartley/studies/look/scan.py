"""Scan a raw table: what its columns seem to be, and whom it gives away as it is."""

from __future__ import annotations

import os
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import Kind, run
from hartley.errors import InputError, TableError, without_password
from hartley.files import write_whole
from hartley.kernels.pairs import number_values
from hartley.measures.anonymity import size_bands, sizes_panel
from hartley.ranges.classes import combine_codes
from hartley.ranges.relation import FEW, ExposureCounts, check_group_size
from hartley.report import Chart, Grid, Heading, Readable, Report, Section, Tile
from hartley.schema.roles import ColumnRole, write_roles
from hartley.studies.look.exposure import RecordRisks
from hartley.studies.look.scanned_column import (
    CODES,
    CONFIDENTIAL,
    DATE,
    IDENTIFIER,
    KEY,
    CodedColumn,
    name_hint,
    scan_column,
)
from hartley.studies.look.special_uniques import LARGEST, uniques_of_codes
from hartley.tables.opening import is_address, open_table, open_texts
from hartley.tables.reading import AS_WRITTEN, TEXT
from hartley.tables.row_files import is_csv, suspected_encoding
from hartley.text import conjugate, count_of, listed, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.inputs import Few, OutputFile, Progress, PythonOnly, Rows
    from hartley.measures.anonymity import SizeBand
    from hartley.studies.look.scanned_column import ScannedColumn
    from hartley.studies.look.special_uniques import SpecialUniques
    from hartley.tables.reading import ReadingOptions


# --- scan report ----------------------------------------------------------------------------------
# What a scan found, in numbers and in plain sentences.

COMBINATION = (
    "A combination counts the people whom all its columns single out together, and no part of them."
)
CONFIDENTIAL_NOTE = (
    "This scan describes real people: keep it as confidential as the table. It shows no value of "
    "an identifier."
)


@dataclass(frozen=True, eq=False)
class ScanReport(Readable):
    """What a table seems to hold, whom it gives away as it is, and what to do next."""

    table: str
    rows: int
    columns: tuple[ScannedColumn, ...]
    keys: tuple[str, ...]
    """The columns that a draft makes keys."""
    confidential: tuple[str, ...]
    without_role: tuple[tuple[str, str], ...]
    """Columns that a draft gives no role, and why."""
    people: ExposureCounts
    """How many people the keys single out, or leave among few."""
    given_away: dict[str, int]
    """For each confidential column, the people whose value their keys give away."""
    uniques: SpecialUniques | None
    """The small combinations of columns that single people out; None if no column could."""
    not_combined: tuple[str, ...]
    """Columns that could single people out but are too many to be combined."""
    duplicates: int
    """Rows that repeat an earlier row in every column."""
    notes: tuple[str, ...]
    """What should be known about how the table was read."""
    reading: ReadingOptions
    """How a draft reads the table."""
    class_sizes: NDArray[Any]
    """For every row, how many share its keys."""
    source: str | None = None
    """The file as the user named it, for the commands."""
    sources: tuple[str, ...] = ()
    """The files of the table, which nothing may overwrite."""
    draft: str | None = None
    """The file of the draft, if one was written."""

    @property
    def headline(self) -> str:
        """The scan in one sentence."""
        what = (
            f"{self.table}: {count_of(self.rows, 'row')} of {count_of(len(self.columns), 'column')}"
        )
        if not self.keys:
            return f"{what}, none of which seems to be a key."
        return (
            f"{what}. As it is, {self.people.unique:,} "
            f"{plural(self.people.unique, 'person')} "
            f"({percent(self.people.unique, max(self.rows, 1), round='up', mark='words')}) "
            f"{conjugate(self.people.unique, 'is')} unique by {_few(self.keys)}, and "
            f"{self.people.among_few:,} {conjugate(self.people.among_few, 'stands')} among fewer "
            f"than {self.people.k}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        said = list(self.notes)
        hidden = [column.name for column in self.columns if column.what == IDENTIFIER]
        if hidden:
            verb = "identifies" if len(hidden) == 1 else "identify"
            said.append(f"{_few(hidden)} {verb} people and must not be released.")
        said += [
            f"The keys give away {column} for {count_of(people, 'person')} "
            f"({percent(people, max(self.rows, 1), round='up', mark='words')})."
            for column, people in self.given_away.items()
            if people
        ]
        if self.uniques is not None:
            few, out = count_of(self.uniques.largest, "column"), self.uniques.singled_out
            said.append(
                f"At most {few} of {len(self.uniques.columns)} "
                f"{conjugate(self.uniques.largest, 'singles')} out {count_of(out, 'person')} "
                f"({percent(out, max(self.rows, 1), round='up', mark='words')})."
            )
        if self.not_combined:
            said.append(
                f"{count_of(len(self.not_combined), 'column')} more could single people out, but "
                "there would be too many combinations; those with most values were looked at."
            )
        if self.duplicates:
            said.append(
                f"{count_of(self.duplicates, 'row')} {conjugate(self.duplicates, 'repeats')} an "
                "earlier row in every column."
            )
        if self.without_role:
            said.append(
                f"{count_of(len(self.without_role), 'column')} would make too many keys: a draft "
                "gives them no role, so that they are not released."
            )
        return (*said, CONFIDENTIAL_NOTE)

    @property
    def suspicions(self) -> tuple[str, ...]:
        """What is suspicious about how columns are written, one sentence each."""
        return tuple(
            f"{column.name}: {suspicion}."
            for column in self.columns
            for suspicion in column.suspicions
        )

    @property
    def commands(self) -> tuple[str, ...]:
        """The next three commands, ready to paste; the last two need confirmed roles."""
        if self.source is None:
            return ()
        file = shlex.quote(self.source)
        roles = shlex.quote(self.draft or "roles.toml")
        first = f"hartley scan {file} --draft {roles}"
        if self.draft is not None:
            first = f"hartley schema draft {file} --roles {roles}"
        if not self.keys and not self.confidential:
            return (first,)
        if not self.keys:  # amounts alone, which are averaged and not coarsened
            amounts = shlex.quote(",".join(self.confidential))
            return (
                first,
                f"hartley audit {file} --secret ROW --released {amounts}",
                (
                    f"hartley microaggregate {file} --columns {amounts} -k {self.people.k} "
                    "-o released.csv"
                ),
            )
        return (
            first,
            f"hartley anonymity {file} --roles {roles}",
            (
                f"hartley anonymize {file} --roles {roles} -k {self.people.k} --suppress 0.05 "
                "-o released.csv"
            ),
        )

    @property
    def before_commands(self) -> str:
        """What has to be done before the commands run."""
        roles = self.draft or "roles.toml"
        if self.draft is not None:
            return f"Look at every role in {roles}, write confirmed = true at its top, then:"
        return (
            f"The first command drafts {roles}; the others run once you have looked at every role "
            "there and written confirmed = true at its top:"
        )

    def draft_roles(self) -> str:
        """Return a draft of the roles as the text of a TOML file, with the reasons as comments."""
        skipped = {name for name, _ in self.without_role}
        columns = []
        for column in self.columns:
            if column.name in skipped:
                continue
            levels = tuple(
                level if isinstance(level, str) else Fraction(str(level)) for level in column.levels
            )
            role = ColumnRole(
                column.name,
                column.role,
                levels,
                column.mask,
                rare=column.rare,
            )
            why = f"{column.what}: {column.why}"
            columns.append((role, "; ".join((why, *column.suspicions))))
        return write_roles(columns, self.reading, without_role=self.without_role)

    def write_risks(self, path: str | os.PathLike[str]) -> Path:
        """Write the risk of every record."""
        return self.risks.write(path)

    def write_draft(self, path: str | os.PathLike[str]) -> Path:
        """Write a draft of the roles to a new file."""
        refuse_existing(path)
        return write_whole(path, self.draft_roles())

    @property
    def risks(self) -> RecordRisks:
        """For every record how many share its keys, and its score as a special unique."""
        scores = [0] * self.rows if self.uniques is None else self.uniques.scores
        # A score beyond 64 bits, from 21 columns on, is written as the nearest double.
        exact = max(scores, default=0) < 2**63
        return RecordRisks.of_classes(
            self.class_sizes,
            self.sources,
            score=np.array(scores, np.int64 if exact else np.float64),
        )

    @property
    def sizes(self) -> tuple[SizeBand, ...]:
        """How many people share their keys with how many, in bands."""
        people = np.bincount(self.class_sizes)
        # A class of n people stands n times among the sizes.
        sizes = np.repeat(np.arange(people.size), people // np.maximum(np.arange(people.size), 1))
        return size_bands(sizes)

    def report(self) -> Report:
        """Return the scan in sections; its picture shows how many people are alike."""
        given_away = max(self.given_away.values(), default=0)
        unique, few = self.people.unique, self.people.among_few
        return Report(
            f"Scan of {self.table}",
            self.headline,
            (
                Tile(
                    f"{unique:,}", f"of {self.rows:,} people are unique by their keys", unique > 0
                ),
                Tile(f"{few:,}", f"stand among fewer than {self.people.k}", few > 0),
                Tile(
                    f"{given_away:,}",
                    "have a confidential value that their keys give away",
                    given_away > 0,
                ),
            ),
            tuple(self._sections()),
            "Counts of people are exact: one row counts as one person. What a column is was "
            "guessed.",
        )

    def _sections(self) -> Iterator[Section]:
        yield Section("What was noticed", points=self.sentences)
        columns = (
            Heading("column", "name"),
            Heading("seems to be", "word"),
            Heading("values", "number"),
            Heading("missing", "number"),
            Heading("why", "meaning"),
        )
        seem = tuple(
            (
                column.name,
                column.what,
                f"{column.different:,}",
                f"{column.missing:,}",
                "; ".join((column.why, *column.suspicions)),
            )
            for column in self.columns
        )
        yield Section(
            "What the columns seem to be",
            ("Guesses from names and values, for the owner to correct.",),
            table=Grid(columns, seem, most=60),
        )
        if self.keys:
            yield Section(
                "How many people are alike",
                (f"Keys: {', '.join(self.keys)}.",),
                chart=Chart(
                    "",
                    (sizes_panel(self.sizes, "person"),),
                    reading="The first bar counts the people whose keys nobody else has.",
                ),
                page_only=True,
            )
        if self.uniques is not None and self.uniques.combinations:
            single_out = tuple(
                (" + ".join(one.columns), f"{one.records:,}")
                for one in self.uniques.combinations[:10]
            )
            yield Section(
                "People singled out by a few columns",
                (COMBINATION,),
                tiles=tuple(
                    Tile(
                        f"{self.uniques.singled_out_by(size):,}",
                        "by one column" if size == 1 else f"by at most {size} columns",
                    )
                    for size in range(1, self.uniques.largest + 1)
                ),
                table=Grid((Heading("columns"), Heading("people", "number")), single_out),
            )
        if self.commands:
            before = (self.before_commands,)
            yield Section("What to do next", before, commands=self.commands)

    def to_dict(self) -> dict[str, Any]:
        """Return the scan as plain values, ready for JSON; no value of a record is in it."""
        return {
            "format": 1,
            "table": self.table,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "suspicions": list(self.suspicions),
            "rows": self.rows,
            "columns": [column.to_dict() for column in self.columns],
            "keys": list(self.keys),
            "confidential": list(self.confidential),
            "without_role": [name for name, _ in self.without_role],
            "people": self.people.to_dict(),
            "given_away": self.given_away,
            "uniques": None if self.uniques is None else _summary(self.uniques),
            "not_combined": list(self.not_combined),
            "duplicates": self.duplicates,
            "commands": list(self.commands),
        }


def _summary(uniques: SpecialUniques) -> dict[str, Any]:
    scores = uniques.scores
    return uniques.to_dict() | {
        "combinations": [c.to_dict() for c in uniques.combinations[:1000]],
        "number_of_combinations": len(uniques.combinations),
        "highest_score": max(scores, default=0),
    }


def _few(names: Any) -> str:  # noqa: ANN401 - names in a list or a tuple
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more columns"
    return listed(names)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Raise an error for a draft that would replace a file: the owner may have corrected it."""
    if Path(path).exists():
        raise InputError(
            f"The file {path} exists already", hint="choose another name for the draft"
        )


# --- scan -----------------------------------------------------------------------------------------


MOST_KEYS = 8
"""A draft names no more keys: of the levels of more, little would be left."""
MOST_LOOKS = 2_500_000_000
"""Rows times combinations that a scan looks at: 15 columns of a million rows, by four."""
MOST_COMBINATIONS = 20_000


def scan(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    k: Few = FEW,
    draft: OutputFile | None = None,
    largest: PythonOnly[int] = LARGEST,
    null: PythonOnly[str | Sequence[str]] = (),
    names: PythonOnly[Sequence[str] | None] = None,
    reading: PythonOnly[ReadingOptions] = AS_WRITTEN,
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
        table: a table, in all forms that ``open_table`` takes.
        k: Count the people in groups of fewer than this many with the same values.
        draft: Write a draft of the roles of all columns to this new file, for you to confirm.
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
    check_group_size(k)
    if draft is not None:
        refuse_existing(Path(draft))
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
    report = ScanReport(
        table=opened.name,
        rows=rows,
        columns=tuple(scanned),
        keys=keys,
        confidential=confidential,
        without_role=without_role,
        people=ExposureCounts.of_classes(sizes, k),
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
        draft=None if draft is None else str(draft),
    )
    if draft is not None:
        report.write_draft(draft)
    return report


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
    numbered = number_values(combined)
    classes = numbered[0] if numbered else np.unique(combined, return_inverse=True)[1]
    return classes, np.bincount(classes)


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
