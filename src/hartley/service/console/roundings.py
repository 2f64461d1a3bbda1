"""How pages round: bits to three decimals, errors to three digits, always to the safe side.

Every page takes its numbers from here, so that one quantity looks the same wherever it is shown.
"""

from __future__ import annotations

import re
from fractions import Fraction

from hartley.numerals import digits_up
from hartley.wording import bits_down, bits_up, decimal_text, decimals_down, decimals_up

NUMBER = re.compile(r"[±-]?[\d,]+(?:\.(?P<decimals>\d+))?")
FIGURE_SPACE, POINT_SPACE = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
DIGITS = 3
"""Of an error."""
PLACES = 3
"""Decimals of a number of bits."""


def bits_due(bits: float) -> str:
    """Write bits that are spent or due, rounded up: no page shows a charge smaller than it is.

    Example:
        >>> bits_due(2.80735492), bits_due(1.0)
        ('2.808 bits', '1 bit')
    """
    return bits_up(bits, PLACES)


def bits_left(bits: float) -> str:
    """Write bits that are left, allowed or in a record, rounded down.

    Example:
        >>> bits_left(2.80735492), bits_left(14.0)
        ('2.807 bits', '14 bits')
    """
    return bits_down(bits, PLACES)


def due_number(bits: float) -> str:
    """Write the number of ``bits_due`` alone, where its column or tile names the unit.

    Example:
        >>> due_number(2.80735492)
        '2.808'
    """
    return decimals_up(bits, PLACES)


def left_number(bits: float) -> str:
    """Write the number of ``bits_left`` alone.

    Example:
        >>> left_number(2.80735492)
        '2.807'
    """
    return decimals_down(bits, PLACES)


def error_words(error: Fraction) -> str:
    """Write an error with three digits, rounded up.

    Example:
        >>> [error_words(Fraction(error)) for error in ("0.0569149", "33312", "0")]
        ['±0.057', '±33,400', 'exact']
    """
    return f"±{digits_up(error, DIGITS)}" if error else "exact"


def exact_bits(text: str) -> str:
    """Write an exact number of bits for a field in which it can be changed.

    Example:
        >>> exact_bits("33/2"), exact_bits("16")
        ('16.5', '16')
    """
    return decimal_text(Fraction(text))


def aligned(numbers: list[str]) -> list[str]:
    """Return numbers with spaces at their end, so that their points stand in one column.

    The spaces are as wide as a point and as digits; a text that is no number stays as it is.

    Example:
        >>> [text.rstrip() for text in aligned(["9,471", "38,866.7"])]
        ['9,471', '38,866.7']
        >>> [len(text.partition(".")[2]) for text in aligned(["1.5", "2.25"])]
        [2, 2]
    """
    matches = [NUMBER.fullmatch(text) for text in numbers]
    most = max((len(match["decimals"] or "") for match in matches if match), default=0)

    def padded(text: str, match: re.Match[str] | None) -> str:
        if match is None or not most:
            return text
        decimals = match["decimals"]
        point = "" if decimals else POINT_SPACE
        return text + point + FIGURE_SPACE * (most - len(decimals or ""))

    return [padded(text, match) for text, match in zip(numbers, matches, strict=True)]
