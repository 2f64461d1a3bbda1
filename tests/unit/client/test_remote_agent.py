"""The client against a real service: the same answers, prices and errors as the agent gives."""

import random
from dataclasses import replace

import pytest

from hartley import Wish, price_curve
from hartley.client.remote_agent import connect
from hartley.errors import InputError, NotPermitted, OptionError, Refused, Stale
from hartley.service.accounts import open_accounts

pytestmark = pytest.mark.slow
QUESTIONS = [
    "SELECT COUNT(*) FROM people WHERE age >= 40",
    "SELECT AVG(age) FROM people",
    "SELECT city, COUNT(*), SUM(age) FROM people GROUP BY city",
    "SELECT MAX(born) FROM people",
]


def test_answers_are_those_of_the_agent(people, beside):
    for question in QUESTIONS:
        remote = people.ask(question, bits=2, vacuous=True)
        local = beside.ask(question, bits=2, vacuous=True, analyst="ana")
        # The id is from the random name of a version.
        assert remote == replace(local, question_id=remote.question_id)
    assert (people.spent, people.remaining) == (remote.spent, remote.remaining)
    again = people.ask(QUESTIONS[0], bits=2)
    local = beside.ask(QUESTIONS[0], bits=2, analyst="ana")
    assert (again.bits, again.value, again.error) == (0.0, local.value, 0)


def test_a_batch_is_answered_together(people, beside):
    asked = "SELECT COUNT(*) FROM people WHERE age < 35"
    wishes = [asked, Wish("SELECT SUM(age) FROM people WHERE age < 35", bits=1)]
    remote, local = people.ask(wishes), beside.ask(wishes, analyst="ana")
    named = zip(local, remote, strict=True)
    assert list(remote) == [replace(one, question_id=other.question_id) for one, other in named]


def test_prices_are_those_of_the_agent(people, beside):
    question = "SELECT AVG(age) FROM people WHERE city = 'north'"
    for named in ({"bits": 3}, {"error": "20", "min_rows": 2}):
        remote, local = (each.price(question, **named) for each in (people, beside))
        assert remote == replace(local, explanation="", affordable=True, remaining=24.0)
    assert people.explain(question, bits=3) == beside.price(question, bits=3).explanation
    people.ask(question, bits=3)
    names = people.price(question.replace("north", "south"), bits=3).given
    assert len(names) == 1
    assert not names[0].isdigit()  # which would count the rows of others
    wide = people.price("SELECT SUM(age) FROM people WHERE age < 20", error="50.5")
    assert wide.errors[0][0][1] <= 50.5


def test_a_quote_knows_the_daily_cap(hosted, people):
    median = "SELECT MEDIAN(age) FROM people"
    with open_accounts(str(hosted.ledger)) as accounts:
        accounts.set_daily_cap("ana", 2, by="owner")
    assert people.price(median, bits=2).affordable is True
    quote = people.price(median, bits=3)
    assert (quote.affordable, quote.remaining) == (False, 24)
    assert quote.refusal == "The question costs 3 bits and the account may spend 2 bits more today"
    assert f"It would be refused: {quote.refusal}." in quote._repr_html_()
    with pytest.raises(Refused, match="more today"):
        people.ask(median, bits=3)


def test_an_explanation_says_what_the_own_account_knows_and_names_no_row(hosted, people):
    old = "SELECT COUNT(*) FROM people WHERE age >= 65"
    young = "SELECT COUNT(*) FROM people WHERE age < 65"
    hosted.agent.allow("ben", 5)
    with connect(hosted.url, token=hosted.small_token) as other:
        other.ask(old)
        before = people.explain(young)
        assert "Given" not in before  # of others, nothing is said
        people.ask(old)
        words = people.explain(young).splitlines()[-1]
        assert words == "Given 1 earlier answer: 0 bits instead of 1 bit. Known: age >= 65."
        people.ask("SELECT COUNT(*) FROM people WHERE age >= 13")
        assert other.explain(young).splitlines()[-1] == words


def test_a_quote_is_not_exceeded(people):
    question = "SELECT COUNT(*) FROM people WHERE age < 20"
    quote = people.price(question, bits=1)
    answer = people.ask(question, bits=1, given=quote)
    assert answer.bits == quote.bits
    free = people.price(question, bits=1)
    assert free.bits == 0.0
    before = people.spent
    finer = "SELECT SUM(age) FROM people WHERE age < 21"
    with pytest.raises(Stale, match="more is due now than the quote said"):
        people.ask(finer, bits=2, vacuous=True, given=free)
    with pytest.raises(Stale, match="Nothing was charged"):
        people.ask(finer, bits=2, vacuous=True, most_bits=1.5)
    assert people.spent == before
    with pytest.raises(OptionError):
        people.ask(finer, bits=2, vacuous=True, most_bits=-1.0)


def test_the_bits_of_a_quote_are_those_of_the_answer_in_a_session_of_two_accounts(hosted, people):
    rng = random.Random(7)  # noqa: S311 - reproducible
    hosted.agent.allow("ben", 20)
    texts = [QUESTIONS[0], QUESTIONS[0].replace(">=", "<"), QUESTIONS[0].replace(">=", "=")]
    texts += ["SELECT AVG(age) FROM people", "SELECT MEDIAN(age) FROM people", QUESTIONS[2]]
    lower = 0
    with connect(hosted.url, token=hosted.small_token) as other:
        for _ in range(24):
            asking, beside = rng.sample([people, other], 2)
            wishes = [Wish(text, bits=rng.randint(1, 3)) for text in rng.sample(texts, 2)]
            quote = asking.price(wishes, vacuous=True)
            beside.ask(rng.choice(texts), bits=2, vacuous=True)
            answers = asking.ask(wishes, vacuous=True, given=quote)
            assert answers.bits == quote.bits == quote.due <= quote.bits_alone
            plain = quote.to_dict()
            assert (plain["bits"], plain["bits_alone"]) == (quote.bits, quote.bits_alone)
            assert plain["due_bits"] == plain["bits"]  # its former name
            lower += quote.bits < quote.bits_alone
    assert lower > 4


def test_a_number_of_rows_that_is_not_reached_is_said(people, beside):
    question = "SELECT AVG(age) FROM people WHERE age < 56"
    wish = {"error": 20, "min_rows": 5}
    remote, local = people.ask(question, **wish), beside.ask(question, analyst="ana", **wish)
    assert remote.promised is local.promised is False
    assert str(remote.reading) == str(local.reading)
    assert "(not promised)" in str(remote)


@pytest.mark.parametrize(
    ("question", "wish"),
    [
        ("SELECT AVG(age) AS x, COUNT(*) AS x_low FROM people WHERE age < 57", {"bits": 4}),
        ("SELECT AVG(age) FROM people WHERE age < 58", {"error": 20, "min_rows": 5}),
    ],
)
def test_a_frame_has_the_columns_that_the_agent_gives(people, beside, question, wish):
    remote = people.ask(question, vacuous=True, **wish)
    local = beside.ask(question, vacuous=True, analyst="ana", **wish)
    assert remote.to_arrow().equals(local.to_arrow())


def test_a_curve_and_a_plan_are_those_of_the_agent(people, beside):
    question = "SELECT AVG(age) FROM people WHERE age < 33"
    assert people.curve(question, bits=2, most=6) == price_curve(
        question, beside, bits=2, most=6, analyst="ana"
    )
    asked = [question, QUESTIONS[1]]
    planned = people.plan(asked, budget=4)
    assert planned == beside.plan(asked, budget=4, analyst="ana")
    assert people.price(planned.wishes, vacuous=True).bits == planned.bits <= 4


def test_the_account_is_seen_and_nothing_of_others(people, hosted):
    before = len(people.history())
    hosted.agent.ask("SELECT COUNT(*) FROM people WHERE age = 1", analyst=None)
    answer = people.ask("SELECT COUNT(*) FROM people WHERE age = 2", bits=1, vacuous=True)
    charges = people.history()
    assert len(charges) == before + 1
    assert charges[-1].question == "SELECT COUNT(*) FROM people WHERE age = 2"
    assert charges[-1].answered
    assert charges[-1].present
    assert charges[-1].added == answer.bits
    (seen_again,) = people.answers(charges[-1])
    assert seen_again.reading == answer.reading
    assert people.answers(charges[-1].row)[0].reading == answer.reading
    summary = people.summary()
    assert "the account may spend 24 of the" in summary
    assert f"Paid for: {len(charges)} batch" in summary


def test_the_schema_is_the_public_one(people, hosted, beside):
    assert people.schema.describe() == beside.schema.describe() == str(people.schema)
    assert people.schema.to_toml() == beside.schema.to_toml()
    assert people.schema.record_bits == beside.schema.record_bits
    assert people.schema.dummy_data(7, 3).equals(beside.schema.dummy_data(7, 3))
    assert hosted.agent.schema.name == people.schema.name


def test_a_key_gives_the_same_reply_again_and_only_to_the_same_request(people):
    path = ("datasets", "people", "ask")
    body = {"question": "SELECT COUNT(*) FROM people WHERE age = 61", "bits": 1, "vacuous": True}
    replies = [people._connection.post(*path, body=body, key="one key") for _ in range(2)]
    assert replies[0] == replies[1]
    assert replies[0]["bits"] == 1.0  # also in the second reply: it is the one that was lost
    spent = people.spent
    with pytest.raises(InputError, match="another request"):
        people._connection.post(*path, body=body | {"bits": 2}, key="one key")
    assert people._connection.post(*path, body=body, key="another key")["bits"] == 0.0
    assert people.spent == spent


# --- errors are those of the agent ---


def test_a_refused_question_points_at_its_place(people, beside):
    question = "SELECT AVG(height) FROM people"
    with pytest.raises(Refused) as local:
        beside.ask(question, analyst="ana")
    with pytest.raises(Refused) as remote:
        people.ask(question)
    assert str(remote.value) == str(local.value)
    assert (remote.value.text, remote.value.place) == (local.value.text, local.value.place)


def test_a_budget_that_is_too_small(hosted):
    with connect(hosted.url, token=hosted.small_token) as small:
        with pytest.raises(Refused, match="allowance of the account") as refusal:
            small.ask("SELECT SUM(age) FROM people", bits=4)
        assert refusal.value.requested > refusal.value.remaining == small.remaining == 1


def test_mistakes_are_option_errors(people):
    with pytest.raises(OptionError):
        people.ask("SELECT COUNT(*) FROM people", bits=1, error=1)
    with pytest.raises(OptionError, match="rows"):
        people.schema.dummy_data(10**9)
    with pytest.raises(InputError, match="neither a text nor a wish"):
        people.ask(7)


def test_tokens_do_what_their_scope_says(hosted, people):
    question = "SELECT COUNT(*) FROM people WHERE age > 90"
    with connect(hosted.url, token=hosted.price_token) as prices:
        assert prices.price(question, bits=1, vacuous=True).bits == 1.0
        with pytest.raises(NotPermitted):
            prices.ask(question, bits=1)
    with connect(hosted.url, token=hosted.repeat_token) as repeats:
        with pytest.raises(NotPermitted):
            repeats.ask(question, bits=1, vacuous=True)
        people.ask(question, bits=1, vacuous=True)
        assert repeats.ask(question, bits=1, vacuous=True).bits == 0.0


def test_a_wrong_token_and_a_wrong_dataset(hosted):
    with pytest.raises(NotPermitted, match="token"):
        connect(hosted.url, token="hartley_0_0")
    with pytest.raises(InputError, match="sees no dataset 'patients'"):
        connect(hosted.url, token=hosted.token, dataset="patients")


def test_no_text_shows_the_token(people, hosted):
    assert hosted.token not in repr(people) + repr(people._connection)
