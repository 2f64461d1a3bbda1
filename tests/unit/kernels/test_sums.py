"""Sums, bounds and covers against exact rationals and enumeration."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from hartley.exact import lifted
from hartley.kernels.sums import (
    EMPTY,
    FAR,
    PRIME,
    combination,
    eliminate,
    fewest_cells,
    first_within,
    follow_sums,
    inverse,
    kernel_vector,
    largest_smallest_cell,
    minus,
    times,
)
from hartley.knowledge.table_system import LinearSystem

# --- Elimination modulo a prime, compared with exact rationals ------------------------------------


numbers = st.integers(0, PRIME - 1)


@given(numbers, numbers)
def test_products_and_differences_modulo_the_prime(a, b):
    assert times(a, b) == a * b % PRIME
    assert minus(a, b) == (a - b) % PRIME
    assert a == 0 or times(a, inverse(a)) == 1


def test_the_largest_product():
    assert times(PRIME - 1, PRIME - 1) == 1


@given(st.fractions(max_denominator=10**6).filter(lambda q: abs(q.numerator) < 10**8))
def test_a_small_rational_comes_back(q):
    assert lifted(q.numerator * pow(q.denominator, -1, PRIME) % PRIME, PRIME) == q


def in_row_space(rows, target):
    """Tell whether a unit vector is a combination of rows, by elimination over the rationals."""
    basis = []
    for row in [*rows, [int(i == target) for i in range(len(rows[0]))]]:
        rest = list(map(Fraction, row))
        for pivot, other in basis:
            if rest[pivot]:
                factor = rest[pivot] / other[pivot]
                rest = [a - factor * b for a, b in zip(rest, other, strict=True)]
        place = next((i for i, value in enumerate(rest) if value), None)
        if place is None:
            last = True
        else:
            last = False
            basis.append((place, rest))
    return last


@settings(max_examples=80)
@given(st.data())
def test_exactly_what_follows_is_found(data):
    columns = data.draw(st.integers(1, 6))
    row = st.lists(st.sampled_from([-1, 0, 1]), min_size=columns, max_size=columns)
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    start, column, value = [0], [], []
    for entries in rows:
        column += [i for i, v in enumerate(entries) if v]
        value += [v % PRIME for v in entries if v]
        start.append(len(column))
    reduced = eliminate(
        np.array(start), np.array(column, np.int64), np.array(value, np.int64), columns, 10**6
    )
    parts, (last, steps), complete = reduced[:6], reduced[6:8], reduced[9]
    assert complete
    free = np.random.default_rng(1).integers(1, PRIME, columns)
    free[parts[1]] = 0
    vector = kernel_vector(*parts, free)
    for entries in rows:
        assert sum(v * int(x) for v, x in zip(entries, vector, strict=True)) % PRIME == 0
    place_of = np.full(columns, -1, np.int64)
    place_of[parts[1]] = np.arange(parts[1].size)
    work = np.zeros(columns, np.int64)
    for target in range(columns):
        follows = in_row_space(rows, target)
        assert (vector[target] == 0) == follows
        used, factors, closed = combination(target, *parts, last, steps, place_of, work)
        assert closed == follows
        assert not work.any()
        if follows:
            multipliers = [lifted(int(f), PRIME) for f in factors]
            total = [
                sum(y * rows[r][i] for r, y in zip(used.tolist(), multipliers, strict=True))
                for i in range(columns)
            ]
            assert total == [int(i == target) for i in range(columns)]


# --- Bounds that are followed through sums never lose a table that fits, however large it is ------


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


# --- Covers by intervals agree with enumeration, and no rounding decides which values fit ---------


TENTHS = st.lists(st.integers(-30, 30).map(lambda n: n / 10), min_size=1, max_size=12)
DOUBLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)
WIDTHS = st.fractions(0, 4, max_denominator=60) | st.integers(0, 40).map(lambda n: Fraction(n, 10))


def by_rationals(values, width):
    """Find where cells may begin by comparing all differences as rationals."""
    exact = [Fraction(value) for value in values]
    first = [
        next(j for j in range(i + 1) if exact[i] - exact[j] <= width) for i in range(len(exact))
    ]
    return [0, *first]


def all_covers(first):
    """Yield all ways to cut positions into cells that begin no earlier than they may."""
    inner = range(1, len(first) - 1)
    for size in range(len(first) - 1):
        for chosen in combinations(inner, size):
            cuts = [0, *chosen, len(first) - 1]
            if all(begin >= first[end] for begin, end in pairwise(cuts)):
                yield cuts


@st.composite
def problems(draw):
    """Draw a sorted list, a width and the mass of every value."""
    values = sorted(draw(st.sets(st.integers(0, 25), min_size=1, max_size=9)))
    weights = draw(st.lists(st.integers(1, 6), min_size=len(values), max_size=len(values)))
    first = first_within(np.array(values), Fraction(draw(st.integers(0, 14))))
    return first, np.concatenate([[0], np.cumsum(weights)])


@pytest.mark.slow
@given(values=TENTHS | DOUBLES, width=WIDTHS)
@example(values=[0.1, 0.4], width=Fraction(3, 10))
@example(values=[0.1, 0.3], width=Fraction(1, 5))
@example(values=[1.0, 1.0 + 2**-52, 2.0], width=Fraction(1))
@example(values=[-1e16, 1.0], width=Fraction(10**16 + 1))
@example(values=[-1e16, 1.5], width=Fraction(10**16 + 1))
@example(values=[0.0, 5e-324, 1e-323], width=Fraction(5e-324))
@example(values=[0.0, 5e-324], width=Fraction(5e-324) / 3)
@settings(max_examples=300, deadline=None)
def test_differences_of_doubles_are_compared_exactly(values, width):
    values = sorted(values)
    assert first_within(np.array(values), width).tolist() == by_rationals(values, width)


@pytest.mark.slow
@given(base=st.floats(0.1, 1e9), width=WIDTHS, steps=st.lists(st.integers(-3, 3), min_size=1))
@settings(max_examples=200, deadline=None)
def test_doubles_around_the_width_fall_on_the_right_side(base, width, steps):
    near = float(Fraction(base) + width)
    values = sorted([base, *(near + step * math.ulp(near) for step in steps)])
    assert first_within(np.array(values), width).tolist() == by_rationals(values, width)


@pytest.mark.slow
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=10),
    width=st.integers(0, 2**65) | st.integers(0, 50) | st.fractions(0, 100),
)
@example(values=[-(2**63), 2**63 - 1], width=2**64 - 1)
@example(values=[-(2**63), 2**63 - 1], width=2**64 - 2)
@settings(max_examples=200, deadline=None)
def test_differences_of_integers_never_wrap(values, width):
    values = sorted(values)
    found = first_within(np.array(values, np.int64), Fraction(width))
    assert found.tolist() == by_rationals(values, width)


@pytest.mark.slow
@given(problem=problems())
@settings(max_examples=200, deadline=None)
def test_the_greedy_cover_is_a_smallest_one(problem):
    first, _ = problem
    cuts = fewest_cells(first).tolist()
    covers = list(all_covers(first.tolist()))
    assert cuts in covers
    assert len(cuts) == min(map(len, covers))


@pytest.mark.slow
@given(problem=problems())
@settings(max_examples=300, deadline=None)
def test_the_smallest_cell_is_as_large_as_enumeration_finds_it(problem):
    first, mass = problem
    least, cuts = largest_smallest_cell(first, mass)
    covers = {tuple(cover): int(np.diff(mass[cover]).min()) for cover in all_covers(first.tolist())}
    assert least == max(covers.values())
    assert covers[tuple(cuts.tolist())] == least
    assert cuts.size == min(len(cover) for cover, smallest in covers.items() if smallest == least)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_one_cell_holds_everything_that_fits(size):
    first = first_within(np.arange(size), Fraction(size))
    least, cuts = largest_smallest_cell(first, np.arange(size + 1))
    assert (least, cuts.tolist()) == (size, [0, size])
    assert fewest_cells(first).tolist() == [0, size]


def test_evenly_spread_values_are_cut_evenly():
    # A million values in cells of at most 1000: a thousand cells of a thousand.
    first = first_within(np.arange(10**6), Fraction(999))
    least, cuts = largest_smallest_cell(first, np.arange(10**6 + 1))
    assert least == 1000
    assert set(np.diff(cuts).tolist()) == {1000}
