"""Figure 1 of paper C: what the outcome of a majority vote reveals about the votes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from hartley.measures.guessing import guessing_leakage, maximal_guessing_leakage, worst_attribute
from hartley.measures.leakage import maximin_information
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.ranges.relation import Relation
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

EVERYTHING = (1, 2, 1, 1.678072, 1, 1.540568, 1, 1.460841)
WORST = (1, 2, 2.321928, 3.584963, 4.087463, 5.426265, 6.022368, 7.357552)
"""Of one to eight voters, in bits, as verified."""


@dataclass(frozen=True)
class Vote:
    """What the outcome of a vote of so many people reveals, in bits; a tie counts as yes."""

    voters: int
    one_vote: float
    """About one person's vote: L(Xi -> Y)."""
    everything: float
    """About all votes: L(X -> Y)."""
    worst: float
    """About the attribute that leaks most: L*(X -> Y)."""
    maximin: float
    attribute_values: int
    """How many values the attribute that leaks most has."""


@dataclass(frozen=True)
class C1Numbers:
    """The votes, by the number of voters."""

    votes: tuple[Vote, ...]


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,
    most_voters: int = 12,
) -> C1Numbers:
    """Count all votes of up to so many people; exact.

    Example:
        >>> [round(vote.worst, 3) for vote in compute(most_voters=3).votes]
        [1.0, 2.0, 2.322]
    """
    votes = []
    for voters in range(1, most_voters + 1):
        votes.append(_vote(voters))
        if progress is not None:
            progress(2.0 ** (voters - most_voters))
    return C1Numbers(tuple(votes))


def _vote(voters: int) -> Vote:
    cast = product((0, 1), repeat=voters)
    relation = Relation.from_pairs((vote, int(2 * sum(vote) >= voters)) for vote in cast)
    return Vote(
        voters=voters,
        one_vote=max(
            guessing_leakage(relation, lambda vote, i=i: vote[i]) for i in (0, voters - 1)
        ),
        everything=guessing_leakage(relation),
        worst=maximal_guessing_leakage(relation),
        maximin=maximin_information(relation),
        attribute_values=worst_attribute(relation).values,
    )


def plot(numbers: C1Numbers) -> Chart:
    """Draw the four leakages against the number of voters."""
    voters = tuple(float(vote.voters) for vote in numbers.votes)

    def line(label: str, values: list[float], tone: int) -> Series:
        return Series(label, voters, tuple(values), tone=tone)

    panel = Panel(
        "number of voters",
        "bits",
        (
            line("worst attribute, L⋆(X → Y)", [v.worst for v in numbers.votes], 1),
            line("all votes, L(X → Y)", [v.everything for v in numbers.votes], 0),
            line("maximin information I⋆(X;Y)", [v.maximin for v in numbers.votes], 5),
            line("one person’s vote, L(Xᵢ → Y)", [v.one_vote for v in numbers.votes], 3),
        ),
        from_zero=True,
    )
    return Chart("C/1: what the outcome of a majority vote tells", (panel,))


def findings(numbers: C1Numbers) -> tuple[Claim, ...]:
    """Return what the figure and Example 1 are expected to show."""
    votes = numbers.votes
    known = list(zip(votes, EVERYTHING, WORST, strict=False))
    worst = [vote.worst for vote in votes]
    odd = [vote for vote in votes if vote.voters % 2]
    return (
        Claim(
            "Of one to eight voters L and L⋆ have the verified values, for example 1.460841 and "
            "7.357552 bits of eight.",
            holds=all(
                abs(vote.everything - of_all) < 5e-7 and abs(vote.worst - of_worst) < 5e-7
                for vote, of_all, of_worst in known
            ),
        ),
        Claim(
            "One person’s vote can be revealed only if there are at most two voters.",
            holds=all(vote.one_vote == (1 if vote.voters <= 2 else 0) for vote in votes),
        ),
        Claim(
            "The worst attribute leaks ever more as voters join, while all votes together leak one "
            "bit (odd numbers) or up to two (even numbers).",
            holds=worst == sorted(set(worst))
            and all(vote.everything == 1 for vote in odd)
            and all(1 <= vote.everything <= 2 for vote in votes),
        ),
        Claim(
            "I⋆ is one bit, and never above L⋆; L⋆ is the logarithm of how many values the worst "
            "attribute has.",
            holds=all(
                vote.maximin == 1
                and vote.worst >= vote.maximin
                and math.isclose(vote.worst, math.log2(vote.attribute_values))
                for vote in votes
            ),
        ),
    )


FIGURE = Figure(
    paper="C",
    number=1,
    title="Leakage of a majority vote",
    shows=(
        "How much easier guessing becomes when the outcome of a vote is known: of one person’s "
        "vote, of all votes, and of the attribute of the votes that leaks most. Ties count as yes."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
