"""The list of commands, and a group that imports a command only when it is called."""

from __future__ import annotations

import copy
import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from hartley.cli.recording import WORDS, recorded

if TYPE_CHECKING:
    from collections.abc import Callable


class CommandEntry(NamedTuple):
    """A command in the list of ``hartley --help``, and the place of its code."""

    home: str
    """The module of ``hartley.cli`` and the function or Typer application in it."""
    help: str
    """The first line of its help; a test compares it with the docstring."""


COMMANDS = {
    "scan": CommandEntry(
        "scan:scan_command",
        "Look at a raw TABLE: what its columns seem to be, and whom it gives away as it is.",
    ),
    "audit": CommandEntry(
        "audit:audit_command",
        "Measure exactly what released columns of a TABLE reveal about secret ones.",
    ),
    "design": CommandEntry(
        "design:design_command", "Design the best release for an objective, and certify it."
    ),
    "tradeoff": CommandEntry(
        "tradeoff:tradeoff_command",
        "Show how privacy and utility of a design trade off, as a curve.",
    ),
    "release": CommandEntry(
        "release:release_command",
        "Release a TABLE under a POLICY; columns that the policy does not name are not released.",
    ),
    "verify": CommandEntry(
        "verify:verify_command",
        "Recompute a CERTIFICATE from its POLICY, and say whether it holds.",
    ),
    "check": CommandEntry(
        "check:check_command",
        "Find out what published OUTPUTs reveal together, and prove it.",
    ),
    "anonymity": CommandEntry(
        "anonymity:anonymity_command",
        "Measure how anonymous the records of a TABLE are, and which attacks still succeed.",
    ),
    "anonymize": CommandEntry(
        "anonymity:anonymize_command",
        "Coarsen the keys of a TABLE until everybody shares theirs with K - 1 others.",
    ),
    "curve": CommandEntry(
        "curve:curve_command",
        "Compute the least that a perturbed key can reveal at every distortion, with certified "
        "bounds.",
    ),
    "gaussian": CommandEntry(
        "gaussian:gaussian_command",
        "Add the Gaussian noise that reveals least at a given squared distortion, with its proof.",
    ),
    "microaggregate": CommandEntry(
        "microaggregate:microaggregate_command",
        "Replace the records of a TABLE with averages over groups of at least K similar records.",
    ),
    "pram": CommandEntry(
        "pram:pram_command",
        "Perturb columns of a TABLE at random, and say what the result still reveals.",
    ),
    "estimate": CommandEntry(
        "pram:estimate_command",
        "Estimate the true frequencies of a perturbed TABLE from its POLICY, with standard errors.",
    ),
    "reproduce": CommandEntry(
        "reproduce:reproduce_command",
        "Reproduce figures of the papers: pictures, numbers and the claims they should confirm.",
    ),
    "sample": CommandEntry(
        "sample:sample_command",
        "Write a synthetic table to experiment with: invented people, or one like a known data "
        "set.",
    ),
    "datasets": CommandEntry(
        "datasets:datasets_command",
        "List the data sets of the papers, their sources, and whether a local copy exists.",
    ),
    "doctor": CommandEntry(
        "doctor:doctor_command",
        "Check what is installed and which engines compute correctly, and say how to fix the rest.",
    ),
    "price": CommandEntry(
        "ask:price_command",
        "Show what questions would cost, from the public schema alone; nothing is spent.",
    ),
    "plan": CommandEntry(
        "plan:plan_command",
        "Plan a workload: its price as one batch and one by one, and how to share a budget.",
    ),
    "ask": CommandEntry(
        "ask:ask_command",
        "Answer a question about a private table truthfully, if the budget covers its price.",
    ),
    "serve": CommandEntry(
        "serve:serve_command",
        "Run the agent as a service: HTTP for many analysts, with accounts and a web console.",
    ),
    "demo": CommandEntry(
        "demo:demo_command",
        "Start a service with invented people, and print its address and tokens to try it.",
    ),
    "schema": CommandEntry(
        "schema:schema_app",
        "Write and check public schemas: columns, their ranges and steps, and whose data it is.",
    ),
    "ledger": CommandEntry(
        "ledger:ledger_app",
        "Check, show, export, back up and restore the ledger of charges and answers, and set "
        "budgets: of a dataset, for every year, and of datasets about the same people.",
    ),
    "account": CommandEntry(
        "account:account_app",
        "Add, list and revoke the accounts of a service, and issue their tokens.",
    ),
    "attack": CommandEntry(
        "attack:attack_app",
        "Attack your own release or agent, and see how much an adversary learns.",
    ),
}
"""Every command in the order of ``hartley --help``."""


class _Listed(TyperCommand):
    """A command that is not yet imported: its name and the first line of its help."""


class LazyGroup(TyperGroup):
    """The commands of ``COMMANDS``: listed without an import, imported when one is called."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - what Typer passes
        super().__init__(**settings)
        for name, entry in COMMANDS.items():
            self.add_command(_Listed(name, help=entry.help))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer keeps these types to itself
        """Remember the words, which the evidence of a result repeats."""
        WORDS.set(tuple(args))
        return list(super().parse_args(ctx, args))

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - likewise
        """Return the options, which show no words of the validator."""
        return [_plain(part) for part in super().get_params(ctx)]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401 - Typer keeps these types to itself
        """Import and return the command that the arguments begin with."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if isinstance(command, _Listed) else command, rest


def load_command(name: str | None) -> Any:  # noqa: ANN401 - Typer keeps these types to itself
    """Import a command and return it with its arguments and options.

    Example:
        >>> [option for part in load_command("sample").params for option in part.opts]
        ['file', '--like', '--rows', '--seed', '--json']
    """
    assert name is not None
    module, _, attribute = COMMANDS[name].home.partition(":")
    value = getattr(import_module(f"hartley.cli.{module}"), attribute)
    if not isinstance(value, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name)(value)
        value = alone
    command = get_command(_recording(value, name))
    for part in (command, *getattr(command, "commands", {}).values()):
        plain_help(part)
    return command


WORDS_FOR_TYPES = {"int": "N", "float": "NUMBER", "str": "TEXT", "Path": "FILE"}
"""What stands in the help in the place of a type, if an option says nothing itself."""


def plain_help(command: Any) -> None:  # noqa: ANN401 - Typer keeps these types to itself
    """Show no words of the validator in the help of a command, such as list[str] or bool."""
    listed = command.get_params
    command.get_params = lambda ctx: [_plain(part) for part in listed(ctx)]


def _plain(part: Any) -> Any:  # noqa: ANN401 - likewise
    """Return an option or argument that shows a word for its value, and nothing for a switch."""
    word = part.metavar if part.param_type_name == "option" else None
    if not part.metavar and not getattr(part, "is_flag", False):
        word = WORDS_FOR_TYPES.get(part.bare_type())
    part.display_type_rich = part.display_type = lambda *_, **__: word
    return part


def _recording(app: typer.Typer, name: str) -> typer.Typer:
    """Return an application whose commands record what they do."""
    around = copy.copy(app)
    around.registered_commands = [copy.copy(entry) for entry in app.registered_commands]
    for entry in around.registered_commands:
        assert entry.callback is not None
        entry.callback = recorded(entry.callback, name)
    return around


def load_commands() -> dict[str, Any]:
    """Import every command: for documentation, and for tests that look at all options."""
    return {name: load_command(name) for name in COMMANDS}


def renamed(command: Callable[..., None], name: str) -> Callable[..., None]:
    """Return a command under its old name: it works as before, and prints the new name."""

    @functools.wraps(command)
    def warned(**options: Any) -> None:  # noqa: ANN401 - the options of the command
        typer.echo(f"Warning: this command is now called {name}", err=True)
        command(**options)

    return warned
