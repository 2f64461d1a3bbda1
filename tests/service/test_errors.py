"""Everything that goes wrong has one envelope, and says nothing about others or the data."""

import datetime as dt
import json

import pytest
from small_service import AVERAGE, COUNT, PEOPLE, above, error_of as check, live_in_thread, until

from hartley.service.logs import JsonLines

JSON = {"Content-Type": "application/json"}


def test_unknown_routes_and_methods(shared):
    check(shared.api().get("/nowhere"), 404, "not_found")
    check(shared.api("ana").get("/v1/datasets/people/rows"), 404, "not_found")
    reply = shared.api("ana").delete("/v1/datasets")
    check(reply, 405, "method")
    assert reply.headers["allow"] == "GET"


def test_bodies_that_cannot_be_read(shared):
    bodies = (
        b"{",
        b"[]",
        b"null",
        b'{"question": 1}',
        b'{"question": "x", "more": 1}',
        b"\xff\xfe",
    )
    for body in (*bodies, b""):
        reply = shared.api("ana").post(f"{PEOPLE}/ask", content=body, headers=JSON)
        assert reply.status_code in {400, 422}, body
        check(reply, reply.status_code, "invalid")


def test_bodies_that_make_no_sense(shared):
    wishes = [{"bits": bits} for bits in ("many", -1, 1e300, True)]
    wishes += [{"bits": 1, "error": 1}, {"error": "1/0"}, {"questions": [AVERAGE]}]
    bodies = [{"question": AVERAGE} | wish for wish in wishes]
    for body in [*bodies, {}, {"questions": []}, {"questions": [AVERAGE] * 101}]:
        reply = shared.api("ana").post(f"{PEOPLE}/ask", json=body)
        check(reply, 422, reply.json()["error"]["code"])


def test_numbers_that_are_none(shared):
    for text in ("NaN", "Infinity", "1" * 5000):
        body = f'{{"question": "{AVERAGE}", "bits": {text}}}'
        reply = shared.api("ana").post(f"{PEOPLE}/price", content=body, headers=JSON)
        assert reply.status_code in {400, 422}


def test_a_body_beyond_the_limit(shared):
    check(shared.api("ana").ask(AVERAGE + " " * 20_000), 413, "body")
    check(shared.api("ana").price(AVERAGE + " " * 20_000), 413, "body")
    parts = (b" " * 1000 for _ in range(40))
    check(shared.api("ana").post(f"{PEOPLE}/ask", content=parts), 413, "body")


def test_a_question_that_is_refused_points_at_the_place(shared):
    error = check(shared.api("ana").ask("SELECT AVG(income) FROM people"), 422, "question")
    start, end = error["place"]
    assert "SELECT AVG(income) FROM people"[start:end] == "income"


def test_a_question_beyond_the_allowance_shows_the_own_balance(live):
    live.place.allow("ana", 3)
    error = check(live.api("ana").ask(bits=6), 409, "budget")
    assert (error["requested_bits"], error["remaining_bits"]) == (6, 3)
    assert live.api("ana").spent == 0


def test_an_account_has_no_bits_until_the_owner_gives_some(live):
    owner = live.api("owner")
    owner.post("/v1/accounts", json={"name": "new"})
    owner.put("/v1/accounts/new/datasets/people")
    token = owner.post("/v1/tokens", json={"account": "new", "scope": "ask"}).json()["token"]
    api = live.api(token=token)
    assert api.price(bits=1).json()["remaining_bits"] == 0
    assert check(api.ask(bits=1), 409, "budget")["remaining_bits"] == 0


def test_a_page_of_the_audit_log_that_there_is_not_names_what_is_wrong(shared):
    owner = shared.api("owner")
    for query, word in {"after=-1": "row", f"after={10**30}": "row", "limit=0": "limit"}.items():
        error = check(owner.get(f"/v1/audit?{query}"), 422, "invalid")
        assert word in error["message"]


def bad_tokens(text):
    name, key, secret = text.split("_")
    yield None
    yield text[:-1]
    yield text[:40]
    yield text + "0"
    yield f"{name}_{key}_{'0' * len(secret)}"
    yield f"{name}_{'0' * len(key)}_{secret}"
    yield "x"
    yield "ä"


def test_tokens_that_are_not_valid_look_all_the_same(live):
    place = live.place
    expired = place.issue("ana", expires=dt.timedelta(milliseconds=300)).text
    until(lambda: live.api(token=expired).get("/v1/me").status_code == 401, 5)
    revoked = place.issue("ana")
    live.api("owner").delete(f"/v1/tokens/{revoked.token_id}")
    until(lambda: live.api(token=revoked.text).get("/v1/me").status_code == 401, 2)
    bodies = set()
    for text in [*bad_tokens(place.tokens["ana"]), expired, revoked.text]:
        headers = [] if text is None else [("Authorization", f"Bearer {text}".encode())]
        reply = live.api().get("/v1/datasets", headers=headers)
        error = check(reply, 401, "token")
        assert reply.headers["www-authenticate"].startswith("Bearer")
        bodies.add(json.dumps(error | {"request_id": ""}))
    assert len(bodies) == 1
    # Of two tokens, a proxy and the service could each look at another one.
    both = [("Authorization", f"Bearer {place.tokens[name]}") for name in ("ana", "ben")]
    for headers in (both, both[::-1], [both[0]] * 2):
        check(live.api().get("/v1/datasets", headers=headers), 401, "token")
        reply = live.api().post("/v1/datasets/people/ask", json={}, headers=headers)
        check(reply, 401, "token")
    basic = {"Authorization": "Basic YW5hOmFuYQ=="}
    check(live.api().get("/v1/datasets", headers=basic), 401, "token")


def test_a_token_that_expires_while_its_question_waits_is_not_charged(live, monkeypatch):
    """Every way of use ends with the token: a kept reply, a session, a charge."""
    service, ana = live.service, live.api("ana")
    short = live.place.issue("ana", expires=dt.timedelta(hours=1))
    api = live.api(token=short.text)
    assert api.ask(bits=1).json()["bits"] == 1
    assert [api.ask(bits=1).json()["bits"] for _ in range(3)] == [0, 0, 0]
    identity = service.accounts.authenticate(short.text)
    cookie = service.accounts.begin_session(identity, lifetime=dt.timedelta(hours=12))
    assert service.accounts.session(cookie) is not None
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=2)
    with monkeypatch.context() as patch:
        # Past the door: only the charge itself can notice.
        patch.setattr(service.accounts, "_clock", lambda: later)
        patch.setattr(service.accounts, "authenticate", lambda _: identity)
        check(api.ask(COUNT, bits=1), 403, "scope")
    assert ana.spent == 1
    monkeypatch.setattr(service.accounts, "_clock", lambda: later)
    check(api.ask(bits=1), 401, "token")
    check(api.get("/v1/datasets"), 401, "token")
    assert service.accounts.session(cookie) is None


def test_the_allowance_of_a_revoked_account_can_only_be_lowered(live):
    owner = live.api("owner")
    owner.delete("/v1/accounts/ben")

    def allow(account, bits):
        body = {"dataset": "people", "account": account, "bits": bits}
        return owner.put("/v1/allowances", json=body)

    error = check(allow("ben", 11), 422, "invalid")
    assert "revoked" in error["message"]
    check(allow("ana", 31), 422, "invalid")  # 40 bits, of which 10 are still ben's
    assert allow("ben", 0).status_code == 200
    assert allow("ana", 31).status_code == 200
    check(allow("ben", 1), 422, "invalid")


@pytest.mark.parametrize("field", ["data", "schema"])
def test_a_version_is_one_file_and_never_a_pattern(shared, field):
    names = ("*", "*.parquet", "?eople.parquet", "[po]*.parquet", "{people,others}.parquet", "a/b")
    for name in (*names, "../people.parquet", "absent"):
        reply = shared.api("owner").post(f"{PEOPLE}/versions", json={field: name})
        words = "no file of this name" if name == "absent" else "not the name of one file"
        assert words in check(reply, 422, "invalid")["message"]
        assert "people" not in reply.text
        assert str(shared.place.folder) not in reply.text


def test_an_account_that_is_revoked_cannot_do_anything(live):
    assert live.api("ben").ask(bits=1).status_code == 200
    live.api("owner").delete("/v1/accounts/ben")
    until(lambda: live.api("ben").get("/v1/me").status_code == 401, 2)
    check(live.api("ben").ask(bits=1), 401, "token")  # not even what was kept


def test_scopes(live):
    live.api("ana").ask(bits=1)
    price = live.api(token=live.place.issue("ana", "price").text)
    repeat = live.api(token=live.place.issue("ana", "repeat").text)
    assert price.price(bits=1).json()["bits"] == 0
    check(price.ask(bits=1), 403, "scope")
    assert repeat.ask(bits=1).json()["bits"] == 0
    check(repeat.ask(COUNT, bits=1), 403, "scope")
    assert live.api("ana").spent == 1
    (row,) = price.history()
    check(price.answer(row["id"]), 403, "scope")
    assert repeat.answer(row["id"]).status_code == 200


OWNERS = {
    "GET /v1/accounts": None,
    "POST /v1/accounts": {"name": "x"},
    "GET /v1/accounts/ana": None,
    "DELETE /v1/accounts/ana": None,
    "PUT /v1/accounts/ana/datasets/people": None,
    "DELETE /v1/accounts/ana/datasets/people": None,
    "PUT /v1/accounts/ana/daily_cap": {"bits": 1},
    "GET /v1/tokens?account=ana": None,
    "POST /v1/tokens": {"account": "ana", "scope": "ask"},
    "DELETE /v1/tokens/0000": None,
    "GET /v1/allowances?dataset=people": None,
    "PUT /v1/allowances": {"dataset": "people", "account": "ana", "bits": 1},
    "PUT /v1/datasets/people/budget": {"bits": 1},
    "GET /v1/datasets/people/versions": None,
    "POST /v1/datasets/people/versions": {},
}
AUDITORS = ("GET /v1/audit", "GET /v1/ledger/head", "POST /v1/ledger/verify")


@pytest.mark.parametrize("act", [*OWNERS, *AUDITORS, "GET /v1/ledger/verify/0000"])
def test_acts_of_owners_and_auditors_are_theirs_alone(shared, act):
    def reply(account=None):
        return shared.api(account).request(*act.split(" "), json=OWNERS.get(act))

    check(reply(), 401, "token")
    check(reply("ana"), 403, "scope")
    if act in OWNERS:
        check(reply("eve"), 403, "scope")
    else:
        assert reply("eve").status_code in {200, 202, 404}


@pytest.mark.parametrize(
    ("act", "body"),
    [
        ("GET /v1/accounts/nobody", None),
        ("DELETE /v1/accounts/nobody", None),
        ("PUT /v1/accounts/nobody/datasets/people", None),
        ("POST /v1/tokens", {"account": "nobody", "scope": "ask"}),
        ("DELETE /v1/tokens/0000", None),
        ("PUT /v1/allowances", {"dataset": "people", "account": "nobody", "bits": 1}),
        ("GET /v1/allowances?dataset=nothing", None),
        ("GET /v1/ledger/verify/0000", None),
        ("GET /v1/ledger/verify/..", None),
        ("GET /v1/datasets/people/answers/0000000000000000", None),
        ("GET /v1/datasets/people/answers/x", None),
    ],
)
def test_what_an_owner_names_wrongly_is_absent(shared, act, body):
    check(shared.api("owner").request(*act.split(" "), json=body), 404, "not_found")


def test_too_many_requests_in_a_minute(a_place):
    with live_in_thread(a_place(limits="questions_per_batch = 3\nrows = 50", minute=5)) as live:
        api = live.api("ana")
        assert [api.price(bits=1).status_code for _ in range(5)] == [200] * 5
        reply = api.price(bits=1)
        check(reply, 429, "rate")
        assert 1 <= int(reply.headers["retry-after"]) <= 60
        assert live.api("ben").price(bits=1).status_code == 200
        texts = [above(n) for n in range(5)]
        assert [api.ask(text, bits=1).status_code for text in texts] == [200] * 5
        check(api.ask(COUNT, bits=1), 429, "rate")
        for _ in range(20):  # repeats are not limited
            assert api.ask(texts[0], bits=1).status_code == 200
        check(api.ask(None, questions=[AVERAGE] * 4), 422, "invalid")


def test_headers_of_every_reply(shared):
    some = (shared.api().get(path) for path in ("/healthz", "/nowhere"))
    for reply in (*some, shared.api("ana").ask("?")):
        policy = reply.headers["content-security-policy"]
        assert "unsafe-inline" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"
        assert "server" not in reply.headers
        assert len(reply.headers["x-request-id"]) == 16


def test_an_error_that_nobody_expected_says_nothing(live, monkeypatch, caplog):
    def fail(*_):
        raise ValueError("age 4217 of ana")

    monkeypatch.setattr(live.service, "visible", fail)
    with caplog.at_level("ERROR", logger="hartley.service"):
        reply = live.api("ana").get("/v1/datasets")
    check(reply, 500, "internal")
    assert "4217" not in reply.text
    (record,) = caplog.records
    line = JsonLines().format(record)
    assert "ValueError" in line
    assert "4217" not in line


def test_a_proxy_names_users_only_from_listed_addresses(a_place):
    header = {"X-Remote-User": "ana"}
    for addresses, status in ((["127.0.0.1"], 200), (["10.0.0.2"], 401)):
        listed = json.dumps(addresses)
        service = f'trusted_proxy = {listed}\nuser_header = "X-Remote-User"'
        with live_in_thread(a_place(service=service)) as live:
            assert live.api().get("/v1/me", headers=header).status_code == status
            assert live.api().get("/v1/me").status_code == 401
            twice = [("X-Remote-User", "ana"), ("X-Remote-User", "ben")]
            assert live.api().get("/v1/me", headers=twice).status_code == 401


def test_the_last_owner_cannot_be_revoked_and_that_is_no_question(live):
    check(live.api("owner").delete("/v1/accounts/owner"), 422, "invalid")
