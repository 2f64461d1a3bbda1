"""How long pricing takes: a function of the schema and the questions alone, no data is touched.

Fifty questions over ten columns as an analyst would ask them, and a thousand that differ in what
they filter. "Resolved" is the price itself, of another batch at every call: its questions were
read before, and never priced together. "From SQL" also reads every text, finds the steps of each
question for its wish in bits, and tells the worst errors and the reasons.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from measure import Job, Work, measure_together, serve, task
from results import Row, Settings, Topic, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "price"
PUBLIC_ROWS = 10**6
BATCHES = {50: ("resolved", 5), 1000: ("from SQL", 500)}
"""Sizes of the batches, and of which way the goal is meant, in milliseconds."""
WAYS = ("resolved", "from SQL")
CALLS = {50: 20, 1000: 3}
NUMBERS = [f"x{i}" for i in range(7)]
LETTERS = ("u", "v", "w")
SCHEMA = {
    "table": {"name": "people"},
    "columns": {name: {"kind": "private", "range": [0, 100], "step": 1} for name in NUMBERS}
    | {
        "job": {"kind": "private", "values": list(LETTERS)},
        "sex": {"kind": "open", "values": list(LETTERS)},
        "region": {"kind": "public", "values": list(LETTERS)},
    },
}


def texts(size: int, first: int = 0) -> list[str]:
    """Return questions no two of which are the same for small sizes, and few for large."""
    asked_texts = []
    for k in range(first, first + size):
        x, y, letter = NUMBERS[k % 7], NUMBERS[(3 * k + 1) % 7], LETTERS[k % 3]
        asked = ("COUNT(*)", f"SUM({x})", f"AVG({x})", f"MEDIAN({x})", f"SUM({x} + 2*{y})")[k % 5]
        where = (
            f"{y} >= {3 + k % 90}",
            f"job = '{letter}'",
            f"sex = '{letter}' AND {y} < {10 + k % 80}",
            f"region = 'u' AND job <> '{letter}'",
            f"{x} BETWEEN {k % 40} AND {k % 40 + 50}",
        )[k // 5 % 5]
        asked_texts.append(f"SELECT {asked} FROM people WHERE {where}")
    return asked_texts


# --- jobs in a child process ------------------------------------------------------------------


def resolved(size: int) -> Job:
    """Price questions that are resolved already."""
    from hartley.schema.schema import Schema
    from hartley.trusted.precision import PriceDesk, questions_of
    from hartley.trusted.pricing.price import price

    schema = Schema.read(SCHEMA)
    desk = PriceDesk(schema, PUBLIC_ROWS)
    # The last batch is the one whose price is compared.
    firsts = [size * call for call in reversed(range(CALLS[size]))]
    batches = iter([questions_of(desk.plan(texts(size, first), None, 2)) for first in firsts])
    price(questions_of(desk.plan(texts(1), None, 2)), schema)
    return Job(lambda: price(next(batches), schema), lambda found: str(found.cells))


def from_sql(size: int) -> Job:
    """Price texts, with a desk that never read them before."""
    from hartley.agent.quoting import price
    from hartley.schema.schema import Schema

    schema, asked = Schema.read(SCHEMA), texts(size)

    def run() -> Any:  # noqa: ANN401 - a quote, imported on use
        return price(asked, schema, rows=PUBLIC_ROWS, bits=2)

    price(asked[:5], schema, rows=PUBLIC_ROWS, bits=2)
    return Job(run, lambda found: str(found.cells))


TASKS: Mapping[str, Callable[..., Job]] = dict(zip(WAYS, (resolved, from_sql), strict=True))


# --- the benchmark ----------------------------------------------------------------------------


def run(settings: Settings) -> list[Row]:
    """Measure both batches, both ways."""
    rows = []
    for size, (meant, most) in settings.sized(BATCHES, BATCHES, {50: BATCHES[50]}).items():
        settings.log(f"{NAME}: {size:,} questions")
        works = [_work(way, size) for way in WAYS]
        rounds = measure_together(works, repeats=min(settings.repeats, 3))
        if rounds.failed:
            raise AssertionError(f"A measurement failed: {rounds.failed}")
        if len({one.answer for several in rounds.found.values() for one in several}) != 1:
            raise AssertionError("One batch has two prices")
        for way in WAYS:
            for quantity, field in (("wall time", "seconds"), ("CPU time", "cpu")):
                topic = Topic(NAME, f"{size:,} questions, 10 columns", way, "-", quantity)
                aim = most if way == meant else None
                rows.append(topic.lasts(rounds.found[way], field, aim))
    return rows


def _work(way: str, size: int) -> Work:
    return task(way, __file__, way, {"size": size, "calls": CALLS[size]})


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description="Measure how long pricing takes.")
    parser.add_argument("--repeats", type=int, default=3, help="rounds to take the median of")
    show(run(Settings(repeats=parser.parse_args().repeats)))


if __name__ == "__main__" and not serve(TASKS):
    main()
