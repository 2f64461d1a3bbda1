"""The reconstruction attack: what all answers of an agent together reveal about one row."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.attacks.finding import AttackEstimate, AttackResult, no_answer
from hartley.exact import bits_at_least, bits_at_most
from hartley.knowledge.transcript import ANY_TYPE, MOST_STEPS, one_row_left, possible_records
from hartley.knowledge.transcript_bounds import Relaxation
from hartley.report import Chart, Panel, Series
from hartley.text import bits_down, bits_up, conjugate, count_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.knowledge.transcript import OneRow, Transcript

MOST_GROUPS = 40
"""At most this many groups of rows are examined, the smallest first."""


@dataclass(frozen=True)
class Reconstruction:
    r"""Puts all answers together and asks which records are still possible for one row.

    There are two adversaries. The first knows nothing about the others' private values: all tables
    that fit the answers are enumerated if they are few, otherwise a linear programme, rounded
    outward, bounds what is left. The second knows everybody else exactly. The promise of an agent
    is about the second:

    .. math:: |\{a(x, v) : x \in [X_i]\}| \le \prod_b \mathrm{cells}_b

    (Farokhi 2020, Definition 1 and Theorem 6). The promise bounds how many answers one person's
    data can cause, not how much one answer reveals. No bound ever excludes the truth. The cost
    grows with the number of records of the columns that the answers depend on.

    Args:
        most: how many steps an enumeration may take before the linear programme is used.

    Example:
        >>> from fractions import Fraction
        >>> import numpy as np
        >>> from hartley.knowledge.transcript import AnswerCell, Group, Transcript
        >>> age = np.arange(4)
        >>> total = AnswerCell("SUM(age)", age >= 0, age, 5, (5, 5), least=0, step=Fraction(1))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 4)
        >>> finding = Reconstruction().attack(pair)
        >>> finding.left[0].values, finding.left[0].of, finding.left[0].exact
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
            answers=sum(len(transcript.answers) for transcript in transcripts),
            left_out=first.left_out,
            charged=first.charged,
            left=tuple(
                remaining for transcript in transcripts for remaining in self._alone(transcript)
            ),
            others=tuple(tuple(one_row_left(transcript)) for transcript in transcripts)
            if first.known
            else None,
            secrets=tuple(
                tuple(transcript.columns[i] for i in transcript.secrets)
                for transcript in transcripts
            ),
            truth_inside=all(transcript.holds_truth() for transcript in transcripts)
            if first.known
            else None,
            people=first.people,
            skipped=sum(
                max(len(_occupied(transcript)) - MOST_GROUPS, 0) for transcript in transcripts
            ),
        )

    def _alone(self, transcript: Transcript) -> list[Left]:
        """Count, or bound, the values of each private column that are left for each group."""
        chosen = _occupied(transcript)[:MOST_GROUPS]
        exact = possible_records(transcript, most=self.most)
        relaxed, remaining = Relaxation(transcript), []
        for place in chosen:
            group = transcript.groups[place]
            for i in transcript.secrets:
                of = transcript.values(i, group.records)
                possible = (
                    group.records[exact[place]]
                    if exact is not None
                    else _bounded(transcript, relaxed, place, i)
                )
                values = transcript.values(i, possible)
                name = transcript.columns[i]
                remaining.append(Left(name, group.rows, group.name, values, of, exact is not None))
        return remaining


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
    reach = relaxed.bound_one_row(place, codes)
    if reach is None:
        return records
    # A missing value is never excluded.
    possible = (codes < 0) | ((codes >= reach[0]) & (codes <= reach[1]))
    return np.asarray(records[possible])


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
    """Whether the number is exact; otherwise it is an upper bound."""

    @property
    def excluded(self) -> float:
        """The share of values that is ruled out."""
        return 1 - self.values / self.of if self.of else 0.0


@dataclass(frozen=True)
class ReconstructionFinding(AttackResult):
    """What all answers together leave possible for one row."""

    rows: int
    answers: int
    left_out: int
    charged: int
    """The charge for the answers, in cells."""
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
    """How many groups were not examined for the adversary who knows nothing about the others."""

    @property
    def looked(self) -> int:
        """How many rows were examined for the adversary who knows everybody else."""
        return min((sum(o.rows for o in part) for part in self.others or ()), default=0)

    @property
    def worst(self) -> Left | None:
        """Where the adversary who knows nothing about the others rules out the most values."""
        return max(self.left, key=lambda remaining: remaining.excluded, default=None)

    @property
    def transcripts(self) -> int | None:
        """The largest number of answers that one row can cause if all others are fixed.

        Parts share no private column, so one row can be the worst in all of them at once, and the
        numbers of answers multiply. Its public and open values are the same in all parts.
        """
        if not self.others:
            return None
        most: list[dict[int, int]] = [{} for _ in self.others]
        for worst, rows in zip(most, self.others, strict=True):
            for row in rows:
                worst[row.type] = max(worst.get(row.type, 1), row.transcripts)
        types = set().union(*most)
        return max((prod(w.get(t, w.get(ANY_TYPE, 1)) for w in most) for t in types), default=1)

    @property
    def fewest(self) -> OneRow | None:
        """The row with the fewest records left, in the part that reveals most about it."""
        rows = [row for part in self.others or () for row in part]
        several = [row for row in rows if row.candidates > 1]
        return min(several or rows, key=lambda row: (row.left, -row.candidates), default=None)

    @property
    def settled_given_others(self) -> tuple[int, ...]:
        """By part, the rows with one record left for the adversary who knows everybody else."""
        return tuple(
            sum(row.rows for row in part if row.left == 1 < row.candidates)
            for part in self.others or ()
        )

    @property
    def alone(self) -> int:
        """The number of rows with one record left, in the part where it is largest."""
        return max(self.settled_given_others, default=0)

    @property
    def settled_by_column(self) -> dict[str, int]:
        """By column, the rows with one value left for the adversary who knows nothing else."""
        rows: dict[str, int] = {}
        for remaining in self.left:
            if remaining.values == 1 < remaining.of:
                rows[remaining.column] = rows.get(remaining.column, 0) + remaining.rows
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
        """Bits about one row if everybody else is known; without the table, the share ruled out."""
        if self.transcripts is not None:
            bits = bits_at_least(self.transcripts)
            least = max(row.transcripts for part in self.others or () for row in part)
            # Perhaps no row is worst in all parts, and rows not examined may be worse.
            low = bits if len(self.others or ()) == 1 else bits_at_least(least)
            seen = self.looked >= self.rows
            return AttackEstimate(
                bits, low, bits if seen else max(bits, bits_at_least(self.charged))
            )
        worst = self.worst
        if worst is None:
            return AttackEstimate.exact(0.0)
        return AttackEstimate(
            worst.excluded, worst.excluded, worst.excluded if worst.exact else 1.0
        )

    @property
    def headline(self) -> str:
        """What was settled, and for how many people, in one sentence."""
        many = count_of(self.answers, "answer")
        settle = conjugate(self.answers, "settles")
        if self.keeps_promise is False:
            return f"{many} BROKE THE PROMISE: {self._learned()}."
        of = f"of {self.rows:,} {self._who}"
        alone = _settled_rows(self.settled_by_column.items())
        if self.others is None:
            return (
                f"{many} {settle} {alone} {of}." if alone else f"{many} {self._none} of any {of}."
            )
        beside = _settled_rows(
            zip(map(", ".join, self.secrets), self.settled_given_others, strict=True)
        )
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
        """Whether everything about the adversary who knows nothing else is exact."""
        return all(remaining.exact for remaining in self.left) and not self.skipped

    @property
    def _none(self) -> str:
        """Say that no value is settled, or only that none is shown to be."""
        single = self.answers == 1
        if self._certain:
            return f"{'settles' if single else 'settle'} no value"
        return f"{'is' if single else 'are'} not shown to settle any value"

    def _nobody(self, settle: str) -> str:
        """Say that not even an adversary who knows everybody else is left with one record."""
        worst = self.fewest
        if worst is None or worst.candidates == 1:
            return f"{settle} nothing private"
        seen = f"each of {self.rows:,} {self._who}"
        if self.looked < self.rows:
            seen = f"each of the {self.looked:,} of {self.rows:,} {self._who} examined"
        return (
            f"{settle} nobody's record, even for an adversary who knows everybody else: at least "
            f"{worst.left:,} are left to {seen}"
        )

    def _learned(self) -> str:
        row = "person" if self.people else "row"
        person = f"one {row}" if self.looked >= self.rows else f"one of {self.looked:,} {self._who}"
        learned = bits_up(bits_at_least(self.transcripts or 1), 2)
        charged = bits_down(bits_at_most(self.charged), 2)
        if self.transcripts == self.charged:  # rounding up and down would make them look unequal
            return (
                f"an adversary who knows everybody else learns exactly the {charged} that were "
                f"charged about {person}"
            )
        relation = "within" if self.keeps_promise else "MORE THAN"
        return (
            f"an adversary who knows everybody else learns at most {learned} about {person}, "
            f"{relation} the {charged} that were charged"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        sentences = []
        if self.transcripts is not None:
            text = self._learned()
            sentences.append(f"{text[0].upper()}{text[1:]}.")
            sentences += self._beside()
        sentences.append(self._alone())
        if self.truth_inside is not None:
            sentences.append(
                "The true table is among those that the answers leave possible."
                if self.truth_inside
                else "The true table is NOT among those that the answers leave possible: the "
                "answers were given about another table."
            )
        else:
            sentences.append(
                "Without the true table the attack cannot examine an adversary who knows everybody "
                "else, and it takes public columns to be unknown."
            )
        if self.skipped:
            sentences.append(
                f"The {MOST_GROUPS} smallest groups of rows were examined; {self.skipped:,} "
                "larger ones were not."
            )
        if self.left_out:
            sentences.append(
                f"Not used: {self.left_out:,} answers about older data or about too many values at "
                "once; with them an adversary may learn more, within what was charged for them."
            )
        return tuple(sentences)

    def _alone(self) -> str:
        worst = self.worst
        who = "An adversary who knows nothing about the others"
        if worst is None or not worst.excluded:
            can = "can rule out no value" if self._certain else "is not shown to rule out any value"
            return f"{who} {can} for any row."
        how = "exactly" if worst.exact else "at most"
        among = f" of {worst.group}" if worst.group else ""
        return (
            f"{who} is left with {how} {worst.values:,} of {worst.of:,} values of {worst.column} "
            f"for a row{among}, the row with the largest share ruled out."
        )

    def _beside(self) -> list[str]:
        """Say for each part how many records are left, of how many rows."""
        sentences = []
        for columns, part, settled in zip(
            self.secrets, self.others or (), self.settled_given_others, strict=True
        ):
            rest = [row for row in part if row.left > 1]
            text = f"Of {', '.join(columns)} an adversary who knows everybody else is left with"
            if settled:
                text += f" a single record for {settled:,} of {self.rows:,} {self._who}"
            if rest:
                worst = min(rest, key=lambda row: (row.left, -row.candidates))
                rows = sum(row.rows for row in rest)
                text += (
                    f"{' and' if settled else ''} at least {worst.left:,} of {worst.candidates:,} "
                    f"records for {f'the other {rows:,}' if settled else f'all {rows:,}'}"
                )
            if columns and (settled or rest):
                sentences.append(f"{text}.")
        sentences.append(
            "The promise bounds how many answers a row can cause, not how much one answer reveals."
        )
        if self.looked < self.rows:
            sentences.append(
                f"{self.looked:,} of {self.rows:,} rows were examined; for the others more may "
                "be learned, within what was charged."
            )
        return sentences

    def chart(self) -> Chart:
        """Return a chart: the share of values left by column, and bits learned and charged."""
        columns = tuple(dict.fromkeys(remaining.column for remaining in self.left))
        shares = tuple(
            min(1 - remaining.excluded for remaining in self.left if remaining.column == column)
            for column in columns
        )
        panels = [
            Panel(
                "column", "share of values left", (Series("left", columns, shares, "bars"),),
                "To an adversary who knows nothing about the others", from_zero=True,
            )
        ]  # fmt: skip
        if self.transcripts is not None:
            names = ("learned at most", "charged")
            bits = (bits_at_least(self.transcripts), bits_at_least(self.charged))
            panels.append(
                Panel(
                    "all answers together", "bits about one row",
                    (Series("bits", names, bits, "bars", tone=1),),
                    "To an adversary who knows everybody else", from_zero=True,
                )
            )  # fmt: skip
        return Chart(f"Reconstruction from {self.answers:,} answers", tuple(panels))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            **self._said(),
            "rows": self.rows,
            "answers": self.answers,
            "answers_left_out": self.left_out,
            "charged_cells": str(self.charged),
            "charged_bits": bits_at_least(self.charged),
            "people": self.people,
            "knowing_nothing": [vars(remaining) for remaining in self.left],
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
                    for columns, rows in zip(self.secrets, self.settled_given_others, strict=True)
                ],
            },
            "truth_inside": self.truth_inside,
        }


def _settled_rows(counted: Iterable[tuple[str, int]]) -> str:
    return " and ".join(f"{columns} of {rows:,}" for columns, rows in counted if rows)
