"""Measure anonymity beside pycanon: k, l, t and delta of a million records, and where it is wrong.

pycanon runs in its own environment and is stopped after five minutes. Before that, small tables
show where both agree, and where pycanon is wrong: beside a count in plain Python.
"""

from __future__ import annotations

import math
import signal
import sys
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from environments import PeerMissing, peer_python
from measure import Job, Work, WorkError, measure, serve, task
from results import Row, Settings
from tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from measure import Measurement

NAME = "anonymity beside peers"
ROWS, QUICK_ROWS = 10**6, 20_000
LIMIT, QUICK_LIMIT = 300, 60
"""Seconds after which the peer is stopped."""
LEAST_TIMES = 300
KEYS, VALUE = ("a", "b", "c", "d"), "s"
WIDTHS = {"a": 100, "b": 50, "c": 10, "d": 5, "s": 20}
PRODUCT, PEER = "anonymity_report", "pycanon"
MEASURES = ("k", "l", "t", "delta")


def table_path(rows: int) -> Path:
    """Return where the columns of a table are kept."""
    return FOLDER / f"anonymity-{rows}.npz"


# --- small tables -----------------------------------------------------------------------------

AGREED = {"age": [1] * 6 + [2] * 9, "s": [1, 2, 2, 2, 2, 2] + [1, 1, 2] * 3}
CASES: dict[str, tuple[dict[str, list[Any]], list[int] | None]] = {
    "where both agree": (AGREED, None),
    "rows with another index": (AGREED, list(range(len(AGREED["s"])))[::-1]),
    "a key that is missing": ({"age": [1, 1, 1, None, 2, 2, 2], "s": [1, 2, 2, 1, 1, 1, 2]}, None),
    "a value that a class lacks": ({"age": [1, 1, 1, 2, 2, 2], "s": [1, 2, 2, 1, 1, 1]}, None),
}
"""Columns, and the index of the data frame if it is not the usual one."""


def counted(columns: dict[str, list[Any]]) -> list[float]:
    """Return k, l, t (ordered) and delta (in nats) as the definitions say."""
    classes = defaultdict(list)
    for key, value in zip(columns["age"], columns["s"], strict=True):
        classes[key].append(value)
    values, whole = sorted(set(columns["s"])), Counter(columns["s"])
    rows = len(columns["s"])

    def moved(group: list[Any]) -> float:
        gap = [group.count(v) / len(group) - whole[v] / rows for v in values]
        return sum(abs(sum(gap[: i + 1])) for i in range(len(gap))) / (len(gap) - 1)

    def told(group: list[Any]) -> float:
        ratios = [group.count(v) / len(group) / (whole[v] / rows) for v in values]
        return math.inf if 0 in ratios else max(abs(math.log(ratio)) for ratio in ratios)

    groups = list(classes.values())
    return [
        float(min(map(len, groups))),
        float(min(len(set(group)) for group in groups)),
        max(map(moved, groups)),
        max(map(told, groups)),
    ]


# --- jobs in a child process ------------------------------------------------------------------


def prepare(rows: int) -> Job:
    """Write the columns of a table."""

    def run() -> None:
        import numpy as np

        FOLDER.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(1928)
        columns = {name: rng.integers(0, width, rows) for name, width in WIDTHS.items()}
        np.savez(table_path(rows), **columns)

    return Job(run)


def product(rows: int) -> Job:
    """Report on a data frame with everything that a report holds."""
    import numpy as np
    import pandas as pd

    from hartley.studies.look.anonymity import anonymity

    frame = pd.DataFrame(dict(np.load(table_path(rows))))
    anonymity(frame.head(400_000), keys=KEYS, confidential=VALUE)
    return Job(lambda: anonymity(frame, keys=KEYS, confidential=VALUE, base=math.e), _numbers)


def _numbers(report: Any) -> list[Any]:  # noqa: ANN401 - a report, imported on use
    found = report["s"]
    delta = found.delta if math.isfinite(found.delta) else "infinite"
    return [float(report.k), float(found.distinct), float(found.ordered_closeness), delta]


def peer(rows: int, limit: int) -> Job:
    """Find the same with pycanon, as far as it comes within the limit."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(dict(np.load(table_path(rows))))
    return Job(lambda: _until(limit, frame, KEYS))


def _until(limit: int, frame: Any, keys: Any) -> list[float]:  # noqa: ANN401 - a pandas frame
    """Ask for one measure after the other until time is up, and return what came of it."""
    from pycanon import anonymity

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutError

    found: list[float] = []
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        for name in ("k_anonymity", "l_diversity", "t_closeness", "delta_disclosure"):
            hidden = () if name == "k_anonymity" else ([VALUE],)
            found.append(float(getattr(anonymity, name)(frame, list(keys), *hidden)))
    except TimeoutError:
        pass
    finally:
        signal.alarm(0)
    return found


def small(case: str, which: str) -> Job:
    """Measure a small table, by the product or by the peer."""
    import pandas as pd

    columns, index = CASES[case]
    frame = pd.DataFrame(columns, index=index)
    if which == PEER:
        return Job(lambda: _until(QUICK_LIMIT, frame, ["age"]))
    from hartley.studies.look.anonymity import anonymity

    return Job(lambda: anonymity(frame, keys="age", confidential=VALUE, base=math.e), _numbers)


TASKS: Mapping[str, Callable[..., Job]] = {
    "prepare": prepare,
    "product": product,
    "peer": peer,
    "small": small,
}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Compare small tables, then the time of a large one."""
    try:
        python = peer_python(PEER, allowed=settings.peers)
    except PeerMissing as reason:
        return [Row(NAME, "-", PRODUCT, PEER, "wall time", str(reason))]
    rows = [_compared(name, python) for name in CASES]
    size, limit = settings.sized((ROWS, LIMIT), (QUICK_ROWS, QUICK_LIMIT), (1000, QUICK_LIMIT))
    settings.log(f"{NAME}: {size:,} rows, for up to {limit} seconds")
    if not table_path(size).exists():
        measure(_work("writing the table", "prepare", rows=size))
    ours = [measure(_work(PRODUCT, "product", rows=size)) for _ in range(min(settings.repeats, 3))]
    theirs = measure(_work(PEER, "peer", python=python, rows=size, limit=limit))
    return [*rows, _faster(size, ours, theirs, quick=settings.quick)]


def _compared(name: str, python: str) -> Row:
    """Return the row that says who counts a small table right."""
    right = counted(CASES[name][0])
    expected = [number if math.isfinite(number) else "infinite" for number in right]
    ours = measure(_work(PRODUCT, "small", case=name, which=PRODUCT)).answer
    if not _same(ours, expected):
        raise AssertionError(f"The product found {ours} and not {expected}: {name}")
    try:
        theirs = measure(_work(PEER, "small", python=python, case=name, which=PEER)).answer
    except WorkError as error:
        result = str(error)
    else:
        wrong = [
            f"{what} = {_short(value)} instead of {_short(right)}"
            for what, value, right in zip(MEASURES, theirs, expected, strict=False)
            if not _same([value], [right])
        ]
        result = f"{PEER} finds {', '.join(wrong)}" if wrong else "the same k, l, t and delta"
    return Row(NAME, name, PRODUCT, PEER, "what is found", result)


def _short(number: float | str) -> str:
    return number if isinstance(number, str) else f"{number:.4g}"


def _same(found: list[Any], expected: list[Any]) -> bool:
    return all(
        a == b if "infinite" in (a, b) else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
        for a, b in zip(found, expected, strict=False)
    )


def _faster(size: int, ours: list[Measurement], theirs: Measurement, *, quick: bool) -> Row:
    """Return the row of the time; a peer that was stopped gives a bound."""
    done = len(theirs.answer)
    if not _same(theirs.answer[:3], ours[0].answer[:3]):
        raise AssertionError(f"{PEER} found {theirs.answer} and not {ours[0].answer}")
    times = [theirs.seconds / one.seconds for one in ours]
    middle = sorted(times)[len(times) // 2]
    stopped = f", stopped with {done} of {len(MEASURES)} measures found" * (done < len(MEASURES))
    return Row(
        NAME,
        f"{size:,} rows",
        PRODUCT,
        f"{PEER}{stopped}",
        "wall time",
        f"{'>' * (done < len(MEASURES))}{middle:,.0f} x as fast",
        f"{min(times):,.0f} to {max(times):,.0f}",
        "-" if quick else f"at least {LEAST_TIMES} x as fast",
        None if quick else middle >= LEAST_TIMES,
        middle,
        {PRODUCT: [one.seconds for one in ours], PEER: [theirs.seconds]},
    )


def _work(name: str, task_name: str, python: str = sys.executable, **options: object) -> Work:
    return task(name, __file__, task_name, options, python=python)


if __name__ == "__main__" and not serve(TASKS):
    from results import show

    show(run(Settings(repeats=3, quick="--quick" in sys.argv)))
