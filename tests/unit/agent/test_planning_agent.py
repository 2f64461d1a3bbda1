"""The public Agent: it answers as the trusted one does, and plans."""

import inspect
import pickle

import pytest

import hartley
from hartley.agent.agent import Agent as AnsweringAgent
from hartley.agent.planning_agent import PlanningAgent

MEDIAN, OLD = (
    "SELECT MEDIAN(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE age >= 65",
)
AVERAGE = "SELECT AVG(age) FROM people WHERE pay > 1"


@pytest.fixture
def planner(people, schema, ledger):
    with hartley.Agent(people, schema, ledger=ledger, budget=12) as opened:
        yield opened


def test_the_public_agent_is_an_agent(planner):
    assert hartley.Agent is PlanningAgent
    assert isinstance(planner, AnsweringAgent)
    assert isinstance(planner, hartley.Agent)
    assert "agent for people" in repr(planner)
    assert pickle.loads(pickle.dumps(hartley.Agent)) is hartley.Agent  # noqa: S301 - a class
    assert inspect.signature(hartley.Agent) == inspect.signature(AnsweringAgent)
    # Only the two verbs are new: an answer rests on the trusted class alone.
    assert vars(PlanningAgent).keys() & vars(AnsweringAgent).keys() <= {
        "__doc__",
        "__module__",
        "__firstlineno__",
        "__static_attributes__",
    }


def test_a_plan_of_the_agent_is_what_it_charges(planner):
    planned = planner.plan([MEDIAN, OLD], budget=4)
    assert planned == hartley.plan([MEDIAN, OLD], planner, budget=4)
    spent = planner.spent
    assert planner.ask(planned.wishes).bits == planned.bits <= 4
    assert planner.spent == pytest.approx(spent + planned.bits)
    assert planner.plan(planned.wishes).bits == 0  # all of it is known now


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
