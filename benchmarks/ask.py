"""Ask the agent about a large table: against the same integers, added up by hand in DuckDB.

Both sides read the same coded copy with the same engine and the same number of threads. Every
question is a new one, so that it is priced, charged on disk, run, and its answer kept; the ledger
is brought to the disk twice. A repeat runs nothing. The machine's disk matters: the ledger lies
beside the tables of the benchmarks.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure, measure_together, ratio, serve, task
from results import Row, Settings, Topic, raw, show
from tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from measure import Measurement

NAME = "ask"
ROWS, QUICK_ROWS = 10**7, 10**6
CALLS, REPEATED_CALLS = 15, 400
MOST_TIMES, MOST_MILLISECONDS = 1.3, 0.2
ASK, HAND, REPEAT = "a mean with a filter", "the same sums by hand in DuckDB", "the same again"
REGIONS = ("north", "east", "south", "west", "centre", "islands")
SCHEMA = {
    "table": {"name": "people"},
    "columns": {
        "age": {"kind": "private", "range": [18, 97], "step": 1},
        "region": {"kind": "private", "values": list(REGIONS)},
        "height": {"kind": "private", "range": [120, 220], "step": "0.1"},
        "income": {"kind": "private", "range": [0, 200_000], "step": 100},
    },
}
BUDGET = 10_000
FIRST_AGE = 20


def table_path(rows: int) -> Path:
    """Return where a table is kept."""
    return FOLDER / f"asked-{rows}.parquet"


def ledger_path(rows: int) -> Path:
    """Return where the ledger of a table is kept, as it was before any question."""
    return FOLDER / f"asked-{rows}.db"


def copy_path(rows: int) -> Path:
    """Return the place of the coded copies of a table; the name of a file also tells a version."""
    return FOLDER / f"asked-{rows}.db.people.duckdb"


# --- jobs in a child process ------------------------------------------------------------------


def fresh_agent(rows: int) -> Any:  # noqa: ANN401 - an agent, imported on use
    """Return an agent that was never asked anything."""
    from hartley.agent.agent import Agent

    # In a folder of its own: beside a coded copy an older ledger than the last one is refused.
    folder = _own_folder()
    folder.mkdir()
    for path in FOLDER.glob(f"{ledger_path(rows).name}*"):
        shutil.copy(path, folder)
    return Agent(None, SCHEMA, ledger=folder / ledger_path(rows).name)


def forget(agent: Any) -> None:  # noqa: ANN401 - likewise
    """Remove the ledger and the copy of an agent."""
    agent.close()
    shutil.rmtree(_own_folder())


def _own_folder() -> Path:
    return FOLDER / f"asked-{os.getpid()}"


def ask(rows: int) -> Job:
    """Ask for the mean of one column over the rows above a threshold, another one every time."""
    agent = fresh_agent(rows)
    ages = itertools.count(FIRST_AGE)
    agent.ask(_question(FIRST_AGE - 1), bits=4)
    answers: list[list[str]] = []

    def run() -> None:
        answer = agent.ask(_question(next(ages)), bits=4)
        answers.append([str(answer.low), str(answer.high)])

    return Job(run, lambda _: _finished(agent, answers))


def repeat(rows: int) -> Job:
    """Ask the same again."""
    agent = fresh_agent(rows)
    agent.ask(_question(FIRST_AGE), bits=4)

    def run() -> float:
        bits: float = agent.ask(_question(FIRST_AGE), bits=4).bits
        return bits

    return Job(run, lambda bits: _finished(agent, bits))


def hand(rows: int) -> Job:
    """Add up the codes above a threshold by a statement written by hand."""
    import duckdb

    (copy,) = FOLDER.glob(copy_path(rows).stem + ".*.duckdb")
    connection = duckdb.connect(str(copy), read_only=True)
    ages = itertools.count(FIRST_AGE)
    query = 'SELECT count(*), sum(c2)::BIGINT FROM "coded" WHERE c0 >= {}'
    connection.execute(query.format(FIRST_AGE - 19)).fetchone()
    answers: list[list[str]] = []

    def run() -> None:
        count, total = connection.execute(query.format(next(ages) - 18)).fetchone()
        mean = 120 + Fraction(total, 10 * count)
        answers.append([str(mean), str(mean)])

    return Job(run, lambda _: answers)


def prepare(rows: int) -> Job:
    """Write a table, its coded copy and a ledger without questions."""

    def run() -> None:
        import duckdb

        from hartley.agent.agent import Agent

        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in FOLDER.glob(f"asked-{rows}.*"):
            path.unlink()
        half = table_path(rows).with_suffix(".part")
        listed = ", ".join(f"'{region}'" for region in REGIONS)
        duckdb.execute(f"""
            COPY (
                SELECT 18 + (hash(i) % 70)::INTEGER AS age,
                    [{listed}][1 + (hash(i + 1) % 6)::INTEGER] AS region,
                    120 + (hash(i + 2) % 1000)::DOUBLE / 10 AS height,
                    100 * (hash(i + 3) % 2000)::BIGINT AS income
                FROM range({rows}) AS t(i)
            ) TO '{half}' (FORMAT parquet)
        """)
        Agent(str(half), SCHEMA, budget=BUDGET, ledger=ledger_path(rows)).close()
        half.replace(table_path(rows))

    return Job(run)


def _question(age: int) -> str:
    return f"SELECT AVG(height) FROM people WHERE age >= {age}"


def _finished(agent: Any, answers: Any) -> Any:  # noqa: ANN401 - an agent, imported on use
    forget(agent)
    return answers


TASKS: Mapping[str, Callable[..., Job]] = {
    "ask": ask,
    "repeat": repeat,
    "hand": hand,
    "prepare": prepare,
}


# --- the benchmark ----------------------------------------------------------------------------


def prepared(rows: int) -> None:
    """Write a table and its coded copy, unless they are there."""
    if not table_path(rows).exists():
        measure(_work("writing the table", "prepare", rows=rows))


def run(settings: Settings) -> list[Row]:
    """Measure new questions against the statement by hand, and repeats."""
    size = settings.sized(ROWS, QUICK_ROWS, 20_000)
    settings.log(f"{NAME}: {size:,} rows")
    prepared(size)
    works = [
        _work(HAND, "hand", rows=size, calls=CALLS),
        _work(ASK, "ask", rows=size, calls=CALLS),
        _work(REPEAT, "repeat", rows=size, calls=REPEATED_CALLS),
    ]
    rounds = measure_together(works, repeats=settings.repeats)
    if rounds.failed:
        raise AssertionError(f"A measurement failed: {rounds.failed}")
    found = rounds.found
    _check(found)
    label, aim = f"{size:,} rows", not settings.quick
    rows = []
    for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
        times = ratio(found[ASK], found[HAND], field)
        topic = Topic(NAME, label, ASK, HAND, quantity)
        behind = raw(found, field, ASK, HAND)
        rows.append(topic.costs(times, at_most=MOST_TIMES if aim else None, raw=behind))
    most = MOST_MILLISECONDS if aim else None
    for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
        rows.append(Topic(NAME, label, REPEAT, "-", quantity).lasts(found[REPEAT], field, most))
    return rows


def _check(found: Mapping[str, list[Measurement]]) -> None:
    """Refuse to compare unless every answer holds the mean, and repeats are free."""
    for asked, by_hand in zip(found[ASK], found[HAND], strict=True):
        for (low, high), (mean, _) in zip(asked.answer, by_hand.answer, strict=True):
            if not Fraction(low) <= Fraction(mean) <= Fraction(high):
                raise AssertionError(f"The mean {mean} is not in [{low}, {high}]")
    if any(one.answer for one in found[REPEAT]):
        raise AssertionError("A repeat was charged for")


def _work(name: str, task_name: str, **options: int) -> Work:
    return task(name, __file__, task_name, options)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure the agent against a statement by hand.")
    parser.add_argument("--quick", action="store_true", help="a million rows, one round each")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))))


if __name__ == "__main__" and not serve(TASKS):
    main()
