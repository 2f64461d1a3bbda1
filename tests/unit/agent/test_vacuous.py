"""An answer that says no more than the schema is refused before it is charged, unless wished."""

# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: S608 - texts of questions

import random
from fractions import Fraction

import pytest

from hartley.agent.agent import Agent
from hartley.agent.quoting import price, quote
from hartley.errors import Refused
from hartley.exact import floor_power
from hartley.results.quote import Wish
from hartley.schema.schema import Schema
from hartley.trusted.cells import read_cells
from hartley.trusted.precision import PriceDesk, vacuous_labels
from hartley.trusted.questions.question import NumberKind

SCHEMA = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 1},
            "income": {"kind": "private", "range": [0, 200_000], "step": 100, "nullable": True},
            "sex": {"kind": "private", "values": ["Male", "Female"]},
            "area": {"kind": "public", "values": ["north", "south", "nowhere"]},
        },
    }
)
PRIVATE_ROWS = Schema.read(
    {
        "table": {"name": "people", "rows": "private", "max_rows": 50},
        "columns": {"age": {"kind": "private", "range": [0, 100], "step": 1}},
    }
)


def data(rows=200):
    order = random.Random(3)
    return {
        "age": [order.randint(0, 100) for _ in range(rows)],
        "income": [None if order.random() < 0.1 else order.randint(0, 90_000) for _ in range(rows)],
        "sex": [order.choice(["Male", "Female"]) for _ in range(rows)],
        "area": [order.choice(["north", "south"]) for _ in range(rows)],
    }


@pytest.fixture
def agent(tmp_path):
    with Agent(data(), SCHEMA, ledger=tmp_path / "l.db", budget=400) as opened:
        yield opened


MALE = "SELECT MEDIAN(age) FROM people WHERE sex = 'Male'"
VACUOUS = [
    (MALE, {}, "1.585 bits give ±25, 2 bits give ±17"),
    ("SELECT AVG(income) FROM people", {"bits": 1}, "2 bits give ±250 if all 200 rows count"),
    ("SELECT BIN(age, 10), COUNT(*) FROM people GROUP BY BIN(age, 10)", {"bits": 3}, "3.46 bits"),
    ("SELECT AVG(age) FROM people", {"bits": 0}, "1 bit gives ±0.25"),
    ("SELECT AVG(age) FROM people", {"error": 50}, "1 bit gives ±0.25"),
    ("SELECT SUM(age) FROM people", {"bits": 0}, "1 bit gives ±50"),
    ("SELECT COUNT(*) FROM people WHERE age > 9", {"bits": 0}, "1 bit gives the exact number"),
    ("SELECT VAR_POP(age) FROM people", {"bits": 1}, "1.585 bits give"),
    ("SELECT STDDEV(income) FROM people", {"bits": 1.6}, "2 bits give"),
    ("SELECT MIN(age), MAX(age) FROM people", {"bits": 0}, "give MIN(age)"),
    ("SELECT MEDIAN(age) FROM people WHERE age < 30", {"error": 40}, "1.585 bits give ±14"),
    ("SELECT area, MEDIAN(age) FROM people GROUP BY area", {"bits": 0}, "1 bit gives ±25"),
    ("SELECT SUM(age), COUNT(income), MAX(age) FROM people", {"bits": 2}, "2.585 bits give"),
]


@pytest.mark.parametrize(("text", "wish", "next_price"), VACUOUS)
def test_a_vacuous_answer_is_refused_with_the_next_useful_price(agent, text, wish, next_price):
    head = agent.ledger.head()
    with pytest.raises(Refused, match="no narrower than the schema") as refused:
        agent.ask(text, **wish)
    assert next_price in refused.value.hint
    assert "vacuous=True (--vacuous)" in refused.value.hint
    assert refused.value.text == text
    start, end = refused.value.place
    assert text[start:end] in refused.value.problem
    assert agent.ledger.head() == head
    shown = agent.price(text, **wish)
    assert shown.vacuous[0]
    assert next_price in str(shown)
    assert agent.price(text, **wish, vacuous=True).vacuous == ((),)
    answer = agent.ask(text, **wish, vacuous=True)
    assert agent.ask(text, **wish).bits == 0  # paid for, so it is served
    assert answer.reading.rows == agent.ask(text, **wish).reading.rows


@pytest.mark.parametrize(("text", "wish", "_"), VACUOUS)
def test_the_price_that_is_named_is_useful_and_none_below_it_is(text, wish, _):
    desk = PriceDesk(SCHEMA, 200)
    prices = quote(desk, desk.plan(text, wish.get("error"), wish.get("bits"))).useful[0]
    for useful in prices:
        (plan,) = desk.plan(text, None, useful.bits_alone)
        assert vacuous_labels(plan) == ()
    for cells in range(1, min(prices[0].cells, 40)):
        bits = next(Fraction(k, 64) for k in range(400) if floor_power(Fraction(k, 64)) == cells)
        try:
            (plan,) = desk.plan(text, None, bits)
        except Refused:
            continue
        assert vacuous_labels(plan), cells


NOT_VACUOUS = [
    ("SELECT COUNT(*) FROM people", {"bits": 0}),
    ("SELECT COUNT(*), SUM(age), MEDIAN(age), AVG(age) FROM people WHERE FALSE", {"bits": 0}),
    ("SELECT AVG(income) FROM people WHERE income IS NULL", {"bits": 0}),
    ("SELECT AVG(age) FROM people WHERE age = 30", {"bits": 0}),
    ("SELECT MEDIAN(age) FROM people WHERE area = 'nowhere'", {"bits": 0}),
    ("SELECT AVG(age) FROM people WHERE area = 'nowhere'", {"bits": 0}),
    ("SELECT area, COUNT(*) FROM people GROUP BY area", {"bits": 0}),
    ("SELECT AVG(age) FROM people WHERE sex = 'Male'", {"bits": 2}),
    ("SELECT COUNT(income), SUM(income) FROM people", {"bits": 2}),
]


@pytest.mark.parametrize(("text", "wish"), NOT_VACUOUS)
def test_what_the_schema_settles_and_what_is_told_is_answered(agent, text, wish):
    assert agent.ask(text, **wish) is not None
    assert agent.price(text, **wish).vacuous == ((),)


def test_an_empty_table_and_private_rows_are_judged_by_what_is_public(tmp_path):
    (plan,) = PriceDesk(SCHEMA, 0).plan(
        "SELECT AVG(age), SUM(income), COUNT(*) FROM people", None, 0
    )
    assert vacuous_labels(plan) == ()
    ages = {"age": [1, 2, 3]}
    with Agent(ages, PRIVATE_ROWS, ledger=tmp_path / "p.db", budget=90) as agent:
        for text in ("SELECT AVG(age) FROM people", "SELECT COUNT(*) FROM people"):
            with pytest.raises(Refused, match="no narrower"):
                agent.ask(text, bits=0)
        with pytest.raises(Refused, match="Even the coarsest") as refused:
            agent.ask("SELECT MEDIAN(age) FROM people", bits=0)
        assert "1.585 bits give ±25" in refused.value.hint
        assert agent.ask("SELECT MEDIAN(age) FROM people", bits=2).bits <= 2


def test_one_vacuous_question_refuses_its_batch_and_a_paid_one_does_not(agent):
    count = "SELECT COUNT(*) FROM people WHERE age > 50"
    with pytest.raises(Refused) as refused:
        agent.ask([count, Wish(MALE, bits=1)])
    assert refused.value.text == MALE
    assert agent.history() == []
    agent.ask(MALE, bits=1, vacuous=True)
    assert agent.ask([count, Wish(MALE, bits=1)]).bits == 1


def test_a_label_that_is_told_in_some_group_is_not_vacuous():
    """The bins of a median differ in width: some are cut by a coarse step, others are not."""
    text = "SELECT BIN(age, 40), MEDIAN(age) FROM people GROUP BY BIN(age, 40)"
    (plan,) = PriceDesk(SCHEMA, 200).plan(text, 20, None)
    steps = [question.step for question in plan.questions]
    whole = plan.with_steps([Fraction(101)] * len(steps))
    part = plan.with_steps([Fraction(101), *[Fraction(5)] * (len(steps) - 1)])
    assert vacuous_labels(whole) == ("MEDIAN(age)",)
    assert vacuous_labels(part) == ()


def test_a_quote_without_an_agent_says_the_same():
    shown = price(MALE, SCHEMA, rows=200)
    assert shown.vacuous == (("MEDIAN(age)",),)
    assert shown.to_dict()["questions"][0]["vacuous"] == ["MEDIAN(age)"]
    assert shown.to_dict()["questions"][0]["useful_prices"][1]["bits_alone"] == 2
    assert "Vacuous: MEDIAN(age)" in shown._repr_html_()
    assert price(MALE, SCHEMA, rows=200, vacuous=True).vacuous == ((),)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_vacuous_answer_is_what_the_schema_tells_whatever_the_data(seed):
    """Every cell is read: where a label is named none is narrower, and else one of them is."""
    order = random.Random(seed)
    desk = PriceDesk(PRIVATE_ROWS, 50)
    named = told = 0
    for _ in range(150):
        shape = order.choice(["COUNT(*)", "SUM(age)", "AVG(age)", "MEDIAN(age)", "MAX(age)"])
        where = order.choice(["", f" WHERE age < {order.randint(1, 100)}", " WHERE age > 90"])
        bits = Fraction(order.randint(0, 20), 8)
        try:
            (plan,) = desk.plan(f"SELECT {shape} FROM people{where}", None, bits)
        except Refused:
            continue
        if len(plan.questions) > 1:  # an average with its count: both have to be told
            continue
        (question,), (item,) = plan.questions, plan.items
        levels = int((question.most - question.least) / question.step) + 1
        shown = [read_cells(plan, [cell]).only for cell in range(levels)]
        schema_tells = item.bounds or item.rows
        narrower = {
            (one.low, one.high)
            for one in shown
            if one.low is not None and one.high - one.low < schema_tells[1] - schema_tells[0]
        }
        vacuous = vacuous_labels(plan)
        named, told = named + bool(vacuous), told + (not vacuous)
        if item.kind is not NumberKind.SUM:
            assert bool(vacuous) is not bool(narrower) or schema_tells[0] == schema_tells[1]
        elif vacuous:
            assert levels == 1
    assert named > 5
    assert told > 5
