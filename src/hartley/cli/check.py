"""The command ``hartley check``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.gate import (
    FailAbove,
    FailOn,
    Junit,
    Sarif,
    check_gate_files,
    gate_texts,
    pass_gate,
)
from hartley.cli.options import Html, split_settings
from hartley.cli.output import Format, console, print_json, say, wants_json
from hartley.files import check_files, write_whole

if TYPE_CHECKING:
    from hartley.studies.check.check_report import CheckReport
    from hartley.studies.check.gate import GateCase


def check_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    output: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[OUTPUT]...",
            help="Published tables: CSV, Parquet, Excel or JSON files, or results folders of ACRO.",
        ),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", metavar="FILE", help="outputs.toml: what the files do not say."),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            help="frequency<10 (the default), p%=10, dominance=2,90 or homogeneous; repeatable.",
        ),
    ] = None,
    insider: Annotated[
        str,
        typer.Option(
            "--insider",
            metavar="none|sole|holdings|all",
            help="What contributors know: the cells that they have alone (sole), their own part of "
            "every sum (holdings), or both (all).",
        ),
    ] = "none",
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="TABLE", help="The microdata behind the outputs."),
    ] = None,
    contributor: Annotated[
        str | None,
        typer.Option("--contributor", metavar="COL", help="The column that names the contributor."),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="The public schema of the microdata."),
    ] = None,
    marks: Annotated[
        list[str] | None,
        typer.Option(
            "--marks",
            metavar="MARK=MEANING",
            help="What a mark means: hidden, a number or a range such as 1-4; repeatable.",
        ),
    ] = None,
    rounding: Annotated[
        str | None,
        typer.Option(
            "--rounding", metavar="KIND BASE", help='How files are rounded, such as "nearest 5".'
        ),
    ] = None,
    left: Annotated[
        int,
        typer.Option(
            "--left",
            metavar="N",
            help="How many values must stay possible for a cell that its mark or rounding shows "
            "to be small.",
        ),
    ] = 2,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Search for whole tables where ends are not settled otherwise; slow."
        ),
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="LEDGER", help="An agent's ledger: its answers are known too."
        ),
    ] = None,
    charge: Annotated[
        bool,
        typer.Option(
            "--charge",
            help="Book the publication in that ledger, at the price of all that --spec describes.",
        ),
    ] = False,
    reserve: Annotated[
        bool,
        typer.Option("--reserve", help="Book it by its description alone, before there are files."),
    ] = False,
    dbt: Annotated[
        Path | None,
        typer.Option(
            "--dbt",
            metavar="FILE",
            help="target/manifest.json of dbt: models with hartley in their meta are outputs.",
        ),
    ] = None,
    show_values: Annotated[
        bool,
        typer.Option("--show-values", help="Print numbers and intervals; not for public logs."),
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Also write the proofs."),
    ] = None,
    html: Html = None,
    fail_on: FailOn = "disclosed",
    fail_above: FailAbove = None,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Find out what published OUTPUTs reveal together, and prove it.

    Exit code 0: nothing is disclosed. Exit code 3: something is (see --fail-on).

    [dim]Example: hartley check table1.csv table2.csv --spec outputs.toml --html check.html[/dim]
    """
    from hartley.reports.evidence import page_evidence
    from hartley.reports.render import page, print_report
    from hartley.studies.check.certificate import certify_tables
    from hartley.studies.check.check import check
    from hartley.studies.check.gate import check_cases

    written = {"report": html, "certificate": certificate}
    outputs = output or []
    check_files(written, {"output": [*map(str, outputs)]})
    check_gate_files(junit, sarif, outputs)
    texts: dict[Path, str] = {}
    cases: list[GateCase] = []
    screen = console()

    def build(report: CheckReport) -> None:
        """Make everything that is to be written, so that nothing can fail after a booking."""
        cases.extend(check_cases(report, fail_on, fail_above, values=show_values))
        if html:
            texts[html] = page(report.report(), page_evidence(html))
        if certificate:
            texts[certificate] = certify_tables(report).to_json() + "\n"
        texts.update(gate_texts("check", cases, junit=junit, sarif=sarif))
        with screen.capture():
            print_report(report.report(show_values=show_values), screen)

    report = check(
        *outputs,
        spec=spec,
        rules=rule,
        insider=insider,
        table=table,
        contributor=contributor,
        schema=schema,
        marks=split_settings(marks or [], "--marks", "MARK=MEANING"),
        rounding=rounding,
        left=left,
        exact=exact,
        against=against,
        charge=charge,
        reserve=reserve,
        dbt=dbt,
        before=build,
    )
    files = {"html": html, "certificate": certificate}
    if wants_json(json):
        content: dict[str, Any] = report.to_dict(values=show_values)
        print_json(content | {name: str(place) for name, place in files.items() if place})
    else:
        print_report(report.report(show_values=show_values), screen)
        for name, place in files.items():
            if place:
                say(f"{'Report' if name == 'html' else 'Certificate'}: {place}")
    for path, text in texts.items():
        write_whole(path, text)
    pass_gate("check", cases)
