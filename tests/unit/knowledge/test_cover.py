"""Weighted sums of numbers whose relations have whole factors, beside every table that fits."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.knowledge.cover import combination_range
from hartley.knowledge.table_bounds import Inference
from hartley.knowledge.table_system import (
    HIGH,
    LOW,
    LinearSystem,
    NoTableFits,
    Proposal,
    TableProgramme,
    weighted_sums,
)

FACTORS = st.integers(-4, 4).filter(bool)


@st.composite
def systems(draw):
    """Return numbers with bounds, and relations that one of their tables fulfils."""
    size = draw(st.integers(2, 5))
    low = [draw(st.integers(-2, 1)) for _ in range(size)]
    high = [end + draw(st.integers(0, 3)) for end in low]
    truth = [draw(st.integers(a, b)) for a, b in zip(low, high, strict=True)]
    start, column, factor = [0], [], []
    for _ in range(draw(st.integers(0, 3))):
        chosen = sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size)))
        factors = [draw(FACTORS) for _ in chosen]
        # One more number, known exactly, makes the sum zero.
        total = sum(f * truth[c] for f, c in zip(factors, chosen, strict=True))
        column += [*chosen, len(low)]
        factor += [*factors, -1]
        low.append(total)
        high.append(total)
        truth.append(total)
        start.append(len(column))
    parts = (np.array(part, np.int64) for part in (start, column, factor, low, high))
    return LinearSystem(*parts), size


def every_table(system, size):
    """Enumerate the tables that fit, from the definition alone."""
    entries = [
        list(zip(system.column[a:b].tolist(), system.factor[a:b].tolist(), strict=True))
        for a, b in zip(system.start[:-1], system.start[1:], strict=True)
    ]
    ranges = [range(a, b + 1) for a, b in zip(system.low, system.high, strict=True)]
    known = [int(end) for end in system.low[size:]]
    for numbers in product(*ranges[:size]):
        table = [*numbers, *known]
        if all(sum(f * table[c] for c, f in mine) == 0 for mine in entries):
            yield table


def proves(system, target, multipliers, side, end):
    """Add multipliers up by hand, and tell whether they prove a whole end."""
    rest = dict(target)
    for r, y in multipliers.items():
        for i in range(system.start[r], system.start[r + 1]):
            c = int(system.column[i])
            rest[c] = rest.get(c, 0) - y * int(system.factor[i])
    ends = (system.low, system.high)
    bound = sum(d * int(ends[side if d > 0 else 1 - side][c]) for c, d in rest.items())
    return (math.ceil(bound) if side == LOW else math.floor(bound)) == end


@settings(max_examples=60, deadline=None)
@given(systems(), st.lists(st.integers(-3, 3), min_size=5, max_size=5), st.booleans())
def test_sums_and_numbers_lie_between_ends_that_multipliers_prove_and_tables_attain(
    made, weights, narrow
):
    system, size = made
    tables = list(every_table(system, size))
    try:
        known = Inference(system, narrow=narrow)
    except NoTableFits:
        assert not tables
        return
    assert tables
    target = {c: w for c, w in enumerate(weights[:size]) if w}
    sums = combination_range(known, target, search=True)
    wanted = [sum(w * table[c] for c, w in target.items()) for table in tables]
    assert sums.low <= min(wanted)
    assert max(wanted) <= sums.high
    assert {sums.least, sums.most} <= {None, *wanted}
    assert proves(system, target, sums.below, LOW, sums.low)
    assert proves(system, target, sums.above, HIGH, sums.high)
    for table, end in zip(sums.tables, (sums.least, sums.most), strict=True):
        if table is not None:
            assert table.tolist() in tables
            assert sum(w * int(table[c]) for c, w in target.items()) == end
    known.widen(range(size), exact=True)
    for cell in range(size):
        found, values = known.range(cell), {table[cell] for table in tables}
        assert found.low <= min(values)
        assert max(values) <= found.high
        assert {found.least, found.most} <= {None, *values}
        for side, end in ((LOW, found.low), (HIGH, found.high)):
            bound = system.bound(cell, known.proof(cell, side), side)
            # Steps that divide are rounded outward, so the whole proof can only be narrower.
            assert bound > end - 1 if side == LOW else bound < end + 1
            assert bound <= min(values) if side == LOW else bound >= max(values)


@settings(max_examples=30, deadline=None)
@given(systems(), st.lists(st.integers(-(2**42), 2**42), min_size=4, max_size=4))
def test_a_sum_is_bounded_soundly_whatever_the_solver_says(made, lies):
    system, size = made
    tables = list(every_table(system, size))
    target = {0: 1, 1: -2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            TableProgramme,
            "solve",
            lambda programme, _: Proposal(
                np.resize(lies, programme.low.size) / 2**41,
                np.resize(lies, programme.right.size) / 2**40,
            ),
        )
        try:
            sums = combination_range(Inference(system), target)
        except NoTableFits:
            assert not tables
            return
    wanted = [table[0] - 2 * table[1] for table in tables]
    assert sums.low <= min(wanted, default=sums.low)
    assert max(wanted, default=sums.high) <= sums.high
    assert {sums.least, sums.most} <= {None, *wanted}


def test_parts_that_share_no_relation_are_added_up():
    two = LinearSystem.of([(4, [0, 1]), (5, [2, 3])], [0] * 4 + [7, 8], [9] * 4 + [7, 8])
    sums = combination_range(Inference(two), {0: 1, 2: -1, 4: 1})
    assert (sums.low, sums.high, sums.least, sums.most) == (-1, 14, -1, 14)
    assert [table[[0, 2]].tolist() for table in sums.tables] == [[0, 8], [7, 0]]


def test_sums_beyond_a_machine_word_are_exact():
    far = 2**61
    start, column = np.array([0, 3]), np.array([0, 1, 2])
    # 4 * 2^61 + 4 * 2^61 is 2^64, which is 0 in a machine word
    assert weighted_sums(start, column, np.array([4, 4, -1]), np.array([far, far, 0]))[0] == 2**64
    system = LinearSystem(
        start, column, np.array([4, 4, -1]), np.zeros(3, np.int64), np.full(3, far)
    )
    assert not system.fits(np.array([far, far, 0]))
    assert system.bound({2: 1}, {}, HIGH) == far
    assert system.bound({0: 4, 1: 4}, {}, HIGH) == 2**64


def test_a_quotient_is_rounded_outward_where_bounds_are_followed():
    # 3 x = y with 4 <= y <= 8: only x = 2 is whole, but multipliers prove 4/3 <= x <= 8/3 alone
    system = LinearSystem(
        np.array([0, 2]), np.array([0, 1]), np.array([3, -1]), np.array([-9, 4]), np.array([9, 8])
    )
    known = Inference(system)
    assert (int(known.bounds.low[0]), int(known.bounds.high[0])) == (1, 3)
    known.widen([0])
    assert (known.range(0).low, known.range(0).high) == (2, 2)
