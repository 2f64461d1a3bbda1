"""Random batches over one private column, and their prices by the extracted program.

Run as a program, it writes the kept prices anew: after a change of a rule and of its proof.
"""
# ruff: noqa: S311 - random cases, not secrets

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.batch import Form, Question, Statistic, Test
from hartley.ranges.schema.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STATISTICS = (Statistic.COUNT, Statistic.SUM, Statistic.SQUARES, Statistic.ORDER)
"""In the order of the numbers that the oracle reads."""
ROWS = 20
MEDIAN = Fraction(1, 2)
"""No price depends on the quantile."""
Batch = tuple[Schema, list[Question]]
ORACLE = Path(__file__).parents[2] / "proofs" / "oracle"
KEPT = Path(__file__).with_name("proved_prices.json")
SEED, AMOUNT = 19, 2_000


def draw_batch(rng: random.Random) -> Batch:
    """Return a schema of one private column of a few codes, and one to four questions."""
    points, absent = rng.randint(2, 9), rng.random() < 0.15
    column = Column(
        "x",
        "private",
        low=Fraction(0),
        high=Fraction(points - 1),
        step=Fraction(1),
        nullable=rng.random() < 0.25,
    )
    rows = ("private", ROWS) if absent else ("public", None)
    schema = Schema("tiny", {"x": column}, None, 1, *rows)
    questions = [_draw_question(rng, column) for _ in range(rng.randint(1, 4))]
    if len(questions) > 1 and rng.random() < 0.4:  # the same rows, or the same form, asked again
        model = questions[0]
        questions[1:] = [
            replace(model, where=other.where)
            if rng.random() < 0.5
            else replace(other, where=model.where)
            for other in questions[1:]
        ]
    if absent:
        # The package prices questions that look at no column apart; one column is compared here.
        full = ((0, points - 1),)
        questions = [
            question
            for question in questions
            if question.statistic is not Statistic.COUNT
            or question.where.codes != full
            or (column.nullable and not question.where.missing)
        ] or [replace(questions[0], where=Test("x", ((0, 0),)))]
    return schema, list(dict.fromkeys(questions))


def _draw_question(rng: random.Random, column: Column) -> Question:
    points = column.points
    where = _draw_test(rng, column)
    statistic = rng.choice(STATISTICS)
    if statistic is Statistic.COUNT:
        step = Fraction(ROWS + 1) if rng.random() < 0.1 else Fraction(1)
        return Question(statistic, where, None, None, 0, ROWS, step)
    scale = rng.choice([1, 1, 1, 2, 3, -1, -2])
    shift = rng.choice([0, 0, rng.randint(-9, 9), -scale * rng.randint(0, points - 1)])
    ends = sorted((shift, scale * (points - 1) + shift))
    form = Form((("x", scale),), shift, Fraction(1))
    step = Fraction(rng.randint(1, 12), rng.choice([1, 1, 2, 3]))
    quantile = None
    if statistic is Statistic.ORDER:
        least, most = ends
        quantile = MEDIAN
    elif statistic is Statistic.SUM:
        least, most = min(0, ROWS * ends[0]), max(0, ROWS * ends[1])
    else:
        least, most = 0, ROWS * max(end * end for end in ends)
        step *= rng.choice([1, 3, 9])
    if rng.random() < 0.05:
        step = Fraction(most - least + 1)
    return Question(statistic, where, form, quantile, least, most, step)


def _draw_test(rng: random.Random, column: Column) -> Test:
    points = column.points
    missing = column.nullable and rng.random() < 0.4
    draw = rng.random()
    if draw < 0.2:
        return Test("x", ((0, points - 1),), missing)
    passing = [code for code in range(points) if rng.random() < 0.5]
    if draw < 0.7:
        low = rng.randrange(points)
        passing = list(range(low, rng.randint(low, points - 1) + 1))
    ranges: list[tuple[int, int]] = []
    for code in passing:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return Test("x", tuple(ranges), missing)


def written(schema: Schema, questions: Sequence[Question]) -> list[int]:
    """Return a batch as the whole numbers that the oracle reads after the word ``price``."""
    column = schema.columns["x"]
    numbers = [column.points, column.nullable, schema.rows == "private", len(questions)]
    for question in questions:
        form, where = question.form, question.where
        assert isinstance(where, Test)
        numbers += [
            STATISTICS.index(question.statistic),
            where.missing,
            form.terms[0][1] if form else 1,
            form.constant if form else 0,
            question.step.numerator,
            question.step.denominator,
            question.least,
            question.most,
            len(where.codes),
            *(end for ends in where.codes for end in ends),
        ]
    return [int(number) for number in numbers]


def read(numbers: Sequence[int]) -> Batch:
    """Return the batch that ``written`` wrote."""
    stream = iter(numbers)
    points, nullable, absent, amount = (next(stream) for _ in range(4))
    column: Any = Column(
        "x",
        "private",
        low=Fraction(0),
        high=Fraction(points - 1),
        step=Fraction(1),
        nullable=bool(nullable),
    )
    schema = Schema(
        "tiny", {"x": column}, None, 1, *(("private", ROWS) if absent else ("public", None))
    )
    questions = []
    for _ in range(amount):
        number, missing, scale, shift, over, under, least, most, ranges = (
            next(stream) for _ in range(9)
        )
        statistic = STATISTICS[number]
        counted = statistic is Statistic.COUNT
        codes = tuple((next(stream), next(stream)) for _ in range(ranges))
        questions.append(
            Question(
                statistic,
                Test("x", codes, bool(missing)),
                None if counted else Form((("x", scale),), shift, Fraction(1)),
                MEDIAN if statistic is Statistic.ORDER else None,
                least,
                most,
                Fraction(over, under),
            )
        )
    return schema, questions


def ask_oracle(lines: Iterable[str]) -> list[int]:
    """Return what the extracted program answers to some lines."""
    text = "".join(f"{line}\n" for line in lines)
    run = subprocess.run(
        [ORACLE / "oracle"], input=text, capture_output=True, text=True, check=True, timeout=300
    )
    return [int(word) for word in run.stdout.split()]


def proved_prices(batches: Iterable[Sequence[int]]) -> list[int]:
    """Return the prices of written batches by the extracted program."""
    return ask_oracle(" ".join(["price", *map(str, numbers)]) for numbers in batches)


def keep() -> None:
    """Draw batches and write them with their prices, one a line."""
    rng = random.Random(SEED)
    batches = [written(*draw_batch(rng)) for _ in range(AMOUNT)]
    rows = [
        json.dumps([cells, numbers], separators=(",", ":"))
        for cells, numbers in zip(proved_prices(batches), batches, strict=True)
    ]
    KEPT.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    keep()
