"""Output of refused questions: the reason, and the place in the question."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hartley.cli.output import print_json, wants_json
from hartley.errors import HartleyError, Refused, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 100
"""Longer lines are cut around the place."""
ELLIPSIS = "..."


def pointed_at(error: HartleyError) -> str:
    """Return the text of an error; for a refused question, also the line with the place marked.

    Example:
        >>> refused = Refused("A join", hint="ask one table", text="FROM a, b", place=(6, 9))
        >>> print(pointed_at(refused))
        A join; hint: ask one table
          FROM a, b
                ^^^
    """
    if not isinstance(error, Refused) or error.text is None or error.place is None:
        return str(error)
    return f"{error}\n{marked(error.text, *error.place)}"


def marked(text: str, start: int, end: int) -> str:
    r"""Return the line of a text that contains a place, with carets below the place.

    Example:
        >>> print(marked("SELECT\n  age FROM people", 9, 12))
          age FROM people
          ^^^
    """
    from rich.cells import cell_len

    start = min(max(start, 0), len(text))
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin:].split("\n", 1)[0]
    first = start - begin
    last = max(min(end - begin, len(line)), first)
    before, culprit, after = (
        printable(part.replace("\t", " ")) for part in (line[:first], line[first:last], line[last:])
    )
    shift = len(before) - len(before.lstrip())
    before = before[shift:] if culprit or after else before
    if len(before) > WIDTH // 2:
        before = ELLIPSIS + before[-WIDTH // 2 :]
    room = max(WIDTH - len(before), WIDTH // 4)
    shown = culprit + after
    if len(shown) > room:
        shown = shown[:room] + ELLIPSIS
    carets = "^" * max(cell_len(culprit[:room]), 1)
    return f"  {before}{shown}\n  {' ' * cell_len(before)}{carets}"


@contextmanager
def telling_refusals(json: bool | None) -> Iterator[None]:
    """Print a refusal as JSON if JSON is asked for; the message goes to stderr in any case."""
    try:
        yield
    except Refused as refused:
        if wants_json(json):
            content = {
                "reason": refused.problem,
                "hint": refused.hint,
                "question": refused.text,
                "place": None if refused.place is None else list(refused.place),
                "requested_bits": refused.requested,
                "remaining_bits": refused.remaining,
            }
            print_json({"refused": content})
        raise
