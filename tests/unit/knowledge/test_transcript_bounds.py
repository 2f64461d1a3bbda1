from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Transcript
from hartley.knowledge.table_system import Proposal, TableProgramme
from hartley.knowledge.transcript import AnswerCell, Group, one_row_left, possible_records
from hartley.knowledge.transcript_bounds import Relaxation

RECORDS = 5
AGES = np.arange(RECORDS)


@st.composite
def transcripts(draw):
    """Return what a few answers tell about a few rows, and the rows."""
    sizes = draw(st.lists(st.integers(1, 2), min_size=1, max_size=2))
    groups = tuple(
        Group(size, np.array(sorted(draw(st.sets(st.integers(0, 4), min_size=1)))))
        for size in sizes
    )
    rows = [draw(st.sampled_from(g.records.tolist())) for g in groups for _ in range(g.rows)]
    answers = []
    for _ in range(draw(st.integers(1, 3))):
        inside = np.array(draw(st.lists(st.booleans(), min_size=5, max_size=5)))
        values = np.array(draw(st.lists(st.integers(-4, 9), min_size=5, max_size=5))) * inside
        step = Fraction(draw(st.integers(1, 12)), draw(st.integers(1, 3)))
        quantile = draw(st.none() | st.sampled_from([0, Fraction(1, 3), Fraction(1, 2), 1]))
        answers.append(answered(rows, inside, values, step, quantile))
    truth = np.bincount(rows, minlength=RECORDS)
    return Transcript(("age",), AGES[:, None], tuple(answers), groups, 99, truth=truth), rows


def answered(rows, inside, values, step, quantile):
    """Answer a question about rows by its definition."""
    numbers = sorted(int(values[row]) for row in rows if inside[row])
    quantile = None if quantile is None else Fraction(quantile)
    if quantile is None:
        total = sum(numbers)
    elif numbers:
        total = numbers[max(-(-quantile * len(numbers) // 1), 1) - 1]
    else:
        total = None
    least = -20
    cell = None if total is None else int((total - least) // step)
    ends = [t for t in range(-60, 90) if cell is not None and (t - least) // step == cell]
    ends = (ends[0], ends[-1]) if ends else (0, 0)
    return AnswerCell("", inside, values, cell, ends, least=least, step=step, quantile=quantile)


def consistent(told):
    """Return every choice of records for all rows that leads to the same answers."""
    records = [group.records.tolist() for group in told.groups for _ in range(group.rows)]
    return [
        rows
        for rows in product(*records)
        if all(
            answered(rows, answer.inside, answer.values, answer.step, answer.quantile).cell
            == answer.cell
            for answer in told.answers
        )
    ]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(transcripts())
def test_possible_records_are_those_of_all_consistent_tables(made):
    told, rows = made
    assert told.holds_truth()
    tables = consistent(told)
    assert tuple(rows) in tables
    found, start = possible_records(told), 0
    for group, possible in zip(told.groups, found, strict=True):
        wanted = {table[start] for table in tables}  # rows of a group are alike
        assert set(group.records[possible].tolist()) == wanted
        start += group.rows


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(made=transcripts(), poor=st.lists(st.integers(-(2**42), 2**42), min_size=9, max_size=9))
def test_a_bound_holds_whatever_the_solver_says(made, poor):
    told, _ = made
    tables = consistent(told)
    for lies in (None, poor):
        with pytest.MonkeyPatch.context() as patch:
            if lies:
                patch.setattr(
                    TableProgramme,
                    "solve",
                    lambda programme, _, lies=lies: Proposal(
                        np.resize(lies, programme.low.size) / 2**41,
                        np.resize(lies, programme.right.size) / 2**40,
                    ),
                )
            relaxed = Relaxation(told)
            start = 0
            for place, group in enumerate(told.groups):
                low, high = relaxed.bound_one_row(place, AGES[group.records])
                assert all(low <= table[start] <= high for table in tables)
                start += group.rows
            weights = told.weights[:, 0]
            costs = [block.weights[:, 0] for block in relaxed.statements.blocks]
            wanted = [int(sum(weights[record] for record in table)) for table in tables]
            bounds = relaxed.statements.reach(costs)
            assert bounds.low <= min(wanted)
            assert max(wanted) <= bounds.high
            assert {bounds.least, bounds.most} <= {None, *wanted}
            exact = Relaxation(told).statements.reach(costs, steps=100_000)
            assert (exact.low, exact.high, exact.values) == (
                min(wanted), max(wanted), len(set(wanted)),
            )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(transcripts())
def test_one_row_is_replaced_by_every_record_and_all_is_answered_again(made):
    told, rows = made
    found = {}
    for i, row in enumerate(rows):
        vectors = []
        for record in range(RECORDS):
            changed = [*rows[:i], record, *rows[i + 1 :]]
            vectors.append(
                tuple(
                    answered(
                        changed, answer.inside, answer.values, answer.step, answer.quantile
                    ).cell
                    for answer in told.answers
                )
            )
        found[row] = (vectors.count(vectors[row]), len(set(vectors)))
    listed = one_row_left(told)
    assert [(one.left, one.transcripts) for one in listed] == [found[r] for r in sorted(found)]
    assert sum(one.rows for one in listed) == len(rows)


def test_nothing_told_rules_nothing_out():
    blank = Transcript(("age",), AGES[:, None], (), (Group(3, AGES),), 1)
    assert possible_records(blank)[0].all()
    assert Relaxation(blank).bound_one_row(0, AGES) == (0, 4)
    assert Relaxation(blank).bound_one_row(0, np.full(RECORDS, -1)) is None


def test_too_many_steps_are_given_up():
    count = answered([1, 2, 3], AGES > 1, (AGES > 1).astype(np.int64), Fraction(1), None)
    told = Transcript(("age",), AGES[:, None], (count,), (Group(3, AGES),), 4)
    assert possible_records(told, most=10) is None
