"""The command ``hartley release``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.options import (
    Few,
    Out,
    SpreadsheetSafe,
    Tables,
    open_tables,
    reads_tables,
    warn_near_misses,
)
from hartley.cli.output import (
    Format,
    console,
    print_certificate,
    print_json,
    progress_bar,
    say,
    wants_json,
)
from hartley.files import check_files
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def release_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file.")],
    out: Out,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Also write the certificate of the policy, once the release is written.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a table with values that are missing or outside the declared ranges.",
        ),
    ] = False,
    few: Few = 5,
    spreadsheet_safe: SpreadsheetSafe = False,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Release a TABLE under a POLICY; columns that the policy does not name are not released.

    [dim]Example: hartley release people.parquet policy.toml -o released.parquet
    --certificate certificate.json[/dim]
    """
    from hartley.guarantees.promise import Certificate
    from hartley.policies.document import PolicyDocument
    from hartley.reports.render import print_report
    from hartley.studies.release.release import release

    check_files({"release": out, "certificate": certificate}, {"table": table, "policy": [policy]})
    opened = open_tables(table, reading)
    warn_near_misses(opened, PolicyDocument.load(policy).categories, "is not in the policy's lists")
    with progress_bar({"count": "Counting rows", "release": "Releasing rows"}) as progress:
        report = release(
            opened,
            policy,
            out,
            certificate=certificate,
            strict=strict,
            progress=progress,
            spreadsheet_safe=spreadsheet_safe,
            k=few,
        )
    promised = None if certificate is None else Certificate.load(certificate)
    files = {"certificate": str(certificate)} if certificate is not None else {}
    if wants_json(json):
        content = report.to_dict() | files
        print_json(content | ({"promise": promised.to_dict()} if promised is not None else {}))
        return
    print_report(report.report(), console())
    if promised is not None:
        print_certificate(promised, console())
        say(f"Certificate: {certificate}")
