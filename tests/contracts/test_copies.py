"""Coded copies on every engine: broken promises, empty tables, and what only one engine has."""

from __future__ import annotations

import threading
from collections import Counter
from fractions import Fraction

import ibis
import psycopg
import pyarrow as pa
import pytest

from hartley import open_table
from hartley.engines.coded_table import code_table
from hartley.engines.codes import ColumnCoding
from hartley.engines.dialect import StatementStop
from hartley.engines.postgres import PostgresStore
from hartley.errors import ColumnError, InputError, TableError
from hartley.trusted.questions.batch import All, Form, Question, Statistic, Test as Leaf
from hartley.trusted.statistics import totals

pytestmark = pytest.mark.needs("keeps_copies")


def test_a_broken_promise_is_refused_with_its_count_and_leaves_nothing(engine, tmp_path):
    table = pa.table({"id": [1, 1, 1, 2, 2], "sex": ["F", "F", "F", "F", "SECRET-7741"]})
    held = open_table(engine.load("statistics_promises", table))
    text = ColumnCoding("sex", 1, values=("F",), constant=True)
    rest = ColumnCoding("sex", 2, values=("F",), other=True, constant=True)
    place = engine.place("promises", tmp_path)
    for codings, options, words in (
        ([text], {}, "1 value of column 'sex'"),
        ([rest], {"unit": "id"}, "in 2 cases"),
        ([rest], {"unit": "id", "rows_per_unit": 2}, "in 1 case"),
        ([rest], {"unit": "id", "rows_per_unit": 3}, "'sex' .* varies within 1 unit"),
        ([rest], {"max_rows": 4}, "5 rows"),
    ):
        with pytest.raises((ColumnError, InputError), match=words) as refused:
            code_table(held, codings, place=place, **options)
        assert "7741" not in str(refused.value)
    made = code_table(held, [rest], place=place)
    assert made.count() == 5
    made.close()


def test_the_empty_table_has_totals_too(engine):
    columns = {"x": pa.array([], pa.int64()), "s": pa.array([], pa.string())}
    held = open_table(engine.load("statistics_empty", pa.table(columns)))
    codings = [
        ColumnCoding("x", 9, low=Fraction(0), step=Fraction(1)),
        ColumnCoding("s", 2, values=("a", "b")),
    ]
    copy = code_table(held, codings)
    form = Form((("x", 2),), 3, Fraction(1))
    wheres = [All(), Leaf("s", ((1, 1),)), Leaf("x", ((2, 5),))]
    for some in (wheres[:1], wheres):
        questions = [
            Question(statistic, where, form, Fraction(1, 2), 0, 0)
            for where in some
            for statistic in (Statistic.SUM, Statistic.SQUARES, Statistic.ORDER)
        ]
        assert totals(copy, questions) == [0, 0, None] * len(some)


# --- what only one engine has ---------------------------------------------------------------------

only_postgres = pytest.mark.only("postgres")
only_spark = pytest.mark.only("spark")


@only_spark
def test_times_whose_day_depends_on_the_session_are_refused(engine, codes_of):
    backend = engine.load("statistics_any", pa.table({"x": [1]})).get_backend()
    day = ColumnCoding("t", 9, low=Fraction(19_000), step=Fraction(1), date=True)
    for kind in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        zoned = backend.sql(f"SELECT {kind} '2022-01-08 23:30:00' AS t")
        with pytest.raises(ColumnError, match="times with a time zone"):
            code_table(open_table(zoned), [day])
    plain = backend.sql("SELECT TIMESTAMP_NTZ '2022-01-08 23:30:00' AS t")
    assert codes_of(code_table(open_table(plain), [day])) == [(0,)]


@only_spark
def test_a_data_frame_of_a_cluster_is_refused_without_a_job(engine):
    backend = engine.load("statistics_any", pa.table({"x": [1]})).get_backend()
    frame = backend._session.range(3)
    context, asked = (
        frame.sparkSession.sparkContext,
        frame.sparkSession.sparkContext.statusTracker(),
    )
    context.setJobGroup("frame", "what opening it runs")
    with pytest.raises(TableError, match="createOrReplaceTempView"):
        open_table(frame)
    with pytest.raises(ColumnError):
        open_table({"id": frame})
    assert not asked.getJobIdsForGroup("frame")
    assert frame.toPandas()["id"].tolist() == [0, 1, 2]
    assert asked.getJobIdsForGroup("frame")  # so it would have been seen
    frame.createOrReplaceTempView("people")  # what the hint says
    named = open_table(ibis.pyspark.connect(frame.sparkSession).table("people"))
    assert named.expression.count().execute() == 3


@only_postgres
def test_a_slow_statement_of_a_server_ends_and_its_connection_stays_usable(engine):
    backend = engine.load("statistics_any", pa.table({"x": [1]})).get_backend()
    connection, stop = backend.con, StatementStop()
    store = PostgresStore(backend, ("statistics_any",), threading.RLock())
    entered, results = threading.Event(), []

    def work():
        with stop.present():
            entered.set()
            try:
                results.append(store.fetch("SELECT 1 AS n FROM (SELECT pg_sleep(600)) AS s"))
            except Exception as error:  # noqa: BLE001 - what the server says
                results.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert entered.wait(60)
    stop.stop()
    thread.join(60)
    assert store.dialect.was_stopped(results[0])
    assert store.fetch("SELECT 7 AS n").to_pylist() == [{"n": 7}]
    assert backend.con is connection  # the same one


def postgres_table(engine, *statements):
    """Run statements on the server and return its table ``odd``."""
    backend = engine.load("statistics_any", pa.table({"x": [1]})).get_backend()
    for statement in ("DROP TABLE IF EXISTS odd", *statements):
        backend.con.execute(statement)
    backend.con.commit()
    return open_table(backend.table("odd"))


@only_postgres
def test_infinite_dates_and_numbers_of_the_database_are_clamped(engine, codes_of):
    held = postgres_table(
        engine,
        "CREATE TABLE odd (d date, t timestamp, n numeric)",
        "INSERT INTO odd VALUES ('infinity', 'infinity', 'infinity'), "
        "('-infinity', '-infinity', '-infinity'), (NULL, NULL, 'NaN')",
    )
    day = {"low": Fraction(0), "step": Fraction(1), "date": True, "nullable": True}
    number = {"low": Fraction(0), "step": Fraction(1), "nullable": True}
    copy = code_table(
        held,
        [ColumnCoding("d", 9, **day), ColumnCoding("t", 9, **day), ColumnCoding("n", 9, **number)],
    )
    assert Counter(codes_of(copy)) == Counter([(8, 8, 8), (0, 0, 0), (None, None, None)])


@only_postgres
def test_numbers_of_the_database_are_the_categories_that_are_listed(engine, codes_of):
    held = postgres_table(
        engine,
        "CREATE TABLE odd (n numeric, x double precision)",
        "INSERT INTO odd VALUES (1152921504606846976, 1152921504606846976), (5.00, 5), "
        "('NaN', 'NaN'), (1e40, 1e40), (5.5, 5.5), ('infinity', 'infinity')",
    )
    listed = {"values": (5, 2**60), "other": True, "nullable": True}
    copy = code_table(held, [ColumnCoding("n", 3, **listed), ColumnCoding("x", 3, **listed)])
    assert Counter(codes_of(copy)) == Counter([(1, 1), (0, 0), (None, None), *[(2, 2)] * 3])


@only_postgres
def test_a_table_of_the_database_cannot_be_changed_by_a_statement_and_a_lost_one_is_found(engine):
    held = postgres_table(engine, "CREATE TABLE odd AS SELECT 1 AS x")
    backend = held.backend
    backend.con.execute("DROP TABLE IF EXISTS odd_copy, odd_copy_about")
    copy = code_table(
        held, [ColumnCoding("x", 9, low=Fraction(0), step=Fraction(1))], place="odd_copy"
    )
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        copy.store.fetch('DELETE FROM "odd_copy"')
    with pytest.raises(psycopg.OperationalError):
        backend.con.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert backend.con.closed
    assert copy.count() == 1
