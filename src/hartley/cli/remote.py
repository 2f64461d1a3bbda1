"""Questions to a service: what ``hartley ask --url`` and ``hartley price --url`` do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hartley.cli.output import console, print_curves, print_json, wants_json
from hartley.cli.refusals import telling_refusals
from hartley.errors import OptionError
from hartley.files import read_text_file
from hartley.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hartley.client.remote_agent import RemoteAgent

TOKEN_VARIABLE = "HARTLEY_TOKEN"  # noqa: S105 - the name of a variable


def connected(
    url: str,
    token_file: Path | None,
    dataset: str | None,
    certificates: Path | None,
    *,
    insecure: bool,
) -> RemoteAgent:
    """Connect to the dataset that the options name."""
    from hartley.client.remote_agent import connect

    token = _token(token_file)
    return connect(url, token=token, dataset=dataset, certificates=certificates, insecure=insecure)


def refuse_local(options: Mapping[str, object]) -> None:
    """Raise an error for options that the service decides on."""
    given = [name for name, value in options.items() if value]
    if given:
        raise OptionError(
            f"The service decides on {listed(given)}", hint="leave that out, or leave out --url"
        )


def refuse_remote(options: Mapping[str, object]) -> None:
    """Raise an error for options that only make sense with --url."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise OptionError(
            f"There is no service for {listed(given)}", hint="give its address with --url"
        )


def _token(file: Path | None) -> str:
    """Return the token; it is never an option, since others can see a command line."""
    if file is not None:
        return read_text_file(file, what="token file").strip()
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise OptionError(
            "There is no token for the service",
            hint=f"name its file with --token-file, or set {TOKEN_VARIABLE}",
        )
    return token


def ask_service(
    remote: RemoteAgent,
    asked: Sequence[object],
    wishes: dict[str, Any],
    json: bool | None,
) -> None:
    """Ask a service, and print the answers as ``hartley ask`` does."""
    with remote, telling_refusals(json):
        reply: Any = remote.ask(asked[0] if len(asked) == 1 else list(asked), **wishes)
    if wants_json(json):
        print_json(reply.to_dict())
        return
    out = console()
    answers = [reply] if len(asked) == 1 else list(reply)
    for answer in answers:
        if len(answers) > 1:
            out.print(answer.text, style="dim", markup=False, highlight=False)
        out.print(answer.reading)
    out.print(answers[0].caption, style="dim", highlight=False)


def price_at_service(  # noqa: PLR0913 - what was asked, and what to show
    remote: RemoteAgent,
    asked: Sequence[object],
    wishes: dict[str, Any],
    json: bool | None,
    *,
    explain: bool,
    curve: bool,
) -> None:
    """Show prices of a service, and print them as ``hartley price`` does."""
    bounds = {name: wishes[name] for name in ("error", "bits", "min_rows")}
    if curve:
        with remote, telling_refusals(json):
            curves = [remote.curve(each, **bounds) for each in asked]
            explanations = [remote.explain(each, **bounds) for each in asked if explain]
        print_curves(curves, explanations, json)
        return
    with remote, telling_refusals(json):
        quote = remote.price(list(asked), **wishes)
        explanation = remote.explain(list(asked), **bounds) if explain else None
    if wants_json(json):
        more = {} if explanation is None else {"explanation": explanation}
        print_json(quote.to_dict() | more)
        return
    out = console()
    out.print(str(quote), markup=False)
    if explanation is not None:
        out.print()
        out.print(explanation, markup=False)
