"""Write a table that is held in memory, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.writing import CSV_ENDINGS, PARQUET_ENDINGS, refuse_overwriting
from hartley.errors import OptionError
from hartley.files import whole_file

if TYPE_CHECKING:
    import os


def check_ending(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file to write, and refuse one that names no format.

    Example:
        >>> check_ending("released.CSV")
        '.csv'
    """
    ending = Path(path).suffix.lower()
    if ending not in (*PARQUET_ENDINGS, *CSV_ENDINGS):
        raise OptionError(
            f"The ending of {Path(path).name} names no format that can be written",
            hint="end the name with .parquet or .csv",
        )
    return ending


def write_arrow(
    table: Any,  # noqa: ANN401 - Arrow carries no types
    path: str | os.PathLike[str],
    sources: tuple[str, ...] = (),
) -> Path:
    """Write an Arrow table as Parquet or CSV, by the ending of the path; never over its sources.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_arrow(pa.table({"a": [1]}), f"{folder}/a.csv").read_text().split())
        ['"a"', '1']
    """
    import pyarrow.csv
    import pyarrow.parquet

    write = (
        pyarrow.csv.write_csv if check_ending(path) in CSV_ENDINGS else pyarrow.parquet.write_table
    )
    refuse_overwriting({"table": sources}, path)
    with whole_file(path) as half:
        write(table, half)
    return Path(path)
