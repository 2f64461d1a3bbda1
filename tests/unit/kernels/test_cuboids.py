"""Boxes whose corners change by turns, compared with trying all of them."""

import itertools

import numpy as np
from hypothesis import given, settings, strategies as st

from hartley.knowledge.cover import CoverAxis
from hartley.knowledge.table_system import BoxFrame


def add_up(atoms):
    """Return a table with its totals in front of each dimension."""
    table = atoms
    for axis in range(atoms.ndim):
        table = np.concatenate([table.sum(axis=axis, keepdims=True), table], axis=axis)
    return table


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([(2, 3), (3, 3), (2, 2, 2), (3, 2, 2)]), st.data())
def test_a_box_is_found_if_and_only_if_there_is_one(shape, data):
    size = int(np.prod(shape))
    atoms = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    free = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    table = add_up(atoms.reshape(shape))
    unknown = np.zeros(table.shape, bool)
    unknown[(slice(1, None),) * len(shape)] = free.reshape(shape)
    low, high = np.where(unknown, 0, table).ravel(), np.where(unknown, 4, table).ravel()
    axes = [CoverAxis.of(str(i), {chr(97 + j) for j in range(n)}, ()) for i, n in enumerate(shape)]
    place = tuple(data.draw(st.integers(1, n)) for n in shape)
    change = data.draw(st.sampled_from([-2, -1, 1, 2]))
    cell = int(np.ravel_multi_index(place, table.shape))
    moved = BoxFrame(axes).move(cell, change, table.ravel(), low, high)

    def fits(opposite):
        for corner in itertools.product((0, 1), repeat=len(shape)):
            at = tuple(o if c else p for o, c, p in zip(opposite, corner, place, strict=True))
            value = table[at] + (change if sum(corner) % 2 == 0 else -change)
            index = np.ravel_multi_index(at, table.shape)
            if not low[index] <= value <= high[index]:
                return False
        return True

    others = [[o for o in range(1, n + 1) if o != p] for n, p in zip(shape, place, strict=True)]
    assert bool(moved) == any(map(fits, itertools.product(*others)))
    if moved:
        changed = table.ravel().copy()
        for at, by in moved.items():
            changed[at] += by
        assert changed[cell] == table.ravel()[cell] + change
        inside = changed.reshape(table.shape)[(slice(1, None),) * len(shape)]
        assert (add_up(inside).ravel() == changed).all()
        assert ((low <= changed) & (changed <= high)).all()
