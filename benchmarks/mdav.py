"""Exact MDAV against the same method by looking at every record, both compiled, and its growth.

Four columns of normal numbers, k = 5. The kernels are compiled before the timing, on a few rows;
both must find the very same groups, which a digest of the labels tells.
"""

from __future__ import annotations

import argparse
import math
import statistics
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from measure import Measurement

NAME = "MDAV"
ROWS, QUICK_ROWS = 100_000, 20_000
GROWTH, QUICK_GROWTH = (10_000, 100_000, 1_000_000), (10_000, 100_000)
COLUMNS, K = 4, 5
LEAST_TIMES, MOST_EXPONENT = 30, 1.5
TREE, PLAIN = "tree with removals", "compiled brute force"


# --- jobs in a child process ------------------------------------------------------------------


def group(kernel: str, rows: int) -> Job:
    """Form the groups of normal numbers by one of the kernels."""
    import hashlib

    import numpy as np

    from hartley.kernels import neighbours as mdav

    find = getattr(mdav, kernel)
    numbers = np.random.default_rng(1).standard_normal((rows, COLUMNS)).round(6)
    points = mdav.integer_points(numbers)
    find(points[:1000].copy(), K)

    def describe(labels: Any) -> list[Any]:  # noqa: ANN401 - a NumPy array, imported on use
        sizes = np.bincount(labels)
        assert K <= sizes.min() <= sizes.max() < 2 * K
        sums = [np.bincount(labels, numbers[:, column]) for column in range(COLUMNS)]
        errors = numbers - (np.stack(sums) / sizes).T[labels]
        loss = (errors**2).sum() / ((numbers - numbers.mean(axis=0)) ** 2).sum()
        return [hashlib.sha256(labels.tobytes()).hexdigest(), float(loss)]

    return Job(lambda: find(points, K), describe)


TASKS = {"group": group}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure the ratio at one size, and the growth over several."""
    repeats = min(settings.repeats, 3)
    rows = settings.sized(ROWS, QUICK_ROWS, 500)
    settings.log(f"{NAME}: {rows:,} rows, both ways")
    both = _measured([_work(TREE, "tree_mdav", rows), _work(PLAIN, "plain_mdav", rows)], repeats)
    answers = {tuple(one.answer) for measured in both.values() for one in measured}
    if len(answers) != 1:
        raise AssertionError("The two ways found different groups")
    sizes = settings.sized(GROWTH, QUICK_GROWTH, (500, 1000))
    settings.log(f"{NAME}: {', '.join(f'{size:,}' for size in sizes)} rows, how it grows")
    grown = _measured([_work(f"{size:,}", "tree_mdav", size) for size in sizes], repeats)
    for name, measured in grown.items():
        settings.log(f"{NAME}: {name} rows lose {measured[0].answer[1]:.5f} of the variation")
    shape = f"{COLUMNS} columns, k = {K}"
    return [
        Topic(NAME, f"{rows:,} rows, {shape}", TREE, PLAIN, "CPU time").beats(
            ratio(both[PLAIN], both[TREE], "cpu"),
            at_least=None if settings.quick else LEAST_TIMES,
            raw=raw(both, "cpu", TREE, PLAIN),
        ),
        _growth(grown, sizes, shape, quick=settings.quick),
    ]


def _growth(
    grown: Mapping[str, list[Measurement]], sizes: tuple[int, ...], shape: str, *, quick: bool
) -> Row:
    """Return the row of the exponent between the smallest and the largest size."""
    names = [f"{size:,}" for size in sizes]
    times = [statistics.median(one.cpu for one in grown[name]) for name in names]
    exponent = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
    return Row(
        benchmark=NAME,
        size=f"{names[0]} to {names[-1]} rows, {shape}",
        product=TREE,
        against="-",
        quantity="growth of CPU time",
        result=f"n^{exponent:.2f}",
        target="-" if quick else f"at most n^{MOST_EXPONENT:g}",
        met=None if quick else exponent <= MOST_EXPONENT,
        value=exponent,
        seconds=raw(grown, "cpu", *names),
    )


def _work(name: str, kernel: str, rows: int) -> Work:
    return task(name, __file__, "group", {"kernel": kernel, "rows": rows})


def _measured(works: list[Work], repeats: int) -> dict[str, list[Measurement]]:
    rounds = measure_together(works, repeats=repeats)
    if rounds.failed:
        raise AssertionError(f"A measurement failed: {rounds.failed}")
    return rounds.found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure MDAV against compiled brute force.")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round each")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    settings = Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))
    rows = run(settings)
    show(rows)
    for row in rows:
        print(row.size, {name: [round(one, 3) for one in s] for name, s in row.seconds.items()})


if __name__ == "__main__" and not serve(TASKS):
    main()
