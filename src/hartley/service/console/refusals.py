"""A refused question as the console shows it: the place underlined, and the hint as a button."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GUESS = re.compile(r"did you mean (?P<guess>'(?:[^']|'')*'|[^?]+)\?")
"""What the agent proposes instead of the refused part."""
EXAMPLE = re.compile(r"write for example '?(?P<text>SELECT .+?)'?$", re.IGNORECASE)
LITERAL = re.compile(r"'(?:[^']|'')*'")
PRICE = re.compile(r"(?<![\d.,])(?P<bits>\d+(?:\.\d+)?) bits? gives? (?P<error>±\S+|the exact)")


@dataclass(frozen=True)
class Repair:
    """A button that does what a hint proposes; it prices, and never spends."""

    words: str
    field: str
    value: str
    action: str


@dataclass(frozen=True)
class ShownRefusal:
    """A refusal in the words of the page."""

    title: str
    problem: str
    hint: str
    before: str = ""
    culprit: str = ""
    after: str = ""
    repairs: Sequence[Repair] = ()


def shown_refusal(  # noqa: PLR0913 - the parts of a refusal, each by name
    text: str,
    problem: str,
    hint: str,
    *,
    address: str,
    place: tuple[int, int] | None = None,
    requested: float | None = None,
) -> ShownRefusal:
    """Return a refusal as the page shows it.

    Example:
        >>> refusal = shown_refusal(
        ...     "SELECT AVG(agee) FROM people", "The table people has no column 'agee'",
        ...     "did you mean age? the columns are age, sex", address="/d", place=(11, 15),
        ... )
        >>> refusal.culprit, refusal.repairs[0].value
        ('agee', 'SELECT AVG(age) FROM people')
    """
    begin, end = place if place is not None else (0, 0)
    repairs = _repairs(text, hint, place, address)
    return ShownRefusal(
        "The budget does not cover it" if requested is not None else "Not answered",
        problem,
        hint,
        text[:begin],
        text[begin:end],
        text[end:],
        repairs,
    )


def _repairs(text: str, hint: str, place: tuple[int, int] | None, address: str) -> list[Repair]:
    guess, example = GUESS.search(hint), EXAMPLE.search(hint)
    price = f"{address}/price"
    if guess and place is not None:
        word = guess["guess"]
        part = _corrected(text[place[0] : place[1]], word)
        corrected = text[: place[0]] + part + text[place[1] :]
        return [Repair(f"Price it with {word}", "example", corrected, price)]
    if example:
        return [Repair("Start from the example", "example", example["text"], price)]
    return [
        Repair(
            f"Price it at {match['bits']} {'bit' if match['bits'] == '1' else 'bits'}",
            "wish",
            match["bits"],
            price,
        )
        for match in PRICE.finditer(hint)
    ][:2]


def _corrected(culprit: str, guess: str) -> str:
    """Return the refused part with the guess in it.

    A value is refused with the comparison around it: of its literals, the closest is replaced.
    """
    literals = list(LITERAL.finditer(culprit))
    if not guess.startswith("'") or not literals:
        return guess
    closest = max(literals, key=lambda each: SequenceMatcher(None, each[0], guess).ratio())
    return culprit[: closest.start()] + guess + culprit[closest.end() :]
