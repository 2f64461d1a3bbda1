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
    assert "Free: answered before" in page.text_content("#answer")
    page.fill("#question", "SELECT AVG(weigt) FROM people")
    page.click("#spend")  # the text is not the one that was priced: nothing is asked
    assert page.text_content("#refused mark") == "weigt"
    page.click("button:text-is('Use weight')")
    assert page.locator("#priced").count() == 1
    assert len(hospital.service.ledger.history("people", "nora")) == 1
    page.click("text=Log out")
    assert page.locator("#token").count() == 1


def test_an_example_is_a_form(hospital, visitors):
    visitor = visitors(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = visitor.log_in(hospital.analyst("nils"))
    page.click("#examples button >> nth=0")
    assert page.locator("#priced").count() == 1
