"""Tempting rules that are wrong: each with the database that breaks it, and ours that holds.

The wrong rule is computed, broken by enumeration, and compared with the price.
"""

from fractions import Fraction
from math import ceil, comb

import enumerator
import numpy as np

from hartley import Column, Schema
from hartley.trusted.pricing.price import open_factor, price
from hartley.trusted.questions.batch import All, Either, Form, Question, Statistic, Test as Leaf

ROWS = 60


def column(name, points, kind="private", **options):
    high = Fraction(points - 1)
    return Column(name, kind, low=Fraction(0), high=high, step=Fraction(1), **options)


def table(*columns, r=1, rows="public"):
    found = {c.name: c for c in columns}
    unit, most = (None if r == 1 else "who"), (None if rows == "public" else 20)
    return Schema("tiny", found, unit, r, rows, most)


def count(where):
    return Question(Statistic.COUNT, where, None, None, 0, ROWS)


def total(name, where, step, *, constant=0):
    form = Form(((name, 1),), constant, Fraction(1))
    return Question(Statistic.SUM, where, form, None, 0, 1000, Fraction(step))


def order(name, where, quantile, points, step=1):
    form = Form(((name, 1),), 0, Fraction(1))
    return Question(Statistic.ORDER, where, form, Fraction(quantile), 0, points - 1, Fraction(step))


def at(name, low, high=None):
    return Leaf(name, ((low, low if high is None else high),))


def told_apart(schema, questions, *, opened=None, people=12):
    """Return the most transcripts of one person, what is open given (one value of it, or any)."""
    world = enumerator.World(schema)
    rng = np.random.default_rng(0)
    others = np.concatenate([world.others(k, 200, rng) for k in (0, 1, 3, people)])
    most = 0
    for public in world.publics:
        data = world.data(public)
        types = world.opened(data)
        kept = [k for k, found in enumerate(types) if opened is None or found == opened]
        numbers = enumerator.transcripts(world, questions, world.tally(data), others)
        for key in {types[k] for k in kept}:
            places = [k for k in kept if types[k] == key]
            most = max(most, int(enumerator.distinct(numbers[:, places]).max()))
    return most


# --- Forming atoms --------------------------------------------------------------------------------


def test_must_not_ignore_null_when_forming_atoms():
    schema = table(column("v", 2, nullable=True))
    questions = [count(at("v", 1)), count(at("v", 0))]  # v >= 1, and NOT v >= 1
    without_null = 2  # every present value passes one of the two
    assert told_apart(schema, questions) == 3 > without_null
    assert price(questions, schema).cells == 3


def test_must_not_merge_atoms_in_which_an_order_statistic_takes_different_values():
    """Both atoms add nothing to the sum, but the largest value tells them apart."""
    schema = table(column("a", 2))
    questions = [order("a", All(), 1, 2), total("a", at("a", 1), 1, constant=-1)]
    merged = 1  # each atom has one answer, and both hold a record that adds nothing
    assert told_apart(schema, questions) == 2 > merged
    assert price(questions, schema).cells == 2


# --- Several rows per person ----------------------------------------------------------------------


def test_must_not_use_the_persons_own_range_for_an_order_statistic():
    """The person's value is known, yet none, one or two rows of it move a quantile on."""
    schema = table(column("v", 7, "public"), column("f", 2), r=2)
    question = order("v", at("f", 1), "3/10", 7)
    own_range = 1 + 1  # one value, or no row
    most = told_apart(schema, [question])
    assert most == 3 > own_range
    assert price([question], schema).cells == 3


def test_must_not_put_r_times_the_length_inside_one_atom():
    schema = table(column("x", 2), column("f", 2), r=2)
    question = total("x", at("f", 1), 1, constant=10)
    inside_one_atom = (1 + ceil(2 * 1 / 1)) + 1
    # No row: 0. One row: 10, 11. Two rows: 20, 21, 22.
    assert told_apart(schema, [question]) == 6 > inside_one_atom
    assert price([question], schema).cells == 6


def test_must_not_take_the_price_of_one_row_to_the_power_r():
    """A row that is there has one answer; how many rows are there has more."""
    question = count(All())
    one_row = price([question], table(column("x", 2)))
    schema = table(column("x", 2), r=2, rows="private")
    assert told_apart(schema, [question]) == 3 > one_row.cells**2
    assert price([question], schema).cells == 3


def test_must_not_chain_an_order_statistic_with_a_sum():
    """The sum and the largest of two values tell both of them."""
    schema = table(column("x", 5), r=2)
    questions = [total("x", All(), 1), order("x", All(), 1, 5)]
    chained = 1 + ceil(2 * 4 / 1) + 4
    world = enumerator.World(schema)
    data = world.data((), 2)
    numbers = enumerator.transcripts(
        world, questions, world.tally(data), np.zeros((1, 5), dtype=np.int64)
    )
    most = int(enumerator.distinct(numbers)[0])
    assert most == comb(6, 2) == 15 > chained
    assert price(questions, schema).cells >= most


def test_must_not_take_the_plain_maximum_over_open_groups():
    schema = table(column("v", 2), column("o", 2, "open"), r=2)
    groups = [count(All((at("o", k), at("v", 1)))) for k in range(2)]
    plain_maximum = max(price([group], schema).cells for group in groups)
    assert plain_maximum == 3  # two rows in one group: none, one or both pass
    assert told_apart(schema, groups, opened=((0,), (1,))) == 4 > plain_maximum
    assert price(groups, schema).cells == 4


def test_must_not_count_multisets_of_records_across_types():
    """Rows of different types are told apart, so they are no multiset."""
    schema = table(column("v", 2), column("o", 2, "open"), r=2)
    groups = [count(All((at("o", k), at("v", 1)))) for k in range(2)]
    multisets = comb(2 + 2 - 1, 2)
    assert told_apart(schema, groups) == 4 > multisets
    assert price(groups, schema).cells == 4


def test_must_not_forget_which_row_of_a_type_passes_the_filter():
    """The open column is not tested but summed: which of two rows passes matters."""
    schema = table(column("v", 2), column("o", 5, "open"), r=2)
    form = Form((("o", 1),), 0, Fraction(1))
    question = Question(Statistic.SUM, at("v", 1), form, None, 0, 400, Fraction(1))
    as_one_type = comb(2 + 2 - 1, 2)  # multisets of v
    assert told_apart(schema, [question], opened=((1,), (3,))) == 4 > as_one_type
    assert price([question], schema).cells >= 4


def test_must_not_multiply_the_open_factor_column_by_column():
    """Multisets of pairs outnumber pairs of multisets."""
    schema = table(column("a", 2, "open"), column("b", 2, "open"), column("v", 2), r=2)
    world = enumerator.World(schema)
    opened = len(set(world.opened(world.data((), 2))))
    column_by_column = comb(2 + 1, 2) ** 2
    assert opened == 10 > column_by_column == 9
    assert open_factor(schema) == 10


# --- Private rows ---------------------------------------------------------------------------------


def test_must_not_leave_the_absent_record_out():
    schema = table(column("x", 2), rows="private")
    questions = [count(at("x", 0)), count(at("x", 1))]
    present = price(questions, table(column("x", 2))).cells
    assert told_apart(schema, questions) == 3 > present
    assert price(questions, schema).cells == 3


def test_must_not_call_an_order_statistic_of_one_cell_constant():
    """It still tells whether there are rows."""
    schema = table(column("x", 4))
    question = order("x", at("x", 3), "1/2", 4, step=4)
    assert told_apart(schema, [question]) == 2
    assert price([question], schema).cells == 2


# --- Composition ----------------------------------------------------------------------------------


def answered(schema, pool):
    """Return the answers to each question of a pool, and all data of the only person."""
    world = enumerator.World(schema)
    data = world.data(())
    nobody = np.zeros((1, len(world.records)), dtype=np.int64)
    tables = [
        enumerator.transcripts(world, [question], world.tally(data), nobody)[0].tolist()
        for question in pool
    ]
    return tables, frozenset(range(len(data)))


def leaves(tables, possible, path_cost, limit, asked=frozenset()):
    """Like enumerator.best_strategy, for rules that charge what was asked as a whole."""
    best = 1
    for number, answers in enumerate(tables):
        parts = {}
        for place in possible:
            parts.setdefault(answers[place], set()).add(place)
        after = asked | {number}
        if number not in asked and len(parts) > 1 and path_cost(after) <= limit:
            found = sum(
                leaves(tables, frozenset(part), path_cost, limit, after) for part in parts.values()
            )
            best = max(best, found)
    return best


def test_must_not_charge_later_questions_as_if_they_had_been_one_batch():
    schema = table(column("v", 4))
    pool = [count(at("v", k, 3)) for k in (1, 2, 3)]

    def as_one_batch(asked):
        return price([pool[k] for k in asked], schema).cells

    def multiplied(asked):
        return 2 ** len(asked)

    tables, everything = answered(schema, pool)
    # Binary search: v >= 2, then v >= 3 or v >= 1: two questions on every path, four leaves.
    limit = 3
    assert leaves(tables, everything, as_one_batch, limit) == 4 > limit
    assert all(leaves(tables, everything, multiplied, limit) <= limit for limit in (2, 3, 4, 8))


def test_must_not_cap_the_running_product_by_the_points_of_the_columns_seen():
    schema = table(column("a", 4), column("b", 2), column("c", 4))
    pool = [
        count(at("a", 3)),
        count(at("a", 0)),
        count(at("a", 1)),
        count(at("b", 1)),
        count(at("c", 2, 3)),
        count(Either((at("c", 1), at("c", 3)))),
    ]
    names = ["a", "a", "a", "b", "c", "c"]
    sizes = {"a": 4, "b": 2, "c": 4}

    def capped(asked):
        points = 1
        for name in {names[k] for k in asked}:
            points *= sizes[name]
        return min(2 ** len(asked), points)

    def multiplied(asked):
        return 2 ** len(asked)

    tables, everything = answered(schema, pool)
    assert leaves(tables, everything, capped, 8) > 8
    assert leaves(tables, everything, multiplied, 8) <= 8
    assert all(price([question], schema).cells == 2 for question in pool)
