"""Files of Excel, SPSS, Stata and SAS, read completely into memory."""

from __future__ import annotations

import datetime as dt
from importlib import import_module
from itertools import chain, dropwhile, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.table import Table, refuse_doubled
from hartley.engines.tables.texts import TEXT, clean_texts, typed
from hartley.errors import EngineError, TableError
from hartley.files import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.engines.tables.reading_options import ReadingOptions

EXCEL_ENDINGS = (".xlsx", ".xlsm")
READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""The function of pyreadstat for each ending."""
STATISTICS_ENDINGS = tuple(READERS)
ROWS_AT_ONCE = 10_000
LARGEST_WHOLE = 2**53
"""Whole numbers up to here are exact as doubles, the only numbers of these formats."""


def _imported(package: str, what: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise EngineError(
            f"{what} need the package {package}", hint="pip install 'hartley[files]'"
        ) from None


# --- Excel --------------------------------------------------------------------------------------


def open_excel(paths: Sequence[str], name: str, reading: ReadingOptions) -> Table:
    """Open one sheet of each Excel file; cells are read as texts, typed like those of a CSV file.

    A column that mixes numbers and texts is a column of texts, and no other column minds.
    """
    sheets = [_read_sheet(path, reading) for path in paths]
    backend = EMBEDDED.open()
    backend.con.register("hartley_raw", _joined(sheets, paths))
    types = dict.fromkeys(sheets[0].column_names, TEXT)
    texts, decided = clean_texts(backend, "hartley_raw", types, reading)
    return Table(typed(texts, decided), name, texts=texts, paths=tuple(paths))


def _read_sheet(path: str, reading: ReadingOptions) -> Any:
    import pyarrow as pa

    openpyxl = _imported("openpyxl", "Excel files")
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        page = _sheet(book, Path(path).name, reading.sheet)
        page.reset_dimensions()  # which the program that wrote the file may have got wrong
        names, places, rows = _named_columns(
            page.iter_rows(values_only=True), Path(path).name, reading
        )
        pieces: dict[int, list[Any]] = {place: [] for place in places}
        while chunk := list(islice(rows, ROWS_AT_ONCE)):
            filled = (row for row in chunk if any(map(_full, row)))
            columns = dict(enumerate(zip_longest(*filled)))
            if any(map(_full, chain(*(columns[place] for place in columns.keys() - pieces)))):
                raise _nameless(Path(path).name)
            size = len(next(iter(columns.values()), ()))
            for place, piece in pieces.items():
                cells = columns.get(place, (None,) * size)
                texts = [_text(cell, reading.decimal) for cell in cells]
                piece.append(pa.array(texts, pa.string()))
    finally:
        book.close()
    arrays = [pa.chunked_array(piece, pa.string()) for piece in pieces.values()]
    return pa.table(dict(zip(names, arrays, strict=True)))


def _sheet(book: Any, file: str, wanted: str | None) -> Any:
    """Return the named sheet, or the only one that is not hidden."""
    sheets = {str(page.title): page for page in book.worksheets}
    shown = [title for title, page in sheets.items() if page.sheet_state == "visible"]
    if wanted is not None and wanted not in sheets:
        raise TableError(
            f"The file {file} has no sheet '{one_line(wanted)}'",
            hint=f"its sheets are {one_line(', '.join(sheets))}",
        )
    if wanted is None and len(shown) != 1:
        raise TableError(
            f"The file {file} has {len(shown)} sheets",
            hint=f"name one with --sheet: {one_line(', '.join(shown or sheets))}",
        )
    return sheets[wanted if wanted is not None else shown[0]]


def _named_columns(
    rows: Iterator[tuple[Any, ...]], file: str, reading: ReadingOptions
) -> tuple[list[str], list[int], Iterator[tuple[Any, ...]]]:
    """Return the names of the columns, their places, and the rows below the names.

    Without a named line, the first row with a value holds the names. If it has a single value and
    the next row has several or none, it is a title, and the file is refused.
    """
    if reading.names is not None:
        return list(reading.names), list(range(len(reading.names))), rows
    skipped = islice(rows, (reading.header or 1) - 1, None)
    below = skipped if reading.header else dropwhile(lambda row: not any(map(_full, row)), skipped)
    cells = {place: str(cell) for place, cell in enumerate(next(below, ())) if _full(cell)}
    if not cells:
        raise TableError(
            f"The sheet of {file} has no names of columns",
            hint="write the names into the first row, or name their line with --header-line",
        )
    second = list(islice(below, 1))
    if reading.header is None and len(cells) == 1 and second and sum(map(_full, second[0])) != 1:
        raise TableError(
            f"The first row of the sheet of {file} is a title, not the names of its columns",
            hint="name the line of the header, for example with --header-line 3",
        )
    names = [text.strip() if reading.trim else text for text in cells.values()]
    refuse_doubled(names, file)
    return names, list(cells), chain(second, below)


def _nameless(file: str) -> TableError:
    return TableError(
        f"The sheet of {file} has values in a column without a name",
        hint="name every column, or name the line of the header with --header-line",
    )


def _full(cell: object) -> bool:
    return cell is not None and cell != ""


def _text(cell: object, decimal: str) -> str | None:
    """Return a cell as a CSV file would hold it."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        if cell.is_integer() and abs(cell) < LARGEST_WHOLE:
            return str(int(cell))
        return repr(cell).replace(".", decimal)
    if isinstance(cell, dt.datetime):
        midnight = cell.time() == dt.time()
        return cell.date().isoformat() if midnight else cell.isoformat(" ", "auto")
    return cell.isoformat() if isinstance(cell, (dt.date, dt.time)) else str(cell)


# --- SPSS, Stata and SAS ------------------------------------------------------------------------


def open_statistics(paths: Sequence[str], name: str, reading: ReadingOptions) -> Table:
    """Open files of SPSS, Stata or SAS; what they declare as missing is missing."""
    tables = [_read_statistics(path, reading) for path in paths]
    expression = EMBEDDED.hold_frame(_joined(tables, paths), "hartley_source")
    return Table(expression, name, paths=tuple(paths))


def _read_statistics(path: str, reading: ReadingOptions) -> Any:
    import pyarrow as pa

    pyreadstat = _imported("pyreadstat", "Files of SPSS, Stata and SAS")
    reader = READERS[Path(path).suffix.lower()]
    named = {} if reading.encoding == "utf-8" else {"encoding": reading.encoding}
    if named and reader == "read_por":
        raise TableError(
            f"The file {Path(path).name} states its own encoding",
            hint="leave the encoding out",
        )
    columns, about = getattr(pyreadstat, reader)(path, output_format="dict", **named)
    refuse_doubled(columns, Path(path).name)
    if not columns:
        raise TableError(f"The file {Path(path).name} has no columns", hint="pass a table")
    labels = about.variable_value_labels if reading.labels else {}
    return pa.table(
        {name: _column(values, labels.get(name, {})) for name, values in columns.items()}
    )


def _column(values: Sequence[Any], labels: dict[Any, str]) -> Any:
    """Return a column of Arrow: whole numbers as such, and labels in the place of their codes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(values, from_pandas=True)
    if pa.types.is_floating(array.type):
        whole = pc.all(pc.equal(pc.round(array), array)).as_py() is not False
        small = pc.all(pc.less(pc.abs(array), LARGEST_WHOLE)).as_py() is not False
        array = array.cast(pa.int64()) if whole and small else array
    if pa.types.is_string(array.type):
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
    if not labels:
        return array
    codes = pa.array(list(labels)).cast(array.type)
    shown = pc.take(pa.array(list(labels.values()), pa.string()), pc.index_in(array, codes))
    return pc.coalesce(shown, array.cast(pa.string()))


# --- several files ------------------------------------------------------------------------------


def _joined(tables: Sequence[Any], paths: Sequence[str]) -> Any:
    """Return the rows of all files; their columns may stand in another order."""
    import pyarrow as pa

    first = tables[0]
    for table, path in zip(tables, paths, strict=True):
        if set(table.column_names) != set(first.column_names):
            raise TableError(
                f"The files {Path(paths[0]).name} and {Path(path).name} have different columns",
                hint="pass files with the same columns",
            )
    ordered = [table.select(first.column_names) for table in tables]
    return pa.concat_tables(ordered, promote_options="permissive")
