"""Figure 3 of paper A: accuracy against leakage and against the adversary's error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.boxes.box import Box
from hartley.boxes.cut_box import CutBox
from hartley.boxes.expression import mean, variables
from hartley.measures.estimation import smallest_error
from hartley.measures.leakage import maximin_information, nonstochastic_leakage
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.optimal import optimal_quantizer
from hartley.policies.quantizer import UniformQuantizer
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

LOW, HIGH = 100, 250
"""Heights in centimetres, Example IV.2."""
KEPT = 10
"""The adversary's error, in centimetres, that should remain."""


@dataclass(frozen=True)
class A3Point:
    """One accuracy of the mean of two numbers in [-2, 2]; leakages in nats."""

    accuracy: Fraction
    levels: int
    leakage: float
    information: float
    error: float
    """The least error of the adversary's best estimate of both numbers: dmin."""
    least_leakage: float
    """The leakage of the best cells for it, of any policy of this accuracy."""


@dataclass(frozen=True)
class A3Numbers:
    """Both curves: the paper's, and the adversary's error about heights of several people."""

    points: tuple[A3Point, ...]
    cells: tuple[int, ...]
    """Numbers of cells over the range of heights."""
    errors: dict[int, tuple[float, ...]]
    """For every number of people, the adversary's smallest error for these cells."""


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,
    points: int = 100,
    highest: int = 5,
    people: tuple[int, ...] = (2, 3, 5, 10),
) -> A3Numbers:
    """Compute the curves of Example IV.1 and, for heights, of Example IV.2; all exact.

    Example:
        >>> two = compute(points=5, people=(2,)).points[1]
        >>> str(two.accuracy), two.levels, round(two.leakage, 6), round(two.error, 6)
        ('2', 4, 2.079442, 1.414214)
    """
    computed = []
    for k in range(1, points + 1):
        computed.append(_point(Fraction(highest * k, points)))
        if progress is not None:
            progress(0.9 * k / points)
    cells = tuple(range(2, 41))
    errors = {n: tuple(smallest_error(_heights(n, q)) for q in cells) for n in people}
    return A3Numbers(tuple(computed), cells, errors)


def _point(accuracy: Fraction) -> A3Point:
    box, query = Box.cube(-2, 2, size=2), mean(variables("x1", "x2"))
    quantizer = UniformQuantizer.for_error(low=-2, high=2, error=1 / accuracy)
    cut = CutBox(box, query, quantizer.edges)
    least = optimal_quantizer(query, box, 1 / accuracy, "leakage").smallest_share
    assert least is not None  # asked for
    return A3Point(
        accuracy=accuracy,
        levels=quantizer.levels,
        leakage=nonstochastic_leakage(cut, base=math.e),
        information=maximin_information(cut, base=math.e),
        error=smallest_error(cut),
        least_leakage=-math.log(least),
    )


def _heights(people: int, levels: int) -> CutBox:
    box = Box.cube(LOW, HIGH, size=people)
    return CutBox(box, mean(variables(*box.names)), UniformQuantizer(LOW, HIGH, levels).edges)  # type: ignore[arg-type]  # parsed there


def plot(numbers: A3Numbers) -> Chart:
    """Draw leakage and error against accuracy, and the error about heights of several people."""
    gammas = tuple(float(point.accuracy) for point in numbers.points)

    def curve(label: str, values: list[float], tone: int, **look: str) -> Series:
        return Series(label, gammas, tuple(values), tone=tone, **look)  # type: ignore[arg-type]  # a dash

    leakage = Panel(
        "accuracy γ",
        "leakage (nats)",
        (
            curve("L₀, equal cells", [p.leakage for p in numbers.points], 1),
            curve("L₀, best cells", [p.least_leakage for p in numbers.points], 2, dash="dashed"),
            curve("I⋆, equal cells", [p.information for p in numbers.points], 0),
        ),
        title="What leaks about the two numbers",
        from_zero=True,
    )
    error = Panel(
        "accuracy γ",
        "d_min",
        (curve("adversary’s error", [p.error for p in numbers.points], 3),),
        title="How far off an adversary stays",
        from_zero=True,
    )
    return Chart(
        "A/3: accuracy against privacy for the mean of two numbers in [−2, 2]",
        (leakage, error, _heights_panel(numbers)),
    )


def _heights_panel(numbers: A3Numbers) -> Panel:
    cells = tuple(map(float, numbers.cells))
    printed = tuple(150 * math.sqrt(2) / q for q in numbers.cells)
    return Panel(
        "cells of the released mean height",
        "d_min (cm)",
        (
            *(
                Series(f"{n} people", cells, errors, tone=tone)
                for tone, (n, errors) in zip(
                    (0, 1, 3, 4, 6, 7), numbers.errors.items(), strict=False
                )
            ),
            Series("printed, any number of people", cells, printed, dash="dashed", tone=2),
        ),
        title="Example IV.2, corrected: it depends on the people",
        y_log=True,
        marks=(("10 cm", float(KEPT)),),
    )


def findings(numbers: A3Numbers) -> tuple[Claim, ...]:
    """Return what the figure and its examples are expected to show."""
    points = numbers.points
    leaks, infos = [p.leakage for p in points], [p.information for p in points]
    errors, least = [p.error for p in points], [p.least_leakage for p in points]
    claims = [
        Claim(
            "The more accurate the answer, the more leaks and the smaller the adversary’s error.",
            holds=leaks == sorted(leaks)
            and infos == sorted(infos)
            and errors == sorted(errors, reverse=True),
        ),
        Claim(
            "With q = ⌈2γ⌉ ≥ 2 cells, I⋆ = ln q, L₀ = ln(q²/2) and d_min = 4√2/q.",
            holds=all(_as_in_closed_form(p) for p in points),
        ),
        Claim(
            "The best cells never leak more than equal ones, and above γ = 1 less, unless 2γ is a "
            "whole number.",
            holds=all(b <= a + 1e-12 for a, b in zip(leaks, least, strict=True))
            and all(_improves(p) for p in points if p.accuracy > 1),
        ),
    ]
    if 2 in numbers.errors:
        of_two = dict(zip(numbers.cells, numbers.errors[2], strict=True))
        claims.append(
            Claim(
                "Two people’s heights stay uncertain by 10 cm up to 21 cells, γ ≤ 21/75 (10.10 cm; "
                "9.64 cm with 22): the printed “larger than 22/75” is wrong.",
                holds=abs(of_two[21] - 10.1015) < 5e-5
                and abs(of_two[22] - 9.6424) < 5e-5
                and all((error >= KEPT) == (q <= 21) for q, error in of_two.items()),
            )
        )
    claims.append(
        Claim(
            "The error depends on how many people there are: 150√(n(n−1))/q for n ≤ q; the printed "
            "150√2/q is that of two.",
            holds=all(
                math.isclose(error, 150 * math.sqrt(n * (n - 1)) / q)
                for n, errors in numbers.errors.items()
                for q, error in zip(numbers.cells, errors, strict=True)
                if n <= q
            ),
        )
    )
    return tuple(claims)


def _as_in_closed_form(point: A3Point) -> bool:
    q = point.levels
    leakage, error = (math.log(q * q / 2), 4 * math.sqrt(2) / q) if q > 1 else (0.0, math.sqrt(8))
    return (
        q == max(1, math.ceil(2 * point.accuracy))
        and math.isclose(point.information, math.log(q), abs_tol=1e-12)
        and math.isclose(point.leakage, leakage, abs_tol=1e-12)
        and math.isclose(point.error, error)
    )


def _improves(point: A3Point) -> bool:
    """Tell whether the best cells leak less than equal ones exactly where they can.

    Best smallest share: min(1/3, 1/(2 gamma^2)) above gamma = 1; found to a part in a thousand.
    """
    best = min(1 / 3, 1 / (2 * float(point.accuracy) ** 2))
    whole = (2 * point.accuracy).denominator == 1
    near = math.isclose(math.exp(-point.least_leakage), best, rel_tol=1e-3)
    return near and (point.least_leakage < point.leakage - 1e-9) == (not whole)


FIGURE = Figure(
    paper="A",
    number=3,
    title="Leakage and the adversary’s error against accuracy",
    shows=(
        "How leakage grows and the adversary’s best estimate improves as the released mean of two "
        "numbers becomes more accurate. Added: the least leakage of any cells, and Example IV.2 "
        "corrected, in which the adversary’s error about heights depends on the number of people."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
