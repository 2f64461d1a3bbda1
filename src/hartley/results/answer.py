"""An answer and what it cost: intervals that certainly contain the truth, as tables and frames."""

from __future__ import annotations

import datetime as dt
import html
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hartley.errors import EngineError, OptionError
from hartley.exact import float_above, float_below
from hartley.files import as_exact, as_text, as_truth, each, require
from hartley.results import codec
from hartley.text import (
    as_date,
    bits_down,
    bits_up,
    distinct,
    html_table,
    in_notebook,
    interval_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl
    import pyarrow as pa
    from rich.console import Group
    from rich.table import Table

    from hartley.guarantees.promise import Certificate


# --- estimate -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Key:
    """The value of a column, or the bin, of one group; from the schema alone."""

    value: str | int | bool | Fraction | dt.date | None
    """The value; None for missing values, and for values that are not declared."""
    shown: str

    @property
    def plain(self) -> str | float | bool | None:
        """The key for JSON: null for missing values, '(other)' for all undeclared ones."""
        value = self.value
        if value is None:
            return None if self.shown == "(missing)" else self.shown
        if isinstance(value, Fraction):
            return int(value) if value.denominator == 1 else float(value)
        return str(value) if isinstance(value, dt.date) else value

    def to_exact(self) -> object:
        """Return the value for JSON without rounding it, so that its type is known."""
        if isinstance(self.value, (Fraction, dt.date)):
            return {"date" if isinstance(self.value, dt.date) else "number": str(self.value)}
        return self.value

    @classmethod
    def read(cls, value: object, shown: str) -> Key:
        """Read a key that ``to_exact`` has written, and its text."""
        if isinstance(value, dict):
            ((kind, text),) = value.items()
            value = dt.date.fromisoformat(text) if kind == "date" else as_exact(text)
        if value is None:
            require(shown in {"(missing)", "(other)"})
        elif isinstance(value, Fraction):
            require(as_exact(shown) == value)
        else:
            require(isinstance(value, (str, int, dt.date)) and as_text(shown) == str(value))
        return cls(value, shown)  # type: ignore[arg-type]  # as required


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

    @property
    def shown(self) -> tuple[str, str, str]:
        """The value, the interval and the error in words."""
        return interval_words(self.low, self.high, may_be_null=self.may_be_null, date=self.date)

    @property
    def doubles(self) -> tuple[Any, Any, Any, float | None]:
        """Value, low, high and error as doubles or dates, the ends rounded outward."""
        if self.value is None or self.low is None or self.high is None:
            return None, None, None, None
        assert self.error is not None
        if self.date:
            high = as_date(Fraction(math.ceil(self.high)))
            return as_date(self.value), as_date(self.low), high, float_above(self.error)
        ends = float_below(self.low), float_above(self.high)
        return (float(self.value), *ends, float_above(self.error))

    def to_dict(self) -> dict[str, Any]:
        """Return the interval without rounding it, and in words."""
        return {
            "low": None if self.low is None else str(self.low),
            "high": None if self.high is None else str(self.high),
            "may_be_null": self.may_be_null,
            "date": self.date,
            "promised": self.promised,
            "shown": list(self.shown),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Estimate:
        """Read an interval of a reply."""
        estimate = NULL
        if content["low"] is not None or content["high"] is not None:
            low, high = as_exact(content["low"]), as_exact(content["high"])
            require(low <= high)
            estimate = cls.within(low, high, may_be_null=as_truth(content["may_be_null"]))
        date, promised = as_truth(content["date"]), as_truth(content["promised"])
        return replace(estimate, date=date, promised=promised)


NULL = Estimate(None, None, None, None, may_be_null=True)


@dataclass(frozen=True)
class Reading(codec.Result):
    """The answer as a table: one row per group, one estimate per column."""

    KEYS: ClassVar = {
        "keys": codec.Field("keys", codec.many(codec.TEXT)),
        "labels": codec.Field("labels", codec.many(codec.TEXT)),
        "conditional": codec.Field("conditional", codec.TRUTH),
        "rows": codec.Said(
            lambda reading: [
                {
                    "keys": [key.shown for key in keys],
                    "values": [key.to_exact() for key in keys],
                    "numbers": [estimate.to_dict() for estimate in row],
                }
                for keys, row in zip(reading.groups, reading.rows, strict=True)
            ]
        ),
    }
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
        if len(self.rows) != 1 or len(self.labels) != 1:
            raise OptionError(
                "The answer holds several numbers",
                hint="read them from .reading.rows, .to_dict() or .to_pandas()",
            )
        return self.rows[0][0]

    def records(self) -> list[dict[str, object]]:
        """Return one dictionary of plain values per group; intervals are rounded outward."""
        rows = []
        for keys, row in zip(self.groups, self.rows, strict=True):
            record: dict[str, object] = {
                name: key.plain for name, key in zip(self.keys, keys, strict=True)
            }
            for label, estimate in zip(self.labels, row, strict=True):
                *ends, error = estimate.doubles
                value, low, high = (str(end) if isinstance(end, dt.date) else end for end in ends)
                record[label] = {
                    "value": value,
                    "low": low,
                    "high": high,
                    "error": error,
                    "may_be_null": estimate.may_be_null,
                    **({"promised": estimate.promised} if self.conditional else {}),
                }
            rows.append(record)
        return rows

    @classmethod
    def _read(cls, content: Mapping[str, Any], **_: object) -> Self:
        """Read the table of a reply."""
        rows = content["rows"]
        groups = tuple(tuple(map(Key.read, row["values"], row["keys"])) for row in rows)
        numbers = tuple(each(Estimate.from_dict)(row["numbers"]) for row in rows)
        return super()._read(content, groups=groups, rows=numbers)

    def _check(self) -> None:
        """Require a table of keys and numbers."""
        widths = {len(keys) for keys in self.groups}, {len(row) for row in self.rows}
        require(widths == ({len(self.keys)}, {len(self.labels)}) and self.labels)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: keys, and for each number value, low, high and error."""
        import pyarrow as pa

        names: dict[str, list[object]] = {}
        for name, *keys in zip(self.keys, *self.groups, strict=True):
            values = [key.value if isinstance(key.value, dt.date) else key.plain for key in keys]
            kinds = {type(value) for value in values if value is not None}
            if kinds == {int, float}:
                values = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]  # numbers
            elif len(kinds) > 1:
                values = [
                    None if value is None else key.shown
                    for value, key in zip(values, keys, strict=True)
                ]
            names[name] = values
        suffixes = ["_low", "_high", "_error", "_may_be_null"]
        suffixes += ["_promised"] if self.conditional else []
        more = [label + suffix for label in self.labels for suffix in suffixes]
        given = [*self.keys, *self.labels]
        fresh = iter(distinct([*given, *more])[len(given) :])  # a label may end like a suffix
        for label, *estimates in zip(self.labels, *self.rows, strict=True):
            columns = [
                *zip(*(estimate.doubles for estimate in estimates), strict=True),
                [estimate.may_be_null for estimate in estimates],
                *([[estimate.promised for estimate in estimates]] if self.conditional else []),
            ]
            named = (label, *(next(fresh) for _ in suffixes))
            names |= {name: list(values) for name, values in zip(named, columns, strict=True)}
        return pa.table(names)

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
        try:
            import polars as pl
        except ImportError:
            raise EngineError(
                "Polars is not installed", hint="install it with: pip install polars"
            ) from None
        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    @property
    def _named(self) -> bool:
        """Whether lines say which number they are about."""
        return bool(self.keys) or len(self.labels) > 1

    def _lines(self) -> list[list[str]]:
        lines = []
        for keys, row in zip(self.groups, self.rows, strict=True):
            for label, estimate in zip(self.labels, row, strict=True):
                value, within, error = estimate.shown
                error = error if estimate.promised else f"{error} (not promised)".strip()
                labels = [label] if self._named else []
                lines.append([*(key.shown for key in keys), *labels, value, within, error])
        return lines

    def __rich__(self) -> Table:
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in self.keys:
            table.add_column(escape(name), no_wrap=True)
        if self._named:
            table.add_column("")
        for name in ("value", "certainly within", "error"):
            table.add_column(name, justify="right", no_wrap=True)
        for cells in self._lines():
            table.add_row(*map(escape, cells))
        return table

    def to_html(self) -> str:
        """Return the table as HTML without a style."""
        named = [""] if self._named else []
        names = [*self.keys, *named, "value", "certainly within", "error"]
        return html_table(names, self._lines(), numbers=3)

    def _repr_html_(self) -> str:
        return in_notebook(self.to_html())

    def __str__(self) -> str:
        return "\n".join("  ".join(cell for cell in line if cell) for line in self._lines())


# --- answer ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer(codec.Result):
    """A truthful answer: intervals that certainly contain the truth, and what they cost."""

    KEYS: ClassVar = {
        "question": codec.Field("text", codec.TEXT),
        "question_id": codec.Field("question_id", codec.TEXT),
        "rows": codec.Said(lambda answer: answer.reading.records()),
        "bits": codec.Field("bits", codec.BITS),
        "spent_bits": codec.Field("spent", codec.BITS),
        "open_bits": codec.Field("open_bits", codec.BITS),
        "remaining_bits": codec.Field("remaining", codec.BITS),
        "certificate": codec.Field("certificate", codec.PROMISE),
    }
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
    def value(self) -> Fraction | None:
        """The middle of the interval of an answer that is one number."""
        return self.reading.only.value

    def _middle(self) -> Fraction:
        """Return the middle of the one number; Python wants a TypeError where there is none."""
        try:
            only = self.reading.only
        except OptionError as error:
            raise TypeError(str(error)) from None
        if only.value is None or only.date:
            kind = "NULL" if only.value is None else "a date"
            raise TypeError(f"The answer is {kind}, and no number; hint: read it from .value")
        return only.value

    def __float__(self) -> float:
        return float(self._middle())

    def __int__(self) -> int:
        return int(self._middle())

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
        """Whether the wished error was promised; not where fewer rows count than ``min_rows``."""
        return self.reading.promised

    @classmethod
    def _read(cls, content: Mapping[str, Any], **_: object) -> Self:
        """Read a reply: ``to_dict()``, and ``reading.to_dict()`` as its "table"."""
        return super()._read(content, reading=Reading.from_dict(content["table"]))

    def _check(self) -> None:
        """Require that no answer cost more than was spent or promised."""
        require(max(self.bits, self.open_bits) <= self.spent + codec.SLACK)
        require(self.bits <= self.certificate.value + codec.SLACK)

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
        """For which numbers the intervals are certain, the charge and the bits left."""
        why = "nothing more is due" if self.certificate.value else "it tells nothing"
        cost = f"charged {bits_up(self.bits)}" if self.bits else f"free: {why}"
        opened = f", of which {bits_up(self.open_bits)} for open columns" if self.open_bits else ""
        spent = f"{cost}; spent {bits_up(self.spent)}{opened}, {bits_down(self.remaining)} left"
        return "\n".join(filter(None, (codec.certain_for(self.certificate), spent)))

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(self.reading.__rich__(), Text(self.caption, style="dim"))

    def _repr_html_(self) -> str:
        return in_notebook(f"{self.reading.to_html()}<p>{self.caption}</p>")

    def __str__(self) -> str:
        return f"{self.reading}\n{self.caption}"


@dataclass(frozen=True)
class BatchAnswer(codec.Result):
    """The answers of a batch, in the order of its questions, paid for together."""

    KEYS: ClassVar = {
        "bits": codec.Said(lambda batch: batch.bits),
        "answers": codec.Field("answers", codec.many(Answer.codec())),
    }
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

    def _check(self) -> None:
        """Require one charge for all answers."""
        require(len({answer.bits for answer in self.answers}) == 1)

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = []
        for answer in self.answers:
            parts += [Text(answer.text, style="dim"), answer.reading.__rich__()]
        return Group(*parts, Text(self.answers[0].caption, style="dim"))

    def _repr_html_(self) -> str:
        parts = [
            f"<p><code>{html.escape(answer.text)}</code></p>{answer.reading.to_html()}"
            for answer in self.answers
        ]
        return in_notebook(f"{''.join(parts)}<p>{self.answers[0].caption}</p>")

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.answers))
