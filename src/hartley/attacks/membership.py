"""The membership game: an adversary guesses which of two people is in an aggregated group."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.attacks.finding import (
    AttackResult,
    ReadingGrid,
    advantage,
    interval_series,
    readings_of,
)
from hartley.attacks.homogeneity import Sums, check_number, policy_words, steps_of
from hartley.engines.table import names_of
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.report import Chart, Panel
from hartley.text import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hartley.attacks.finding import AttackEstimate, Drop
    from hartley.attacks.homogeneity import Aggregate, Policy
    from hartley.kernels.draws import Steps
    from hartley.kernels.games import Profiles


@dataclass(frozen=True)
class StrategyResult:
    """How often one strategy won."""

    name: str
    wins: int
    coins: int
    """In how many games the strategy found both candidates equally likely and tossed a coin."""
    advantage: AttackEstimate

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return asdict(self) | {"advantage": self.advantage.to_dict()}


@dataclass(frozen=True)
class MembershipFinding(AttackResult):
    """The result of many games; the intervals of all strategies hold together."""

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
    """Whether the readings were used as given, not rounded to a fine grid."""
    times_left_out: int = 0

    measured = "advantage of the best strategy"

    @property
    def best(self) -> StrategyResult:
        """The strategy with the largest advantage."""
        return max(self.strategies, key=lambda strategy: strategy.advantage.value)

    @property
    def number(self) -> AttackEstimate:
        """The advantage of the best strategy."""
        return self.best.advantage

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        which = f"which of two people is in a group of {self.group}"
        if all(strategy.advantage.covers(0) for strategy in self.strategies):
            most = max(strategy.advantage.high for strategy in self.strategies)
            return (
                f"No strategy tells better than a coin {which}: in {self.games:,} games no "
                f"advantage was found, and one above {most:.3f} is ruled out."
            )
        best = self.number
        return (
            f"An adversary can tell {which}: by {self.best.name} with an advantage of "
            f"{best.value:.3f} ({best.low:.3f} to {best.high:.3f}) over a coin."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        times = count_of(self.readings, "time")
        first = (
            f"The {self.aggregate} of {self.group} people at {times} was released {self.policy}; "
            f"each game drew its people from {self.people:,}."
        )
        said = [first]
        said += [_sentence(strategy, self.games) for strategy in self.strategies]
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
        """Return a chart: the advantage of every strategy, with its interval."""
        advantages = [strategy.advantage for strategy in self.strategies]
        names = [strategy.name for strategy in self.strategies]
        bars = interval_series("advantage", names, advantages)
        title = f"Membership in a group of {self.group}, released {self.policy}"
        return Chart(title, (Panel("strategy", "advantage", (bars,), from_zero=True),))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "attack": "membership",
            **self._said(),
            "best": self.best.name,
            "strategies": [strategy.to_dict() for strategy in self.strategies],
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


def _sentence(strategy: StrategyResult, games: int) -> str:
    estimate = strategy.advantage
    text = (
        f"{strategy.name.capitalize()}: advantage {estimate.value:.3f} ({estimate.low:.3f} to "
        f"{estimate.high:.3f}), {strategy.wins:,} of {games:,} games won"
    )
    if strategy.name == "consistency":
        return (
            f"{text}; in {games - strategy.coins:,} games one candidate was named with certainty."
        )
    return (
        f"{text}, {strategy.coins:,} of them decided by a coin." if strategy.coins else f"{text}."
    )


STRATEGIES = ("correlation", "squared error", "common peaks", "consistency")
"""In the order of the kernel's columns."""


class MembershipGame:
    r"""A game with two candidates, a group with one of them in it, and the group's release.

    .. math:: \mathrm{Adv} = 2 |P\{\hat\jmath = j\} - 1/2|

    A game draws two candidates, a coin j, and n - 1 other people. A policy releases the aggregate
    of candidate j and the others, reading by reading. The adversary knows all readings of both
    candidates and names one of them (Farokhi 2019, Noiseless Privacy, Fig. 2, after Buescher et
    al. 2017). If a strategy finds both equally likely, it tosses a fair coin. The strategies:

    * "correlation": the candidate whose readings correlate more with the release.
    * "squared error": the candidate whose readings are nearer to the release in squared error.
    * "common peaks": the candidate who has more peaks at the same times as the release. A peak is
      above the reading before it and not below the one after it.
    * "consistency": the non-stochastic strategy. The adversary also knows a range that holds the
      readings of all others, and nothing else about them. It asks whether readings in that range
      explain every released cell. If only one candidate is left, it is named with certainty.
      If both are left, both are possible, and this adversary cannot know more. Exact, in whole
      numbers; the candidate in the group is never excluded.

    A game costs the reading of n + 2 rows. Readings that are decimals of up to nine places are
    used as they are; others are rounded to 40 bits.

    Args:
        readings: an array of people x readings, or a table (see ``person``).
        people: n, how many people are in the group, the candidate included.
        policy: a quantizer, a function that takes and returns an array, or a list of them (one per
            reading, or a number that divides the readings and is repeated). None: no policy.
        strategies: some of the names above.
        aggregate: "mean" or "sum".
        range: the range of everybody's readings that the adversary knows. By default, from the
            least to the largest of all readings.
        candidates: the rows of two people who are the candidates in every game. By default, they
            are drawn.
        person: the column of a table that says whose row it is; without it, a row is a person.
        order: the column that puts the rows of a person in order.
        columns: the columns of readings. By default, all other numbers.
        drop: what is left out of a table with missing readings: "people" leaves out everybody who
            lacks a reading, "times" every time at which somebody lacks one. The remaining times
            count as consecutive, also in the search for peaks.

    Example:
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> readings = [[0, 9], [9, 0], [5, 5]]
        >>> MembershipGame(readings, people=1).play(100, seed=1).number.value
        1.0
        >>> blind = MembershipGame(readings, people=1, policy=UniformQuantizer(0, 9, 1))
        >>> blind.play(100, seed=1).number.covers(0)
        True
    """

    def __init__(  # noqa: PLR0913 - the first are the game, the others refine it
        self,
        readings: object,
        *,
        people: int,
        policy: Policy = None,
        strategies: Sequence[str] = STRATEGIES,
        aggregate: Aggregate = "mean",
        range: tuple[object, object] | None = None,  # noqa: A002 - the word of the schemas
        candidates: tuple[int, int] | None = None,
        person: str | None = None,
        order: str | None = None,
        columns: Sequence[str] | None = None,
        drop: Drop = "people",
    ) -> None:
        self.readings = readings_of(
            readings, person=person, order=order, columns=columns, drop=drop
        )
        values = self.readings.values
        self.group, self.policy = people, policy
        self.strategies = _known_strategies(strategies)
        _check_group(values.shape[0], people, aggregate, candidates)
        self.aggregate: Aggregate = aggregate
        self.candidates = candidates
        self.grid = ReadingGrid.of(values, group=people)
        self._range = _code_range(self.grid, range)
        _ = self._steps  # raises an error for an invalid policy before any game

    @property
    def _profiles(self) -> Profiles:
        from hartley.kernels.games import Profiles

        codes = self.grid.codes
        small = float(np.abs(codes).max()) * (self.group + 1) < 2**31
        deviations = codes.shape[1] * codes.std(axis=1)
        differ = np.ptp(codes, axis=1) > 0
        scales = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=differ)
        moments = np.stack((codes.sum(axis=1), np.einsum("pt,pt->p", codes, codes), scales), axis=1)
        return Profiles(codes.astype(np.int32) if small else codes, _peaks(codes), moments)

    @cached_property
    def _steps(self) -> Steps:
        codes, (low, high) = self.grid.codes, self._range
        sums = Sums(
            self.grid.unit,
            self.group,
            self.aggregate,
            self.group * int(codes.min()),
            self.group * int(codes.max()),
            (self.group - 1) * low,
            (self.group - 1) * high,
        )
        policy, times, dropped = self.policy, self.readings.times, self.readings.times_left_out
        if dropped and isinstance(policy, (list, tuple)) and policy:
            # Several policies take turns over all times, so the remaining times keep theirs.
            check_number(policy, times.size + dropped)
            policy = [policy[time % len(policy)] for time in times.tolist()]
        return steps_of(policy, sums, codes.shape[1])

    def play(
        self,
        games: int = 10_000,
        *,
        seed: int = 0,
        confidence: float = 0.95,
        threads: int | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> MembershipFinding:
        """Play games and count how often each strategy wins.

        Args:
            games: the number of games.
            seed: a whole number; the same seed gives the same games with any number of threads.
            confidence: how often all intervals together hold the true advantages.
            threads: how many games run at once. By default, one per processor.
            progress: called with the share of the games that are played.
        """
        from hartley.kernels.games import count_outcomes

        _check_play(games, seed, confidence)
        wins, coins = np.zeros(len(STRATEGIES), np.int64), np.zeros(len(STRATEGIES), np.int64)
        report_share = None if progress is None else partial(progress, "play")
        for out in self.outcomes(games, seed=seed, threads=threads, progress=report_share):
            won, thrown = count_outcomes(out)
            wins += won
            coins += thrown
        # Bonferroni: wider intervals, so that the best of several strategies keeps the confidence.
        alone = 1 - (1 - confidence) / len(self.strategies)
        results = [
            StrategyResult(
                name,
                int(wins[at]),
                int(coins[at]),
                replace(advantage(int(wins[at]), games, confidence=alone), confidence=confidence),
            )
            for at, name in enumerate(STRATEGIES)
            if name in self.strategies
        ]
        return MembershipFinding(
            tuple(results),
            games=games,
            seed=seed,
            group=self.group,
            people=self.grid.codes.shape[0],
            readings=self.grid.codes.shape[1],
            aggregate=self.aggregate,
            policy=policy_words(self.policy),
            left_out=self.readings.people_left_out,
            times_left_out=self.readings.times_left_out,
            exact=self.grid.exact,
        )

    def outcomes(
        self,
        games: int,
        *,
        seed: int = 0,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Iterator[NDArray[np.int8]]:
        """Yield the outcomes of games in blocks, with a row per game and a column per strategy.

        2 is a right and -2 a wrong choice by the strategy; 1 and -1 are the same by a coin. All
        strategies are included, in the order of ``STRATEGIES``.
        """
        from hartley.kernels.games import Rules, play_games

        first, second = self.candidates or (-1, -1)
        return play_games(
            self._profiles,
            self._steps,
            Rules(self.group, first, second),
            games=games,
            seed=seed,
            threads=threads,
            progress=progress,
        )


def _peaks(codes: NDArray[np.float64]) -> NDArray[np.uint8]:
    peaks = np.zeros(codes.shape, np.uint8)
    middle = codes[:, 1:-1]
    peaks[:, 1:-1] = (middle > codes[:, :-2]) & (middle >= codes[:, 2:])
    return peaks


def _known_strategies(strategies: Sequence[str]) -> tuple[str, ...]:
    listed = names_of(strategies)
    for name in listed:
        if name not in STRATEGIES:
            raise OptionError(
                f"The strategy '{name}' is unknown", hint=f"choose from {', '.join(STRATEGIES)}"
            )
    if not listed:
        raise OptionError("No strategy was chosen", hint=f"choose from {', '.join(STRATEGIES)}")
    return listed


def _check_group(
    people: int, group: int, aggregate: str, candidates: tuple[int, int] | None
) -> None:
    if not isinstance(group, int) or group < 1:
        raise OptionError(f"A group cannot have {group} people", hint="give 1 or more")
    if people < group + 1:
        raise OptionError(
            f"A game with groups of {group:,} needs {group + 1:,} people, but there are {people:,}",
            hint="make the group smaller",
        )
    if aggregate not in ("mean", "sum"):
        raise OptionError(f"The aggregate '{aggregate}' is unknown", hint="choose 'mean' or 'sum'")
    if candidates is not None and (
        len(candidates) != 2
        or candidates[0] == candidates[1]
        or not all(isinstance(row, int) and 0 <= row < people for row in candidates)
    ):
        raise OptionError(
            "The candidates are not the numbers of two different rows",
            hint=f"give two whole numbers from 0 to {people - 1:,}",
        )


def _check_play(games: int, seed: int, confidence: float) -> None:
    if not isinstance(games, int) or games < 1:
        raise OptionError(f"{games} games cannot be played", hint="play at least once")
    if not isinstance(seed, int) or seed < 0:
        raise OptionError(f"The seed {seed} is not a whole number", hint="give 0, 1, 2, ...")
    if not 0 < confidence < 1:
        raise OptionError(
            f"The confidence {confidence} is not between 0 and 1", hint="give a share such as 0.95"
        )


def _code_range(grid: ReadingGrid, ends: tuple[object, object] | None) -> tuple[int, int]:
    """Return the range that the adversary knows, in codes, rounded outward."""
    least, most = int(grid.codes.min()), int(grid.codes.max())
    if ends is None:
        return least, most
    low, high = (parse_number(end, name="an end of the range") / grid.unit for end in ends)
    if low > least or high < most:
        raise OptionError(
            "Some readings lie outside the range given as known to the adversary",
            hint="give a range that holds all readings",
        )
    return math.floor(low), math.ceil(high)
