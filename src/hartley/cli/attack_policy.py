"""The command ``hartley attack policy``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.finding import FindingGate, check_page, tell_finding
from hartley.cli.gate import NEVER, FailAboveNumber, FailOnSuccess, Junit, Sarif
from hartley.cli.options import (
    Html,
    Tables,
    open_tables,
    reads_tables,
    split_columns,
    split_settings,
)
from hartley.cli.output import Format  # noqa: TC001 - typer reads the annotations
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def policy_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file.")],
    table: Tables,
    step: Annotated[
        list[str] | None,
        typer.Option(
            "--step",
            metavar="COL=STEP",
            help="The step on which the values of a column lie, counted from the low end of its "
            "range; without one, every double of the range is possible.",
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="The public schema, in TOML: steps, ranges and lists of possible values.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="TABLE",
            help="The true table, its rows in the order of the released one; it is needed only "
            "for what is known beside the release.",
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known",
            metavar="COL[,COL]",
            help="Columns whose true values the adversary knows, from --data.",
        ),
    ] = None,
    known_within: Annotated[
        list[str] | None,
        typer.Option(
            "--known-within",
            metavar="COL=DISTANCE",
            help="A column that the adversary knows to within this distance of its true value.",
        ),
    ] = None,
    known_rounded: Annotated[
        list[str] | None,
        typer.Option(
            "--known-rounded",
            metavar="COL=STEP",
            help="A column that the adversary knows rounded to the nearest multiple of this step.",
        ),
    ] = None,
    reading: ReadingOptions = AS_WRITTEN,
    html: Html = None,
    fail_above: FailAboveNumber = None,
    fail_on: FailOnSuccess = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Read a POLICY backwards: which inputs the records of a released TABLE can have come from.

    The policy file is public. For every released record it says how many values are left of each
    column, and whether a hypothesis that the policy hides is decided, compared with what the
    certificate promises.

    [dim]Example: hartley attack policy policy.toml released.parquet --step weight=1[/dim]
    """
    from hartley.attacks.policy import attack_policy

    read: list[str | Path] = [*table, policy, *(data or []), *([schema] if schema else [])]
    gate = FindingGate("attack policy", [*table], fail_above, fail_on, junit, sarif)
    check_page(html, read)
    released = open_tables(table, reading)
    truth = None if not data else open_tables(data, replace(reading, names=None))
    finding = attack_policy(
        policy,
        released,
        data=truth,
        schema=schema,
        steps=split_settings(step or [], "--step", "COL=STEP"),
        known=split_columns(known or [], () if truth is None else truth.columns),
        known_within=split_settings(known_within or [], "--known-within", "COL=DISTANCE"),
        known_rounded=split_settings(known_rounded or [], "--known-rounded", "COL=STEP"),
    )
    tell_finding(finding, html=html, json=json, gate=gate)
