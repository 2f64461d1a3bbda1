"""Pages that few people see: changed prices, tokens that may not ask, data that was replaced."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

COUNT = "SELECT COUNT(*) FROM people WHERE age >= 45"
AVERAGES = "SELECT job, COUNT(*), AVG(income) FROM people GROUP BY job"


def test_a_price_of_groups_says_for_how_many_rows_it_holds(hospital, visitors, look, price):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("gina", bits="6"))
    price(page, AVERAGES)
    assert page.text_content("#error") == "±1,000"
    assert "where at least 100 rows count" in page.text_content("#priced .said")
    assert page.text_content("#otherwise").endswith("±100,000 for certain, whatever the data")
    page.click("text=All useful prices")
    look(page, "ask-groups")


def test_a_price_that_rose_is_shown_again_and_nothing_is_charged(hospital, visitors, look, price):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("greta"))
    price(page, COUNT)
    assert page.get_attribute("#spend", "value") == "1 1.0"
    page.evaluate("document.getElementById('spend').value = '1 0.5'")  # an older, smaller quote
    page.click("#spend")
    page.wait_for_selector("#changed")
    assert "nothing was asked or charged" in page.text_content("#changed")
    assert page.text_content("#spend") == "Ask and spend 1 bit"
    assert hospital.service.ledger.history("people", "greta") == []
    look(page, "ask-changed-price")
    page.click("#spend")
    page.wait_for_selector("#answer")
    assert "Charged 1 bit" in page.text_content("#answer")


def test_a_question_typed_before_the_script_has_come_is_priced(hospital, visitors):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("gesa"))
    held = []
    page.route("**/console.js*", lambda route: held.append(route))  # noqa: PLW0108 - built-ins are not taken
    page.goto(page.url, wait_until="commit")
    page.fill("#question", COUNT)
    page.keyboard.press("Control+Enter")
    page.wait_for_function("document.readyState === 'interactive'")
    for request in held:
        request.continue_()
    page.wait_for_selector("#spend")


@pytest.mark.parametrize("scope", ["price", "repeat"])
def test_a_token_that_may_not_spend_says_so(hospital, visitors, look, price, scope):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst(f"gus.{scope}", scope=scope))
    price(page, COUNT)
    assert page.is_disabled("#spend")
    look(page, f"ask-scope-{scope}")


def test_an_account_without_a_dataset(hospital, visitors, look):
    accounts = hospital.service.accounts
    accounts.add("gil", "analyst", by="owner")
    token = accounts.issue_token("gil", scopes="ask", by="owner").text
    page = visitors().log_in(token)
    assert page.text_content("h1") == "No dataset yet"
    look(page, "no-dataset")


def test_acts_of_an_owner_that_are_refused(hospital, visitors, look):
    hospital.analyst("gert")
    visitor = visitors()
    page = visitor.log_in(hospital.owner_token)
    visitor.go("/owner/datasets/people")
    page.fill("#bits", "41")
    page.fill("#budget-again", "peple")
    page.click("button:text-is('Change the budget')")
    assert "nothing was changed" in page.text_content("[role=alert]")
    look(page, "dataset-refused")
    visitor.go("/owner/accounts/gert")
    page.fill("#bits-1", "1000")
    page.click("form:has(#bits-1) >> button")
    look(page, "account-refused")
    visitor.go("/owner?before=abc")
    look(page, "wrong-address")


def choose(page, name):
    page.select_option("#dataset", name)
    page.click("form.chooser button")
    page.wait_for_selector(f"#schema-head:text-is('{name}')")


def test_several_datasets_and_answers_about_replaced_data(rebuilt, visitors, look, price):
    visitor = visitors(url=rebuilt.url)
    token = rebuilt.analyst("gabi", bits="4")
    for name in ("staff", "outpatients"):
        rebuilt.service.accounts.grant("gabi", name, by="owner")
    page = visitor.log_in(token)
    choose(page, "staff")
    assert page.url.endswith("/d/staff/ask")
    look(page, "ask-chooser")
    choose(page, "people")
    price(page, COUNT)
    page.click("#spend")
    page.wait_for_selector("#answer")
    price(page, COUNT)
    assert page.text_content("#spend") == "Show the answer, free"
    owner = visitors(url=rebuilt.url)
    owner.log_in(rebuilt.owner_token)
    owner.go("/owner/datasets/people")
    owner.page.fill("#again", "people")
    owner.page.click("button:text-is('Record a new version')")
    owner.page.wait_for_selector("li:nth-child(2) .tag:text-is('present')")
    look(owner.page, "dataset-versions")
    page.click("#spend")  # a page from before: its price was for the data of then
    page.wait_for_selector("#changed")
    assert page.text_content("#spend") == "Ask and spend 1 bit"
    assert len(rebuilt.service.ledger.history("people", "gabi")) == 1
    visitor.go("/d/people/history")
    look(page, "history-replaced")
    page.click("a.button")
    look(page, "answer-replaced")
    visitor.go("/d/people/history?find=nothing+like+it")
    look(page, "history-not-found")
