"""Workbooks, files of statistics programs, and any of them from standard input."""

import datetime as dt
import gzip
import io
import math
import sys

import openpyxl
import pyreadstat
import pytest

from hartley.errors import EngineError, OptionError, TableError
from hartley.ranges.relation import Relation
from hartley.tables.opening import open_table
from hartley.tables.reading import ReadingOptions


def time(*parts):
    return dt.datetime(*parts)  # noqa: DTZ001 - files hold times without a zone


def rows_of(table):
    return table.expression.to_pyarrow().to_pylist()


def column_of(table, name):
    return [row[name] for row in rows_of(table)]


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
    table = open_table(path, reading=ReadingOptions(decimal=",", dates="day-first"))
    assert column_of(table, "x") == [1.5, 2.25, 3.0]
    assert column_of(table, "day") == [dt.date(2020, 1, 2), dt.date(2020, 1, 3), None]


def test_one_of_several_sheets_has_to_be_named(book):
    path = book(first=[["a"], [1]], second=[["b"], [2]])
    with pytest.raises(TableError, match="2 sheets; hint: name one with --sheet: first, second"):
        open_table(path)
    with pytest.raises(TableError, match="no sheet 'third'; hint: its sheets are first, second"):
        open_table(path, reading=ReadingOptions(sheet="third"))
    assert open_table(path, reading=ReadingOptions(sheet="second")).columns == ("b",)


def test_a_hidden_sheet_is_read_only_by_its_name(tmp_path):
    workbook = openpyxl.Workbook()
    workbook.active.append(["a"])
    workbook.active.append([1])
    hidden = workbook.create_sheet("hidden")
    hidden.append(["b"])
    hidden.append([2])
    hidden.sheet_state = "hidden"
    workbook.save(tmp_path / "t.xlsx")
    assert open_table(tmp_path / "t.xlsx").columns == ("a",)
    named = open_table(tmp_path / "t.xlsx", reading=ReadingOptions(sheet="hidden"))
    assert named.columns == ("b",)


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
    assert rows_of(open_table(path, reading=ReadingOptions(header=3))) == [{"a": 1, "b": 2}]
    with pytest.raises(TableError, match="no names"):
        open_table(path, reading=ReadingOptions(header=2))
    with pytest.raises(TableError, match="no names"):
        open_table(path, reading=ReadingOptions(header=9))


def test_a_column_alone_is_no_title(book):
    assert rows_of(open_table(book(t=[["a"], [1], [2]]))) == [{"a": 1}, {"a": 2}]


def test_several_workbooks_are_one_table_by_the_names_of_columns(book):
    first = book("a.xlsx", t=[["a", "b"], [1, "x"]])
    second = book("b.xlsx", t=[["b", "a"], ["y", 2]])
    assert rows_of(open_table([first, second])) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    third = book("c.xlsx", t=[["c"], [2]])
    with pytest.raises(TableError, match=r"a\.xlsx and c\.xlsx have different columns"):
        open_table([first, third])


def test_a_sheet_is_refused_for_files_without_sheets(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(OptionError, match=r"t\.csv, which has no sheets"):
        open_table(tmp_path / "t.csv", reading=ReadingOptions(sheet="people"))


@pytest.mark.parametrize("name", ["t.xlsx", "t.sav", "t.dta", "t.sas7bdat", "t.por", "t.xpt"])
def test_a_broken_file_is_refused_without_its_content(tmp_path, name):
    (tmp_path / name).write_bytes(b"SECRET" * 100)
    with pytest.raises(TableError, match="is not a readable file of") as refused:
        open_table(tmp_path / name)
    assert "SECRET" not in str(refused.value)


def test_an_old_workbook_is_refused(tmp_path):
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(TableError, match=r"save it as \.xlsx"):
        open_table(tmp_path / "t.xls")


@pytest.mark.parametrize(("name", "package"), [("t.xlsx", "openpyxl"), ("t.sav", "pyreadstat")])
def test_an_absent_package_is_named(tmp_path, monkeypatch, name, package):
    (tmp_path / name).write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EngineError, match=rf"{package}; hint: pip install 'hartley\[files\]'"):
        open_table(tmp_path / name)


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
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
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
    trimmed = open_table(path, reading=ReadingOptions(trim=True, null=["x", "2"]))
    assert column_of(trimmed, "B") == [None, "y", None]
    assert column_of(trimmed, "A") == [1, None, None], "a number marks missing numbers too"


def test_declared_missing_values_are_missing_and_labels_are_used_on_request(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = str(tmp_path / "t.sav")
    pyreadstat.write_sav(
        pandas.DataFrame({"sex": [1, 2, 99, 3]}),
        path,
        missing_ranges={"sex": [99]},
        variable_value_labels={"sex": {1: "male", 2: "female", 99: "unknown"}},
    )
    assert column_of(open_table(path), "sex") == [1, 2, None, 3]
    labelled = open_table(path, reading=ReadingOptions(labels=True))
    assert column_of(labelled, "sex") == ["male", "female", None, "3"]


# --- standard input ---


class Piped:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("kind", ["csv", "gz", "xlsx", "parquet", "cp1252"])
def test_standard_input_holds_a_file_of_any_kind(kind, monkeypatch, book, copies):
    import pyarrow as pa
    import pyarrow.parquet as pq

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
    table = open_table("-", reading=ReadingOptions(encoding=encoding))
    assert rows_of(table) == [{"a": 1, "b": "é"}, {"a": 2, "b": "y"}]
    del table
    assert copies() == before
    with pytest.raises(TableError, match="was read before"):
        open_table("-")


def test_without_a_standard_input_a_file_has_to_be_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="no standard input"):
        open_table("-")
