"""Audit large tables: the product against reading the same data, and against plain SQL.

Every job runs in a fresh child process with the same engine and the same number of threads. The
product is warmed up on a smaller table first, so that compiling is not in the timing; what the
first audit on a machine takes is reported apart.
"""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw
from tables import (
    FOLDER,
    NARROW,
    TEXT,
    WIDE,
    expected_measures,
    reference_path,
    table_path,
    write_reference,
    write_table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from measure import Measurement

NAME = "audit of rows"
WARM_ROWS = 1_200_000
"""Large enough to take the way of large tables."""
MOST_TIMES, MOST_GIGABYTES, LEAST_ROWS = 10, 2.5, 10**7
"""The targets, and the size from which on they are meant."""
TEXT_ROWS = 10**7
SPILL_LIMITS = {WARM_ROWS: "20MB", 10**7: "60MB", 10**8: "300MB"}
"""Memory limits below what the rows of a table need, so that the engine spills."""
FEWER_REPEATS_FROM = 10**8
READ, SQL, RELATION, AUDIT = "read and sum", "plain SQL", "relation and measures", "hartley.audit"


# --- jobs in a child process ------------------------------------------------------------------


def read(path: str, kind: str) -> Job:
    """Read both columns and add them up."""
    import duckdb

    connection = duckdb.connect()
    sums = "sum(x), sum(y)" if kind != TEXT else "sum(length(x)), sum(length(y))"
    return Job(
        lambda: connection.execute(f"SELECT {sums} FROM '{path}'").fetchall(),
        lambda rows: [int(value) for value in rows[0]],
    )


def sql(path: str) -> Job:
    """Find the sizes of all ranges, but no classes, as one would in plain SQL."""
    import duckdb

    connection = duckdb.connect(config={"temp_directory": str(FOLDER / "spill")})

    def run() -> list[tuple[int, ...]]:
        connection.execute(
            f"CREATE TEMP TABLE pairs AS SELECT x, y, count(*) AS n FROM '{path}' GROUP BY x, y"
        )
        sizes = (
            "SELECT count(*), min(size), max(size) "
            "FROM (SELECT count(*) AS size FROM pairs GROUP BY {})"
        )
        queries = "SELECT sum(n), count(*) FROM pairs", sizes.format("y"), sizes.format("x")
        return [connection.execute(query).fetchall()[0] for query in queries]

    def describe(found: list[tuple[int, ...]]) -> dict[str, int]:
        (rows, pairs), of_released, of_secrets = ([int(n) for n in line] for line in found)
        released, fewest_secrets, most_secrets = of_released
        secrets, fewest_released, most_released = of_secrets
        return {
            "rows": rows,
            "pairs": pairs,
            "secrets": secrets,
            "released": released,
            "fewest_secrets": fewest_secrets,
            "most_secrets": most_secrets,
            "fewest_released": fewest_released,
            "most_released": most_released,
        }

    return Job(run, describe)


def relation(path: str, warm: str | None = None, memory_limit: str | None = None) -> Job:
    """Count the relation of both columns and take every measure that its summary gives."""

    def run(table: str = path, limit: str | None = memory_limit) -> dict[str, Any]:
        import hartley

        found = hartley.Relation.from_table(table, secret="x", released="y", memory_limit=limit)
        measures = {name: getattr(hartley.measures, name)(found) for name in MEASURES}
        return {"note": found.note, "pairs": found.summary.pairs, "measures": measures}

    if warm is not None:
        run(warm, memory_limit and "1MB")
    return Job(run)


def audit(path: str, warm: str | None = None) -> Job:
    """Audit the table with everything that a report holds."""

    def run(table: str = path) -> Any:  # noqa: ANN401 - a report, imported on use
        import hartley

        return hartley.audit(table, secret="x", released="y")

    if warm is not None:
        run(warm)

    def describe(report: Any) -> dict[str, Any]:  # noqa: ANN401 - likewise
        measures = {found.name: found.value for found in report.findings}
        kept = {name: value for name, value in measures.items() if name in MEASURES}
        return {"note": None, "pairs": report.pairs, "measures": kept}

    return Job(run, describe)


def prepare(rows: int, kind: str) -> Job:
    """Write a table and what must be found in it; in a child, so that its memory goes back."""

    def run() -> None:
        write_table(rows, NARROW)
        write_reference(rows)
        write_table(rows, kind)

    return Job(run)


MEASURES = (
    "hartley_entropy",
    "conditional_entropy",
    "nonstochastic_information",
    "relative_disarray",
    "nonstochastic_leakage",
    "symmetric_leakage",
    "information_transmission",
    "maximin_information",
    "guessing_leakage",
    "maximal_guessing_leakage",
    "identifiability",
    "maximal_leakage",
    "mutual_information",
)
TASKS = {"read": read, "sql": sql, "relation": relation, "audit": audit, "prepare": prepare}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure all sizes and ways; when quick, the ways that differ at one small size."""
    sizes = settings.sized(settings.rows, (WARM_ROWS,), (20_000,))
    rows = []
    for size in sizes:
        repeats = min(settings.repeats, 3) if size >= FEWER_REPEATS_FROM else settings.repeats
        for kind, ways in _kinds(size, quick=settings.quick).items():
            settings.log(f"{NAME}: {size:,} rows of {kind}")
            _prepare(size, kind)
            if not settings.quick:
                _prepare(WARM_ROWS, kind)
            rows += _compare(size, kind, repeats, ways)
        settings.log(f"{NAME}: {size:,} rows in little memory")
        rows += _compare_spilling(size, 1 if size >= FEWER_REPEATS_FROM else min(repeats, 3))
    if not settings.quick:
        settings.log(f"{NAME}: first audit of a process and of a machine")
        rows += _compare_cold(min(sizes))
    return rows


def _kinds(size: int, *, quick: bool) -> dict[str, tuple[str, ...]]:
    """Return which kinds of columns are audited at a size, and in which ways."""
    every = RELATION, AUDIT, SQL
    if quick:
        return {NARROW: (AUDIT, SQL), TEXT: (RELATION,)}
    kinds = {NARROW: every, WIDE: (RELATION, AUDIT)}
    return kinds | {TEXT: every} if size <= TEXT_ROWS else kinds


def _compare(size: int, kind: str, repeats: int, ways: Sequence[str]) -> list[Row]:
    """Measure reading, the product and plain SQL in turns."""
    path, warm = str(table_path(size, kind)), _warm(size, kind)
    works = {
        READ: _work(READ, "read", path=path, kind=kind),
        RELATION: _work(RELATION, "relation", path=path, warm=warm),
        AUDIT: _work(AUDIT, "audit", path=path, warm=warm),
        SQL: _work(SQL, "sql", path=path),
    }
    measure(works[READ])  # so that the first round finds the file where the later ones do
    rounds = measure_together([works[name] for name in (READ, *ways)], repeats=repeats)
    found = rounds.found
    _check_all(found, size)
    label = f"{size:,} rows of {kind}"
    aim = MOST_TIMES if kind != TEXT and size >= LEAST_ROWS else None
    rows = []
    for name in ways:
        if name not in found:
            missed = aim is not None and name != SQL
            rows.append(Topic(NAME, label, name, READ).missing(rounds.failed[name], missed=missed))
            continue
        for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
            times = ratio(found[name], found[READ], field)
            behind = raw(found, field, name, READ)
            topic = Topic(NAME, label, name, READ, quantity)
            rows.append(topic.costs(times, at_most=None if name == SQL else aim, raw=behind))
    for name in (RELATION, AUDIT):
        if name in found:
            rows += _rest(label, name, found, aim)
    return rows


def _rest(
    label: str, name: str, found: Mapping[str, Sequence[Measurement]], aim: float | None
) -> list[Row]:
    """Return the rows on memory and against plain SQL."""
    memory = Topic(NAME, label, name, "-", "peak memory")
    rows = [memory.weighs(found[name], at_most=MOST_GIGABYTES if aim else None)]
    if SQL in found:
        times = ratio(found[SQL], found[name], "seconds")
        behind = raw(found, "seconds", SQL, name)
        rows.append(Topic(NAME, label, name, SQL).beats(times, raw=behind))
    return rows


def _compare_spilling(size: int, repeats: int) -> list[Row]:
    """Measure the product under a memory limit that makes the engine spill."""
    limit = SPILL_LIMITS.get(size)
    if limit is None:
        return []
    path, warm = str(table_path(size, NARROW)), _warm(size, NARROW)
    name = f"{RELATION}, limit {limit}"
    works = [
        _work(READ, "read", path=path, kind=NARROW),
        _work(name, "relation", path=path, warm=warm, memory_limit=limit),
    ]
    rounds = measure_together(works, repeats=repeats)
    label = f"{size:,} rows of {NARROW}"
    if rounds.failed:
        return [Topic(NAME, label, name, READ).missing(rounds.failed[name])]
    found = rounds.found
    _check_all(found, size)
    if not all(one.answer["note"] for one in found[name]):
        raise AssertionError(f"The product did not spill at {size:,} rows under {limit}")
    times = ratio(found[name], found[READ], "seconds")
    return [
        Topic(NAME, label, name, READ).costs(times, raw=raw(found, "seconds", name, READ)),
        Topic(NAME, label, name, "-", "peak memory").weighs(found[name]),
    ]


def _compare_cold(size: int) -> list[Row]:
    """Measure whole processes, with compiled code on disk and without, once each."""
    path = str(table_path(size, NARROW))
    never = _work("never compiled", "relation", path=path)
    with tempfile.TemporaryDirectory() as empty:
        works = [
            _work(READ, "read", path=path, kind=NARROW),
            _work("compiled before", "relation", path=path),
            replace(never, variables={"NUMBA_CACHE_DIR": empty}),
        ]
        found = {work.name: [measure(work)] for work in works}
    _check_all(found, size)
    return [
        Topic(
            NAME,
            f"{size:,} rows of {NARROW}",
            f"{RELATION}, {name}",
            f"{READ}, whole process",
            "wall time of the whole process",
        ).costs(
            ratio(found[name], found[READ], "process_seconds"),
            raw=raw(found, "process_seconds", name, READ),
        )
        for name in ("compiled before", "never compiled")
    ]


def _work(name: str, task_name: str, **options: object) -> Work:
    return task(name, __file__, task_name, options)


def _warm(size: int, kind: str) -> str | None:
    """Return the table to warm up on; one as small as that itself is audited without."""
    return None if size <= WARM_ROWS else str(table_path(WARM_ROWS, kind))


def _prepare(size: int, kind: str) -> None:
    if not table_path(size, kind).exists() or not reference_path(size).exists():
        measure(_work("writing the table", "prepare", rows=size, kind=kind))


# --- answers ----------------------------------------------------------------------------------


def _check_all(found: Mapping[str, Sequence[Measurement]], size: int) -> None:
    """Refuse to compare unless every answer is the right one."""
    facts = json.loads(reference_path(size).read_text(encoding="utf-8"))
    expected = expected_measures(facts)
    for name, measured in found.items():
        for one in measured:
            if name == READ:
                same = one.answer == measured[0].answer
            elif name == SQL:
                same = all(facts[key] == value for key, value in one.answer.items())
            else:
                same = one.answer["pairs"] == facts["pairs"] and _agree(
                    one.answer["measures"], expected
                )
            if not same:
                raise AssertionError(f"{name} found something else at {size:,} rows: {one.answer}")


def _agree(measures: Mapping[str, float], expected: Mapping[str, float]) -> bool:
    """Tell whether measures are what they must be, rounding aside."""
    return len(measures) >= len(expected) // 2 and all(
        math.isclose(value, expected[name], rel_tol=1e-9, abs_tol=1e-9)
        for name, value in measures.items()
    )


if __name__ == "__main__":
    serve(TASKS)
