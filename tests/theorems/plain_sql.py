"""Questions in plain Python: drawn at random, spelled as SQL, and answered row by row.

Written from docs/questions.md alone. It imports nothing of the package, so that no mistake of its
parser, its statements or its intervals can hide here. A row is a dict from column to value: a
Fraction (a date is days since 1970-01-01), a category, OTHER, or None where the value is missing.
"""

# ruff: noqa: C901, PLR0911 - one case for every kind of condition
# ruff: noqa: S608 - texts of questions

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

EPOCH = dt.date(1970, 1, 1)
OTHER = ("an undeclared category",)
"""Stands for every category that the schema does not declare; equal to none that it does."""

Row = dict[str, Any]
Condition = tuple[Any, ...]


@dataclass(frozen=True)
class Column:
    """A column as the schema declares it."""

    name: str
    kind: str
    values: tuple[Any, ...] = ()
    """Declared categories; empty of numbers and dates."""
    other: bool = False
    nullable: bool = False
    low: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    points: int = 0
    date: bool = False

    @property
    def numeric(self) -> bool:
        return not self.values

    @property
    def high(self) -> Fraction:
        return self.low + (self.points - 1) * self.step

    @property
    def grid(self) -> list[Any]:
        """Every value but a missing one, in the order of the schema."""
        if self.values:
            return [*self.values, *([OTHER] if self.other else [])]
        return [self.low + k * self.step for k in range(self.points)]

    @property
    def domain(self) -> list[Any]:
        return [*self.grid, *([None] if self.nullable else [])]


@dataclass(frozen=True)
class Form:
    """A linear form: the sum of coefficient times column, plus a constant."""

    terms: tuple[tuple[str, Fraction], ...]
    constant: Fraction = Fraction(0)

    def of(self, row: Row) -> Fraction | None:
        if any(row[name] is None for name, _ in self.terms):
            return None
        return self.constant + sum((times * row[name] for name, times in self.terms), Fraction(0))


@dataclass(frozen=True)
class Aggregate:
    function: str
    form: Form | None
    """None of COUNT(*)."""
    column: str | None = None
    """Of COUNT(column)."""
    p: Fraction | None = None


@dataclass(frozen=True)
class Key:
    """What groups are formed by: a column, or bins of it."""

    column: str
    spelling: str = "column"
    """Or bin, or floor."""
    width: Fraction = Fraction(1)

    def of(self, value: Any) -> Any:
        if self.spelling == "column" or value is None:
            return value
        number = math.floor(value / self.width)
        return number if self.spelling == "floor" else number * self.width


@dataclass(frozen=True)
class Select:
    aggregates: tuple[Aggregate, ...]
    where: Condition | None
    keys: tuple[Key, ...] = ()


# --- meaning ------------------------------------------------------------------------------------


def truth(condition: Condition, row: Row) -> bool | None:
    """Return TRUE, FALSE or NULL, as SQL has it."""
    kind, *parts = condition
    match kind:
        case "constant":
            return parts[0]
        case "compare":
            form, operator, number = parts
            value = form.of(row)
            return None if value is None else _compared(value, operator, number)
        case "equals":
            name, operator, value = parts
            if row[name] is None:
                return None
            return (row[name] == value) == (operator == "=")
        case "in":
            name, values, negated = parts
            return None if row[name] is None else (row[name] in values) != negated
        case "between":
            form, low, high, negated = parts
            value = form.of(row)
            return None if value is None else (low <= value <= high) != negated
        case "missing":
            name, negated = parts
            return (row[name] is None) != negated
        case "flag":
            return row[parts[0]]
        case "is true":
            inner, negated = parts
            return (truth(inner, row) is True) != negated
        case "not":
            inner = truth(parts[0], row)
            return None if inner is None else not inner
        case "and":
            truths = [truth(part, row) for part in parts[0]]
            return False if False in truths else None if None in truths else True
        case "or":
            truths = [truth(part, row) for part in parts[0]]
            return True if True in truths else None if None in truths else False
    raise AssertionError(kind)


def _compared(value: Fraction, operator: str, number: Fraction) -> bool:
    return {
        "=": value == number,
        "<>": value != number,
        "<": value < number,
        "<=": value <= number,
        ">": value > number,
        ">=": value >= number,
    }[operator]


def aggregate_truth(aggregate: Aggregate, rows: list[Row]) -> Fraction | None:
    """Return the true number; of a deviation its square, which is rational."""
    if aggregate.function == "COUNT":
        name = aggregate.column
        return Fraction(sum(name is None or row[name] is not None for row in rows))
    assert aggregate.form is not None
    numbers = sorted(v for v in map(aggregate.form.of, rows) if v is not None)
    n = len(numbers)
    if aggregate.function == "SUM":
        return sum(numbers, Fraction(0))
    if not n:
        return None
    mean = sum(numbers, Fraction(0)) / n
    match aggregate.function:
        case "AVG":
            return mean
        case "MIN":
            return numbers[0]
        case "MAX":
            return numbers[-1]
        case "MEDIAN" | "QUANTILE" | "QUANTILE_DISC" | "PERCENTILE_DISC":
            p = Fraction(1, 2) if aggregate.p is None else aggregate.p
            return numbers[max(math.ceil(p * n), 1) - 1]
    squares = sum(((number - mean) ** 2 for number in numbers), Fraction(0))
    if aggregate.function in {"VAR_POP", "STDDEV_POP"}:
        return squares / n
    return squares / (n - 1) if n > 1 else None


def is_root(aggregate: Aggregate) -> bool:
    return aggregate.function.startswith("STDDEV")


def groups_of(key: Key, columns: dict[str, Column]) -> list[Any]:
    """Return the groups that the schema has, in its order."""
    return list(dict.fromkeys(key.of(value) for value in columns[key.column].domain))


def answer(
    select: Select, rows: list[Row], columns: dict[str, Column]
) -> list[tuple[tuple[Any, ...], list[Fraction | None]]]:
    """Return every group with its true numbers; without GROUP BY one group without a key."""
    chosen = [row for row in rows if select.where is None or truth(select.where, row) is True]
    groups = []
    for group in product(*(groups_of(key, columns) for key in select.keys)):
        inside = [
            row
            for row in chosen
            if all(
                key.of(row[key.column]) == part
                for key, part in zip(select.keys, group, strict=True)
            )
        ]
        groups.append(
            (group, [aggregate_truth(aggregate, inside) for aggregate in select.aggregates])
        )
    return groups


# --- spelling -----------------------------------------------------------------------------------


def literal(value: Any, column: Column | None, rng: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if column is not None and column.date:
        day = EPOCH + dt.timedelta(days=int(value))
        return f"DATE '{day}'" if rng.random() < 0.7 else f"'{day}'"
    return number(Fraction(value), rng)


def number(value: Fraction, rng: Any) -> str:
    if value.denominator == 1:
        return str(value.numerator) + (".0" if rng.random() < 0.1 else "")
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        digits = 0
        while (value * 10**digits).denominator != 1:
            digits += 1
        whole = abs(int(value * 10**digits))
        sign = "-" if value < 0 else ""
        return f"{sign}{whole // 10**digits}.{whole % 10**digits:0{digits}}"
    return f"{value.numerator}/{value.denominator}"


def spell_form(form: Form, rng: Any) -> str:
    parts = []
    for name, times in form.terms:
        called = name.upper() if rng.random() < 0.1 else name
        if times == 1:
            parts.append(called)
        elif times == -1:
            parts.append(f"-{called}")
        elif times.numerator == 1 and rng.random() < 0.5:
            parts.append(f"{called} / {times.denominator}")
        elif rng.random() < 0.5:
            parts.append(f"{_factor(times, rng)} * {called}")
        else:
            parts.append(f"{called} * {_factor(times, rng)}")
    if form.constant or not parts:
        parts.append(number(form.constant, rng))
    return " + ".join(parts).replace("+ -", "- ")


def _factor(times: Fraction, rng: Any) -> str:
    text = number(times, rng)
    return f"({text})" if "/" in text or text.startswith("-") else text


def spell(condition: Condition, columns: dict[str, Column], rng: Any) -> str:
    kind, *parts = condition
    match kind:
        case "constant":
            return "TRUE" if parts[0] else "FALSE"
        case "compare":
            form, operator, value = parts
            column = columns[form.terms[0][0]]
            return f"{spell_form(form, rng)} {operator} {literal(value, column, rng)}"
        case "equals":
            name, operator, value = parts
            return f"{name} {operator} {literal(value, columns[name], rng)}"
        case "in":
            name, values, negated = parts
            listed = ", ".join(literal(value, columns[name], rng) for value in values)
            return f"{name} {'NOT ' if negated else ''}IN ({listed})"
        case "between":
            form, low, high, negated = parts
            column = columns[form.terms[0][0]]
            ends = f"{literal(low, column, rng)} AND {literal(high, column, rng)}"
            return f"{spell_form(form, rng)} {'NOT ' if negated else ''}BETWEEN {ends}"
        case "missing":
            return f"{parts[0]} IS {'NOT ' if parts[1] else ''}NULL"
        case "flag":
            return parts[0]
        case "is true":
            return f"{spell(parts[0], columns, rng)} IS {'NOT ' if parts[1] else ''}TRUE"
        case "not":
            return f"NOT ({spell(parts[0], columns, rng)})"
        case "and" | "or":
            return f" {kind.upper()} ".join(f"({spell(part, columns, rng)})" for part in parts[0])
    raise AssertionError(kind)


def spell_aggregate(aggregate: Aggregate, rng: Any) -> str:
    name = aggregate.function
    if name == "COUNT":
        return f"COUNT({aggregate.column or '*'})"
    assert aggregate.form is not None
    inner = spell_form(aggregate.form, rng)
    if name == "PERCENTILE_DISC":
        return f"PERCENTILE_DISC({number(aggregate.p, rng)}) WITHIN GROUP (ORDER BY {inner})"
    if aggregate.p is not None:
        return f"{name}({inner}, {number(aggregate.p, rng)})"
    return f"{name}({inner})"


def spell_key(key: Key, rng: Any) -> str:
    if key.spelling == "bin":
        return f"BIN({key.column}, {number(key.width, rng)})"
    if key.spelling == "floor":
        return f"FLOOR({key.column} / {_factor(key.width, rng)})"
    return key.column


def spell_select(select: Select, columns: dict[str, Column], rng: Any) -> str:
    keys = [spell_key(key, rng) for key in select.keys]
    listed = [spell_aggregate(aggregate, rng) for aggregate in select.aggregates]
    if rng.random() < 0.15:
        listed = [f"{text} AS n{place}" for place, text in enumerate(listed)]
    shown = [*(keys if rng.random() < 0.5 else []), *listed]
    text = f"SELECT {', '.join(shown)} FROM {'T' if rng.random() < 0.1 else 't'}"
    if select.where is not None:
        text += f" WHERE {spell(select.where, columns, rng)}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
    return text + (" -- a remark" if rng.random() < 0.05 else "")


# --- the same in other words --------------------------------------------------------------------

OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def reword(condition: Condition | None, columns: dict[str, Column], rng: Any) -> Condition | None:
    """Return a condition that is TRUE of the same rows, whatever the table."""
    if condition is None:
        return ("constant", True) if rng.random() < 0.5 else None
    kind, *parts = condition
    if kind in {"and", "or"}:
        inner = [reword(part, columns, rng) for part in parts[0]]
        rng.shuffle(inner)
        if rng.random() < 0.4:
            return ("not", ("or" if kind == "and" else "and", tuple(("not", p) for p in inner)))
        return (kind, tuple(inner))
    if kind == "compare":
        form, operator, value = parts
        ((name, times),) = form.terms
        draw = rng.random()
        if draw < 0.4:
            return ("not", ("compare", form, OPPOSITE[operator], value))
        if draw < 0.7 and form.constant == 0 and times == 1 and not columns[name].date:
            turned = Form(((name, Fraction(-1)),))
            return ("compare", turned, TURNED[operator], -value)
        return condition
    if kind == "between":
        form, low, high, negated = parts
        inside = ("and", (("compare", form, ">=", low), ("compare", form, "<=", high)))
        return ("not", inside) if negated else inside
    if kind == "in" and rng.random() < 0.7:
        name, values, negated = parts
        either = ("or", tuple(("equals", name, "=", value) for value in values))
        return ("not", either) if negated else either
    draw = rng.random()
    if draw < 0.3:
        return ("not", ("not", condition))
    if draw < 0.6 and kind == "flag":
        return ("is true", condition, False)
    return condition


def features(select: Select, columns: dict[str, Column]) -> Counter[str]:
    """Count the parts of SQL that a question uses."""
    counts: Counter[str] = Counter()
    for aggregate in select.aggregates:
        name = aggregate.function
        counts[name + ("" if name != "COUNT" else "(column)" if aggregate.column else "(*)")] += 1
        form = aggregate.form
        if form is not None:
            plain = Form(((form.terms[0][0], Fraction(1)),))
            counts["linear form"] += len(form.terms) > 1
            counts["scaled or shifted form"] += len(form.terms) == 1 and form != plain
            counts["aggregate of dates"] += any(columns[name].date for name, _ in form.terms)
    counts["several aggregates"] += len(select.aggregates) > 1
    counts["no WHERE"] += select.where is None
    for key in select.keys:
        kinds = {"column": "GROUP BY values", "bin": "GROUP BY BIN", "floor": "GROUP BY FLOOR"}
        counts[kinds[key.spelling]] += 1
        counts[f"GROUP BY {columns[key.column].kind} column"] += 1
    counts["GROUP BY several keys"] += len(select.keys) > 1
    if select.where is not None:
        _condition_features(select.where, columns, counts)
        rows = [dict(zip(columns, row, strict=True)) for row in _records(columns)]
        truths = {truth(select.where, row) is True for row in rows}
        counts["contradiction"] += truths == {False}
        counts["tautology"] += truths == {True}
    return +counts


def _records(columns: dict[str, Column]) -> list[tuple[Any, ...]]:
    return list(product(*(column.domain for column in columns.values())))


def _condition_features(
    condition: Condition, columns: dict[str, Column], counts: Counter[str]
) -> None:
    kind, *parts = condition
    counts[
        {
            "constant": "TRUE or FALSE",
            "compare": f"compare {parts[1] if len(parts) > 1 else ''}",
            "equals": f"category {parts[1] if len(parts) > 1 else ''}",
        }.get(kind, kind.upper())
    ] += 1
    if kind in {"and", "or"}:
        for part in parts[0]:
            _condition_features(part, columns, counts)
    elif kind in {"not", "is true"}:
        _condition_features(parts[0], columns, counts)
    elif kind in {"in", "between"}:
        counts[f"NOT {kind.upper()}"] += parts[-1]
    elif kind == "missing":
        counts["IS NOT NULL"] += parts[-1]
    if kind == "compare":
        form, _, value = parts
        ((name, times),) = form.terms
        ends = sorted(form.of({name: end}) for end in (columns[name].low, columns[name].high))
        counts["compare outside the range"] += not ends[0] <= value <= ends[1]
        counts["compare a linear form"] += times != 1 or form.constant != 0
        counts["compare a date"] += columns[name].date
