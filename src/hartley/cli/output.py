"""What every command shares: JSON or text, and a progress bar."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

Format = Annotated[
    bool | None,
    typer.Option(
        "--json/--text",
        help="Print JSON or text; text in a terminal and JSON in a pipe if left out.",
        show_default=False,
    ),
]


def wants_json(choice: bool | None) -> bool:
    """Decide between JSON and text: as asked, else JSON when piped."""
    return not is_terminal(sys.stdout) if choice is None else choice


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether somebody looks at a stream; a closed one is nobody's."""
    return stream is not None and not stream.closed and stream.isatty()


def print_json(content: Any) -> None:  # noqa: ANN401 - nested plain values
    """Print plain values as JSON."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def console() -> Console:
    """Return a console for text; where there is no terminal, one of a steady width."""
    from rich.console import Console

    return Console(width=None if is_terminal(sys.stdout) else 110, highlight=False, soft_wrap=False)


@contextmanager
def progress_bar(titles: dict[str, str]) -> Iterator[Callable[[str, float], None] | None]:
    """Give a function that shows a bar a kind of work; nothing where nobody looks."""
    if not is_terminal(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {}

    def show(kind: str, share: float) -> None:
        if kind not in tasks:
            tasks[kind] = bar.add_task(titles.get(kind, kind), total=1.0)
        bar.update(tasks[kind], completed=share)

    with bar:
        yield show
