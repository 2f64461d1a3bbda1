"""Options of commands that stop a pipeline, and the exit code for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.files import check_files, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.studies.check.gate import GateCase

FAILED = 3
"""The exit code where a gate stops: not 2, which is a user's mistake, and not 1, a failure."""

NEVER = "never"
"""The condition that nothing fulfils."""

FailAbove = Annotated[
    str | None,
    typer.Option(
        "--fail-above",
        metavar="BITS",
        help="Exit with 3 if more than this is revealed; compared exactly.",
    ),
]
FailAboveNumber = Annotated[
    str | None,
    typer.Option(
        "--fail-above",
        metavar="NUMBER",
        help="Exit with 3 if the main number of the attack, or the upper end of its interval, is "
        "larger.",
    ),
]
FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="disclosed|open|never",
        help="Exit with 3 if a cell is disclosed, or also if one is open, or never.",
    ),
]
FailOnPeople = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="unique|few|given-away|never",
        help="Exit with 3 if somebody is unique, is among fewer than --few, or has a secret that "
        "is narrowed to a single value.",
    ),
]
FailOnSuccess = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="certain|possible|never",
        help="Exit with 3 if the main number of the attack is above zero, even at the lower end "
        "of its interval (certain), or perhaps (possible).",
    ),
]
FailOnSettled = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="settled|open|never",
        help="Exit with 3 if a total of few rows is settled, or also if one is open.",
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Also write the result as JUnit XML."),
]
Sarif = Annotated[
    Path | None,
    typer.Option("--sarif", metavar="FILE", help="Also write the result as SARIF 2.1.0."),
]


def check_gate_files(junit: Path | None, sarif: Path | None, read: Sequence[str | Path]) -> None:
    """Raise an error early if a report would overwrite an input or has no folder."""
    check_files({"JUnit report": junit, "SARIF report": sarif}, {"table": read})


def gate_texts(
    command: str, cases: Sequence[GateCase], *, junit: Path | None = None, sarif: Path | None = None
) -> dict[Path, str]:
    """Return the reports of a gate by their files."""
    from hartley.studies.check.gate import junit_text, sarif_text

    texts = {} if junit is None else {junit: junit_text(command, cases)}
    return texts if sarif is None else texts | {sarif: sarif_text(command, cases)}


def pass_gate(
    command: str, cases: Sequence[GateCase], *, junit: Path | None = None, sarif: Path | None = None
) -> None:
    """Write the reports of a gate, and exit with 3 if something does not pass."""
    for path, text in gate_texts(command, cases, junit=junit, sarif=sarif).items():
        write_whole(path, text)
    for case in cases:
        for finding in (mine for mine in case.findings if mine.rule == "above"):
            typer.echo(f"{case.name}: {finding.message}.", err=True)  # no headline says it
    if not all(case.passed for case in cases):
        raise typer.Exit(FAILED)
