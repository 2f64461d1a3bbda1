"""Files of published tables as grids of texts: CSV, Parquet, Excel and JSON."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING, Any

from hartley.errors import EngineError, TableError
from hartley.files import one_line, parse_json, read_text_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

EXCEL = (".xlsx", ".xlsm")
MOST_CELLS = 5_000_000


@dataclass(frozen=True)
class TextGrid:
    """The texts of a file, row by row, each row with its line."""

    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    block: bool
    """Whether it comes from a spreadsheet, in which a header can take several lines."""
    short: frozenset[int] = frozenset()
    """The lines with fewer cells than the widest one."""


def read_grid(path: Path, sheet: str | None = None) -> TextGrid:
    r"""Read a file as a grid of texts; empty rows are left out.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.csv")
        ...     _ = path.write_text("region;n\nnorth;12\n")
        ...     read_grid(path).rows
        (('region', 'n'), ('north', '12'))
    """
    suffix = path.suffix.lower()
    if suffix in EXCEL:
        rows = _read_excel(path, sheet)
    elif suffix in {".parquet", ".pq"}:
        rows = _read_parquet(path)
    elif suffix == ".json":
        rows = _read_json(path)
    else:
        rows = _read_csv(path)
    stripped = [tuple(map(str.strip, row)) for row in rows]
    filled = list(map(any, stripped))
    lines = list(compress(range(1, len(stripped) + 1), filled))
    if len(lines) < len(stripped):
        stripped = list(compress(stripped, filled))
    lengths = list(map(len, stripped))
    width = max(lengths, default=0)
    if not stripped or width < 2:
        raise TableError(
            f"{path} holds no table", hint="a table has a line of names and columns of numbers"
        )
    if len(stripped) * width > MOST_CELLS:
        raise TableError(
            f"{path} has more than {MOST_CELLS:,} cells", hint="check that it is a published table"
        )
    short = frozenset(line for line, n in zip(lines, lengths, strict=True) if n < width)
    if short:
        stripped = [row + ("",) * (width - len(row)) for row in stripped]
    return TextGrid(tuple(stripped), tuple(lines), block=suffix in EXCEL, short=short)


def _read_csv(path: Path) -> list[list[str]]:
    text = read_text_file(path, what="table", kind=TableError)
    # The last lines, since titles stand above.
    lines = list(islice(filter(str.strip, reversed(text.splitlines())), 20))

    def agreement(delimiter: str) -> tuple[int, int]:
        counts = Counter(line.count(delimiter) for line in lines if delimiter in line)
        return max(((times, count) for count, times in counts.items()), default=(0, 0))

    delimiter = max(",;\t|", key=agreement)
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise TableError(
            f"{path} cannot be read as CSV: {one_line(str(error))}", hint="check its quotes"
        ) from None


def _read_parquet(path: Path) -> list[list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, partitioning=None)  # names of folders are no column
    except (OSError, pa.ArrowException):
        raise TableError(f"{path} cannot be read as Parquet", hint="check the file") from None
    if table.num_rows * table.num_columns > MOST_CELLS:
        raise TableError(
            f"{path} has more than {MOST_CELLS:,} cells", hint="check that it is a published table"
        )
    names = list(table.column_names)
    # pandas keeps the row names of a crosstab in columns of their own, at the end
    index = [name for name in _pandas_index(table.schema.metadata) if name in names]
    ordered = [*index, *(name for name in names if name not in index)]
    columns = [table.column(name).to_pylist() for name in ordered]
    return [ordered, *([_text(value) for value in row] for row in zip(*columns, strict=True))]


def _pandas_index(metadata: dict[bytes, bytes] | None) -> list[str]:
    if not metadata or b"pandas" not in metadata:
        return []
    described = parse_json(metadata[b"pandas"].decode(), what="description of the table")
    columns = described.get("index_columns", []) if isinstance(described, dict) else []
    return [name for name in columns if isinstance(name, str)]


def _read_json(path: Path) -> list[list[str]]:
    """Read a list of records, or the cells of each row by name."""
    content = parse_json(
        read_text_file(path, what="table", kind=TableError), what=f"table {path}", kind=TableError
    )
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        names = list(dict.fromkeys(name for row in content for name in row))
        return [names, *([_text(row.get(name)) for name in names] for row in content)]
    if isinstance(content, dict) and content and all(isinstance(c, dict) for c in content.values()):
        names = list(dict.fromkeys(name for column in content.values() for name in column))
        rows = [[name, *(_text(column.get(name)) for column in content.values())] for name in names]
        return [["", *content], *rows]
    raise TableError(
        f"{path} is not a table of records",
        hint='write a list such as [{"region": "north", "n": 12}]',
    )


def _read_excel(path: Path, sheet: str | None) -> list[list[str]]:
    try:
        import openpyxl  # type: ignore[import-untyped]  # it ships no types
    except ImportError:
        raise EngineError(
            "Excel files need the package openpyxl", hint="pip install 'hartley[tables]'"
        ) from None
    try:
        book = openpyxl.load_workbook(path, data_only=True)
    except FileNotFoundError:
        raise TableError(f"The table {path} cannot be read", hint="check the path") from None
    except Exception:  # noqa: BLE001 - the package raises errors of many others
        raise TableError(f"{path} cannot be read as an Excel file", hint="save it again") from None
    names = list(map(str, book.sheetnames))
    if sheet is None and len(names) > 1:
        raise TableError(
            f"{path} has {len(names)} sheets", hint=f'name one: sheet = "{one_line(names[0], 30)}"'
        )
    if sheet is not None and sheet not in names:
        raise TableError(
            f"{path} has no sheet '{one_line(sheet)}'",
            hint=f"it has {one_line(', '.join(names))}",
        )
    page: Any = book[sheet or names[0]]
    merged = [str(area) for area in page.merged_cells.ranges]
    if merged:
        raise TableError(
            f"{path} has merged cells at {merged[0]}",
            hint="unmerge them and write every name in its own cell",
        )
    rows = list(_limited(page.iter_rows(values_only=True)))
    if any(value is None for row in rows for value in row):
        _refuse_formulas(path, page.title, rows)
    return [[_text(value) for value in row] for row in rows]


def _refuse_formulas(path: Path, sheet: str, rows: list[Any]) -> None:
    """Refuse formulas whose results are not stored.

    A program that only writes a workbook leaves them out, and a reader who opens it sees the
    numbers. Read as empty cells they would count as hidden.
    """
    import openpyxl

    page: Any = openpyxl.load_workbook(path)[sheet]
    for formulas, values in zip(page.iter_rows(), rows, strict=True):
        for cell, value in zip(formulas, values, strict=True):
            if value is None and cell.data_type == "f":
                raise TableError(
                    f"{path} has a formula without its result at {cell.coordinate}",
                    hint="open it in a spreadsheet program and save it, or write the numbers",
                )


def _limited(rows: Iterable[Any]) -> Iterable[Any]:
    cells = 0
    for row in rows:
        cells += len(row)
        if cells > MOST_CELLS:
            raise TableError(
                f"The sheet has more than {MOST_CELLS:,} cells",
                hint="check that it is a published table",
            )
        yield row


def _text(value: object) -> str:
    if value is None or value != value:  # NaN differs from itself  # noqa: PLR0124
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # pandas stores counts beside a missing one as floats
    return str(value)
