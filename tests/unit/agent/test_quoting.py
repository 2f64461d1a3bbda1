"""Plans and quotes of questions, from the schema alone."""

from decimal import Decimal

import pytest

from hartley import Agent, Schema, Wish, open_ledger, price
from hartley.agent.quoting import quote
from hartley.errors import InputError, OptionError, Refused
from hartley.trusted import precision as quoting
from hartley.trusted.precision import PriceDesk, questions_of

PEOPLE = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 1},
            "sex": {"kind": "private", "values": ["F", "M"]},
        },
    }
)
MEAN = "SELECT AVG(age) FROM people"
OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


@pytest.fixture
def parsed(monkeypatch):
    """Count how often a text is read."""
    texts = []

    def read(text, *rest):
        texts.append(text)
        return parse(text, *rest)

    parse = quoting.parse
    monkeypatch.setattr(quoting, "parse", read)
    return texts


def test_a_text_is_read_once_and_remembered_with_its_wish(parsed):
    desk = PriceDesk(PEOPLE, 1000)
    first = desk.plan(MEAN, None, 2)
    assert desk.plan([Wish(MEAN, bits=2)], None, None) == first
    assert parsed == [MEAN]
    wishes = [(None, 3), (3, None), (Decimal(3), None), ("3", None), (None, None), (None, 1)]
    plans = [desk.plan(MEAN, *wish)[0] for wish in wishes]
    assert plans == [PriceDesk(PEOPLE, 1000).plan(MEAN, *wish)[0] for wish in wishes]
    assert plans[0] != plans[1] == plans[2] == plans[3]
    assert plans[4] == plans[5]  # the schema's default is one bit


def test_a_refusal_is_refused_again():
    desk = PriceDesk(PEOPLE, 1000)
    for _ in range(2):
        with pytest.raises(Refused, match="no column"):
            desk.plan("SELECT AVG(wage) FROM people", None, 1)
    assert not desk.plans


def test_only_so_many_plans_are_remembered(monkeypatch):
    monkeypatch.setattr(quoting, "MOST_PLANS", 3)
    monkeypatch.setattr(quoting, "MOST_KEPT", 2)
    desk = PriceDesk(PEOPLE, 1000)
    for age in range(10):
        desk.plan(MEAN, None, 1 + age)
        assert len(desk.plans) <= 3
    desk.plans.clear()
    desk.plan("SELECT COUNT(*) FROM people GROUP BY BIN(age, 10)", None, 4)
    assert not desk.plans


def test_what_is_due_is_the_price_of_what_was_not_paid_for(tmp_path):
    desk = PriceDesk(PEOPLE, 1000)
    mean, count = (desk.plan(text, None, 1)[0] for text in (MEAN, MEAN.replace("AVG", "SUM")))
    other = desk.plan("SELECT COUNT(*) FROM people WHERE sex = 'F'", None, 1)[0]
    assert mean.questions == count.questions
    with open_ledger(tmp_path / "ledger.db") as ledger:
        content = {"bits": 8, "schema": PEOPLE.to_toml(), "rows": 1000, "open_factor": 1}
        ledger.record("people", "created", content)
        assert quote(desk, [mean, other], ledger).bits == quote(desk, [mean, other]).bits == 2
        listed = [quoting.to_plain(one) for one in questions_of([mean])]
        ledger.commit(ledger.reserve("people", None, listed, lambda _: 2), ["7"])
        again = quote(desk, [mean, other], ledger)
        assert (again.bits_alone, again.bits, again.remaining) == (2, 1, 7)
        assert again.affordable
        assert quote(desk, [count], ledger).bits == 0


@pytest.mark.parametrize("rows", [0, -1])
def test_a_number_of_rows_that_is_not_positive_is_refused(rows):
    with pytest.raises(OptionError, match=f"The number of rows {rows} is not positive"):
        price(MEAN, PEOPLE, rows=rows)


def test_a_free_repeat_is_affordable_whatever_is_left(tmp_path):
    schema = {
        "table": {"name": "t"},
        "columns": {"c": {"kind": "private", "range": [0, 9], "step": 1}},
    }
    ledger = tmp_path / "ledger.db"
    with Agent({"c": [1, 2, 3]}, schema, budget=8, ledger=ledger) as agent:
        agent.ask("SELECT SUM(c) FROM t", bits=3)
        agent.allow("ann", 6)  # more than is left for the others
        quote = agent.price("SELECT SUM(c) FROM t", bits=3)
        assert quote.bits == 0
        assert quote.affordable
        assert agent.ask("SELECT SUM(c) FROM t", bits=3).bits == 0


def test_a_quote_needs_the_schema_alone_and_is_the_agents(agent, ledger, schema, with_columns):
    texts = ["SELECT AVG(age) FROM people WHERE pay > 1", "SELECT MEDIAN(age) FROM people", OLD]
    for text in texts:
        inside, outside = agent.price(text, bits=3), price(text, schema, rows=10, bits=3)
        assert (inside.cells, inside.errors, inside.levels, inside.explanation) == (
            outside.cells,
            outside.errors,
            outside.levels,
            outside.explanation,
        )
        assert (outside.due, outside.remaining, outside.affordable) == (None, None, None)
        assert outside.bits == outside.bits_alone == inside.bits_alone
        beside = price(text, schema, ledger=ledger, bits=3)
        assert (beside.bits, beside.remaining) == (inside.bits, inside.remaining)
    agent.ask(texts[2], bits=3)
    assert price(texts[2], schema, ledger=ledger, bits=3).bits == 0
    with pytest.raises(OptionError, match="number of rows"):
        price(OLD, schema)
    with pytest.raises(InputError, match="differs from the one in the ledger"):
        price(OLD, with_columns(age={"kind": "private", "range": [0, 9], "step": 1}), ledger=ledger)
