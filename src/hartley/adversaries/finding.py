"""The result of an attack: a sentence, a number with its uncertainty, and a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hartley.errors import OptionError

if TYPE_CHECKING:
    from hartley.chart import Chart


@dataclass(frozen=True)
class AttackEstimate:
    """A number and the interval that holds the true one.

    ``confidence`` is how often such an interval holds it; 1 means that the number is exact or the
    interval is certain.

    Example:
        >>> AttackEstimate(0.5, 0.4, 0.6, 0.95).covers(0.45)
        True
    """

    value: float
    low: float
    high: float
    confidence: float = 1.0

    @classmethod
    def exact(cls, value: float) -> AttackEstimate:
        """Return an estimate without uncertainty."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        """Whether the number has no uncertainty."""
        return self.low == self.high and self.confidence == 1

    def covers(self, value: float) -> bool:
        """Tell whether a number lies in the interval."""
        return self.low <= value <= self.high

    def to_dict(self) -> dict[str, float]:
        """Return the estimate as plain values, ready for JSON."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "confidence": self.confidence,
        }


class Finding(Protocol):
    """What every attack returns: all that pages and terminals need to show it."""

    @property
    def headline(self) -> str:
        """The result in one sentence."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""

    @property
    def number(self) -> AttackEstimate:
        """The main number of the attack, with its uncertainty."""

    def chart(self) -> Chart:
        """Return a chart of the result."""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""


def no_answer() -> OptionError:
    """Return the error for an agent that has no answers an attack can use."""
    return OptionError(
        "There is no answer to attack",
        hint="ask about the present version of the data; answers about older versions, and those "
        "that depend on too many values at once, are not used",
    )


def share(hits: int, trials: int, *, confidence: float = 0.95) -> AttackEstimate:
    r"""Estimate how often something happens from independent trials.

    The interval is that of Clopper and Pearson (1934): it holds the true share at least as often
    as ``confidence`` says, for any number of trials.

    Example:
        >>> estimate = share(0, 10)
        >>> estimate.value, estimate.low, round(estimate.high, 4)
        (0.0, 0.0, 0.3085)
    """
    from scipy.stats import beta

    if not 0 <= hits <= trials or trials < 1:
        raise OptionError(
            f"{hits} hits in {trials} trials are impossible", hint="play at least once"
        )
    rest = (1 - confidence) / 2
    low = float(beta.ppf(rest, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.isf(rest, hits + 1, trials - hits)) if hits < trials else 1.0
    return AttackEstimate(hits / trials, low, high, confidence)


def advantage(wins: int, games: int, *, confidence: float = 0.95) -> AttackEstimate:
    r"""Return the advantage over a coin toss of a player who won this many games.

    .. math:: \mathrm{Adv} = 2 |P - 1/2|

    (Farokhi 2020, Section V.A). The interval follows from that of the share of games won; it
    covers 0 unless the results rule out a fair coin.

    Example:
        >>> advantage(50, 100).value, advantage(50, 100).covers(0)
        (0.0, True)
        >>> advantage(99, 100).low > 0.8
        True
    """
    won = share(wins, games, confidence=confidence)
    ends = sorted((2 * abs(won.low - 0.5), 2 * abs(won.high - 0.5)))
    low = 0.0 if won.covers(0.5) else ends[0]
    return AttackEstimate(2 * abs(won.value - 0.5), low, ends[1], confidence)
