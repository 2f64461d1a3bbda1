"""Counts in cells of several rows: how many vectors of cells the rows of one person can cause.

This implements docs/accountant.md, section "Coarse counts". Where a person has several rows, a
count in cells of w rows costs less than the exact one.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from hartley.agent.questions.batch import COUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from hartley.agent.questions.batch import Question


class CoarseCount(NamedTuple):
    """The step of a count, and the rows that it may count or not."""

    over: int
    under: int
    """The step is over / under."""
    varying: dict[int, int]
    """By the place of a type, how many of its rows may count."""

    @property
    def step(self) -> int:
        """The step, rounded down: boundaries that lie nearer bound the true ones."""
        return max(self.over // self.under, 1)


def without_known_counts(questions: Collection[Question]) -> tuple[Question, ...]:
    """Leave out coarse counts that finer ones of the same batch decide."""
    counts = [question for question in questions if question.statistic is COUNT]
    if all(question.step == 1 for question in counts):
        return tuple(questions)
    steps: dict[Question, list[Fraction]] = {}
    for question in counts:
        steps.setdefault(replace(question, step=Fraction(1)), []).append(question.step)

    def decided(question: Question) -> bool:
        finer = steps.get(replace(question, step=Fraction(1)), ())
        # One cell holds a whole number of finer ones. A count of one cell costs nothing.
        coarse = 1 < question.step <= _range(question)
        return coarse and any(
            step <= 1 or (step < question.step and (question.step / step).denominator == 1)
            for step in finer
        )

    return tuple(question for question in questions if not decided(question))


def with_exact_counts(questions: Collection[Question]) -> tuple[Question, ...] | None:
    """Return a batch with exact counts instead of those in several steps; None if there is none.

    An exact count decides the same count in every step, so its price bounds that of all of them.
    """
    coarse = [
        question
        for question in questions
        if question.statistic is COUNT
        and question.step != 1  # most counts are exact
        and 1 < question.step <= _range(question)
    ]
    if not coarse:
        return None
    exact = {question: replace(question, step=Fraction(1)) for question in coarse}
    if len(set(exact.values())) == len(coarse):
        return None
    return tuple(dict.fromkeys(exact.get(question, question) for question in questions))


def _range(question: Question) -> int:
    return question.most - question.least


def cells_with_coarse(
    numbers: Sequence[int],
    counts: Mapping[int, CoarseCount],
    together: Collection[Collection[int]],
    others: Callable[[Container[int]], int],
) -> int | None:
    """Return how many vectors of cells questions have, coarse counts of disjoint filters together.

    "A vector of answers is a vector of its parts": families of disjoint counts multiply with each
    other and with the price of the other questions. None if no count is coarse.

    Args:
        numbers: the questions.
        counts: the counts among them that have several cells.
        together: for each kind of records, the questions that count it.
        others: the price of some of the questions.
    """
    coarse = [n for n in numbers if n in counts and counts[n].over > counts[n].under]
    if not coarse:
        return None
    bounds = []
    # Exact counts share the rows with coarse ones, or are priced with the other questions.
    for chosen in ([n for n in numbers if n in counts], coarse):
        rest = {*numbers} - {*chosen}
        families = disjoint_families(chosen, together)
        bounds.append(prod(_family([counts[n] for n in family]) for family in families))
        bounds[-1] *= others(rest) if rest else 1
    return min(bounds)


def _family(counts: Sequence[CoarseCount]) -> int:
    # A type whose rows all count for one filter, or all for none, shares nothing.
    amounts = {place: rows for count in counts for place, rows in count.varying.items()}
    return vectors_of_counts(
        [(count.step, sum(count.varying.values())) for count in counts], sum(amounts.values())
    )


def vectors_of_counts(counts: Iterable[tuple[int, int]], rows: int) -> int:
    r"""Return how many vectors of cells the counts of disjoint filters can have, at most.

    .. math:: \#\{(j_1, ..., j_m) : \sum_q need_q(j_q) \le r\},
        need_q(0) = 0, need_q(j) = 1 + (j - 1) w_q

    The j-th boundary above everybody else's count is at least 1 + (j - 1) w rows away, and a row
    counts for one of the filters only. A bound that is attained. Linear in the rows times the
    counts.

    Proved: proofs/Several.v, coarse_counts.

    Args:
        counts: of each count its step, a whole number, and how many of the rows it may count.
        rows: the rows that all of them share.

    Example:
        >>> [vectors_of_counts([(step, 10)], 10) for step in (10, 5, 4, 2, 1)]
        [2, 3, 4, 6, 11]
        >>> [vectors_of_counts([(step, 10)] * 6, 10) for step in (1, 2, 5, 10)]
        [8008, 1335, 250, 64]
    """
    ways = [1] + [0] * rows  # by the rows that the boundaries need together
    for step, most in counts:
        passed = -(-most // step)  # the most boundaries that this count can pass
        # The ways with at least one boundary of this count: a sum of every step-th number, which
        # each place takes over from the one a step before.
        more = [0] * (rows + 1)
        for used in range(1, rows + 1):
            more[used] = ways[used - 1]
            if used >= step:
                more[used] += more[used - step]
            if (beyond := used - 1 - passed * step) >= 0:
                more[used] -= ways[beyond]
        ways = [none + some for none, some in zip(ways, more, strict=True)]
    return sum(ways)


def disjoint_families(
    numbers: Sequence[int], together: Iterable[Collection[int]]
) -> list[list[int]]:
    """Split questions so that no record counts for two of a family; each goes where it first fits.

    Args:
        numbers: the questions.
        together: for each kind of records, the questions that count it.

    Example:
        >>> disjoint_families([0, 1, 2], [{0}, {1, 2}, {2}])
        [[0, 1], [2]]
    """
    beside: dict[int, set[int]] = {number: set() for number in numbers}
    for kind in together:
        counted = [number for number in kind if number in beside]
        for number in counted:
            beside[number].update(counted)
    families: list[list[int]] = []
    members: list[set[int]] = []
    for number in numbers:
        for family, inside in zip(families, members, strict=True):
            if beside[number].isdisjoint(inside):
                family.append(number)
                inside.add(number)
                break
        else:
            families.append([number])
            members.append({number})
    return families
