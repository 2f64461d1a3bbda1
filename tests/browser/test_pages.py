"""Every page in every state: light and dark, wide and narrow, checked by axe."""

import threading

import pytest

from hartley.service import administration

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

QUESTION = "SELECT region, AVG(weight) FROM people GROUP BY region"
JOBS = "SELECT job, COUNT(*), AVG(income) FROM people GROUP BY job"


def test_axe_finds_what_is_wrong(visitors, axe):
    page = visitors().go("/login")
    assert axe(page) == []
    page.evaluate("document.querySelector('label').remove()")
    assert "label" in {problem.split(":")[0] for problem in axe(page)}


def test_axe_finds_pale_words_when_it_looks_at_colours_alone(visitors, axe):
    page = visitors().go("/login")
    assert axe(page, colours_only=True) == []
    page.evaluate("document.querySelector('label').style.color = '#ddd'")
    assert {problem.split(":")[0] for problem in axe(page, colours_only=True)} == {"color-contrast"}


def test_the_pages_of_an_analyst(hospital, visitors, look, price):  # noqa: PLR0915 - a walk
    visitor = visitors()
    page = visitor.go("/login")
    look(page, "login")
    visitor.log_in("not a token")
    look(page, "login-refused")
    page = visitor.log_in(hospital.analyst("iris", bits="5"))
    look(page, "ask-empty")
    visitor.go("/d/people/history")
    look(page, "history-empty")
    visitor.go("/d/people/budget")
    look(page, "budget-empty")
    visitor.go("/d/people/ask")
    price(page, "SELECT region, AVG(weigt) FROM people GROUP BY region")
    look(page, "ask-refused")
    price(page, QUESTION)
    look(page, "ask-priced")
    visitor.context.route("**/price", lambda _route: None)  # the reply never comes
    page.type("#question", " ")
    look(page, "ask-pricing", check=False)  # grey is meant, and cannot be pressed
    visitor.context.unroute_all(behavior="ignoreErrors")
    price(page, QUESTION)
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.click("#spend")
    page.wait_for_selector("#answer")
    look(page, "ask-answered")
    page.check("input[value=whole]")
    for summary in page.locator("summary").all():
        summary.click()
    look(page, "ask-answered-open")
    visitor.go("/d/people/ask")
    price(page, "SELECT COUNT(*) FROM people WHERE age >= 40")
    page.click("#spend")
    page.wait_for_selector("#answer")
    look(page, "ask-answered-number")
    price(page, JOBS)
    look(page, "ask-exhausted")
    visitor.go("/d/people/history")
    look(page, "history")
    page.click("a.button >> nth=1")
    look(page, "answer")
    look.print(page, "answer")
    assert page.is_hidden("nav")
    assert page.is_visible("text=It holds if")
    page.emulate_media(media="screen")
    visitor.go("/d/people/budget")
    page.click("summary")
    look(page, "budget")
    look.print(page, "budget")
    visitor.go("/d/nothing/ask")
    look(page, "not-found")


def test_a_question_that_is_pending(hospital, visitors, look, price, request):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("penny"))
    price(page, QUESTION)
    request.getfixturevalue("slow_engine")  # only now: its time limit would hold for the price too
    page.click("#spend")
    page.wait_for_selector("#pending")
    look(page, "ask-pending")
    visitor.go("/d/people/history")
    look(page, "history-pending")
    page.click("a.button")
    look(page, "answer-pending")


def test_the_pages_of_an_owner(hospital, visitors, look, monkeypatch):
    may_end, verify = threading.Event(), administration.verify_prices

    def slow(*arguments, **options):
        may_end.wait(30)
        return verify(*arguments, **options)

    monkeypatch.setattr(administration, "verify_prices", slow)
    hospital.analyst("olga")
    visitor = visitors()
    page = visitor.log_in(hospital.owner_token)
    visitor.go("/owner")
    look(page, "owner")
    page.fill("#new-name", "Not A Name")
    page.click("button:text-is('Add')")
    look(page, "owner-refused")
    page.click("button:text-is('Verify now')")
    assert page.text_content("#ledger .tag") == "running"
    may_end.set()  # the page looks again by itself
    page.wait_for_selector("#ledger .tag.good", timeout=30_000)
    look(page, "owner-verified")
    visitor.go("/owner/accounts/olga")
    page.click("button:text-is('Issue')")
    page.click("summary >> nth=0")
    look(page, "account-token")
    page.fill("#again", "olga")
    page.click("button:text-is('Revoke olga')")
    look(page, "account-revoked")
    visitor.go("/owner/datasets/people")
    look(page, "dataset")
    visitor.go("/reports")
    look(page, "reports")


@pytest.mark.parametrize("kind", ["audit", "anonymity", "design"])
def test_the_reports_of_an_owner(hospital, visitors, look, kind):
    visitor = visitors()
    page = visitor.log_in(hospital.owner_token)
    visitor.go("/reports")
    page.click(f"section:has(#kind-{kind}) button")
    page.wait_for_selector(".report h1", timeout=60_000)
    assert "Hartley" in page.text_content(".report footer")
    assert page.locator("iframe").count() == 0  # one page, one scroll bar
    look(page, f"report-{kind}")
    ground = "getComputedStyle(document.body).backgroundColor"
    card = "getComputedStyle(document.querySelector('.report section')).backgroundColor"
    for scheme, colours in (("light", ["245", "255"]), ("dark", ["16", "24"])):
        page.emulate_media(color_scheme=scheme)
        for expression, red in zip((ground, card), colours, strict=True):
            assert page.evaluate(expression).startswith(f"rgb({red},")
        inks = page.locator(".report .figure text").evaluate_all(
            "all => all.map((text) => getComputedStyle(text).fill)"
        )
        own = "rgb(31, 42, 55)" if scheme == "light" else "rgb(230, 235, 241)"
        assert not inks or own in inks


def test_the_page_of_an_auditor_changes_nothing(hospital, visitors, look):
    accounts = hospital.service.accounts
    accounts.add("otto", "auditor", by="owner")
    token = accounts.issue_token("otto", scopes="price", by="owner").text
    visitor = visitors()
    page = visitor.log_in(token)
    assert page.text_content("h1") == "Audit"
    assert page.locator("form").count() == 2  # log out, verify
    look(page, "audit")
    visitor.go("/owner/accounts/owner")
    assert "Not allowed" in page.text_content("h1")
