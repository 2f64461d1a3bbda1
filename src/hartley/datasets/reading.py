"""Read the files of the data sets into Arrow tables."""

from __future__ import annotations

import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any

from hartley.datasets.source import opened
from hartley.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MISSING = ("", "?", "NA", "NaN", "nan", "NULL")
"""The texts that stand for a missing value in the files."""


DAMAGES = (EOFError, OSError, UnicodeDecodeError, zipfile.BadZipFile, zlib.error)
"""The errors that reading a damaged file or archive can raise."""


def read_csv(  # noqa: PLR0913 - how a file is written, each by name
    path: Path,
    title: str,
    *,
    names: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    skip: int = 0,
    member: str = "*.csv",
    delimiter: str = ",",
) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    """Read comma-separated values; with ``names``, the file has no header.

    Args:
        path: the file, plain or in a gzip or zip archive.
        title: the title of the data set, for error messages.
        names: the names of the columns.
        types: the types of columns; other types are inferred.
        skip: the number of lines before the header.
        member: the file to read from an archive.
        delimiter: the character between two values.
    """
    import pyarrow as pa
    import pyarrow.csv

    try:
        with opened(path, member) as file:
            return pyarrow.csv.read_csv(
                file,
                pyarrow.csv.ReadOptions(skip_rows=skip, column_names=names),
                pyarrow.csv.ParseOptions(delimiter=delimiter),
                pyarrow.csv.ConvertOptions(
                    column_types=types, null_values=list(MISSING), strings_can_be_null=True
                ),
            )
    except (pa.ArrowException, *DAMAGES):
        raise not_the_file(path, title) from None


def first_lines(path: Path, lines: int = 2, member: str = "*.csv") -> list[str]:
    """Return the first lines of a file, to recognise its layout."""
    try:
        with opened(path, member) as file:
            return [_text(file) for _ in range(lines)]
    except DAMAGES:
        raise TableError(f"The file {path} is damaged", hint="download it again") from None


def _text(file: IO[bytes]) -> str:
    return file.readline(1 << 16).decode("utf-8", "replace").strip().removeprefix("\ufeff")


def typed(table: Any, types: Mapping[str, Any], path: Path, title: str) -> Any:  # noqa: ANN401 - pyarrow tables
    """Return the named columns with the given types; a cast that would round is an error."""
    import pyarrow as pa

    absent = [name for name in types if name not in table.column_names]
    if absent:
        raise not_the_file(path, title, f"it has no column '{absent[0]}'")
    try:
        return pa.table({name: table.column(name).cast(kind) for name, kind in types.items()})
    except pa.ArrowException:
        raise not_the_file(path, title) from None


def not_the_file(path: Path, title: str, why: str = "") -> TableError:
    """Return the error for a file that does not have the expected layout."""
    problem = f"The file {path} is not in a layout of the {title}"
    return TableError(
        problem + (f": {why}" if why else ""), hint="download the official file again"
    )
