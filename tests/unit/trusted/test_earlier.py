"""Prices that fall with what was told: charged, quoted, kept in the ledger and verified."""

import json
import math
from fractions import Fraction

import pytest

from hartley import Agent, Schema, Wish
from hartley.agent.replay import verify_prices
from hartley.errors import OptionError, Stale
from hartley.trusted.ledger import chain, charging, state
from hartley.trusted.ledger.charging import BatchPrices, RowPrice
from hartley.trusted.questions.batch import to_plain

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"
YOUNG = "SELECT COUNT(*) FROM people WHERE age < 50"
TENS = "SELECT BIN(age, 10), COUNT(*) FROM people GROUP BY BIN(age, 10)"
TWENTIES = "SELECT BIN(age, 20), COUNT(*) FROM people GROUP BY BIN(age, 20)"


def given(agent, row=-1):
    """Return the rows that a charge was priced from."""
    entry = [entry for entry in agent.ledger.entries("people") if entry.kind == "reserve"][row]
    content = json.loads(entry.content)
    return content["given"], content["account_given"]


def test_a_complement_is_free_and_recorded(agent):
    first = agent.ask(OLD)
    second = agent.ask(YOUNG)
    assert (first.bits, second.bits) == (1.0, 0.0)
    assert (first.value, second.value) == (5, 5)
    row = agent.history()[0].sequence
    assert given(agent) == ([row], [row])
    assert verify_prices(agent.ledger).repriced == 2


def test_a_free_answer_to_a_new_question_is_not_said_to_have_been_given_before(agent):
    """A complement that is known, and people in another area, who were asked nothing so far."""
    agent.ask(OLD)
    assert str(agent.ask(YOUNG)).splitlines()[-1].startswith("free: nothing more is due; spent ")
    agent.ask("SELECT COUNT(*) FROM people WHERE age = 30 AND area = 'north'")
    other = agent.ask("SELECT COUNT(*) FROM people WHERE age = 30 AND area = 'south'")
    assert other.caption.splitlines()[-1].startswith("free: nothing more is due; spent ")


def test_coarser_bins_are_free_and_finer_ones_cost_what_is_unknown(agent):
    assert agent.ask(TENS, bits=4).bits > 3
    assert agent.ask(TWENTIES, bits=4).bits == 0
    assert verify_prices(agent.ledger).holds


def test_finer_bins_after_coarser_ones_cost_one_bit(agent):
    agent.ask(TWENTIES, bits=4)
    assert agent.ask(TENS, bits=4).bits == 1


def test_a_finer_answer_that_is_known_is_given_for_free(agent):
    fine = agent.ask("SELECT SUM(age) FROM people", bits=4)
    quote = agent.price("SELECT SUM(age) FROM people", bits=3)
    coarse = agent.ask("SELECT SUM(age) FROM people", bits=3)
    assert quote.bits == coarse.bits == 0
    assert coarse.reading == fine.reading
    assert len(agent.history()) == 1


@pytest.mark.parametrize("batch", [[YOUNG], [YOUNG, TENS], [OLD, TENS], [TENS, OLD], [OLD]])
def test_a_certificate_states_what_a_batch_says_alone_whatever_was_told_before(agent, batch):
    wishes = [Wish(text, bits=4) for text in batch]
    quoted = agent.price(wishes).certificate
    agent.ask(OLD, bits=4)
    answers = agent.ask(wishes).answers
    assert [each.certificate for each in answers] == [quoted] * len(batch)
    assert agent.ask(wishes).answers[0].certificate == quoted  # now a repeat


def test_the_same_wish_twice_never_costs_twice(agent):
    for _ in range(3):
        agent.ask("SELECT AVG(age) FROM people", bits=3)
    assert len(agent.history()) == 1


def test_a_quote_says_what_is_due_and_from_which_rows(agent):
    agent.ask(OLD)
    quote = agent.price(YOUNG)
    assert (quote.bits_alone, quote.bits, quote.affordable) == (1.0, 0.0, True)
    assert quote.given == (agent.history()[0].sequence,)
    assert quote.to_dict()["given"] == list(quote.given)
    assert "0 bits instead of 1 bit. Known: age >= 50." in quote.explanation


def test_a_charge_never_exceeds_the_quote_that_it_names(agent):
    agent.ask(OLD)
    text = "SELECT MEDIAN(age) FROM people"
    quote = agent.price(text, bits=3)
    agent.ask([TENS, Wish("SELECT SUM(age) FROM people", bits=2)], bits=4)
    assert agent.ask(text, bits=3, given=quote.given).bits <= quote.bits
    assert verify_prices(agent.ledger).holds


@pytest.mark.parametrize("rows", [(1,), (99,), (-3,), (2, 99)])
def test_rows_that_are_no_earlier_charges_are_refused(agent, rows):
    agent.ask(OLD)
    assert agent.history()[0].sequence == 2
    with pytest.raises(OptionError, match="given= names a row that charged this"):
        agent.ask("SELECT COUNT(*) FROM people WHERE pay < 1", given=rows)
    assert len(agent.history()) == 1  # nothing was charged
    assert agent.ask("SELECT COUNT(*) FROM people WHERE pay < 1", given=()).bits == 1.0
    assert verify_prices(agent.ledger).holds


def test_rows_of_other_accounts_and_of_earlier_data_are_refused_in_the_same_words(agent, people):
    """A list of rows has no price to compare with, so nothing is left out of it in silence."""
    agent.allow("ann", 3)
    agent.ask(OLD, analyst="ann")
    agent.ask(OLD, analyst="bob")
    of_ann, of_bob = (charge.sequence for charge in agent.history())
    for analyst, row in (("bob", of_ann), ("ann", of_bob), ("eve", of_ann), ("bob", 99)):
        with pytest.raises(OptionError) as refused:
            agent.ask(YOUNG, analyst=analyst, given=[row])
        assert refused.value.problem == (
            "given= names a row that charged this account for no question about the present data"
        )
    assert agent.ask(YOUNG, analyst="ann", given=[of_ann]).bits == 0
    agent.update(people)
    with pytest.raises(OptionError, match="given= names a row"):
        agent.ask(YOUNG, analyst="ann", given=[of_ann])


def test_an_account_pays_for_what_it_was_not_told(agent):
    agent.allow("ann", 3)
    agent.ask(OLD, analyst="ann")
    # The others were not told, so they pay; the dataset knows, so it does not.
    spent = agent.state.spent
    quote = agent.price(YOUNG, analyst="bob")
    assert (quote.bits, quote.given) == (1.0, ())
    assert agent.ask(YOUNG, analyst="bob").bits == 1.0
    assert agent.state.spent == spent
    assert given(agent) == ([agent.history()[0].sequence], [])
    assert agent.ask(YOUNG, analyst="ann").bits == 0.0
    assert verify_prices(agent.ledger).holds


def test_a_price_does_not_show_what_others_asked(agent):
    agent.allow("ann", 3)
    before = agent.price(YOUNG, analyst="bob").to_dict()
    agent.ask(OLD, analyst="ann")
    assert agent.price(YOUNG, analyst="bob").to_dict() == before


def test_an_explanation_is_of_what_the_own_account_pays(agent):
    agent.allow("ann", 3)
    agent.ask(OLD, analyst="ann")
    for text in (YOUNG, OLD):
        assert "Given" not in agent.explain(text)
        assert agent.explain(text).endswith("It costs 1 bit; 8 bits left, so it is covered.")
    assert "0 bits instead of 1 bit" in agent.explain(YOUNG, analyst="ann")
    assert agent.explain(OLD, analyst="ann") == "1 question was charged before: free."


def test_an_explanation_counts_every_type_by_itself(agent):
    agent.ask(f"{OLD} AND area = 'north'")
    words = agent.explain(f"{OLD} AND area = 'south'")
    assert words.endswith("It costs 0 bits; 10 bits left, so it is covered.")
    agent.set_budget(1, per="year")
    assert agent.explain(TENS, bits=4).endswith("has 1 bit left, so it is refused.")


def test_new_data_start_with_nothing_told(agent, people):
    agent.ask(OLD)
    agent.update(people)
    assert agent.ask(YOUNG).bits == 1.0
    assert given(agent) == ([], [])
    assert agent.ask(OLD).bits == 0.0  # of the new version
    assert verify_prices(agent.ledger).holds


def test_a_changed_schema_starts_with_nothing_told(agent, with_columns):
    agent.ask(OLD)
    wider = with_columns(age={"kind": "private", "range": [0, 120], "step": 1})
    agent.change_schema(wider, {"age": [1], "pay": [1.0], "sex": ["F"], "area": ["north"]})
    assert agent.ask(YOUNG).bits == 1.0


def change_and_change_back(agent, schema):
    other = Schema.read(schema | {"table": {"name": "people", "default_bits": 2}})
    for text in (other.to_toml(), agent.schema.to_toml()):
        event = {"schema": text, "open_factor": 2, "open_charge": 1}
        agent.ledger.record("people", "schema", event)


def test_a_schema_that_comes_back_starts_with_nothing_told(agent, schema, ledger):
    agent.ask(OLD)
    change_and_change_back(agent, schema)
    with Agent(None, schema, ledger=ledger) as again:
        assert again.ask(YOUNG).bits == 1.0
        assert given(again) == ([], [])
    assert verify_prices(agent.ledger).holds
    assert not forge(agent, "SELECT COUNT(*) FROM people WHERE age < 49", (2,)).holds


def test_an_agent_that_missed_a_change_of_the_schema_charges_nothing_from_earlier_rows(
    agent, schema
):
    agent.ask(OLD)
    assert agent.price(YOUNG).bits == 0  # so it has read the row of the first question
    change_and_change_back(agent, schema)
    charged = len(agent.history())
    with pytest.raises(Stale):
        agent.ask(YOUNG)
    assert len(agent.history()) == charged


@pytest.mark.parametrize("charge", [0, 1])
def test_verifying_finds_open_columns_that_were_not_charged(agent, monkeypatch, charge):
    """Without pricing anything again: new data charge the whole factor that they state."""
    right = state.normalize_event

    def normalize_event(*event):
        settled = right(*event)
        return settled | {"open_charge": str(charge)} if "version" in settled else settled

    monkeypatch.setattr(chain, "normalize_event", normalize_event)
    agent.ledger.record("people", "version", {"rows": 10, "open_factor": 2})
    assert not agent.ledger.verify().holds


class Dishonest(BatchPrices):
    """A price of one cell, from rows that it may not use."""

    by_holder = True

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def compute(self, indices, holder):  # noqa: ARG002 - like every price
        return RowPrice(1, self.rows)


def questions(agent, text):
    (plan,) = agent.desk.plan(text, None, None)
    return [to_plain(question) for question in plan.questions]


def forge(agent, text, rows, analyst=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charging, "check_given", lambda *_: None)
        agent.ledger.reserve("people", analyst, questions(agent, text), Dishonest(rows), rules="2")
    return verify_prices(agent.ledger)


@pytest.mark.parametrize("rows", [(1,), (3,), (4,), (9,), (-1,), (2, 2)])
def test_verifying_finds_a_price_from_a_row_that_is_no_earlier_charge(agent, rows):
    agent.ask(OLD)  # row 2 charges, row 3 answers
    report = forge(agent, YOUNG, rows)
    assert not report.holds
    assert "priced from a row that it must not use" in report.problem
    assert not agent.ledger.verify().holds  # without pricing anything again, too


def test_verifying_finds_a_price_from_the_rows_of_another_account(agent):
    agent.allow("ann", 3)
    agent.ask(OLD, analyst="ann")
    row = agent.history()[0].sequence
    report = forge(agent, YOUNG, (row,))
    assert "priced from a row that it must not use" in report.problem


def test_verifying_finds_a_price_from_another_version(agent, people):
    agent.ask(OLD)
    row = agent.history()[0].sequence
    agent.update(people)
    report = forge(agent, YOUNG, (row,))
    assert "priced from a row that it must not use" in report.problem


def test_verifying_finds_a_price_that_its_rows_do_not_give(agent):
    agent.ask(OLD)
    report = forge(agent, "SELECT COUNT(*) FROM people WHERE pay < 1", (2,))
    assert "a price that differs" in report.problem


def test_verifying_from_a_saved_head_prices_from_the_rows_before_it(agent):
    agent.ask(OLD)
    head = agent.ledger.head()
    agent.ask(YOUNG)
    report = verify_prices(agent.ledger, since=head)
    assert (report.holds, report.repriced) == (True, 1)


def test_many_prices_are_those_of_a_fresh_reading(agent):
    """What an agent remembers of earlier rows is what the ledger holds."""
    from hartley.trusted.earlier import ChargedRows

    text = "SELECT COUNT(*) FROM people WHERE pay > 1 AND age >= "
    for low in ("10", "20", "30", "50", "80"):
        agent.ask(text + low, bits=1)
    fresh = ChargedRows(agent.schema, agent.trusted.data.coded.version)
    fresh.read(agent.ledger.trusted)
    agent.desk.earlier.read(agent.ledger.trusted)
    (plan,) = agent.desk.plan("SELECT AVG(age) FROM people WHERE pay > 1", None, 3)
    for account in ("", None):
        kept = agent.desk.earlier.price(plan.questions, account)
        assert kept == fresh.price(plan.questions, account)


def test_a_row_of_another_account_that_arrives_meanwhile_is_not_used(agent):
    """Another thread's question may be read after the account seemed to be the only one."""
    agent.allow("ann", 3)
    agent.allow("bob", 3)
    agent.ask("SELECT COUNT(*) FROM people WHERE pay < 1", analyst="bob")
    desk = agent.desk
    plans = desk.known_plans(desk.plan(YOUNG, None, None), agent.ledger.trusted, "bob")

    def meanwhile():
        agent.ask(OLD, analyst="ann")
        desk.earlier.read(agent.ledger.trusted)

    asked = [question for plan in plans for question in plan.questions]
    agent.ledger.reserve(
        "people",
        "bob",
        [to_plain(question) for question in asked],
        desk.prices(asked, check=Once(meanwhile)),
        rules="2",
    )
    assert given(agent)[1] == []
    assert verify_prices(agent.ledger).holds


class Once:
    """Calls a function the first time."""

    def __init__(self, function):
        self.function = function

    def __call__(self):
        function, self.function = self.function, lambda: None
        function()


@pytest.mark.parametrize("rows", [[2.0], [True], [Fraction(2)], ["2"], [[2]], [None], "2", 2])
def test_only_whole_numbers_name_earlier_rows(agent, rows):
    """A number that only equals that of a row would be written, and verify() takes no such row."""
    agent.ask(OLD)
    with pytest.raises(OptionError, match="given= does not list the numbers of rows"):
        agent.ask("SELECT COUNT(*) FROM people WHERE pay < 1", given=rows)
    assert len(agent.history()) == 1  # nothing was charged


# --- a quote is never exceeded --------------------------------------------------------------------


def test_a_quote_that_no_longer_holds_charges_nothing(agent):
    """The type that was not the largest is asked about in between, so its maximum rises."""
    agent.ask(f"{OLD} AND area = 'north'")
    quoted = [f"{OLD} AND area = 'south'"]
    quote = agent.price(quoted)
    assert quote.bits == 0
    assert agent.ask("SELECT COUNT(*) FROM people WHERE area = 'south' AND age >= 20").bits == 0
    charged = len(agent.history())
    with pytest.raises(Stale, match="more is due now than the quote said"):
        agent.ask(quoted, given=quote)
    assert len(agent.history()) == charged
    again = agent.price(quoted)
    assert agent.ask(quoted, given=again).bits == again.bits == 1


def test_a_quote_of_earlier_data_charges_nothing(agent, people):
    agent.ask(OLD)
    quote = agent.price(YOUNG)
    assert quote.bits == 0
    agent.update(people)
    with pytest.raises(Stale, match="more is due now than the quote said"):
        agent.ask(YOUNG, given=quote)


@pytest.mark.parametrize("limit", ["1", -0.5, float("nan"), True, [2]])
def test_a_limit_that_is_no_number_of_bits_charges_nothing(agent, limit):
    with pytest.raises(OptionError, match="most_bits= is not a number of bits"):
        agent.ask(OLD, most_bits=limit)
    assert agent.history() == []


def test_a_limit_is_kept_to_the_last_digit(agent):
    price = agent.price(OLD, bits=1).bits
    with pytest.raises(Stale, match="Nothing was charged"):
        agent.ask(OLD, bits=1, most_bits=math.nextafter(price, 0))
    assert agent.ask(OLD, bits=1, most_bits=price).bits == price
