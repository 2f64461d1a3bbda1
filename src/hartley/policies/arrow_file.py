"""Write a table that is held in memory, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.writing import check_form, quote_formulas, refuse_overwriting
from hartley.files import whole_file

if TYPE_CHECKING:
    import os


def write_arrow(
    table: Any,  # noqa: ANN401 - Arrow carries no types
    path: str | os.PathLike[str],
    sources: tuple[str, ...] = (),
    *,
    spreadsheet_safe: bool = False,
) -> Path:
    """Write an Arrow table as Parquet or CSV, by the ending of the path; never over its sources.

    Texts of a CSV file are quoted as ``quote_formulas`` does where that is wanted.

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
