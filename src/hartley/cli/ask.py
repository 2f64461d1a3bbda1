"""The commands ``hartley ask`` and ``hartley price``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.options import Names, Null, open_tables
from hartley.cli.output import Format, console, print_json, wants_json
from hartley.cli.refusals import telling_refusals

if TYPE_CHECKING:
    from hartley.engines.tables.table import Table

Questions = Annotated[
    list[str],
    typer.Argument(
        metavar="QUESTION...",
        help="SQL: one SELECT over the table of the schema; several questions make one batch.",
    ),
]
SchemaFile = Annotated[
    Path, typer.Option("--schema", metavar="FILE", help="The public schema of the table, in TOML.")
]
LedgerAddress = Annotated[
    str,
    typer.Option(
        "--ledger", metavar="FILE|URL", help="The ledger of charges: a file or postgresql://..."
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="TABLE",
        help="The private table: a Parquet or CSV file, FILE.duckdb::TABLE, or "
        "postgresql://...::TABLE; if omitted, the coded copy of an earlier call is used.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="BITS",
        help="The budget in bits; needed the first time a table is used.",
    ),
]
Place = Annotated[
    str | None,
    typer.Option(
        "--place",
        metavar="PLACE",
        help="Where to keep the coded copy; default: next to the ledger file.",
    ),
]
WishedError = Annotated[
    str | None,
    typer.Option("--error", metavar="NUMBER", help="The largest error that the answers may have."),
]
WishedBits = Annotated[
    str | None,
    typer.Option(
        "--bits", metavar="BITS", help="The price of each question in bits, instead of --error."
    ),
]
Vacuous = Annotated[
    bool,
    typer.Option(
        "--vacuous", help="Also accept answers that are sure to say no more than the schema."
    ),
]
Analyst = Annotated[
    str | None,
    typer.Option("--analyst", metavar="NAME", help="The analyst who asks, if allowances are set."),
]


def ask_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    question: Questions,
    schema: SchemaFile,
    ledger: LedgerAddress,
    table: Source = None,
    budget: Budget = None,
    place: Place = None,
    error: WishedError = None,
    bits: WishedBits = None,
    analyst: Analyst = None,
    update: Annotated[
        bool,
        typer.Option("--update", help="Record the table as a new version; earlier charges stay."),
    ] = False,
    vacuous: Vacuous = False,
    null: Null = None,
    names: Names = None,
    json: Format = None,
) -> None:
    """Answer a question about a private table truthfully, if the budget covers its price.

    [dim]Example: hartley ask "SELECT AVG(age) FROM people" --table people.parquet
    --schema people.toml --ledger ledger.db --budget 16 --error 0.5[/dim]
    """
    from hartley.agent.asking import ask

    data = None if table is None else open_tables([table], null, names)
    with telling_refusals(json):
        reply: Any = ask(
            question,
            schema,
            table=data,
            ledger=ledger,
            budget=budget,
            place=place,
            update=update,
            error=error,
            bits=bits,
            analyst=analyst,
            vacuous=vacuous,
        )
    if wants_json(json):
        print_json(reply[0].to_dict() if len(question) == 1 else reply.to_dict())
        return
    out = console()
    for answer in reply:
        if len(question) > 1:
            out.print(answer.text, style="dim", markup=False, highlight=False)
        out.print(answer.reading)
    out.print(reply[0].caption, style="dim", highlight=False)


def price_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    question: Questions,
    schema: SchemaFile,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="FILE|URL", help="Also show what would be due now."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            metavar="N",
            help="The public number of rows, if there is no ledger to read it from; errors "
            "depend on it.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="Count the rows of this table instead; only if their number is public.",
        ),
    ] = None,
    error: WishedError = None,
    bits: WishedBits = None,
    analyst: Analyst = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the atoms and factors behind the price.")
    ] = False,
    vacuous: Vacuous = False,
    null: Null = None,
    names: Names = None,
    json: Format = None,
) -> None:
    """Show what questions would cost, from the public schema alone; nothing is spent.

    [dim]Example: hartley price "SELECT AVG(age) FROM people" --schema people.toml
    --rows 5000 --error 0.5[/dim]
    """
    from hartley.agent.asking import price

    if table is not None and rows is None and ledger is None:
        rows = _count_rows(open_tables([table], null, names))
    with telling_refusals(json):
        quote = price(
            question,
            schema,
            ledger=ledger,
            rows=rows,
            error=error,
            bits=bits,
            analyst=analyst,
            vacuous=vacuous,
        )
    if wants_json(json):
        print_json(quote.to_dict() | ({"explanation": quote.explanation} if explain else {}))
        return
    out = console()
    out.print(str(quote), markup=False)
    if explain:
        out.print()
        out.print(quote.explanation, markup=False)


def _count_rows(table: Table) -> int:
    from hartley.engines.tables.view import run

    rows: int = run(table, table.expression.count().to_pyarrow).as_py()
    return rows
