"""What owners do on their pages: tokens, acts that cannot be undone, the audit log, reports."""

import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("console")]


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
    owner.get("/owner/datasets/people")  # the owner's own allowance is recorded here
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
