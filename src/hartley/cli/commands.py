"""The table of commands, and a group that imports a command only when it is called."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from hartley.cli.recording import OPTIONS, WORDS, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOOK, RELEASE, ASK, CHECK, RESEARCH = "Look", "Release", "Ask", "Check", "Research"


@dataclass(frozen=True)
class Command:
    """A command: where its code is, and what its function does not say of it."""

    home: str
    """A module and a name in it: a function whose parameters become the options, or, in
    ``hartley.cli``, a command or a Typer application that is written by hand."""
    group: str
    """The part of ``hartley --help`` that lists it."""
    help: str
    """The first line of its help."""
    more: str = ""
    """What else the help says."""
    example: str = ""
    needs: tuple[str, ...] = ()
    """Columns that have to be named, unless roles do."""
    required: tuple[str, ...] = ()
    """Options that have to be given although the parameter has a default."""
    forms: Mapping[str, str] = field(default_factory=dict)
    """What stands for a value in the help, where its kind does not say it best."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of options that are not those of the parameters."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Switches for the methods of the result, with their help."""
    writes: Mapping[str, str | None] = field(default_factory=dict)
    """The files that it writes, and what JSON calls them; None if the result says it."""
    savers: Mapping[str, str] = field(default_factory=dict)
    """Functions that write a file of the result, where no method of the result does."""
    files: bool = False
    """Whether JSON lists the files under that name."""
    gate: str = ""
    """When it stops a pipeline: an entry of ``derive.GATES``."""
    progress: Mapping[str, str] = field(default_factory=dict)
    """What a progress bar says of each kind of work."""


K = {"k": "K"}
SAFE = {
    "spreadsheet_safe": "Put a single quote before texts in a CSV file that a spreadsheet would "
    "run as a formula."
}
CELLS = {"policy": "FILE", "bits": "E", "levels": "Q", "span": "LOW:HIGH"}
PLAY = CELLS | {"seed": "N", "people": "N", "games": "N"}

ATTACKS = {
    "membership": Command(
        "hartley.studies.attack:attack_membership",
        LOOK,
        "Guess which of two people is in a group whose aggregate is released, in repeated games.",
        "Without --person every row is a person. Without --policy, --bits or --levels the "
        "aggregate is released unchanged.",
        "hartley attack membership homes.parquet --person home --order day --people 4 "
        "--range 0:10 --bits 2",
        forms=PLAY | {"table": "READINGS..."},
        names={"span": "range"},
        writes={"html": "html"},
        gate="success",
        progress={"play": "Playing games"},
    ),
    "load-monitoring": Command(
        "hartley.studies.attack:attack_load_monitoring",
        LOOK,
        "Recognise from the consumption of a home when its appliances run.",
        "The rows must be in the order of time. Without --policy, --bits or --levels the total is "
        "released unchanged.",
        "hartley attack load-monitoring home.parquet --total main --appliances fridge,oven "
        "--range 0:6000 --bits 3",
        forms=CELLS | {"train": "SHARE", "on": "W"},
        names={"span": "range"},
        writes={"html": "html"},
        gate="number",
    ),
    "uniqueness": Command(
        "hartley.studies.attack:attack_uniqueness",
        LOOK,
        "Count the unique records of a TABLE, or the people whom a few points single out.",
        example="hartley attack uniqueness trips.parquet --columns start,end --person rider "
        "--known 4",
        forms={"grid": "COL=LOW:HIGH", "bits": "E", "known": "M|all", "trials": "N"},
        writes={"html": "html"},
        gate="success",
        progress={"draw": "Drawing points"},
    ),
    "policy": Command(
        "hartley.attacks.policy:attack_policy",
        LOOK,
        "Read a POLICY backwards: which inputs the records of a released TABLE can have come from.",
        "The policy file is public. For every released record it says how many values are left of "
        "each column, and whether a hypothesis that the policy hides is decided, compared with "
        "what the certificate promises.",
        "hartley attack policy policy.toml released.parquet --step weight=1",
        forms={"known_within": "COL=DISTANCE"},
        names={"steps": "step"},
        writes={"html": "html"},
        gate="success",
    ),
    "homogeneity": Command(
        "hartley.studies.attack:attack_homogeneity",
        LOOK,
        "Learn confidential values from classes of equal keys of a TABLE, however large k is.",
        "Homogeneity: a class has only one value. Similarity: its values are close together. "
        "Skewness: one value is much likelier than in the table.",
        "hartley attack homogeneity released.parquet --keys age,sex --confidential diagnosis",
        needs=("keys", "confidential"),
        forms={"near": "COL=DISTANCE", "times": "R"},
        writes={"html": "html"},
        gate="success",
    ),
    "guessing": Command(
        "hartley.studies.attack:attack_guessing",
        LOOK,
        "Count the trials a brute-force guesser needs, with and without a release.",
        example="hartley attack guessing people.parquet --secret diagnosis --released age,sex "
        "--bins age=10",
        writes={"html": "html"},
        gate="success",
    ),
    "hypothesis": Command(
        "hartley.studies.attack:attack_hypothesis",
        LOOK,
        "Count the rows for which a release decides a hypothesis about the secret for certain.",
        example="hartley attack hypothesis people.parquet --secret income --released job "
        '--hypothesis "income >= 50000"',
        writes={"html": "html"},
        gate="success",
    ),
    "reconstruction": Command(
        "hartley.studies.attack:attack_reconstruction",
        LOOK,
        "Combine all answers of an agent: what they settle, for how many people, and the promise.",
        "With the true table it also shows that the truth fits the answers, and what an adversary "
        "who knows everybody else learns, which is what the agent's promise is about.",
        "hartley attack reconstruction ledger.db --data people.parquet",
        forms={"ledger": "LEDGER", "dataset": "NAME"},
        writes={"html": "html"},
        gate="success",
    ),
    "differencing": Command(
        "hartley.studies.attack:attack_differencing",
        LOOK,
        "Combine answers of an agent so that everybody but a few rows cancels out.",
        "Where columns are public, give the true table: it shows which people those columns tell "
        "apart.",
        "hartley attack differencing ledger.db --data people.parquet --rows 3",
        forms={"ledger": "LEDGER", "dataset": "NAME"},
        writes={"html": "html"},
        gate="settled",
    ),
}
"""The parts of ``hartley attack``."""
OLD_ATTACKS = {"load": "load-monitoring", "reconstruct": "reconstruction"}

COMMANDS = {
    "scan": Command(
        "hartley.studies.look.scan:scan",
        LOOK,
        "Look at a raw TABLE: what its columns seem to be, and whom it gives away as it is.",
        "No option is needed. What it says about columns is a guess; the numbers of people are "
        "exact. It describes real people: keep its output as confidential as the table.",
        "hartley scan people.csv --draft roles.toml",
        writes={"draft": "draft", "risks": "risks", "html": "html"},
        progress={"read": "Reading", "combine": "Combining columns"},
    ),
    "roles": Command(
        "hartley.cli.roles:roles_command",
        LOOK,
        "Decide about a TABLE column by column: what each one is, and what leaves the house.",
    ),
    "audit": Command(
        "hartley.studies.look.audit:audit",
        LOOK,
        "Measure exactly what released columns of a TABLE reveal about secret ones.",
        example="hartley audit people.parquet --secret diagnosis --released age,sex "
        "--bins age=10 --sweep age=1:50 --html audit.html",
        needs=("secret", "released"),
        writes={"html": "html", "risks": "risks"},
        gate="audit",
        progress={"count": "Counting pairs", "sweep": "Sweeping steps"},
    ),
    "anonymity": Command(
        "hartley.studies.look.anonymity:anonymity",
        LOOK,
        "Measure how anonymous the records of a TABLE are, and which attacks still succeed.",
        example="hartley anonymity people.parquet --keys age,sex --confidential diagnosis",
        needs=("keys",),
        writes={"html": "html", "risks": "risks"},
        gate="anonymity",
        progress={"count": "Counting classes"},
    ),
    "attack": Command(
        "",
        LOOK,
        "Attack your own release or agent, and see how much an adversary learns.",
    ),
    "design": Command(
        "hartley.studies.release.design:design",
        RELEASE,
        "Design the best release for an objective, and certify it.",
        example="hartley design height.design.toml -o policy.toml --html design.html",
        writes={"out": "policy", "certificate": "certificate", "html": "html"},
        files=True,
        progress={"search": "Looking for the best cells", "measure": "Measuring the cells"},
    ),
    "tradeoff": Command(
        "hartley.studies.release.tradeoff:tradeoff",
        RELEASE,
        "Show how privacy and utility of a design trade off, as a curve.",
        example="hartley tradeoff height.design.toml --errors 0.1:10 --plot curve.png",
        writes={"plot": "picture", "csv": "table", "html": "page"},
        files=True,
        progress={"points": "Measuring points"},
    ),
    "curve": Command(
        "hartley.studies.release.curve:curve",
        RELEASE,
        "Compute the least that a perturbed key can reveal at every distortion, with certified "
        "bounds.",
        example="hartley curve people.parquet --key age --confidential diagnosis "
        "--bins age=10 --html curve.html",
        writes={"html": "html", "csv": "csv"},
        progress={"curve": "Tracing the curve"},
    ),
    "release": Command(
        "hartley.studies.release.release:release",
        RELEASE,
        "Release a TABLE under a POLICY; columns that the policy does not name are not released.",
        example="hartley release people.parquet policy.toml -o released.parquet "
        "--certificate certificate.json",
        writes={"out": None, "certificate": "certificate"},
        progress={"count": "Counting rows", "release": "Releasing rows"},
    ),
    "anonymize": Command(
        "hartley.studies.release.generalisation:anonymize",
        RELEASE,
        "Coarsen the keys of a TABLE until everybody shares theirs with K - 1 others.",
        "A column that is neither a key nor named with --keep or --confidential is not released.",
        "hartley anonymize people.parquet --keys age,sex --confidential diagnosis "
        "--bins age=5,10,20 -k 5 --suppress 0.02 -o released.parquet",
        needs=("keys",),
        required=("k", "out"),
        forms=K | {"suppress": "SHARE"},
        flags=SAFE,
        writes={"out": "file", "html": "html"},
        progress={
            "read": "Reading rows",
            "count": "Counting people",
            "search": "Searching levels",
            "write": "Making the release",
        },
    ),
    "microaggregate": Command(
        "hartley.studies.release.microaggregation:microaggregate",
        RELEASE,
        "Replace the records of a TABLE with averages over groups of at least K similar records.",
        example="hartley microaggregate people.parquet --k 5 --columns age,height,weight "
        "--keep diagnosis -o averages.parquet",
        required=("out",),
        forms=K,
        flags=SAFE,
        writes={"out": "out", "html": "html"},
        progress={"group": "Grouping records", "judge": "Measuring what is told"},
    ),
    "pram": Command(
        "hartley.studies.release.pram:pram",
        RELEASE,
        "Perturb columns of a TABLE at random, and say what the result still reveals.",
        example="hartley pram people.parquet --column region --retain 0.8 --invariant "
        "--keep age --policy-out policy.toml -o masked.parquet",
        required=("out",),
        forms={"retain": "P", "distortion": "D", "lam": "L", "risk": "R"},
        names={"columns": "column"},
        flags={"estimate": "Also print the frequencies that readers of the release can estimate."},
        writes={
            "out": "release",
            "policy_out": "policy",
            "certificate": "certificate",
            "html": "page",
        },
        files=True,
        progress={"count": "Counting rows", "release": "Perturbing rows"},
    ),
    "estimate": Command(
        "hartley.studies.release.pram:estimate",
        RELEASE,
        "Estimate the true frequencies of a perturbed TABLE from its POLICY, with standard errors.",
        example="hartley estimate masked.parquet policy.toml",
    ),
    "gaussian": Command(
        "hartley.studies.release.gaussian:gaussian",
        RELEASE,
        "Add the Gaussian noise that reveals least at a given squared distortion, with its proof.",
        "A TABLE is not needed with --covariance.",
        "hartley gaussian people.parquet --key height,age --confidential weight "
        "--share 0.25 -o noisy.parquet",
        forms={"table": "[TABLE...]", "distortion": "D", "share": "S", "entropy": "H"},
        names={"steps": "round"},
        writes={"out": "release", "html": "report"},
        files=True,
    ),
    "schema": Command(
        "hartley.cli.schema:schema_app",
        ASK,
        "Write and check public schemas: columns, their ranges and steps, and whose data it is.",
    ),
    "price": Command(
        "hartley.cli.asking:price_command",
        ASK,
        "Show what questions would cost, from the public schema alone; nothing is spent.",
    ),
    "plan": Command(
        "hartley.agent.planning:plan",
        ASK,
        "Plan a workload: its price as one batch and one by one, and how to share a budget.",
        example="hartley plan questions.sql --schema people.toml --rows 5000 --budget 16 "
        "--out batch.sql",
        forms={"budget": "BITS", "bits": "BITS", "min_rows": "N", "analyst": "NAME"},
        writes={"out": "batch_file"},
    ),
    "ask": Command(
        "hartley.cli.asking:ask_command",
        ASK,
        "Answer a question about a private table truthfully, if the budget covers its price.",
    ),
    "ledger": Command(
        "hartley.cli.ledger:ledger_app",
        ASK,
        "Check, show, export, back up and restore the ledger of charges and answers, and set "
        "budgets: of a dataset, for every year, and of datasets about the same people.",
    ),
    "serve": Command(
        "hartley.cli.service:serve_command",
        ASK,
        "Run the agent as a service: HTTP for many analysts, with accounts and a web console.",
    ),
    "account": Command(
        "hartley.cli.service:account_app",
        ASK,
        "Add, list and revoke the accounts of a service, and issue their tokens.",
    ),
    "demo": Command(
        "hartley.cli.service:demo_command",
        ASK,
        "Start a service with invented people, and print its address and tokens to try it.",
    ),
    "check": Command(
        "hartley.studies.check.check:check",
        CHECK,
        "Find out what published OUTPUTs reveal together, and prove it.",
        "Exit code 0: nothing is disclosed. Exit code 3: something is (see --fail-on).",
        "hartley check table1.csv table2.csv --spec outputs.toml --html check.html",
        forms={
            "rule": "RULE",
            "table": "TABLE",
            "marks": "MARK=MEANING",
            "rounding": "KIND BASE",
            "against": "LEDGER",
        },
        flags={"show_values": "Print numbers and intervals; not for public logs."},
        writes={"html": "html", "certificate": "certificate"},
        savers={"certificate": "hartley.studies.check.certificate:save_certificate"},
        gate="tables",
        progress={"read": "Reading outputs", "bound": "Bounding cells"},
    ),
    "verify": Command(
        "hartley.cli.research:verify_command",
        CHECK,
        "Recompute a CERTIFICATE from its POLICY, and say whether it holds.",
    ),
    "doctor": Command(
        "hartley.studies.check.doctor:doctor",
        CHECK,
        "Check what is installed and which engines compute correctly, and say how to fix the rest.",
        forms={"engine": "ADDRESS"},
    ),
    "reproduce": Command(
        "hartley.cli.research:reproduce_command",
        RESEARCH,
        "Reproduce figures of the papers: pictures, numbers and the claims they should confirm.",
    ),
    "datasets": Command(
        "hartley.cli.research:datasets_command",
        RESEARCH,
        "List the data sets of the papers, their sources, and whether a local copy exists.",
    ),
    "sample": Command(
        "hartley.cli.research:sample_command",
        RESEARCH,
        "Write a synthetic table to experiment with: invented people, or one like a known data "
        "set.",
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
            self.add_command(_Listed(name, help=entry.help, rich_help_panel=entry.group))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer keeps these types to itself
        """Remember the words, which the evidence of a result repeats."""
        WORDS.set(tuple(args))
        OPTIONS.set({})
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
    value = _written_by_hand(COMMANDS[name]) if name != "attack" else attack_app()
    if value is None:
        from hartley.cli.derive import derive

        value = derive(name, COMMANDS[name])
    if not isinstance(value, typer.Typer):
        alone = _application()
        alone.command(name)(value)
        value = alone
    command = get_command(_recording(value, name))
    for part in (command, *getattr(command, "commands", {}).values()):
        plain_help(part)
    return command


def _written_by_hand(command: Command) -> Any:  # noqa: ANN401 - a function or a Typer application
    module, _, attribute = command.home.partition(":")
    by_hand = module.startswith("hartley.cli.")
    return getattr(import_module(module), attribute) if by_hand else None


def _application(**settings: Any) -> typer.Typer:  # noqa: ANN401 - what Typer takes
    return typer.Typer(add_completion=False, rich_markup_mode="rich", **settings)


def attack_app() -> typer.Typer:
    """Return the application of all attacks."""
    from hartley.cli.derive import derive

    attacks = _application(name="attack", help=COMMANDS["attack"].help, no_args_is_help=True)
    made = {name: derive(f"attack {name}", command) for name, command in ATTACKS.items()}
    for name, command in made.items():
        attacks.command(name)(command)
    for old, new in OLD_ATTACKS.items():
        attacks.command(old, hidden=True)(renamed(made[new], new))
    return attacks


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
