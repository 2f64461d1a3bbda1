"""What a service replies about prices: quotes, curves and plans that read like the agent's."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.client.remote_results import RemotePromise
from hartley.exact import floor_power
from hartley.text import rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class RemoteResult:
    """A reply that is read as text or as plain values."""

    content: Mapping[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {name: value for name, value in self.content.items() if name != "text"}

    def __str__(self) -> str:
        return str(self.content["text"])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True)
class RemoteQuote(RemoteResult):
    """The price of a batch and the largest errors of its answers; nothing is spent."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The questions."""
        return tuple(question["text"] for question in self.content["questions"])

    @property
    def cells(self) -> int:
        """The largest number of different answers that one person's data can produce."""
        return int(self.content["cells"])

    @property
    def bits_alone(self) -> float:
        """The price if the account had asked nothing before: log2 of the cells."""
        return float(self.content["bits_alone"])

    @property
    def bits(self) -> float:
        """What the account would be charged now: the ``bits`` of the answer."""
        return float(self.content["bits"])

    @property
    def due(self) -> float:
        """The former name of ``bits``; it goes with the next version."""
        return self.bits

    @property
    def remaining(self) -> float | None:
        """What is left of the account's allowance, in bits."""
        remaining = self.content["remaining_bits"]
        return None if remaining is None else float(remaining)

    @property
    def affordable(self) -> bool | None:
        """Whether the allowance and the daily cap cover what would be charged."""
        affordable: bool | None = self.content["affordable"]
        return affordable

    @property
    def refusal(self) -> str | None:
        """Why it would be refused, in words; None if it would not."""
        refusal: str | None = self.content["refusal"]
        return refusal

    @property
    def errors(self) -> tuple[tuple[tuple[str, Fraction], ...], ...]:
        """For every question, the label of each of its numbers and the worst-case error."""
        return tuple(_labelled(question["worst_errors"]) for question in self.content["questions"])

    @property
    def errors_if(self) -> tuple[tuple[RemoteErrorsIf, ...], ...]:
        """For every question, the errors if at least so many rows count, where that is private."""
        return tuple(
            _errors_if(question["errors_if_rows_count"]) for question in self.content["questions"]
        )

    @property
    def vacuous(self) -> tuple[tuple[str, ...], ...]:
        """For every question, the labels of numbers that would say no more than the schema."""
        return tuple(tuple(question["vacuous"]) for question in self.content["questions"])

    @property
    def given(self) -> tuple[str, ...]:
        """The rows that the price rests on; ``ask`` takes them."""
        return tuple(self.content["given"])

    @property
    def explanation(self) -> str:
        """The atoms and factors behind the price, in words; empty unless asked for."""
        return str(self.content.get("explanation", ""))

    @property
    def certificate(self) -> RemotePromise:
        """What would be promised of the answers."""
        return RemotePromise.read(self.content["certificate"])

    def _repr_html_(self) -> str:
        """Return a table for a notebook: the error of each number, and the other sentences."""
        numbers = [
            (label, error, [some for some in if_rows if label in dict(some.errors)])
            for errors, if_rows in zip(self.errors, self.errors_if, strict=True)
            for label, error in errors
        ]
        rows = "".join(
            f"<tr><td>{html.escape(label)}</td><td>{_error_words(label, error, some)}</td></tr>"
            for label, error, some in numbers
        )
        head = "<thead><tr><th></th><th>worst-case error</th></tr></thead>"
        price, *sentences = str(self).split("\n")
        words = "<br>".join(html.escape(line) for line in [price, *sentences[len(numbers) :]])
        return f"<table>{head}<tbody>{rows}</tbody></table><p>{words}</p>"


class RemoteErrorsIf(NamedTuple):
    """The errors of numbers that depend on a private number of rows, if so many rows count."""

    rows: int
    errors: tuple[tuple[str, Fraction], ...]


def _errors_if(content: Mapping[str, Mapping[str, str]]) -> tuple[RemoteErrorsIf, ...]:
    return tuple(RemoteErrorsIf(int(rows), _labelled(some)) for rows, some in content.items())


def _error_words(label: str, error: Fraction, if_rows: Sequence[RemoteErrorsIf]) -> str:
    certain = f"±{rounded(error, up=True)}" if error else "exact"
    words = [
        f"{rounded(dict(some.errors)[label], up=True)} if {'' if place else 'at least '}"
        f"{some.rows:,}{'' if place else ' rows count'}"
        for place, some in enumerate(if_rows)
    ]
    return "; ".join([certain, *([", ".join(words)] if words else [])])


@dataclass(frozen=True)
class RemotePricePoint:
    """A price of one question, and the largest errors of its numbers at that price."""

    bits_alone: float
    """The price if the account had asked nothing before: log2 of the cells."""
    bits: float
    """What the account would be charged now."""
    cells: int
    """The largest number of different answers that one person's data can produce."""
    wish: str
    """The shortest number of bits that asks for exactly this answer."""
    errors: tuple[tuple[str, Fraction], ...]
    full_errors: tuple[tuple[str, Fraction], ...]
    """The same if every row counts that may count."""
    errors_if: tuple[RemoteErrorsIf, ...]
    """The same if at least so many rows count, where their number is private."""
    vacuous: tuple[str, ...]
    paid: bool
    """Whether the account was charged for all of it before."""
    limit: int = field(repr=False)
    """The cells of the wish."""

    @classmethod
    def read(cls, point: Mapping[str, Any]) -> RemotePricePoint:
        """Read a point of a reply."""
        return cls(
            bits_alone=point["bits_alone"],
            bits=point["bits"],
            cells=int(point["cells"]),
            wish=point["wish_bits"],
            errors=_labelled(point["worst_errors"]),
            full_errors=_labelled(point["errors_if_all_rows_count"]),
            errors_if=_errors_if(point["errors_if_rows_count"]),
            vacuous=tuple(point["vacuous"]),
            paid=point["paid"],
            limit=floor_power(point["wish_bits"]),
        )

    @property
    def free(self) -> bool:
        """Whether nothing would be charged now, although the answer has a price alone."""
        return self.bits == 0 < self.bits_alone

    @property
    def least(self) -> int:
        """The fewest cells of a wish that certainly gives this answer, or a better one."""
        return 1 if self.free else min(self.cells, self.limit)

    @property
    def due(self) -> float:
        """The former name of ``bits``; it goes with the next version."""
        return self.bits


@dataclass(frozen=True)
class RemoteCurve(RemoteResult):
    """The prices of a question at which some error becomes smaller, the cheapest first."""

    @property
    def points(self) -> tuple[RemotePricePoint, ...]:
        """The prices."""
        return tuple(map(RemotePricePoint.read, self.content["points"]))

    @property
    def next_point(self) -> RemotePricePoint | None:
        """The next useful price above what the wish of the question costs."""
        point = self.content["next_useful"]
        return None if point is None else RemotePricePoint.read(point)

    @property
    def complete(self) -> bool:
        """Whether the last point is the finest answer that there is."""
        return bool(self.content["complete"])

    @property
    def rows(self) -> int:
        """The number of rows, public or the largest possible one."""
        return int(self.content["rows"])

    def at(self, bits: object) -> RemotePricePoint | None:
        """Return the finest answer that a wish for so many bits gives; None if there is none."""
        limit = floor_power(bits, what="price")
        return next((point for point in reversed(self.points) if point.least <= limit), None)

    def after(self, bits: object) -> RemotePricePoint | None:
        """Return the next useful price above a wish for so many bits; None at the end."""
        limit = floor_power(bits, what="price")
        above = (point for point in self.points if point.least > limit and not point.vacuous)
        return next(above, None)

    def sentence(self) -> str:
        """Name the next useful price, or say that there is none."""
        return str(self).rpartition("\n")[2]


@dataclass(frozen=True)
class RemotePlan(RemoteResult):
    """A workload priced as one batch and one by one, and how to share a budget."""

    @property
    def bits(self) -> float:
        """What the questions cost as one batch, in bits."""
        return float(self.content["batch_bits"])

    @property
    def fits(self) -> bool | None:
        """Whether the budget covers the batch."""
        fits: bool | None = self.content["fits"]
        return fits

    @property
    def wishes(self) -> list[RemoteWish]:
        """The batch, ready for ``ask``."""
        return [
            RemoteWish(asked["question"], asked["error"], asked["bits"], asked["min_rows"])
            for asked in self.content["questions"]
        ]

    @property
    def remaining(self) -> float | None:
        """What is left of the account's allowance, in bits."""
        remaining = self.content["remaining_bits"]
        return None if remaining is None else float(remaining)

    @property
    def refusal(self) -> str | None:
        """Why the batch would be refused, in words; None if it would not."""
        refusal: str | None = self.content["refusal"]
        return refusal


class RemoteWish(NamedTuple):
    """A question with its wish, as a plan chose it."""

    text: str
    error: str | None
    bits: str | None
    min_rows: str | None


def _labelled(errors: Mapping[str, str]) -> tuple[tuple[str, Fraction], ...]:
    return tuple((label, Fraction(error)) for label, error in errors.items())
