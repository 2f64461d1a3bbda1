"""Admission of work: a few lanes for the engine, shared fairly, a bounded queue, then a refusal."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hartley.engines.dialects.statement_stop import StatementStop
from hartley.errors import Pending
from hartley.service.envelope import busy, pending

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
QUICK_THREADS = 4
"""Threads for what only reads the ledger: repeats, balances, history."""
ENDING_SECONDS = 1.0
"""How long a late question may take to end once its statement was stopped."""


class Ticket:
    """One request for a lane: whose it is, and whether somebody still waits for it.

    Work looks at it between its steps. Once it has gone on to a charge it goes on until the time
    limit, even if nobody waits for it. Then its statement is stopped: the charge stays, and asking
    the same again computes the answer.
    """

    def __init__(self, account: str = "") -> None:
        self.account = account
        self.statements = StatementStop()
        """Stops what the engine computes for the request."""
        self._lock = threading.Lock()
        self._stopped = self.charging = False

    def stop(self) -> bool:
        """Give up; return whether that was before a charge, so that nothing is charged."""
        with self._lock:
            self._stopped = True
            return not self.charging

    def check(self) -> None:
        """Raise an error if nobody waits any more."""
        if self._stopped and not self.charging:
            raise busy("The request was given up", "ask again; nothing was charged")

    def charge(self) -> None:
        """Go on to a charge; raise an error if nobody waits any more."""
        with self._lock:
            self.check()
            self.charging = True


class LaneWork(NamedTuple):
    """Work that waits for a lane."""

    work: Callable[[], Any]
    ticket: Ticket
    future: asyncio.Future[Any]
    stoppable: bool
    """Whether its statements end at the time limit: those of questions, not of a new version."""


class Lanes:
    """The threads of one worker: some for the engine, and others that never wait behind them.

    Args:
        lanes: how many questions use the engine at once.
        queue: how many may wait for a lane; one account may fill half of it.
        seconds: how long a question may take, with its time in the queue.
        each: how many lanes one account may use at once; all by default.
    """

    def __init__(self, lanes: int, queue: int, seconds: float, each: int | None = None) -> None:
        self._engine = ThreadPoolExecutor(lanes, thread_name_prefix="engine")
        self._quick = ThreadPoolExecutor(QUICK_THREADS, thread_name_prefix="quick")
        self._lanes, self._queue, self._seconds = lanes, queue, seconds
        self._each = min(lanes, each or lanes)
        self._queue_each = max(1, queue // 2)
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[LaneWork]] = OrderedDict()
        """By account; a free lane goes to the account that was served longest ago."""

    @property
    def admitted(self) -> int:
        """How many questions are in the lanes and in the queue."""
        return self._running.total() + sum(map(len, self._waiting.values()))

    def is_free(self, account: str) -> bool:
        """Tell whether work of an account would begin at once."""
        return self._running.total() < self._lanes and self._running[account] < self._each

    async def quick(self, work: Callable[[], T]) -> T:
        """Run work that does not use the engine."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work)

    async def engine(self, work: Callable[[], T], ticket: Ticket | None = None) -> T:
        """Run work that uses the engine, in a free lane or after those before it in the queue.

        Raises ``busy`` if the queue is full. After the time limit, or if the caller is cancelled,
        the ticket is stopped: work that waits is dropped, and work that runs ends before its next
        step, unless it has made a charge. At the time limit the statement of a question is stopped
        too, so that its lane is free; a caller whose question is paid for gets ``pending``.
        """
        loop = asyncio.get_running_loop()
        job = LaneWork(work, ticket or Ticket(), loop.create_future(), ticket is not None)
        job.future.add_done_callback(_seen)
        end = loop.time() + self._seconds
        self._admit(job)
        try:
            result: T = await self._in_time(job)
        except TimeoutError:
            result = await self._late(job)
        except asyncio.CancelledError:
            uncharged = self._give_up(job)
            self._stop_statements(job, 0 if uncharged else end - loop.time())
            raise
        return result

    async def _in_time(self, job: LaneWork) -> Any:  # noqa: ANN401 - what the work returns
        return await asyncio.wait_for(asyncio.shield(job.future), self._seconds)

    def _admit(self, job: LaneWork) -> None:
        account = job.ticket.account
        own = self._waiting.get(account, ())
        if self.is_free(account):
            self._start(job)
            return
        if self.admitted - self._running.total() >= self._queue or len(own) >= self._queue_each:
            raise busy(
                "The service has too many questions to answer at the moment",
                "ask again in a moment; nothing was charged",
            )
        self._waiting.setdefault(account, deque()).append(job)

    def _start(self, job: LaneWork) -> None:
        self._running[job.ticket.account] += 1
        running = asyncio.get_running_loop().run_in_executor(self._engine, _run, job)
        running.add_done_callback(lambda done: self._done(job, done))

    def _done(self, job: LaneWork, done: asyncio.Future[Any]) -> None:
        self._running[job.ticket.account] -= 1
        if not self._running[job.ticket.account]:
            del self._running[job.ticket.account]
        if done.cancelled():  # the worker ends
            job.future.cancel()
        elif not job.future.done():
            error = done.exception()
            if error is None:
                job.future.set_result(done.result())
            else:
                job.future.set_exception(error)
        self._next()

    def _next(self) -> None:
        """Give a free lane to the first account that may use another one."""
        for account, jobs in self._waiting.items():
            if self._running[account] < self._each:
                self._start(jobs.popleft())
                del self._waiting[account]
                if jobs:
                    self._waiting[account] = jobs  # behind the others
                return

    def _give_up(self, job: LaneWork) -> bool:
        """Stop work that nobody waits for; return whether it is certain that nothing is charged."""
        account = job.ticket.account
        jobs = self._waiting.get(account)
        if jobs is not None and job in jobs:
            jobs.remove(job)
            job.future.cancel()
            if not jobs:
                del self._waiting[account]
        return job.ticket.stop()

    def _stop_statements(self, job: LaneWork, seconds: float) -> None:
        """Stop what the engine computes for a question, after some seconds.

        In a thread of its own: the event loop must not wait for the engine, and may end before.
        """
        if job.stoppable and not job.future.done():
            timer = threading.Timer(seconds, job.ticket.statements.stop)
            timer.daemon = True
            timer.start()
            job.future.add_done_callback(lambda _: timer.cancel())

    async def _late(self, job: LaneWork) -> Any:  # noqa: ANN401 - what the work returns
        """Stop a question at its time limit; return its result if it ended just now."""
        uncharged = self._give_up(job)
        self._stop_statements(job, 0)
        await asyncio.wait([job.future], timeout=ENDING_SECONDS if job.stoppable else 0)
        if job.future.done() and not job.future.cancelled():
            error = job.future.exception()
            if error is None:
                return job.future.result()
            if isinstance(error, Pending):  # also where an earlier request paid for it
                uncharged = False
        if uncharged:
            raise busy(
                f"The question was not computed within {self._seconds:g} s, and nothing was "
                "charged for it",
                "ask for fewer numbers at once, or later",
            ) from None
        raise pending(
            f"The question takes longer than {self._seconds:g} s",
            "ask the same again: it is charged at most once, and its answer is kept",
        ) from None

    def close(self) -> None:
        """Wait for running work, so that a charged question is answered before the end."""
        for pool in (self._quick, self._engine):
            pool.shutdown(wait=True, cancel_futures=True)


def _run(job: LaneWork) -> Any:  # noqa: ANN401 - what the work returns
    job.ticket.check()
    if not job.stoppable:
        return job.work()
    with job.ticket.statements.present():
        return job.work()


def _seen(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()  # reported to the client, or of a question that was given up
