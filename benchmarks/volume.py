"""Certified areas between the ellipses of Farokhi 2019, Example IV.1, to smaller and smaller gaps.

The cells of x1**2 + 2*x2**2 between whole numbers cut the square from -2 to 2 into twelve parts.
Every area comes with bounds, and how far they are apart is part of the answer: it is checked that
they are as close as was asked for and hold the area that an integral gives. The time is compared
with that of the next larger gap, which is ten times as wide: growing no faster than 1/gap means
taking at most ten times as long.
"""

from __future__ import annotations

import argparse
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measure import Measurement

NAME = "certified volume"
GAPS = (1e-3, 1e-4, 1e-5, 1e-6)
QUICK_GAPS = (1e-3, 1e-4)
CELLS = 12
STEP = 10
"""By how much every gap is smaller than the one before, so how much longer it may take."""
MONTE_CARLO = "Monte-Carlo, 10 million points"


# --- jobs in a child process --------------------------------------------------------------------


def volumes(gap: float) -> Job:
    """Bound all twelve areas."""
    from hartley.boxes.box import Box
    from hartley.boxes.cut_box import CutBox

    square = Box.cube(-2, 2, size=2)
    CutBox(square, "x1**2 + 2*x2**2", range(CELLS + 1), gap=0.1).volumes  # noqa: B018 - warms up

    def describe(found: Sequence[Any]) -> dict[str, float]:
        """Say how far apart the bounds are, after checking that they hold the area."""
        for k, part in enumerate(found):
            truth = below(k + 1) - below(k)
            assert float(part.low) <= truth + 1e-9
            assert truth - 1e-9 <= float(part.high)
        return {"gap": max(float((part.high - part.low) / part.low) for part in found)}

    return Job(
        lambda: CutBox(square, "x1**2 + 2*x2**2", range(CELLS + 1), gap=gap).volumes, describe
    )


def below(level: float) -> float:
    """Return the area of the square in which the query is at most a level, by its antiderivative.

    The integral over x1 of the part of the fibre, whose half length is sqrt((level - x1^2) / 2)
    but at most 2.
    """

    def cut_off(x: float) -> float:  # of sqrt(level - x^2)
        x = min(x, math.sqrt(level))
        root = math.sqrt(max(level - x * x, 0.0))
        return (x * root + level * math.asin(min(x / math.sqrt(level), 1.0))) / 2

    if level <= 0:
        return 0.0
    whole = math.sqrt(max(level - 8, 0.0))  # up to here the fibre is the whole side
    return 4 * (2 * whole + (cut_off(2) - cut_off(whole)) / math.sqrt(2))


def sample() -> Job:
    """Estimate the same areas from points drawn at random, without any bound."""
    import numpy as np

    random = np.random.default_rng(2019)

    def run() -> list[float]:
        drawn = random.uniform(-2, 2, size=(2, 10**7))
        found, _ = np.histogram(drawn[0] ** 2 + 2 * drawn[1] ** 2, bins=np.arange(CELLS + 1))
        return (found * 16 / 10**7).tolist()

    def describe(found: list[float]) -> dict[str, float]:
        truths = [below(k + 1) - below(k) for k in range(CELLS)]
        return {"gap": max(abs(f / t - 1) for f, t in zip(found, truths, strict=True))}

    return Job(run, describe)


TASKS = {"volumes": volumes, "sample": sample}


# --- the benchmark ------------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure all gaps in one run, and each against the one before."""
    gaps = settings.sized(GAPS, QUICK_GAPS, (1e-1, 1e-2))
    settings.log(f"{NAME}: {CELLS} cells, gaps {', '.join(f'{gap:g}' for gap in gaps)}")
    names = {gap: f"to a relative gap of {gap:g}" for gap in gaps}
    works = [_work(names[gap], "volumes", gap=gap) for gap in gaps]
    rounds = measure_together([*works, _work(MONTE_CARLO, "sample")], repeats=settings.repeats)
    if rounds.failed:
        raise AssertionError(f"A measurement failed: {rounds.failed}")
    rows = []
    for gap in gaps:
        reached = [one.answer["gap"] for one in rounds.found[names[gap]]]
        rows.append(_gap_row(names[gap], gap, reached))
    for wide, narrow in pairwise(gaps):
        times = ratio(rounds.found[names[narrow]], rounds.found[names[wide]], "seconds")
        topic = Topic(NAME, f"{CELLS} cells", names[narrow], names[wide])
        seconds = raw(rounds.found, "seconds", names[narrow], names[wide])
        rows.append(topic.costs(times, at_most=STEP, raw=seconds))
    rows.append(_whole_row(rounds.found, names[gaps[-1]]))
    return rows


def _gap_row(name: str, gap: float, reached: Sequence[float]) -> Row:
    """Return the row that says how far apart the bounds are."""
    largest = max(reached)
    return Row(
        benchmark=NAME,
        size=f"{CELLS} cells",
        product=name,
        against="-",
        quantity="largest gap",
        result=f"{largest:.2e}",
        target=f"at most {gap:g}",
        met=largest <= gap,
        value=largest,
    )


def _whole_row(found: dict[str, list[Measurement]], name: str) -> Row:
    """Return the row against an estimate without a bound, with its error."""
    error = max(one.answer["gap"] for one in found[MONTE_CARLO])
    topic = Topic(NAME, f"{CELLS} cells", name, f"{MONTE_CARLO}, off by {error:.0e}")
    times = ratio(found[name], found[MONTE_CARLO], "seconds")
    return topic.costs(times, raw=raw(found, "seconds", name, MONTE_CARLO))


def _work(name: str, task_name: str, **options: float) -> Work:
    return task(name, __file__, task_name, options)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure certified volumes against their gap.")
    parser.add_argument("--quick", action="store_true", help="wide gaps, one round each")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 5))))


if __name__ == "__main__" and not serve(TASKS):
    main()
