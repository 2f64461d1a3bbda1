"""The command ``hartley release``."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.options import Names, Null, Out, Tables, open_tables
from hartley.cli.output import (
    Format,
    check_files,
    console,
    print_certificate,
    print_json,
    progress_bar,
    wants_json,
)
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hartley.guarantees.certificate import Certificate
    from hartley.policies.document import PolicyDocument
    from hartley.studies.release import ReleaseReport


def release_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    table: Tables,
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY", help="What is released: a policy file.")
    ],
    out: Out,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Also write what the policy promises, once the release is written.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a table with values that are missing or outside the declared ranges.",
        ),
    ] = False,
    null: Null = None,
    names: Names = None,
    json: Format = None,
) -> None:
    """Write a TABLE as a POLICY releases it: what the policy does not name is not released.

    [dim]Example: hartley release people.parquet policy.toml -o released.parquet
    --certificate certificate.json[/dim]
    """
    from hartley.guarantees.certify import certify
    from hartley.policies.document import PolicyDocument
    from hartley.reports.terminal import print_release
    from hartley.studies.release import release

    check_files({"release": out, "certificate": certificate}, {"table": table, "policy": [policy]})
    document = PolicyDocument.load(policy)
    promised = None if certificate is None else certify(document).bind(policy)
    opened = open_tables(table, null, names)
    with (
        progress_bar({"count": "Counting rows", "release": "Releasing rows"}) as progress,
        staged(out, wanted=promised is not None) as place,
    ):
        report = release(opened, document, place, strict=strict, progress=progress)
        if promised is not None:
            refuse_uncovered(report, document, promised)
    report = replace(report, path=str(out))
    if certificate is not None and promised is not None:
        promised.save(certificate)
    files = {"certificate": str(certificate)} if certificate is not None else {}
    if wants_json(json):
        content = report.to_dict() | files
        print_json(content | ({"promise": promised.to_dict()} if promised is not None else {}))
        return
    print_release(report, console())
    if promised is not None:
        print_certificate(promised, console())
        typer.echo(f"Certificate: {certificate}")


@contextmanager
def staged(out: Path, *, wanted: bool) -> Iterator[Path]:
    """Give a place beside a file, whose content is moved there when all went well."""
    if not wanted:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.absolute().parent) as folder:
        place = Path(folder, out.name)
        yield place
        place.replace(out)


def refuse_uncovered(report: ReleaseReport, policy: PolicyDocument, promised: Certificate) -> None:
    """Refuse to certify a release of a table that the promise does not reckon with."""
    people = policy.design.get("people")
    for column in report.columns:
        lost = column.missing + column.undefined
        if lost and promised.parameters.get("missing") != "counted":
            raise OptionError(
                f"{lost:,} value{'' if lost == 1 else 's'} of '{column.of or column.name}' "
                f"{'is' if lost == 1 else 'are'} missing, which the certificate does not allow for",
                hint="leave these rows out of the table, or release without --certificate",
            )
        if column.people is not None and column.people != people:
            raise OptionError(
                f"The certificate is about {people:,} people, but the table has {column.people:,}",
                hint="design the release again for as many, or release without --certificate",
            )
