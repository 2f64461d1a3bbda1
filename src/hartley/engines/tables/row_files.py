"""Opening files of rows as one table: Parquet, CSV, Excel, and the formats of SPSS, Stata, SAS."""

from __future__ import annotations

import glob
import os
import re
import weakref
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.csv_and_parquet import open_csv, open_parquet
from hartley.engines.tables.declared_values import clean_columns
from hartley.engines.tables.failures import lack_of_room
from hartley.engines.tables.foreign_files import (
    EXCEL_ENDINGS,
    STATISTICS_ENDINGS,
    open_excel,
    open_statistics,
)
from hartley.engines.tables.local_copies import LocalCopies, spool_input
from hartley.errors import HartleyError, OptionError, TableError
from hartley.files import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.tables.reading_options import ReadingOptions
    from hartley.engines.tables.table import Table

    Sources = Sequence[str | os.PathLike[str]]

PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
ENDINGS = (*PARQUET_ENDINGS, *EXCEL_ENDINGS, *STATISTICS_ENDINGS, ".csv", ".tsv", ".txt", ".gz")
"""The endings that a hint names."""

LAKES = {
    "_delta_log": "a Delta table",
    "metadata/*.metadata.json": "an Iceberg table",
    ".hoodie": "a Hudi table",
}
"""What is in a folder of a kind of table that is more than its files."""


class FileFormat(StrEnum):
    """How a file of rows is written, as it is called in a message."""

    PARQUET = "Parquet"
    CSV = "CSV"
    EXCEL = "Excel"
    STATISTICS = "SPSS, Stata or SAS"


def open_files(sources: Sources, reading: ReadingOptions, *, whole: bool = True) -> Table:
    """Open files, all of one format; only what is needed to know their columns is read.

    Excel files and those of SPSS, Stata and SAS are read completely, and so are CSV files, unless
    ``whole`` is False: then long ones are opened as texts by a look at their first lines.
    """
    copies = LocalCopies()
    try:
        table = _open(sources, reading, copies, whole=whole)
    except BaseException:
        copies.close()
        raise
    weakref.finalize(table.backend, copies.close)  # the engine reads them when it is asked
    return table


def _open(sources: Sources, reading: ReadingOptions, copies: LocalCopies, *, whole: bool) -> Table:
    paths = [path for source in sources for path in _readable(source, copies)]
    name = Path(paths[0]).name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    formats = {_format(path) for path in paths}
    if len(formats) > 1:
        raise TableError(
            f"The files {name} are partly {' and partly '.join(sorted(formats, reverse=True))}",
            hint="pass files of one format",
        )
    form = formats.pop()
    refuse_parts(paths, form)
    _refuse_unused(form, reading, name)
    try:
        if form is FileFormat.PARQUET:
            return clean_columns(open_parquet(paths, name), reading)
        if form is FileFormat.EXCEL:
            return open_excel(paths, name, reading)
        if form is FileFormat.STATISTICS:
            return clean_columns(open_statistics(paths, name, reading), reading)
        return open_csv(paths, name, reading, copies, whole=whole)
    except HartleyError:
        raise
    except Exception as error:  # noqa: BLE001 - what the engine says may hold private values
        shortage = lack_of_room(error, f"The engine {EMBEDDED.name}", f"over {name}")
        raise shortage or _unreadable(name, type(error).__name__, form) from None


def _readable(source: str | os.PathLike[str], copies: LocalCopies) -> list[str]:
    try:
        return _matching(source, copies)
    except OSError as error:  # too long a name, or a folder that may not be looked into
        raise TableError(
            f"The file {os.fspath(source)} cannot be looked at ({type(error).__name__})",
            hint="check its name, and who may read its folder",
        ) from None


def _matching(source: str | os.PathLike[str], copies: LocalCopies) -> list[str]:
    """Return the readable files that a path or a pattern names; - is standard input."""
    text = os.fspath(source) or "."
    if text == STANDARD_INPUT:
        return [spool_input(copies)]
    pattern = glob.has_magic(text) and not Path(text).exists()
    paths = sorted(glob.glob(text, recursive=True)) if pattern else [text]  # noqa: PTH207 - also absolute patterns
    if not paths:
        raise TableError(f"No file matches {text}", hint="check the pattern and the folder")
    for path in paths:
        if Path(path).is_dir():
            inside = sorted(Path(path).glob("[!._]*"))
            refuse_parts([path, *(str(child) for child in inside if "=" in child.name)])
            endings = (child.suffix for child in inside if child.is_file())
            ending = next((ending for ending in endings if ending.lower() in ENDINGS), None)
            raise TableError(
                f"{path} is a folder, not a file",
                hint="name a file of rows: there is none that is known by its ending in it"
                if ending is None
                else f"name its files, for example {glob.escape(path)}/*{ending}",
            )
        if not Path(path).exists():
            raise TableError(f"There is no file {path}", hint="check the spelling and the folder")
        if not os.access(path, os.R_OK):
            raise TableError(f"The file {path} cannot be read", hint="check its permissions")
        if Path(path).stat().st_size == 0:
            raise TableError(f"The file {path} is empty", hint="pass a file with a header and rows")
    return paths


def refuse_parts(paths: list[str], form: FileFormat = FileFormat.PARQUET) -> None:
    """Raise an error for files that are not all of a table, and for folders of such files.

    In a lake, a log says which files and rows count; the names of hive partitions hold a column.
    The value in the name of such a folder is not shown.
    """
    for found in ([_absolute(name) for name in paths], [Path(name).resolve() for name in paths]):
        places = {path if path.is_dir() else path.parent: path for path in found}
        named = {
            place: [folder for folder in (place, *place.parents) if re.match("[^=]+=", folder.name)]
            for place in places
        }
        common = set[Path]().union(*named.values()).intersection(*named.values())
        for place, example in places.items():
            if form is FileFormat.PARQUET:
                _refuse_lake(place)
            # What all files share is a column only where it is right above them.
            top = next((folder for folder in reversed(named[place]) if folder not in common), place)
            if top in named[place]:
                while top.parent in named[place]:
                    top = top.parent
                _refuse_partition(top, example)


def _refuse_lake(place: Path) -> None:
    for mark, kind in LAKES.items():
        lake = next((folder for folder in (place, *place.parents) if any(folder.glob(mark))), None)
        if lake is not None:
            raise TableError(
                f"{_shortest(lake)} is {kind}, whose log says which rows of its files count",
                hint="have Spark, deltalake or whatever keeps the table write its current rows "
                "to a file outside of that folder, and pass that",
            )


def _refuse_partition(top: Path, example: Path) -> None:
    root, key = _shortest(top.parent), top.name.partition("=")[0]
    files = [example] if example.is_file() else sorted(example.rglob("[!._]*"))
    path = next((path for path in files if path.is_file()), Path("rows.parquet"))
    form = _format(str(path))
    kind, more = ("parquet", "") if form is FileFormat.PARQUET else ("csv", ", all_varchar=1")
    ending = "".join(path.suffixes[-2:]) if path.suffix in {".gz", ".zst"} else path.suffix
    pattern = f"{glob.escape(root)}/**/*{ending}".replace("'", "''")
    way = (
        f"python -c \"import duckdb; duckdb.sql('''COPY (FROM read_{kind}('{pattern}', "
        f"hive_partitioning=1, hive_types_autocast=0, union_by_name=1{more})) "
        f"TO 'table.{kind}' ''')\""
        if form in (FileFormat.PARQUET, FileFormat.CSV)
        else "with that column"
    )
    raise TableError(
        f"The folders in {root} are named by the column '{key}', which would be lost",
        hint=f"write all of it to one file first: {way}; or copy files elsewhere to go without it",
    )


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - links are kept, and .. is not


def _shortest(folder: Path) -> str:
    return min(str(folder), os.path.relpath(folder), key=len)


def _format(path: str) -> FileFormat:
    ending = Path(path).suffix.lower()
    if ending == ".xls":
        raise TableError(
            f"The file {Path(path).name} is of an old format of Excel",
            hint="save it as .xlsx or as CSV UTF-8",
        )
    if ending in EXCEL_ENDINGS:
        return FileFormat.EXCEL
    if ending in STATISTICS_ENDINGS:
        return FileFormat.STATISTICS
    if ending in PARQUET_ENDINGS:
        return FileFormat.PARQUET
    with Path(path).open("rb") as file:
        return FileFormat.PARQUET if file.read(4) == b"PAR1" else FileFormat.CSV


def is_csv(path: str) -> bool:
    """Tell whether a file is read as CSV."""
    return _format(path) is FileFormat.CSV


def _refuse_unused(form: FileFormat, reading: ReadingOptions, name: str) -> None:
    """Raise an error for an option that the files cannot have, which would go unnoticed."""
    if reading.sheet is not None and form is not FileFormat.EXCEL:
        raise OptionError(
            f"The sheet '{reading.sheet}' was named for {name}, which has no sheets",
            hint="leave it out, or pass an Excel file",
        )


def _unreadable(name: str, error: str, form: FileFormat) -> TableError:
    """Return the error for an unreadable file, without any of its content."""
    if form is FileFormat.PARQUET:
        return TableError(
            f"The file {name} is not a readable Parquet file",
            hint="check that it was written completely, or rename it to .csv if it is text",
        )
    if form is FileFormat.CSV:
        return TableError(
            f"The file {name} is not a readable CSV file ({error})",
            hint="check that every line has the same number of fields",
        )
    return TableError(
        f"The file {name} is not a readable file of {form} ({error})",
        hint="check that it was written completely and is not protected by a password",
    )
