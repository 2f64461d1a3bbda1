"""All commands, and what happens when one fails."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from hartley.cli.anonymity import anonymity_command, anonymize_command
from hartley.cli.ask import ask_command, price_command
from hartley.cli.attack import attack_app
from hartley.cli.audit import audit_command
from hartley.cli.curve import curve_command
from hartley.cli.datasets import datasets_command
from hartley.cli.design import design_command
from hartley.cli.doctor import doctor_command
from hartley.cli.ledger import ledger_app
from hartley.cli.microaggregate import microaggregate_command
from hartley.cli.output import is_terminal
from hartley.cli.pram import estimate_command, pram_command
from hartley.cli.refusals import pointed_at
from hartley.cli.release import release_command
from hartley.cli.reproduce import reproduce_command
from hartley.cli.sample import sample_command
from hartley.cli.schema import schema_app
from hartley.cli.tradeoff import tradeoff_command
from hartley.cli.verify import verify_command
from hartley.errors import HartleyError, InputError, Refused

INTERRUPTED = 130
"""What typer makes of an interruption."""
STOPPED = "Interrupted; hint: nothing was left half-written"

app = typer.Typer(
    name="hartley",
    help="Deterministic privacy: measure exactly what a release of data tells about a secret.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit")(audit_command)
app.command("design")(design_command)
app.command("tradeoff")(tradeoff_command)
app.command("release")(release_command)
app.command("verify")(verify_command)
app.command("anonymity")(anonymity_command)
app.command("anonymize")(anonymize_command)
app.command("curve")(curve_command)
app.command("microaggregate")(microaggregate_command)
app.command("pram")(pram_command)
app.command("estimate")(estimate_command)
app.command("reproduce")(reproduce_command)
app.command("sample")(sample_command)
app.command("datasets")(datasets_command)
app.command("doctor")(doctor_command)
app.add_typer(schema_app)
app.command("price")(price_command)
app.command("ask")(ask_command)
app.add_typer(ledger_app)
app.add_typer(attack_app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hartley {installed_version('hartley')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Deterministic privacy: measure exactly what a release of data tells about a secret."""


def main() -> None:
    """Run a command; exit with 0 done, 2 the user's mistake, 1 anything else."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a sign shows another one
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="hartley", standalone_mode=False)
    except HartleyError as error:
        _fail(pointed_at(error), 2 if isinstance(error, (InputError, Refused)) else 1)
    except (KeyboardInterrupt, typer.Abort):
        _fail(STOPPED, 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # a word that is no option
            error.show()
            sys.exit(error.exit_code)
        if os.environ.get("HARTLEY_DEBUG"):
            raise
        _fail(
            f"Something went wrong inside Hartley ({type(error).__name__}); "
            "hint: run again with HARTLEY_DEBUG=1 to see where, and report it",
            1,
        )
    if code == INTERRUPTED:
        _fail(STOPPED, 1)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    plain = os.environ.get("NO_COLOR") or not is_terminal(sys.stderr)
    typer.secho(f"Error: {message}", err=True, fg=None if plain else typer.colors.RED)
    sys.exit(code)
