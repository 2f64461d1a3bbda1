"""The leakage-optimal quantizer of many distinct values, against one sort of them.

Both are given the same values in the same shuffled order, so the quantizer sorts them too. The
kernels are compiled before the timing, on other values.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from measure import Measurement

NAME = "optimal quantizer"
VALUES, QUICK_VALUES = 10**7, 10**6
MOST_TIMES = 20
LEAKAGE, MAXIMIN = "largest smallest cell", "fewest cells"
SORT = "one sort"
CASES = {
    "uniform, 50 cells": ("uniform", "0.01"),
    "uniform, 5,000 cells": ("uniform", "0.0001"),
    "normal, about 50 cells": ("normal", "0.1"),
}


# --- jobs in a child process ------------------------------------------------------------------


def _values(law: str, size: int) -> Any:  # noqa: ANN401 - a NumPy array, imported on use
    """Return distinct doubles in random order."""
    import numpy as np

    random = np.random.default_rng(2019)
    drawn = random.random(size + size // 100)
    if law == "normal":
        drawn = random.normal(size=drawn.size)
    return random.permutation(np.unique(drawn))[:size]


def sort(law: str, size: int) -> Job:
    """Sort the values once."""
    import numpy as np

    values = _values(law, size)
    return Job(lambda: np.sort(values), lambda ordered: int(ordered.size))


def quantize(law: str, size: int, error: str, objective: str) -> Job:
    """Find the best cells within an error."""
    import numpy as np

    from hartley.policies.optimal import optimal_quantizer

    values = _values(law, size)
    optimal_quantizer(None, np.linspace(0, 1, 100), "0.1", objective)

    def describe(found: Any) -> int:  # noqa: ANN401 - a quantizer, imported on use
        """Count the values again, in cells that must not be wider than was asked for."""
        edges = [float(edge) for edge in found.edges[1:-1]]
        sizes = np.bincount(np.searchsorted(edges, values, side="right"), minlength=found.levels)
        assert found.error <= float(error) * (1 + 1e-15)
        if objective == "leakage":
            assert sizes.min() == found.smallest_share * size
        return int(sizes.sum())

    return Job(lambda: optimal_quantizer(None, values, error, objective), describe)


TASKS = {"sort": sort, "quantize": quantize}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure both objectives against sorting, law by law."""
    size = settings.sized(VALUES, QUICK_VALUES, 20_000)
    rows: list[Row] = []
    for case, (law, error) in CASES.items():
        settings.log(f"{NAME}: {size:,} values, {case}")
        works = [_work(SORT, "sort", law=law, size=size)]
        for name, objective in ((LEAKAGE, "leakage"), (MAXIMIN, "maximin")):
            works.append(
                _work(name, "quantize", law=law, size=size, error=error, objective=objective)
            )
        rounds = measure_together(works, repeats=min(settings.repeats, 3))
        if rounds.failed:
            raise AssertionError(f"A measurement failed: {rounds.failed}")
        _check(rounds.found, size)
        rows += [
            Topic(NAME, f"{size:,} values, {case}", name, SORT).costs(
                ratio(rounds.found[name], rounds.found[SORT], "seconds"),
                at_most=MOST_TIMES if name == LEAKAGE and not settings.quick else None,
                raw=raw(rounds.found, "seconds", name, SORT),
            )
            for name in (LEAKAGE, MAXIMIN)
        ]
    return rows


def _work(name: str, task_name: str, **options: int | str) -> Work:
    return task(name, __file__, task_name, options)


def _check(found: Mapping[str, list[Measurement]], size: int) -> None:
    """Refuse to compare unless every value was placed."""
    answers = {name: [one.answer for one in measured] for name, measured in found.items()}
    if any(answer != size for several in answers.values() for answer in several):
        raise AssertionError(f"Values were lost: {answers}")


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure the optimal quantizer against a sort.")
    parser.add_argument("--quick", action="store_true", help="a million values, one round each")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))))


if __name__ == "__main__" and not serve(TASKS):
    main()
