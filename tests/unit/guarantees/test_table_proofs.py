"""Proofs about tables are added up exactly: bounds, multipliers and whole tables, against loops."""

from fractions import Fraction
from itertools import product
from math import ceil, floor

import numpy as np
import pytest

from hartley.guarantees.table_proofs import ProofRows, Witnesses, followed
from hartley.kernels.sums import FAR
from hartley.knowledge.table_system import HIGH, LOW, Bounds, LinearSystem

GRID = [(8, [0, 1]), (9, [2, 3]), (10, [0, 2]), (11, [1, 3]), (12, [8, 9]), (12, [10, 11])]
"""A table of two by two: cells 0 to 3, rows 8 and 9, columns 10 and 11, the total 12."""


def system_of(generator):
    """Return the bounds of a random table with hidden, marked and exact cells; a table fits."""
    inside = generator.integers(0, 6, 4)
    x = np.zeros(13, np.int64)
    x[:4] = inside
    x[8], x[9], x[10], x[11] = x[0] + x[1], x[2] + x[3], x[0] + x[2], x[1] + x[3]
    x[12] = x[8] + x[9]
    low, high = x.copy(), x.copy()
    for cell in (*range(4), *range(8, 13)):
        kind = generator.integers(0, 4)
        if kind == 0:
            low[cell], high[cell] = 0, FAR
        elif kind == 1:
            low[cell], high[cell] = max(0, x[cell] - 2), x[cell] + 1
    return LinearSystem.of(GRID, low, high), x


def narrowed_by_hand(system):
    """Follow bounds through one relation after the other until nothing becomes narrower."""
    low, high = system.low.tolist(), system.high.tolist()
    while True:
        before = list(low), list(high)
        for r in range(system.relations):
            parent, children = system.relation(r)
            if all(high[c] < FAR for c in children):
                high[parent] = min(high[parent], sum(high[c] for c in children))
            low[parent] = max(low[parent], sum(low[c] for c in children))
            for child in children:
                others = [c for c in children if c != child]
                if high[parent] < FAR:
                    high[child] = min(high[child], high[parent] - sum(low[c] for c in others))
                if all(high[c] < FAR for c in others):
                    low[child] = max(low[child], low[parent] - sum(high[c] for c in others))
        if before == (low, high):
            return low, high


@pytest.mark.parametrize("seed", range(40))
def test_following_is_the_same_as_one_relation_after_the_other(seed):
    system, x = system_of(np.random.default_rng(seed))
    low, high = followed(system)
    assert (low.tolist(), high.tolist()) == narrowed_by_hand(system)
    assert ((low <= x) & (x <= high)).all()


def test_following_goes_on_from_ends_that_are_proved_already():
    system = LinearSystem.of([(2, [0, 1]), (4, [1, 3])], [0, 0, 9, 0, 4], [FAR, FAR, 9, FAR, 4])
    low, high = followed(system)
    assert high.tolist() == [9, 4, 9, 4, 4]
    low[1] = 4
    low, high = followed(system, (low, high))
    assert (low.tolist(), high.tolist()) == ([5, 4, 9, 0, 4], [5, 4, 9, 0, 4])


@pytest.mark.parametrize("factor", [3, 2**32, -(2**62)])
def test_factors_of_relations_neither_wrap_around_nor_pass_for_sums(factor):
    # factor * x - y = 0; 2**32 times 2**32 is 0 in a word of 64 bits
    columns = np.array([0, 2]), np.array([0, 1]), np.array([factor, -1])
    system = LinearSystem(*columns, np.array([0, 0]), np.array([7, 9]))
    low, high = followed(system)
    assert (low.tolist(), high.tolist()) == ([0, 0], [7, 9])
    for numerator in (1, -1, 2**32, -(2**61)):
        rows = ProofRows(
            np.array([1, 1]),
            np.array([LOW, HIGH]),
            np.array([0, 1, 2]),
            np.array([0, 0]),
            np.array([numerator, numerator]),
            np.array([1, 1]),
        )
        multipliers = {0: Fraction(numerator)}
        exact = [system.bound(1, multipliers, side) for side in (LOW, HIGH)]
        assert rows.bounds(system) == [ceil(exact[0]), floor(exact[1])]
        # by hand: y = (1 + numerator) y - numerator * factor * x
        ends = [(1 + numerator) * y - numerator * factor * x for x in (0, 7) for y in (0, 9)]
        assert exact == [min(ends), max(ends)]


def test_relations_that_contradict_each_other_end_with_an_empty_interval():
    system = LinearSystem.of([(2, [0, 1])], [6, 0, 5], [6, FAR, 5])
    low, high = followed(system)
    assert (low > high).any()


def many_levels(width, most):
    """Return totals of totals of totals of bounded numbers; nobody publishes a total."""
    relations, level, size = [], list(range(width**3)), width**3
    while len(level) > 1:
        parents = list(range(size, size + len(level) // width))
        size += len(parents)
        relations += [(p, level[i * width : (i + 1) * width]) for i, p in enumerate(parents)]
        level = parents
    high = [most] * width**3 + [FAR] * (size - width**3)
    return LinearSystem.of(relations, [0] * size, high), level[0]


@pytest.mark.parametrize("most", [2**44, 2**51, 2**55])
def test_ends_too_large_for_a_word_are_left_out_and_never_wrap_around(most):
    width = 40
    system, everything = many_levels(width, most)
    truth = most * width**3
    for high in (followed(system)[1], _by_the_kernel(system)):
        assert high[everything] in {min(truth, FAR), FAR}
        assert (high > 0).all()
    if most == 2**44:
        assert int(followed(system)[1][width**3]) == most * width


def _by_the_kernel(system):
    bounds = Bounds(system)
    bounds.follow()
    return bounds.high


def test_a_forger_cannot_let_useless_ends_wrap_around_to_a_small_one():
    # 8 times 2**61 is 2**64, which is 0 in a word of 64 bits: everybody would be in no cell.
    system = LinearSystem.of([(8, list(range(8)))], [0] * 9, [FAR] * 9)
    ends = system.low.copy(), np.array([2**61] * 8 + [FAR])
    _, high = followed(system, ends)
    assert high[8] == FAR


def multipliers_of(generator, ends, scale):
    """Return random multipliers of a few relations for each end, whatever they prove."""
    start, relations, numerators = [0], [], []
    for _ in ends:
        used = generator.choice(len(GRID), generator.integers(1, 4), replace=False)
        relations += used.tolist()
        numerators += [int(n) * scale for n in generator.integers(-3, 4, used.size)]
        start.append(len(relations))
    return (
        start,
        relations,
        numerators,
        [int(n) * scale for n in generator.integers(1, 4, len(ends))],
    )


@pytest.mark.parametrize("scale", [1, 2**40, 2**59, 2**63, 10**40])
@pytest.mark.parametrize("seed", range(6))
def test_any_multipliers_prove_what_exact_fractions_say(seed, scale):
    generator = np.random.default_rng(seed)
    system, x = system_of(generator)
    ends = list(product((0, 1, 2, 3, 8, 12), (LOW, HIGH)))
    start, relations, numerators, denominators = multipliers_of(generator, ends, scale)
    whole = np.int64 if scale < 2**60 else object
    rows = ProofRows(
        np.array([cell for cell, _ in ends]),
        np.array([side for _, side in ends]),
        np.array(start),
        np.array(relations),
        np.array(numerators, whole),
        np.array(denominators, whole),
    )
    for i, (end, (cell, side)) in enumerate(zip(rows.bounds(system), ends, strict=True)):
        mine = range(start[i], start[i + 1])
        y = {relations[j]: Fraction(numerators[j], denominators[i]) for j in mine}
        rest = system.differences(cell, y)
        used = [
            (d, (system.low if (d > 0) == (side == LOW) else system.high)[c])
            for c, d in rest.items()
        ]
        if any(abs(int(e)) >= FAR for _, e in used):
            assert end is None
            continue
        exact = sum((d * int(e) for d, e in used), Fraction(0))
        assert end == (ceil(exact) if side == LOW else floor(exact))
        assert end <= x[cell] if side == LOW else end >= x[cell]


SQUARE = LinearSystem.of(GRID, [0] * 13, [FAR] * 8 + [5, 4, 6, 3, 9])
TABLE = np.array([3, 2, 3, 1, 0, 0, 0, 0, 5, 4, 6, 3, 9])


def witnesses(moves, base=TABLE, known=None):
    cells = [cell for move in moves for cell, _ in move]
    changes = [change for move in moves for _, change in move]
    start = np.concatenate([[0], np.cumsum([len(move) for move in moves])]).astype(np.int64)
    return Witnesses(
        np.array(base, np.int64),
        np.ones(13, bool) if known is None else known,
        start,
        np.array(cells, np.int64),
        np.array(changes, np.int64),
    )


def fits(moves, **more):
    low, high = SQUARE.low.copy(), SQUARE.high.copy()
    low[8:], high[4:8] = SQUARE.high[8:], 0  # totals are published, four cells do not exist
    stated = LinearSystem.of(GRID, low, high)
    return witnesses(moves, **more).fit(stated, *followed(stated))


CUBOID = [(0, 1), (1, -1), (2, -1), (3, 1)]


def test_tables_that_fit_are_accepted():
    assert fits([])
    assert fits([CUBOID, [(cell, -change) for cell, change in CUBOID]])
    assert witnesses([CUBOID]).ends()[1].tolist()[:4] == [4, 2, 3, 2]
    values = witnesses([CUBOID, CUBOID, [(0, -1)]]).number_of_values(np.ones(13, bool))
    assert values.tolist()[:5] == [3, 2, 2, 2, 1]


@pytest.mark.parametrize(
    "moves",
    [
        [[(0, 1)]],  # no sum is kept
        [CUBOID, [(0, 1), (1, -1), (2, -1), (3, 2)]],
        [[(0, 3), (1, -3), (2, -3), (3, 3)]],  # below zero
        [[(0, 2), (0, -1), (1, -1), (2, -1), (3, 1)]],  # a cell twice
        [[(8, 0)]],  # a settled cell, even where it stays as it is
        [[(0, -(2**63)), (1, 2**62), (2, 2**62), (3, -(2**63))]],
        [[(0, 2**62), (1, -(2**62)), (2, -(2**62)), (3, 2**62)]],
    ],
)
def test_changes_that_do_not_fit_are_refused(moves):
    assert not fits(moves)


def test_a_table_that_does_not_fit_is_refused():
    for cell in (0, 3, 8, 12):
        wrong = TABLE.copy()
        wrong[cell] += 1
        assert not fits([], base=wrong)
    assert not fits([], base=[4, 1, 3, 1, *TABLE[4:].tolist()])  # a column does not add up


def test_what_shares_a_sum_with_an_unknown_cell_is_no_table():
    known = np.ones(13, bool)
    known[:4] = False
    assert fits([], known=known)
    known[0] = True
    assert not fits([], known=known)
    assert not fits([CUBOID], known=known)
