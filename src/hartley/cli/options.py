"""Arguments and options that several commands share, and functions that parse them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.errors import OptionError
from hartley.files import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.tables.table import Table

Tables = Annotated[
    list[str],
    typer.Argument(metavar="TABLE...", help="Parquet or CSV files; several are read as one table."),
]
Spec = Annotated[
    Path,
    typer.Argument(
        metavar="SPEC", help="The design specification: a TOML file, see docs/commands.md."
    ),
]
Keys = Annotated[
    list[str],
    typer.Option(
        "--keys", metavar="COL[,COL]", help="The columns by which a person could be recognised."
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", help="The .parquet or .csv file to write."),
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="Put a single quote before texts in a CSV file that a spreadsheet would run as a "
        "formula.",
    ),
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        "--bins", metavar="COL=STEP", help="Put a numeric column into bins of this width."
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="released|value|drop",
        help="How to treat missing values. released: a missing released value is a value, rows "
        "with a missing secret are left out; value: missing is a value on both sides; "
        "drop: every row with a missing value is left out.",
    ),
]
Null = Annotated[
    list[str] | None,
    typer.Option("--null", metavar="TEXT", help="Treat this text as a missing value in CSV files."),
]
Names = Annotated[
    str | None,
    typer.Option(
        "--names", metavar="COL,COL,...", help="Column names for CSV files without a header line."
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COL=FILE",
        help="CSV file; each line has a confidential value and its groups, from narrow to wide.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COL[,COL]",
        help="Columns to release unchanged; columns that are not named are not released.",
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        "--person", metavar="COL", help="The column that identifies the person of each row."
    ),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write a report to open in a browser."),
]
Csv = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Also write the points of the curve as a CSV file."),
]

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Ask a service at this address instead, like https://hartley.example.org.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="A file that holds the token for --url; default: the variable HARTLEY_TOKEN.",
    ),
]
DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset", metavar="NAME", help="The dataset of --url, if the account sees several."
    ),
]
Certificates = Annotated[
    Path | None,
    typer.Option(
        "--certificates",
        metavar="FILE",
        help="Certificates to trust for --url instead of the system's, in PEM format.",
    ),
]

Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Send the token of --url without encryption, in a network that you trust.",
    ),
]


def open_tables(
    tables: list[str], null: list[str] | None = None, names: str | None = None
) -> Table:
    """Open the files of a command as one table."""
    from hartley.engines.tables.sources import open_table

    return open_table(
        tables[0] if len(tables) == 1 else tables,
        null=null or (),
        names=split_columns([names], ()) if names else None,
    )


def split_columns(texts: list[str], columns: Sequence[str]) -> list[str]:
    """Split lists of columns at commas; column names that contain commas stay whole.

    Example:
        >>> split_columns(["age,income, gross,sex"], ["age", "sex", "income, gross"])
        ['age', 'income, gross', 'sex']
    """
    return [name for text in texts for name in _split(text, columns) if name]


def _split(text: str, columns: Sequence[str]) -> list[str]:
    """Split off the longest column name a list begins with, or the text before its first comma."""
    parts = text.split(",")
    begun = (",".join(parts[:end]) for end in range(len(parts), 1, -1))
    first = next((start for start in begun if {start, start.strip()} & {*columns}), parts[0])
    name = first if first in columns else first.strip()
    rest = text[len(first) + 1 :]
    return [name, *(_split(rest, columns) if rest else [])]


def split_settings(texts: list[str], option: str, form: str) -> dict[str, str]:
    """Split settings at their last equals sign.

    Example:
        >>> split_settings(["age=10"], "--bins", "COL=STEP")
        {'age': '10'}
    """
    settings: dict[str, str] = {}
    for text in texts:
        column, equals, value = text.rpartition("=")
        if not (column.strip() and equals and value.strip()):
            raise OptionError(
                f"The option {option} {one_line(text)} is not of the form {form}",
                hint=f"write {option} {form}",
            )
        if column.strip() in settings:
            raise OptionError(
                f"The option {option} names column '{column.strip()}' twice", hint="name it once"
            )
        settings[column.strip()] = value.strip()
    return settings


def read_hierarchies(texts: list[str], table: Table) -> dict[str, dict[object, tuple[str, ...]]]:
    """Read the hierarchies of columns; values are converted to the column's type."""
    from hartley.policies.records.hierarchy import read_hierarchy

    settings = split_settings(texts, "--hierarchy", "COL=FILE")
    return {column: read_hierarchy(name, column, table) for column, name in settings.items()}
