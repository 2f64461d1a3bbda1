"""Writing a mapped table to a file: streamed, and completely or not at all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.dialect import declared_types
from hartley.engines.table import full_disk, lack_of_room
from hartley.errors import EngineError, HartleyError, OptionError, TableError
from hartley.files import whole_file
from hartley.tables.column_map import MapCounts, apply_map, refuse_unfit
from hartley.tables.opening import open_table
from hartley.tables.release_rules import Formula, Keep, ProgramRule, Quantized
from hartley.tables.row_files import PARQUET_ENDINGS
from hartley.tables.view import clean_column, run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from hartley.engines.table import Table
    from hartley.tables.column_map import MappedTable
    from hartley.tables.release_rules import Rule

    Progress = Callable[[float], None]
    """A function that is called with the share of the rows that is written."""
    Change = Callable[[Any], Any]
    """A function from an Arrow table of the next rows, in order, to the rows to write."""
    Ranges = Mapping[str, tuple[object, object]]


CSV_ENDINGS = (".csv",)
BATCH = 100_000
"""Rows that are fetched and written at a time where the engine does not write itself."""
FORMULA = r"\A('*[=+\-@\t\n\r])"
"""The first characters of texts that a spreadsheet computes, or that are already quoted."""
CHUNK = 1_000_000
"""Rows that are fetched, changed and written at a time."""


def write_arrow(
    table: Any,
    path: str | os.PathLike[str],
    sources: tuple[str, ...] = (),
    *,
    spreadsheet_safe: bool = False,
) -> Path:
    """Write an Arrow table as Parquet or CSV, by the ending of the path; never over its sources."""
    import pyarrow.csv
    import pyarrow.parquet

    is_csv = output_format(path, spreadsheet_safe=spreadsheet_safe) == "csv"
    write = pyarrow.csv.write_csv if is_csv else pyarrow.parquet.write_table
    refuse_overwriting({"table": sources}, path)
    with whole_file(path) as half:
        write(quote_formulas(table) if spreadsheet_safe else table, half)
    return Path(path)


def write_table(  # noqa: PLR0913 - each is one choice of the caller's
    mapped: MappedTable,
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    change: Change | None = None,
    accept: Callable[[MapCounts], None] | None = None,
    spreadsheet_safe: bool = False,
) -> MapCounts:
    """Write a mapped table as Parquet or CSV, by the ending of the path; return unfit values.

    The rows are streamed, in memory that does not grow with their number. The file appears under
    its name when it is complete and not before: an error or an interruption leaves nothing. An
    engine that can write Parquet does so itself, on all processors; everything else goes through
    one writer, so that the text of a CSV file is the same from every engine. Unfit values are
    counted before ``change`` changes the rows; ``accept`` is called with the counts before the file
    appears, and may raise an error.
    """
    target = Path(path)
    form = output_format(target, spreadsheet_safe=spreadsheet_safe)
    if spreadsheet_safe:
        first = change or (lambda rows: rows)
        change = lambda rows: quote_formulas(first(rows))  # noqa: E731 - composed
    counts, table = mapped.counts_before_writing, mapped.table
    backend, dialect = table.backend, table.dialect
    with whole_file(target) as half:
        try:
            if dialect.writes_parquet and form == "parquet" and change is None:
                rows, nulls = dialect.write_parquet(backend, mapped.expression, half)
            else:
                tell = (lambda done: progress(done / counts.rows)) if progress else None
                rows, nulls = _stream(mapped, (half, form), tell, change)
        except HartleyError:
            raise
        except dialect.failures() as error:
            engine = f"The engine {dialect.name}"
            shortage = lack_of_room(error, engine, f"while it wrote {target.name}")
            if shortage is not None:
                raise shortage from None
            if dialect.passes_on_ctrl_c(error):
                dialect.stop(backend)
                raise KeyboardInterrupt from None
            full = full_disk(error)
            if full is not None:
                raise full from None  # the caller knows the place and explains it
            raise EngineError(
                f"{engine} could not write {target.name}",
                hint="check that the table can be read and that the engine answers "
                "(hartley doctor)",
            ) from None
        settled = _settle(mapped, counts, rows, nulls)
        if accept is not None:
            accept(settled)
    if progress is not None:
        progress(1.0)
    return settled


def refuse_overwriting(files: Mapping[str, Iterable[str]], out: str | os.PathLike[str]) -> None:
    """Raise an error if the release would overwrite its own table."""
    for what, paths in files.items():
        for path in paths:
            if os.path.exists(path) and os.path.exists(out) and Path(path).samefile(out):  # noqa: PTH110 - names of any length
                raise OptionError(
                    f"The release would overwrite the {what} {Path(path).name} itself",
                    hint="write it to another file",
                )


def write_record(
    record: Mapping[str, float], path: str | os.PathLike[str], *, spreadsheet_safe: bool = False
) -> None:
    """Write one row of numbers as Parquet or CSV, by the ending of the path."""
    import pyarrow as pa

    target = Path(path)
    form = output_format(target, spreadsheet_safe=spreadsheet_safe)
    row = pa.table({name: pa.array([value], pa.float64()) for name, value in record.items()})
    if spreadsheet_safe:
        row = quote_formulas(row)
    with whole_file(target) as half, _writer(half, form, row.schema) as writer:
        writer.write_table(row)


def output_format(path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> str:
    """Return the format of a file to write, "parquet" or "csv", by its ending."""
    name = Path(path).name
    if name.lower().endswith(CSV_ENDINGS):
        return "csv"
    if not name.lower().endswith(PARQUET_ENDINGS):
        raise OptionError(
            f"The ending of {name} names no format that can be written",
            hint="end the name with .parquet or .csv",
        )
    if spreadsheet_safe:
        raise OptionError(
            f"{name} is no CSV file, and only the texts of those can be taken for formulas",
            hint="leave out spreadsheet_safe=True (--spreadsheet-safe), or end the name with .csv",
        )
    return "parquet"


def quote_formulas(table: Any) -> Any:
    """Put a single quote before every text that a spreadsheet would take for a formula.

    Those begin with = + - @ or with a tab, a line feed or a carriage return. Only columns of text
    and names of columns change, not numbers, dates and truth values. A text that already has such
    a quote gets another one, so that different texts stay different.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def quoted(texts: Any) -> Any:
        return pc.replace_substring_regex(texts, pattern=FORMULA, replacement=r"'\1")

    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            table = table.set_column(place, field.name, quoted(column))
    return table.rename_columns(quoted(pa.array(table.column_names, pa.string())).to_pylist())


def _settle(mapped: MappedTable, counts: MapCounts, rows: int, nulls: list[int]) -> MapCounts:
    """Count undefined results of formulas in the written rows, and compare the other counts."""
    columns = []
    for rule, counted, null in zip(mapped.rules, counts.columns, nulls, strict=True):
        undefined = null - counted.missing
        computed = isinstance(rule, (Formula, Quantized))
        if null and isinstance(rule, ProgramRule) and rule.leaves_out_unfit:
            _ = mapped.counts  # counts what does not fit, and refuses it
        if rows != counts.rows or undefined < 0 or (undefined and not computed):
            raise EngineError(
                f"{mapped.table.name} changed while it was released",
                hint="release a copy or a snapshot of it",
            )
        columns.append(replace(counted, undefined=undefined))
        refuse_unfit(rule, columns[-1], strict=mapped.strict)
    return MapCounts(rows, tuple(columns))


def _stream(
    mapped: MappedTable,
    place: tuple[Path, str],
    tell: Callable[[int], None] | None,
    change: Change | None,
) -> tuple[int, list[int]]:
    """Fetch batch after batch, change each and write it."""
    import pyarrow as pa

    schema = declared_types(mapped.expression)
    written = schema if change is None else change(schema.empty_table()).schema
    rows, nulls = 0, [0] * len(schema)
    size = BATCH if change is None else CHUNK
    with _writer(*place, written) as writer:
        for batch in mapped.table.dialect.batches(mapped.expression, size):
            table = pa.Table.from_batches([batch])
            writer.write_table(table if change is None else change(table))
            rows += table.num_rows
            nulls = [
                count + column.null_count
                for count, column in zip(nulls, table.columns, strict=True)
            ]
            if tell is not None:
                tell(rows)
    return rows, nulls


def _writer(half: Path, form: str, schema: Any) -> Any:
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if form == "parquet":
        return pq.ParquetWriter(half, schema)
    return pc.CSVWriter(half, schema, write_options=pc.WriteOptions(quoting_style="needed"))


# --- a release run backwards: which inputs of a list come out as the records that were released ---
#
# The rules are executed by ``apply_map``, as a release executes them, so that what is found holds
# for the doubles that are released and not only for the numbers that they stand for.


def distinct_records(table: Table, columns: Sequence[str]) -> Any:
    """Return the different records of columns, c0, c1, ..., and how many ``rows`` have each."""
    table.require(columns)
    rows = table.expression.select(
        **{f"c{i}": clean_column(table, name) for i, name in enumerate(columns)}
    )
    classes = rows.group_by([rows[name] for name in rows.columns]).aggregate(rows=rows.count())
    return run(table, classes.order_by(list(classes.columns)).to_pyarrow)


def count_present(table: Table, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return how many rows there are, and in how many of them each column has a value."""
    table.require(columns)
    rows = table.expression
    counts = {f"n{i}": clean_column(table, name).count() for i, name in enumerate(columns)}
    row = run(table, rows.aggregate(rows=rows.count(), **counts).to_pyarrow).to_pylist()[0]
    return int(row["rows"]), {name: int(row[f"n{i}"]) for i, name in enumerate(columns)}


def count_different(table: Table, columns: Sequence[str]) -> int:
    """Return how many different values some columns hold together, missing ones not counted."""
    table.require(columns)
    values = {f"c{i}": clean_column(table, name) for i, name in enumerate(columns)}
    rows = table.expression.select(**values).drop_null().distinct()
    return int(run(table, rows.count().to_pyarrow).as_py())


def side_by_side(
    table: Table, columns: Sequence[str], other: Table, beside: Mapping[str, str]
) -> Table:
    """Return columns of a table with columns of another one beside them, row by row in order.

    Example:
        >>> ages, names = open_table({"age": [30, 40]}), open_table({"name": ["Ann", "Ben"]})
        >>> side_by_side(ages, ["age"], names, {"who": "name"}).columns
        ('age', 'who')
    """
    other.require(tuple(beside.values()))
    rows = run(table, table.expression.select(*columns).to_pyarrow)
    more = run(
        other,
        other.expression.select(
            **{name: other.expression[of] for name, of in beside.items()}
        ).to_pyarrow,
    )
    if rows.num_rows != more.num_rows:
        raise TableError(
            f"{table.name} has {rows.num_rows:,} rows and {other.name} has {more.num_rows:,}",
            hint="pass the table that was released, with its rows in the same order",
        )
    for name in more.column_names:
        rows = rows.append_column(name, more.column(name))
    return open_table(rows)


def release_rows(inputs: Any, rules: Sequence[Rule], ranges: Ranges) -> Any:
    """Return what rules release for the rows of an Arrow table, in their order, as Arrow."""
    table = open_table(inputs)
    mapped = apply_map(table, rules, ranges=ranges)
    return run(table, mapped.expression.to_pyarrow)


def match_inputs(  # noqa: PLR0913 - what is released, by what, and what is known beside
    records: Any,
    sources: Any,
    notes: Any,
    rules: Sequence[Rule],
    *,
    ranges: Ranges,
    windows: Collection[int] = (),
    places: int = 1,
) -> Any:
    """Count for every released record the inputs that come out as it.

    Records have a number ``record``, a ``fibre``, the released values ``y0``, ``y1``, ... in the
    order of the rules, and ``low0``, ``high0``, ... of the windows: the enumerated columns of which
    only these places count. Notes beside the sources have a ``fibre``, ``place0``, ... of the
    columns that were enumerated, and flags, whose least and largest value is returned; without
    rules they hold the released values themselves. Returns a row a record that some input comes out
    as: ``record``, ``inputs``, of every enumerated column ``possible``, ``least`` and ``largest``
    place, of every flag its ``min_`` and ``max_``, and the ``total`` of the flag ``chance``.
    """
    import ibis

    table, released, count = _released(sources, notes, rules, ranges)
    flags = [
        name
        for name in notes.column_names
        if name != "fibre" and not name.startswith(("place", "y"))
    ]
    asked = ibis.memtable(records)  # on the engine that executes the rules
    # try_cast: a released value of another type than the policy releases fits no input.
    alike = [asked.fibre == released.fibre] + [
        asked[f"y{i}"].try_cast(released[f"y{i}"].type()) == released[f"y{i}"] for i in range(count)
    ]
    inside = [
        (released[f"place{i}"] >= asked[f"low{i}"]) & (released[f"place{i}"] <= asked[f"high{i}"])
        for i in windows
    ]
    carried = ["fibre", *(f"place{i}" for i in range(places)), *flags]
    joined = asked.join(released, [*alike, *inside]).select(
        record=asked.record, **{f"in_{name}": released[name] for name in carried}
    )
    counts: dict[str, Any] = {"inputs": joined.count()}
    for i in range(places):
        place = joined[f"in_place{i}"]
        counts |= {
            f"possible{i}": joined.count() if places == 1 else place.nunique(),
            f"least{i}": place.min(),
            f"largest{i}": place.max(),
        }
    for name in flags:
        counts |= {
            f"min_{name}": joined[f"in_{name}"].min(),
            f"max_{name}": joined[f"in_{name}"].max(),
        }
    if "chance" in flags:
        counts["total"] = joined["in_chance"].sum()
    matched = joined.group_by("record").aggregate(**counts).order_by("record")
    return run(table, matched.to_pyarrow)


def _released(
    sources: Any, notes: Any, rules: Sequence[Rule], ranges: Ranges
) -> tuple[Table, Any, int]:
    """Return inputs with their notes and what is released for them, and how many values that is."""
    if not rules:
        listed = open_table(notes)
        return listed, listed.expression, sum(name.startswith("y") for name in notes.column_names)
    prefix = "note_"
    while any(name.lower().startswith(prefix) for name in sources.column_names):
        prefix += "_"
    noted = sources
    for name in notes.column_names:
        noted = noted.append_column(prefix + name, notes.column(name))
    carried = [Keep(prefix + name) for name in notes.column_names]
    table = open_table(noted)
    rows = apply_map(table, [*rules, *carried], ranges=ranges).rows
    values = {f"y{i}": rows[f"r{i}"] for i in range(len(rules))}
    more = {name: rows[f"r{len(rules) + j}"] for j, name in enumerate(notes.column_names)}
    return table, rows.select(**values, **more), len(rules)
