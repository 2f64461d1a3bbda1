"""The replies of the agent: an answer and what it cost, and the promise."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.estimate import records
from hartley.agent.ledger.rows.entries import write_integer
from hartley.agent.pricing.price import BATCH_RULES
from hartley.errors import OptionError
from hartley.exact import bits_at_least
from hartley.guarantees.certificate import Certificate
from hartley.guarantees.promise import UNRELATED
from hartley.wording import bits_down, bits_up, decimals_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    import polars as pl
    import pyarrow as pa
    from rich.console import Group

    from hartley.agent.answers.estimate import Estimate, Reading
    from hartley.ranges.schema.schema import Schema


LONG = 10**15
"""Larger numbers of answers are shown as a power of two."""


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

    @property
    def promised(self) -> bool:
        """Whether the wished error was promised; not where fewer rows count than ``min_rows``."""
        return self.reading.promised

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
        why = "nothing more is due" if self.certificate.value else "it tells nothing"
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
