"""A priced question as the console shows it: the positions of its slider and the error curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.exact import bits_at_least
from hartley.service.console.pictures import (
    DrawnPrice,
    Scale,
    draw_curve,
    heights,
)
from hartley.wording import bits_down, bits_up, digits_up, rounded

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.agent.price_curve import PriceCurve, PricePoint

SLACK = 1e-9
"""Both sides are logarithms in doubles; what is refused in the end, the ledger decides exactly."""
DIGITS = 3
"""Of an error beside the slider, rounded up."""


@dataclass(frozen=True)
class SliderPosition:
    """One price that can be chosen, and everything that the page says about it."""

    wish: str
    """The bits to ask for, as a form sends them."""
    bits: float
    price: str
    due: str
    """What would be charged now, in words."""
    free: bool
    affordable: bool
    error: str
    others: str
    """The errors of the other numbers, in words; empty if there is one number."""
    one_more: str
    """What one more bit buys."""
    next_wish: str
    next_words: str
    x: float
    y: float

    def plain(self) -> dict[str, Any]:
        """Return what the script needs to show this position."""
        return {
            "wish": self.wish,
            "price": self.price,
            "button": self.button,
            "able": self.affordable,
            "said": self.said,
            "error": self.error,
            "others": self.others,
            "more": self.one_more,
            "next": self.next_wish,
            "nextWords": self.next_words,
            "x": self.x,
            "y": self.y,
        }

    @property
    def button(self) -> str:
        """The words on the button that asks."""
        return "Show the answer, free" if self.free else f"Ask and spend {self.due}"

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
    lines: tuple[tuple[str, str, str], ...]
    ends: tuple[str, str]
    """The largest and the smallest error of the curve."""
    remaining: float

    @property
    def now(self) -> SliderPosition:
        """The chosen position."""
        return self.positions[self.chosen]

    @property
    def left(self) -> str:
        """What the account has left, in words."""
        return bits_down(self.remaining)


def priced_question(
    curve: PriceCurve, wish: object, remaining: float, *, may_spend: bool = True
) -> PricedQuestion | None:
    """Return a curve with a slider; None if no price on it reveals anything.

    Without ``may_spend``, the token may only repeat what is paid for.

    The slider has one position per whole number of bits, the first useful price, the last one and
    the price that was wished for.
    """
    useful = [point for point in curve.points if not point.vacuous]
    if not useful:
        return None
    chosen = _nearest(curve, useful, wish)
    points = _positions(curve, useful, chosen)
    label_place = _interesting(useful[0])
    xs = Scale(0.0, max(math.ceil(points[-1].bits), 1.0))
    errors = [float(point.full_errors[label_place][1]) for point in points]
    ys = heights(errors)
    limit = remaining + SLACK if may_spend else 0.0
    positions = tuple(
        _position(curve, point, label_place, limit, (xs.place(point.bits), y))
        for point, y in zip(points, ys, strict=True)
    )
    drawn = [
        DrawnPrice(position.bits, error, position.error)
        for position, error in zip(positions, errors, strict=True)
    ]
    place = points.index(chosen)
    certain = all(point.errors == point.full_errors for point in points)
    label = useful[0].errors[label_place][0]
    return PricedQuestion(
        curve.text,
        label,
        "" if certain else f"if all {curve.rows:,} rows count",
        positions,
        place,
        draw_curve(drawn, place, label),
        tuple(
            line
            for point, line in zip(curve.points, curve.lines(), strict=True)
            if not point.vacuous
        ),
        (positions[0].error, positions[-1].error),
        remaining,
    )


def _nearest(curve: PriceCurve, useful: list[PricePoint], wish: object) -> PricePoint:
    point = curve.at(wish)
    return point if point is not None and point in useful else useful[0]


def _positions(curve: PriceCurve, useful: list[PricePoint], chosen: PricePoint) -> list[PricePoint]:
    whole = [curve.at(bits) for bits in range(1, math.ceil(useful[-1].bits) + 1)]
    points = {useful[0], useful[-1], chosen, *(p for p in whole if p is not None)}
    return sorted(points & {*useful}, key=lambda point: point.cells)


def _interesting(point: PricePoint) -> int:
    """Return the place of the number whose error a price changes: counts are exact at any."""
    places = [place for place, (_, error) in enumerate(point.full_errors) if error]
    return places[0] if places else 0


def _position(
    curve: PriceCurve, point: PricePoint, place: int, limit: float, drawn: tuple[float, float]
) -> SliderPosition:
    due = bits_at_least(point.cells if point.due is None else point.due)
    following = curve.after(point.wish)
    more = curve.at(point.bits + 1)
    better = more is not None and more.full_errors[place][1] < point.full_errors[place][1]
    others = [
        f"{label} {error_words(error)}"
        for number, (label, error) in enumerate(point.full_errors)
        if number != place
    ]
    return SliderPosition(
        wish=point.wish,
        bits=point.bits,
        price=bits_up(point.bits) if due else "paid for",
        due=bits_up(due),
        free=due == 0,
        affordable=due <= limit,
        error=error_words(point.full_errors[place][1]),
        others=", ".join(others),
        one_more=error_words(more.full_errors[place][1]) if better and more else "",
        next_wish=following.wish if following is not None else "",
        next_words=(
            f"{bits_up(following.bits)}, {error_words(following.full_errors[place][1])}"
            if following is not None
            else ""
        ),
        x=drawn[0],
        y=drawn[1],
    )


def error_words(error: Fraction) -> str:
    """Write an error with few digits, rounded up.

    Example:
        >>> from fractions import Fraction
        >>> [error_words(Fraction(error)) for error in ("0.0569149", "33300", "0")]
        ['±0.057', '±33,300', 'exact']
    """
    if not error:
        return "exact"
    return f"±{rounded(error, 0, up=True) if error >= 1000 else digits_up(error, DIGITS)}"
