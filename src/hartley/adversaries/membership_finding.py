"""What many membership games found, in numbers, words and bars."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hartley.chart import Chart, Panel, Series

if TYPE_CHECKING:
    from hartley.adversaries.finding import Estimate


@dataclass(frozen=True)
class StrategyResult:
    """How one strategy did."""

    name: str
    wins: int
    coins: int
    """In how many games a coin decided, both candidates being equally likely to the strategy."""
    advantage: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return asdict(self) | {"advantage": self.advantage.to_dict()}


@dataclass(frozen=True)
class MembershipFinding:
    """What came of many games; the intervals of all strategies hold together."""

    strategies: tuple[StrategyResult, ...]
    games: int
    seed: int
    group: int
    people: int
    readings: int
    aggregate: str
    policy: str
    left_out: int
    exact: bool
    """Whether the readings were played as given, not rounded to the nearest of a fine grid."""
    times_left_out: int = 0

    measured = "advantage of the best strategy"

    @property
    def best(self) -> StrategyResult:
        """The strategy of the largest advantage."""
        return max(self.strategies, key=lambda one: one.advantage.value)

    @property
    def number(self) -> Estimate:
        """The advantage of the best strategy."""
        return self.best.advantage

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        which = f"which of two people is in a group of {self.group}"
        if all(one.advantage.covers(0) for one in self.strategies):
            most = max(one.advantage.high for one in self.strategies)
            return (
                f"No strategy tells better than a coin {which}: in {self.games:,} games no "
                f"advantage was found, and one above {most:.3f} is ruled out."
            )
        found = self.number
        return (
            f"An adversary can tell {which}: by {self.best.name} with an advantage of "
            f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f}) over a coin."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What else is to be said, a sentence each."""
        times = "1 time" if self.readings == 1 else f"{self.readings:,} times"
        first = (
            f"The {self.aggregate} of {self.group} people at {times} was released {self.policy}; "
            f"each game drew its people from {self.people:,}."
        )
        said = [first]
        said += [_sentence(one, self.games) for one in self.strategies]
        said.append(
            "The advantage is 2|P - 1/2|, where P is the share of games won; the intervals hold "
            f"together with {100 * self.number.confidence:.4g} % confidence."
        )
        if self.left_out:
            said.append(f"Left out, for missing readings: {self.left_out:,} people.")
        if self.times_left_out:
            said.append(f"Left out, for missing readings: {self.times_left_out:,} times.")
        if not self.exact:
            said.append("The readings were rounded to a grid of a millionth of a millionth.")
        return tuple(said)

    def chart(self) -> Chart:
        """Return the advantage of every strategy, with its interval."""
        found = [one.advantage for one in self.strategies]
        bars = Series(
            "advantage",
            tuple(one.name for one in self.strategies),
            tuple(one.value for one in found),
            kind="bars",
            low=tuple(one.low for one in found),
            high=tuple(one.high for one in found),
        )
        title = f"Membership in a group of {self.group}, released {self.policy}"
        return Chart(title, (Panel("strategy", "advantage", (bars,), from_zero=True),))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "attack": "membership",
            "headline": self.headline,
            "sentences": list(self.sentences),
            "number": self.number.to_dict(),
            "best": self.best.name,
            "strategies": [one.to_dict() for one in self.strategies],
            "games": self.games,
            "seed": self.seed,
            "people": self.group,
            "drawn_from": self.people,
            "readings": self.readings,
            "aggregate": self.aggregate,
            "policy": self.policy,
            "left_out": self.left_out,
            "times_left_out": self.times_left_out,
        }


def _sentence(one: StrategyResult, games: int) -> str:
    found = one.advantage
    text = (
        f"{one.name.capitalize()}: advantage {found.value:.3f} ({found.low:.3f} to "
        f"{found.high:.3f}), {one.wins:,} of {games:,} games won"
    )
    if one.name == "consistency":
        return f"{text}; in {games - one.coins:,} games one candidate was named with certainty."
    return f"{text}, {one.coins:,} of all decided by a coin." if one.coins else f"{text}."
