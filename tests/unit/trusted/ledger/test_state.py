"""Budgets by period, and charges for every type of the public columns."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from forgeries import ByType, rechained, refusal

from hartley import Agent, open_ledger
from hartley.agent.replay import replay, verify_prices
from hartley.errors import OptionError, Refused
from hartley.trusted.ledger.rows import canonical
from hartley.trusted.ledger.state import Period, period_name
from hartley.trusted.precision import questions_of
from hartley.trusted.pricing.regions import MOST_PARTS
from hartley.trusted.questions.batch import to_plain

JUNE, JULY, LATER = (
    f"{day}T12:00:00.000000Z" for day in ("2027-06-30", "2027-07-01", "2028-01-01")
)


@pytest.fixture
def clock(monkeypatch):
    """The time that rows are given, to be set."""
    times = [JUNE]
    monkeypatch.setattr("hartley.trusted.ledger.chain.now", lambda: times[0])
    return times


@pytest.fixture
def ledger(place, about, clock):  # noqa: ARG001 - rows are dated by it
    with open_ledger(place.fresh()) as opened:
        opened.record("people", "created", about(10))
        opened.record("people", "period", {"per": "year", "bits": 3})
        yield opened


def ask(ledger, key, cells=2, analyst=None):
    paid = ledger.reserve("people", analyst, [{"q": key}], lambda _: cells)
    ledger.commit(paid, ["0"])
    return paid


def test_questions_stop_at_the_part_and_the_total_never_resets(ledger, clock):
    ask(ledger, 1, 8)
    with pytest.raises(Refused) as refused:
        ask(ledger, 2)
    assert refused.value.problem == (
        "The question costs 1 bit and the part of the year 2027 has 0 bits left"
    )
    assert refused.value.hint == (
        "ask from 2028-01-01 on, when the next year begins, or for a coarser answer"
    )
    assert not ledger.affords("people", None, [{"q": 2}], lambda _: 2)
    assert ask(ledger, 1, 8).cells == 1  # a repeat is free in any period
    clock[0] = LATER
    period = ledger.state("people").period
    assert (period.name, period.balance.remaining) == ("2028", 3.0)  # before any row says so
    ask(ledger, 3, 4)
    state = ledger.state("people")
    assert (state.spent, state.period.balance.spent, state.remaining) == (32, 4, 5.0)
    for year in (2029, 2030, 2031):
        clock[0] = f"{year}-03-01T00:00:00.000000Z"
        ask(ledger, year, 2)
    with pytest.raises(Refused, match="2 bits are left"):
        ask(ledger, 9, 8)
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


def test_a_clock_that_is_set_back_opens_no_period_again(ledger, clock):
    clock[0] = LATER
    ask(ledger, 1, 8)
    clock[0] = JUNE
    assert ledger.state("people").period.name == "2028"
    with pytest.raises(Refused, match="the year 2028 has 0 bits left"):
        ask(ledger, 2)
    ledger.record("town", "population", {"bits": 3})
    times = [entry.time for entry in ledger.entries()]
    assert times == sorted(times)
    assert times[-1] == LATER
    assert ledger.verify().holds


@pytest.mark.parametrize(("per", "second"), [("month", "2027-07"), ("quarter", "2027-Q3")])
def test_months_and_quarters(ledger, clock, per, second):
    ledger.record("people", "period", {"per": per, "bits": 1})
    ask(ledger, 1)
    with pytest.raises(Refused, match="ask from 2027-07-01"):
        ask(ledger, 2)
    clock[0] = JULY
    ask(ledger, 2)
    assert ledger.state("people").period.name == second
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


@pytest.mark.parametrize(
    ("per", "name", "following"),
    [
        ("year", "2027", "2028-01-01"),
        ("quarter", "2027-Q1", "2027-04-01"),
        ("quarter", "2027-Q4", "2028-01-01"),
        ("month", "2027-01", "2027-02-01"),
        ("month", "2027-12", "2028-01-01"),
    ],
)
def test_the_next_period_begins_on_a_day(per, name, following):
    day = Period(per, Fraction(1), name).following
    assert day == following
    assert period_name(per, f"{day}T00:00:00.000000Z") > name


def test_more_bits_keep_what_was_spent_and_another_period_begins_anew(ledger):
    ask(ledger, 1, 8)
    with pytest.raises(OptionError, match="exceed its part of the budget"):
        ledger.record("people", "period", {"per": "year", "bits": 2})
    ledger.record("people", "period", {"per": "year", "bits": 4})
    assert ledger.state("people").period.balance.spent == 8
    ledger.record("people", "period", {"per": "month", "bits": 1})
    assert ledger.state("people").period.balance.spent == 1
    entry = ledger.record("people", "period", {"per": None, "bits": None})
    assert entry.told["before"] == "1 per month"
    assert ledger.state("people").period is None
    ask(ledger, 2, 64)
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


def test_the_worst_case_of_changing_the_kind_within_a_year(sqlite_place, about, clock):
    """The numbers of docs/accountant.md: 8 bits, six months of 1 bit, and 8 bits again."""
    with open_ledger(sqlite_place.fresh()) as ledger:
        ledger.record("people", "created", about(22))
        clock[0] = "2027-05-01T12:00:00.000000Z"
        ledger.record("people", "period", {"per": "year", "bits": 8})
        ask(ledger, 1, 256)
        for month in range(6, 12):
            clock[0] = f"2027-{month:02}-01T12:00:00.000000Z"
            if month == 6:
                ledger.record("people", "period", {"per": "month", "bits": 1})
            ask(ledger, month, 2)
            with pytest.raises(Refused, match="the part of the month"):
                ask(ledger, 100 + month, 2)
        clock[0] = "2027-12-01T12:00:00.000000Z"
        ledger.record("people", "period", {"per": "year", "bits": 8})
        ask(ledger, 12, 256)
        with pytest.raises(Refused):
            ask(ledger, 13, 2)
        assert ledger.state("people").spent == 2**22
        assert ledger.verify().holds
        assert refusal(ledger.entries()) is None


@pytest.mark.parametrize("wrong", [{"per": "week", "bits": 1}, {"per": "year"}, {"bits": 1}])
def test_a_period_needs_a_name_and_bits(ledger, wrong):
    with pytest.raises(OptionError):
        ledger.record("people", "period", wrong)


def test_open_columns_of_new_data_count_in_the_period(ledger):
    ask(ledger, 1, 2)
    ledger.record("people", "version", {"rows": 5, "open_factor": 4})
    assert ledger.state("people").period.balance.spent == 8
    with pytest.raises(Refused, match="the charges in the year 2027 exceed its part") as refused:
        ledger.record("people", "version", {"rows": 5, "open_factor": 2})
    assert "raise the part of the year 2027 first" in refused.value.hint
    assert ledger.verify().holds
    assert refusal(ledger.entries()) is None


def forged(entries, change):
    rows = list(entries)
    for at, entry in enumerate(rows):
        rows[at] = change(entry) or entry
    return rechained(rows)


def with_content(**lie):
    def change(entry):
        if entry.kind != "period":
            return None
        return replace(entry, content=canonical({**entry.told, **lie}))

    return change


def forgotten(entry):
    state = json.loads(entry.state)
    if entry.kind == "reserve":
        state["period"] = {**state["period"], "spent": "1"}
    return replace(entry, state=canonical(state))


def dated_back(entry):
    return replace(entry, time="2001-01-01T00:00:00.000000Z") if entry.kind == "commit" else None


def in_one_year(entry):
    return replace(entry, time=JUNE)


@pytest.mark.parametrize(
    "change",
    [
        forgotten,
        dated_back,
        in_one_year,
        with_content(name="2026"),
        with_content(bits="9"),
        with_content(before="3 per year"),
    ],
)
def test_forged_periods_are_found(ledger, clock, change):
    ask(ledger, 1, 8)
    clock[0] = LATER
    ask(ledger, 2, 2)
    entries = ledger.entries()
    assert replay(entries)[1].holds
    assert refusal(entries) is None
    rows = forged(entries, change)
    assert not replay(rows)[1].holds
    assert refusal(rows) is not None


def test_a_check_that_starts_from_a_head_knows_the_period(ledger, clock):
    ask(ledger, 1, 4)
    head = ledger.head()
    ask(ledger, 2, 2)
    clock[0] = LATER
    ask(ledger, 3, 8)
    assert ledger.verify(since=head).holds


# --- public types ---


def charge_for(typed_ledger, key, *cells, analyst=None, dataset="people", column="region"):
    prices = ByType(*cells, column=column)
    paid = typed_ledger.reserve(dataset, analyst, [{"q": key}], prices, rules="3")
    typed_ledger.commit(paid, ["0"])
    return paid


@pytest.fixture
def typed_ledger(place, about):
    with open_ledger(place.fresh()) as opened:
        opened.record("people", "created", about(4))
        yield opened


def holds(typed_ledger):
    return typed_ledger.verify().holds and refusal(typed_ledger.entries()) is None


def test_types_that_different_batches_are_about_share_the_budget(typed_ledger):
    assert charge_for(typed_ledger, 1, 8, 1, 1).due == 8
    assert charge_for(typed_ledger, 2, 1, 4, 1).due == 1
    assert charge_for(typed_ledger, 3, 1, 4, 1).due == Fraction(
        2
    )  # 16 for the second, after 8 for the first
    with pytest.raises(Refused, match="costs 1 bit and 0 bits are left"):
        charge_for(typed_ledger, 4, 1, 2, 1)
    assert charge_for(typed_ledger, 5, 2, 1, 16).due == 1
    assert typed_ledger.state("people").spent == 16
    assert [str(charge.due) for charge in typed_ledger.history("people")] == [
        "8",
        "1",
        "2",
        "1",
    ]
    assert [charge.cells for charge in typed_ledger.history("people")] == [8, 4, 4, 16]
    assert holds(typed_ledger)


def test_what_is_due_need_not_be_a_whole_number_of_cells(typed_ledger):
    charge_for(typed_ledger, 1, 4, 3)
    assert charge_for(typed_ledger, 2, 1, 2).due == Fraction(3, 2)
    assert typed_ledger.state("people").spent == 6
    assert holds(typed_ledger)


def test_accounts_keep_their_own_types(typed_ledger):
    typed_ledger.record("people", "allowance", {"analyst": "ann", "bits": 2})
    typed_ledger.record("people", "allowance", {"analyst": "bob", "bits": 2})
    charge_for(typed_ledger, 1, 4, 1, analyst="ann")
    assert charge_for(typed_ledger, 2, 1, 4, analyst="ann").due == 1
    assert (
        charge_for(typed_ledger, 3, 4, 1, analyst="bob").due == 4
    )  # nothing of what ann asked is seen
    state = typed_ledger.state("people")
    assert [state.spent, state.allowances["ann"].spent, state.allowances["bob"].spent] == [16, 4, 4]
    assert [charge.due for charge in typed_ledger.history("people", "ann")] == [4, 1]
    assert [charge.due for charge in typed_ledger.history("people", "bob")] == [4]
    assert holds(typed_ledger)


@pytest.mark.parametrize("event", ["version", "schema"])
def test_new_data_and_schemas_start_from_the_largest(typed_ledger, about, event):
    typed_ledger.record("people", "allowance", {"analyst": "ann", "bits": 3})
    charge_for(typed_ledger, 1, 4, 1, analyst="ann")
    content = {"rows": 7} if event == "version" else {"schema": {**about(4)["schema"], "x": 1}}
    typed_ledger.record("people", event, content)
    assert charge_for(typed_ledger, 2, 1, 2, analyst="ann").due == 2
    assert typed_ledger.state("people").spent == 8
    assert holds(typed_ledger)


def test_a_population_counts_the_largest_of_each_dataset(place):
    with open_ledger(place.fresh()) as typed_ledger:
        typed_ledger.record("town", "population", {"bits": 3})
        for name in ("a", "b"):
            schema = {"table": {"name": name, "population": "town"}}
            typed_ledger.record(name, "created", {"bits": 8, "schema": schema, "rows": 5})
        charge_for(typed_ledger, 1, 4, 1, dataset="a")
        charge_for(typed_ledger, 2, 1, 4, dataset="a")
        assert typed_ledger.populations()[0].balance.spent == 4
        with pytest.raises(Refused, match="population"):
            charge_for(typed_ledger, 1, 4, 1, dataset="b")
        charge_for(typed_ledger, 2, 1, 2, dataset="b")
        assert holds(typed_ledger)
        head = typed_ledger.head()
        charge_for(typed_ledger, 3, 2, 1, dataset="b")
        assert typed_ledger.verify(since=head).holds


def test_periods_count_types_too(typed_ledger):
    typed_ledger.record("people", "period", {"per": "year", "bits": 2})
    charge_for(typed_ledger, 1, 4, 1)
    charge_for(typed_ledger, 2, 1, 4)
    with pytest.raises(Refused, match="the part of the year"):
        charge_for(typed_ledger, 3, 1, 2)
    assert typed_ledger.state("people").period.balance.spent == 4
    assert holds(typed_ledger)


def test_many_types_are_merged(place, about):
    with open_ledger(place.fresh()) as typed_ledger:
        typed_ledger.record("people", "created", about(400))
        for key, column in enumerate("abc"):
            cells = [2 + (key + code) % 3 for code in range(20)]
            charge_for(typed_ledger, key, *cells, column=column)
        state = json.loads(typed_ledger.entries()[-1].state)
        assert len(state["parts"]["cells"]) <= MOST_PARTS
        assert holds(typed_ledger)


def changed(entries, kind, change):
    rows = list(entries)
    for at, entry in enumerate(rows):
        if entry.kind == kind and (new := change(entry)) is not None:
            rows[at] = new
    return rechained(rows)


def test_forged_parts_are_found(typed_ledger):
    charge_for(typed_ledger, 1, 4, 1)
    charge_for(typed_ledger, 2, 1, 4)
    entries = typed_ledger.entries()
    second = [entry for entry in entries if entry.kind == "reserve"][1]

    def left_out(entry):
        """Record a batch that does not raise the maximum, and leave its parts out of the state."""
        return replace(entry, state=entries[1].state) if entry is second else None

    def cheaper(entry):
        parts = {"cells": ["1", "2"], "cuts": {"region": [0, 1]}}
        content = canonical({**entry.told, "parts": parts})
        return replace(entry, content=content) if entry is second else None

    def elsewhere(entry):
        parts = {"cells": ["1", "4"], "cuts": {"region": [1, 2]}}
        content = canonical({**entry.told, "parts": parts, "account_parts": parts})
        return replace(entry, content=content) if entry is second else None

    def smaller(entry):
        state = json.loads(entry.state)
        if "parts" not in state:
            return None
        state["parts"]["cells"][0] = "2"
        return replace(entry, state=canonical(state))

    def hidden(entry):
        """Hide a text where nothing is computed from it."""
        parts = entry.told["parts"] | {"secret": "a name"}
        return replace(entry, content=canonical({**entry.told, "parts": parts}))

    def longer(entry):
        parts = entry.told["parts"] | {"cells": [*entry.told["parts"]["cells"], "a name"]}
        return replace(entry, content=canonical({**entry.told, "parts": parts}))

    assert replay(entries)[1].holds
    for change in (left_out, cheaper, elsewhere, smaller, hidden, longer):
        rows = changed(entries, "reserve", change)
        assert rows != entries
        assert not replay(rows)[1].holds, change
        assert refusal(rows) is not None, change


# --- agents ---------------------------------------------------------------------------------------

SCHEMA = {
    "table": {"name": "t"},
    "columns": {
        "region": {"kind": "public", "values": ["north", "south"]},
        "a": {"kind": "private", "range": [0, 9], "step": 1},
    },
}
DATA = {"region": ["north", "south", "north", "south"], "a": [1, 2, 3, 4]}


@pytest.fixture
def agent(tmp_path):
    with Agent(DATA, SCHEMA, ledger=tmp_path / "ledger.db", budget=4) as opened:
        yield opened


def test_an_agent_charges_regions_in_parallel(agent):
    asked = "SELECT COUNT(*) FROM t WHERE a > 2 AND region = "
    texts = [f"{asked}'north'", f"{asked}'south'"]
    quote, answer = agent.price(texts[0]), agent.ask(texts[0])
    assert (quote.bits, answer.bits) == (1.0, 1.0)
    quote, answer = agent.price(texts[1]), agent.ask(texts[1])
    assert (quote.bits, answer.bits, answer.spent) == (0.0, 0.0, 1.0)
    assert "the largest sum counts: it grows by 0 bits" in quote.explanation
    assert agent.ask("SELECT COUNT(*) FROM t WHERE a > 2").bits == 0  # both regions are known
    report = verify_prices(agent.ledger)
    assert (report.holds, report.repriced) == (True, 3)
    entries = agent.ledger.entries()
    assert refusal(entries) is None

    def cheaper(entry):
        parts = {"cells": ["1", "1"], "cuts": {"region": [0, 1]}}
        told = {**entry.told, "parts": parts, "account_parts": parts}
        return replace(entry, content=canonical(told))

    assert not replay(changed(entries, "reserve", cheaper))[1].holds


def test_the_next_version_starts_from_the_largest(agent):
    agent.ask("SELECT COUNT(*) FROM t WHERE region = 'north' AND a > 2")
    agent.update(DATA)
    assert agent.ask("SELECT COUNT(*) FROM t WHERE region = 'south' AND a > 2").bits == 1
    assert agent.spent == 2.0
    assert verify_prices(agent.ledger).holds


def test_a_year_has_its_part(agent):
    words = agent.set_budget(2, per="year")
    assert words.startswith("at most 2 bits in every year; of those for 20")
    agent.ask("SELECT SUM(a) FROM t", bits=2)
    quote = agent.price("SELECT COUNT(*) FROM t WHERE a > 2")
    assert quote.affordable is False
    with pytest.raises(Refused, match="the part of the year"):
        agent.ask("SELECT COUNT(*) FROM t WHERE a > 2")
    assert "By period: at most 2 bits in every year" in agent.summary()
    assert "2 bits are spent and 0 bits left" in agent.summary()
    agent.set_budget(None, per="year")
    assert agent.ask("SELECT COUNT(*) FROM t WHERE a > 2").bits == 1
    assert "every year" not in agent.summary()


# --- answers outside the range of their question --------------------------------------------------


def forge_answer(agent, text, answer, **wish):
    """Charge for a question, and record an answer that no engine computed."""
    questions = questions_of(agent.desk.plan(text, wish.get("error"), wish.get("bits")))
    listed = [to_plain(question) for question in questions]
    paid = agent.ledger.reserve("t", None, listed, agent.desk.prices(questions), rules="3")
    head = agent.ledger.head()
    agent.ledger.commit(paid, [answer] * len(listed))
    return head


@pytest.mark.parametrize(
    ("text", "answer", "good"),
    [
        ("SELECT COUNT(*) FROM t WHERE a > 2", "4", True),
        ("SELECT COUNT(*) FROM t WHERE a > 2", "5", False),
        ("SELECT COUNT(*) FROM t WHERE a > 2", None, False),
        ("SELECT SUM(a) FROM t", None, False),
        ("SELECT SUM(a) FROM t", "4000000", False),
        ("SELECT MEDIAN(a) FROM t WHERE a > 2", None, True),
        ("SELECT MEDIAN(a) FROM t WHERE a > 2", "90", False),
    ],
)
def test_an_answer_lies_in_the_range_of_its_question(agent, text, answer, good):
    head = forge_answer(agent, text, answer, bits=2)
    for since in (None, head):
        report = verify_prices(agent.ledger, since=since)
        assert report.holds == good
        assert good or "holds an invalid answer" in report.problem
    assert agent.ledger.verify().holds  # without prices, questions are not read
