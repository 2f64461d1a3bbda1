"""Pricing, asking and the history on the pages: what a form spends, and what it never does."""

import re

import pytest

from hartley.trusted.precision import questions_of
from hartley.trusted.questions.batch import to_plain

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console")]

MEDIAN = "SELECT MEDIAN(age) FROM people"


def test_only_what_was_priced_is_asked(house):
    window = house.window(house.analyst("emil"))
    window.get("/d/people/ask")
    window.post("/d/people/price", question=MEDIAN)
    wishes = window.hidden("wishes").split()
    assert window.hidden("quoted") == MEDIAN
    window.post(
        "/d/people/price", question=MEDIAN, quoted=MEDIAN, wishes=" ".join(wishes), place="2"
    )
    assert window.button.split()[0] == wishes[2]
    changed = MEDIAN + " WHERE sex = 'F'"
    window.post("/d/people/ask", question=changed, quoted=MEDIAN, spend="2 2.0")
    assert "was changed after it was priced" in window.reply.text
    for spend in ("", "x", "-1", "1e9", "9" * 5, "2", "2 ", "2 x", "2 -1.0", "2 nan", "2 1e9"):
        window.post("/d/people/ask", question=MEDIAN, quoted=MEDIAN, spend=spend)
        assert 'id="changed"' in window.reply.text, spend
    for given in ("x " * 600, "<b>"):
        window.post("/d/people/ask", question=MEDIAN, quoted=MEDIAN, spend="2 2.0", given=given)
    assert house.service.ledger.history("people", "emil") == []
    window.post("/d/people/ask", question=MEDIAN, quoted=MEDIAN, spend="2 2.0")
    assert "Charged 2 bits" in window.reply.text
    assert [c.cells for c in house.service.ledger.history("people", "emil")] == [4]


def test_a_price_beyond_the_daily_cap_cannot_be_asked(house):
    window = house.window(house.analyst("edda", bits="9"))
    house.service.accounts.set_daily_cap("edda", 2, by="owner")
    for wish, able in (("2", True), ("3", False)):
        window.get("/d/people/ask")
        window.post("/d/people/price", question=MEDIAN, wish=wish)
        button = re.search(r'<button class="primary" id="spend"[^>]*>', window.reply.text)[0]
        assert (" disabled" not in button) is able
        assert ("daily cap leaves 2 bits" in window.reply.text.split('id="short"')[1]) is not able
    window.post("/d/people/ask", question=MEDIAN, quoted=MEDIAN, spend="3 3.0")
    assert "may spend 2 bits more today" in window.reply.text
    assert house.service.ledger.history("people", "edda") == []


def test_the_history_says_what_a_question_added(house):
    """Questions about different groups of a public column share the allowance."""
    window = house.window(house.analyst("edwin", bits="9"))
    women, men = (f"{MEDIAN} WHERE sex = '{sex}'" for sex in "FM")
    window.ask(women, "2")
    window.ask(men, "2")
    rows = window.get("/d/people/history").text.split("<tbody>")[1].split("<tr>")[1:]
    bits = [re.search(r'data-label="bits">(.*?)</td>', row)[1] for row in rows]
    assert bits == ['2 <small class="soft">0 added</small>', "2"]  # the newest first
    answer = re.search(r"/answers/(\w+)", rows[0])[1]
    shown = window.get(f"/d/people/answers/{answer}").text
    assert "UTC with 2 bits, which added 0 bits to what you have spent." in shown
    table = window.get("/d/people/budget").text.split("The numbers")[1]
    assert re.findall(r'<td class="number">(\d+)</td>', table) == ["2", "2"]  # bits, questions


@pytest.mark.parametrize(("bits", "cells"), [("1", 2), ("2", 4)])
def test_what_is_charged_is_what_the_button_says(house, bits, cells):
    name = f"erna{bits}"
    window = house.window(house.analyst(name, bits="9"))
    question = "SELECT sex, AVG(age) FROM people GROUP BY sex"
    window.ask(question, bits)
    assert [charge.cells for charge in house.service.ledger.history("people", name)] == [cells]
    row = re.search(r"/answers/(\w+)", window.get("/d/people/history").text)[1]
    said = "1 bit." if bits == "1" else f"{bits} bits."
    assert f"UTC with {said}" in window.get(f"/d/people/answers/{row}").text
    for wish in ("3", "4", "5"):  # each rests on the rows before it
        window.get("/d/people/ask")
        window.post("/d/people/price", question=question, wish=wish)
        spend, given = window.button, window.hidden("given")
        said = float(spend.split()[1])
        before = house.service.ledger.balance("people", name).spent_bits
        window.post("/d/people/ask", question=question, quoted=question, spend=spend, given=given)
        after = house.service.ledger.balance("people", name).spent_bits
        assert after - before == pytest.approx(said), wish
        assert 'id="answer"' in window.reply.text


def test_a_price_that_rose_since_is_shown_again_and_nothing_is_charged(house):
    window = house.window(house.analyst("ewald", bits="9"))
    question = "SELECT COUNT(*) FROM people WHERE age >= 43"
    window.ask(question, "1")
    window.post("/d/people/price", question=question)
    spend = window.button
    assert spend == "1 0.0"
    assert "Show the answer, free" in window.reply.text
    owner = house.service.accounts.authenticate(house.owner_token)
    house.app.state.administration.add_version(owner, "people")  # its answers are new ones
    before = house.service.ledger.head()
    window.post("/d/people/ask", question=question, quoted=question, spend=spend)
    assert "More is due now than the page said" in window.reply.text
    assert 'id="answer"' not in window.reply.text
    assert house.service.ledger.head() == before
    assert window.button == "1 1.0"
    window.post("/d/people/ask", question=question, quoted=question, spend="1 1.0")
    assert "Charged 1 bit" in window.reply.text


def test_a_question_that_still_waits_is_not_called_paid(house, monkeypatch):
    window = house.window(house.analyst("emma"))
    window.get("/d/people/ask")
    monkeypatch.setattr(house.service.lanes, "_lanes", 0)  # it waits in the queue
    monkeypatch.setattr(house.service.lanes, "_seconds", 0.0)  # neither asked nor priced in time
    reply = window.ask(MEDIAN, "2")
    assert reply.status_code == 503
    assert "nothing was charged" in reply.text
    assert "Paid for" not in reply.text


def test_a_budget_that_is_too_small_refuses_and_spends_nothing(house):
    window = house.window(house.analyst("fred", bits="1"))
    reply = window.ask(MEDIAN, "2")
    assert reply.status_code == 409
    assert "The budget does not cover it" in reply.text
    assert house.service.ledger.history("people", "fred") == []


@pytest.mark.parametrize("scope", ["price", "repeat"])
def test_a_token_of_a_smaller_scope_prices_and_does_not_spend(house, scope):
    window = house.window(house.analyst(f"gil.{scope}", scope=scope))
    window.get("/d/people/ask")
    assert 'id="priced"' in window.post("/d/people/price", question=MEDIAN).text
    words = {"price": "and ask nothing", "repeat": "and spend nothing"}[scope]
    assert words in window.reply.text
    (button,) = re.findall(r'<button class="primary" id="spend"[^>]*>', window.reply.text)
    assert button.endswith(" disabled>")
    assert window.ask(MEDIAN, "2").status_code == 403
    assert house.service.ledger.history("people", f"gil.{scope}") == []


@pytest.mark.parametrize(
    "question",
    ["", " ", "x" * 30_000, "SELECT", "\x00", "<script>alert(1)</script>", "'; DROP TABLE x; --"],
)
def test_strange_questions_are_shown_as_text(house, question):
    window = house.window(house.owner_token)
    window.get("/d/people/ask")
    reply = window.post("/d/people/price", question=question)
    assert reply.status_code in {200, 422}
    assert "<script>alert" not in reply.text


def test_a_question_that_is_too_long_is_refused_as_a_whole(house):
    window = house.window(house.analyst("lulu"))
    long = MEDIAN + " " * 9 + "-- " + "x" * 20_000
    window.get("/d/people/ask")
    assert "more than 20,000 characters" in window.post("/d/people/price", question=long).text
    assert window.ask(long, "2").status_code == 422
    assert house.service.ledger.history("people", "lulu") == []


def test_a_place_on_the_slider_that_is_no_number_prices_at_the_default(house):
    window = house.window(house.analyst("nell", "0"))
    window.get("/d/people/ask")
    text = "SELECT AVG(age) FROM people"
    fields = {"question": text, "quoted": text, "wishes": "1 2", "place": "9" * 5000}
    assert window.post("/d/people/price", **fields).status_code == 200


def test_the_history_has_pages(house):
    window = house.window(house.analyst("jana", bits="2"))
    for _ in range(3):
        window.ask("SELECT COUNT(*) FROM people WHERE age >= 33", "1")
    from hartley.service.console import ask as ask_routes

    size, ask_routes.PAGE = ask_routes.PAGE, 1
    try:
        window.ask("SELECT COUNT(*) FROM people WHERE age >= 34", "1")
        first = window.get("/d/people/history").text
        older = re.search(r'href="/console(/d/people/history\?after=\w+)"', first)[1]
        second = window.get(older).text
    finally:
        ask_routes.PAGE = size
    assert "age &gt;= 34" in first
    assert "age &gt;= 33" in second
    assert "Older" not in second
    assert window.get("/d/people/history?after=nonsense").status_code == 422


def test_a_charge_without_an_answer_is_finished_from_the_history(house):
    window = house.window(house.analyst("lars", bits="5"))
    window.ask(MEDIAN, "1.6")  # makes the next price smaller than its own
    agent = house.service.hosted["people"].run(lambda opened: opened.agent)
    desk = agent.desk
    plans = desk.plan(MEDIAN, None, "3")
    questions = questions_of(plans)
    house.service.ledger.reserve(
        "people",
        "lars",
        [to_plain(question) for question in questions],
        desk.prices(questions),
        note=MEDIAN,
        version=desk.version,
    )
    history = window.get("/d/people/history").text
    assert "pending" in history
    row = re.search(r"/answers/(\w+)", history)[1]
    page = window.get(f"/d/people/answers/{row}").text
    wish = re.search(r'name="spend" value="([^"]*)"', page)[1]
    before = house.service.ledger.history("people", "lars")
    window.post("/d/people/ask", question=MEDIAN, quoted=MEDIAN, spend=wish)
    assert "Free: nothing more is due" in window.reply.text
    after = house.service.ledger.history("people", "lars")
    assert [charge.cells for charge in after] == [charge.cells for charge in before]
    assert None not in after[-1].answers
    assert "pending" not in window.get("/d/people/history").text


def test_an_answer_about_replaced_data_says_so(house):
    window = house.window(house.analyst("lara"))
    window.ask("SELECT COUNT(*) FROM people WHERE age >= 20", "1")
    house.app.state.administration.add_version(
        house.service.accounts.authenticate(house.owner_token), "people"
    )
    history = window.get("/d/people/history").text
    assert "earlier version" in history
    row = re.search(r"/answers/(\w+)", history)[1]
    assert "Not available any more" in window.get(f"/d/people/answers/{row}").text
