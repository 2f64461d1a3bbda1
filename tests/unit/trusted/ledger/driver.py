"""Processes that use one ledger at once or are killed while they do; started by the tests.

A process of its own, with nothing but the ledger in it, so that it can fork.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from functools import partial
from pathlib import Path

from hartley import open_ledger
from hartley.errors import Refused

sys.path.append(str(Path(__file__).parents[3]))
from children import fork, heard, killed_while, started, tell

CREATED = {"schema": {"name": "people"}, "rows": 9}


def cells_of(key):
    """The price of a question, and its answer: made up, and always the same."""
    return 2 + key % 4


def answer_of(key):
    return None if key % 11 == 0 else str(key * 7 % 13)


def product(keys):
    found = 1
    for key in keys:
        found *= cells_of(key)
    return found


def price_of(keys):
    return lambda new: product([keys[at] for at in new])


# --- many at once -------------------------------------------------------------------------------


def ask_all(ledger, seed, keys, shown):
    """Ask every question once, in some order, in small batches; note what was accepted."""
    order = random.Random(seed)  # noqa: S311 - nothing secret
    left = order.sample(range(keys), keys)
    while left:
        batch, left = left[:2], left[2:]
        # A part of a batch that was refused is asked alone, so that nothing that fits is left out.
        for part in (batch, *([key] for key in batch)):
            try:
                paid = ledger.reserve("p", None, [{"q": k} for k in part], price_of(part))
            except Refused:
                continue
            ledger.commit(paid, [answer_of(key) for key in part])
            if paid.sequence is not None:
                shown.append([paid.sequence, paid.cells])
            break


def work(address, seed, threads, keys, start):
    """Use a ledger from many threads, all of them let go at once."""
    shown, failed = [], []

    def run(number):
        try:
            gate.wait()
            ask_all(ledger, seed * 1000 + number, keys, shown)
        except BaseException as error:  # noqa: BLE001 - told to whoever started us
            failed.append(repr(error))

    with open_ledger(address) as ledger:
        gate = threading.Barrier(threads)
        running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
        os.read(start, 1)
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    return {"shown": shown, "failed": failed}


def at_once(address, *, processes, threads, keys, bits):
    """Let processes of many threads use one ledger; some of them even create it at once."""
    start, go = os.pipe()

    def use(number, told):
        os.close(go)
        with open_ledger(address) as ledger:
            if number == 0:
                ledger.record("p", "created", {"bits": bits, **CREATED})
        os.write(told, b".")
        tell(told, work(address, number, threads, keys, start))

    found = [started(partial(use, number)) for number in range(processes)]
    for _, result in found:
        os.read(result, 1)
    os.write(go, b"." * processes)
    answers = [heard(*child) for child in found]
    return {
        "shown": [pair for answer in answers for pair in answer["shown"]],
        "failed": [text for answer in answers for text in answer["failed"]],
    }


# --- datasets of one population -----------------------------------------------------------------


def ask_shared(address, number, keys):
    """Ask every question of one dataset, and bring new versions in between; count what was paid."""
    dataset, paid, refused = f"d{number % 3}", 0, 0
    order = random.Random(number)  # noqa: S311 - nothing secret
    with open_ledger(address) as ledger:
        for key in order.sample(range(keys), keys):
            try:
                done = ledger.reserve(dataset, None, [{"q": key}], price_of([key]))
                ledger.commit(done, [answer_of(key)])
                paid += done.sequence is not None
                if key % 7 == 0:
                    ledger.record(dataset, "version", {"rows": 9})  # its open columns cost 2
            except Refused:
                refused += 1
    return {"paid": paid, "refused": refused}


def shared(address, *, processes, keys, bits):
    """Let processes ask several datasets that share one budget."""
    with open_ledger(address) as ledger:
        ledger.record("town", "population", {"bits": bits})
        for number in range(3):
            schema = {"table": {"name": f"d{number}", "population": "town"}}
            about = {"bits": 1000, "schema": schema, "rows": 9, "open_factor": 2}
            ledger.record(f"d{number}", "created", about)

    def ask(number, told):
        tell(told, ask_shared(address, number, keys))

    found = [started(partial(ask, number)) for number in range(processes)]
    return [heard(*child) for child in found]


# --- killed -------------------------------------------------------------------------------------


def ask_until_killed(address, seed, say):
    """Ask for ever, and tell what was charged and what was shown."""
    order = random.Random(seed)  # noqa: S311 - nothing secret
    with open_ledger(address) as ledger:
        while True:
            keys = order.sample(range(400), order.choice([1, 1, 2, 3]))
            paid = ledger.reserve("p", None, [{"q": key} for key in keys], price_of(keys))
            say({"charged": keys})
            ledger.commit(paid, [answer_of(key) for key in keys])
            say({"shown": keys})


def kill_one(address, seed):
    """Start a process that asks, kill it at some moment, and return what it told."""
    order = random.Random(seed)  # noqa: S311 - nothing secret
    asking = partial(ask_until_killed, address, seed)
    return killed_while(asking, order, lines=range(6), patience=0.006)


def check(ledger, charged, shown):
    """Compare the ledger with what was told; return what is wrong."""
    report = ledger.verify()
    if not report.holds:
        return report.problem
    rows = [entry for entry in ledger.entries("p") if entry.kind == "reserve"]
    keys = [question["q"] for entry in rows for question in entry.told["questions"]]
    if len(keys) != len(set(keys)):
        return "a question was charged twice"
    if not charged <= set(keys):
        return "a charge was lost"
    if ledger.state("p").spent != product(keys):
        return "the balance is not the product of the charges"
    answers = ledger.answers("p", [{"q": key} for key in shown])
    right = [answer_of(key) or "null" for key in shown]
    return None if answers == right else "an answer that was shown was lost"


def killed(address, *, rounds, seed):
    """Kill processes one after the other, and look at the ledger after each."""
    charged, shown = set(), set()
    pending = finished = 0
    ledger = open_ledger(address)  # open over every fork
    ledger.record("p", "created", {"bits": 50_000, **CREATED})
    for number in range(rounds):
        for told in kill_one(address, seed + number):
            charged |= set(told.get("charged", ()))
            shown |= set(told.get("shown", ()))
        problem = check(ledger, charged, sorted(shown))
        if problem:
            return {"problem": f"{problem} (kill {number})"}
        spent = ledger.state("p").spent
        for left in ledger.pending("p"):
            pending += 1
            keys = [json.loads(text)["q"] for text in left.questions]
            again = ledger.reserve("p", None, [{"q": key} for key in keys], price_of(keys))
            ledger.commit(again, [answer_of(key) for key in keys])
            finished += again.sequence is None
            shown |= set(keys)
        if ledger.state("p").spent != spent or ledger.pending("p"):
            return {"problem": f"what was reserved was charged again (kill {number})"}
    rows = ledger.head().sequence
    ledger.close()
    return {
        "problem": None,
        "kills": rounds,
        "pending": pending,
        "finished": finished,
        "rows": rows,
        "charged": len(charged),
    }


# --- forked -------------------------------------------------------------------------------------


def forked(address, *, children):
    """Fork while threads use the ledger; parent and children go on with the same object."""
    ledger = open_ledger(address)
    ledger.record("p", "created", {"bits": 5000, **CREATED})
    stop, failed = threading.Event(), []

    def run(number):
        key = number * 100_000
        try:
            while not stop.is_set() or key % 100_000 < 20:
                key += 1
                paid = ledger.reserve("p", None, [{"q": key}], price_of([key]))
                ledger.commit(paid, [answer_of(key)])
        except BaseException as error:  # noqa: BLE001 - told to whoever started us
            failed.append(repr(error))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    born = []
    for number in range(children):
        child = fork()
        if not child:
            code = 1
            try:
                for key in range((10 + number) * 100_000, (10 + number) * 100_000 + 10):
                    paid = ledger.reserve("p", None, [{"q": key}], price_of([key]))
                    ledger.commit(paid, [answer_of(key)])
                code = 0
            finally:
                os._exit(code)
        born.append(child)
    stop.set()
    for thread in threads:
        thread.join()
    ledger.close()  # before the children are done
    codes = [os.waitpid(child, 0)[1] for child in born]
    with open_ledger(address) as again:
        problem = again.verify().problem
        charges = len(again.history("p"))
    return {"failed": failed, "codes": codes, "problem": problem, "charges": charges}


if __name__ == "__main__":
    mode, address, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    modes = {"at_once": at_once, "shared": shared, "killed": killed, "forked": forked}
    done = modes[mode](address, **settings)
    sys.stdout.write(json.dumps(done))
