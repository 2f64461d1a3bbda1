"""Scan a raw table: what its columns seem to be, and whom it gives away as it is."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import Kind, run
from hartley.errors import TableError, without_password
from hartley.files import STANDARD_INPUT, refuse_existing, write_whole
from hartley.kernels.dependence import find_dependences
from hartley.kernels.pairs import number_values
from hartley.measures.anonymity import size_bands, sizes_panel
from hartley.ranges.classes import combine_codes
from hartley.ranges.counting import Pairs, Summary, distinct
from hartley.ranges.relation import FEW, ExposureCounts, check_group_size
from hartley.report import Chart, Grid, Heading, Readable, Report, Section, Tile, plain_values
from hartley.schema.roles import NEVER_RELEASED, ColumnRole, Roles
from hartley.studies.look.exposure import RecordRisks, members, with_absent
from hartley.studies.look.scanned_column import (
    CONFIDENTIAL,
    IDENTIFIER,
    KNOWN,
    CodedColumn,
    name_hint,
    numbers_people,
    scan_column,
)
from hartley.studies.look.special_uniques import LARGEST, uniques_of_codes
from hartley.studies.look.verdict import Verdict, worst
from hartley.tables.opening import is_address, open_table
from hartley.tables.reading import AS_WRITTEN
from hartley.tables.row_files import suspected_reading
from hartley.text import command_line, conjugate, count_of, listed, share_text

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
CONFIDENTIAL_NOTE = "This scan describes real people: keep it as confidential as the table."


@dataclass(frozen=True, eq=False)
class ScanReport(Readable):
    """What a table seems to hold, whom it gives away as it is, and what to do next."""

    table: str
    rows: int
    columns: tuple[ScannedColumn, ...]
    keys: tuple[str, ...]
    """The columns by which people are counted: the keys of a draft, and undecided ones."""
    confidential: tuple[str, ...]
    unit: str | None
    """The column that seems to say whose row it is, where people have several."""
    most_rows: int
    """The most rows of one person."""
    people: ExposureCounts
    """How many people the keys single out, or leave among few."""
    verdicts: dict[str, Verdict]
    """For each confidential column, what the keys tell about it."""
    dependences: tuple[tuple[str, str, Fraction], ...]
    """Columns of which the second one follows, or nearly follows, from the first, and how well."""
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
    """For every row, how many people share its keys; with a unit, the fewest of its person."""
    class_people: NDArray[np.int64]
    """How many people each class of equal keys has."""
    persons: NDArray[np.int64] | None = None
    """Whose each row is; None: one row is one person."""
    source: tuple[str, ...] = ()
    """The files as the user named them, for the commands."""
    sources: tuple[str, ...] = ()
    """The files of the table, which nothing may overwrite."""
    draft: str | None = None
    """The file of the draft, if one was written."""

    @property
    def given_away(self) -> dict[str, int]:
        """For each confidential column, the people whose value their keys give away."""
        return {name: verdict.told for name, verdict in self.verdicts.items()}

    @property
    def undecided(self) -> tuple[str, ...]:
        """The columns that a draft leaves undecided, so that they are not released."""
        return tuple(column.name for column in self.columns if column.role == "undecided")

    @property
    def headline(self) -> str:
        """The scan in a few sentences, the worst about people first."""
        return " ".join(self._said)

    @property
    def _said(self) -> list[str]:
        said = []
        if self.keys:
            unique, few = self.people.unique, self.people.among_few
            share = share_text(Fraction(unique, self.people.rows))
            alone = f"{count_of(unique, 'person')} ({share}) {conjugate(unique, 'is')}"
            said.append(
                f"As it is, {alone if unique else 'nobody is'} unique by {_few(self.keys)}, and "
                f"{few:,} {conjugate(few, 'stands')} among fewer than {self.people.k}."
            )
        if self.verdicts:
            at = int(few > 0)
            said[at:at] = worst([*self.verdicts.values()]).sentences
        columns = count_of(len(self.columns), "column")
        if self.unit is None:
            size = f"{count_of(self.rows, 'row')} of {columns}"
        else:
            size = (
                f"{count_of(self.rows, 'row')} of {count_of(self.people.rows, 'person')}; the most "
                f"rows of one person are {self.most_rows:,}"
            )
        none = "" if self.keys else ", and no column seems to be a key"
        said += [f"{size}{none}.", *self._repeated]
        return [f"{self.table}: {said[0]}", *said[1:]]

    @property
    def _repeated(self) -> list[str]:
        """What is said of an identifier that may have to be the unit."""
        several = [
            column
            for column in self.columns
            if column.what == IDENTIFIER and 1 < column.different < self.rows - column.missing
        ]
        if self.unit is not None or not several:
            return []
        most = max(several, key=lambda column: column.different)
        values, rows = count_of(most.different, "value"), count_of(self.rows, "row")
        role = "give it the role unit if it names people"
        return [f"{most.name} has {values} in {rows}: {role}."]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        said = list(self.notes)
        hidden = [column.name for column in self.columns if column.what == IDENTIFIER]
        if hidden:
            verb = "identifies" if len(hidden) == 1 else "identify"
            said.append(f"{_few(hidden)} {verb} people and must not be released.")
        if self.unit is None:
            said.append("One row counts as one person.")
        else:
            said.append(f"{self.unit} says whose row it is: people are counted, not rows.")
        ranked = sorted(self.verdicts.values(), key=lambda tells: tells.exposed, reverse=True)
        said += [verdict.sentence for verdict in ranked[1:MOST_SAID]]  # the first is the headline's
        if len(ranked) > MOST_SAID:
            more = count_of(len(ranked) - MOST_SAID, "more confidential column")
            said.append(f"The keys tell less about {more}.")
        if self.uniques is not None:
            few, out = count_of(self.uniques.largest, "column"), self.uniques.singled_out
            said.append(
                f"At most {few} of {len(self.uniques.columns)} "
                f"{conjugate(self.uniques.largest, 'singles')} out {count_of(out, 'person')} "
                f"({share_text(Fraction(out, self.people.rows))})."
            )
        if self.not_combined:
            said.append(
                f"{count_of(len(self.not_combined), 'column')} more could single people out, but "
                "there would be too many combinations; those with most values were looked at."
            )
        said += self._same
        if self.duplicates:
            said.append(
                f"{count_of(self.duplicates, 'row')} {conjugate(self.duplicates, 'repeats')} an "
                "earlier row in every column."
            )
        empty = [column.name for column in self.columns if not column.different]
        if undecided := [name for name in self.undecided if name not in empty]:
            some = count_of(len(undecided), "undecided column")
            said.append(f"A draft does not release {some}: {_few(undecided)}.")
        if empty:
            said.append(f"{_few(empty)} {conjugate(len(empty), 'is')} empty.")
        return tuple(said)

    @property
    def _same(self) -> list[str]:
        """Which columns say the same, and which keys have groups that others name."""
        exact = {(first, second) for first, second, share in self.dependences if share == 1}
        keys = {column.name for column in self.columns if column.role == "key"}
        said = []
        for first, second in sorted(exact):
            if (second, first) in exact:
                if first < second:
                    said.append(f"{first} and {second} say the same in other words.")
            elif {first, second} <= keys:
                said.append(
                    f"{second} follows from {first}: its groups can be a hierarchy for {first}."
                )
        return said[:MOST_SAID]

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
        """The next commands, ready to paste; all but that for a draft need confirmed roles."""
        files, reading, k = self.source, self.reading.words, self.people.k
        if not files or STANDARD_INPUT in files:
            return ()
        by = (*files, "--roles", self.draft or "roles.toml")
        commands: list[tuple[object, ...]] = []
        if self.draft is None:
            commands.append(("scan", *files, *reading, "--draft", by[-1]))
        elif len(files) == 1:
            commands.append(("schema", "draft", *by))
        if self.keys:
            commands.append(("anonymity", *by))
            made = ("-o", "released.csv", "--html", "released.html")
            commands.append(("anonymize", *by, "-k", k, "--suppress", 0.05, *made))
        elif amounts := [c.name for c in self.columns if c.what == CONFIDENTIAL and c.is_number]:
            named, read = ",".join(amounts), (*files, *reading)
            commands.append(("audit", *read, "--secret", "ROW", "--released", named))
            averaged = ("--columns", named, "-k", k, "-o", "released.csv")
            commands.append(("microaggregate", *read, *averaged))
        return tuple(command_line(*words) for words in commands)

    @property
    def before_commands(self) -> str:
        """What has to be done before the commands run."""
        roles, said = self.draft or "roles.toml", []
        if not self.source:
            return ""
        if STANDARD_INPUT in self.source:
            return "Standard input is read only once: save the table to a file, and scan that."
        look = f"at every role in {roles} and write confirmed = true at its top"
        if not any(column.role == "key" for column in self.columns):
            such = f" to what others may know, such as {_few(self.keys)}" if self.keys else ""
            said.append(f"No column is drafted as a key: give that role{such}.")
        said.append(
            f"The first command drafts {roles}; before the others, look {look}:"
            if self.draft is None
            else f"Look {look}, then:"
        )
        return " ".join(said)

    @property
    def roles(self) -> Roles:
        """A draft of the roles: everything refuses it until its owner has confirmed it.

        Look at every column of it; ``report.roles.confirm()`` is a confirmed one.
        """
        columns = {
            column.name: ColumnRole(
                column.name,
                column.role,
                tuple(n if isinstance(n, str) else Fraction(str(n)) for n in column.levels),
                column.mask,
                rare=column.rare,
                why="; ".join((f"{column.what}: {column.why}", *column.suspicions)),
            )
            for column in self.columns
        }
        return Roles(confirmed=False, columns=columns, reading=self.reading)

    def draft_roles(self) -> str:
        """Return a draft of the roles as the text of a TOML file, with the reasons as comments."""
        return self.roles.to_toml()

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
        bands = size_bands(self.class_people)
        if self.persons is None:
            return bands
        exposed = self.class_sizes[np.unique(self.persons, return_index=True)[1]]
        return tuple(
            replace(b, records=int(((b.low <= exposed) & (exposed <= b.high)).sum())) for b in bands
        )

    def report(self) -> Report:
        """Return the scan in sections; its picture shows how many people are alike."""
        known = max((verdict.nearly_told for verdict in self.verdicts.values()), default=0)
        unique, few = self.people.unique, self.people.among_few
        headline, *lead = self._said
        return Report(
            f"Scan of {self.table}",
            headline,
            (
                Tile(
                    f"{unique:,}",
                    f"of {self.people.rows:,} people are unique by their keys",
                    unique > 0,
                ),
                Tile(f"{few:,}", f"stand among fewer than {self.people.k}", few > 0),
                Tile(
                    f"{known:,}",
                    "have a confidential value that their keys tell, for certain or nearly",
                    known > 0,
                ),
            ),
            tuple(self._sections()),
            "Counts of people are exact. What a column is was guessed.",
            " ".join(lead),
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
        before = filter(None, (CONFIDENTIAL_NOTE, self.before_commands))
        yield Section(
            "What to do next", tuple(before), commands=self.commands, warning=not self.commands
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the scan as plain values, ready for JSON; no value of a record is in it."""
        return {
            "format": 1,
            "table": self.table,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "suspicions": list(self.suspicions),
            "rows": self.rows,
            "columns": plain_values(self.columns),
            "keys": list(self.keys),
            "confidential": list(self.confidential),
            "undecided": list(self.undecided),
            "unit": self.unit,
            "most_rows": self.most_rows,
            "people": self.people.to_dict(),
            "given_away": self.given_away,
            "verdicts": {name: verdict.to_dict() for name, verdict in self.verdicts.items()},
            "dependences": [[a, b, str(share)] for a, b, share in self.dependences],
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


# --- scan -----------------------------------------------------------------------------------------


MOST_KEYS = 8
"""People are counted by no more keys: by many, everybody is alone."""
MOST_LOOKS = 2_500_000_000
"""Rows times combinations that a scan looks at: 15 columns of a million rows, by four."""
MOST_COMBINATIONS = 20_000
SLOWER = 10
"""A scan looks at so many times fewer where people have several rows."""
MOST_UNDECIDED = 60
"""With more undecided columns, nobody looks whether one of them follows from another."""
MOST_SAID = 5


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
    source = _source(table)
    reading = reading.with_marks(null, names)
    guessed: list[str] = []
    if len(source) == 1 and not is_address(source[0]) and os.path.isfile(source[0]):  # noqa: PTH113 - names of any length
        reading, guessed = suspected_reading(source[0], reading)
    opened = open_table(table, reading=reading)
    coded, rows = _coded_columns(opened, tell)
    unit = _name_unit(coded)
    dependences = _dependences(coded)
    _judge_dependences(coded, dependences)
    scanned = [column.scanned for column in coded.values()]
    keys = _keys(coded)
    confidential = tuple(c.name for c in scanned if c.what == CONFIDENTIAL)
    persons = None if unit is None else _persons(coded[unit])
    classes, sizes = _classes([coded[name] for name in keys], rows)
    alike, people = _exposure(classes, sizes, persons, k)
    combined, not_combined = _combined(coded, rows, largest, several=unit is not None)
    uniques = None
    if combined:
        uniques = uniques_of_codes(
            opened.name,
            tuple(combined),
            [coded[name].codes for name in combined],
            largest=largest,
            persons=persons,
            progress=lambda share: tell("combine", share),
        )
    report = ScanReport(
        table=opened.name,
        rows=rows,
        columns=tuple(scanned),
        keys=keys,
        confidential=confidential,
        unit=unit,
        most_rows=1 if persons is None else int(np.bincount(persons).max()),
        people=people,
        verdicts=_verdicts(classes, persons, keys, [coded[name] for name in confidential]),
        dependences=dependences,
        uniques=uniques,
        not_combined=not_combined,
        duplicates=_duplicates(list(coded.values()), rows, uniques if unit is None else None),
        notes=(*guessed, *_notes(opened, table)),
        reading=_reading(reading, coded),
        class_sizes=alike,
        class_people=sizes if persons is None else members(classes, persons),
        persons=persons,
        source=source,
        sources=opened.paths,
        draft=None if draft is None else str(draft),
    )
    if draft is not None:
        report.write_draft(draft)
    return report


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


def _name_unit(coded: dict[str, CodedColumn]) -> str | None:
    """Give the role of the unit to the column that numbers people who have several rows."""
    numbered = [
        column.scanned
        for column in coded.values()
        if column.scanned.what == IDENTIFIER
        and numbers_people(column.scanned.name)
        and 1 < column.scanned.different < column.codes.size - column.scanned.missing
    ]
    if not numbered:
        return None
    unit = max(numbered, key=lambda column: column.different)
    why = f"{unit.why}, so that people have several rows"
    coded[unit.name] = replace(coded[unit.name], scanned=replace(unit, role="unit", why=why))
    return unit.name


def _dependences(coded: dict[str, CodedColumn]) -> tuple[tuple[str, str, Fraction], ...]:
    """Return the columns of which one follows, or nearly follows, from another one."""
    names = list(coded)
    roles = [coded[name].scanned.role for name in names]
    # Codes that no row has, as those of missing values, are left out.
    held = [np.bincount(column.codes, minlength=column.width) > 0 for column in coded.values()]
    codes = [
        (np.cumsum(used) - 1)[column.codes]
        for used, column in zip(held, coded.values(), strict=True)
    ]
    few = roles.count("undecided") <= MOST_UNDECIDED

    def looked_at(a: int, b: int) -> bool:
        said = roles[a] not in NEVER_RELEASED and roles[b] not in {"weight", "household"}
        return said and (few or {roles[a], roles[b]} != {"undecided"})

    found = find_dependences(codes, looked_at)
    return tuple((names[a], names[b], share) for a, b, share in found)


def _judge_dependences(
    coded: dict[str, CodedColumn], dependences: Sequence[tuple[str, str, Fraction]]
) -> None:
    """Change the roles of columns that say what another one says."""

    def change(name: str, role: str, why: str) -> None:
        scanned = replace(coded[name].scanned, role=role, why=f"{coded[name].scanned.why}; {why}")
        coded[name] = replace(coded[name], scanned=scanned)

    exact = {(first, second) for first, second, share in dependences if share == 1}
    for first, second, _ in dependences:
        role, told = coded[first].scanned.role, coded[second].scanned.role
        if told in NEVER_RELEASED and role not in NEVER_RELEASED:
            change(first, "identifier", f"tells {second}, which identifies people")
        elif role in {"confidential", "undecided"} and told == "key":
            change(first, "undecided", f"says the same as {second}, which is a key")
    names = list(coded)
    for first, second in sorted(exact, key=lambda pair: names.index(pair[0])):
        twins = (second, first) in exact and names.index(first) < names.index(second)
        if twins and coded[first].scanned.role == coded[second].scanned.role == "key":
            change(second, "undecided", f"says the same as {first}, which is a key")


def _keys(coded: dict[str, CodedColumn]) -> tuple[str, ...]:
    """Return the columns by which people are counted: keys first, and what could be one."""
    candidates = [c.scanned for c in coded.values() if _could_be_key(c.scanned)]
    # Those whose name says so first, then those that single out most.
    ranked = sorted(
        candidates, key=lambda c: (c.role != "key", name_hint(c.name) != "key", -c.different)
    )
    chosen = {c.name for c in ranked[:MOST_KEYS]}
    return tuple(c.name for c in candidates if c.name in chosen)


def _could_be_key(column: ScannedColumn) -> bool:
    return column.role == "key" or (column.role == "undecided" and column.what in KNOWN)


def _combined(
    coded: dict[str, CodedColumn], rows: int, largest: int, *, several: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns to combine, and those for which there would be too many combinations."""
    known = [name for name, c in coded.items() if _could_be_key(c.scanned)]
    # A table of amounts alone: somebody may know one of them.
    candidates = known or [n for n, c in coded.items() if c.scanned.what == CONFIDENTIAL]
    looks = min(MOST_LOOKS // (SLOWER if several else 1) // max(rows, 1), MOST_COMBINATIONS)
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


def _notes(table: Table, source: object) -> tuple[str, ...]:
    if isinstance(source, str) and without_password(source) != source:
        return ("The password is left out of the commands: set PGPASSWORD, or use ~/.pgpass.",)
    if not table.surely_named and all(re.fullmatch(r"column\d+", name) for name in table.columns):
        return (f"{table.name} seems to have no header line: name its columns with --names.",)
    return ()


def _source(table: object) -> tuple[str, ...]:
    """Return the files or addresses that a shell names; none for other tables."""
    paths = [table] if isinstance(table, (str, os.PathLike)) else table
    if not isinstance(paths, (list, tuple)):
        return ()
    named = (os.fspath(path) for path in paths if isinstance(path, (str, os.PathLike)))
    names = map(without_password, named)
    return tuple(f"./{n}" if n.startswith("-") and n != STANDARD_INPUT else n for n in names)


# --- whom it gives away -------------------------------------------------------------------------


def _classes(keys: Sequence[CodedColumn], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of every row by its keys, and the sizes of the classes."""
    if not keys:
        return np.zeros(rows, np.int64), np.array([rows])
    combined, _ = combine_codes([key.codes for key in keys], [key.width for key in keys])
    numbered = number_values(combined)
    classes = numbered[0] if numbered else np.unique(combined, return_inverse=True)[1]
    return classes, np.bincount(classes)


def _persons(unit: CodedColumn) -> NDArray[np.int64]:
    """Return whose each row is; a row without a value is of a person of its own."""
    persons = unit.codes.astype(np.int64)
    alone = np.flatnonzero(persons == unit.width - 1)
    persons[alone] += np.arange(alone.size)
    return np.unique(persons, return_inverse=True)[1]


def _exposure(
    classes: NDArray[np.int64], sizes: NDArray[np.int64], persons: NDArray[np.int64] | None, k: int
) -> tuple[NDArray[np.int64], ExposureCounts]:
    """Return for every row how many people are like its person, and count people by that.

    A person is as exposed as by the most exposed of their rows.
    """
    if persons is None:
        return sizes[classes], ExposureCounts.of_classes(sizes, k)
    least = np.full(int(persons.max()) + 1, persons.size)
    np.minimum.at(least, persons, members(classes, persons, sizes.size)[classes])
    counts = ExposureCounts(least.size, k, int((least == 1).sum()), int((least < k).sum()))
    return least[persons], counts


def _verdicts(
    classes: NDArray[np.int64],
    persons: NDArray[np.int64] | None,
    keys: Sequence[str],
    columns: Sequence[CodedColumn],
) -> dict[str, Verdict]:
    """Return what the keys tell about each confidential column, where it has several values."""
    verdicts = {}
    for column in columns if keys else ():
        secrets = column.codes.astype(np.int64)
        present = secrets < column.width - 1
        if column.width < 3:
            continue
        name, given, secrets = column.scanned.name, classes[present], secrets[present]
        if persons is None:
            given = np.unique(given, return_inverse=True)[1]
            ones, sizes = np.ones_like(given), (column.width - 1, int(given.max()) + 1)
            summary = Summary.of_pairs(Pairs.gather(secrets, given, ones, sizes))
            verdict = Verdict.of_summary(summary, keys, [name])
        else:
            verdict = Verdict.of_people(persons[present], given, secrets, keys, [name])
        absent = ~present
        whose = np.arange(classes.size) if persons is None else persons
        people = members(classes, whose)
        lacking = members(classes[absent], whose[absent], people.size)
        verdict = with_absent(verdict, lacking, people, int(absent.sum()))
        verdicts[name] = verdict
    return verdicts


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
    return int(combined.size - distinct(combined).size)
