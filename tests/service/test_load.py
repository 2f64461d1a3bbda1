"""Many analysts at once: no error but 429 and 503, nothing over-spent, nothing charged twice."""

import asyncio
import os
import random
import signal
import ssl
import time
from collections import Counter

import httpx
import pytest
from small_service import PEOPLE, live_in_thread, until

from hartley import open_ledger
from hartley.service.accounts import open_accounts

EXPECTED = {200, 409, 429, 503}
DIFFERENT = 200
"""Questions that there are, one bit each."""
PAUSE = 0.05
UNUSED = ssl.create_default_context()
"""One for all clients: each would read the certificates of the machine for itself."""


def question(number):
    region = ("north", "south")[number % 2]
    return f"SELECT COUNT(*) FROM people WHERE age > {number // 2} AND region = '{region}'"  # noqa: S608


async def analyst(  # noqa: PLR0913 - one analyst, each by name
    url, token, goes_on, seed, seen, *, numbers=lambda: 40, patient=False
):
    """Ask while it goes on, of so many questions as there are by then; note what is seen."""
    choose = random.Random(seed)  # noqa: S311 - a choice of questions
    headers = {"Authorization": f"Bearer {token}"}
    limits = httpx.Timeout(150)
    async with httpx.AsyncClient(
        base_url=url, headers=headers, timeout=limits, trust_env=False, verify=UNUSED
    ) as api:
        while goes_on():
            last = min(numbers(), DIFFERENT) - 1
            number = last if choose.random() < 0.1 else choose.randint(0, last)
            body = {"question": question(number), "bits": 1}
            route = "price" if choose.random() < 0.1 else "ask"
            try:
                reply = await api.post(f"{PEOPLE}/{route}", json=body)
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
                seen["shown"].add((token, number))


def crowd(place, number, bits=4):
    """Add so many analysts, each with an allowance and a token."""
    with open_accounts(place.settings.ledger) as accounts:
        for each in range(number):
            accounts.add(f"a{each}", "analyst", by="owner")
            accounts.grant(f"a{each}", "people", by="owner")
    with open_ledger(place.settings.ledger) as ledger:
        ledger.record("people", "budget", {"bits": 20 + bits * number})
        for each in range(number):
            ledger.record("people", "allowance", {"analyst": f"a{each}", "bits": str(bits)})
    return [place.issue(f"a{each}").text for each in range(number)]


def until_after(seconds):
    """Return a function that says whether so many seconds are not over yet."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def new_counts():
    return {"statuses": Counter(), "bits": Counter(), "cells": {}, "shown": set()}


def check(place, seen, tokens, bits=4):
    assert set(seen["statuses"]) <= EXPECTED, seen["statuses"]
    assert seen["statuses"][200] > len(tokens)
    assert sum(seen["bits"].values()) >= len(tokens)  # answers that cost something
    assert all(len(rows) == 1 for rows in seen["cells"].values())  # one answer for everybody
    place.verify()
    with open_ledger(place.settings.ledger) as ledger:
        state = ledger.state("people")
        assert state.balance.holds(1)
        for each, token in enumerate(tokens):
            balance = state.allowances[f"a{each}"]
            assert balance.spent <= 2**bits
            # What was shown as charged is charged; a reply that was lost may be charged too.
            assert seen["bits"][token] <= balance.spent_bits + 1e-9
            texts = [charge.note for charge in ledger.history("people", f"a{each}")]
            assert len(texts) == len(set(texts))  # nothing is charged twice


def show_again(live, seen):
    """Ask again for everything that was shown: it is free, and the same."""
    assert seen["shown"]
    for token, number in sorted(seen["shown"]):
        content = live.api(token=token).ask(question(number), bits=1).json()
        assert content["bits"] == 0
        assert {str(content["rows"])} == seen["cells"][number]


@pytest.mark.slow
def test_a_few_analysts_for_a_moment(a_place):
    place = a_place()
    tokens = crowd(place, 8)
    seen = new_counts()
    with live_in_thread(place) as live:

        async def main():
            await asyncio.gather(
                *(
                    analyst(live.url, token, lambda: seen["statuses"].total() < 300, i, seen)
                    for i, token in enumerate(tokens)
                )
            )

        asyncio.run(main())
        show_again(live, seen)
    check(place, seen, tokens)
    assert seen["statuses"][409]  # all of them reach the end of their allowance


@pytest.mark.long
def test_two_hundred_analysts_on_four_workers_for_a_minute(a_place, serve):
    place = a_place()
    tokens = crowd(place, 200)
    live = serve(place, workers=4)
    seen = new_counts()

    async def main():
        goes_on = until_after(60)
        await asyncio.gather(
            *(analyst(live.url, token, goes_on, i, seen) for i, token in enumerate(tokens))
        )

    asyncio.run(main())
    show_again(live, seen)
    assert live.stop() == 0
    check(place, seen, tokens)
    assert seen["statuses"][409]


def kill_under_load(place, live, tokens, *, kills, seconds=float("inf")):
    """Kill one worker after another while analysts ask; return how many, and what was seen.

    There is a new question after every kill, so that each one meets charges under way.
    """
    seen, end, done = new_counts(), time.monotonic() + seconds, 0

    async def main():
        nonlocal done
        stop = asyncio.Event()
        running = asyncio.gather(
            *(
                analyst(
                    *(live.url, token, lambda: not stop.is_set(), i, seen),
                    numbers=lambda: 2 + done,
                    patient=True,
                )
                for i, token in enumerate(tokens)
            )
        )
        while done < kills and time.monotonic() < end:
            workers = await asyncio.to_thread(
                until, lambda: len(w := live.workers()) == 2 and w, 300
            )
            os.kill(workers[done % 2], signal.SIGKILL)
            done += 1
            await asyncio.to_thread(live.wait_for_workers, 2 + done)
        stop.set()
        await running

    asyncio.run(main())
    show_again(live, seen)
    assert live.stop() == 0
    check(place, seen, tokens, bits=2 + kills)
    return done, seen


@pytest.mark.slow
def test_a_few_kills_under_load(a_place, serve):
    place = a_place()
    tokens = crowd(place, 3, bits=4)
    live = serve(place, workers=2)
    done, _ = kill_under_load(place, live, tokens, kills=2)
    assert done == 2


@pytest.mark.long
def test_two_hundred_kills_under_load(a_place, serve, record_property):
    place = a_place()
    kills = int(os.environ.get("HARTLEY_KILLS", "200"))
    tokens = crowd(place, 8, bits=2 + kills)
    live = serve(place, workers=2)
    seconds = float(os.environ.get("HARTLEY_KILL_SECONDS", "inf"))
    begun = time.monotonic()
    done, seen = kill_under_load(place, live, tokens, kills=kills, seconds=seconds)
    record_property("kills", done)
    record_property("seconds of a kill", round((time.monotonic() - begun) / max(done, 1), 2))
    record_property("replies", str(dict(seen["statuses"])))
    assert done == kills or seconds < float("inf")
