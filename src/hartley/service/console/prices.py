"""A priced question as the console shows it: the positions of its slider and the error curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.exact import bits_at_most
from hartley.service.console.pictures import (
    DrawnPrice,
    Scale,
    draw_curve,
    draw_ends,
    heights,
)
from hartley.service.console.roundings import (
    aligned,
    bits_due,
    bits_left,
    due_number,
    error_words,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.agent.price_curve import PriceCurve, PricePoint

SLACK = 1e-9
"""Both sides are logarithms in doubles; what is refused in the end, the ledger decides exactly."""
USUAL_ROWS = 100
"""Where errors depend on a private number of rows, they are shown for so many."""


@dataclass(frozen=True)
class SliderPosition:
    """One price that can be chosen, and everything that the page says about it."""

    wish: str
    """The bits to ask for, as a form sends them."""
    bits: float
    """What would be charged now: the quote that the form sends back."""
    price: str
    """What would be charged now, in words."""
    alone: str
    """The price if the account had asked nothing before, in words; empty if it is the same."""
    short: str
    """Why it cannot be asked for: the allowance or the daily cap, in words; empty if it can."""
    error: str
    otherwise: str
    """The error for other numbers of rows, in words; empty if it holds for any."""
    others: str
    """The errors of the other numbers, in words; empty if there is one number."""
    one_more: str
    """What one more bit buys."""
    next_wish: str
    next_words: str
    left: str
    """What the account has left, now and after this price, in words."""
    x: float
    y: float

    def plain(self) -> dict[str, Any]:
        """Return what the script needs to show this position."""
        return {
            "spend": self.spend,
            "price": self.price,
            "alone": self.alone,
            "button": self.button,
            "able": self.affordable,
            "short": self.short,
            "said": self.said,
            "error": self.error,
            "otherwise": self.otherwise,
            "others": self.others,
            "more": self.one_more,
            "next": self.next_wish,
            "nextWords": self.next_words,
            "left": self.left,
            "x": self.x,
            "y": self.y,
        }

    @property
    def affordable(self) -> bool:
        """Whether it can be asked for."""
        return not self.short

    @property
    def free(self) -> bool:
        """Whether nothing would be charged."""
        return not self.bits

    @property
    def spend(self) -> str:
        """What the button that asks sends: the bits to ask for, and what may be charged."""
        return f"{self.wish} {self.bits!r}"

    @property
    def button(self) -> str:
        """The words on the button that asks."""
        return "Show the answer, free" if self.free else f"Ask and spend {self.price}"

    @property
    def said(self) -> str:
        """The price and the error for a screen reader."""
        return f"{self.price}: {self.error}"


@dataclass(frozen=True)
class PricedQuestion:
    """A question with its slider, its curve and the lines of the table behind the curve."""

    text: str
    label: str
    rows_words: str
    """For which number of rows the errors hold; empty if for any data."""
    positions: tuple[SliderPosition, ...]
    chosen: int
    curve: str
    ends: str
    """The largest and the smallest error beside the curve, as SVG."""
    table: PriceTable

    @property
    def now(self) -> SliderPosition:
        """The chosen position."""
        return self.positions[self.chosen]


@dataclass(frozen=True)
class SpendableBits:
    """What an account has left, and whether its token may spend it."""

    remaining: float
    may_spend: bool = True
    today: int | None = None
    """What its daily cap leaves, in cells; None without a cap."""

    def short(self, point: PricePoint) -> str:
        """Say why a price cannot be paid; empty if it can."""
        if point.bits > (self.remaining + SLACK if self.may_spend else 0.0):
            return "Your allowance does not cover this price."
        # A cap counts what is charged for the most expensive type of the public columns.
        charged = 0 if point.paid else point.charged or 0
        if self.today is None or charged <= self.today:
            return ""
        return f"Your daily cap leaves {bits_left(bits_at_most(self.today))} until midnight UTC."

    def words(self, due: float, *, able: bool = True) -> str:
        """Say what is left, now and after a charge that can be paid.

        What is left is a whole number of cells, so the difference is an upper bound.

        Example:
            >>> SpendableBits(5.0).words(1.0)
            'You have 5 bits left; after this question, at most 4 bits.'
            >>> SpendableBits(1.0).words(1.0), SpendableBits(1.0).words(2.0, able=False)
            ('You have 1 bit left; after this question, none.', 'You have 1 bit left.')
            >>> SpendableBits(2.0).words(0.0)
            'You have 2 bits left, and this answer costs none.'
        """
        now = f"You have {bits_left(self.remaining)} left"
        if not able:
            return f"{now}."
        if not due:
            return f"{now}, and this answer costs none."
        rest = bits_left(max(self.remaining - due, 0.0))
        after = "none" if rest == bits_left(0.0) else f"at most {rest}"
        return f"{now}; after this question, {after}."


@dataclass(frozen=True)
class PriceTable:
    """All useful prices: what each costs alone and now, and the error of each number."""

    labels: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ShownErrors:
    """Which errors of a curve are shown: of which number, and for how many rows of a group."""

    place: int
    """The place of the number whose error a price changes: counts are exact at any."""
    label: str
    rows: int | None
    """Errors hold if at least so many rows count; None if they hold for any data."""

    @classmethod
    def of(cls, points: list[PricePoint]) -> ShownErrors:
        """Choose the errors to show of some points."""
        first = points[0]
        places = [place for place, (_, error) in enumerate(first.full_errors) if error]
        place = places[0] if places else 0
        label = first.errors[place][0]
        numbers = sorted(
            {
                some.rows
                for point in points
                for some in point.errors_if
                if label in dict(some.errors)
            }
        )
        usual = [rows for rows in numbers if rows <= USUAL_ROWS]
        return cls(place, label, max(usual) if usual else min(numbers, default=None))

    @property
    def words(self) -> str:
        """Say for which groups the errors hold; empty if for any."""
        return "" if self.rows is None else f"where at least {self.rows:,} rows count"

    def all(self, point: PricePoint) -> dict[str, Fraction]:
        """Return the error of each number at a price."""
        conditional = [dict(some.errors) for some in point.errors_if if some.rows == self.rows]
        return dict(point.errors) | (conditional[0] if conditional else {})

    def main(self, point: PricePoint) -> Fraction:
        """Return the error of the number whose error a price changes."""
        return self.all(point)[self.label]

    def others(self, point: PricePoint) -> str:
        """Write the errors of the other numbers."""
        words = [
            f"{label} {error_words(error)}"
            for label, error in self.all(point).items()
            if label != self.label
        ]
        return ", ".join(words)

    def otherwise(self, point: PricePoint) -> str:
        """Write the error for any data and for other numbers of rows.

        With few rows an average is known badly: no number of rows is promised, so all are shown.
        """
        if self.rows is None:
            return ""
        words = [
            f"{error_words(error)} from {some.rows:,} rows"
            for some in point.errors_if
            for label, error in some.errors
            if label == self.label and some.rows != self.rows
        ]
        certain = error_words(dict(point.errors)[self.label])
        return ", ".join([*words, f"{certain} for certain, whatever the data"])


def priced_question(
    curve: PriceCurve,
    wish: object,
    remaining: float,
    *,
    may_spend: bool = True,
    today: int | None = None,
) -> PricedQuestion | None:
    """Return a curve with a slider; None if no price on it reveals anything.

    Without ``may_spend``, the token may only repeat what is paid for. ``today`` is what the daily
    cap of the account leaves, in cells.

    The slider has one position per whole number of bits, the first useful price, the last one and
    the price that was wished for.
    """
    useful = [point for point in curve.points if not point.vacuous]
    if not useful:
        return None
    chosen = _nearest(curve, useful, wish)
    points = _positions(useful, chosen)
    errors = ShownErrors.of(useful)
    xs = Scale(0.0, max(math.ceil(points[-1].bits), 1.0))
    sizes = [float(errors.main(point)) for point in points]
    spendable = SpendableBits(remaining, may_spend, today)
    positions = tuple(
        _position(useful, point, errors, spendable, (xs.place(point.bits), y))
        for point, y in zip(points, heights(sizes), strict=True)
    )
    drawn = [
        DrawnPrice(position.bits, size, position.error)
        for position, size in zip(positions, sizes, strict=True)
    ]
    place = points.index(chosen)
    return PricedQuestion(
        curve.text,
        errors.label,
        errors.words,
        positions,
        place,
        draw_curve(drawn, place, errors.label),
        draw_ends(drawn),
        _table(useful, errors),
    )


def _table(points: list[PricePoint], errors: ShownErrors) -> PriceTable:
    labels = tuple(label for label, _ in points[0].errors)
    columns = [
        [due_number(point.bits_alone) for point in points],
        [due_number(point.bits) for point in points],
        *([error_words(errors.all(point)[label]) for point in points] for label in labels),
    ]
    return PriceTable(labels, tuple(zip(*map(aligned, columns), strict=True)))


def _nearest(curve: PriceCurve, useful: list[PricePoint], wish: object) -> PricePoint:
    point = curve.at(wish)
    return point if point is not None and point in useful else useful[0]


def _positions(useful: list[PricePoint], chosen: PricePoint) -> list[PricePoint]:
    whole = [_finest(useful, bits) for bits in range(1, math.ceil(useful[-1].bits) + 1)]
    points = {useful[0], useful[-1], chosen, *whole}
    return [point for point in useful if point in points]


def _finest(useful: list[PricePoint], bits: float) -> PricePoint | None:
    """Return the finest answer for which at most so many bits would be charged now."""
    return next((point for point in reversed(useful) if point.bits <= bits), None)


def _position(
    useful: list[PricePoint],
    point: PricePoint,
    errors: ShownErrors,
    spendable: SpendableBits,
    drawn: tuple[float, float],
) -> SliderPosition:
    following = next((other for other in useful if other.bits > point.bits), None)
    more = _finest(useful, point.bits + 1)
    better = more is not None and errors.main(more) < errors.main(point)
    short = spendable.short(point)
    return SliderPosition(
        wish=point.wish,
        bits=point.bits,
        price=bits_due(point.bits) if point.bits else "paid for" if point.paid else "free",
        alone=f"({bits_due(point.bits_alone)} alone)" if point.bits < point.bits_alone else "",
        short=short,
        error=error_words(errors.main(point)),
        otherwise=errors.otherwise(point),
        others=errors.others(point),
        one_more=error_words(errors.main(more)) if better and more else "",
        next_wish=following.wish if following is not None else "",
        next_words=(
            f"{bits_due(following.bits)}, {error_words(errors.main(following))}"
            if following is not None
            else ""
        ),
        left=spendable.words(point.bits, able=not short),
        x=drawn[0],
        y=drawn[1],
    )
