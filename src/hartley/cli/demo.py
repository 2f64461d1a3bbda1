"""The command ``hartley demo``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.output import say

if TYPE_CHECKING:
    from hartley.service.identity import IssuedToken
    from hartley.service.settings import ServiceSettings

BUDGET, ALLOWANCE = 16, 12
ANALYST, OWNER = "ana", "owner"


def demo_command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Where to put the table, the ledger and the copy."),
    ] = Path("hartley-demo"),
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where to listen.")
    ] = "127.0.0.1:8080",
) -> None:
    """Start a service with invented people, and print its address and tokens to try it.

    [dim]Example: hartley demo[/dim]
    """
    from hartley.service.server import serve

    settings = _demo_settings(folder).changed(listen, None)

    def ready(address: str, token: IssuedToken | None) -> None:
        analyst, owner = _tokens(settings, token)
        say(f"A service with 5,000 invented people: {address}/")
        say("Open it in a browser and log in with a token; both are for this demonstration only.")
        say(f"  analyst, who may spend {ALLOWANCE} bits:\n    {analyst}")
        say(f"  owner, who sees accounts and budgets:\n    {owner}")
        say("Stop it with Ctrl-C.")
        sys.stdout.flush()

    serve(settings, ready=ready)


def _demo_settings(folder: Path) -> ServiceSettings:
    """Write the sample table and its schema, and return the settings of a service with them."""
    from hartley.datasets.people import people, people_schema
    from hartley.files import unwritable, whole_file, write_whole
    from hartley.service.settings import DatasetSettings, ServiceSettings

    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(f"The folder {folder}", error) from None
    table, schema = folder / "people.parquet", folder / "people.schema.toml"
    if not table.exists():
        import pyarrow.parquet as pq

        with whole_file(table) as half:
            pq.write_table(people(), half)
    write_whole(schema, people_schema())
    dataset = DatasetSettings(
        name="people", schema=schema, budget=str(BUDGET), data=str(table), analysts=(ANALYST,)
    )
    return ServiceSettings(
        ledger=str(folder / "ledger.db"), datasets={"people": dataset}, folder=folder
    )


def _tokens(settings: ServiceSettings, first: IssuedToken | None) -> tuple[str, str]:
    """Return a token of the analyst and one of the owner, new ones at every start."""
    from hartley.agent.ledger import open_ledger
    from hartley.service.accounts import open_accounts

    with open_ledger(settings.ledger) as ledger:
        accounts = open_accounts(ledger)
        if first is not None:
            content = {"analyst": ANALYST, "bits": str(ALLOWANCE)}
            ledger.record("people", "allowance", content)
            accounts.note(OWNER, "set allowance", ANALYST, f"people {ALLOWANCE}")
        issued = [
            accounts.issue_token(name, scopes="ask", label="demonstration", by=OWNER).text
            for name in (ANALYST, OWNER)
        ]
    return issued[0], issued[1]
