"""Sums of rows are equal exactly where the multisets of rows are; what differs is refused."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from hartley.engines import duckdb as embedded
from hartley.engines.coded_table import code_table, holds_rows_of
from hartley.engines.codes import (
    PRIME,
    ColumnCoding,
    draw_seeds,
    read_sums,
    row_sums_query,
    seeds_from,
)
from hartley.engines.registry import EMBEDDED
from hartley.errors import EngineError
from hartley.tables.opening import open_table

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
