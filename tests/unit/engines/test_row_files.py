"""Files as people send them: Excel, SPSS, Stata and SAS, encodings, commas, spaces, titles."""

import csv
import datetime as dt
import gzip
import io

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hartley.errors import ColumnError, OptionError, TableError
from hartley.ranges.relation import Relation
from hartley.tables.opening import open_table
from hartley.tables.reading import ReadingOptions, near_misses
from hartley.tables.row_files import suspected_encoding
from hartley.tables.view import profile


def time(*parts):
    return dt.datetime(*parts)  # noqa: DTZ001 - files hold times without a zone


def rows_of(table):
    return table.expression.to_pyarrow().to_pylist()


def column_of(table, name):
    return [row[name] for row in rows_of(table)]


# --- CSV ---


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_csv_file_is_read_in_its_encoding(tmp_path, encoding, ending, copies):
    content = "größe,name\n1,José\n2,Zoë\n".encode(encoding)
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    before = copies()
    table = open_table(path, reading=ReadingOptions(encoding=encoding))
    assert rows_of(table) == [{"größe": 1, "name": "José"}, {"größe": 2, "name": "Zoë"}]
    assert table.paths == (str(path),), "the file itself must not be overwritten"
    del table
    assert copies() == before, "no copy of private data stays behind"


def test_a_file_that_is_not_in_the_named_encoding_is_refused_by_its_line(tmp_path, copies):
    (tmp_path / "t.csv").write_bytes(b"name\nAnn\nSECRET\x81\n")
    before = copies()
    with pytest.raises(TableError, match=r"t\.csv is not cp1252 text in line 3") as refused:
        open_table(tmp_path / "t.csv", reading=ReadingOptions(encoding="cp1252"))
    assert "SECRET" not in str(refused.value)
    assert copies() == before


def test_the_line_of_a_wrong_sign_is_counted_over_pieces(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"name\n" + b"Ann\n" * 400_000 + b"\x81\n")
    with pytest.raises(TableError, match="in line 400,002;"):
        open_table(tmp_path / "t.csv", reading=ReadingOptions(encoding="cp1252"))


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("näme\nJosé\n".encode(), "utf-8"),
        ("näme\nJosé\n".encode("utf-16"), "utf-16"),
        ("näme\nJosé €\n".encode("cp1252"), "cp1252"),
        (b"n\xe4me\n\x81\n", "latin-1"),
    ],
)
def test_the_encoding_of_a_file_is_suspected(tmp_path, content, encoding):
    (tmp_path / "t.csv").write_bytes(content)
    assert suspected_encoding(tmp_path / "t.csv") == encoding


def test_a_file_with_everything_wrong_is_read_right(tmp_path):
    lines = [
        "name ; größe;born;code",
        "José ; 1,5;31.12.2001;007",
        "Ann\xa0;2;1.2.1999; 7",
        " ; ? ;;NA",
    ]
    (tmp_path / "t.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    reading = ReadingOptions(
        null=["?", "NA"], trim=True, encoding="cp1252", decimal=",", dates="day-first"
    )
    table = open_table(tmp_path / "t.csv", reading=reading)
    assert table.columns == ("name", "größe", "born", "code")
    assert column_of(table, "name") == ["José", "Ann", None]
    assert column_of(table, "größe") == [1.5, 2.0, None]
    assert column_of(table, "born") == [dt.date(2001, 12, 31), dt.date(1999, 2, 1), None]
    # 007 and 7 are different codes: the relation keeps their texts
    relation = Relation.from_table(table, secret="code", released="name")
    assert relation.secret_size.low == 2


@pytest.mark.parametrize(
    ("dates", "texts", "values"),
    [
        ("day-first", ["31.12.2001", "1/2/1999"], [dt.date(2001, 12, 31), dt.date(1999, 2, 1)]),
        ("month-first", ["12/31/2001", "1/2/1999"], [dt.date(2001, 12, 31), dt.date(1999, 1, 2)]),
        ("day-first", ["31.12.2001", "2024-02-29"], [dt.date(2001, 12, 31), dt.date(2024, 2, 29)]),
        ("day-first", ["31.12.2001", "31.2.2001"], ["31.12.2001", "31.2.2001"]),
        ("month-first", ["31.12.2001", "1.2.2001"], ["31.12.2001", "1.2.2001"]),
        ("day-first", ["31.12.01", "1.2.01"], ["31.12.01", "1.2.01"]),
        ("year-first", ["31.12.2001", "1.2.1999"], ["31.12.2001", "1.2.1999"]),
        (
            "day-first",
            ["31.12.2001 10:05", "1.2.1999"],
            [time(2001, 12, 31, 10, 5), time(1999, 2, 1)],
        ),
    ],
)
def test_days_are_read_in_the_named_order_if_all_can_be(tmp_path, dates, texts, values):
    (tmp_path / "t.csv").write_text("day,n\n" + "".join(f"{text},1\n" for text in texts))
    assert column_of(
        open_table(tmp_path / "t.csv", reading=ReadingOptions(dates=dates)), "day"
    ) == (values)


def test_with_decimal_commas_a_point_is_no_decimal_sign(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;c\n1.234;1,5;x,y\n2.500;-,5;7,1\n")
    table = open_table(tmp_path / "t.csv", reading=ReadingOptions(decimal=","))
    assert column_of(table, "a") == ["1.234", "2.500"]
    assert column_of(table, "b") == [1.5, -0.5]
    assert column_of(table, "c") == ["x,y", "7,1"], "a text among numbers changes nothing"


def test_as_many_decimal_commas_as_semicolons_do_not_mislead(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;2,5\n2,5;3,5\n")
    table = open_table(tmp_path / "t.csv", reading=ReadingOptions(decimal=","))
    assert rows_of(table) == [{"a": 1.5, "b": 2.5}, {"a": 2.5, "b": 3.5}]


@pytest.mark.parametrize("sign", [":", "tab", "^", " "])
def test_a_named_delimiter_is_used(tmp_path, sign):
    text = "\t" if sign == "tab" else sign
    (tmp_path / "t.csv").write_text(f"a{text}b\n1{text}x,y\n2{text}z\n")
    table = open_table(tmp_path / "t.csv", reading=ReadingOptions(delimiter=sign))
    assert rows_of(table) == [{"a": 1, "b": "x,y"}, {"a": 2, "b": "z"}]


def test_titles_above_the_header_are_refused_with_its_line_and_skipped_if_it_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("Report of 2020\n\nage,sex\n30,F\n40,M\n")
    with pytest.raises(TableError, match="line 3, say so with --header-line"):
        open_table(tmp_path / "t.csv")
    table = open_table(tmp_path / "t.csv", reading=ReadingOptions(header=3))
    assert rows_of(table) == [{"age": 30, "sex": "F"}, {"age": 40, "sex": "M"}]
    assert len(rows_of(open_table(tmp_path / "t.csv", reading=ReadingOptions(header=4)))) == 1


def test_doubled_names_are_refused_after_trimming(tmp_path):
    (tmp_path / "t.csv").write_text("age, Age\n1,2\n")
    for trim in (False, True):  # the engine trims names in any case
        with pytest.raises(ColumnError, match="case aside the same"):
            open_table(tmp_path / "t.csv", reading=ReadingOptions(trim=trim))


def test_trimming_decides_the_type_by_the_last_line_too(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + " 1 , 2\n" * 5000 + "1, x \n")
    table = open_table(tmp_path / "t.csv", reading=ReadingOptions(trim=True))
    assert str(table.expression.schema()["a"]) == "int64"
    assert column_of(table, "b")[-2:] == ["2", "x"]


NUMBERS = st.decimals(-10_000, 10_000, places=2)
WORDS = st.text(st.sampled_from('ab ÄéF?;|,.\t"'), max_size=5)
VALUES = st.one_of(st.none(), NUMBERS, WORDS)


def meant(values, reading):
    """Read texts by the definition: trimmed, marked, a number only if every value is one."""
    texts = [value.strip(" \t") if reading.trim else value for value in values]
    present = [None if text in {"", *reading.null} else text for text in texts]

    def number(text):
        whole, _, part = text.removeprefix("-").partition(reading.decimal)
        if not (whole + part).isdigit() or not (whole + part).isascii():
            return None
        return float(text.replace(reading.decimal, "."))

    numbers = [None if text is None else number(text) for text in present]
    ok = all(
        (text is None) == (value is None) for text, value in zip(present, numbers, strict=True)
    )
    return numbers if ok else present


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cells=st.lists(st.tuples(NUMBERS | st.none(), VALUES), min_size=1, max_size=8),
    spaces=st.sampled_from(["", " ", "\t "]),
    encoding=st.sampled_from(["utf-8", "cp1252", "utf-16"]),
    decimal=st.sampled_from([".", ","]),
    delimiter=st.sampled_from([";", "|", "\t"]),
)
def test_random_files_are_read_as_they_are_meant(  # noqa: PLR0913, PLR0917 - what is drawn
    tmp_path, cells, spaces, encoding, decimal, delimiter
):
    def written(value):
        if value is None:
            return f"{spaces}?"
        text = value if isinstance(value, str) else str(value).replace(".", decimal)
        return f"{spaces}{text}{spaces}"

    reading = ReadingOptions(
        null=["?"], trim=True, encoding=encoding, decimal=decimal, delimiter=delimiter, header=1
    )
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    texts = [(written(first), written(second)) for first, second in cells]
    writer.writerows([("first", "second"), *texts])
    (tmp_path / "t.csv").write_bytes(buffer.getvalue().encode(encoding))
    table = open_table(tmp_path / "t.csv", reading=reading)
    for place, name in enumerate(("first", "second")):
        assert column_of(table, name) == meant([row[place] for row in texts], reading)


# --- columns that are not used ---


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_an_unused_column_of_mixed_types_blocks_nothing(engine):
    table = open_table({"age": [30, 40], "note": [1, "x"], "sex": ["F", "M"]}, engine=engine)
    assert Relation.from_table(table, secret="age", released="sex").rows == 2
    assert [column.name for column in profile(table)] == ["age", "sex"]
    with pytest.raises(ColumnError, match="'note' mixes values of different types"):
        Relation.from_table(table, secret="note", released="sex")


def test_an_unused_column_of_objects_in_pandas_blocks_nothing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [30, 40], "note": [{"a": 1}, 2]})
    assert column_of(open_table(frame), "age") == [30, 40]
    with pytest.raises(ColumnError, match="'note' mixes"):
        open_table(frame).require(["note"])


# --- marks and near misses ---


def test_marks_and_spaces_count_in_parquet_files_and_frames(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"sex": [" F", "?", "M\xa0"], "age": [30, 99, 50], "x": [1.5, 99.0, 2.0]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    reading = ReadingOptions(null=["?", "99"], trim=True)
    for source in (tmp_path / "t.parquet", columns):
        table = open_table(source, reading=reading)
        assert rows_of(table) == [
            {"sex": "F", "age": 30, "x": 1.5},
            {"sex": None, "age": None, "x": None},
            {"sex": "M", "age": 50, "x": 2.0},
        ]
    # the statistics of the file still know the 99, and must not be believed
    table = open_table(tmp_path / "t.parquet", reading=reading)
    assert table.known_span("age") is None
    assert Relation.from_table(table, secret="age", released="sex").rows == 2


def test_options_that_come_after_opening_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a\n ?\n")
    opened = open_table(tmp_path / "t.csv")
    assert open_table(opened) is opened
    with pytest.raises(OptionError, match="open already"):
        open_table(opened, null="?")


@pytest.mark.parametrize("ending", ["csv", "dict"])
def test_near_misses_of_declared_values_are_counted_without_them(tmp_path, ending):
    sexes = ["F", " F", "f", "M", "x SECRET", None, "F\t"]
    (tmp_path / "t.csv").write_text("sex,n\n" + "".join(f"{s or ''},1\n" for s in sexes))
    table = open_table(tmp_path / "t.csv" if ending == "csv" else {"sex": sexes, "n": [1] * 7})
    assert near_misses(table, {"sex": ["F", "M"]}) == [
        "Column 'sex' has 3 rows whose value differs from 'F' only by spaces or case"
    ]
    assert near_misses(table, {"sex": ["F", "f", "M"]}) == [
        "Column 'sex' has 2 rows whose value differs from 'F' only by spaces or case"
    ]
    assert near_misses(table, {"sex": ["M"], "n": ["1"]}) == []


# --- the options themselves ---


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"encoding": "base64"}, "'base64' is unknown"),
        ({"encoding": "klingon"}, "'klingon' is unknown"),
        ({"encoding": 8}, "encoding .* is no text"),
        ({"delimiter": "ab"}, "delimiter"),
        ({"delimiter": '"'}, "delimiter"),
        ({"delimiter": ""}, "delimiter"),
        ({"decimal": ";"}, "decimal"),
        ({"dates": "dayfirst"}, "dates"),
        ({"header": 0}, "header"),
        ({"header": True}, "header"),
        ({"null": 3}, "null"),
        ({"null": [3]}, "null"),
        ({"trim": "yes"}, "trim"),
        ({"sheet": 1}, "sheet"),
        ({"nul": ["?"]}, "did you mean null"),
        ({"names": ["a"], "header": 1}, "a line that names them too"),
    ],
)
def test_wrong_options_are_refused_by_name(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        ReadingOptions.from_dict(options)


def test_options_survive_being_written_down():
    reading = ReadingOptions(null="?", trim=True, encoding="CP1252", delimiter="tab", header=3)
    assert ReadingOptions.from_dict(reading.to_dict()) == reading
    assert ReadingOptions().to_dict() == {}
