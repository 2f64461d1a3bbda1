"""The replies of the agent: a quote before the charge, an answer after it, and the promise."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.estimate import records
from hartley.agent.ledger.entries import write_integer
from hartley.agent.pricing.price import BATCH_RULES
from hartley.errors import OptionError
from hartley.exact import bits_at_least
from hartley.guarantees.certificate import Certificate
from hartley.guarantees.promise import UNRELATED
from hartley.wording import bits_down, bits_up, decimals_up, first_of, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    import pyarrow as pa
    from rich.console import Group
    from rich.table import Table

    from hartley.agent.answers.estimate import Estimate, Reading
    from hartley.ranges.schema.schema import Schema


MOST_NAMED = 3
"""At most this many numbers are named in a sentence."""
LONG = 10**15
"""Larger numbers of answers are shown as a power of two."""


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
    def bits(self) -> float:
        """The price: log2 of the cells."""
        return bits_at_least(self.cells)

    def __str__(self) -> str:
        numbers = [
            (label, f"±{_roughly(error)}" if error else "the exact number")
            for label, error in self.errors
        ]
        words = [number if len(numbers) == 1 else f"{label} {number}" for label, number in numbers]
        price = bits_up(self.bits)
        gives = "gives" if price == "1 bit" else "give"
        return f"{price} {gives} {first_of(words, MOST_NAMED, joint=' and ', rest='...')}"


@dataclass(frozen=True)
class Quote:
    """The price of a batch and the largest errors of its answers; nothing is spent."""

    texts: tuple[str, ...]
    cells: int
    """The largest number of different answers that one person's data can produce."""
    bits: float
    """The price if nothing of it was ever asked: log2 of the cells."""
    due: float | None
    """The charge if asked now, without questions that are already paid for; None if unknown."""
    affordable: bool | None
    """Whether the budget covers what is due, exactly; None without a ledger."""
    errors: tuple[tuple[tuple[str, Fraction], ...], ...]
    """For every text, the label of each of its numbers and the worst-case error."""
    levels: tuple[tuple[int, ...], ...]
    """For every text, the number of cells of each of its integer statistics."""
    remaining: float | None
    """The bits left in the budget; None without a ledger."""
    explanation: str
    """The atoms and factors behind the price, in words."""
    certificate: Certificate
    vacuous: tuple[tuple[str, ...], ...] = ()
    """For every text, the labels of numbers that would say no more than the schema; ``ask`` refuses
    such a text unless called with ``vacuous=True``."""
    useful: tuple[tuple[Useful, ...], ...] = ()
    """For every text with such numbers, the next prices that reveal something."""
    refusal: str | None = None
    """Which budget does not cover what is due, in words; None if all do."""
    given: tuple[int, ...] = ()
    """The rows of the own account that lower what is due; ``ask`` takes them as ``given``, and then
    never charges more than the quote says."""

    def to_dict(self) -> dict[str, Any]:
        """Return the quote as plain values, ready for JSON."""
        return {
            "cells": write_integer(self.cells),
            "bits": self.bits,
            "due_bits": self.due,
            "given": list(self.given),
            "remaining_bits": self.remaining,
            "affordable": self.affordable,
            "refusal": self.refusal,
            "questions": [
                {
                    "text": text,
                    "levels": [write_integer(level) for level in levels],
                    "worst_errors": {label: str(error) for label, error in errors},
                    "vacuous": list(vacuous),
                    "useful_prices": [
                        {
                            "bits": useful.bits,
                            "errors": {label: str(error) for label, error in useful.errors},
                            "if_so_many_rows_count": useful.rows,
                        }
                        for useful in prices
                    ],
                }
                for text, levels, errors, vacuous, prices in zip(
                    self.texts,
                    self.levels,
                    self.errors,
                    self.vacuous or ((),) * len(self.texts),
                    self.useful or ((),) * len(self.texts),
                    strict=True,
                )
            ],
            "certificate": self.certificate.to_dict(),
        }

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
        rows = "".join(
            f"<tr><td>{html.escape(label)}</td><td>{error}</td></tr>"
            for label, error in self._lines()
        )
        head = "<thead><tr><th></th><th>worst-case error</th></tr></thead>"
        return f"<table>{head}<tbody>{rows}</tbody></table><p>{html.escape(self._caption)}</p>"

    def _lines(self) -> list[tuple[str, str]]:
        return [
            (label, f"±{rounded(error, up=True)}" if error else "exact")
            for errors in self.errors
            for label, error in errors
        ]

    @property
    def _caption(self) -> str:
        due = "" if self.due is None else f", {bits_up(self.due)} due now"
        remaining = "" if self.remaining is None else f", {bits_down(self.remaining)} left"
        return "\n".join([f"{bits_up(self.bits)}{due}{remaining}", *self._remarks()])

    def __str__(self) -> str:
        less = self.due is not None and self.due < self.bits
        now = f"; {bits_up(self.due or 0.0)} would be due now" if less else ""
        lines = [f"The price is {bits_up(self.bits)}{now}."]
        lines += [
            f"{label}: " + (f"within {rounded(error, up=True)} of the truth" if error else "exact")
            for errors in self.errors
            for label, error in errors
        ]
        lines += self._remarks()
        if self.remaining is not None:
            lines.append(f"Left: {bits_down(self.remaining)}.")
        if self.refusal is not None:
            lines.append(f"It would be refused: {self.refusal}.")
        return "\n".join(lines)

    def _remarks(self) -> list[str]:
        """Name the vacuous numbers, and the prices at which they are not."""
        return [
            f"Vacuous: {first_of(labels, MOST_NAMED, rest='...')} would say no more than the schema"
            + (f"; {useful_words(prices)}." if prices else ".")
            for labels, prices in zip(self.vacuous, self.useful, strict=True)
            if labels
        ]


@dataclass(frozen=True)
class Answer:
    """A truthful answer: intervals that certainly contain the truth, and what they cost."""

    text: str
    reading: Reading
    bits: float
    """The charge for the batch of this question, in bits; 0 for a repeat."""
    spent: float
    """All charges so far to the account of the analyst, in bits."""
    remaining: float
    certificate: Certificate
    question_id: str
    open_bits: float = 0.0
    """The part of it for open columns; an analyst's own allowance pays nothing for them."""

    @property
    def _only(self) -> Estimate:
        if len(self.reading.rows) != 1 or len(self.reading.labels) != 1:
            raise OptionError(
                "The answer holds several numbers",
                hint="read them from .reading.rows, .to_dict() or .to_pandas()",
            )
        return self.reading.only

    @property
    def value(self) -> Fraction | None:
        """The middle of the interval of an answer that is one number."""
        return self._only.value

    @property
    def low(self) -> Fraction | None:
        """The lower end of the interval; the truth is not below it."""
        return self._only.low

    @property
    def high(self) -> Fraction | None:
        """The upper end of the interval; the truth is not above it."""
        return self._only.high

    @property
    def error(self) -> Fraction | None:
        """Half the width of the interval."""
        return self._only.error

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values, ready for JSON; intervals are rounded outward."""
        return {
            "question": self.text,
            "question_id": self.question_id,
            "rows": records(self.reading),
            "bits": self.bits,
            "spent_bits": self.spent,
            "open_bits": self.open_bits,
            "remaining_bits": self.remaining,
            "certificate": self.certificate.to_dict(),
        }

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: keys, and for each number value, low, high and error."""
        return self.reading.to_arrow()

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas carries no types
        """Return the same as a pandas frame."""
        return self.reading.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the same as a Polars frame."""
        return self.reading.to_polars()

    @property
    def caption(self) -> str:
        """The charge and the bits left, in one line."""
        why = "answered before" if self.certificate.value else "it tells nothing"
        cost = f"charged {bits_up(self.bits)}" if self.bits else f"free: {why}"
        opened = f", of which {bits_up(self.open_bits)} for open columns" if self.open_bits else ""
        return f"{cost}; spent {bits_up(self.spent)}{opened}, {bits_down(self.remaining)} left"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(self.reading.__rich__(), Text(self.caption, style="dim"))

    def _repr_html_(self) -> str:
        return f"{self.reading._repr_html_()}<p>{self.caption}</p>"

    def __str__(self) -> str:
        return f"{self.reading}\n{self.caption}"


@dataclass(frozen=True)
class BatchAnswer:
    """The answers of a batch, in the order of its questions, paid for together."""

    answers: tuple[Answer, ...]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: int) -> Answer:
        return self.answers[place]

    @property
    def bits(self) -> float:
        """The charge for all of them together, in bits."""
        return self.answers[0].bits

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as plain values, ready for JSON."""
        return {"bits": self.bits, "answers": [answer.to_dict() for answer in self.answers]}

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = []
        for answer in self.answers:
            parts += [Text(answer.text, style="dim"), answer.reading.__rich__()]
        return Group(*parts, Text(self.answers[0].caption, style="dim"))

    def _repr_html_(self) -> str:
        parts = [
            f"<p><code>{html.escape(answer.text)}</code></p>{answer.reading._repr_html_()}"
            for answer in self.answers
        ]
        return f"{''.join(parts)}<p>{self.answers[0].caption}</p>"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.answers))


# --- what is promised of an answer ----------------------------------------------------------


def certificate_of(texts: Sequence[str], cells: int, schema: Schema) -> Certificate:
    """Return the promise of a batch: how many answers one person's data can produce.

    Example:
        >>> from hartley.ranges.schema.schema import Schema
        >>> sex = {"sex": {"kind": "private", "values": ["F", "M"]}}
        >>> people = Schema.read({"table": {"name": "people"}, "columns": sex})
        >>> print(certificate_of(["SELECT COUNT(*) FROM people WHERE sex = 'F'"], 2, people).claim)
        Whatever the data of one person is, the answers take one of at most 2 values.
    """
    who = "one row is one person" if schema.unit is None else f"'{schema.unit}' names the person"
    rows = schema.rows_per_unit
    number = f"{cells:,}" if cells < LONG else f"2^{decimals_up(bits_at_least(cells))}"
    return Certificate(
        kind="noiseless privacy",
        claim=(
            "Whatever the data of one person is, the answers take one of at most "
            f"{number} value{'s' if cells != 1 else ''}."
        ),
        value=bits_at_least(cells),
        unit="bits",
        theorem="Farokhi 2019 (Noiseless Privacy), Definition 1, with the accountant's theorem",
        rule="corrected",
        sound=True,
        certainty="bound",
        assumptions=(
            f"{who}, who has at most {rows} row{'s' if rows != 1 else ''}",
            "everybody else's data stays fixed",
            UNRELATED,
            "the schema, public columns and the number of rows are known to everybody"
            if schema.rows == "public"
            else "the schema and public columns are known to everybody",
            "the truth is the table clamped to its ranges and snapped to its steps",
        ),
        parameters={"questions": list(texts), "cells": write_integer(cells), "rules": BATCH_RULES},
    )
