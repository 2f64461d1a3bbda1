"""Scan a table that nobody described: against reading the file, and against pandas.

Fifteen columns of 2 to 100 values, the frequent ones far more frequent than the rare ones: once all
as whole numbers, which pandas groups fastest, and once as a register has them, twelve of them as
words. pandas groups by every twentieth of the combinations of up to four columns that a scan looks
at, so that it ends in minutes; its target is a twentieth too. A scan reads the file and looks at
every column besides. So the search for minimal uniques alone is measured as well, on a table in
memory as pandas has it.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from measure import Job, Work, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw
from tables import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from hartley import ScanReport
    from hartley.studies.look.special_uniques import SpecialUniques

NAME = "scan_table"
WIDTHS = (100, 90, 50, 40, 25, 20, 16, 12, 9, 8, 7, 6, 5, 3, 2)
LARGEST, EVERY = 4, 20
NUMBERS, WORDS = "whole numbers", "mostly words"
WORDLESS = (0, 7, 13)
"""Columns that stay numbers where the others are words."""
FULL_ROWS, QUICK_ROWS, WARM_ROWS = 10**6, 10**4, 10**3
MOST_TIMES, LEAST_TIMES = 15, 100
"""The targets, for a million rows."""
READ, PRODUCT, PANDAS = "read the file", "scan", "pandas groupby, every 20th subset"
SEARCH = "special_uniques, table in memory"


def table_path(rows: int, kind: str) -> Path:
    return FOLDER / f"scan-{kind.replace(' ', '-')}-{rows}.csv"


def subsets() -> list[tuple[int, ...]]:
    """Return every twentieth combination of up to four columns."""
    columns = range(len(WIDTHS))
    every = [c for size in range(1, LARGEST + 1) for c in combinations(columns, size)]
    return every[::EVERY]


# --- jobs in a child process ------------------------------------------------------------------


def prepare(rows: int, kind: str) -> Job:
    """Write a table whose values are distributed as ranks are."""

    def run() -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.csv

        FOLDER.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(1928)
        columns = {}
        for at, width in enumerate(WIDTHS):
            shares = 1 / np.arange(1, width + 1) ** 0.9
            codes = rng.choice(width, rows, p=shares / shares.sum())
            is_number = kind == NUMBERS or at in WORDLESS
            words = np.array([f"value {code} of {at}" for code in range(width)])
            columns[f"q{at}"] = pa.array(codes) if is_number else pa.array(words[codes])
        half = table_path(rows, kind).with_suffix(".part")
        pyarrow.csv.write_csv(pa.table(columns), half)
        half.replace(table_path(rows, kind))

    return Job(run)


def read(path: str) -> Job:
    """Read the file into memory."""
    import duckdb

    connection = duckdb.connect()
    return Job(
        lambda: connection.execute(f"SELECT * FROM read_csv('{path}')").fetch_arrow_table(),
        lambda table: table.num_rows,
    )


def product(path: str, warm: str) -> Job:
    """Scan the file."""
    from hartley import scan

    scan(warm)  # compiles what is compiled

    def describe(report: ScanReport) -> list[int]:
        assert report.uniques is not None  # all columns are code lists
        return singled_out(report.uniques)

    return Job(lambda: scan(path), describe)


def search(path: str, warm: str) -> Job:
    """Search for the minimal uniques of a table in memory."""
    import pyarrow.csv

    from hartley.studies.look.special_uniques import special_uniques

    table = pyarrow.csv.read_csv(path)
    special_uniques(pyarrow.csv.read_csv(warm))
    return Job(lambda: special_uniques(table), singled_out)


def singled_out(uniques: SpecialUniques) -> list[int]:
    """Count the records that each subset of columns singles out: those of its parts and its own."""
    import numpy as np

    parts = uniques._found.parts  # noqa: SLF001 - what no summary keeps
    counts = []
    for subset in subsets():
        whole = sum(1 << at for at in subset)
        inside = [records for mask, records in parts if mask & ~whole == 0]
        counts.append(int(np.unique(np.concatenate([np.empty(0, np.int32), *inside])).size))
    return counts


def pandas(path: str) -> Job:
    """Count the records that each subset of columns singles out."""
    import pandas as pd

    table = pd.read_csv(path)
    names = list(table.columns)

    def run() -> list[int]:
        sizes = (table.groupby([names[at] for at in subset]).size() for subset in subsets())
        return [int((size == 1).sum()) for size in sizes]

    return Job(run)


TASKS = {
    "prepare": prepare,
    "read": read,
    "product": product,
    "search": search,
    "pandas": pandas,
}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure a million rows; when quick, ten thousand."""
    return [row for kind in (NUMBERS, WORDS) for row in _measured(settings, kind)]


def _measured(settings: Settings, kind: str) -> list[Row]:
    size = settings.sized(FULL_ROWS, QUICK_ROWS, WARM_ROWS)
    label, aimed = f"{size:,} rows, {kind}", size >= FULL_ROWS
    settings.log(f"{NAME}: {label}")
    for wanted in (WARM_ROWS, size):
        if not table_path(wanted, kind).exists():
            measure(_work("writing the table", "prepare", rows=wanted, kind=kind))
    path, warm = str(table_path(size, kind)), str(table_path(WARM_ROWS, kind))
    works = [
        _work(READ, "read", path=path),
        _work(PRODUCT, "product", path=path, warm=warm),
        _work(SEARCH, "search", path=path, warm=warm),
        _work(PANDAS, "pandas", path=path),
    ]
    measure(works[0])  # so that the first round finds the file where the later ones do
    rounds = measure_together(works, repeats=1 if settings.quick else min(settings.repeats, 3))
    if rounds.failed:
        return [
            Topic(NAME, label, name, READ).missing(reason, missed=aimed)
            for name, reason in rounds.failed.items()
        ]
    found = rounds.found
    if not found[PRODUCT][0].answer == found[SEARCH][0].answer == found[PANDAS][0].answer:
        raise AssertionError("The ways found different numbers of unique records")
    rows = []
    for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
        costs = ratio(found[PRODUCT], found[READ], field)
        beats = ratio(found[PANDAS], found[PRODUCT], field)
        most, least = (MOST_TIMES, LEAST_TIMES / EVERY) if aimed else (None, None)
        topic = Topic(NAME, label, PRODUCT, READ, quantity)
        rows.append(topic.costs(costs, at_most=most, raw=raw(found, field, PRODUCT, READ)))
        topic = Topic(NAME, label, PRODUCT, PANDAS, quantity)
        rows.append(topic.beats(beats, at_least=least, raw=raw(found, field, PANDAS, PRODUCT)))
        alone = ratio(found[PANDAS], found[SEARCH], field)
        topic = Topic(NAME, label, SEARCH, PANDAS, quantity)
        rows.append(topic.beats(alone, at_least=None, raw=raw(found, field, PANDAS, SEARCH)))
    rows.append(Topic(NAME, label, PRODUCT, "-", "peak memory").weighs(found[PRODUCT]))
    return rows


def _work(name: str, task_name: str, **options: object) -> Work:
    return task(name, __file__, task_name, options)


if __name__ == "__main__" and not serve(TASKS):
    import sys

    from results import show

    show(run(Settings(quick="--quick" in sys.argv, repeats=3)))
