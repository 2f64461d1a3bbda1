"""Release large tables: the product against a plain copy of the same columns, Parquet to Parquet.

Every job runs in a fresh child process with the same engine and the same number of threads. What
was written is checked afterwards, in a process of its own, against the promise of the policy.

    python benchmarks/release_rows.py --rows 1e7 5e7
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show
from tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from measure import Measurement

NAME = "release of rows"
WARM_ROWS = 1_000_000
MOST_TIMES, LEAST_ROWS = 3, 10**7
"""The target, and the size from which on it is meant."""
FEWER_REPEATS_FROM = 10**8
COPY = "plain copy"
EQUAL, CUTS = "four equal-cell columns", "four cut columns"
MIXED, QUERY = "line, groups, cells, kept", "query, kept, cuts, cells"
MEET = "two hypotheses kept open, cells, kept"
"""The policies that are released by."""
COLUMNS = "height, weight, age, income"


def table_path(rows: int, *, stepped: bool = False) -> Path:
    """Return where a table is kept; that of hypotheses has all its numbers on steps."""
    return FOLDER / f"{'stepped' if stepped else 'continuous'}-{rows}.parquet"


def out_path(name: str) -> Path:
    """Return where a job writes."""
    return FOLDER / f"out-{name.replace(' ', '-').replace(',', '')}-{os.getpid()}.parquet"


# --- policies -----------------------------------------------------------------------------------


def policy(kind: str) -> Any:  # noqa: ANN401 - a policy, imported on use
    """Return a policy for the four columns."""
    from fractions import Fraction

    from hartley.policies import (
        CutColumn,
        KeptColumn,
        LineColumn,
        MeetColumn,
        MergedColumn,
        QuantizedColumn,
    )
    from hartley.policies.document import PolicyDocument
    from hartley.policies.quantizer import UniformQuantizer

    ranges = {"height": (100, 250), "weight": (30, 200), "age": (0, 100), "income": (0, 200_000)}
    levels = {"height": 150, "weight": 34, "age": 20, "income": 100}
    if kind == MEET:
        # Whether somebody is obese, and whether somebody has reached 65, each on the data's steps.
        body = {
            "hypothesis": "weight >= 30*(height/100)**2",
            "low": "30",
            "high": "200",
            "step": "0.1",
            "reach": "5",
            "others": {"height": ["100", "250", "0.5"]},
        }
        age = {"hypothesis": "age >= 65", "low": "0", "high": "99", "step": "1", "reach": "3"}
        return PolicyDocument(
            (
                KeptColumn("height", Fraction(100), Fraction(250)),
                MeetColumn.from_fields("meet", "weight", body),
                MeetColumn.from_fields("meet", "age", age),
                QuantizedColumn("income", UniformQuantizer(0, 200_000, 100)),
            )
        )
    if kind == EQUAL:
        cells = {name: UniformQuantizer(*ranges[name], levels[name]) for name in ranges}
        return PolicyDocument(tuple(QuantizedColumn(*item) for item in cells.items()))
    cuts = {}
    for name, (low, high) in ranges.items():
        count = levels[name]
        shares = [Fraction(k * (k + count), 2 * count * count) for k in range(count + 1)]
        edges = tuple(low + (high - low) * share for share in shares)
        middles = tuple((edges[k] + edges[k + 1]) / 2 for k in range(count))
        cuts[name] = CutColumn(name, edges, middles)
    if kind == CUTS:
        return PolicyDocument(tuple(cuts.values()))
    if kind == QUERY:
        index = UniformQuantizer(Fraction(24, 5), 200, 122)
        return PolicyDocument(
            (
                QuantizedColumn("index", index, of="weight/(height/100)**2"),
                KeptColumn("height", Fraction(100), Fraction(250)),
                cuts["age"],
                QuantizedColumn("income", UniformQuantizer(0, 200_000, 100)),
            ),
            design={"columns": {"height": ["100", "250"], "weight": ["30", "200"]}},
        )
    line = {"line": "30*(height/100)**2", "reach": "5", "low": "30", "high": "200"}
    decades = tuple(tuple(range(10 * k, 10 * k + 10)) for k in range(10))
    return PolicyDocument(
        (
            KeptColumn("height", Fraction(100), Fraction(250)),
            LineColumn.read("stretch", "weight", **line),
            MergedColumn("age", decades, tuple(range(10))),
            QuantizedColumn("income", UniformQuantizer(0, 200_000, 100)),
        )
    )


# --- jobs in a child process --------------------------------------------------------------------


def copy(path: str, out: str) -> Job:
    """Copy the columns as one would in plain SQL."""
    import duckdb

    connection = duckdb.connect()
    query = f"COPY (SELECT {COLUMNS} FROM '{path}') TO '{out}' (FORMAT parquet)"
    return Job(lambda: connection.execute(query).fetchone(), lambda row: int(row[0]))


def release(path: str, out: str, kind: str, warm: str) -> Job:
    """Release the columns by a policy, without counting the people of the release."""
    from hartley.studies.release.release import release as released

    document = policy(kind)
    released(warm, document, out, few=None)
    return Job(lambda: released(path, document, out, few=None), lambda report: int(report.rows))


def check(path: str, out: str, kind: str) -> Job:
    """Find the largest distance of every number to what was released for it, row by row."""
    import duckdb

    columns = policy(kind).columns
    errors = {column.name: column.error for column in columns}
    truths = {column.name: getattr(column, "of", None) or column.name for column in columns}
    compared = ", ".join(
        f"max(abs(t_{name} - b.{name}))" for name, error in errors.items() if error is not None
    )
    truth = ", ".join(f"{of} AS t_{name}" for name, of in truths.items())

    def run() -> bool:
        found = duckdb.execute(
            f"SELECT {compared} FROM (SELECT {truth} FROM '{path}') a POSITIONAL JOIN '{out}' b"
        )
        limits = [float(error) for error in errors.values() if error is not None]
        return all(
            far <= limit + 1e-9 for far, limit in zip(found.fetchall()[0], limits, strict=True)
        )

    return Job(run)


def prepare(rows: int, *, stepped: bool = False) -> Job:
    """Write a table, unless it is there."""
    import duckdb

    def run() -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        half = table_path(rows, stepped=stepped).with_suffix(".part")
        # Numbers that occur again show a step, which a release by a line refuses.
        share = f"(hash(i + {{}}) >> 11)::DOUBLE / {2**53}"
        height, weight = f"100 + 150 * ({share.format(1)})", f"30 + 170 * ({share.format(2)})"
        if stepped:
            height = "(200 + (hash(i + 1) % 301)::INTEGER)::DOUBLE / 2"
            weight = "(300 + (hash(i + 2) % 1701)::INTEGER)::DOUBLE / 10"
        duckdb.execute(f"""
            COPY (
                SELECT {height} AS height,
                    {weight} AS weight,
                    (hash(i + 3) % 100)::INTEGER AS age,
                    (hash(i + 4) % 200000)::BIGINT AS income
                FROM range({rows}) AS t(i)
            ) TO '{half}' (FORMAT parquet)
        """)
        half.replace(table_path(rows, stepped=stepped))

    return Job(run)


TASKS = {"copy": copy, "release": release, "check": check, "prepare": prepare}


# --- the benchmark ------------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure all sizes and policies; when quick, one policy at one small size."""
    warm = settings.sized(WARM_ROWS, WARM_ROWS, 2000)
    sizes = (warm,) if settings.quick else tuple(sorted(settings.rows))
    every = (EQUAL, CUTS, MIXED, QUERY)
    kinds = settings.sized(every, (EQUAL,), every)
    rows, peaks = [], {}
    for size, stepped in itertools.product((warm, *sizes), (False, True)):
        if not table_path(size, stepped=stepped).exists():
            measure(_work("writing the table", "prepare", rows=size, stepped=stepped))
    for size in sizes:
        settings.log(f"{NAME}: {size:,} rows")
        repeats = min(settings.repeats, 3) if size >= FEWER_REPEATS_FROM else settings.repeats
        measured = _measure(size, kinds, repeats, warm)
        rows += _compare(size, measured)
        peaks[size] = measured
        rows += _compare(size, _measure(size, (MEET,), repeats, warm, stepped=True), " on steps")
    if len(sizes) > 1:
        rows += _compare_memory(sizes, peaks)
    return rows


def _measure(
    size: int, kinds: Sequence[str], repeats: int, warm_rows: int, *, stepped: bool = False
) -> dict[str, list[Measurement]]:
    """Measure the copy and the releases in turns, and check every file that is released."""
    path, warm = (str(table_path(rows, stepped=stepped)) for rows in (size, warm_rows))
    outs = {name: out_path(name) for name in (COPY, *kinds)}
    works = [_work(COPY, "copy", path=path, out=str(outs[COPY]))]
    works += [
        _work(kind, "release", path=path, out=str(outs[kind]), kind=kind, warm=warm)
        for kind in kinds
    ]
    try:
        rounds = measure_together(works, repeats=repeats)
        if rounds.failed:
            raise AssertionError(f"A release of {size:,} rows failed: {rounds.failed}")
        for kind in kinds:
            kept = measure(_work("check", "check", path=path, out=str(outs[kind]), kind=kind))
            if kept.answer is not True:
                raise AssertionError(f"The release of {size:,} rows breaks its promise: {kind}")
    finally:
        for out in outs.values():
            out.unlink(missing_ok=True)
    if {one.answer for measured in rounds.found.values() for one in measured} != {size}:
        raise AssertionError(f"Not all of {size:,} rows were written")
    return rounds.found


def _compare(size: int, found: Mapping[str, list[Measurement]], where: str = "") -> list[Row]:
    """Return the rows on time and memory at one size."""
    rows = []
    label = f"{size:,} rows{where}"
    aim = MOST_TIMES if size >= LEAST_ROWS else None
    for name in [name for name in found if name != COPY]:
        product = f"release, {name}"
        for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
            topic = Topic(NAME, label, product, COPY, quantity)
            times = ratio(found[name], found[COPY], field)
            rows.append(topic.costs(times, at_most=aim, raw=raw(found, field, name, COPY)))
        rows.append(Topic(NAME, label, product, "-", "peak memory").weighs(found[name]))
    rows.append(Topic(NAME, label, COPY, "-", "peak memory").weighs(found[COPY]))
    return rows


def _compare_memory(
    sizes: Sequence[int], peaks: Mapping[int, Mapping[str, list[Measurement]]]
) -> list[Row]:
    """Return how the peak memory grows from the smallest table to the largest."""
    small, large = sizes[0], sizes[-1]
    return [
        Topic(
            NAME,
            f"{large:,} rows",
            f"release, {name}" if name != COPY else COPY,
            f"the same of {small:,} rows",
            "peak memory",
        ).costs(ratio(peaks[large][name], peaks[small][name], "peak"))
        for name in peaks[small]
        if len(peaks[small][name]) == len(peaks[large][name])
    ]


def _work(name: str, task_name: str, **options: object) -> Work:
    return task(name, __file__, task_name, options)


def main() -> None:
    """Measure the sizes that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=(10**7,))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one small size")
    asked = parser.parse_args()
    settings = Settings(quick=asked.quick, rows=tuple(asked.rows), repeats=asked.repeats)
    show(run(settings))
    sys.stdout.flush()


if __name__ == "__main__" and not serve(TASKS):
    main()
