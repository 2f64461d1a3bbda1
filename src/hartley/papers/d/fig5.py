"""Figure 5 of paper D: the histogram of reported weights and heights, by both policies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

from hartley.chart import Chart, Heat, Panel, Series
from hartley.datasets.catalogue import dataset
from hartley.papers.d.obesity import LINE, PEOPLE
from hartley.papers.figure import SYNTHETIC, Claim, Figure

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hartley.papers.figure import Progress

    Column = NDArray[np.float64]
    Grid = tuple[tuple[float, ...], ...]
    Kind = Literal["blur", "stretch"]

DATA = "young_people"
ACCURACIES = (Fraction(1, 2), Fraction(1, 5), Fraction(1, 10), Fraction(1, 20))
SHOWN = (Fraction(1, 5), Fraction(1, 20))
HEIGHTS, WEIGHTS = (140, 215), (35, 135)
BINS = (38, 40)
"""Of heights and of weights in the pictures."""
NAMES = {"blur": "printed policy", "stretch": "stretch policy"}


@dataclass(frozen=True)
class Report:
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
    """How many people are closer to the line than 1/rho: the report does not settle their side."""
    hidden_obese: int
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
    reports: tuple[Report, ...]
    synthetic: bool

    def of(self, kind: str) -> list[Report]:
        """Return the reports of a policy, the most accurate first."""
        reports = [report for report in self.reports if report.kind == kind]
        return sorted(reports, key=lambda report: -report.accuracy)


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    accuracies: tuple[Fraction, ...] = ACCURACIES,
) -> D5Numbers:
    """Report everybody's weight by the printed and the corrected policy, and count.

    Example:
        >>> numbers = compute(accuracies=(Fraction(1, 10),))
        >>> [report.largest_move <= 10 for report in numbers.reports]
        [True, True]
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


def _report(kind: Kind, accuracy: Fraction, height: Column, weight: Column) -> Report:
    import numpy as np

    reported, same = _released(kind, 1 / accuracy, height, weight)
    line = _line(height)
    near = np.abs(weight - line) <= float(1 / accuracy)
    obese, judged = weight >= line, reported >= line
    counts = _counts(height, reported)
    before = np.array(_counts(height, weight))
    return Report(
        kind=kind,
        accuracy=accuracy,
        counts=counts,
        largest_move=float(np.abs(reported - weight).max()),
        moved_heights=not same,
        on_line=int(np.isclose(reported, line, rtol=0, atol=1e-9).sum()),
        near=int(near.sum()),
        hidden_obese=int((near & obese).sum()),
        misjudged=int((obese != judged).sum()),
        misjudged_afar=int(((obese != judged) & ~near).sum()),
        change=float(np.abs(np.array(counts) - before).sum() / 2 / len(weight)),
    )


def _released(kind: Kind, reach: Fraction, height: Column, weight: Column) -> tuple[Column, bool]:
    """Return the weights that the engine releases, and whether the heights are unchanged."""
    import numpy as np
    import pyarrow as pa

    from hartley.engines.maps.column_map import apply_map
    from hartley.engines.tables.sources import open_table
    from hartley.policies.document import PolicyDocument
    from hartley.policies.hypotheses.line_column import LineColumn
    from hartley.policies.kinds import KeptColumn

    side = {name: (PEOPLE[name].low, PEOPLE[name].high) for name in PEOPLE.names}
    table = open_table(
        pa.table({"weight": weight, "height": height, "row": np.arange(len(weight))})
    )
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
    """Draw the people as they are and as both policies report them, and how many are hidden."""
    panels = [_panel("As they are", numbers.counts)]
    for kind, name in NAMES.items():
        if kind == "stretch":
            panels.append(_hidden(numbers))
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


def _hidden(numbers: D5Numbers) -> Panel:
    reports = numbers.of("stretch")
    reach = tuple(float(1 / report.accuracy) for report in reports)
    obese = max(numbers.obese, 1)
    return Panel(
        "allowed error 1/ρ (kg)",
        "share",
        (
            Series("obese people who stay hidden", reach,
                   tuple(r.hidden_obese / obese for r in reports), tone=0),
            Series("all people near the line", reach,
                   tuple(r.near / numbers.people for r in reports), tone=3),
        ),
        title="Whose side is not settled",
        from_zero=True,
    )  # fmt: skip


def findings(numbers: D5Numbers) -> tuple[Claim, ...]:
    """Return what the figure and Example 3 are expected to show."""
    blur, stretch = numbers.of("blur"), numbers.of("stretch")
    everything = (*blur, *stretch)
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
            holds=all(_grows([r.change for r in reports]) for reports in (blur, stretch)),
        ),
        Claim(
            "The lower the accuracy, the more obese people stay hidden.",
            holds=_grows([r.hidden_obese for r in stretch], strictly=False)
            and stretch[-1].hidden_obese > stretch[0].hidden_obese,
        ),
        Claim(
            "The printed policy puts everybody near the line exactly onto it, where the histogram "
            "shows a ridge; the stretch policy puts nearly nobody there.",
            holds=all(r.on_line >= r.near > 0 for r in blur)
            and all(r.on_line <= max(3, 0.1 * r.near) for r in stretch),
        ),
        Claim(
            "Taken for the truth, stretched reports misjudge people near the line and nobody else.",
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
        "who is obese: by the printed policy, which piles people up on the line, and by the "
        "corrected one, which spreads both sides over the band. Darker is more people."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
