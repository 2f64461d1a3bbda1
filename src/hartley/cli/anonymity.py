"""The commands ``hartley anonymity`` and ``hartley anonymize``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

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
    Few,
    Groups,
    Html,
    Keep,
    Keys,
    Out,
    RisksFile,
    RolesFile,
    SpreadsheetSafe,
    Tables,
    open_tables,
    parse_columns,
    read_hierarchies,
    reads_tables,
    require_option,
    split_columns,
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
from hartley.errors import OptionError
from hartley.files import check_files, write_all_or_none
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def anonymity_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    keys: Keys = None,
    confidential: Annotated[
        list[str] | None,
        typer.Option("--confidential", metavar="COL[,COL]", help="The confidential columns."),
    ] = None,
    ordered: Annotated[
        list[str] | None,
        typer.Option(
            "--ordered",
            metavar="COL[,COL]",
            help="Confidential columns whose values have an order; default: numbers and times.",
        ),
    ] = None,
    hierarchy: Groups = None,
    population: Annotated[
        list[str] | None,
        typer.Option(
            "--population",
            metavar="TABLE",
            help="Parquet or CSV file of everybody who could be in the table, with the same key "
            "columns.",
        ),
    ] = None,
    roles: RolesFile = None,
    few: Few = 5,
    risks: RisksFile = None,
    html: Html = None,
    reading: ReadingOptions = AS_WRITTEN,
    fail_above: FailAbove = None,
    fail_on: FailOnPeople = NEVER,
    junit: Junit = None,
    sarif: Sarif = None,
    json: Format = None,
) -> None:
    """Measure how anonymous the records of a TABLE are, and which attacks still succeed.

    [dim]Example: hartley anonymity people.parquet --keys age,sex --confidential diagnosis[/dim]
    """
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.check.gate import (
        FAIL_ON_PEOPLE,
        above_cases,
        anonymity_condition,
        check_condition,
        leakage_of,
        with_condition,
    )
    from hartley.studies.look.anonymity import anonymity

    check_gate_files(junit, sarif, table)
    check_condition(fail_on, FAIL_ON_PEOPLE)
    files = [text.rpartition("=")[2] for text in hierarchy or []]
    read = {"table": table, "population": population or [], "hierarchy": files}
    check_files(
        {"report": html, "risks": risks}, read | {"roles": [roles] if roles is not None else []}
    )
    if risks is not None:
        from hartley.tables.writing import output_format

        output_format(risks)
    opened = open_tables(table, reading, roles=roles)
    require_option(keys, "--keys", roles, opened.columns)
    with progress_bar({"count": "Counting classes"}) as progress:
        report = anonymity(
            opened,
            keys=parse_columns(keys, opened.columns),
            confidential=parse_columns(confidential, opened.columns),
            ordered=split_columns(ordered, opened.columns) if ordered else None,
            hierarchy=read_hierarchies(hierarchy or [], opened) or None,
            population=open_tables(population, replace(reading, names=None))
            if population
            else None,
            k=few,
            roles=roles,
            progress=progress,
        )
    cases = above_cases(report.table, leakage_of(report), fail_above)
    cases = with_condition(cases, anonymity_condition(report, fail_on))
    written: dict[str, str] = {}
    with write_all_or_none():
        if html is not None:
            written["html"] = str(write_html(report, html))
        if risks is not None:
            from hartley.studies.look.exposure import key_risks

            written["risks"] = str(key_risks(opened, report.keys, roles=roles).write(risks))
    if wants_json(json):
        print_json(report.to_dict() | written)
    else:
        print_report(report.report(), console())
        for what, path in written.items():
            say(f"{'Report' if what == 'html' else 'Risks'}: {path}")
    pass_gate("anonymity", cases, junit=junit, sarif=sarif)


@reads_tables
def anonymize_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    k: Annotated[
        int,
        typer.Option(
            "--k", "-k", metavar="K", help="The least number of records that share their keys."
        ),
    ],
    out: Out,
    keys: Keys = None,
    roles: RolesFile = None,
    keep: Keep = None,
    confidential: Annotated[
        list[str] | None,
        typer.Option(
            "--confidential",
            metavar="COL[,COL]",
            help="Columns to release unchanged although they are sensitive; the report measures "
            "what the keys reveal about them.",
        ),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins",
            metavar="COL=W,W,...",
            help="Widths of nested bins of a numeric key, or periods of dates: month,quarter,year.",
        ),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            metavar="COL=FILE",
            help="CSV file; each line has a key value and its groups, from narrow to wide.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="full-domain|mondrian",
            help="full-domain: one level of each key for everybody; mondrian: boxes of similar "
            "people.",
        ),
    ] = "full-domain",
    suppress: Annotated[
        str,
        typer.Option(
            "--suppress", metavar="SHARE", help="The share of records that may be left out."
        ),
    ] = "0",
    spreadsheet_safe: SpreadsheetSafe = False,
    html: Html = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Coarsen the keys of a TABLE until everybody shares theirs with K - 1 others.

    A column that is neither a key nor named with --keep or --confidential is not released.

    [dim]Example: hartley anonymize people.parquet --keys age,sex --confidential diagnosis
    --bins age=5,10,20 -k 5 --suppress 0.02 -o released.parquet[/dim]
    """
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.look.generalisation import anonymize
    from hartley.tables.writing import output_format

    output_format(out, spreadsheet_safe=spreadsheet_safe)
    files = [text.rpartition("=")[2] for text in hierarchy or []]
    named = [] if roles is None else [roles]
    check_files(
        {"release": out, "report": html}, {"table": table, "hierarchy": files, "roles": named}
    )
    opened = open_tables(table, reading, roles=roles)
    require_option(keys, "--keys", roles, opened.columns)
    widths = split_settings(bins or [], "--bins", "COL=5,10,20")
    hierarchies: dict[str, Any] = {name: text.split(",") for name, text in widths.items()}
    groups = read_hierarchies(hierarchy or [], opened)
    for name in hierarchies.keys() & groups:
        raise OptionError(
            f"Column '{name}' has bins and a hierarchy", hint="give --bins or --hierarchy, not both"
        )
    release = anonymize(
        opened,
        parse_columns(keys, opened.columns),
        k,
        keep=parse_columns(keep, opened.columns),
        confidential=parse_columns(confidential, opened.columns),
        hierarchies=hierarchies | groups or None,
        method=method,
        suppress=suppress,
        roles=roles,
    )
    with write_all_or_none():
        release.write(out, spreadsheet_safe=spreadsheet_safe)
        written = {"html": str(write_html(release, html))} if html else {}
    if wants_json(json):
        print_json(
            release.to_dict() | {"check": release.checked.to_dict(), "file": str(out)} | written
        )
        return
    print_report(release.report(), console())
    say(f"Written: {out}")
    if written:
        say(f"Report: {written['html']}")
