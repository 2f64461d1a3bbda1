"""The totals of questions are those that plain Python counts row by row."""

from __future__ import annotations

import itertools
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings, strategies as st
from random_questions import coded, coded_schema, holds, total_of

from hartley.engines.coded_table import CodedTable
from hartley.engines.dialect import Store
from hartley.engines.duckdb import DuckDB, EmbeddedStore
from hartley.engines.registry import EMBEDDED
from hartley.trusted import statistics
from hartley.trusted.pricing.price import price
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf
from hartley.trusted.questions.condition import about_nobody
from hartley.trusted.statistics import fits, totals

POINTS = {"a": 3, "b": 7, "c": 12, "wide": 2**40}
NULLABLE = {"b": True, "c": True}
SCHEMA = coded_schema(
    *(coded(name, points, nullable=name in NULLABLE) for name, points in POINTS.items())
)
CODINGS = tuple(column.coding for column in SCHEMA.columns.values())


def coded_table(rows: list[dict[str, int | None]]) -> CodedTable:
    """Put codes where ``code_table`` puts them, without the time that it takes to plan."""
    connection = duckdb.connect()
    kinds = ["TINYINT" if coding.integer == "int8" else "BIGINT" for coding in CODINGS]
    connection.execute(
        f"CREATE TABLE coded ({', '.join(f'c{i} {kind}' for i, kind in enumerate(kinds))})"
    )
    if rows:
        connection.executemany(
            "INSERT INTO coded VALUES (?, ?, ?, ?)",
            [[row[name] for name in POINTS] for row in rows],
        )
    return CodedTable(CODINGS, len(rows), "version", EmbeddedStore(connection))


# --- plain Python -------------------------------------------------------------------------------


# --- generated questions ------------------------------------------------------------------------


@st.composite
def leaves(draw, name=None):
    name = name or draw(st.sampled_from(list(POINTS)))
    ends = sorted(draw(st.sets(st.integers(0, min(POINTS[name] - 1, 40)), max_size=6)))
    merged = []
    for low, high in zip(ends[::2], ends[1::2], strict=False):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    if draw(st.booleans()):
        merged = [(0, POINTS[name] - 1)]
    return Leaf(name, tuple(merged), draw(st.booleans()) and NULLABLE.get(name, False))


NOT_ZERO = Leaf("b", ((1, 6),), missing=True)
SURE = (All(), Either(), Either((All(),)), All((Either(),)))
"""Every row and no row, each in two spellings: conditions without a column."""
NEVER = (
    All((Leaf("b", ((0, 2),)), Leaf("b", ((5, 6),)))),
    All((Leaf("c", (), missing=True), Leaf("c", ((0, 11),)))),
    Either((All((Leaf("a", ((0, 0),)), Leaf("a", ((2, 2),)))), Either())),
    All((Either((Leaf("a", ((0, 0),)), Leaf("b", ((0, 0),)))), Leaf("a", ((1, 2),)), NOT_ZERO)),
    Leaf("a", (), missing=True),
    Leaf("b", ((7, 20),)),
    Leaf("c", ()),
)
"""Conditions that no row can satisfy: contradictions, and codes that the schema does not have."""

conditions = st.recursive(
    st.one_of(leaves(), leaves(), st.sampled_from([*SURE, *NEVER])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: All(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: Either(tuple(parts))),
    ),
    max_leaves=5,
)


def with_presence(where, columns):
    needed = [Leaf(name, ((0, POINTS[name] - 1),)) for name in columns if NULLABLE.get(name)]
    return All((where, *needed)) if needed else where


@st.composite
def questions(draw):
    where = draw(conditions)
    statistic = draw(st.sampled_from(Statistic))
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, 100)
    names = sorted(draw(st.sets(st.sampled_from(list(POINTS)), min_size=1, max_size=3)))
    factor = st.integers(-3, 3).filter(bool)
    terms = tuple((name, draw(factor)) for name in names)
    form = Form(terms, draw(st.integers(-5, 5)), Fraction(1, 2))
    share = None
    if statistic is Statistic.ORDER:
        share = draw(st.sampled_from([0, 1, Fraction(1, 2), Fraction(1, 10), Fraction(7, 100)]))
        share = Fraction(share)
    return Question(statistic, with_presence(where, names), form, share, -(10**6), 10**6)


def code(name):
    small = st.integers(0, min(POINTS[name] - 1, 50))
    edges = st.sampled_from([0, POINTS[name] - 1])
    return st.one_of(small, edges, *([st.none()] if NULLABLE.get(name) else []))


tables = st.lists(st.fixed_dictionaries({name: code(name) for name in POINTS}), max_size=25)


@pytest.mark.slow
@settings(max_examples=70)
@given(tables, st.lists(questions(), min_size=1, max_size=12))
def test_totals_are_those_of_plain_python(rows, asked):
    assert totals(coded_table(rows), asked) == [total_of(question, rows) for question in asked]


SMALL = {"MOST_CELLS": 30, "SMALL_CELLS": 4, "MOST_VALUES": 2, "MOST_COUNTS": 64, "FEW_COUNTS": 4}
SMALL |= {"STRETCHES": 32, "MOST_GROUPS": 12, "MOST_STRETCHES": 2}


@pytest.mark.slow
@settings(max_examples=40)
@given(tables, st.lists(questions(), min_size=1, max_size=8))
def test_totals_do_not_depend_on_how_scans_are_split(rows, asked):
    with pytest.MonkeyPatch.context() as patch:
        for limit, small in SMALL.items():
            patch.setattr(statistics, limit, small)
        found = totals(coded_table(rows), asked)
    assert found == [total_of(question, rows) for question in asked]


@pytest.mark.slow
@settings(max_examples=40)
@given(tables, st.lists(questions(), min_size=2, max_size=6))
def test_totals_are_the_same_where_conditions_are_filtered_side_by_side(rows, asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDB, "skips_rows", False)
        found = totals(coded_table(rows), asked)
    assert found == [total_of(question, rows) for question in asked]


ORDERS = [
    Question(
        Statistic.ORDER,
        with_presence(where, [name]),
        Form(((name, factor),), 1, Fraction(1)),
        Fraction(quantile),
        -(10**6),
        10**6,
    )
    for where in (*SURE, *NEVER, Leaf("b", ((1, 5),)))
    for name, factor in (("a", 1), ("c", -2))
    for quantile in ("0", "1/2", "2/3")
]


@pytest.mark.slow
@settings(max_examples=25)
@given(tables, st.lists(st.sampled_from(ORDERS), min_size=1, max_size=4, unique=True))
def test_an_order_statistic_is_the_same_alone_and_in_a_batch_of_any_order(rows, asked):
    coded = coded_table(rows)
    expected = {question: total_of(question, rows) for question in asked}
    for batch in (*((question,) for question in asked), *itertools.permutations(asked)):
        assert totals(coded, batch) == [expected[question] for question in batch]


@pytest.mark.parametrize("conditions_of_one_form", list(itertools.permutations(SURE, 2)))
def test_conditions_without_a_column_share_no_scan_of_ranks(conditions_of_one_form):
    wanted = [(where, Fraction(1, 2), False) for where in conditions_of_one_form]
    everybody = total_of(
        Question(Statistic.ORDER, All(), Form((("b", 1),), 0, Fraction(1)), Fraction(1, 2), 0, 6),
        ROWS,
    )
    assert statistics.select_ranks(coded_table(ROWS), (("b", 1),), wanted) == [
        everybody if holds(where, {}) else None for where in conditions_of_one_form
    ]


@pytest.mark.parametrize("where", [*NEVER, Either(), All((Either(),))])
def test_a_question_about_nobody_never_reaches_the_engine(where):
    coded = counting(ROWS)
    form = Form((("a", 2),), 3, Fraction(1))
    asked = [
        Question(Statistic.COUNT, where, None, None, 0, 200),
        Question(Statistic.SUM, where, form, None, 0, 10**4),
        Question(Statistic.SQUARES, where, form, None, 0, 10**4),
        *(Question(Statistic.ORDER, where, form, Fraction(k, 4), 0, 10) for k in range(5)),
    ]
    assert totals(coded, asked) == [total_of(question, ROWS) for question in asked]
    assert coded.store.texts == []
    assert price(asked, SCHEMA).cells == 1


def test_a_form_whose_column_is_missing_is_about_nobody():
    coded = counting(ROWS)
    missing = Leaf("c", (), missing=True)
    for terms in ((("c", 1),), (("a", 1), ("c", 1))):
        question = Question(
            Statistic.ORDER, missing, Form(terms, 0, Fraction(1)), Fraction(1, 2), 0, 13
        )
        assert totals(coded, [question]) == [None]
        assert price([question], SCHEMA).cells == 1
    assert coded.store.texts == []


@pytest.mark.slow
@settings(max_examples=200)
@given(conditions, st.sets(st.sampled_from(["a", "b", "c"])))
def test_nobody_is_decided_as_by_trying_every_record(where, present):
    form = Form(tuple((name, 1) for name in sorted(present)), 0, Fraction(1))
    columns = SCHEMA.columns
    # Codes of the wide column that no condition tells apart need not be tried.
    codes = {name: [*range(min(points, 42)), points - 1] for name, points in POINTS.items()}
    records = itertools.product(
        *(codes[name] + [None] * (columns[name].nullable) for name in POINTS)
    )
    held = any(
        holds(where, record) and all(record[name] is not None for name in present)
        for record in (dict(zip(POINTS, values, strict=True)) for values in records)
    )
    assert about_nobody(where, form, columns) is not held


def runs(codes):
    """Return a set of codes as closed ranges."""
    found = []
    for code in sorted(codes):
        if found and code == found[-1][1] + 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return tuple(found)


@pytest.mark.slow
def test_every_set_of_codes_is_counted_alone_and_in_one_grid():
    rows = [
        {"a": 0, "b": b, "c": 0, "wide": 0} for b in [None, *range(7)] for _ in range(3 + (b or 0))
    ]
    coded = coded_table(rows)
    asked = [
        Question(Statistic.COUNT, Leaf("b", runs(codes), missing), None, None, 0, 99)
        for size in range(8)
        for codes in itertools.combinations(range(7), size)
        for missing in (False, True)
    ]
    expected = [total_of(question, rows) for question in asked]
    assert [totals(coded, [question])[0] for question in asked] == expected
    assert totals(coded, asked) == expected


# --- scans --------------------------------------------------------------------------------------


class Counting(Store):
    """A store that keeps what is sent to it."""

    dialect = EMBEDDED
    relation = ("coded",)

    def __init__(self, store):
        self._store, self.texts = store, []

    def fetch(self, text):
        self.texts.append(text)
        return self._store.fetch(text)


def counting(rows):
    coded = coded_table(rows)
    return CodedTable(coded.codings, coded.rows, coded.version, Counting(coded.store))


ROWS = [
    {"a": i % 3, "b": i % 7, "c": None if i % 5 == 0 else i % 12, "wide": i**3 * 12345}
    for i in range(200)
]
PRESENT = Leaf("c", ((0, 11),))


def test_a_mean_with_a_filter_is_the_statement_that_one_writes_by_hand():
    coded = counting(ROWS)
    where = All((Leaf("b", ((2, 5),)), PRESENT))
    form = Form((("c", 2),), 7, Fraction(1))
    asked = [
        Question(Statistic.SUM, where, form, None, 0, 1),
        Question(Statistic.COUNT, where, None, None, 0, 1),
    ]
    assert totals(coded, asked) == [total_of(question, ROWS) for question in asked]
    (text,) = coded.store.texts
    assert text == (
        'SELECT COUNT("c2") AS "v0", CAST(SUM("c2") AS BIGINT) AS "v1" FROM "coded" '
        'WHERE "c1" BETWEEN 2 AND 5'
    )


def test_groups_take_one_scan_however_many_they_are():
    coded = counting(ROWS)
    form = Form((("c", 1),), 0, Fraction(1))
    asked = [
        Question(
            statistic, All((Leaf("a", ((a, a),)), Leaf("b", ((b, b),)), PRESENT)), form, p, 0, 1
        )
        for a in range(3)
        for b in range(7)
        for statistic, p in (
            (Statistic.COUNT, None),
            (Statistic.SUM, None),
            (Statistic.SQUARES, None),
            (Statistic.ORDER, Fraction(0)),
            (Statistic.ORDER, Fraction(1, 2)),
        )
    ]
    assert totals(coded, asked) == [total_of(question, ROWS) for question in asked]
    assert len(coded.store.texts) == 2
    assert all("GROUP BY" in text for text in coded.store.texts)


def test_a_median_over_a_wide_range_narrows_in_few_scans(monkeypatch):
    monkeypatch.setattr(statistics, "MOST_COUNTS", 100)
    coded = counting(ROWS)
    form = Form((("wide", -3),), 0, Fraction(1))
    shares = [Fraction(k, 60) for k in range(1, 60)]
    asked = [Question(Statistic.ORDER, All(), form, share, 0, 1) for share in shares]
    assert totals(coded, asked) == [total_of(question, ROWS) for question in asked]
    coded.store.texts.clear()
    monkeypatch.setattr(statistics, "MOST_COUNTS", 2**19)
    monkeypatch.setattr(statistics, "FEW_COUNTS", 0)
    coded = CodedTable(coded.codings, 2**20, coded.version, coded.store)
    assert totals(coded, asked[:1]) == [total_of(asked[0], ROWS)]
    assert len(coded.store.texts) <= 2


def test_no_question_takes_no_scan():
    coded = counting(ROWS)
    assert totals(coded, []) == []
    assert coded.store.texts == []


# --- bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statistic", "terms", "points", "rows", "expected"),
    [
        (Statistic.COUNT, (), 2, 2**62, True),
        (Statistic.COUNT, (), 2, 2**63, False),
        (Statistic.SUM, (("x", 10**40),), 2**40, 10**10, True),
        (Statistic.SUM, (("x", 1),), 10**14, 10**18, True),
        (Statistic.SQUARES, (("x", 1),), 10**14 + 1, 10**9, True),
        (Statistic.SQUARES, (("x", 1),), 10**14 + 1, 10**10, False),
        (Statistic.ORDER, (("x", 10**40),), 10**14, 10**10, True),
        (Statistic.ORDER, (("x", 10**5), ("y", 1)), 2**40, 10**10, True),
        (Statistic.ORDER, (("x", 10**8), ("y", 1)), 2**40, 10**10, False),
    ],
)
def test_what_could_overflow_on_some_engine_does_not_fit(statistic, terms, points, rows, expected):
    form = Form(terms, 0, Fraction(1)) if terms else None
    share = Fraction(1, 2) if statistic is Statistic.ORDER else None
    question = Question(statistic, All(), form, share, 0, 1)
    schema = coded_schema(coded("x", points), coded("y", points))
    assert fits(question, schema, rows) is expected


def test_sums_at_the_edge_of_sixty_four_bits_are_exact():
    top = POINTS["wide"] - 1
    rows = [{"a": 0, "b": 0, "c": 0, "wide": top}] * 3
    coded = coded_table(rows)
    form = Form((("wide", 1), ("a", 5)), -1, Fraction(1))
    for times in (1, 2**23 // 3, 2**30):
        many = CodedTable(coded.codings, 3 * times, coded.version, coded.store)
        asked = [
            Question(statistic, All(), form, None, 0, 1)
            for statistic in (Statistic.SUM, Statistic.SQUARES)
        ]
        assert totals(many, asked) == [3 * (top - 1), 3 * (top - 1) ** 2]
        assert fits(asked[1], SCHEMA, 3 * times)
