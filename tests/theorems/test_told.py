"""Prices after what was told: every adaptive strategy on tiny databases, and every wrong rule.

A world is a schema of at most 60 data of one person, other people's data, some batches and a
budget. The best adaptive strategy is found by dynamic programming. Truth comes from enumerator.py,
which shares nothing with the package; prices come from the package.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil

import enumerator
import numpy as np
import pytest
import tiny

from hartley import Column, Schema
from hartley.trusted.pricing import (
    after_answers as rules,
    after_answers as told_counts,
    conditional_price as given_price,
)
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.conditional_price import cells_in_cell, conditional_price
from hartley.trusted.pricing.price import price
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf

PEOPLE = 3
DEPTH = 3
SUMS = (Statistic.COUNT, Statistic.COUNT, Statistic.SUM, Statistic.SQUARES)


# --- random worlds --------------------------------------------------------------------------------


def draw(seed, rows_per_unit, *, orders):
    """Return a tiny schema, and batches of which many have something to do with each other."""
    rng = np.random.default_rng([seed, rows_per_unit, orders])
    rows = ("public", "public", "private")[rng.integers(3)]
    kinds = None
    if rows == "public" and rows_per_unit == 1:
        kinds = (None, ["private", "private", "public"], ["private", "open"])[rng.integers(3)]
    domain = {1: 48, 2: 9, 3: 5}[rows_per_unit]
    schema = tiny.random_schema(
        rng, rows_per_unit=rows_per_unit, rows=rows, domain=domain, kinds=kinds
    )
    most = (PEOPLE + 1) * rows_per_unit
    statistics = tuple(Statistic) if orders else SUMS
    batches = []
    for _ in range(int(rng.integers(3, 7))):
        size = 1 + (rng.integers(3) == 0)
        batches.append([tiny.random_question(rng, schema, most, statistics) for _ in range(size)])
    for batch in list(batches):
        batches += related(batch[0], schema, most, rng)
    return schema, batches[:8], rng


def related(question, schema, most, rng):
    """Return questions that an earlier one says something about: other steps, its count, more."""
    count = replace(
        question,
        statistic=Statistic.COUNT,
        form=None,
        quantile=None,
        least=0,
        most=most,
        step=Fraction(1),
    )
    if question.statistic is Statistic.COUNT:
        other = tiny.random_condition(rng, schema, 1)
        both = (All, Either)[rng.integers(2)]((question.where, other))
        return [[replace(question, where=both)]] if rng.integers(2) else []
    step = Fraction(int(rng.integers(1, 8)), int(rng.integers(1, 3)))
    listed = [[replace(question, step=step)]] if rng.integers(2) else []
    return [*listed, [count]] if rng.integers(2) else listed


def tables_of(schema, batches, rng):
    """Yield, for other people's data and what is public and open, the answers of every datum."""
    world = enumerator.World(schema)
    for public in world.publics:
        data = world.data(public)
        if len(data) > 60:
            continue
        others = np.concatenate([world.others(people, 1, rng) for people in range(PEOPLE + 1)])
        numbers = [
            enumerator.transcripts(world, batch, world.tally(data), others) for batch in batches
        ]
        opened = {}
        for place, value in enumerate(world.opened(data)):
            opened.setdefault(value, []).append(place)
        for row in range(len(others)):
            tables = [answers[row].tolist() for answers in numbers]
            for places in opened.values():
                yield tables, places


def split(table, places):
    parts = {}
    for place in places:
        parts.setdefault(table[place], []).append(place)
    return list(parts.values())


def most_transcripts(  # noqa: PLR0913, PLR0917 - the state of the search
    tables, cost, limit, places, asked=frozenset(), depth=DEPTH, seen=None
):
    """Return the most transcripts that an adaptive analyst can cause within a budget."""
    seen = {} if seen is None else seen
    key = (tuple(places), limit, asked, depth)
    if key not in seen:
        best = 1
        for number, table in enumerate(tables) if depth else ():
            if number in asked or (charge := cost(number, asked)) > limit:
                continue
            parts = split(table, places)
            if len(parts) > 1:
                rest = (limit // charge, asked | {number}, depth - 1)
                best = max(
                    best,
                    sum(
                        most_transcripts(tables, cost, rest[0], part, rest[1], rest[2], seen)
                        for part in parts
                    ),
                )
        seen[key] = best
    return seen[key]


def pricing(schema, batches):
    """Return what a batch costs after some others, in their order."""
    known = {}

    def cost(number, asked):
        key = (number, asked)
        if key not in known:
            told = EarlierAnswers(schema, [q for place in sorted(asked) for q in batches[place]])
            known[key] = conditional_price(batches[number], told).cells
        return known[key]

    return cost


def explore(seeds, rows_per_unit=1, *, cost_of=pricing):
    """Count worlds, those that exceed their budget, and nodes with more answers than charged."""
    counts = Counter()
    for seed in seeds:
        orders = rows_per_unit == 1 and seed % 3 == 0
        schema, batches, rng = draw(seed, rows_per_unit, orders=orders)
        cost = cost_of(schema, batches)
        for tables, places in tables_of(schema, batches, rng):
            limit = int(rng.integers(2, 17))
            counts["worlds"] += 1
            counts["exceeded"] += most_transcripts(tables, cost, limit, places) > limit
            # With an order statistic told, one node may have more children than its charge: the
            # lemma bounds only the whole tree. Everywhere else each node is checked.
            for _ in range(0 if orders else 6):
                walk(tables, cost, places, rng, counts)
    return counts


def walk(tables, cost, places, rng, counts):
    asked = frozenset()
    for number in rng.permutation(len(tables))[:4].tolist():
        parts = split(tables[number], places)
        charge = cost(number, asked)
        counts["nodes"] += 1
        counts["crowded"] += len(parts) > charge
        counts["attained"] += len(parts) == charge
        counts["lowered"] += charge < cost(number, frozenset())
        places, asked = parts[rng.integers(len(parts))], asked | {number}


@pytest.mark.slow
@pytest.mark.parametrize(("rows_per_unit", "seeds"), [(1, 120), (2, 60), (3, 40)])
def test_no_strategy_exceeds_its_budget(rows_per_unit, seeds):
    counts = explore(range(seeds), rows_per_unit)
    assert (counts["exceeded"], counts["crowded"]) == (0, 0)
    assert counts["worlds"] > 3 * seeds
    assert counts["lowered"] > counts["nodes"] / 30  # or the rules would not have been tried
    assert counts["attained"] > counts["nodes"] / 3  # prices are mostly exact


@pytest.mark.long
@pytest.mark.parametrize(("rows_per_unit", "seeds"), [(1, 4000), (2, 1200), (3, 1200)])
def test_no_strategy_exceeds_its_budget_in_many_more_worlds(rows_per_unit, seeds):
    counts = explore(range(1000, 1000 + seeds), rows_per_unit)
    assert (counts["exceeded"], counts["crowded"]) == (0, 0)
    assert counts["worlds"] > (20_000 if rows_per_unit == 1 else 2_500)


# --- numbers to be checked by hand ----------------------------------------------------------------

MANY = 20
FORM = Form((("a", 1),), 0, Fraction(1))


def schema_of(points=6, *, nullable=False, rows="public", rows_per_unit=1, groups=0):
    def column(name, size, **more):
        return Column(
            name, "private", low=Fraction(0), high=Fraction(size - 1), step=Fraction(1), **more
        )

    columns = {"a": column("a", points, nullable=nullable)}
    if groups:
        columns["b"] = column("b", groups)
    unit = None if rows_per_unit == 1 else "who"
    return Schema("t", columns, unit, rows_per_unit, rows, None if rows == "public" else MANY)


def count(low, high, column="a"):
    return Question(Statistic.COUNT, Leaf(column, ((low, high),)), None, None, 0, MANY)


def bins(width, points=6):
    return [count(low, min(low + width, points) - 1) for low in range(0, points, width)]


def total(step, where=All()):  # noqa: B008 - frozen
    return Question(Statistic.SUM, where, FORM, None, 0, 5 * MANY, Fraction(step))


def median(step):
    return Question(Statistic.ORDER, All(), FORM, Fraction(1, 2), 0, 5, Fraction(step))


PRESENT = Question(Statistic.COUNT, All(), None, None, 0, MANY)
FOUR, TWO_ROWS = schema_of(4, groups=3), schema_of(4, rows_per_unit=2)
PRIVATE_ROWS = schema_of(4, rows_per_unit=2, rows="private")
BY_GROUP = [total(3, Leaf("b", ((k, k),))) for k in range(3)]
HAND = {
    "complement": (schema_of(), [count(3, 5)], [count(0, 2)], 2, 1),
    "complement, nullable": (schema_of(nullable=True), [count(3, 5)], [count(0, 2)], 2, 2),
    "and presence": (schema_of(nullable=True), [count(3, 5), count(0, 5)], [count(0, 2)], 2, 1),
    "private rows": (schema_of(rows="private"), [count(3, 5)], [count(0, 2)], 2, 2),
    "and all rows": (schema_of(rows="private"), [count(3, 5), PRESENT], [count(0, 2)], 2, 1),
    "coarser bins": (schema_of(), bins(1), bins(2), 3, 1),
    "finer bins": (schema_of(), bins(2), bins(1), 6, 2),
    "other bins": (schema_of(), bins(3), bins(2), 3, 2),
    "a sum after bins": (schema_of(), bins(2), [total(1)], 6, 2),
    "a coarse sum after bins": (schema_of(), bins(2), [total(2)], 4, 2),
    "a median after bins": (schema_of(), bins(2), [median(1)], 6, 2),
    "a finer sum": (schema_of(), [total(5)], [total(1)], 6, 5),
    "a coarser sum": (schema_of(), [total(2)], [total(4)], 3, 1),
    "a sum of other cells": (schema_of(), [total(2)], [total(5)], 2, 2),
    "bins after a sum": (schema_of(), [total(2)], bins(1), 6, 2),
    "a filtered sum": (schema_of(), [total(2)], [total(1, Leaf("a", ((3, 5),)))], 4, 2),
    "a median in other cells": (schema_of(), [median(3)], [median(2)], 3, 2),
    "a finer median": (schema_of(), [median(3)], [median(1)], 6, 3),
    "a coarser median": (schema_of(), [median(1)], [median(2)], 3, 1),
    "sums by group": (FOUR, [count(k, k, "b") for k in range(3)], BY_GROUP, 4, 2),
    "two rows, complement": (TWO_ROWS, [count(2, 3)], [count(0, 1)], 3, 1),
    "two private rows": (PRIVATE_ROWS, [count(2, 3)], [count(0, 1)], 3, 3),
    "two rows, crossing": (TWO_ROWS, [count(2, 3)], [count(1, 2)], 3, 3),
    "two rows, finer bins": (TWO_ROWS, bins(2, 4), bins(1, 4), 10, 4),
    "two rows, a union of bins": (TWO_ROWS, bins(1, 4), [count(1, 2)], 3, 1),
    "two rows, a finer sum": (TWO_ROWS, [total(2)], [total(1)], 7, 2),
}


@pytest.mark.parametrize("case", HAND.values(), ids=HAND)
def test_prices_that_can_be_checked_by_hand(case):
    schema, told, asked, alone, given = case
    priced = conditional_price(asked, EarlierAnswers(schema, told))
    assert (priced.alone, priced.cells) == (alone, given)
    assert bool(priced.rows) == (given < alone)


@pytest.mark.slow
def test_a_cell_meets_no_more_new_cells_than_the_rule_says():
    steps = sorted({Fraction(a, q) for a in range(1, 13) for q in (1, 2, 3) if a >= q})
    for told in steps:
        cells = {}
        for value in range(150):
            cells.setdefault(value // told, []).append(value)
        for asked in steps:
            most = max(len({value // asked for value in values}) for values in cells.values())
            assert most <= cells_in_cell(told, asked)
            if told.denominator == asked.denominator == 1:
                assert most == cells_in_cell(told, asked)


def test_a_price_never_rises_above_the_price_alone():
    for seed in range(150):
        schema, batches, _ = draw(seed, 1, orders=True)
        told = EarlierAnswers(schema, [question for batch in batches[1:] for question in batch])
        assert conditional_price(batches[0], told).cells <= price(batches[0], schema).cells


def test_the_rows_that_a_price_names_give_it_again():
    for seed in range(150):
        schema, batches, _ = draw(seed, 1, orders=True)
        told = EarlierAnswers(schema)
        for row, batch in enumerate(batches[1:], start=1):
            for question in batch:
                told.add(question, row)
        priced = conditional_price(batches[0], told)
        again = EarlierAnswers(schema)
        for row in priced.rows:
            for question in batches[row]:
                again.add(question, row)
        assert conditional_price(batches[0], again).cells <= priced.cells


# --- wrong rules ----------------------------------------------------------------------------------


def ratio(schema, batches):
    """Charge the price of everything together over the price of what was told."""

    def cost(number, asked):
        told = [q for place in sorted(asked) for q in batches[place]]
        both = price([*told, *batches[number]], schema).cells
        return ceil(Fraction(both, price(told, schema).cells if told else 1))

    return cost


def sums_tell_filters(monkeypatch):
    right = EarlierAnswers.add

    def add(self, question, row):
        right(self, question, row)
        if question.statistic is Statistic.SUM:
            asked = replace(
                question, statistic=Statistic.COUNT, form=None, least=0, most=MANY, step=Fraction(1)
            )
            right(self, asked, row)

    monkeypatch.setattr(EarlierAnswers, "add", add)


def windows_anywhere(monkeypatch):
    class Everything(set):
        def __contains__(self, _):
            return True

    right = rules._windows
    monkeypatch.setattr(rules, "_windows", lambda sums, _: right(sums, Everything()))


def windows_too_short(monkeypatch):
    right = rules._windows

    def shorter(sums, true):
        lengths = right(sums, true).lengths
        return rules.Windows({direction: max(n - 1, 0) for direction, n in lengths.items()})

    monkeypatch.setattr(rules, "_windows", shorter)


def cells_as_if_nested(monkeypatch):
    monkeypatch.setattr(given_price, "cells_in_cell", lambda told, asked: ceil(told / asked))


def nothing_is_missing(monkeypatch):
    right = rules.form_atoms

    def form(asked, schema, *within):
        columns = {name: replace(c, nullable=False) for name, c in schema.columns.items()}
        return right(asked, replace(schema, columns=columns), *within)

    monkeypatch.setattr(rules, "form_atoms", form)


def nobody_is_absent(monkeypatch):
    right = rules.PartPricing.__init__

    def init(self, questions, told):
        right(self, questions, told)
        self.absent = False

    monkeypatch.setattr(rules.PartPricing, "__init__", init)


def parts_of_crossing_filters(monkeypatch):
    monkeypatch.setattr(told_counts, "laminar", list)


def notices(first, rows_per_unit):
    """Whether a seed from the first one on shows a fault; those before it do not."""
    return any(
        counts["exceeded"] or counts["crowded"]
        for seed in range(first, 400)
        for counts in [explore([seed], rows_per_unit)]
    )


@pytest.mark.parametrize(
    ("wrong", "rows_per_unit", "first"),
    [
        (sums_tell_filters, 1, 1),
        (windows_anywhere, 1, 73),
        (windows_too_short, 1, 17),
        (cells_as_if_nested, 1, 23),
        (nothing_is_missing, 1, 31),
        (nobody_is_absent, 1, 8),
        (parts_of_crossing_filters, 2, 23),
    ],
)
def test_every_wrong_rule_is_caught(monkeypatch, wrong, rows_per_unit, first):
    wrong(monkeypatch)
    assert notices(first, rows_per_unit)


@pytest.mark.slow
def test_a_ratio_of_prices_is_caught():
    assert any(explore([seed], cost_of=ratio)["exceeded"] for seed in range(32, 400))


def test_what_was_told_before_new_data_is_caught():
    """The data of both versions vary together: the same count of each is two questions."""
    schema, counted = schema_of(2), [count(1, 1)]
    data = list(product(range(2), repeat=2))
    tables = [[before for before, _ in data], [after for _, after in data]]

    def too_small(_, asked):
        return conditional_price(counted, EarlierAnswers(schema, counted if asked else [])).cells

    def right(*_):
        return conditional_price(counted, EarlierAnswers(schema)).cells

    assert most_transcripts(tables, too_small, 2, range(4)) == 4
    assert most_transcripts(tables, right, 2, range(4)) == 2
