"""An analyst never sees another's rows, prices, balances or existence."""

import itertools
import math

from small_service import AVERAGE, COUNT, live_in_thread

from hartley import open_ledger
from hartley.errors import HartleyError
from hartley.service.own_rows import uncovered

PATHS = ["", "/schema", "/dummy", "/budget", "/history", "/answers/00", "/answers/00/certificate"]


def shown(reply):
    """Return a reply without what differs between any two."""
    content = reply.json()
    content.get("error", {}).pop("request_id", None)
    headers = {k: v for k, v in reply.headers.items() if k not in {"date", "x-request-id"}}
    return reply.status_code, content, headers


def test_an_unlisted_dataset_is_absent(shared):
    api = shared.api("ana")
    for path in PATHS:
        unlisted, absent = (api.get(f"/v1/datasets/{name}{path}") for name in ("others", "absent"))
        assert shown(unlisted) == shown(absent)
        assert unlisted.status_code == 404
    for path, body in itertools.product(("price", "ask", "plan"), ({"question": AVERAGE}, {})):
        unlisted, absent = (
            api.post(f"/v1/datasets/{name}/{path}", json=body) for name in ("others", "absent")
        )
        assert shown(unlisted) == shown(absent)


def test_nothing_depends_on_what_others_do(a_place):
    """Two services alike, but in one of them ben asks much: ana sees the same, byte for byte."""
    seen = []
    for busy in (False, True):
        with live_in_thread(a_place()) as live:
            if busy:
                ben = live.api("ben")
                for text in (AVERAGE, COUNT, "SELECT MAX(age) FROM people"):
                    assert ben.ask(text, bits=3).status_code == 200
            seen.append(list(_all_that_ana_sees(live.api("ana"))))
    assert seen[0] == seen[1]


def _all_that_ana_sees(api):
    for text, bits in ((AVERAGE, 3), (COUNT, 1), (COUNT, 1), ("SELECT MIN(age) FROM people", 6)):
        quote = api.price(text, bits=bits, curve=True, explain=True).json()
        yield quote | {"given": len(quote["given"])}  # the key of the names is random
        reply = api.ask(text, bits=bits)
        content = reply.json()
        content.pop("question_id", None)  # of the version, which is random
        content.get("error", {}).pop("request_id", None)
        yield reply.status_code, content
    budget = api.budget()
    yield budget
    plan = {"questions": [AVERAGE, "SELECT SUM(age) FROM people"], "budget": 9}
    yield api.post("/v1/datasets/people/plan", json=plan).json()
    rows = api.history()
    yield [{key: row[key] for key in ("question", "bits", "answered", "present")} for row in rows]


def test_rows_of_others_cannot_be_opened(live):
    live.api("ben").ask(bits=2)
    (row,) = live.api("ben").history()
    reply = live.api("ana").answer(row["id"])
    assert reply.status_code == 404
    assert live.api("ana").history() == []
    # Nor by counting: what is beside an own row has no name that could be guessed.
    live.api("ana").ask(bits=2)
    (own,) = live.api("ana").history()
    assert own["id"][:6] != row["id"][:6]


def test_a_price_that_is_to_rest_on_another_row_says_nothing_about_it(live):
    """The number of a row counts the rows of all accounts, so no reply shows it."""
    owner, ana, ben = live.api("owner"), live.api("ana"), live.api("ben")
    owner.put("/v1/accounts/ana/datasets/others")
    live.place.allow("ana", 5, dataset="others")
    question = COUNT.replace("people", "others")
    assert ana.ask(question, dataset="others", bits=1).status_code == 200
    ben.ask(bits=2)
    ids = [
        ana.get("/v1/datasets/others/history").json()["rows"][0]["id"],
        ben.history()[0]["id"],
        *("0000000000000000", "00000000000000zz", ""),
    ]
    replies = [shown(ana.ask(COUNT, bits=1, given=[row])) for row in ids]
    assert replies[0][0] == 422
    assert replies == replies[:1] * len(ids)
    assert not any(letter.isdigit() for letter in replies[0][1]["error"]["message"])
    assert ana.spent == 0


def test_a_repeat_of_what_another_paid_for_is_charged(live):
    assert live.api("ben").ask(bits=2).json()["bits"] == 2
    repeat = live.api(token=live.place.issue("ana", "repeat").text)
    assert repeat.ask(bits=2).status_code == 403
    assert live.api("ana").ask(bits=2).json()["bits"] == 2


def test_a_population_counts_the_allowances_of_all_its_datasets(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        schema = {"table": {"name": "people", "population": "town"}, "columns": {}}
        ledger.record("town", "population", {"bits": 12})
        for name in ("people", "others"):
            about = {"bits": 12, "schema": schema | {"table": schema["table"] | {"name": name}}}
            ledger.record(name, "created", about | {"rows": 5})
        ledger.record("people", "allowance", {"analyst": "ana", "bits": 6})
        ledger.record("others", "allowance", {"analyst": "ben", "bits": 6})
        assert uncovered(ledger, "people") is None
        ledger.record("others", "allowance", {"analyst": "ben", "bits": 7})
        assert "town" in uncovered(ledger, "people")


def test_the_cover_of_allowances_is_exact(tmp_path):
    """As long as it holds, no charge within an own allowance is refused, however others spend."""
    for number, (budget, first, second, open_factor) in enumerate(
        itertools.product(("3", "2.5"), ("1", "1.58", "2.5"), ("0", "1", "1.5"), (1, 2))
    ):
        with open_ledger(tmp_path / f"{number}.db") as ledger:
            about = {"bits": budget, "schema": {"name": "d"}, "rows": 5}
            ledger.record("d", "created", about | {"open_factor": open_factor})
            try:
                for name, bits in (("ana", first), ("ben", second)):
                    ledger.record("d", "allowance", {"analyst": name, "bits": bits})
            except HartleyError:  # more than the whole budget
                continue
            most = [math.floor(2 ** float(bits)) for bits in (first, second)]
            accepted = True
            for name, cells in zip(("ana", "ben"), most, strict=True):
                questions = [{"of": name}]
                offered = ledger.offer("d", name, questions, lambda _, cells=cells: cells)
                accepted &= offered.refusal is None
                if accepted:
                    ledger.reserve("d", name, questions, lambda _, cells=cells: cells)
            if uncovered(ledger, "d") is None:
                assert accepted
            else:
                room = 2 ** (float(budget) - float(first) - float(second))
                assert open_factor > math.floor(room + 1e-9)
