"""Groups of records are those of a plain search."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley.kernels.neighbours import (
    build_tree,
    farthest_row,
    integer_points,
    mdav_groups,
    nearest_rows,
    plain_mdav,
    remove_rows,
    tree_mdav,
    univariate_groups,
)

# --- mdav -----------------------------------------------------------------------------------------


def squared(one, other):
    total = 0.0
    for a, b in zip(one, other, strict=True):
        total += (a - b) ** 2
    return total


def reference(points, k):
    """Carry MDAV out record by record, in plain Python."""
    left, groups = list(range(len(points))), []

    def farthest(target):
        return min(left, key=lambda row: (-squared(points[row], target), row))

    def take(row):
        others = sorted(
            (other for other in left if other != row),
            key=lambda other: (squared(points[other], points[row]), other),
        )
        groups.append({row, *others[: k - 1]})
        left[:] = [other for other in left if other not in groups[-1]]

    while len(left) >= 2 * k:
        two = len(left) >= 3 * k
        average = [
            sum(int(points[row][c]) for row in left) / len(left) for c in range(len(points[0]))
        ]
        one = farthest(average)
        take(one)
        if two:
            take(farthest(points[one]))
    groups.append(set(left))
    return groups


def listed(labels):
    return [set(np.flatnonzero(labels == group).tolist()) for group in range(labels.max() + 1)]


@st.composite
def tables(draw, most=70):
    """Draw integers of which many are equal, or few."""
    k, columns = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    largest = draw(st.sampled_from([1, 4, 10**6]))
    row = st.tuples(*[st.integers(-largest, largest)] * columns)
    rows = draw(st.lists(row, min_size=k, max_size=most))
    return np.array(rows, float), k


@pytest.mark.slow
@given(tables())
def test_both_kernels_form_the_groups_of_the_plain_reference_in_its_order(drawn):
    points, k = drawn
    expected = reference(points.tolist(), k)
    assert listed(plain_mdav(points, k)) == expected
    assert listed(tree_mdav(points, k)) == expected
    assert listed(mdav_groups(points, k)) == expected


def on_sphere(points):
    return points / np.linalg.norm(points, axis=1, keepdims=True)


LAWS = {
    "normal": lambda random, size: random.standard_normal((size, 4)),
    "skewed, so that the average drifts": lambda random, size: (
        random.exponential(size=(size, 3)) ** 3
    ),
    "two clusters": lambda random, size: (
        random.normal(0, 1, (size, 2)) + 50 * (random.random((size, 1)) < 0.2)
    ),
    "few values, all tied": lambda random, size: random.integers(0, 4, (size, 3)).astype(float),
    "a sphere, all equally far": lambda random, size: on_sphere(random.standard_normal((size, 3))),
    "one column": lambda random, size: random.standard_normal((size, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("size", "k"), [(4001, 3), (2500, 40)])
def test_the_tree_finds_the_groups_that_looking_at_everything_finds(law, size, k):
    points = integer_points(LAWS[law](np.random.default_rng(2), size))
    labels = tree_mdav(points, k)
    assert (labels == plain_mdav(points, k)).all()
    sizes = np.bincount(labels)
    assert k <= sizes.min() <= sizes.max() < 2 * k


@pytest.mark.slow
@given(tables(most=120), st.data())
def test_searches_after_removals_find_what_looking_at_everything_finds(drawn, data):
    points, k = drawn
    tree = build_tree(points, np.arange(len(points)))
    left = set(range(len(points)))
    gone = data.draw(st.lists(st.sampled_from(sorted(left)), unique=True, max_size=len(left) - k))
    first = data.draw(st.integers(0, len(gone)))
    for rows in (gone[:first], gone[first:]):
        remove_rows(tree, np.array(rows, np.int64))
    left -= set(gone)
    target = points[data.draw(st.integers(0, len(points) - 1))] + 0.25
    far = {row: squared(points[row], target) for row in left}
    assert farthest_row(tree, target) == min(far, key=lambda row: (-far[row], row))
    distances, rows = np.empty(k), np.empty(k, np.int64)
    itself = data.draw(st.sampled_from(sorted(left)))
    nearest_rows(tree, target, itself, distances, rows)
    nearest = sorted(far, key=lambda row: (row != itself, far[row], row))
    assert set(rows.tolist()) == set(nearest[:k])


@given(
    st.lists(
        st.tuples(st.floats(-1e9, 1e9), st.floats(-1e-3, 1e-3)), min_size=1, max_size=40
    ).filter(lambda rows: any(any(row) for row in rows))
)
def test_points_become_integers_in_proportion_whose_sums_are_exact(rows):
    points = np.array(rows)
    codes = integer_points(points)
    largest = np.abs(points).max()
    assert (codes == np.rint(codes)).all()
    assert 2**39 <= np.abs(codes).max() <= 2**40
    # In exact numbers: the scale of the smallest doubles is no double.
    scale = Fraction(float(np.abs(codes).max())) / Fraction(float(largest))
    for code, point in zip(codes.flat, points.flat, strict=True):
        off = abs(Fraction(float(code)) - scale * Fraction(float(point)))
        assert off <= scale * Fraction(float(largest)) / 2**38


def test_whole_numbers_of_forty_bits_stay_what_they_are():
    numbers = np.array([[2.0**40 - 1], [1.0], [-3.0]])
    assert (integer_points(numbers) == numbers).all()


# --- univariate -----------------------------------------------------------------------------------


def partitions(items, k):
    """Return every way to divide items into sets of at least k, whether neighbours or not."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for mask in range(2 ** len(rest)):
        block = [first, *(item for i, item in enumerate(rest) if mask >> i & 1)]
        if len(block) >= k:
            others = [item for i, item in enumerate(rest) if not mask >> i & 1]
            yield from ([block, *more] for more in partitions(others, k))


def loss(blocks):
    return sum(((np.array(block) - np.mean(block)) ** 2).sum() for block in blocks)


@pytest.mark.slow
@given(st.data(), st.integers(2, 3))
def test_no_partition_at_all_loses_less(data, k):
    values = data.draw(st.lists(st.integers(-20, 20).map(float), min_size=k, max_size=8))
    labels = univariate_groups(np.array(values), k)
    blocks = [np.array(values)[labels == label] for label in range(labels.max() + 1)]
    assert k <= min(map(len, blocks)) <= max(map(len, blocks)) < 2 * k
    assert loss(blocks) == pytest.approx(min(map(loss, partitions(values, k))), abs=1e-9)


@pytest.mark.slow
def test_large_numbers_do_not_cancel():
    values = 1e9 + np.array([0.0, 0.25, 0.5, 100.0, 100.25, 100.5, 100.75])
    assert univariate_groups(values, 3).tolist() == [0, 0, 0, 1, 1, 1, 1]
