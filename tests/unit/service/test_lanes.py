"""Lanes: fair shares, a bounded queue before the engine, a time limit, and quick repeats."""

import asyncio
import threading

import pytest

from hartley.engines.dialect import stoppable
from hartley.errors import Pending
from hartley.service.lanes import Lanes, Ticket
from hartley.service.replies import ServiceError


async def refusal(work):
    try:
        await work
    except ServiceError as error:
        return error.code, error.retry_after
    return None


class LimitedLanes(Lanes):
    """Lanes whose time limit is over when an event is set, however busy the machine is."""

    def __init__(self, over, lanes=1, queue=0):
        super().__init__(lanes, queue, 60)
        self._over = over

    async def _in_time(self, job):
        del job
        assert await asyncio.to_thread(self._over.wait, 60)
        raise TimeoutError


def test_the_queue_is_bounded_and_repeats_do_not_wait():
    gate = threading.Event()

    async def main():
        lanes = Lanes(1, 4, 60)
        waiting = [asyncio.ensure_future(lanes.engine(gate.wait)) for _ in range(3)]
        waiting += [asyncio.ensure_future(lanes.engine(gate.wait, Ticket("ben"))) for _ in range(2)]
        await asyncio.sleep(0)
        assert lanes.admitted == 5
        assert await refusal(lanes.engine(gate.wait, Ticket("cal"))) == ("busy", 1)
        assert await lanes.quick(lambda: "repeat") == "repeat"
        gate.set()
        assert await asyncio.gather(*waiting) == [True] * 5
        assert lanes.admitted == 0
        assert await lanes.engine(lambda: 5) == 5
        lanes.close()

    asyncio.run(main())


def test_one_account_leaves_lanes_and_half_of_the_queue_to_others():
    gate = threading.Event()

    async def main():
        lanes = Lanes(4, 8, 60, each=2)
        mine = [asyncio.ensure_future(lanes.engine(gate.wait, Ticket("ana"))) for _ in range(6)]
        await asyncio.sleep(0)
        assert await refusal(lanes.engine(gate.wait, Ticket("ana"))) == ("busy", 1)
        # Two lanes are free although six of ana's questions were sent before.
        assert await asyncio.wait_for(lanes.engine(lambda: "now", Ticket("ben")), 10) == "now"
        gate.set()
        assert await asyncio.gather(*mine) == [True] * 6
        lanes.close()

    asyncio.run(main())


def test_a_free_lane_goes_to_the_account_that_was_served_longest_ago():
    gate, order = threading.Event(), []

    async def main():
        lanes = Lanes(1, 20, 60)
        first = asyncio.ensure_future(lanes.engine(gate.wait, Ticket("ana")))
        await asyncio.sleep(0)
        names = ["ana", "ana", "ana", "ben", "ben", "cal"]
        rest = [
            asyncio.ensure_future(lanes.engine(lambda n=n: order.append(n), Ticket(n)))
            for n in names
        ]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *rest)
        lanes.close()

    asyncio.run(main())
    assert order == ["ana", "ben", "cal", "ana", "ben", "ana"]


def test_what_is_charged_and_no_statement_goes_on_after_the_time_limit(monkeypatch):
    """The answer of a statement that has ended is recorded: only statements are stopped."""
    monkeypatch.setattr("hartley.service.lanes.ENDING_SECONDS", 0.05)
    gate, charged, done = threading.Event(), threading.Event(), []

    async def main():
        lanes = LimitedLanes(charged)
        ticket = Ticket("ana")

        def work():
            ticket.charge()
            charged.set()
            gate.wait()
            ticket.check()  # nobody waits any more, and it is finished all the same
            done.append(True)

        assert await refusal(lanes.engine(work, ticket)) == ("pending", 1)
        assert await refusal(lanes.engine(work)) == ("busy", 1)
        gate.set()
        lanes.close()
        assert done == [True]

    asyncio.run(main())


class Statement:
    """Work with one statement, which runs until it is stopped."""

    def __init__(self, ticket, *, charged=True):
        self.ticket, self._charged = ticket, charged
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self):
        if self._charged:
            self.ticket.charge()
        with stoppable(self.ended.set):
            self.begun.set()
            assert self.ended.wait(60)
        raise Pending("The answer is pending", hint="ask again")


@pytest.mark.parametrize("charged", [True, False])  # False: an earlier request paid for it
def test_a_late_statement_is_stopped_and_its_lane_is_free(charged, monkeypatch):
    monkeypatch.setattr("hartley.service.lanes.ENDING_SECONDS", 60)

    async def main():
        work = Statement(Ticket("ana"), charged=charged)
        lanes = LimitedLanes(work.begun)
        assert await refusal(lanes.engine(work, work.ticket)) == ("pending", 1)
        assert lanes.admitted == 0
        lanes.close()

    asyncio.run(main())


def test_a_late_statement_leaves_those_of_others_alone():
    async def main():
        lanes = Lanes(2, 0, 60)
        late, other = Statement(Ticket("ana")), Statement(Ticket("ben"))
        running = [asyncio.ensure_future(lanes.engine(each, each.ticket)) for each in (late, other)]
        for each in (late, other):
            await asyncio.to_thread(each.begun.wait, 60)
        await asyncio.to_thread(late.ticket.statements.stop)
        with pytest.raises(Pending):
            await running[0]
        assert not other.ended.is_set()
        assert not running[1].done()
        other.ended.set()
        with pytest.raises(Pending):
            await running[1]
        lanes.close()

    asyncio.run(main())


@pytest.fixture
def timers(monkeypatch):
    """Collect what is to be done later, as pairs of seconds and a function."""
    planned = []

    class Timer:
        daemon = False

        def __init__(self, seconds, function):
            planned.append((seconds, function))

        def start(self):
            assert self.daemon  # the end of a process does not wait for it

        def cancel(self):
            pass

    monkeypatch.setattr(threading, "Timer", Timer)
    return planned


async def client_gone(lanes, work):
    """Run work whose client closes its connection."""
    running = asyncio.ensure_future(lanes.engine(work, work.ticket))
    assert await asyncio.to_thread(work.begun.wait, 60)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("charged", [True, False])
def test_a_statement_that_nobody_waits_for_goes_on_until_the_time_limit(charged, timers):
    """If it is charged, it may end; but it must not keep its lane for ever."""

    async def main():
        lanes = Lanes(1, 0, 600)
        work = Statement(Ticket("ana"), charged=charged)
        await client_gone(lanes, work)
        seconds, function = timers.pop()
        assert 300 < seconds <= 600 if charged else seconds == 0
        assert not work.ended.is_set()
        await asyncio.to_thread(function)
        if charged:  # the loop decides, and a thread of its own stops it
            await asyncio.sleep(0)
            seconds, function = timers.pop()
            assert seconds == 0
            await asyncio.to_thread(function)
        assert work.ended.is_set()
        assert not timers
        lanes.close()

    asyncio.run(main())


class FinishingLanes(LimitedLanes):
    """The same with a finishing place, in which a statement may run for an hour."""

    def __init__(self, over, lanes=1, queue=0):
        super().__init__(over, lanes, queue)
        self._more_seconds = 3600.0


class PaidStatement(Statement):
    """One that an earlier request paid for; it ends when the test says so."""

    def __init__(self, account, about="one", **more):
        super().__init__(Ticket(account, about, **more), charged=False)
        self.answered = threading.Event()

    def __call__(self):
        self.ticket.mark_paid()
        with stoppable(self.ended.set):
            self.begun.set()
            while not (self.ended.is_set() or self.answered.wait(0.01)):
                pass
        if self.ended.is_set():
            raise Pending("The answer is pending", hint="ask again")
        return "answer"


@pytest.mark.parametrize("gone", [False, True])
def test_a_paid_question_that_is_late_goes_on_beside_the_lanes(gone, timers):
    async def main():
        work = PaidStatement("ana")
        lanes = FinishingLanes(work.begun)
        if gone:
            lanes._in_time = lambda job: asyncio.shield(job.future)
            await client_gone(lanes, work)
            await asyncio.to_thread(timers.pop()[1])  # the time is over
            await asyncio.sleep(0)
        else:
            assert await refusal(lanes.engine(work, work.ticket)) == ("pending", 1)
        assert lanes.is_finishing(Ticket("ana", "one"))
        assert not lanes.is_finishing(Ticket("ben", "one"))
        assert not lanes.is_finishing(Ticket("ana", "two"))
        assert not await lanes.finished(Ticket("ben", "one"))
        waiting = asyncio.ensure_future(lanes.finished(Ticket("ana", "one")))
        await asyncio.sleep(0)
        # Not more than one account may have in the queue.
        assert await refusal(lanes.finished(Ticket("ana", "one"))) == ("pending", 1)
        assert not work.ended.is_set()
        assert lanes.admitted == 0
        lanes._in_time = lambda job: asyncio.shield(job.future)
        assert await lanes.engine(lambda: "now", Ticket("ana")) == "now"  # its lane is free
        ((seconds, function),) = timers
        assert seconds == 3600
        await asyncio.to_thread(function)
        assert work.ended.is_set()  # for ever it does not go on
        assert await waiting
        assert not lanes.is_finishing(work.ticket)
        assert not await lanes.finished(Ticket("ana", "one"))
        lanes.close()

    asyncio.run(main())


def test_accounts_take_turns_in_the_finishing_place():
    async def late(lanes, work):
        lanes._over = work.begun
        assert await refusal(lanes.engine(work, work.ticket)) == ("pending", 1)

    async def finished(lanes, work):
        work.answered.set()
        await lanes._finishing.future
        assert not lanes.is_finishing(work.ticket)

    async def main():
        lanes = FinishingLanes(None)
        first, second, other = (PaidStatement(*each) for each in ("a1", "a2", "b1"))
        await late(lanes, first)
        await late(lanes, other)  # the place is taken
        assert other.ended.is_set()
        await finished(lanes, first)
        await late(lanes, second)  # free, but it is b's turn
        assert second.ended.is_set()
        again = PaidStatement("b", "1")
        await late(lanes, again)
        assert lanes.is_finishing(again.ticket)
        await finished(lanes, again)
        second = PaidStatement("a", "2")
        await late(lanes, second)
        assert lanes.is_finishing(second.ticket)
        # Who does not ask again loses the turn.
        lost = PaidStatement("c", "1")
        await late(lanes, lost)
        await finished(lanes, second)
        lanes._turns["c"] -= 1000
        third = PaidStatement("a", "3")
        await late(lanes, third)
        assert lanes.is_finishing(third.ticket)
        lanes.close()
        assert third.ended.is_set()  # an end of the service waits for no long statement

    asyncio.run(main())


def test_where_statements_run_one_by_one_none_is_finished_before_those_of_others():
    async def main():
        work = PaidStatement("ana", yields=True)
        lanes = FinishingLanes(work.begun)
        assert await refusal(lanes.engine(work, work.ticket)) == ("pending", 1)
        assert lanes.is_finishing(work.ticket)
        assert await lanes.quick(lambda: "repeat") == "repeat"
        assert not work.ended.is_set()
        lanes._in_time = lambda job: asyncio.shield(job.future)
        # It waits for the statement, as for the connection of a database.
        assert await lanes.engine(lambda: work.ended.wait(60), Ticket("ben"))
        lanes.close()

    asyncio.run(main())


def test_what_is_not_paid_for_never_goes_on(monkeypatch):
    monkeypatch.setattr("hartley.service.lanes.ENDING_SECONDS", 60)

    async def main():
        work = Statement(Ticket("ana"), charged=False)
        lanes = FinishingLanes(work.begun)
        assert await refusal(lanes.engine(work, work.ticket)) == ("pending", 1)
        assert work.ended.is_set()
        lanes.close()

    asyncio.run(main())


def test_what_is_no_question_is_never_stopped():
    """A new version that takes long is made to its end."""
    begun, ended, done = threading.Event(), threading.Event(), []

    async def main():
        lanes = LimitedLanes(begun)

        def work():
            with stoppable(lambda: done.append("stopped")):
                begun.set()
                assert ended.wait(60)
            done.append("made")

        assert await refusal(lanes.engine(work)) == ("busy", 1)
        ended.set()
        lanes.close()

    asyncio.run(main())
    assert done == ["made"]


@pytest.mark.parametrize("how", ["late", "gone"])
def test_what_is_not_charged_stops_when_nobody_waits(how, monkeypatch):
    gate, priced, steps = threading.Event(), threading.Event(), []
    monkeypatch.setattr("hartley.service.lanes.ENDING_SECONDS", 0.05)

    async def main():
        lanes = LimitedLanes(priced, queue=4) if how == "late" else Lanes(1, 4, 60)
        ticket = Ticket("ana")

        def work():
            steps.append("priced")
            priced.set()
            gate.wait()
            ticket.charge()
            steps.append("charged")

        running = asyncio.ensure_future(lanes.engine(work, ticket))
        queued = asyncio.ensure_future(lanes.engine(lambda: steps.append("queued"), Ticket("ben")))
        await asyncio.sleep(0)
        if how == "late":
            assert await refusal(running) == ("busy", 1)
            assert await refusal(queued) == ("busy", 1)
        else:
            for each in (running, queued):
                each.cancel()
            await asyncio.gather(running, queued, return_exceptions=True)
        assert lanes.admitted == 1  # the thread itself runs until its next step
        gate.set()
        lanes.close()  # waits for the thread
        assert steps == ["priced"]

    asyncio.run(main())


def test_errors_of_the_work_are_passed_on():
    def fail():
        raise ValueError("no")

    async def main():
        lanes = Lanes(1, 0, 5)
        with pytest.raises(ValueError, match="no"):
            await lanes.engine(fail)
        assert lanes.admitted == 0
        lanes.close()

    asyncio.run(main())
