"""What is spent is kept for every type of the public columns, by dataset and by account."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from forgeries import rechained, refusal

from hartley.agent.agent import Agent
from hartley.agent.ledger import open_ledger
from hartley.agent.replay import replay, verify_prices
from hartley.errors import Refused
from hartley.trusted.ledger.charging import BatchPrices, RowPrice
from hartley.trusted.ledger.rows import canonical
from hartley.trusted.precision import questions_of
from hartley.trusted.pricing.regions import MOST_PARTS, PublicParts
from hartley.trusted.questions.batch import to_plain


class ByType(BatchPrices):
    """Prices by the code of one public column."""

    by_holder = True

    def __init__(self, *cells, column="region"):
        super().__init__()
        self._parts = PublicParts.of(((column, tuple(range(len(cells)))),), cells)

    def compute(self, indices, holder):  # noqa: ARG002 - the same for everybody
        return RowPrice(self._parts.most, (), self._parts)


def ask(ledger, key, *cells, analyst=None, dataset="people", column="region"):
    prices = ByType(*cells, column=column)
    paid = ledger.reserve(dataset, analyst, [{"q": key}], prices, rules="3")
    ledger.commit(paid, ["0"])
    return paid


@pytest.fixture
def ledger(place, about):
    with open_ledger(place.fresh()) as opened:
        opened.record("people", "created", about(4))
        yield opened


def holds(ledger):
    return ledger.verify().holds and refusal(ledger.entries()) is None


def test_types_that_different_batches_are_about_share_the_budget(ledger):
    assert ask(ledger, 1, 8, 1, 1).due == 8
    assert ask(ledger, 2, 1, 4, 1).due == 1
    assert ask(ledger, 3, 1, 4, 1).due == Fraction(2)  # 16 for the second, after 8 for the first
    with pytest.raises(Refused, match="costs 1 bit and 0 bits are left"):
        ask(ledger, 4, 1, 2, 1)
    assert ask(ledger, 5, 2, 1, 16).due == 1
    assert ledger.state("people").spent == 16
    assert [str(charge.due) for charge in ledger.history("people")] == ["8", "1", "2", "1"]
    assert [charge.cells for charge in ledger.history("people")] == [8, 4, 4, 16]
    assert holds(ledger)


def test_what_is_due_need_not_be_a_whole_number_of_cells(ledger):
    ask(ledger, 1, 4, 3)
    assert ask(ledger, 2, 1, 2).due == Fraction(3, 2)
    assert ledger.state("people").spent == 6
    assert holds(ledger)


def test_accounts_keep_their_own_types(ledger):
    ledger.record("people", "allowance", {"analyst": "ann", "bits": 2})
    ledger.record("people", "allowance", {"analyst": "bob", "bits": 2})
    ask(ledger, 1, 4, 1, analyst="ann")
    assert ask(ledger, 2, 1, 4, analyst="ann").due == 1
    assert ask(ledger, 3, 4, 1, analyst="bob").due == 4  # nothing of what ann asked is seen
    state = ledger.state("people")
    assert [state.spent, state.allowances["ann"].spent, state.allowances["bob"].spent] == [16, 4, 4]
    assert [charge.due for charge in ledger.history("people", "ann")] == [4, 1]
    assert [charge.due for charge in ledger.history("people", "bob")] == [4]
    assert holds(ledger)


@pytest.mark.parametrize("event", ["version", "schema"])
def test_new_data_and_schemas_start_from_the_largest(ledger, about, event):
    ledger.record("people", "allowance", {"analyst": "ann", "bits": 3})
    ask(ledger, 1, 4, 1, analyst="ann")
    content = {"rows": 7} if event == "version" else {"schema": {**about(4)["schema"], "x": 1}}
    ledger.record("people", event, content)
    assert ask(ledger, 2, 1, 2, analyst="ann").due == 2
    assert ledger.state("people").spent == 8
    assert holds(ledger)


def test_a_population_counts_the_largest_of_each_dataset(place):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("town", "population", {"bits": 3})
        for name in ("a", "b"):
            schema = {"table": {"name": name, "population": "town"}}
            ledger.record(name, "created", {"bits": 8, "schema": schema, "rows": 5})
        ask(ledger, 1, 4, 1, dataset="a")
        ask(ledger, 2, 1, 4, dataset="a")
        assert ledger.populations()[0].balance.spent == 4
        with pytest.raises(Refused, match="population"):
            ask(ledger, 1, 4, 1, dataset="b")
        ask(ledger, 2, 1, 2, dataset="b")
        assert holds(ledger)
        head = ledger.head()
        ask(ledger, 3, 2, 1, dataset="b")
        assert ledger.verify(since=head).holds


def test_periods_count_types_too(ledger):
    ledger.record("people", "period", {"per": "year", "bits": 2})
    ask(ledger, 1, 4, 1)
    ask(ledger, 2, 1, 4)
    with pytest.raises(Refused, match="the part of the year"):
        ask(ledger, 3, 1, 2)
    assert ledger.state("people").period.balance.spent == 4
    assert holds(ledger)


def test_many_types_are_merged(place, about):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(400))
        for key, column in enumerate("abc"):
            cells = [2 + (key + code) % 3 for code in range(20)]
            ask(ledger, key, *cells, column=column)
        state = json.loads(ledger.entries()[-1].state)
        assert len(state["parts"]["cells"]) <= MOST_PARTS
        assert holds(ledger)


def changed(entries, kind, change):
    rows = list(entries)
    for at, entry in enumerate(rows):
        if entry.kind == kind and (new := change(entry)) is not None:
            rows[at] = new
    return rechained(rows)


def test_forged_parts_are_found(ledger):
    ask(ledger, 1, 4, 1)
    ask(ledger, 2, 1, 4)
    entries = ledger.entries()
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
