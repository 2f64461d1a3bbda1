"""The public Agent: it answers as the trusted one does, and plans."""

import inspect
import pickle

import pytest

import hartley
from hartley.agent import agent as opening_agent
from hartley.agent.agent import Agent
from hartley.errors import OptionError
from hartley.trusted.agent import TrustedAgent
from hartley.trusted.precision import PriceDesk

MEDIAN, OLD = (
    "SELECT MEDIAN(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE age >= 65",
)
AVERAGE = "SELECT AVG(age) FROM people WHERE pay > 1"
TABLE = {"age": [3, 40, 90]}
SCHEMA = {
    "table": {"name": "people"},
    "columns": {"age": {"kind": "private", "range": [0, 100], "step": 1}},
}


@pytest.fixture
def planner(people, schema, ledger):
    with hartley.Agent(people, schema, ledger=ledger, budget=12) as opened:
        yield opened


def test_the_public_agent_holds_a_trusted_one(planner, people, schema):
    assert isinstance(planner, hartley.Agent)
    assert "agent for people" in repr(planner)
    assert pickle.loads(pickle.dumps(hartley.Agent)) is hartley.Agent  # noqa: S301 - a class
    kinds = (hartley.Agent, TrustedAgent)
    opening, opened = [list(inspect.signature(kind).parameters) for kind in kinds]
    assert opening == ["data", *opened[1:]]
    asking, answering = [list(inspect.signature(kind.ask).parameters) for kind in kinds]
    assert asking == answering
    with pytest.raises(hartley.OptionError, match="neither a path, an address nor an open"):
        hartley.Agent(people, schema, ledger=planner.ledger.trusted, budget=4)


def test_a_trusted_agent_takes_what_is_open(people, schema, ledger):
    read = hartley.Schema.read(schema)
    with hartley.open_ledger(ledger) as opened:
        table = hartley.open_table(people)
        agent = TrustedAgent(table, read, ledger=opened.trusted, budget=12)
        assert agent.ask(OLD).bits == 1
        agent.update(hartley.open_table(people))
        assert opened.state("people").balance.spent_bits == 3  # the open column twice
        agent.close()
        assert opened.datasets() == ["people"]  # an agent does not close a ledger it was given


def test_the_first_problem_is_reported_as_it_comes_up(people, schema, tmp_path):
    """A schema before a ledger, a ledger before the data, and nothing is left behind."""
    nowhere, text = tmp_path / "missing.csv", tmp_path / "text.db"
    text.write_text("no ledger " * 100)
    with pytest.raises(hartley.HartleyError, match="schema"):
        hartley.Agent(nowhere, tmp_path / "missing.toml", ledger=text, budget=1)
    with pytest.raises(hartley.HartleyError, match="ledger"):
        hartley.Agent(nowhere, schema, ledger=text, budget=1)
    draft = schema | {"table": {"name": "people", "draft": True}}
    with pytest.raises(hartley.HartleyError, match="draft"):
        hartley.Agent(nowhere, draft, ledger=tmp_path / "ledger.db", budget=1)
    with pytest.raises(hartley.HartleyError, match=r"missing\.csv"):
        hartley.Agent(nowhere, schema, ledger=tmp_path / "ledger.db", budget=1)
    with hartley.Agent(people, schema, ledger=tmp_path / "ledger.db", budget=4) as agent:
        with pytest.raises(hartley.HartleyError, match="keep the name"):
            agent.change_schema(schema | {"table": {"name": "others"}}, nowhere)
        with pytest.raises(hartley.HartleyError, match=r"missing\.csv"):
            agent.change_schema(schema, nowhere)


def test_a_plan_of_the_agent_is_what_it_charges(planner):
    planned = planner.plan([MEDIAN, OLD], budget=4)
    assert planned == hartley.plan([MEDIAN, OLD], planner, budget=4)
    spent = planner.spent
    assert planner.ask(planned.wishes).bits == planned.bits <= 4
    assert planner.spent == pytest.approx(spent + planned.bits)
    assert planner.plan(planned.wishes).bits == 0  # all of it is known now


def test_a_plan_counts_what_was_spent_on_each_type(planner):
    """Questions about the north leave the south untouched, so they cost nothing there."""
    texts = ["SELECT MEDIAN(age) FROM people WHERE area = '{}'", f"{OLD} AND area = '{{}}'"]
    north, south = ([text.format(area) for text in texts] for area in ("north", "south"))
    both, one = planner.plan([*north, *south], bits=3), planner.plan(north, bits=3)
    assert both.batch == one.batch
    assert both.given.total == one.given.total
    assert both.best.total == one.best.total
    for text in north:
        planner.ask(text, bits=3)
    planned = planner.plan(south, bits=3, budget=0)
    assert (planned.bits, planned.excluded) == (0, ())
    planned = planner.plan([*south, MEDIAN], bits=2)
    assert planner.ask(planned.wishes)[0].bits == planned.bits > 0


def test_a_plan_takes_a_least_number_of_rows(planner):
    planned = planner.plan([AVERAGE, OLD], error=10, min_rows=3)
    assert [wish.min_rows for wish in planned.wishes] == [3, 3]
    assert "-- error=10, min_rows=3" in planned.to_sql()
    assert planner.plan(planned.to_sql()).bits == planned.bits
    assert planned.to_dict()["questions"][0]["min_rows"] == "3"
    assert "min_rows=3" in str(planned)
    with pytest.raises(hartley.OptionError, match="without an error"):
        planner.plan([AVERAGE], budget=3, min_rows=3)


def test_a_curve_of_the_agent_says_what_is_due(planner):
    curve = planner.curve(MEDIAN, bits=3)
    assert curve == hartley.price_curve(MEDIAN, planner, bits=3)
    assert curve.next_point.cells > curve.asked == 8
    planner.ask(MEDIAN, bits=3)
    assert planner.curve(MEDIAN, bits=3).at(3).due == 1
    assert planner.curve(AVERAGE, error=10, min_rows=3).asked > 1


def test_only_the_own_account_counts(planner):
    planner.allow("ann", 4)
    planner.ask(MEDIAN, bits=3, analyst="ann")
    assert planner.plan([MEDIAN], bits=3, analyst="ann").bits == 0
    assert planner.plan([MEDIAN], bits=3).bits == 3
    assert planner.curve(MEDIAN, analyst="ann").at(3).due == 1
    assert planner.curve(MEDIAN).at(3).due == 8


def test_a_closed_agent_does_not_plan(people, schema, ledger):
    with hartley.Agent(people, schema, ledger=ledger, budget=12) as opened:
        pass
    for verb in (opened.plan, opened.curve):
        with pytest.raises(hartley.OptionError, match="closed"):
            verb(MEDIAN)


@pytest.mark.parametrize("ledger", [5, None, [], b"ledger.db"])
def test_what_is_no_ledger_is_refused_with_a_sentence(ledger):
    with pytest.raises(OptionError, match="neither a path, an address nor an open ledger"):
        Agent(TABLE, SCHEMA, ledger=ledger, budget=4)
    if ledger is not None:  # a price needs none
        with pytest.raises(OptionError, match="neither a path, an address nor an open ledger"):
            hartley.price("SELECT COUNT(*) FROM people", SCHEMA, ledger=ledger)


def test_a_quote_is_of_one_version_even_if_another_replaces_it_meanwhile(tmp_path, monkeypatch):
    plan, make_quote, used = PriceDesk.plan, opening_agent.quote, []

    def replaced_meanwhile(desk, *about):
        used.append(desk)
        plans = plan(desk, *about)
        agent.update({"age": [*TABLE["age"], 17]})
        return plans

    def noted(desk, *about, **more):
        used.append(desk)
        return make_quote(desk, *about, **more)

    monkeypatch.setattr(PriceDesk, "plan", replaced_meanwhile)
    monkeypatch.setattr(opening_agent, "quote", noted)
    with Agent(TABLE, SCHEMA, ledger=tmp_path / "ledger.db", budget=9) as agent:
        old = agent.desk
        agent.price("SELECT AVG(age) FROM people", bits=2)
        assert agent.desk is not old
    assert [desk is old for desk in used] == [True, True]
