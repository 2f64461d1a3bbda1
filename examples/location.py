"""Who sent this location? The paper's second example: python examples/location.py [picture.svg].

Four people ask a service for what is near them. It needs to know where they are, roughly, and not
who they are. W is the person, X the cell of the map in which the person is, and X^ what the
service is told. The rules below tell least about the person for how far off they are
(Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Section 4.4, "privacy for location-based
services").
"""

# ruff: noqa: INP001, T201 - a script that prints a table

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

import hartley
from hartley.report import Chart, Panel, Series

CELL = 500
"""Metres from cell to cell."""
SIDE = 5
CELLS = [(CELL * east, CELL * north) for north in range(SIDE) for east in range(SIDE)]
HOMES = {"Ada": (0, 0), "Ben": (2000, 0), "Cem": (0, 2000), "Dia": (2000, 1500)}
CENTRE = (1000, 1000)
"""Where all four work."""
SHARES = (1, 0.75, 0.5, 0.25, 0.1, 0)
"""Of what exact locations tell about who it is."""


@dataclass(frozen=True)
class Line:
    """One line of the table: a limit of what is told, and how far off the best rules are."""

    bits: float
    guess: float
    """The chance to guess who it is."""
    metres: float
    """Root mean square, with cells released by a rule that sees the location alone."""
    least: float
    """No such rule that tells as little is nearer: certified."""
    mean_metres: float
    """The same rule, with the mean of the locations behind each released cell."""
    seeing_metres: float
    """The best rule that also sees who it is."""


def where_people_are() -> np.ndarray:
    """Return p(person, cell): everybody is near home, near work or anywhere."""
    rows = []
    for home in HOMES.values():
        near = [
            [math.exp(-(math.dist(cell, place) ** 2) / (2 * reach**2)) for cell in CELLS]
            for place, reach in ((home, 300.0), (CENTRE, 400.0))
        ]
        at_home, at_work = (np.array(weights) / sum(weights) for weights in near)
        rows.append((0.5 * at_home + 0.4 * at_work + 0.1 / len(CELLS)) / len(HOMES))
    return np.array(rows)


def table() -> list[Line]:
    """Solve for every limit of what is told."""
    joint = where_people_are()
    places = {"values": CELLS, "confidential_values": list(HOMES)}
    alone = hartley.PrivacyDistortion(joint, "squared", **places)
    seeing = hartley.PrivacyDistortion(joint, "squared", **places, sees="both")
    lines = []
    for share in SHARES:
        limit = share * alone.largest_risk
        best, better = (model.solve(risk=limit, tolerance=1e-6) for model in (alone, seeing))
        means = hartley.policies.reconstruct(best, joint, values=CELLS)
        lines.append(
            Line(
                bits=best.risk,
                guess=float((joint @ best.matrix).max(axis=0).sum()),
                metres=math.sqrt(best.distortion),
                least=math.sqrt(max(best.distortion - best.gap, 0.0)),
                mean_metres=math.sqrt(means.distortion),
                seeing_metres=math.sqrt(better.distortion),
            )
        )
    return lines


def draw(lines: list[Line]) -> Chart:
    """Return the picture: what is told against how far off a location is."""
    bits = tuple(line.bits for line in lines)
    series = tuple(
        Series(label, tuple(getattr(line, name) for line in lines), bits)
        for label, name in (
            ("rules that see the location", "metres"),
            ("the same, with means", "mean_metres"),
            ("rules that see who it is, too", "seeing_metres"),
        )
    )
    panel = Panel("metres off (root mean square)", "bits about who it is", series, from_zero=True)
    return Chart("Who sent this location? Four people on a map", (panel,), synthetic=True)


def main(picture: str | None = None) -> None:
    """Print the table, and draw it where a file is named."""
    lines = table()
    print(f"{len(HOMES)} people, {len(CELLS)} cells of {CELL} m; all distances in metres, rms\n")
    names = ("bits about who", "guessed", "off by", "none nearer than", "means", "seeing who")
    print("  ".join(names))
    for line in lines:
        cells = (
            f"{line.bits:.3f}",
            f"{line.guess:.1%}",
            f"{line.metres:.1f}",
            f"{math.floor(10 * line.least) / 10:.1f}",
            f"{line.mean_metres:.1f}",
            f"{line.seeing_metres:.1f}",
        )
        print("  ".join(cell.rjust(len(name)) for cell, name in zip(cells, names, strict=True)))
    print(
        "\nNo rule that sees the location alone and names a cell is nearer for what it tells: "
        "certified.\nMeans of cells need not be cells, and are nearer. A rule that sees who it is "
        "can hide each\nperson among the others with less noise, but somebody has to tell it."
    )
    if picture is not None:
        import matplotlib as mpl

        from hartley.reports.draw import STYLE, plot_chart

        figure = plot_chart(draw(lines))
        with mpl.rc_context(STYLE):  # white, since a page may be dark; the same bytes every time
            figure.savefig(picture, facecolor="white", metadata={"Date": None})
        print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
