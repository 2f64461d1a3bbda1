"""Figure 6 of paper D: the bound that epsilon-privacy sets on the information leakage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.measures.hypothesis import analyse_hypothesis
from hartley.measures.leakage import nonstochastic_leakage
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.ranges.relation import Relation
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress


@dataclass(frozen=True)
class ObesityRelease:
    """A release that was measured: its privacy, and what the hypothesis tells about its output."""

    privacy: float
    """Epsilon, where Priv = ln(1 + epsilon)."""
    leakage: float
    """L0(Y;H) in nats."""


@dataclass(frozen=True)
class D6Numbers:
    """Both bounds over a range of epsilon, and releases that test them."""

    privacies: tuple[float, ...]
    printed: tuple[float, ...]
    """-ln(1 - exp(-epsilon)), Proposition 1 as printed."""
    appendix: tuple[float, ...]
    """-ln(1 - exp(-epsilon - 1)), as its proof in the appendix ends."""
    corrected: tuple[float, ...]
    """ln(1 + 1/epsilon)."""
    one_sided: tuple[ObesityRelease, ...]
    """Releases in which one hypothesis is never proved: they attain the corrected bound."""
    two_sided: tuple[ObesityRelease, ...]
    """Releases in which as many outputs prove the hypothesis as refute it."""


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,  # noqa: ARG001 - it takes no time
    points: int = 120,
    outputs: int = 60,
) -> D6Numbers:
    """Compute the printed and the corrected bound, and measure releases of finitely many outputs.

    Example:
        >>> numbers = compute(points=2, outputs=6)
        >>> release = numbers.one_sided[0]
        >>> round(release.privacy, 9), round(release.leakage - math.log(1 + 1 / release.privacy), 9)
        (0.2, 0.0)
    """
    privacies = tuple(0.1 * 60 ** (k / (points - 1)) for k in range(points))
    open_ones = [outputs * k // 12 for k in range(2, 11)]
    return D6Numbers(
        privacies=privacies,
        printed=tuple(-math.log(1 - math.exp(-e)) for e in privacies),
        appendix=tuple(-math.log(1 - math.exp(-e - 1)) for e in privacies),
        corrected=tuple(math.log(1 + 1 / e) for e in privacies),
        one_sided=tuple(_measured(n, 0, outputs - n) for n in open_ones),
        two_sided=tuple(
            _measured(n, (outputs - n) // 2, outputs - n - (outputs - n) // 2) for n in open_ones
        ),
    )


def _measured(both: int, true: int, false: int) -> ObesityRelease:
    """Measure a release: how many outputs leave the hypothesis open, prove it and refute it."""
    pairs = [(h, f"open {k}") for h in (True, False) for k in range(both)]
    pairs += [(True, f"true {k}") for k in range(true)]
    pairs += [(False, f"false {k}") for k in range(false)]
    relation = Relation.from_pairs(pairs)
    privacy = analyse_hypothesis(relation, {True}, base=math.e).privacy
    return ObesityRelease(math.expm1(privacy), nonstochastic_leakage(relation.swap(), base=math.e))


def plot(numbers: D6Numbers) -> Chart:
    """Draw the bounds, and releases that break the printed one."""

    def points(label: str, releases: tuple[ObesityRelease, ...], tone: int) -> Series:
        places = tuple(release.privacy for release in releases)
        return Series(label, places, tuple(r.leakage for r in releases), "points", tone=tone)

    e = numbers.privacies
    panel = Panel(
        "privacy ε",
        "L₀(Y;H) (nats)",
        (
            Series("bound, corrected: ln(1 + 1/ε)", e, numbers.corrected, tone=0),
            Series("bound, printed: −ln(1 − exp(−ε))", e, numbers.printed, dash="dashed", tone=1),
            Series("bound of the printed proof: −ln(1 − exp(−ε−1))", e, numbers.appendix,
                   dash="dotted", tone=1),
            points("releases that refute or leave open", numbers.one_sided, 3),
            points("releases that prove, refute or leave open", numbers.two_sided, 2),
        ),
        x_log=True,
        from_zero=True,
    )  # fmt: skip
    return Chart("D/6: what ε-privacy says about the leakage L₀(Y;H)", (panel,))


def findings(numbers: D6Numbers) -> tuple[Claim, ...]:
    """Return what the figure and Proposition 1, corrected, are expected to show."""
    releases = (*numbers.one_sided, *numbers.two_sided)

    def corrected(release: ObesityRelease) -> float:
        return math.log(1 + 1 / release.privacy)

    def printed(release: ObesityRelease) -> float:
        return -math.log(1 - math.exp(-release.privacy))

    bounds = numbers.corrected
    return (
        Claim(
            "The more private the release, the less the hypothesis can tell about its output; "
            "the bound goes to zero.",
            holds=list(bounds) == sorted(bounds, reverse=True) and bounds[-1] < 0.2,
        ),
        Claim(
            "Every measured release keeps the corrected bound L₀(Y;H) ≤ ln(1 + 1/ε).",
            holds=all(r.leakage <= corrected(r) + 1e-12 for r in releases),
        ),
        Claim(
            "It is attained by releases that never prove the hypothesis.",
            holds=all(math.isclose(r.leakage, corrected(r)) for r in numbers.one_sided),
        ),
        Claim(
            "The printed bound is broken by each of those, and below the corrected one everywhere.",
            holds=all(r.leakage > printed(r) for r in numbers.one_sided)
            and all(a < b for a, b in zip(numbers.printed, bounds, strict=True)),
        ),
    )


FIGURE = Figure(
    paper="D",
    number=6,
    title="Information leakage against privacy",
    shows=(
        "The most that the hypothesis can tell about what is released, L₀(Y;H), when a release is "
        "ε-private. The printed bound is too low: measured releases break it, and attain the "
        "corrected one."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
