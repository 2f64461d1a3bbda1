"""Files as they come: mixed line ends, titles above the names, totals below the rows."""

import csv
import gzip
import io
import re
import shlex

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from hartley.cli.reading import READING, reading_of
from hartley.errors import OptionError, TableError
from hartley.tables import row_files
from hartley.tables.opening import open_table
from hartley.tables.reading import ReadingOptions
from hartley.tables.row_files import TOTALS, suspected_layout

NAMES = ("id", "ward", "days")
ROWS = [(f"p{k}", "ICU" if k % 3 else "B, left", 2 * k) for k in range(1, 60)]
TITLES = [("Export of KIS",), ("made", "2024-05-01"), ()]
SUM = ("Summe", "", sum(row[2] for row in ROWS))


def rows_of(table):
    found = table.expression.to_pyarrow().to_pylist()
    return [tuple(row.values()) for row in found]


def as_csv(lines, delimiter=",", ends=("\n",)):
    out = []
    for place, line in enumerate(lines):
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator=ends[place % len(ends)]).writerow(line)
        out.append(text.getvalue() if line else ends[place % len(ends)])
    return "".join(out)


@pytest.fixture
def write(tmp_path):
    def written(lines, ending=".csv", **settings):
        path = tmp_path / f"kis{ending}"
        if ending == ".xlsx":
            book = openpyxl.Workbook()
            for line in lines:
                book.active.append(line)
            book.save(path)
        else:
            path.write_text(as_csv(lines, **settings), newline="")
        return path

    return written


# --- line ends ------------------------------------------------------------------------------------

TEXTS = st.text('ab,\n\r" ', max_size=5).map(lambda text: f"x{text}y")


@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=9),
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=5),
    zipped=st.booleans(),
)
def test_mixed_line_ends_are_read_and_no_text_is_changed(tmp_path_factory, rows, ends, zipped):
    path = tmp_path_factory.mktemp("ends") / ("t.csv.gz" if zipped else "t.csv")
    lines = [("a", "b"), *rows]
    text = "".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in line) + ends[place % len(ends)]
        for place, line in enumerate(lines)
    )
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    reading = ReadingOptions(delimiter=",", header=1)
    assert rows_of(open_table(path, reading=reading)) == rows


def test_line_ends_that_two_pieces_of_a_file_share_are_one(tmp_path, monkeypatch):
    for size in (1, 2, 3, 5, 8):
        monkeypatch.setattr(row_files, "CHUNK", size)
        path = tmp_path / f"t{size}.csv"
        path.write_bytes(b'a,b\r\n1,"x\r\n"\n2,\r3,"y\n"\r\n\r\n')
        expected = [(1, "x\r\n"), (2, None), (3, "y\n")]
        assert rows_of(open_table(path, reading=ReadingOptions(header=1))) == expected


# --- lines that hold no rows ----------------------------------------------------------------------

FORMS = [(".csv", {}), (".csv", {"delimiter": ";", "ends": ("\r\n", "\n")}), (".xlsx", {})]


def padded(lines):
    return [(*line, *("",) * (3 - len(line))) for line in lines]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("above", [[], TITLES, padded(TITLES[:2]), [("Patient", "", "Stay")]])
@pytest.mark.parametrize(
    ("below", "last"),
    [
        ([], (0, "")),
        ([("End of the export",)], (1, "")),
        ([SUM], (1, "Summe")),
        ([SUM, (), ("Source: KIS",)], (2, "Summe")),
        ([("Total:", "", "")], (1, "Total:")),
        ([("Summe", "", 5)], (0, "Summe")),
    ],
)
def test_titles_and_totals_are_found_and_left_out(write, form, above, below, last):
    path = write([*above, NAMES, *ROWS, *below], form[0], **form[1])
    found = suspected_layout(path, ReadingOptions())
    assert found.header == (len(above) + 1 if above else None)
    assert (found.footer, found.total) == last
    reading = ReadingOptions(header=found.header, footer=found.footer)
    kept = rows_of(open_table(path, reading=reading))
    assert [tuple(row) for row in kept[: len(ROWS)]] == ROWS
    assert len(kept) == len(ROWS) + len([line for line in below if any(line)]) - last[0]


def test_whole_tables_have_no_titles_and_no_totals(write):
    words = [("first", "last"), *((f"n{k % 7}", f"m{k % 5}") for k in range(30))]
    unnamed = [("", "age", "sex"), *((k, 30 + k, "F") for k in range(30))]
    texts = [("", "age", "job"), ("p0", "?", "clerk"), *((f"p{k}", k, "nurse") for k in range(30))]
    numbers = [(k, k * k, k % 3) for k in range(30)]
    # The last person has told nothing but an identifier.
    bare = [NAMES, *ROWS, ("p99", "", "")]
    people = [NAMES, *((f"Ann {k}", "A", k) for k in range(30)), ("Ann Lee", "", "")]
    whole = [NAMES, *ROWS], [("a",), ("b",), ("c",)]
    for lines in (words, unnamed, texts, numbers, bare, people, *whole):
        for ending in (".csv", ".xlsx"):
            found = suspected_layout(write(lines, ending), ReadingOptions())
            assert (found.header, found.footer) == (None, 0)


def test_a_total_within_the_rows_is_left_to_the_owner(write):
    found = suspected_layout(write([NAMES, SUM, *ROWS]), ReadingOptions())
    assert (found.footer, found.total) == (0, "")


def test_the_error_names_the_first_uneven_line_and_a_hint_that_works(write):
    path = write([*TITLES, NAMES, *ROWS, ("59 rows",)])
    with pytest.raises(TableError) as refused:
        open_table(path)
    assert refused.value.problem == "Line 1 of kis.csv has 1 field, most lines 3"
    options = shlex.split(refused.value.hint.partition(" with ")[2])
    assert options == ["--header-line", "4", "--footer", "1"]
    assert rows_of(open_table(path, reading=ReadingOptions(header=4, footer=1))) == ROWS
    with pytest.raises(
        TableError, match=r"has 1 field, the header 3; .* --header-line 4 --footer 1$"
    ):
        open_table(path, reading=ReadingOptions(header=4))


@pytest.mark.parametrize("place", [1, 30, 58])
def test_an_uneven_line_among_the_rows_is_named(write, place):
    lines = [NAMES, *ROWS[:place], ("a", 1), *ROWS[place:]]
    with pytest.raises(TableError) as refused:
        open_table(write(lines))
    assert refused.value.problem == f"Line {place + 2} of kis.csv has 2 fields, the header 3"
    assert re.search(rf"line {place + 2}\b", refused.value.hint)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "id,age,ill\n1,30,HIV\n2,40\n3,50,flu,extra\n",
            "Line 3 of t.csv has 2 fields, the header 3",
        ),
        ('id,note,age\n1,"open,30\n2,x,40\n', "Line 2 of t.csv has 2 fields, the header 3"),
        ("a;b\n1;2;3\n", "Line 2 of t.csv has 3 fields, the header 2"),
    ],
)
def test_lines_of_no_usual_length_are_compared_with_the_header(tmp_path, text, sentence):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError) as refused:
        rows_of(open_table(tmp_path / "t.csv"))
    assert refused.value.problem == sentence


# --- footers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_a_footer_counts_lines_with_a_value(write, ending):
    lines = [NAMES, *ROWS, SUM, (), ()]
    for footer in range(4):
        table = open_table(write(lines, ending), reading=ReadingOptions(footer=footer))
        assert len(rows_of(table)) == len(ROWS) + 1 - footer


def test_a_footer_longer_than_a_piece_is_cut_from_the_end(write, monkeypatch):
    monkeypatch.setattr(row_files, "CHUNK", 7)
    path = write([NAMES, *ROWS], ends=("\r\n",))
    assert rows_of(open_table(path, reading=ReadingOptions(footer=20))) == ROWS[:-20]
    for footer in (59, 60, 1000):
        with pytest.raises(TableError, match=r"no rows besides .* --footer"):
            rows_of(open_table(path, reading=ReadingOptions(footer=footer)))


@pytest.mark.parametrize("footer", [-1, 1.0, True, "1", None])
def test_a_footer_is_a_number_of_lines(footer):
    with pytest.raises(OptionError, match="footer for reading a table is no number of lines"):
        ReadingOptions(footer=footer)


def test_files_without_lines_have_no_footer(tmp_path):
    pq.write_table(pa.table({"age": [1, 2]}), tmp_path / "p.parquet")
    with pytest.raises(OptionError, match=r"footer was named for p\.parquet"):
        open_table(tmp_path / "p.parquet", reading=ReadingOptions(footer=1))


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["SUM", "Total", "totals:", "Ogółem", " insgesamt ", "TOTALE*"])
def test_words_for_totals(word):
    assert re.match(TOTALS, word)


@pytest.mark.parametrize("word", ["", "Sumatra", "sum of all", "subtotal", "12", "to tal ly"])
def test_other_words(word):
    assert not re.match(TOTALS, word)


@given(
    null=st.lists(st.text("a?'\" ;", min_size=1, max_size=3), max_size=2, unique=True),
    sheet=st.none() | st.text("ab '", min_size=1, max_size=4),
    delimiter=st.sampled_from([None, ";", "\t", "|"]),
    dates=st.sampled_from(["year-first", "day-first"]),
    trim=st.booleans(),
    footer=st.integers(0, 3),
)
def test_options_are_words_that_a_shell_reads_back(**options):
    reading = ReadingOptions(**options, header=4)
    words = shlex.split(shlex.join(reading.words))
    given_back = {}
    while words:
        option = words.pop(0).removeprefix("--").replace("header-line", "header")
        kind = READING[option][0]
        value = True if kind is bool else words.pop(0)
        value = int(value) if option in ("header", "footer") else value
        given_back[option] = [*given_back.get(option, []), value] if option == "null" else value
    assert reading_of(given_back) == reading


def test_the_engine_draws_no_bar_of_its_own(write):
    table = open_table(write([NAMES, *ROWS]))
    asked = "SELECT current_setting('enable_progress_bar')"
    assert table.backend.con.execute(asked).fetchone() == (False,)
