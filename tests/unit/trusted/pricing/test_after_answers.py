"""What earlier answers make cheaper."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from random_questions import coded, coded_schema

from hartley.errors import Refused
from hartley.trusted.pricing import one_row, price as worst_case
from hartley.trusted.pricing.after_answers import MOST_FILTERS, EarlierAnswers, RecordedLookups
from hartley.trusted.pricing.conditional_price import conditional_price, discount_sentence
from hartley.trusted.pricing.price import steps_within
from hartley.trusted.questions.batch import (
    All,
    Either,
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
    columns = [coded(name, 10, kinds.get(name, "private")) for name in NAMES]
    return coded_schema(*columns, rows=rows, most=ROWS)


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


# --- known steps ---

STEP_ROWS = 40
ONE = Fraction(1)
KINDS = ("private", "private", "private", "public", "open")


def step_schema(rng):
    columns = []
    for name in ("a", "b", "c", "d"):
        points, kind = int(rng.integers(2, 9)), str(rng.choice(KINDS))
        columns.append(coded(name, points, kind, nullable=bool(rng.integers(5) == 0)))
    return coded_schema(*columns, rows=("public", "private")[rng.integers(2)], most=STEP_ROWS)


def leaf(rng, schema):
    name = str(rng.choice(list(schema.columns)))
    low, high = sorted(rng.integers(0, schema.columns[name].points, 2).tolist())
    return Leaf(name, ((low, high),))


def template_of(rng, schema):
    """Return a statistic with its form, to be asked with many filters."""
    statistic = list(Statistic)[rng.integers(4)]
    names = sorted(rng.choice(list(schema.columns), rng.integers(1, 3), replace=False).tolist())
    return statistic, tuple((n, int(rng.integers(1, 4))) for n in names), int(rng.integers(3))


def stepped_question(rng, schema, template):
    statistic, terms, constant = template
    where = All()
    if rng.integers(6):
        tests = tuple(leaf(rng, schema) for _ in range(rng.choice([1, 1, 2])))
        where = (All, Either)[rng.integers(2)](tests)
    if statistic is Statistic.COUNT:
        return Question(statistic, where, None, None, 0, STEP_ROWS)
    columns = {name: schema.columns[name] for name, _ in terms}
    most = constant + sum(times * (columns[name].points - 1) for name, times in terms)
    present = [Leaf(n, ((0, c.points - 1),)) for n, c in columns.items() if c.nullable]
    form, where = Form(terms, constant, ONE), All((where, *present))
    if statistic is Statistic.ORDER:
        return Question(statistic, where, form, Fraction(1, 2), 0, most)
    top = most * most if statistic is Statistic.SQUARES else most
    return Question(statistic, where, form, None, 0, STEP_ROWS * top)


class Counted(dict):
    """A dict that counts what is taken from it."""

    taken = 0

    def get(self, key, default=None):
        value = super().get(key, default)
        self.taken += value is not None
        return value


def steps_or_words(*of):
    try:
        return steps_within(*of)
    except Refused as refused:
        return str(refused)


def differences(seeds):
    """Count the batches that get other steps with what was kept, and those that used it."""
    different = used = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 3])
        schema, known = step_schema(rng), Counted()
        templates = [template_of(rng, schema) for _ in range(3)]
        for _ in range(40):
            asked = rng.permutation(3)[: rng.choice([1, 1, 1, 2])]
            batch = [stepped_question(rng, schema, templates[k]) for k in asked]
            limit = int(rng.integers(2, 5))
            steps = steps_or_words(batch, limit, schema, (), known)
            different += steps != steps_or_words(batch, limit, schema)
        used += known.taken
    return different, used


@pytest.mark.parametrize("part", range(4))
def test_kept_steps_are_those_of_a_search(part):
    different, used = differences(range(4 * part, 4 * part + 4))
    assert different == 0
    assert used > 10


def test_batches_with_other_prices_do_not_share_steps(monkeypatch):
    """If records and their ranges were left out of the name, some batch would get other steps."""
    signature = one_row.signature_of

    def coarser(atoms):
        asked, listed, _, _ = signature(atoms)
        return asked, tuple([alive for alive, _, _, _ in listed])

    monkeypatch.setattr(worst_case, "signature_of", coarser)
    assert differences(range(6))[0] > 0
