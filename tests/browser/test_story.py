"""The console in a real browser, from the first start to a revoked account."""

import re
import time

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

AVERAGES = "SELECT region, AVG(weight) FROM people GROUP BY region"


def bars(page) -> list[str]:
    """Return where the intervals are drawn that can be seen."""
    return page.eval_on_selector_all(
        "#answer .on-zoomed .bar, #answer .on-whole .bar",
        "bars => bars.filter(bar => bar.checkVisibility()).map(bar => bar.getAttribute('x'))",
    )


def gauge(page) -> float:
    """Return how much of the small gauge is full, in percent."""
    widths = page.eval_on_selector_all(
        "#purse .spent", "all => all.map(e => e.getAttribute('width'))"
    )
    return float(widths[0].rstrip("%")) if widths else 0.0


def test_from_the_first_start_to_a_revoked_account(hospital, visitors):  # noqa: PLR0915 - a story
    owner = visitors()
    page = owner.log_in("hartley_0000000000000000_" + "0" * 64)
    assert page.text_content("[role=alert]") == "This token is not valid."
    page = owner.log_in(hospital.owner_token)
    page.click("nav >> text=Owner")
    page.fill("#new-name", "ana")
    page.click("button:text-is('Add')")
    assert page.text_content("h1").startswith("ana")
    page.click("button:has-text('Grant')")
    page.fill("#bits-1", "4")
    page.click("form:has(#bits-1) >> button")
    page.click("button:text-is('Issue')")
    token = page.text_content("#new-token")
    assert re.fullmatch(r"hartley_[0-9a-f]{16}_[0-9a-f]{64}", token)
    owner.go("/owner/accounts/ana")
    assert token not in page.content()  # shown once

    ana = visitors()
    page = ana.log_in(token)
    assert page.locator("#examples button").count() == 3
    assert page.locator("nav >> text=Owner").count() == 0
    page.fill("#question", AVERAGES)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#priced")
    assert page.text_content("#spend") == "Ask and spend 1 bit"
    first_error = page.text_content("#error")
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#slider", "aria-valuetext") == "3 bits: ±0.057"
    assert page.text_content("#error") == "±0.057" != first_error
    assert page.text_content("#more") == "±0.0264"
    assert page.text_content("#spend") == "Ask and spend 3 bits"
    said = "You have 4 bits left; after this question, at most 1 bit."
    assert page.text_content("#left") == said
    assert hospital.service.ledger.history("people", "ana") == []  # prices spend nothing
    assert gauge(page) == 0

    page.click("#spend")
    page.wait_for_selector("#answer")
    said = "Charged 3 bits for this answer. You have spent 3 bits in all, and have 1 bit left."
    assert said in page.text_content("#answer")
    assert gauge(page) == 75
    assert page.locator("#answer tbody tr").count() == 6
    zoomed = bars(page)
    page.check("input[value=whole]")
    assert len(zoomed) == len(bars(page)) == 6
    assert len(set(zoomed)) == 6
    assert zoomed != bars(page)

    page.click("#spend")  # the same again
    page.wait_for_selector("#answer")
    assert "Free: nothing more is due" in page.text_content("#answer")
    assert gauge(page) == 75
    assert len(hospital.service.ledger.history("people", "ana")) == 1

    page.fill("#question", "SELECT COUNT(*) FROM people WHERE age >= 40")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=Ask and spend 1 bit")
    page.click("#spend")
    page.wait_for_selector("#answer .big")
    assert gauge(page) == 100
    page.fill("#question", "SELECT COUNT(*) FROM people WHERE age >= 50")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#short:visible")
    assert page.is_disabled("#spend")
    page.evaluate("document.getElementById('spend').disabled = false")  # somebody insists
    page.click("#spend")
    page.wait_for_selector("#refused")
    assert "The budget does not cover it" in page.text_content("#refused")
    assert len(hospital.service.ledger.history("people", "ana")) == 2

    page.click("nav >> text=History")
    assert page.locator("tbody tr").count() == 2
    page.click("a.button:has-text('AVG(weight)')")
    assert page.locator(".intervals tbody tr").count() == 6
    assert "at most 8 values" in page.content()

    # The owner revokes ana in one worker; the other one refuses her within a second.
    elsewhere = visitors(url=hospital.workers[1].url)
    page = elsewhere.log_in(token)
    elsewhere.go("/d/people/budget")
    assert page.text_content("h1") == "Budget"
    owner.go("/owner/accounts/ana")
    owner.page.fill("#again", "anna")
    owner.page.click("button:text-is('Revoke ana')")
    assert "nothing was changed" in owner.page.text_content("[role=alert]")
    owner.page.fill("#again", "ana")
    owner.page.click("button:text-is('Revoke ana')")
    assert "revoked" in owner.page.text_content("h1")
    revoked = time.monotonic()
    while page.locator("#token").count() == 0:
        assert time.monotonic() < revoked + 1, "another worker still knows the account"
        elsewhere.go("/d/people/budget")
    elsewhere.log_in(token)
    assert page.text_content("[role=alert]") == "This token is not valid."


def test_a_refused_question_is_underlined_and_repaired_by_its_button(hospital, visitors):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("rita"))
    page.fill("#question", "SELECT AVG(weigt) FROM people")
    page.wait_for_selector("#refused mark")  # typing alone prices
    assert page.text_content("#refused mark") == "weigt"
    page.click("button:text-is('Price it with weight')")
    page.wait_for_selector("#priced")
    assert page.input_value("#question") == "SELECT AVG(weight) FROM people"
    page.fill("#question", "SELECT AVG(weight) FROM people WHERE region = 'nort'")
    page.wait_for_selector("#refused mark")
    page.click("button:text-is(\"Price it with 'north'\")")
    page.wait_for_selector("#priced")
    assert page.input_value("#question").endswith("region = 'north'")


def test_a_price_that_is_being_computed_is_grey_and_cannot_be_paid(hospital, visitors):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("paul"))
    page.click("#examples button >> nth=1")
    page.wait_for_selector("#priced")
    visitor.context.route("**/price", lambda _route: None)  # the reply never comes
    page.type("#question", " ")
    assert "stale" in page.get_attribute("#priced", "class")
    assert page.is_disabled("#spend")
    assert page.get_attribute("#result", "aria-busy") == "true"
    page.fill("#question", "")  # nothing to price
    assert page.get_attribute("#result", "aria-busy") == "false"
    assert page.is_disabled("#spend")
    page.fill("#question", "SELECT AVG(age) FROM people")
    visitor.context.unroute_all(behavior="ignoreErrors")
    visitor.context.route("**/price", lambda route: route.abort())
    page.type("#question", " ")
    page.wait_for_selector("#status.notice")
    assert "does not answer" in page.text_content("#status")
    assert page.is_disabled("#spend")
    visitor.context.unroute_all(behavior="ignoreErrors")
    page.click("#price-button")
    page.wait_for_selector("#spend:enabled")
    assert page.get_attribute("#status", "class") == "unseen"


def test_a_question_that_takes_too_long_is_paid_for_once_and_finished(
    hospital, visitors, slow_engine
):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("petra"))
    page.click("#examples button >> nth=0")
    page.wait_for_selector("#priced")
    page.click("#spend")
    page.wait_for_selector("#pending")
    assert "Paid for, and not finished" in page.text_content("#pending")
    assert gauge(page) > 33  # 1 of 3 bits
    slow_engine.set()
    page.click("button:text-is('Finish, free')")
    page.wait_for_selector("#answer")
    assert len(hospital.service.ledger.history("people", "petra")) == 1
    assert "spent 1 bit" in page.text_content("#answer")


def test_everything_can_be_reached_with_the_tab_key_and_enter_never_spends(hospital, visitors):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("tabea"))
    page.click("#examples button >> nth=1")
    page.wait_for_selector("#priced")
    page.focus(".skip")
    seen = []
    for _ in range(32):
        seen.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
        page.keyboard.press("Tab")
    wanted = ["Skip to the content", "Ask", "Budget", "History", "Log out", "question"]
    wanted += ["price-button", "slider", "next", "spend", "All useful prices"]
    assert [name for name in seen if name in wanted][: len(wanted)] == wanted
    for place in ("question", "slider", "next", "spend"):
        page.focus(f"#{place}")
        page.keyboard.press("Control+Enter")
    page.focus("#slider")
    page.keyboard.press("Enter")
    page.wait_for_selector("#result[aria-busy=false]")
    assert hospital.service.ledger.history("people", "tabea") == []


def test_a_text_is_copied(hospital, visitors):
    visitor = visitors(permissions=["clipboard-read", "clipboard-write"])
    page = visitor.log_in(hospital.analyst("cora"))
    page.fill("#question", AVERAGES)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#priced")
    page.click("#spend")
    page.click("summary:has-text('Copy as')")
    page.click("[aria-label='Copy as SQL']")
    page.wait_for_selector("button:text-is('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == f"/* bits=1 */ {AVERAGES}"


def test_the_whole_path_without_a_mouse(hospital, visitors):
    visitor = visitors()
    token, page = hospital.analyst("klara"), visitor.page

    def tab_to(name):
        for _ in range(40):
            here = "document.activeElement"
            if name in page.evaluate(f"[{here}.id, {here}.textContent.trim(), {here}.name || '']"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{name} is not reached")

    page.goto(visitor.url)
    page.wait_for_function("document.activeElement.id === 'token'")  # the field gets the focus
    page.keyboard.type(token)
    page.keyboard.press("Enter")
    page.wait_for_selector("#question")
    tab_to("question")
    page.keyboard.type(AVERAGES)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#priced")
    tab_to("slider")
    page.keyboard.press("ArrowRight")
    tab_to("spend")
    assert page.text_content("#spend") == "Ask and spend 2 bits"
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer")
    tab_to("view-1")
    page.keyboard.press("ArrowRight")
    assert page.locator(".on-whole >> visible=true").count() > 6
    tab_to("Certificate")
    page.keyboard.press("Enter")
    assert page.is_visible("text=It holds if")
    page.keyboard.press("Shift+Tab")
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.focus(".skip")
    tab_to("History")
    page.keyboard.press("Enter")
    page.wait_for_selector("table.history")
