"""The finest steps within a limit: an exact search over the places where the price jumps."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.agent.pricing.regions import Grid
from hartley.agent.pricing.worst_case import Pricer, contributions
from hartley.agent.questions.batch import Statistic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from hartley.agent.questions.batch import Question
    from hartley.ranges.schema.schema import Schema


def finest_steps(
    questions: Sequence[Question], limit: int, schema: Schema
) -> Iterator[tuple[tuple[Fraction, ...], Pricer | None]]:
    """Yield steps within a limit of cells, the finest first: exact counts, constant ones, nothing.

    What is yielded last is constant, and may still be told apart from an answer about no rows.
    Beside the steps stands what has priced the questions at others.
    """
    counts = any(question.statistic is Statistic.COUNT for question in questions)
    for constant in (False, True) if counts else (False,):
        search = _Search(questions, schema, limit, constant=constant)
        scale = search.finest()
        if scale is not None:
            yield search.steps(scale), search.pricer
    yield tuple(Fraction(question.most - question.least + 1) for question in questions), None


def cells_within(
    questions: Sequence[Question], coarsest: Sequence[Fraction | None], schema: Schema
) -> int:
    """Return the least limit within which ``finest_steps`` has no step above given ones.

    Counts are exact; a question without a coarsest step may become constant.
    """
    search = _Search(questions, schema, 1, constant=False)
    pairs = zip(questions, coarsest, strict=True)
    scales = [step / size_of(question, schema) for question, step in pairs if step is not None]
    widest = Fraction(max((q.most - q.least + 1 for q in questions), default=1))
    return search.cells(min(scales, default=widest))


class _Search:
    """The price of a batch as a function of one common scale of its steps."""

    def __init__(
        self, questions: Sequence[Question], schema: Schema, limit: int, *, constant: bool
    ) -> None:
        self.questions, self.limit, self.constant = questions, limit, constant
        distinct = dict.fromkeys(questions)
        self._distinct = list(distinct)
        counts = [k for k, q in enumerate(distinct) if q.statistic is Statistic.COUNT]
        self.pricer = Pricer(self._distinct, schema, counts if constant else ())
        self._sizes = {q: size_of(q, schema) for q in self._distinct}
        self._seen: dict[Fraction, int] = {}
        self._lengths: dict[int, set[int]] = {k: set() for k in range(len(self._distinct))}

    def step(self, question: Question, scale: Fraction) -> Fraction:
        """Return the step of a question at a scale; no finer than whole numbers are."""
        if question.statistic is Statistic.COUNT:
            return Fraction(question.most - question.least + 1 if self.constant else 1)
        return max(scale * self._sizes[question], Fraction(1))

    def steps(self, scale: Fraction) -> tuple[Fraction, ...]:
        """Return all steps at a scale."""
        return tuple(self.step(question, scale) for question in self.questions)

    def cells(self, scale: Fraction) -> int:
        """Return the price at a scale, which never grows with it."""
        if scale not in self._seen:
            grids = [
                self._grid(k, question, self.step(question, scale))
                for k, question in enumerate(self._distinct)
            ]
            self._seen[scale] = self.pricer.worst(grids).cells
        return self._seen[scale]

    def _grid(self, number: int, question: Question, step: Fraction) -> Grid:
        least, most = question.least, question.most
        constant = question.statistic is Statistic.COUNT and step > most - least
        lengths = self._lengths[number]
        return Grid(
            step.numerator, step.denominator, least, most, constant, anchored=False, lengths=lengths
        )

    def _fits(self, scale: Fraction) -> bool:
        return self.cells(scale) <= self.limit

    def finest(self) -> Fraction | None:
        """Return the smallest scale within the limit; None where there is none."""
        finest = min((Fraction(1, size) for size in self._sizes.values()), default=Fraction(1))
        if self._fits(finest):
            return finest
        jumps = {
            Fraction(length, self._sizes[question])
            for k, question in enumerate(self._distinct)
            for length in self._lengths[k]
            if length > 0
        }
        # A question alone is cut into as many cells as allowed, or one fewer beside an empty one.
        ways = [n for n in (self.limit - 1, self.limit - 2) if n > 0]
        likely = {jump / n for jump in jumps for n in ways}
        scales = sorted(scale for scale in jumps | likely | {finest} if scale >= finest)
        place = bisect_left(scales, x=True, key=self._fits)
        if place == len(scales):
            return None
        return smallest(self._fits, jumps, scales[place - 1], scales[place])


def smallest(
    fits: Callable[[Fraction], bool], jumps: Collection[Fraction], low: Fraction, high: Fraction
) -> Fraction:
    """Return the smallest scale that fits, between one that does not and one that does.

    What fits depends on ceil(jump / scale) alone, and only ever stops fitting below; so the answer
    is a jump divided by a whole number. Halving finds the neighbourhood, single steps the place.

    Example:
        >>> smallest(lambda w: -(-10 // w) <= 3, [Fraction(10)], Fraction(1, 9), Fraction(10))
        Fraction(10, 3)
    """
    while True:
        high = max(jump / -(-jump // high) for jump in jumps)
        following = max(jump / (jump // high + 1) for jump in jumps)
        if following <= low or not fits(following):
            return high
        high = following
        middle = ((low + high) / 2).limit_denominator(10**9)
        if low < middle < high:
            if fits(middle):
                high = middle
            else:
                low = middle


def size_of(question: Question, schema: Schema) -> int:
    """Return how far one row can move the statistic, by which steps are scaled."""
    if question.statistic is Statistic.COUNT:
        return 1
    if question.statistic is Statistic.ORDER:
        return max(question.most - question.least, 1)
    low, high = contributions(question, schema)
    return max(high - low, 1)
