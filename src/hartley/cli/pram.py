"""The commands ``hartley pram`` and ``hartley estimate``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.options import (
    Few,
    Html,
    Keep,
    Out,
    RolesFile,
    SpreadsheetSafe,
    Tables,
    open_tables,
    parse_columns,
    reads_tables,
    split_columns,
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
from hartley.files import check_files, write_all_or_none
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def pram_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    out: Out,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COL[,COL]",
            help="The column to perturb, or columns to perturb together; repeat the option for "
            "columns to perturb independently.",
        ),
    ] = None,
    retain: Annotated[
        str | None,
        typer.Option(
            "--retain",
            metavar="P",
            help="Keep a value with probability P, otherwise release any other value with equal "
            "probability.",
        ),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            "--matrix",
            metavar="FILE",
            help="A CSV file: released values in the first line, true values in the first column.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="A policy file with the matrices."),
    ] = None,
    distortion: Annotated[
        float | None,
        typer.Option(
            "--distortion", metavar="D", help="Use the best matrix of at most this mean distortion."
        ),
    ] = None,
    lam: Annotated[
        float | None,
        typer.Option(
            "--lam",
            metavar="L",
            help="Use the best matrix when one bit of risk costs L units of distortion.",
        ),
    ] = None,
    risk: Annotated[
        float | None,
        typer.Option(
            "--risk", metavar="R", help="Use the best matrix of at most this risk in bits."
        ),
    ] = None,
    confidential: Annotated[
        list[str] | None,
        typer.Option(
            "--confidential",
            metavar="COL[,COL]",
            help="Columns to protect; the report says what the release reveals about them.",
        ),
    ] = None,
    distance: Annotated[
        str,
        typer.Option(
            "--distance",
            metavar="zero_one|squared|absolute",
            help="How the best matrix measures how far a released value is from the truth.",
        ),
    ] = "zero_one",
    invariant: Annotated[
        bool,
        typer.Option(
            "--invariant",
            help="Make the matrix preserve the frequencies of the columns on average.",
        ),
    ] = False,
    reconstruct: Annotated[
        bool,
        typer.Option(
            "--reconstruct",
            help="Release the best estimate of the truth for every drawn value: the mean for "
            "--distance squared, the median for absolute, the likeliest value for zero_one.",
        ),
    ] = False,
    keep: Keep = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            metavar="refuse|value",
            help="refuse: refuse a table with missing values; value: perturb missing like any "
            "other value.",
        ),
    ] = "refuse",
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Make the draw repeatable; anybody who knows N can undo it. Default: fresh "
            "random bytes.",
        ),
    ] = None,
    policy_out: Annotated[
        Path | None,
        typer.Option("--policy-out", metavar="FILE", help="Also write the matrices as a policy."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Also write the certificate of the policy; needs --policy or --policy-out.",
        ),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Also print the frequencies that readers of the release can estimate.",
        ),
    ] = False,
    roles: RolesFile = None,
    few: Few = 5,
    spreadsheet_safe: SpreadsheetSafe = False,
    html: Html = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Perturb columns of a TABLE at random, and say what the result still reveals.

    [dim]Example: hartley pram people.parquet --column region --retain 0.8 --invariant
    --keep age --policy-out policy.toml -o masked.parquet[/dim]
    """
    from hartley.policies.document import PolicyDocument
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.release.pram import pram

    written = {"release": out, "policy": policy_out, "certificate": certificate, "page": html}
    read = {"policy": policy, "matrix": matrix, "roles": roles}
    check_files(
        written,
        {"table": table, **{what: [path] for what, path in read.items() if path is not None}},
    )
    opened = open_tables(table, reading, roles=roles)
    with (
        progress_bar({"count": "Counting rows", "release": "Perturbing rows"}) as progress,
        write_all_or_none(),
    ):
        report = pram(
            opened,
            policy,
            out,
            columns=[split_columns([text], opened.columns) for text in column or []],
            retain=retain,
            matrix=matrix,
            distortion=distortion,
            lam=lam,
            risk=risk,
            distance=distance,
            invariant=invariant,
            reconstruct=reconstruct,
            missing=missing,
            keep=parse_columns(keep, opened.columns),
            seed=seed,
            confidential=split_columns(confidential or [], opened.columns) or None,
            policy_out=policy_out,
            certificate=certificate,
            progress=progress,
            spreadsheet_safe=spreadsheet_safe,
            roles=roles,
            k=few,
        )
        if html is not None:
            write_html(report, html)
    if policy is not None:
        warn_near_misses(
            opened, PolicyDocument.load(policy).categories, "is not in the policy's lists"
        )
    promised = report.certificate
    files = {what: str(path) for what, path in written.items() if path is not None}
    if wants_json(json):
        promise = {} if promised is None else {"promise": promised.to_dict()}
        print_json(report.to_dict() | promise | {"files": files})
        return
    print_report(report.report(estimate=estimate), console())
    if promised is not None:
        print_certificate(promised, console())
    for what, path in files.items():
        say(f"{what.capitalize()}: {path}")


@reads_tables
def estimate_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    policy: Annotated[
        Path,
        typer.Argument(metavar="POLICY", help="The policy file that the table was perturbed with."),
    ],
    joint: Annotated[
        bool,
        typer.Option(
            "--joint", help="Estimate the frequencies of combinations of all perturbed columns."
        ),
    ] = False,
    project: Annotated[
        bool,
        typer.Option(
            "--project",
            help="Project the estimates onto frequencies from 0 to 1, which biases them.",
        ),
    ] = False,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Estimate the true frequencies of a perturbed TABLE from its POLICY, with standard errors.

    [dim]Example: hartley estimate masked.parquet policy.toml[/dim]
    """
    from hartley.reports.render import print_report
    from hartley.studies.release.pram import estimate

    estimates = estimate(open_tables(table, reading), policy, joint=joint, project=project)
    if wants_json(json):
        print_json({"format": 1, "estimates": [item.to_dict() for item in estimates]})
        return
    for item in estimates:
        print_report(item.report(), console())
