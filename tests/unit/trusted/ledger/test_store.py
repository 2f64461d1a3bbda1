"""Transactions of stores: keys, many writers at once, and rows that are served."""

import json
import math
import sqlite3
import subprocess
import sys
import threading
from collections import deque
from contextvars import ContextVar
from dataclasses import replace

import pytest
from forgeries import forbidden, q

from hartley import open_ledger
from hartley.errors import EngineError, HartleyError, Refused
from hartley.exact import floor_power
from hartley.trusted.ledger import sqlite, sqlite as write_ahead_log
from hartley.trusted.ledger.rows import (
    BEFORE_THE_FIRST,
    FIELDS,
    canonical,
    question_digest,
)
from hartley.trusted.ledger.store import keep_digest, read_digest, read_secret

MANY = """
import sys
from hartley import open_ledger
from hartley.trusted.ledger.store import read_secret
with open_ledger(sys.argv[1]) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    print(read_secret(ledger.store).key.hex(), flush=True)
"""


def keep(ledger, version, digest):
    ledger.store.write(lambda t: keep_digest(ledger.store, t, version, digest))


def test_the_key_is_drawn_once_and_another_ledger_has_another(place):
    address = place.fresh()
    with open_ledger(address) as one, open_ledger(address) as two, open_ledger(place.fresh()) as x:
        assert read_secret(one.store) == read_secret(two.store) == read_secret(one.store)
        assert len(read_secret(one.store).key) == 32
        assert read_secret(x.store).key != read_secret(one.store).key
        assert read_secret(x.store).ledger != read_secret(one.store).ledger
    with open_ledger(address) as again:
        assert read_secret(again.store).key.hex() not in repr(read_secret(again.store))


@pytest.mark.slow
def test_processes_that_ask_at_once_get_the_same_key(place):
    address = place.fresh()
    open_ledger(address).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", MANY, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    keys = {process.communicate("go\n")[0] for process in running}
    assert len(keys) == 1


def test_an_older_ledger_gets_its_key_when_it_is_first_needed(ledger, place):
    store = ledger.store
    assert not store.read(lambda t: store.holds_table(t, "hartley_private"))
    assert read_digest(ledger.store, "v1") is None
    rows = ledger.entries()
    read_secret(ledger.store)
    assert ledger.entries() == rows
    assert ledger.verify().holds
    del place


def test_digests_are_kept_by_version_and_replaced(ledger):
    keep(ledger, "v1", "ab")
    keep(ledger, "v2", "cd")
    keep(ledger, "v1", "ef")
    assert [read_digest(ledger.store, version) for version in ("v1", "v2", "v3")] == [
        "ef",
        "cd",
        None,
    ]


def test_neither_exports_nor_backups_hold_it_and_a_restore_keeps_the_own(place, ledger, tmp_path):
    secret = read_secret(ledger.store)
    keep(ledger, "v1", "0123456789abcdef" * 8)
    ledger.backup(tmp_path / "backup")
    ledger.export(tmp_path / "export")
    for name in ("backup", "export"):
        content = (tmp_path / name).read_bytes()
        assert secret.key.hex().encode() not in content
        assert secret.ledger.encode() not in content
        assert b"0123456789abcdef" * 8 not in content
    with open_ledger(place.fresh()) as other:
        own = read_secret(other.store)
        other.restore(tmp_path / "backup")
        assert read_secret(other.store) == own != secret
        assert read_digest(other.store, "v1") is None
    ledger.record("people", "budget", {"bits": 9})
    ledger.restore(tmp_path / "backup", force=True)
    assert read_secret(ledger.store) == secret


def test_nobody_sweeps_while_a_copy_is_made(ledger):
    seen = []

    def sweep(transaction):
        seen.append(transaction.all_versions())

    assert ledger.store.sweep(sweep)
    with ledger.store.making():
        assert not ledger.store.sweep(sweep)
        with ledger.store.making():  # several may make copies at once
            pass
        assert not ledger.store.sweep(sweep)
    assert ledger.store.sweep(sweep)
    assert [list(versions) for versions in seen] == [["people"]] * 2


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o664, 0o660), (0o600, 0o600)])
def test_the_file_is_for_its_owner_once_it_holds_a_key(tmp_path, before, after):
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    path.chmod(before)
    with open_ledger(path) as ledger:
        read_secret(ledger.store)
        modes = {name.name: name.stat().st_mode & 0o777 for name in tmp_path.iterdir()}
    assert set(modes.values()) == {after}


def test_a_copied_file_takes_its_key_along(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        secret = read_secret(ledger.store)
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        names = dict(connection.execute("SELECT name, value FROM hartley_private"))
    connection.close()
    assert json.dumps(sorted(names)) == '["key", "ledger"]'
    assert names["key"] == secret.key.hex()


# --- many at once ---

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


# --- shared writes ---


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
def writers(tmp_path, monkeypatch, about):
    statements, connect = [], sqlite.SqliteLedgerStore._connect

    def watched(store):
        connection = connect(store)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite.SqliteLedgerStore, "_connect", watched)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.record("people", "created", about(3))
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
        if work.__name__ == "run_all":

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


# --- turns ---


@pytest.fixture
def locked_store(tmp_path):
    opened = sqlite.SqliteLedgerStore(tmp_path / "ledger.db")
    yield opened
    opened.close()


def write(locked_store):
    return locked_store.write(lambda transaction: transaction.run("SELECT 7", ()))


@pytest.fixture
def another(locked_store):
    """A connection as of another process, which is writing to the same file."""
    connection = sqlite3.connect(locked_store.path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_a_writer_waits_until_the_other_one_is_done(locked_store, another, monkeypatch):
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            another.execute("COMMIT")

    monkeypatch.setattr(sqlite.time, "sleep", sleep)
    assert write(locked_store) == [(7,)]
    assert len(looks) == 3
    assert min(looks) >= write_ahead_log.LOOK_SECONDS


def test_a_writer_that_waited_too_long_is_refused_and_can_write_later(
    locked_store, another, monkeypatch
):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", -1.0)
    with pytest.raises(EngineError, match="Another process holds the lock"):
        write(locked_store)
    another.execute("COMMIT")
    assert write(locked_store) == [(7,)]


def test_other_statements_wait_by_themselves(locked_store):
    write(locked_store)
    with locked_store.pool.lend() as connection:
        (wait,) = connection.execute("PRAGMA busy_timeout").fetchone()
    assert wait == 1000 * sqlite.BUSY_SECONDS


# --- serving ---

MARKS = ", ".join("?" * len(FIELDS))
INSERT = f"INSERT INTO hartley_entries ({', '.join(FIELDS)}) VALUES ({MARKS})"  # noqa: S608 - our own words


@pytest.fixture
def used(place, about):
    """A ledger in which two analysts asked, and one question waits; its triggers gone."""
    address = place.fresh()
    with open_ledger(address) as ledger:
        ledger.record("people", "created", about(12))
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 4})
        ledger.commit(ledger.reserve("people", "ann", q(1, 2), lambda _: 4), ["5", None])
        ledger.commit(ledger.reserve("people", "bob", q(3), lambda _: 2), ["7"])
        ledger.reserve("people", "bob", q(4), lambda _: 2)
        ledger.record("other", "created", about(3))
        place.unlock(address)
        yield address, ledger


def uses(ledger):
    """Everything that serves something of the dataset 'people', by name."""
    return {
        "repeat": lambda: ledger.reserve("people", "ann", q(1), forbidden),
        "answers": lambda: ledger.answers("people", q(1, 2, 3)),
        "uncharged": lambda: ledger.uncharged_questions("people", "ann", q(1)),
        "balance": lambda: ledger.balance("people", "ann"),
        "state": lambda: ledger.state("people"),
        "history": lambda: ledger.history("people"),
        "pending": lambda: ledger.pending("people"),
        "overview": lambda: ledger.overview("people"),
    }


def noticed(ledger):
    """Name the uses that notice that something was changed."""
    found = set()
    for name, use in uses(ledger).items():
        try:
            use()
        except EngineError:
            found.add(name)
    return found


def test_an_untouched_ledger_serves_everything(used):
    assert noticed(used[1]) == set()


def test_an_answer_that_was_changed_is_not_served(place, used):
    address, ledger = used
    place.run(address, ("UPDATE hartley_answers SET answer = '17' WHERE answer = '5'", ()))
    assert {"repeat", "answers"} <= noticed(ledger)
    assert ledger.history("people")[0].answers == ("5", "null")  # read from the chain itself


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hartley_answers SET sequence = 6 WHERE answer = '5'",  # another commit
        "UPDATE hartley_answers SET sequence = 3 WHERE answer = '5'",  # no commit
        "UPDATE hartley_answers SET sequence = 99 WHERE answer = '5'",
        "DELETE FROM hartley_answers WHERE answer = '5'",
        "UPDATE hartley_asked SET sequence = 5",  # another charge
        "UPDATE hartley_asked SET sequence = 1",
        "UPDATE hartley_asked SET account = 'ann' WHERE account = ''",
        "DELETE FROM hartley_asked",
        "DELETE FROM hartley_head",
    ],
)
def test_an_index_that_was_changed_is_not_believed(place, used, statement):
    address, ledger = used
    place.run(address, (statement, ()))
    with pytest.raises(EngineError, match="cannot be used"):
        ledger.reserve("people", "ann", q(1, 2, 3), lambda new: 2 ** len(new))
    with pytest.raises(EngineError, match="cannot be used"):
        ledger.answers("people", q(1, 2, 3))


def test_a_question_that_was_never_paid_is_not_free(place, used):
    """Whoever writes to the index alone gets nothing, and no answer to commit."""
    address, ledger = used
    paid = ledger.reserve("people", "bob", q(3), forbidden)
    digest = question_digest("people", paid.version, paid.schema, canonical({"q": 99}))
    for row in (1, 3, 4, 5, 99):
        place.run(
            address,
            ("DELETE FROM hartley_asked WHERE digest = ?", (digest,)),
            ("INSERT INTO hartley_asked VALUES (?, '', ?)", (digest, row)),
        )
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.reserve("people", "bob", q(99), forbidden)
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.uncharged_questions("people", "bob", q(99))
        forged = replace(paid, digests=(digest,), questions=(canonical({"q": 99}),))
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.commit(forged, ["1"])


def test_an_answer_to_a_waiting_question_cannot_be_slipped_in(place, used):
    address, ledger = used
    (waiting,) = ledger.pending("people")
    for row in (4, 6, 7):
        place.run(
            address,
            ("DELETE FROM hartley_answers WHERE digest = ?", (waiting.digests[0],)),
            ("INSERT INTO hartley_answers VALUES (?, '1', ?)", (waiting.digests[0], row)),
        )
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.reserve("people", "bob", q(4), forbidden)


def change(place, address, ledger, row, **values):
    """Change a row and compute its hash anew, as far as that alone goes."""
    entry = replace(ledger.entries()[row - 1], **values)
    entry = replace(entry, hash=entry.expected_hash)
    place.run(
        address,
        ("DELETE FROM hartley_entries WHERE sequence = ?", (row,)),
        (INSERT, entry.fields),
    )


def test_a_row_with_a_hash_of_its_own_is_noticed_where_it_counts(place, used):
    address, ledger = used
    entries = ledger.entries()
    cases = {
        4: (entries[3].content.replace('"5"', '"9"'), {"repeat", "answers", "history"}),
        3: (entries[2].content.replace('"q":1', '"q":5'), {"repeat", "uncharged", "history"}),
        7: (entries[6].content.replace('"q":4', '"q":6'), {"pending", "history", "balance"}),
    }
    for row, (content, expected) in cases.items():
        assert content != entries[row - 1].content
        change(place, address, ledger, row, content=content)
        assert expected <= noticed(ledger), row
        place.run(
            address,
            ("DELETE FROM hartley_entries WHERE sequence = ?", (row,)),
            (INSERT, entries[row - 1].fields),
        )
    assert noticed(ledger) == set()


@pytest.mark.parametrize("row", [4, 7])  # the last of the account 'ann', and of the dataset
def test_a_balance_that_was_changed_is_not_served(place, used, row):
    address, ledger = used
    state = ledger.entries()[row - 1].state
    lower = state.replace('"spent":"4"', '"spent":"1"').replace('"spent":"16"', '"spent":"1"')
    assert lower != state
    for recompute in (False, True):
        if recompute:
            change(place, address, ledger, row, state=lower)
        else:
            statement = "UPDATE hartley_entries SET state = ? WHERE sequence = ?"
            place.run(address, (statement, (lower, row)))
        assert {"balance", "state", "repeat", "overview"} <= noticed(ledger)
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.reserve("people", "ann", q(50), lambda _: 2)


def test_a_charge_that_was_removed_is_missed(place, used):
    address, ledger = used
    place.run(address, ("DELETE FROM hartley_entries WHERE sequence = 7", ()))
    assert {"balance", "state", "repeat", "history"} <= noticed(ledger)


def test_words_that_no_ledger_writes_are_a_sentence_even_with_hashes_that_fit(place, about):
    """Whoever computes all hashes anew still gets no traceback."""
    for state in ("{}", "[]", "null", "x", '{"account":{"bits":"1/0","spent":"1"}}'):
        address = place.fresh()
        with open_ledger(address) as ledger:
            ledger.record("people", "created", about())
            place.unlock(address)
            change(place, address, ledger, 1, state=state, previous=BEFORE_THE_FIRST)
            hash_of = place.run(address, ("SELECT hash FROM hartley_entries", ()))[0][0]
            place.run(address, ("UPDATE hartley_head SET hash = ?", (hash_of,)))
            ledger.trusted.seen = None  # as for another process
            for name in ("balance", "state", "repeat", "overview", "answers"):
                with pytest.raises(EngineError, match="cannot be used"):
                    uses(ledger)[name]()
            assert not ledger.verify().holds
