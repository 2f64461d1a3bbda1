"""Codes are those of exact arithmetic, and sums of rows are equal exactly where the rows are."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import Counter
from contextlib import closing, suppress
from decimal import Decimal
from fractions import Fraction

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from hartley import open_table
from hartley.engines import duckdb as embedded
from hartley.engines.coded_table import code_table, holds_copy, holds_rows_of, open_coded
from hartley.engines.codes import (
    PRIME,
    ColumnCoding,
    draw_seeds,
    read_sums,
    row_sums_query,
    seeds_from,
)
from hartley.engines.duckdb import DuckDB
from hartley.engines.registry import EMBEDDED
from hartley.errors import ColumnError, EngineError, InputError, TableError

# --- Codes are those of exact arithmetic, and different values never share one by accident --------


def codes(source, *codings, **options):
    """Return the codes of a table as a list of columns, rows in no order."""
    copy = code_table(open_table(source), codings, **options)
    found = copy.store.fetch("SELECT * FROM coded")
    return [column.to_pylist() for column in found.columns]


def category(name, *values, other=False, nullable=True):
    return ColumnCoding(name, len(values) + other, values=values, other=other, nullable=nullable)


def grid(name, points, low=0, step=1, **more):
    return ColumnCoding(name, points, low=Fraction(low), step=Fraction(step), **more)


# --- numbers ------------------------------------------------------------------------------------


def plain_code(coding: ColumnCoding, value: float | None) -> int | None:
    """Find the last cell whose lower edge, a double, is not above a value, by trying all near."""
    if value is None or math.isnan(value):
        return None
    edges = {k: float(coding.low + (2 * k - 1) * coding.step / 2) for k in near(coding, value)}
    return max((k for k, edge in edges.items() if k == 0 or edge <= value), default=0)


def near(coding: ColumnCoding, value: float) -> range:
    if math.isinf(value):
        centre = 0 if value < 0 else coding.points - 1
    else:
        centre = math.floor((Fraction(value) - coding.low) / coding.step)
    centre = min(max(centre, 0), coding.points - 1)
    return range(max(centre - 3, 0), min(centre + 4, coding.points))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_grids_snap_to_the_nearest_point_and_ties_go_up(seed):
    random = np.random.default_rng(seed)
    codings, columns = [], {}
    for i in range(12):
        scale = Fraction(10) ** int(random.integers(-4, 7))
        step = Fraction(int(random.integers(1, 400)), int(random.integers(1, 30))) * scale
        low = Fraction(int(random.integers(-(10**6), 10**6)), int(random.integers(1, 9))) * step
        points = int(random.choice([1, 2, 3, 17, 300, 40_000, 10**6]))
        coding = grid(f"x{i}", points, low, step, nullable=True)
        if max(map(abs, _integers(low, step, points))) > 2**47:
            coding = grid(f"x{i}", min(points, 300), low, step, nullable=True)
        chosen = random.integers(-2, coding.points + 2, 60)
        middles = [float(low + (2 * int(k) - 1) * step / 2) for k in chosen]
        values = [
            *middles,
            *(math.nextafter(edge, -math.inf) for edge in middles),
            *(math.nextafter(edge, math.inf) for edge in middles),
            *(float(low + int(k) * step) for k in chosen),
            *(float(low) + random.random(60) * float(step * coding.points)),
            *(math.inf, -math.inf, math.nan, None, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308),
        ]
        codings.append(coding)
        columns[coding.column] = pa.array(values, pa.float64())
    found = codes(pa.table(columns), *codings)
    for coding, column in zip(codings, found, strict=True):
        expected = [plain_code(coding, value) for value in columns[coding.column].to_pylist()]
        assert Counter(column) == Counter(expected), coding


def _integers(low, step, points):
    """Return what has to be small so that cells need not be listed."""
    divisor = math.lcm((low - step / 2).denominator, step.denominator)
    return int(low * divisor), int(step * divisor), divisor, int((low + points * step) * divisor)


def test_a_tie_goes_up_and_ends_are_clamped():
    (found,) = codes({"x": [9.0, 10.49, 10.5, 11.49, 11.5, 99.0]}, grid("x", 3, 10))
    assert sorted(found) == [0, 0, 1, 1, 2, 2]


@pytest.mark.slow
def test_numbers_all_but_zero_lie_at_their_side_of_an_edge_at_zero():
    for step in (Fraction(1), Fraction(10**9), Fraction(1, 10**9)):
        around = grid("x", 2, -step / 2, step)
        for value, code in ((-5e-324, 0), (-1e-310, 0), (-0.0, 1), (0.0, 1), (5e-324, 1)):
            assert codes({"x": [value]}, around) == [[code]]


def test_whole_numbers_and_decimals_are_coded_as_the_nearest_double():
    table = pa.table(
        {
            "whole": pa.array([2**62, -(2**62), 7, None]),
            "wide": pa.array([10**30, -(10**30), 7, None], pa.decimal128(38, 0)),
            "cents": pa.array([1, 2, 3, None]).cast(pa.decimal128(21, 2)),
            "single": pa.array([0.1, 0.3, 1e30, None], pa.float32()),
        }
    )
    ten = [grid(name, 11, nullable=True) for name in table.column_names]
    found = [sorted(column, key=str) for column in codes(table, *ten)]
    assert found == [[0, 10, 7, None], [0, 10, 7, None], [1, 2, 3, None], [0, 0, 10, None]]


def test_the_narrowest_integers_hold_the_codes():
    points = {"a": 128, "b": 129, "c": 2**15 + 1, "d": 2**31 + 1}
    codings = [grid(name, number) for name, number in points.items()]
    copy = code_table(open_table({name: [p - 1] for name, p in points.items()}), codings)
    kinds = copy.store.fetch("SELECT * FROM coded").schema.types
    assert kinds == [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
    assert copy.store.fetch("SELECT * FROM coded").to_pylist() == [
        {f"c{i}": p - 1 for i, p in enumerate(points.values())}
    ]


# --- categories ---------------------------------------------------------------------------------


def test_texts_that_differ_in_anything_differ_in_their_codes():
    values = ("a", "A", "a ", "ä", "a\u0308", "", "1", "01")
    (found,) = codes({"x": [*values, None]}, category("x", *values))
    assert sorted(found, key=str) == [*range(8), None]


def test_a_collation_that_ignores_case_merges_nothing(tmp_path):
    path = tmp_path / "db.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('a'), ('A'), ('B')")
    (found,) = codes(str(path), category("x", "a", "A", other=True))
    assert sorted(found) == [0, 1, 2]
    many = [f"{letter}{i}" for letter in "aA" for i in range(40)]
    (found,) = codes(
        ibis.duckdb.connect(str(path)).table("t"), category("x", *many, "A", "a", "b", other=True)
    )
    assert sorted(found) == [80, 81, 83]


def test_the_texts_of_a_file_are_compared_as_they_are_written(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("zip,n,flag,day\n007,7,true,1970-01-02\n7,07,false,1969-12-31\n")
    text, number = category("zip", "7", "007"), category("n", 7, other=True)
    flag = category("flag", *(False, True))
    day = grid("day", 21, -10, date=True)
    rows = set(zip(*codes(path, text, number, flag, day), strict=True))
    assert rows == {(1, 0, 1, 11), (0, 1, 0, 9)}


def test_whole_numbers_among_doubles_are_categories_and_others_are_not():
    columns = {"x": [1.0, 2.0, 2.5, math.nan, 1e300, math.inf, -math.inf, -0.0]}
    (found,) = codes(columns, category("x", 1, 2, 0, other=True))
    assert Counter(found) == Counter([0, 1, 3, None, 3, 3, 3, 2])
    decimals = pa.table({"x": pa.array([1, 2, 3]).cast(pa.decimal128(38, 5))})
    assert sorted(codes(decimals, category("x", 3, 2, 1))[0]) == [0, 1, 2]
    large = pa.table({"x": pa.array([2**64 - 1, 2**63, 5], pa.uint64())})
    assert sorted(codes(large, category("x", 5, other=True))[0]) == [0, 1, 1]


@pytest.mark.parametrize(
    "kind",
    [pa.float64(), *(pa.decimal128(38, scale) for scale in (0, 1, 18)), pa.decimal128(20, 0)],
)
def test_whole_numbers_beyond_doubles_are_the_categories_that_are_listed(kind):
    listed = (2**53 + 2, 2**60, -(2**62), 5)
    values = pa.array([*listed, 2**61, None], pa.int64()).cast(kind, safe=False)
    (found,) = codes(pa.table({"x": values}), category("x", *listed, other=True))
    assert Counter(found) == Counter([0, 1, 2, 3, 4, None])


def test_decimals_of_few_digits_before_the_point_are_categories_too():
    values = pa.array([Decimal(k) for k in (1, 2, 3)], pa.decimal128(38, 37))
    assert sorted(codes(pa.table({"x": values}), category("x", 3, 1, other=True))[0]) == [0, 1, 2]


def test_long_lists_are_looked_up_like_short_ones():
    values = tuple(f"value {i}" for i in range(500))
    (found,) = codes({"x": [*values[::-1], "value", None]}, category("x", *values, other=True))
    assert sorted(found, key=lambda code: (code is None, code)) == [*range(501), None]
    numbers = tuple(range(-100, 100))
    (found,) = codes({"x": [*numbers, 1000]}, category("x", *numbers, other=True))
    assert sorted(found) == list(range(201))


# --- dates --------------------------------------------------------------------------------------


def test_days_are_counted_from_1970_and_times_before_it_are_floored():
    moments = [
        dt.datetime(1969, 12, 31, 0, 0, 0, 1),  # noqa: DTZ001 - times without a zone are meant
        dt.datetime(1969, 12, 30, 23, 59, 59),  # noqa: DTZ001 - likewise
        dt.datetime(1970, 1, 1),  # noqa: DTZ001 - likewise
        dt.datetime(1, 1, 1),  # noqa: DTZ001 - likewise
        None,
    ]
    days = [None if moment is None else moment.date() for moment in moments]
    for column in (moments, days):
        (found,) = codes(pa.table({"x": column}), grid("x", 9, -5, date=True, nullable=True))
        assert Counter(found) == Counter([4, 3, 5, 0, None])


def test_infinite_dates_are_clamped_and_steps_of_days_snap():
    backend = ibis.duckdb.connect()
    backend.con.execute(
        "CREATE TABLE t AS SELECT unnest([DATE 'infinity', DATE '-infinity', DATE '1970-01-04', "
        "DATE '1970-01-05']) AS x"
    )
    week = grid("x", 3, step=7, date=True)
    assert Counter(codes(backend.table("t"), week)[0]) == Counter([2, 0, 0, 1])


# --- refusals -----------------------------------------------------------------------------------

ONE, DAY = grid("x", 9), grid("x", 9, date=True)
PUBLIC = grid("x", 9, nullable=True, constant=True)
ZONED = pa.table({"x": pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)])})
FINELY_ZONED = pa.table({"x": ZONED["x"].cast(pa.timestamp("ns", "Europe/Berlin"))})


@pytest.mark.parametrize(
    ("source", "coding", "words"),
    [
        ({"x": ["SECRET-7741"]}, ONE, "holds text values, not numbers"),
        ({"x": [True]}, ONE, "holds boolean values, not numbers"),
        ({"x": ["2020-01-01"]}, DAY, "holds text values, not dates"),
        ({"x": [987_654_321]}, DAY, "holds integer values, not dates"),
        (ZONED, DAY, "times with a time zone"),
        (FINELY_ZONED, DAY, "times with a time zone"),
        (FINELY_ZONED.to_pandas(), DAY, "times with a time zone"),
        ({"x": [dt.date(2020, 1, 1)]}, ONE, "holds time values, not numbers"),
        ({"x": [1]}, category("x", "1"), "holds integer values, not text"),
        ({"x": ["1"]}, category("x", 1), "holds text values, not numbers"),
        ({"x": [1]}, category("x", *[True]), "holds integer values, not true and false"),
        ({"x": [True]}, category("x", 1), "holds boolean values, not numbers"),
        ({"x": [b"SECRET"]}, category("x", "a"), "holds text values, not text"),
        ({"y": [1]}, ONE, "Column 'x' is not in"),
        ({"x": [1, None]}, ONE, "1 value of column 'x' of the dict is missing"),
        ({"x": [1.5, math.nan, None]}, ONE, "2 values of column 'x' of the dict are missing"),
        ({"x": ["SECRET"]}, category("x", "a"), "1 value of column 'x' of the dict is outside"),
    ],
)
def test_a_column_that_is_not_what_its_schema_says_is_refused(source, coding, words, refused):
    with refused(ColumnError, words):
        code_table(open_table(source), [coding])


@pytest.mark.parametrize("texts", [["01/02/2024", "13/02/2024"], ["2024-01-31", "05/01/2024", ""]])
def test_days_of_a_file_that_are_not_read_are_refused_and_not_taken_for_missing(
    tmp_path, texts, refused
):
    path = tmp_path / "days.csv"
    path.write_text("x,y\n" + "".join(f"{text},1\n" for text in texts))
    day = grid("x", 9, date=True, nullable=True)
    with refused(ColumnError, "Column 'x' of days.csv holds text values, not dates"):
        code_table(open_table(path), [day])


def test_a_number_of_a_file_that_is_no_longer_read_is_refused(tmp_path, refused):
    path = tmp_path / "numbers.csv"
    path.write_text("x,y\n1,1\n2,1\n")
    table = open_table(path)
    path.write_text("x,y\n1,1\nno,1\n")
    with refused(TableError, "numbers.csv cannot be read to its end"):
        code_table(table, [grid("x", 9, nullable=True)])


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"x": [1, 2], "id": [5, 5]}, {}, "More than 1 row"),
        ({"x": [1, 2, 3], "id": [5, None, None]}, {}, "is missing in 2 rows"),
        ({"x": [1, 1, 2, 2, 3], "id": list("aabbb")}, {"rows_per_unit": 2}, "in 1 case"),
        ({"x": [1, 2, 3], "id": [5, 5, 6]}, {"rows_per_unit": 2}, "varies within 1 unit"),
        ({"x": [1, None, 3], "id": [5, 5, 6]}, {"rows_per_unit": 2}, "varies within 1 unit"),
    ],
)
def test_units_keep_to_their_rows_and_public_columns(columns, options, words, refused):
    with refused(ColumnError, words):
        code_table(open_table(columns), [PUBLIC], unit="id", **options)


def test_units_that_keep_their_promises_are_not_copied():
    columns = {"x": [1, 1, None, None, 2], "id": [7, 7, 8, 8, 9]}
    copy = code_table(open_table(columns), [PUBLIC], unit="id", rows_per_unit=2)
    assert copy.store.fetch("SELECT * FROM coded").column_names == ["c0"]
    assert code_table(open_table({"x": [1, 2]}), [PUBLIC], unit="x").rows == 2


def test_too_many_rows_are_refused(refused):
    with refused(TableError, "the dict has 3 rows", "max_rows"):
        code_table(open_table({"x": [1, 2, 3]}), [ONE], max_rows=2)


# --- places -------------------------------------------------------------------------------------


def test_a_file_is_made_whole_and_then_only_read(tmp_path, refused):
    place = tmp_path / "people.duckdb"
    table = open_table({"x": [1, 2, 3]})
    with refused(ColumnError, "1 value"):
        code_table(open_table({"x": [1, None]}), [ONE], place=place)
    assert list(tmp_path.iterdir()) == []
    assert not holds_copy(place)
    made = code_table(table, [ONE], place=place, version="v1")
    assert [path.name for path in tmp_path.iterdir()] == ["people.duckdb"]
    assert place.stat().st_mode & 0o077 == 0
    again = open_coded(place, [ONE], version="v1")
    assert (again.rows, again.count(), again.version) == (3, 3, "v1")
    assert holds_copy(place)
    for statement in (
        "INSERT INTO coded VALUES (1)",
        "DROP TABLE coded",
        "COPY coded TO 'out.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "ATTACH ':memory:' AS other",
        "SET enable_external_access = true",
    ):
        with pytest.raises(duckdb.Error):
            again.store.fetch(statement)
    with refused(InputError, "people.duckdb", "is taken"):
        code_table(table, [ONE], place=place)
    made.close()
    again.close()


def test_a_copy_in_memory_reaches_nothing_else():
    copy = code_table(open_table({"x": [1, 2, 3]}), [ONE])
    for statement in ("SELECT * FROM read_csv('/etc/passwd')", "COPY coded TO 'out.csv'"):
        with pytest.raises(duckdb.Error):
            copy.store.fetch(statement)


def test_a_copy_of_one_group_of_rows_wakes_no_second_thread(tmp_path):
    """DuckDB reads groups of 122,880 rows, each with one thread."""
    threads = "SELECT current_setting('threads')"
    with duckdb.connect() as connection:
        (all_threads,) = connection.execute(threads).fetchone()
    for rows, expected in ((122_880, 1), (122_881, all_threads)):
        table, place = open_table({"x": [1] * rows}), tmp_path / f"people{rows}.duckdb"
        in_memory = code_table(table, [ONE])
        code_table(table, [ONE], place=place, version="v1").close()
        in_file = open_coded(place, [ONE], version="v1")
        for copy in (in_memory, in_file):
            assert copy.store.fetch_row(threads) == (expected,)
            assert copy.count() == rows
            with pytest.raises(duckdb.Error):
                copy.store.fetch("SET threads = 2")
            copy.close()


def test_a_copy_that_was_changed_or_is_another_is_not_opened(tmp_path, refused):
    place = tmp_path / "people.duckdb"
    code_table(open_table({"x": [1, 2]}), [ONE], place=place, version="v1").close()
    with refused(InputError, "another version"):
        open_coded(place, [ONE], version="v2")
    with refused(InputError, "another schema"):
        open_coded(place, [grid("x", 9, 1)], version="v1")
    with duckdb.connect(str(place)) as connection:
        connection.execute("INSERT INTO coded VALUES (1)")
    with refused(InputError, "was changed"):
        open_coded(place, [ONE], version="v1")
    with refused(InputError, "There is no coded copy none.duckdb"):
        open_coded(tmp_path / "none.duckdb", [ONE])


STRANGE = (
    *("0", "null", "1e999", "[]", "{}", '""', "x", "", "NaN", "[" * 9999, "9" * 5000),
    *(0, -1, 1, 3.0, True, None, "", "2", "v1", [], [[]], [0], {}, {"a": 0}, 10**30, math.inf),
)
"""Texts stand in for the whole note, the rest for one of its fields."""


def test_a_note_of_another_form_gives_no_copy_or_the_same_one(tmp_path, refused, monkeypatch):
    place = tmp_path / "people.duckdb"
    code_table(open_table({"x": [1, 2]}), [ONE], place=place, version="v1").close()
    with duckdb.connect(str(place)) as connection:
        (true,) = connection.execute("SELECT content FROM about").fetchone()
    note = json.loads(true)
    changed = ["None", *(text for text in STRANGE if isinstance(text, str))]
    for name in note:
        changed.append(json.dumps({n: value for n, value in note.items() if n != name}))
        changed += [json.dumps(note | {name: value}) for value in STRANGE]
    found = set()
    store, _ = DuckDB().open_copy(place, None)
    with monkeypatch.context() as patched, closing(store):
        patched.setattr(store, "close", lambda: None)  # one open file stands in for all of them
        for content in changed:
            patched.setattr(DuckDB, "open_copy", lambda *_, c=content: (store, c))
            with suppress(InputError):
                opened = open_coded(place, [ONE], version="v1")
                found.add((opened.rows, type(opened.rows), opened.version))
        patched.undo()
    assert found == {(2, int, "v1")}  # the ledger of a copy, or its sources, may be missing
    for content in (None, "0", json.dumps(note | {"rows": 0})):
        with duckdb.connect(str(place)) as connection:
            connection.execute("UPDATE about SET content = ?", [content])
        with refused(InputError, "people.duckdb", "was changed after it was made"):
            open_coded(place, [ONE], version="v1")
    with duckdb.connect(str(place)) as connection:
        connection.execute("DELETE FROM about")
    with refused(InputError, "people.duckdb"):
        open_coded(place, [ONE], version="v1")


def test_a_place_that_cannot_be_is_refused(tmp_path, refused):
    table = open_table({"x": [1]})
    with refused(InputError, "people.db for the coded copy is no DuckDB file"):
        code_table(table, [ONE], place=tmp_path / "people.db")
    with refused(InputError, "cannot be written"):
        code_table(table, [ONE], place=tmp_path / "no" / "people.duckdb")


def test_versions_are_random_names():
    table = open_table({"x": [1, 2, 3]})
    found = {code_table(table, [ONE]).version for _ in range(3)}
    assert len(found) == 3


# --- addresses ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_table_of_a_database_file_is_opened_by_its_name(tmp_path, refused):
    path = tmp_path / "db.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.x AS SELECT 7 AS x")
        connection.execute("CREATE TABLE lone AS SELECT 5 AS x")
    for source, value in ((path, 5), (f"{path}::lone", 5), (f"{path}::s.x", 7)):
        assert codes(source, ONE) == [[value]]
    with refused(TableError, "'none'", "db.duckdb"):
        open_table(f"{path}::none")
    with refused(TableError, "There is no file"):
        open_table(tmp_path / "absent.duckdb")


def test_a_database_that_does_not_answer_is_named_without_its_password(refused):
    with refused(TableError, "postgresql") as caught:
        open_table("postgresql://me:7741@127.0.0.1:1/none?connect_timeout=1::t")
    assert "me:" not in str(caught.value)
    with refused(TableError, "needs the name of a table"):
        open_table("postgresql://me:7741@127.0.0.1:1/none?connect_timeout=1")


# --- Sums of rows are equal exactly where the multisets of rows are; what differs is refused ------


CODINGS = [ColumnCoding("a", 3), ColumnCoding("b", 2**40), ColumnCoding("c", 100)]
CODES = st.tuples(
    st.one_of(st.none(), st.integers(-2, 4)),
    st.one_of(st.none(), st.sampled_from([0, 1, 2**30, 2**30 - 1, 2**31, 2**39, 2**40 - 1])),
    st.one_of(st.none(), st.integers(-1, 3), st.sampled_from([99, 100, 101])),
)

ROWS = st.lists(CODES, max_size=6)


def sums(rows, *, portable, seeds=(2**30 + 7, 2**30 + 11, 2**30 + 13, 2**30 + 17)):
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    held = pa.table({f"c{i}": pa.array(column, pa.int64()) for i, column in enumerate(columns)})
    with duckdb.connect() as connection:
        connection.register("held", held)
        text = row_sums_query(CODINGS, "held", seeds, EMBEDDED, portable=portable)
        return read_sums(connection.execute(text).fetchone())


@pytest.mark.slow
@given(one=ROWS, other=ROWS, portable=st.booleans())
@example(
    one=[(0, 1, 2), (1, 0, 2)], other=[(0, 0, 2), (1, 1, 2)], portable=True
)  # the same sums of columns
@example(one=[(0, None, 2)], other=[(0, 0, 2)], portable=True)
@example(one=[(None, 0, 1)], other=[(0, None, 1)], portable=False)
@example(one=[(0, 2**30, 1)], other=[(0, 1, 1)], portable=True)
def test_sums_are_equal_where_the_rows_are(one, other, portable):
    def counted(rows):
        # What no column may hold is one thing: the other side never has it.
        return Counter(
            tuple(
                "broken"
                if code is not None and points < 2**30 and not -1 <= code < points
                else code
                for code, points in zip(row, (3, 2**40, 100), strict=True)
            )
            for row in rows
        )

    same = counted(one) == counted(other)
    assert (sums(one, portable=portable) == sums(other, portable=portable)) == same
    assert sums(one[::-1], portable=portable) == sums(one, portable=portable)


def test_seeds_are_drawn_anew_and_follow_from_a_key():
    assert draw_seeds() != draw_seeds()
    key = bytes(range(32))
    assert seeds_from(key) == seeds_from(key) != seeds_from(key[::-1])
    assert all(2**30 <= seed < PRIME for seed in (*seeds_from(key), *draw_seeds()))
    assert sums([(0, 1, 2)], portable=False) != sums(
        [(0, 1, 2)], portable=False, seeds=seeds_from(key)
    )


@pytest.mark.parametrize("broken", ["zeroed", "dropped", "doubled"])
def test_a_copy_that_came_out_wrong_is_refused_and_nothing_stays(tmp_path, monkeypatch, broken):
    """The consumer of a stream that reads other numbers than were sent."""
    honest = embedded.reader

    def dishonest(rows, size):
        table = honest(rows, size).read_all()
        changed = {
            "zeroed": lambda: table.set_column(
                0, table.schema.field(0), pa.array([0] * table.num_rows, table.schema.field(0).type)
            ),
            "dropped": lambda: table.slice(1),
            "doubled": lambda: pa.concat_tables([table.slice(1), table.slice(1, 1)]),
        }
        return changed[broken]().to_reader()

    monkeypatch.setattr(embedded, "reader", dishonest)
    table = open_table({"x": ["a", "b", "c", "d"], "y": [1, 2, 3, 4]})
    codings = [
        ColumnCoding("x", 4, values=("a", "b", "c", "d")),
        ColumnCoding("y", 5, values=(0, 1, 2, 3, 4)),
    ]
    for place in (None, tmp_path / "copy.duckdb"):
        with pytest.raises(EngineError, match=r"does not hold the rows .*; hint: "):
            code_table(table, codings, place=place)
    assert list(tmp_path.iterdir()) == []
    left = table.backend.con.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary")
    assert left.fetchone() == (0,)


def test_a_read_only_file_is_copied_too(tmp_path):
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS x FROM range(5)")
    table = open_table(str(tmp_path / "people.duckdb"))
    copy = code_table(table, [ColumnCoding("x", 5, values=(0, 1, 2, 3, 4))])
    assert copy.rows == 5
    assert holds_rows_of(copy, table, thorough=True)
    assert not holds_rows_of(copy, open_table({"x": [0, 1, 2, 3, 3]}), thorough=True)
