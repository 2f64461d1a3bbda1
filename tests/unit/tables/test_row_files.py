"""Files as people send them, in every format, in parts and from standard input."""

import csv
import datetime as dt
import gzip
import io
import math
import re
import shlex
import sys
from itertools import product

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from command_line import run
from hartley import (
    Agent,
    ReadingOptions,
    Relation,
    Roles,
    anonymity,
    check,
    open_table,
    release,
    scan,
)
from hartley.errors import ColumnError, EngineError, InputError, OptionError, TableError
from hartley.tables.crosstab import read_grid
from hartley.tables.reading import near_misses
from hartley.tables.row_files import suspected_encoding
from hartley.tables.view import profile

# --- Files as people send them: Excel, SPSS, Stata and SAS, encodings, commas, spaces, titles -----


def time(*parts):
    return dt.datetime(*parts)  # noqa: DTZ001 - files hold times without a zone


def rows_of(table):
    return table.expression.to_pyarrow().to_pylist()


def column_of(table, name):
    return [row[name] for row in rows_of(table)]


def read(source, **options):
    return open_table(source, reading=ReadingOptions(**options))


# --- CSV ---


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_csv_file_is_read_in_its_encoding(file, encoding, ending, copies):
    content = "größe,name\n1,José\n2,Zoë\n".encode(encoding)
    path = file(gzip.compress(content) if ending.endswith("gz") else content, f"t.{ending}")
    before = copies()
    table = read(path, encoding=encoding)
    assert rows_of(table) == [{"größe": 1, "name": "José"}, {"größe": 2, "name": "Zoë"}]
    assert table.paths == (str(path),), "the file itself must not be overwritten"
    del table
    assert copies() == before, "no copy of private data stays behind"


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"name\nAnn\nSECRET\x81\n", "3"), (b"name\n" + b"Ann\n" * 400_000 + b"\x81\n", "400,002")],
    ids=["short", "in pieces"],
)
def test_a_file_that_is_not_in_the_named_encoding_is_refused_by_its_line(
    file, copies, refused, content, line
):
    path, before = file(content), copies()
    with refused(TableError, f"t.csv is not cp1252 text in line {line};"):
        read(path, encoding="cp1252")
    assert copies() == before


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("näme\nJosé\n".encode(), "utf-8"),
        ("näme\nJosé\n".encode("utf-16"), "utf-16"),
        ("näme\nJosé €\n".encode("cp1252"), "cp1252"),
        (b"n\xe4me\n\x81\n", "latin-1"),
    ],
)
def test_the_encoding_of_a_file_is_suspected(file, content, encoding):
    assert suspected_encoding(file(content)) == encoding


def test_a_file_with_everything_wrong_is_read_right(file):
    lines = [
        "name ; größe;born;code",
        "José ; 1,5;31.12.2001;007",
        "Ann\xa0;2;1.2.1999; 7",
        " ; ? ;;NA",
    ]
    options = {"null": ["?", "NA"], "trim": True, "decimal": ",", "dates": "day-first"}
    table = read(file("\r\n".join(lines).encode("cp1252")), encoding="cp1252", **options)
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
def test_days_are_read_in_the_named_order_if_all_can_be(file, dates, texts, values):
    path = file("day,n\n" + "".join(f"{text},1\n" for text in texts))
    assert column_of(read(path, dates=dates), "day") == values


def test_with_decimal_commas_a_point_is_no_decimal_sign(file):
    table = read(file("a;b;c\n1.234;1,5;x,y\n2.500;-,5;7,1\n"), decimal=",")
    assert column_of(table, "a") == ["1.234", "2.500"]
    assert column_of(table, "b") == [1.5, -0.5]
    assert column_of(table, "c") == ["x,y", "7,1"], "a text among numbers changes nothing"


def test_as_many_decimal_commas_as_semicolons_do_not_mislead(file):
    table = read(file("a;b\n1,5;2,5\n2,5;3,5\n"), decimal=",")
    assert rows_of(table) == [{"a": 1.5, "b": 2.5}, {"a": 2.5, "b": 3.5}]


@pytest.mark.parametrize("sign", [":", "tab", "^", " "])
def test_a_named_delimiter_is_used(file, sign):
    text = "\t" if sign == "tab" else sign
    table = read(file(f"a{text}b\n1{text}x,y\n2{text}z\n"), delimiter=sign)
    assert rows_of(table) == [{"a": 1, "b": "x,y"}, {"a": 2, "b": "z"}]


def test_titles_above_the_header_are_refused_with_its_line_and_skipped_if_it_is_named(file):
    path = file("Report of 2020\n\nage,sex\n30,F\n40,M\n")
    with pytest.raises(
        TableError, match=r"Line 1 of t\.csv has 1 field, most lines 2; .* --header-line 3$"
    ):
        open_table(path)
    assert rows_of(read(path, header=3)) == [{"age": 30, "sex": "F"}, {"age": 40, "sex": "M"}]
    assert len(rows_of(read(path, header=4))) == 1


def test_doubled_names_are_refused_after_trimming(file):
    for trim in (False, True):  # the engine trims names in any case
        with pytest.raises(ColumnError, match="case aside the same"):
            read(file("age, Age\n1,2\n"), trim=trim)


def test_trimming_decides_the_type_by_the_last_line_too(file):
    table = read(file("a,b\n" + " 1 , 2\n" * 5000 + "1, x \n"), trim=True)
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
    file, cells, spaces, encoding, decimal, delimiter
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
    table = open_table(file(buffer.getvalue().encode(encoding)), reading=reading)
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
    frame = pd.DataFrame({"age": [30, 40], "note": [{"a": 1}, 2]})
    assert column_of(open_table(frame), "age") == [30, 40]
    with pytest.raises(ColumnError, match="'note' mixes"):
        open_table(frame).require(["note"])


# --- marks and near misses ---


def test_marks_and_spaces_count_in_parquet_files_and_frames(tmp_path):
    columns = {"sex": [" F", "?", "M\xa0"], "age": [30, 99, 50], "x": [1.5, 99.0, 2.0]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    for source in (columns, tmp_path / "t.parquet"):
        table = read(source, null=["?", "99"], trim=True)
        assert rows_of(table) == [
            {"sex": "F", "age": 30, "x": 1.5},
            {"sex": None, "age": None, "x": None},
            {"sex": "M", "age": 50, "x": 2.0},
        ]
    # the statistics of the file still know the 99, and must not be believed
    assert table.known_span("age") is None
    assert Relation.from_table(table, secret="age", released="sex").rows == 2


def test_options_that_come_after_opening_are_refused(file):
    opened = open_table(file("a\n ?\n"))
    assert open_table(opened) is opened
    with pytest.raises(OptionError, match="open already"):
        open_table(opened, null="?")


@pytest.mark.parametrize("ending", ["csv", "dict"])
def test_near_misses_of_declared_values_are_counted_without_them(file, ending):
    sexes = ["F", " F", "f", "M", "x SECRET", None, "F\t"]
    path = file("sex,n\n" + "".join(f"{s or ''},1\n" for s in sexes))
    table = open_table(path if ending == "csv" else {"sex": sexes, "n": [1] * 7})
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
    ],
)
def test_wrong_options_are_refused_by_name(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        ReadingOptions.from_dict(options)


def test_options_survive_being_written_down():
    reading = ReadingOptions(null="?", trim=True, encoding="CP1252", delimiter="tab", header=3)
    assert ReadingOptions.from_dict(reading.to_dict()) == reading
    assert ReadingOptions().to_dict() == {}


# --- Workbooks, files of statistics programs, and any of them from standard input -----------------


@pytest.fixture
def book(tmp_path):
    """Write sheets, each a list of rows, and return the path of the workbook."""

    def written(name="t.xlsx", **sheets):
        workbook = openpyxl.Workbook()
        workbook.remove(workbook.active)
        for title, rows in sheets.items():
            page = workbook.create_sheet(title)
            for row in rows:
                page.append(row)
        workbook.save(tmp_path / name)
        return tmp_path / name

    return written


# --- Excel ---


def test_a_sheet_is_read_with_the_types_of_its_cells(book):
    day = time(2020, 1, 2)
    path = book(
        people=[
            [None, None],
            ["id", "age", "x", "day", "seen", "mixed", "flag"],
            [1, 30, 1.5, day, day, "a", True],
            [2, "?", 1e-7, day, day.replace(hour=4), 7, False],
            [None] * 7,
            [3, 44, None, None, None, None, None, None],
        ]
    )
    table = open_table(path, null="?")
    assert table.columns == ("id", "age", "x", "day", "seen", "mixed", "flag")
    assert column_of(table, "id") == [1, 2, 3]
    assert column_of(table, "age") == [30, None, 44]
    assert column_of(table, "x") == [1.5, 1e-7, None]
    assert column_of(table, "day") == [day.date(), day.date(), None]
    assert column_of(table, "seen") == [day, day.replace(hour=4), None]
    assert column_of(table, "mixed") == ["a", "7", None]
    assert column_of(table, "flag") == [True, False, None]
    assert Relation.from_table(table, secret="age", released="flag").rows == 2


def test_numbers_as_texts_with_commas_are_the_numbers_beside_them(book):
    path = book(t=[["x", "day"], [1.5, dt.date(2020, 1, 2)], ["2,25", "3.1.2020"], [3, None]])
    table = read(path, decimal=",", dates="day-first")
    assert column_of(table, "x") == [1.5, 2.25, 3.0]
    assert column_of(table, "day") == [dt.date(2020, 1, 2), dt.date(2020, 1, 3), None]


def test_one_of_several_sheets_has_to_be_named(book):
    path = book(first=[["a"], [1]], second=[["b"], [2]])
    with pytest.raises(TableError, match="2 sheets; hint: name one with --sheet: first, second"):
        open_table(path)
    with pytest.raises(TableError, match="no sheet 'third'; hint: its sheets are first, second"):
        read(path, sheet="third")
    assert read(path, sheet="second").columns == ("b",)


def test_a_hidden_sheet_is_read_only_by_its_name(book):
    path = book(first=[["a"], [1]], hidden=[["b"], [2]])
    workbook = openpyxl.load_workbook(path)
    workbook["hidden"].sheet_state = "hidden"
    workbook.save(path)
    assert open_table(path).columns == ("a",)
    assert read(path, sheet="hidden").columns == ("b",)


@pytest.mark.parametrize(
    "rows",
    [
        [["Report"], [], ["a", "b"], [1, 2]],
        [["Report"], ["a", "b"], [1, 2]],
        [["Report", None, "2020"], ["a", "b", "c"], [1, 2, 3]],
        [["a", "b"], [1, 2, 3]],
        [],
    ],
)
def test_a_sheet_without_a_name_for_every_column_is_refused(book, rows):
    with pytest.raises(TableError, match="--header-line"):
        open_table(book(t=rows))


def test_the_named_line_of_a_sheet_holds_the_names(book):
    path = book(t=[["Report"], [], ["a", "b"], [1, 2]])
    assert rows_of(read(path, header=3)) == [{"a": 1, "b": 2}]
    for line in (2, 9):
        with pytest.raises(TableError, match="no names"):
            read(path, header=line)


def test_a_column_alone_is_no_title(book):
    assert rows_of(open_table(book(t=[["a"], [1], [2]]))) == [{"a": 1}, {"a": 2}]


def test_several_workbooks_are_one_table_by_the_names_of_columns(book):
    first = book("a.xlsx", t=[["a", "b"], [1, "x"]])
    second = book("b.xlsx", t=[["b", "a"], ["y", 2]])
    assert rows_of(open_table([first, second])) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    third = book("c.xlsx", t=[["c"], [2]])
    with pytest.raises(TableError, match=r"a\.xlsx and c\.xlsx have different columns"):
        open_table([first, third])


def test_a_sheet_is_refused_for_files_without_sheets(file):
    with pytest.raises(OptionError, match=r"t\.csv, which has no sheets"):
        read(file("a\n1\n"), sheet="people")


@pytest.mark.parametrize("name", ["t.xlsx", "t.sav", "t.dta", "t.sas7bdat", "t.por", "t.xpt"])
def test_a_broken_file_is_refused_without_its_content(file, refused, name):
    with refused(TableError, "is not a readable file of"):
        open_table(file("SECRET" * 100, name))


def test_an_old_workbook_is_refused(file):
    with pytest.raises(TableError, match=r"save it as \.xlsx"):
        open_table(file(b"\xd0\xcf\x11\xe0", "t.xls"))


@pytest.mark.parametrize(("name", "package"), [("t.xlsx", "openpyxl"), ("t.sav", "pyreadstat")])
def test_an_absent_package_is_named(file, monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EngineError, match=rf"{package}; hint: pip install 'hartley\[files\]'"):
        open_table(file("PK", name))


# --- SPSS, Stata, SAS ---

STATISTICS = {
    "sav": pyreadstat.write_sav,
    "zsav": lambda frame, path, **more: pyreadstat.write_sav(frame, path, compress=True, **more),
    "dta": pyreadstat.write_dta,
    "xpt": pyreadstat.write_xport,
    "por": pyreadstat.write_por,
}


@pytest.mark.parametrize("ending", STATISTICS)
def test_files_of_statistics_programs_hold_what_was_written(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "A": [1.0, 2.0, math.nan],
            "B": ["x", " y", ""],
            "C": [1.25, -3.0, 2**60],
            "D": [dt.date(2020, 1, 1), dt.date(2021, 5, 6), None],
        }
    )
    path = str(tmp_path / f"t.{ending}")
    STATISTICS[ending](frame, path)
    table = open_table(path)
    assert rows_of(table) == [
        {"A": 1, "B": "x", "C": 1.25, "D": dt.date(2020, 1, 1)},
        {"A": 2, "B": " y", "C": -3.0, "D": dt.date(2021, 5, 6)},
        {"A": None, "B": None, "C": 2.0**60, "D": None},
    ]
    assert str(table.expression.schema()["A"]) == "int64"
    trimmed = read(path, trim=True, null=["x", "2"])
    assert column_of(trimmed, "B") == [None, "y", None]
    assert column_of(trimmed, "A") == [1, None, None], "a number marks missing numbers too"


def test_declared_missing_values_are_missing_and_labels_are_used_on_request(tmp_path):
    path = str(tmp_path / "t.sav")
    pyreadstat.write_sav(
        pd.DataFrame({"sex": [1, 2, 99, 3]}),
        path,
        missing_ranges={"sex": [99]},
        variable_value_labels={"sex": {1: "male", 2: "female", 99: "unknown"}},
    )
    assert column_of(open_table(path), "sex") == [1, 2, None, 3]
    assert column_of(read(path, labels=True), "sex") == ["male", "female", None, "3"]


# --- standard input ---


class Piped:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("kind", ["csv", "gz", "xlsx", "parquet", "cp1252"])
def test_standard_input_holds_a_file_of_any_kind(kind, monkeypatch, book, copies):
    text = "a,b\n1,é\n2,y\n"
    contents = {
        "csv": text.encode(),
        "gz": gzip.compress(text.encode()),
        "cp1252": text.encode("cp1252"),
        "xlsx": book(t=[["a", "b"], [1, "é"], [2, "y"]]).read_bytes(),
    }
    if kind == "parquet":
        pq.write_table(pa.table({"a": [1, 2], "b": ["é", "y"]}), buffer := io.BytesIO())
        contents[kind] = buffer.getvalue()
    monkeypatch.setattr(sys, "stdin", Piped(contents[kind]))
    encoding = "cp1252" if kind == "cp1252" else "utf-8"
    before = copies()
    table = read("-", encoding=encoding)
    assert rows_of(table) == [{"a": 1, "b": "é"}, {"a": 2, "b": "y"}]
    del table
    assert copies() == before
    with pytest.raises(TableError, match="was read before"):
        open_table("-")


def test_without_a_standard_input_a_file_has_to_be_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="no standard input"):
        open_table("-")


# --- Folders that are more than their files are refused, by every spelling of their files ---------


def write(path, rows, form="parquet"):
    path.parent.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        pq.write_table(pa.table(rows), path)
    else:
        lines = [
            ",".join(rows),
            *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True)),
        ]
        path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for zip_code, form in product(["00501", "10001"], ["parquet", "csv"]):
        write(tmp_path / form / f"zip={zip_code}" / f"f.{form}", {"a": [1]}, form)
        write(tmp_path / f"deep_{form}" / "y=1" / f"zip={zip_code}" / f"f.{form}", {"a": [1]}, form)
    for lake, mark in (
        ("delta", "_delta_log/00.json"),
        ("iceberg", "metadata/v1.metadata.json"),
        ("hudi", ".hoodie/hoodie.properties"),
    ):
        for part in ("part-0", "data/part-1", "region=east/part-2"):
            write(tmp_path / lake / f"{part}.parquet", {"a": [1, 2]})
        (tmp_path / lake / mark).parent.mkdir()
        (tmp_path / lake / mark).write_text("{}")
    (tmp_path / "linked").symlink_to("parquet/zip=00501/f.parquet")
    (tmp_path / "lake_link.parquet").symlink_to("delta/part-0.parquet")
    (tmp_path / "folder_link").symlink_to("delta")
    return tmp_path


HIVE = [
    "parquet", "parquet/", "parquet/*", "parquet/*/*.parquet", "parquet/**/*.parquet",
    "parquet/zip=00501", "parquet/zip=00501/f.parquet", "parquet/../parquet/zip=*/*", "linked",
    "csv", "csv/*/*.csv", "csv/zip=00501/f.csv", "deep_csv", "deep_parquet",
    "deep_parquet/y=1/*/*.parquet", "deep_parquet/**/*.parquet",
]  # fmt: skip
LAKES = [
    f"{lake}{path}"
    for lake in ("delta", "iceberg", "hudi")
    for path in ("", "/", "/*.parquet", "/**/*.parquet", "/part-0.parquet", "/data/*.parquet",
                 "/region=east/part-2.parquet", "/data", "/region=*")
]  # fmt: skip
LAKES += [
    "lake_link.parquet", "folder_link", "folder_link/*.parquet", "delta/_delta_log",
    "iceberg/metadata", "delta/../delta/part-0.parquet",
]  # fmt: skip


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", HIVE)
def test_a_partition_is_never_read_without_its_column(path):
    with pytest.raises(
        TableError, match=r"named by the column '(zip|y)', which would be lost"
    ) as no:
        open_table(path)
    assert "00501" not in str(no.value)  # a value
    with pytest.raises(TableError, match="which would be lost"):
        open_table([path, path])


@pytest.mark.parametrize("path", LAKES)
def test_files_of_a_lake_are_never_read_without_its_log(folder, path):
    with pytest.raises(TableError, match=r"a (Delta|Hudi)|an Iceberg") as no:
        open_table(folder / path)
    assert "*" not in no.value.hint


@pytest.mark.parametrize(
    "path",
    [
        "parquet", "csv", "deep_csv/*/*/*.csv", "parquet/zip=10001/f.parquet", "Ann's [1]",
        "Ann's [1]/zip=10001/f.CSV", "gz/*/*.gz", "far/env=x/data/zip=00501/f.csv",
    ],
)  # fmt: skip
def test_the_hint_works_when_it_is_pasted(folder, path):
    for zip_code in ("00501", "10001"):
        write(folder / "Ann's [1]" / f"zip={zip_code}" / "f.CSV", {"a": [1]}, "csv")
        write(folder / "far/env=x/data" / f"zip={zip_code}" / "f.csv", {"a": [1]}, "csv")
        (folder / f"gz/zip={zip_code}").mkdir(parents=True)
        (folder / f"gz/zip={zip_code}/f.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    with pytest.raises(TableError) as no:
        open_table(path)
    words = shlex.split(re.search(r'python -c ".*"', no.value.hint)[0])
    exec(words[2], {})  # noqa: S102 - what a user pastes
    table = open_table(next(folder.glob("table.*"))).expression.to_pyarrow()
    assert sorted(table["zip"].to_pylist()) == ["00501", "10001"]
    assert [str(value) for value in table["a"].to_pylist()] == ["1", "1"]


@pytest.mark.usefixtures("folder")
def test_every_way_in_refuses():
    roles = {"confirmed": True, "columns": {"a": {"role": "key"}}}
    schema = {
        "table": {"name": "people"},
        "columns": {"a": {"kind": "private", "range": [0, 3], "step": 1}},
    }
    for path in ("delta/*.parquet", "parquet/*/*.parquet"):
        for way in (
            scan,
            lambda path: anonymity(path, roles=roles),
            lambda path: Agent(data=path, schema=schema, ledger="l.db", budget=1),
        ):
            with pytest.raises(TableError, match=r"would be lost|is a Delta table"):
                way(path)
        for words in (
            ["scan", path], ["audit", path, "--secret", "a", "--released", "a"],
            ["anonymity", path, "--keys", "a"], ["schema", "draft", path],
            ["attack", "uniqueness", path, "--columns", "a"],
        ):  # fmt: skip
            ended = run(*words)
            assert ended.returncode == 2, words
            assert "which would be lost" in ended.stderr or "is a Delta table" in ended.stderr, (
                words
            )


def test_plain_folders_are_read_by_the_pattern_that_the_hint_names(folder):
    write(folder / "plain/x.pq", {"a": [1]})
    write(folder / "plain/deep/er/y.pq", {"a": [2]})
    with pytest.raises(TableError, match=r"plain is a folder.*plain/\*\.pq$"):
        open_table("plain")
    assert open_table("plain/*.pq").expression.count().execute() == 1
    assert open_table("plain/**/*.pq").expression.count().execute() == 2  # at any depth, as DuckDB
    (folder / "none").mkdir()
    with pytest.raises(TableError, match="none is a folder, not a file; hint: name a file of rows"):
        open_table("none")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_far_above_is_a_column_only_where_it_differs(folder, form):
    for year in (1, 2):
        for part in "xy":
            write(folder / f"year={year}/data/{part}.{form}", {"a": [year]}, form)
    (folder / "link").symlink_to("year=1/data")
    for path in ("year=1/data/x.", "year=1/data/?.", "link/x.", "year=1/*/*.", "year=1/../link/x."):
        assert open_table(path + form).expression.columns == ("a",)
    for path in ("year=*/data/x.", "year=*/**/*."):
        with pytest.raises(TableError, match="by the column 'year', which would be lost"):
            open_table(path + form)
    with pytest.raises(TableError, match="by the column 'year', which would be lost"):
        open_table([f"link/x.{form}", f"year=2/data/x.{form}"])


def test_excel_files_of_partitions_are_not_read_without_their_column(folder):
    (folder / "excel/year=1").mkdir(parents=True)
    (folder / "excel/year=1/a.xlsx").write_bytes(b"PK")
    with pytest.raises(TableError, match=r"'year', which would be lost.*one file first: with that"):
        open_table("excel/*/*.xlsx")


def test_a_published_table_has_no_column_of_its_folder(folder):
    write(folder / "year=2024/table.parquet", {"region": ["north"], "n": [12]})
    assert read_grid(folder / "year=2024/table.parquet").rows == (("region", "n"), ("north", "12"))


def test_parts_of_a_table_are_no_published_tables(folder):
    write(folder / "hv/town=a/part-0.parquet", {"region": ["n"], "count": [12]})
    write(folder / "hv/town=a/part-0.csv", {"region": ["n"], "count": [12]}, "csv")
    write(folder / "delta/p.parquet", {"region": ["n"], "count": [12]})
    for path in ("hv/town=a/part-0.parquet", "hv/town=a/part-0.csv", "delta/p.parquet"):
        with pytest.raises(TableError, match=r"would be lost|is a Delta table"):
            check(path)


def test_only_patterns_of_table_files_are_hinted(folder):
    for path in folder.glob("*_link.*"):
        path.unlink()
    (folder / "code.py").write_text("1")
    for source in (".", ""):
        with pytest.raises(TableError, match=r"^\. is a folder.*rows: there is none"):
            open_table(source)
    write(folder / "[t].parquet", {"a": [1]})
    for source in (".", ""):
        with pytest.raises(TableError, match=r"^\. is a folder.*for example \./\*\.parquet$"):
            open_table(source)
    write(folder / "a[1]/t.csv", {"a": [1]}, "csv")
    with pytest.raises(TableError) as refused:
        open_table("a[1]")
    assert open_table(refused.value.hint.rpartition(" ")[2]).columns == ("a",)


LONG = "x" * 5000


@pytest.mark.parametrize(
    "way",
    [
        lambda: open_table(LONG),
        lambda: open_table(f"{LONG}*"),
        lambda: open_table([f"a/{LONG}.csv", "b.csv"]),
        lambda: scan(LONG),
        lambda: check(LONG),
        lambda: check("t.csv", schema=LONG),
        lambda: Roles.read(LONG),
        lambda: release({"a": [1]}, {"format": 1, "columns": [{"name": "a", "kind": "keep"}]},
                        f"{LONG}.csv"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_names_of_any_length_get_a_sentence(way):
    with pytest.raises(InputError, match="cannot be") as refused:
        way()
    assert len(str(refused.value)) < 500


def test_no_command_fails_at_a_long_name(folder):
    (folder / "t.csv").write_text("a,b\n1,2\n")
    for words in (
        ["scan", LONG], ["scan", "t.csv", "--html", LONG], ["check", LONG],
        ["price", "Q", "--bits", "1", "--schema", LONG], ["check", "t.csv", "--junit", LONG],
    ):  # fmt: skip
        ended = run(*words)
        assert (ended.returncode, "hint: " in ended.stderr) == (2, True), words
        assert "Something went wrong" not in ended.stderr
