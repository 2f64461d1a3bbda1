"""Budgets, also by period, and what was charged of them, in exact integers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.rows.entries import multiply, read_integer, write_integer
from hartley.agent.pricing.public_parts import PublicParts
from hartley.exact import bits_at_least, bits_at_most, floor_power
from hartley.wording import bits_down, bits_up, exactly, noun_for, verb_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

ONE_PART = PublicParts()
"""All types of the public columns, with nothing charged."""
PERIODS = {"year": 12, "quarter": 3, "month": 1}
"""The periods that a budget can have parts for, and how many months each has."""
TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


def one_part(cells: int) -> PublicParts:
    """Return one number for all types of the public columns."""
    return PublicParts((), (cells,))


def write_parts(parts: PublicParts, word: str = "parts") -> dict[str, Any]:
    """Return numbers by public type as a row stores them; nothing where all types have one."""
    if not parts.cuts:
        return {}
    cuts = {name: list(starts) for name, starts in parts.cuts}
    return {word: {"cells": [write_integer(cells) for cells in parts.cells], "cuts": cuts}}


def read_parts(plain: Mapping[str, Any]) -> PublicParts:
    """Read what ``write_parts`` wrote; raise ValueError for anything else."""
    cuts = tuple((name, tuple(starts)) for name, starts in sorted(plain["cuts"].items()))
    parts = PublicParts(cuts, tuple(map(read_integer, plain["cells"])))
    codes = [list(starts) for _, starts in cuts]
    good = all(
        starts[0] == 0 and starts == sorted({*starts}) and all(type(code) is int for code in starts)
        for starts in codes
    ) and len(parts.cells) == math.prod(map(len, codes))
    # A text or an object would be read number by number too.
    good &= plain.keys() == {"cells", "cuts"} and type(plain["cells"]) is list
    if not good or min(parts.cells) < 1 or parts != PublicParts.of(*(cuts, parts.cells)):
        raise ValueError
    return parts


@dataclass(frozen=True)
class Population:
    """Datasets about the same people, and the budget that they share."""

    name: str
    balance: Balance
    """All charges to its datasets, including open columns, and to the population itself."""
    datasets: tuple[str, ...]

    def after(self, before: int, after: int) -> Population:
        """Return the population after a charge that changes the product of one of its datasets."""
        spent = self.balance.spent // before * after  # a product with this factor
        return replace(self, balance=replace(self.balance, spent=spent))


@dataclass(frozen=True)
class Balance:
    """The budget and the charges of a dataset, of an allowance, or of the rest of the budget."""

    bits: Fraction
    spent: int
    """The product of all charges."""
    population: Population | None = None
    """The population whose budget counts too, if datasets share one."""

    @property
    def limit(self) -> int:
        """The largest product allowed: floor(2^bits)."""
        return cells_within(self.bits)

    def holds(self, cells: int) -> bool:
        """Tell whether a further charge fits, without the cost of a division."""
        # The condition of the theorem: M times all charges times this one is at most floor(2^B),
        # in exact integers. The budget of the population must hold it too.
        wider = self.population
        return self.spent * cells <= self.limit and (wider is None or wider.balance.holds(cells))

    @property
    def left(self) -> int:
        """The largest number of cells of a further charge; 0 if nothing is left."""
        own = self.limit // self.spent
        return own if self.population is None else min(own, self.population.balance.left)

    @property
    def tightest(self) -> str:
        """Which budget is used up first, in words; empty if it is this one."""
        wider = self.population
        if wider is None or wider.balance.left >= self.limit // self.spent:
            return ""
        return f"the budget of the population '{wider.name}'"

    @property
    def spent_bits(self) -> float:
        """The bits spent, rounded up."""
        return bits_at_least(self.spent)

    @property
    def remaining(self) -> float:
        """The bits left, rounded down.

        Example:
            >>> from fractions import Fraction
            >>> Balance(Fraction(3), 2).remaining, Balance(Fraction(1, 2), 1).remaining
            (2.0, 0.0)
        """
        return _bits_of(self.left)


@lru_cache(maxsize=64)
def _bits_of(left: int) -> float:
    """Return the bits of what is left, rounded down; cached, since repeats leave the same."""
    return bits_at_most(left)


@lru_cache(maxsize=1024)
def cells_within(bits: Fraction) -> int:
    """Return floor(2^bits), cached."""
    return floor_power(bits)


def promise(bits: Fraction, *, of: str = "") -> str:
    """Return the promise of a budget in words.

    Example:
        >>> from fractions import Fraction
        >>> print(promise(Fraction(4)))
        all analysts together see at most 16 different transcripts as the data of one person varies
    """
    limit = cells_within(bits)
    number = f"{limit:,}" if limit < 10**15 else f"2^{bits}"
    return (
        f"all analysts together see at most {number} different transcripts{of} as the data of one "
        "person varies"
    )


# --- periods --------------------------------------------------------------------------------------


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
            >>> from fractions import Fraction
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
        >>> from fractions import Fraction
        >>> period_words(Period("year", Fraction(8), "2027")).split("; ")[1]
        'of those for 2027, 0 bits are spent and 8 bits left until 2028-01-01'
    """
    if period is None:
        return "the budget has no parts by period"
    spent, remaining = period.balance.spent_bits, period.balance.remaining
    return (
        f"at most {exactly(period.bits)} {noun_for(period.bits, 'bit')} in every {period.per}; "
        f"of those for {period.name}, {bits_up(spent)} {verb_for(spent, 'is')} spent and "
        f"{bits_down(remaining)} left until {period.following}"
    )
