"""A charge is counted for a unit: no schema changes that under it, however it is recorded."""

from dataclasses import replace

import pytest

from hartley import Agent, Schema
from hartley.agent.ledger import open_ledger
from hartley.agent.replay import replay
from hartley.errors import EngineError, Refused
from hartley.trusted.ledger.rows import BEFORE_THE_FIRST, Terms, terms_of

DATA = {"id": [1, 1, 2, 3], "age": [30, 40, 50, 60], "sex": ["F", "F", "M", "F"]}
FEW = {name: values[1:] for name, values in DATA.items()}
AGE = {"kind": "private", "range": [0, 127], "step": 1}
SEX = {"kind": "private", "values": ["F", "M"]}


def schema(columns=None, **table):
    return {"table": {"name": "people", **table}, "columns": columns or {"age": AGE, "sex": SEX}}


def written(*args, **table):
    return Schema.read(schema(*args, **table)).to_toml()


def q(*keys):
    return [{"q": key} for key in keys]


BY_ID = {"unit": "id", "rows_per_unit": 2}
CHANGES = [({}, BY_ID), (BY_ID, {}), (BY_ID, {"unit": "house", "rows_per_unit": 2})]


@pytest.mark.parametrize(("before", "after"), CHANGES)
@pytest.mark.parametrize("form", [schema, written])
@pytest.mark.parametrize("charge", ["question", "open column", "earlier version"])
def test_the_unit_stays_once_anything_was_charged(place, before, after, form, charge):
    with open_ledger(place.fresh()) as ledger:
        factor = 2 if charge == "open column" else 1
        about = {"schema": form(**before), "rows": 4, "open_factor": factor}
        ledger.record("people", "created", {"bits": 9, **about})
        if charge != "open column":
            ledger.reserve("people", None, q(1), lambda _: 2)
        if charge == "earlier version":
            ledger.record("people", "version", {"rows": 4})
        head = ledger.head()
        for version in ({}, {"rows": 4, "version": "c" * 16}):
            with pytest.raises(Refused, match="earlier charges were counted for"):
                ledger.record("people", "schema", {"schema": form(**after), **version})
        assert ledger.head() == head
        assert ledger.verify().holds
        same = {"schema": form(**before, default_bits=2), "rows": 4, "version": "d" * 16}
        ledger.record("people", "schema", same)
        assert ledger.overview("people").broken is None


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_before_anything_was_charged_the_unit_may_be_another(place, before, after):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", {"bits": 9, "schema": written(**before), "rows": 4})
        ledger.reserve("people", None, q(1), lambda _: 1)  # a constant tells nothing
        changed = {"schema": written(**after), "rows": 4, "version": "c" * 16}
        ledger.record("people", "schema", changed)
        assert ledger.verify().holds


def test_a_charge_between_check_and_record_counts(place):
    """The rule is looked at in the transaction that writes, not before it."""
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", {"bits": 9, "schema": written(), "rows": 4})
        write = ledger.store.write

        def later(work, **settings):
            ledger.store.write = write
            ledger.reserve("people", None, q(1), lambda _: 2)
            return write(work, **settings)

        ledger.store.write = later
        with pytest.raises(Refused, match="counted for one row"):
            ledger.record("people", "schema", {"schema": written(**BY_ID)})
        assert ledger.state("people").spent == 2


@pytest.mark.slow
def test_an_agent_keeps_its_unit_and_its_summary_true(tmp_path):
    with Agent(FEW, schema(), ledger=tmp_path / "l.db", budget=4) as agent:
        agent.ask("SELECT COUNT(*) FROM people WHERE age > 40")
        before, files = agent.ledger.head(), sorted(tmp_path.iterdir())
        with pytest.raises(Refused, match=r"counted for one row.*; hint: keep the unit"):
            agent.change_schema(schema(**BY_ID), DATA)
        assert agent.ledger.head() == before
        assert sorted(tmp_path.iterdir()) == files  # no copy stays
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").bits == 0
        assert "broken" not in agent.summary()


@pytest.mark.slow
def test_more_or_fewer_rows_of_the_same_unit_are_fine_with_new_data(tmp_path):
    one = {"unit": "id", "rows_per_unit": 1}
    with Agent(FEW, schema(**one), ledger=tmp_path / "l.db", budget=9) as agent:
        agent.ask("SELECT SUM(age) FROM people", bits=1)
        agent.change_schema(schema(**BY_ID), DATA)
        agent.ask("SELECT SUM(age) FROM people", bits=1)
        agent.change_schema(schema(**one), FEW)
        agent.change_schema(schema(**one, rows="private", max_rows=9), FEW)
        agent.change_schema(schema({"age": AGE, "sex": {**SEX, "kind": "open"}}, **one), FEW)
        agent.change_schema(schema({"age": AGE}, **one), FEW)
        assert agent.ledger.verify().holds


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (schema(**BY_ID), schema(unit="id"), "more rows than it allows"),
        (
            schema(rows="private", max_rows=9),
            schema(rows="private", max_rows=8),
            "more rows than it allows",
        ),
        (schema(rows="private", max_rows=9), schema(), "number of rows is private"),
        (
            schema(),
            schema({"age": AGE, "sex": {**SEX, "kind": "public"}}),
            "column 'sex' is private",
        ),
        (schema(), schema({"age": {**AGE, "step": "127"}}), "column 'age' was coded"),
        (schema(), schema({"age": AGE, "sex": {**SEX, "kind": "open"}}), "opening column 'sex'"),
        (schema(), schema({"age": AGE}), "column 'sex' is still in the data"),
        (schema(), schema(rows="private", max_rows=3), "more rows than it allows"),
        (schema(), schema(**BY_ID), "the number of rows per person was never checked"),
    ],
)
def test_the_same_data_stay_what_their_charges_were_made_for(place, before, after, problem):
    with open_ledger(place.fresh()) as ledger:
        about = {"bits": 9, "schema": Schema.read(before).to_toml(), "rows": 4}
        ledger.record("people", "created", about)
        changed = {"schema": Schema.read(after).to_toml(), "open_factor": 2, "open_charge": 1}
        with pytest.raises(Refused, match=problem):
            ledger.record("people", "schema", changed)
        new_data = {"rows": 4, "version": "c" * 16}
        with pytest.raises(Refused, match="new data must be charged for all of their open columns"):
            ledger.record("people", "schema", {**changed, **new_data})
        ledger.record("people", "schema", {**changed, **new_data, "open_charge": 2})
        assert ledger.verify().holds


def test_a_column_does_not_come_back_opened_for_nothing(tmp_path):
    with Agent(FEW, schema(), ledger=tmp_path / "l.db", budget=4) as agent:
        ledger = agent.ledger
        with pytest.raises(Refused, match="column 'age' is still in the data"):
            ledger.record("people", "schema", {"schema": written({"sex": SEX})})
        opened = {"schema": written({"age": {**AGE, "kind": "open"}, "sex": SEX})}
        with pytest.raises(Refused, match="opening column 'age' must be charged"):
            ledger.record("people", "schema", {**opened, "open_factor": 128, "open_charge": 1})
        assert agent.ask("SELECT COUNT(*) FROM people WHERE age > 40").bits == 1


# --- histories of the time before the rule --------------------------------------------------------


@pytest.fixture
def broken(monkeypatch, place):
    """A ledger with such an event, as the program wrote it once."""
    address = place.fresh()
    with monkeypatch.context() as patch:
        patch.setattr("hartley.trusted.ledger.chain.problem_of_schema", lambda *_, **__: None)
        with open_ledger(address) as ledger:
            ledger.record("people", "created", {"bits": 9, "schema": written(), "rows": 4})
            ledger.reserve("people", None, q(1), lambda _: 2)
            ledger.record("people", "schema", {"schema": written(**BY_ID), "open_charge": 1})
    return address


def test_a_history_that_broke_the_rule_opens_and_is_reported(broken):
    with open_ledger(broken) as ledger:
        ledger.reserve("people", None, q(2), lambda _: 2)
        report = ledger.verify()
        assert (report.holds, report.intact, report.first_bad, report.rows) == (False, True, 3, 4)
        assert "row 3 changes the schema of 'people'" in report.problem
        assert report.sentence.startswith("The chain is intact, but its promise is broken: row 3")
        assert "row 3 changed the schema" in ledger.overview("people").broken


@pytest.mark.slow
def test_a_summary_says_that_its_promise_is_broken(monkeypatch, tmp_path):
    with Agent(FEW, schema(), ledger=tmp_path / "l.db", budget=4) as agent:
        agent.ask("SELECT COUNT(*) FROM people WHERE age > 40")
        with monkeypatch.context() as patch:
            patch.setattr("hartley.trusted.ledger.chain.problem_of_schema", lambda *_, **__: None)
            agent.change_schema(schema(**BY_ID), DATA)
        assert agent.summary().splitlines()[-1].startswith("That promise is broken: row 4 changed")


def test_such_a_history_is_restored_only_by_force(broken, place, tmp_path):
    with open_ledger(broken) as ledger:
        ledger.export(tmp_path / "x")
    with open_ledger(place.fresh()) as other:
        with pytest.raises(EngineError, match=r"row 3 changes the schema.*; hint: nothing was"):
            other.restore(tmp_path / "x")
        assert other.head() is None
        other.restore(tmp_path / "x", force=True)
        assert not other.verify().holds


def test_force_does_not_restore_a_chain_that_was_changed(broken, place, tmp_path):
    with open_ledger(broken) as ledger:
        ledger.export(tmp_path / "x")
    text = (tmp_path / "x").read_text()
    (tmp_path / "y").write_text(text.replace('"analyst":""', '"analyst":"eve"', 1))
    with open_ledger(place.fresh()) as other, pytest.raises(EngineError, match="was changed"):
        other.restore(tmp_path / "y", force=True)


def test_a_promise_that_was_broken_does_not_hide_a_row_that_was_changed(broken):
    with open_ledger(broken) as ledger:
        ledger.reserve("people", None, q(2), lambda _: 2)
        entries = ledger.entries()
    for at in range(4):
        rows = [replace(entry, time="x") if n == at else entry for n, entry in enumerate(entries)]
        _, report = replay(rows)
        assert (report.holds, report.intact, report.first_bad) == (False, False, at + 1)
    assert entries[0].previous == BEFORE_THE_FIRST


@pytest.mark.parametrize("rows", ["9" * 5000, "[" * 5000, "1e999999999"])
def test_a_recorded_schema_with_what_nobody_reads_says_nothing(rows):
    assert terms_of(f"[table]\nrows = {rows}\n") == Terms()


def test_steps_that_differ_far_behind_the_point_are_different_steps():
    one, other = (
        terms_of(f'[columns.x]\nkind = "private"\nstep = 0.1{"0" * 20}{digit}\n').columns["x"]
        for digit in "12"
    )
    assert one != other
