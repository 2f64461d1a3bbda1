"""Kinds of records in lines, and tables as numbers of a system and back."""

from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given, settings, strategies as st

from hartley.knowledge.transcript import Block, KindLines, RecordEquations


@st.composite
def blocks(draw):
    """Return rows whose kinds have numbers with many equal steps."""
    kinds = draw(st.integers(1, 9))
    first = [draw(st.sampled_from([0, 0, 5])) for _ in range(kinds)]
    second = draw(st.permutations(range(kinds)))
    weights = np.array(
        [[a, b * draw(st.sampled_from([1, 2]))] for a, b in zip(first, second, strict=True)]
    )
    types = np.array(draw(st.lists(st.integers(0, 1), min_size=kinds, max_size=kinds)))
    return Block(draw(st.integers(0, 3)), weights, types=draw(st.sampled_from([None, types])))


def tables_of(block):
    """Enumerate how many rows can have which kind."""
    kinds = len(block.weights)
    for chosen in combinations_with_replacement(range(kinds), block.rows):
        yield np.bincount(np.array(chosen, int), minlength=kinds)


@settings(max_examples=120, deadline=None)
@given(blocks())
def test_lines_have_equal_steps_and_every_kind_once(block):
    lines = KindLines.of(block)
    assert sorted(lines.order.tolist()) == list(range(len(block.weights)))
    for first, length in zip(lines.first.tolist(), lines.lengths.tolist(), strict=True):
        mine = lines.order[first : first + length]
        assert len({tuple(step) for step in np.diff(block.weights[mine], axis=0).tolist()}) <= 1
        assert block.types is None or len(set(block.types[mine].tolist())) == 1
    assert all(lines.are_even(column) for column in block.weights.T)


@settings(max_examples=60, deadline=None)
@given(blocks(), blocks())
def test_every_table_is_a_solution_and_every_solution_a_table(one, other):
    low, high = np.array([0, -3]), np.array([30, 40])
    equations = RecordEquations.of((one, other), low, high)
    for table in zip(tables_of(one), tables_of(other), strict=False):
        numbers = equations.compress(table)
        totals = table[0] @ one.weights + table[1] @ other.weights
        assert numbers[equations.totals_at :].tolist() == totals.tolist()
        assert equations.system.fits(numbers) == bool(((low <= totals) & (totals <= high)).all())
        again = equations.expand(numbers)
        assert [int(counts.sum()) for counts in again] == [one.rows, other.rows]
        assert equations.compress(again).tolist() == numbers.tolist()
        target = equations.target([one.weights[:, 0], 2 * other.weights[:, 1]])
        wanted = table[0] @ one.weights[:, 0] + 2 * table[1] @ other.weights[:, 1]
        assert sum(w * int(numbers[c]) for c, w in target.items()) == wanted


def test_a_long_range_takes_three_numbers():
    pay = np.arange(100_001)
    equations = RecordEquations.of((Block(5_000, pay[:, None]),), np.array([7]), np.array([7]))
    assert equations.system.size == 5
    squares = equations.target([pay * pay])
    assert squares is None  # they do not grow by equal steps
    assert RecordEquations.of(
        (Block(2, pay[:9, None]),), np.array([7]), np.array([7]), [pay[:9] ** 2]
    ).target([pay[:9] ** 2]) == {i: i * i for i in range(1, 9)}
