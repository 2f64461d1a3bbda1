"""Measure anonymity of large tables: against reading the same columns, and against plain SQL.

k, l, t (equal and ordered) and delta of four keys of 100, 50, 10 and 5 values and a confidential
column of 20. Every job runs in a fresh child process; the product is warmed up on a smaller table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw
from tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from measure import Measurement

NAME = "anonymity"
KEYS, CONFIDENTIAL = ("a", "b", "c", "d"), "s"
WIDTHS = {"a": 100, "b": 50, "c": 10, "d": 5, "s": 20}
WARM_ROWS = 400_000
"""Large enough to take the way of large tables."""
GROUP = 10**6
"""Rows that are made and written at a time, so that any number fits into memory."""
QUICK_ROWS = 10**6
MOST_TIMES, LEAST_TIMES, LEAST_ROWS = 4, 3, 10**7
"""The targets, and the size from which on they are meant."""
READ, SQL, PRODUCT = "read and sum", "plain SQL", "anonymity"


def table_path(rows: int) -> Path:
    return FOLDER / f"anonymity-{rows}.parquet"


# --- jobs in a child process ------------------------------------------------------------------


def prepare(rows: int) -> Job:
    """Write a table of keys and a confidential value that depends on them a little."""

    def run() -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        FOLDER.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(1928)
        schema = pa.schema([(name, pa.int64()) for name in WIDTHS])
        half = table_path(rows).with_suffix(".part")
        with pq.ParquetWriter(half, schema) as writer:
            for start in range(0, rows, GROUP):
                size = min(GROUP, rows - start)
                columns = {name: rng.integers(0, width, size) for name, width in WIDTHS.items()}
                lean = rng.random(size) < 0.2
                columns["s"] = np.where(lean, columns["a"] % WIDTHS["s"], columns["s"])
                writer.write_table(pa.table(columns))
        half.replace(table_path(rows))

    return Job(run)


def read(path: str) -> Job:
    """Read the columns and add them up."""
    import duckdb

    connection = duckdb.connect()
    sums = ", ".join(f"sum({name})" for name in WIDTHS)
    return Job(
        lambda: connection.execute(f"SELECT {sums} FROM '{path}'").fetchall(),
        lambda rows: [int(value) for value in rows[0]],
    )


def sql(path: str) -> Job:
    """Find the same numbers in plain SQL: cells, then a wide row a class."""
    import duckdb

    connection = duckdb.connect(config={"temp_directory": str(FOLDER / "spill")})
    values = range(WIDTHS["s"])
    keys = ", ".join(KEYS)

    def run() -> list[Any]:
        connection.execute(
            f"CREATE TEMP TABLE cells AS SELECT {keys}, s, count(*) AS n FROM '{path}' "
            f"GROUP BY {keys}, s"
        )
        found = connection.execute("SELECT s, sum(n) FROM cells GROUP BY s ORDER BY s").fetchall()
        rows = sum(int(times) for _, times in found)
        q = [int(times) / rows for _, times in found]
        wide = ", ".join(f"coalesce(sum(n) FILTER (s = {j}), 0) AS n{j}" for j in values)
        shares = ", ".join(f"n{j} / size AS p{j}" for j in values)
        equal = " + ".join(f"abs(p{j} - {q[j]!r})" for j in values)
        ordered = " + ".join(
            f"abs({' + '.join(f'p{i}' for i in range(j + 1))} - {math.fsum(q[: j + 1])!r})"
            for j in values[:-1]
        )
        ratios = ", ".join(f"abs(log2(nullif(p{j}, 0) / {q[j]!r}))" for j in values)
        query = (
            f"WITH classes AS (SELECT sum(n) AS size, count(*) AS l, {wide} FROM cells "
            f"GROUP BY {keys}), parts AS (SELECT size, l, {shares} FROM classes) "
            f"SELECT min(size), min(l), max({equal}) / 2, max({ordered}) / {len(q) - 1}, "
            f"max(greatest({ratios})) FROM parts"
        )
        return list(connection.execute(query).fetchall()[0])

    return Job(run, lambda found: [float(number) for number in found])


def product(path: str, warm: str | None = None) -> Job:
    """Report on the table with everything that a report holds."""

    def run(table: str = path) -> Any:  # noqa: ANN401 - a report, imported on use
        from hartley.studies.look.anonymity import anonymity

        return anonymity(table, keys=KEYS, confidential=CONFIDENTIAL)

    if warm is not None:
        run(warm)

    def describe(report: Any) -> list[float]:  # noqa: ANN401 - likewise
        found = report["s"]
        numbers = found.distinct, found.equal_closeness, found.ordered_closeness
        return [float(report.k), *map(float, numbers), found.delta_of_present]

    return Job(run, describe)


TASKS = {"prepare": prepare, "read": read, "sql": sql, "product": product}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure all sizes; when quick, one small one."""
    rows = []
    warm = settings.sized(WARM_ROWS, WARM_ROWS, 1000)
    for size in settings.sized(settings.rows, (QUICK_ROWS,), (2000,)):
        settings.log(f"{NAME}: {size:,} rows")
        for wanted in (warm, size):
            if not table_path(wanted).exists():
                measure(_work("writing the table", "prepare", rows=wanted))
        rows += _compare(size, settings.repeats, str(table_path(warm)))
    return rows


def _compare(size: int, repeats: int, warm: str) -> list[Row]:
    path = str(table_path(size))
    works = [
        _work(READ, "read", path=path),
        _work(PRODUCT, "product", path=path, warm=warm),
        _work(SQL, "sql", path=path),
    ]
    measure(works[0])  # so that the first round finds the file where the later ones do
    rounds = measure_together(works, repeats=repeats)
    label, aimed = f"{size:,} rows", size >= LEAST_ROWS
    if rounds.failed:
        return [
            Topic(NAME, label, name, READ).missing(reason, missed=aimed)
            for name, reason in rounds.failed.items()
        ]
    found = rounds.found
    _check(found)
    rows = []
    for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
        costs = ratio(found[PRODUCT], found[READ], field)
        beats = ratio(found[SQL], found[PRODUCT], field)
        most, least = (MOST_TIMES, LEAST_TIMES) if aimed else (None, None)
        topic = Topic(NAME, label, PRODUCT, READ, quantity)
        rows.append(topic.costs(costs, at_most=most, raw=raw(found, field, PRODUCT, READ)))
        topic = Topic(NAME, label, PRODUCT, SQL, quantity)
        rows.append(topic.beats(beats, at_least=least, raw=raw(found, field, SQL, PRODUCT)))
    rows.append(Topic(NAME, label, PRODUCT, "-", "peak memory").weighs(found[PRODUCT]))
    return rows


def _work(name: str, task_name: str, **options: object) -> Work:
    return task(name, __file__, task_name, options)


def _check(found: Mapping[str, Sequence[Measurement]]) -> None:
    """Refuse to compare unless both found the same."""
    expected = found[SQL][0].answer
    for one in (*found[SQL], *found[PRODUCT]):
        pairs = zip(one.answer, expected, strict=True)
        if not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in pairs):
            raise AssertionError(f"The ways found different numbers: {one.answer} and {expected}")


if __name__ == "__main__" and not serve(TASKS):
    from results import show

    show(run(Settings(rows=(10**7,), repeats=3)))
