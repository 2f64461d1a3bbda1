"""Processes that ask one agent at once, or are killed while they ask; started by the tests.

A process of its own that has imported everything and opened nothing, so that it can fork.
"""

# ruff: noqa: S608 - texts of questions
# ruff: noqa: S311 - random cases, not secrets

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from unittest import mock

import duckdb  # noqa: F401 - so that a child finds it imported
import pyarrow as pa

from hartley import Agent, Wish, open_ledger, price
from hartley.agent.replay import open_cells, reprice
from hartley.errors import Refused
from hartley.trusted.data import DataVersion

sys.path.append(str(Path(__file__).parents[2]))
from children import heard, killed_while, started, tell

ROWS = 400
SCHEMA = {
    "table": {"name": "people"},
    "columns": {
        "age": {"kind": "private", "range": [0, 100], "step": 1},
        "income": {"kind": "private", "range": [0, 5000], "step": 50, "nullable": True},
        "sex": {"kind": "open", "values": ["F", "M"]},
        "region": {"kind": "public", "values": ["north", "south", "west"]},
    },
}


def table(seed, rows=ROWS):
    """Return a table; the same seed gives the same one."""
    order = random.Random(seed)
    income = [None if order.random() < 0.1 else order.randrange(5000) for _ in range(rows)]
    return pa.table(
        {
            "age": [order.randrange(101) for _ in range(rows)],
            "income": income,
            "sex": [order.choice("FM") for _ in range(rows)],
            "region": [order.choice(["north", "south", "west"]) for _ in range(rows)],
        }
    )


def question(key):
    """Return question number so and so, with its wish.

    No two ask for one statistic in different steps: an account that knows the finer one is
    answered in its cells, and then an answer would depend on the order of questions.
    """
    number, kind = divmod(key, 8)
    limit = 1 + number % 99
    texts = (
        (f"SELECT COUNT(*) FROM people WHERE age >= {limit}", {}),
        (f"SELECT COUNT(income), SUM(income) FROM people WHERE age < {limit}", {"bits": 2}),
        (f"SELECT AVG(age) FROM people WHERE income >= {limit * 50}", {"bits": 3}),
        (f"SELECT MEDIAN(age) FROM people WHERE income < {limit * 50}", {"bits": 2}),
        (f"SELECT COUNT(*) FROM people WHERE age = {limit} GROUP BY sex", {}),
        (f"SELECT QUANTILE(income, 0.{limit:02d}) FROM people GROUP BY region", {"bits": 4}),
        (f"SELECT AVG(age) FROM people WHERE region <> 'west' AND age <> {limit}", {"bits": 2}),
        (f"SELECT VAR_POP(age) FROM people WHERE income = {limit * 50}", {"bits": 4}),
    )
    return texts[kind]


def asked(keys):
    """Return questions as one batch."""
    return [Wish(text, **wish) for text, wish in map(question, keys)]


def shown(answer):
    """Return what an answer says, without what depends on when it was asked."""
    return answer.to_dict()["rows"]


def in_a_child(work):
    """Do something in a child, as a process that was started anew, and return what it returns."""
    return heard(*started(lambda told: tell(told, work())))


def create(address, **more):
    """Create the dataset in a process that then ends."""

    def work():
        with Agent(table(0), SCHEMA, ledger=address, **more) as agent:
            return agent.remaining

    return in_a_child(work)


class Repricing:
    """Prices every charge of a ledger once, however often the ledger is verified."""

    def __init__(self):
        self._known = {}

    def __call__(self, schema, questions, rules, told=()):
        key = json.dumps([questions, rules, schema, told])
        if key not in self._known:
            self._known[key] = reprice(schema, questions, rules, told)
        return self._known[key]


def verified(ledger, repricing):
    """Verify a ledger with all its prices; return what is wrong."""
    report = ledger.verify(repricing, open_factor=open_cells)
    if not report.holds:
        return report.problem
    return f"{report.unpriced} charges were not priced again" if report.unpriced else None


# --- killed -------------------------------------------------------------------------------------


LINES = range(1, 6)
"""After how many lines of a child it may be killed."""


def ask_until_killed(address, seed, known, begun, say):
    """Look whether all is as it was left, then ask for ever; tell what is asked and shown.

    Some wait after the charge, so that they are killed before the answer, however fast the disk is.
    """
    order, cells = random.Random(seed), DataVersion.cells
    with Agent(None, SCHEMA, ledger=address) as agent:
        say(look(agent, known, begun))
        while True:
            keys = order.sample(range(600), order.choice([1, 1, 2, 3]))

            def counted(held, questions, keys=keys):
                if order.random() < 0.25:
                    for _ in LINES:  # as many as are waited for
                        say({"asking": keys})
                    signal.pause()
                return cells(held, questions)

            say({"asking": keys})
            with mock.patch.object(DataVersion, "cells", counted):
                answers = agent.ask(asked(keys))
            say({"shown": keys, "answers": list(map(shown, answers))})


def look(agent, known, begun):
    """After a restart: what was shown is there, what was begun is finished, all for free."""
    spent, open_before = agent.state.spent, agent.ledger.pending("people")
    for key, answer in known:
        again = agent.ask(asked([key]))[0]
        if again.bits or shown(again) != answer:
            return {"problem": f"question {key} was not free, or answered otherwise"}
    if open_before and begun is None:
        return {"problem": "something is pending that nobody asked"}
    for left in open_before:
        (note,) = (c.note for c in agent.history() if c.sequence == left.sequence)
        answers = agent.ask(asked(begun))
        if answers.bits or [answer.text for answer in answers] != note.split("\n"):
            return {"problem": "what was reserved was charged again"}
    if agent.state.spent != spent or agent.ledger.pending("people"):
        return {"problem": "asking again changed the balance, or left something open"}
    return {"problem": None, "pending": len(open_before)}


def answers_of(told):
    """Return what was shown, by question."""
    lines = [line for line in told if "shown" in line]
    pairs = [zip(line["shown"], line["answers"], strict=True) for line in lines]
    return {key: answer for pair in pairs for key, answer in pair}


def killed(address, *, rounds, seed):
    """Kill processes one after the other; the next one, and the ledger, tell what is left."""
    create(address, budget=50_000)
    repricing, known, fresh, begun, pending = Repricing(), {}, {}, None, 0
    for number in range(rounds + 1):
        order = random.Random(seed + number)
        checked = {*fresh, *order.sample(sorted(known), min(2, len(known)))}
        some = [(key, known[key]) for key in checked]
        told = killed_while(
            lambda say, n=number, some=some, begun=begun: ask_until_killed(
                address, seed + n, some, begun, say
            ),
            order,
            lines=LINES,
            patience=0.02,
        )
        fresh = answers_of(told)
        problem = told[0]["problem"]
        if any(known.get(key, answer) != answer for key, answer in fresh.items()):
            problem = "the same question was answered otherwise"
        with open_ledger(address) as ledger:
            problem = problem or verified(ledger, repricing)
            charges = ledger.history("people")
        notes = {text for charge in charges for text in charge.note.split("\n")}
        if not problem and any(question(key)[0] not in notes for key in fresh):
            problem = "a charge was lost"
        if problem:
            return {"problem": f"{problem} (kill {number})"}
        known |= fresh
        begun = told[-1].get("asking")
        pending += told[0]["pending"]
    return {
        "problem": None,
        "kills": rounds,
        "pending": pending,
        "charges": len(charges),
        "shown": len(known),
    }


# --- killed while the data are replaced -----------------------------------------------------------


def update_until_killed(address, seed, say):
    """Replace the data for ever, each version with another number of rows."""
    order = random.Random(seed)
    with Agent(None, SCHEMA, ledger=address) as agent:
        while True:
            rows = order.randrange(1, 300)
            say({"begun": rows})
            agent.update(table(rows, rows))
            say({"done": rows})


def count(address):
    """Open what is there after a kill, and let it answer."""
    with Agent(None, SCHEMA, ledger=address) as agent:
        rows = agent.state.rows
        answer = agent.ask("SELECT COUNT(*), AVG(age) FROM people", error=0)
        ages = table(rows, rows)["age"].to_pylist() if rows != ROWS else table(0)["age"].to_pylist()
        number, mean = answer.reading.rows[0]
        right = (number.value, mean.low * rows, mean.high * rows) == (rows, sum(ages), sum(ages))
        return {"rows": rows, "right": right}


def replaced(address, *, rounds, seed):
    """Kill processes that replace the data; what opens after each is right, old or new."""
    import ibis  # noqa: F401 - needed to make copies, not to ask them

    create(address, budget=50_000)
    versions, rows = 0, ROWS
    for number in range(rounds):
        told = killed_while(
            lambda say, n=number: update_until_killed(address, seed + n, say),
            random.Random(seed + number),
            lines=range(4),
            patience=0.25,
        )
        done = [line["done"] for line in told if "done" in line]
        last = told[-1].get("begun") if told else None
        found = in_a_child(lambda: count(address))
        possible = {done[-1] if done else rows, last} - {None}
        if not found["right"] or found["rows"] not in possible:
            return {"problem": f"another version is asked than was recorded (kill {number})"}
        rows = found["rows"]
        with open_ledger(address) as ledger:
            problem = verified(ledger, Repricing())
            versions = sum(entry.kind == "version" for entry in ledger.entries())
        if problem:
            return {"problem": f"{problem} (kill {number})"}
    return {"problem": None, "versions": versions}


# --- many at once -------------------------------------------------------------------------------


def ask_all(agent, seed, keys, found):
    """Ask every question once, in some order, in small batches; note what was told."""
    order = random.Random(seed)
    left = order.sample(range(keys), keys)
    while left:
        batch, left = left[:2], left[2:]
        # A part of a batch that was refused is asked alone, so that nothing that fits is left out.
        for part in (batch, *([key] for key in batch)):
            try:
                answers = agent.ask(asked(part), analyst=f"a{seed}")
            except Refused as refused:
                found["refused"].append([refused.requested, refused.remaining])
                continue
            found["shown"] += [[k, shown(a)] for k, a in zip(part, answers, strict=True)]
            break


def ask_in_threads(agent, seed, threads, keys):
    """Ask from many threads, all of them let go at once."""
    found = {"shown": [], "refused": [], "failed": []}
    gate = threading.Barrier(threads)

    def run(number):
        try:
            gate.wait()
            ask_all(agent, seed * 1000 + number, keys, found)
        except BaseException as error:  # noqa: BLE001 - told to whoever started us
            found["failed"].append(repr(error))

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return found


def at_once(address, *, processes, threads, keys, bits):
    """Let processes of many threads ask one dataset, and check what the ledger says afterwards."""
    create(address, budget=bits)
    start, go = os.pipe()

    def ask(number, told):
        os.close(go)
        with Agent(None, SCHEMA, ledger=address) as agent:
            os.write(told, b".")
            os.read(start, 1)
            found = ask_in_threads(agent, number, threads, keys)
        tell(told, found)

    running = [started(partial(ask, number)) for number in range(processes)]
    for _, result in running:
        os.read(result, 1)
    os.write(go, b"." * processes)
    answers = [heard(*child) for child in running]
    return {name: [item for answer in answers for item in answer[name]] for name in answers[0]}


def price_of(keys):
    """Return what questions cost together, in cells, by the public schema alone."""
    return price(asked(keys), SCHEMA, rows=ROWS).cells


if __name__ == "__main__":
    mode, address, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    import hartley.trusted.ledger.sqlite  # noqa: F401 - imported before the first child too

    price_of(range(8))  # so that children have read and priced before
    done = {"at_once": at_once, "killed": killed, "replaced": replaced}[mode](address, **settings)
    sys.stdout.write(json.dumps(done))
