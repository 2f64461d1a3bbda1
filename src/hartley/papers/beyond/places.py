"""The linkage attack: pick the record of a known trip in boxes, with noise or in groups."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hartley.attacks.finding import AttackEstimate, share
from hartley.policies.microaggregation import mdav

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KM_NORTH = 111.2
KM_EAST = 111.2 * math.cos(math.radians(40.7))
"""Kilometres a degree in New York."""


def in_km(longitudes: Floats, latitudes: Floats) -> tuple[Floats, Floats]:
    """Return places in kilometres, from the equator and Greenwich."""
    return longitudes * KM_EAST, latitudes * KM_NORTH


def in_boxes(points: Floats, low: Floats, high: Floats, side: int) -> Floats:
    """Return the middle of the box of every point, with so many boxes along each axis."""
    width = (high - low) / side
    at = np.clip(np.floor((points - low) / width), 0, side - 1)
    middles: Floats = low + (at + 0.5) * width
    return middles


def in_groups(points: Floats, k: int) -> Floats:
    """Return the averages of groups of at least k trips like each other, by MDAV."""
    columns = {f"c{i}": points[:, i] for i in range(points.shape[1])}
    released = mdav(columns, k, standardise=False).released
    return np.column_stack([released[name].to_numpy() for name in columns])


def linked(points: Floats, released: Floats, *, sure: bool) -> AttackEstimate:
    """Return how often somebody who knows a trip picks its record by taking the nearest one.

    Of equal records one is picked at random.

    Args:
        points: the true trips.
        released: the record of each.
        sure: whether the release is deterministic, so that the chance is exact; else it was drawn.

    Example:
        >>> line = np.array([[0.0], [1.0], [5.0]])
        >>> linked(line, np.array([[0.5], [0.5], [5.0]]), sure=True).value
        0.6666666666666666
    """
    from scipy.spatial import cKDTree

    records, own, sizes = np.unique(released, axis=0, return_inverse=True, return_counts=True)
    nearest = cKDTree(records).query(points)[1]
    hit = nearest == own.ravel()
    if sure:
        return AttackEstimate.exact(float((hit / sizes[own.ravel()]).mean()))
    return share(int(hit.sum()), hit.size)
