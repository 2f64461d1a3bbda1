"""Admission of work: a few lanes for the engine, a bounded queue before them, then a refusal."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from hartley.service.envelope import busy, pending

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
QUICK_THREADS = 4
"""Threads for what only reads the ledger: repeats, balances, history."""


class Lanes:
    """The threads of one worker: some for the engine, and others that never wait behind them."""

    def __init__(self, lanes: int, queue: int, seconds: float) -> None:
        self._engine = ThreadPoolExecutor(lanes, thread_name_prefix="engine")
        self._quick = ThreadPoolExecutor(QUICK_THREADS, thread_name_prefix="quick")
        self._most, self._seconds = lanes + queue, seconds
        self.admitted = 0
        """Questions in the lanes and in the queue."""

    async def quick(self, work: Callable[[], T]) -> T:
        """Run work that does not use the engine."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work)

    async def engine(self, work: Callable[[], T]) -> T:
        """Run work that uses the engine, in a free lane or after those before it in the queue.

        Raises ``busy`` if the queue is full and ``pending`` after the time limit. The work goes on
        then and keeps its lane: a charge that was made is answered and recorded.
        """
        if self.admitted >= self._most:
            raise busy(
                "The service has too many questions to answer at the moment",
                "ask again in a moment; nothing was charged",
            )
        self.admitted += 1
        future = asyncio.get_running_loop().run_in_executor(self._engine, work)
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            raise pending(
                f"The question takes longer than {self._seconds:g} s",
                "ask the same again: it is charged at most once, and its answer is kept",
            ) from None

    def _done(self, future: asyncio.Future[Any]) -> None:
        self.admitted -= 1
        if not future.cancelled():
            future.exception()  # reported to the client, or of a question that was given up

    def close(self) -> None:
        """Wait for running work, so that a charged question is answered before the end."""
        for pool in (self._quick, self._engine):
            pool.shutdown(wait=True, cancel_futures=True)
