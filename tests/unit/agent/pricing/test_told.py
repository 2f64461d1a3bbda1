"""The index of earlier questions against a search through all of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hartley.schema.schema import Column, Schema
from hartley.trusted.pricing.after_answers import MOST_FILTERS, EarlierAnswers, RecordedLookups
from hartley.trusted.pricing.conditional_price import conditional_price, discount_sentence
from hartley.trusted.questions.batch import (
    All,
    Form,
    Question,
    Statistic,
    Test as Leaf,
    columns_named,
)

NAMES = "abcdefg"
ROWS = 50


def schema_of(rows):
    kinds = {"f": "public", "g": "open"}
    columns = {
        name: Column(
            name, kinds.get(name, "private"), low=Fraction(0), high=Fraction(9), step=Fraction(1)
        )
        for name in NAMES
    }
    return Schema("people", columns, None, 1, rows, None if rows == "public" else ROWS)


def question(rng):
    names = rng.choice(list(NAMES), rng.integers(0, 4), replace=False).tolist()
    where = All(tuple(Leaf(name, ((0, int(rng.integers(0, 9))),)) for name in sorted(names)))
    if rng.integers(2):
        return Question(Statistic.COUNT, where, None, None, 0, ROWS)
    form = Form(((str(rng.choice(list(NAMES))), 1),), 0, Fraction(1))
    if rng.integers(3) == 0:
        return Question(Statistic.ORDER, where, form, Fraction(1, 2), 0, 9)
    return Question(Statistic.SUM, where, form, None, 0, 9 * ROWS, Fraction(rng.integers(1, 60)))


class PlainTold:
    """Every earlier question in a list, sorted at each call as the rules say."""

    def __init__(self, schema, questions):
        self.schema, self.filters_of, self.sums_of = schema, {}, {}
        for place, asked in enumerate(questions, start=1):
            if asked.step > asked.most and asked.statistic is not Statistic.ORDER:
                continue
            names = columns_named(asked)
            private = frozenset(c for c in names if schema.columns[c].kind == "private")
            formed = frozenset(c for c, _ in asked.form.terms) if asked.form else frozenset()
            entry = (asked, place, private, names - private, formed & private)
            if asked.statistic is not Statistic.SUM:
                self.filters_of.setdefault((asked.where, formed), entry)
            else:
                known = self.sums_of.get((asked.where, asked.form))
                if known is None or asked.step < known[0].step:
                    self.sums_of[asked.where, asked.form] = entry

    def filters(self, private, known):
        near = [
            entry
            for entry in self.filters_of.values()
            if entry[2] & private or (self.schema.rows == "private" and not entry[2])
        ]
        near.sort(key=lambda e: (len(e[2] - private), len(e[3] - known), e[1]))
        return [entry[0] for entry in near[:MOST_FILTERS]]

    def sums(self, private):
        near = [entry for entry in self.sums_of.values() if entry[4] & private]
        near.sort(key=lambda e: (len(e[2] - private), e[1]))
        return [entry[0] for entry in near[:MOST_FILTERS]]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("rows", ["public", "private"])
def test_the_index_finds_what_a_search_through_all_questions_finds(seed, rows):
    rng = np.random.default_rng(seed)
    schema = schema_of(rows)
    questions = [question(rng) for _ in range(int(rng.choice([3, 20, 150])))]
    told, plain = EarlierAnswers(schema, questions), PlainTold(schema, questions)
    for _ in range(10):
        names = frozenset(rng.choice(list(NAMES), rng.integers(0, 5), replace=False).tolist())
        private = names - {"f", "g"}
        filters = [entry.question for entry in told.filters(private, names - private)]
        assert filters == plain.filters(private, names - private)
        assert [entry.question for entry in told.sums(private)] == plain.sums(private)


def test_a_finer_sum_takes_a_place_of_its_own():
    form = Form((("a", 1),), 0, Fraction(1))
    sums = [
        Question(Statistic.SUM, Leaf("b", ((0, low),)), form, None, 0, 9 * ROWS, Fraction(step))
        for low, step in [*((low, 9) for low in range(MOST_FILTERS)), (40, 9), (0, 5), (20, 40)]
    ]
    schema = schema_of("public")
    chosen = [entry.question for entry in EarlierAnswers(schema, sums).sums(frozenset("a"))]
    assert chosen == PlainTold(schema, sums).sums(frozenset("a"))
    assert sums[0] not in chosen
    assert sums[MOST_FILTERS + 1] not in chosen
    assert chosen[-1] == sums[MOST_FILTERS]


def rows_of(told, rows, questions):
    for row in rows:
        told.add(questions[row - 1], row)
    return told


def test_a_price_is_the_same_wherever_the_same_is_looked_up():
    same = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, 3])
        schema = schema_of(("public", "private")[seed % 2])
        questions = [question(rng) for _ in range(6)]
        batch = [question(rng) for _ in range(2)]
        watched = RecordedLookups(rows_of(EarlierAnswers(schema), range(1, 7), questions))
        priced = conditional_price(batch, watched)
        some = sorted(rng.choice(6, 4, replace=False) + 1)
        other = rows_of(EarlierAnswers(schema), some, questions)
        if watched.same_as(other):
            same += 1
            again = conditional_price(batch, other)
            assert (again.cells, again.rows) == (priced.cells, priced.rows)
    assert 10 < same < 140


def test_what_is_watched_does_not_grow():
    with pytest.raises(NotImplementedError):
        RecordedLookups(EarlierAnswers(schema_of("public"))).add(
            Question(Statistic.COUNT, All(), None, None, 0, ROWS), 1
        )


def test_a_count_of_everybody_tells_who_is_in_the_table():
    everybody = Question(Statistic.COUNT, All(), None, None, 0, ROWS)
    tenths = Question(Statistic.COUNT, Leaf("f", ((0, 3),)), None, None, 0, ROWS)
    schema = schema_of("private")
    # An open column is paid for once, and with it whether somebody is there.
    columns = {name: column for name, column in schema.columns.items() if column.kind != "open"}
    told = EarlierAnswers(replace(schema, columns=columns), [everybody])
    priced = conditional_price([tenths], told)
    assert (priced.alone, priced.cells) == (2, 1)
    assert discount_sentence(priced) == "Given 1 earlier answer (row 1): 0 bits instead of 1 bit."
    assert discount_sentence(priced) in priced.explain()
    assert discount_sentence(priced, name_rows=False).startswith("Given 1 earlier answer: 0 bits")
