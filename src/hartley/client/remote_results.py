"""What a service replies: answers, prices, curves and plans that read like those of the agent."""

from __future__ import annotations

import datetime as dt
import html
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import EngineError, OptionError
from hartley.text import bits_down, bits_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Group
    from rich.table import Table


@dataclass(frozen=True)
class RemoteEstimate:
    """A number and an interval that certainly contains the truth, in exact fractions."""

    low: Fraction | None
    """None if the answer is NULL."""
    high: Fraction | None
    may_be_null: bool
    date: bool
    """Whether the numbers are days since 1970-01-01."""
    shown: tuple[str, str, str]
    """The value, the interval and the error in words."""
    promised: bool = True
    """Whether the error that was wished for was promised: not if fewer rows count than it needs."""

    @property
    def value(self) -> Fraction | None:
        """The middle of the interval."""
        return None if self.low is None or self.high is None else (self.low + self.high) / 2

    @property
    def error(self) -> Fraction | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def is_null(self) -> bool:
        """Whether the answer is certainly NULL."""
        return self.low is None


@dataclass(frozen=True)
class RemoteReading:
    """The answer as a table: one row per group, one estimate per column."""

    keys: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[RemoteEstimate, ...], ...]

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> RemoteReading:
        """Read the table of a reply."""
        rows = table["rows"]
        return cls(
            keys=tuple(table["keys"]),
            groups=tuple(tuple(row["keys"]) for row in rows),
            labels=tuple(table["labels"]),
            rows=tuple(tuple(map(_estimate, row["numbers"])) for row in rows),
        )

    @property
    def only(self) -> RemoteEstimate:
        """The estimate of an answer with a single number."""
        if len(self.rows) != 1 or len(self.labels) != 1:
            raise OptionError(
                "The answer holds several numbers",
                hint="read them from .reading.rows, .to_dict() or .to_pandas()",
            )
        return self.rows[0][0]

    @property
    def promised(self) -> bool:
        """Whether the wished error was promised for every number."""
        return all(estimate.promised for row in self.rows for estimate in row)

    def lines(self) -> list[list[str]]:
        """Return the cells of each line: keys, label, value, interval, error."""
        named = bool(self.keys) or len(self.labels) > 1
        return [
            [*keys, *([label] if named else []), *_shown_promise(estimate)]
            for keys, row in zip(self.groups, self.rows, strict=True)
            for label, estimate in zip(self.labels, row, strict=True)
        ]

    def __rich__(self) -> Table:
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in self.keys:
            table.add_column(escape(name), no_wrap=True)
        for name in () if len(self.labels) == 1 and not self.keys else ("",):
            table.add_column(name)
        for name in ("value", "certainly within", "error"):
            table.add_column(name, justify="right", no_wrap=True)
        for cells in self.lines():
            table.add_row(*map(escape, cells))
        return table

    def __str__(self) -> str:
        return "\n".join("  ".join(cell for cell in line if cell) for line in self.lines())

    def _repr_html_(self) -> str:
        named = bool(self.keys) or len(self.labels) > 1
        names = [*self.keys, *([""] if named else []), "value", "certainly within", "error"]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self.lines()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown_promise(estimate: RemoteEstimate) -> tuple[str, str, str]:
    value, within, error = estimate.shown
    return value, within, error if estimate.promised else f"{error} (not promised)".strip()


def _estimate(number: Mapping[str, Any]) -> RemoteEstimate:
    low, high = (None if number[end] is None else Fraction(number[end]) for end in ("low", "high"))
    value, interval, error = number["shown"]
    return RemoteEstimate(
        low,
        high,
        number["may_be_null"],
        number["date"],
        (value, interval, error),
        number["promised"],
    )


@dataclass(frozen=True)
class RemotePromise:
    """The certificate of an answer: what is promised about one person's data."""

    claim: str
    value: float
    unit: str
    paragraph: str
    """The whole promise in words."""
    content: Mapping[str, Any] = field(repr=False)
    """All of its fields, as they are saved."""

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> RemotePromise:
        """Read the certificate of a reply."""
        value = float(content["value"])
        return cls(content["claim"], value, content["unit"], content["paragraph"], content)

    def __str__(self) -> str:
        return self.paragraph


@dataclass(frozen=True)
class RemoteAnswer:
    """A truthful answer: intervals that certainly contain the truth, and what they cost."""

    text: str
    reading: RemoteReading
    bits: float
    """The charge for the batch of this question, in bits; 0 for a repeat."""
    spent: float
    """All charges so far to the account, in bits."""
    remaining: float
    certificate: RemotePromise
    question_id: str
    open_bits: float = 0.0
    """The part of it for open columns; an allowance pays nothing for them."""
    content: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> RemoteAnswer:
        """Read an answer of a reply."""
        return cls(
            text=content["question"],
            reading=RemoteReading.read(content["table"]),
            bits=content["bits"],
            spent=content["spent_bits"],
            remaining=content["remaining_bits"],
            certificate=RemotePromise.read(content["certificate"]),
            question_id=content["question_id"],
            open_bits=content["open_bits"],
            content={name: value for name, value in content.items() if name != "table"},
        )

    @property
    def value(self) -> Fraction | None:
        """The middle of the interval of an answer that is one number."""
        return self.reading.only.value

    @property
    def low(self) -> Fraction | None:
        """The lower end of the interval; the truth is not below it."""
        return self.reading.only.low

    @property
    def high(self) -> Fraction | None:
        """The upper end of the interval; the truth is not above it."""
        return self.reading.only.high

    @property
    def error(self) -> Fraction | None:
        """Half the width of the interval."""
        return self.reading.only.error

    @property
    def promised(self) -> bool:
        """Whether the wished error was promised; see ``min_rows``."""
        return self.reading.promised

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values, ready for JSON; intervals are rounded outward."""
        return dict(self.content)

    def to_arrow(self) -> Any:  # noqa: ANN401 - Arrow carries no types
        """Return an Arrow table: keys, and for each number value, low, high and error."""
        import pyarrow as pa

        columns: dict[str, list[Any]] = {}
        for row in self.content["rows"]:
            for name, cell in row.items():
                if name not in self.reading.labels:
                    columns.setdefault(name, []).append(cell)
                    continue
                for part, suffix in PARTS.items():
                    columns.setdefault(name + suffix, []).append(_typed(cell[part]))
        return pa.table(columns)

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas carries no types
        """Return the same as a pandas frame; pandas is optional."""
        try:
            return self.to_arrow().to_pandas()
        except ModuleNotFoundError:
            raise EngineError(
                "pandas is not installed",
                hint="pip install 'hartley[pandas]', or take .to_arrow() or .to_dict()",
            ) from None

    def to_polars(self) -> Any:  # noqa: ANN401 - a Polars frame
        """Return the same as a Polars frame."""
        import polars as pl

        return pl.from_arrow(self.to_arrow())

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
        return f"{self.reading._repr_html_()}<p>{html.escape(self.caption)}</p>"

    def __str__(self) -> str:
        return f"{self.reading}\n{self.caption}"


PARTS = {
    "value": "",
    "low": "_low",
    "high": "_high",
    "error": "_error",
    "may_be_null": "_may_be_null",
}
"""The fields of a number in a reply, and how the names of their columns end."""


def _typed(value: object) -> object:
    """Return a date that a reply writes as text; other numbers as they are."""
    return dt.date.fromisoformat(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class RemoteBatch:
    """The answers of a batch, in the order of its questions, paid for together."""

    answers: tuple[RemoteAnswer, ...]

    def __iter__(self) -> Iterator[RemoteAnswer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: int) -> RemoteAnswer:
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
        return f"{''.join(parts)}<p>{html.escape(self.answers[0].caption)}</p>"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.answers))


@dataclass(frozen=True)
class RemoteCharge:
    """One batch that the account paid for."""

    row: str
    """The name of the row, by which its answers can be seen again."""
    time: str
    question: str
    bits: float
    """Its price after the account's earlier rows, which a daily cap counts."""
    added: float
    """What it added to what the account has spent: the ``bits`` of its answer. Less than its price
    where questions about different public groups share the allowance."""
    answered: bool
    present: bool
    """Whether it is about the present version of the data."""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> RemoteCharge:
        """Read a row of the history."""
        names = ("id", "time", "question", "bits", "added_bits", "answered", "present")
        return cls(*(row[name] for name in names))
