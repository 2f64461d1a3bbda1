"""Arguments and options that several commands share, and functions that parse them."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.errors import OptionError, printable
from hartley.files import one_line
from hartley.tables.reading import AS_WRITTEN, ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.engines.table import Table
    from hartley.schema.roles import Roles

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="Files of rows: Parquet, CSV, Excel, SPSS, Stata or SAS, or - for standard input; "
        "several are read as one table.",
    ),
]
Spec = Annotated[
    Path,
    typer.Argument(
        metavar="SPEC", help="The design specification: a TOML file, see docs/commands.md."
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--keys", metavar="COL[,COL]", help="The columns by which a person could be recognised."
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", help="The .parquet or .csv file to write."),
]
RolesFile = Annotated[
    Path | None,
    typer.Option(
        "--roles",
        metavar="FILE",
        help="The confirmed roles of the columns, as hartley scan --draft writes them; columns "
        "that you do not name on the command line are taken from there.",
    ),
]
RisksFile = Annotated[
    Path | None,
    typer.Option(
        "--risks",
        metavar="FILE",
        help="Also write the risk of every record, as .parquet or .csv.",
    ),
]
Few = Annotated[
    int,
    typer.Option(
        "--few",
        metavar="K",
        help="Count the people in groups of fewer than this many with the same values.",
    ),
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
    from hartley.policies.hierarchy import read_hierarchy

    settings = split_settings(texts, "--hierarchy", "COL=FILE")
    groups = {column: read_hierarchy(name, column, table) for column, name in settings.items()}
    declared = {column: [*lines] for column, lines in groups.items()}
    warn_near_misses(table, declared, "is not in its hierarchy")
    return groups


# --- reading tables -------------------------------------------------------------------------------

PANEL = "Reading the table"


def _option(name: str, metavar: str | None, text: str) -> Any:  # noqa: ANN401 - Typer's own type
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=PANEL)


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "null": (
        Annotated[
            list[str] | None,
            _option("--null", "TEXT", "Treat this text as a missing value; may be repeated."),
        ],
        None,
    ),
    "names": (
        Annotated[
            str | None,
            _option("--names", "COL,COL,...", "Column names for files without a header line."),
        ],
        None,
    ),
    "trim": (
        Annotated[bool, _option("--trim", None, "Leave out spaces around values and names.")],
        False,
    ),
    "encoding": (
        Annotated[
            str,
            _option("--encoding", "NAME", "The encoding of CSV files, for example cp1252."),
        ],
        AS_WRITTEN.encoding,
    ),
    "decimal": (
        Annotated[
            str, _option("--decimal", ".|,", "The sign before the decimals of a number in texts.")
        ],
        AS_WRITTEN.decimal,
    ),
    "delimiter": (
        Annotated[
            str | None,
            _option("--delimiter", "SIGN", "The sign between fields of a CSV file, or tab."),
        ],
        None,
    ),
    "sheet": (
        Annotated[str | None, _option("--sheet", "NAME", "The sheet of an Excel file.")],
        None,
    ),
    "header": (
        Annotated[
            int | None,
            _option("--header-line", "N", "The line that holds the names of the columns."),
        ],
        None,
    ),
    "dates": (
        Annotated[
            str,
            _option(
                "--dates",
                "year-first|day-first|month-first",
                "How days are written: 2024-12-31, 31.12.2024 or 12/31/2024.",
            ),
        ],
        AS_WRITTEN.dates,
    ),
    "labels": (
        Annotated[
            bool,
            _option("--labels", None, "Use the labels of values in SPSS, Stata and SAS files."),
        ],
        False,
    ),
}


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for reading a table; it gets them as one object, ``reading``.

    Example:
        >>> @reads_tables
        ... def show(table: str, reading: ReadingOptions = AS_WRITTEN) -> None:
        ...     print(table, reading.to_dict())
        >>> show(table="people.csv", trim=True, null=["?"])
        people.csv {'null': ['?'], 'trim': True}
    """
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name != "reading":
            parameters.append(parameter)
            continue
        parameters += [
            inspect.Parameter(
                option, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind
            )
            for option, (kind, default) in _OPTIONS.items()
        ]

    @functools.wraps(command)
    def given(**options: Any) -> None:  # noqa: ANN401 - the options of the command
        named = {name: options.pop(name, default) for name, (_, default) in _OPTIONS.items()}
        command(**options, reading=_reading(named))

    given.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return given


def given_options(reading: ReadingOptions) -> dict[str, Any]:
    """Return the options for reading that were given, as they are written on the command line.

    Example:
        >>> given_options(ReadingOptions(null="?", header=3))
        {'--null': ['?'], '--header-line': 3}
    """
    renamed = {"header": "--header-line"}
    return {renamed.get(name, f"--{name}"): value for name, value in reading.to_dict().items()}


def _reading(named: dict[str, Any]) -> ReadingOptions:
    names = named.pop("names")
    return ReadingOptions(
        **named | {"null": tuple(named["null"] or ())},
        names=tuple(split_columns([names], ())) if names else None,
    )


def open_tables(
    tables: list[str],
    reading: ReadingOptions = AS_WRITTEN,
    *,
    roles: Path | None = None,
    warn: bool = True,
) -> Table:
    """Open the files of a command as one table, with roles as they say and without identifiers.

    What is given on the command line counts more than what the roles say about reading. Values
    that miss a mark of missing values by spaces or case are warned about. An agent's table is
    opened without: what an answer does not say is not said beside it.
    """
    from hartley.tables.opening import open_table

    source: Any = tables[0] if len(tables) == 1 else tables
    if roles is None:
        opened = open_table(source, reading=reading)
    else:
        from hartley.schema.roles import open_with_roles

        confirmed = read_roles(roles, reading)
        opened, reading = open_with_roles(source, confirmed)[0], confirmed.reading
        if warn:
            read_hierarchies(
                [f"{c.name}={c.hierarchy}" for c in confirmed.columns.values() if c.hierarchy],
                opened,
            )
    if warn and reading.null:
        warn_near_misses(opened, dict.fromkeys(opened.columns, reading.null), "counts as a value")
    return opened


def warn_near_misses(table: Table, declared: Mapping[str, Sequence[object]], instead: str) -> None:
    """Warn about texts that miss a declared value by spaces or case; say what becomes of them."""
    from hartley.tables.reading import near_misses

    for sentence in near_misses(table, declared):
        typer.echo(f"Warning: {printable(sentence)}, and {instead}", err=True)


def read_roles(roles: Path, reading: ReadingOptions) -> Roles:
    """Read confirmed roles; options of the command line replace what they say about reading."""
    from hartley.schema.roles import Roles

    confirmed = Roles.confirmed_by_owner(roles)
    both = ReadingOptions.from_dict(confirmed.reading.to_dict() | reading.to_dict())
    return replace(confirmed, reading=both)


def parse_columns(texts: list[str] | None, columns: Sequence[str]) -> list[str] | None:
    """Return the columns that an option names; None where it is not given.

    Example:
        >>> parse_columns(["age,sex"], ["age", "sex"]), parse_columns(None, ["age"])
        (['age', 'sex'], None)
    """
    return split_columns(texts, columns) if texts else None


def require_option(given: object, option: str, roles: Path | None, columns: Sequence[str]) -> None:
    """Raise an error for an option that is missing and that no roles make up for."""
    if given or roles is not None:
        return
    from hartley.text import join_first

    raise OptionError(
        f"The option {option} is missing",
        hint=f"name some of the columns {join_first(list(columns), 12)}, or give --roles FILE",
    )
