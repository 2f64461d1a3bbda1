"""Every engine codes a table alike and answers with the same integers, those of plain Python."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hartley import Schema, open_table
from hartley.engines.coded_table import code_table, holds_copy, open_coded
from hartley.engines.codes import ColumnCoding
from hartley.engines.dialect import Store
from hartley.engines.registry import EMBEDDED
from hartley.errors import InputError
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf
from hartley.trusted.statistics import fits, totals

if TYPE_CHECKING:
    from hartley.engines.coded_table import CodedTable

pytestmark = pytest.mark.needs("keeps_copies")

MANY = [*map(chr, range(32, 300)), "Zürich", "日本", "😀"]
SCHEMAS = {
    "usual": {
        "count": {"range": [-5, 5], "step": 1},
        "wide": {"range": [-(10**12), 10**12], "step": 1},
        "small": {"range": [-300, 300], "step": 8},
        "real": {"range": ["-1/3", "5/3"], "step": "1/3"},
        "tenths": {"range": [-0.9, 0.9], "step": 0.1},
        "weight": {"range": [-10, 10], "step": 2.5},
        "text": {"values": ["a", "ä", "it's", "", '"', "\\", "%"], "other": True},
        "flag": {"values": [True, False]},
        "day": {"range": [dt.date(1960, 1, 1), dt.date(2030, 12, 31)]},
        "moment": {"range": ["2024-03-30", "2024-04-01"]},
        "money": {"range": [0, 123.45], "step": 0.01},
        "Blood pressure": {"values": [80, 90, 99, 100, 120, 121]},
        "select": {"values": ["where", "from"]},
    },
    "odd": {
        "count": {"values": [-7, 0, 3], "other": True},
        "small": {"range": [7, 7], "step": 3},
        "real": {"range": [-1000, 1000], "step": 500},
        "tenths": {"range": [-0.31415926535897931, 0.68584073464102069], "step": 0.125},
        "text": {"values": MANY, "other": True},
        "flag": {"values": [False], "other": True},
        "day": {"range": ["1899-12-31", "9999-12-28"], "step": 1},
        "money": {"range": ["-1/7", "6/7"], "step": "1/7"},
    },
}
SUMS = (Statistic.SUM, Statistic.SQUARES)
each_schema = pytest.mark.parametrize("wanted", SCHEMAS)


def schema_of(name: str) -> Schema:
    columns = {
        column: {"kind": "private", "nullable": True, **content}
        for column, content in SCHEMAS[name].items()
    }
    return Schema.read({"table": {"name": "t"}, "columns": columns})


@pytest.fixture(scope="session")
def source() -> pa.Table:
    """Values at every edge of every schema, and some of each kind missing."""
    edges = [
        near
        for column in ("real", "tenths", "weight")
        for name in SCHEMAS
        if column in schema_of(name).columns
        for edge in grid_edges(schema_of(name).columns[column])
        for near in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf))
    ]
    reals = [*edges, 0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e300, math.inf, -math.inf, math.nan, None]
    pools: dict[str, tuple[pa.DataType, list[Any]]] = {
        "count": (pa.int64(), [*range(-8, 9), 2**62, -(2**62), None]),
        "wide": (pa.int64(), [-(10**15), -(10**12), -1, 0, 3, 10**12, 2**53 + 1, None]),
        "small": (pa.int16(), [-301, -300, -297, -296, -292, 0, 4, 5, 7, 300, None]),
        "real": (pa.float64(), reals),
        "tenths": (pa.float64(), reals),
        "weight": (pa.float64(), reals),
        "text": (
            pa.string(),
            ["", " ", "a", "A", "a ", "ä", "a\u0308", "it's", '"', "\\", "%", "日本", "zz", None],
        ),
        "flag": (pa.bool_(), [True, False, None]),
        "day": (
            pa.date32(),
            [dt.date(y, m, 28) for y in (1, 1959, 1969, 1970, 2024, 9999) for m in (1, 12)]
            + [dt.date(1960, 1, 1), dt.date(2030, 12, 31), None],
        ),
        "moment": (
            pa.timestamp("us"),
            [dt.datetime(2024, 3, 30) + dt.timedelta(hours=h, microseconds=1) for h in (-1, 1, 25)]  # noqa: DTZ001 - a time without a zone is meant
            + [dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2024, 3, 31), None],  # noqa: DTZ001 - likewise
        ),
        "money": (
            pa.decimal128(10, 2),
            [Decimal(cents) / 100 for cents in (-1, 0, 1, 7, 10, 14, 15, 99, 12345, 12346)]
            + [None],
        ),
        "Blood pressure": (pa.int64(), [80, 90, 99, 100, 120, 121, None]),
        "select": (pa.string(), ["from", "where", None]),
    }
    rows = max(len(pool) for _, pool in pools.values()) * 2
    cycles = {name: itertools.cycle(pool) for name, (_, pool) in pools.items()}
    drawn = {name: list(itertools.islice(cycle, rows)) for name, cycle in cycles.items()}
    return pa.table({name: pa.array(drawn[name], pools[name][0]) for name in pools})


# --- plain Python -------------------------------------------------------------------------------


def grid_edges(column: Any) -> list[float]:
    """The doubles nearest to the middles between points."""
    return [
        float(column.low + (2 * k - 1) * column.step / 2)
        for k in {*range(1, min(column.points, 40)), column.points - 1}
        if 0 < k < column.points
    ]


def plain_code(column: Any, value: Any) -> int | None:
    if value is None or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return None
    if column.values is not None:
        same = [i for i, v in enumerate(column.values) if (type(v), v) == (type(value), value)]
        return same[0] if same else column.points - 1
    if column.date:
        day = value.date() if isinstance(value, dt.datetime) else value
        value = (day - dt.date(1970, 1, 1)).days
    x, last = float(value), column.points - 1
    edge = lambda k: float(column.low + (2 * k - 1) * column.step / 2)  # noqa: E731 - a formula
    if last == 0 or x < edge(1):
        return 0
    if x >= edge(last):
        return last
    near = math.floor((Fraction(x) - column.low) / column.step)
    return max(k for k in range(near - 2, near + 4) if k == 0 or edge(k) <= x)


def plain_rows(schema: Schema, source: pa.Table) -> list[tuple[int | None, ...]]:
    columns = [
        [plain_code(column, value) for value in source[name].to_pylist()]
        for name, column in schema.columns.items()
    ]
    return list(zip(*columns, strict=True))


@pytest.fixture(scope="session")
def coded(source):
    """Return the coded copy on an engine, made once: coded(engine, schema)."""
    made: dict[Any, CodedTable] = {}

    def make(engine: Any, wanted: str) -> CodedTable:
        if (engine.name, wanted) not in made:
            held = open_table(engine.load("statistics_source", source))
            made[engine.name, wanted] = code_table(held, schema_of(wanted).codings)
        return made[engine.name, wanted]

    return make


@each_schema
def test_every_code_is_that_of_plain_python(engine, wanted, coded, source, codes_of):
    copy = coded(engine, wanted)
    expected = plain_rows(schema_of(wanted), source)
    assert copy.rows == len(expected)
    rows = codes_of(copy)
    for i, coding in enumerate(copy.codings):
        assert Counter(row[i] for row in rows) == Counter(row[i] for row in expected), coding
    assert Counter(rows) == Counter(expected)


# --- questions ----------------------------------------------------------------------------------


def asked(schema: Schema) -> list[Question]:
    """Questions of all kinds over the columns of a schema, one by one and in groups."""
    questions = []
    columns = list(schema.columns.values())
    some = Either(
        (Leaf(columns[0].name, ((0, 1), (3, 10**6))), Leaf("flag", ((0, 0),), missing=True))
    )
    for column in columns:
        last = column.points - 1
        full = Leaf(column.name, ((0, last),))
        half = Leaf(column.name, ((0, last // 2),))
        form = Form(((column.name, -3),), 5, Fraction(1))
        both = Form(((column.name, 2), ("flag", -7)), 11, Fraction(1))
        both = form if column.name == "flag" else both
        for where in (All((full,)), All((half, some)), All((full, some))):
            questions.append(Question(Statistic.COUNT, where, None, None, 0, 10**6))
            questions += [Question(s, where, form, None, 0, 1) for s in SUMS]
            shares = [Fraction(k, 7) for k in (0, 2, 7)]
            questions += [Question(Statistic.ORDER, where, form, p, 0, 1) for p in shares]
            known = All((*where.parts, Leaf("flag", ((0, 1),))))
            questions += [Question(s, known, both, None, 0, 1) for s in SUMS]
            questions.append(Question(Statistic.ORDER, known, both, Fraction(1, 2), 0, 1))
    for code in range(min(columns[0].points, 40)):
        group = Leaf(columns[0].name, ((code, code),))
        present = Leaf("money", ((0, schema.columns["money"].points - 1),))
        money = Form((("money", 1),), 0, Fraction(1))
        questions.append(Question(Statistic.COUNT, All((group,)), None, None, 0, 10**6))
        questions.append(Question(Statistic.SUM, All((group, present)), money, None, 0, 10**6))
        median = Question(Statistic.ORDER, All((group, present)), money, Fraction(1, 2), 0, 1)
        questions.append(median)
    return questions


def plain_total(question: Question, rows: list[dict[str, int | None]]) -> int | None:
    def passes(where, row):
        if isinstance(where, Leaf):
            code = row[where.column]
            inside = code is not None and any(a <= code <= b for a, b in where.codes)
            return inside or (code is None and where.missing)
        combine = all if isinstance(where, All) else any
        return combine(passes(part, row) for part in where.parts)

    chosen = [row for row in rows if passes(question.where, row)]
    if question.statistic == Statistic.COUNT:
        return len(chosen)
    form = question.form
    values = sorted(form.constant + sum(f * row[name] for name, f in form.terms) for row in chosen)
    if question.statistic == Statistic.SUM:
        return sum(values)
    if question.statistic == Statistic.SQUARES:
        return sum(value**2 for value in values)
    return values[max(1, math.ceil(question.quantile * len(values))) - 1] if values else None


@each_schema
def test_every_total_is_that_of_plain_python(engine, wanted, coded, source):
    schema = schema_of(wanted)
    rows = [dict(zip(schema.columns, row, strict=True)) for row in plain_rows(schema, source)]
    questions = asked(schema)
    expected = [plain_total(question, rows) for question in questions]
    assert totals(coded(engine, wanted), questions) == expected
    every = 60 if engine.listed.slow else 9
    for question, total in list(zip(questions, expected, strict=True))[::every]:
        assert totals(coded(engine, wanted), [question]) == [total]


# --- large totals -------------------------------------------------------------------------------

POINTS = 2**45
"""So that even squares of the largest codes, times 10^10, have 38 digits."""
TIMES = 10**10


def test_the_largest_codes_times_ten_thousand_million_rows_come_out_right(engine):
    columns = {"x": pa.array([POINTS - 1, POINTS - 2, None]), "y": pa.array([0, POINTS - 1, 7])}
    codings = [
        ColumnCoding(name, POINTS, low=Fraction(0), step=Fraction(1), nullable=name == "x")
        for name in columns
    ]
    held = open_table(engine.load("statistics_large", pa.table(columns)))
    copy = code_table(held, codings)
    many = type(copy)(copy.codings, copy.rows * TIMES, copy.version, Repeated(copy.store, TIMES))
    form = Form((("x", 3), ("y", -2)), -5, Fraction(1))
    present = Leaf("x", ((0, POINTS - 1),))
    some = Leaf("y", ((1, POINTS - 1),))
    rows = [{"x": POINTS - 1, "y": 0}, {"x": POINTS - 2, "y": POINTS - 1}, {"x": None, "y": 7}]
    for wheres in ([present], [present, All((present, some))]):
        questions = [
            Question(statistic, where, None if statistic == "count" else form, None, 0, 0)
            for statistic in (Statistic.COUNT, Statistic.SUM, Statistic.SQUARES)
            for where in wheres
        ]
        schema = Schema.read(
            {
                "table": {"name": "t"},
                "columns": {
                    n: {"kind": "private", "range": [0, POINTS - 1], "step": 1} for n in columns
                },
            }
        )
        assert all(fits(question, schema, 3 * TIMES) for question in questions)
        expected = [TIMES * plain_total(question, rows) for question in questions]
        assert totals(many, questions) == expected


class Repeated(Store):
    """A copy in which every row counts many times: sums and counts are multiplied in the query."""

    def __init__(self, store, times):
        self.dialect, self.relation = store.dialect, store.relation
        self._store, self._times = store, times

    def fetch(self, text):
        return self._store.fetch(self._repeated(text))

    def fetch_row(self, text):
        return self._store.fetch_row(self._repeated(text))

    def _repeated(self, text):
        import sqlglot
        from sqlglot import exp

        def repeat(node):
            if isinstance(node, exp.Count):
                counted = exp.true() if isinstance(node.this, exp.Star) else node.this
                weight = exp.Case(
                    ifs=[
                        exp.If(
                            this=counted
                            if isinstance(counted, exp.Boolean)
                            else exp.Not(this=exp.Is(this=counted, expression=exp.null())),
                            true=exp.Literal.number(self._times),
                        )
                    ]
                )
                return exp.cast(exp.Sum(this=exp.cast(weight, "BIGINT")), "BIGINT")
            if isinstance(node, exp.Sum):
                times = exp.cast(exp.Literal.number(self._times), "DECIMAL(11,0)")
                kind = self.dialect.wide_sum or self.dialect.wide_factor
                product = exp.Mul(this=exp.Paren(this=node.this), expression=times)
                return exp.Sum(this=exp.cast(product, kind))
            return node

        tree = sqlglot.parse_one(text, dialect=self.dialect.sql)
        return tree.transform(repeat).sql(dialect=self.dialect.sql)

    def close(self):
        self._store.close()


# --- places ------------------------------------------------------------------------------------


def test_a_copy_is_opened_again_for_the_same_version_and_schema_only(
    engine, source, tmp_path, codes_of
):
    held = open_table(engine.load("statistics_source", source))
    kinds = range(len(engine.listed.places))
    places = [engine.place(f"statistics_copy_{kind}", tmp_path, kind) for kind in kinds]
    if not engine.listed.slow:  # a file of DuckDB holds copies of every engine's tables
        places.append(str(tmp_path / "copy_of_another.duckdb"))
    schema = schema_of("usual")
    for place in places:
        assert not holds_copy(place, held)
        made = code_table(held, schema.codings, place=place, version="first")
        opened = open_coded(place, schema.codings, version="first", near=held)
        assert Counter(codes_of(opened)) == Counter(codes_of(made))
        assert holds_copy(place, held)
        assert (opened.rows, opened.version) == (made.rows, "first")
        assert opened.dialect is (EMBEDDED if place.endswith(".duckdb") else held.dialect)
        with pytest.raises(InputError, match="another version"):
            open_coded(place, schema.codings, version="second", near=held)
        with pytest.raises(InputError, match="another schema"):
            open_coded(place, schema_of("odd").codings, version="first", near=held)
        with pytest.raises(InputError, match="is taken"):
            code_table(held, schema.codings, place=place)
        made.close()
        opened.close()
    with pytest.raises(InputError, match="no coded copy"):
        open_coded(places[0].replace("copy", "cpy"), [], near=held)
