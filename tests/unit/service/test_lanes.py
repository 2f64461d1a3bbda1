"""Lanes: fair shares, a bounded queue before the engine, a time limit, and quick repeats."""

import asyncio
import threading

import pytest

from hartley.service.envelope import ServiceError
from hartley.service.lanes import Lanes, Ticket


async def refusal(work):
    try:
        await work
    except ServiceError as error:
        return error.code, error.retry_after
    return None


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


def test_what_is_charged_goes_on_after_the_time_limit_and_keeps_its_lane():
    gate, done = threading.Event(), []

    async def main():
        lanes = Lanes(1, 0, 0.05)
        ticket = Ticket("ana")

        def work():
            ticket.charge()
            gate.wait()
            ticket.check()  # nobody waits any more, and it is finished all the same
            done.append(True)

        assert await refusal(lanes.engine(work, ticket)) == ("pending", 1)
        assert await refusal(lanes.engine(work)) == ("busy", 1)
        gate.set()
        lanes.close()
        assert done == [True]

    asyncio.run(main())


@pytest.mark.parametrize("how", ["late", "gone"])
def test_what_is_not_charged_stops_when_nobody_waits(how):
    gate, steps = threading.Event(), []

    async def main():
        lanes = Lanes(1, 4, 0.2 if how == "late" else 60)
        ticket = Ticket("ana")

        def work():
            steps.append("priced")
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
        assert await lanes.engine(lambda: 5, Ticket("cal")) == 5  # after the thread has ended
        assert steps == ["priced"]
        lanes.close()

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
