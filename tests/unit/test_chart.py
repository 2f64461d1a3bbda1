"""What there is to draw, as numbers that can be saved."""

import csv
import io

from hypothesis import given, strategies as st

from hartley.report import Chart, Panel, Series

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@st.composite
def series(draw):
    size = draw(st.integers(1, 5))
    row = st.lists(NUMBERS, min_size=size, max_size=size).map(tuple)
    names = st.lists(TEXTS, min_size=size, max_size=size).map(tuple)
    ends = draw(st.booleans())
    return Series(
        draw(TEXTS),
        draw(st.one_of(row, names)),
        draw(row),
        low=draw(row) if ends else (),
        high=draw(row) if ends else (),
    )


@given(st.lists(series(), max_size=3), st.booleans())
def test_every_number_of_a_picture_is_in_its_csv_exactly(several, synthetic):
    chart = Chart("t", (Panel("x", "y", tuple(several)),), synthetic=synthetic)
    lines = list(csv.reader(io.StringIO(chart.csv())))
    expected = [
        ["y", one.label, str(x), str(y), str(low), str(high)]
        for one in several
        for x, y, low, high in zip(
            one.x,
            one.y,
            one.low or ("",) * len(one.x),
            one.high or ("",) * len(one.x),
            strict=True,
        )
    ]
    assert [line[:6] for line in lines[1:]] == expected


def test_every_line_of_synthetic_numbers_says_so():
    panel = Panel("x", "y", (Series("a", (1.0, 2.0), (3.0, 4.0)),))
    lines = Chart("t", (panel,), synthetic=True).csv().splitlines()
    assert len(lines) == 3
    assert all(line.endswith(",synthetic") for line in lines[1:])
    assert "synthetic" not in Chart("t", (panel,)).csv()


def test_the_table_of_a_picture_has_no_empty_column():
    line = Series("a", (1.0, 2.0), (1 / 3, 4.0))
    table = Chart("t", (Panel("x", "y", (line,)),)).grid()
    assert [heading.name for heading in table.headings] == ["panel", "series", "x", "y"]
    assert [heading.kind for heading in table.headings] == ["text", "text", "number", "number"]
    assert table.rows == (("y", "a", "1", "0.333333"), ("y", "a", "2", "4"))
    ends = Chart(
        "t", (Panel("x", "y", (line, Series("b", (1.0,), (2.0,), low=(1.0,), high=(3.0,)))),)
    )
    assert ends.grid().rows[-1] == ("y", "b", "1", "2", "1", "3")
    assert ends.grid().rows[0][-2:] == ("", "")
