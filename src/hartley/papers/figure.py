"""The figure of a paper as a class, the list of all figures, and how they are computed in turn."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from hartley.errors import HartleyError, OptionError
from hartley.report import Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hartley.report import Chart


Progress: TypeAlias = Callable[[float], None]
"""Called with the share of the work that is done, from 0 to 1."""
N = TypeVar("N")

SYNTHETIC = "synthetic"
"""The word for data made by a generator, in place of a path."""


def unwatched(_share: float) -> None:
    """Take the progress of a figure that nobody watches."""


@dataclass(frozen=True)
class Claim:
    """Something that a figure is expected to show, and whether it does."""

    sentence: str
    holds: bool

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'does not hold'}: {self.sentence}"


@dataclass(frozen=True)
class Figure(Generic[N]):
    """One figure: what it shows, and how to compute, draw and check it.

    ``compute(data, progress=..., **sizes)`` returns frozen numbers; ``data`` is "synthetic" or the
    path of a file or a folder, and a figure that needs none does not take it. ``plot(numbers)``
    returns the chart.

    Example:
        >>> figure = load_figure("A/3")
        >>> figure.name, figure.file_name, figure.data
        ('A/3', 'a-figure-3', None)
    """

    name: str
    """The paper and the number, as the command line takes them."""
    title: str
    shows: str
    """What it shows, in plain sentences, and where that departs from the print."""
    compute: Callable[..., N]
    plot: Callable[[N], Chart]
    claims: Callable[[N], Iterable[Claim]]
    data: str | None = None
    """The name of the data set that it needs, if any."""

    @property
    def paper(self) -> str:
        """Return the paper."""
        return self.name.partition("/")[0]

    @property
    def file_name(self) -> str:
        """Return the name of its files, without an ending."""
        return self.name.lower().replace("/", "-figure-")

    def findings(self, numbers: N) -> tuple[Claim, ...]:
        """Return what the figure is expected to show, each marked as holding or not."""
        return tuple(self.claims(numbers))


def series_of(label: str, points: Iterable[tuple[Any, float]], **look: Any) -> Series:  # noqa: ANN401 - fields of a series
    """Return points as a series, to draw."""
    x, y = zip(*points, strict=True)
    return Series(label, x, y, **look)


def figure_names() -> tuple[str, ...]:
    """Return the names of all figures, in the order of the papers; none of them is loaded.

    Example:
        >>> figure_names()[:3]
        ('A/1', 'A/2', 'A/3')
    """
    numbered = [
        (file.stem.upper() if len(file.stem) == 1 else file.stem, int(number))
        for file in Path(__file__).parent.glob("*.py")
        for number in re.findall(r"^def fig(\d+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    return tuple(f"{paper}/{number}" for paper, number in sorted(numbered))


def choose_figures(wanted: str) -> tuple[str, ...]:
    """Return the names of the figures that are meant: "A/1", a whole paper "A", or "all"."""
    names = figure_names()
    text = wanted.strip().lower()
    if text == "all":
        return names
    chosen = tuple(n for n in names if text in (n.lower(), n.lower().split("/", maxsplit=1)[0]))
    if not chosen:
        numbers: dict[str, list[str]] = {}
        for name in names:
            paper, number = name.split("/")
            numbers.setdefault(paper, []).append(number)
        listed = "; ".join(f"{paper}/{', '.join(of)}" for paper, of in numbers.items())
        raise OptionError(f"There is no figure '{wanted}'", hint=f"there are {listed}; or all")
    return chosen


def load_figure(name: str) -> Figure[Any]:
    """Import and return a figure by its name.

    Example:
        >>> load_figure("A/3").title
        'Leakage and the adversary’s error against accuracy'
    """
    (chosen,) = choose_figures(name) if "/" in name else ("",)
    if not chosen:
        raise OptionError(f"'{name}' names no single figure", hint="write for example A/1")
    paper, number = chosen.lower().split("/")
    figure: Figure[Any] = getattr(import_module(f"hartley.papers.{paper}"), f"fig{number}")()
    return figure


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
    return (
        _outcome(name, data, partial(progress, name) if progress is not None else unwatched)
        for name in names
    )


def _outcome(name: str, data: str | Path, progress: Progress) -> Reproduced:
    figure, begun = load_figure(name), perf_counter()
    chart: Chart | None = None
    claims: tuple[Claim, ...] = ()
    problem = ""
    progress(0.0)
    try:
        source = () if figure.data is None else (data,)
        numbers = figure.compute(*source, progress=progress)
        chart, claims = figure.plot(numbers), figure.findings(numbers)
    except HartleyError as error:
        problem = str(error)
    progress(1.0)
    return Reproduced(figure, chart, claims, problem, perf_counter() - begun)
