"""Every page in every state: light and dark, wide and narrow, checked by axe and photographed."""

import os
import threading
from pathlib import Path

import pytest

from hartley.service import administration

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

QUESTION = "SELECT region, AVG(weight) FROM people GROUP BY region"
JOBS = "SELECT job, COUNT(*), AVG(income) FROM people GROUP BY job"
SCHEMES, WIDTHS = ("light", "dark"), (1280, 390)


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    """Return where the screenshots go: a temporary folder, or where HARTLEY_SCREENSHOTS says."""
    named = os.environ.get("HARTLEY_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Photographer:
    """Looks at the present page in all looks."""

    def __init__(self, album, axe):
        self.album, self.axe, self.taken = album, axe, []

    def __call__(self, page, name, *, check=True):
        problems = []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                reach = page.evaluate("document.documentElement.scrollWidth")
                if reach > width:
                    problems.append(f"{name} reaches {reach} of {width} pixels")
                page.screenshot(path=self.album / f"{name}-{scheme}-{width}.png", full_page=True)
                if check and (scheme, width) != (
                    "dark",
                    390,
                ):  # colours and layout were each checked
                    problems += [f"{name} {scheme} {width}: {each}" for each in self.axe(page)]
        page.set_viewport_size({"width": 1280, "height": 800})
        self.taken.append(name)
        assert problems == []


@pytest.fixture
def look(album, axe):
    return Photographer(album, axe)


def test_axe_finds_what_is_wrong(visitors, axe):
    page = visitors().go("/login")
    assert axe(page) == []
    page.evaluate("document.querySelector('label').remove()")
    assert "label" in {problem.split(":")[0] for problem in axe(page)}


def price(page, question):
    page.fill("#question", question)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#result[aria-busy=false]")


def test_the_pages_of_an_analyst(hospital, visitors, look):
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
    visitor.go("/d/people/budget")
    page.click("summary")
    look(page, "budget")
    page.emulate_media(media="print")
    page.screenshot(path=look.album / "budget-print.png", full_page=True)
    page.emulate_media(media="screen")
    visitor.go("/d/nothing/ask")
    look(page, "not-found")


@pytest.mark.usefixtures("slow_engine")
def test_a_question_that_is_pending(hospital, visitors, look):
    visitor = visitors()
    page = visitor.log_in(hospital.analyst("penny"))
    price(page, QUESTION)
    page.click("#spend")
    page.wait_for_selector("#pending")
    look(page, "ask-pending")


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
    report = page.frame_locator("iframe")
    report.locator("h1").wait_for(timeout=60_000)
    assert "Hartley" in report.locator("footer").text_content()
    page.emulate_media(color_scheme="light")
    look(page, f"report-{kind}")


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
