"""Writing a mapped table to a file: streamed, and completely or not at all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.streams import declared_types
from hartley.engines.maps.rules import Formula, ProgramRule, Quantized
from hartley.engines.maps.unfit_values import MapCounts, refuse_unfit
from hartley.engines.tables.failures import full_disk, lack_of_room
from hartley.errors import EngineError, HartleyError, OptionError
from hartley.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hartley.engines.maps.column_map import MappedTable

    Progress = Callable[[float], None]
    """A function that is called with the share of the rows that is written."""
    Change = Callable[[Any], Any]
    """A function from an Arrow table of the next rows, in order, to the rows to write."""


def write_arrow(
    table: Any,
    path: str | os.PathLike[str],
    sources: tuple[str, ...] = (),
    *,
    spreadsheet_safe: bool = False,
) -> Path:
    """Write an Arrow table as Parquet or CSV, by the ending of the path; never over its sources.

    With ``spreadsheet_safe``, texts of a CSV file are quoted as ``quote_formulas`` does.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_arrow(pa.table({"a": [1]}), f"{folder}/a.csv").read_text().split())
        ['"a"', '1']
    """
    import pyarrow.csv
    import pyarrow.parquet

    is_csv = check_form(path, spreadsheet_safe=spreadsheet_safe) == "csv"
    write = pyarrow.csv.write_csv if is_csv else pyarrow.parquet.write_table
    refuse_overwriting({"table": sources}, path)
    with whole_file(path) as half:
        write(quote_formulas(table) if spreadsheet_safe else table, half)
    return Path(path)


PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
CSV_ENDINGS = (".csv",)
BATCH = 100_000
"""Rows that are fetched and written at a time where the engine does not write itself."""
FORMULA = r"\A('*[=+\-@\t\n\r])"
"""The first characters of texts that a spreadsheet computes, or that are already quoted."""
CHUNK = 1_000_000
"""Rows that are fetched, changed and written at a time."""


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
    one writer, so that the text of a CSV file is the same from every engine.

    Args:
        mapped: the table, from ``apply_map``.
        path: the file to write; an existing file is replaced.
        progress: called with the share of the rows that is written.
        change: a function that changes the rows before they are written, such as a random draw;
            unfit values are counted before it.
        accept: called with the counts before the file appears; it may raise an error.
        spreadsheet_safe: whether texts of a CSV file are quoted as ``quote_formulas`` does.

    Example:
        >>> from hartley.engines.maps.column_map import UniformCells, apply_map
        >>> from hartley.engines.tables.sources import open_table
        >>> mapped = apply_map(open_table({"age": [17, 30]}), [UniformCells("age", 0, 100, 10)])
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     counts = write_table(mapped, Path(folder, "ages.csv"))
        ...     print(counts.rows, Path(folder, "ages.csv").read_text().split())
        2 ['"age"', '15', '35']
    """
    target = Path(path)
    form = check_form(target, spreadsheet_safe=spreadsheet_safe)
    if spreadsheet_safe:
        change = _then_quoted(change)
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
                f"{engine} could not write {target.name} ({type(error).__name__})",
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
    """Write one row of numbers as Parquet or CSV, by the ending of the path.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_record({"mean": 170.5, "mean_low": 170}, Path(folder, "mean.csv"))
        ...     print(Path(folder, "mean.csv").read_text().split())
        ['"mean","mean_low"', '170.5,170']
    """
    import pyarrow as pa

    target = Path(path)
    form = check_form(target, spreadsheet_safe=spreadsheet_safe)
    row = pa.table({name: pa.array([value], pa.float64()) for name, value in record.items()})
    if spreadsheet_safe:
        row = quote_formulas(row)
    with whole_file(target) as half, _writer(half, form, row.schema) as writer:
        writer.write_table(row)


def check_form(path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> str:
    """Return the format of a file to write, "parquet" or "csv", by its ending.

    Example:
        >>> check_form("released.CSV", spreadsheet_safe=True)
        'csv'
    """
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
            hint="leave out --spreadsheet-safe (spreadsheet_safe=True), or end the name with .csv",
        )
    return "parquet"


def quote_formulas(table: Any) -> Any:
    """Put a single quote before every text that a spreadsheet would take for a formula.

    Those begin with = + - @ or with a tab, a line feed or a carriage return. Only columns of text
    and names of columns change, not numbers, dates and truth values. A text that already has such
    a quote gets another one, so that different texts stay different.

    Example:
        >>> import pyarrow as pa
        >>> quote_formulas(pa.table({"a": ["=1+1", "fine", "'-3"], "b": [-1, 2, 3]})).to_pydict()
        {'a': ["'=1+1", 'fine', "''-3"], 'b': [-1, 2, 3]}
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


def _then_quoted(change: Change | None) -> Change:
    return quote_formulas if change is None else lambda table: quote_formulas(change(table))


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


# --- ways to write ----------------------------------------------------------------------------


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
