"""A published table: its dimensions, and for every cell the interval that it states."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import InputError, OptionError
from hartley.files import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

HIDDEN = frozenset(["", "x", "*", ":", "..", "c", "[c]", "d", "nan", "[redacted]"])
"""Marks of a hidden cell that need no declaration, in lower case."""
TIMES = " \u00d7 "
"""Between the categories of a cell."""
LARGEST = 2**52
"""The largest number of a cell, in units of its last digit."""
PLAIN = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]*))?")
BELOW = re.compile(r"<\s*([0-9]+)")
NUMERIC = re.compile(r"[+-]?[0-9][0-9 .,'\u00a0\u202f]*")
SEPARATED = {
    decimal: re.compile(
        rf"[+-]?(?:[0-9]+|[0-9]{{1,3}}(?:([ {other}'\u00a0\u202f])[0-9]{{3}}(?:\1[0-9]{{3}})*))"
        rf"(?:[{decimal}][0-9]*)?"
    )
    for decimal, other in (".,", ",.")
}
"""Numbers with a declared decimal sign: another sign may separate groups of three digits."""
ROUNDINGS = ("nearest", "controlled", "random", "midpoint")

Interval = tuple[int, int | None]
"""The smallest and the largest whole number; None is no end."""


@dataclass(frozen=True)
class Rounding:
    """How the numbers of a table were rounded, and which numbers one of them can stand for.

    Example:
        >>> Rounding("nearest", 5).interval(10), Rounding("nearest", 10).interval(10)
        ((8, 12), (5, 14))
        >>> Rounding("midpoint", 6).interval(3), Rounding("random", 3).interval(0)
        ((1, 6), (0, 2))
    """

    kind: str
    base: int

    @classmethod
    def parse(cls, text: str) -> Rounding:
        """Read a rounding such as 'nearest 5'."""
        kind, _, base = text.strip().partition(" ")
        if kind not in ROUNDINGS or not base.strip().isdigit():
            raise OptionError(
                f"The rounding '{one_line(text)}' is unknown",
                hint="write nearest 5, controlled 3, random 3 or midpoint 6",
            )
        number = int(base)
        if number < 2:
            raise OptionError(
                f"The base {number} of a rounding is smaller than 2", hint="give the base, or none"
            )
        if kind == "midpoint" and number % 2:
            raise OptionError(
                f"The base {number} of a midpoint rounding is odd", hint="give an even base"
            )
        return cls(kind, number)

    def fits(self, value: int) -> bool:
        """Tell whether the rounding can give a number."""
        if self.kind == "midpoint":
            return value == 0 or value % self.base == self.base // 2
        return value % self.base == 0

    def round(self, value: int) -> int:
        """Return what a number is rounded to, where the number alone decides.

        Example:
            >>> Rounding("nearest", 5).round(12), Rounding("midpoint", 6).round(7)
            (10, 9)
        """
        if self.kind == "midpoint":
            return 0 if value == 0 else (value - 1) // self.base * self.base + self.base // 2
        if self.kind == "nearest":
            return (value + self.base // 2) // self.base * self.base
        raise OptionError(
            f"What {self.kind} rounding gives is not decided by the number alone",
            hint="only nearest and midpoint rounding can be repeated",
        )

    def interval(self, value: int, *, signed: bool = False) -> tuple[int, int]:
        """Return the smallest and the largest number that is rounded to a value.

        Args:
            value: what is published.
            signed: whether numbers can be negative.
        """
        half = (self.base - 1) // 2
        if self.kind == "midpoint":
            ends = (0, 0) if value == 0 else (value - half, value + self.base // 2)
        elif self.kind == "nearest":  # a half is rounded up
            ends = value - self.base // 2, value + half
        else:
            ends = value - self.base + 1, value + self.base - 1
        return (ends[0] if signed else max(ends[0], 0)), ends[1]


@dataclass(frozen=True)
class Marking:
    """How the text of a cell is read: declared marks, the rounding, the decimal sign."""

    marks: Mapping[str, Interval]
    rounding: Rounding | None = None
    decimal: str | None = None

    def read(self, text: str) -> tuple[str, Interval | Fraction | int]:
        """Return what kind of cell a text makes, and its interval or its number.

        Example:
            >>> marking = Marking({"low": (1, 4)})
            >>> marking.read("12.50"), marking.read("<5"), marking.read("low"), marking.read(":")
            (('number', Fraction(25, 2)), ('mark', (1, 4)), ('mark', (1, 4)), ('hidden', (0, None)))
        """
        token = text.strip()
        if token in self.marks:
            ends = self.marks[token]
            return ("hidden" if ends == (0, None) else "mark"), ends
        if token.isascii() and token.isdigit():  # nearly all cells
            return "number", int(token)
        if token.casefold() in HIDDEN:
            return "hidden", (0, None)
        below = BELOW.fullmatch(token)
        if below is not None:
            most = int(below[1]) - 1
            if most < 1:
                raise OptionError(f"The mark '{token}' leaves no number", hint="check the mark")
            return "mark", (1, most)
        return "number", self._number(token)

    def is_value(self, text: str) -> bool:
        """Tell whether a text can be a cell of the body of a table."""
        try:
            self.read(text)
        except InputError:
            return bool(NUMERIC.fullmatch(text.strip())) or text.strip().endswith("%")
        return True

    def _number(self, token: str) -> Fraction:
        if token.endswith("%"):
            raise OptionError(
                "A cell holds a percentage, and its base is not published with it",
                hint="publish counts, or leave the table of percentages out",
            )
        plain = PLAIN.fullmatch(token)
        if self.decimal is not None and NUMERIC.fullmatch(token):
            separated = SEPARATED[self.decimal].fullmatch(token)
            digits = token.replace(separated[1] or "", "") if separated is not None else ""
            plain = PLAIN.fullmatch(digits.replace(self.decimal, "."))
        if plain is not None:
            return Fraction(plain[0].rstrip("."))
        if NUMERIC.fullmatch(token):
            raise OptionError(
                f"The number '{one_line(token, 30)}' can be read in two ways",
                hint='declare decimal = "," if a comma begins the decimals, decimal = "." if it '
                "separates thousands, or write it without separators",
            )
        raise OptionError(
            f"The mark '{one_line(token, 30)}' is not declared",
            hint=f'declare it, for example --marks "{one_line(token, 30)}=hidden" or =1-4',
        )


def read_marks(declared: Mapping[str, object]) -> dict[str, Interval]:
    """Return the interval of each declared mark.

    Example:
        >>> read_marks({"s": "hidden", "low": "1-4", "-": "0"})
        {'s': (0, None), 'low': (1, 4), '-': (0, 0)}
    """
    marks: dict[str, Interval] = {}
    for mark, meaning in declared.items():
        words = str(meaning).strip()
        ends = re.fullmatch(r"([0-9]+)(?:\s*-\s*([0-9]+))?", words)
        if words == "hidden":
            marks[mark] = (0, None)
        elif ends is not None and int(ends[1]) <= int(ends[2] or ends[1]) <= LARGEST:
            marks[mark] = (int(ends[1]), int(ends[2] or ends[1]))
        else:
            raise OptionError(
                f"The mark '{one_line(mark, 30)}' is declared as '{one_line(words, 30)}'",
                hint="declare a mark as hidden, as a number or as a range such as 1-4",
            )
    return marks


class PublishedCell(NamedTuple):
    """A cell of a published table, and the interval that it states in units of the last digit."""

    keys: tuple[str | None, ...]
    """A category of each dimension; None is the total."""
    low: int | None
    high: int | None
    kind: str
    """number, rounded, mark, hidden, or absent for one that the table does not list."""
    text: str
    line: int

    @property
    def exact(self) -> bool:
        """Whether one number alone is left."""
        return self.low is not None and self.low == self.high


@dataclass(frozen=True)
class Crosstab:
    """A published table, read completely.

    Example:
        >>> cell = PublishedCell(("north",), 12, 12, "number", "12", 2)
        >>> Crosstab("a.csv", None, "", ("region",), "count", None, (cell,), 0, ()).cells[0].exact
        True
    """

    name: str
    path: str | None
    digest: str
    """The SHA-256 of the file."""
    dims: tuple[str, ...]
    statistic: str
    """count, or sum(column)."""
    where: str | None
    """The condition of the rows that the table is about; None for all of them."""
    cells: tuple[PublishedCell, ...]
    places: int
    """Decimals of the last published digit; intervals count units of it."""
    guesses: tuple[str, ...]
    """What the file does not say and was guessed, in sentences."""
    described: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What was declared about the file, or recorded with it; read again, it gives the same."""
    absent: str | None = None
    """Whether a cell that the table does not list is zero or hidden; None where nobody says."""
    signed: bool = False
    """Whether its numbers can be negative."""
    reading: str | None = None
    """How its totals are known: complete (no cell is open), declared, tested or untested."""
    left_out: tuple[PublishedCell, ...] = ()
    """Totals that can be those of the shown cells, where nobody knows."""

    def categories(self, dim: str) -> set[str]:
        """Return the categories of a dimension, without its total."""
        return set(self._labels[self.dims.index(dim)])

    @cached_property
    def _labels(self) -> tuple[frozenset[str], ...]:
        """The categories of each dimension."""
        return tuple(
            frozenset(key for key in set(column) if key is not None) for column in self.columns
        )

    @cached_property
    def columns(self) -> tuple[tuple[str | None, ...], ...]:
        """The keys of all cells, one column for each dimension."""
        if not self.cells:
            return ((),) * len(self.dims)
        return tuple(zip(*map(itemgetter(0), self.cells), strict=True))
