"""Figures of paper B: Farokhi, Noiseless Privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hartley.attacks.load_monitoring import LoadMonitoring
from hartley.attacks.membership import STRATEGIES, MembershipGame
from hartley.attacks.uniqueness import Uniqueness, grid_policy
from hartley.datasets.catalogue import dataset
from hartley.datasets.meters import TOP_FIVE
from hartley.errors import TableError
from hartley.exact import floor_power
from hartley.papers.figure import SYNTHETIC, Claim, Figure, series_of, unwatched
from hartley.policies.document import PolicyDocument
from hartley.policies.quantized_column import QuantizedColumn
from hartley.policies.quantizer import UniformQuantizer, levels_for_bits
from hartley.report import Chart, Heat, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.attacks.finding import AttackEstimate
    from hartley.attacks.load_monitoring import ApplianceScore, LoadFinding
    from hartley.papers.figure import Progress

    Floats = NDArray[np.float64]


def estimates_line(
    label: str, x: Iterable[float], estimates: Iterable[AttackEstimate], **look: object
) -> Series:
    """Return estimates as a line with their intervals."""
    value, low, high = zip(*((e.value, e.low, e.high) for e in estimates), strict=True)
    return Series(label, tuple(map(float, x)), value, low=low, high=high, **look)  # type: ignore[arg-type]  # fields of a series


# --- figure 3: who is in a group of homes whose mean consumption is released? ------------------


FUSE = Fraction("11.5")
"""What a home can draw in half an hour through 100 A at 230 V, in kWh: a public range."""
CORRECTED, PRINTED, WHOLE = RULES = ("corrected", "as printed", "2^ε cells in all")
PAPER = STRATEGIES[:3]
TITLES = {
    "correlation": "Correlation",
    "squared error": "Squared error",
    "common peaks": "Common peaks",
    "consistency": "Consistency, which is certain (added)",
}
POINTS = {(4, 2): (16, 12), (8, 3): (64, 56)}
"""Where the paper finds almost no advantage: people and bits, cells as printed and corrected."""


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


def _compute3(  # noqa: PLR0913 - sizes, all with defaults
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress = unwatched,
    homes: int = 300,
    days: int = 365,
    fewer_days: tuple[int, ...] = (7, 28, 91, 182),
    ranges: int = 6,
    people: tuple[int, ...] = (2, 4, 8),
    budgets: tuple[int, ...] = tuple(range(1, 9)),
    games: int = 10_000,
    seed: int = 0,
) -> B3Numbers:
    loaded = dataset("solar_homes", data=data, homes=homes, days=days)
    daily = daily_readings(loaded.readings())
    largest = math.ceil(float(daily.max()))
    fuse = max(largest, int(48 * FUSE))
    tops = sorted({round(end) for end in np.geomspace(largest, fuse, ranges)} | {largest, fuse})
    curves: list[Games] = []
    for done, n in enumerate(people, 1):
        curves.append(_played(daily, n, None, "", fuse, games, seed))
        for bits in budgets:
            curves += [_played(daily, n, bits, rule, fuse, games, seed) for rule in RULES]
        progress(0.7 * done / len(people))

    def at_points(readings: Floats, top: int) -> tuple[Games, ...]:
        return tuple(_played(readings, *at, CORRECTED, top, games, seed) for at in POINTS)

    number, length = daily.shape
    lengths = [*(fewer for fewer in fewer_days if fewer < length), length]
    by_range = {top: at_points(daily, top) for top in tops}
    by_days = {n: at_points(daily[:, :n], fuse) for n in lengths}
    progress(1.0)
    return B3Numbers(
        tuple(curves), by_range, by_days, number, length, loaded.synthetic, loaded.source
    )


def daily_readings(half_hours: Floats) -> Floats:
    """Return the consumption of every home on every day, in kWh, to the watt-hour.

    Refuses the mean profile of one day: it is no reading of many days.
    """
    if half_hours.shape[1] < 3:
        raise TableError(
            f"The readings are of {half_hours.shape[1]} day, and B/3 releases one reading a day",
            hint="take a file with the readings of many days, not mean profiles",
        )
    daily: Floats = np.round(half_hours.sum(axis=2), 3)
    return daily


def levels_of(people: int, bits: int, rule: str) -> int:
    """Return how many cells the mean of some people has by a rule."""
    one = Fraction(1)
    if rule == WHOLE:
        return levels_for_bits(one, one, bits)
    printed = "printed" if rule == PRINTED else "corrected"
    return levels_for_bits(one, one / people, bits, rule=printed)  # type: ignore[arg-type]  # one of the two words


def _played(  # noqa: PLR0913, PLR0917 - what is released of whom, and how often
    readings: Floats, people: int, bits: int | None, rule: str, top: int, games: int, seed: int
) -> Games:
    levels = None if bits is None else levels_of(people, bits, rule)
    policy = None if levels is None else UniformQuantizer(Fraction(0), Fraction(top), levels)
    game = MembershipGame(readings, people=people, policy=policy, range=(0, top))
    outcome = game.play(games, seed=seed)
    return Games(people, bits, rule, levels, {s.name: s.advantage for s in outcome.strategies})


def _plot3(numbers: B3Numbers) -> Chart:
    return Chart(
        f"B/3: which of two homes is in the group? Mean of n homes, {numbers.days} daily readings",
        (
            *(_strategy(numbers, name) for name in STRATEGIES),
            _at_paper_points(
                numbers.by_range, "end of the range (kWh a day)", "The range decides (added)"
            ),
            _at_paper_points(numbers.by_days, "days released", "How many days (added)"),
        ),
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
    for tone, n in enumerate(numbers.sizes):
        for rule, dash in zip(RULES, ("solid", "dashed", "dotted"), strict=True):
            estimates = [numbers.of(n, bits, rule).advantages[name] for bits in numbers.budgets]
            line = estimates_line(f"n = {n}", numbers.budgets, estimates, dash=dash, tone=tone)
            series.append(line if rule == CORRECTED else replace(line, label="", low=(), high=()))
    return Panel(
        "budget ε (bits a reading)", "advantage", tuple(series), TITLES[name], from_zero=True
    )


def _at_paper_points(played: dict[int, tuple[Games, ...]], label: str, title: str) -> Panel:
    series = tuple(
        estimates_line(
            f"n = {n}, ε = {bits}, {name}",
            played,
            (games[place].advantages[name] for games in played.values()),
            dash=dash,
            tone=place + 1,
        )
        for place, (n, bits) in enumerate(POINTS)
        for name, dash in (("correlation", "solid"), ("common peaks", "dashed"))
    )
    return Panel(label, "advantage", series, title, x_log=True, from_zero=True)


def _claims3(numbers: B3Numbers) -> Iterator[Claim]:
    yield _over_budgets(numbers)
    yield Claim(
        "Without a policy and at the largest budget the advantage falls with the number of "
        "homes. At small budgets it need not: Theorem 8 allows larger groups finer cells.",
        holds=all(
            larger.advantages[name].value < smaller.advantages[name].value
            for bits in (None, numbers.budgets[-1])
            for smaller, larger in pairwise(numbers.of(n, bits) for n in numbers.sizes)
            for name in PAPER
        ),
    )
    yield from _rules(numbers)
    yield _over_ranges(numbers)
    yield _over_days(numbers)


def _falls(curve: list[AttackEstimate]) -> int:
    """Return at how many steps a curve falls by more than both confidence intervals allow."""
    # Every step counts, since the first and the last point say nothing about those in between.
    return sum(after.high < before.low for before, after in pairwise(curve))


def _over_budgets(numbers: B3Numbers) -> Claim:
    grows = True
    for n in numbers.sizes:
        curve = [numbers.of(n, bits).best for bits in numbers.budgets]
        near = abs(curve[-1].value - numbers.of(n, None).best.value) <= 0.05
        grows &= _falls(curve) == 0 and curve[0].high < curve[-1].low and near
    single = {
        name: sum(
            _falls([numbers.of(n, bits).advantages[name] for bits in numbers.budgets])
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


def _rules(numbers: B3Numbers) -> Iterator[Claim]:
    levels = {
        (n, bits): (numbers.of(n, bits, PRINTED).levels or 0, numbers.of(n, bits).levels or 0)
        for n in numbers.sizes
        for bits in numbers.budgets
    }
    yield Claim(
        "Theorem 8, corrected, allows fewer cells than printed.",
        holds=all(corrected < printed for printed, corrected in levels.values()),
    )
    known = {at: cells for at, cells in POINTS.items() if at in levels}
    if known:
        words = ", ".join(f"{q} → {c} (n = {n}, ε = {e})" for (n, e), (q, c) in known.items())
        yield Claim(
            f"The correction in numbers: {words} cells.",
            holds=all(levels[at] == cells for at, cells in known.items()),
        )


def _over_ranges(numbers: B3Numbers) -> Claim:
    """Return where the paper's remark about almost no advantage holds."""
    first_narrow, second_narrow = numbers.by_range[min(numbers.by_range)]
    first_wide, second_wide = numbers.by_range[numbers.top]
    least = min(games[1].best.value for games in numbers.by_range.values())
    return Claim(
        "The paper finds almost no advantage at n = 4, ε = 2 and n = 8, ε = 3, stating no range. "
        f"At n = 4, ε = 2 it depends on the range: {first_wide.best.value:.2f} by the best of its "
        f"strategies over 0 to {numbers.top} kWh a day, {first_narrow.best.value:.2f} over 0 to "
        f"{min(numbers.by_range)}, the largest reading. At n = 8, ε = 3 it is "
        f"{second_wide.best.value:.2f} and {second_narrow.best.value:.2f}, and at least "
        f"{least:.2f} over every range tried: more than almost none.",
        holds=first_wide.best.high < first_narrow.best.low and least > 0.1,
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
        holds=_falls(curve) == 0,
    )


def fig3() -> Figure[B3Numbers]:
    """Return the figure of the membership game on the mean of n homes, day by day for a year.

    Its sizes are ``homes``, ``days`` and ``fewer_days`` (the first days, also released alone), the
    number of ``ranges`` from the largest reading to what a fuse allows, ``people`` of a group,
    ``budgets`` in bits for each reading, and how many ``games`` are played for each point.
    """
    return Figure(
        name="B/3",
        title="Advantage in the membership game",
        shows=(
            "How well an adversary who knows the daily readings of two homes tells which of them "
            "is in a group of n, from the group’s mean in cells, day by day for a year. The cells "
            "are those of Theorem 8 as printed, which does not keep its promise, and corrected. "
            "The paper does not state the range; the finding of almost no advantage depends on it."
        ),
        compute=_compute3,
        plot=_plot3,
        claims=_claims3,
        data="solar_homes",
    )


# --- figure 4: how well running appliances are recognised from a house's released power --------


@dataclass(frozen=True)
class B4Numbers:
    """The findings of load monitoring, by the bits of a reading."""

    by_bits: dict[int, LoadFinding]
    top: int
    synthetic: bool

    @property
    def last(self) -> LoadFinding:
        """The finding at the largest budget."""
        return self.by_bits[max(self.by_bits)]


def _compute4(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress = unwatched,
    days: int = 28,
    budgets: tuple[int, ...] = tuple(range(13)),
) -> B4Numbers:
    house = dataset("redd", data=data, days=days)
    missing = [name for name in TOP_FIVE if name not in house.columns]
    if missing:
        raise TableError(
            f"The house has no appliance '{missing[0]}'", hint="take house 1, as the paper does"
        )
    # Trained on a week of four, as in the paper; some appliances always draw a few watts.
    home = LoadMonitoring(house.table, total="mains", columns=TOP_FIVE, train=0.25, states=2, on=30)
    top = max(10_000, int(home.signals.total.max()) + 1)  # watts: a public range
    by_bits = {}
    for done, bits in enumerate(budgets, 1):
        levels = levels_for_bits(Fraction(top), Fraction(top), bits)
        by_bits[bits] = home.attack(UniformQuantizer(Fraction(0), Fraction(top), levels))
        progress(done / len(budgets))
    return B4Numbers(by_bits, top, house.synthetic)


def _plot4(numbers: B4Numbers) -> Chart:
    budget, by_bits = "budget ε (bits a reading)", numbers.by_bits
    bits = tuple(map(float, by_bits))
    overall = [finding.overall for finding in by_bits.values()]
    chances = {
        "chance for the middle": [s.chance for s in overall],
        "chance for the trained": [s.trained_chance for s in overall],
    }
    panels = [
        Panel(
            budget,
            "f-score of all appliances",
            (
                estimates_line(
                    "nearest sum to the cell’s middle", bits, (s.released for s in overall)
                ),
                estimates_line("trained cell by cell (added)", bits, (s.trained for s in overall)),
                *(
                    Series(label, bits, tuple(chance), dash="dashed", tone=tone)
                    for tone, (label, chance) in enumerate(chances.items())
                ),
            ),
            title="All appliances together",
            marks=(("true signal", overall[-1].true.value),),
            from_zero=True,
        )
    ]
    for title, gain in (("the cell’s middle", "gain"), ("trained cell by cell", "trained_gain")):
        lines = tuple(
            estimates_line(
                name, bits, (getattr(each.appliances[at], gain) for each in by_bits.values())
            )
            for at, name in enumerate(map(_without_channel, numbers.last.appliances))
        )
        panels.append(Panel(budget, "f-score beyond chance", lines, f"One by one: {title} (added)"))
    return Chart(
        "B/4: load monitoring of a house",
        tuple(panels),
        note=f"⌊2^ε⌋ cells over 0 to {numbers.top / 1000:g} kW; intervals of 95 %.",
        synthetic=numbers.synthetic,
        across=3,
    )


def _without_channel(score: ApplianceScore) -> str:
    """Return the name of an appliance without the number of its channel."""
    return score.name.rpartition("_")[0].replace("_", " ")


def _claims4(numbers: B4Numbers) -> Iterator[Claim]:
    last = numbers.last.overall
    scores = [finding.overall.released.value for finding in numbers.by_bits.values()]
    yield Claim(
        "From the true signal appliances are recognised with an f-score of "
        f"{last.true.value:.2f}; the largest budget comes within 0.05 of it "
        f"({last.released.value:.2f}).",
        holds=abs(last.released.value - last.true.value) <= 0.05 and last.gain.low > 0,
    )
    yield Claim(
        "With zero bits, neither adversary recognises any appliance better than chance.",
        holds=all(
            abs(gain.value) < 1e-12
            for bits, finding in numbers.by_bits.items()
            if bits == 0
            for score in finding.appliances
            for gain in (score.gain, score.trained_gain)
        ),
    )
    yield _few_bits(numbers)
    yield _trained(numbers)
    yield Claim(
        "The f-score alone misleads: it does not always rise with the budget, and a signal "
        f"that tells nothing has {scores[0]:.2f} by chance.",
        holds=scores != sorted(scores) and 0 < scores[0] <= max(scores),
    )


def _few_bits(numbers: B4Numbers) -> Claim:
    """Return how well a few bits show all appliances together, and each of them."""
    few = [finding for bits, finding in numbers.by_bits.items() if bits <= 3]
    pooled = max(finding.overall.gain.value for finding in few)
    gains = {}
    for at, score in enumerate(numbers.last.appliances):
        best = [finding.appliances[at].best[2] for finding in few]
        gains[_without_channel(score)] = (
            max(gain.value for gain in best),
            max(gain.low for gain in best),
            score.gain.value,
        )
    ranked = sorted(gains, key=lambda name: -gains[name][0])
    listed = ", ".join(f"{name} {gains[name][0]:.2f}" for name in ranked)
    most, sure, whole = gains[ranked[0]]
    largest = numbers.last.overall.gain.value
    return Claim(
        "Up to 3 bits a reading look harmless only when all appliances are pooled: the "
        f"cell’s middle then gives {pooled:.2f} beyond chance, of {largest:.2f} at the "
        f"largest budget. One by one, the better adversary gains {listed}.",
        holds=pooled < largest / 2 and sure > 0 and most > whole / 2,
    )


def _trained(numbers: B4Numbers) -> Claim:
    """Return where training cell by cell beats the cell's middle most."""
    more, bits, score = max(
        (
            (score.trained_gain.value - score.gain.value, bits, score)
            for bits, finding in numbers.by_bits.items()
            for score in finding.appliances
        ),
        key=lambda pair: pair[0],
    )
    return Claim(
        "An adversary who knows what runs at each released value does better than one who takes "
        f"the cell’s middle, most at {bits} bits: {_without_channel(score)} "
        f"{score.trained.value:.2f} instead of {score.released.value:.2f}.",
        holds=more > 0.1,
    )


def fig4() -> Figure[B4Numbers]:
    """Return the figure of load monitoring against the bits of a reading.

    Of synthetic ``days``, the first quarter is for training.
    """
    return Figure(
        name="B/4",
        title="Load monitoring against the budget",
        shows=(
            "How well the five largest appliances of a house are recognised from its power, "
            "released minute by minute in cells: by the sum of powers nearest to the cell’s "
            "middle, as in the paper, and by an adversary trained cell by cell. Compare an f-score "
            "with that of chance, and look at each appliance; the paper shows neither."
        ),
        compute=_compute4,
        plot=_plot4,
        claims=_claims4,
        data="redd",
    )


# --- figure 5: a map of the taxi trips, and the same map in boxes ------------------------------


LONGITUDE, LATITUDE = ("-74.27", "-73.68"), ("40.49", "40.92")
"""The box of Fig. 5, in degrees; public."""
TRIP_RANGES = {
    "pickup_longitude": LONGITUDE,
    "pickup_latitude": LATITUDE,
    "dropoff_longitude": LONGITUDE,
    "dropoff_latitude": LATITUDE,
}
"""Where trips begin and end, by the columns of the trips."""


@dataclass(frozen=True)
class B5Numbers:
    """How many trips begin in each box, by the budget of a point; and on a fine map."""

    counts: dict[int | str, tuple[tuple[int, ...], ...]]
    """Rows from south to north, by the bits of a budget; "map" is the fine map."""
    trips: int
    inside: int
    """How many trips begin and end in the box of the city."""
    synthetic: bool
    notes: tuple[str, ...] = ()
    """What was left out of the data."""


def _compute5(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress = unwatched,
    trips: int = 100_000,
    budgets: tuple[int, ...] = (8, 12),
    points: int = 110,
) -> B5Numbers:
    loaded = dataset("taxi", data=data, trips=trips)
    places = {name: loaded.numbers(name) for name in TRIP_RANGES}
    within = np.ones(loaded.rows, dtype=bool)
    for name, (low, high) in TRIP_RANGES.items():
        within &= (places[name] >= float(low)) & (places[name] <= float(high))
    east, north = places["pickup_longitude"][within], places["pickup_latitude"][within]
    ends = [tuple(map(float, LATITUDE)), tuple(map(float, LONGITUDE))]
    sides: dict[int | str, int] = {"map": points}
    sides |= {bits: floor_power(f"{bits}/2") for bits in budgets}
    counts = {
        name: np.histogram2d(north, east, bins=side, range=ends)[0].astype(np.int64).tolist()
        for name, side in sides.items()
    }
    return B5Numbers(
        {name: tuple(map(tuple, rows)) for name, rows in counts.items()},
        *(loaded.rows, int(within.sum()), loaded.synthetic, loaded.notes),
    )


def _plot5(numbers: B5Numbers) -> Chart:
    panels = []
    for name, counts in numbers.counts.items():
        heat = Heat(
            "log₁₀(1 + trips)",
            tuple(map(tuple, _logarithms(np.array(counts) + 1).tolist())),
            *(*map(float, LONGITUDE), *map(float, LATITUDE)),
        )
        boxes = f"ε = {name}: {len(counts)} × {len(counts)} boxes"
        title = "Where trips begin" if name == "map" else boxes
        panels.append(Panel("longitude", "latitude", heat=heat, title=title))
    return Chart(
        f"B/5: {numbers.inside:,} taxi trips in the box of New York City",
        tuple(panels),
        note=" ".join(numbers.notes),
        synthetic=numbers.synthetic,
        across=3,
    )


def _logarithms(counts: NDArray[np.int64]) -> Floats:
    """Return logarithms that are the same on every machine; NumPy's own end in other digits."""
    levels, places = np.unique(counts, return_inverse=True)
    logarithms = np.array([float(Decimal(level).log10()) for level in levels.tolist()])
    return logarithms[places].reshape(counts.shape)


def _claims5(numbers: B5Numbers) -> Iterator[Claim]:
    fine = np.array(numbers.counts["map"])
    full = np.sort(fine.ravel())[::-1]
    crowded = full[: fine.size // 50].sum() / full.sum()
    boxes = {bits: np.array(c) for bits, c in numbers.counts.items() if isinstance(bits, int)}
    yield Claim(
        "Every trip that begins and ends in the paper’s box, latitudes 40.49 to 40.92 and "
        "longitudes −74.27 to −73.68, is on the map once, and no other.",
        holds=numbers.inside == numbers.trips
        and all(counted.sum() == numbers.inside for counted in (fine, *boxes.values())),
    )
    yield Claim(
        f"Trips crowd: a fiftieth of the map has {100 * crowded:.0f} % of the pick-ups, so "
        "equal boxes hold very different numbers.",
        holds=bool(crowded > 0.75),
    )
    yield Claim(
        "A grid has at most 2^ε boxes a point.",
        holds=all(counted.size <= 2**bits for bits, counted in boxes.items()),
    )


def fig5() -> Figure[B5Numbers]:
    """Return the figure of where trips begin, on a fine map and in boxes of several budgets.

    ``budgets`` are in bits for a point; the fine map has ``points`` along a side.
    """
    return Figure(
        name="B/5",
        title="Map of the trips",
        shows=(
            "Where taxi trips begin in the part of New York City that the paper studies, and the "
            "same through the boxes of two budgets: all that is released of a point."
        ),
        compute=_compute5,
        plot=_plot5,
        claims=_claims5,
        data="taxi",
    )


# --- figure 6: the share of taxi trips that are unique when released in boxes ------------------


@dataclass(frozen=True)
class B6Point:
    """The unique trips at one budget of a point; two points make twice the budget of a trip."""

    bits: int
    down: int
    """Boxes a side, 2^(bits/2) rounded down."""
    up: int
    """The same rounded up, as the printed rule may be read."""
    unique: float
    unique_up: float
    unique_few: float | None
    """Among fewer trips, where counted."""


@dataclass(frozen=True)
class B6Numbers:
    """All budgets, and how many trips there are."""

    points: tuple[B6Point, ...]
    trips: int
    few: int
    synthetic: bool


def _compute6(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress = unwatched,
    trips: int = 100_000,
    budgets: tuple[int, ...] = (*range(1, 11), 12, 14, 16, 18, 20),
) -> B6Numbers:
    loaded = dataset("taxi", data=data, trips=trips)
    tenth = loaded.table.take(list(range(0, loaded.rows, 10)))
    points = []
    for done, bits in enumerate(budgets, 1):
        down = floor_power(f"{bits}/2")
        up = down if down * down == 2**bits else down + 1
        share = Uniqueness(loaded.table, policy=grid_policy(TRIP_RANGES, bits)).attack()
        unique = share.number.value
        more = unique if up == down else _unique(loaded.table, up)
        few = None if bits % 2 else _unique(tenth, down)
        points.append(B6Point(bits, down, up, unique, more, few))
        progress(done / len(budgets))
    return B6Numbers(tuple(points), loaded.rows, tenth.num_rows, loaded.synthetic)


def _unique(table: object, side: int) -> float:
    """Return the share of unique trips in a grid with this many boxes a side."""
    columns = tuple(
        QuantizedColumn(name, UniformQuantizer(Fraction(low), Fraction(high), side))
        for name, (low, high) in TRIP_RANGES.items()
    )
    return Uniqueness(table, policy=PolicyDocument(columns)).attack().number.value


def _plot6(numbers: B6Numbers) -> Chart:
    points = numbers.points

    def line(label: str, name: str, **look: object) -> Series:
        shares = {float(point.bits): getattr(point, name) for point in points}
        known = ((bits, float(share)) for bits, share in shares.items() if share is not None)
        return series_of(label, known, **look)

    def boxes(label: str, sides: Iterable[int], tone: int) -> Series:
        shares = (side**2 / 2**point.bits for side, point in zip(sides, points, strict=True))
        bits = tuple(float(point.bits) for point in points)
        return Series(label, bits, tuple(shares), "points", tone=tone)

    return Chart(
        f"B/6: unique start and end points of {numbers.trips:,} taxi trips",
        (
            Panel(
                "budget ε of a point (bits)",
                "share of unique trips",
                (
                    line("⌊2^(ε/2)⌋ boxes a side", "unique", tone=0),
                    line("rounded up instead", "unique_up", dash="dashed", tone=1),
                    line(f"{numbers.few:,} trips only (added)", "unique_few", tone=2),
                ),
                title="Who is alone with a released trip",
                from_zero=True,
            ),
            Panel(
                "budget ε of a point (bits)",
                "boxes / 2^ε",
                (
                    boxes("rounded down", (point.down for point in points), 0),
                    boxes("rounded up", (point.up for point in points), 1),
                ),
                title="Boxes of a point, as a share of those allowed",
                marks=(("allowed", 1.0),),
            ),
        ),
        note="A trip has two points, so its budget is 2ε. Shares are exact for these trips.",
        synthetic=numbers.synthetic,
    )


def _claims6(numbers: B6Numbers) -> Iterator[Claim]:
    points = numbers.points
    even = [point.unique for point in points if point.bits % 2 == 0]
    odd = [point for point in points if point.bits % 2]
    yield Claim(
        "Up to 8 bits a point, fewer than 1 % of the trips are unique.",
        holds=all(point.unique < 0.01 for point in points if point.bits <= 8),
    )
    yield Claim(
        "The share grows with the budget, to most trips.",
        holds=all(a <= b for a, b in pairwise(even)) and points[-1].unique > 0.9,
    )
    yield Claim(
        "Corrected: 2^(ε/2) is no whole number for odd ε. Rounded down the boxes stay within "
        "2^ε; rounded up there are more, at every odd ε.",
        holds=all(p.down**2 <= 2**p.bits for p in points)
        and all(p.up**2 > 2**p.bits and p.up == math.isqrt(2**p.bits) + 1 for p in odd),
    )
    yield Claim(
        f"Uniqueness depends on the number of trips: among {numbers.few:,} the share is larger "
        "at every budget at which a trip is unique.",
        holds=all(
            p.unique_few >= p.unique for p in points if p.unique_few is not None and p.unique > 1e-3
        ),
    )


def fig6() -> Figure[B6Numbers]:
    """Return the figure of the share of unique trips against the bits of a point, exact."""
    return Figure(
        name="B/6",
        title="Unique trips against the budget",
        shows=(
            "The share of taxi trips that nobody shares when both ends are released in boxes. A "
            "side has 2^(ε/2) boxes, which is no whole number for odd ε: rounded down it keeps the "
            "budget, rounded up it does not."
        ),
        compute=_compute6,
        plot=_plot6,
        claims=_claims6,
        data="taxi",
    )
