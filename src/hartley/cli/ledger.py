"""The commands ``hartley ledger verify|show|budget|population|export|backup|restore``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.output import Format, console, print_json, say, wants_json
from hartley.errors import InputError, OptionError
from hartley.exact import bits_at_least, write_integer
from hartley.text import exactly, number

if TYPE_CHECKING:
    from rich.table import Table

    from hartley.agent.ledger import Ledger
    from hartley.trusted.ledger.ledger import State
    from hartley.trusted.ledger.rows import Head
    from hartley.trusted.ledger.state import Balance, Population

SEEN = 0.01
"""Bits that a reader misses if they are neither spent nor left."""

ledger_app = typer.Typer(
    name="ledger",
    help="Check, show, export, back up and restore the ledger of charges and answers, and set "
    "budgets: of a dataset, for every year, and of datasets about the same people.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

Address = Annotated[
    str,
    typer.Argument(metavar="LEDGER", help="A file, or postgresql://user@host/database."),
]


@ledger_app.command("verify")
def verify_command(
    ledger: Address,
    head: Annotated[
        Path | None,
        typer.Option(
            "--head",
            metavar="FILE",
            help="Compare with a head saved earlier, which detects a ledger that is older.",
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Start from a head saved after an earlier check: only the rows after it are "
            "replayed.",
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Replay every row of a LEDGER: hashes, balances, prices; exit with 1 if something is wrong."""
    from hartley.agent.ledger import read_head
    from hartley.agent.replay import verify_prices

    saved, start = (read_head(path) if path else None for path in (head, since))
    with _open(ledger) as opened:
        report = verify_prices(opened, head=saved, since=start)
    if wants_json(json):
        print_json(
            {
                "holds": report.holds,
                "rows": report.rows,
                "charges_priced_again": report.repriced,
                "charges_not_priced_again": report.unpriced,
                "rows_not_checked": list(report.unchecked),
                "first_bad_row": report.first_bad,
                "problem": report.problem,
                "rows_intact": report.intact,
                "taken_from_saved_head": None if start is None else start.sequence,
                "head": _head_content(report.head),
                "sentence": report.sentence,
            }
        )
    else:
        from rich.markup import escape

        style = "green" if report.holds else "bold red"
        console().print(f"[{style}]{escape(report.sentence)}[/{style}]", soft_wrap=True)
        if report.head:
            text = f"Last good row {report.head.sequence}, {report.head.hash}"
            console().print(text, style="dim", soft_wrap=True)
    if not report.holds:
        raise typer.Exit(1)


@ledger_app.command("show")
def show_command(
    ledger: Address,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="Show only this dataset.")
    ] = None,
    analyst: Annotated[
        str | None,
        typer.Option(
            "--analyst", metavar="NAME", help="Show only what this analyst asked and has left."
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Show the datasets of a LEDGER: budgets, bits spent, allowances and every charge."""
    with _open(ledger) as opened:
        names = opened.datasets() if dataset is None else [dataset]
        # An analyst sees only their own balance.
        shared = opened.populations() if dataset is None and analyst is None else []
        if wants_json(json):
            content: dict[str, Any] = {"datasets": [_content(opened, n, analyst) for n in names]}
            if shared:
                content["populations"] = [_population_content(each) for each in shared]
            if dataset is None and analyst is None:
                content["added_budgets_bits"] = str(opened.added_budgets()[1])
            print_json(content)
            return
        for population in shared:
            _print_population(population)
        for name in names:
            _print_dataset(opened, name, analyst)
        if dataset is None and analyst is None:
            budgets, bits = opened.added_budgets()
            if budgets > 1:  # what datasets without a shared budget may reveal together
                text = f"{budgets} budgets: about the same people they multiply, up to {bits} bits"
                console().print(f"{text} in all", soft_wrap=True)
        if not names and not shared:
            console().print("The ledger is empty.")


@ledger_app.command("budget")
def budget_command(  # noqa: PLR0913, PLR0917 - the options of a command
    ledger: Address,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="NAME", help="The dataset, if there are several."),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option("--total", metavar="BITS", help="The whole budget, over all time."),
    ] = None,
    year: Annotated[
        str | None, typer.Option("--per-year", metavar="BITS", help="The part of every year.")
    ] = None,
    quarter: Annotated[
        str | None, typer.Option("--per-quarter", metavar="BITS", help="The part of every quarter.")
    ] = None,
    month: Annotated[
        str | None, typer.Option("--per-month", metavar="BITS", help="The part of every month.")
    ] = None,
    no_period: Annotated[
        bool, typer.Option("--no-period", help="End the parts by year, quarter or month.")
    ] = False,
    json: Format = None,
) -> None:
    """Set the budget of a dataset, or the part of it that each year, quarter or month may spend.

    [dim]Example: hartley ledger budget ledger.db --per-year 8[/dim]
    """
    from hartley.trusted.ledger.state import period_words

    parts = {"year": year, "quarter": quarter, "month": month}
    chosen = [(per, bits) for per, bits in parts.items() if bits is not None]
    if len(chosen) + no_period > 1 or (not chosen and not no_period and total is None):
        raise OptionError(
            "Give one of --per-year, --per-quarter, --per-month and --no-period, or --total",
            hint="for example --per-year 8",
        )
    with _open(ledger) as opened:
        name = _only_dataset(opened, dataset)
        if total is not None:
            opened.record(name, "budget", {"bits": total})
        if chosen or no_period:
            per, bits = chosen[0] if chosen else (None, None)
            opened.record(name, "period", {"per": per, "bits": bits})
        state = opened.state(name)
    if wants_json(json):
        balance = _balance_content(state.balance)
        print_json({"name": name, "balance": balance, "period": _period_content(state)})
        return
    budget = exactly(state.budget)
    say(f"Dataset {name}: {_bits(state.balance.spent)} of {budget} bits are spent over all time.")
    words = period_words(state.period)
    say(f"{words[0].upper()}{words[1:]}." if state.period is None else f"Of that, {words}.")


def _only_dataset(ledger: Ledger, dataset: str | None) -> str:
    names = ledger.datasets()
    if dataset is None and len(names) == 1:
        return names[0]
    if dataset is None:
        raise OptionError(
            f"The ledger has {len(names)} datasets", hint="name one of them with --dataset"
        )
    return dataset


def _period_content(state: State) -> dict[str, Any] | None:
    period = state.period
    if period is None:
        return None
    return {
        "per": period.per,
        "name": period.name,
        "next": period.following,
        "balance": _balance_content(period.balance),
    }


@ledger_app.command("population")
def population_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the population in the schemas.")
    ],
    ledger: Address,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="BITS",
            help="What all its datasets together may reveal about one person, in bits.",
        ),
    ],
    json: Format = None,
) -> None:
    """Set the budget that datasets about the same people share; their schemas name the population.

    [dim]Example: hartley ledger population town --budget 20 ledger.db[/dim]
    """
    from hartley.agent.ledger import open_ledger

    _refuse_exchanged(name, ledger)
    with open_ledger(ledger) as opened:  # a population may be the first entry of a new ledger
        entry = opened.record(name, "population", {"bits": budget})
        (population,) = (each for each in opened.populations() if each.name == name)
    if wants_json(json):
        content = _population_content(population)
        print_json(
            {**content, "before_bits": entry.told["before"], "promise": entry.told["promise"]}
        )
        return
    say(f"Population {name}: {entry.told['promise']}.")
    if population.datasets:
        say(f"{_spent(population.balance)}.")


def _refuse_exchanged(name: str, ledger: str) -> None:
    """Raise an error if the arguments are swapped; it would create a ledger under that name."""
    if "://" not in ledger and not Path(ledger).exists() and Path(name).is_file():
        raise InputError(
            f"There is no ledger '{ledger}', and '{name}' is a file",
            hint="write the name of the population before the ledger",
        )


@ledger_app.command("export")
def export_command(
    ledger: Address,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist yet.")
    ],
    head: Annotated[
        Path | None,
        typer.Option(
            "--head",
            metavar="FILE",
            help="Also write the head to this file, to keep apart from the ledger.",
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Export every row of a LEDGER as JSON lines; they contain no secrets."""
    with _open(ledger) as opened:
        rows = opened.export(file)
        saved = opened.save_head(head) if head else opened.head()
    if wants_json(json):
        print_json({"file": str(file), "rows": rows, "head": _head_content(saved)})
    else:
        say(f"Wrote {rows:,} rows to {file}.")
        if head:
            say(f"Head: {head}. Keep it apart from the ledger.")


@ledger_app.command("backup")
def backup_command(
    ledger: Address,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist yet.")
    ],
    json: Format = None,
) -> None:
    """Back up a LEDGER as of one moment, even while it is in use."""
    with _open(ledger) as opened:
        opened.backup(file)
    if wants_json(json):
        print_json({"file": str(file)})
    else:
        say(f"Wrote {file}.")


@ledger_app.command("restore")
def restore_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The backup or export to restore from.")
    ],
    ledger: Address,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Restore even if rows of the ledger, and their charges, would be lost."
        ),
    ] = False,
    json: Format = None,
) -> None:
    """Restore a LEDGER from a backup FILE, after checking its chain."""
    from hartley.agent.agent import new_ledger_file, remove_unused_ledger
    from hartley.agent.ledger import open_ledger

    new_file = new_ledger_file(ledger)
    try:
        with open_ledger(ledger) as opened:
            done = opened.restore(file, force=force)
    except BaseException:
        if new_file is not None:  # made for nothing
            remove_unused_ledger(new_file)
        raise
    if wants_json(json):
        content = {"rows": done.rows, "added": done.added, "forgotten": done.forgotten}
        print_json({**content, "head": _head_content(done.head)})
        return
    say(f"The ledger holds {done.rows:,} rows, {done.added:,} of them new.")
    if done.forgotten:
        say(f"{done.forgotten:,} rows were lost: their charges no longer count.")


def _open(address: str) -> Ledger:
    from hartley.agent.ledger import open_ledger

    return open_ledger(address, create=False)


def _head_content(head: Head | None) -> dict[str, Any] | None:
    return None if head is None else {"sequence": head.sequence, "hash": head.hash}


def _balance_content(balance: Balance) -> dict[str, Any]:
    return {
        "bits": str(balance.bits),
        "spent_cells": write_integer(balance.spent),
        "spent_bits": balance.spent_bits,
        "remaining_bits": balance.remaining,
    }


def _population_content(population: Population) -> dict[str, Any]:
    return {
        "name": population.name,
        "datasets": list(population.datasets),
        "balance": _balance_content(population.balance),
    }


def _content(ledger: Ledger, dataset: str, analyst: str | None) -> dict[str, Any]:
    """Return one dataset as plain values; an analyst sees only their own balance."""
    charges = [
        {
            "row": charge.sequence,
            "time": charge.time,
            "analyst": charge.analyst,
            "version": charge.version,
            "cells": write_integer(charge.cells),
            "due_bits": bits_at_least(charge.due.numerator, charge.due.denominator),
            "note": charge.note,
            "questions": list(charge.questions),
            "answers": list(charge.answers),
        }
        for charge in ledger.history(dataset, analyst)
    ]
    if analyst is not None:
        own = _balance_content(ledger.balance(dataset, analyst))
        return {"name": dataset, "analyst": analyst, "balance": own, "charges": charges}
    state = ledger.state(dataset)
    shared = state.population
    return {
        "name": dataset,
        **({} if shared is None else {"population": shared.name}),
        "version": state.version,
        "rows": state.rows,
        "schema_version": state.schema_version,
        "rule_version": state.rule_version,
        "open_factor": write_integer(state.open_factor),
        "balance": _balance_content(state.balance),
        **({} if state.period is None else {"period": _period_content(state)}),
        "allowances": {name: _balance_content(b) for name, b in state.allowances.items()},
        "charges": charges,
    }


def _print_dataset(ledger: Ledger, dataset: str, analyst: str | None) -> None:
    from rich.markup import escape

    out = console()
    if analyst is None:
        _print_state(ledger.state(dataset))
    else:
        own = ledger.balance(dataset, analyst)
        out.print(f"[bold]{escape(dataset)}[/bold], {escape(analyst)}: {_spent(own)}")
    table = _table("row", "time", "analyst", "bits", "questions", "answered", "asked")
    for charge in ledger.history(dataset, analyst):
        answered = sum(answer is not None for answer in charge.answers)
        table.add_row(
            str(charge.sequence),
            charge.time[:19].replace("T", " "),
            escape(charge.analyst),
            _bits(charge.due.numerator, charge.due.denominator),
            str(len(charge.questions)),
            "yes" if answered == len(charge.answers) else f"{answered} of {len(charge.answers)}",
            escape(charge.note or ""),
        )
    out.print(table)
    out.print()


def _print_population(population: Population) -> None:
    from rich.markup import escape

    names = escape(", ".join(population.datasets)) or "no dataset yet"
    console().print(
        f"population [bold]{escape(population.name)}[/bold]: {_spent(population.balance)}; {names}",
        soft_wrap=True,
    )


def _print_state(state: State) -> None:
    from rich.markup import escape

    out = console()
    rows = "private number of rows" if state.rows is None else f"{state.rows:,} rows"
    out.print(
        f"[bold]{escape(state.dataset)}[/bold]: {escape(_spent(state.balance))}; {rows}, "
        f"version {state.version}",
        soft_wrap=True,
    )
    if state.period is not None:
        from hartley.trusted.ledger.state import period_words

        out.print(f"of that, {period_words(state.period)}", soft_wrap=True)
    if not state.allowances:
        return
    table = _table("allowance", "bits", "spent", "left")
    for name, balance in state.allowances.items():
        table.add_row(escape(name), str(balance.bits), _bits(balance.spent), _remaining(balance))
    table.add_row(
        "[dim]the others[/dim]",
        str(state.free.bits),
        _bits(state.free.spent),
        _remaining(state.free),
    )
    out.print(table)


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(
            name, justify="right" if name in {"row", "bits", "spent", "left"} else "left"
        )
    return table


def _bits(cells: int, over: int = 1) -> str:
    return number(bits_at_least(cells, over), round="up", places=3)


def _spent(balance: Balance) -> str:
    """Say what is spent and what is left: less than the rest, where no charge makes it up."""
    tightest = f" of {balance.tightest}" if balance.tightest else ""
    words = f"{_bits(balance.spent)} of {exactly(balance.bits)} bits spent, {_remaining(balance)}"
    if tightest or balance.spent_bits + balance.remaining > balance.bits - SEEN:
        return f"{words}{tightest} left"
    largest = "the largest price that fits: answers are counted whole"
    return f"{words} left ({largest if balance.left > 1 else 'the cheapest question costs 1 bit'})"


def _remaining(balance: Balance) -> str:
    return number(balance.remaining, round="down", places=3)
