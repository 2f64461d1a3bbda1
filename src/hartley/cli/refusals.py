"""What a failure says: in words of the shell, with the place in a question, and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hartley.cli.commands import COMMANDS
from hartley.errors import HartleyError, Refused, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

CALL = r"(?:[\w.]+\((?:[^()]|\([^()]*\))*\)|\w+=[^\s,;:()]*)"
TOLD = re.compile(rf"{CALL}(?:(?:, | and ){CALL})* \(((?:--|hartley )[^()]+)\)")
"""Words of Python, and in parentheses what they are in a shell."""
GIVEN = re.compile(r"(?<!-- )\b(\w+)=([^\s,;:()]*)")
NAMED = re.compile(r"\bhartley\.([a-z]+)\b(?![.(])")

WIDTH = 100
"""Longer lines are cut around the place."""
ELLIPSIS = "..."


def in_shell(hint: str, options: Mapping[str, str]) -> str:
    """Return a hint without words of Python: as an option where it names a parameter.

    Example:
        >>> in_shell("give rows= (--rows), or k=5", {"k": "-k"})
        'give --rows, or -k 5'
    """

    def given(found: re.Match[str]) -> str:
        name, value = found[1], "" if found[2] == "True" else found[2].strip("'")
        return f"{options[name]} {value}".rstrip() if name in options else found[0]

    def named(found: re.Match[str]) -> str:
        return f"hartley {found[1]}" if found[1] in COMMANDS else found[0]

    return NAMED.sub(named, GIVEN.sub(given, TOLD.sub(r"\1", hint)))


def to_dict(error: HartleyError) -> dict[str, Any]:
    """Return a failure as plain values: a refused question under another name than the rest."""
    content: dict[str, Any] = {"reason": error.problem, "hint": error.hint}
    if not isinstance(error, Refused):
        return {"error": content}
    content |= {"question": error.text, "place": error.place and list(error.place)}
    content |= {"requested_bits": error.requested, "remaining_bits": error.remaining}
    return {"refused": content}


def pointed_at(error: HartleyError) -> str:
    """Return the text of an error; for a refused question, also the line with the place marked.

    Example:
        >>> refused = Refused("A join", hint="ask one table", text="FROM a, b", place=(6, 9))
        >>> print(pointed_at(refused))
        A join; hint: ask one table
          FROM a, b
                ^^^
    """
    said = f"{error.problem}; hint: {error.hint}"
    if not isinstance(error, Refused) or error.text is None or error.place is None:
        return said
    return f"{said}\n{marked(error.text, *error.place)}"


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
