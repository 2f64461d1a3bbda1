"""Boxes in a table whose corners change by turns: no sum changes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


@compiled
def find_cuboid(  # noqa: PLR0912, PLR0913, PLR0917, C901 - one search over one table
    target: int,
    change: int,
    shape: NDArray[np.int64],
    stride: NDArray[np.int64],
    begin: NDArray[np.int64],
    partner: NDArray[np.int64],
    table: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    tries: int,
) -> NDArray[np.int64]:
    """Find a box with a given cell at one corner that can change by a given number.

    Corners change by the number and by its opposite in turns, so every sum along every dimension
    stays what it is. The cell may be any corner, since signs alternate.

    Args:
        target: the cell.
        change: by how much it shall change.
        shape: how many places each dimension has.
        stride: the distance of neighbours in each dimension.
        begin: where the partners of each place begin, all dimensions one after another.
        partner: places of the same dimension that belong to the same sums.
        table: whole numbers for all cells.
        low: the bounds of all cells.
        high: likewise.
        tries: the most boxes that are looked at.

    Returns:
        the opposite place in each dimension, or nothing.
    """
    dims = shape.size
    place = np.empty(dims, np.int64)
    choices = np.empty((dims, partner.size), np.int64)
    number = np.zeros(dims, np.int64)
    rest, offset = target, 0
    nothing = np.empty(0, np.int64)
    if table[target] + change < low[target] or table[target] + change > high[target]:
        return nothing
    for a in range(dims):
        place[a] = rest // stride[a]
        rest -= place[a] * stride[a]
        for i in range(begin[offset + place[a]], begin[offset + place[a] + 1]):
            corner = target + (partner[i] - place[a]) * stride[a]
            if low[corner] <= table[corner] - change <= high[corner]:
                choices[a, number[a]] = partner[i]
                number[a] += 1
        if number[a] == 0:
            return nothing
        offset += shape[a]
    turn = np.zeros(dims, np.int64)
    for _ in range(tries):
        fits = True
        for corners in range(3, 2**dims):
            cell, flips = target, 0
            for a in range(dims):
                if corners >> a & 1:
                    cell += (choices[a, turn[a]] - place[a]) * stride[a]
                    flips += 1
            if flips < 2:
                continue
            moved = table[cell] + (change if flips % 2 == 0 else -change)
            if moved < low[cell] or moved > high[cell]:
                fits = False
                break
        if fits:
            opposite = np.empty(dims, np.int64)
            for a in range(dims):
                opposite[a] = choices[a, turn[a]]
            return opposite
        a = 0
        while a < dims:
            turn[a] += 1
            if turn[a] < number[a]:
                break
            turn[a] = 0
            a += 1
        if a == dims:
            return nothing
    return nothing
