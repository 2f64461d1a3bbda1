"""A quote: the price of a batch, the largest errors of its answers, and the next useful prices."""

from __future__ import annotations

import html
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

from hartley.exact import bits_at_least, write_integer
from hartley.files import as_cells, as_error, as_text, require
from hartley.results import codec
from hartley.text import (
    bits_text,
    bits_up,
    html_table,
    in_notebook,
    join_first,
    number,
    plural,
    price_words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from hartley.guarantees.promise import Certificate


# --- wish -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wish:
    """A question with a wish for its answer: an error, or a price in bits.

    With ``min_rows``, averages and spreads keep the error if at least so many rows count.

    Example:
        >>> Wish("SELECT AVG(age) FROM people", error=0.5).error
        0.5
    """

    text: str
    error: object = None
    bits: object = None
    min_rows: object = None

    @property
    def settings(self) -> list[str]:
        """What is wished for, as comments of SQL write it: bits=2, error=0.5, min_rows=100."""
        named = ((name, getattr(self, name)) for name in ("bits", "error", "min_rows"))
        return [f"{name}={value}" for name, value in named if value is not None]

    def or_else(self, error: object, bits: object, min_rows: object = None) -> Wish:
        """Return a question without a wish with another one; its own wish counts first."""
        if self.error is not None or self.bits is not None:
            return self
        return Wish(self.text, error, bits, min_rows if self.min_rows is None else self.min_rows)


# --- errors ---------------------------------------------------------------------------------------

Errors: TypeAlias = tuple[tuple[str, Fraction], ...]
"""The label of each number with its largest error."""


class ErrorsAtRows(NamedTuple):
    """The errors of numbers that depend on a private number of rows, if at least ``rows`` count."""

    rows: int
    errors: Errors


ERRORS = codec.Codec(
    lambda content: tuple((as_text(label), as_error(error)) for label, error in content.items()),
    lambda errors: {label: str(error) for label, error in errors},
)
ERRORS_IF = codec.Codec(
    lambda content: tuple(
        ErrorsAtRows(as_cells(rows), ERRORS.read(errors)) for rows, errors in content.items()
    ),
    lambda table: {str(some.rows): ERRORS.write(some.errors) for some in table},
)


def are_errors_of(table: tuple[ErrorsAtRows, ...], errors: Errors) -> bool:
    """Return whether errors at some rows are about some of these numbers."""
    return all(some.errors and {*dict(some.errors)} <= {*dict(errors)} for some in table)


# --- useful ---------------------------------------------------------------------------------------
# A useful price: from it on, answers say more than the schema.

SOME_ROWS, USUAL_ROWS = (10, 100, 1000), 100
"""For these numbers of rows errors are named that depend on a private number of rows; for the
usual one where there is room for one."""
MOST_NAMED = 3
"""At most this many numbers are named in a sentence."""


def useful_words(prices: Sequence[UsefulPrice]) -> str:
    """Describe the prices at which answers say more than the schema, and their errors.

    Example:
        >>> from fractions import Fraction
        >>> print(useful_words([UsefulPrice(4, (("AVG(income)", Fraction("9.991")),), 100)]))
        2 bits (--bits 2) give ±10 if 100 rows count
    """
    return "; ".join(map(str, prices))


@dataclass(frozen=True)
class UsefulPrice(codec.Result):
    """A price from which answers say more than the schema, and their errors at that price.

    Example:
        >>> from fractions import Fraction
        >>> print(UsefulPrice(4, (("AVG(income)", Fraction("9.991")),)))
        2 bits (--bits 2) give ±10
    """

    KEYS: ClassVar = {
        "bits_alone": codec.Said(lambda price: price.bits_alone),
        "bits": codec.Said(lambda price: price.bits),
        "cells": codec.Field("cells", codec.CELLS),
        "errors": codec.Field("errors", ERRORS),
        "if_so_many_rows_count": codec.Field("rows", codec.perhaps(codec.WHOLE)),
        "in_an_average_group": codec.Field("average", codec.TRUTH),
        "errors_if_rows_count": codec.Field("errors_if", ERRORS_IF),
    }
    cells: int
    errors: Errors
    """The label of each number that would be vacuous for less, and its error."""
    rows: int | None = None
    """The number of rows for which the errors hold; None if they hold for any number."""
    average: bool = False
    """Whether groups have so many rows on average, or more."""
    errors_if: tuple[ErrorsAtRows, ...] = ()
    """The errors for other numbers of rows."""

    @property
    def bits_alone(self) -> float:
        """The price to wish for, if nothing was asked before: log2 of the cells."""
        return bits_at_least(self.cells)

    @property
    def bits(self) -> float:
        """The former name of ``bits_alone`` here; it goes with the next version."""
        return self.bits_alone

    def __str__(self) -> str:
        price = bits_up(self.bits_alone)
        gives = "gives" if price == "1 bit" else "give"
        told = f"{price} (--bits {price.split()[0].replace(',', '')}) {gives} {_buys(self.errors)}"
        others = [
            f", {_buys(some.errors)} {'in one of' if self.average else 'if'} {some.rows:,}"
            for some in self.errors_if
            if len(some.errors) == 1
        ]
        return "".join([told, self.where, *others])

    @property
    def where(self) -> str:
        """Say for how many rows the errors hold, as the end of a sentence; empty if for any."""
        if self.average:
            return f" in an average group ({self.rows:,} rows or more)"
        return "" if self.rows is None else f" if {self.rows:,} rows count"


def _buys(errors: Errors) -> str:
    """Write errors with three digits, rounded up."""
    numbers = [
        (label, f"±{number(error, 3, round='up')}" if error else "the exact number")
        for label, error in errors
    ]
    words = [shown if len(numbers) == 1 else f"{label} {shown}" for label, shown in numbers]
    return join_first(words, MOST_NAMED, joint=" and ", rest="...")


# --- quote ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NextPrices(codec.Result):
    """The next prices of a question at which some error changes; None where there is none."""

    KEYS: ClassVar = {
        name: codec.Field(name, codec.perhaps(UsefulPrice.codec())) for name in ("below", "above")
    } | {"as_good_below": codec.Field("as_good_below", codec.TRUTH)}
    below: UsefulPrice | None = None
    above: UsefulPrice | None = None
    as_good_below: bool = False
    """Whether the errors below are larger by a tenth at most."""

    def sentence(self, *, after_others: bool = False) -> str:
        """Name the prices, which are alone: after other questions, less may be charged."""
        alone = " alone" if after_others else ""
        if self.as_good_below:
            above = f" Next useful price{alone}: {self.above}." if self.above else ""
            return f"Cheaper{alone}, and almost as good: {self.below}.{above}"
        prices = [price for price in (self.below, self.above) if price is not None]
        noun = plural(len(prices), "price")
        return f"Next useful {noun}{alone}: {useful_words(prices)}." if prices else ""


ROW = codec.Codec(lambda row: row if type(row) is int else as_text(row))


@dataclass(frozen=True)
class Quote(codec.Result):
    """The price of a batch and the largest errors of its answers; nothing is spent."""

    KEYS: ClassVar = {
        "cells": codec.Field("cells", codec.CELLS),
        "bits_alone": codec.Field("bits_alone", codec.BITS),
        "bits": codec.Field("bits", codec.BITS),
        "due_bits": codec.Said(lambda quote: quote.due),
        "given": codec.Field("given", codec.many(ROW)),
        "remaining_bits": codec.Field("remaining", codec.perhaps(codec.BITS)),
        "affordable": codec.Field("affordable", codec.perhaps(codec.TRUTH)),
        "refusal": codec.Field("refusal", codec.perhaps(codec.TEXT)),
        "exceeded": codec.Field("exceeded", codec.TRUTH),
        "questions": codec.Lines(
            {
                "text": codec.Field("texts", codec.TEXT),
                "levels": codec.Field("levels", codec.many(codec.CELLS)),
                "worst_errors": codec.Field("errors", ERRORS),
                "vacuous": codec.Field("vacuous", codec.many(codec.TEXT)),
                "useful_prices": codec.Field("useful", codec.many(UsefulPrice.codec())),
                "errors_if_rows_count": codec.Field("errors_if", ERRORS_IF),
                "next_prices": codec.Field("next_prices", NextPrices.codec()),
            }
        ),
        "certificate": codec.Field("certificate", codec.PROMISE),
    }
    texts: tuple[str, ...]
    cells: int
    """The largest number of different answers that one person's data can produce."""
    bits_alone: float
    """The price of these answers if the account had asked nothing before: log2 of the cells."""
    bits: float
    """What would be charged now, after all that the account was charged before: the ``bits`` of the
    answer. Without a ledger, the same as ``bits_alone``."""
    affordable: bool | None
    """Whether the budget covers what would be charged, exactly, and in a service also what the
    account may spend today; None without a ledger."""
    errors: tuple[Errors, ...]
    """For every text, the label of each of its numbers and the worst-case error."""
    levels: tuple[tuple[int, ...], ...]
    """For every text, the number of cells of each of its integer statistics."""
    remaining: float | None
    """The bits left in the budget; None without a ledger."""
    explanation: str
    """The atoms and factors behind the price, in words."""
    certificate: Certificate
    vacuous: tuple[tuple[str, ...], ...]
    """For every text, the labels of numbers that would say no more than the schema; ``ask`` refuses
    such a text unless called with ``vacuous=True``."""
    useful: tuple[tuple[UsefulPrice, ...], ...]
    """For every text with such numbers, the next prices that reveal something."""
    errors_if: tuple[tuple[ErrorsAtRows, ...], ...]
    """For every text, the errors if at least so many rows count, where their number is private."""
    next_prices: tuple[NextPrices, ...]
    """For every text, the next prices below and above its own at which some error changes; not
    searched for in batches of more than 16 texts, nor for a text with more than 100 statistics."""
    refusal: str | None = None
    """Why it would be refused, in words; None if it would not."""
    exceeded: bool = False
    """Whether the reason is a limit beside the budgets of the ledger, such as a daily cap."""
    given: tuple[int | str, ...] = ()
    """The rows of the asking account that the price rests on, in a reply by their names.
    ``ask(..., given=quote)`` prices from them, and never charges more than ``bits``."""

    @property
    def due(self) -> float | None:
        """The former name of ``bits``, None without a ledger; it goes with the next version."""
        return None if self.affordable is None else self.bits

    @classmethod
    def _read(cls, content: Mapping[str, Any], **_: object) -> Self:
        """Read a reply; ``explanation`` is empty unless the reply has one."""
        return super()._read(content, explanation=as_text(content.get("explanation", "")))

    def _check(self) -> None:
        """Require one price, promised for these questions, and numbers that the errors name."""
        codec.check_same(bits_at_least(self.cells), self.bits_alone)
        promised = self.certificate.parameters
        require(promised["cells"] == write_integer(self.cells))
        require(promised["questions"] == [*self.texts])
        require(self.bits <= self.bits_alone + codec.SLACK)
        require(self.affordable in {None, self.refusal is None})
        for vacuous, table, errors in zip(self.vacuous, self.errors_if, self.errors, strict=True):
            require({*vacuous} <= {*dict(errors)} and are_errors_of(table, errors))

    def __rich__(self) -> Table:
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, caption=self._caption)
        for name in ("", "worst-case error"):
            table.add_column(name)
        for cells in self._lines():
            table.add_row(*map(escape, cells))
        return table

    def _repr_html_(self) -> str:
        table = html_table(("", "worst-case error"), self._lines())
        return in_notebook(f"{table}<p>{html.escape(self._caption)}</p>")

    def _lines(self) -> list[tuple[str, str]]:
        return [
            (
                label,
                (f"±{number(error, round='up')}" if error else "exact") + self._if_rows(k, label),
            )
            for k, errors in enumerate(self.errors)
            for label, error in errors
        ]

    def _if_rows(self, text: int, label: str) -> str:
        """Say which error a number has if a certain number of rows count."""
        words = [
            f"{number(error, round='up')} if {'' if place else 'at least '}{some.rows:,}"
            f"{'' if place else ' rows count'}"
            for place, some in enumerate(self.errors_if[text])
            for name, error in some.errors
            if name == label
        ]
        return f"; {', '.join(words)}" if words else ""

    @property
    def _caption(self) -> str:
        now = bits_text(self.bits)
        if self.bits < self.bits_alone:
            now = f"{now} now, {bits_text(self.bits_alone)} alone"
        rest = "" if self.remaining is None else f", {bits_text(self.remaining, up=False)} left"
        return "\n".join([f"{now}{rest}", *self._remarks(), *self._refused()])

    def __str__(self) -> str:
        lines = [price_words(self.bits, self.bits_alone)]
        lines += [
            f"{label}: "
            + (f"within {number(error, round='up')} of the truth" if error else "exact")
            + self._if_rows(k, label)
            for k, errors in enumerate(self.errors)
            for label, error in errors
        ]
        lines += self._remarks()
        if self.remaining is not None:
            lines.append(f"Left: {bits_text(self.remaining, up=False, words=True)}.")
        return "\n".join(lines + self._refused())

    def _refused(self) -> list[str]:
        return [] if self.refusal is None else [f"It would be refused: {self.refusal}."]

    def _remarks(self) -> list[str]:
        """Say what is certain, which numbers are vacuous, and the next prices that tell more."""
        about = codec.certain_for(self.certificate)
        vacuous = [
            f"Vacuous: {join_first(labels, MOST_NAMED, rest='...')} would say no more than the "
            "schema" + (f"; {useful_words(prices)}." if prices else ".")
            for labels, prices in zip(self.vacuous, self.useful, strict=True)
            if labels
        ]
        firsts = [
            f"First useful price: {bits_text(some[0].bits_alone)}." for some in self.useful if some
        ]
        others = self.bits < self.bits_alone
        nearby = [
            nearby.sentence(after_others=others)
            for prices, nearby in zip(self.useful, self.next_prices, strict=True)
            if not prices
        ]
        return [*filter(None, [about]), *vacuous, *firsts, *filter(None, nearby)]
