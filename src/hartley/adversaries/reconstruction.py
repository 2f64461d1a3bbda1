"""The reconstruction attack: what all answers of an agent together reveal about one row."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.adversaries.finding import AttackEstimate, no_answer
from hartley.chart import Chart, Panel, Series
from hartley.exact import bits_at_least, bits_at_most
from hartley.ranges.transcripts.possible_records import MOST_STEPS, one_row_left, possible_records
from hartley.ranges.transcripts.relaxation import Relaxation
from hartley.ranges.transcripts.transcript import ANY_TYPE
from hartley.wording import bits_down, bits_up, counted, verb_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.ranges.transcripts.possible_records import OneRow
    from hartley.ranges.transcripts.transcript import Transcript

MOST_GROUPS = 40
"""So many groups of rows are looked at, the smallest first."""


@dataclass(frozen=True)
class Reconstruction:
    r"""Puts all answers together and asks which records are still possible for one row.

    Two adversaries. The one knows nothing of the others' private values: the range left is that
    of all consistent tables, enumerated where they are few, else bounded by a linear programme
    whose bound is rounded outward. The other knows everybody else exactly; that is the one about
    whom an agent promises something:

    .. math:: |\{a(x, v) : x \in [X_i]\}| \le \prod_b \mathrm{cells}_b

    (Farokhi 2020, Definition 1 and Theorem 6). The promise is about how many answers one
    person's data can cause, not about how much one answer tells. No bound ever excludes the
    truth. Grows with the number of records of the columns that the answers depend on.

    Args:
        most: how many steps an enumeration may take before the linear programme is used.

    Example:
        >>> from fractions import Fraction
        >>> import numpy as np
        >>> from hartley.ranges.transcripts.transcript import Group, Told, Transcript
        >>> age = np.arange(4)
        >>> total = Told("SUM(age)", age >= 0, age, 5, (5, 5), least=0, step=Fraction(1))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 4)
        >>> found = Reconstruction().attack(pair)
        >>> found.left[0].values, found.left[0].of, found.left[0].exact
        (2, 4, True)
    """

    most: int = MOST_STEPS

    def attack(self, *transcripts: Transcript) -> ReconstructionFinding:
        """Return what a transcript leaves possible for one row.

        Args:
            transcripts: one, or the parts of one that share no private column.
        """
        if not transcripts:
            raise no_answer()
        first = transcripts[0]
        return ReconstructionFinding(
            rows=first.rows,
            answers=sum(len(one.answers) for one in transcripts),
            left_out=first.left_out,
            charged=first.charged,
            left=tuple(left for one in transcripts for left in self._alone(one)),
            others=tuple(tuple(one_row_left(one)) for one in transcripts) if first.known else None,
            secrets=tuple(tuple(one.columns[i] for i in one.secrets) for one in transcripts),
            truth_inside=all(one.holds_truth() for one in transcripts) if first.known else None,
            people=first.people,
            skipped=sum(max(len(_occupied(one)) - MOST_GROUPS, 0) for one in transcripts),
        )

    def _alone(self, transcript: Transcript) -> list[Left]:
        """Count, or bound, the values of each private column that are left for each group."""
        chosen = _occupied(transcript)[:MOST_GROUPS]
        exact = possible_records(transcript, most=self.most)
        relaxed, found = Relaxation(transcript), []
        for place in chosen:
            group = transcript.groups[place]
            for i in transcript.secrets:
                of = transcript.values(i, group.records)
                kept = (
                    group.records[exact[place]]
                    if exact is not None
                    else _bounded(transcript, relaxed, place, i)
                )
                values = transcript.values(i, kept)
                name = transcript.columns[i]
                found.append(Left(name, group.rows, group.name, values, of, exact is not None))
        return found


def _occupied(transcript: Transcript) -> list[int]:
    """Return the groups that have rows, the smallest first."""
    groups = sorted(range(len(transcript.groups)), key=lambda g: transcript.groups[g].rows)
    return [g for g in groups if transcript.groups[g].rows]


def _bounded(
    transcript: Transcript, relaxed: Relaxation, place: int, column: int
) -> NDArray[np.int64]:
    """Return the records whose value of a column a linear programme does not exclude."""
    records = transcript.groups[place].records
    codes = transcript.records[records, column]
    reach = relaxed.reach_of_one(place, codes)
    if reach is None:
        return records
    # That a value is missing is not excluded.
    kept = (codes < 0) | ((codes >= reach[0]) & (codes <= reach[1]))
    return np.asarray(records[kept])


@dataclass(frozen=True)
class Left:
    """How many values of a column are left for one row of a group."""

    column: str
    rows: int
    """How many rows the group has."""
    group: str
    values: int
    of: int
    exact: bool
    """Whether just these are possible; else no others are."""

    @property
    def excluded(self) -> float:
        """The share of values that is ruled out."""
        return 1 - self.values / self.of if self.of else 0.0


@dataclass(frozen=True)
class ReconstructionFinding:
    """What all answers together leave of one row."""

    rows: int
    answers: int
    left_out: int
    charged: int
    """What was charged for the answers, in cells."""
    left: tuple[Left, ...]
    """For an adversary who knows nothing about the others."""
    others: tuple[tuple[OneRow, ...], ...] | None
    """For an adversary who knows everybody else, part by part; None without the true table."""
    secrets: tuple[tuple[str, ...], ...]
    """The private columns that the answers of each part depend on."""
    truth_inside: bool | None
    people: bool = True
    """Whether every row is a person."""
    skipped: int = 0
    """How many groups of rows were not examined for one who knows nothing about the others."""

    @property
    def looked(self) -> int:
        """At how many rows was looked for an adversary who knows everybody else."""
        return min((sum(o.rows for o in part) for part in self.others or ()), default=0)

    @property
    def worst(self) -> Left | None:
        """Where most values are ruled out for one who knows nothing about the others."""
        return max(self.left, key=lambda one: one.excluded, default=None)

    @property
    def transcripts(self) -> int | None:
        """The most answers that one row can cause, all others being fixed.

        Parts share no private column, so a row of what is worst in each of them is possible too,
        and answers of parts multiply; what is public or open of it is the same in all parts.
        """
        if not self.others:
            return None
        most: list[dict[int, int]] = [{} for _ in self.others]
        for worst, rows in zip(most, self.others, strict=True):
            for one in rows:
                worst[one.type] = max(worst.get(one.type, 1), one.transcripts)
        types = set().union(*most)
        return max((prod(w.get(t, w.get(ANY_TYPE, 1)) for w in most) for t in types), default=1)

    @property
    def fewest(self) -> OneRow | None:
        """The row with fewest records left, in the part that tells most about it."""
        rows = [one for part in self.others or () for one in part]
        several = [one for one in rows if one.candidates > 1]
        return min(several or rows, key=lambda one: (one.left, -one.candidates), default=None)

    @property
    def settled_beside(self) -> tuple[int, ...]:
        """For how many rows, part by part, one who knows everybody else is left with one record."""
        return tuple(
            sum(one.rows for one in part if one.left == 1 < one.candidates)
            for part in self.others or ()
        )

    @property
    def alone(self) -> int:
        """For how many rows, in the part where they are most, a single record is left."""
        return max(self.settled_beside, default=0)

    @property
    def settled_by_column(self) -> dict[str, int]:
        """For how many rows one who knows nothing about the others is left with one value."""
        rows: dict[str, int] = {}
        for left in self.left:
            if left.values == 1 < left.of:
                rows[left.column] = rows.get(left.column, 0) + left.rows
        return rows

    @property
    def keeps_promise(self) -> bool | None:
        """Whether no row can cause more different answers than were charged."""
        return None if self.transcripts is None else self.transcripts <= self.charged

    @property
    def measured(self) -> str:
        """What the number is."""
        if self.transcripts is not None:
            return "bits that the answers can reveal about one row if everybody else is known"
        return "largest share of the values of a column that is ruled out for a row"

    @property
    def number(self) -> AttackEstimate:
        """Bits told about one row to one who knows the others; else the share ruled out."""
        if self.transcripts is not None:
            found = bits_at_least(self.transcripts)
            least = max(one.transcripts for part in self.others or () for one in part)
            # No row need be worst in all parts, and rows that were not looked at may fare worse.
            low = found if len(self.others or ()) == 1 else bits_at_least(least)
            seen = self.looked >= self.rows
            return AttackEstimate(
                found, low, found if seen else max(found, bits_at_least(self.charged))
            )
        worst = self.worst
        if worst is None:
            return AttackEstimate.exact(0.0)
        return AttackEstimate(
            worst.excluded, worst.excluded, worst.excluded if worst.exact else 1.0
        )

    @property
    def headline(self) -> str:
        """What was settled, and for how many people, in one plain sentence."""
        many = counted(self.answers, "answer")
        settle = verb_for(self.answers, "settles")
        if self.keeps_promise is False:
            return f"{many} BROKE THE PROMISE: {self._told()}."
        of = f"of {self.rows:,} {self._who}"
        alone = _settled_rows(self.settled_by_column.items())
        if self.others is None:
            return (
                f"{many} {settle} {alone} {of}." if alone else f"{many} {self._none} of any {of}."
            )
        beside = _settled_rows(zip(map(", ".join, self.secrets), self.settled_beside, strict=True))
        if not beside:
            return f"{many} {self._nobody(settle)}."
        rest = f"{alone} {of}" if alone else self._none
        return (
            f"{many} {settle} {beside} {of} for an adversary who knows everybody else, and "
            f"{rest} for one who knows nothing about the others."
        )

    @property
    def _who(self) -> str:
        return "people" if self.people else "rows"

    @property
    def _certain(self) -> bool:
        """Whether what is left to one who knows nothing about the others is exact for everybody."""
        return all(left.exact for left in self.left) and not self.skipped

    @property
    def _none(self) -> str:
        """Say that no value is settled, as surely as it is known."""
        one = self.answers == 1
        if self._certain:
            return f"{'settles' if one else 'settle'} no value"
        return f"{'is' if one else 'are'} not shown to settle any value"

    def _nobody(self, settle: str) -> str:
        """Say that not even an adversary who knows everybody else is left with one record."""
        worst = self.fewest
        if worst is None or worst.candidates == 1:
            return f"{settle} nothing private"
        seen = f"each of {self.rows:,} {self._who}"
        if self.looked < self.rows:
            seen = f"each of the {self.looked:,} of {self.rows:,} {self._who} looked at"
        return (
            f"{settle} nobody's record, even for an adversary who knows everybody else: at least "
            f"{worst.left:,} are left to {seen}"
        )

    def _told(self) -> str:
        row = "person" if self.people else "row"
        one = f"one {row}" if self.looked >= self.rows else f"one of {self.looked:,} {self._who}"
        told = bits_up(bits_at_least(self.transcripts or 1), 2)
        charged = bits_down(bits_at_most(self.charged), 2)
        if self.transcripts == self.charged:  # rounded apart, equal numbers would look unequal
            return (
                f"an adversary who knows everybody else learns about {one} just the {charged} "
                "charged"
            )
        kept = "within" if self.keeps_promise else "MORE THAN"
        return (
            f"an adversary who knows everybody else learns at most {told} about {one}, {kept} "
            f"the {charged} that were charged"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What else is to be said, a sentence each."""
        found = []
        if self.transcripts is not None:
            told = self._told()
            found.append(f"{told[0].upper()}{told[1:]}.")
            found += self._beside()
        found.append(self._alone())
        if self.truth_inside is not None:
            found.append(
                "The true table is among those that the answers leave possible."
                if self.truth_inside
                else "The true table is NOT among those that the answers leave possible: the "
                "answers were given about another table."
            )
        else:
            found.append(
                "Without the true table nothing is said about an adversary who knows everybody "
                "else, and public columns are taken to be unknown."
            )
        if self.skipped:
            found.append(
                f"The {MOST_GROUPS} smallest groups of rows were examined; {self.skipped:,} "
                "larger ones were not."
            )
        if self.left_out:
            found.append(
                f"Not used: {self.left_out:,} answers about older data or about too many values at "
                "once; with them an adversary may learn more, within what was charged for them."
            )
        return tuple(found)

    def _alone(self) -> str:
        worst = self.worst
        who = "An adversary who knows nothing about the others"
        if worst is None or not worst.excluded:
            can = "can rule out no value" if self._certain else "is not shown to rule out any value"
            return f"{who} {can} for any row."
        how = "exactly" if worst.exact else "at most"
        return (
            f"{who} is left with {how} {worst.values:,} of {worst.of:,} values of {worst.column} "
            f"for a row{_among(worst)}, which is where most are ruled out."
        )

    def _beside(self) -> list[str]:
        """Say for each part how many records are left, of how many rows."""
        found = []
        for columns, part, settled in zip(
            self.secrets, self.others or (), self.settled_beside, strict=True
        ):
            rest = [one for one in part if one.left > 1]
            text = f"Of {', '.join(columns)} an adversary who knows everybody else is left with"
            if settled:
                text += f" a single record for {settled:,} of {self.rows:,} {self._who}"
            if rest:
                worst = min(rest, key=lambda one: (one.left, -one.candidates))
                rows = sum(one.rows for one in rest)
                text += (
                    f"{' and' if settled else ''} at least {worst.left:,} of {worst.candidates:,} "
                    f"records for {f'the other {rows:,}' if settled else f'all {rows:,}'}"
                )
            if columns and (settled or rest):
                found.append(f"{text}.")
        found.append(
            "The promise bounds how many answers a row can cause, not how much one answer tells."
        )
        if self.looked < self.rows:
            found.append(
                f"{self.looked:,} of {self.rows:,} rows were examined; for the others more may "
                "be learned, within what was charged."
            )
        return found

    def chart(self) -> Chart:
        """Return the share of values left for each column, and bits told beside bits charged."""
        columns = tuple(dict.fromkeys(one.column for one in self.left))
        shares = tuple(
            min(1 - one.excluded for one in self.left if one.column == column) for column in columns
        )
        panels = [
            Panel(
                "", "share of values left", (Series("left", columns, shares, "bars"),),
                "To an adversary who knows nothing about the others", from_zero=True,
            )
        ]  # fmt: skip
        if self.transcripts is not None:
            names = ("told at most", "charged")
            bits = (bits_at_least(self.transcripts), bits_at_least(self.charged))
            panels.append(
                Panel(
                    "", "bits about one row", (Series("bits", names, bits, "bars", tone=1),),
                    "To an adversary who knows everybody else", from_zero=True,
                )
            )  # fmt: skip
        return Chart(f"Reconstruction from {self.answers:,} answers", tuple(panels))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "number": self.number.to_dict(),
            "rows": self.rows,
            "answers": self.answers,
            "answers_left_out": self.left_out,
            "charged_cells": str(self.charged),
            "charged_bits": bits_at_least(self.charged),
            "people": self.people,
            "knowing_nothing": [vars(one) for one in self.left],
            "settled_knowing_nothing": self.settled_by_column,
            "knowing_everybody_else": None
            if self.fewest is None
            else {
                "most_transcripts": str(self.transcripts),
                "keeps_promise": self.keeps_promise,
                "fewest_records_left": self.fewest.left,
                "of_records": self.fewest.candidates,
                "rows_with_one_record_left": self.alone,
                "settled": [
                    {"columns": list(columns), "rows": rows}
                    for columns, rows in zip(self.secrets, self.settled_beside, strict=True)
                ],
            },
            "truth_inside": self.truth_inside,
        }


def _settled_rows(counted: Iterable[tuple[str, int]]) -> str:
    return " and ".join(f"{columns} of {rows:,}" for columns, rows in counted if rows)


def _among(left: Left) -> str:
    return f" of {left.group}" if left.group else ""
