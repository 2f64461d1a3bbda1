"""The supervisor asks workers for a sign of life, and never waits for one."""

from multiprocessing import Pipe

import pytest

from hartley.service import supervisor
from hartley.service.supervisor import START_SECONDS, Worker


class Process:
    running = True

    def is_alive(self):
        return self.running


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(supervisor, "time", made)
    return made


@pytest.fixture
def worker():
    made = Worker.__new__(Worker)
    made.process = Process()
    made.parent_conn, made.child_conn = Pipe()
    yield made
    made.parent_conn.close()
    made.child_conn.close()


def answer(worker, *, started):
    assert worker.child_conn.poll(0)
    worker.child_conn.recv()
    worker.child_conn.send(started)


def test_a_worker_that_starts_has_minutes_and_later_seconds(worker, clock):
    assert worker.is_alive(30)
    clock.now += START_SECONDS - 1
    assert worker.is_alive(30)  # it reads its modules
    answer(worker, started=False)
    assert worker.is_alive(30)
    assert not worker.started
    answer(worker, started=True)
    assert worker.is_alive(30)
    assert worker.started
    clock.now += 29
    assert worker.is_alive(30)
    clock.now += 2
    assert not worker.is_alive(30)  # it hangs


def test_a_worker_that_never_answers_is_lost_in_the_end(worker, clock):
    assert worker.is_alive(30)
    clock.now += START_SECONDS + 1
    assert not worker.is_alive(30)


def test_a_process_that_ended_is_lost_at_once(worker, clock):
    del clock
    assert worker.is_alive(30)
    worker.process.running = False
    assert not worker.is_alive(30)


def test_a_pipe_that_is_closed_is_a_worker_that_is_lost(worker):
    assert worker.is_alive(30)
    worker.child_conn.close()
    assert not worker.is_alive(30)
