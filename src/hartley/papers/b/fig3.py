"""Figure 3 of paper B: who is in a group of homes whose mean consumption is released?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from hartley.adversaries.membership import STRATEGIES, MembershipGame
from hartley.chart import Chart, Panel, Series
from hartley.datasets.catalogue import dataset
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.calibration import levels_for_bits
from hartley.policies.quantizer import UniformQuantizer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hartley.adversaries.finding import Estimate
    from hartley.chart import Dash
    from hartley.papers.figure import Progress

DATA = "solar_homes"
FUSE = Fraction("11.5")
"""What a home can draw in half an hour through 100 A at 230 V, in kWh: a public range."""
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
NEGLIGIBLE = 0.1


@dataclass(frozen=True)
class Games:
    """What came of many games of one group size through cells of one number."""

    people: int
    bits: int | None
    """The budget; none where the mean was released as it is."""
    rule: str
    levels: int | None
    advantages: dict[str, Estimate]


@dataclass(frozen=True)
class Numbers:
    """All games of one day, and those of more days at the paper's points."""

    games: tuple[Games, ...]
    by_days: dict[int, tuple[Games, ...]]
    """At the points of the paper, by how many days of readings are released."""
    homes: int
    top: Fraction
    synthetic: bool

    def of(self, people: int, bits: int | None, rule: str = CORRECTED) -> Games:
        """Return the games of a group size, a budget and a rule."""
        wanted = people, bits, rule if bits is not None else ""
        return next(one for one in self.games if (one.people, one.bits, one.rule) == wanted)

    @property
    def sizes(self) -> list[int]:
        """The sizes of groups."""
        return list(dict.fromkeys(one.people for one in self.games))

    @property
    def budgets(self) -> list[int]:
        """The budgets in bits."""
        return list(dict.fromkeys(one.bits for one in self.games if one.bits is not None))


def compute(  # noqa: PLR0913 - sizes, all with defaults
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    homes: int = 300,
    days: tuple[int, ...] = (1, 2, 7, 14, 28),
    people: tuple[int, ...] = (2, 4, 8),
    budgets: tuple[int, ...] = tuple(range(1, 9)),
    games: int = 10_000,
    seed: int = 0,
) -> Numbers:
    """Play the membership game on the mean of n homes, half-hour readings of some days.

    Args:
        data: "synthetic", or where the readings are.
        progress: told how much is done.
        homes: how many synthetic homes there are.
        days: how many days are released; the curves are those of the first number.
        people: sizes of groups; 4 and 8 are always among those of several days.
        budgets: in bits, for each reading.
        games: how many for each point.
        seed: of the games.
    """
    loaded = dataset(DATA, data=data, homes=homes, days=max(days))
    readings = loaded.readings()
    top = FUSE if readings.max() <= FUSE else Fraction(math.ceil(readings.max()))
    first = _released(readings, days[0])
    found: list[Games] = []
    for done, n in enumerate(people):
        found.append(_played(first, n, None, "", top, games, seed))
        for bits in budgets:
            found += [_played(first, n, bits, rule, top, games, seed) for rule in RULES]
        if progress is not None:
            progress(0.7 * (done + 1) / len(people))
    several = {}
    for done, number in enumerate(days):
        some = _released(readings, number)
        several[number] = tuple(_played(some, *at, CORRECTED, top, games, seed) for at in POINTS)
        if progress is not None:
            progress(0.7 + 0.3 * (done + 1) / len(days))
    return Numbers(tuple(found), several, readings.shape[0], top, loaded.synthetic)


def _released(readings: NDArray[np.float64], days: int) -> NDArray[np.float64]:
    chosen = readings[:, :days]
    flat: NDArray[np.float64] = chosen.reshape(len(chosen), -1)
    return flat


def levels_of(people: int, bits: int, rule: str) -> int:
    """Return how many cells the mean of some people has by a rule.

    Example:
        >>> [levels_of(4, 2, rule) for rule in RULES]
        [12, 16, 4]
    """
    one = Fraction(1)
    if rule == WHOLE:
        return levels_for_bits(one, one, bits)
    printed = "printed" if rule == PRINTED else "corrected"
    return levels_for_bits(one, Fraction(1, people), bits, rule=printed)  # type: ignore[arg-type]  # one of the two words


def _played(  # noqa: PLR0913, PLR0917 - what is released of whom, and how often
    readings: NDArray[np.float64],
    people: int,
    bits: int | None,
    rule: str,
    top: Fraction,
    games: int,
    seed: int,
) -> Games:
    levels = None if bits is None else levels_of(people, bits, rule)
    policy = None if levels is None else UniformQuantizer(Fraction(0), top, levels)
    game = MembershipGame(readings, people=people, policy=policy, range=(0, top))
    found = game.play(games, seed=seed)
    return Games(people, bits, rule, levels, {s.name: s.advantage for s in found.strategies})


# --- what is drawn ----------------------------------------------------------------------------


def plot(numbers: Numbers) -> Chart:
    """Draw the advantage of every strategy against the budget, and against the days released."""
    days = next(iter(numbers.by_days))
    panels = [_strategy(numbers, name) for name in STRATEGIES]
    panels.append(_days(numbers))
    one = "one day" if days == 1 else f"{days} days"
    return Chart(
        f"B/3: which of two homes is in the group? Mean of n homes, 48 readings of {one}",
        tuple(panels),
        note=(
            f"{numbers.homes} homes; cells over 0 to {float(numbers.top):g} kWh. Solid: corrected "
            "Theorem 8; dashed: as printed; dotted: 2^ε cells for the whole range."
        ),
        synthetic=numbers.synthetic,
        across=3,
    )


def _strategy(numbers: Numbers, name: str) -> Panel:
    series = []
    looks: tuple[tuple[str, Dash], ...] = (
        (CORRECTED, "solid"), (PRINTED, "dashed"), (WHOLE, "dotted"),
    )  # fmt: skip
    for tone, n in enumerate(numbers.sizes):
        for rule, dash in looks:
            found = [numbers.of(n, bits, rule).advantages[name] for bits in numbers.budgets]
            sure = rule == CORRECTED
            series.append(
                Series(
                    f"n = {n}" if sure else "",
                    tuple(map(float, numbers.budgets)),
                    tuple(one.value for one in found),
                    dash=dash,
                    low=tuple(one.low for one in found) if sure else (),
                    high=tuple(one.high for one in found) if sure else (),
                    tone=tone,
                )
            )
    return Panel(
        "budget ε (bits a reading)", "advantage", tuple(series), TITLES[name], from_zero=True
    )


def _days(numbers: Numbers) -> Panel:
    days = tuple(map(float, numbers.by_days))
    series = []
    for place, (n, bits) in enumerate(POINTS):
        for name in ("correlation", "common peaks"):
            found = [played[place].advantages[name] for played in numbers.by_days.values()]
            series.append(
                Series(
                    f"n = {n}, ε = {bits}, {name}",
                    days,
                    tuple(one.value for one in found),
                    dash="solid" if name == "correlation" else "dashed",
                    low=tuple(one.low for one in found),
                    high=tuple(one.high for one in found),
                    tone=place + 1,
                )
            )
    return Panel(
        "days released", "advantage", tuple(series), "More days tell more (added)", x_log=True,
        from_zero=True,
    )  # fmt: skip


# --- what it shows ----------------------------------------------------------------------------


def findings(numbers: Numbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show, and where that departs from the print."""
    return (
        Claim(
            "The advantage of each of the paper’s strategies grows with the budget, up to that "
            "without any policy.",
            holds=all(_grows(numbers, n, name) for n in numbers.sizes for name in PAPER),
        ),
        Claim(
            "Without a policy and at the largest budget it falls with the number of homes. At "
            "small budgets it need not: Theorem 8 allows larger groups finer cells.",
            holds=all(
                larger.advantages[name].value < smaller.advantages[name].value
                for bits in (None, numbers.budgets[-1])
                for smaller, larger in pairwise(numbers.of(n, bits) for n in numbers.sizes)
                for name in PAPER
            ),
        ),
        *_rules(numbers),
        *_points(numbers),
        _over_days(numbers),
    )


def _grows(numbers: Numbers, people: int, name: str) -> bool:
    curve = [numbers.of(people, bits).advantages[name] for bits in numbers.budgets]
    free = numbers.of(people, None).advantages[name]
    return curve[0].value < curve[-1].value and curve[-1].covers(free.value)


def _rules(numbers: Numbers) -> tuple[Claim, ...]:
    pairs = [
        (numbers.of(n, bits), numbers.of(n, bits, PRINTED))
        for n in numbers.sizes
        for bits in numbers.budgets
    ]
    gained = sum(a.advantages[s].value - b.advantages[s].value for a, b in pairs for s in PAPER)
    fewer = Claim(
        "Theorem 8, corrected, allows fewer cells than printed, and the paper’s strategies gain "
        "nothing by the correction, on average over all sizes and budgets.",
        holds=all((a.levels or 0) < (b.levels or 0) for a, b in pairs) and gained <= 0,
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


def _has(numbers: Numbers, at: tuple[int, int]) -> bool:
    return at[0] in numbers.sizes and at[1] in numbers.budgets


def _points(numbers: Numbers) -> tuple[Claim, ...]:
    """Say where the paper's remark about almost no advantage holds."""
    known = [at for at in POINTS if _has(numbers, at)]
    if not known:
        return ()
    told = "; ".join(
        f"{_most(numbers.of(n, e, PRINTED)):.2f} as printed and {_most(numbers.of(n, e)):.2f} "
        f"corrected at n = {n}, ε = {e}"
        for n, e in known
    )
    whole = max(_most(numbers.of(*at, WHOLE)) for at in known)
    return (
        Claim(
            "The paper finds almost no advantage at n = 4, ε = 2 and n = 8, ε = 3. That is so with "
            f"2^ε cells over the whole range: at most {whole:.2f} by any of its strategies. "
            f"Theorem 8 allows about n times as many cells, and then it is {told}.",
            holds=whole <= NEGLIGIBLE,
        ),
    )


def _most(games: Games) -> float:
    return max(games.advantages[name].value for name in PAPER)


def _over_days(numbers: Numbers) -> Claim:
    first, last = (list(numbers.by_days)[at] for at in (0, -1))
    (_, early), (_, late) = (numbers.by_days[number] for number in (first, last))
    before, after = (one.advantages["correlation"] for one in (early, late))
    return Claim(
        "The budget is that of one reading, and budgets add up: through the same cells at n = 8, "
        f"ε = 3 the advantage is {before.value:.2f} with {first} day{'s' * (first != 1)} and "
        f"{after.value:.2f} with {last}.",
        holds=after.low > before.high,
    )


FIGURE = Figure(
    paper="B",
    number=3,
    title="Advantage in the membership game",
    shows=(
        "How well an adversary who knows the readings of two homes tells which of them is in a "
        "group of n, from the group’s mean in cells. The cells are those of Theorem 8 as printed, "
        "which does not keep its promise, and corrected. The paper states neither the range nor "
        "how many readings are released; the finding of almost no advantage depends on both."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
