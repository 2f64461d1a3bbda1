"""A useful price: from it on, answers say more than the schema."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.exact import bits_at_least
from hartley.wording import first_of, marked_bits, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_NAMED = 3
"""At most this many numbers are named in a sentence."""


def _roughly(error: Fraction) -> str:
    """Write an error with two significant digits, rounded up."""
    size = 1
    while error * size < 10:
        size *= 10
    whole = math.ceil(error * size)
    cut = 10 ** (len(str(whole)) - 2)
    return rounded(Fraction(-(-whole // cut) * cut, size))


def useful_words(prices: Sequence[Useful]) -> str:
    """Describe the prices at which answers say more than the schema, and their errors.

    Example:
        >>> from fractions import Fraction
        >>> print(useful_words([Useful(4, (("AVG(income)", Fraction("9.99")),), 5000)]))
        2 bits give ±10 if all 5,000 rows count
    """
    rows = next((useful.rows for useful in prices if useful.rows is not None), None)
    return ", ".join(map(str, prices)) + ("" if rows is None else f" if all {rows:,} rows count")


@dataclass(frozen=True)
class Useful:
    """A price from which answers say more than the schema, and their errors at that price.

    Example:
        >>> from fractions import Fraction
        >>> print(Useful(4, (("AVG(income)", Fraction("9.99")),)))
        2 bits give ±10
    """

    cells: int
    errors: tuple[tuple[str, Fraction], ...]
    """The label of each number that would be vacuous for less, and its error."""
    rows: int | None = None
    """The number of rows for which the errors hold; None if they hold for any number."""

    @property
    def bits_alone(self) -> float:
        """The price to wish for, if nothing was asked before: log2 of the cells."""
        return bits_at_least(self.cells)

    @property
    def bits(self) -> float:
        """The former name of ``bits_alone`` here; it goes with the next version."""
        return self.bits_alone

    def to_dict(self) -> dict[str, Any]:
        """Return the price as plain values, ready for JSON."""
        return {
            "bits_alone": self.bits_alone,
            "bits": self.bits,
            "errors": {label: str(error) for label, error in self.errors},
            "if_so_many_rows_count": self.rows,
        }

    def __str__(self) -> str:
        numbers = [
            (label, f"±{_roughly(error)}" if error else "the exact number")
            for label, error in self.errors
        ]
        words = [number if len(numbers) == 1 else f"{label} {number}" for label, number in numbers]
        price = marked_bits(self.bits_alone)
        gives = "gives" if price == "1 bit" else "give"
        return f"{price} {gives} {first_of(words, MOST_NAMED, joint=' and ', rest='...')}"
