"""One account cannot keep a service busy: weights, caps, fair lanes, and work nobody waits for."""

import json
import socket
import threading
from urllib.parse import urlsplit

import httpx
import pytest

from hartley import open_ledger
from hartley.agent.replay import verify_prices
from hartley.engines.duckdb import EmbeddedStore
from hartley.service.lanes import Lanes
from hartley.trusted.precision import PriceDesk

COUNT = "SELECT COUNT(*) FROM people WHERE ill = 'yes'"
AVERAGES = "SELECT {} FROM people"
MANY = AVERAGES.format(", ".join(["AVG(age)"] * 1500))


def many(number):
    return AVERAGES.format(", ".join(f"AVG(age + {each})" for each in range(number)))


def above(age):
    return COUNT.replace("ill = 'yes'", f"age > {age}")


def test_a_text_of_many_averages_is_read_in_linear_time():
    from hartley.text import distinct

    names = distinct(["n"] * 20_000 + ["n (2)", "m"])
    assert len(set(names)) == len(names)
    assert names[:3] == ["n", "n (2)", "n (3)"]
    assert names[-2:] == ["n (2) (2)", "m"]


@pytest.mark.parametrize("route", ["ask", "price", "plan"])
def test_numbers_of_a_request_are_capped(a_place, served_here, route):
    place = a_place(limits="numbers_per_request = 50")
    with served_here(place) as live:
        ana, path = live.api("ana"), f"/v1/datasets/people/{route}"
        reply = ana.post(path, json={"question": many(51), "bits": 8})
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid")
        assert "51 numbers" in reply.json()["error"]["message"]
        groups = many(26).replace("FROM people", "FROM people GROUP BY region")
        reply = ana.post(path, json={"question": groups, "bits": 8})
        assert "52 numbers" in reply.json()["error"]["message"]
        assert ana.post(path, json={"question": many(50), "bits": 8}).status_code == 200
        assert ana.get("/v1/datasets/people/budget").json()["spent_bits"] <= 8


def test_many_numbers_count_as_many_questions(a_place, served_here):
    place = a_place(limits="")
    text = (place.folder / "config.toml").read_text()
    (place.folder / "config.toml").write_text(text.replace("100000", "10"))
    from hartley.service.settings import read_settings

    place.settings = read_settings(place.folder / "config.toml")
    with served_here(place) as live:
        ana, ben = live.api("ana"), live.api("ben")
        assert ana.price(many(150), bits=8).status_code == 200  # counts as 6 of 10
        assert ana.price(many(150), bits=8).status_code == 429
        assert ana.price(COUNT, bits=1).status_code == 200
        assert ben.ask(many(200), bits=9).status_code == 200  # counts as 8 of 10
        assert [
            ben.ask(text, bits="1/8", vacuous=True).status_code for text in map(above, (10, 20, 30))
        ][-1] == 429
        # A repeat of many numbers counts nothing, also where it was not known to be one.
        repeats = live.app.state.service.hosted["people"]._open.repeats
        live.app.state.service.resources.rates._memory[:] = bytes(len(rates_of(live)))
        for _ in range(4):
            reply = ben.ask(many(200), bits=9)
            assert (reply.status_code, reply.json()["bits"]) == (200, 0)
            repeats.clear()
        assert ben.ask(COUNT, bits=1, vacuous=True).status_code == 200


@pytest.mark.slow
def test_what_another_worker_was_asked_is_no_new_question(a_place, served_here):
    """It is free, counted as nothing, and answered where no new question is."""
    place = a_place()
    text = (place.folder / "config.toml").read_text()
    (place.folder / "config.toml").write_text(text.replace("100000", "2"))
    from hartley.service.settings import read_settings

    place.settings = read_settings(place.folder / "config.toml")
    with served_here(place) as first, served_here(place) as second:
        ana, ben = first.api("ana"), first.api("ben")
        own, others = second.api("ana"), second.api("ben")
        shown = ben.ask(above(10), bits=1).json()
        again = others.ask(above(10), bits=1).json()  # the second worker has not heard of it
        assert (shown["bits"], again["bits"], again["table"]) == (1, 0, shown["table"])
        # Both new questions of the minute are left.
        assert [others.ask(above(age), bits=1).status_code for age in (30, 40, 50)] == [
            200,
            200,
            429,
        ]
        assert [own.ask(above(age), bits=1).status_code for age in (30, 40, 50)] == [200, 200, 429]
        shown = ana.ask(above(20), bits=1).json()
        again = own.ask(above(20), bits=1).json()  # not heard of, and no new question is left
        assert (shown["bits"], again["bits"], again["table"]) == (1, 0, shown["table"])
        assert own.ask(above(60), bits=1).status_code == 429
        assert own.get("/v1/datasets/people/budget").json()["spent_bits"] == 3
        words = second.api().get("/metrics").text
        counted = {"new": 4, "repeat": 2, "rate": 3}
        for outcome, number in counted.items():
            assert (
                f'hartley_questions_total{{dataset="people",outcome="{outcome}"}} {number}' in words
            )


def rates_of(live):
    return live.app.state.service.resources.rates._memory


@pytest.mark.slow
def test_others_are_answered_while_one_account_asks_for_much(a_place, served_here, monkeypatch):
    """Questions of one account that never end leave lanes, quick threads and queue to others."""
    place = a_place(service="engine_lanes = 4\nqueue = 8")
    gate = threading.Event()
    plan = PriceDesk.plan

    def slow(desk, questions, *rest):
        if "AVG" in str(questions):
            gate.wait(300)
        return plan(desk, questions, *rest)

    with served_here(place) as live:
        monkeypatch.setattr(PriceDesk, "plan", slow)
        statuses = []

        def hog():
            with httpx.Client(base_url=live.url, timeout=300, trust_env=False) as api:
                headers = {"Authorization": f"Bearer {place.tokens['ana']}"}
                body = {"question": MANY, "bits": 8}
                statuses.append(
                    api.post("/v1/datasets/people/ask", json=body, headers=headers).status_code
                )

        threads = [threading.Thread(target=hog) for _ in range(12)]
        for thread in threads:
            thread.start()
        try:
            ben = live.api("ben")
            for number in range(5):
                # In the queue behind ana's it would be late, and refused.
                assert ben.ask(above(number), bits=1).status_code == 200
            assert ben.get("/v1/datasets/people/budget").status_code == 200
        finally:
            gate.set()
            for thread in threads:
                thread.join()
        assert set(statuses) <= {200, 503}
        assert statuses.count(503) >= 6  # two lanes and half of the queue were ana's


@pytest.mark.slow
def test_a_question_that_nobody_waits_for_is_not_charged(live, monkeypatch, wait_until):
    gate, entered = threading.Event(), threading.Event()
    plan = PriceDesk.plan

    def slow(desk, *rest):
        entered.set()
        gate.wait(60)
        return plan(desk, *rest)

    monkeypatch.setattr(PriceDesk, "plan", slow)
    text = "SELECT region, COUNT(*) FROM people WHERE age > 3 GROUP BY region"
    body = json.dumps({"question": text, "bits": 2})
    address = urlsplit(live.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        head = f"POST /v1/datasets/people/ask HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
        head += f"\r\nAuthorization: Bearer {live.place.tokens['ana']}\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())
        assert entered.wait(60)
    service = live.app.state.service
    wait_until(lambda: 'route="/v1/datasets/{name}/ask"' in live.api().get("/metrics").text)
    gate.set()
    wait_until(lambda: not service.lanes.admitted)
    assert live.api("ana").get("/v1/datasets/people/budget").json()["spent_bits"] == 0
    assert live.api("ana").ask(text, bits=2).json()["bits"] == 1


@pytest.mark.slow
def test_a_question_that_is_late_before_its_charge_is_not_charged(
    a_place, served_here, monkeypatch, wait_until
):
    place = a_place(service="question_seconds = 0.3")
    gate, plan = threading.Event(), PriceDesk.plan

    def slow(desk, *rest):
        gate.wait(60)
        return plan(desk, *rest)

    with served_here(place) as live:
        ana = live.api("ana")
        monkeypatch.setattr(PriceDesk, "plan", slow)
        text = "SELECT region, COUNT(*) FROM people WHERE age > 3 GROUP BY region"
        reply = ana.ask(text, bits=2)
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "busy")
        assert "nothing was charged" in reply.json()["error"]["message"]
        gate.set()
        wait_until(lambda: not live.app.state.service.lanes.admitted)
        assert ana.get("/v1/datasets/people/budget").json()["spent_bits"] == 0


class SlowStatements:
    """Makes the statements over the copy of a dataset really slow while ``on`` is set."""

    def __init__(self, monkeypatch):
        self.on, self.begun, run = threading.Event(), threading.Event(), EmbeddedStore.run

        def slow(store, text):
            if self.on.is_set():
                text = text.replace('FROM "coded"', 'FROM "coded", range(1000000000000) AS many')
                assert "many" in text
                self.begun.set()
            return run(store, text)

        monkeypatch.setattr(EmbeddedStore, "run", slow)


@pytest.mark.slow
def test_a_charged_question_is_stopped_at_its_limit_and_finished_by_asking_again(
    a_place, served_here, monkeypatch, wait_until
):
    """The lane is free, the charge stays, and nobody else's statement ends."""
    place = a_place(
        service="question_seconds = 2\npending_seconds = 2\nengine_lanes = 1\nqueue = 4"
    )
    slow = SlowStatements(monkeypatch)
    with served_here(place) as live:
        ana, ben = live.api("ana"), live.api("ben")
        lanes = live.app.state.service.lanes

        def asked(api, code):
            """Ask until a reply has a code; on a busy machine a question is late before it."""
            replies = []

            def ask():
                replies.append(api.ask(COUNT, bits=1).json())
                seen = replies[-1].get("error", {"code": "answered"})["code"]
                assert seen in {code, "busy"}, replies[-1]
                return seen == code

            wait_until(ask)
            return replies[-1]

        slow.on.set()
        asked(ana, "pending")
        assert slow.begun.is_set()
        wait_until(lambda: not lanes.admitted)
        assert ana.get("/v1/datasets/people/budget").json()["spent_bits"] == 1
        asked(ana, "pending")  # paid for by now, and still slow
        slow.on.clear()
        wait_until(lambda: not lanes.admitted)
        # Another account, in the same lane and on the same copy.
        assert asked(ben, "answered")["rows"][0]["COUNT(*)"]["value"] == 15
        finished = asked(ana, "answered")
        assert (finished["bits"], finished["spent_bits"]) == (0, 1)
        assert finished["rows"][0]["COUNT(*)"]["value"] == 15
        (row,) = ana.get("/v1/datasets/people/history").json()["rows"]
        assert (row["bits"], row["answered"]) == (1, True)
    with open_ledger(place.settings.ledger) as ledger:
        assert verify_prices(ledger).holds


@pytest.mark.slow
def test_a_price_is_stopped_at_its_limit_while_it_counts_public_columns(
    a_place, served_here, monkeypatch, wait_until
):
    place = a_place(service="question_seconds = 2\nengine_lanes = 1")
    slow = SlowStatements(monkeypatch)
    text = "SELECT AVG(age) FROM people WHERE region = 'north'"
    with served_here(place) as live:
        ana, lanes = live.api("ana"), live.app.state.service.lanes
        slow.on.set()

        def late():
            reply = ana.price(text, bits=2)
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "busy")
            assert "nothing was charged" in reply.json()["error"]["message"]
            return slow.begun.is_set()

        wait_until(late)
        wait_until(lambda: not lanes.admitted)
        slow.on.clear()
        wait_until(lambda: ana.price(text, bits=2).status_code == 200)
        assert ana.get("/v1/datasets/people/budget").json()["spent_bits"] == 0


@pytest.mark.slow
def test_a_stopped_question_ends_none_that_runs_beside_it(a_place, served_here, monkeypatch):
    """Two slow statements on one copy; one of them is late."""
    place = a_place(service="question_seconds = 600\nengine_lanes = 2")
    slow, tickets = SlowStatements(monkeypatch), {}
    engine = Lanes.engine

    def noted(lanes, work, ticket=None):
        tickets[ticket.account] = ticket
        return engine(lanes, work, ticket)

    monkeypatch.setattr(Lanes, "engine", noted)
    with served_here(place) as live:
        slow.on.set()
        replies, threads = {}, []
        for account in ("ana", "ben"):
            slow.begun.clear()
            api = live.api(account)

            def ask(account=account, api=api):
                replies[account] = api.ask(COUNT, bits=1)

            threads.append(threading.Thread(target=ask))
            threads[-1].start()
            assert slow.begun.wait(60)
        slow.on.clear()
        tickets["ana"].statements.stop()
        threads[0].join(60)
        assert replies["ana"].json()["error"]["code"] == "pending"
        assert threads[1].is_alive()
        tickets["ben"].statements.stop()
        threads[1].join(60)
        for account in ("ana", "ben"):
            content = live.api(account).ask(COUNT, bits=1).json()
            assert (content["bits"], content["spent_bits"]) == (0, 1)
