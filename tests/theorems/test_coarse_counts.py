"""Counts in cells of several rows: prices against an enumeration, and answers of real agents.

The enumeration is written here from the definition: all data of one person, other people's data
drawn at random, every vector of answers. It shares nothing with the pricing.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, comb, floor

import numpy as np
import pytest

from hartley import Agent, Column, Schema, Wish
from hartley.agent.replay import verify_prices
from hartley.trusted.precision import PriceDesk
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.conditional_price import conditional_price
from hartley.trusted.pricing.price import price
from hartley.trusted.pricing.regions import disjoint_families, vectors_of_counts
from hartley.trusted.questions.batch import All, Form, Question, Statistic, Test as Leaf

MANY = 1000


def schema_of(rows_per_unit, *, rows="public", groups=6, values=4):
    """Return a schema with the private columns g and v."""
    columns = {
        name: Column(name, "private", low=Fraction(0), high=Fraction(size - 1), step=Fraction(1))
        for name, size in (("g", groups), ("v", values))
    }
    return Schema(
        "visits", columns, unit="who", rows_per_unit=rows_per_unit, rows=rows, max_rows=MANY
    )


def count(low, high, step=1, column="g"):
    return Question(
        Statistic.COUNT, Leaf(column, ((low, high),)), None, None, 0, MANY, Fraction(step)
    )


def total(step, where=All()):  # noqa: B008 - frozen
    return Question(
        Statistic.SUM, where, Form((("v", 1),), 0, Fraction(1)), None, 0, 3 * MANY, Fraction(step)
    )


def by_group(step, groups=6):
    return [count(k, k, step) for k in range(groups)]


# --- numbers that can be checked by hand --------------------------------------------------------


@pytest.mark.parametrize(("step", "cells"), [(10, 2), (5, 3), (4, 4), (2, 6), (1, 11)])
def test_a_lone_count_of_ten_rows(step, cells):
    assert price([count(0, 0, step)], schema_of(10)).cells == cells


@pytest.mark.parametrize(
    ("step", "public", "private"),
    [(1, 3003, 8008), (2, 1335, 1335), (5, 250, 250), (10, 64, 64)],
)
def test_six_groups_of_ten_rows_share_them(step, public, private):
    assert price(by_group(step), schema_of(10)).cells == public
    assert price(by_group(step), schema_of(10, rows="private")).cells == private
    some = price(by_group(step), schema_of(10, groups=7)).cells
    assert some == private  # they do not cover everybody


def test_one_row_a_person_gains_nothing():
    assert price([count(0, 0, 5)], schema_of(1)).cells == 2


def listed(steps, rows):
    """Count the vectors of boundaries one by one."""
    ranges = [range(ceil(rows / step) + 1) for step in steps]
    needs = [[0, *(1 + j * step for j in range(rows))] for step in steps]
    return sum(
        sum(need[j] for need, j in zip(needs, vector, strict=True)) <= rows
        for vector in product(*ranges)
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_number_of_vectors_is_that_of_a_list(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 9))
    steps = [int(step) for step in rng.integers(1, rows + 2, rng.integers(1, 5))]
    assert vectors_of_counts([(step, rows) for step in steps], rows) == listed(steps, rows)
    assert vectors_of_counts([(step, 0) for step in steps], rows) == 1


def test_families_are_disjoint():
    seen = [{0, 1}, {2}, {3, 0}, {1, 4}]
    families = disjoint_families(range(5), seen)
    assert sorted(n for family in families for n in family) == list(range(5))
    assert all(len({*family} & kind) <= 1 for family in families for kind in seen)


def test_the_number_of_exact_counts_is_that_of_multisets():
    assert vectors_of_counts([(1, 7)] * 4, 7) == comb(7 + 4, 4)


# --- enumeration --------------------------------------------------------------------------------


def holds(condition, record):
    if isinstance(condition, Leaf):
        return any(low <= record[condition.column] <= high for low, high in condition.codes)
    truths = [holds(part, record) for part in condition.parts]
    return all(truths) if isinstance(condition, All) else any(truths)


def added(question, record):
    """What one record adds to a statistic."""
    if not holds(question.where, record):
        return 0
    return 1 if question.form is None else sum(t * record[c] for c, t in question.form.terms)


def most_answers(schema, questions, rng, tables=60):
    """Return the most vectors of cells that one person's data can cause among drawn tables."""
    names = list(schema.columns)
    records = [
        dict(zip(names, codes, strict=True))
        for codes in product(*(range(schema.columns[name].points) for name in names))
    ]
    adds = [[added(question, record) for question in questions] for record in records]
    steps = np.array([int(question.step) for question in questions])
    r = schema.rows_per_unit
    sizes = [range(r + 1)] if schema.rows == "private" else [[k] for k in range(1, r + 1)]
    most = 0
    for amounts in sizes:
        people = [
            np.sum([adds[k] for k in chosen], axis=0) if chosen else np.zeros(len(questions), int)
            for amount in amounts
            for chosen in combinations_with_replacement(range(len(records)), amount)
        ]
        people = np.unique(np.array(people, dtype=int), axis=0)
        for _ in range(tables):
            others = rng.integers(0, len(records), rng.integers(0, 8 * r))
            start = np.sum([adds[k] for k in others], axis=0) if len(others) else 0
            most = max(most, len({*map(tuple, ((people + start) // steps).tolist())}))
    return most


def draw(rng):
    """Return a schema with few records, and a batch with a coarse count."""
    r = int(rng.integers(2, 5))
    schema = schema_of(
        r,
        rows=("public", "private")[rng.integers(2)],
        groups=int(rng.integers(2, 4)),
        values=int(rng.integers(2, 4)),
    )
    groups = schema.columns["g"].points

    def step():
        return int(rng.integers(1, r + 2))

    shape = rng.integers(4)
    if shape == 0:  # disjoint
        questions = [count(k, k, step()) for k in range(groups)]
    elif shape == 1:  # overlapping
        ends = [sorted(rng.integers(0, groups, 2)) for _ in range(3)]
        questions = [count(int(low), int(high), step()) for low, high in ends]
    else:
        questions = [count(0, 0, step()), count(1, 1, step(), column=("g", "v")[rng.integers(2)])]
    if shape == 3 or rng.integers(3) == 0:  # with sums
        where = [All(), Leaf("g", ((0, 0),)), Leaf("v", ((1, 1),))][rng.integers(3)]
        questions.append(total(int(rng.integers(1, 3 * r)), where))
        if rng.integers(2):
            questions.append(total(int(rng.integers(1, 3 * r)), Leaf("g", ((1, 1),))))
    return schema, questions


def explore(seeds):
    """Compare prices of drawn batches with the enumeration; count what happened."""
    seen = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        schema, questions = draw(rng)
        if all(q.step == 1 for q in questions if q.statistic is Statistic.COUNT):
            continue
        cells = price(questions, schema).cells
        exact = [replace(q, step=Fraction(1)) if q.form is None else q for q in questions]
        seen["worlds"] += 1
        seen["cheaper"] += cells < price(exact, schema).cells
        seen["dearer"] += cells > price(exact, schema).cells
        answers = most_answers(schema, questions, rng)
        seen["exceeded"] += answers > cells
        seen["attained"] += answers == cells
    return seen


@pytest.mark.slow
def test_no_data_of_one_person_cause_more_answers_than_the_price():
    seen = explore(range(60))
    assert seen["exceeded"] == seen["dearer"] == 0
    assert seen["attained"] > seen["worlds"] / 3
    assert seen["cheaper"] > seen["worlds"] / 4


@pytest.mark.slow
def test_prices_beyond_the_caps_are_sound_too(monkeypatch):
    monkeypatch.setattr("hartley.trusted.pricing.atoms.MOST_ATOMS", (2, 0))
    monkeypatch.setattr("hartley.trusted.pricing.several_rows.MOST_MULTISETS", 3)
    monkeypatch.setattr("hartley.trusted.pricing.price.MOST_TYPES", 2)
    seen = explore(range(200, 260))
    assert seen["exceeded"] == 0
    assert seen["worlds"] > 30


@pytest.mark.long
def test_no_data_of_one_person_cause_more_answers_in_many_more_worlds():
    seen = explore(range(1000, 4000))
    assert seen["exceeded"] == seen["dearer"] == 0
    assert seen["worlds"] > 2000


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["boundary later", "rows not shared twice"])
def test_a_wrong_number_of_vectors_is_caught(monkeypatch, wrong):
    right = vectors_of_counts

    def vectors(counts, rows):
        if wrong == "boundary later":  # as if the first boundary were a whole step away
            return listed_from([step for step, _ in counts], rows)
        return right([(step + 1, most) for step, most in counts], rows)

    def listed_from(steps, rows):
        ranges = [range(rows // step + 1) for step in steps]
        return sum(
            sum(j * step for j, step in zip(vector, steps, strict=True)) <= rows
            for vector in product(*ranges)
        )

    monkeypatch.setattr("hartley.trusted.pricing.regions.vectors_of_counts", vectors)
    assert explore(range(60))["exceeded"] > 0


# --- after earlier charges ----------------------------------------------------------------------


def test_a_coarse_count_tells_its_own_cells_and_nothing_else():
    schema = schema_of(8)
    told = EarlierAnswers(schema, [count(0, 2, 4)])
    assert conditional_price([count(0, 2, 2)], told).cells == 2  # rule S
    assert conditional_price([count(0, 2, 4)], told).cells == 1
    alone = price([count(3, 5, 1)], schema).cells
    assert conditional_price([count(3, 5, 1)], told).cells == alone  # the complement is not known
    assert conditional_price([count(0, 2)], EarlierAnswers(schema, [count(0, 2)])).cells == 1


def test_exact_counts_decide_a_coarse_one():
    told = EarlierAnswers(schema_of(8), [count(0, 0), count(1, 1)])
    assert conditional_price([count(0, 1, 3)], told).cells == 1
    assert (
        conditional_price([count(2, 5, 3)], told).cells == 1
    )  # all others, as the rows are public


def test_a_count_in_two_steps_costs_as_much_as_the_finer():
    schema = schema_of(8)
    exact, coarse, finer = count(0, 2), count(0, 2, 4), count(0, 2, 2)
    assert price([exact, coarse], schema).cells == price([exact], schema).cells
    assert price([finer, coarse], schema).cells == price([finer], schema).cells
    assert price([count(0, 2, 3), finer], schema).cells > price([finer], schema).cells
    many = [count(0, 2, step) for step in (2, 3, 5, 7)]
    assert price(many, schema).cells <= price([exact], schema).cells


# --- wishes -------------------------------------------------------------------------------------

VISITS = {
    "table": {"name": "visits", "unit": "who", "rows_per_unit": 10},
    "columns": {
        "dg": {"kind": "private", "values": list("uvwxyz")},
        "pay": {"kind": "private", "range": [10, 110], "step": 1},
    },
}
ONE, BY_DG = (
    "SELECT COUNT(*) FROM visits WHERE dg = 'u'",
    "SELECT dg, COUNT(*) FROM visits GROUP BY dg",
)


def planned(text, **wish):
    schema = Schema.read(VISITS)
    desk = PriceDesk(schema, 5000)
    (selection,) = desk.plan(Wish(text, **wish), None, None)
    return price(selection.questions, schema).cells, desk.errors(selection)[0][1], selection


@pytest.mark.parametrize(
    ("bits", "cells", "step"), [(1, 2, 10), ("1.6", 3, 5), (2, 4, 4), (3, 6, 2), ("3.46", 11, 1)]
)
def test_bits_buy_a_coarse_count(bits, cells, step):
    assert planned(ONE, bits=bits)[:2] == (cells, Fraction(step - 1, 2))


@pytest.mark.parametrize(("bits", "cells", "step"), [(6, 64, 10), (8, 250, 5), (11, 1335, 2)])
def test_bits_buy_coarse_groups(bits, cells, step):
    assert planned(BY_DG, bits=bits)[:2] == (cells, Fraction(step - 1, 2))


@pytest.mark.parametrize("error", [0, "0.4", "0.5", 1, 2, 3, 4, "4.5", 100])
def test_an_error_buys_a_coarse_count_that_keeps_it(error):
    cells, worst, selection = planned(ONE, error=error)
    assert worst <= Fraction(error)
    step = min(floor(2 * Fraction(error)) + 1, 10)
    assert cells == 1 + ceil(10 / step)
    # No finer count has the same price.
    (asked,) = selection.questions
    finer = replace(asked, step=asked.step - 1) if asked.step > 1 else asked
    assert asked.step == 1 or price([finer], Schema.read(VISITS)).cells > cells


@pytest.mark.parametrize(
    "text",
    [
        "SELECT AVG(pay) FROM visits WHERE dg = 'u'",
        "SELECT COUNT(*), AVG(pay) FROM visits WHERE dg = 'u'",
        "SELECT STDDEV(pay), COUNT(*) FROM visits WHERE dg = 'u'",
        "SELECT COUNT(*), SUM(pay) FROM visits WHERE dg = 'u'",  # shifted by the count
    ],
)
def test_what_is_divided_by_a_count_needs_it_exactly(text):
    selection = planned(text, bits=5)[2]
    counts = [q for q in selection.questions if q.statistic is Statistic.COUNT]
    assert all(q.step == 1 or q.step > q.most - q.least for q in counts)
    assert not selection.coarse_counts


def test_a_count_and_a_sum_are_coarse_together():
    columns = {**VISITS["columns"], "pay": {"kind": "private", "range": [0, 100], "step": 1}}
    schema = Schema.read({**VISITS, "columns": columns})
    text = "SELECT COUNT(*), SUM(pay) FROM visits WHERE dg = 'u'"
    (selection,) = PriceDesk(schema, 5000).plan(Wish(text, bits=3), None, None)
    steps = {q.statistic: q.step for q in selection.questions}
    assert price(selection.questions, schema).cells <= 8
    assert 1 < steps[Statistic.COUNT] <= 10
    assert steps[Statistic.SUM] < 1000


# --- a real agent -------------------------------------------------------------------------------

TINY = {
    "table": {"name": "visits", "unit": "who", "rows_per_unit": 3},
    "columns": {
        "g": {"kind": "private", "values": ["a", "b"]},
        "v": {"kind": "private", "range": [0, 1], "step": 1},
    },
}
NAMES = ("who", "g", "v")
ASKED = (
    Wish("SELECT COUNT(*) FROM visits WHERE v = 1", bits=1),
    Wish("SELECT g, COUNT(*) FROM visits GROUP BY g", bits=3),
    Wish("SELECT COUNT(*) AS n, SUM(v) AS s FROM visits WHERE g = 'a'", bits=2),
)


@pytest.mark.slow
def test_an_agent_answers_truly_and_no_more_often_than_charged(tmp_path):
    others = [("p", "a", 1), ("p", "b", 0), ("q", "a", 1), ("q", "b", 1), ("q", "a", 0)]
    seen = {wish: set() for wish in (*ASKED, None)}
    people = [*combinations_with_replacement(list(product("ab", (0, 1))), 3)]
    tables = [[*others, *(("me", *record) for record in own)] for own in people]
    columns = [{name: [row[k] for row in t] for k, name in enumerate(NAMES)} for t in tables]
    with Agent(columns[0], TINY, ledger=tmp_path / "ledger.db", budget=2000) as agent:
        prices = {wish: agent.price(wish).cells for wish in ASKED}
        prices[None] = agent.price(list(ASKED)).cells
        for rows, table in zip(tables, columns, strict=True):
            agent.update(table)
            everything = []
            for wish, answer in zip(ASKED, agent.ask(list(ASKED)), strict=True):
                shown = tuple(
                    (estimate.low, estimate.high) for row in answer.reading.rows for estimate in row
                )
                for (low, high), true in zip(shown, truths(wish, rows), strict=True):
                    assert low <= true <= high
                seen[wish].add(shown)
                everything.append(shown)
            seen[None].add(tuple(everything))
        report = verify_prices(agent.ledger)
    assert report.holds
    assert (report.repriced, report.unpriced) == (len(people), 0)
    assert all(1 < len(shown) <= prices[wish] for wish, shown in seen.items())


def truths(wish, rows):
    """Compute the numbers of a question in plain Python."""
    if "GROUP BY" in wish.text:
        return [sum(g == group for _, g, _ in rows) for group in "ab"]
    if "SUM" in wish.text:
        own = [v for _, g, v in rows if g == "a"]
        return [len(own), sum(own)]
    return [sum(v == 1 for *_, v in rows)]
