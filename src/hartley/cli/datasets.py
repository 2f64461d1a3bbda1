"""The command ``hartley datasets``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.output import Format, console, print_json, wants_json


def datasets_command(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="The folder to look for copies in; default: the cache.",
            show_default=False,
        ),
    ] = None,
    fetch: Annotated[
        str | None,
        typer.Option(
            "--fetch",
            metavar="NAME",
            help="First download this data set into the cache, from its official source.",
            show_default=False,
        ),
    ] = None,
    json: Format = None,
) -> None:
    """List the data sets of the papers, their sources, and whether a local copy exists."""
    from hartley.datasets.catalogue import entry_of, list_datasets
    from hartley.datasets.source import cache_folder, locate

    if fetch is not None:
        locate(entry_of(fetch).source, download=True)
    listed = list_datasets(data)
    folder = cache_folder() if data is None else data
    if wants_json(json):
        print_json({"folder": str(folder), "datasets": listed})
    else:
        _print(listed, folder)


def _print(listed: list[dict[str, str | None]], folder: Path) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("name", "what", "copy here", "download", "licence"):
        table.add_column(name, overflow="fold")
    for known in listed:
        here = Text("yes", "green") if known["copy"] else Text("no", "yellow")
        table.add_row(known["name"], known["title"], here, known["download"], known["licence"])
    screen = console()
    screen.print(table)
    screen.print(
        f"\nCopies are searched for in {folder}. Every data set has a synthetic twin:", end=" "
    )
    screen.print("hartley sample FILE --like NAME.")
