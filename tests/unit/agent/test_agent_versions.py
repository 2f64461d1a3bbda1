"""New data and changed schemas: new versions, charged and recorded whole."""

import pytest

from hartley.agent.agent import Agent
from hartley.agent.replay import verify_prices
from hartley.errors import InputError, OptionError, Refused, Stale
from hartley.schema.schema import Schema

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


@pytest.mark.slow
def test_new_data_are_a_new_version_and_what_was_charged_stays_charged(
    agent, ledger, people, schema
):
    agent.ask(OLD)
    more = {name: [*values, values[-1]] for name, values in people.items()}
    agent.update(more)
    assert agent.spent == 3.0  # the open column was paid for again
    answer = agent.ask(OLD)
    assert (answer.value, answer.bits, agent.spent) == (6, 1.0, 4.0)
    assert agent.ask("SELECT COUNT(*) FROM people").value == 11
    agent.update(people, erasure=True)
    assert agent.ask("SELECT COUNT(*) FROM people").value == 10
    assert agent.ask(OLD).value == 5
    kinds = [entry.kind for entry in agent.ledger.entries() if entry.kind not in EVERYDAY]
    assert kinds == ["created", "version", "erasure"]
    assert verify_prices(agent.ledger).holds
    copies = [path.name for path in ledger.parent.iterdir() if path.suffix == ".duckdb"]
    assert copies == [f"ledger.db.people.{agent.state.version[:12]}.duckdb"]
    with Agent(None, schema, ledger=ledger) as again:
        assert again.ask(OLD).bits == 0
        assert again.ask("SELECT COUNT(*) FROM people").value == 10


EVERYDAY = ("reserve", "commit")


@pytest.mark.slow
def test_an_update_that_is_refused_leaves_everything_as_it_was(
    ledger, people, schema, with_columns
):
    with Agent(people, schema, ledger=ledger, budget=3) as agent:
        agent.ask(OLD)
        agent.ask("SELECT COUNT(*) FROM people WHERE age < 20")
        head = agent.ledger.head()
        with pytest.raises(Refused) as refused:
            agent.update(people)  # the open column would be paid for again
        assert (refused.value.requested, refused.value.remaining) == (1.0, 0.0)
        with pytest.raises(InputError):
            agent.update({**people, "sex": ["X"] * 10})
        with pytest.raises(Refused):
            agent.change_schema(
                with_columns(area={"kind": "open", "values": ["north", "south"]}), people
            )
        assert agent.ledger.head() == head
        assert agent.ask(OLD).value == 5
    with Agent(None, schema, ledger=ledger) as agent:
        assert agent.ask(OLD).value == 5
    assert len(list(ledger.parent.glob("*.duckdb"))) == 1


@pytest.mark.slow
def test_a_process_that_holds_the_old_version_is_refused_and_charged_nothing(
    ledger, people, schema
):
    with (
        Agent(people, schema, ledger=ledger, budget=12) as old,
        Agent(None, schema, ledger=ledger) as other,
    ):
        other.update({name: values[:4] for name, values in people.items()})
        head = other.ledger.head()
        with pytest.raises(Stale, match="in the meantime"):
            old.ask(OLD)
        with pytest.raises(Stale, match="in the meantime"):
            old.ask("SELECT COUNT(*) FROM people")
        assert other.ledger.head() == head
        assert other.ask(OLD).value == 0


@pytest.mark.slow
def test_a_changed_schema_is_one_event_with_its_data_and_prices_are_of_it(
    agent, ledger, people, schema, with_columns
):
    agent.ask(OLD)
    coarse = with_columns(age={"kind": "private", "range": [0, 100], "step": 10})
    spent = agent.state.spent
    agent.change_schema(coarse, people)
    assert agent.schema == Schema.read(coarse)
    assert agent.state.spent == spent
    assert agent.state.open_factor == 4
    assert agent.ask(OLD).bits == 1.0
    events = [entry for entry in agent.ledger.entries() if entry.kind not in EVERYDAY]
    assert [event.kind for event in events] == ["created", "schema"]
    report = verify_prices(agent.ledger)
    assert report.holds, report.problem
    assert (report.repriced, report.unpriced) == (2, 0)
    with pytest.raises(InputError, match="differs from the one in the ledger"):
        Agent(None, schema, ledger=ledger)
    with Agent(None, coarse, ledger=ledger) as again:
        assert again.ask(OLD).bits == 0


@pytest.mark.slow
def test_opening_a_column_is_never_free_even_if_the_change_fails_half_way(
    agent, monkeypatch, people, schema, with_columns
):
    """A schema with one more open column counts only together with its charge."""
    opened = with_columns(age={"kind": "open", "range": [0, 100], "step": 50})
    with pytest.raises(OptionError):
        agent.change_schema({**opened, "table": {"name": "others"}}, people)
    before = agent.ledger.head()
    trusted = agent.ledger.trusted
    monkeypatch.setattr(trusted, "record", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    with pytest.raises(OSError):  # noqa: PT011 - as of a disk that is full
        agent.change_schema(opened, people)
    monkeypatch.undo()
    assert agent.ledger.head() == before
    assert agent.schema == Schema.read(schema)
    agent.change_schema(opened, people)
    assert agent.state.open_factor == 2 * 6
    assert agent.ask("SELECT COUNT(*) FROM people WHERE age = 50").bits == 0


@pytest.mark.slow
def test_an_agent_with_an_old_schema_cannot_record_new_data(ledger, people, schema, with_columns):
    changed = with_columns(age={"kind": "open", "range": [0, 100], "step": 1})
    with (
        Agent(people, schema, ledger=ledger, budget=40) as old,
        Agent(None, schema, ledger=ledger) as other,
    ):
        other.change_schema(changed, people)
        head = other.ledger.head()
        with pytest.raises(Refused, match="schema was changed"):
            old.update(people)
        assert other.ledger.head() == head
