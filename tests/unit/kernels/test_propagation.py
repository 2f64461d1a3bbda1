"""Bounds that are followed through sums never lose a table that fits, however large it is."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from hartley.kernels.sums import EMPTY, FAR, follow_sums
from hartley.knowledge.table_system import LinearSystem

NUMBERS = st.one_of(
    st.integers(-9, 9),
    st.integers(0, 61).flatmap(lambda power: st.integers(-(2**power), 2**power)),
    st.integers(0, 61).map(lambda power: 2**power),
)
FACTORS = st.one_of(st.sampled_from((1, -1)), st.integers(2, 9), st.integers(-(2**20), -2))


@st.composite
def systems_with_a_table(draw):
    """Draw whole numbers, relations that they fulfil, and bounds that hold them."""
    table = draw(st.lists(NUMBERS, min_size=1, max_size=5))
    relations = []
    for _ in range(draw(st.integers(1, 3))):
        members = draw(st.lists(st.sampled_from(range(len(table))), min_size=1, unique=True))
        factors = [draw(FACTORS) for _ in members]
        total = sum(f * table[c] for f, c in zip(factors, members, strict=True))
        assume(abs(total) < FAR)
        relations.append([*zip(members, factors, strict=True), (len(table), -1)])
        table.append(total)
    low, high = [], []
    for number in table:
        has_low, has_high = draw(st.tuples(st.booleans(), st.booleans()))
        low.append(max(number - abs(draw(NUMBERS)), 1 - FAR) if has_low else -FAR)
        high.append(min(number + abs(draw(NUMBERS)), FAR - 1) if has_high else FAR)
    entries = [entry for relation in relations for entry in relation]
    start = np.cumsum([0, *map(len, relations)])
    column, factor = (np.array(part, np.int64) for part in zip(*entries, strict=True))
    return LinearSystem(start, column, factor, np.array(low), np.array(high)), table


def followed(system):
    low, high = system.low.copy(), system.high.copy()
    parts = system.start, system.column, system.factor, *system.transposed
    log = np.empty((10_000, 4), np.int64)
    state, _, _ = follow_sums(*parts, low, high, np.arange(system.relations), log)
    return state, low, high


@given(systems_with_a_table())
@settings(max_examples=400)
def test_a_table_that_fits_is_never_excluded(made):
    system, table = made
    state, low, high = followed(system)
    assert state != EMPTY
    assert all(a <= number for a, number in zip(low.tolist(), table, strict=True))
    assert all(number <= b for number, b in zip(table, high.tolist(), strict=True))


@pytest.mark.parametrize("cells", [2048, 4096, 5000])
def test_a_hidden_total_of_many_large_cells_is_not_taken_for_a_small_one(cells):
    largest = 2**52  # the sum of 4,096 of them is 0 in a word of 64 bits
    low, high = [0, *[largest] * cells], [FAR, *[largest] * cells]
    system = LinearSystem.of([(0, range(1, cells + 1))], low, high)
    state, _, ends = followed(system)
    assert state != EMPTY
    assert ends[0] >= min(cells * largest, FAR)


def test_a_product_beyond_the_limit_is_no_end():
    # x = 3 * 2**57 and y = 4 x fit; a lower end of 4 x that was set to FAR would exclude them.
    bounds = np.array([3 * 2**57, 0]), np.array([2**59, 2**61 - 1])
    system = LinearSystem(np.array([0, 2]), np.array([0, 1]), np.array([4, -1]), *bounds)
    assert system.fits(np.array([3 * 2**57, 3 * 2**59]))
    assert followed(system)[0] != EMPTY
