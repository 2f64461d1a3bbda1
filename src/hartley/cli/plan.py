"""The command ``hartley plan``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the types
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.ask import (  # noqa: TC001 - Typer reads the types
    Analyst,
    MinRows,
    PublicRows,
    SchemaFile,
    Vacuous,
)
from hartley.cli.output import Format, print_json, say, wants_json
from hartley.cli.refusals import telling_refusals
from hartley.files import check_files

if TYPE_CHECKING:
    from hartley.results.plan import Plan


def plan_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    questions: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS",
            help="A file of SQL statements, with wishes in comments: -- bits=2, -- error=0.5, "
            "-- min_rows=100, -- weight=3.",
        ),
    ],
    schema: SchemaFile,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="BITS",
            help="The bits that the batch may cost; questions without a wish share them.",
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            metavar="FILE|URL",
            help="Take into account what your account asked before and has left.",
        ),
    ] = None,
    rows: PublicRows = None,
    error: Annotated[
        str | None,
        typer.Option(
            "--error", metavar="NUMBER", help="The largest error for questions without a wish."
        ),
    ] = None,
    bits: Annotated[
        str | None,
        typer.Option("--bits", metavar="BITS", help="The price of each question without a wish."),
    ] = None,
    min_rows: MinRows = None,
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute", help="Compare errors as numbers, not as shares of what the schema allows."
        ),
    ] = False,
    analyst: Analyst = None,
    vacuous: Vacuous = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write the batch, ready for hartley ask --file."
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Plan a workload: its price as one batch and one by one, and how to share a budget.

    [dim]Example: hartley plan questions.sql --schema people.toml --rows 5000 --budget 16
    --out batch.sql[/dim]
    """
    from hartley.agent.planning import plan
    from hartley.files import write_whole

    check_files({"batch": out}, {"file of questions": [questions], "schema": [schema]})
    with telling_refusals(json):
        planned: Plan = plan(
            questions,
            schema,
            budget=budget,
            ledger=ledger,
            rows=rows,
            analyst=analyst,
            error=error,
            bits=bits,
            min_rows=min_rows,
            absolute=absolute,
            vacuous=vacuous,
        )
        written = None if out is None else str(write_whole(out, planned.to_sql()))
    if wants_json(json):
        content: dict[str, Any] = planned.to_dict()
        print_json(content | ({} if written is None else {"batch_file": written}))
        return
    say(str(planned))
    if written is not None:
        say(f"Batch: {written}")
