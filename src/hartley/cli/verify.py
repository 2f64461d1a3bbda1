"""The command ``hartley verify``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.output import Format, console, print_certificate, print_json, say, wants_json


def verify_command(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file.")],
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="The certificate that came with it.")
    ],
    json: Format = None,
) -> None:
    """Recompute a CERTIFICATE from its POLICY, and say whether it holds.

    Exit code 0: it holds. Exit code 2: it does not, and why.

    [dim]Example: hartley verify policy.toml certificate.json[/dim]
    """
    from hartley.guarantees.verify import verify

    verified = verify(policy, certificate)
    if wants_json(json):
        print_json({"holds": True, "policy": str(policy)} | verified.to_dict())
        return
    say(f"The certificate {certificate} holds for the policy {policy}.")
    print_certificate(verified, console())
