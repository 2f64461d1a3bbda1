"""Figure 3 of paper B: who is in a group of homes whose mean consumption is released?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hartley.attacks.membership import STRATEGIES, MembershipGame
from hartley.datasets.catalogue import dataset
from hartley.errors import TableError
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.quantizer import UniformQuantizer, levels_for_bits
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.attacks.finding import AttackEstimate
    from hartley.papers.figure import Progress
    from hartley.report import Dash

DATA = "solar_homes"
FUSE = Fraction("11.5")
"""What a home can draw in half an hour through 100 A at 230 V, in kWh: a public range."""
DAY = 48 * FUSE
"""The same over a day."""
CORRECTED, PRINTED, WHOLE = "corrected", "as printed", "2^ε cells in all"
RULES = (CORRECTED, PRINTED, WHOLE)
PAPER = STRATEGIES[:3]
TITLES = {
    "correlation": "Correlation",
    "squared error": "Squared error",
    "common peaks": "Common peaks",
    "consistency": "Consistency, which is certain (added)",
}
POINTS = {(4, 2): (16, 12), (8, 3): (64, 56)}
"""Where the paper finds almost no advantage: people and bits, cells as printed and corrected."""
NEGLIGIBLE, CLOSE = 0.1, 0.05


@dataclass(frozen=True)
class Games:
    """The results of many games of one group size and one number of cells."""

    people: int
    bits: int | None
    """The budget; none where the mean was released as it is."""
    rule: str
    levels: int | None
    advantages: dict[str, AttackEstimate]

    @property
    def best(self) -> AttackEstimate:
        """The largest advantage of the paper's strategies."""
        return max((self.advantages[name] for name in PAPER), key=lambda estimate: estimate.value)


@dataclass(frozen=True)
class B3Numbers:
    """All games of the whole time, and those at the paper's points by range and by days."""

    games: tuple[Games, ...]
    by_range: dict[int, tuple[Games, ...]]
    """At the points of the paper, by the end of the range in kWh a day, narrow to wide."""
    by_days: dict[int, tuple[Games, ...]]
    """At the points of the paper, by how many days are released, few to many."""
    homes: int
    days: int
    synthetic: bool
    source: str
    """Where the readings come from."""

    def of(self, people: int, bits: int | None, rule: str = CORRECTED) -> Games:
        """Return the games of a group size, a budget and a rule."""
        wanted = people, bits, rule if bits is not None else ""
        return next(
            games for games in self.games if (games.people, games.bits, games.rule) == wanted
        )

    @property
    def top(self) -> int:
        """The end of the range of the curves: the widest."""
        return max(self.by_range)

    @property
    def sizes(self) -> list[int]:
        """The sizes of groups."""
        return list(dict.fromkeys(g.people for g in self.games))

    @property
    def budgets(self) -> list[int]:
        """The budgets in bits."""
        return list(dict.fromkeys(g.bits for g in self.games if g.bits is not None))


def compute(  # noqa: PLR0913 - sizes, all with defaults
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    homes: int = 300,
    days: int = 365,
    fewer_days: tuple[int, ...] = (7, 28, 91, 182),
    ranges: int = 6,
    people: tuple[int, ...] = (2, 4, 8),
    budgets: tuple[int, ...] = tuple(range(1, 9)),
    games: int = 10_000,
    seed: int = 0,
) -> B3Numbers:
    """Play the membership game on the mean of n homes, released day by day for a year.

    Args:
        data: "synthetic", or where the readings are.
        progress: called with the share of the work that is done.
        homes: how many synthetic homes there are.
        days: how many days of them; real data have as many as they have.
        fewer_days: numbers of days; the first so many days are also released alone.
        ranges: how many ranges are tried, from the largest daily reading to what a fuse allows.
        people: sizes of groups; 4 and 8 are always among those of several ranges and days.
        budgets: in bits, for each daily reading.
        games: how many for each point.
        seed: of the games.
    """
    loaded = dataset(DATA, data=data, homes=homes, days=days)
    daily = daily_readings(loaded.readings())
    tops = _range_ends(float(daily.max()), ranges)
    curves: list[Games] = []
    for done, n in enumerate(people):
        curves.append(_played(daily, n, None, "", tops[-1], games, seed))
        for bits in budgets:
            curves += [_played(daily, n, bits, rule, tops[-1], games, seed) for rule in RULES]
        if progress is not None:
            progress(0.7 * (done + 1) / len(people))
    lengths = [number for number in fewer_days if number < daily.shape[1]] + [daily.shape[1]]
    by_range = {top: _at_points(daily, top, games, seed) for top in tops}
    by_days = {n: _at_points(daily[:, :n], tops[-1], games, seed) for n in lengths}
    if progress is not None:
        progress(1.0)
    number, length = daily.shape
    return B3Numbers(
        tuple(curves), by_range, by_days, number, length, loaded.synthetic, loaded.source
    )


def daily_readings(half_hours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the consumption of every home on every day, in kWh, to the watt-hour.

    Refuses the mean profile of one day: it is no reading of many days.

    Example:
        >>> daily_readings(np.full((1, 3, 48), 0.5)).tolist()
        [[24.0, 24.0, 24.0]]
    """
    if half_hours.shape[1] < 3:
        raise TableError(
            f"The readings are of {half_hours.shape[1]} day, and B/3 releases one reading a day",
            hint="take a file with the readings of many days, not mean profiles",
        )
    daily: NDArray[np.float64] = np.round(half_hours.sum(axis=2), 3)
    return daily


def _range_ends(largest: float, number: int) -> list[int]:
    """Return ends of ranges from the largest reading to what a fuse lets through in a day."""
    low = math.ceil(largest)
    high = max(low, int(DAY))
    return sorted({round(end) for end in np.geomspace(low, high, number)} | {low, high})


def _at_points(daily: NDArray[np.float64], top: int, games: int, seed: int) -> tuple[Games, ...]:
    return tuple(_played(daily, *at, CORRECTED, top, games, seed) for at in POINTS)


def levels_of(people: int, bits: int, rule: str) -> int:
    """Return how many cells the mean of some people has by a rule.

    Example:
        >>> [levels_of(4, 2, rule) for rule in RULES]
        [12, 16, 4]
    """
    whole = Fraction(1)
    if rule == WHOLE:
        return levels_for_bits(whole, whole, bits)
    printed = "printed" if rule == PRINTED else "corrected"
    return levels_for_bits(whole, Fraction(1, people), bits, rule=printed)  # type: ignore[arg-type]  # one of the two words


def _played(  # noqa: PLR0913, PLR0917 - what is released of whom, and how often
    readings: NDArray[np.float64],
    people: int,
    bits: int | None,
    rule: str,
    top: int,
    games: int,
    seed: int,
) -> Games:
    levels = None if bits is None else levels_of(people, bits, rule)
    policy = None if levels is None else UniformQuantizer(Fraction(0), Fraction(top), levels)
    game = MembershipGame(readings, people=people, policy=policy, range=(0, top))
    outcome = game.play(games, seed=seed)
    return Games(people, bits, rule, levels, {s.name: s.advantage for s in outcome.strategies})


# --- what is drawn ----------------------------------------------------------------------------


def plot(numbers: B3Numbers) -> Chart:
    """Draw the advantage of every strategy against the budget, the range and the days released."""
    panels = [_strategy(numbers, name) for name in STRATEGIES]
    panels += [
        _at_paper_points(
            numbers.by_range, "end of the range (kWh a day)", "The range decides (added)"
        ),
        _at_paper_points(numbers.by_days, "days released", "How many days (added)"),
    ]
    return Chart(
        f"B/3: which of two homes is in the group? Mean of n homes, {numbers.days} daily readings",
        tuple(panels),
        note=(
            f"{numbers.homes} homes; cells over 0 to {numbers.top} kWh a day, what a fuse of 100 A "
            "lets through. Solid: corrected Theorem 8; dashed: as printed; dotted: 2^ε cells for "
            "the whole range. In the two panels added last: solid correlation, dashed common peaks."
            f" Data: {numbers.source}"
        ),
        source=numbers.source,
        synthetic=numbers.synthetic,
        across=3,
    )


def _strategy(numbers: B3Numbers, name: str) -> Panel:
    series = []
    looks: tuple[tuple[str, Dash], ...] = (
        (CORRECTED, "solid"), (PRINTED, "dashed"), (WHOLE, "dotted"),
    )  # fmt: skip
    for tone, n in enumerate(numbers.sizes):
        for rule, dash in looks:
            estimates = [numbers.of(n, bits, rule).advantages[name] for bits in numbers.budgets]
            sure = rule == CORRECTED
            series.append(
                Series(
                    f"n = {n}" if sure else "",
                    tuple(map(float, numbers.budgets)),
                    tuple(estimate.value for estimate in estimates),
                    dash=dash,
                    low=tuple(estimate.low for estimate in estimates) if sure else (),
                    high=tuple(estimate.high for estimate in estimates) if sure else (),
                    tone=tone,
                )
            )
    return Panel(
        "budget ε (bits a reading)", "advantage", tuple(series), TITLES[name], from_zero=True
    )


def _at_paper_points(played: dict[int, tuple[Games, ...]], label: str, title: str) -> Panel:
    series = []
    for place, (n, bits) in enumerate(POINTS):
        for name, dash in (("correlation", "solid"), ("common peaks", "dashed")):
            estimates = [games[place].advantages[name] for games in played.values()]
            series.append(
                Series(
                    f"n = {n}, ε = {bits}, {name}",
                    tuple(map(float, played)),
                    tuple(estimate.value for estimate in estimates),
                    dash=dash,  # type: ignore[arg-type]  # one of the two words
                    low=tuple(estimate.low for estimate in estimates),
                    high=tuple(estimate.high for estimate in estimates),
                    tone=place + 1,
                )
            )
    return Panel(label, "advantage", tuple(series), title, x_log=True, from_zero=True)


# --- what it shows ----------------------------------------------------------------------------


def findings(numbers: B3Numbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show, and where that departs from the print."""
    return (
        _over_budgets(numbers),
        Claim(
            "Without a policy and at the largest budget the advantage falls with the number of "
            "homes. At small budgets it need not: Theorem 8 allows larger groups finer cells.",
            holds=all(
                larger.advantages[name].value < smaller.advantages[name].value
                for bits in (None, numbers.budgets[-1])
                for smaller, larger in pairwise(numbers.of(n, bits) for n in numbers.sizes)
                for name in PAPER
            ),
        ),
        *_rules(numbers),
        _over_ranges(numbers),
        _over_days(numbers),
    )


def falls(curve: list[AttackEstimate]) -> int:
    """Return at how many steps a curve falls by more than both confidence intervals allow.

    Every step counts, since the first and the last point say nothing about those in between.
    """
    return sum(after.high < before.low for before, after in pairwise(curve))


def _over_budgets(numbers: B3Numbers) -> Claim:
    grows = True
    for n in numbers.sizes:
        curve = [numbers.of(n, bits).best for bits in numbers.budgets]
        near = abs(curve[-1].value - numbers.of(n, None).best.value) <= CLOSE
        grows &= falls(curve) == 0 and curve[0].high < curve[-1].low and near
    single = {
        name: sum(
            falls([numbers.of(n, bits).advantages[name] for bits in numbers.budgets])
            for n in numbers.sizes
        )
        for name in PAPER
    }
    steps = len(numbers.sizes) * (len(numbers.budgets) - 1)
    listed = ", ".join(f"{name} at {number}" for name, number in single.items())
    return Claim(
        "The advantage of the best of the paper’s strategies grows with the budget, at no step "
        "falling by more than chance leaves open, and comes within 0.05 of that without any "
        f"policy. Of {steps} steps, single strategies fall by more: {listed}.",
        holds=grows,
    )


def _rules(numbers: B3Numbers) -> tuple[Claim, ...]:
    pairs = [
        (numbers.of(n, bits), numbers.of(n, bits, PRINTED))
        for n in numbers.sizes
        for bits in numbers.budgets
    ]
    fewer = Claim(
        "Theorem 8, corrected, allows fewer cells than printed.",
        holds=all((a.levels or 0) < (b.levels or 0) for a, b in pairs),
    )
    known = {at: levels for at, levels in POINTS.items() if _has(numbers, at)}
    if not known:
        return (fewer,)
    words = ", ".join(f"{q} → {c} (n = {n}, ε = {e})" for (n, e), (q, c) in known.items())
    held = [
        (numbers.of(n, e, PRINTED).levels, numbers.of(n, e).levels) == levels
        for (n, e), levels in known.items()
    ]
    return fewer, Claim(f"The correction in numbers: {words} cells.", holds=all(held))


def _has(numbers: B3Numbers, at: tuple[int, int]) -> bool:
    return at[0] in numbers.sizes and at[1] in numbers.budgets


def _over_ranges(numbers: B3Numbers) -> Claim:
    """Say where the paper's remark about almost no advantage holds."""
    narrow, wide = (numbers.by_range[at(numbers.by_range)] for at in (min, max))
    (first_narrow, second_narrow), (first_wide, second_wide) = narrow, wide
    least = min(games[1].best.value for games in numbers.by_range.values())
    return Claim(
        "The paper finds almost no advantage at n = 4, ε = 2 and n = 8, ε = 3, stating no range. "
        f"At n = 4, ε = 2 it depends on the range: {first_wide.best.value:.2f} by the best of its "
        f"strategies over 0 to {numbers.top} kWh a day, {first_narrow.best.value:.2f} over 0 to "
        f"{min(numbers.by_range)}, the largest reading. At n = 8, ε = 3 it is "
        f"{second_wide.best.value:.2f} and {second_narrow.best.value:.2f}, and at least "
        f"{least:.2f} over every range tried: more than almost none.",
        holds=first_wide.best.high < first_narrow.best.low and least > NEGLIGIBLE,
    )


def _over_days(numbers: B3Numbers) -> Claim:
    curve = [games[1].best for games in numbers.by_days.values()]
    *fewer, last = (
        f"{n} days {estimate.value:.2f}" for n, estimate in zip(numbers.by_days, curve, strict=True)
    )
    listed = f"{', '.join(fewer)} and {last}" if fewer else last
    return Claim(
        "The budget is that of one reading, and budgets add up over the days: at n = 8, ε = 3 the "
        f"best of the paper’s strategies has {listed}, at no step falling by more than chance "
        "leaves open.",
        holds=falls(curve) == 0,
    )


FIGURE = Figure(
    paper="B",
    number=3,
    title="Advantage in the membership game",
    shows=(
        "How well an adversary who knows the daily readings of two homes tells which of them is in "
        "a group of n, from the group’s mean in cells, day by day for a year. The cells are those "
        "of Theorem 8 as printed, which does not keep its promise, and corrected. The paper does "
        "not state the range; the finding of almost no advantage depends on it."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
