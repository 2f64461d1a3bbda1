"""The command ``hartley verify``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.output import Format, console, print_certificate, print_json, say, wants_json
from hartley.errors import OptionError


def verify_command(
    policy: Annotated[
        list[Path],
        typer.Argument(metavar="POLICY", help="The policy file, or every output that was checked."),
    ],
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="The certificate that came with it.")
    ],
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="The microdata, to compare the contributions of a certificate of tables with.",
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Recompute a CERTIFICATE from its POLICY, and say whether it holds.

    A certificate of hartley check is proved again from the published tables, without a solver.
    Exit code 0: it holds. Exit code 2: it does not, and why.

    [dim]Example: hartley verify policy.toml certificate.json[/dim]
    """
    from hartley.guarantees.promise import is_table_certificate

    if is_table_certificate(certificate):
        from hartley.studies.check.certificate import verify_check

        proved = verify_check(policy, certificate, table)
        if wants_json(json):
            print_json({"holds": True, "counts": proved.counts, "compared": proved.compared})
            return
        say(f"The certificate {certificate} holds. {proved.paragraph}")
        return
    if table is not None:
        raise OptionError(
            f"The certificate {certificate} is of a policy, which needs no microdata",
            hint="leave --table out",
        )
    if len(policy) > 1:
        raise OptionError(
            f"The certificate {certificate} is of one policy, and several files are named",
            hint="name the policy file and its certificate",
        )
    from hartley.guarantees.verify import verify

    verified = verify(policy[0], certificate)
    if wants_json(json):
        print_json({"holds": True, "policy": str(policy[0])} | verified.to_dict())
        return
    say(f"The certificate {certificate} holds for the policy {policy[0]}.")
    print_certificate(verified, console())
