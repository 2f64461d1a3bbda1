"""What combinations of answers tell about few rows: totals that are settled, narrowed or open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hartley.adversaries.finding import AttackEstimate
from hartley.chart import Chart, Panel, Series
from hartley.wording import counted, verb_for

if TYPE_CHECKING:
    from fractions import Fraction

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
    """The total of few rows, as far as all answers tell it."""

    rows: int
    """How many rows it can be about, by what is public and by the answers."""
    before: int
    """How many values the total could have had."""
    after: int
    """How many it can still have at most; between the ends all count that are not ruled out."""
    at_least: int
    """How many it can still have at least: as many tables fit every answer."""
    low: int
    """The smallest total left, in the whole numbers of the answers."""
    high: int
    exact: bool
    """Whether the smallest and the largest total left are those of tables that fit."""
    alike: int
    """How many rows it is true of: with ``one_row`` of each of so many."""
    names: tuple[str, ...]
    """What is known of those rows, without values."""
    sized: bool
    """Whether it is known how many rows it is about, not only how many at most."""
    one_row: bool
    """Whether it is about any one of several rows that nobody can tell apart."""
    tried: bool
    """Whether all combinations of answers were tried, and not only two answers."""
    combination: tuple[Term, ...]
    """Answers that prove it, each with how many times it is taken; empty where none is needed."""

    @property
    def excluded(self) -> float:
        """The share of totals that is ruled out."""
        return 1 - self.after / self.before

    @property
    def verdict(self) -> Literal["settled", "not settled", "open"]:
        """Settled with a proof, not settled with two tables that fit, else open."""
        if self.after == 1:
            return "settled"
        return "not settled" if self.at_least > 1 else "open"

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
class DifferencingFinding:
    """What combinations of answers tell about few rows."""

    within: int
    answers: int
    left_out: int
    total_rows: int
    differences: tuple[Difference, ...]
    more_sets: bool = False
    """Whether there are more sets of so few rows than were looked at."""
    public_known: bool = True
    """Whether it is known who has which public values."""
    measured: ClassVar[str] = "largest share of totals ruled out for that few rows"

    @property
    def few(self) -> tuple[Difference, ...]:
        """The totals of few enough rows."""
        return tuple(one for one in self.differences if one.rows <= self.within)

    @property
    def isolating(self) -> tuple[Difference, ...]:
        """Those of them about which the answers tell something."""
        return tuple(one for one in self.few if one.after < one.before)

    @property
    def untried(self) -> int:
        """For how many totals of few enough rows only pairs of answers were tried."""
        return sum(not one.tried for one in self.few)

    @property
    def worst(self) -> Difference | None:
        """The most telling of few enough rows; of equal ones that of most answers."""
        return max(
            self.isolating, key=lambda one: (one.excluded, len(one.combination)), default=None
        )

    @property
    def smallest(self) -> Difference | None:
        """The difference of fewest rows that tells anything at all."""
        return next((one for one in self.differences if one.after < one.before), None)

    @property
    def unsized(self) -> tuple[Difference, ...]:
        """Settled totals of rows that public columns tell apart, however many they may be."""
        return tuple(
            one
            for one in self.differences
            if not one.sized
            and not one.one_row
            and one.rows > self.within
            and one.verdict == "settled"
            and one.after < one.before
        )

    @property
    def number(self) -> AttackEstimate:
        """The largest share of totals that is ruled out for few enough rows."""
        share = self.worst.excluded if self.worst else 0.0
        open_shares = [1 - one.at_least / one.before for one in self.few if not one.exact]
        most = 1.0 if self.more_sets else max([share, *open_shares])
        return AttackEstimate(share, share, most)

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        worst = self.worst
        if worst is not None:
            left = f"{worst.after:,} of {worst.before:,} possible"
            if worst.one_row and worst.sized:
                return f"{_used(worst)} leaves {left} values to any one of {worst.alike:,} rows."
            if worst.one_row:
                return f"{_used(worst)} leaves {left} values to a row of {', '.join(worst.names)}."
            return f"{_used(worst)} isolates {_rows(worst.rows)}, and leaves {left} totals."
        if self.unsized:
            most = min(self.unsized, key=lambda one: one.rows)
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
        """What else is to be said, a sentence each."""
        found = []
        shown = self.worst or next(iter(self.unsized), None)
        if shown is not None and shown.combination and shown.verdict == "settled":
            found.append(_written(shown))
        smallest = self.smallest
        found.append(
            "No combination that was tried, and no answer alone, rules out any total."
            if smallest is None
            else "The smallest set of rows that the answers tell something about has "
            f"{smallest.rows:,} of {self.total_rows:,} rows: {smallest.after:,} of "
            f"{smallest.before:,} totals are left."
        )
        if self.isolating:
            found.append(self._counted())
        if self.unsized:
            number = len(self.unsized)
            found.append(
                f"{counted(number, 'total')} {verb_for(number, 'is')} settled of rows that public "
                "columns tell apart; how many rows those are is not known without the true table."
            )
        elif not self.public_known:
            found.append("Without the true table it is not known who has which public values.")
        found += self._not_tried()
        return tuple(found)

    def _counted(self) -> str:
        settled = sum(one.verdict == "settled" for one in self.isolating)
        unsettled = sum(one.verdict == "not settled" for one in self.isolating)
        return (
            f"Of the totals of {_rows(self.within, 'or fewer')} {settled:,} are settled, "
            f"{unsettled:,} are narrowed, and {len(self.isolating) - settled - unsettled:,} are "
            "narrowed and perhaps settled."
        )

    def _not_tried(self) -> list[str]:
        found = []
        if self.untried:
            found.append(
                f"For {self.untried:,} totals of that few rows only pairs of answers were tried."
            )
        if self.more_sets:
            found.append("There are more sets of that few rows than were examined.")
        if self.left_out:
            found.append(
                f"Not used, although they may reveal more: {counted(self.left_out, 'answer')}, "
                "about older data or about too many values at once."
            )
        return found

    def chart(self) -> Chart:
        """Return how much of the totals is left at least, for the fewest numbers of rows."""
        left: dict[int, float] = {}
        for one in self.differences:
            left[one.rows] = min(left.get(one.rows, 1.0), one.after / one.before)
        rows = tuple(left)[:SHOWN]
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
                            tuple(left[number] for number in rows),
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
            "settled": sum(one.verdict == "settled" for one in self.isolating),
            "only_pairs_tried": self.untried,
            "more_sets": self.more_sets,
            "differences": [one.to_dict() for one in self.differences[:SHOWN]],
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
        for term in sorted(terms, key=lambda one: one.times < 0)
    )
    return f"It is settled by {text.removeprefix('+ ')}."


def _times(number: Fraction) -> str:
    return "" if number == 1 else f"{number} x "


def _rows(number: int, more: str = "") -> str:
    return "a single row" if number == 1 else f"{number:,} rows {more}".rstrip()
