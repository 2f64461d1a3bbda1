"""The replies of the agent: an answer and what it cost, and the promise."""

from __future__ import annotations

import datetime as dt
import html
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import EngineError, OptionError
from hartley.text import as_date, bits_down, bits_up, distinct, interval_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    import pyarrow as pa
    from rich.console import Group
    from rich.table import Table

    from hartley.guarantees.promise import Certificate


# --- estimate -------------------------------------------------------------------------------------
# Estimates with intervals that certainly contain the truth, and tables of them.


def float_below(number: Fraction) -> float:
    """Return the largest double that is not above a number.

    Example:
        >>> float_below(Fraction(1, 3)) < Fraction(1, 3) < float_above(Fraction(1, 3))
        True
    """
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    """Return the smallest double that is not below a number."""
    return 0.0 - float_below(-number)  # turns -0.0 into 0.0


def shown(estimate: Estimate) -> tuple[str, str, str]:
    """Write the value, the interval and the error of an estimate."""
    null, date = estimate.may_be_null, estimate.date
    return interval_words(estimate.low, estimate.high, may_be_null=null, date=date)


def rich_table(reading: Reading) -> Table:
    """Return a table for a terminal."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in reading.keys:
        table.add_column(escape(name), no_wrap=True)
    for name in () if len(reading.labels) == 1 and not reading.keys else ("",):
        table.add_column(name)
    for name in ("value", "certainly within", "error"):
        table.add_column(name, justify="right", no_wrap=True)
    for cells in _lines(reading):
        table.add_row(*map(escape, cells))
    return table


def _lines(reading: Reading) -> list[list[str]]:
    named = bool(reading.keys) or len(reading.labels) > 1
    return [
        [
            *(key.shown for key in keys),
            *([label] if named else []),
            *_shown_promise(estimate),
        ]
        for keys, row in zip(reading.groups, reading.rows, strict=True)
        for label, estimate in zip(reading.labels, row, strict=True)
    ]


def _shown_promise(estimate: Estimate) -> tuple[str, str, str]:
    value, within, error = shown(estimate)
    return value, within, error if estimate.promised else f"{error} (not promised)".strip()


def plain_table(reading: Reading) -> str:
    """Return the lines of an answer as plain text."""
    return "\n".join("  ".join(cell for cell in line if cell) for line in _lines(reading))


def html_table(reading: Reading) -> str:
    """Return a table for a notebook."""
    named = bool(reading.keys) or len(reading.labels) > 1
    names = [*reading.keys, *([""] if named else []), "value", "certainly within", "error"]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
        for line in _lines(reading)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def records(reading: Reading) -> list[dict[str, object]]:
    """Return one dictionary of plain values per group, for JSON."""
    rows = []
    for keys, row in zip(reading.groups, reading.rows, strict=True):
        record: dict[str, object] = {
            name: _plain(key) for name, key in zip(reading.keys, keys, strict=True)
        }
        for label, estimate in zip(reading.labels, row, strict=True):
            value, low, high, error = _numbers(estimate)
            record[label] = {
                "value": str(value) if isinstance(value, dt.date) else value,
                "low": str(low) if isinstance(low, dt.date) else low,
                "high": str(high) if isinstance(high, dt.date) else high,
                "error": error,
                "may_be_null": estimate.may_be_null,
                **({"promised": estimate.promised} if reading.conditional else {}),
            }
        rows.append(record)
    return rows


def _plain(key: Key) -> object:
    """Return a key for JSON: null for missing values, '(other)' for all undeclared ones."""
    value = key.value
    if value is None:
        return None if key.shown == "(missing)" else key.shown
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return str(value) if isinstance(value, dt.date) else value


def _numbers(estimate: Estimate) -> tuple[Any, Any, Any, float | None]:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None, None, None, None
    assert estimate.error is not None
    if estimate.date:
        high = as_date(Fraction(math.ceil(estimate.high)))
        value, low = as_date(estimate.value), as_date(estimate.low)
        return value, low, high, float_above(estimate.error)
    ends = float_below(estimate.low), float_above(estimate.high)
    return (float(estimate.value), *ends, float_above(estimate.error))


def arrow_table(reading: Reading) -> pa.Table:
    """Return an Arrow table: the keys, then value, low, high, error, may_be_null of each item."""
    import pyarrow as pa

    names: dict[str, list[object]] = {}
    for place, name in enumerate(reading.keys):
        key_values = [_typed(keys[place]) for keys in reading.groups]
        kinds = {type(value) for value in key_values if value is not None}
        if kinds == {int, float}:
            key_values = [None if value is None else float(value) for value in key_values]  # type: ignore[arg-type]  # numbers
        elif len(kinds) > 1:
            key_values = [
                None if value is None else keys[place].shown
                for value, keys in zip(key_values, reading.groups, strict=True)
            ]
        names[name] = key_values
    suffixes = ["_low", "_high", "_error", "_may_be_null"]
    suffixes += ["_promised"] if reading.conditional else []
    more = [label + suffix for label in reading.labels for suffix in suffixes]
    given = [*reading.keys, *reading.labels]
    fresh = iter(distinct([*given, *more])[len(given) :])  # a label may end like a suffix
    for place, label in enumerate(reading.labels):
        rows = [row[place] for row in reading.rows]
        columns = [
            *zip(*map(_numbers, rows), strict=True),
            [estimate.may_be_null for estimate in rows],
            *([[estimate.promised for estimate in rows]] if reading.conditional else []),
        ]
        for name, values in zip((label, *(next(fresh) for _ in suffixes)), columns, strict=True):
            names[name] = list(values)
    return pa.table(names)


def _typed(key: Key) -> object:
    return key.value if isinstance(key.value, dt.date) else _plain(key)


def polars_frame(reading: Reading) -> pl.DataFrame:
    """Return a Polars frame."""
    try:
        import polars as pl
    except ImportError:
        raise EngineError(
            "Polars is not installed", hint="install it with: pip install polars"
        ) from None
    frame = pl.from_arrow(arrow_table(reading))
    assert isinstance(frame, pl.DataFrame)
    return frame


@dataclass(frozen=True)
class Key:
    """One value of a column, or one bin, that a group stands for; from the schema alone."""

    value: str | int | bool | Fraction | dt.date | None
    """The value; None for missing values, and for values that are not declared."""
    shown: str


@dataclass(frozen=True)
class Estimate:
    """A number and an interval that certainly contains the truth.

    Example:
        >>> from fractions import Fraction
        >>> height = Estimate.within(Fraction(170), Fraction(171))
        >>> height.value, height.error
        (Fraction(341, 2), Fraction(1, 2))
    """

    value: Fraction | None
    """The middle of the interval; None if the answer is NULL."""
    low: Fraction | None
    high: Fraction | None
    error: Fraction | None
    """Half the width of the interval."""
    may_be_null: bool = False
    """Whether the true answer may be NULL; if it is not, it lies in the interval."""
    date: bool = False
    """Whether the numbers are days since 1970-01-01."""
    promised: bool = True
    """Whether the error that was wished for was promised: not if fewer rows count than it needs."""

    @classmethod
    def within(
        cls, low: Fraction, high: Fraction, *, may_be_null: bool = False, date: bool = False
    ) -> Estimate:
        """Return the estimate of an interval."""
        return cls((low + high) / 2, low, high, (high - low) / 2, may_be_null, date)

    @property
    def is_null(self) -> bool:
        """Whether the answer is certainly NULL."""
        return self.value is None


NULL = Estimate(None, None, None, None, may_be_null=True)


@dataclass(frozen=True)
class Reading:
    """The answer as a table: one row per group, one estimate per column."""

    keys: tuple[str, ...]
    groups: tuple[tuple[Key, ...], ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[Estimate, ...], ...]
    conditional: bool = False
    """Whether an error was promised only if enough rows count."""

    @property
    def promised(self) -> bool:
        """Whether the wished error was promised for every number."""
        return all(estimate.promised for row in self.rows for estimate in row)

    @property
    def only(self) -> Estimate:
        """The estimate of an answer with a single number."""
        ((estimate,),) = self.rows
        return estimate

    def records(self) -> list[dict[str, object]]:
        """Return one dictionary of plain values per group; intervals are rounded outward."""
        return records(self)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: keys, and for each number value, low, high and error."""
        return arrow_table(self)

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas carries no types
        """Return the same as a pandas frame; pandas is optional."""
        try:
            return self.to_arrow().to_pandas()
        except ModuleNotFoundError:
            raise EngineError(
                "pandas is not installed",
                hint="pip install 'hartley[pandas]', or take .to_arrow() or .records()",
            ) from None

    def to_polars(self) -> pl.DataFrame:
        """Return the same as a Polars frame."""
        return polars_frame(self)

    def __rich__(self) -> Table:

        return rich_table(self)

    def _repr_html_(self) -> str:

        return html_table(self)

    def __str__(self) -> str:

        return plain_table(self)


# --- answer ---------------------------------------------------------------------------------------


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
