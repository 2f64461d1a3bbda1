"""What the agent replies: a quote before, an answer after, and how both are shown."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.agent.display import records, rounded
from hartley.agent.ledger.entries import write_integer
from hartley.errors import OptionError
from hartley.guarantees.promise import down_bits, up_bits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    import polars as pl
    import pyarrow as pa
    from rich.console import Group
    from rich.table import Table

    from hartley.agent.estimate import Estimate, Reading
    from hartley.guarantees.certificate import Certificate


@dataclass(frozen=True)
class Quote:
    """What a batch would cost and how far off its answers could be; spends nothing."""

    texts: tuple[str, ...]
    cells: int
    """How many different answers one person's data can produce, at most."""
    bits: float
    """The price if nothing of it was ever asked: log2 of the cells."""
    due: float | None
    """What would be charged now, less where questions were answered before; None if not known."""
    affordable: bool | None
    """Whether the budget holds what is due, exactly; None where no ledger was asked."""
    errors: tuple[tuple[tuple[str, Fraction], ...], ...]
    """For every text, the label of each of its numbers and the worst-case error."""
    levels: tuple[tuple[int, ...], ...]
    """For every text, in how many cells each of its integer statistics is told."""
    remaining: float | None
    """What is left of the budget; None where no ledger was asked."""
    explanation: str
    """The atoms and factors behind the price, in words."""
    certificate: Certificate
    refusal: str | None = None
    """Which budget does not hold what is due, in words; None where all do."""

    def to_dict(self) -> dict[str, Any]:
        """Return the quote as plain values, ready for JSON."""
        return {
            "cells": write_integer(self.cells),
            "bits": self.bits,
            "due_bits": self.due,
            "remaining_bits": self.remaining,
            "affordable": self.affordable,
            "refusal": self.refusal,
            "questions": [
                {
                    "text": text,
                    "levels": [write_integer(level) for level in levels],
                    "worst_errors": {label: str(error) for label, error in errors},
                }
                for text, levels, errors in zip(self.texts, self.levels, self.errors, strict=True)
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
        return f"<table>{head}<tbody>{rows}</tbody></table><p>{self._caption}</p>"

    def _lines(self) -> list[tuple[str, str]]:
        return [
            (label, f"±{rounded(error, up=True)}" if error else "exact")
            for errors in self.errors
            for label, error in errors
        ]

    @property
    def _caption(self) -> str:
        due = "" if self.due is None else f", {up_bits(self.due)} due now"
        left = "" if self.remaining is None else f", {down_bits(self.remaining)} left"
        return f"{up_bits(self.bits)}{due}{left}"

    def __str__(self) -> str:
        less = self.due is not None and self.due < self.bits
        now = f"; {up_bits(self.due or 0.0)} would be due now" if less else ""
        lines = [f"The price is {up_bits(self.bits)}{now}."]
        lines += [
            f"{label}: " + (f"within {rounded(error, up=True)} of the truth" if error else "exact")
            for errors in self.errors
            for label, error in errors
        ]
        if self.remaining is not None:
            lines.append(f"Left: {down_bits(self.remaining)}.")
        if self.refusal is not None:
            lines.append(f"It would be refused: {self.refusal}.")
        return "\n".join(lines)


@dataclass(frozen=True)
class Answer:
    """A truthful answer: intervals that certainly contain the truth, and what they cost."""

    text: str
    reading: Reading
    bits: float
    """What was charged for the batch that this question was in; 0 for a repeat."""
    spent: float
    """What is charged altogether, to the account of whoever asks."""
    remaining: float
    certificate: Certificate
    question_id: str

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
        """The lower end: the truth is not below."""
        return self._only.low

    @property
    def high(self) -> Fraction | None:
        """The upper end: the truth is not above."""
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
        """What it cost and what is left, in one line."""
        why = "answered before" if self.certificate.value else "it tells nothing"
        cost = f"charged {up_bits(self.bits)}" if self.bits else f"free: {why}"
        return f"{cost}; spent {up_bits(self.spent)}, {down_bits(self.remaining)} left"

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
        """What was charged for all of them together."""
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
