"""The truth lies in the interval: random questions, evaluated in plain Python and by DuckDB."""


# ruff: noqa: PT017 - most wishes are kept, some are refused

import datetime as dt
import math
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings, strategies as st
from random_questions import EPOCH, Case, assert_contains, holds, random_steps

from hartley.errors import Refused
from hartley.trusted.cells import cell_bounds, cell_of, read, read_cells, root_down, root_up
from hartley.trusted.precision import steps_for_error, worst_errors
from hartley.trusted.questions.batch import All, Statistic

SEEDS = st.integers(0, 2**64)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=800)
def test_the_truth_lies_in_the_interval_whatever_the_steps(seed):
    case = Case(seed)
    selection = case.selection.with_steps(random_steps(case.random, case.selection))
    totals = case.totals()
    reading = read(selection, totals)
    worst = iter(worst_errors(selection))
    for row, truths in zip(reading.rows, case.truths(), strict=True):
        for estimate, truth in zip(row, truths, strict=True):
            assert_contains(estimate, truth)
            assert (estimate.error or 0) <= next(worst)
    cells = [cell_of(q, t) for q, t in zip(selection.questions, totals, strict=True)]
    assert read_cells(selection, cells) == reading


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=250)
def test_with_the_finest_steps_every_answer_is_the_truth(seed):
    case = Case(seed)
    for row, truths in zip(read(case.selection, case.totals()).rows, case.truths(), strict=True):
        for estimate, truth in zip(row, truths, strict=True):
            assert_contains(estimate, truth)
            assert estimate.is_null == (truth is None)
            if isinstance(truth, Fraction):
                assert estimate.error == 0
                assert not estimate.may_be_null


def public_count_of(case):
    """Tell the number of rows of conditions that look at no nullable or filtered column."""
    return lambda where: sum(holds(where, row) for row in case.codes)


@pytest.mark.slow
@given(seed=SEEDS, wish=st.fractions(0, 30, max_denominator=20))
@settings(max_examples=450)
def test_an_error_that_was_wished_for_is_kept(seed, wish):
    case = Case(seed)
    public = public_count_of(case) if case.random.random() < 0.7 else None
    try:
        steps = steps_for_error(case.selection, wish, public_count=public)
    except Refused as refusal:  # only a root can be irrational, and is then rounded
        assert wish == 0
        assert "roots" in refusal.problem
        return
    selection = case.selection.with_steps(steps)
    assert max(worst_errors(selection, public_count=public)) <= wish
    reading = read(selection, case.totals())
    for row, truths in zip(reading.rows, case.truths(), strict=True):
        for estimate, truth in zip(row, truths, strict=True):
            assert_contains(estimate, truth)
            assert (estimate.error or 0) <= wish


@pytest.mark.slow
@given(seed=SEEDS, wish=st.fractions(0, 30, max_denominator=20))
@settings(max_examples=300)
def test_a_sum_or_order_statistic_is_told_no_finer_than_wished(seed, wish):
    case = Case(seed)
    items = [item for item in case.selection.items if item.kind in ("sum", "order statistic")]
    if len(items) != len(case.selection.items):  # an average may ask for a finer sum
        return
    steps = list(steps_for_error(case.selection, wish))
    for item in items:
        place = item.sum if item.order is None else item.order
        question = case.selection.questions[place]
        if len([other for other in items if place in other.parts]) == 1 and item.count is None:
            coarser = [*steps]
            coarser[place] += 1
            worst = worst_errors(case.selection.with_steps(coarser))
            constant = steps[place] == question.most - question.least + 1
            assert constant or worst[case.selection.items.index(item)] > wish


@given(
    least=st.integers(-50, 50),
    span=st.integers(0, 60),
    step=st.fractions(Fraction(1, 5), 70, max_denominator=9),
)
def test_cells_cover_every_total_once(least, span, step):
    from hartley.trusted.questions.batch import Question

    question = Question(Statistic.SUM, All(), None, None, least, least + span, step)
    for total in range(least, least + span + 1):
        low, high = cell_bounds(question, cell_of(question, total))
        assert low <= total <= high <= question.most
        assert high - low <= math.ceil(step) - 1
        others = [cell_of(question, other) for other in (low, high)]
        assert others == [cell_of(question, total)] * 2


@pytest.mark.slow
@given(square=st.fractions(0, 1000))
def test_roots_are_rounded_outward_and_hardly(square):
    assert root_down(square) ** 2 <= square <= root_up(square) ** 2
    assert root_up(square) - root_down(square) <= Fraction(1, 2**64)
    assert root_down(square**2) == root_up(square**2) == square


# --- the same questions in DuckDB -----------------------------------------------------------------


@pytest.fixture(scope="module")
def database():
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("CREATE MACRO BIN(x, w) AS floor(x / w) * w")
    yield connection
    connection.close()


def load(database, case):
    database.execute(
        "CREATE OR REPLACE TABLE people "
        "(a DOUBLE, b DOUBLE, d DATE, c VARCHAR, t BOOLEAN, g INTEGER)"
    )
    for row in case.table:
        day = EPOCH + dt.timedelta(days=int(row["d"]))
        numbers = [None if row[name] is None else float(row[name]) for name in "ab"]
        values = [*numbers, day, row["c"], row["t"], row["g"]]
        database.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", values)


def as_shown(value):
    return (
        float(value) if isinstance(value, (int, Fraction)) and value not in (True, False) else value
    )


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=250)
def test_duckdb_understands_the_question_alike(seed, database):
    case = Case(seed)
    if "MEDIAN" in case.text or "1/3" in case.text:
        return  # DuckDB interpolates a median, and rounds a third
    load(database, case)
    reading = read(case.selection, case.totals())
    expected = {}
    for group, row in zip(reading.groups, reading.rows, strict=True):
        key = tuple("undeclared" if k.shown == "(other)" else as_shown(k.value) for k in group)
        expected[key] = row
    found = database.execute(case.text).fetchall()
    assert {tuple(as_shown(v) for v in line[: len(case.selection.keys)]) for line in found} <= (
        expected.keys()
    )
    for line in found:
        key = tuple(as_shown(v) for v in line[: len(case.selection.keys)])
        numbers = line[len(case.selection.keys) :]
        for spelled, estimate, number in zip(case.spelled, expected[key], numbers, strict=True):
            if number is None:
                assert estimate.is_null or (spelled.startswith("SUM") and estimate.value == 0)
            else:
                assert float(estimate.value) == pytest.approx(float(number), rel=1e-9, abs=1e-9)
