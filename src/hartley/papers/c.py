"""Figures of paper C: Farokhi and Ding, Non-Stochastic Brute-Force Guessing (2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING

from hartley.datasets.catalogue import dataset
from hartley.exact import log_ratio
from hartley.measures.entropy import hartley_entropy
from hartley.measures.guessing import (
    guessing_leakage,
    maximal_guessing_leakage,
    maximal_leakage_within,
    worst_attribute,
)
from hartley.measures.leakage import maximal_leakage, maximin_information
from hartley.papers.figure import SYNTHETIC, Claim, Figure, series_of, unwatched
from hartley.ranges.relation import ROW, Relation
from hartley.report import Chart, Panel, Series
from hartley.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.papers.figure import Progress


# --- figure 1: what the outcome of a majority vote reveals about the votes ---------------------


EVERYTHING = (1, 2, 1, 1.678072, 1, 1.540568, 1, 1.460841)
WORST = (1, 2, 2.321928, 3.584963, 4.087463, 5.426265, 6.022368, 7.357552)
"""Of one to eight voters, in bits, as verified."""


@dataclass(frozen=True)
class Vote:
    """What the outcome of a vote of this many people reveals, in bits; a tie counts as yes."""

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


def _compute1(*, progress: Progress = unwatched, most_voters: int = 12) -> C1Numbers:
    votes = []
    for voters in range(1, most_voters + 1):
        cast = product((0, 1), repeat=voters)
        relation = Relation.from_pairs((vote, int(2 * sum(vote) >= voters)) for vote in cast)
        votes.append(
            Vote(
                voters=voters,
                one_vote=max(
                    guessing_leakage(relation, lambda vote, i=i: vote[i]) for i in (0, voters - 1)
                ),
                everything=guessing_leakage(relation),
                worst=maximal_guessing_leakage(relation),
                maximin=maximin_information(relation),
                attribute_values=worst_attribute(relation).values,
            )
        )
        progress(2.0 ** (voters - most_voters))
    return C1Numbers(tuple(votes))


def _plot1(numbers: C1Numbers) -> Chart:
    voters = tuple(float(vote.voters) for vote in numbers.votes)
    lines = {
        "worst attribute, L⋆(X → Y)": (1, [v.worst for v in numbers.votes]),
        "all votes, L(X → Y)": (0, [v.everything for v in numbers.votes]),
        "maximin information I⋆(X;Y)": (5, [v.maximin for v in numbers.votes]),
        "one person’s vote, L(Xᵢ → Y)": (3, [v.one_vote for v in numbers.votes]),
    }
    series = (Series(name, voters, tuple(y), tone=tone) for name, (tone, y) in lines.items())
    panel = Panel("number of voters", "bits", tuple(series), from_zero=True)
    return Chart("C/1: what the outcome of a majority vote tells", (panel,))


def _claims1(numbers: C1Numbers) -> Iterator[Claim]:
    votes = numbers.votes
    worst = [vote.worst for vote in votes]
    yield Claim(
        "Of one to eight voters L and L⋆ have the verified values, for example 1.460841 and "
        "7.357552 bits of eight.",
        holds=all(
            abs(vote.everything - of_all) < 5e-7 and abs(vote.worst - of_worst) < 5e-7
            for vote, of_all, of_worst in zip(votes, EVERYTHING, WORST, strict=False)
        ),
    )
    yield Claim(
        "One person’s vote can be revealed only if there are at most two voters.",
        holds=all(vote.one_vote == (1 if vote.voters <= 2 else 0) for vote in votes),
    )
    yield Claim(
        "The worst attribute leaks ever more as voters join, while all votes together leak one "
        "bit (odd numbers) or up to two (even numbers).",
        holds=worst == sorted(set(worst))
        and all(vote.everything == 1 for vote in votes if vote.voters % 2)
        and all(1 <= vote.everything <= 2 for vote in votes),
    )
    yield Claim(
        "I⋆ is one bit, and never above L⋆; L⋆ is the logarithm of how many values the worst "
        "attribute has.",
        holds=all(
            vote.maximin == 1
            and vote.worst >= vote.maximin
            and math.isclose(vote.worst, math.log2(vote.attribute_values))
            for vote in votes
        ),
    )


def fig1() -> Figure[C1Numbers]:
    """Return the figure of what the outcome of a majority vote reveals; exact."""
    return Figure(
        name="C/1",
        title="Leakage of a majority vote",
        shows=(
            "How much easier guessing becomes when the outcome of a vote is known: of one person’s "
            "vote, of all votes, and of the attribute of the votes that leaks most. Ties count as "
            "yes."
        ),
        compute=_compute1,
        plot=_plot1,
        claims=_claims1,
    )


# --- figures 2 to 4: binned measurements of heart patients, their age and their identity -------


RECORD = "record"
SECRETS = {RECORD: "who the patient is", "age": "the age"}
"""The published axis, 8 to 8.2 bits, is that of 293 records; the text says that X is the age."""
RELEASED = {"trestbps": "blood pressure", "chol": "cholesterol"}
STEPS = tuple(range(1, 51))


@dataclass(frozen=True)
class HeartPoint:
    """What one step of the bins leaks, in bits."""

    step: int
    distortion: float
    """The largest distance between a value and the middle of its bin."""
    secrets: int
    remaining: int
    """How many secrets the most telling bin leaves: the k of k-anonymity for records."""
    guessing: float
    """L(X -> Y)."""
    maximal: float
    """L*(X -> Y)."""
    maximin: float
    """I*(X;Y)."""
    stochastic: float
    """The maximal leakage of the relative frequencies."""
    entropy: float
    """H0(X)."""
    released_entropy: float
    """H0(Y)."""


@dataclass(frozen=True)
class Curve:
    """All steps for one secret and one released measurement."""

    secret: str
    released: str
    rows: int
    points: tuple[HeartPoint, ...]

    def at(self, step: int) -> HeartPoint:
        """Return the point of a step."""
        return next(point for point in self.points if point.step == step)

    def doubled(self) -> list[HeartPoint]:
        """Return the steps that double: every bin is a union of earlier ones."""
        return [point for point in self.points if point.step.bit_count() == 1]

    def line(self, measure: str, label: str = "", **look: object) -> Series:
        """Return a measure against distortion, to draw."""
        ordered = sorted(self.points, key=lambda point: point.distortion)
        points = ((point.distortion, getattr(point, measure)) for point in ordered)
        return series_of(RELEASED[self.released] + label, points, **look)


@dataclass(frozen=True)
class HeartNumbers:
    """Every curve, and whether the patients were made up."""

    curves: tuple[Curve, ...]
    synthetic: bool

    def of(self, secret: str) -> list[Curve]:
        """Return the curves of one secret."""
        return [curve for curve in self.curves if curve.secret == secret]


def sweep(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress = unwatched,
    steps: tuple[int, ...] = STEPS,
    secrets: tuple[str, ...] = tuple(SECRETS),
) -> HeartNumbers:
    """Return what bins of every step leak, for every secret and released column; exact."""
    patients = dataset("hungarian", data=data)
    curves: list[Curve] = []
    for secret, released in product(secrets, RELEASED):
        complete, points = patients.complete(released, "age"), []
        opened = open_table(complete.table)
        for k, step in enumerate(steps, 1):
            points.append(_point(opened, complete.numbers(released), secret, released, step))
            progress((len(curves) + k / len(steps)) / (len(secrets) * len(RELEASED)))
        curves.append(Curve(secret, released, complete.rows, tuple(points)))
    return HeartNumbers(tuple(curves), patients.synthetic)


def _point(
    table: Table, values: NDArray[np.float64], secret: str, released: str, step: int
) -> HeartPoint:
    relation = Relation.from_table(
        table,
        secret=ROW if secret == RECORD else secret,
        released=released,
        bins={released: step},
    )
    return HeartPoint(
        step=step,
        distortion=float(abs(values - step * (values // step + 0.5)).max()),
        secrets=relation.summary.secrets,
        remaining=int(relation.summary.secret_sizes.min()),
        guessing=guessing_leakage(relation),
        maximal=maximal_guessing_leakage(relation),
        maximin=maximin_information(relation),
        stochastic=maximal_leakage(relation),
        entropy=hartley_entropy(relation),
        released_entropy=log_ratio(relation.summary.released),
    )


def _never_rises(values: Iterable[float]) -> bool:
    """Return whether numbers never rise by more than rounding."""
    return all(b <= a + 1e-12 for a, b in pairwise(values))


# --- figure 2: guessing leakage and maximin information against distortion ---------------------


def _plot2(numbers: HeartNumbers) -> Chart:
    panels = [
        Panel(
            "largest distortion (mm Hg, mg/dl)",
            f"{sign} (bits)",
            tuple(curve.line(measure, kind="points") for curve in numbers.of(secret)),
            title=f"{name}, secret: {SECRETS[secret]}",
        )
        for secret in SECRETS
        for measure, sign, name in (
            ("maximal", "L⋆(X → Ŷ)", "Guessing leakage"),
            ("maximin", "I⋆(X;Ŷ)", "Maximin information"),
        )
    ]
    return Chart(
        "C/2: leakage of binned blood pressure and cholesterol",
        tuple(panels),
        synthetic=numbers.synthetic,
    )


def _claims2(numbers: HeartNumbers) -> Iterator[Claim]:
    curves, records, ages = numbers.curves, numbers.of(RECORD), numbers.of("age")
    yield Claim(
        "L⋆ and I⋆ never rise when the step doubles, and no step leaks more than the exact values.",
        holds=all(
            _never_rises(getattr(point, name) for point in curve.doubled())
            and all(getattr(p, name) <= getattr(curve.at(1), name) + 1e-12 for p in curve.points)
            for curve in curves
            for name in ("maximal", "maximin")
        ),
    )
    yield Claim(
        "They do not fall with every step, as the text suggests: some coarser bins, which are "
        "no unions of finer ones, leak more.",
        holds=any(not _never_rises(point.maximal for point in curve.points) for curve in curves),
    )
    yield Claim(
        "L⋆ is never below I⋆, as Proposition 6 says.",
        holds=all(p.maximal >= p.maximin - 1e-12 for curve in curves for p in curve.points),
    )
    yield Claim(
        "With the record as the secret I⋆ falls by more than two bits from the exact values "
        "to bins of 50.",
        holds=all(curve.at(1).maximin - curve.at(50).maximin > 2 for curve in records),
    )
    yield Claim(
        "Only the record as the secret reaches the published axis of 8 bits; the age has too "
        "few values.",
        holds=all(curve.at(1).maximal > 8 for curve in records)
        and all(point.maximal < 6 for curve in ages for point in curve.points),
    )
    if not numbers.synthetic:
        record, age = (
            next(curve for curve in about if curve.released == "chol").at(10)
            for about in (records, ages)
        )
        yield Claim(
            "Cholesterol in steps of 10: L⋆ = 5.209453 and I⋆ = 1 bit about the age, "
            "L = 8.082149 about the record.",
            holds=math.isclose(age.maximal, 5.209453, abs_tol=5e-7)
            and age.maximin == 1
            and math.isclose(record.guessing, 8.082149, abs_tol=5e-7),
        )


def fig2() -> Figure[HeartNumbers]:
    """Return the figure of guessing leakage and maximin information against distortion."""
    return Figure(
        name="C/2",
        title="Guessing leakage and maximin information against distortion",
        shows=(
            "What binned blood pressures and cholesterol values of heart patients tell, for steps "
            "from 1 to 50. The text says that the secret is the age, the published axis that it "
            "was the patient’s record: both are shown."
        ),
        compute=sweep,
        plot=_plot2,
        claims=_claims2,
        data="hungarian",
    )


# --- figure 3: stochastic maximal leakage against distortion -----------------------------------


def _plot3(numbers: HeartNumbers) -> Chart:
    """Return the stochastic maximal leakage between the bounds that really hold."""
    looks = {
        "stochastic": (": L̃⋆", "solid"),
        "maximin": (": I⋆, bound from below", "dotted"),
    }
    panels = tuple(
        Panel(
            "largest distortion (mm Hg, mg/dl)",
            "bits",
            tuple(
                curve.line(measure, label, dash=dash, tone=tone)
                for tone, curve in enumerate(numbers.of(secret))
                for measure, (label, dash) in looks.items()
            ),
            title=f"Secret: {name}",
            from_zero=True,
        )
        for secret, name in SECRETS.items()
    )
    return Chart(
        "C/3: stochastic maximal leakage of binned blood pressure and cholesterol",
        panels,
        synthetic=numbers.synthetic,
    )


def _claims3(numbers: HeartNumbers) -> Iterator[Claim]:
    yield Claim(
        "The stochastic maximal leakage never rises when the step doubles, and is lower by "
        "more than a bit at the coarsest step than at the finest.",
        holds=all(
            _never_rises(point.stochastic for point in curve.doubled())
            and curve.points[-1].stochastic < curve.points[0].stochastic - 1
            for curve in numbers.curves
        ),
    )
    yield Claim(
        "It lies between I⋆ and the smaller of H₀(X) and H₀(Ŷ), for every step.",
        holds=all(
            p.maximin - 1e-9 <= p.stochastic <= min(p.entropy, p.released_entropy) + 1e-9
            for curve in numbers.curves
            for p in curve.points
        ),
    )
    yield Claim(
        "The printed order, L̃⋆ at most I⋆, is wrong: about the age L̃⋆ is above I⋆ for every step.",
        holds=all(p.stochastic > p.maximin for c in numbers.of("age") for p in c.points),
    )
    yield Claim(
        "With the record as the secret the release is a function of it, and all three agree: "
        "I⋆ = L̃⋆ = H₀(Ŷ), as the paper observes.",
        holds=all(
            math.isclose(p.maximin, p.released_entropy, abs_tol=1e-9)
            and math.isclose(p.stochastic, p.released_entropy, abs_tol=1e-9)
            for curve in numbers.of(RECORD)
            for p in curve.points
        ),
    )


def fig3() -> Figure[HeartNumbers]:
    """Return the figure of maximal leakage, relative frequencies taken as probabilities."""
    return Figure(
        name="C/3",
        title="Stochastic maximal leakage against distortion",
        shows=(
            "What binned measurements of heart patients tell when relative frequencies are taken "
            "as probabilities. The paper has I⋆ above this leakage; in truth it is a bound from "
            "below."
        ),
        compute=sweep,
        plot=_plot3,
        claims=_claims3,
        data="hungarian",
    )


# --- figure 4: identifiability against the maximal guessing leakage ----------------------------


def _plot4(numbers: HeartNumbers) -> Chart:
    """Return every step as a point, on the curve of equation (8)."""
    panels = []
    for secret, name in SECRETS.items():
        series = []
        for tone, curve in enumerate(numbers.of(secret)):
            places, secrets = _places(curve), curve.points[0].secrets
            most = max(point.remaining for point in curve.points)
            law = [
                (math.log2(secrets - k + 1), math.log2(secrets / k))
                for k in range(min(most, secrets), 0, -1)
            ]
            series += [
                series_of(RELEASED[curve.released], places, kind="points", tone=tone),
                series_of(f"equation (8), |X| = {secrets}", law, dash="dashed", tone=tone),
            ]
        panels.append(
            Panel(
                "L⋆(X → Y) (bits)",
                "L(X → Y) (bits)",
                tuple(series),
                title=f"Secret: {name}",
                from_zero=True,
            )
        )
    return Chart(
        "C/4: identifiability against maximal guessing leakage",
        tuple(panels),
        synthetic=numbers.synthetic,
    )


def _places(curve: Curve) -> list[tuple[float, float]]:
    """Return L* and L of all steps, in ascending order."""
    return sorted({(point.maximal, point.guessing) for point in curve.points})


def _claims4(numbers: HeartNumbers) -> Iterator[Claim]:
    points = [point for curve in numbers.curves for point in curve.points]
    records = [point for curve in numbers.of(RECORD) for point in curve.points]
    yield Claim(
        "Every point lies on the curve of equation (8): L = log₂(|X| / (|X| + 1 − 2^L⋆)).",
        holds=all(
            math.isclose(
                p.guessing,
                math.log2(p.secrets / (p.secrets + 1 - round(2**p.maximal))),
                abs_tol=1e-9,
            )
            for p in points
        ),
    )
    yield Claim(
        "L grows with L⋆.",
        holds=all(
            [y for _, y in _places(curve)] == sorted(y for _, y in _places(curve))
            for curve in numbers.curves
        ),
    )
    yield Claim(
        "L⋆ attains the tightened bound of Corollary 5, log₂(|X| − ⌈|X| 2^−L⌉ + 1).",
        holds=all(
            math.isclose(p.maximal, maximal_leakage_within(p.secrets, p.guessing), abs_tol=1e-9)
            for p in points
        ),
    )
    yield Claim(
        "With the record as the secret L = log₂(n/k), with k the smallest number of patients "
        "in a bin.",
        holds=all(
            math.isclose(p.guessing, math.log2(p.secrets / p.remaining), abs_tol=1e-9)
            for p in records
        )
        and len({p.remaining for p in records}) > 3,
    )


def fig4() -> Figure[HeartNumbers]:
    """Return the figure of identifiability against the maximal guessing leakage.

    Its steps go on beyond those of the other figures: only wide bins leave several patients each.
    """
    return Figure(
        name="C/4",
        title="Identifiability against maximal guessing leakage",
        shows=(
            "The budget of identifiability L against the maximal guessing leakage L⋆, a point for "
            "every step of the bins of heart patients’ measurements, with the curve of equation "
            "(8). Steps up to 150, since narrow bins always leave somebody alone."
        ),
        compute=partial(sweep, steps=(*STEPS[::2], *range(55, 151, 5))),
        plot=_plot4,
        claims=_claims4,
        data="hungarian",
    )
