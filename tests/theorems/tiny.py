"""Random tiny schemas and questions for the enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hartley import Column, Schema
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test


def random_schema(rng, *, rows_per_unit=1, rows="public", domain=64, kinds=None) -> Schema:
    """Return a schema of two or three columns with few points each, one private at least."""
    while True:
        columns = {}
        for name in "abc"[: rng.integers(2, 4)]:
            points = int(rng.integers(2, 9))
            kind = kinds[rng.integers(len(kinds))] if kinds else "private"
            nullable = bool(rng.integers(4) == 0)
            if rng.integers(4) == 0:
                values = tuple(f"{name}{k}" for k in range(points))
                other = bool(rng.integers(2)) and points > 2
                columns[name] = Column(
                    name, kind, values[: points - other], other, nullable=nullable
                )
            else:
                low = Fraction(int(rng.integers(-4, 5)))
                columns[name] = Column(
                    name,
                    kind,
                    low=low,
                    high=low + points - 1,
                    step=Fraction(1),
                    nullable=nullable,
                )
        schema = Schema(
            "tiny",
            columns,
            None if rows_per_unit == 1 else "who",
            rows_per_unit,
            rows,
            None if rows == "public" else 4 * rows_per_unit,
        )
        size = 1
        for column in columns.values():
            size *= column.size
        if size <= domain and any(c.kind == "private" for c in columns.values()):
            return schema


def random_test(rng, column) -> Test:
    points = column.points
    if rng.integers(6) == 0 and column.nullable:
        return Test(
            column.name, ((0, points - 1),) if rng.integers(2) else (), bool(rng.integers(2))
        )
    if rng.integers(3) == 0:
        chosen = sorted({int(k) for k in rng.integers(0, points, rng.integers(1, 3))})
        codes, missing = _ranges(chosen), False
    else:
        low = int(rng.integers(0, points))
        high = int(rng.integers(low, points))
        codes, missing = ((low, high),), bool(rng.integers(5) == 0 and column.nullable)
    return Test(column.name, codes, missing)


def _ranges(codes) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return tuple(found)


def random_condition(rng, schema, depth=2):
    columns = list(schema.columns.values())
    kind = rng.integers(4) if depth else 0
    if kind <= 1:
        return random_test(rng, columns[rng.integers(len(columns))])
    parts = tuple(random_condition(rng, schema, depth - 1) for _ in range(rng.integers(2, 4)))
    return All(parts) if kind == 2 else Either(parts)


def random_form(rng, schema) -> Form | None:
    numeric = [c for c in schema.columns.values() if c.numeric]
    if not numeric:
        return None
    several = len(numeric) > 1 and rng.integers(3) == 0
    chosen = numeric if several else [numeric[rng.integers(len(numeric))]]
    terms = tuple(
        (c.name, int(rng.choice([1, 1, 1, 2, -1, 3, -2])))
        for c in sorted(chosen, key=lambda c: c.name)
    )
    if rng.integers(2):
        constant = sum(t * int(schema.columns[c].low) for c, t in terms)
    else:
        constant = int(rng.integers(-3, 12))
    return Form(terms, constant, Fraction(1))


def form_range(form, schema) -> tuple[int, int]:
    ends = [sorted((0, t * (schema.columns[c].points - 1))) for c, t in form.terms]
    return (
        form.constant + sum(low for low, _ in ends),
        form.constant + sum(high for _, high in ends),
    )


def whole(form, schema):
    """Return the condition that every column of a form is present."""
    names = [c for c, _ in form.terms] if form else []
    tests = [
        Test(c, ((0, schema.columns[c].points - 1),)) for c in names if schema.columns[c].nullable
    ]
    return tuple(tests)


def random_question(rng, schema, rows: int, statistics=tuple(Statistic)) -> Question:
    """Return a question of a random statistic, form, filter and step."""
    statistic = statistics[rng.integers(len(statistics))]
    form = None if statistic is Statistic.COUNT else random_form(rng, schema)
    if form is None:
        statistic = Statistic.COUNT
    condition = All() if rng.integers(4) == 0 else random_condition(rng, schema)
    where = All((condition, *whole(form, schema)))
    if statistic is Statistic.SQUARES:
        low, _ = form_range(form, schema)
        form = Form(
            form.terms, form.constant - low if rng.integers(3) else form.constant, form.unit
        )
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, rows)
    low, high = form_range(form, schema)
    if statistic is Statistic.SQUARES:
        low, high = 0, max(low * low, high * high)
    least, most = min(0, rows * low), max(0, rows * high)
    quantile = None
    if statistic is Statistic.ORDER:
        least, most = low, high
        quantile = Fraction(int(rng.integers(0, 5)), 4)
    span = max(high - low, abs(high), abs(low), 1)
    step = Fraction(int(rng.integers(1, 2 * span + 2)), int(rng.integers(1, 4)))
    if rng.integers(8) == 0:
        step = Fraction(most - least + 1)
    return Question(statistic, where, form, quantile, least, most, step)


def random_batch(rng, schema, rows: int) -> list[Question]:
    """Return unrelated questions, or a family as one SELECT makes it."""
    shape = rng.integers(5)
    questions = [random_question(rng, schema, rows) for _ in range(rng.integers(1, 5))]
    if shape == 0:
        return questions
    if shape == 1:
        return questions[:1]
    model = questions[0]
    if shape == 2:  # the same rows, counted too
        return [model, Question(Statistic.COUNT, model.where, None, None, 0, rows), *questions[2:3]]
    if shape == 3:  # the same statistic of other rows
        return [model, *(replace(model, where=All((q.where, model.where))) for q in questions[1:])]
    names = list(schema.columns)
    by = schema.columns[names[rng.integers(len(names))]]
    groups = [Test(by.name, ((code, code),)) for code in range(by.points)]
    return [replace(model, where=All((group, model.where))) for group in groups[:5]]
