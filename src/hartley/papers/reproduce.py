"""Compute figures of the papers one after the other, each with its claims checked."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hartley.errors import HartleyError
from hartley.papers.figure import SYNTHETIC, choose_figures, load_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hartley.chart import Chart
    from hartley.papers.figure import Claim, Figure


@dataclass(frozen=True)
class Reproduced:
    """A computed figure, or the reason why it could not be computed."""

    figure: Figure[Any]
    chart: Chart | None
    claims: tuple[Claim, ...] = ()
    problem: str = ""
    """Why there is no chart, for example which data set is missing."""
    seconds: float = 0.0

    @property
    def synthetic(self) -> bool:
        """Whether the data were made by a generator."""
        return self.chart is not None and self.chart.synthetic

    @property
    def origin(self) -> str:
        """Where the numbers come from, in a few words."""
        if self.figure.data is None:
            return "no data: computed from the theory"
        if self.chart is not None and self.chart.source:
            return self.chart.source
        name = self.figure.data.replace("_", " ")
        return f"synthetic {name} data" if self.synthetic else f"{name} data"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values, ready for JSON."""
        return {
            "figure": self.figure.name,
            "title": self.figure.title,
            "shows": self.figure.shows,
            "data": self.figure.data,
            "synthetic": self.synthetic,
            "findings": [{"sentence": c.sentence, "holds": c.holds} for c in self.claims],
            "problem": self.problem or None,
            "seconds": round(self.seconds, 3),
        }


def reproduce(
    wanted: str,
    data: str | Path = SYNTHETIC,
    *,
    progress: Callable[[str, float], None] | None = None,
) -> Iterator[Reproduced]:
    """Compute figures one after the other: "A/1", all of a paper ("A"), or "all".

    A figure whose data is missing says so, and the others are still computed; an unknown name is
    refused before anything is computed.

    Example:
        >>> (vote,) = reproduce("C/1")
        >>> vote.figure.name, vote.synthetic, all(claim.holds for claim in vote.claims)
        ('C/1', False, True)
    """
    names = choose_figures(wanted)
    return (_outcome(name, data, progress) for name in names)


def _outcome(
    name: str, data: str | Path, progress: Callable[[str, float], None] | None
) -> Reproduced:
    def report(share: float) -> None:
        if progress is not None:
            progress(name, share)

    figure = load_figure(name)
    begun = perf_counter()
    report(0.0)
    try:
        numbers = figure.compute(data, progress=report)
        chart, claims = figure.plot(numbers), figure.findings(numbers)
    except HartleyError as error:
        report(1.0)
        return Reproduced(figure, None, problem=str(error), seconds=perf_counter() - begun)
    report(1.0)
    return Reproduced(figure, chart, claims, seconds=perf_counter() - begun)
