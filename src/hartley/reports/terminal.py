"""Terminal output that all results share: tables, headlines and lists of sentences."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

NARROW = 72
SHORT_TITLE = 60


def plain_table(title: str | None = None) -> Table:
    """Return an empty table in the style of all commands, without a frame.

    A short title stays in one line, also above a narrow table; it is text without markup.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    short = title is not None and len(title) < SHORT_TITLE
    return Table(
        title=title and Text(title, "bold", no_wrap=short, overflow="ignore" if short else None),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )


def print_sentences(headline: str, sentences: Sequence[str], console: Console) -> None:
    """Print a headline and sentences below it."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(headline)}[/bold]", soft_wrap=True)
    print_points(sentences, console)
    console.print()


def print_points(sentences: Iterable[str], console: Console) -> None:
    """Print sentences as a list, wrapped at the width of the console."""
    from rich.text import Text

    for sentence in sentences:
        lines = [
            line
            for part in sentence.splitlines()
            for line in textwrap.wrap(part, max(console.width - 3, 20), break_on_hyphens=False)
        ]
        console.print(
            Text("\n".join(("   " if k else " • ") + line for k, line in enumerate(lines)))
        )
