"""Only statements that the planner built reach the engine, and they reach it from many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import pytest
import sqlglot
from sqlglot import exp

from hartley import open_table
from hartley.engines.coded_table import WORDS, Cast, CodeColumn, CodeStatement, Part, code_table
from hartley.engines.codes import ColumnCoding
from hartley.engines.duckdb import DUCKDB
from hartley.engines.postgres import POSTGRESQL
from hartley.engines.spark import SPARK
from hartley.errors import EngineError


@pytest.fixture(scope="module")
def coded():
    age = ColumnCoding("age", 121, low=Fraction(0), step=Fraction(1), nullable=True)
    sex = ColumnCoding("sex", 2, values=("F", "M"))
    table = open_table({"age": [30, None, 41], "sex": ["F", "M", "F"]})
    return code_table(table, [age, sex])


AGE, SEX, ROWS = CodeColumn(0), CodeColumn(1), Part("count rows")
CONDITIONS = {
    "and",
    "or",
    "=",
    "<>",
    "<=",
    ">=",
    "between",
    "is null",
    "is not null",
    "false",
    "in",
}


@pytest.mark.parametrize(
    ("statement", "text", "rows"),
    [
        (CodeStatement((), (ROWS,)), 'SELECT COUNT(*) AS "v0" FROM "coded"', [(3,)]),
        (
            CodeStatement((SEX,), (Part("filter", (Part("sum", (AGE,)), Part("<=", (AGE, 30)))),)),
            (
                'SELECT "c1" AS "k0", SUM("c0") FILTER (WHERE "c0" <= 30) AS "v0" FROM "coded" '
                'GROUP BY "c1"'
            ),
            [(0, 30), (1, None)],
        ),
        (
            CodeStatement(
                (),
                (Part("min", (AGE,)),),
                Part(
                    "and",
                    (
                        Part("is not null", (SEX,)),
                        Part("or", (Part("in", (AGE, 1, 41)), Part("between", (AGE, 40, 50)))),
                    ),
                ),
            ),
            (
                'SELECT MIN("c0") AS "v0" FROM "coded" '
                'WHERE ("c1" IS NOT NULL AND ("c0" IN (1, 41) OR "c0" BETWEEN 40 AND 50))'
            ),
            [(41,)],
        ),
        (
            CodeStatement(
                (Part("shift right", (Part("-", (Cast(AGE, "BIGINT"), Cast(-3, "BIGINT"))), 5)),),
                (ROWS,),
                Part("<>", (AGE, 7)),
            ),
            (
                'SELECT ((CAST("c0" AS BIGINT) - CAST(-3 AS BIGINT)) >> 5) AS "k0", '
                'COUNT(*) AS "v0" '
                'FROM "coded" WHERE "c0" <> 7 '
                'GROUP BY ((CAST("c0" AS BIGINT) - CAST(-3 AS BIGINT)) >> 5)'
            ),
            [(1, 2)],
        ),
    ],
)
def test_statements_over_codes_are_written_and_run(coded, statement, text, rows):
    assert statement.text(DUCKDB, '"coded"', 2) == text
    fetched = coded.run(statement).to_pylist()
    assert sorted(tuple(row.values()) for row in fetched) == rows


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRESQL, SPARK])
@pytest.mark.parametrize("kind", [*WORDS, "in", "shift right"])
def test_every_part_is_read_back_whole(dialect, kind):
    """A parser that is not ours finds one SELECT, and the part as one operand."""
    inner = {"in": (AGE, 5, 7), "shift right": (AGE, 5), "case": (Part("<=", (AGE, 5)), 6, 7)}
    inner["filter"] = (Part("sum", (SEX,)), Part("<=", (AGE, 5)))
    usual = (AGE, 5, 7)[: WORDS.get(kind, "").count("{}")]
    part = Part(kind, inner.get(kind, usual))
    around = Part("and" if kind in CONDITIONS else "*", (part, part))
    text = CodeStatement((), (around,)).text(dialect, "coded", 2)
    read = sqlglot.parse_one(text, dialect=dialect.sql)
    assert [table.name for table in read.find_all(exp.Table)] == ["coded"]
    (value,) = read.expressions
    whole = value.this.unnest()
    assert isinstance(whole, exp.And if kind in CONDITIONS else exp.Mul)
    assert whole.left == whole.right


@pytest.mark.parametrize(
    "statement",
    [
        'SELECT COUNT(*) FROM "coded"',
        sqlglot.parse_one('SELECT COUNT(*) FROM "coded"', dialect="duckdb"),
        ((), (ROWS,), None),
        CodeStatement((), ("1; DROP TABLE coded",)),
        CodeStatement((), (None,)),
        CodeStatement((), (True,)),
        CodeStatement((), (1.5,)),
        CodeStatement((), (Fraction(1, 2),)),
        CodeStatement((CodeColumn(2),), (ROWS,)),
        CodeStatement((CodeColumn(-1),), (ROWS,)),
        CodeStatement((CodeColumn("0"),), (ROWS,)),
        CodeStatement((), (Part("getenv", (AGE,)),)),
        CodeStatement((), (Part("SUM", (AGE,)),)),
        CodeStatement((), (Part("sum"),)),
        CodeStatement((), (Part("sum", (AGE, SEX)),)),
        CodeStatement((), (Part("in", (AGE,)),)),
        CodeStatement((), (Part("shift right", (AGE,)),)),
        CodeStatement((), (Cast(AGE, "TEXT"),)),
        CodeStatement((), (Cast(AGE, None),)),
        CodeStatement((), (Cast(AGE, "BIGINT); DROP TABLE coded; --"),)),
        CodeStatement((), (Cast("x", "BIGINT"),)),
        CodeStatement((), (ROWS,), Part("=", (AGE, "1 OR 1=1"))),
        CodeStatement((), (ROWS,), "TRUE"),
        CodeStatement((), (ROWS,), CodeStatement((), (ROWS,))),
    ],
)
def test_everything_else_is_stopped_before_the_engine(coded, statement, monkeypatch):
    reached = []
    monkeypatch.setattr(type(coded.store), "run", lambda _, text: reached.append(text))
    with pytest.raises(EngineError, match="stopped before it reached the engine"):
        coded.run(statement)
    assert reached == []


def test_what_the_engine_says_is_not_repeated(coded, monkeypatch):
    def fail(_self, _text):
        raise ValueError("SECRET-7741")

    monkeypatch.setattr(type(coded.store), "run", fail)
    for ask in (coded.count, lambda: coded.run(CodeStatement((SEX,), (ROWS,)))):
        with pytest.raises(EngineError, match="could not read the coded copy") as caught:
            ask()
        assert "7741" not in str(caught.value)
        assert "ValueError" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_the_only_row_is_of_whole_numbers(coded, monkeypatch, refused):
    statement = CodeStatement((), (ROWS,))
    for value, whole in (
        (None, None),
        (0, 0),
        (-(2**127), -(2**127)),
        (Decimal(10) ** 37, 10**37),
        (Decimal("3.0"), 3),
    ):
        monkeypatch.setattr(type(coded.store), "fetch_row", lambda *_, value=value: (value,))
        (number,) = coded.run_for_row(statement)
        assert (number, type(number)) == (whole, type(whole))
    for value in (3.0, float(2**70), True, "3", Decimal("0.5"), Decimal("NaN"), Fraction(3)):
        monkeypatch.setattr(type(coded.store), "fetch_row", lambda *_, value=value: (value,))
        with refused(EngineError, "duckdb did not answer with whole numbers"):
            coded.run_for_row(statement)


def test_many_threads_count_at_once(coded):
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: coded.count(), range(64)))
    assert found == [3] * 64


def test_a_column_is_known_by_the_name_in_the_schema(coded):
    assert coded.column("sex") == SEX
    assert coded.coding("age").nullable
