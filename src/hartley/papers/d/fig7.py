"""Figure 7 of paper D: how many levels of a mean keep people indistinguishable."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.quantizer import levels_for_indistinguishability, outputs_telling
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

KNOWN = {1: (1, 9), 2: (5, 14), 3: (15, 24)}
"""For the mean of five: bits, and the printed and the sharp number of levels."""


@dataclass(frozen=True)
class Mean:
    """The levels of the mean of some people, one number a budget."""

    people: int
    printed: tuple[int, ...]
    sharp: tuple[int, ...]
    telling_printed: tuple[int, ...]
    """The largest number of outputs that tell one value of a person from another."""
    telling_sharp: tuple[int, ...]
    telling_beyond: tuple[int, ...]
    """The same with one level more."""


@dataclass(frozen=True)
class D7Numbers:
    """Budgets in bits, and the levels of several means."""

    budgets: tuple[int, ...]
    means: tuple[Mean, ...]


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,  # noqa: ARG001 - it takes no time
    people: tuple[int, ...] = (5, 20, 100),
    most_bits: int = 8,
) -> D7Numbers:
    """Compute the levels by Theorem 5 as printed and by the sharp rule; all exact.

    Example:
        >>> (five,) = compute(people=(5,), most_bits=3).means
        >>> five.printed, five.sharp
        ((1, 5, 15), (9, 14, 24))
    """
    budgets = tuple(range(1, most_bits + 1))
    return D7Numbers(budgets, tuple(_mean(n, budgets) for n in people))


def _mean(people: int, budgets: tuple[int, ...]) -> Mean:
    weights = [Fraction(1, people)] * people
    printed = [levels_for_indistinguishability(weights, bits, rule="printed") for bits in budgets]
    sharp = [levels_for_indistinguishability(weights, bits) for bits in budgets]
    return Mean(
        people=people,
        printed=tuple(printed),
        sharp=tuple(sharp),
        telling_printed=tuple(outputs_telling(weights, q) for q in printed),
        telling_sharp=tuple(outputs_telling(weights, q) for q in sharp),
        telling_beyond=tuple(outputs_telling(weights, q + 1) for q in sharp),
    )


def plot(numbers: D7Numbers) -> Chart:
    """Draw the levels of both rules, and how much of the budget each uses."""
    bits = tuple(map(float, numbers.budgets))
    levels, used = [], []
    for tone, mean in enumerate(numbers.means):
        name = f"{mean.people} people"
        levels += [
            Series(f"{name}, sharp", bits, tuple(map(float, mean.sharp)), tone=tone),
            Series(f"{name}, as printed", bits, tuple(map(float, mean.printed)), dash="dashed",
                   tone=tone),
        ]  # fmt: skip
    widest = numbers.means[-1]
    allowed = [2**b for b in numbers.budgets]
    for label, telling, tone in (
        ("sharp", widest.telling_sharp, 0),
        ("as printed", widest.telling_printed, 1),
    ):
        shares = tuple(t / k for t, k in zip(telling, allowed, strict=True))
        used.append(Series(label, tuple(map(str, numbers.budgets)), shares, "bars", tone=tone))
    return Chart(
        "D/7: levels of a mean that keep everybody ε-indistinguishable",
        (
            Panel(
                "budget ε (bits)",
                "levels q",
                tuple(levels),
                title="Levels that are allowed",
                y_log=True,
            ),
            Panel(
                "budget ε (bits)",
                "share of the 2^ε outputs in use",
                tuple(used),
                title=f"How much of the budget is used, {widest.people} people",
                from_zero=True,
            ),
        ),
    )


def findings(numbers: D7Numbers) -> tuple[Claim, ...]:
    """Return what the figure and Theorem 5 are expected to show."""
    allowed = [2**bits for bits in numbers.budgets]
    claims = [
        Claim(
            "By the sharp rule more bits allow more levels, and so do more people.",
            holds=all(list(m.sharp) == sorted(set(m.sharp)) for m in numbers.means)
            and all(
                a < b
                for fewer, more in zip(numbers.means, numbers.means[1:], strict=False)
                for a, b in zip(fewer.sharp, more.sharp, strict=True)
            ),
        ),
        Claim(
            "The printed rule is sound but conservative: it never allows more levels than the "
            "sharp one.",
            holds=all(
                q <= best and telling <= k
                for m in numbers.means
                for q, best, telling, k in zip(
                    m.printed, m.sharp, m.telling_printed, allowed, strict=True
                )
            ),
        ),
        Claim(
            "The sharp rule is sharp: at most 2^ε outputs tell one value of a person from "
            "another, and with one level more there would be more.",
            holds=all(
                telling <= k < beyond
                for m in numbers.means
                for telling, beyond, k in zip(
                    m.telling_sharp, m.telling_beyond, allowed, strict=True
                )
            ),
        ),
    ]
    of_five = [m for m in numbers.means if m.people == 5]
    if of_five and set(KNOWN) <= set(numbers.budgets):
        levels = zip(numbers.budgets, of_five[0].printed, of_five[0].sharp, strict=True)
        claims.append(
            Claim(
                "For the mean of five and 1, 2, 3 bits: 1, 5, 15 levels as printed, 9, 14, 24 "
                "sharp.",
                holds={b: (p, s) for b, p, s in levels if b in KNOWN} == KNOWN,
            )
        )
    return tuple(claims)


FIGURE = Figure(
    paper="D",
    number=7,
    title="Levels of a quantizer against the budget",
    shows=(
        "How many levels a released mean may have so that at most 2^ε outputs tell one value of a "
        "person from another: by Theorem 5 as printed, which allows fewer levels than possible, "
        "and by the sharp rule."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
