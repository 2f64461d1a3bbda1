"""Only statements that the planner built reach the engine, and they reach it from many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
import sqlglot
from sqlglot import exp

from hartley.engines.coded.coding import ColumnCoding
from hartley.engines.coded.copying import code_table
from hartley.engines.tables.sources import open_table
from hartley.errors import EngineError


@pytest.fixture(scope="module")
def coded():
    age = ColumnCoding("age", 121, low=Fraction(0), step=Fraction(1), nullable=True)
    sex = ColumnCoding("sex", 2, values=("F", "M"))
    table = open_table({"age": [30, None, 41], "sex": ["F", "M", "F"]})
    return code_table(table, [age, sex])


def tree(text):
    return sqlglot.parse_one(text, dialect="duckdb")


@pytest.mark.parametrize(
    "text",
    [
        'SELECT COUNT(*) AS v0 FROM "coded"',
        'SELECT "c0" AS k0, SUM("c1") FILTER(WHERE "c0" <= 7) AS v0 FROM "coded" GROUP BY "c0"',
        'SELECT MIN("c0") AS v0 FROM "coded" WHERE NOT "c1" IS NULL AND ("c0" = 1 OR "c0" >= 3)',
    ],
)
def test_statements_over_codes_are_run(coded, text):
    assert coded.run(tree(text)).num_rows >= 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM other",
        'SELECT COUNT(*) FROM "coded", "coded"',
        'SELECT COUNT(*) FROM "about"',
        'SELECT COUNT(*) FROM "main"."coded"',
        'SELECT "c2" FROM "coded"',
        'SELECT "cc" FROM "coded"',
        'SELECT "coded"."c0" FROM "coded"',
        "SELECT 1",
        "SELECT COUNT(*) FROM \"coded\" WHERE 'a' = 'a'",
        'SELECT COUNT(*) FROM "coded" AS x',
        'SELECT COUNT(*) FROM (SELECT * FROM "coded") AS y',
        'SELECT COUNT(*) FROM "coded" WHERE "c0" IN (SELECT "c0" FROM "coded")',
        'SELECT COUNT(*) FROM "coded" UNION SELECT COUNT(*) FROM "coded"',
        'WITH x AS (SELECT 1) SELECT COUNT(*) FROM "coded"',
        'SELECT AVG("c0") FROM "coded"',
        'SELECT "c0" / 2 FROM "coded"',
        'SELECT "c0" FROM "coded" ORDER BY "c0" LIMIT 1',
        'SELECT ROW_NUMBER() OVER () FROM "coded"',
        'SELECT DISTINCT "c0" FROM "coded"',
        'SELECT COUNT(*) FROM "coded" TABLESAMPLE 1 PERCENT',
        'SELECT RANDOM() FROM "coded"',
        "SELECT getenv('HOME') FROM \"coded\"",
        "SELECT COUNT(*) FROM read_csv('x.csv')",
        'DROP TABLE "coded"',
        'INSERT INTO "coded" VALUES (1)',
        "PRAGMA version",
        "COPY \"coded\" TO 'x.csv'",
    ],
)
def test_everything_else_is_stopped_before_the_engine(coded, text, monkeypatch):
    reached = []
    monkeypatch.setattr(type(coded.store), "fetch", lambda _, text: reached.append(text))
    with pytest.raises(EngineError, match="stopped before it reached the engine"):
        coded.run(tree(text))
    with pytest.raises(EngineError, match="stopped before it reached the engine"):
        coded.run(text)
    assert reached == []


def test_what_the_engine_says_is_not_repeated(coded, monkeypatch):
    def fail(_self, _text):
        raise ValueError("SECRET-7741")

    monkeypatch.setattr(type(coded.store), "fetch", fail)
    with pytest.raises(EngineError, match="ValueError") as caught:
        coded.count()
    assert "7741" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_many_threads_count_at_once(coded):
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: coded.count(), range(64)))
    assert found == [3] * 64


def test_a_column_is_known_by_the_name_in_the_schema(coded):
    assert coded.column("sex").sql(dialect="duckdb") == '"c1"'
    assert coded.coding("age").nullable
    assert coded.relation() == exp.Table(this=exp.Identifier(this="coded", quoted=True))
