"""One account cannot keep a service busy: weights, caps, fair lanes, and work nobody waits for."""

import json
import socket
import threading
from urllib.parse import urlsplit

import pytest
from small_service import (
    COUNT,
    PEOPLE,
    TRUTH,
    Api,
    above,
    ask_until,
    error_of,
    live_in_thread,
    until,
    value,
)

from hartley.service.lanes import Lanes
from hartley.text import distinct
from hartley.trusted.precision import PriceDesk

AVERAGES = "SELECT {} FROM people"
MANY = AVERAGES.format(", ".join(["AVG(age)"] * 1500))
GROUPS = "SELECT region, COUNT(*) FROM people WHERE age > 3 GROUP BY region"


def many(number):
    return AVERAGES.format(", ".join(f"AVG(age + {each})" for each in range(number)))


def test_a_text_of_many_averages_is_read_in_linear_time():
    names = distinct(["n"] * 20_000 + ["n (2)", "m"])
    assert len(set(names)) == len(names)
    assert names[:3] == ["n", "n (2)", "n (3)"]
    assert names[-2:] == ["n (2) (2)", "m"]


@pytest.mark.parametrize("route", ["ask", "price", "plan"])
def test_numbers_of_a_request_are_capped(a_place, route):
    with live_in_thread(a_place(limits="numbers_per_request = 50")) as live:
        ana, path = live.api("ana"), f"{PEOPLE}/{route}"
        groups = many(26).replace("FROM people", "FROM people GROUP BY region")
        for text, number in ((many(51), 51), (groups, 52)):
            error = error_of(ana.post(path, json={"question": text, "bits": 8}), 422, "invalid")
            assert f"{number} numbers" in error["message"]
        assert ana.post(path, json={"question": many(50), "bits": 8}).status_code == 200
        assert ana.spent <= 8


def test_many_numbers_count_as_many_questions(a_place):
    with live_in_thread(a_place(minute=10)) as live:
        ana, ben = live.api("ana"), live.api("ben")
        assert ana.price(many(150), bits=8).status_code == 200  # counts as 6 of 10
        assert ana.price(many(150), bits=8).status_code == 429
        assert ana.price(COUNT, bits=1).status_code == 200
        assert ben.ask(many(200), bits=9).status_code == 200  # counts as 8 of 10
        more = [ben.ask(above(age), bits="1/8", vacuous=True) for age in (10, 20, 30)]
        assert more[-1].status_code == 429
        # A repeat of many numbers counts nothing, also where it was not known to be one.
        repeats, rates = live.service.hosted["people"]._open.repeats, live.service.resources.rates
        rates._memory[:] = bytes(len(rates._memory))
        for _ in range(4):
            reply = ben.ask(many(200), bits=9)
            assert (reply.status_code, reply.json()["bits"]) == (200, 0)
            repeats.clear()
        assert ben.ask(COUNT, bits=1, vacuous=True).status_code == 200


@pytest.mark.slow
def test_what_another_worker_was_asked_is_no_new_question(a_place):
    """It is free, counted as nothing, and answered where no new question is."""
    place = a_place(minute=2)
    with live_in_thread(place) as first, live_in_thread(place) as second:
        ana, ben = first.api("ana"), first.api("ben")
        own, others = second.api("ana"), second.api("ben")
        shown = ben.ask(above(10), bits=1).json()
        again = others.ask(above(10), bits=1).json()  # the second worker has not heard of it
        assert (shown["bits"], again["bits"], again["table"]) == (1, 0, shown["table"])
        # Both new questions of the minute are left.
        for api in (others, own):
            statuses = [api.ask(above(age), bits=1).status_code for age in (30, 40, 50)]
            assert statuses == [200, 200, 429]
        shown = ana.ask(above(20), bits=1).json()
        again = own.ask(above(20), bits=1).json()  # not heard of, and no new question is left
        assert (shown["bits"], again["bits"], again["table"]) == (1, 0, shown["table"])
        assert own.ask(above(60), bits=1).status_code == 429
        assert own.spent == 3
        for outcome, number in {"new": 4, "repeat": 2, "rate": 3}.items():
            assert f'dataset="people",outcome="{outcome}"}} {number}' in second.metrics()


@pytest.mark.slow
def test_others_are_answered_while_one_account_asks_for_much(a_place, monkeypatch):
    """Questions of one account that never end leave lanes, quick threads and queue to others."""
    place = a_place(service="engine_lanes = 4\nqueue = 8")
    gate = threading.Event()
    plan = PriceDesk.plan

    def slow(desk, questions, *rest):
        if "AVG" in str(questions):
            gate.wait(300)
        return plan(desk, questions, *rest)

    with live_in_thread(place) as live:
        monkeypatch.setattr(PriceDesk, "plan", slow)
        statuses = []

        def hog():
            with Api(live.url, place.tokens["ana"]) as api:
                statuses.append(api.ask(MANY, bits=8).status_code)

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
def test_a_question_that_nobody_waits_for_is_not_charged(live, monkeypatch):
    gate, entered = threading.Event(), threading.Event()
    plan = PriceDesk.plan

    def slow(desk, *rest):
        entered.set()
        gate.wait(60)
        return plan(desk, *rest)

    monkeypatch.setattr(PriceDesk, "plan", slow)
    body = json.dumps({"question": GROUPS, "bits": 2})
    address = urlsplit(live.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        head = f"POST /v1/datasets/people/ask HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
        head += f"\r\nAuthorization: Bearer {live.place.tokens['ana']}\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())
        assert entered.wait(60)
    service = live.service
    until(lambda: 'route="/v1/datasets/{name}/ask"' in live.metrics())
    gate.set()
    until(lambda: not service.lanes.admitted)
    assert live.api("ana").spent == 0
    assert live.api("ana").ask(GROUPS, bits=2).json()["bits"] == 1


@pytest.mark.slow
def test_a_question_that_is_late_before_its_charge_is_not_charged(a_place, monkeypatch):
    place = a_place(service="question_seconds = 0.3")
    gate, plan = threading.Event(), PriceDesk.plan

    def slow(desk, *rest):
        gate.wait(60)
        return plan(desk, *rest)

    with live_in_thread(place) as live:
        ana = live.api("ana")
        monkeypatch.setattr(PriceDesk, "plan", slow)
        error = error_of(ana.ask(GROUPS, bits=2), 503, "busy")
        assert "nothing was charged" in error["message"]
        gate.set()
        until(lambda: not live.service.lanes.admitted)
        assert ana.spent == 0


@pytest.mark.slow
def test_a_charged_question_is_stopped_at_its_limit_and_finished_by_asking_again(a_place, endless):
    """The lane is free, the charge stays, and nobody else's statement ends."""
    limits = "question_seconds = 2\npending_seconds = 2\nengine_lanes = 1\nqueue = 4"
    place = a_place(service=limits)
    with live_in_thread(place) as live:
        ana, ben = live.api("ana"), live.api("ben")
        lanes = live.service.lanes
        endless.on.set()
        ask_until(ana, "pending")
        assert endless.begun.is_set()
        until(lambda: not lanes.admitted)
        assert ana.spent == 1
        ask_until(ana, "pending")  # paid for by now, and still slow
        endless.on.clear()
        until(lambda: not lanes.admitted)
        # Another account, in the same lane and on the same copy.
        assert value(ask_until(ben, "answered")) == TRUTH
        finished = ask_until(ana, "answered")
        assert (finished["bits"], finished["spent_bits"], value(finished)) == (0, 1, TRUTH)
        (row,) = ana.history()
        assert (row["bits"], row["answered"]) == (1, True)
    place.verify()


@pytest.mark.slow
def test_a_price_is_stopped_at_its_limit_while_it_counts_public_columns(a_place, endless):
    place = a_place(service="question_seconds = 2\nengine_lanes = 1")
    text = "SELECT AVG(age) FROM people WHERE region = 'north'"
    with live_in_thread(place) as live:
        ana, lanes = live.api("ana"), live.service.lanes
        endless.on.set()

        def late():
            error = error_of(ana.price(text, bits=2), 503, "busy")
            assert "nothing was charged" in error["message"]
            return endless.begun.is_set()

        until(late)
        until(lambda: not lanes.admitted)
        endless.on.clear()
        until(lambda: ana.price(text, bits=2).status_code == 200)
        assert ana.spent == 0


@pytest.mark.slow
def test_a_stopped_question_ends_none_that_runs_beside_it(a_place, endless, monkeypatch):
    """Two slow statements on one copy; one of them is late."""
    place = a_place(service="question_seconds = 600\nengine_lanes = 2")
    tickets, engine = {}, Lanes.engine

    def noted(lanes, work, ticket=None):
        tickets[ticket.account] = ticket
        return engine(lanes, work, ticket)

    monkeypatch.setattr(Lanes, "engine", noted)
    with live_in_thread(place) as live:
        endless.on.set()
        replies, threads = {}, []
        for account in ("ana", "ben"):
            endless.begun.clear()
            api = live.api(account)

            def ask(account=account, api=api):
                replies[account] = api.ask(COUNT, bits=1)

            threads.append(threading.Thread(target=ask))
            threads[-1].start()
            assert endless.begun.wait(60)
        endless.on.clear()
        tickets["ana"].statements.stop()
        threads[0].join(60)
        assert replies["ana"].json()["error"]["code"] == "pending"
        assert threads[1].is_alive()
        tickets["ben"].statements.stop()
        threads[1].join(60)
        for account in ("ana", "ben"):
            content = live.api(account).ask(COUNT, bits=1).json()
            assert (content["bits"], content["spent_bits"]) == (0, 1)
