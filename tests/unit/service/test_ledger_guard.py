"""A ledger that lacks rows which a worker has seen is refused, until it has them again."""

import pytest

from hartley import open_ledger
from hartley.errors import EngineError
from hartley.service.own_rows import LOOK_SECONDS, LaterNote, LedgerGuard
from hartley.service.replies import ServiceError
from hartley.trusted.ledger.chain import add_event


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def ledgers(tmp_path):
    """A ledger, and the copy that was made before its last row."""
    path, older = tmp_path / "ledger.db", tmp_path / "older.db"
    with open_ledger(path) as ledger:
        ledger.record("people", "created", {"bits": 8, "schema": {}, "rows": 9})
        ledger.backup(older)
        ledger.record("people", "allowance", {"analyst": "ana", "bits": "2"})
    with open_ledger(path) as present, open_ledger(older) as before:
        yield present, before


def refused(guard):
    try:
        guard.check()
    except ServiceError as error:
        return (error.status, error.code) == (503, "unavailable") and "older" in error.problem
    return False


def test_what_one_worker_has_seen_counts_for_all(ledgers, tmp_path):
    present, before = ledgers
    first, second = LedgerGuard(present, tmp_path), LedgerGuard(before, tmp_path)
    assert not refused(second)  # nobody has seen more
    assert not refused(first)
    second._looked = float("-inf")
    assert [refused(second), refused(second)] == [True, True]
    with pytest.raises(ServiceError):
        before.store.write(second.check_in)
    assert not refused(first)
    first.close()
    second.close()


def test_a_ledger_with_other_rows_is_refused_though_it_is_longer(ledgers):
    present, before = ledgers
    guard = LedgerGuard(present)
    guard.check()
    for _ in range(3):
        before.record("people", "allowance", {"analyst": "ben", "bits": "1"})
    guard._ledger, guard._looked = before, float("-inf")
    assert refused(guard)
    guard.close()


def test_the_newest_ledger_is_accepted_again_and_growth_is_noted(ledgers):
    present, before = ledgers
    clock = Clock()
    guard = LedgerGuard(present, steady=clock)
    guard.check()
    guard._ledger = before
    assert not refused(guard)  # within a quarter of a second it does not look again
    clock.now += LOOK_SECONDS
    assert refused(guard)
    guard._ledger = present
    assert not refused(guard)
    present.record("people", "allowance", {"analyst": "ana", "bits": "3"})
    clock.now += LOOK_SECONDS
    guard.check()
    assert guard._seen()[0] == 3
    guard.close()


def test_a_note_that_is_half_written_counts_for_nothing(ledgers, tmp_path):
    present, before = ledgers
    guard = LedgerGuard(present, tmp_path)
    guard.check()
    guard._memory[10] ^= 1
    assert guard._seen() is None
    other = LedgerGuard(before, tmp_path)
    assert not refused(other)
    assert other._seen()[0] == 1
    guard.close()
    other.close()


def test_a_later_note_is_written_once_for_many_questions():
    class Note:
        written = 0

        def save(self):
            self.written += 1

    note = Note()
    later = LaterNote(note)
    later.write()
    assert note.written == 0
    for _ in range(5):
        later.save()
    later.write()
    later.write()
    assert note.written == 1


def test_a_later_note_that_failed_is_written_the_next_time():
    class Note:
        tries = 0

        def save(self):
            self.tries += 1
            if self.tries == 1:
                raise EngineError("The disk does not answer", hint="try again")

    note = Note()
    later = LaterNote(note)
    later.save()
    with pytest.raises(EngineError):
        later.write()
    later.write()
    later.write()
    assert note.tries == 2


def test_a_row_that_is_not_committed_is_not_noted(ledgers):
    present, _ = ledgers
    guard = LedgerGuard(present)
    guard.check()

    def fail(transaction):
        add_event(transaction, "people", "allowance", {"analyst": "ben", "bits": "1"})
        guard.check_in(transaction, note=False)
        raise EngineError("The disk is full", hint="make room")

    with pytest.raises(EngineError):
        present.store.write(fail)
    guard._looked = float("-inf")
    assert not refused(guard)
    guard.close()
