"""The load monitoring attack: when appliances run, inferred from the consumption of a home."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.attacks.finding import (
    AttackEstimate,
    AttackResult,
    as_doubles,
    interval_series,
    numeric_columns,
    require_numbers,
)
from hartley.attacks.homogeneity import policy_words, released
from hartley.errors import ColumnError, OptionError, TableError
from hartley.report import Chart, Panel, Series
from hartley.tables.opening import open_table
from hartley.tables.view import run
from hartley.text import conjugate, count_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.attacks.homogeneity import Policy
    from hartley.engines.table import Table


@dataclass(frozen=True)
class Signals:
    """The readings of each appliance, one row each, and the total."""

    names: tuple[str, ...]
    appliances: NDArray[np.float64]
    total: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many readings there are."""
        return int(self.total.size)


def signals_of(
    source: object, *, total: object = None, columns: Sequence[str] | None = None
) -> Signals:
    """Return the signals of appliances, given by name or as the columns of a table.

    Rows of a table with a missing reading are left out; the others keep their order.
    """
    if isinstance(source, Mapping) and not isinstance(total, str) and columns is None:
        arrays = {str(name): _numbers(name, values) for name, values in source.items()}
        whole = None if total is None else _numbers("the total", total)
    else:
        arrays, whole = _from_table(open_table(source), total, columns)
    sizes = {values.size for values in (*arrays.values(), *([] if whole is None else [whole]))}
    if not arrays or len(sizes) != 1 or sizes == {0}:
        raise OptionError(
            "An appliance, or the total, lacks a reading at some time",
            hint="give at least one appliance, and the same number of readings for all",
        )
    appliances = np.stack(list(arrays.values()))
    summed = appliances.sum(axis=0) if whole is None else whole
    return Signals(tuple(arrays), appliances, summed)


def _numbers(name: object, values: Any) -> NDArray[np.float64]:  # noqa: ANN401 - checked here
    try:
        numbers = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise OptionError(
            f"The readings of {name} are not all finite numbers",
            hint="leave out the times at which a reading is missing",
        )
    return numbers


def _from_table(
    table: Table, total: object, columns: Sequence[str] | None
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64] | None]:
    if total is not None and not isinstance(total, str):
        raise OptionError(
            "The total of a table is not the name of a column",
            hint="name the column, or leave it out",
        )
    whole = [total] if isinstance(total, str) else []
    listed = [name for name in columns or numeric_columns(table) if name not in whole]
    names = [*listed, *whole]
    table.require(names)
    require_numbers(table, names)
    if not listed:
        raise ColumnError(f"{table.name} has no column of an appliance", hint="name some columns")
    arrow = run(table, table.expression.select(*names).to_pyarrow)
    rows = {name: as_doubles(arrow.column(name)) for name in names}
    complete = np.all([np.isfinite(values) for values in rows.values()], axis=0)
    if not complete.any():
        raise TableError(
            f"No row of {table.name} has a reading of all appliances", hint="choose other columns"
        )
    arrays = {name: rows[name][complete] for name in listed}
    return arrays, rows[whole[0]][complete] if whole else None


MOST_COMBINATIONS = 2**20
BLOCKS = 100
"""The interval resamples this many stretches of time."""


@dataclass(frozen=True)
class ApplianceScore:
    """How well the adversary recognises when one appliance, or any of them, is on."""

    name: str
    states: tuple[float, ...]
    """The powers it was learned to draw, off first; empty for all appliances together."""
    on: float
    """The share of time that it is on."""
    true: AttackEstimate
    """The f-score from the true signal."""
    released: AttackEstimate
    """The f-score from the released signal."""
    chance: float
    """The f-score of being on as often, at times that have nothing to do with the truth."""
    gain: AttackEstimate
    """How much the released signal gives beyond chance."""
    trained: AttackEstimate
    """The f-score of the adversary trained cell by cell, from the released signal."""
    trained_chance: float
    """The f-score of being on as often as that adversary says, at unrelated times."""
    trained_gain: AttackEstimate

    @property
    def best(self) -> tuple[AttackEstimate, float, AttackEstimate]:
        """The f-score, the f-score by chance and the gain of the adversary that gains more."""
        if self.trained_gain.value > self.gain.value:
            return self.trained, self.trained_chance, self.trained_gain
        return self.released, self.chance, self.gain

    @property
    def above_chance(self) -> bool:
        """Whether the interval of either adversary lies above chance."""
        return self.gain.low > 0 or self.trained_gain.low > 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        estimates = {
            name: value.to_dict()
            for name, value in vars(self).items()
            if isinstance(value, AttackEstimate)
        }
        return vars(self) | estimates | {"states": list(self.states)}


@dataclass(frozen=True)
class LoadFinding(AttackResult):
    """What load monitoring finds in a released signal, compared with the true one."""

    overall: ApplianceScore
    appliances: tuple[ApplianceScore, ...]
    policy: str
    trained: int
    readings: int

    measured = "f-score of all appliances from the released signal"

    @property
    def number(self) -> AttackEstimate:
        """The f-score over all appliances, from the released signal."""
        return self.overall.released

    @property
    def headline(self) -> str:
        """The result in one sentence; each appliance counts by itself."""
        recognised = [score for score in self.appliances if score.above_chance]
        if not recognised:
            score = self.overall
            return (
                "The released signal does not show when any of the appliances runs: overall it "
                f"gives an f-score of {score.released.value:.3f}, against {score.true.value:.3f} "
                f"from the true signal and {score.chance:.3f} by chance."
            )
        most = max(recognised, key=lambda score: score.best[2].value)
        reached, chance, _ = most.best
        number = "one" if len(recognised) == 1 else str(len(recognised))
        return (
            f"From the released signal an adversary tells better than chance when {number} of "
            f"{len(self.appliances)} appliances {conjugate(len(recognised), 'runs')}. The easiest "
            f"is {most.name}: an f-score of {reached.value:.3f}, against {most.true.value:.3f} "
            f"from the true signal and {chance:.3f} by chance."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        number = len(self.appliances)
        first = (
            f"The signal of {self.readings:,} readings was released {self.policy}; the powers of "
            f"{count_of(number, 'appliance')} were learned from {self.trained:,} "
            "earlier readings."
        )
        said = [first]
        said += [
            f"{score.name}: f-score {score.released.value:.3f} ({score.released.low:.3f} to "
            f"{score.released.high:.3f}), {score.true.value:.3f} from the true signal, "
            f"{score.chance:.3f} by chance; trained cell by cell {score.trained.value:.3f} "
            f"({score.trained.low:.3f} to {score.trained.high:.3f}), {score.trained_chance:.3f} by "
            f"chance; on {100 * score.on:.3g} % of the time."
            for score in self.appliances
        ]
        said += [
            f"{score.name} was never on in the training part, so it is never recognised."
            for score in self.appliances
            if len(score.states) == 1
        ]
        said.append(
            f"The intervals, each of {100 * self.number.confidence:.4g} % confidence, come from "
            "resampling stretches of time."
        )
        return tuple(said)

    def chart(self) -> Chart:
        """Return the f-scores from both signals, appliance by appliance."""
        shown = (*self.appliances, self.overall)
        names = tuple(score.name for score in shown)
        bars = [
            interval_series(label, names, estimates)
            for label, estimates in (
                ("true signal", [score.true for score in shown]),
                ("released signal", [score.released for score in shown]),
                ("released signal, trained cell by cell", [score.trained for score in shown]),
            )
        ]
        chance = Series("chance", names, tuple(score.chance for score in shown), kind="bars")
        panel = Panel("appliance", "f-score", (*bars, chance), from_zero=True)
        return Chart(f"Load monitoring of a signal released {self.policy}", (panel,))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "attack": "load",
            **self._said(),
            "overall": self.overall.to_dict(),
            "appliances": [score.to_dict() for score in self.appliances],
            "policy": self.policy,
            "trained": self.trained,
            "readings": self.readings,
        }


class LoadMonitoring:
    r"""Chooses for every time the states of appliances whose powers add up closest to a signal.

    .. math:: \hat z_t = \arg\min_{z} \Big| y_t - r - \sum_a p_a(z_a) \Big|, \qquad
        F = \frac{2\,TP}{2\,TP + FP + FN}

    Combinatorial optimisation (Hart 1992), the method of Farokhi 2019, Noiseless Privacy, Fig. 4.
    The powers p of each appliance are learned from the first part of its own readings: off is 0,
    and the others are the centres of the best clusters of its readings while on, found by dynamic
    programming. r is the median of the part of the total that no appliance explains. An appliance
    counts as on above a threshold; true and chosen states are compared on the second part. All
    combinations are sorted once, so a reading costs the logarithm of their number.

    A second adversary is trained cell by cell. It counts, on the first part as released, how often
    each appliance is on at every released value. Then it says "on" at the values that gain most
    beyond chance. A value that it has never seen counts as the nearest one that it has.

    The f-score over all appliances pools their times. An appliance that is recognised well can be
    hidden in it, so each also counts by itself. Chance is what the same choices would score at
    times unrelated to the truth. Intervals come from the bootstrap over stretches of time: they
    are approximate, and assume that stretches are alike.

    Args:
        appliances: the readings of each appliance by name, or a table with a column for each.
        total: the readings of the whole home, or the name of their column. By default, the sum
            of the appliances.
        columns: the columns of appliances, for tables only. By default, all numbers but the total.
        train: how many of the first readings, or which share of them, are used for learning.
        states: the largest number of states of an appliance, off included.
        on: an appliance counts as on above this reading.

    Example:
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> fridge, oven = [100, 0, 100, 0] * 50, [0, 0, 900, 900] * 50
        >>> home = LoadMonitoring({"fridge": fridge, "oven": oven}, train=0.5)
        >>> home.attack().number.value
        1.0
        >>> home.attack(UniformQuantizer(0, 1000, 1)).overall.gain.value
        0.0
    """

    def __init__(  # noqa: PLR0913 - the first two are the home, the others refine it
        self,
        appliances: object,
        *,
        total: object = None,
        columns: Sequence[str] | None = None,
        train: float = 0.25,
        states: int = 3,
        on: float = 10,
    ) -> None:
        self.signals: Signals = signals_of(appliances, total=total, columns=columns)
        self.trained = _training(train, self.signals.size)
        if not isinstance(states, int) or states < 2:
            raise OptionError(
                f"An appliance with {states} states cannot be recognised", hint="give 2 or more"
            )
        if not on >= 0:
            raise OptionError(f"The threshold {on} is negative", hint="give 0 or more")
        self.on = on
        self.powers = tuple(
            _learned(readings[: self.trained], states, on) for readings in self.signals.appliances
        )
        first = slice(None, self.trained)
        unexplained = self.signals.total[first] - self.signals.appliances[:, first].sum(axis=0)
        self.rest = float(np.median(unexplained))

    @cached_property  # up to MOST_COMBINATIONS sums are sorted
    def _sorted(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The sums of all combinations in ascending order, and the states of each."""
        number = math.prod(len(powers) for powers in self.powers)
        if number > MOST_COMBINATIONS:
            raise OptionError(
                f"{len(self.powers)} appliances have {number:,} combinations of states, more than "
                f"{MOST_COMBINATIONS:,}",
                hint="use fewer appliances, or fewer states",
            )
        states = np.indices([len(powers) for powers in self.powers]).reshape(len(self.powers), -1)
        sums = np.zeros(number)
        for powers, chosen in zip(self.powers, states, strict=True):
            sums += np.asarray(powers)[chosen]
        # Among equal sums the one with the fewest appliances on comes first, and is chosen.
        order = np.lexsort(((states > 0).sum(axis=0), sums))
        return sums[order], states[:, order]

    def disaggregate(self, signal: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the state of every appliance at every time of a signal; 0 is off."""
        sums, states = self._sorted
        return states[:, np.searchsorted((sums[1:] + sums[:-1]) / 2, signal - self.rest)]

    def trained_choice(
        self, learned: NDArray[np.float64], shown: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return when each appliance is judged to be on, from released values alone.

        An f-score minus chance is a ratio of sums over the values, so the best set of values holds
        those with the largest shares of time on, as for the f-score itself (Lipton, Elkan and
        Narayanaswamy 2014): sorting finds it.

        Args:
            learned: the released values of the training part.
            shown: the released values of the part that is attacked.
        """
        values, cell = np.unique(learned, return_inverse=True)
        truth = self.signals.appliances[:, : self.trained] > self.on
        times = np.bincount(cell, minlength=values.size).astype(np.float64)
        says_on = np.zeros((truth.shape[0], values.size), dtype=bool)
        for appliance, on in enumerate(truth):
            right = np.bincount(cell, weights=on, minlength=values.size)
            order = np.argsort(-right / times, kind="stable")
            reached, said = right[order].cumsum(), times[order].cumsum()
            # F minus chance, 2 (TP - P C / n) / (P + C), as in the scores.
            gains = (reached - on.mean() * said) / (on.sum() + said)
            if on.any():
                says_on[appliance, order[: int(gains.argmax()) + 1]] = True
        return says_on[:, np.searchsorted((values[1:] + values[:-1]) / 2, shown)]

    def attack(
        self, policy: Policy = None, *, confidence: float = 0.95, seed: int = 0
    ) -> LoadFinding:
        """Return how well appliances are recognised in the total that a policy releases.

        Args:
            policy: a quantizer, or a function that takes and returns an array; None releases the
                true total.
            confidence: how often an interval should hold the true f-score.
            seed: the seed of the resampling.
        """
        second = slice(self.trained, None)
        signal = self.signals.total[second]
        truth = self.signals.appliances[:, second] > self.on
        shown = released(policy, signal)
        # How often each stretch is drawn: once each in the first row, then at random.
        blocks = min(BLOCKS, signal.size)
        drawn = np.random.default_rng(seed).multinomial(blocks, [1 / blocks] * blocks, 2000)
        draws: NDArray[np.float64] = np.concatenate((np.ones((1, blocks)), drawn))
        learned = released(policy, self.signals.total[: self.trained])
        choices = [self.disaggregate(seen) > 0 for seen in (signal, shown)]
        choices.append(self.trained_choice(learned, shown))
        tallies = [_tally(truth, chosen) for chosen in choices]
        names = (*self.signals.names, "all appliances")
        scores = [
            _score(i, name, self.powers, tallies, draws, confidence) for i, name in enumerate(names)
        ]
        return LoadFinding(
            scores[-1], tuple(scores[:-1]), policy_words(policy), self.trained, signal.size
        )


def _learned(readings: NDArray[np.float64], states: int, on: float) -> tuple[float, ...]:
    """Return the powers of an appliance: 0, and the centres of its readings while on."""
    from hartley.kernels.neighbours import line_clusters

    values, counts = np.unique(readings[readings > on], return_counts=True)
    if not values.size:
        return (0.0,)
    return (0.0, *line_clusters(values, counts.astype(np.float64), states - 1).tolist())


def _training(train: float, size: int) -> int:
    whole = isinstance(train, (int, np.integer)) and not isinstance(train, bool)
    count = int(train) if whole else int(train * size) if 0 < train < 1 else 0
    if not 1 <= count <= size - 2:
        raise OptionError(
            f"A training part of {train} does not fit {size:,} readings",
            hint="give a share such as 0.25, or a number that leaves some to attack",
        )
    return count


def _tally(truth: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Count times per stretch and appliance: on and chosen, on, chosen, and all."""
    starts = np.linspace(0, truth.shape[1], min(BLOCKS, truth.shape[1]), endpoint=False)
    parts = [truth & chosen, truth, chosen, np.ones_like(truth)]
    at = starts.astype(np.int64)
    return np.stack([np.add.reduceat(part, at, axis=1, dtype=np.float64) for part in parts])


def _score(  # noqa: PLR0913, PLR0917 - an appliance, what was counted, and how to draw it
    at: int,
    name: str,
    powers: tuple[tuple[float, ...], ...],
    tallies: list[NDArray[np.float64]],
    draws: NDArray[np.float64],
    confidence: float,
) -> ApplianceScore:
    """Return the scores of one appliance, or, after the last one, of all together."""
    which = slice(at, at + 1) if at < len(powers) else slice(None)
    counts = [np.einsum("rb,kab->rka", draws, tally[:, which]) for tally in tallies]
    (true, _), (from_release, chance), (trained, trained_chance) = map(_with_chance, counts)
    on, times = counts[0][0, 1], counts[0][0, 3]
    return ApplianceScore(
        name=name,
        states=powers[at] if at < len(powers) else (),
        on=float(on.sum() / times.sum()),
        true=_interval(true, confidence),
        released=_interval(from_release, confidence),
        chance=float(chance[0]),
        gain=_interval(from_release - chance, confidence),
        trained=_interval(trained, confidence),
        trained_chance=float(trained_chance[0]),
        trained_gain=_interval(trained - trained_chance, confidence),
    )


def _with_chance(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the f-scores of all draws, and those of equally many choices at unrelated times."""
    both, on, chosen, times = (counts[:, kind] for kind in range(4))
    totals = on.sum(axis=1), chosen.sum(axis=1)
    return _f(both.sum(axis=1), *totals), _f((on * chosen / times).sum(axis=1), *totals)


def _f(
    both: NDArray[np.float64], on: NDArray[np.float64], chosen: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 2 TP / (2 TP + FP + FN), 0 where nothing is on or chosen."""
    either = on + chosen
    return np.where(either > 0, 2 * both / np.maximum(either, 1), 0.0)


def _interval(values: NDArray[np.float64], confidence: float) -> AttackEstimate:
    """Return the first value, with an interval that holds it and most of the others."""
    rest = (1 - confidence) / 2
    low, high = np.quantile(values[1:], [rest, 1 - rest]).tolist()
    value = float(values[0])
    return AttackEstimate(value, min(low, value), max(high, value), confidence)
