"""Lanes: a bounded queue before the engine, a time limit, and repeats that do not wait."""

import asyncio
import threading

import pytest

from hartley.service.envelope import ServiceError
from hartley.service.lanes import Lanes


async def refusal(work):
    try:
        await work
    except ServiceError as error:
        return error.code, error.retry_after
    return None


def test_the_queue_is_bounded_and_repeats_do_not_wait():
    gate = threading.Event()

    async def main():
        lanes = Lanes(1, 2, 60)
        waiting = [asyncio.ensure_future(lanes.engine(gate.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        assert await refusal(lanes.engine(gate.wait)) == ("busy", 1)
        assert await lanes.quick(lambda: "repeat") == "repeat"
        gate.set()
        assert await asyncio.gather(*waiting) == [True] * 3
        assert lanes.admitted == 0
        assert await lanes.engine(lambda: 5) == 5
        lanes.close()

    asyncio.run(main())


def test_after_the_time_limit_the_work_goes_on_and_keeps_its_lane():
    gate, done = threading.Event(), []

    async def main():
        lanes = Lanes(1, 0, 0.02)

        def work():
            gate.wait()
            done.append(True)

        assert await refusal(lanes.engine(work)) == ("pending", 1)
        assert await refusal(lanes.engine(work)) == ("busy", 1)
        gate.set()
        lanes.close()
        assert done == [True]

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
