"""The finding of the differencing attack: totals of few rows that are settled, narrowed or open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hartley.adversaries.finding import AttackEstimate
from hartley.chart import Chart, Panel, Series
from hartley.readable import ReadableResult
from hartley.wording import counted, verb_for

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.ranges.transcripts.inference import Derivation

SHOWN = 12
MOST_TERMS = 6
"""Longer combinations are not written out."""


@dataclass(frozen=True)
class Term:
    """An answer in a combination of answers."""

    times: Fraction
    question: str


@dataclass(frozen=True)
class Difference:
    """The total of few rows, and how many values all answers leave it."""

    rows: int
    """How many rows it can be about, given what is public and the answers."""
    before: int
    """How many values the total could have without the answers."""
    after: int
    """How many values it can still have at most: all between the ends that are not ruled out."""
    at_least: int
    """How many values it can still have at least: tables with these totals fit every answer."""
    low: int
    """The smallest total left, in the whole numbers of the answers."""
    high: int
    exact: bool
    """Whether tables that fit the answers reach the smallest and the largest total left."""
    alike: int
    """How many rows it holds for; with ``one_row``, for each of them."""
    names: tuple[str, ...]
    """What is known about those rows, without values."""
    sized: bool
    """Whether the number of rows is known exactly, not only a bound on it."""
    one_row: bool
    """Whether it is about any one of several rows that public columns do not tell apart."""
    tried: bool
    """Whether all combinations of answers were tried, and not only two answers."""
    combination: tuple[Term, ...]
    """Answers that prove it, each with its multiplier; empty if none is needed."""
    below: Derivation | None = field(default=None, repr=False, compare=False)
    """Multipliers of all relations among records that prove ``low``; None where the schema, a pair
    of answers or a trial of all tables does."""
    above: Derivation | None = field(default=None, repr=False, compare=False)
    """Likewise for ``high``."""

    @property
    def excluded(self) -> float:
        """The share of totals that is ruled out."""
        return 1 - self.after / self.before

    @property
    def verdict(self) -> Literal["settled", "not settled", "open"]:
        """Settled if there is a proof, not settled if two tables fit, otherwise open."""
        if self.after == 1:
            return "settled"
        return "not settled" if self.at_least > 1 else "open"

    def verify(self) -> bool:
        """Tell whether the multipliers prove the ends, added up anew without a solver."""
        return all(
            derivation is None or derivation.end == end
            for derivation, end in ((self.below, self.low), (self.above, self.high))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values, ready for JSON; no total is among them."""
        return {
            "rows": self.rows,
            "before": self.before,
            "after": self.after,
            "at_least": self.at_least,
            "verdict": self.verdict,
            "exact": self.exact,
            "one_of_rows": self.alike if self.one_row else None,
            "rows_known": self.sized,
            "about": list(self.names),
            "all_combinations_tried": self.tried,
            "combination": [
                {"times": str(term.times), "question": term.question} for term in self.combination
            ],
        }


@dataclass(frozen=True)
class DifferencingFinding(ReadableResult):
    """What combinations of answers reveal about few rows."""

    within: int
    answers: int
    left_out: int
    total_rows: int
    differences: tuple[Difference, ...]
    more_sets: bool = False
    """Whether there are more sets of that few rows than were examined."""
    public_known: bool = True
    """Whether it is known who has which public values."""
    measured: ClassVar[str] = "largest share of totals ruled out for that few rows"

    @property
    def few(self) -> tuple[Difference, ...]:
        """The totals of few enough rows."""
        return tuple(
            difference for difference in self.differences if difference.rows <= self.within
        )

    @property
    def isolating(self) -> tuple[Difference, ...]:
        """The totals of few enough rows about which the answers reveal something."""
        return tuple(difference for difference in self.few if difference.after < difference.before)

    @property
    def untried(self) -> int:
        """For how many totals of few enough rows only pairs of answers were tried."""
        return sum(not difference.tried for difference in self.few)

    @property
    def worst(self) -> Difference | None:
        """The most revealing total of few enough rows; of equal ones, that of most answers."""
        return max(
            self.isolating,
            key=lambda difference: (difference.excluded, len(difference.combination)),
            default=None,
        )

    @property
    def smallest(self) -> Difference | None:
        """The difference of the fewest rows that reveals anything."""
        return next(
            (difference for difference in self.differences if difference.after < difference.before),
            None,
        )

    @property
    def unsized(self) -> tuple[Difference, ...]:
        """Settled totals of rows that public columns tell apart, where their number is unknown."""
        return tuple(
            difference
            for difference in self.differences
            if not difference.sized
            and not difference.one_row
            and difference.rows > self.within
            and difference.verdict == "settled"
            and difference.after < difference.before
        )

    @property
    def number(self) -> AttackEstimate:
        """The largest share of totals that is ruled out for few enough rows."""
        share = self.worst.excluded if self.worst else 0.0
        open_shares = [
            1 - difference.at_least / difference.before
            for difference in self.few
            if not difference.exact
        ]
        most = 1.0 if self.more_sets else max([share, *open_shares])
        return AttackEstimate(share, share, most)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        worst = self.worst
        if worst is not None:
            remaining = f"{worst.after:,} of {worst.before:,} possible"
            if worst.one_row and worst.sized:
                return (
                    f"{_used(worst)} leaves {remaining} values to any one of {worst.alike:,} rows."
                )
            if worst.one_row:
                where = ", ".join(worst.names)
                return f"{_used(worst)} leaves {remaining} values to a row of {where}."
            return f"{_used(worst)} isolates {_rows(worst.rows)}, and leaves {remaining} totals."
        if self.unsized:
            most = min(self.unsized, key=lambda difference: difference.rows)
            return (
                f"{_used(most)} settles a total of rows that public columns tell apart, and leaves "
                f"1 of {most.before:,} possible totals; those are {most.rows:,} rows at most."
            )
        few = _rows(self.within, "or fewer")
        answers = counted(self.answers, "answer")
        if self.untried or self.more_sets:
            return (
                f"None of the combinations of {answers} that were tried tells "
                f"anything about {few}; not all were tried."
            )
        return (
            f"No combination of {answers} tells anything about {few} to an "
            "adversary who knows nothing about the others."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        sentences = []
        shown = self.worst or next(iter(self.unsized), None)
        if shown is not None and shown.combination and shown.verdict == "settled":
            sentences.append(_written(shown))
        smallest = self.smallest
        sentences.append(
            "No combination that was tried, and no answer alone, rules out any total."
            if smallest is None
            else "The smallest set of rows that the answers tell something about has "
            f"{smallest.rows:,} of {self.total_rows:,} rows: {smallest.after:,} of "
            f"{smallest.before:,} totals are left."
        )
        if self.isolating:
            sentences.append(self._counted())
        if self.unsized:
            number = len(self.unsized)
            sentences.append(
                f"{counted(number, 'total')} {verb_for(number, 'is')} settled of rows that public "
                "columns tell apart; how many rows those are is not known without the true table."
            )
        elif not self.public_known:
            sentences.append("Without the true table it is not known who has which public values.")
        sentences += self._not_tried()
        return tuple(sentences)

    def _counted(self) -> str:
        settled = sum(difference.verdict == "settled" for difference in self.isolating)
        unsettled = sum(difference.verdict == "not settled" for difference in self.isolating)
        return (
            f"Of the totals of {_rows(self.within, 'or fewer')} {settled:,} are settled, "
            f"{unsettled:,} are narrowed, and {len(self.isolating) - settled - unsettled:,} are "
            "narrowed and perhaps settled."
        )

    def _not_tried(self) -> list[str]:
        sentences = []
        if self.untried:
            sentences.append(
                f"For {self.untried:,} totals of that few rows only pairs of answers were tried."
            )
        if self.more_sets:
            sentences.append("There are more sets of that few rows than were examined.")
        if self.left_out:
            sentences.append(
                f"Not used, although they may reveal more: {counted(self.left_out, 'answer')}, "
                "about older data or about too many values at once."
            )
        return sentences

    def chart(self) -> Chart:
        """Return how much of the totals is left at least, for the fewest numbers of rows."""
        shares: dict[int, float] = {}
        for difference in self.differences:
            shares[difference.rows] = min(
                shares.get(difference.rows, 1.0), difference.after / difference.before
            )
        rows = tuple(shares)[:SHOWN]
        return Chart(
            "Combinations of answers",
            (
                Panel(
                    "rows that the total can be about",
                    "share of totals left",
                    (
                        Series(
                            "left",
                            tuple(map(float, rows)),
                            tuple(shares[number] for number in rows),
                            "points",
                        ),
                    ),
                    x_log=True,
                    y_log=True,
                ),
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "number": self.number.to_dict(),
            "rows_within": self.within,
            "rows": self.total_rows,
            "answers": self.answers,
            "answers_left_out": self.left_out,
            "isolating": len(self.isolating),
            "settled": sum(difference.verdict == "settled" for difference in self.isolating),
            "only_pairs_tried": self.untried,
            "more_sets": self.more_sets,
            "differences": [difference.to_dict() for difference in self.differences[:SHOWN]],
        }


def _used(difference: Difference) -> str:
    number = len(difference.combination)
    if number == 1:
        return "One answer"
    if number == 2 or not difference.tried:
        return "Subtracting answers"
    return f"Combining {number:,} answers" if number else "Trying all tables that fit the answers"


def _written(difference: Difference) -> str:
    """Write a combination out: which answers are added and which subtracted."""
    terms = difference.combination
    if len(terms) > MOST_TERMS:
        return f"It is settled by a combination of {len(terms):,} answers."
    text = " ".join(
        f"{'-' if term.times < 0 else '+'} {_times(abs(term.times))}[{term.question}]"
        for term in sorted(terms, key=lambda term: term.times < 0)
    )
    return f"It is settled by {text.removeprefix('+ ')}."


def _times(number: Fraction) -> str:
    return "" if number == 1 else f"{number} x "


def _rows(number: int, more: str = "") -> str:
    return "a single row" if number == 1 else f"{number:,} rows {more}".rstrip()
