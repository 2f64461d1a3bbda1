"""Questions drawn at random, with every part of SQL that docs/questions.md names."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from plain_sql import Aggregate, Form, Key, Select

if TYPE_CHECKING:
    import random

FUNCTIONS = [
    *("COUNT", "COUNT", "SUM", "SUM", "SUM", "AVG", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE"),
    *("VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV_POP", "STDDEV_SAMP", "STDDEV"),
    *("QUANTILE_DISC", "PERCENTILE_DISC"),
]


def draw_select(columns: dict[str, Any], rng: random.Random) -> Any:
    listed = tuple(_aggregate(columns, rng) for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3])))
    where = draw_condition(columns, rng, 2) if rng.random() < 0.72 else None
    keys: tuple[Any, ...] = ()
    if rng.random() < 0.28:
        chosen = rng.sample(list(columns.values()), min(len(columns), rng.choice([1, 1, 1, 2])))
        keys = tuple(_key(column, rng) for column in chosen)
    return Select(listed, where, keys)


def _key(column: Any, rng: random.Random) -> Any:
    if column.numeric and rng.random() < 0.6:
        width = Fraction(rng.choice([1, 2, 3])) * rng.choice([column.step, column.step, 1])
        return Key(column.name, rng.choice(["bin", "floor"]), width)
    return Key(column.name)


def _aggregate(columns: dict[str, Any], rng: random.Random) -> Any:
    function = rng.choice(FUNCTIONS)
    numbers = [c for c in columns.values() if c.numeric and not c.date]
    dates = [c for c in columns.values() if c.date]
    if function == "COUNT" or not numbers + dates:
        name = rng.choice([None, *columns])
        return Aggregate("COUNT", None, name)
    p = None
    if function in {"QUANTILE", "QUANTILE_DISC", "PERCENTILE_DISC"}:
        p = Fraction(rng.choice(["0", "1/4", "1/3", "1/2", "0.9", "1", "2/3"]))
    if dates and (not numbers or rng.random() < 0.3):
        if len(dates) > 1 and rng.random() < 0.4:
            first, second = rng.sample(dates, 2)
            form = Form(((first.name, Fraction(1)), (second.name, Fraction(-1))))
        else:
            form = Form(((rng.choice(dates).name, Fraction(1)),))
            if function == "SUM" and rng.random() < 0.9:
                function = "AVG"
        return Aggregate(function, form, None, p)
    return Aggregate(function, _form(numbers, rng), None, p)


def _form(numbers: list[Any], rng: random.Random) -> Any:
    first = rng.choice(numbers).name
    if rng.random() < 0.6:
        return Form(((first, Fraction(1)),))
    factors = [1, -1, 2, -2, 3, Fraction(1, 2), Fraction(-1, 3)]
    terms = [(first, Fraction(rng.choice(factors)))]
    if rng.random() < 0.6:
        second = rng.choice(numbers).name
        times = Fraction(rng.choice([*factors, *([0] if rng.random() < 0.3 else [])]))
        terms.append((second, times))
    constant = Fraction(rng.choice([0, 0, 1, -3, Fraction(1, 2)]))
    return Form(tuple(terms), constant)


def draw_condition(columns: dict[str, Any], rng: random.Random, depth: int) -> Any:
    draw = rng.random()
    if draw < 0.07:
        return ("constant", rng.random() < 0.4)
    if depth and draw < 0.35:
        inner = tuple(draw_condition(columns, rng, depth - 1) for _ in range(rng.choice([2, 2, 3])))
        return (rng.choice(["and", "or"]), inner)
    if depth and draw < 0.47:
        return ("not", draw_condition(columns, rng, depth - 1))
    flags = [c for c in columns.values() if c.values and isinstance(c.values[0], bool)]
    if flags and draw < 0.57:
        return ("is true", ("flag", rng.choice(flags).name), rng.random() < 0.5)
    column = rng.choice(list(columns.values()))
    if draw < 0.62:
        return ("missing", column.name, rng.random() < 0.5)
    return _number_test(column, rng) if column.numeric else _category_test(column, rng)


def _category_test(column: Any, rng: random.Random) -> Any:
    if isinstance(column.values[0], bool) and rng.random() < 0.4:
        return ("flag", column.name)
    if rng.random() < 0.5:
        return ("equals", column.name, rng.choice(["=", "<>"]), rng.choice(column.values))
    size = rng.choice([1, len(column.values), len(column.values)])
    return ("in", column.name, tuple(rng.sample(column.values, size)), rng.random() < 0.5)


def _number_test(column: Any, rng: random.Random) -> Any:
    plain = Form(((column.name, Fraction(1)),))
    draw = rng.random()
    if draw < 0.15:
        size = rng.choice([1, 1, 2, column.points])
        values = tuple(rng.sample(column.grid, min(size, column.points)))
        return ("in", column.name, values, rng.random() < 0.4)
    if draw < 0.3:
        return ("compare", plain, rng.choice(["=", "<>"]), rng.choice(column.grid))
    if draw < 0.5:
        low, high = (_threshold(column, rng) for _ in range(2))
        if rng.random() < 0.8:
            low, high = min(low, high), max(low, high)
        return ("between", plain, low, high, rng.random() < 0.3)
    operator, value = rng.choice(["<", "<=", ">", ">="]), _threshold(column, rng)
    if draw < 0.62 and not column.date:
        times = Fraction(rng.choice([2, -1, -3, Fraction(1, 2)]))
        shift = Fraction(rng.choice([0, 1, -2]))
        return (
            "compare",
            Form(((column.name, times),), shift),
            operator,
            times * value + shift,
        )
    return ("compare", plain, operator, value)


def _threshold(column: Any, rng: random.Random) -> Fraction:
    draw = rng.random()
    if draw < 0.15:
        far = rng.choice([1, 1, 10]) * column.step
        return rng.choice([column.low - far, column.high + far])
    value = rng.choice(column.grid)
    return value if draw < 0.85 or column.date else value + column.step / 2
