"""The two prices of a quote: alone, and what is charged now."""

import random
from dataclasses import dataclass, replace

import pytest

from hartley.agent.quoting import price
from hartley.errors import OptionError, Stale
from hartley.results.quote import Wish
from hartley.trusted.agent import PriceOffer

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"
YOUNG = "SELECT COUNT(*) FROM people WHERE age < 50"
TEXTS = [
    OLD,
    YOUNG,
    "SELECT AVG(age) FROM people",
    "SELECT SUM(age) FROM people WHERE age >= 50",
    "SELECT BIN(age, 20), COUNT(*) FROM people GROUP BY BIN(age, 20)",
    "SELECT BIN(age, 10), COUNT(*) FROM people GROUP BY BIN(age, 10)",
    "SELECT MEDIAN(age) FROM people",
    "SELECT area, COUNT(*) FROM people WHERE age >= 30 GROUP BY area",
    "SELECT COUNT(*) FROM people WHERE area = 'south' AND age < 30",
    "SELECT sex, COUNT(*) FROM people WHERE pay >= 2 GROUP BY sex",
    "SELECT COUNT(pay) FROM people",
]


def drawn(rng):
    """Draw one question with a wish, or a batch of them."""
    wishes = [
        Wish(rng.choice(TEXTS), bits=rng.choice([1, "1.6", 2, 3, 4]))
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]
    return wishes[0] if len(wishes) == 1 else wishes


@pytest.mark.parametrize("seed", range(4))
def test_the_bits_of_a_quote_are_those_of_the_answer_in_a_session_of_several_accounts(agent, seed):
    rng, lower, free = random.Random(seed), 0, 0  # noqa: S311 - reproducible
    agent.set_budget(120)
    for name in ("ana", "bob"):
        agent.allow(name, 40)
    for _ in range(25):
        analyst, question = rng.choice(["ana", "bob", None]), drawn(rng)
        # Quotes that are older than a charge of somebody else are kept as well.
        quote = agent.price(question, analyst=analyst, vacuous=True)
        other = rng.choice([name for name in ("ana", "bob", None) if name != analyst])
        agent.ask(drawn(rng), analyst=other, vacuous=True)
        answer = agent.ask(question, analyst=analyst, vacuous=True, given=quote)
        assert answer.bits == quote.bits <= quote.bits_alone
        alone = price(question, agent.schema, rows=10, vacuous=True)
        assert quote.bits_alone >= alone.bits == alone.bits_alone  # in known cells, or as wished
        rows = {charge.sequence for charge in agent.history(analyst)}
        assert rows.issuperset(quote.given)
        lower += 0 < quote.bits < quote.bits_alone
        free += quote.bits == 0
    assert lower > 0
    assert free > 2


def test_a_quote_has_both_prices_and_their_names_in_json(agent):
    agent.ask(OLD)
    row = agent.history()[0].sequence
    quote = agent.price(YOUNG)
    assert (quote.bits_alone, quote.bits, quote.given) == (1.0, 0.0, (row,))
    plain = quote.to_dict()
    assert (plain["bits_alone"], plain["bits"], plain["given"]) == (1.0, 0.0, [row])
    assert plain["cells"] == "2"  # of the price alone
    assert str(quote).splitlines()[0] == "The price is 0 bits now, and 1 bit alone."
    assert "0 bits now, 1 bit alone, 10 bits left" in quote._repr_html_()


def test_the_former_name_says_what_is_charged_now(agent):
    agent.ask(OLD)
    quote = agent.price(YOUNG)
    assert quote.due == quote.bits == quote.to_dict()["due_bits"] == 0.0
    alone = price(YOUNG, agent.schema, rows=10)
    assert alone.bits == alone.bits_alone == 1.0
    assert alone.due is alone.to_dict()["due_bits"] is None


def test_a_quote_without_a_ledger_is_not_exceeded(agent):
    alone = price(YOUNG, agent.schema, rows=10)
    assert agent.ask(YOUNG, given=alone).bits == alone.bits == 1
    agent.ask(OLD)
    assert agent.ask(OLD, given=price(OLD, agent.schema, rows=10)).bits == 0


def test_what_is_charged_is_compared_with_the_price_now_and_not_with_the_price_alone(agent):
    agent.ask(OLD)
    quote = agent.price(YOUNG)
    assert quote.bits == 0 < quote.bits_alone
    stranger = "SELECT COUNT(*) FROM people WHERE age >= 20"  # for 1 bit
    before = agent.state.spent
    with pytest.raises(Stale, match="Nothing was charged"):
        agent.ask(stranger, given=quote)
    assert agent.state.spent == before
    assert agent.ask(stranger, given=replace(quote, bits=1.0)).bits == 1


def test_something_with_the_former_fields_alone_is_not_taken_for_a_quote(agent):
    """There ``bits`` was the price alone, and more could be charged than was due."""

    @dataclass
    class FormerQuote:
        bits: float
        due: float | None
        given: tuple[int, ...] = ()

    assert isinstance(agent.price(OLD), PriceOffer)
    assert not isinstance(FormerQuote(1.0, 0.0), PriceOffer)
    with pytest.raises(OptionError, match="does not list the numbers of rows"):
        agent.ask(OLD, given=FormerQuote(1.0, 0.0))
