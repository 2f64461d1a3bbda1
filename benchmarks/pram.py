"""Draw a perturbed column against NumPy, and find the best matrix against libqif's programme.

The draw: 10^6 rows of 10 and of 100 values, codes to drawn codes, against two draws in plain NumPy
that are given their tables beforehand: one uniform number a row, then a search in the cumulative
probabilities of all rows of the matrix laid end to end; and alias tables, which are NumPy's best.
The product's random words are a cipher's and its probabilities whole multiples of 2^-62. The whole
table: read, code, draw and write Parquet, against reading and writing the same column with Arrow.

The best matrix: least chance to guess the value by who knows its frequencies (posterior Bayes
vulnerability) within a mean distortion |x - y|, 100 values; qif's ``min_vuln_given_max_loss``
solves the same programme, by the solver that it chooses. Both optima must agree.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from environments import PeerMissing, peer_python
from measure import Job, Work, WorkError, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw
from tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from measure import Measurement

NAME = "PRAM"
ROWS, QUICK_ROWS = 10**6, 10**5
VALUES = (10, 100)
CATEGORIES, QUICK_CATEGORIES = 100, 40
MOST_TIMES = 3
"""Times a plain NumPy draw."""
TABLE_ROWS, QUICK_TABLE_ROWS = 10**7, 10**5
DRAW, SEARCH, ALIAS = "draw", "NumPy search", "NumPy alias"
PERTURB, COPY = "perturb", "Arrow read and write"
LEAST, PEER, PLAIN = "least_leaking", "qif", "plain HiGHS"


# --- draws in a child process -----------------------------------------------------------------


def _column(values: int, rows: int) -> tuple[Any, Any]:
    import numpy as np

    generator = np.random.default_rng(1928)
    matrix = generator.dirichlet(np.ones(values), values)
    return matrix, generator.integers(0, values, rows).astype(np.int32)


def _described(drawn: Any) -> float:  # noqa: ANN401 - a NumPy array, imported on use
    return float(drawn.mean())


def draw(values: int, rows: int) -> Job:
    """Draw by the product."""
    from hartley.policies.random.pram import Pram

    matrix, codes = _column(values, rows)
    rule = Pram(matrix)
    rule.draw(codes[:1000], seed=1)
    return Job(lambda: rule.draw(codes, seed=1), _described)


def search(values: int, rows: int) -> Job:
    """Draw in NumPy by one search in all cumulative probabilities."""
    import numpy as np

    matrix, codes = _column(values, rows)
    ends = np.cumsum(matrix, axis=1)
    ends[:, -1] = 1.0
    flat = (ends + np.arange(values)[:, None]).ravel()
    generator = np.random.default_rng(1)

    def run() -> Any:  # noqa: ANN401 - a NumPy array, imported on use
        places = np.searchsorted(flat, codes + generator.random(rows), side="right")
        return places - codes * values

    return Job(run, _described)


def alias(values: int, rows: int) -> Job:
    """Draw in NumPy from alias tables."""
    import numpy as np

    from hartley.policies.random.pram import Pram

    matrix, codes = _column(values, rows)
    whole, aliases = Pram(matrix).tables
    cells = aliases.shape[1]
    thresholds, others = (whole / (2**62 // cells)).ravel(), aliases.ravel()
    generator, wide = np.random.default_rng(1), codes.astype(np.int64) * cells

    def run() -> Any:  # noqa: ANN401 - a NumPy array, imported on use
        scaled = generator.random(rows) * cells
        cell = scaled.astype(np.int64)
        place = wide + cell
        return np.where(scaled - cell < thresholds[place], cell, others[place])

    return Job(run, _described)


# --- whole tables -----------------------------------------------------------------------------


def table_path(rows: int) -> Path:
    return FOLDER / f"pram-{rows}.parquet"


def prepare(rows: int) -> Job:
    """Write a column of ten categories."""

    def run() -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        FOLDER.mkdir(parents=True, exist_ok=True)
        names = pa.array([f"category {place}" for place in range(10)])
        generator = np.random.default_rng(1928)
        with pq.ParquetWriter(table_path(rows), pa.schema({"x": pa.string()})) as writer:
            for start in range(0, rows, 10**6):
                codes = pa.array(generator.integers(0, 10, min(10**6, rows - start)))
                writer.write_table(pa.table({"x": names.take(codes)}))

    return Job(run)


def perturb(rows: int) -> Job:
    """Perturb the column of a table, streamed from Parquet to Parquet."""
    from hartley.policies.random.pram import Pram
    from hartley.studies.release.pram import pram as run_perturb

    values = [f"category {place}" for place in range(10)]
    rule = Pram.retaining("0.8", values, column="x")
    out = FOLDER / "pram-out.parquet"
    run_perturb({"x": values}, rule, out, seed=1, few=None)
    return Job(
        lambda: run_perturb(table_path(rows), rule, out, seed=1, few=None),
        lambda report: report.columns[0].changed / rows,
    )


def copy(rows: int) -> Job:
    """Read the table batch by batch and write it again."""
    import pyarrow.parquet as pq

    def run() -> float:
        file = pq.ParquetFile(table_path(rows))
        with pq.ParquetWriter(FOLDER / "pram-copy.parquet", file.schema_arrow) as writer:
            for batch in file.iter_batches(10**6):
                writer.write_batch(batch)
        return 0.0

    return Job(run)


# --- the best matrix --------------------------------------------------------------------------


def _problem(values: int) -> tuple[list[float], float]:
    """Return frequencies and a limit that need no package."""
    weights = [1 + (7 * place * place + 3 * place) % 11 for place in range(values)]
    total = sum(weights)
    return [weight / total for weight in weights], 0.05 * values


def least(values: int) -> Job:
    """Solve by the product."""
    from hartley.policies.random.estimates import least_leaking

    prior, limit = _problem(values)
    least_leaking(prior[:5], "absolute", 1.0, knows="frequencies")
    return Job(
        lambda: least_leaking(prior, "absolute", limit, knows="frequencies"),
        lambda found: found.gain,
    )


def peer(values: int) -> Job:
    """Solve by qif, in its own environment."""
    import numpy as np
    import qif  # type: ignore[import-not-found]  # in the peer's environment

    prior, limit = _problem(values)
    pi = np.array(prior)
    find = qif.mechanism.bayes_vuln.min_vuln_given_max_loss
    return Job(
        lambda: np.asarray(find(pi, values, limit, lambda x, y: abs(x - y))),
        lambda rule: float((pi[:, None] * rule).max(axis=0).sum()),
    )


def plain(values: int) -> Job:
    """Solve the whole programme by HiGHS, all pairs at once."""
    import numpy as np

    from hartley.policies.random.estimates import solve_live

    prior, limit = _problem(values)
    pi, places = np.array(prior), np.arange(values)
    costs = pi[:, None] * np.abs(places[:, None] - places)
    every = np.ones((values, values), bool)
    solve_live(pi[:5], costs[:5, :5], 1.0, every[:5, :5])
    return Job(lambda: solve_live(pi, costs, limit, every), lambda found: found[1])


TASKS: dict[str, Callable[..., Job]] = {
    "draw": draw,
    "search": search,
    "alias": alias,
    "prepare": prepare,
    "perturb": perturb,
    "copy": copy,
    "least": least,
    "peer": peer,
    "plain": plain,
}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure draws, a whole table and the best matrix."""
    rows = []
    for values in VALUES:
        rows += _draws(values, settings)
    return [*rows, *_table(settings), *_best(settings)]


def _draws(values: int, settings: Settings) -> list[Row]:
    size = settings.sized(ROWS, QUICK_ROWS, 2000)
    settings.log(f"{NAME}: {size:,} draws from {values} values")
    options = {"values": values, "rows": size, "calls": 5}
    names = {DRAW: "draw", SEARCH: "search", ALIAS: "alias"}
    works = [task(name, __file__, job, options) for name, job in names.items()]
    found = _measured(works, settings.repeats)
    means = {name: measured[0].answer for name, measured in found.items()}
    spread = values / math.sqrt(size)
    if max(means.values()) - min(means.values()) > 6 * spread:
        raise AssertionError(f"The draws differ: {means}")
    label, most = f"{size:,} rows, {values} values", None if settings.quick else MOST_TIMES
    return [
        Topic(NAME, label, DRAW, other).costs(
            ratio(found[DRAW], found[other], "seconds"),
            at_most=most,
            raw=raw(found, "seconds", DRAW, other),
        )
        for other in (SEARCH, ALIAS)
    ]


def _table(settings: Settings) -> list[Row]:
    size = settings.sized(TABLE_ROWS, QUICK_TABLE_ROWS, 2000)
    settings.log(f"{NAME}: a table of {size:,} rows")
    if not table_path(size).exists():
        measure(task("writing the table", __file__, "prepare", {"rows": size}))
    works = [
        task(PERTURB, __file__, "perturb", {"rows": size}),
        task(COPY, __file__, "copy", {"rows": size}),
    ]
    found = _measured(works, min(settings.repeats, 3))
    topic = Topic(NAME, f"{size:,} rows, Parquet", PERTURB, COPY)
    return [
        topic.costs(
            ratio(found[PERTURB], found[COPY], "seconds"),
            raw=raw(found, "seconds", PERTURB, COPY),
        ),
        Topic(NAME, topic.size, PERTURB, "-", "peak memory").weighs(found[PERTURB]),
    ]


def _best(settings: Settings) -> list[Row]:
    values = settings.sized(CATEGORIES, QUICK_CATEGORIES, 6)
    settings.log(f"{NAME}: the best matrix over {values} values")
    label = f"best matrix, {values} values"
    works = [task(name, __file__, job, {"values": values}) for name, job in _solvers().items()]
    lost = None
    try:
        python = peer_python(PEER, allowed=settings.peers)
        works.append(task(PEER, __file__, "peer", {"values": values}, python=python))
    except PeerMissing as missing:
        lost = str(missing)
    found = _measured(works, min(settings.repeats, 3))
    optima = [one.answer for measured in found.values() for one in measured]
    if max(optima) - min(optima) > 1e-8:
        raise AssertionError(f"The optima differ: {optima}")
    rows = []
    for other in (PEER, PLAIN):
        topic = Topic(NAME, label, LEAST, other)
        if other not in found:
            rows.append(topic.missing(lost or "not run"))
            continue
        rows.append(
            topic.costs(
                ratio(found[LEAST], found[other], "seconds"),
                at_most=None if settings.quick or other == PLAIN else 1,
                raw=raw(found, "seconds", LEAST, other),
            )
        )
    return rows


def _solvers() -> Mapping[str, str]:
    return {LEAST: "least", PLAIN: "plain"}


def _measured(works: Sequence[Work], repeats: int) -> dict[str, list[Measurement]]:
    rounds = measure_together(works, repeats=repeats)
    if rounds.failed:
        raise WorkError(f"a measurement failed: {rounds.failed}")
    return rounds.found


if __name__ == "__main__" and not serve(TASKS):
    from results import show

    show(run(Settings(repeats=3)))
