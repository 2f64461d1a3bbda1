"""Classes are counted and cut as plain Python does it."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import EngineError, TableError
from hartley.kernels import classes as walks
from hartley.kernels.classes import (
    ClassCounts,
    CubeCounter,
    count_tails,
    group_keys,
    mondrian_boxes,
    over_classes,
)
from hartley.knowledge.cover import CoverAxis
from hartley.knowledge.table_system import BoxFrame

# --- cube -----------------------------------------------------------------------------------------


def plain(keys, width):
    cells = Counter(keys)
    observed = sorted({key % width for key in cells})
    classes = {}
    for key in sorted(cells):
        code = observed.index(key % width)
        classes.setdefault(key // width, []).append((code, cells[key]))
    return list(classes.values()), observed


def listed(counts):
    pairs = list(zip(counts.codes.tolist(), counts.counts.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(counts.starts, counts.starts[1:], strict=False)]


@pytest.mark.slow
@given(
    st.integers(1, 5).flatmap(
        lambda width: st.tuples(
            st.just(width), st.lists(st.integers(0, 6 * width - 1), min_size=1, max_size=60)
        )
    )
)
@settings(max_examples=60, deadline=None)
def test_the_cube_and_the_sorted_keys_count_like_a_dictionary(case):
    width, keys = case
    expected, observed = plain(keys, width)
    cube = CubeCounter(classes=6, width=width)
    for part in np.array_split(np.array(keys, np.int32), 7):
        cube.add(part)
    distinct, times = np.unique(keys, return_counts=True)
    for counts, codes in (cube.finish(), group_keys(distinct, times, width)):
        assert listed(counts) == expected
        assert codes.tolist() == observed
        assert counts.width == len(observed)
        assert counts.rows == len(keys)
        assert counts.totals.tolist() == [
            sum(key % width == code for key in keys) for code in observed
        ]


@pytest.mark.parametrize("key", [-1, 6])
def test_a_key_outside_the_cube_is_refused(key):
    cube = CubeCounter(classes=2, width=3)
    cube.add(np.array([0, key]))
    with pytest.raises(EngineError, match="changed while it was being counted"):
        cube.finish()


def test_cells_listed_twice_are_added_and_groups_of_values_too():
    counts = ClassCounts.from_cells(*np.array([[4, 4, 2, 4], [1, 0, 1, 1], [1, 2, 3, 4]]))
    assert listed(counts) == [[(1, 3)], [(0, 2), (1, 5)]]
    assert listed(counts.regroup(np.array([0, 0]))) == [[(0, 3)], [(0, 7)]]


@given(
    st.lists(st.integers(1, 9) | st.integers(250, 260), min_size=1, max_size=50),
    st.integers(2, 40),
)
@settings(max_examples=60, deadline=None)
def test_the_tail_of_a_class_is_what_its_largest_counts_leave(counts, length):
    one = ClassCounts.from_cells(
        np.zeros(len(counts), int), np.arange(len(counts)), np.array(counts)
    )
    peaks, tails = count_tails(one.cells, length)
    assert peaks.tolist() == [max(counts)]
    assert tails.tolist() == [sum(sorted(counts, reverse=True)[length - 1 :])]


KERNELS = [
    (walks.extreme_shares,),
    (walks.equal_moves,),
    (walks.ordered_moves,),
    (walks.divergences,),
    (count_tails, 2),
    (count_tails, 4),
]


@pytest.mark.slow
@pytest.mark.parametrize("processors", [7, 90])
@pytest.mark.parametrize(("kernel", "options"), [(name, rest) for name, *rest in KERNELS])
def test_ranges_of_classes_find_what_one_walk_finds(kernel, options, processors, monkeypatch):
    monkeypatch.setattr(walks, "CELLS_A_TASK", 1)
    monkeypatch.setattr(walks.os, "cpu_count", lambda: processors)
    random = np.random.default_rng(3)
    cube = random.integers(0, 3, (50, 6), np.uint32) * random.integers(0, 2, (50, 1), np.uint32)
    starts, codes, counts, observed = walks.occupied_cells(cube.ravel(), 6)
    assert np.array_equal(np.diff(starts), (cube > 0).sum(axis=1)[cube.any(axis=1)])
    assert np.array_equal(codes, np.nonzero(cube)[1])
    assert np.array_equal(counts, cube[cube > 0])
    classes = ClassCounts(starts, codes, counts, observed.size)
    found = over_classes(kernel, classes.cells, *options)
    for array, expected in zip(found, kernel(classes.cells, *options), strict=True):
        assert np.array_equal(array, expected)


def test_more_rows_than_products_of_counts_allow_are_refused():
    half = np.full(2, 2**30)
    with pytest.raises(TableError, match="more than 2,147,483,647 rows"):
        ClassCounts.from_cells(np.zeros(2, int), np.arange(2), half)
    assert ClassCounts.from_cells(np.zeros(2, int), np.arange(2), half - 1).rows == 2**31 - 2


def best_cut(points, k, spans):
    """Cut a box as the paper says, in plain Python; None where nothing can be cut."""
    total = sum(count for _, count in points)
    widths = [
        (max(code[i] for code, _ in points) - min(code[i] for code, _ in points)) / spans[i]
        for i in range(len(spans))
    ]
    for key in sorted(range(len(spans)), key=lambda i: (-widths[i], i)):
        cuts = []
        for edge in sorted({code[key] for code, _ in points})[1:]:
            below = sum(count for code, count in points if code[key] < edge)
            if k <= below <= total - k:
                cuts.append((abs(2 * below - total), edge))
        if cuts:
            edge = min(cuts)[1]
            low = [point for point in points if point[0][key] < edge]
            return low, [point for point in points if point[0][key] >= edge]
    return None


def plain_boxes(points, k, spans):
    cut = best_cut(points, k, spans)
    if cut is None:
        return [frozenset(code for code, _ in points)]
    return [box for half in cut for box in plain_boxes(half, k, spans)]


@pytest.mark.slow
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.integers(0, 3)), st.integers(1, 3), min_size=1, max_size=20
    ),
    st.integers(1, 5),
)
@settings(max_examples=100, deadline=None)
def test_boxes_are_those_of_the_plain_recursion(points, k):
    codes, counts = np.array(list(points)), np.array(list(points.values()))
    found = mondrian_boxes(codes, counts, k)
    boxes = [frozenset(map(tuple, codes[found == box].tolist())) for box in range(found.max() + 1)]
    spans = np.maximum(codes.max(axis=0) - codes.min(axis=0), 1).tolist()
    assert set(boxes) == set(plain_boxes(list(points.items()), k, spans))
    if counts.sum() >= k:
        assert min(np.bincount(found, weights=counts)) >= k


# --- Boxes whose corners change by turns, compared with trying all of them ------------------------


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
