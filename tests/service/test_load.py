"""Many analysts at once: no error but 429 and 503, nothing over-spent, nothing charged twice."""

import asyncio
import os
import random
import signal
import time
from collections import Counter

import httpx
import pytest

from hartley.agent.ledger import open_ledger
from hartley.agent.repricing import verify_prices
from hartley.service.accounts import open_accounts

COUNT = "SELECT COUNT(*) FROM people WHERE age > {}"
EXPECTED = {200, 409, 429, 503}
PAUSE = 0.05


async def analyst(  # noqa: PLR0913 - one analyst, each by name
    url, token, end, seed, seen, *, patient=False
):
    """Ask repeats and new questions until the end; note replies and charges."""
    choose = random.Random(seed)  # noqa: S311 - a choice of questions
    headers = {"Authorization": f"Bearer {token}"}
    limits = httpx.Timeout(60)
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=limits, trust_env=False
    ) as api:
        while time.monotonic() < end:
            number = choose.randrange(40)
            body = {"question": COUNT.format(number), "bits": "0.2", "vacuous": True}
            route = "price" if choose.random() < 0.1 else "ask"
            try:
                reply = await api.post(f"/v1/datasets/people/{route}", json=body)
            except httpx.TransportError:
                assert patient, "a connection was lost"
                await asyncio.sleep(PAUSE)
                continue
            if patient:
                await asyncio.sleep(PAUSE)  # leaves workers the time to start
            seen["statuses"][reply.status_code] += 1
            if route == "ask" and reply.status_code == 200:
                content = reply.json()
                seen["bits"][token] += content["bits"]
                seen["cells"].setdefault(number, set()).add(str(content["rows"]))


def crowd(place, number):
    """Add so many analysts, each with a small allowance and a token."""
    with open_accounts(place.settings.ledger) as accounts:
        for each in range(number):
            accounts.add(f"a{each}", "analyst", by="owner")
            accounts.grant(f"a{each}", "people", by="owner")
    with open_ledger(place.settings.ledger) as ledger:
        ledger.record("people", "budget", {"bits": 20 + 4 * number})
        for each in range(number):
            ledger.record("people", "allowance", {"analyst": f"a{each}", "bits": "4"})
    return [place.issue(f"a{each}").text for each in range(number)]


def new_counts():
    return {"statuses": Counter(), "bits": Counter(), "cells": {}}


def check(place, seen, tokens):
    assert set(seen["statuses"]) <= EXPECTED, seen["statuses"]
    assert seen["statuses"][200] > len(tokens)
    assert all(len(rows) == 1 for rows in seen["cells"].values())  # one answer for everybody
    with open_ledger(place.settings.ledger) as ledger:
        assert verify_prices(ledger).holds
        state = ledger.state("people")
        assert state.balance.holds(1)
        for each, token in enumerate(tokens):
            balance = state.allowances[f"a{each}"]
            assert balance.spent <= 2**4
            # What was shown as charged is charged; a reply that was lost may be charged too.
            assert seen["bits"][token] <= balance.spent_bits + 1e-9


@pytest.mark.slow
def test_a_few_analysts_for_a_moment(a_place, served_here):
    place = a_place()
    tokens = crowd(place, 8)
    seen = new_counts()
    with served_here(place) as live:

        async def main():
            end = time.monotonic() + 3
            await asyncio.gather(
                *(analyst(live.url, token, end, i, seen) for i, token in enumerate(tokens))
            )

        asyncio.run(main())
    check(place, seen, tokens)


@pytest.mark.long
def test_two_hundred_analysts_on_four_workers_for_a_minute(a_place, serve):
    place = a_place()
    tokens = crowd(place, 200)
    live = serve(place, workers=4)
    seen = new_counts()

    async def main():
        end = time.monotonic() + 60
        await asyncio.gather(
            *(analyst(live.url, token, end, i, seen) for i, token in enumerate(tokens))
        )

    asyncio.run(main())
    assert live.stop() == 0
    check(place, seen, tokens)


def kill_under_load(  # noqa: PLR0913 - what is killed under which load, each by name
    place, live, tokens, wait_until, *, kills, seconds=float("inf")
):
    """Kill one worker after another while analysts ask; return how many, and what was seen."""
    seen, end, done = new_counts(), time.monotonic() + seconds, 0

    async def load(stop):
        while not stop.is_set():
            until = time.monotonic() + 1
            await asyncio.gather(
                *(
                    analyst(live.url, token, until, i, seen, patient=True)
                    for i, token in enumerate(tokens)
                )
            )

    async def main():
        nonlocal done
        stop = asyncio.Event()
        running = asyncio.create_task(load(stop))
        while done < kills and time.monotonic() < end:
            workers = await asyncio.to_thread(
                wait_until, lambda: len(w := live.workers()) == 2 and w, 300
            )
            os.kill(workers[done % 2], signal.SIGKILL)
            done += 1
            await asyncio.to_thread(live.wait_for_workers, 2 + done)
        stop.set()
        await running

    asyncio.run(main())
    assert live.stop() == 0
    check(place, seen, tokens)
    return done, seen


@pytest.mark.slow
def test_a_few_kills_under_load(a_place, serve, wait_until):
    place = a_place()
    tokens = crowd(place, 3)
    live = serve(place, workers=2)
    done, _ = kill_under_load(place, live, tokens, wait_until, kills=2)
    assert done == 2


@pytest.mark.long
def test_two_hundred_kills_under_load(a_place, serve, wait_until, record_property):
    place = a_place()
    tokens = crowd(place, 8)
    live = serve(place, workers=2)
    kills = int(os.environ.get("HARTLEY_KILLS", "200"))
    seconds = float(os.environ.get("HARTLEY_KILL_SECONDS", "inf"))
    done, seen = kill_under_load(place, live, tokens, wait_until, kills=kills, seconds=seconds)
    record_property("kills", done)
    record_property("replies", str(dict(seen["statuses"])))
    assert done == kills or seconds < float("inf")
