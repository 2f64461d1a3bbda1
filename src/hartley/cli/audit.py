"""The command ``hartley audit``."""

from __future__ import annotations

from typing import Annotated

import typer

from hartley.cli.gate import (
    NEVER,
    FailAbove,
    FailOnPeople,
    Junit,
    Sarif,
    check_gate_files,
    pass_gate,
)
from hartley.cli.options import (
    Bins,
    Few,
    Html,
    Missing,
    RisksFile,
    RolesFile,
    Tables,
    open_tables,
    parse_columns,
    reads_tables,
    require_option,
    split_settings,
)
from hartley.cli.output import (
    Format,
    console,
    print_json,
    progress_bar,
    say,
    wants_json,
)
from hartley.files import check_files, write_all_or_none
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def audit_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="COL[,COL]",
            help="The secret columns, or ROW for the record itself; default: the confidential ones "
            "of --roles.",
        ),
    ] = None,
    released: Annotated[
        list[str] | None,
        typer.Option(
            "--released",
            metavar="COL[,COL]",
            help="The released columns; default: the keys of --roles.",
        ),
    ] = None,
    roles: RolesFile = None,
    bins: Bins = None,
    missing: Missing = "released",
    hypothesis: Annotated[
        str | None,
        typer.Option(
            "--hypothesis",
            metavar="CONDITION",
            help='Also measure for whom the release decides a condition such as "age >= 50".',
        ),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            "--sweep",
            metavar="COL=LOW:HIGH[:BY]",
            help="Also trace privacy against utility while a released column is binned in these "
            "steps.",
        ),
    ] = None,
    few: Few = 5,
    risks: RisksFile = None,
    html: Html = None,
    reading: ReadingOptions = AS_WRITTEN,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="Use disk above this much memory, for example 1GB.",
        ),
    ] = None,
    fail_above: FailAbove = None,
    fail_on: FailOnPeople = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Measure exactly what released columns of a TABLE reveal about secret ones.

    [dim]Example: hartley audit people.parquet --secret diagnosis --released age,sex
    --bins age=10 --sweep age=1:50 --html audit.html[/dim]
    """
    from hartley.ranges.relation import ROW
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.check.gate import (
        FAIL_ON_PEOPLE,
        above_cases,
        check_condition,
        leakage_of,
        people_condition,
        with_condition,
    )
    from hartley.studies.look.audit import audit

    check_gate_files(junit, sarif, table)
    check_condition(fail_on, FAIL_ON_PEOPLE)
    check_files(
        {"report": html, "risks": risks}, {"table": table, "roles": [roles] if roles else []}
    )
    if risks is not None:
        from hartley.tables.writing import output_format

        output_format(risks)
    opened = open_tables(table, reading, roles=roles)
    require_option(secret, "--secret", roles, opened.columns)
    require_option(released, "--released", roles, opened.columns)
    hidden = parse_columns(secret, opened.columns)
    record = hidden == ["ROW"] and "ROW" not in opened.columns
    with progress_bar({"count": "Counting pairs", "sweep": "Sweeping steps"}) as progress:
        report = audit(
            opened,
            secret=ROW if record else hidden,
            released=parse_columns(released, opened.columns),
            bins=split_settings(bins or [], "--bins", "COL=STEP"),
            missing=missing,
            hypothesis=hypothesis,
            sweep=split_settings([sweep], "--sweep", "COL=1:50") if sweep else None,
            k=few,
            roles=roles,
            memory_limit=memory_limit,
            progress=progress,
        )
    cases = above_cases(report.table, leakage_of(report), fail_above)
    cases = with_condition(cases, people_condition(report.people, fail_on))
    written: dict[str, str] = {}
    with write_all_or_none():
        if html is not None:
            written["html"] = str(write_html(report, html))
        if risks is not None:
            from hartley.studies.look.exposure import audit_risks

            written["risks"] = str(audit_risks(opened, report, roles=roles).write(risks))
    if wants_json(json):
        print_json(report.to_dict() | written)
    else:
        print_report(report.report(), console())
        for what, path in written.items():
            say(f"{'Report' if what == 'html' else 'Risks'}: {path}")
    pass_gate("audit", cases, junit=junit, sarif=sarif)
