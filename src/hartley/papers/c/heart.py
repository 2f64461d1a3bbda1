"""Leakage of binned measurements of heart patients about their age and their identity."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

from hartley.datasets.catalogue import dataset
from hartley.exact import log_ratio
from hartley.measures.entropy import hartley_entropy
from hartley.measures.guessing import guessing_leakage, maximal_guessing_leakage
from hartley.measures.leakage import maximal_leakage, maximin_information
from hartley.ranges.relation import ROW, Relation
from hartley.report import Series
from hartley.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.papers.figure import Progress

DATA = "hungarian"
RECORD = "record"
SECRETS = {RECORD: "who the patient is", "age": "the age"}
"""The published axis, 8 to 8.2 bits, is that of 293 records; the text says that X is the age."""
RELEASED = {"trestbps": "blood pressure", "chol": "cholesterol"}
STEPS = tuple(range(1, 51))


@dataclass(frozen=True)
class CHeartPoint:
    """What one step of the bins leaks, in bits."""

    step: int
    distortion: float
    """The largest distance between a value and the middle of its bin."""
    secrets: int
    remaining: int
    """How many secrets the most telling bin leaves: the k of k-anonymity for records."""
    guessing: float
    """L(X -> Y)."""
    maximal: float
    """L*(X -> Y)."""
    maximin: float
    """I*(X;Y)."""
    stochastic: float
    """The maximal leakage of the relative frequencies."""
    entropy: float
    """H0(X)."""
    released_entropy: float
    """H0(Y)."""


@dataclass(frozen=True)
class Curve:
    """All steps for one secret and one released measurement."""

    secret: str
    released: str
    rows: int
    points: tuple[CHeartPoint, ...]

    def at(self, step: int) -> CHeartPoint:
        """Return the point of a step."""
        return next(point for point in self.points if point.step == step)

    def chain(self) -> list[CHeartPoint]:
        """Return steps each of which doubles the last: every bin is a union of earlier ones."""
        doubled = [2**k for k in range(12)]
        return [point for point in self.points if point.step in doubled]

    def line(self, measure: str, **look: object) -> Series:
        """Return a measure against distortion, to draw."""
        ordered = sorted(self.points, key=lambda point: point.distortion)
        return Series(
            RELEASED[self.released],
            tuple(point.distortion for point in ordered),
            tuple(getattr(point, measure) for point in ordered),
            **look,  # type: ignore[arg-type]  # fields of a series
        )


@dataclass(frozen=True)
class CHeartNumbers:
    """Every curve, and whether the patients were made up."""

    curves: tuple[Curve, ...]
    synthetic: bool

    def of(self, secret: str) -> list[Curve]:
        """Return the curves of one secret."""
        return [curve for curve in self.curves if curve.secret == secret]


def sweep(
    data: str | Path,
    *,
    progress: Progress | None = None,
    steps: Iterable[int] = STEPS,
    secrets: tuple[str, ...] = tuple(SECRETS),
) -> CHeartNumbers:
    """Measure every step of the bins for every secret and released column; exact.

    Args:
        data: "synthetic", or where the heart data are.
        progress: called with the share of the work that is done.
        steps: the widths of the bins.
        secrets: "record" for who the patient is, "age" for the age.
    """
    patients = dataset(DATA, data=data)
    listed, curves = tuple(steps), []
    for done, (secret, released) in enumerate(product(secrets, RELEASED)):
        complete, points = patients.complete(released, "age"), []
        opened = open_table(complete.table)
        for k, step in enumerate(listed):
            points.append(_point(opened, complete.numbers(released), secret, released, step))
            if progress is not None:
                progress((done + (k + 1) / len(listed)) / (len(secrets) * len(RELEASED)))
        curves.append(Curve(secret, released, complete.rows, tuple(points)))
    return CHeartNumbers(tuple(curves), patients.synthetic)


def _point(
    table: Table, values: NDArray[np.float64], secret: str, released: str, step: int
) -> CHeartPoint:
    relation = Relation.from_table(
        table,
        secret=ROW if secret == RECORD else secret,
        released=released,
        bins={released: step},
    )
    return CHeartPoint(
        step=step,
        distortion=float(abs(values - step * (values // step + 0.5)).max()),
        secrets=relation.summary.secrets,
        remaining=int(relation.summary.secret_sizes.min()),
        guessing=guessing_leakage(relation),
        maximal=maximal_guessing_leakage(relation),
        maximin=maximin_information(relation),
        stochastic=maximal_leakage(relation),
        entropy=hartley_entropy(relation),
        released_entropy=log_ratio(relation.summary.released),
    )


def falls(values: Iterable[float]) -> bool:
    """Tell whether numbers never rise by more than rounding."""
    return all(b <= a + 1e-12 for a, b in pairwise(values))
