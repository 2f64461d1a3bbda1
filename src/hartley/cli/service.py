"""The commands ``hartley serve``, ``demo`` and ``account``: the agent for many analysts."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.output import Format, console, is_terminal, print_json, say, wants_json
from hartley.cli.reading import reads_tables
from hartley.errors import InputError, OptionError, without_password
from hartley.tables.reading import AS_WRITTEN, ReadingOptions

if TYPE_CHECKING:
    from hartley.agent.ledger import Ledger
    from hartley.errors import HartleyError
    from hartley.service.accounts import Accounts
    from hartley.service.identity import IssuedToken, ServiceAccount, TokenRecord
    from hartley.service.settings import ServiceSettings


account_app = typer.Typer(
    name="account",
    help="Add, list and revoke the accounts of a service, and issue their tokens.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
BY = "command line"
"""Who acts, in the audit log: who can open the ledger's database needs no token."""
LONGEST_DAYS = 3660

Address = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER", help="The ledger of the service: a file, or postgresql://user@host/db."
    ),
]
TokenOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the token to a new private file, for --token-file, instead of showing it.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the account.")]


@account_app.command("add")
def add_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    name: Name,
    ledger: Address,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            metavar="owner|analyst|auditor",
            help="What the account does: manage the service, ask, or verify the ledger.",
        ),
    ] = "analyst",
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", metavar="NAME", help="A dataset that the account may see."),
    ] = None,
    allowance: Annotated[
        str | None,
        typer.Option(
            "--allowance",
            metavar="BITS",
            help="What the account may spend of the budget of each --dataset; default: 0, so that "
            "it sees only prices.",
        ),
    ] = None,
    daily_cap: Annotated[
        str | None,
        typer.Option(
            "--daily-cap",
            metavar="BITS",
            help="The most that the account may spend on one UTC day.",
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Add an account to a service; it has no token yet.

    [dim]Example: hartley account add ana ledger.db --dataset people --allowance 8[/dim]
    """
    from hartley.agent.ledger import open_ledger
    from hartley.exact import floor_power, parse_number
    from hartley.service.accounts import open_accounts
    from hartley.service.identity import check_account_name, read_role
    from hartley.service.own_rows import require_covered, set_allowance

    check_account_name(name)
    read_role(role)
    if allowance is not None and not dataset:
        raise OptionError(
            "An allowance is given without a dataset", hint="name the dataset with --dataset"
        )
    for what, text in (("the allowance", allowance), ("the daily cap", daily_cap)):
        if text is not None and parse_number(text, name=what) < 0:
            raise OptionError(f"{what.capitalize()} is less than 0 bits", hint="give 0 or more")
    if daily_cap is not None:
        floor_power(daily_cap, what="daily cap")  # refuses what is out of reach
    with open_ledger(ledger, create=False) as opened:
        _refuse_unknown(opened, dataset or [])
        for each in dataset or [] if allowance is not None else []:
            bits = parse_number(allowance, name="the allowance")
            require_covered(opened, each, more_bits=bits)
        # Every mistake is found by now: an account is added as a whole, and its tables with it.
        accounts = open_accounts(opened)
        accounts.add(name, role, by=BY)
        for each in dataset or []:
            accounts.grant(name, each, by=BY)
        if daily_cap is not None:
            accounts.set_daily_cap(name, daily_cap, by=BY)
        for each in dataset or [] if allowance is not None else []:
            set_allowance(opened, accounts, dataset=each, account=name, bits=allowance, by=BY)
        account = accounts.get(name)
    if wants_json(json):
        print_json(_content(account, []))
        return
    say(f"Added the {account.role.value} {name}.")
    say(f"Issue a token for it: hartley account token {name} {quote(without_password(ledger))}")


@account_app.command("allow")
def allow_command(
    name: Name,
    ledger: Address,
    dataset: Annotated[
        str,
        typer.Option("--dataset", metavar="NAME", help="The dataset; the account may then see it."),
    ],
    allowance: Annotated[
        str,
        typer.Option(
            "--allowance", metavar="BITS", help="What the account may spend of the budget, in all."
        ),
    ],
    json: Format = None,
) -> None:
    """Set what an account may spend of the budget of a dataset; for a revoked one, lower it.

    [dim]Example: hartley account allow ana ledger.db --dataset people --allowance 12[/dim]
    """
    from hartley.exact import parse_number
    from hartley.service.own_rows import set_allowance

    if parse_number(allowance, name="the allowance") < 0:
        raise OptionError("The allowance is less than 0 bits", hint="give 0 or more")
    with _open(ledger) as accounts:
        _refuse_unknown(accounts.ledger, [dataset])
        in_use = accounts.get(name).revoked is None
        wanted = set_allowance(
            accounts.ledger, accounts, dataset=dataset, account=name, bits=allowance, by=BY
        )
        if in_use:
            accounts.grant(name, dataset, by=BY)
    if wants_json(json):
        print_json({"account": name, "dataset": dataset, "allowance_bits": str(wanted)})
        return
    say(f"The account {name} may spend {wanted} bits of the budget of {dataset}.")


@account_app.command("list")
def list_command(
    ledger: Address,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Show only this account.")
    ] = None,
    json: Format = None,
) -> None:
    """List the accounts of a service with their tokens, which are shown without their secrets."""
    with _open(ledger) as accounts:
        chosen = accounts.list() if name is None else [accounts.get(name)]
        tokens = {account.name: accounts.tokens(account.name) for account in chosen}
    if wants_json(json):
        print_json({"accounts": [_content(each, tokens[each.name]) for each in chosen]})
        return
    if not chosen:
        say("There is no account.")
        return
    _print_accounts(chosen, tokens)


@account_app.command("revoke")
def revoke_command(
    name: Name,
    ledger: Address,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="ID", help="Revoke only this token of the account."),
    ] = None,
    json: Format = None,
) -> None:
    """Revoke an account with all its tokens, for good, or one token; it counts within a second.

    [dim]Example: hartley account revoke ana ledger.db --token 1f3a5b7c9d0e2f46[/dim]
    """
    with _open(ledger) as accounts:
        if token is None:
            accounts.revoke_account(name, by=BY)
        else:
            if token not in {record.token_id for record in accounts.tokens(name)}:
                raise InputError(
                    f"The account '{name}' has no token of this id",
                    hint="see the ids with 'hartley account list'",
                )
            accounts.revoke_token(token, by=BY)
    if wants_json(json):
        print_json({"account": name, "token": token, "revoked": True})
        return
    what = f"the account {name} and all its tokens" if token is None else f"the token {token}"
    say(f"Revoked {what}.")


@account_app.command("token")
def token_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    name: Name,
    ledger: Address,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            metavar="price|repeat|ask",
            help="What the token may do: see prices; also repeat what is paid for; also ask.",
        ),
    ] = "ask",
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="N", help="Valid for this many days; default: no end."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="TEXT", help="A text by which you recognise the token."),
    ] = None,
    out: TokenOut = None,
    json: Format = None,
) -> None:
    """Issue a token for an account; its text is shown once and kept nowhere.

    [dim]Example: hartley account token ana ledger.db --scope repeat --days 90[/dim]
    """
    if days is not None and not 0 < days <= LONGEST_DAYS:
        raise OptionError(
            "The number of days is too small or too large",
            hint=f"give more than 0, up to {LONGEST_DAYS:,}",
        )
    if out is not None and out.exists():
        raise InputError(f"The file '{out}' exists already", hint="name a new file")
    with _open(ledger) as accounts:
        issued = accounts.issue_token(
            name,
            scopes=scope,
            expires=None if days is None else timedelta(days=days),
            label=label,
            by=BY,
        )
        if out is not None:
            try:
                _write_private(out, issued)
            except InputError:
                accounts.revoke_token(issued.token_id, by=BY)  # nobody has seen it
                raise
    if wants_json(json):
        shown = {"file": str(out)} if out is not None else {"token": issued.text}
        print_json({"account": name, "id": issued.token_id, "scope": scope} | shown)
        return
    if out is not None:
        say(f"Wrote the token {issued.token_id} to {out}.")
        return
    say(issued.text)
    say("This is shown once. Keep it as you keep a password.")


def _open(ledger: str) -> Accounts:
    """Open the accounts of a ledger that has some."""
    from hartley.service.accounts import open_accounts

    return open_accounts(ledger, create=False)


def _refuse_unknown(ledger: Ledger, datasets: list[str]) -> None:
    known = ledger.datasets()
    for dataset in datasets:
        if dataset not in known:
            from hartley.text import listed

            raise InputError(
                f"The ledger has no dataset '{dataset}'",
                hint=f"it has {listed(known)}" if known else "start the service first",
            )


def _write_private(path: Path, issued: IssuedToken) -> None:
    """Write a token to a new file that only its owner can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(issued.text + "\n")
    except OSError:
        raise InputError(
            f"The file '{path}' cannot be written", hint="name a new file in a writable folder"
        ) from None


def _content(account: ServiceAccount, tokens: list[TokenRecord]) -> dict[str, Any]:
    kept = [token.to_dict() for token in tokens]
    for each in kept:
        del each["account"]
    return account.to_dict() | {"tokens": [{"id": each.pop("token_id")} | each for each in kept]}


def _print_accounts(accounts: list[ServiceAccount], tokens: dict[str, list[TokenRecord]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head in ("account", "role", "datasets", "bits a day", "token", "scope", "label", "state"):
        table.add_column(head, no_wrap=head in {"account", "token"})
    for account in accounts:
        cap = "" if account.daily_cap is None else str(account.daily_cap)
        seen = "all" if account.role == "owner" else ", ".join(sorted(account.datasets))
        of_account = [account.name, account.role.value, seen, cap]
        lines = [
            [token.token_id, token.scope.value, token.label or "", _state(account, token)]
            for token in tokens[account.name]
        ] or [["", "", "", _state(account, None)]]
        for number, line in enumerate(lines):
            cells = (of_account if number == 0 else [""] * 4) + line
            table.add_row(*map(escape, cells))
    console().print(table)


def _state(account: ServiceAccount, token: TokenRecord | None) -> str:
    revoked = account.revoked or (token.revoked if token is not None else None)
    if revoked is not None:
        return f"revoked {revoked[:10]}"
    if token is None:
        return "no token"
    used = "never used" if token.last_used is None else f"used {token.last_used[:16]}"
    return used if token.expires is None else f"{used}, until {token.expires[:10]}"


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
        say(f"{without_password(source)} can be served.")
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
