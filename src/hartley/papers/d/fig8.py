"""Figure 8 of paper D: the leakage of a mean about everybody, and about one person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.boxes.box import Box
from hartley.boxes.cut_box import CutBox
from hartley.boxes.expression import mean, variables
from hartley.measures.leakage import nonstochastic_leakage
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.quantizer import UniformQuantizer, levels_for_indistinguishability
from hartley.report import Chart, Heat, Panel

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress
    from hartley.policies.quantizer import Rule

    Grid = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class D8Numbers:
    """Leakages in nats: a row a budget, a column a number of people."""

    people: tuple[int, ...]
    budgets: tuple[int, ...]
    everybody_printed: Grid
    everybody_sharp: Grid
    person_printed: Grid
    person_sharp: Grid


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,
    most_people: int = 30,
    most_bits: int = 6,
) -> D8Numbers:
    """Compute L0(X;Y) about everybody and L0(Xi;Y) about one person, for both rules; exact.

    Example:
        >>> numbers = compute(most_people=3, most_bits=2)
        >>> [round(leakage, 6) for leakage in numbers.everybody_printed[1]]
        [0.693147, 1.791759]
        >>> numbers.person_printed[1]
        (0.0, 0.0)
    """
    people, budgets = tuple(range(2, most_people + 1)), tuple(range(1, most_bits + 1))
    cells = {
        rule: [[_levels(n, bits, rule) for n in people] for bits in budgets]
        for rule in ("printed", "corrected")
    }
    everybody: dict[str, Grid] = {}
    for done, (rule, rows) in enumerate(cells.items()):
        leakages = []
        for k, row in enumerate(rows):
            leakages.append(tuple(_leakage(n, q) for n, q in zip(people, row, strict=True)))
            if progress is not None:
                progress((done + (k + 1) / len(rows)) / 2)
        everybody[rule] = tuple(leakages)
    person = {
        rule: tuple(
            tuple(_about_one(n, q) for n, q in zip(people, row, strict=True)) for row in rows
        )
        for rule, rows in cells.items()
    }
    return D8Numbers(
        people,
        budgets,
        everybody_printed=everybody["printed"],
        everybody_sharp=everybody["corrected"],
        person_printed=person["printed"],
        person_sharp=person["corrected"],
    )


def _levels(people: int, bits: int, rule: Rule) -> int:
    return levels_for_indistinguishability([Fraction(1, people)] * people, bits, rule=rule)


def _leakage(people: int, levels: int) -> float:
    """Return L0(X;Y), that of the outermost cell: -ln IrwinHall_n(n/q)."""
    box = Box.cube(0, 1, size=people)
    edges = UniformQuantizer(Fraction(0), Fraction(1), levels).edges
    return nonstochastic_leakage(CutBox(box, mean(variables(*box.names)), edges), base=math.e)


def _about_one(people: int, levels: int) -> float:
    """Return L0(Xi;Y): given the outermost cell, one person's value is below n/q."""
    return math.log(max(1.0, levels / people))


def plot(numbers: D8Numbers) -> Chart:
    """Draw shades of leakage over people and budget: everybody and one person, by both rules."""

    def panel(title: str, values: Grid) -> Panel:
        heat = Heat(
            "nats",
            values,
            numbers.people[0] - 0.5,
            numbers.people[-1] + 0.5,
            numbers.budgets[0] - 0.5,
            numbers.budgets[-1] + 0.5,
        )
        return Panel("number of people n", "budget ε (bits)", heat=heat, title=title)

    return Chart(
        "D/8: what a mean that keeps everybody ε-indistinguishable leaks",
        (
            panel("About everybody, L₀(X;Y), levels as printed", numbers.everybody_printed),
            panel("About one person, L₀(Xᵢ;Y), levels as printed", numbers.person_printed),
            panel("About everybody, L₀(X;Y), sharp levels", numbers.everybody_sharp),
            panel("About one person, L₀(Xᵢ;Y), sharp levels", numbers.person_sharp),
        ),
    )


def findings(numbers: D8Numbers) -> tuple[Claim, ...]:
    """Return what the figure and Example 4, corrected, are expected to show."""
    printed, sharp = numbers.everybody_printed, numbers.everybody_sharp
    loose = [row for bits, row in zip(numbers.budgets, printed, strict=True) if bits >= 2]
    second = dict(zip(numbers.budgets, printed, strict=True)).get(2, ())
    return (
        Claim(
            "The smaller ε, the less leaks or as much, about everybody and about one person.",
            holds=all(
                _rises(column)
                for grid in (printed, sharp, numbers.person_printed, numbers.person_sharp)
                for column in zip(*grid, strict=True)
            ),
        ),
        Claim(
            "About everybody it grows with the number of people at every ε of 2 bits or more; the "
            "paper says that it falls.",
            holds=bool(loose) and all(_grows(row) for row in loose),
        ),
        Claim(
            "With the printed levels and ε = 2 it is ln n!.",
            holds=bool(second)
            and all(
                math.isclose(leakage, math.lgamma(n + 1), rel_tol=1e-12)
                for n, leakage in zip(numbers.people, second, strict=True)
            ),
        ),
        Claim(
            "About one person, with the printed levels, it does not depend on the number of "
            "people: ln(2^(ε−1) − 1) from ε = 2 on.",
            holds=all(
                math.isclose(leakage, math.log(max(1, 2 ** (bits - 1) - 1)), abs_tol=1e-12)
                for bits, row in zip(numbers.budgets, numbers.person_printed, strict=True)
                for leakage in row
            ),
        ),
        Claim(
            "The sharp rule allows more levels for the same promise, so more leaks.",
            holds=all(
                a <= b + 1e-12
                for printed_row, sharp_row in zip(printed, sharp, strict=True)
                for a, b in zip(printed_row, sharp_row, strict=True)
            ),
        ),
    )


def _rises(values: tuple[float, ...]) -> bool:
    return list(values) == sorted(values)


def _grows(values: tuple[float, ...]) -> bool:
    return list(values) == sorted(set(values))


FIGURE = Figure(
    paper="D",
    number=8,
    title="Leakage of a mean against people and budget",
    shows=(
        "What the released mean leaks when its levels follow Theorem 5: lighter is more. "
        "Corrected: about everybody together the leakage grows with the number of people, where "
        "the paper says that it falls; what does not grow is the leakage about one person."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
