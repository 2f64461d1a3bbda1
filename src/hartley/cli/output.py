"""Output that all commands share: JSON or text, and a progress bar."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from hartley.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.segment import Segment

    from hartley.guarantees.promise import Certificate

Format = Annotated[
    bool | None,
    typer.Option(
        "--json/--text",
        help="Print JSON or text, which is the default.",
        show_default=False,
    ),
]


Details = Annotated[
    bool,
    typer.Option("--details", help="Print everything: all measures, attacks, certificates."),
]


def wants_json(choice: bool | None) -> bool:
    """Decide between JSON and text: text unless JSON is asked for, here or for every pipe."""
    told = choice is not None or os.environ.get("HARTLEY_OUTPUT") or is_terminal(sys.stdout)
    if not told:
        typer.echo("Text, since 0.2; for JSON: --json or HARTLEY_OUTPUT=json", err=True)
    return piped_json() if choice is None else choice


def piped_json() -> bool:
    """Tell whether everything that is not a terminal gets JSON."""
    return os.environ.get("HARTLEY_OUTPUT") == "json" and not is_terminal(sys.stdout)


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal; a closed stream is not."""
    return stream is not None and not stream.closed and stream.isatty()


def print_json(content: Mapping[str, Any]) -> None:
    """Print plain values as JSON, and the evidence of how they came about."""
    from hartley.reports.evidence import recorded_evidence

    made = recorded_evidence()
    if made is not None:
        content = {**content, "evidence": made.to_dict()}
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    # JSON escapes only the ASCII control characters; names may contain others.
    typer.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def say(text: str, *, nl: bool = True) -> None:
    """Print a line; control characters in names are escaped."""
    typer.echo(_written_out(text), nl=nl)


def print_curves(
    curves: Sequence[Any],
    explanations: Sequence[str],
    json: bool | None,
    written: Mapping[str, str] | None = None,
) -> None:
    """Print the curves of questions, an explanation for each or none, and what was written."""
    if wants_json(json):
        whys = [{"explanation": why} for why in explanations] or [{}] * len(curves)
        content = [curve.to_dict() | why for curve, why in zip(curves, whys, strict=True)]
        print_json({**content[0], **(written or {})} if len(content) == 1 else {"curves": content})
        return
    texts = list(map(str, curves))
    if explanations:
        texts = [f"{curve}\n\n{why}" for curve, why in zip(texts, explanations, strict=True)]
    say("\n\n".join(texts))
    for name, place in (written or {}).items():
        say(f"{'Report' if name == 'html' else 'Points'}: {place}")


def print_certificate(certificate: Certificate, console: Console) -> None:
    """Print the promise of a policy, and what follows from it."""
    from rich.text import Text

    paragraphs = [("certificate", certificate.paragraph())]
    paragraphs += [
        (consequence.name, consequence.sentence) for consequence in certificate.consequences
    ]
    for name, sentence in paragraphs:
        head = f"{name.capitalize()}."
        lines = textwrap.wrap(f"{head} {sentence}", console.width, break_on_hyphens=False)
        text = Text("\n".join(lines))
        text.stylize("bold", 0, len(head))
        console.print(text)
    console.print()


def console() -> Console:
    """Return a console for text; without a terminal it has a fixed width."""
    from rich.console import Console

    class SafeConsole(Console):
        """A console that escapes control characters in the texts of tables."""

        def render(self, *words: Any, **options: Any) -> Iterator[Segment]:  # noqa: ANN401 - as declared
            for segment in super().render(*words, **options):
                safe = segment.control or segment.text.replace("\n", "").isprintable()
                yield segment if safe else segment._replace(text=_written_out(segment.text))

    width = None if is_terminal(sys.stdout) else 110
    return SafeConsole(width=width, highlight=False, soft_wrap=False)


def _written_out(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


@contextmanager
def progress_bar(titles: dict[str, str]) -> Iterator[Callable[[str, float], None] | None]:
    """Yield a function that shows one bar per kind of work; None without a terminal.

    Without kinds, one bar says that there is work, and for how long.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    share = (TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *(share if titles else (TimeElapsedColumn(),)),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {} if titles else {"": bar.add_task("Working", total=None)}

    def show(kind: str, share: float) -> None:
        if kind not in tasks:
            tasks[kind] = bar.add_task(titles.get(kind, kind), total=1.0)
        bar.update(tasks[kind], completed=share)

    with bar:
        yield show
