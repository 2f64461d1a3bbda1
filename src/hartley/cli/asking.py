"""The commands ``hartley ask`` and ``price``: here, or at a service."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from hartley.cli.output import Format, console, print_curves, print_json, wants_json
from hartley.cli.reading import (
    RolesFile,
    open_tables,
    read_roles,
    reads_tables,
)
from hartley.errors import OptionError
from hartley.files import check_files, read_text_file
from hartley.tables.reading import AS_WRITTEN, ReadingOptions, option_of
from hartley.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.client.remote_agent import RemoteAgent
    from hartley.results.plan import PriceCurve
    from hartley.results.quote import Wish


T = TypeVar("T")

Questions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUESTION...",
        help="SQL: one SELECT over the table of the schema; several questions make one batch.",
        show_default=False,
    ),
]
QuestionFile = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="A file of questions instead, as hartley plan writes it: SQL with wishes in comments.",
    ),
]
PublicRows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        metavar="N",
        help="The public number of rows, if there is no ledger to read it from; errors depend on "
        "it.",
    ),
]
LocalSchema = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="The public schema of the table, in TOML; needed without --url.",
    ),
]
LedgerAddress = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE|URL",
        help="The ledger of charges: a file or postgresql://...; needed without --url.",
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
MinRows = Annotated[
    str | None,
    typer.Option(
        "--min-rows",
        metavar="N",
        help="Keep the --error of averages and spreads if at least N rows count; needed where "
        "their number is private.",
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
        help="Ask a service at this address instead, like https://agent.example.org.",
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


@reads_tables
def ask_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    question: Questions = None,
    file: QuestionFile = None,
    schema: LocalSchema = None,
    ledger: LedgerAddress = None,
    table: Source = None,
    budget: Budget = None,
    place: Place = None,
    error: WishedError = None,
    bits: WishedBits = None,
    min_rows: MinRows = None,
    analyst: Analyst = None,
    update: Annotated[
        bool,
        typer.Option("--update", help="Record the table as a new version; earlier charges stay."),
    ] = False,
    vacuous: Vacuous = False,
    roles: RolesFile = None,
    reading: ReadingOptions = AS_WRITTEN,
    url: Url = None,
    token_file: TokenFile = None,
    dataset: DatasetName = None,
    certificates: Certificates = None,
    insecure: Insecure = False,
    json: Format = None,
) -> None:
    """Answer a question about a private table truthfully, if the budget covers its price.

    [dim]Example: hartley ask "SELECT AVG(age) FROM people" --table people.parquet
    --schema people.toml --ledger ledger.db --budget 16 --error 0.5[/dim]
    """
    asked = _asked(question, file)
    wishes: dict[str, Any] = {"error": error, "bits": bits, "min_rows": min_rows}
    wishes["vacuous"] = vacuous
    local: dict[str, object] = {
        "--schema": schema,
        "--ledger": ledger,
        "--table": table,
        "--budget": budget,
    }
    local |= {"--place": place, "--analyst": analyst, "--update": update, "--roles": roles}
    service = _ServiceOptions(url, token_file, dataset, certificates, insecure)
    reply: Any
    if url is not None:
        local |= {option_of(name): name for name in reading.to_dict()}
        with service.connect(local) as remote:
            alone = len(asked) == 1  # a refusal points at its place
            reply = [remote.ask(asked[0], **wishes)] if alone else remote.ask(asked, **wishes)
    else:
        from hartley.agent.agent import ask  # not needed to ask a service

        service.refuse()
        data: Any = table  # with roles, the schema says which identifier stays: that of the unit
        if table is not None and roles is None:
            data = open_tables([table], reading, warn=False)
        reply = ask(
            asked,
            needed(schema, "--schema"),
            table=data,
            ledger=needed(ledger, "--ledger"),
            budget=budget,
            place=place,
            update=update,
            analyst=analyst,
            roles=None if roles is None else read_roles(roles, reading),
            **wishes,
        )
    if wants_json(json):
        print_json(reply[0].to_dict() if len(asked) == 1 else reply.to_dict())
        return
    out = console()
    for answer in reply:
        if len(asked) > 1:
            out.print(answer.text, style="dim", markup=False, highlight=False)
        out.print(answer.reading)
    out.print(reply[0].caption, style="dim", markup=False, highlight=False)


@reads_tables
def price_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    question: Questions = None,
    file: QuestionFile = None,
    schema: LocalSchema = None,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="FILE|URL", help="Also show what would be due now."),
    ] = None,
    rows: PublicRows = None,
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
    min_rows: MinRows = None,
    analyst: Analyst = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the atoms and factors behind the price.")
    ] = False,
    vacuous: Vacuous = False,
    curve: Annotated[
        bool,
        typer.Option("--curve", help="Show what more bits buy: the prices at which errors fall."),
    ] = False,
    html: Html = None,
    csv: Csv = None,
    reading: ReadingOptions = AS_WRITTEN,
    url: Url = None,
    token_file: TokenFile = None,
    dataset: DatasetName = None,
    certificates: Certificates = None,
    insecure: Insecure = False,
    json: Format = None,
) -> None:
    """Show what questions would cost, from the public schema alone; nothing is spent.

    [dim]Example: hartley price "SELECT AVG(age) FROM people" --schema people.toml
    --rows 5000 --error 0.5[/dim]
    """
    asked = _asked(question, file)
    wishes: dict[str, Any] = {"error": error, "bits": bits, "min_rows": min_rows}
    service = _ServiceOptions(url, token_file, dataset, certificates, insecure)
    priced: Any
    traced: Any
    explained: Any
    with ExitStack() as opened:
        if url is not None:
            local: dict[str, object] = {"--schema": schema, "--ledger": ledger, "--table": table}
            local |= {"--rows": rows, "--analyst": analyst, "--html": html, "--csv": csv}
            local |= {option_of(name): name for name in reading.to_dict()}
            remote = opened.enter_context(service.connect(local))
            priced, traced, explained = remote.price, remote.curve, remote.explain
        else:
            from hartley.agent.curve import price_curve
            from hartley.agent.quoting import price
            from hartley.tables.view import run

            service.refuse()
            schema = needed(schema, "--schema")
            if table is not None and rows is None and ledger is None:
                counted = open_tables([table], reading, warn=False)
                rows = run(counted, counted.expression.count().to_pyarrow).as_py()
            wishes |= {"schema": schema, "ledger": ledger, "rows": rows, "analyst": analyst}

            def explanation(questions: Any, **wishes: Any) -> str:  # noqa: ANN401 - those of price
                return price(questions, **wishes).explanation

            priced, traced, explained = price, price_curve, explanation
        if curve or html is not None or csv is not None:
            curves = [traced(each, **wishes) for each in asked]
            whys = [explained(each, **wishes) for each in asked if explain]
        else:
            quote = priced(asked, vacuous=vacuous, **wishes)
            why = quote.explanation or (explained(asked, **wishes) if explain else "")
    if curve or html is not None or csv is not None:
        print_curves(curves, whys, json, _written_curve(curves, html, csv))
        return
    if wants_json(json):
        print_json(quote.to_dict() | ({"explanation": why} if explain else {}))
        return
    console().print(str(quote) + (f"\n\n{why}" if explain else ""), markup=False)


def needed(value: T | None, option: str) -> T:
    """Return an option that is needed where no service is asked."""
    if value is None:
        raise OptionError(
            f"The option {option} is missing", hint="give it, or ask a service with --url"
        )
    return value


def _asked(questions: list[str] | None, file: Path | None) -> list[str | Wish]:
    """Return the questions of a command line, or those of a file with their wishes."""
    if (file is None) == (not questions):
        problem = "no question" if file is None else "questions and a file of questions"
        raise OptionError(
            f"The command line has {problem}",
            hint="write one question or more, or name a file with --file",
        )
    if file is None:
        return [*(questions or [])]
    from hartley.agent.workload import read_workload

    return [entry.wish for entry in read_workload(file)]


def _written_curve(curves: list[PriceCurve], html: Path | None, csv: Path | None) -> dict[str, str]:
    """Write a curve; a file holds one. Return the files by their kinds."""
    from hartley.files import write_all_or_none, write_whole
    from hartley.reports import write_html

    if len(curves) > 1 and (html is not None or csv is not None):
        raise OptionError(
            f"A report is of one question, and {len(curves)} were asked",
            hint="leave out --html and --csv, or write one report per question",
        )
    check_files({"report": html, "table of points": csv}, {})
    written: dict[str, str] = {}
    with write_all_or_none():
        if html is not None:
            written["html"] = str(write_html(curves[0], html))
        if csv is not None:
            written["csv"] = str(write_whole(csv, curves[0].csv()))
    return written


TOKEN_VARIABLE = "HARTLEY_TOKEN"  # noqa: S105 - the name of a variable


class _ServiceOptions(NamedTuple):
    """The options that name a dataset of a service."""

    url: str | None
    token_file: Path | None
    dataset: str | None
    certificates: Path | None
    insecure: bool

    def connect(self, local: Mapping[str, object]) -> RemoteAgent:
        """Connect to the dataset; raise an error for options that the service decides on."""
        from hartley.client.remote_agent import connect

        given = [name for name, value in local.items() if value]
        if given:
            raise OptionError(
                f"The service decides on {listed(given)}",
                hint="leave that out, or leave out --url",
            )
        token = os.environ.get(TOKEN_VARIABLE, "")
        if self.token_file is not None:
            token = read_text_file(self.token_file, what="token file")
        elif not token.strip():  # never an option, since others can see a command line
            raise OptionError(
                "There is no token for the service",
                hint=f"name its file with --token-file, or set {TOKEN_VARIABLE}",
            )
        assert self.url is not None
        return connect(
            self.url,
            token=token.strip(),
            dataset=self.dataset,
            certificates=self.certificates,
            insecure=self.insecure,
        )

    def refuse(self) -> None:
        """Raise an error for options that only make sense with --url."""
        given = [f"--{n.replace('_', '-')}" for n, value in self._asdict().items() if value]
        if given:
            raise OptionError(
                f"There is no service for {listed(given)}", hint="give its address with --url"
            )
