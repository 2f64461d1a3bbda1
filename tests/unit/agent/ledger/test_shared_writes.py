"""Threads that wait for the same turn share a transaction, and each has its own outcome."""

import sqlite3
import threading
from collections import deque
from contextvars import ContextVar

import pytest

from hartley.agent.ledger import open_ledger
from hartley.errors import EngineError, HartleyError, Refused
from hartley.trusted.ledger import sqlite

SCHEMA = {"name": "people", "columns": {"age": {"kind": "private", "range": ["0", "120"]}}}


class Counted(deque):
    """The writes that wait, with a count of those that came."""

    def __init__(self):
        super().__init__()
        self.came = threading.Semaphore(0)

    def append(self, write):
        super().append(write)
        self.came.release()


class Writers:
    """A ledger, and threads that all wait until the last of them has come."""

    def __init__(self, ledger, statements):
        self.ledger, self.statements = ledger, statements
        self.store = ledger.store

    def together(self, *calls):
        """Return what calls return or raise, each in a thread, and what they committed."""
        outcomes = [None] * len(calls)
        self.store.pool.waiting = Counted()

        def run(at, call):
            try:
                outcomes[at] = call()
            except BaseException as error:  # noqa: BLE001 - an outcome like others
                outcomes[at] = error

        threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
        with self.store.pool.writer:
            for thread in threads:  # in this order
                thread.start()
                self.store.pool.waiting.came.acquire()
            self.statements.clear()
        for thread in threads:
            thread.join()
        return outcomes

    @property
    def commits(self):
        """What the commits waited for that wrote something."""
        levels, writing = [], False
        for text in self.statements:
            if text.startswith("PRAGMA synchronous"):
                level = text.rpartition(" ")[2]
            elif text.startswith("BEGIN"):
                writing = text == "BEGIN IMMEDIATE"
            elif text == "COMMIT" and writing:
                levels.append(level)
        return levels


@pytest.fixture
def writers(tmp_path, monkeypatch):
    statements, connect = [], sqlite.SqliteLedgerStore._connect

    def watched(store):
        connection = connect(store)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite.SqliteLedgerStore, "_connect", watched)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("people", "created", {"bits": 3, "schema": SCHEMA, "rows": 5000})
        yield Writers(ledger, statements)


def ask(ledger, number, check=None):
    return lambda: ledger.reserve("people", None, [{"q": number}], lambda _: 2, check=check)


def test_charges_that_wait_are_committed_together_in_order(writers):
    first, second, third = writers.together(*(ask(writers.ledger, number) for number in range(3)))
    assert {first.sequence, second.sequence, third.sequence} == {2, 3, 4}
    assert writers.commits == ["FULL"]
    assert writers.ledger.state("people").remaining == 0
    assert writers.ledger.verify().holds


def test_the_budget_is_not_exceeded_inside_a_group(writers):
    outcomes = writers.together(*(ask(writers.ledger, number) for number in range(6)))
    refused = [each for each in outcomes if isinstance(each, Refused)]
    assert len(refused) == 3
    assert all(each.remaining == 0 for each in refused)
    assert writers.commits == ["FULL"]
    assert [entry.kind for entry in writers.ledger.entries()] == ["created"] + 3 * ["reserve"]
    assert writers.ledger.verify().holds


def test_the_same_question_is_charged_once_in_a_group(writers):
    outcomes = writers.together(*(ask(writers.ledger, 7) for _ in range(4)))
    assert sorted(each.cells for each in outcomes) == [1, 1, 1, 2]
    assert [each.sequence for each in outcomes if each.cells == 2] == [2]
    assert [each.sequence for each in outcomes if each.cells == 1] == [None] * 3
    assert writers.ledger.state("people").remaining == 2


def test_what_one_refuses_leaves_the_others_theirs(writers):
    def check(transaction, cells):
        del cells
        transaction.run("UPDATE hartley_head SET hash = 'changed before the refusal'", ())
        raise EngineError("The account was revoked", hint="ask for another")

    ledger = writers.ledger
    first, second, third = writers.together(ask(ledger, 1), ask(ledger, 2, check), ask(ledger, 3))
    assert isinstance(second, EngineError)
    assert "revoked" in str(second)
    assert {first.sequence, third.sequence} == {2, 3}
    assert writers.commits == ["FULL"]
    assert ledger.uncharged_questions("people", None, [{"q": 2}]) == [0]
    assert ledger.verify().holds


def test_a_group_waits_for_the_disk_if_one_of_it_does(writers):
    ledger = writers.ledger
    first, second = ask(ledger, 1)(), ask(ledger, 2)()

    def answer(paid):
        return lambda: ledger.commit(paid, ["1"], durable=False)

    writers.together(answer(first), ask(ledger, 3))
    assert writers.commits == ["FULL"]
    third = ledger.pending("people")[-1]
    writers.together(answer(second), answer(third))
    assert writers.commits == ["NORMAL"]
    assert not ledger.pending("people")
    assert ledger.verify().holds


def test_a_store_that_fails_for_one_serves_the_others_alone(writers):
    def failing(transaction, cells):
        del cells
        transaction.run("SELECT no_such_column FROM hartley_head", ())

    ledger = writers.ledger
    first, second, third = writers.together(ask(ledger, 1), ask(ledger, 2, failing), ask(ledger, 3))
    assert isinstance(second, HartleyError)
    assert {first.sequence, third.sequence} == {2, 3}
    assert ledger.uncharged_questions("people", None, [{"q": number} for number in (1, 2, 3)]) == [
        1
    ]
    assert ledger.verify().holds


def test_a_commit_that_fails_charges_nobody_of_the_group(writers, monkeypatch):
    ledger, transact, shared = writers.ledger, sqlite._transact, []

    def failing(connection, work, *how):
        if getattr(work, "func", None) is sqlite.run_all:

            def late(transaction):
                work(transaction)
                shared.extend(transaction.run("SELECT max(sequence) FROM hartley_entries", ()))
                raise sqlite3.OperationalError("database or disk is full")

            return transact(connection, late, *how)
        return transact(connection, work, *how)

    monkeypatch.setattr(sqlite, "_transact", failing)
    outcomes = writers.together(ask(ledger, 1), ask(ledger, 2), ask(ledger, 2))
    assert shared == [(3,)], "two were charged in it, and then taken back"
    assert writers.commits == ["FULL"] * 3, "each by itself afterwards"
    assert sorted(each.cells for each in outcomes) == [1, 2, 2]
    assert ledger.state("people").remaining == 1
    assert ledger.verify().holds


def test_a_thread_that_is_interrupted_takes_nobody_with_it(writers):
    def interrupted(transaction, cells):
        del transaction, cells
        raise KeyboardInterrupt

    ledger = writers.ledger
    outcomes = writers.together(ask(ledger, 1), ask(ledger, 2, interrupted), ask(ledger, 3))
    stopped = [each for each in outcomes if isinstance(each, KeyboardInterrupt)]
    assert stopped
    assert not writers.store.pool.waiting
    for number in (1, 3):  # charged already, or now
        ask(ledger, number)()
    assert ledger.state("people").spent == 4
    assert ledger.uncharged_questions("people", None, [{"q": 2}]) == [0]
    assert ledger.verify().holds


def test_work_that_nobody_waits_for_any_more_is_not_done(writers):
    class Interrupted:
        def acquire(self, **_):
            raise KeyboardInterrupt

        def release(self):
            raise AssertionError

    ledger, pool = writers.ledger, writers.store.pool
    lock, pool.writer = pool.writer, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        ask(ledger, 1)()
    pool.writer = lock
    ask(ledger, 2)()
    assert ledger.uncharged_questions("people", None, [{"q": 1}, {"q": 2}]) == [0]


def test_work_has_the_context_of_its_own_thread(writers):
    whose, seen = ContextVar("whose"), {}

    def noted(number):
        def call():
            whose.set(number)
            return ask(writers.ledger, number, lambda *_: seen.update({number: whose.get()}))()

        return call

    writers.together(*(noted(number) for number in range(3)))
    assert writers.commits == ["FULL"]
    assert seen == {0: 0, 1: 1, 2: 2}


def test_a_forked_process_does_not_do_what_its_parent_waits_for(writers):
    pool = writers.store.pool
    pool.waiting.append("of a thread that a child does not have")
    pool.start_again()
    assert not pool.waiting
