"""Whoever subtracts one answer from another: what that tells about few people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hartley.adversaries.finding import Estimate
from hartley.chart import Chart, Panel, Series
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hartley.ranges.transcript import Told, Transcript

SHOWN = 12


@dataclass(frozen=True)
class Differencing:
    r"""Subtracts answers whose selections differ by few rows.

    .. math:: \sum_{A \setminus B} v = \sum_A v - \sum_B v \in [l_A - h_B, h_A - l_B], \quad
        B \subset A

    B may also select nothing, so that a question about few rows is found too. How many rows can
    lie in the difference follows from what is public; what their total could be before and after
    are intervals of whole numbers. Counts, sums and sums of squares are used. Exact. Grows with
    the square of the number of answers.

    Args:
        rows: how many rows a difference may hold to be called isolating.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.transcript import Group, Told, Transcript
        >>> pay, who = np.tile(np.arange(5), 2), np.repeat([0, 1], 5)
        >>> all_of = Told("SUM(pay)", who >= 0, pay, 9, (9, 9), least=0, step=Fraction(1))
        >>> most_of = Told("SUM(pay) WHERE who = 0", who == 0, pay * (who == 0), 6, (6, 6),
        ...                least=0, step=Fraction(1))
        >>> groups = Group(2, np.arange(5)), Group(1, np.arange(5, 10))
        >>> told = Transcript(("pay",), pay[:, None], (all_of, most_of), groups, 25)
        >>> found = Differencing().attack(told)
        >>> found.number.value, found.worst.rows  # the third person's pay is 9 - 6
        (0.8, 1)
    """

    rows: int = 1

    def attack(self, *transcripts: Transcript) -> DifferencingFinding:
        """Return what differences of answers tell.

        Args:
            transcripts: one, or the parts of one that share no private column.
        """
        if not transcripts:
            raise OptionError("There is no answer to attack", hint="ask the agent something first")
        sums = [[answer for answer in one.answers if answer.is_total] for one in transcripts]
        found = [
            difference
            for one, listed in zip(transcripts, sums, strict=True)
            for difference in _differences(one, listed)
        ]
        used, heard = sum(map(len, sums)), sum(len(one.answers) for one in transcripts)
        return DifferencingFinding(
            within=self.rows,
            answers=used,
            left_out=transcripts[0].left_out + heard - used,
            total_rows=transcripts[0].rows,
            differences=tuple(sorted(found, key=lambda one: (one.rows, -one.excluded))),
        )


def _differences(transcript: Transcript, sums: list[Told]) -> Iterator[Difference]:
    nothing = np.zeros(len(transcript.records), bool)
    selected = [(one.inside, one.values, one.ends) for one in sums]
    selected.append((nothing, nothing.astype(np.int64), (0, 0)))
    seen = set()
    for inside, values, ends in selected[:-1]:
        for smaller, parts, least in selected:
            if (smaller & ~inside).any() or (values[smaller] != parts[smaller]).any():
                continue
            rest = inside & ~smaller
            weights = np.where(rest, values, 0)
            if not rest.any():
                continue
            told = ends[0] - least[1], ends[1] - least[0]
            key = weights.tobytes(), told
            if key not in seen:
                seen.add(key)
                yield _difference(transcript, rest, weights, told)


def _difference(
    transcript: Transcript,
    rest: NDArray[np.bool_],
    weights: NDArray[np.int64],
    told: tuple[int, int],
) -> Difference:
    rows = low = high = 0
    for group in transcript.groups:
        mine = weights[group.records]
        rows += group.rows * bool(rest[group.records].any())
        low += group.rows * int(mine.min())
        high += group.rows * int(mine.max())
    narrow = max(low, told[0]), min(high, told[1])
    return Difference(rows, high - low + 1, max(narrow[1] - narrow[0] + 1, 1))


@dataclass(frozen=True)
class Difference:
    """The total of the rows by which two selections differ."""

    rows: int
    """How many rows can be among them, by what is public."""
    before: int
    """How many values their total could have had."""
    after: int
    """How many it can still have."""

    @property
    def excluded(self) -> float:
        """The share of totals that is ruled out."""
        return 1 - self.after / self.before


@dataclass(frozen=True)
class DifferencingFinding:
    """What differences of answers tell about few rows; exact."""

    within: int
    answers: int
    left_out: int
    total_rows: int
    differences: tuple[Difference, ...]
    measured: ClassVar[str] = "largest share of totals ruled out for so few rows"

    @property
    def isolating(self) -> tuple[Difference, ...]:
        """Differences of few enough rows that tell something."""
        return tuple(d for d in self.differences if d.rows <= self.within and d.after < d.before)

    @property
    def worst(self) -> Difference | None:
        """The most telling of them."""
        return max(self.isolating, key=lambda one: one.excluded, default=None)

    @property
    def smallest(self) -> Difference | None:
        """The difference of fewest rows that tells anything at all."""
        return next((one for one in self.differences if one.after < one.before), None)

    @property
    def number(self) -> Estimate:
        """The largest share of totals that is ruled out for few enough rows; exact."""
        return Estimate.exact(self.worst.excluded if self.worst else 0.0)

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        few = "a single row" if self.within == 1 else f"{self.within:,} rows or fewer"
        worst = self.worst
        if worst is None:
            return f"No two of {self.answers:,} answers differ by {few}, so none can be subtracted."
        alone = "a single row" if worst.rows == 1 else f"{worst.rows:,} rows"
        return (
            f"Subtracting answers isolates {alone}, and leaves {worst.after:,} of "
            f"{worst.before:,} possible totals."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What else is to be said, a sentence each."""
        smallest = self.smallest
        found = [
            "No difference of two answers, and no answer alone, rules out any total."
            if smallest is None
            else f"The fewest rows about which a difference tells something are {smallest.rows:,} "
            f"of {self.total_rows:,}: {smallest.after:,} of {smallest.before:,} totals are left."
        ]
        if self.isolating:
            found.append(f"{len(self.isolating):,} differences isolate so few rows.")
        if self.left_out:
            found.append(f"{self.left_out:,} further answers were not used.")
        return tuple(found)

    def chart(self) -> Chart:
        """Return how much of the totals is left, for the differences of fewest rows."""
        shown = self.differences[:SHOWN]
        return Chart(
            "Differences of answers",
            (
                Panel(
                    "rows that the difference can be about",
                    "share of totals left",
                    (
                        Series(
                            "left",
                            tuple(float(one.rows) for one in shown),
                            tuple(one.after / one.before for one in shown),
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
            "differences": [vars(one) for one in self.differences[:SHOWN]],
        }
