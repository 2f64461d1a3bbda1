"""The command ``hartley roles``: the owner of a table decides about it column by column."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.output import Format, is_terminal, print_json, progress_bar, say, wants_json
from hartley.cli.reading import OneTable, reads_tables
from hartley.errors import InputError, OptionError, printable
from hartley.files import STANDARD_INPUT, check_files, read_text_file, write_whole
from hartley.schema.roles import HEADER, RELEASED, ROLES
from hartley.studies.look.scan import scan
from hartley.tables.reading import AS_WRITTEN, ReadingOptions
from hartley.text import command_line, count_of, join_first, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.studies.look.scanned_column import ScannedColumn

ANSWERS = (
    "Read lines such as age = key from this file, one for every column, or from standard input "
    "(-); nothing after = accepts the proposal."
)


@reads_tables
def roles_command(
    table: OneTable,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The new file of confirmed roles.")
    ] = Path("roles.toml"),
    answers: Annotated[str | None, typer.Option(metavar="FILE", help=ANSWERS)] = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Decide about a TABLE column by column: what each one is, and what leaves the house.

    For every column it shows what it seems to be and why, and proposes a role; Enter accepts it.
    The confirmed roles are written whole at the end, or not at all.

    [dim]Example: hartley roles people.csv --out roles.toml[/dim]
    """
    check_files({"roles": out}, {"table": [table], "answers": filter(None, [answers])})
    if answers is None and not is_terminal(sys.stdin):
        raise InputError(
            "There is no terminal in which to ask about the columns",
            hint="write lines such as age = key to a file and give --answers FILE, or use "
            + command_line("scan", table, *reading.words, "--draft", out),
        )
    with progress_bar({"read": "Reading", "combine": "Combining columns"}) as progress:
        report = scan(table, largest=1, reading=reading, progress=progress)
    chosen = _asked(report.columns) if answers is None else _read(answers, report.columns)
    decided = {n: replace(column, role=chosen[n]) for n, column in report.roles.columns.items()}
    confirmed = replace(report.roles, columns=decided).confirm()
    write_whole(out, confirmed.to_toml())
    if wants_json(json):
        print_json({"file": str(out), "roles": chosen})
        return
    released = count_of(len(confirmed.named(*RELEASED)), "column")
    say(f"Wrote {out}: of {count_of(len(chosen), 'column')}, {released} can be released")
    following = ("anonymity",) if confirmed.named("key") else ("schema", "draft")
    if table != STANDARD_INPUT:
        say(f"Next: {command_line(*following, table, '--roles', out)}")


def _asked(columns: Sequence[ScannedColumn]) -> dict[str, str]:
    """Ask about the columns in a terminal."""
    typer.echo("\n".join(line.removeprefix("# ") for line in HEADER.splitlines()[1:-2]), err=True)
    chosen: dict[str, str] = {}
    for at, column in enumerate(columns, 1):
        values = f"{count_of(column.different, 'value')}, {column.missing:,} missing"
        lines = [
            f"{at} of {len(columns)}: {column.name}, {column.holds}: {values}",
            f"  seems to be: {column.what}, since {column.why}",
            *(f"  {suspicion}" for suspicion in column.suspicions),
        ]
        typer.echo("\n" + "\n".join(map(printable, lines)), err=True)
        while column.name not in chosen:
            asked = f"  Role of {printable(column.name)}"
            answer = typer.prompt(asked, default=column.role, err=True)
            try:
                chosen[column.name] = _role(answer, column, chosen)
            except OptionError as error:
                typer.echo(f"  {error}", err=True)
    return chosen


def _read(answers: str, scanned: Sequence[ScannedColumn]) -> dict[str, str]:
    """Return the role of every column from lines of answers."""
    source = "standard input" if answers == "-" else answers
    text = sys.stdin.read() if answers == "-" else read_text_file(Path(answers), what="answers")
    columns = {column.name: column for column in scanned}
    chosen: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        name, _, answer = (part.strip() for part in line.rpartition("="))
        if name not in columns or name in chosen:
            wrong = "repeats a column" if name in chosen else "names no column"
            raise OptionError(
                f"The line '{line.strip()}' of {source} {wrong}",
                hint=f"write COLUMN = ROLE; the columns are {join_first(list(columns), 12)}",
            )
        chosen[name] = _role(answer, columns[name], chosen)
    if missed := [name for name in columns if name not in chosen]:
        raise OptionError(
            f"Nothing in {source} answers for column '{missed[0]}'",
            hint=f"add the line {missed[0]} = {columns[missed[0]].role}",
        )
    return chosen


def _role(answer: str, column: ScannedColumn, chosen: Mapping[str, str]) -> str:
    """Return the role that an answer means: a name, its beginning, or nothing for the proposal."""
    wanted = answer.strip().lower() or column.role
    meant = [role for role in ROLES if wanted in {role, role[: max(len(wanted), 2)]}]
    if len(meant) != 1:
        raise OptionError(
            f"'{answer}' is no role of column '{column.name}'",
            hint=f"choose {listed(ROLES, joint='or')}",
        )
    if meant == ["unit"] and "unit" in chosen.values():
        unit = next(name for name, role in chosen.items() if role == "unit")
        raise OptionError(f"Column '{unit}' is the unit already", hint="choose identifier")
    return meant[0]
