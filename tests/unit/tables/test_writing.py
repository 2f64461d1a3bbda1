"""Files that appear whole or not at all."""

import _thread
import math
import os
import resource
import subprocess
import sys
import threading
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from hartley import open_table
from hartley.engines import duckdb as embedded
from hartley.engines.cells import CutCells, UniformCells
from hartley.engines.registry import EMBEDDED
from hartley.engines.table import Table, full_disk, lack_of_room
from hartley.errors import ColumnError, EngineError, InputError, OptionError
from hartley.files import whole_file
from hartley.tables import writing
from hartley.tables.column_map import apply_map
from hartley.tables.release_rules import Formula, Keep
from hartley.tables.writing import write_table

CELLS = UniformCells("x", 0, 10, 5)
HALF = ("/", ("var", "x"), ("var", "y"))


@pytest.fixture
def table():
    return open_table({"x": [1.0, 9.5, None, 30.0], "y": [1.0, 0.0, 2.0, 2.0]})


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def kept(columns):
    return apply_map(open_table(columns), [Keep(name) for name in columns])


@pytest.mark.parametrize("ending", ["parquet", "pq", "PARQUET", "csv"])
def test_what_is_written_is_what_the_map_says(table, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    counts = write_table(apply_map(table, [CELLS, Keep("y")]), path)
    found = pc.read_csv(path) if ending == "csv" else pq.read_table(path)
    assert found.to_pydict() == {"x": [1.0, 9.0, None, 9.0], "y": [1.0, 0.0, 2.0, 2.0]}
    assert (counts.rows, counts.columns[0].missing, counts.columns[0].above) == (4, 1, 1)
    assert names(tmp_path) == [f"out.{ending}"]


def test_text_is_written_so_that_empty_and_missing_differ(tmp_path):
    words = ["", None, "a,b", 'say "hi"', "two\nlines", "ä"]
    write_table(kept({"w": words}), tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert text == '"w"\n""\n\n"a,b"\n"say ""hi"""\n"two\nlines"\n"ä"\n'


def test_numbers_survive_csv_bit_for_bit(tmp_path):
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 0.0, 123456789.123]
    write_table(kept({"x": values}), tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [float(line).hex() for line in lines] == [value.hex() for value in values]


def test_a_path_may_hold_any_letters(table, tmp_path):
    folder = tmp_path / 'it\'s a "folder" with ümläuts; --'
    folder.mkdir()
    write_table(apply_map(table, [CELLS]), folder / "o'ut.parquet")
    assert pq.read_metadata(folder / "o'ut.parquet").num_rows == 4


def test_a_file_that_is_there_is_replaced_and_has_usual_permissions(table, tmp_path):
    path = tmp_path / "out.parquet"
    path.write_text("old")
    write_table(apply_map(table, [CELLS]), path)
    assert pq.read_metadata(path).num_rows == 4
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.slow
def test_rows_keep_their_order_in_a_large_file(tmp_path):
    size = 400_000
    numbered = pa.table({"i": pa.array(range(size)), "x": pa.array(range(size), pa.float64())})
    pq.write_table(numbered, tmp_path / "in.parquet", row_group_size=50_000)
    rules = [Keep("i"), UniformCells("x", 0, size, 100)]
    write_table(apply_map(open_table(tmp_path / "in.parquet"), rules), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["i"].equals(numbered["i"])


@pytest.mark.slow
@pytest.mark.parametrize("share", [10**5, 10**6, 10**8, 10**12])
def test_memory_is_limited_while_writing_and_not_afterwards(tmp_path, monkeypatch, share):
    monkeypatch.setattr(embedded, "BYTES_PER_THREAD", share)
    table = open_table(pa.table({"x": pa.array(range(150_000), pa.float64())}))
    limit = "SELECT current_setting('memory_limit')"
    before = table.backend.con.execute(limit).fetchone()
    for _ in range(3):
        counts = write_table(apply_map(table, [Keep("x", 0, 10)]), tmp_path / "out.parquet")
    assert counts.rows == pq.read_metadata(tmp_path / "out.parquet").num_rows == 150_000
    assert table.backend.con.execute(limit).fetchone() == before


def test_a_table_of_another_database_is_written_too(tmp_path):
    backend = EMBEDDED.open()
    backend.con.execute(f"ATTACH '{tmp_path / 'other.db'}' AS other")
    backend.con.execute("CREATE SCHEMA other.inner")
    backend.con.execute("CREATE TABLE other.inner.t AS SELECT 3.0::DOUBLE AS x")
    held = open_table(backend.table("t", database=("other", "inner")))
    write_table(apply_map(held, [CELLS]), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"x": [3.0]}


def test_the_file_tells_nothing_of_the_source(table, tmp_path):
    for ending in ("parquet", "csv"):
        write_table(apply_map(table, [CELLS]), tmp_path / f"out.{ending}")
    assert pq.read_schema(tmp_path / "out.parquet").metadata is None


# --- undefined formulas -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_undefined_formulas_are_counted_by_what_is_written(table, tmp_path, ending):
    rules = [Formula("x", HALF, 0, 10)]
    counts = write_table(apply_map(table, rules), tmp_path / f"out.{ending}")
    assert (counts.columns[0].missing, counts.columns[0].undefined) == (1, 1)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_strict_release_with_an_undefined_formula_leaves_nothing(tmp_path, ending):
    table = open_table({"x": [1.0, 2.0], "y": [1.0, 0.0]})
    mapped = apply_map(table, [Formula("x", HALF, 0, 10)], strict=True)
    with pytest.raises(
        ColumnError, match="1 value of column 'x' is without a value of the formula"
    ):
        write_table(mapped, tmp_path / f"out.{ending}")
    assert names(tmp_path) == []


# --- nothing half done --------------------------------------------------------------------------


def test_a_strict_release_leaves_nothing(table, tmp_path):
    with pytest.raises(ColumnError, match="missing"):
        write_table(apply_map(table, [CELLS], strict=True), tmp_path / "out.parquet")
    assert names(tmp_path) == []


def spoil(path):
    """Overwrite the second half of the pages of a Parquet file, its foot excepted."""
    content = bytearray(path.read_bytes())
    middle, foot = len(content) // 2, len(content) - 20_000
    content[middle:foot] = bytes(foot - middle)
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_an_error_in_the_middle_leaves_the_file_that_was_there(tmp_path, ending):
    rows = pa.table({"x": pa.array([math.sin(k) for k in range(500_000)])})
    pq.write_table(rows, tmp_path / "in.parquet", row_group_size=20_000, compression="none")
    (tmp_path / f"out.{ending}").write_text("as it was")
    mapped = apply_map(open_table(tmp_path / "in.parquet"), [UniformCells("x", -1, 1, 9)])
    assert mapped.counts.rows == 500_000
    spoil(tmp_path / "in.parquet")
    with pytest.raises(EngineError, match=f"could not write out.{ending}") as refused:
        write_table(mapped, tmp_path / f"out.{ending}")
    assert "; hint: " in str(refused.value)
    assert names(tmp_path) == ["in.parquet", f"out.{ending}"]
    assert (tmp_path / f"out.{ending}").read_text() == "as it was"


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_disk_that_takes_no_more_is_named_as_such(tmp_path, ending):
    mapped = kept({"x": [math.sin(k) for k in range(50_000)]})
    assert mapped.counts.rows == 50_000
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(InputError, match=f"out.{ending} cannot be written: it is larger than"):
            write_table(mapped, tmp_path / f"out.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(tmp_path) == []


def has_written(folder):
    """Say whether the unfinished file, in its hidden folder, holds something already."""
    return any(half.stat().st_size for half in folder.glob(".out.parquet.*.part/out.parquet"))


def test_an_interruption_while_rows_are_streamed_leaves_nothing(table, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "BATCH", 2)
    shares = []

    def interrupt(share):
        shares.append(share)
        assert names(tmp_path) != []
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(apply_map(table, [CELLS]), tmp_path / "out.csv", progress=interrupt)
    assert names(tmp_path) == []
    assert 0 < shares[0] <= 1


@pytest.mark.slow
@pytest.mark.usefixtures("default_interruption")
def test_an_interruption_while_the_engine_writes_leaves_nothing_and_ends_its_other_threads(
    tmp_path,
):
    backend = EMBEDDED.open()
    rows = backend.sql("SELECT sin(i::DOUBLE) AS x FROM range(2000000000) t(i)")
    mapped = apply_map(Table(rows, "many"), [UniformCells("x", -1, 1, 9)])
    mapped.__dict__["counts"] = apply_map(open_table({"x": [0.0]}), mapped.rules).counts
    begun = threading.Event()

    def interrupt():
        # Not before the engine writes: Python drops an interruption that meets a finaliser, and
        # Ibis, which prepares the statement, has many.
        while not has_written(tmp_path):
            begun.wait(0.01)
        _thread.interrupt_main()

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        write_table(mapped, tmp_path / "out.parquet")
    watcher.join()
    assert names(tmp_path) == []
    # Were its other threads still writing, this would wait for them: minutes.
    assert backend.con.execute("SELECT 1").fetchone() == (1,)


KILLED = """
import sys
from hartley.tables.column_map import UniformCells, apply_map
from hartley.engines.registry import EMBEDDED
from hartley.tables.opening import open_table
from hartley.engines.table import Table
from hartley.tables.writing import write_table

rows = EMBEDDED.open().sql("SELECT sin(i::DOUBLE) AS x FROM range(2000000000) t(i)")
mapped = apply_map(Table(rows, "many"), [UniformCells("x", -1, 1, 9)])
mapped.__dict__["counts"] = apply_map(open_table({"x": [0.0]}), mapped.rules).counts
write_table(mapped, sys.argv[1])
"""


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_the_old_file_and_a_hidden_part(tmp_path):
    (tmp_path / "out.parquet").write_text("as it was")
    begun = threading.Event()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "out.parquet")]) as child:
        while not has_written(tmp_path):
            assert child.poll() is None
            begun.wait(0.01)
        child.kill()
    assert (tmp_path / "out.parquet").read_text() == "as it was"
    hidden, shown = names(tmp_path)
    assert shown == "out.parquet"
    assert hidden.startswith(".out.parquet.")
    assert hidden.endswith(".part")


def test_a_table_that_changes_between_counting_and_writing_is_refused(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)
    for values in ([1.0, 2.0, 3.0], [1.0, None]):
        mapped = apply_map(open_table(path), [CELLS])
        assert mapped.counts.rows == 2
        pq.write_table(pa.table({"x": pa.array(values, pa.float64())}), tmp_path / "new.parquet")
        (tmp_path / "new.parquet").replace(path)
        with pytest.raises(EngineError, match="changed while it was released"):
            write_table(mapped, tmp_path / "out.parquet")
        assert names(tmp_path) == ["in.parquet"]
        pq.write_table(pa.table({"x": [1.0, 2.0]}), path)


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.parquet.tmp"])
def test_an_unknown_ending_is_refused_before_anything_runs(tmp_path, name):
    with pytest.raises(OptionError, match=rf"ending of {name} names no format"):
        write_table(None, tmp_path / name)


def test_a_folder_that_is_missing_or_stands_in_the_way_is_refused(table, tmp_path):
    mapped = apply_map(table, [CELLS])
    with pytest.raises(InputError, match="cannot be written"):
        write_table(mapped, tmp_path / "no" / "out.parquet")
    (tmp_path / "out.parquet").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_table(mapped, tmp_path / "out.parquet")
    assert names(tmp_path) == ["out.parquet"]


def test_a_whole_file_keeps_the_old_one_when_its_writer_fails(tmp_path):
    (tmp_path / "note").write_text("old")

    def fail():
        with whole_file(tmp_path / "note") as half:
            half.write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "note").read_text() == "old"
    assert names(tmp_path) == ["note"]


def test_progress_ends_with_everything_written(table, tmp_path):
    for ending in ("parquet", "csv"):
        shares = []
        write_table(apply_map(table, [CELLS]), tmp_path / f"out.{ending}", progress=shares.append)
        assert shares[-1] == 1.0
        assert shares == sorted(shares)


def test_a_map_with_long_lists_is_written_too(tmp_path):
    edges = tuple(Fraction(k) for k in range(201))
    rule = CutCells("x", edges, tuple(k + 0.5 for k in range(200)))
    table = open_table({"x": [float(k) / 2 for k in range(400)]})
    write_table(apply_map(table, [rule]), tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")["x"].to_pylist()
    assert found == [k // 2 + 0.5 for k in range(400)]


# --- texts that a spreadsheet would compute -----------------------------------------------------

RISKY = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "'=1", "''@x"]
PLAIN = ["a=b", "", "1", "'quoted", " =1", "é", None]


def test_texts_that_a_spreadsheet_would_compute_are_quoted_on_request(tmp_path):
    source = {"w": RISKY + PLAIN, "n": [-1.5] * len(RISKY + PLAIN), "=name": RISKY + PLAIN}
    write_table(kept(source), tmp_path / "out.csv", spreadsheet_safe=True)
    options = pc.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    lines = pc.ParseOptions(newlines_in_values=True)
    found = pc.read_csv(tmp_path / "out.csv", convert_options=options, parse_options=lines)
    safe = ["'" + text for text in RISKY] + PLAIN
    assert found.column_names == ["w", "n", "'=name"]
    assert [found["w"].to_pylist(), found["'=name"].to_pylist()] == [safe, safe]
    assert set(found["n"].to_pylist()) == {-1.5}
    assert len(set(safe)) == len(safe)  # different texts stay different


def test_texts_stay_as_they_are_if_nobody_asks(tmp_path):
    write_table(kept({"w": RISKY[:4]}), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == '"w"\n"=1+1"\n"+1"\n"-1"\n"@SUM(A1)"\n'


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_kind_of_text_column_is_quoted(kind):
    table = pa.table({"w": pa.array(["=1", None, "a"], pa.string()).cast(kind), "n": [1, 2, 3]})
    assert writing.quote_formulas(table).to_pydict() == {"w": ["'=1", None, "a"], "n": [1, 2, 3]}


def test_a_parquet_file_is_refused_where_texts_should_be_quoted(table, tmp_path):
    with pytest.raises(OptionError, match="no CSV file"):
        write_table(apply_map(table, [CELLS]), tmp_path / "out.parquet", spreadsheet_safe=True)
    assert names(tmp_path) == []


# --- disks and memory ---------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk with no room; skipped where none can be made."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_full_disk_is_named_and_nothing_is_left_on_it(small_disk, ending):
    numbers = [math.sin(number) for number in range(50_000)]
    with pytest.raises(EngineError, match="disk full while it wrote out"):
        write_table(kept({"x": numbers}), small_disk / f"out.{ending}")
    assert names(small_disk) == []


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(28, "Error writing bytes"), "found the disk full"),
        (RuntimeError("IO Error: No space left on device"), "found the disk full"),
        (MemoryError(), "ran out of memory"),
        (type("OutOfMemoryException", (Exception,), {})("SECRET"), "ran out of memory"),
    ],
)
def test_a_lack_of_room_is_named_without_the_words_of_the_engine(error, sentence):
    said = str(lack_of_room(error, "The engine", "over t.csv"))
    assert sentence in said
    assert "SECRET" not in said
    assert (full_disk(error) is not None) == ("disk" in sentence)
    other = ValueError("SECRET")
    assert lack_of_room(other, "The engine", "over t.csv") is full_disk(other) is None
