"""What a scan found, in numbers and in plain sentences."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import InputError
from hartley.files import write_whole
from hartley.measures.reidentification import size_bands
from hartley.numerals import percent_at_most
from hartley.ranges.schema.roles import ColumnRole, write_roles
from hartley.readable import ReadableResult
from hartley.studies.record_risks import RecordRisks
from hartley.studies.scanned_column import IDENTIFIER
from hartley.wording import counted, listed, noun_for, verb_for

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from hartley.engines.tables.reading_options import ReadingOptions
    from hartley.measures.reidentification import SizeBand
    from hartley.ranges.relations.people import PeopleCounts
    from hartley.studies.scanned_column import ScannedColumn
    from hartley.studies.special_uniques import SpecialUniques

MOST_COMBINATIONS = 10
"""Combinations that a report lists."""
CONFIDENTIAL_NOTE = (
    "This scan describes real people: keep it as confidential as the table. It shows no value of "
    "an identifier."
)


@dataclass(frozen=True, eq=False)
class ScanReport(ReadableResult):
    """What a table seems to hold, whom it gives away as it is, and what to do next."""

    table: str
    rows: int
    columns: tuple[ScannedColumn, ...]
    keys: tuple[str, ...]
    """The columns that a draft makes keys."""
    confidential: tuple[str, ...]
    without_role: tuple[tuple[str, str], ...]
    """Columns that a draft gives no role, and why."""
    people: PeopleCounts
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
            f"{self.table}: {counted(self.rows, 'row')} of {counted(len(self.columns), 'column')}"
        )
        if not self.keys:
            return f"{what}, none of which seems to be a key."
        return (
            f"{what}. As it is, {self.people.unique:,} "
            f"{noun_for(self.people.unique, 'person')} "
            f"({percent_at_most(Fraction(self.people.unique, max(self.rows, 1)))}) "
            f"{verb_for(self.people.unique, 'is')} unique by {_few(self.keys)}, and "
            f"{self.people.among_few:,} {verb_for(self.people.among_few, 'stands')} among fewer "
            f"than {self.people.k}."
        )

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        said = list(self.notes)
        hidden = [column.name for column in self.columns if column.what == IDENTIFIER]
        if hidden:
            verb = "identifies" if len(hidden) == 1 else "identify"
            said.append(f"{_few(hidden)} {verb} people and must not be released.")
        said += [
            f"The keys give away {column} for {counted(people, 'person')} "
            f"({percent_at_most(Fraction(people, max(self.rows, 1)))})."
            for column, people in self.given_away.items()
            if people
        ]
        if self.uniques is not None:
            few = counted(self.uniques.largest, "column")
            said.append(
                f"At most {few} of {len(self.uniques.columns)} "
                f"{verb_for(self.uniques.largest, 'singles')} out "
                f"{counted(self.uniques.singled_out, 'person')} "
                f"({percent_at_most(Fraction(self.uniques.singled_out, max(self.rows, 1)))})."
            )
        if self.not_combined:
            said.append(
                f"{counted(len(self.not_combined), 'column')} more could single people out, but "
                "there would be too many combinations; those with most values were looked at."
            )
        if self.duplicates:
            said.append(
                f"{counted(self.duplicates, 'row')} {verb_for(self.duplicates, 'repeats')} an "
                "earlier row in every column."
            )
        if self.without_role:
            said.append(
                f"{counted(len(self.without_role), 'column')} would make too many keys: a draft "
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

    def _headline_and_sentences(self) -> tuple[str, list[str]]:
        return self.headline, [*self.suspicions, *self.sentences]

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
