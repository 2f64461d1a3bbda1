"""The command ``hartley serve``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.options import reads_tables
from hartley.cli.output import Format, is_terminal, print_json, say, wants_json
from hartley.errors import OptionError
from hartley.tables.reading import AS_WRITTEN, ReadingOptions

if TYPE_CHECKING:
    from hartley.errors import HartleyError
    from hartley.service.identity import IssuedToken
    from hartley.service.settings import ServiceSettings


@reads_tables
def serve_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    source: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|TABLE",
            help="A configuration in TOML; or, for a first try, a Parquet or CSV file.",
        ),
    ],
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="The public schema of TABLE, in TOML."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="BITS", help="The budget of TABLE in bits.")
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            metavar="FILE|URL",
            help="The ledger of TABLE; default: a file next to TABLE.",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Where to listen; default: as in CONFIG, or 127.0.0.1:8080.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", help="Worker processes; default: as in CONFIG."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only say what is wrong; exit with 2 if something is."),
    ] = False,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Run the agent as a service: HTTP for many analysts, with accounts and a web console.

    [dim]Example: hartley serve people.parquet --schema people.schema.toml --budget 16[/dim]
    """
    is_config = source.endswith(".toml")
    if is_config and (schema or budget or ledger or reading != AS_WRITTEN):
        raise OptionError(
            "A configuration was given together with options of a table",
            hint="write schema, budget, ledger and reading into the configuration",
        )
    if check and is_config:
        from hartley.service.settings import problems_of

        _report(problems_of(source, listen=listen, workers=workers), source, json)
        return
    settings = _configured(source) if is_config else _tried(source, schema, budget, ledger, reading)
    settings = settings.changed(listen, workers)
    if check:
        from hartley.service.settings import problems_of_settings

        _report(problems_of_settings(settings), source, json)
        return
    from hartley.service.server import serve

    serve(
        settings,
        made=lambda token: _hand_over(token, settings),
        ready=lambda address, _: _announce(address, settings),
    )


def _configured(path: str) -> ServiceSettings:
    from hartley.service.settings import read_settings

    return read_settings(path)


def _tried(
    table: str,
    schema: Path | None,
    budget: str | None,
    ledger: str | None,
    reading: ReadingOptions,
) -> ServiceSettings:
    """Return settings for one table, as a first try."""
    from hartley.schema.schema import Schema
    from hartley.service.settings import DatasetSettings, ServiceSettings

    if schema is None:
        raise OptionError(
            "A table was given without its schema",
            hint="add --schema FILE; hartley schema draft writes one",
        )
    name = Schema.read(schema).name
    folder = Path() if "://" in table else Path(table).absolute().parent
    dataset = DatasetSettings(
        name=name, schema=schema.absolute(), budget=budget, data=table, reading=reading
    )
    return ServiceSettings(
        ledger=ledger or str(folder / f"{name}.ledger.db"),
        datasets={name: dataset},
        folder=folder.absolute(),
    )


def _report(problems: list[HartleyError], source: str, json: bool | None) -> None:
    """Print what is wrong with a configuration; exit with 2 if something is."""
    if wants_json(json):
        listed = [{"problem": error.problem, "hint": error.hint} for error in problems]
        print_json({"holds": not problems, "problems": listed})
    elif problems:
        say("\n".join(str(error) for error in problems))
    else:
        say(f"{source} can be served.")
    if problems:
        raise typer.Exit(2)


def _hand_over(token: IssuedToken | None, settings: ServiceSettings) -> None:
    from hartley.service.server import hand_over

    if token is not None:
        say(hand_over(token, settings.folder, terminal=is_terminal(sys.stdout)))
        sys.stdout.flush()


def _announce(address: str, settings: ServiceSettings) -> None:
    from hartley.text import count_of

    say(f"Hartley serves {count_of(len(settings.datasets), 'dataset')} at {address}/")
    sys.stdout.flush()
