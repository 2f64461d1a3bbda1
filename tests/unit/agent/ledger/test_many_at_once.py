"""Many threads and processes against one ledger, some of them killed."""

import math
import threading

import pytest

from hartley.agent.ledger import open_ledger
from hartley.errors import Refused
from hartley.exact import floor_power

BITS = "40.5"
KEYS = 40


def cells_of(key):
    return 2 + key % 4


def check(address, shown):
    """Look at a ledger that everybody asked everything: exact, full, and never over."""
    with open_ledger(address) as ledger:
        report = ledger.verify(
            lambda _, questions, __: math.prod(cells_of(item["q"]) for item in questions)
        )
        assert report.holds, report.problem
        assert report.unpriced == 0
        charges = ledger.history("p")
        keys = [question["q"] for charge in charges for question in charge.questions]
        assert len(keys) == len(set(keys))
        spent = math.prod(cells_of(key) for key in keys)
        assert ledger.state("p").spent == spent <= floor_power(BITS)
        assert sorted(shown) == sorted((charge.sequence, charge.cells) for charge in charges)
        refused = set(range(KEYS)) - set(keys)
        assert refused
        assert all(spent * cells_of(key) > floor_power(BITS) for key in refused)
        assert ledger.pending("p") == []


@pytest.mark.slow
def test_8_processes_of_8_threads_spend_exactly_and_never_too_much(place, drive):
    address = place.fresh()
    found = drive("at_once", address, processes=8, threads=8, keys=KEYS, bits=BITS)
    assert found["failed"] == []
    check(address, [tuple(pair) for pair in found["shown"]])


@pytest.mark.slow
def test_64_threads_spend_exactly_and_never_too_much(place):
    address, shown, failed = place.fresh(), [], []
    gate = threading.Barrier(64)
    with open_ledger(address) as ledger:
        ledger.record("p", "created", {"bits": BITS, "schema": {}, "rows": 1})

        def run(number):
            gate.wait()
            for at in range(KEYS):
                key = (at * 37 + number) % KEYS
                try:
                    paid = ledger.reserve("p", f"a{number}", [{"q": key}], lambda _: cells_of(key))  # noqa: B023 - called at once
                    ledger.commit(paid, [str(key)])
                except Refused:
                    continue
                except BaseException as error:  # noqa: BLE001 - told below
                    failed.append(error)
                    return
                if paid.sequence is not None:
                    shown.append((paid.sequence, paid.cells))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    check(address, shown)


def test_a_writer_that_waited_sees_what_was_written_meanwhile_whatever_the_servers_default(
    on_server,
):
    """A stricter default isolation would show it the ledger as it was before its turn."""
    address = on_server.fresh() + "%20-cdefault_transaction_isolation%3Drepeatable%5C%20read"
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    failed = []
    with open_ledger(address) as first, open_ledger(address) as second:
        first.record("p", "created", {"bits": BITS, "schema": {}, "rows": 1})

        def write():
            try:
                second.record("p", "allowance", {"analyst": "bob", "bits": 2})
            except BaseException as error:  # noqa: BLE001 - shown by the test
                failed.append(error)

        other = threading.Thread(target=write)

        def until_it_waits():
            other.start()
            while other.is_alive() and on_server.run(address, (waiting, ())) == [(0,)]:
                pass

        first.record("p", "allowance", {"analyst": "ann", "bits": 1}, check=until_it_waits)
        other.join()
        assert failed == []
        assert sorted(first.state("p").allowances) == ["ann", "bob"]
        assert first.verify().holds


@pytest.mark.slow
def test_a_ledger_that_is_open_over_a_fork_serves_both_sides(place, drive):
    found = drive("forked", place.fresh(), children=6)
    assert found["failed"] == []
    assert found["codes"] == [0] * 6
    assert found["problem"] is None
    assert found["charges"] >= 6 * 10 + 3 * 20


KILLS = {"sqlite": 40, "postgres": 15}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("times", "seed"), [(1, 100), pytest.param(5, 1000, marks=pytest.mark.long)]
)
def test_nothing_is_lost_or_charged_twice_when_processes_are_killed(place, drive, times, seed):
    kills = times * KILLS[place.name]
    outcome = drive("killed", place.fresh(), rounds=kills, seed=seed)
    assert outcome["problem"] is None
    assert outcome["kills"] == kills
    assert outcome["finished"] == outcome["pending"]
    assert outcome["charged"] > 0
