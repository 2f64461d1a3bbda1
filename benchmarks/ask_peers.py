"""The same mean, histogram and median as OpenDP's Context and diffprivlib give them.

Every side has the data in the form that suits it best, and all that can be prepared is, before the
timing begins: the product its coded copy on disk, OpenDP a context over a Parquet file, diffprivlib
NumPy arrays in memory. A peer adds noise and keeps no ledger; the product charges on disk and
answers with an interval that holds the truth. So answers are checked to be about the same, not to
be equal. Each peer runs in its own environment.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ask import FOLDER, QUICK_ROWS, REGIONS, ROWS, forget, fresh_agent, prepared, table_path
from environments import PeerMissing, peer_python
from measure import Job, Work, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from measure import Measurement

NAME = "ask beside peers"
OURS = "hartley"
PEERS = {"opendp": "OpenDP's Context", "diffprivlib": "diffprivlib"}
MEAN, HISTOGRAM, MEDIAN = "mean", "histogram", "median"
STATISTICS = (MEAN, HISTOGRAM, MEDIAN)
LOW, HIGH, POINTS = 120, 220, 1001
SQL = {
    MEAN: "SELECT AVG(height) FROM people",
    HISTOGRAM: "SELECT region, COUNT(*) FROM people GROUP BY region",
    MEDIAN: "SELECT MEDIAN(height) FROM people",
}
FEW = 1000
"""Rows to warm up on."""


def array_path(rows: int, column: str) -> Path:
    """Return where a column is kept as an array."""
    return FOLDER / f"asked-{rows}-{column}.npy"


# --- jobs in a child process ------------------------------------------------------------------


def hartley(statistic: str, rows: int) -> Job:
    """Ask the agent, which was asked something else before."""
    agent = fresh_agent(rows)
    agent.ask(SQL[statistic].replace("FROM people", "FROM people WHERE age >= 90"), bits=4)

    def describe(answer: Any) -> list[float]:  # noqa: ANN401 - an answer, imported on use
        forget(agent)
        return [float(estimate.value) for row in answer.reading.rows for estimate in row]

    return Job(lambda: agent.ask(SQL[statistic], bits=4), describe)


def opendp(statistic: str, rows: int) -> Job:
    """Ask OpenDP's Context, over Polars."""
    import warnings

    import opendp.prelude as dp
    import polars as pl

    warnings.simplefilter("ignore", FutureWarning)
    dp.enable_features("contrib")
    height = pl.col("height").fill_null(170.0).fill_nan(170.0)
    candidates = [LOW + point / 10 for point in range(POINTS)]

    def context(data: Any) -> Any:  # noqa: ANN401 - Polars frames, imported on use
        return dp.Context.compositor(
            data=data,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[
                dp.polars.Margin(max_length=rows),
                dp.polars.Margin(by=["region"], max_length=rows, max_groups=6, invariant="keys"),
            ],
        )

    def ask_in(context: Any) -> Any:  # noqa: ANN401 - likewise
        query = context.query()
        asked = {
            MEAN: lambda: query.select(height.dp.mean((float(LOW), float(HIGH)))),
            HISTOGRAM: lambda: query.group_by("region").agg(dp.len()),
            MEDIAN: lambda: query.select(height.dp.median(candidates)),
        }[statistic]()
        return asked.release().collect()

    # A frame in memory would be copied along with every query, which takes far longer.
    table = pl.scan_parquet(str(table_path(rows)))
    ask_in(context(table.head(FEW).collect().lazy()))
    whole = context(table)

    def describe(found: Any) -> list[float]:  # noqa: ANN401 - likewise
        if statistic != HISTOGRAM:
            return [float(found.item())]
        counts = dict(found.iter_rows())
        return [float(counts[region]) for region in REGIONS]

    return Job(lambda: ask_in(whole), describe)


def diffprivlib(statistic: str, rows: int) -> Job:
    """Call the functions of diffprivlib."""
    import numpy as np
    from diffprivlib import tools

    column = "region" if statistic == HISTOGRAM else "height"
    whole = np.load(array_path(rows, column))
    call: Callable[[Any], Any] = {
        MEAN: lambda values: tools.mean(values, epsilon=1.0, bounds=(LOW, HIGH)),
        HISTOGRAM: lambda values: tools.histogram(values, epsilon=1.0, bins=6, range=(0, 6))[0],
        # With a larger budget and ten thousand rows a value, all its chances become zero.
        MEDIAN: lambda values: tools.median(values, epsilon=0.001, bounds=(LOW, HIGH)),
    }[statistic]
    call(whole[:FEW])
    return Job(lambda: call(whole), lambda found: [float(one) for one in np.atleast_1d(found)])


def prepare(rows: int) -> Job:
    """Write the columns as arrays."""

    def run() -> None:
        import duckdb
        import numpy as np

        listed = ", ".join(f"'{region}'" for region in REGIONS)
        wanted = f"height, list_position([{listed}], region) - 1 AS region"
        found = duckdb.execute(f"SELECT {wanted} FROM '{table_path(rows)}'").fetchnumpy()
        for column in ("height", "region"):
            np.save(array_path(rows, column), np.ascontiguousarray(found[column]))

    return Job(run)


TASKS: Mapping[str, Callable[..., Job]] = {
    OURS: hartley,
    "opendp": opendp,
    "diffprivlib": diffprivlib,
    "prepare": prepare,
}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure every statistic on every side in turns."""
    size = settings.sized(ROWS, QUICK_ROWS, 20_000)
    settings.log(f"{NAME}: {size:,} rows")
    prepared(size)
    if not array_path(size, "region").exists():
        measure(_work("writing arrays", "prepare", rows=size))
    pythons, missing = _pythons(settings)
    rows = []
    for statistic in STATISTICS:
        settings.log(f"{NAME}: {statistic}")
        works = [_work(OURS, OURS, statistic=statistic, rows=size)]
        for peer, python in pythons.items():
            works.append(_work(peer, peer, python, statistic=statistic, rows=size))
        rounds = measure_together(works, repeats=min(settings.repeats, 3))
        if OURS in rounds.failed:
            raise AssertionError(f"A measurement failed: {rounds.failed}")
        _check(statistic, rounds.found)
        label = f"{size:,} rows, {statistic}"
        for peer, name in PEERS.items():
            absent = missing | rounds.failed
            topic = Topic(NAME, label, "ask", name)
            if peer in absent:
                rows.append(topic.missing(absent[peer]))
            else:
                rows += _compare(topic, peer, rounds.found, None if settings.quick else 1)
    return rows


def _pythons(settings: Settings) -> tuple[dict[str, str], dict[str, str]]:
    """Return the interpreters of the peers, and why those that are missing are."""
    found, missing = {}, {}
    for peer in PEERS:
        try:
            found[peer] = peer_python(peer, allowed=settings.peers)
        except PeerMissing as reason:
            missing[peer] = str(reason)
    return found, missing


def _compare(
    topic: Topic, peer: str, found: Mapping[str, list[Measurement]], least: int | None
) -> list[Row]:
    return [
        replace(topic, quantity=quantity).beats(
            ratio(found[peer], found[OURS], field),
            at_least=least,
            raw=raw(found, field, peer, OURS),
        )
        for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu"))
    ]


def _check(statistic: str, found: Mapping[str, list[Measurement]]) -> None:
    """Refuse to compare unless all sides found about the same."""
    near = {MEAN: 0.1, HISTOGRAM: 5000.0, MEDIAN: 7.0}[statistic]
    first = found[OURS][0].answer
    for name, measured in found.items():
        for one in measured:
            far = [abs(a - b) for a, b in zip(one.answer, first, strict=True)]
            if max(far) > near:
                raise AssertionError(f"{name} found another {statistic}: {one.answer}, {first}")


def _work(name: str, task_name: str, python: str | None = None, **options: int | str) -> Work:
    chosen = {} if python is None else {"python": python}
    return task(name, __file__, task_name, options, **chosen)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure the agent beside its peers.")
    parser.add_argument("--quick", action="store_true", help="a million rows, one round each")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))))


if __name__ == "__main__" and not serve(TASKS):
    main()
