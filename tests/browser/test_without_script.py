"""The console without script: forms alone price, ask, repeat and refuse."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

QUESTION = "SELECT region, AVG(weight) FROM people GROUP BY region"


def test_price_ask_and_repeat_are_forms(hospital, visitors):
    visitor = visitors(java_script_enabled=False)
    page = visitor.log_in(hospital.analyst("nora"))
    page.fill("#question", QUESTION)
    page.click("#price-button")
    assert page.text_content("#spend") == "Ask and spend 1 bit"
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    with page.expect_navigation():
        page.keyboard.press("Enter")  # sends the form with its first button, which prices
    assert page.text_content("#spend") == "Ask and spend 2 bits"
    page.click("#next")
    assert page.text_content("#spend") == "Ask and spend 2.322 bits"
    assert hospital.service.ledger.history("people", "nora") == []
    page.click("#spend")
    assert "Charged 2.322 bits" in page.text_content("#answer")
    page.check("input[value=whole]")  # the zoom needs no script
    assert page.locator(".on-zoomed >> visible=true").count() == 0
    assert page.locator(".on-whole >> visible=true").count() > 6
    page.click("#spend")
    assert "Free: nothing more is due" in page.text_content("#answer")
    page.fill("#question", "SELECT AVG(weigt) FROM people")
    page.click("#spend")  # the text is not the one that was priced: nothing is asked
    assert page.text_content("#refused mark") == "weigt"
    page.click("button:text-is('Price it with weight')")
    assert page.locator("#priced").count() == 1
    assert len(hospital.service.ledger.history("people", "nora")) == 1
    page.click("text=Log out")
    assert page.locator("#token").count() == 1


def test_an_example_is_a_form(hospital, visitors):
    visitor = visitors(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = visitor.log_in(hospital.analyst("nils"))
    page.click("#examples button >> nth=0")
    assert page.locator("#priced").count() == 1


def test_the_acts_of_an_owner_are_forms(hospital, visitors):
    visitor = visitors(java_script_enabled=False)
    page = visitor.log_in(hospital.owner_token)
    page.click("nav >> text=Owner")
    page.fill("#new-name", "nele")
    page.click("button:text-is('Add')")
    page.click("button:has-text('Grant')")
    page.fill("#bits-1", "2")
    page.click("form:has(#bits-1) >> button")
    page.fill("#cap", "1.5")
    page.click("form:has(#cap) >> button")
    page.click("button:text-is('Issue')")
    token = page.text_content("#new-token")
    analyst = visitors(java_script_enabled=False)
    analyst.log_in(token)
    assert "0 of 2 bits spent" in analyst.page.text_content("#purse")
    analyst.go("/d/people/budget")
    assert "At most 1.5 bits in a day" in analyst.page.content()
    visitor.go("/owner/accounts/nele")
    page.click("summary:has-text('Revoke')")
    page.fill("input[id^=again-]", "nele")
    page.click("button:text-is('Revoke the token')")
    assert page.locator(".tag.bad:text-is('revoked')").count() == 1
    analyst.go("/d/people/budget")
    assert analyst.page.locator("#token").count() == 1
    visitor.go("/owner")
    page.click("button:text-is('Verify now')")
    page.wait_for_selector("#ledger .tag.good", timeout=30_000)  # the page looks again by itself
    visitor.go("/reports")
    page.click("section:has(#kind-design) button")
    assert page.locator(".report section").count() > 0


def test_a_price_that_was_for_another_text_asks_nothing(hospital, visitors):
    visitor = visitors(java_script_enabled=False)
    page = visitor.log_in(hospital.analyst("nick"))
    page.fill("#question", QUESTION)
    page.click("#price-button")
    page.fill("#question", "SELECT COUNT(*) FROM people WHERE age >= 30")
    page.click("#spend")
    assert "changed after it was priced" in page.text_content("#changed")
    assert page.locator("#answer").count() == 0
    assert hospital.service.ledger.history("people", "nick") == []
