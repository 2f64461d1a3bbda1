"""Elimination modulo a prime, compared with exact rationals."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings, strategies as st

from hartley.exact import lifted
from hartley.kernels.sums import (
    PRIME,
    combination,
    eliminate,
    inverse,
    kernel_vector,
    minus,
    times,
)

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
