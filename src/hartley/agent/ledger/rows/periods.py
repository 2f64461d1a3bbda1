"""Periods: a part of the budget for every year, quarter or month."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hartley.agent.ledger.rows.balances import ONE_PART, Balance, one_part
from hartley.agent.ledger.rows.entries import multiply
from hartley.wording import bits_down, bits_up, exactly, noun_for, verb_for

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.agent.pricing.public_parts import PublicParts

PERIODS = {"year": 12, "quarter": 3, "month": 1}
"""The periods that a budget can have parts for, and how many months each has."""

TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


@dataclass(frozen=True)
class Period:
    """A part of the budget for every year, quarter or month, and what was charged in this one."""

    per: str
    bits: Fraction
    name: str
    """The year, quarter or month, as text that sorts: 2027, 2027-Q1 or 2027-01."""
    parts: PublicParts = ONE_PART
    """The product of the charges in it for every type of the public columns, open ones included."""

    @property
    def balance(self) -> Balance:
        """The balance of the period."""
        return Balance(self.bits, self.parts.most)

    @property
    def words(self) -> str:
        """Name the period in a sentence."""
        return f"the {self.per} {self.name}"

    @property
    def following(self) -> str:
        """The day on which the next period begins.

        Example:
            >>> Period("quarter", Fraction(2), "2027-Q4").following
            '2028-01-01'
        """
        year, place = int(self.name[:4]), self.name[5:].removeprefix("Q")
        month = int(place or 1) * PERIODS[self.per] + 1 if place else 13
        return f"{year + month // 13:04}-{1 if month == 13 else month:02}-01"

    def at(self, time: str) -> Period:
        """Return the period of a time; one that a clock set back would open again stays closed."""
        name = period_name(self.per, time)
        return self if name <= self.name else Period(self.per, self.bits, name)

    def charged(self, cells: PublicParts) -> Period:
        """Return the period after one more charge."""
        return replace(self, parts=self.parts.times(cells, multiply))

    def renewed(self) -> Period:
        """Return the period for new data or another schema."""
        return replace(self, parts=one_part(self.parts.most))


def period_name(per: str, time: str) -> str:
    """Name the year, quarter or month of a time.

    Example:
        >>> period_name("quarter", "2027-05-01T00:00:00.000000Z")
        '2027-Q2'
    """
    if not TIME.fullmatch(time):
        raise ValueError(time)
    if per == "quarter":
        return f"{time[:4]}-Q{(int(time[5:7]) + 2) // 3}"
    return time[:4] if per == "year" else time[:7]


def period_words(period: Period | None) -> str:
    """Say what one person can lose in the present period, and what is left of that.

    Example:
        >>> print(period_words(Period("year", Fraction(8), "2027")))
        at most 8 bits in every year; in 2027 0 bits are spent and 8 bits left until 2028-01-01
    """
    if period is None:
        return "the budget has no parts by period"
    spent, remaining = period.balance.spent_bits, period.balance.remaining
    return (
        f"at most {exactly(period.bits)} {noun_for(period.bits, 'bit')} in every {period.per}; in "
        f"{period.name} {bits_up(spent)} {verb_for(spent, 'is')} spent and "
        f"{bits_down(remaining)} left until {period.following}"
    )
