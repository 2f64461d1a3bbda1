"""The pictures of a design as plain numbers: rulers, groups, planes and bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hartley.chart import Groups, Ruler
from hartley.ranges.boxes.enclosure import enclose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.policies.document import PolicyDocument
    from hartley.policies.quantizers.quantizer import Quantizer
    from hartley.ranges.boxes.box import Box
    from hartley.ranges.boxes.expression import Expression
    from hartley.studies.specification import Specification

GRID = 240


@dataclass(frozen=True)
class Plane:
    """The cell of a query at every point of a plane of two columns."""

    names: tuple[str, str]
    ends: tuple[float, float, float, float]
    """Left, right, bottom and top."""
    values: NDArray[np.float64]
    """The query at the points of a grid, row by row from the bottom."""
    edges: tuple[float, ...]


@dataclass(frozen=True)
class Band:
    """A line over one column, and how far around it another column is hidden."""

    across: str
    column: str
    at: NDArray[np.float64]
    line: NDArray[np.float64]
    reach: float
    low: float
    high: float
    kind: str
    note: str
    """The values assumed for the other columns of the line, if there are any."""


Picture: TypeAlias = Ruler | Groups | Plane | Band


def draw(wanted: Specification, document: PolicyDocument) -> tuple[Picture, ...]:
    """Return what there is to draw of a design.

    Example:
        >>> from hartley.policies.document import PolicyDocument
        >>> from hartley.studies.drafting import draft
        >>> from hartley.studies.specification import Specification
        >>> wanted = Specification.read({
        ...     "objective": "maximin", "query": "age", "error": 5,
        ...     "columns": {"age": {"range": [0, 30]}},
        ... })
        >>> draw(wanted, PolicyDocument(draft(wanted)))[0].edges
        (0.0, 10.0, 20.0, 30.0)
    """
    if wanted.hypothesis is not None:
        band = None if wanted.threshold is None else _band(wanted, document)
        return () if band is None else (band,)
    asked = wanted.parts or (wanted,) * len(document.columns)
    pictures: list[Picture] = []
    for column, part in zip(document.columns, asked, strict=True):
        picture = column.picture(float(part.reach) if part.aggregate is not None else None)
        if picture is not None:
            pictures.append(picture)
        has_plane = wanted.expression is not None and len(wanted.expression.names) == 2
        if has_plane and column.cells is not None:
            pictures += _plane(wanted, column.cells)
    return tuple(pictures)


def _plane(wanted: Specification, cells: Quantizer) -> list[Picture]:
    assert wanted.expression is not None  # checked by the caller
    first, second = wanted.expression.names
    if cells.levels > 60:
        return []
    x_values, y_values = (np.linspace(*_ends(wanted.box, name), GRID) for name in (first, second))
    across, up = (grid.ravel() for grid in np.meshgrid(x_values, y_values))
    values = _at(wanted.expression, {first: across, second: up}).reshape(GRID, GRID)
    ends = (*_ends(wanted.box, first), *_ends(wanted.box, second))
    edges = tuple(map(float, cells.edges))
    return [Plane((first, second), ends, values, edges)]


def _band(wanted: Specification, document: PolicyDocument) -> Band | None:
    threshold, error = wanted.threshold, wanted.error
    assert threshold is not None  # a design about a hypothesis has both
    assert error is not None
    names = threshold.line.names
    if not names:
        return None
    at = np.linspace(*_ends(wanted.box, names[0]), GRID)
    others = {name: np.full(GRID, float(wanted.box[name].middle)) for name in names[1:]}
    low, high = _ends(wanted.box, threshold.column)
    opened = [column.leaves_open() for column in document.stepped.values()]
    apart = [record.apart[0] for record in opened if record is not None and record.apart]
    note = " and ".join(f"{name} = {values[0]:g}" for name, values in others.items())
    return Band(
        across=names[0],
        column=threshold.column,
        at=at,
        line=_at(threshold.line, {names[0]: at} | others),
        reach=float(max(apart, default=error)),
        low=low,
        high=high,
        kind=wanted.policy,
        note=note,
    )


def _ends(box: Box, name: str) -> tuple[float, float]:
    return float(box[name].low), float(box[name].high)


def _at(expression: Expression, points: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a query at many points, to draw it: accurate to many digits, but not certified."""
    low, high = enclose(expression, points, points)
    size = next(iter(points.values())).size
    return np.broadcast_to((low + high) / 2, size)
