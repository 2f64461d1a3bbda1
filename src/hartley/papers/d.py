"""Figures of paper D: Farokhi, Non-Stochastic Hypothesis Testing for Privacy (2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from hartley.boxes.box import Box, Interval
from hartley.boxes.cut_box import CutBox
from hartley.boxes.expression import mean, variables
from hartley.datasets.catalogue import dataset
from hartley.guarantees.verify import certify
from hartley.measures.hypothesis import analyse_hypothesis
from hartley.measures.leakage import nonstochastic_leakage
from hartley.papers.figure import SYNTHETIC, Claim, Figure, series_of, unwatched
from hartley.policies.column import KeptColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.hypotheses.hiding_columns import LineColumn, MeetColumn
from hartley.policies.hypotheses.hypothesis import LatticeColumn
from hartley.policies.hypotheses.lines import BlurringPolicy, StretchPolicy, Threshold
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.quantizer import (
    UniformQuantizer,
    levels_for_indistinguishability,
    outputs_telling,
)
from hartley.ranges.relation import Relation
from hartley.report import Chart, Heat, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.papers.figure import Progress
    from hartley.policies.column import ColumnPolicy

    Column = NDArray[np.float64]
    Grid = tuple[tuple[float, ...], ...]
    Kind = Literal["blur", "stretch", "meet"]


def _rises(values: Iterable[float], *, strictly: bool = False) -> bool:
    listed = list(values)
    return listed == sorted(set(listed) if strictly else listed)


# --- figures 4 and 5: who is obese, and the policies that should hide it -----------------------


LINE = "30*(height/100)**2"
PEOPLE = Box({"weight": Interval.of((0, 200)), "height": Interval.of((0, 250))})
"""Kilograms and centimetres."""
OBESE_TEXT = f"weight >= {LINE}"
OBESE = Threshold.parse(OBESE_TEXT)


# --- figure 4: privacy against accuracy of hiding who is obese ---------------------------------


ACCURACIES = tuple(Fraction(k, 100) for k in (5, 7, 10, 14, 20, 32, 50, 100, 200, 320, 500))
EPSILONS = {
    Fraction(1, 20): 0.216321901,
    Fraction(1, 10): 0.101688002,
    Fraction(1, 5): 0.049624509,
    Fraction(1, 2): 0.019691746,
    Fraction(1): 0.009852696,
    Fraction(2): 0.004938200,
    Fraction(5): 0.001982148,
}
"""What Theorem 4 claims, as verified, by accuracy."""
LIMIT = 0.01
"""To which epsilon times rho tends."""


@dataclass(frozen=True)
class D4Point:
    """One accuracy: what Theorem 4 claims, and what each policy really keeps."""

    accuracy: Fraction
    claimed: float
    """Epsilon by the formula of the theorem, from the volume of the band."""
    stretched: float
    """Epsilon of the corrected policy, by its certificate; never above the truth."""
    blurred: float
    """Epsilon of the printed policy by the volume of outputs, equation 9."""
    left_open: float
    """Epsilon of the printed policy counted in records, by its certificate."""


@dataclass(frozen=True)
class D4Numbers:
    """One point an accuracy, in ascending order."""

    points: tuple[D4Point, ...]


def _compute4(
    *,
    progress: Progress = unwatched,
    accuracies: tuple[Fraction, ...] = ACCURACIES,
) -> D4Numbers:
    points = []
    for done, accuracy in enumerate(accuracies, 1):
        blur = BlurringPolicy(OBESE, 1 / accuracy, PEOPLE)
        band = blur.band().low
        # The band ends on a curve: what can come out are the decided records, and no more volume.
        outputs = deciding = PEOPLE.volume - band
        points.append(
            D4Point(
                accuracy=accuracy,
                claimed=float(band / (PEOPLE.volume - band)),
                stretched=2 ** float(certify(StretchPolicy(OBESE, 1 / accuracy, PEOPLE)).value) - 1,
                blurred=float(outputs / deciding - 1),
                left_open=2 ** float(certify(blur).value) - 1,
            )
        )
        progress(done / len(accuracies))
    return D4Numbers(tuple(points))


def _plot4(numbers: D4Numbers) -> Chart:
    rho = tuple(float(point.accuracy) for point in numbers.points)
    claimed = tuple(point.claimed for point in numbers.points)
    stretched = tuple(point.stretched for point in numbers.points)
    blurred = tuple(point.blurred for point in numbers.points)
    left = Panel(
        "accuracy ρ (1/kg)",
        "privacy ε",
        (
            Series("claimed by Theorem 4", rho, claimed, tone=7),
            Series("stretch policy (corrected), certified", rho, stretched, "points", tone=0),
            Series("0.01/ρ", rho, tuple(LIMIT / r for r in rho), dash="dashed", tone=5),
        ),
        title="Privacy falls as accuracy grows",
        x_log=True,
        y_log=True,
    )
    right = Panel(
        "accuracy ρ (1/kg)",
        "ε by the volume of outputs",
        (
            Series("stretch policy (corrected)", rho, stretched, tone=0),
            Series("blurring policy (as printed)", rho, blurred, tone=1),
        ),
        title="By volume, the printed policy keeps none of it",
        x_log=True,
    )
    return Chart("D/4: hiding who is obese, privacy against accuracy", (left, right))


def _claims4(numbers: D4Numbers) -> Iterator[Claim]:
    points = numbers.points
    products = [point.claimed * float(point.accuracy) for point in points if point.accuracy >= 1]
    known = [(p.claimed, EPSILONS[p.accuracy]) for p in points if p.accuracy in EPSILONS]
    yield Claim(
        "The more accurate the report, the less private: ε falls with ρ.",
        holds=_rises((-point.claimed for point in points), strictly=True),
    )
    yield Claim(
        "Privacy times accuracy is constant in the limit: from ρ = 1 on, ερ is within 2 % of 0.01.",
        holds=bool(products) and all(abs(p / LIMIT - 1) < 0.02 for p in products),
    )
    yield Claim(
        f"At ρ = {', '.join(f'{float(a):g}' for a in EPSILONS)} ε has the verified values, "
        "from 0.2163 to 0.0020.",
        holds=len(known) > 0 and all(abs(a - b) < 3e-6 * b for a, b in known),
    )
    yield Claim(
        "Of values without a step, the stretch policy keeps what the theorem claims, by its "
        "own certificate.",
        holds=all(math.isclose(p.stretched, p.claimed, rel_tol=1e-4) for p in points),
    )
    yield Claim(
        "By the volume of outputs the printed policy keeps ε = 0 at any accuracy, since the "
        "band collapses onto a curve; counted in records it leaves open what the theorem "
        "claims.",
        holds=all(
            p.blurred == 0 and math.isclose(p.left_open, p.claimed, rel_tol=1e-4) for p in points
        ),
    )


def fig4() -> Figure[D4Numbers]:
    """Return the figure of epsilon against accuracy, by Theorem 4 and by certificates."""
    return Figure(
        name="D/4",
        title="Privacy against accuracy of reported weight and height",
        shows=(
            "How much privacy ε against a test for obesity remains when reported weights may be "
            "off by 1/ρ kg. Corrected: the printed policy, which reports the line itself near the "
            "line, keeps none of it by the volume of outputs, though its records are left open; "
            "the stretch policy keeps all that the theorem claims."
        ),
        compute=_compute4,
        plot=_plot4,
        claims=_claims4,
    )


# --- figure 5: the histogram of reported weights and heights, by three policies ----------------


ROUGHER = tuple(Fraction(2, k) for k in (4, 10, 20, 25, 40))
HEIGHTS, WEIGHTS = (140, 215), (35, 135)
NAMES: dict[Kind, str] = {
    "blur": "printed policy",
    "stretch": "stretch policy",
    "meet": "meet policy",
}
"""Of the survey, in whole kilograms, `hartley release` takes the first and the last."""


@dataclass(frozen=True)
class ReportedPeople:
    """The reports of everybody by one policy, and what they hide."""

    kind: str
    accuracy: Fraction
    counts: Grid
    """How many people are reported in each cell: rows are weights, columns heights."""
    largest_move: float
    moved_heights: bool
    on_line: int
    """How many people are reported exactly on the line."""
    near: int
    """How many people are closer to the line than 1/rho."""
    hidden: int
    """How many are reported like some whole weight on the other side, at the same height."""
    hidden_obese: int
    """How many of them are obese."""
    misjudged: int
    """How many people are judged wrongly if the report is taken for the truth."""
    misjudged_afar: int
    """How many of them are not near the line."""
    change: float
    """The least share of the people who changed their cell in the picture."""


@dataclass(frozen=True)
class D5Numbers:
    """People as they are, and as the policies report them."""

    people: int
    obese: int
    counts: Grid
    reports: tuple[ReportedPeople, ...]
    synthetic: bool

    def of(self, kind: str) -> list[ReportedPeople]:
        """Return the reports of a policy, the most accurate first."""
        reports = [report for report in self.reports if report.kind == kind]
        return sorted(reports, key=lambda report: -report.accuracy)


def _compute5(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress = unwatched,
    accuracies: tuple[Fraction, ...] = ROUGHER,
) -> D5Numbers:
    survey = dataset("young_people", data=data).complete("Height", "Weight")
    height, weight = (
        survey.numbers(name).clip(float(PEOPLE[side].low), float(PEOPLE[side].high))
        for name, side in (("Height", "height"), ("Weight", "weight"))
    )
    reports: list[ReportedPeople] = []
    for accuracy in accuracies:
        for kind in NAMES:
            reports.append(_reported(kind, accuracy, height, weight))
            progress(len(reports) / (len(accuracies) * len(NAMES)))
    return D5Numbers(
        people=survey.rows,
        obese=int((weight >= _line(height)).sum()),
        counts=_counts(height, weight),
        reports=tuple(reports),
        synthetic=survey.synthetic,
    )


def _line(height: Column) -> Column:
    """Return the weight at which a person of a height is obese, as the policies compute it."""
    return 30 * (height / 100) ** 2


def _reported(kind: Kind, accuracy: Fraction, height: Column, weight: Column) -> ReportedPeople:
    # Everybody, and after them every whole weight at every height that occurs.
    every = np.meshgrid(np.unique(height), np.arange(float(PEOPLE["weight"].high) + 1))
    heights, weights = np.append(height, every[0]), np.append(weight, every[1])
    released, same = _released(kind, 1 / accuracy, heights, weights)
    side = 10_000 * weights >= 30 * heights**2
    _, output = np.unique(np.stack([heights, released]), axis=1, return_inverse=True)
    sides = [np.bincount(output.ravel(), side == holds) > 0 for holds in (False, True)]
    hidden = (sides[0] & sides[1])[output.ravel()][: len(weight)]
    reported, line = released[: len(weight)], _line(height)
    near = np.abs(weight - line) <= float(1 / accuracy)
    obese, judged = weight >= line, reported >= line
    counts = _counts(height, reported)
    before = np.array(_counts(height, weight))
    return ReportedPeople(
        kind=kind,
        accuracy=accuracy,
        counts=counts,
        largest_move=float(np.abs(reported - weight).max()),
        moved_heights=not same,
        on_line=int(np.isclose(reported, line, rtol=0, atol=1e-9).sum()),
        near=int(near.sum()),
        hidden=int(hidden.sum()),
        hidden_obese=int((hidden & obese).sum()),
        misjudged=int((obese != judged).sum()),
        misjudged_afar=int(((obese != judged) & ~near).sum()),
        change=float(np.abs(np.array(counts) - before).sum() / 2 / len(weight)),
    )


def _released(kind: Kind, reach: Fraction, height: Column, weight: Column) -> tuple[Column, bool]:
    """Return the weights that the engine releases, and whether the heights are unchanged."""
    import pyarrow as pa

    from hartley.tables.column_map import apply_map
    from hartley.tables.opening import open_table

    side = {name: (PEOPLE[name].low, PEOPLE[name].high) for name in PEOPLE.names}
    table = open_table(
        pa.table({"weight": weight, "height": height, "row": np.arange(len(weight))})
    )
    if kind == "meet":
        steps = {name: LatticeColumn(*ends, Fraction(1)) for name, ends in side.items()}
        moved: ColumnPolicy = MeetColumn(MeetPolicy(OBESE_TEXT, steps, ["weight"], reach))
    else:
        moved = LineColumn(kind, "weight", LINE, reach, *side["weight"])
    unchanged = KeptColumn.read("height", *side["height"]), KeptColumn.read("row")
    policy = PolicyDocument((moved, *unchanged))
    released = apply_map(table, policy.to_map()).expression.to_pyarrow().sort_by("row")
    same = bool((released["height"].to_numpy() == height).all())
    return released["weight"].to_numpy(), same


def _counts(height: Column, weight: Column) -> Grid:
    counts, _, _ = np.histogram2d(weight, height, bins=(40, 38), range=(WEIGHTS, HEIGHTS))
    return tuple(map(tuple, counts.tolist()))


def _plot5(numbers: D5Numbers) -> Chart:
    panels = [_histogram("As they are", numbers.counts)]
    shares = {
        "stretch": _hidden(numbers, "hidden_obese", "obese people", numbers.obese),
        "meet": _hidden(numbers, "hidden", "all people", numbers.people),
    }
    for kind, name in NAMES.items():
        if kind in shares:
            panels.append(shares[kind])
        panels += [
            _histogram(f"{name.capitalize()}, ρ = {float(report.accuracy):g}", report.counts)
            for report in numbers.of(kind)
            if report.accuracy in (Fraction(1, 5), Fraction(1, 20))
        ]
    return Chart(
        "D/5: reported weight and height",
        tuple(panels),
        synthetic=numbers.synthetic,
        across=3,
    )


def _histogram(title: str, counts: Grid) -> Panel:
    heat = Heat("people", counts, *map(float, (*HEIGHTS, *WEIGHTS)))
    tall = [
        float(h) for h in range(HEIGHTS[0], HEIGHTS[1] + 1) if 30 * (h / 100) ** 2 <= WEIGHTS[1]
    ]
    line = Series("BMI 30", tuple(tall), tuple(30 * (h / 100) ** 2 for h in tall), tone=1)
    return Panel("height (cm)", "weight (kg)", (line,), title=title, heat=heat)


def _hidden(numbers: D5Numbers, field: str, whom: str, of: int) -> Panel:
    lines = []
    for tone, (kind, name) in enumerate(NAMES.items()):
        reports = numbers.of(kind)
        reach = tuple(float(1 / report.accuracy) for report in reports)
        shares = tuple(getattr(report, field) / max(of, 1) for report in reports)
        lines.append(Series(name, reach, shares, dash="solid" if tone else "dashed", tone=tone))
    title = f"Share of {whom} whose side the output hides"
    return Panel("allowed error 1/ρ (kg)", "share", tuple(lines), title=title, from_zero=True)


def _claims5(numbers: D5Numbers) -> Iterator[Claim]:
    blur, stretch, meet = (numbers.of(kind) for kind in NAMES)
    everything = (*blur, *stretch, *meet)
    odd = [r for r in stretch if (1 / r.accuracy).denominator != 1]
    last = stretch[-1]
    yield Claim(
        "No weight is reported further than 1/ρ from the truth, and no height is changed.",
        holds=all(
            r.largest_move <= float(1 / r.accuracy) + 1e-9 and not r.moved_heights
            for r in everything
        ),
    )
    yield Claim(
        "The lower the accuracy, the more the histogram changes.",
        holds=all(
            _rises((r.change for r in each), strictly=True) for each in (blur, stretch, meet)
        ),
    )
    yield Claim(
        "By the printed policy and by meeting, the lower the accuracy, the more obese people "
        "are reported as somebody on the other side of the line could be. Meeting hides as "
        "many people as the printed policy, or more.",
        holds=all(
            _rises(r.hidden_obese for r in each) and each[-1].hidden_obese > each[0].hidden_obese
            for each in (blur, meet)
        )
        and all(b.hidden <= m.hidden for b, m in zip(blur, meet, strict=True)),
    )
    yield Claim(
        "Stretching hides nobody where 1/ρ is no whole number of kilograms, as the weights are "
        "(12.5 kg), and where it is, about as many as the printed policy: within "
        f"{float(1 / last.accuracy):g} kg {last.hidden} people, {last.hidden_obese} of them obese, "
        f"where {last.near} are so near to the line. Doubles tell the others apart.",
        holds=all(r.hidden == 0 < r.near for r in odd)
        and all(
            r in odd or 0.9 * b.hidden <= r.hidden <= b.hidden
            for b, r in zip(blur, stretch, strict=True)
        )
        and last.hidden < last.near,
    )
    yield Claim(
        "The printed policy puts everybody near the line exactly onto it, where the histogram "
        "shows a ridge; the stretch policy puts nearly nobody there.",
        holds=all(r.on_line >= r.near > 0 for r in blur)
        and all(r.on_line <= max(3, 0.1 * r.near) for r in stretch),
    )
    yield Claim(
        "Taken for the truth, reports misjudge people near the line and nobody else.",
        holds=all(r.misjudged_afar == 0 for r in everything) and last.misjudged > 0.2 * last.near,
    )


def fig5() -> Figure[D5Numbers]:
    """Return the figure of everybody's weight as three policies report it."""
    return Figure(
        name="D/5",
        title="Histogram of reported weight and height",
        shows=(
            "Weights and heights of young people as they are, and as reported so that nobody can "
            "test who is obese: by the printed policy, which piles people up on the line; by "
            "stretching, which spreads both sides over the band and is meant for values without a "
            "step; and by meeting, the policy for whole kilograms. Who is hidden is counted from "
            "the outputs. Darker is more people."
        ),
        compute=_compute5,
        plot=_plot5,
        claims=_claims5,
        data="young_people",
    )


# --- figure 6: the bound that epsilon-privacy sets on the information leakage ------------------


@dataclass(frozen=True)
class MeasuredRelease:
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
    one_sided: tuple[MeasuredRelease, ...]
    """Releases in which one hypothesis is never proved: they attain the corrected bound."""
    two_sided: tuple[MeasuredRelease, ...]
    """Releases in which as many outputs prove the hypothesis as refute it."""


def _printed(privacy: float) -> float:
    return -math.log(1 - math.exp(-privacy))


def _corrected(privacy: float) -> float:
    return math.log(1 + 1 / privacy)


def _compute6(
    *,
    progress: Progress = unwatched,
    points: int = 120,
    outputs: int = 60,
) -> D6Numbers:
    privacies = tuple(0.1 * 60 ** (k / (points - 1)) for k in range(points))
    open_ones = [outputs * k // 12 for k in range(2, 11)]
    return D6Numbers(
        privacies=privacies,
        printed=tuple(map(_printed, privacies)),
        appendix=tuple(-math.log(1 - math.exp(-e - 1)) for e in privacies),
        corrected=tuple(map(_corrected, privacies)),
        one_sided=tuple(_measured(n, 0, outputs - n) for n in open_ones),
        two_sided=tuple(
            _measured(n, (outputs - n) // 2, outputs - n - (outputs - n) // 2) for n in open_ones
        ),
    )


def _measured(both: int, true: int, false: int) -> MeasuredRelease:
    """Measure a release: how many outputs leave the hypothesis open, prove it and refute it."""
    pairs = [(h, f"open {k}") for h in (True, False) for k in range(both)]
    pairs += [(True, f"true {k}") for k in range(true)]
    pairs += [(False, f"false {k}") for k in range(false)]
    relation = Relation.from_pairs(pairs)
    privacy = analyse_hypothesis(relation, {True}, base=math.e).privacy
    return MeasuredRelease(math.expm1(privacy), nonstochastic_leakage(relation.swap(), base=math.e))


def _plot6(numbers: D6Numbers) -> Chart:
    def points(label: str, releases: tuple[MeasuredRelease, ...], tone: int) -> Series:
        places = ((release.privacy, release.leakage) for release in releases)
        return series_of(label, places, kind="points", tone=tone)

    e = numbers.privacies
    proof = "bound of the printed proof: −ln(1 − exp(−ε−1))"
    panel = Panel(
        "privacy ε",
        "L₀(Y;H) (nats)",
        (
            Series("bound, corrected: ln(1 + 1/ε)", e, numbers.corrected, tone=0),
            Series("bound, printed: −ln(1 − exp(−ε))", e, numbers.printed, dash="dashed", tone=1),
            Series(proof, e, numbers.appendix, dash="dotted", tone=1),
            points("releases that refute or leave open", numbers.one_sided, 3),
            points("releases that prove, refute or leave open", numbers.two_sided, 2),
        ),
        x_log=True,
        from_zero=True,
    )
    return Chart("D/6: what ε-privacy says about the leakage L₀(Y;H)", (panel,))


def _claims6(numbers: D6Numbers) -> Iterator[Claim]:
    bounds, one_sided = numbers.corrected, numbers.one_sided
    yield Claim(
        "The more private the release, the less the hypothesis can tell about its output; "
        "the bound goes to zero.",
        holds=list(bounds) == sorted(bounds, reverse=True) and bounds[-1] < 0.2,
    )
    yield Claim(
        "Every measured release keeps the corrected bound L₀(Y;H) ≤ ln(1 + 1/ε).",
        holds=all(
            r.leakage <= _corrected(r.privacy) + 1e-12 for r in (*one_sided, *numbers.two_sided)
        ),
    )
    yield Claim(
        "It is attained by releases that never prove the hypothesis.",
        holds=all(math.isclose(r.leakage, _corrected(r.privacy)) for r in one_sided),
    )
    yield Claim(
        "The printed bound is broken by each of those, and below the corrected one everywhere.",
        holds=all(r.leakage > _printed(r.privacy) for r in one_sided)
        and all(a < b for a, b in zip(numbers.printed, bounds, strict=True)),
    )


def fig6() -> Figure[D6Numbers]:
    """Return the figure of the printed and the corrected bound, with releases that test them."""
    return Figure(
        name="D/6",
        title="Information leakage against privacy",
        shows=(
            "The most that the hypothesis can tell about what is released, L₀(Y;H), when a release "
            "is ε-private. The printed bound is too low: measured releases break it, and attain "
            "the corrected one."
        ),
        compute=_compute6,
        plot=_plot6,
        claims=_claims6,
    )


# --- figure 7: how many levels of a mean keep people indistinguishable -------------------------


LEVELS = {1: (1, 9), 2: (5, 14), 3: (15, 24)}
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


def _compute7(
    *,
    progress: Progress = unwatched,
    people: tuple[int, ...] = (5, 20, 100),
    most_bits: int = 8,
) -> D7Numbers:
    budgets = tuple(range(1, most_bits + 1))
    means = []
    for n in people:
        weights = [Fraction(1, n)] * n
        printed = [levels_for_indistinguishability(weights, b, rule="printed") for b in budgets]
        sharp = [levels_for_indistinguishability(weights, b) for b in budgets]
        means.append(
            Mean(
                people=n,
                printed=tuple(printed),
                sharp=tuple(sharp),
                telling_printed=tuple(outputs_telling(weights, q) for q in printed),
                telling_sharp=tuple(outputs_telling(weights, q) for q in sharp),
                telling_beyond=tuple(outputs_telling(weights, q + 1) for q in sharp),
            )
        )
    return D7Numbers(budgets, tuple(means))


def _plot7(numbers: D7Numbers) -> Chart:
    bits = tuple(map(float, numbers.budgets))
    levels = []
    for tone, mean_ in enumerate(numbers.means):
        name = f"{mean_.people} people"
        sharp, printed = tuple(map(float, mean_.sharp)), tuple(map(float, mean_.printed))
        levels += [
            Series(f"{name}, sharp", bits, sharp, tone=tone),
            Series(f"{name}, as printed", bits, printed, dash="dashed", tone=tone),
        ]
    widest = numbers.means[-1]

    def used(label: str, telling: tuple[int, ...], tone: int) -> Series:
        shares = tuple(t / 2**b for t, b in zip(telling, numbers.budgets, strict=True))
        return Series(label, tuple(map(str, numbers.budgets)), shares, "bars", tone=tone)

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
                (
                    used("sharp", widest.telling_sharp, 0),
                    used("as printed", widest.telling_printed, 1),
                ),
                title=f"How much of the budget is used, {widest.people} people",
                from_zero=True,
            ),
        ),
    )


def _claims7(numbers: D7Numbers) -> Iterator[Claim]:
    allowed = [2**bits for bits in numbers.budgets]
    yield Claim(
        "By the sharp rule more bits allow more levels, and so do more people.",
        holds=all(_rises(m.sharp, strictly=True) for m in numbers.means)
        and all(
            a < b
            for fewer, more in pairwise(numbers.means)
            for a, b in zip(fewer.sharp, more.sharp, strict=True)
        ),
    )
    yield Claim(
        "The printed rule is sound but conservative: it never allows more levels than the "
        "sharp one.",
        holds=all(
            q <= best and telling <= k
            for m in numbers.means
            for q, best, telling, k in zip(
                m.printed, m.sharp, m.telling_printed, allowed, strict=True
            )
        ),
    )
    yield Claim(
        "The sharp rule is sharp: at most 2^ε outputs tell one value of a person from "
        "another, and with one level more there would be more.",
        holds=all(
            telling <= k < beyond
            for m in numbers.means
            for telling, beyond, k in zip(m.telling_sharp, m.telling_beyond, allowed, strict=True)
        ),
    )
    of_five = [m for m in numbers.means if m.people == 5]
    if of_five and set(LEVELS) <= set(numbers.budgets):
        levels = zip(numbers.budgets, of_five[0].printed, of_five[0].sharp, strict=True)
        yield Claim(
            "For the mean of five and 1, 2, 3 bits: 1, 5, 15 levels as printed, 9, 14, 24 sharp.",
            holds={b: (p, s) for b, p, s in levels if b in LEVELS} == LEVELS,
        )


def fig7() -> Figure[D7Numbers]:
    """Return the figure of levels by Theorem 5, as printed and by the sharp rule; all exact."""
    return Figure(
        name="D/7",
        title="Levels of a quantizer against the budget",
        shows=(
            "How many levels a released mean may have so that at most 2^ε outputs tell one value "
            "of a person from another: by Theorem 5 as printed, which allows fewer levels than "
            "possible, and by the sharp rule."
        ),
        compute=_compute7,
        plot=_plot7,
        claims=_claims7,
    )


# --- figure 8: the leakage of a mean about everybody, and about one person ---------------------


@dataclass(frozen=True)
class D8Numbers:
    """Leakages in nats: a row a budget, a column a number of people."""

    people: tuple[int, ...]
    budgets: tuple[int, ...]
    everybody_printed: Grid
    everybody_sharp: Grid
    person_printed: Grid
    person_sharp: Grid


def _compute8(
    *,
    progress: Progress = unwatched,
    most_people: int = 30,
    most_bits: int = 6,
) -> D8Numbers:
    people, budgets = tuple(range(2, most_people + 1)), tuple(range(1, most_bits + 1))
    everybody: list[tuple[float, ...]] = []
    person: list[tuple[float, ...]] = []
    for rule in ("printed", "corrected"):
        for bits in budgets:
            row = [
                (n, levels_for_indistinguishability([Fraction(1, n)] * n, bits, rule=rule))
                for n in people
            ]
            everybody.append(tuple(_leakage(n, q) for n, q in row))
            # About one person: given the outermost cell, the value is below n/q.
            person.append(tuple(math.log(max(1.0, q / n)) for n, q in row))
            progress(len(person) / (2 * most_bits))
    return D8Numbers(
        people,
        budgets,
        everybody_printed=tuple(everybody[:most_bits]),
        everybody_sharp=tuple(everybody[most_bits:]),
        person_printed=tuple(person[:most_bits]),
        person_sharp=tuple(person[most_bits:]),
    )


def _leakage(people: int, levels: int) -> float:
    """Return L0(X;Y), that of the outermost cell: -ln IrwinHall_n(n/q)."""
    box = Box.cube(0, 1, size=people)
    edges = UniformQuantizer(Fraction(0), Fraction(1), levels).edges
    return nonstochastic_leakage(CutBox(box, mean(variables(*box.names)), edges), base=math.e)


def _plot8(numbers: D8Numbers) -> Chart:
    people, budgets = numbers.people, numbers.budgets
    ends = (people[0] - 0.5, people[-1] + 0.5, budgets[0] - 0.5, budgets[-1] + 0.5)
    grids = {
        "About everybody, L₀(X;Y), levels as printed": numbers.everybody_printed,
        "About one person, L₀(Xᵢ;Y), levels as printed": numbers.person_printed,
        "About everybody, L₀(X;Y), sharp levels": numbers.everybody_sharp,
        "About one person, L₀(Xᵢ;Y), sharp levels": numbers.person_sharp,
    }
    return Chart(
        "D/8: what a mean that keeps everybody ε-indistinguishable leaks",
        tuple(
            Panel(
                "number of people n",
                "budget ε (bits)",
                heat=Heat("nats", values, *ends),
                title=title,
            )
            for title, values in grids.items()
        ),
    )


def _claims8(numbers: D8Numbers) -> Iterator[Claim]:
    printed, sharp = numbers.everybody_printed, numbers.everybody_sharp
    by_bits = dict(zip(numbers.budgets, printed, strict=True))
    yield Claim(
        "The smaller ε, the less leaks or as much, about everybody and about one person.",
        holds=all(
            _rises(column)
            for grid in (printed, sharp, numbers.person_printed, numbers.person_sharp)
            for column in zip(*grid, strict=True)
        ),
    )
    yield Claim(
        "About everybody it grows with the number of people at every ε of 2 bits or more; the "
        "paper says that it falls.",
        holds=len(printed) > 1
        and all(_rises(row, strictly=True) for bits, row in by_bits.items() if bits >= 2),
    )
    yield Claim(
        "With the printed levels and ε = 2 it is ln n!.",
        holds=2 in by_bits
        and all(
            math.isclose(leakage, math.lgamma(n + 1), rel_tol=1e-12)
            for n, leakage in zip(numbers.people, by_bits[2], strict=True)
        ),
    )
    yield Claim(
        "About one person, with the printed levels, it does not depend on the number of "
        "people: ln(2^(ε−1) − 1) from ε = 2 on.",
        holds=all(
            math.isclose(leakage, math.log(max(1, 2 ** (bits - 1) - 1)), abs_tol=1e-12)
            for bits, row in zip(numbers.budgets, numbers.person_printed, strict=True)
            for leakage in row
        ),
    )
    yield Claim(
        "The sharp rule allows more levels for the same promise, so more leaks.",
        holds=all(
            a <= b + 1e-12
            for printed_row, sharp_row in zip(printed, sharp, strict=True)
            for a, b in zip(printed_row, sharp_row, strict=True)
        ),
    )


def fig8() -> Figure[D8Numbers]:
    """Return the figure of L0(X;Y) about everybody and L0(Xi;Y) about one person; all exact."""
    return Figure(
        name="D/8",
        title="Leakage of a mean against people and budget",
        shows=(
            "What the released mean leaks when its levels follow Theorem 5: lighter is more. "
            "Corrected: about everybody together the leakage grows with the number of people, "
            "where the paper says that it falls; what does not grow is the leakage about one "
            "person."
        ),
        compute=_compute8,
        plot=_plot8,
        claims=_claims8,
    )
