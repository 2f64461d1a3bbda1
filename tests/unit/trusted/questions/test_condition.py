"""Two spellings of one question are one object, so that a repeat is known as one."""

# ruff: noqa: E501 - a table of questions is read line by line
# ruff: noqa: S608 - texts of questions, which reach no engine
# ruff: noqa: S311 - random cases, not secrets

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from random_questions import coded, holds

from hartley import Column, Schema
from hartley.trusted.questions.batch import All, Either, Test as Leaf
from hartley.trusted.questions.condition import (
    EVERY,
    NONE,
    code_bounds,
    complement,
    conjoin,
    disjoin,
    form_bounds,
    passing,
    shared,
    united,
)
from hartley.trusted.questions.question import parse

AGE = coded("age", 10, nullable=True)
PAY = Column("pay", "private", low=Fraction(-2), high=Fraction(2), step=Fraction(1, 2))
WARD = Column("ward", "open", values=("a", "b", "c"), other=True)
SCHEMA = Schema("people", {"age": AGE, "pay": PAY, "ward": WARD})


def asked(what, where=None, group=None):
    text = f"SELECT {what} FROM people"
    text += f" WHERE {where}" if where else ""
    return parse(text + (f" GROUP BY {group}" if group else ""), SCHEMA, 100)


def questions(what, where=None, group=None):
    return asked(what, where, group).questions


SAME_FILTERS = [
    ("age >= 3 AND pay < 1", "pay < 1 AND age >= 3", "NOT (pay >= 1 OR age < 3)"),
    ("age BETWEEN 2 AND 5", "age >= 2 AND age <= 5", "NOT (age < 2 OR age > 5)", "2 <= age AND 5.5 > age"),
    ("age IN (1, 2, 7)", "age = 1 OR age = 2 OR age = 7", "age BETWEEN 1 AND 2 OR 7 = age"),
    ("age NOT IN (1, 2)", "age <> 1 AND age <> 2", "NOT age IN (2, 1, 1)", "age != 2 AND NOT age = 1"),
    ("age > 3", "age >= 3.5", "2 * age - 1 > 6", "age > 3 AND age > -7", "-age < -3", "age + 1 >= 5"),
    ("age IS NULL OR age < 4", "NOT (age IS NOT NULL AND age >= 4)", "age < 4 OR NOT NOT age IS NULL"),
    ("ward = 'a' OR ward = 'b'", "ward IN ('b', 'a')", "NOT (ward <> 'a' AND ward <> 'b')"),
    ("(age < 3 AND pay > 0) OR ward = 'c'", "ward = 'c' OR pay > 0 AND age < 3", "ward NOT IN ('a', 'b') AND ward = 'c' OR (((pay > 0)) AND 3 > age)"),
    ("age >= 0", "age IS NOT NULL", "age < 3 OR age >= 3", "NOT age < 0", "age < 1e9"),
    ("pay < 100", "TRUE", "pay IS NOT NULL", "1 = 1", "ward IN ('a','b','c') OR ward NOT IN ('a','b','c')"),
    ("pay > 100", "FALSE", "pay IS NULL", "age = 1 AND age = 2", "age < 3 AND age > 3 AND pay > 0", "NOT TRUE"),
    ("age - age = 0", "age IS NOT NULL"),
]  # fmt: skip


@pytest.mark.parametrize("spellings", SAME_FILTERS, ids=lambda spellings: spellings[0])
def test_spellings_of_one_filter_are_one_question(spellings):
    found = [questions("COUNT(*), SUM(pay)", where) for where in spellings]
    assert all(other == found[0] for other in found)
    assert len({hash(other) for other in found}) == 1


SAME_NUMBERS = [
    ("SUM(pay)", "SUM(2 * pay)", "SUM(-pay)", "sum(Pay / 3)", "SUM(pay + 5)", "SUM((people.pay))"),
    ("AVG(age)", "AVG(2 * age)", "AVG(age + 5)", "avg(10 - age)", "AVG(age / 7 + 1)"),
    ("MEDIAN(age)", "QUANTILE(age, 0.5)", "QUANTILE(age, 1/2)", "MEDIAN(3 * age + 1)", "PERCENTILE_DISC(0.50) WITHIN GROUP (ORDER BY age)", "QUANTILE_DISC(age, 0.5)"),
    ("MIN(age)", "QUANTILE(age, 0)", "MAX(-age)", "MAX(3 - 2 * age)"),
    ("MAX(pay)", "QUANTILE(pay, 1.0)", "MIN(-pay)"),
    ("STDDEV_POP(age)", "VAR_POP(2 * age + 1)", "VARIANCE(age)", "STDDEV(-age)", "VAR_SAMP(age)", "STDDEV_SAMP(age)"),
    ("SUM(age + 2*pay)", "SUM(2*pay + age)", "SUM(3*age + 6*pay)", "SUM(pay + age + pay)"),
    ("COUNT(*)", "COUNT(1)", "COUNT(ward)"),
]  # fmt: skip


@pytest.mark.parametrize("spellings", SAME_NUMBERS, ids=lambda spellings: spellings[0])
def test_what_a_constant_changes_costs_no_new_question(spellings):
    found = [questions(what) for what in spellings]
    assert all(other == found[0] for other in found)


DIFFERENT = [
    ("MEDIAN(age)", "MEDIAN(-age)"),
    ("SUM(age)", "SUM(age + 1)"),  # how many rows have an age is not known
    ("SUM(age)", "SUM(age + pay)"),
    ("COUNT(*)", "COUNT(age)"),
    ("SUM(pay)", "SUM(pay + 0 * age)"),  # a missing age makes the sum missing
    ("MIN(age)", "MAX(age)"),
]


@pytest.mark.parametrize("pair", DIFFERENT, ids=str)
def test_different_questions_stay_different(pair):
    assert questions(pair[0]) != questions(pair[1])


def test_a_sum_shares_its_question_with_an_average_where_the_rows_are_counted_anyway():
    assert len(questions("AVG(age), VAR_POP(age), SUM(age + 4), COUNT(age)", "pay > 0")) == 3
    assert len(questions("SUM(pay), AVG(pay), STDDEV(pay)")) == 2  # the number of rows is public


def test_bins_of_both_spellings_are_the_same_groups():
    binned = asked("COUNT(*)", group="BIN(age, 3)")
    floored = asked("COUNT(*)", group="FLOOR(age / 3.0)")
    assert binned.questions == floored.questions
    assert [key.value for (key,) in binned.groups] == [0, 3, 6, 9, None]
    assert [key.value for (key,) in floored.groups] == [0, 1, 2, 3, None]


# --- rewriting at random --------------------------------------------------------------------------

LEAVES = ["age >= 3", "age < 7", "pay <= 0.5", "pay > -1", "age = 4", "ward = 'a'", "age IS NULL"]
TURNED = {
    "age >= 3": ["NOT age < 3", "3 <= age", "2 * age >= 6", "age > 2", "age BETWEEN 3 AND 99"],
    "age < 7": ["NOT age >= 7", "age <= 6", "7 > age", "age IN (0, 1, 2, 3, 4, 5, 6)"],
    "pay <= 0.5": ["NOT pay > 0.5", "pay < 1", "-pay >= -0.5", "pay / 2 <= 0.25"],
    "pay > -1": ["pay >= -0.5", "NOT (pay <= -1)", "pay NOT IN (-1, -2, -1.5)"],
    "age = 4": ["age IN (4)", "age BETWEEN 4 AND 4", "NOT age <> 4", "age >= 4 AND age <= 4"],
    "ward = 'a'": ["ward IN ('a', 'a')", "NOT ward <> 'a'", "'a' = ward"],
    "age IS NULL": ["NOT age IS NOT NULL", "(age IS NULL)"],
}


def tree(random_, depth):
    if depth == 0 or random_.random() < 0.25:
        return random_.choice(LEAVES)
    kind = random_.choice(["AND", "OR", "NOT"])
    size = 1 if kind == "NOT" else random_.randint(2, 3)
    return kind, [tree(random_, depth - 1) for _ in range(size)]


def written(node):
    if isinstance(node, str):
        return node
    kind, parts = node
    texts = [f"({written(part)})" for part in parts]
    return f"NOT {texts[0]}" if kind == "NOT" else f" {kind} ".join(texts)


def respelled(random_, node):
    """Write the same predicate in another way, by laws that hold in three-valued logic."""
    if isinstance(node, str):
        return f"({random_.choice([node, *TURNED[node]])})"
    kind, parts = node
    texts = [respelled(random_, part) for part in parts]
    if kind == "NOT":
        inner = parts[0]
        if not isinstance(inner, str) and inner[0] in ("AND", "OR"):
            dual = "OR" if inner[0] == "AND" else "AND"
            return respelled(random_, (dual, [("NOT", [part]) for part in inner[1]]))
        return f"(NOT {texts[0]})"
    random_.shuffle(texts)
    if random_.random() < 0.3:
        texts.append(texts[0])
    if random_.random() < 0.2:
        texts.append("TRUE" if kind == "AND" else "FALSE")
    if random_.random() < 0.3:
        texts = [f"({f' {kind} '.join(texts[:2])})", *texts[2:]]
    joined = f" {kind} ".join(texts)
    return f"(NOT (NOT ({joined})))" if random_.random() < 0.2 else f"({joined})"


@pytest.mark.slow
@given(seed=st.integers(0, 2**64))
@settings(max_examples=400)
def test_laws_of_logic_lead_to_the_same_question(seed):
    random_ = random.Random(seed)
    node = tree(random_, 3)
    first, second = written(node), respelled(random_, node)
    assert questions("AVG(pay), COUNT(*)", first) == questions("AVG(pay), COUNT(*)", second)


# --- conditions -----------------------------------------------------------------------------------

COLUMNS = SCHEMA.columns
RECORDS = [
    {"age": age, "pay": pay, "ward": ward}
    for age in [*range(10), None]
    for pay in (0, 4, 8)
    for ward in (0, 3)
]


def is_normal(condition, above=None):
    """Tell whether a condition has the shape that makes equal ones equal."""
    if isinstance(condition, Leaf):
        column = COLUMNS[condition.column]
        whole = condition.codes == ((0, column.points - 1),)
        return (
            passing(column, condition.codes, missing=condition.missing) == condition
            and (condition.codes or condition.missing)
            and not (whole and (condition.missing or not column.nullable))
        )
    if not condition.parts:
        return above is None
    names = [part.column for part in condition.parts if isinstance(part, Leaf)]
    return (
        len(condition.parts) > 1
        and type(condition) is not above
        and len(set(names)) == len(names)
        and len(set(condition.parts)) == len(condition.parts)
        and all(is_normal(part, type(condition)) for part in condition.parts)
    )


def random_condition(random_, depth):
    if depth == 0:
        column = COLUMNS[random_.choice(list(COLUMNS))]
        ends = [sorted(random_.choices(range(column.points), k=2)) for _ in range(2)]
        return passing(column, ends, missing=random_.random() < 0.4)
    join = random_.choice([conjoin, disjoin])
    return join(
        [random_condition(random_, depth - 1) for _ in range(random_.randint(0, 3))], COLUMNS
    )


@pytest.mark.slow
@given(seed=st.integers(0, 2**64), join=st.sampled_from([conjoin, disjoin]))
@settings(max_examples=400)
def test_joining_conditions_means_what_it_says_and_is_in_normal_form(seed, join):
    random_ = random.Random(seed)
    parts = [random_condition(random_, random_.randint(0, 2)) for _ in range(random_.randint(0, 4))]
    joined = join(parts, COLUMNS)
    every = all if join is conjoin else any
    for row in RECORDS:
        assert holds(joined, row) == every(holds(part, row) for part in parts)
    assert is_normal(joined)
    random_.shuffle(parts)
    assert join(parts, COLUMNS) == joined


@pytest.mark.slow
@given(seed=st.integers(0, 2**64))
@settings(max_examples=200)
def test_code_bounds_hold_for_every_row_of_a_condition(seed):
    random_ = random.Random(seed)
    condition = random_condition(random_, random_.randint(0, 2))
    form = asked("SUM(age - pay)").questions[0].form
    bounds = form_bounds(condition, form, COLUMNS)
    for row in RECORDS:
        if holds(condition, row):
            for name, column in COLUMNS.items():
                if row[name] is not None:
                    low, high = code_bounds(condition, column)
                    assert low <= row[name] <= high
            if row["age"] is not None:
                value = form.constant + sum(c * row[name] for name, c in form.terms)
                assert bounds[0] <= value <= bounds[1]


RANGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=5)


def members(ranges):
    return {k for low, high in ranges for k in range(low, high + 1)}


@given(first=RANGES, second=RANGES)
def test_ranges_of_codes_behave_like_sets(first, second):
    one, two = united(first), united(second)
    assert members(one) == members(first)
    assert members(shared(one, two)) == members(first) & members(second)
    assert members(complement(one, AGE)) == set(range(10)) - members(first)
    for ranges in (one, shared(one, two), complement(one, AGE)):
        assert united(ranges) == ranges


def test_nothing_and_everything():
    assert conjoin([], COLUMNS) == EVERY
    assert disjoin([], COLUMNS) == NONE
    assert conjoin([NONE, EVERY], COLUMNS) == NONE
    assert disjoin([NONE, EVERY], COLUMNS) == EVERY
    assert Either() != All()
