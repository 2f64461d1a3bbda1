"""Figure 5 of paper D: the histogram of reported weights and heights, by three policies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

from hartley.datasets.catalogue import dataset
from hartley.papers.d.obesity import LINE, OBESE_TEXT, PEOPLE
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Heat, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hartley.papers.figure import Progress
    from hartley.policies.column import ColumnPolicy

    Column = NDArray[np.float64]
    Grid = tuple[tuple[float, ...], ...]
    Kind = Literal["blur", "stretch", "meet"]

DATA = "young_people"
ACCURACIES = (*(Fraction(1, k) for k in (2, 5, 10)), Fraction(2, 25), Fraction(1, 20))
SHOWN = (Fraction(1, 5), Fraction(1, 20))
HEIGHTS, WEIGHTS = (140, 215), (35, 135)
BINS = (38, 40)
"""Of heights and of weights in the pictures."""
NAMES = {"blur": "printed policy", "stretch": "stretch policy", "meet": "meet policy"}
"""Of the survey, in whole kilograms, `hartley release` takes the first and the last."""


@dataclass(frozen=True)
class ReportedWeights:
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
    reports: tuple[ReportedWeights, ...]
    synthetic: bool

    def of(self, kind: str) -> list[ReportedWeights]:
        """Return the reports of a policy, the most accurate first."""
        reports = [report for report in self.reports if report.kind == kind]
        return sorted(reports, key=lambda report: -report.accuracy)


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    accuracies: tuple[Fraction, ...] = ACCURACIES,
) -> D5Numbers:
    """ReportedWeights everybody's weight by the printed policy and two others, and count.

    Example:
        >>> numbers = compute(accuracies=(Fraction(1, 10),))
        >>> [report.largest_move <= 10 for report in numbers.reports]
        [True, True, True]
    """
    survey = dataset(DATA, data=data).complete("Height", "Weight")
    height, weight = (
        survey.numbers(name).clip(float(PEOPLE[side].low), float(PEOPLE[side].high))
        for name, side in (("Height", "height"), ("Weight", "weight"))
    )
    wanted = [(kind, accuracy) for accuracy in accuracies for kind in NAMES]
    reports = []
    for k, (kind, accuracy) in enumerate(wanted):
        reports.append(_report(cast("Kind", kind), accuracy, height, weight))
        if progress is not None:
            progress((k + 1) / len(wanted))
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


def _report(kind: Kind, accuracy: Fraction, height: Column, weight: Column) -> ReportedWeights:
    import numpy as np

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
    return ReportedWeights(
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
    import numpy as np
    import pyarrow as pa

    from hartley.policies.document import PolicyDocument
    from hartley.policies.hypotheses.hiding_columns import LineColumn, MeetColumn
    from hartley.policies.hypotheses.hypothesis import LatticeColumn
    from hartley.policies.hypotheses.meeting import MeetPolicy
    from hartley.policies.kinds import KeptColumn
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
    import numpy as np

    counts, _, _ = np.histogram2d(weight, height, bins=BINS[::-1], range=(WEIGHTS, HEIGHTS))
    return tuple(map(tuple, counts.tolist()))


def plot(numbers: D5Numbers) -> Chart:
    """Draw the people as they are and as the policies report them, and how many are hidden."""
    panels = [_panel("As they are", numbers.counts)]
    shares = {"stretch": _hidden(numbers, "hidden_obese", "obese people", numbers.obese)}
    shares["meet"] = _hidden(numbers, "hidden", "all people", numbers.people)
    for kind, name in NAMES.items():
        if kind in shares:
            panels.append(shares[kind])
        panels += [
            _panel(f"{name.capitalize()}, ρ = {float(report.accuracy):g}", report.counts)
            for report in numbers.of(kind)
            if report.accuracy in SHOWN
        ]
    return Chart(
        "D/5: reported weight and height",
        tuple(panels),
        synthetic=numbers.synthetic,
        across=3,
    )


def _panel(title: str, counts: Grid) -> Panel:
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


def findings(numbers: D5Numbers) -> tuple[Claim, ...]:
    """Return what the figure and Example 3 are expected to show."""
    blur, stretch, meet = (numbers.of(kind) for kind in NAMES)
    everything = (*blur, *stretch, *meet)
    odd = [r for r in stretch if (1 / r.accuracy).denominator != 1]
    last = stretch[-1]
    return (
        Claim(
            "No weight is reported further than 1/ρ from the truth, and no height is changed.",
            holds=all(
                r.largest_move <= float(1 / r.accuracy) + 1e-9 and not r.moved_heights
                for r in everything
            ),
        ),
        Claim(
            "The lower the accuracy, the more the histogram changes.",
            holds=all(_grows([r.change for r in each]) for each in (blur, stretch, meet)),
        ),
        Claim(
            "By the printed policy and by meeting, the lower the accuracy, the more obese people "
            "are reported as somebody on the other side of the line could be. Meeting hides as "
            "many people as the printed policy, or more.",
            holds=all(
                _grows([r.hidden_obese for r in each], strictly=False)
                and each[-1].hidden_obese > each[0].hidden_obese
                for each in (blur, meet)
            )
            and all(b.hidden <= m.hidden for b, m in zip(blur, meet, strict=True)),
        ),
        Claim(
            "Stretching does not, since weights are whole kilograms: within 12.5 kg it hides "
            f"nobody, and within {float(1 / last.accuracy):g} kg {last.hidden} people, "
            f"{last.hidden_obese} of them obese, where {last.near} are so near to the line; "
            "doubles tell the others apart.",
            holds=all(r.hidden == 0 < r.near for r in odd) and last.hidden < last.near,
        ),
        Claim(
            "The printed policy puts everybody near the line exactly onto it, where the histogram "
            "shows a ridge; the stretch policy puts nearly nobody there.",
            holds=all(r.on_line >= r.near > 0 for r in blur)
            and all(r.on_line <= max(3, 0.1 * r.near) for r in stretch),
        ),
        Claim(
            "Taken for the truth, reports misjudge people near the line and nobody else.",
            holds=all(r.misjudged_afar == 0 for r in everything)
            and stretch[-1].misjudged > 0.2 * stretch[-1].near,
        ),
    )


def _grows(values: list[float] | list[int], *, strictly: bool = True) -> bool:
    return list(values) == sorted(set(values) if strictly else values)


FIGURE = Figure(
    paper="D",
    number=5,
    title="Histogram of reported weight and height",
    shows=(
        "Weights and heights of young people as they are, and as reported so that nobody can test "
        "who is obese: by the printed policy, which piles people up on the line; by stretching, "
        "which spreads both sides over the band and is meant for values without a step; and by "
        "meeting, the policy for whole kilograms. Who is hidden is counted from the outputs. "
        "Darker is more people."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
