"""What whole sessions cost in bits, and how long a price takes after much was asked.

The bits are not of this machine: they are what an agent charges for four lists of questions, one by
one, with the answers that say no more than the schema accepted. The charge for open columns is
left out where a list has none in its target. Times are those of one price after a thousand
questions, and of one price where nothing was asked.
"""

# ruff: noqa: S311 - random questions, not secrets

from __future__ import annotations

import argparse
import gc
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure, measure_together, serve, task
from results import Row, Settings, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

NAME = "sessions"
BUDGET = 1000
PEOPLE, ROWS = "people", 5000
SCHEMA = Path(__file__).parent.parent / "examples" / "people.schema.toml"
DRAWS, DRAWN = 8, 10
BEFORE, ASKED, QUICK_BEFORE, QUICK_ASKED = 1000, 200, 100, 30
MOST_MEDIAN, MOST_LARGEST = 5, 30
"""Milliseconds of a price after a thousand questions: the median, and the largest."""

ORDINARY = (
    ("AVG(age)", "", 1),
    ("AVG(height)", "", 1),
    ("AVG(weight)", "", 1),
    ("AVG(income)", "", 2),
    ("AVG(visits)", "", 1),
    ("region, AVG(age)", "GROUP BY region", 1),
    ("region, AVG(income)", "GROUP BY region", 2),
    ("sex, AVG(height)", "GROUP BY sex", 1),
    ("sex, AVG(income)", "GROUP BY sex", 2),
    ("diagnosis, COUNT(*)", "GROUP BY diagnosis", 3),
    ("job, COUNT(*)", "GROUP BY job", 3),
    ("BIN(age, 10), COUNT(*)", "GROUP BY BIN(age, 10)", 4),
    ("MEDIAN(income)", "", 4),
    ("COUNT(*)", "WHERE visits = 0", 1),
    ("COUNT(*)", "WHERE age >= 65", 1),
    ("COUNT(*)", "WHERE diagnosis = 'diabetes' AND age >= 65", 1),
    ("diagnosis, AVG(age)", "GROUP BY diagnosis", 4),
    ("AVG(income)", "WHERE job = 'office'", 2),
    ("STDDEV(age)", "", 2),
    ("region, COUNT(*)", "WHERE diagnosis = 'diabetes' GROUP BY region", 1),
)
"""Twenty questions in their order: what is selected, from which rows, for how many bits."""
AVERAGES = tuple(
    (f"diagnosis, AVG({column})", "GROUP BY diagnosis", 4)
    for column in ("age", "height", "weight", "visits")
)
REGIONS = tuple(
    (selected, f"WHERE region = '{region}'{grouped}", bits)
    for region in ("north", "east", "south", "west", "centre", "islands")
    for selected, grouped, bits in (
        ("AVG(age)", "", 1),
        ("AVG(income)", "", 2),
        ("diagnosis, COUNT(*)", " GROUP BY diagnosis", 3),
    )
)
TINY_SCHEMA = {
    "table": {"name": PEOPLE},
    "columns": {
        "age": {"kind": "private", "range": [0, 7], "step": 1},
        "dg": {"kind": "private", "values": ["u", "v", "w", "x"]},
        "inc": {"kind": "private", "range": [0, 5], "step": 1},
    },
}
TINY_DATA = {"age": [0, 1, 3, 4, 6, 7], "dg": list("uvwxuv"), "inc": [0, 1, 2, 3, 4, 5]}
TINY = (
    ("COUNT(*)", "WHERE age >= 4", 1),
    ("COUNT(*)", "WHERE age < 4", 1),
    ("BIN(age, 2), COUNT(*)", "GROUP BY BIN(age, 2)", 2),
    ("COUNT(*)", "WHERE age BETWEEN 2 AND 5", 1),
    ("dg, COUNT(*)", "GROUP BY dg", 2),
    ("dg, AVG(inc)", "GROUP BY dg", 3),
    ("dg, AVG(age)", "GROUP BY dg", 3),
    ("AVG(inc)", "", 1),
    ("AVG(age)", "WHERE dg = 'u'", 2),
    ("BIN(age, 2), AVG(inc)", "GROUP BY BIN(age, 2)", 3),
    ("COUNT(*)", "WHERE dg IN ('u', 'v')", 1),
    ("COUNT(*)", "WHERE dg = 'u' AND age >= 4", 1),
    ("MEDIAN(inc)", "", 2),
    ("AVG(inc)", "WHERE age >= 4", 2),
)
SESSIONS = {
    "20 questions of an ordinary session": ("ordinary", 28.0),
    f"{DRAWN} of {len(TINY)} questions on a tiny schema, mean of {DRAWS}": ("tiny", 10.5),
    "four averages by diagnosis": ("averages", 6.6),
    "three questions in each of six regions": ("regions", 5.6),
}
"""What is measured, its list, and the most bits it should cost."""


# --- jobs in a child process ------------------------------------------------------------------


def _spent(
    schema: Mapping[str, Any] | Path,
    data: object,
    questions: Iterable[tuple[str, str, int]],
) -> tuple[float, float]:
    """Ask questions one by one; return what is spent, and the part of it for open columns."""
    from hartley.agent.agent import Agent
    from hartley.exact import bits_at_least
    from hartley.trusted.pricing.price import open_factor

    with (
        tempfile.TemporaryDirectory() as folder,
        Agent(data, schema, budget=BUDGET, ledger=Path(folder, "ledger.db")) as agent,
    ):
        for selected, rows, bits in questions:
            agent.ask(f"SELECT {selected} FROM {PEOPLE} {rows}", bits=bits, vacuous=True)
        return agent.spent, bits_at_least(open_factor(agent.schema))


def session(kind: str) -> Job:
    """Ask all questions of a list, and describe what they cost."""

    def run() -> float:
        from hartley.datasets.people import people

        if kind == "tiny":
            drawn = [random.Random(seed).sample(TINY, DRAWN) for seed in range(DRAWS)]
            spent = [_spent(TINY_SCHEMA, TINY_DATA, questions)[0] for questions in drawn]
            return statistics.mean(spent)
        questions = {"ordinary": ORDINARY, "averages": AVERAGES, "regions": REGIONS}[kind]
        spent, opened = _spent(SCHEMA, people(ROWS), questions)
        return spent if kind == "ordinary" else spent - opened

    return Job(run)


def after(before: int, asked: int) -> Job:
    """Price questions one by one after others, and describe the times in milliseconds."""
    from hartley.errors import Refused
    from hartley.schema.schema import Schema
    from hartley.trusted.precision import PriceDesk
    from hartley.trusted.pricing.after_answers import EarlierAnswers
    from hartley.trusted.pricing.conditional_price import conditional_price

    schema, rng = Schema.read(SCHEMA), random.Random(5)
    desk = PriceDesk(schema, ROWS)

    def drawn(count: int) -> list[Any]:
        questions: list[Any] = []
        while len(questions) < count:
            try:
                plans = desk.plan(_mixed(rng), None, rng.choice((1, 2, 3, 4)))
            except Refused:
                continue
            questions.append(plans[0].questions)
        return questions

    earlier = EarlierAnswers(schema)
    for row, batch in enumerate(drawn(before), start=1):
        for question in batch:
            earlier.add(question, row)
    batches = drawn(asked)

    def run() -> tuple[list[float], int]:
        times, lowered = [], 0
        gc.collect()  # what drawing the questions left behind is no part of a price
        for batch in batches:
            began = time.process_time()
            priced = conditional_price(batch, earlier)
            times.append(1000 * (time.process_time() - began))
            lowered += priced.cells < priced.alone
        return times, lowered

    def describe(result: tuple[list[float], int]) -> dict[str, float]:
        times, lowered = result
        return {
            "median": statistics.median(times),
            "largest": max(times),
            "lowered": lowered / len(times),
        }

    return Job(run, describe)


NUMBERS = {"age": (18, 95), "height": (120, 220), "weight": (30, 180), "visits": (0, 20)}
WORDS = {
    "region": ("north", "east", "south"),
    "sex": ("F", "M"),
    "job": ("none", "trade", "office", "retired"),
    "diagnosis": ("none", "asthma", "diabetes", "cancer"),
}


def _condition(rng: random.Random) -> str:
    if rng.random() < 0.5:
        name = rng.choice(list(WORDS))
        return f"{name} = '{rng.choice(WORDS[name])}'"
    name = rng.choice(list(NUMBERS))
    low, high = sorted((rng.randint(*NUMBERS[name]), rng.randint(*NUMBERS[name])))
    return rng.choice((f"{name} BETWEEN {low} AND {high}", f"{name} >= {low}", f"{name} < {high}"))


def _mixed(rng: random.Random) -> str:
    """Return a question as an analyst might ask it: some statistic, filter and grouping."""
    name, other = rng.sample(list(NUMBERS), 2)
    selected = rng.choice(
        (
            "COUNT(*)",
            "COUNT(*)",
            f"SUM({name})",
            f"AVG({name})",
            f"MEDIAN({name})",
            f"STDDEV({name})",
            f"SUM({name} + 2*{other})",
        )
    )
    conditions = [_condition(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3)))]
    where = f" WHERE {rng.choice((' AND ', ' OR ')).join(conditions)}" if conditions else ""
    key = rng.choice(("", "", "", "", "", *WORDS, "BIN(age, 10)"))
    if key:
        return f"SELECT {key}, {selected} FROM {PEOPLE}{where} GROUP BY {key}"
    return f"SELECT {selected} FROM {PEOPLE}{where}"


TASKS: Mapping[str, Callable[..., Job]] = {"session": session, "after": after}


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure the bits of sessions, and the times of prices after others."""
    rows = []
    listed = list(SESSIONS.items())
    for name, (kind, most) in settings.sized(listed, listed, listed[2:3]):
        settings.log(f"{NAME}: {name}")
        bits = float(measure(_work(name, "session", kind=kind)).answer)
        rows.append(
            Row(
                NAME,
                "-",
                name,
                "-",
                "charge",
                f"{bits:.2f} bits",
                target=f"at most {most:g} bits",
                met=bits <= most,
                value=bits,
            )
        )
    before, asked = settings.sized((BEFORE, ASKED), (QUICK_BEFORE, QUICK_ASKED), (10, 5))
    settings.log(f"{NAME}: {asked} prices after {before:,} questions")
    works = [_work(str(many), "after", before=many, asked=asked) for many in (0, before)]
    rounds = measure_together(works, repeats=min(settings.repeats, 3))
    if rounds.failed:
        raise AssertionError(f"A measurement failed: {rounds.failed}")
    for many, aims in ((0, (None, None)), (before, (MOST_MEDIAN, MOST_LARGEST))):
        for quantity, aim in zip(("median", "largest"), aims, strict=True):
            times = [float(each.answer[quantity]) for each in rounds.found[str(many)]]
            best = statistics.median(times)
            rows.append(
                Row(
                    NAME,
                    f"after {many:,} questions",
                    "price of a new one",
                    "-",
                    f"CPU time, {quantity}",
                    f"{best:.2f} ms",
                    rounds=f"{min(times):.2f} to {max(times):.2f}",
                    target="-" if aim is None or settings.quick else f"at most {aim} ms",
                    met=None if aim is None or settings.quick else best <= aim,
                    value=best,
                )
            )
    return rows


def _work(name: str, task_name: str, **options: object) -> Work:
    return task(name, __file__, task_name, options)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure what sessions cost, and their prices.")
    parser.add_argument("--quick", action="store_true", help="fewer questions, one round")
    parser.add_argument("--repeats", type=int, help="rounds to take the median of")
    asked = parser.parse_args()
    show(run(Settings(quick=asked.quick, repeats=asked.repeats or (1 if asked.quick else 3))))


if __name__ == "__main__" and not serve(TASKS):
    main()
