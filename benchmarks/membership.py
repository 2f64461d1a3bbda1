"""Membership games against the same games in plain batched NumPy, all four strategies each.

Readings of 300 homes with three decimals, groups of 4, the mean released in 28 cells. Both draw
their own games; each strategy must win the same share of them, up to chance. The kernel is
compiled before the timing and uses all processors, as it does for a user; NumPy uses one. What
each plays in a second of CPU time, all threads together, is told beside.
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show

if TYPE_CHECKING:
    from measure import Measurement

NAME = "membership games"
SIZES, QUICK_SIZES = (48, 336, 1440, 17_520), (48, 336)
HOMES, GROUP, HIGH, CELLS = 300, 4, 10, 28
READINGS, QUICK_READINGS = 100_000_000, 10_000_000
"""So many readings are played by the kernel, and a tenth of them by NumPy."""
LEAST_TIMES = 10
KERNEL, PLAIN = "compiled games", "batched NumPy"
SEED = 1


# --- jobs in a child process ------------------------------------------------------------------


def readings(size: int) -> Any:  # noqa: ANN401 - a NumPy array, imported on use
    """Make readings in kWh, the same in every process."""
    import numpy as np

    random = np.random.default_rng(SEED)
    shape = np.abs(np.sin(np.arange(size) / 48 * 2 * np.pi)) * random.gamma(2, 0.3, (HOMES, 1))
    return np.minimum(shape * random.gamma(1, 1, (HOMES, size)), HIGH).round(3)


def kernel(size: int, games: int) -> Job:
    """Play with the kernel."""
    from hartley.attacks.membership import MembershipGame
    from hartley.policies.quantizer import UniformQuantizer

    policy = UniformQuantizer(0, HIGH, CELLS)
    game = MembershipGame(readings(size), people=GROUP, policy=policy, range=(0, HIGH))
    game.play(10, seed=SEED)

    def describe(finding: Any) -> list[float]:  # noqa: ANN401 - a finding, imported on use
        return [one.wins / games for one in finding.strategies]

    return Job(lambda: game.play(games, seed=SEED), describe)


def plain(size: int, games: int) -> Job:
    """Play with batches of NumPy."""
    import numpy as np

    batch = max(1, 2**18 // size)
    state = PlainGames(readings(size))

    def play() -> Any:  # noqa: ANN401 - a NumPy array
        random = np.random.default_rng(SEED)
        wins = sum(state.play(random, min(batch, games - at)) for at in range(0, games, batch))
        return np.asarray(wins)

    state.play(np.random.default_rng(0), 2)
    return Job(play, lambda wins: (wins / games).tolist())


class PlainGames:
    """The games as one writes them with arrays, a batch at a time."""

    def __init__(self, values: Any) -> None:  # noqa: ANN401 - a NumPy array
        import numpy as np

        self.values = values
        self.centred = values - values.mean(axis=1, keepdims=True)
        self.norms = np.sqrt((self.centred**2).sum(axis=1))
        self.peaks = self._peaks(values)
        edges = np.linspace(0, HIGH, CELLS + 1)
        # A hair outward: these are doubles, and who takes part must never be excluded.
        self.least = np.append(-np.inf, edges[1:-1]) * GROUP - (GROUP - 1) * HIGH - 1e-9
        self.most = np.append(edges[1:-1], np.inf) * GROUP + 1e-9

    @staticmethod
    def _peaks(values: Any) -> Any:  # noqa: ANN401 - NumPy arrays
        middle = values[:, 1:-1]
        return (middle > values[:, :-2]) & (middle >= values[:, 2:])

    @staticmethod
    def _drawn(random: Any, count: int) -> Any:  # noqa: ANN401 - NumPy arrays
        """Draw different people, drawing again where two are the same."""
        import numpy as np

        who = random.integers(0, HOMES, (count, GROUP + 1))
        while True:
            ordered = np.sort(who, axis=1)
            doubled = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
            if not doubled.any():
                return who
            who[doubled] = random.integers(0, HOMES, (int(doubled.sum()), GROUP + 1))

    def play(self, random: Any, count: int) -> Any:  # noqa: ANN401 - NumPy arrays
        """Return how many of some games each strategy won."""
        import numpy as np

        who, truth = self._drawn(random, count), random.integers(0, 2, count)
        taking = who[np.arange(count), truth]
        mean = (self.values[taking] + self.values[who[:, 2:]].sum(axis=1)) / GROUP
        cells = np.clip((mean * (CELLS / HIGH)).astype(np.int64), 0, CELLS - 1)
        seen = (cells + 0.5) * (HIGH / CELLS)
        moved = seen - seen.mean(axis=1, keepdims=True)
        seen_peaks = self._peaks(seen)
        least, most = self.least[cells], self.most[cells]
        scores = np.empty((4, 2, count))
        for c in range(2):
            one, own = who[:, c], self.values[who[:, c]]
            scores[0, c] = np.einsum("gt,gt->g", self.centred[one], moved) / self.norms[one]
            scores[1, c] = -((own - seen) ** 2).sum(axis=1)
            scores[2, c] = (self.peaks[one] & seen_peaks).sum(axis=1)
            scores[3, c] = ((own >= least) & (own <= most)).all(axis=1)
        coins = random.integers(0, 2, (4, count))
        named = np.where(
            scores[:, 0] == scores[:, 1], coins, (scores[:, 1] > scores[:, 0]).astype(np.int64)
        )
        return (named == truth).sum(axis=1)


TASKS = {"kernel": kernel, "plain": plain}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure how many times as many games a second the kernel plays, by size."""
    played = settings.sized(READINGS, QUICK_READINGS, 48_000)
    rows = []
    for size in settings.sized(SIZES, QUICK_SIZES, (48,)):
        games = {KERNEL: max(1000, played // size), PLAIN: max(200, played // size // 10)}
        settings.log(f"{NAME}: {size:,} readings, {games[KERNEL]:,} games")
        rows.append(_row(size, games, settings))
    return rows


def _row(size: int, games: dict[str, int], settings: Settings) -> Row:
    works = [_work(KERNEL, "kernel", size, games), _work(PLAIN, "plain", size, games)]
    rounds = measure_together(works, repeats=min(settings.repeats, 3))
    if rounds.failed:
        raise AssertionError(f"A measurement failed: {rounds.failed}")
    found = rounds.found
    _check_alike(found, games)
    for name, measured in found.items():
        cpu = statistics.median(one.cpu for one in measured)
        wall = statistics.median(one.seconds for one in measured)
        settings.log(
            f"{NAME}: {name} plays {games[name] / cpu:,.0f} games a CPU second, "
            f"{games[name] / wall:,.0f} a second"
        )
    times = ratio(found[PLAIN], found[KERNEL], "seconds")
    share = games[KERNEL] / games[PLAIN]
    scaled = type(times)(times.value * share, times.low * share, times.high * share)
    shape = f"{size:,} readings, groups of {GROUP}"
    return Topic(NAME, shape, KERNEL, PLAIN, "games a second").beats(
        scaled,
        at_least=None if settings.quick else LEAST_TIMES,
        raw=raw(found, "seconds", KERNEL, PLAIN),
    )


def _check_alike(found: dict[str, list[Measurement]], games: dict[str, int]) -> None:
    """Refuse shares of games won that differ by more than six standard deviations."""
    limit = 6 * (0.25 / games[KERNEL] + 0.25 / games[PLAIN]) ** 0.5
    one, other = found[KERNEL][0].answer, found[PLAIN][0].answer
    if any(abs(a - b) > limit for a, b in zip(one, other, strict=True)):
        raise AssertionError(f"The two ways win different shares: {one} and {other}")


def _work(name: str, job: str, size: int, games: dict[str, int]) -> Work:
    return task(name, __file__, job, {"size": size, "games": games[name]})


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure membership games against NumPy.")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round each")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    settings = Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))
    show(run(settings))


if __name__ == "__main__" and not serve(TASKS):
    main()
