"""The pages over HTTP: sessions, forms of other sites, what each role sees, what a form spends."""

import re

import pytest

from hartley.agent.questions.batch import to_plain
from hartley.agent.quotes import questions_of
from hartley.service.hosted_dataset import desk_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console")]

MEDIAN = "SELECT MEDIAN(age) FROM people"
OWNER_PAGES = ["/owner", "/owner/accounts/owner", "/owner/datasets/people", "/reports"]
OWNER_PAGES += ["/reports/audit?dataset=people", "/reports/audit/page?dataset=people"]
PAGES = ["", "/d/people/ask", "/d/people/budget", "/d/people/history", *OWNER_PAGES]
OWNER_FORMS = [
    "/owner/accounts",
    "/owner/accounts/owner/tokens",
    "/owner/accounts/owner/grant",
    "/owner/accounts/owner/withdraw",
    "/owner/accounts/owner/allowance",
    "/owner/accounts/owner/cap",
    "/owner/accounts/owner/revoke",
    "/owner/tokens/0000000000000000/revoke",
    "/owner/datasets/people/budget",
    "/owner/datasets/people/versions",
]


def test_every_page_needs_a_session(house):
    for path in PAGES:
        window = house.window()
        assert window.get(path).url.path == "/console/login", path
        assert "people" not in window.reply.text


@pytest.mark.parametrize("cookie", ["", "x", "0" * 64, "é"])
def test_a_cookie_that_is_no_session_logs_nobody_in(house, cookie):
    window = house.window()
    reply = window.client.get(
        "/console/owner", headers={"Cookie": f"hartley_session={cookie}".encode()}
    )
    assert reply.url.path == "/console/login"


def test_the_cookie_cannot_be_read_by_scripts_or_used_by_other_sites(house):
    window = house.window()
    window.client.follow_redirects = False
    cookie = window.post("/login", token=house.owner_token).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/console" in cookie
    assert "Secure" not in cookie  # this service speaks HTTP
    secure = house.window(base_url="https://testserver")
    secure.client.follow_redirects = False
    assert "Secure" in secure.post("/login", token=house.owner_token).headers["set-cookie"]


def test_logging_out_ends_the_session_itself(house):
    window = house.window(house.owner_token)
    cookie = window.client.cookies["hartley_session"]
    window.post("/logout")
    assert window.reply.url.path == "/console/login"
    stolen = house.window()
    reply = stolen.client.get("/console/owner", headers={"Cookie": f"hartley_session={cookie}"})
    assert reply.url.path == "/console/login"


def test_replies_forbid_inline_script_and_frames_and_are_not_kept(house):
    window = house.window(house.owner_token)
    headers = window.get("/owner").headers
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?! src=)|<style| style=| on\w+=", window.reply.text)
    for name in re.findall(r'(?:src|href)="([^"]*)"', window.reply.text):
        assert name.startswith(("/console", "#")), "nothing comes from elsewhere"


def test_the_files_of_pages_are_kept_for_ever_at_an_address_of_their_own(house):
    window = house.window()
    window.get("/login")
    (style,) = re.findall(r'rel="stylesheet" href="([^"]*)"', window.reply.text)
    reply = window.client.get(style)
    assert "immutable" in reply.headers["cache-control"]
    assert window.client.get(style.replace("console.css", "ask.html")).status_code == 404
    old = re.sub(r"/static/\w+/", "/static/0000000000000000/", style)
    assert window.client.get(old).status_code == 404


@pytest.mark.parametrize("path", ["/logout", "/owner/verify", "/d/people/price", *OWNER_FORMS])
def test_a_form_without_the_text_of_its_session_does_nothing(house, path):
    window = house.window(house.owner_token)
    before = house.service.accounts.audit(limit=1000)
    head = house.service.ledger.head()
    for csrf in ("", "0" * 64, house.window(house.owner_token).get("/owner").text[:64]):
        assert window.post(path, csrf=csrf, name="mallory", again="owner").status_code == 403
    window.get("/owner")
    other = {"Sec-Fetch-Site": "cross-site"}
    assert window.post(path, headers=other, name="mallory", again="owner").status_code == 403
    assert house.service.accounts.audit(limit=1000) == before
    assert house.service.ledger.head() == head


def test_a_form_of_another_site_does_not_log_in(house):
    window = house.window()
    reply = window.post("/login", token=house.owner_token, headers={"Sec-Fetch-Site": "same-site"})
    assert reply.status_code == 403
    assert "hartley_session" not in window.client.cookies


@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_pages_and_forms_of_owners_are_closed_to_others(house, role):
    accounts = house.service.accounts
    if role == "analyst":
        token = house.analyst("alfa")
    else:
        accounts.add("aude", "auditor", by="owner")
        token = accounts.issue_token("aude", scopes="ask", by="owner").text
    window = house.window(token)
    for path in OWNER_PAGES:
        open_to_auditors = role == "auditor" and path == "/owner"
        assert window.get(path).status_code == (200 if open_to_auditors else 403), path
    before = accounts.audit(limit=1000)
    frame = house.window(token)
    frame.get("/d/people/ask" if role == "analyst" else "/owner")
    csrf = frame.csrf
    for path in OWNER_FORMS:
        fields = {"name": "eve", "role": "owner", "again": "owner", "dataset": "people"}
        fields |= {"bits": "9", "scope": "ask", "account": "owner"}
        if "datasets" in path:
            fields["again"] = "people"
        status = frame.post(path, csrf=csrf, **fields).status_code
        assert status == 403, path
    assert accounts.audit(limit=1000) == before


def test_a_dataset_that_is_not_granted_is_like_one_that_does_not_exist(house):
    window = house.window(house.analyst("bea"))
    for page in ("ask", "budget", "history", "answers/0000000000000000"):
        replies = [window.get(f"/d/{name}/{page}") for name in ("other", "absent")]
        texts = [re.sub(r"[0-9a-f]{64}", "", reply.text) for reply in replies]
        assert [reply.status_code for reply in replies] == [404, 404]
        assert texts[0] == texts[1]


def test_an_analyst_sees_own_rows_alone(house):
    carl, dora = house.window(house.analyst("carl")), house.window(house.analyst("dora"))
    assert _ask(carl, "SELECT COUNT(*) FROM people WHERE age >= 41", "1").status_code == 200
    row = re.search(r"/answers/(\w+)", carl.get("/d/people/history").text)[1]
    assert carl.get(f"/d/people/answers/{row}").status_code == 200
    assert "age &gt;= 41" in carl.get("/d/people/history?find=41").text
    assert "contains this text" in carl.get("/d/people/history?find=%3Cb%3E").text
    assert "<b>&lt;" not in carl.reply.text
    assert dora.get(f"/d/people/answers/{row}").status_code == 404
    history = dora.get("/d/people/history").text
    assert "Nothing was asked yet" in history
    for page in ("ask", "budget", "history"):
        assert "carl" not in dora.get(f"/d/people/{page}").text
    assert "0 of 3 bits spent" in dora.reply.text


def _ask(window, question, bits):
    window.get("/d/people/ask")
    spend = f"{bits} {float(bits)!r}"  # what may be charged is what it costs alone
    return window.post("/d/people/ask", question=question, quoted=question, spend=spend)


def _button(window):
    """Return what the button that spends sends."""
    return re.search(r'id="spend" name="spend" value="([^"]*)"', window.reply.text)[1]


def test_only_what_was_priced_is_asked(house):
    window = house.window(house.analyst("emil"))
    window.get("/d/people/ask")
    window.post("/d/people/price", question=MEDIAN)
    wishes = window.hidden("wishes").split()
    assert window.hidden("quoted") == MEDIAN
    window.post(
        "/d/people/price", question=MEDIAN, quoted=MEDIAN, wishes=" ".join(wishes), place="2"
    )
    assert _button(window).split()[0] == wishes[2]
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


@pytest.mark.parametrize(("bits", "cells"), [("1", 2), ("2", 4)])
def test_what_is_charged_is_what_the_button_says(house, bits, cells):
    name = f"erna{bits}"
    window = house.window(house.analyst(name, bits="9"))
    question = "SELECT sex, AVG(age) FROM people GROUP BY sex"
    _ask(window, question, bits)
    assert [charge.cells for charge in house.service.ledger.history("people", name)] == [cells]
    for wish in ("3", "4", "5"):  # each rests on the rows before it
        window.get("/d/people/ask")
        window.post("/d/people/price", question=question, wish=wish)
        spend, given = _button(window), window.hidden("given")
        said = float(spend.split()[1])
        before = house.service.ledger.balance("people", name).spent_bits
        window.post("/d/people/ask", question=question, quoted=question, spend=spend, given=given)
        after = house.service.ledger.balance("people", name).spent_bits
        assert after - before == pytest.approx(said), wish
        assert 'id="answer"' in window.reply.text


def test_a_price_that_rose_since_is_shown_again_and_nothing_is_charged(house):
    window = house.window(house.analyst("ewald", bits="9"))
    question = "SELECT COUNT(*) FROM people WHERE age >= 43"
    _ask(window, question, "1")
    window.post("/d/people/price", question=question)
    spend = _button(window)
    assert spend == "1 0.0"
    assert "Show the answer, free" in window.reply.text
    owner = house.service.accounts.authenticate(house.owner_token)
    house.app.state.administration.add_version(owner, "people")  # its answers are new ones
    before = house.service.ledger.head()
    window.post("/d/people/ask", question=question, quoted=question, spend=spend)
    assert "More is due now than the page said" in window.reply.text
    assert 'id="answer"' not in window.reply.text
    assert house.service.ledger.head() == before
    assert _button(window) == "1 1.0"
    window.post("/d/people/ask", question=question, quoted=question, spend="1 1.0")
    assert "Charged 1 bit" in window.reply.text


def test_a_question_that_still_waits_is_not_called_paid(house, monkeypatch):
    window = house.window(house.analyst("emma"))
    window.get("/d/people/ask")
    monkeypatch.setattr(house.service.lanes, "_lanes", 0)  # it waits in the queue
    monkeypatch.setattr(house.service.lanes, "_seconds", 0.0)  # neither asked nor priced in time
    reply = _ask(window, MEDIAN, "2")
    assert reply.status_code == 503
    assert "nothing was charged" in reply.text
    assert "Paid for" not in reply.text


def test_a_budget_that_is_too_small_refuses_and_spends_nothing(house):
    window = house.window(house.analyst("fred", bits="1"))
    reply = _ask(window, MEDIAN, "2")
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
    assert _ask(window, MEDIAN, "2").status_code == 403
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
    assert _ask(window, long, "2").status_code == 422
    assert house.service.ledger.history("people", "lulu") == []


def test_a_form_with_too_many_fields_is_refused(house):
    window = house.window(house.owner_token)
    window.get("/d/people/ask")
    fields = {f"field{number}": "" for number in range(100)}
    assert window.post("/d/people/price", **fields).status_code == 422
    reply = window.post("/d/people/price", question="x" * 100_000)
    assert reply.status_code == 413
    assert "<h1>Too long</h1>" in reply.text


@pytest.mark.parametrize(
    "path", ["/owner?before=abc", "/nothing", "/d/people/nothing", "/owner/x/y"]
)
def test_a_wrong_address_gives_a_page(house, path):
    for window in (house.window(), house.window(house.owner_token)):
        reply = window.get(path)
        if "before" in path and reply.url.path == "/console/login":
            continue
        assert reply.status_code == 404
        assert "<h1>There is no such page</h1>" in reply.text
        assert "{" not in reply.text


def test_what_nobody_expected_gives_a_page_that_says_nothing(house, monkeypatch):
    window = house.window(house.analyst("norbert"))

    def broken(*_, **__):
        raise ValueError("a private value")

    monkeypatch.setattr(house.service, "budget", broken)
    reply = window.get("/d/people/budget")
    assert reply.status_code == 500
    assert "<h1>Something went wrong</h1>" in reply.text
    assert "private value" not in reply.text
    assert reply.headers["x-request-id"] in reply.text


def test_a_token_is_revoked_under_the_name_of_its_own_account_alone(house):
    victim = house.analyst("vera")
    house.analyst("wanda")
    (record,) = house.service.accounts.tokens("vera")
    owner = house.window(house.owner_token)
    owner.get("/owner/accounts/wanda")
    path = f"/owner/tokens/{record.token_id}/revoke"
    assert owner.post(path, account="wanda", again="wanda").status_code == 404
    assert house.service.accounts.authenticate(victim) is not None
    owner.get("/owner/accounts/vera")
    assert owner.post(path, account="vera", again="vera").status_code == 200
    assert house.service.accounts.authenticate(victim) is None


def test_destructive_acts_ask_for_the_name_again(house):
    token = house.analyst("hugo")
    accounts = house.service.accounts
    (record,) = accounts.tokens("hugo")
    owner = house.window(house.owner_token)
    owner.get("/owner/accounts/hugo")
    acts = {
        "/owner/accounts/hugo/revoke": ("hugo", {}),
        f"/owner/tokens/{record.token_id}/revoke": ("hugo", {"account": "hugo"}),
        "/owner/datasets/people/budget": ("people", {"bits": "301"}),
        "/owner/datasets/people/versions": ("people", {}),
    }
    before = accounts.audit(limit=1000), house.service.ledger.head()
    versions = len(house.service.ledger.versions()["people"])
    for path, (_, fields) in acts.items():
        for again in ("", "Hugo", "hug", "other"):
            reply = owner.post(path, again=again, **fields)
            assert reply.status_code == 422, path
            assert "nothing was changed" in reply.text
    assert (accounts.audit(limit=1000), house.service.ledger.head()) == before
    for path, (name, fields) in reversed(acts.items()):
        assert owner.post(path, again=name, **fields).status_code == 200, path
    assert accounts.authenticate(token) is None
    assert house.service.ledger.state("people").budget == 301
    assert len(house.service.ledger.versions()["people"]) == versions + 1


def test_a_token_is_shown_once_and_stands_in_no_address(house):
    house.analyst("ida")
    owner = house.window(house.owner_token)
    owner.get("/owner/accounts/ida")
    reply = owner.post("/owner/accounts/ida/tokens", scope="repeat", days="7", label="<b>bi</b>")
    (token,) = re.findall(r"hartley_[0-9a-f]{16}_[0-9a-f]{64}", reply.text)
    assert token not in str(reply.url)
    assert house.service.accounts.authenticate(token).scope == "repeat"
    again = owner.get("/owner/accounts/ida").text
    assert token not in again
    assert "<b>bi</b>" not in again
    assert "&lt;b&gt;bi&lt;/b&gt;" in again


def test_a_token_with_a_wrong_number_of_days_is_not_issued(house):
    house.analyst("mona", "0")
    owner = house.window(house.owner_token)
    owner.get("/owner/accounts/mona")
    before = len(house.service.accounts.tokens("mona"))
    for days in ("1.5", "-3", "30 days", "100000", "1e2", "0", "٣"):
        reply = owner.post("/owner/accounts/mona/tokens", scope="ask", days=days)
        assert reply.status_code == 422, days
    assert len(house.service.accounts.tokens("mona")) == before


def test_a_place_on_the_slider_that_is_no_number_prices_at_the_default(house):
    window = house.window(house.analyst("nell", "0"))
    window.get("/d/people/ask")
    text = "SELECT AVG(age) FROM people"
    fields = {"question": text, "quoted": text, "wishes": "1 2", "place": "9" * 5000}
    assert window.post("/d/people/price", **fields).status_code == 200


def test_the_audit_log_has_pages(house):
    for number in range(30):
        house.service.accounts.note("owner", "tested", f"act-{number:02}")
    owner = house.window(house.owner_token)
    first = owner.get("/owner").text
    assert "act-29" in first
    older = re.search(r'href="/console(/owner\?before=\d+)', first)[1]
    second = owner.get(older).text
    seen = re.findall(r"act-\d\d", first) + re.findall(r"act-\d\d", second)
    assert seen[:30] == [f"act-{number:02}" for number in reversed(range(30))]


def test_the_history_has_pages(house):
    window = house.window(house.analyst("jana", bits="2"))
    for _ in range(3):
        _ask(window, "SELECT COUNT(*) FROM people WHERE age >= 33", "1")
    from hartley.service.console import ask_routes

    size, ask_routes.PAGE = ask_routes.PAGE, 1
    try:
        _ask(window, "SELECT COUNT(*) FROM people WHERE age >= 34", "1")
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
    _ask(window, MEDIAN, "1.6")  # makes the next price smaller than its own
    agent = house.service.hosted["people"].run(lambda opened: opened.agent)
    desk = desk_of(agent)
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
    assert "Free: answered before" in window.reply.text
    after = house.service.ledger.history("people", "lars")
    assert [charge.cells for charge in after] == [charge.cells for charge in before]
    assert None not in after[-1].answers
    assert "pending" not in window.get("/d/people/history").text


def test_an_answer_about_replaced_data_says_so(house):
    window = house.window(house.analyst("lara"))
    _ask(window, "SELECT COUNT(*) FROM people WHERE age >= 20", "1")
    house.app.state.administration.add_version(
        house.service.accounts.authenticate(house.owner_token), "people"
    )
    history = window.get("/d/people/history").text
    assert "earlier version" in history
    row = re.search(r"/answers/(\w+)", history)[1]
    assert "Not available any more" in window.get(f"/d/people/answers/{row}").text


def test_a_proxy_names_the_visitor_and_nobody_else_does(proxied, house):
    proxied.analyst("lena")
    header = {"X-Remote-User": "lena"}
    window = proxied.window(headers=header)
    assert "lena · analyst" in window.get("").text
    assert "HttpOnly" in proxied.window(headers=header).get("/d/people/ask").headers["set-cookie"]
    window.client.headers["X-Remote-User"] = "owner"  # the proxy says that it is somebody else now
    assert "owner · owner" in window.get("/owner").text
    window.client.headers["X-Remote-User"] = "nobody"
    assert proxied.window(headers={"X-Remote-User": "nobody"}).get("").url.path.endswith("/login")
    assert house.window(headers={"X-Remote-User": "owner"}).get("").url.path.endswith("/login")


def test_a_session_by_the_word_of_a_proxy_needs_that_word_every_time(proxied):
    proxied.analyst("mia")
    window = proxied.window(headers={"X-Remote-User": "mia"})
    assert "mia · analyst" in window.get("").text
    del window.client.headers["X-Remote-User"]  # the proxy knows nobody any more
    assert window.get("").url.path.endswith("/login")
    window.client.headers["X-Remote-User"] = "mia"
    assert "mia · analyst" in window.get("").text
    # A session that began with a token is the token's, whatever the proxy says of nobody.
    token = proxied.window(proxied.owner_token)
    assert "owner · owner" in token.get("/owner").text


def test_a_proxy_says_that_the_browser_speaks_tls(proxied, house):
    header = {"X-Remote-User": "owner", "X-Forwarded-Proto": "https"}
    assert "Secure" in proxied.window(headers=header).get("/owner").headers["set-cookie"]
    del header["X-Forwarded-Proto"]
    assert "Secure" not in proxied.window(headers=header).get("/owner").headers["set-cookie"]
    window = house.window(headers={"X-Forwarded-Proto": "https"})  # nobody is trusted here
    window.client.follow_redirects = False
    assert "Secure" in window.post("/login", token=house.owner_token).headers["set-cookie"]


@pytest.mark.parametrize("kind", ["audit", "anonymity", "design"])
def test_a_report_is_a_page_of_its_own_without_script(house, kind):
    owner = house.window(house.owner_token)
    forms = owner.get("/reports").text
    part = forms.split(f'id="kind-{kind}"')[1].split("</section>")[0]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', part)) | {"dataset": "people"}
    query = "&".join(f"{name}={value}" for name, value in fields.items())
    framed = owner.get(f"/reports/{kind}?{query}")
    assert "Written by Hartley" in framed.text  # in the same page, with the bar at the top
    assert "Log out" in framed.text
    assert "script-src 'self';" in framed.headers["content-security-policy"]
    assert not re.search(r"<script(?! src=)| on\w+=", framed.text)
    address = re.search(r'<a href="/console([^"]*)">Open it alone', framed.text)[1]
    report = owner.get(address.replace("&amp;", "&"))
    assert report.status_code == 200
    assert "Written by Hartley" in report.text
    policy = report.headers["content-security-policy"]
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    assert policy.endswith("sandbox")
    wrong = owner.get(f"/reports/{kind}/page?dataset=people")
    assert wrong.status_code == 422
    assert owner.get("/reports/nothing?dataset=people").status_code == 404
