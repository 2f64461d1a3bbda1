"""Who may see a page and send a form: sessions, roles, other sites, proxies, wrong addresses."""

import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console")]

OWNER_PAGES = ["/owner", "/owner/accounts/owner", "/owner/datasets/people", "/reports"]
OWNER_PAGES += ["/owner/datasets/people/roles"]
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
    "/owner/datasets/people/roles",
    "/owner/datasets/people/release",
    "/owner/datasets/people/release.csv",
]


def test_every_page_needs_a_session(house):
    for path in PAGES:
        window = house.window()
        assert window.get(path).url.path == "/console/login", path
        assert "people" not in window.reply.text


def test_everybody_lands_where_their_work_is(house):
    accounts, ledger = house.service.accounts, house.service.ledger
    owner = house.window(house.owner_token)
    assert owner.reply.url.path == "/console/owner"
    assert owner.reply.text.index("datasets-head") < owner.reply.text.index("accounts-head")
    accounts.add("lou", "analyst", by="owner")
    accounts.add("second.owner", "owner", by="owner")
    lou = house.window(accounts.issue_token("lou", scopes="ask", by="owner").text)
    assert "No dataset yet" in lou.reply.text
    accounts.grant("lou", "people", by="owner")
    page = lou.get("").text
    assert "No allowance yet" in page
    assert "Ask owner or second.owner, who can give the account lou a part of the budget" in page
    assert 'href="/console/d/people/ask"' in page, "pricing is free"
    accounts.revoke_account("second.owner", by="owner")
    assert "Ask owner, who can give" in lou.get("").text
    ledger.record("people", "allowance", {"analyst": "lou", "bits": "0.5"})
    assert lou.get("").url.path == "/console/d/people/ask"
    accounts.grant("lou", "other", by="owner")
    ledger.record("people", "allowance", {"analyst": "lou", "bits": "0"})
    ledger.record("other", "allowance", {"analyst": "lou", "bits": "2"})
    assert lou.get("").url.path == "/console/d/other/ask", "where something may be spent"
    accounts.add("eva", "auditor", by="owner")
    eva = house.window(accounts.issue_token("eva", scopes="ask", by="owner").text)
    assert eva.reply.url.path == "/console/owner"


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
    assert carl.ask("SELECT COUNT(*) FROM people WHERE age >= 41", "1").status_code == 200
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
