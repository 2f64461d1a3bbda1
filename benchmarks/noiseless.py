"""Noiseless privacy of many listed outcomes, against one sort of as many whole numbers.

Three people's numbers and one output a row, on a grid: as whole numbers, and as the same numbers in
tenths, which are doubles.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "noiseless privacy"
ROWS, QUICK_ROWS, WARM_ROWS = 10**7, 10**6, 20_000
VALUES, PEOPLE, WIDTH = 200, 3, 7
MOST_SORTS = 5
SORT, WHOLE, TENTHS = "one sort", "whole numbers", "doubles"


def _listed(rows: int, *, doubles: bool) -> tuple[Any, Any]:
    """Return the data of three people, a row a dataset, and the outputs."""
    import numpy as np

    data = np.random.default_rng(0).integers(0, VALUES, (rows, PEOPLE))
    outputs = data.sum(axis=1) // WIDTH
    return (data / 10, outputs / 10) if doubles else (data, outputs)


# --- jobs in a child process ------------------------------------------------------------------


def sort(rows: int) -> Job:
    """Sort as many whole numbers as there are outcomes."""
    import numpy as np

    keys = np.random.default_rng(0).integers(0, 2**40, rows)
    return Job(lambda: np.sort(keys).size, int)


def privacy(rows: int, *, doubles: bool) -> Job:
    """Count the outputs that one person can produce."""
    from hartley import noiseless_privacy

    data, outputs = _listed(rows, doubles=doubles)
    noiseless_privacy(outputs[:WARM_ROWS], data[:WARM_ROWS])
    return Job(lambda: noiseless_privacy(outputs, data), lambda result: int(result.outputs))


TASKS: Mapping[str, Callable[..., Job]] = {"sort": sort, "privacy": privacy}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure both kinds of numbers against one sort."""
    size = settings.sized(ROWS, QUICK_ROWS, 20_000)
    settings.log(f"{NAME}: {size:,} outcomes")
    works = [
        _work(SORT, "sort", rows=size),
        _work(WHOLE, "privacy", rows=size, doubles=False),
        _work(TENTHS, "privacy", rows=size, doubles=True),
    ]
    rounds = measure_together(works, repeats=min(settings.repeats, 3))
    if rounds.failed:
        raise AssertionError(f"A measurement failed: {rounds.failed}")
    measured = rounds.found
    if {each.answer for name in (WHOLE, TENTHS) for each in measured[name]} != {
        measured[WHOLE][0].answer
    }:
        raise AssertionError("The same outcomes have two privacies")
    rows = []
    for name in (WHOLE, TENTHS):
        for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
            topic = Topic(NAME, f"{size:,} outcomes of {PEOPLE} people", name, SORT, quantity)
            times = ratio(measured[name], measured[SORT], field)
            behind = raw(measured, field, name, SORT)
            aim = None if settings.quick else MOST_SORTS
            rows.append(topic.costs(times, at_most=aim, raw=behind))
    return rows


def _work(name: str, task_name: str, **options: object) -> Work:
    return task(name, __file__, task_name, options)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure noiseless privacy against one sort.")
    parser.add_argument("--quick", action="store_true", help="a million outcomes, one round")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))))


if __name__ == "__main__" and not serve(TASKS):
    main()
