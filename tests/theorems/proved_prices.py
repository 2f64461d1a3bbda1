"""Random batches over private columns, and their prices by the extracted program.

Run as a program, it writes the kept prices anew: after a change of a rule and of its proof.
"""
# ruff: noqa: S311 - random cases, not secrets

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import gcd
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley import Column, Schema
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hartley.trusted.questions.batch import Condition

STATISTICS = (Statistic.COUNT, Statistic.SUM, Statistic.SQUARES, Statistic.ORDER)
"""In the order of the numbers that the oracle reads."""
ROWS = 20
MEDIAN = Fraction(1, 2)
"""No price depends on the quantile."""
Batch = tuple[Schema, list[Question]]
ORACLE = Path(__file__).parents[2] / "proofs" / "oracle"
KEPT = Path(__file__).with_name("proved_prices.json")
SEED, AMOUNT, AMOUNT_OF_COLUMNS, AMOUNT_OF_GIVEN = 19, 2_000, 500, 400
Leaf = tuple[tuple[tuple[int, int], ...], bool]
"""The codes that pass, and whether a missing value does."""


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


# --- several columns -----------------------------------------------------------------------------


def draw_columns(rng: random.Random) -> Batch:
    """Return a schema of two or three private columns with few rows, and one to four questions."""
    amount = rng.randint(2, 3)
    sizes = [rng.randint(2, 5 if amount == 2 else 4) for _ in range(amount)]
    columns = {
        name: Column(
            name,
            "private",
            low=Fraction(0),
            high=Fraction(points - 1),
            step=Fraction(1),
            nullable=rng.random() < 0.2,
        )
        for name, points in zip("abc", sizes, strict=False)
    }
    rows = ("private", ROWS) if rng.random() < 0.15 else ("public", None)
    questions = [_draw_wide_question(rng, columns) for _ in range(rng.randint(1, 4))]
    shape = rng.random()
    if shape < 0.25:  # the same form, asked of other rows
        questions[1:] = [replace(questions[0], where=other.where) for other in questions[1:]]
    elif shape < 0.5:  # several forms of all rows: more directions than columns
        questions = [
            replace(question, where=All(), step=max(question.step, Fraction(3)))
            for question in (_draw_wide_question(rng, columns) for _ in range(6))
            if question.form is not None
        ] or questions
    schema = Schema("tiny", columns, None, 1, *rows)
    # Questions that are written alike are kept once: the package would price them as one.
    different = {tuple(written_columns(schema, [question])): question for question in questions}
    return schema, list(different.values())


def _draw_wide_question(rng: random.Random, columns: Mapping[str, Column]) -> Question:
    where = _draw_condition(rng, columns, 2)
    statistic = rng.choice(STATISTICS)
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, ROWS)
    chosen = [name for name in columns if rng.random() < 0.6] or ["a"]
    terms = tuple((name, rng.choice([1, 1, 1, 2, -1, -2, 3])) for name in chosen)
    constant = rng.choice([0, 0, rng.randint(-6, 6)])
    ends = [sorted((0, times * (columns[name].points - 1))) for name, times in terms]
    low, high = (constant + sum(end[side] for end in ends) for side in (0, 1))
    step = Fraction(rng.randint(1, 12), rng.choice([1, 1, 2, 3]))
    form, quantile = Form(terms, constant, Fraction(1)), None
    if statistic is Statistic.ORDER:
        least, most, quantile = low, high, MEDIAN
    elif statistic is Statistic.SUM:
        least, most = min(0, ROWS * low), max(0, ROWS * high)
    else:
        least, most = 0, ROWS * max(low * low, high * high)
        step *= rng.choice([1, 3, 9])
    return Question(statistic, where, form, quantile, least, most, step)


def _draw_condition(rng: random.Random, columns: Mapping[str, Column], depth: int) -> Condition:
    draw = rng.random()
    if depth == 0 or draw < 0.5:
        name = rng.choice(list(columns))
        return replace(_draw_test(rng, columns[name]), column=name)
    if draw < 0.65:
        return All()
    parts = tuple(_draw_condition(rng, columns, depth - 1) for _ in range(2))
    return All(parts) if draw < 0.85 else Either(parts)


def _conjunctions(condition: Condition) -> list[dict[str, Leaf]]:
    """Return a condition as an OR of conjunctions; written apart from the package on purpose."""
    if isinstance(condition, Test):
        return [{condition.column: (condition.codes, condition.missing)}]
    parts = [_conjunctions(part) for part in condition.parts]
    if isinstance(condition, Either):
        return [term for part in parts for term in part]
    return [_conjoined(chosen) for chosen in product(*parts)]


def _conjoined(terms: Iterable[Mapping[str, Leaf]]) -> dict[str, Leaf]:
    joined: dict[str, Leaf] = {}
    for term in terms:
        for name, (codes, missing) in term.items():
            others, too = joined.get(name, (codes, missing))
            common = ((max(a, c), min(b, d)) for a, b in others for c, d in codes)
            joined[name] = tuple((a, b) for a, b in common if a <= b), missing and too
    return joined


def _possible(
    term: Mapping[str, Leaf], columns: Mapping[str, Column]
) -> list[tuple[int, bool, tuple[tuple[int, int], ...]]] | None:
    """Return the tests of a conjunction that say something; None where it never holds."""
    tests = []
    for name, (codes, passes) in term.items():
        column = columns[name]
        missing = passes and column.nullable
        passing = sum(high - low + 1 for low, high in codes)
        if not passing and not missing:
            return None
        if passing < column.points or (column.nullable and not missing):
            tests.append((list(columns).index(name), missing, codes))
    return tests


def written_columns(schema: Schema, questions: Sequence[Question]) -> list[int]:
    """Return a batch as the whole numbers that the oracle reads after the word ``columns``."""
    columns = schema.columns
    numbers: list[int] = [len(columns)]
    for column in columns.values():
        numbers += [column.points, column.nullable]
    numbers.append(schema.rows == "private")
    return [int(number) for number in numbers] + _written_questions(columns, questions)


def _written_questions(columns: Mapping[str, Column], questions: Sequence[Question]) -> list[int]:
    numbers: list[int] = [len(questions)]
    for question in questions:
        times = dict(question.form.terms) if question.form else {}
        scale = gcd(*times.values()) * (1 if next(iter(times.values())) > 0 else -1) if times else 1
        there = {name: (((0, columns[name].points - 1),), False) for name in times}
        joined = (_conjoined((term, there)) for term in _conjunctions(question.where))
        terms = [tests for term in joined if (tests := _possible(term, columns)) is not None]
        numbers += [
            *(STATISTICS.index(question.statistic), scale),
            question.form.constant if question.form else 0,
            *(question.step.numerator, question.step.denominator, question.least, question.most),
            *(times.get(name, 0) // scale for name in columns),
            1 if [] in terms else len(terms),
        ]
        for tests in [[]] if [] in terms else terms:
            numbers.append(len(tests))
            for place, missing, codes in tests:
                ends = (end for both in codes for end in both)
                numbers += [place, missing, len(codes), *ends]
    return [int(number) for number in numbers]


def read_columns(numbers: Sequence[int]) -> Batch:
    """Return a batch that ``written_columns`` wrote, its filters as an OR of conjunctions."""
    return _read_columns(iter(numbers))[1]


def _read_columns(stream: Iterator[int]) -> tuple[str, Batch]:
    names = "abc"[: next(stream)]
    columns = {
        name: Column(
            name,
            "private",
            low=Fraction(0),
            high=Fraction(next(stream) - 1),
            step=Fraction(1),
            nullable=bool(next(stream)),
        )
        for name in names
    }
    rows = ("private", ROWS) if next(stream) else ("public", None)
    questions = [_read_question(stream, names) for _ in range(next(stream))]
    return names, (Schema("tiny", columns, None, 1, *rows), questions)


def _read_question(stream: Iterator[int], names: str) -> Question:
    number, scale, shift, over, under, least, most = (next(stream) for _ in range(7))
    times = [(name, scale * next(stream)) for name in names]
    statistic = STATISTICS[number]
    terms = []
    for _ in range(next(stream)):
        tests = []
        for _ in range(next(stream)):
            name, missing, ranges = names[next(stream)], bool(next(stream)), next(stream)
            codes = tuple((next(stream), next(stream)) for _ in range(ranges))
            tests.append(Test(name, codes, missing))
        terms.append(All(tuple(tests)))
    form = Form(tuple(term for term in times if term[1]), shift, Fraction(1))
    return Question(
        statistic,
        Either(tuple(terms)),
        None if statistic is Statistic.COUNT else form,
        MEDIAN if statistic is Statistic.ORDER else None,
        least,
        most,
        Fraction(over, under),
    )


# --- after what was told --------------------------------------------------------------------------


class AfterTold(NamedTuple):
    """A batch after some earlier questions: told filters, and a sum whose window may be used."""

    schema: Schema
    asked: list[Question]
    filters: list[Question]
    sums: list[Question]


def draw_given(rng: random.Random) -> AfterTold:
    """Return a batch of several columns after one to four earlier questions, rows public."""
    while True:
        schema, asked = draw_columns(rng)
        told = [_draw_wide_question(rng, schema.columns) for _ in range(rng.randint(1, 4))]
        filters = [t for t in told if t.statistic in {Statistic.COUNT, Statistic.ORDER}]
        sums = [t for t in told if t.statistic is Statistic.SUM][:1]
        if rng.random() < 0.5:  # a sum of all rows leaves a window wherever it is not missing
            sums = [replace(t, where=All()) for t in sums]
        if schema.rows == "public" and (filters or sums):
            return AfterTold(schema, asked, filters, sums)


def written_given(case: AfterTold) -> list[int]:
    """Return a case as the whole numbers that the oracle reads after the word ``given``."""
    told = [_written_questions(case.schema.columns, some) for some in (case.filters, case.sums)]
    return [*written_columns(case.schema, case.asked), *told[0], *told[1]]


def read_given(numbers: Sequence[int]) -> AfterTold:
    """Return the case that ``written_given`` wrote."""
    stream = iter(numbers)
    names, (schema, asked) = _read_columns(stream)
    filters, sums = ([_read_question(stream, names) for _ in range(next(stream))] for _ in range(2))
    return AfterTold(schema, asked, filters, sums)


# --- the extracted program ------------------------------------------------------------------------


def ask_oracle(lines: Iterable[str]) -> list[int]:
    """Return what the extracted program answers to some lines."""
    text = "".join(f"{line}\n" for line in lines)
    run = subprocess.run(
        [ORACLE / "oracle"], input=text, capture_output=True, text=True, check=True, timeout=300
    )
    return [int(word) for word in run.stdout.split()]


def proved_prices(word: str, batches: Iterable[Sequence[int]]) -> list[int]:
    """Return the prices of written batches: ``price`` of one column, ``columns``, or ``given``."""
    return ask_oracle(" ".join([word, *map(str, numbers)]) for numbers in batches)


def keep() -> None:
    """Draw batches and write them with their prices, one a line."""
    rng = random.Random(SEED)
    batches = {
        "price": [written(*draw_batch(rng)) for _ in range(AMOUNT)],
        "columns": [written_columns(*draw_columns(rng)) for _ in range(AMOUNT_OF_COLUMNS)],
        "given": [written_given(draw_given(rng)) for _ in range(AMOUNT_OF_GIVEN)],
    }
    rows = [
        json.dumps([word, cells, numbers], separators=(",", ":"))
        for word, some in batches.items()
        for cells, numbers in zip(proved_prices(word, some), some, strict=True)
    ]
    KEPT.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    keep()
