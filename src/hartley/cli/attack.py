"""The commands ``hartley attack ...``: run the papers' attacks on your own release or agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.attack_policy import policy_command
from hartley.cli.attack_signals import (
    load_monitoring_command,
    membership_command,
    uniqueness_command,
)
from hartley.cli.commands import renamed
from hartley.cli.finding import FindingGate, check_page, tell_finding
from hartley.cli.gate import (
    NEVER,
    FailAbove,
    FailAboveNumber,
    FailOnSettled,
    FailOnSuccess,
    Junit,
    Sarif,
    check_gate_files,
    pass_gate,
)
from hartley.cli.options import (
    Groups,
    Html,
    Keys,
    Missing,
    RolesFile,
    Tables,
    open_tables,
    parse_columns,
    read_hierarchies,
    read_roles,
    reads_tables,
    require_option,
    split_settings,
)
from hartley.cli.output import Format  # noqa: TC001 - typer reads the annotations
from hartley.errors import OptionError
from hartley.tables.reading import AS_WRITTEN, ReadingOptions

if TYPE_CHECKING:
    from hartley.engines.table import Table
    from hartley.knowledge.transcript import Transcript
    from hartley.ranges.relation import Relation
    from hartley.schema.roles import Roles

attack_app = typer.Typer(
    name="attack",
    help="Attack your own release or agent, and see how much an adversary learns.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
attack_app.command("membership")(membership_command)
attack_app.command("load-monitoring")(load_monitoring_command)
attack_app.command("load", hidden=True)(renamed(load_monitoring_command, "load-monitoring"))
attack_app.command("uniqueness")(uniqueness_command)
attack_app.command("policy")(policy_command)


@attack_app.command("homogeneity")
@reads_tables
def homogeneity_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    keys: Keys = None,
    confidential: Annotated[
        list[str] | None,
        typer.Option("--confidential", metavar="COL[,COL]", help="The confidential columns."),
    ] = None,
    roles: RolesFile = None,
    near: Annotated[
        list[str] | None,
        typer.Option(
            "--near",
            metavar="COL=DISTANCE",
            help="Treat confidential numbers that are this close together as equal.",
        ),
    ] = None,
    hierarchy: Groups = None,
    times: Annotated[
        int,
        typer.Option(
            "--times",
            metavar="R",
            help="Count a value as skewed if it is this many times as likely as in the table.",
        ),
    ] = 2,
    reading: ReadingOptions = AS_WRITTEN,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    fail_on: FailOnSuccess = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Learn confidential values from classes of equal keys of a TABLE, however large k is.

    Homogeneity: a class has only one value. Similarity: its values are close together. Skewness:
    one value is much likelier than in the table.

    [dim]Example: hartley attack homogeneity released.parquet --keys age,sex
    --confidential diagnosis[/dim]
    """
    from hartley.attacks.finding import join_findings
    from hartley.attacks.homogeneity import Homogeneity, Similarity, Skewness
    from hartley.schema.roles import chosen_columns

    gate = FindingGate("attack homogeneity", [*table], fail_above, fail_on, junit, sarif)
    check_page(html, table)
    opened, known_roles = _open(table, reading, roles)
    require_option(keys, "--keys", roles, opened.columns)
    require_option(confidential, "--confidential", roles, opened.columns)
    known = chosen_columns(known_roles, parse_columns(keys, opened.columns), "key", what="key")
    named = parse_columns(confidential, opened.columns)
    hidden = chosen_columns(known_roles, named, "confidential", what="confidential")
    distances = split_settings(near or [], "--near", "COL=DISTANCE")
    groups = read_hierarchies(hierarchy or [], opened)
    for name in (*distances, *groups):
        if name not in hidden:
            raise OptionError(
                f"Column '{name}' has a distance or a hierarchy but is not confidential",
                hint="name it under --confidential, or leave it out",
            )
    made = [
        Homogeneity(known, hidden).attack(opened),
        Skewness(known, hidden, times).attack(opened),
    ]
    if distances or groups:
        made.append(Similarity(known, distances, groups).attack(opened))
    tell_finding(join_findings(made), html=html, json=json, gate=gate)


Secret = Annotated[
    list[str] | None,
    typer.Option(
        "--secret", metavar="COL[,COL]", help="The secret columns, or ROW for the record itself."
    ),
]
Released = Annotated[
    list[str] | None,
    typer.Option("--released", metavar="COL[,COL]", help="The released columns."),
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        "--bins", metavar="COL=STEP", help="Release a numeric column in bins of this width."
    ),
]


@attack_app.command("guessing")
@reads_tables
def guessing_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    secret: Secret = None,
    released: Released = None,
    attribute: Annotated[
        str | None,
        typer.Option(
            "--attribute", metavar="COL", help="Guess only this one of the secret columns."
        ),
    ] = None,
    roles: RolesFile = None,
    bins: Bins = None,
    missing: Missing = "released",
    reading: ReadingOptions = AS_WRITTEN,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    fail_on: FailOnSuccess = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Count the trials a brute-force guesser needs, with and without a release.

    [dim]Example: hartley attack guessing people.parquet --secret diagnosis --released age,sex
    --bins age=10[/dim]
    """
    from hartley.attacks.guessing import BruteForceGuessing

    gate = FindingGate("attack guessing", [*table], fail_above, fail_on, junit, sarif)
    check_page(html, table)
    opened, known_roles = _open(table, reading, roles)
    relation = _relation(opened, known_roles, secret, released, bins, missing)
    tell_finding(BruteForceGuessing(attribute).attack(relation), html=html, json=json, gate=gate)


@attack_app.command("hypothesis")
@reads_tables
def hypothesis_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    hypothesis: Annotated[
        str,
        typer.Option(
            "--hypothesis",
            metavar="CONDITION",
            help='The condition on the secret to decide, for example "age >= 50".',
        ),
    ],
    secret: Secret = None,
    released: Released = None,
    roles: RolesFile = None,
    bins: Bins = None,
    missing: Missing = "released",
    reading: ReadingOptions = AS_WRITTEN,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    fail_on: FailOnSuccess = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Count the rows for which a release decides a hypothesis about the secret for certain.

    [dim]Example: hartley attack hypothesis people.parquet --secret income --released job
    --hypothesis "income >= 50000"[/dim]
    """
    from hartley.attacks.guessing import HypothesisTesting

    gate = FindingGate("attack hypothesis", [*table], fail_above, fail_on, junit, sarif)
    check_page(html, table)
    opened, known_roles = _open(table, reading, roles)
    relation = _relation(opened, known_roles, secret, released, bins, missing)
    tell_finding(HypothesisTesting(hypothesis).attack(relation), html=html, json=json, gate=gate)


LedgerFile = Annotated[
    str,
    typer.Argument(metavar="LEDGER", help="The agent's ledger: a file or postgresql://..."),
]
DataSet = Annotated[
    str | None,
    typer.Option(
        "--dataset", metavar="NAME", help="The dataset to attack, if the ledger has several."
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="The public schema, in TOML; default: the one recorded in the ledger.",
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="TABLE",
        help="The true table, to compare what the adversary learns with the truth.",
    ),
]


@attack_app.command("reconstruction")
def reconstruction_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    ledger: LedgerFile,
    schema: SchemaFile = None,
    dataset: DataSet = None,
    data: Data = None,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    fail_on: FailOnSuccess = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Combine all answers of an agent: what they settle, for how many people, and the promise.

    With the true table it also shows that the truth fits the answers, and what an adversary who
    knows everybody else learns, which is what the agent's promise is about.

    [dim]Example: hartley attack reconstruction ledger.db --data people.parquet[/dim]
    """
    from hartley.attacks.reconstruction import Reconstruction

    gate = FindingGate("attack reconstruction", [ledger], fail_above, fail_on, junit, sarif)
    transcripts = _transcripts(ledger, schema, dataset, data, html)
    tell_finding(Reconstruction().attack(*transcripts), html=html, json=json, gate=gate)


attack_app.command("reconstruct", hidden=True)(renamed(reconstruction_command, "reconstruction"))


@attack_app.command("differencing")
def differencing_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    ledger: LedgerFile,
    schema: SchemaFile = None,
    dataset: DataSet = None,
    data: Data = None,
    rows: Annotated[
        int,
        typer.Option(
            "--rows", metavar="N", help="Count a set of at most this many rows as isolated."
        ),
    ] = 1,
    html: Html = None,
    fail_above: FailAbove = None,
    fail_on: FailOnSettled = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Combine answers of an agent so that everybody but a few rows cancels out.

    Where columns are public, give the true table: it shows which people those columns tell apart.

    [dim]Example: hartley attack differencing ledger.db --data people.parquet --rows 3[/dim]
    """
    from hartley.attacks.differencing import Differencing
    from hartley.studies.check.gate import (
        FAIL_ON_SETTLED,
        above_cases,
        check_condition,
        differencing_condition,
        with_condition,
        worst_difference,
    )

    check_gate_files(junit, sarif, [ledger])
    check_condition(fail_on, FAIL_ON_SETTLED)
    transcripts = _transcripts(ledger, schema, dataset, data, html)
    finding = Differencing(rows).attack(*transcripts)
    cases = above_cases(str(ledger), worst_difference(finding), fail_above)
    cases = with_condition(cases, differencing_condition(finding, fail_on))
    tell_finding(finding, html=html, json=json)
    pass_gate("attack differencing", cases, junit=junit, sarif=sarif)


def _transcripts(
    ledger: str, schema: Path | None, dataset: str | None, data: list[str] | None, html: Path | None
) -> tuple[Transcript, ...]:
    from hartley.agent.ledger import open_ledger
    from hartley.agent.transcript import transcripts_of
    from hartley.schema.schema import Schema
    from hartley.tables.opening import open_table

    read: list[str | Path] = [*(data or []), *([schema] if schema else []), ledger]
    check_page(html, read)
    table = None if not data else open_table(data[0] if len(data) == 1 else data)
    with open_ledger(ledger, create=False) as opened:
        return transcripts_of(
            opened, dataset, schema=Schema.read(schema) if schema else None, data=table
        )


def _open(
    table: list[str], reading: ReadingOptions, roles: Path | None
) -> tuple[Table, Roles | None]:
    opened = open_tables(table, reading, roles=roles)
    return opened, None if roles is None else read_roles(roles, reading)


def _relation(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Table,
    roles: Roles | None,
    secret: list[str] | None,
    released: list[str] | None,
    bins: list[str] | None,
    missing: str,
) -> Relation:
    from hartley.ranges.relation import ROW, Relation
    from hartley.schema.roles import chosen_columns

    hidden, known = (parse_columns(texts, table.columns) for texts in (secret, released))
    record = hidden == ["ROW"] and "ROW" not in table.columns
    return Relation.from_table(
        table,
        secret=ROW if record else chosen_columns(roles, hidden, "confidential", what="secret"),
        released=chosen_columns(roles, known, "key", what="released"),
        bins=split_settings(bins or [], "--bins", "COL=STEP"),
        missing=missing,
    )
