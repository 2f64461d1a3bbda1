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
            help="Where to look for copies; in the cache if left out.",
            show_default=False,
        ),
    ] = None,
    fetch: Annotated[
        str | None,
        typer.Option(
            "--fetch",
            metavar="NAME",
            help="First download this one into the cache, from its official source.",
            show_default=False,
        ),
    ] = None,
    json: Format = None,
) -> None:
    """List the data sets of the papers: where they come from, and whether a copy is here."""
    from hartley.datasets.catalogue import ENTRIES, entry_of
    from hartley.datasets.source import cache_folder, find_copy, locate

    if fetch is not None:
        locate(entry_of(fetch).source, download=True)
    found = []
    for name, entry in ENTRIES.items():
        source = entry.source
        copy = find_copy(source, data)
        found.append(
            {
                "name": name,
                "title": source.title,
                "copy": None if copy is None else str(copy),
                "download": "yes" if source.url else f"no: {source.barrier}",
                "licence": source.licence,
                "page": source.page,
            }
        )
    folder = cache_folder() if data is None else data
    if wants_json(json):
        print_json({"folder": str(folder), "datasets": found})
    else:
        _print(found, folder)


def _print(found: list[dict[str, str | None]], folder: Path) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("name", "what", "copy here", "download", "licence"):
        table.add_column(name, overflow="fold")
    for one in found:
        here = Text("yes", "green") if one["copy"] else Text("no", "yellow")
        table.add_row(one["name"], one["title"], here, one["download"], one["licence"])
    screen = console()
    screen.print(table)
    screen.print(f"\nCopies are looked for in {folder}. Every one has a synthetic twin:", end=" ")
    screen.print("hartley sample FILE --like NAME.")
