"""Tiny databases, enumerated: every value of one person's data, with everybody else fixed.

Written from the specification alone. It imports nothing of the package: schemas and questions are
read by the names of their fields, so that no mistake of the pricing can hide here.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations_with_replacement, product

import numpy as np

NULL = -(10**6)
"""Stands for the answer of an order statistic of no rows; no cell has this number."""


def passes(condition, record) -> bool:
    """Whether a record, a dict from column to code or None, satisfies a condition."""
    kind = type(condition).__name__
    if kind == "Test":
        code = record[condition.column]
        if code is None:
            return condition.missing
        return any(low <= code <= high for low, high in condition.codes)
    truths = (passes(part, record) for part in condition.parts)
    return all(truths) if kind == "All" else any(truths)


def value(form, record) -> int:
    """Return the whole number that a form gives a record whose columns are present."""
    return form.constant + sum(times * record[column] for column, times in form.terms)


class World:
    """All records, and all data of one person, that a schema allows."""

    def __init__(self, schema) -> None:
        self.schema = schema
        self.names = list(schema.columns)
        domains = [
            [*range(column.points), *([None] if column.nullable else [])]
            for column in schema.columns.values()
        ]
        self.records = [dict(zip(self.names, codes, strict=True)) for codes in product(*domains)]

    def part(self, kind: str) -> list[tuple]:
        """Return the values that each record has in the columns of one kind."""
        names = [name for name in self.names if self.schema.columns[name].kind == kind]
        return [tuple(record[name] for name in names) for record in self.records]

    @cached_property
    def publics(self) -> list[tuple]:
        return sorted(set(self.part("public")), key=repr)

    def data(self, public, rows: int | None = None) -> list[tuple[int, ...]]:
        """Return all data of one person: what is public of the person is given, as in life.

        A public column is the same in all rows of a person. The number of rows is given too
        unless it is private.
        """
        parts = self.part("public")
        own = [number for number, part in enumerate(parts) if part == public]
        most = self.schema.rows_per_unit
        sizes = range(most + 1) if self.schema.rows == "private" else [rows or most]
        return [chosen for k in sizes for chosen in combinations_with_replacement(own, k)]

    def opened(self, data) -> list[tuple]:
        """Return what the open columns say of each data, the number of rows included.

        Without an open column nothing was paid for, and nothing is opened.
        """
        parts = self.part("open")
        if not any(parts):
            return [()] * len(data)
        return [tuple(sorted((parts[row] for row in rows), key=repr)) for rows in data]

    def others(self, people: int, amount: int, rng) -> np.ndarray:
        """Return how often each record occurs in the data of everybody else, for some choices.

        Whatever their public columns say, and however many rows they have, no one else's data is
        looked at again: a table is a multiset of records.
        """
        most = people * self.schema.rows_per_unit
        rows = rng.integers(0, len(self.records), (amount, most))
        counts = np.zeros((amount, len(self.records)), dtype=np.int64)
        if most:
            kept = rng.random((amount, most)) < rng.random((amount, 1)) * 1.5
            places = np.broadcast_to(np.arange(amount)[:, None], rows.shape)
            np.add.at(counts, (places[kept], rows[kept]), 1)
        return counts

    def tally(self, portfolios) -> np.ndarray:
        """Return how often each record occurs in each portfolio of rows."""
        counts = np.zeros((len(portfolios), len(self.records)), dtype=np.int64)
        for number, rows in enumerate(portfolios):
            for row in rows:
                counts[number, row] += 1
        return counts


def _order(question, inside, values, own, others) -> np.ndarray:
    """Return the ceil(p n)-th smallest value of each table, or NULL."""
    levels = sorted({values[k] for k in range(len(values)) if inside[k]})
    if not levels:
        return np.full((len(others), len(own)), NULL, dtype=np.int64)
    at = np.array([[inside[k] and values[k] == v for v in levels] for k in range(len(values))])
    mine, theirs = own @ at, others @ at
    totals = np.cumsum(theirs[:, None, :] + mine[None, :, :], axis=2)
    n = totals[:, :, -1]
    p = question.quantile
    rank = np.maximum(-((-p.numerator * n) // p.denominator), 1)
    found = np.array(levels)[np.argmax(totals >= rank[:, :, None], axis=2)]
    cells = (found - question.least) * question.step.denominator // question.step.numerator
    return np.where(n > 0, cells, NULL)


def answers(world, question, own, others) -> np.ndarray:
    """Return the cell that every table is answered with: others down, one person's data across."""
    inside = [passes(question.where, record) for record in world.records]
    values = [
        value(question.form, record) if hit and question.form is not None else 0
        for record, hit in zip(world.records, inside, strict=True)
    ]
    kind = str(question.statistic.value)
    if kind == "order statistic":
        return _order(question, inside, values, own, others)
    per_record = {
        "count": [int(hit) for hit in inside],
        "sum": values,
        "sum of squares": [v * v for v in values],
    }[kind]
    amounts = np.array(per_record, dtype=np.int64)
    totals = (others @ amounts)[:, None] + (own @ amounts)[None, :]
    return (totals - question.least) * question.step.denominator // question.step.numerator


def transcripts(world, questions, own, others) -> np.ndarray:
    """Number the vectors of answers: two tables of a row get one number iff they answer alike."""
    numbers = np.zeros((len(others), len(own)), dtype=np.int64)
    room = 1
    for question in questions:
        cells = answers(world, question, own, others)
        there = cells != NULL
        # Counted from the smallest cell of the row: cells of different rows are never compared.
        least = np.min(cells, axis=1, initial=2**40, where=there, keepdims=True)
        codes = np.where(there, cells - least + 1, 0)
        width = int(codes.max()) + 1
        room *= width
        assert room < 2**62, "numbers of transcripts do not fit"
        numbers = numbers * width + codes
    return numbers


def distinct(numbers) -> np.ndarray:
    """Count the different numbers of each row."""
    ordered = np.sort(numbers, axis=1)
    return 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)


def largest(numbers, opened) -> tuple[int, int]:
    """Return the most transcripts of one opened value, and of all data together."""
    by_type: dict[tuple, list[int]] = {}
    for place, key in enumerate(opened):
        by_type.setdefault(key, []).append(place)
    within = max(int(distinct(numbers[:, places]).max()) for places in by_type.values())
    return within, int(distinct(numbers).max())


def best_strategy(  # noqa: PLR0913, PLR0917 - the state of the search
    tables, price, limit: int, possible, asked=frozenset(), seen=None
) -> int:
    """Return the most transcripts that an adaptive analyst can cause within a budget.

    ``tables`` has one list of answers a batch, a number for each of one person's data. The analyst
    picks the next batch by what was seen and pays ``price(batch, batches asked before)``.
    """
    seen = {} if seen is None else seen
    key = (possible, limit, asked)
    if key not in seen:
        best = 1
        for number, table in enumerate(tables):
            cost = price(number, asked)
            parts: dict[int, set[int]] = {}
            for place in possible:
                parts.setdefault(table[place], set()).add(place)
            if cost <= limit and len(parts) > 1:
                rest = (limit // cost, asked | {number})
                total = sum(
                    best_strategy(tables, price, rest[0], frozenset(part), rest[1], seen)
                    for part in parts.values()
                )
                best = max(best, total)
        seen[key] = best
    return seen[key]
