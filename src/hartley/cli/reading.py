"""How commands read tables: their options, and the columns and settings that options name."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.errors import HartleyError, OptionError, printable
from hartley.files import one_line
from hartley.inputs import RolesSource
from hartley.tables.reading import AS_WRITTEN, ReadingOptions, option_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.engines.table import Table
    from hartley.schema.roles import Roles

PANEL = "Reading the table"
SHOWN = 40
"""Columns that are listed where an option is missing; a file may have thousands."""

OneTable = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A Parquet or CSV file, FILE.duckdb::TABLE or postgresql://...::TABLE.",
        show_default=False,
    ),
]
RolesFile = Annotated[
    Path | None,
    typer.Option("--roles", metavar="FILE", help=RolesSource.__metadata__[0].help),
]


_OPTIONS: dict[str, tuple[Any, str | None, str]] = {
    "null": (list[str] | None, "TEXT", "Treat this text as a missing value; may be repeated."),
    "names": (
        str | None,
        "COL,COL,...",
        "Column names for files without a header line, or in place of the --header-line.",
    ),
    "trim": (bool, None, "Leave out spaces around values and names."),
    "encoding": (str, "NAME", "The encoding of CSV files, for example cp1252."),
    "decimal": (str, ".|,", "The sign before the decimals of a number in texts."),
    "delimiter": (str | None, "SIGN", "The sign between fields of a CSV file, or tab."),
    "sheet": (str | None, "NAME", "The sheet of an Excel file."),
    "header": (int | None, "N", "The line that holds the names of the columns."),
    "footer": (int, "N", "Leave out this many lines at the end, such as totals."),
    "dates": (
        str,
        "year-first|day-first|month-first",
        "How days are written: 2024-12-31, 31.12.2024 or 12/31/2024.",
    ),
    "labels": (bool, None, "Use the labels of values in SPSS, Stata and SAS files."),
}
READING: dict[str, tuple[Any, Any, Any]] = {
    name: (
        kind,
        typer.Option(option_of(name), metavar=metavar, help=text, rich_help_panel=PANEL),
        None if name == "null" else getattr(AS_WRITTEN, name),
    )
    for name, (kind, metavar, text) in _OPTIONS.items()
}
"""The options for reading a table: their types, their help and their defaults."""


def parameter(
    name: str,
    shell: Any,  # noqa: ANN401 - what Typer reads as a type
    about: Any,  # noqa: ANN401 - Typer's own
    default: Any = None,  # noqa: ANN401 - likewise
) -> inspect.Parameter:
    """Return a parameter of a command; ``...`` as its default makes it required."""
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is ... else default,
        annotation=Annotated[shell, about],
    )


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
    others = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in signature.parameters.items()
        if name != "reading"
    ]

    @functools.wraps(command)
    def given(**options: Any) -> None:  # noqa: ANN401 - the options of the command
        reading = reading_of(options)
        command(**{key: options[key] for key in options.keys() - READING.keys()}, reading=reading)

    given.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*others, *(parameter(name, *about) for name, about in READING.items())]
    )
    return given


def reading_of(options: Mapping[str, Any]) -> ReadingOptions:
    """Return how to read tables, as the options of a command say."""
    named = {name: options.get(name, default) for name, (_, _, default) in READING.items()}
    names = split_columns([named["names"]], ()) if named["names"] else None
    null = tuple(named["null"] or ())
    return ReadingOptions(**named | {"null": null, "names": names and tuple(names)})


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


def open_tables(
    tables: list[str],
    reading: ReadingOptions = AS_WRITTEN,
    *,
    roles: Path | None = None,
    warn: bool = True,
    whole: bool = False,
) -> Table:
    """Open the files of a command as one table, with roles as they say and without identifiers.

    A whole table keeps them, for what leaves them out itself.

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
        from hartley.text import conjugate, count_of

        confirmed = read_roles(roles, reading)
        raw = open_table(source, reading=confirmed.reading)
        opened, reading = open_with_roles(raw, confirmed)[0], confirmed.reading
        if warn:
            if undecided := len(confirmed.named("undecided")):
                what = f"{count_of(undecided, 'undecided column')} {conjugate(undecided, 'is')}"
                typer.echo(f"{what} not released", err=True)
            read_hierarchies(
                [f"{c.name}={c.hierarchy}" for c in confirmed.columns.values() if c.hierarchy],
                opened,
            )
    if warn and reading.null:
        warn_near_misses(opened, dict.fromkeys(opened.columns, reading.null), "counts as a value")
    return raw if whole and roles is not None else opened


def warn_near_misses(table: Table, declared: Mapping[str, Sequence[object]], instead: str) -> None:
    """Warn about texts that miss a declared value by spaces or case; say what becomes of them."""
    from hartley.tables.reading import near_misses

    for sentence in near_misses(table, declared):
        typer.echo(f"Warning: {printable(sentence)}, and {instead}", err=True)


def read_roles(roles: Path, reading: ReadingOptions) -> Roles:
    """Read confirmed roles; options of the command line replace what they say about reading."""
    from hartley.reports.evidence import record_options
    from hartley.schema.roles import Roles

    confirmed = Roles.confirmed_by_owner(roles)
    both = ReadingOptions.from_dict(confirmed.reading.to_dict() | reading.to_dict())
    record_options(both.to_dict())
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


def columns_sentence(error: Any) -> str | None:  # noqa: ANN401 - Typer keeps these types to itself
    """Return the columns of the table that a command was given, if it lacks an option for them."""
    from hartley.tables.opening import open_table

    lacking, ctx = getattr(error, "param", None), getattr(error, "ctx", None)
    if lacking is None or ctx is None or "COL" not in (lacking.metavar or ""):
        return None
    given = {name: value for name, value in ctx.params.items() if value is not None}
    tables = given.get("table")
    if not tables or "-" in tables:
        return None
    try:
        table = open_table(tables, reading=reading_of(given))
    except HartleyError:  # the option is what is wrong first
        return None
    names = [printable(name) for name in table.columns]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"The columns of {printable(table.name)} are {', '.join(names[:SHOWN])}{more}"
