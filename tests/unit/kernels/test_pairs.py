"""Pairs, components and numbers of values are those that NumPy and networkx find."""

from __future__ import annotations

import math
from dataclasses import fields

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hartley.kernels import pairs
from hartley.kernels.pairs import (
    PairCounter,
    PairTally,
    Tally,
    bits_for,
    bytes_needed,
    component_labels,
    merge_forests,
    number_trees,
    number_values,
)

# --- The kernel counts what NumPy counts, however the rows arrive ---------------------------------


def tally_of(secrets, released, widths, *, cuts=(), threads=2):
    """Run the kernel over packed pairs, cut into batches at some places."""
    tally = PairTally(secrets=widths[0], released=widths[1], threads=threads)
    for batch in np.split((released << tally.secret_bits) | secrets, sorted(cuts)):
        tally.add(batch)
    return tally.finish()


def count_by_numpy(secrets, released, widths):
    """Return the distinct pairs and their counts."""
    keys, counts = np.unique(released * widths[0] + secrets, return_counts=True)
    return keys % widths[0], keys // widths[0], counts


def assert_counts(found: Tally, secrets, released, widths):
    """Compare every field of a tally with NumPy, and its trees with networkx."""
    hidden, shown, counts = count_by_numpy(secrets, released, widths)
    secret_rows = np.bincount(secrets, minlength=widths[0])
    np.testing.assert_array_equal(found.secret_rows, secret_rows)
    np.testing.assert_array_equal(found.released_rows, np.bincount(released, minlength=widths[1]))
    np.testing.assert_array_equal(found.secrets_seen, np.bincount(shown, minlength=widths[1]))
    np.testing.assert_array_equal(found.released_seen, np.bincount(hidden, minlength=widths[0]))
    assert found.row_bits == pytest.approx(math.fsum(counts * np.log2(counts)), rel=1e-12)
    peak = np.zeros(widths[1])
    np.maximum.at(peak, shown, counts / secret_rows[hidden])
    assert found.peak_share == pytest.approx(math.fsum(peak), rel=1e-12)
    beside = set(zip(hidden.tolist(), shown.tolist(), strict=True))
    for code, first in enumerate(found.first_secret.tolist()):
        assert (first, code) in beside if found.released_rows[code] else first == -1
    assert trees(found.labels, hidden) == components(hidden, shown)


def trees(labels, secrets):
    """Return the sets of those secrets that occur, by label."""
    grouped = {}
    for secret in np.unique(secrets).tolist():
        grouped.setdefault(int(labels[secret]), set()).add(secret)
    return {frozenset(tree) for tree in grouped.values()}


def components(secrets, released):
    """Return the sets of secrets that networkx connects."""
    graph = nx.Graph(zip(secrets.tolist(), [("y", y) for y in released.tolist()], strict=True))
    return {
        frozenset(node for node in component if not isinstance(node, tuple))
        for component in nx.connected_components(graph)
    }


@st.composite
def rows(draw, widest=3000):
    """Draw the widths of both sides and rows of codes, many of which never occur."""
    widths = draw(st.tuples(st.integers(1, widest), st.integers(1, widest)))
    size = draw(st.integers(1, 400))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    few = draw(st.integers(1, 40))  # a few codes, so that pairs repeat
    pools = [random.integers(width, size=few) for width in widths]
    secrets, released = (random.choice(pool, size) for pool in pools)
    cuts = draw(st.lists(st.integers(0, size), max_size=6))
    return secrets, released, widths, cuts


@pytest.mark.slow
@given(rows())
def test_every_field_is_what_numpy_counts_for_any_shape_and_any_batches(drawn):
    secrets, released, widths, cuts = drawn
    assert_counts(tally_of(secrets, released, widths, cuts=cuts), secrets, released, widths)


@pytest.mark.slow
@given(rows(), st.integers(1, 5))
def test_the_result_does_not_depend_on_batches_or_threads(drawn, threads):
    secrets, released, widths, cuts = drawn
    whole = tally_of(secrets, released, widths, threads=1)
    split = tally_of(secrets, released, widths, cuts=cuts, threads=threads)
    for field in fields(Tally):
        np.testing.assert_array_equal(getattr(whole, field.name), getattr(split, field.name))


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_in_many_parts_are_counted_once(threads):
    random = np.random.default_rng(5)
    widths = 50, 9000
    secrets, released = (random.integers(width, size=20_000) for width in widths)
    found = tally_of(secrets, released, widths, cuts=range(0, 20_000, 1500), threads=threads)
    assert_counts(found, secrets, released, widths)


@pytest.mark.parametrize("widths", [(1, 1), (1, 4097), (4097, 1), (2, 2), (1024, 1025)])
def test_widths_around_powers_of_two_lose_no_code(widths):
    secrets = np.array([0, widths[0] - 1, widths[0] - 1])
    released = np.array([widths[1] - 1, 0, widths[1] - 1])
    assert_counts(tally_of(secrets, released, widths), secrets, released, widths)


@pytest.mark.slow
@settings(max_examples=20)  # a quarter of a million codes each
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 3))
def test_codes_too_wide_for_32_bits_are_counted_in_64(seed, threads):
    widths = 2**17 + 3, 2**17 + 5
    random = np.random.default_rng(seed)
    secrets, released = (
        np.concatenate([random.integers(width, size=20), [0, width - 1]]) for width in widths
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "LARGEST_PART", 1)  # as though there were far more released codes
        assert not pairs._Layout(*widths).narrow
        found = tally_of(secrets, released, widths, threads=threads)
    assert_counts(found, secrets, released, widths)


@pytest.mark.slow
def test_ranges_of_millions_of_codes_need_64_bits_and_are_counted():
    widths = 2**23, 2**22
    assert not pairs._Layout(*widths).narrow
    random = np.random.default_rng(7)
    secrets, released = (random.integers(width, size=500) for width in widths)
    found = tally_of(secrets, released, widths)
    hidden, shown, _ = count_by_numpy(secrets, released, widths)
    assert found.secrets_seen.sum() == found.released_seen.sum() == hidden.size
    np.testing.assert_array_equal(np.flatnonzero(found.released_rows), np.unique(shown))
    assert trees(found.labels, hidden) == components(hidden, shown)


def test_a_single_code_a_side_is_one_pair():
    found = tally_of(np.zeros(7, np.int64), np.zeros(7, np.int64), (1, 1), cuts=[0, 3, 3])
    assert found.secret_rows.tolist() == found.released_rows.tolist() == [7]
    assert found.secrets_seen.tolist() == found.released_seen.tolist() == [1]
    assert found.row_bits == pytest.approx(7 * math.log2(7))
    assert found.peak_share == 1.0


def test_batches_of_other_memory_layouts_count_alike():
    keys = np.arange(64) % 12
    plain, strided = PairTally(secrets=4, released=3), PairTally(secrets=4, released=3)
    plain.add(keys)
    strided.add(np.repeat(keys, 2)[::2])
    assert plain.finish().secrets_seen.tolist() == strided.finish().secrets_seen.tolist()


@pytest.mark.slow
@given(rows(widest=200), st.randoms(use_true_random=False))
def test_a_counter_of_streamed_pairs_agrees_with_the_tally_of_rows(drawn, random):
    secrets, released, widths, _ = drawn
    distinct = list(zip(*count_by_numpy(secrets, released, widths), strict=True))
    counter = PairCounter(secrets=widths[0], released=widths[1])
    for add in (counter.add, counter.add_shares):
        random.shuffle(distinct)
        middle = random.randint(0, len(distinct))
        for batch in (distinct[:middle], distinct[middle:]):
            add(*np.array(batch, np.int64).reshape(-1, 3).T)
    assert_counts(counter.finish(), secrets, released, widths)


@given(st.integers(1, 2**40))
def test_bits_hold_every_code_and_none_is_spare(width):
    bits = bits_for(width)
    assert width - 1 < 2**bits
    assert bits == 1 or width - 1 >= 2 ** (bits - 1)


@given(st.integers(0, 10**9), st.integers(1, 10**6), st.integers(1, 10**6))
def test_memory_grows_by_four_or_eight_bytes_a_row(rows, secrets, released):
    more = bytes_needed(rows + 1, secrets, released) - bytes_needed(rows, secrets, released)
    assert more == (4 if pairs._Layout(secrets, released).narrow else 8)


# --- Connected components agree with two other implementations ------------------------------------


@st.composite
def graphs(draw):
    """Draw the edges of a bipartite graph; some nodes may have none."""
    sizes = draw(st.tuples(st.integers(1, 60), st.integers(1, 60)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = draw(st.integers(0, 90))
    return random.integers(sizes[0], size=edges), random.integers(sizes[1], size=edges), sizes


def by_scipy(secrets, released, sizes):
    nodes = sum(sizes)
    matrix = coo_array(
        (np.ones(secrets.size), (secrets, released + sizes[0])), shape=(nodes, nodes)
    )
    return connected_components(matrix, directed=False)[1][: sizes[0]]


def partition(labels):
    """Return a labelling as a set of sets, whatever the labels are called."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@pytest.mark.slow
@given(graphs())
def test_components_are_those_of_scipy(graph):
    assert partition(component_labels(*graph)) == partition(by_scipy(*graph))


@given(graphs())
def test_labels_count_up_from_zero_in_the_order_of_first_members(graph):
    labels = component_labels(*graph)  # so they do not depend on the order of the edges
    _, first = np.unique(labels, return_index=True)
    assert labels[0] == 0
    assert labels[np.sort(first)].tolist() == list(range(first.size))


@given(graphs(), graphs())
def test_merged_forests_join_what_either_joins(one, other):
    size = max(one[2][0], other[2][0])
    forests = []
    for secrets, released, sizes in (one, other):
        labels = component_labels(secrets, released, (size, sizes[1]))
        first = np.unique(labels, return_index=True)[1].astype(np.int32)
        forests.append(first[labels])  # every node below the first of its tree
    merge_forests(*forests)
    secrets = np.concatenate([one[0], other[0]])
    released = np.concatenate([one[1], other[1] + one[2][1]])
    expected = by_scipy(secrets, released, (size, one[2][1] + other[2][1]))
    assert partition(number_trees(forests[0])) == partition(expected)


@pytest.mark.parametrize("forwards", [True, False])
def test_a_long_chain_is_one_component(forwards):
    length = 200_000
    secrets = np.repeat(np.arange(length), 2)[1:-1]
    released = np.repeat(np.arange(length - 1), 2)
    step = 1 if forwards else -1
    labels = component_labels(secrets[::step], released[::step], (length, length - 1))
    assert labels.size == length
    assert not labels.any()


# --- Numbers of distinct values agree with a sort of all rows -------------------------------------


ROWS = 20_000


def columns():
    rng = np.random.default_rng(4)
    tenths = np.round(rng.normal(size=ROWS), 1)
    missing = np.where(rng.random(ROWS) < 0.1, np.nan, tenths)
    signed = np.where(rng.random(ROWS) < 0.5, -0.0, 0.0)
    infinite = np.where(rng.random(ROWS) < 0.1, np.inf, tenths)
    yield from (tenths, missing, signed, infinite, -missing, tenths.astype(np.float32))
    yield tenths.astype(np.float16)
    whole = rng.integers(-(2**62), 2**62, 700)[rng.integers(0, 700, ROWS)]
    yield from (whole, whole.astype(np.uint64), rng.integers(0, 9, ROWS).astype(np.int8))
    yield np.arange(ROWS, dtype=np.int64) % 2500 << 52  # patterns that differ in high bits alone
    yield tenths[::-1]
    yield np.asfortranarray(np.column_stack([tenths, missing]))[:, 1]
    yield np.repeat(1.5, ROWS)


@pytest.mark.parametrize("column", list(columns()))
def test_numbers_are_those_of_a_sort(column):
    numbers, rows = number_values(column)
    distinct, expected = np.unique(column, return_inverse=True)
    assert np.array_equal(numbers, expected)
    assert np.array_equal(column[rows], distinct, equal_nan=column.dtype.kind == "f")
    assert numbers.dtype == np.int64


def test_many_distinct_values_are_left_to_a_sort():
    room = ROWS // pairs.ROWS_A_VALUE
    assert number_values(np.arange(ROWS, dtype=float)) is None
    assert number_values(np.arange(ROWS) % (room + 1)) is None
    assert number_values(np.arange(ROWS) % room)[1].size == room


@pytest.mark.parametrize(
    "column",
    [np.zeros(pairs.FEWEST_ROWS - 1), np.full(ROWS, "text"), np.zeros(ROWS, np.longdouble)],
)
def test_other_arrays_are_left_to_a_sort(column):
    assert number_values(column) is None
