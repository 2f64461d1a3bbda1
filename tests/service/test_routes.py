"""Every route of the service, over HTTP: what it replies, and to whom."""

import httpx
import pytest
from small_service import (
    AGES,
    AVERAGE,
    COUNT,
    PEOPLE,
    TABLE,
    above,
    error_of,
    replace_people,
    until,
    value,
)

from hartley import open_ledger
from hartley.service import administration


def test_health_and_readiness(shared):
    assert shared.api().get("/healthz").json() == {"status": "ok"}
    ready = shared.api().get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["checks"] == dict.fromkeys(
        ("ledger", "engine", "dataset people", "budget people", "dataset others", "budget others"),
        "ok",
    )


def test_readiness_from_elsewhere_says_only_whether(shared):
    ready = shared.api().get("/readyz", headers={"X-Forwarded-For": "203.0.113.9"})
    assert ready.json() == {"status": "ready"}


def test_who_i_am_and_what_i_see(shared):
    assert shared.api("ana").get("/v1/me").json() == {
        "account": "ana",
        "role": "analyst",
        "scope": "ask",
        "datasets": ["people"],
    }
    assert shared.api("ana").get("/v1/datasets").json() == {"datasets": ["people"]}
    assert shared.api("owner").get("/v1/datasets").json() == {"datasets": ["people", "others"]}


def test_what_is_public_of_a_dataset(shared):
    api = shared.api("ana")
    content = api.get("/v1/datasets/people").json()
    assert (content["name"], content["rows"]) == ("people", 60)
    assert "age" in content["description"]
    schema = api.get("/v1/datasets/people/schema")
    assert schema.headers["content-type"] == "application/toml"
    assert 'name = "people"' in schema.text
    columns = api.get("/v1/datasets/people/dummy", params={"rows": 7}).json()["columns"]
    assert {name: len(rows) for name, rows in columns.items()} == dict.fromkeys(TABLE, 7)
    assert api.get("/v1/datasets/people/dummy", params={"rows": 10_001}).status_code == 422


def test_a_price_with_its_curve_and_explanation(live):
    content = live.api("ana").price(bits=2, curve=True, explain=True, most=4).json()
    assert (content["bits_alone"], content["bits"], content["remaining_bits"]) == (2, 2, 10)
    assert content["due_bits"] == 2  # the former name of bits
    assert content["affordable"]
    assert content["refusal"] is None
    points = content["curves"][0]["points"]
    assert len(points) > 2
    assert "4" in content["explanation"]
    assert live.api("ana").spent == 0


def test_a_price_that_the_allowance_does_not_cover(live):
    live.place.allow("ana", 3)
    content = live.api("ana").price(bits=6).json()
    assert not content["affordable"]
    assert "allowance" in content["refusal"]


def test_a_question_its_repeat_and_its_row(live):
    api = live.api("ana")
    first = api.ask(bits=2).json()
    assert (first["bits"], first["spent_bits"], first["remaining_bits"]) == (2, 2, 8)
    number = first["rows"][0]["AVG(age)"]
    assert number["low"] <= sum(AGES) / 60 <= number["high"]
    second = api.ask(bits=2).json()
    assert (second["bits"], second["rows"]) == (0, first["rows"])
    (row,) = api.history()
    assert row | {"question": AVERAGE, "bits": 2, "answered": True, "present": True} == row
    again = api.answer(row["id"]).json()
    assert again["answers"][0]["rows"] == first["rows"]
    assert again["answers"][0]["question_id"] == first["question_id"]
    certificate = api.get(f"/v1/datasets/people/answers/{row['id']}/certificate").json()
    assert certificate == first["certificate"]


def test_a_batch_with_wishes_of_its_own(live):
    api = live.api("ana")
    asked = [AVERAGE, {"question": COUNT, "error": 0}]
    price = api.price(None, questions=asked, bits=1).json()
    reply = api.ask(None, questions=asked, bits=1, given=price["given"]).json()
    assert len(reply["answers"]) == 2
    assert reply["bits"] == price["bits"]
    assert value(reply["answers"][1]) == 15


def test_an_answer_of_several_lines_opens_again(live):
    api = live.api("ana")
    several = (
        "SELECT region, COUNT(*)\nFROM people -- by region\nWHERE ill = 'yes'\nGROUP BY region"
    )
    reply = api.ask(None, questions=[several, AVERAGE], bits=2)
    assert reply.status_code == 200
    (row,) = api.history()
    again = api.answer(row["id"]).json()["answers"]
    assert [answer["question"] for answer in again] == [several, AVERAGE]
    assert [a["rows"] for a in again] == [a["rows"] for a in reply.json()["answers"]]


def test_a_plan_shares_a_budget(shared):
    body = {"questions": [AVERAGE, "SELECT MAX(age) FROM people"], "budget": 4}
    content = shared.api("ana").plan(**body).json()
    assert content["batch_bits"] <= 4
    assert content["remaining_bits"] == 10


def test_a_plan_keeps_the_daily_cap(live):
    owner, ana = live.api("owner"), live.api("ana")
    assert owner.put("/v1/accounts/ana/daily_cap", json={"bits": 3}).status_code == 200
    ana.ask(COUNT, bits=1)
    body = {"questions": [AVERAGE, "SELECT MAX(age) FROM people"], "budget": 8}
    content = ana.plan(**body).json()
    assert content["batch_bits"] <= 2
    assert content["fits"]
    asked = [
        {key: question[key] for key in ("question", "bits")} for question in content["questions"]
    ]
    reply = ana.ask(None, questions=asked)
    assert (reply.status_code, reply.json()["bits"]) == (200, content["batch_bits"])
    # What does not fit is named, and a wish without a budget is said to be refused.
    body = {"questions": ["SELECT MIN(age) FROM people"], "bits": 4}
    refused = ana.plan(**body).json()
    assert refused["fits"] is False
    assert "more today" in refused["refusal"]
    left_out = ana.post("/v1/datasets/people/plan", json=body | {"budget": 6}).json()
    assert left_out["questions"] == []
    assert "more today" in left_out["excluded"][0]["reason"]


def test_a_price_knows_the_daily_cap(live):
    owner, ana, ben = live.api("owner"), live.api("ana"), live.api("ben")
    assert ana.price(bits=4).json()["affordable"]
    assert owner.put("/v1/accounts/ana/daily_cap", json={"bits": 3}).status_code == 200
    assert ana.ask(COUNT, bits=1).json()["bits"] == 1
    median = "SELECT MEDIAN(age) FROM people"
    dear = ana.price(median, bits=4).json()
    words = "The question costs 4 bits and the account may spend 2 bits more today"
    assert (dear["affordable"], dear["refusal"]) == (False, words)
    assert dear["text"].endswith(f"It would be refused: {words}.")
    assert error_of(ana.ask(median, bits=4), 409, "daily_cap")["message"] == words
    assert dear["remaining_bits"] == 9
    # Others spend what they like: neither the quote nor its words change.
    assert ben.price(median, bits=4).json()["affordable"]
    assert ben.ask(median, bits=4).json()["bits"] == 4
    assert ana.price(median, bits=4).json() == dear
    # What is covered is answered, and what is paid for stays free where nothing is left.
    assert ana.price(median, bits=2).json()["affordable"]
    assert ana.ask(median, bits=2).json()["bits"] == 2
    assert ana.price(median, bits=2).json()["affordable"]
    # What is beyond the allowance is refused for that.
    live.place.allow("ana", 4)
    assert "the allowance of the account" in ana.price(median, bits=6).json()["refusal"]


NORTH = "SELECT MEDIAN(age) FROM people WHERE region = 'north'"
SOUTH = NORTH.replace("north", "south")


def test_a_price_knows_that_a_cap_counts_what_adds_nothing(live):
    """Questions about different regions share a budget; a cap counts each of them."""
    owner, ana = live.api("owner"), live.api("ana")
    assert owner.put("/v1/accounts/ana/daily_cap", json={"bits": 3}).status_code == 200
    assert ana.ask(NORTH, bits=2).json()["bits"] == 2
    priced = ana.price(SOUTH, bits=2, curve=True).json()
    assert (priced["bits"], priced["affordable"]) == (0, False)
    assert "costs 2 bits and the account may spend 1 bit more today" in priced["refusal"]
    assert ana.ask(SOUTH, bits=2).json()["error"]["message"] == priced["refusal"]
    (point,) = [each for each in priced["curves"][0]["points"] if each["wish_bits"] == "2"]
    assert (point["bits"], point["charged_cells"]) == (0, "4")
    assert ana.price(SOUTH, bits=1).json()["affordable"]


def test_a_plan_says_nothing_of_a_period_that_all_accounts_share(live):
    with open_ledger(live.place.settings.ledger) as ledger:
        ledger.record("people", "period", {"per": "year", "bits": 3})
    body = {"questions": [AVERAGE], "bits": 1}
    before = live.api("ana").plan(**body).json()
    assert live.api("ben").ask(bits=2).json()["bits"] == 2
    after = live.api("ana").plan(**body).json()
    assert before == after
    assert (after["period"], after["limited_by"]) == (None, None)


def paged(api, **params):
    """Return the questions of the whole history, page by page."""
    seen = []
    while True:
        page = api.get(f"{PEOPLE}/history", params=params).json()
        seen += [row["question"] for row in page["rows"]]
        if page["next"] is None:
            return seen
        params["after"] = page["next"]


def test_history_in_pages_from_both_ends(live):
    api = live.api("ana")
    texts = [above(n) for n in (10, 20, 30, 40, 50)]
    for text in texts:
        assert api.ask(text, bits=1).status_code == 200
    assert paged(api, limit=2) == texts
    assert paged(api, limit=2, newest=True) == texts[::-1]


def test_a_row_of_the_history_says_its_price_and_what_it_added(live):
    """Questions about different regions share a budget, so a price may add less than it is."""
    ana, ben = live.api("ana"), live.api("ben")
    assert ben.ask(SOUTH, bits=4).json()["bits"] == 4  # of others, nothing is seen
    charged = [ana.ask(text, bits=bits).json()["bits"] for text, bits in ((NORTH, 2), (SOUTH, 3))]
    assert charged == [2, 1]
    live.place.allow("ana", 9)  # an allowance that changes in between adds nothing
    charged.append(ana.ask(NORTH, bits=3).json()["bits"])
    assert charged[2] == 0
    rows = ana.history()
    assert [row["bits"] for row in rows] == [2, 3, 1]
    assert [row["added_bits"] for row in rows] == charged
    spent = ana.spent
    assert sum(charged) == pytest.approx(spent)
    assert ana.history(limit=1, newest=True) == rows[-1:]
    assert ana.answer(rows[1]["id"]).json()["added_bits"] == 1
    (other,) = ben.history()
    assert (other["bits"], other["added_bits"]) == (4, 4)


def test_a_search_of_the_history_goes_through_all_pages(live, monkeypatch):
    monkeypatch.setattr("hartley.service.service.ROWS_SEARCHED", 2)
    api = live.api("ana")
    texts = [above(n) for n in (10, 21, 30, 41, 50)]
    for text in texts:
        assert api.ask(text, bits=1).status_code == 200
    assert paged(api, limit=1, find="1") == [text for text in texts if "1" in text]
    assert paged(api, find="AGE > 10") == texts[:1]
    assert paged(api, find="height") == []


def test_the_own_budget(live):
    live.api("ana").ask(bits=2)
    content = live.api("ana").budget()
    bits = {"allowance_bits": "10", "spent_bits": 2, "remaining_bits": 8, "spent_today_bits": 2}
    assert content | bits == content


def test_the_owner_manages_accounts_and_each_act_is_in_the_audit_log(live):
    owner = live.api("owner")
    assert owner.post("/v1/accounts", json={"name": "cem"}).status_code == 201
    assert owner.put("/v1/accounts/cem/datasets/people").status_code == 200
    body = {"dataset": "people", "account": "cem", "bits": 3}
    assert owner.put("/v1/allowances", json=body).json()["allowance_bits"] == "3"
    assert owner.put("/v1/accounts/cem/daily_cap", json={"bits": 2}).status_code == 200
    issued = owner.post("/v1/tokens", json={"account": "cem", "scope": "ask", "label": "pc"}).json()
    cem = live.api(token=issued["token"])
    assert cem.ask(bits=2).status_code == 200
    error_of(cem.ask(COUNT, bits=1), 409, "daily_cap")
    shown = owner.get("/v1/accounts/cem").json()
    assert shown["tokens"][0]["label"] == "pc"
    assert "token" not in shown["tokens"][0]
    assert owner.get("/v1/tokens", params={"account": "cem"}).json()["tokens"] == shown["tokens"]
    assert {a["name"] for a in owner.get("/v1/accounts").json()["accounts"]} >= {"cem", "ana"}
    totals = owner.get("/v1/allowances", params={"dataset": "people"}).json()
    assert totals["allowances"]["cem"]["spent_bits"] == 2
    assert owner.delete(f"/v1/tokens/{issued['token_id']}").status_code == 200
    until(lambda: cem.get("/v1/me").status_code == 401, 2)
    assert owner.delete("/v1/accounts/cem/datasets/people").status_code == 200
    assert owner.delete("/v1/accounts/cem").status_code == 200
    rows = owner.get("/v1/audit", params={"limit": 1000}).json()["rows"]
    acts = [row["act"] for row in rows if "cem" in (row["subject"], row["detail"].split(" ")[0])]
    assert len(acts) >= 8
    assert any("allowance" in act for act in acts)


def test_an_allowance_beyond_the_cover_of_the_budget_is_refused(live):
    owner = live.api("owner")
    body = {"dataset": "people", "account": "ana", "bits": 31}  # ben has 10 of the 40
    error_of(owner.put("/v1/allowances", json=body), 422, "invalid")
    assert owner.put("/v1/allowances", json=body | {"bits": 30}).status_code == 200
    assert owner.put(f"{PEOPLE}/budget", json={"bits": 39}).status_code == 422
    raised = owner.put(f"{PEOPLE}/budget", json={"bits": 41})
    assert "transcripts" in raised.json()["promise"]


def test_a_new_version_through_the_service(live):
    ana, owner = live.api("ana"), live.api("owner")
    assert value(ana.ask(COUNT, error=0).json()) == 15
    (row,) = ana.history()
    replace_people(live.place.folder, "second.parquet")
    added = owner.post(f"{PEOPLE}/versions", json={"data": "second.parquet"})
    assert (added.status_code, added.json()["rows"]) == (201, 8)
    second = ana.ask(COUNT, error=0).json()
    assert (value(second), second["bits"] > 0) == (8, True)
    assert len(owner.get(f"{PEOPLE}/versions").json()["versions"]) == 2
    old = ana.answer(row["id"]).json()
    assert (old["present"], old["answers"]) == (False, None)


@pytest.mark.parametrize("who", ["owner", "eve"])
def test_the_ledger_is_verified_as_a_job(live, who):
    live.api("ana").ask(bits=2)
    api = live.api(who)
    job = api.post("/v1/ledger/verify")
    assert job.status_code == 202
    path = f"/v1/ledger/verify/{job.json()['job']}"
    done = until(lambda: (r := api.get(path).json())["status"] != "running" and r)
    assert (done["status"], done["holds"], done["charges_priced_again"]) == ("done", True, 1)
    assert done["head"] == api.get("/v1/ledger/head").json()


def test_metrics_count_without_names_of_accounts(live):
    ana = live.api("ana")
    ana.ask(bits=2)
    until(lambda: ana.ask(bits=2) and 'outcome="kept"' in live.metrics())
    text = live.metrics()
    assert 'hartley_questions_total{dataset="people",outcome="new"} 1' in text
    assert 'hartley_questions_total{dataset="people",outcome="repeat"}' in text
    assert "hartley_request_seconds_bucket" in text
    assert "ana" not in text
    for name in ("Forwarded", "Via", "X-Real-IP", "X-Forwarded-Proto", "X-Forwarded-Host"):
        assert live.api().get("/metrics", headers={name: "https"}).status_code == 404
    far = {"X-Forwarded-For": "203.0.113.9"}
    assert live.api().get("/metrics", headers=far).status_code == 404
    assert live.api("ana").get("/metrics", headers=far).status_code == 404
    assert live.api("owner").get("/metrics", headers=far).status_code == 200


def test_openapi_has_every_route_and_examples(shared):
    content = shared.api().get("/openapi.json").json()
    assert "/v1/datasets/{name}/ask" in content["paths"]
    assert content["components"]["schemas"]["AskBody"]["examples"]
    for path, methods in content["paths"].items():
        for method in methods.values():
            assert method["responses"]["404"], path
            assert method["description"], path


@pytest.mark.parametrize("scope", ["price", "repeat"])
def test_a_token_of_an_owner_for_prices_does_no_act_of_an_owner(live, scope):
    api = live.api(token=live.place.issue("owner", scope).text)
    body = {"account": "ana", "scope": "ask"}
    assert api.post("/v1/tokens", json=body).status_code == 403
    assert api.put(f"{PEOPLE}/budget", json={"bits": 50}).status_code == 403
    assert api.get("/v1/accounts").status_code == 403
    assert api.get("/v1/datasets").status_code == 200


def test_a_question_with_the_path_of_the_ledger_is_a_question_like_others(live):
    path = live.place.folder / "ledger.db"
    question = f'SELECT AVG("{path}") FROM people'  # noqa: S608
    error_of(live.api("ana").ask(question, bits=1), 422, "question")


def test_cover_is_checked_while_nobody_else_writes(live, monkeypatch):
    """A check before the record would miss an allowance that is set in between."""
    ledger = live.service.ledger.trusted
    recorded, covered, seen = type(ledger).record, administration.require_covered, []
    writing = []

    def record(self, dataset, kind, content, *, check=None, **more):
        def checked():
            writing.append(kind)
            check()
            writing.pop()

        return recorded(self, dataset, kind, content, check=check and checked, **more)

    def require_covered(*of, **more):
        seen.extend(writing)
        covered(*of, **more)

    monkeypatch.setattr(type(ledger), "record", record)
    monkeypatch.setattr(administration, "require_covered", require_covered)
    owner = live.api("owner")
    assert owner.put(f"{PEOPLE}/budget", json={"bits": 39}).status_code == 200
    assert owner.post(f"{PEOPLE}/versions", json={}).status_code in {200, 201}
    assert seen == ["budget", "version"]


ASKED = b'{"question": "SELECT AVG(age) FROM people", "bits": 2}'
UNUSUAL = {
    "usual": (ASKED, {}),
    "with a key": (ASKED, {"Idempotency-Key": "k" * 200}),
    "a key that is too long": (ASKED, {"Idempotency-Key": "k" * 201}),
    "two keys": (ASKED, [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]),
    "another type": (ASKED, {"Content-Type": "text/plain"}),
    "no type": (ASKED, {"Content-Type": ""}),
    "a type with a charset": (ASKED, {"Content-Type": "application/json; charset=utf-8"}),
    "no token": (ASKED, {"Authorization": ""}),
    "a wrong token": (ASKED, {"Authorization": "Bearer hartley_no_such_token"}),
    "a wrong scheme": (ASKED, {"Authorization": "Basic YTpi"}),
    "no body": (b"", {}),
    "no JSON": (b'{"question": ', {}),
    "no text": (b"\xff\xfe{", {}),
    "nested too deep": (b"[" * 10_000, {}),
    "no object": (b"[1, 2]", {}),
    "an unknown field": (b'{"question": "SELECT AVG(age) FROM people", "noise": 1}', {}),
    "a wrong field": (b'{"question": 5}', {}),
    "no question": (b"{}", {}),
    "not a number": (b'{"question": "SELECT AVG(age) FROM people", "bits": NaN}', {}),
    "a field twice": (b'{"bits": 9, "question": "SELECT AVG(age) FROM people", "bits": 2}', {}),
    "a body that is too large": (b" " * (1 << 21) + ASKED, {}),
}


def test_a_question_is_read_as_the_framework_would_read_it(unkept, monkeypatch):
    from hartley.service import api as datasets

    api, by_framework = unkept.api("ana"), []

    def reply(label, name):
        content, more = UNUSUAL[label]
        headers = httpx.Headers({"Content-Type": "application/json"})
        headers.update({} if isinstance(more, list) else more)
        listed = [*headers.items(), *(more if isinstance(more, list) else [])]
        sent = api.post(f"/v1/datasets/{name}/ask", content=content, headers=listed)
        said = sent.json()
        said.get("error", {}).pop("request_id", None)
        return sent.status_code, said

    api.ask(bits=2)  # from now on, all of them are repeats
    cases = [(label, name) for label in UNUSUAL for name in ("people", "absent", "n" * 101)]
    here = {case: reply(*case) for case in cases}
    assert {status for status, _ in here.values()} == {200, 400, 401, 404, 413, 422}

    async def unread(_):
        by_framework.append(True)

    monkeypatch.setattr(datasets, "_usual_body", unread)
    assert {case: reply(*case) for case in cases} == here
    assert len(by_framework) >= len(cases) - 3  # bodies that are too large are refused before


def test_the_framework_reads_no_usual_question(unkept, monkeypatch):
    from fastapi import routing

    def unused(*_args, **_named):
        pytest.fail("The framework looked for parameters")

    monkeypatch.setattr(routing, "solve_dependencies", unused)
    assert unkept.api("ana").ask(bits=2).status_code == 200
