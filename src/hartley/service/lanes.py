"""Admission of work: a few lanes for the engine, shared fairly, a bounded queue, then a refusal."""

from __future__ import annotations

import asyncio
import hashlib
import math
import struct
import threading
import time
from collections import Counter, OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hartley.agent.ledger import open_ledger
from hartley.engines.dialect import StatementStop
from hartley.errors import Pending
from hartley.service.accounts import open_accounts
from hartley.service.logs import Metrics
from hartley.service.own_rows import LedgerGuard, shared_memory
from hartley.service.replies import ServiceError, busy, pending, too_many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hartley.results.quote import Wish
    from hartley.service.identity import Identity
    from hartley.service.settings import ServiceSettings
    from hartley.trusted.questions.question import Selection

T = TypeVar("T")
QUICK_THREADS = 4
"""Threads for what only reads the ledger: repeats, balances, history."""
ENDING_SECONDS = 1.0
"""How long a late question may take to end once its statement was stopped."""
TURN_SECONDS = 10.0
"""How long an account may take to ask again, beside the time of the question itself."""
SLOT = struct.Struct("<16sdd")
"""A rate limit: the digest of an account and a kind, its tokens, and when they were counted."""
SLOTS, PROBES, MINUTE = 1 << 14, 16, 60.0
ITEMS_OF_A_QUESTION = 25
"""Numbers that take about as long to price as a plain question, and count as one."""
LIGHT_TEXT = 1000
"""Characters up to which a text without groups and lists is read in a moment."""


class Ticket:
    """One request for a lane: whose it is, and whether somebody still waits for it.

    Work looks at it between its steps. Once it has gone on to a charge it goes on until the time
    limit, even if nobody waits for it. What is paid for by then goes on in the finishing place, if
    that is free. Otherwise its statement is stopped: the charge stays, and asking the same again
    computes the answer. ``about`` says what is asked; one that ``yields`` is finished only as long
    as nobody else needs a lane, because its engine runs one statement at a time.
    """

    def __init__(self, account: str = "", about: object = None, *, yields: bool = False) -> None:
        self.account, self.about, self.yields = account, about, yields
        self.statements = StatementStop()
        """Stops what the engine computes for the request."""
        self._lock = threading.Lock()
        self._stopped = self.charging = False
        self.is_paid = False
        """Whether everything it asks is paid for, by this request or an earlier one."""

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

    def mark_paid(self) -> None:
        """Note that everything is paid for."""
        self.is_paid = True


class LaneWork(NamedTuple):
    """Work that waits for a lane."""

    work: Callable[[], Any]
    ticket: Ticket
    future: asyncio.Future[Any]
    stoppable: bool
    """Whether its statements end at the time limit: those of questions, not of a new version."""


class Lanes:
    """The threads of one worker: some for the engine, and others that never wait behind them.

    A question that is paid for and late leaves its lane and goes on in one finishing place, while
    its caller is told that it is pending; asking the same again then repeats its recorded answer.
    Accounts take turns in that place.

    Args:
        lanes: how many questions use the engine at once.
        queue: how many may wait for a lane; one account may fill half of it.
        seconds: how long a question may take, with its time in the queue.
        each: how many lanes one account may use at once; all by default.
        finishing: how long a question that is paid for may take; as long as any by default.
    """

    def __init__(
        self,
        lanes: int,
        queue: int,
        seconds: float,
        each: int | None = None,
        finishing: float | None = None,
    ) -> None:
        self._engine = ThreadPoolExecutor(lanes + 1, thread_name_prefix="engine")
        self._more_seconds = max(0.0, (finishing or seconds) - seconds)
        self._finishing: LaneWork | None = None
        self._turns: dict[str, float] = {}
        """Accounts for which the finishing place was not free, with the time of that."""
        self._closing, self._watching = False, 0
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
        work that waits is dropped, and work that runs ends before its next step, unless it has made
        a charge. At the time limit the statement of a question is stopped too, unless it goes on in
        the finishing place; a caller whose question is paid for gets ``pending``.
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
            self._give_up(job)
            if job.ticket.charging or job.ticket.is_paid:
                self._when(job, end - loop.time(), lambda: self._end_from(loop, job))
            else:
                self._stop_statements(job)
            raise
        return result

    async def _in_time(self, job: LaneWork) -> Any:  # noqa: ANN401 - what the work returns
        await asyncio.wait([job.future], timeout=self._seconds)
        if not job.future.done():
            raise TimeoutError
        return job.future.result()

    def _admit(self, job: LaneWork) -> None:
        account = job.ticket.account
        if self._finishing is not None and self._finishing.ticket.yields:
            self._stop_statements(self._finishing)
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

    def _leave(self, account: str) -> None:
        """Count one lane less for an account."""
        self._running[account] -= 1
        if not self._running[account]:
            del self._running[account]

    def _done(self, job: LaneWork, done: asyncio.Future[Any]) -> None:
        if self._finishing is job:
            self._finishing = None
        else:
            self._leave(job.ticket.account)
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

    def _stop_statements(self, job: LaneWork, seconds: float = 0) -> None:
        """Stop what the engine computes for a question, after some seconds."""
        self._when(job, seconds, job.ticket.statements.stop)

    @staticmethod
    def _when(job: LaneWork, seconds: float, work: Callable[[], None]) -> None:
        """Do something after some seconds, unless a question has ended by then.

        In a thread of its own: the event loop must not wait for the engine, and may end before.
        """
        if job.stoppable and not job.future.done():
            timer = threading.Timer(seconds, work)
            timer.daemon = True
            timer.start()
            job.future.add_done_callback(lambda _: timer.cancel())

    # --- questions that are paid for and late ---

    def is_finishing(self, ticket: Ticket) -> bool:
        """Tell whether what a ticket asks is being finished, for the same account."""
        job = self._finishing
        if job is None or job.ticket.about is None:
            return False
        return (job.ticket.account, job.ticket.about) == (ticket.account, ticket.about)

    def _end_from(self, loop: asyncio.AbstractEventLoop, job: LaneWork) -> None:
        """End a late question that nobody waits for, from a thread."""
        try:
            loop.call_soon_threadsafe(self._end, job)
        except RuntimeError:  # the loop has ended
            job.ticket.statements.stop()

    def _end(self, job: LaneWork) -> bool:
        """Let a late question go on in the finishing place, or stop it; return whether it goes."""
        if job.future.done() or not self._may_finish(job):
            self._stop_statements(job)
            return False
        self._finishing = job
        self._stop_statements(job, self._more_seconds)
        self._leave(job.ticket.account)
        self._next()
        if self._closing:  # just now, and perhaps before the place was taken
            self._stop_statements(job)
        return True

    def _may_finish(self, job: LaneWork) -> bool:
        """Tell whether the finishing place is free for an account; otherwise it is next."""
        ticket, now = job.ticket, asyncio.get_running_loop().time()
        if not (job.stoppable and self._more_seconds and (ticket.charging or ticket.is_paid)):
            return False
        # Who does not ask again loses the turn: a late question is asked for once in that time.
        patience = 2 * self._seconds + TURN_SECONDS
        self._turns = {name: at for name, at in self._turns.items() if now - at < patience}
        first = next(iter(self._turns), ticket.account)
        if self._finishing is None and first == ticket.account and not self._closing:
            self._turns.pop(ticket.account, None)
            return True
        self._turns[ticket.account] = now
        return False

    async def _late(self, job: LaneWork) -> Any:  # noqa: ANN401 - what the work returns
        """End a question at its time limit; return its result if it ended just now."""
        uncharged = self._give_up(job)
        if self._end(job):
            raise self._pending()
        await asyncio.wait([job.future], timeout=ENDING_SECONDS if job.stoppable else 0)
        if job.future.done() and not job.future.cancelled():
            error = job.future.exception()
            if error is None:
                return job.future.result()
            if isinstance(error, Pending):  # also where an earlier request paid for it
                uncharged = False
        if uncharged:
            raise busy(
                f"This was not computed within {self._seconds:g} s, and nothing was charged for it",
                "ask for less at once, or later",
            ) from None
        raise self._pending()

    async def finished(self, ticket: Ticket) -> bool:
        """Wait while the same is being finished; return whether it was, or raise ``pending``."""
        job = self._finishing
        if job is None or not self.is_finishing(ticket):
            return False
        if self._watching >= self._queue_each:  # a wait costs little, but not nothing
            raise self._pending()
        self._watching += 1
        try:
            await asyncio.wait([job.future], timeout=self._seconds)
        finally:
            self._watching -= 1
        if not job.future.done():
            raise self._pending()
        return True

    def _pending(self) -> ServiceError:
        return pending(
            f"The question takes longer than {self._seconds:g} s",
            "ask the same again: it is charged at most once, and its answer is kept",
        )

    def close(self) -> None:
        """Wait for running work, so that a charged question is answered before the end."""
        self._closing = True
        job = self._finishing
        if job is not None:  # it may take long, and is paid for
            job.ticket.statements.stop()
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


class Rates:
    """A token bucket for each account and kind of request, which all workers of a service share.

    Workers write without a lock. Two that write at the same moment may count one request instead
    of two; a limit on load need not be exact, and a lock would be held by a worker that is killed.
    """

    def __init__(
        self, folder: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._memory = shared_memory(folder, "rates", SLOT.size * SLOTS)

    def take(self, account: str, kind: str, per_minute: int, count: int = 1) -> None:
        """Count requests of an account; raise an error if there were too many."""
        key = hashlib.sha256(f"{kind} {account}".encode()).digest()[:16]
        now = self._clock()
        place, tokens, counted = self._find(key, per_minute, now)
        tokens = min(per_minute, tokens + max(0.0, now - counted) * per_minute / MINUTE)
        count = min(count, per_minute)  # a batch larger than that takes a whole minute
        if tokens < count:
            SLOT.pack_into(self._memory, place, key, tokens, now)
            raise too_many(kind, max(1, math.ceil((count - tokens) * MINUTE / per_minute)))
        SLOT.pack_into(self._memory, place, key, tokens - count, now)

    def _find(self, key: bytes, per_minute: int, now: float) -> tuple[int, float, float]:
        """Return the slot of a key; the one that was unused for longest if it has none."""
        start = int.from_bytes(key[:4], "big")
        oldest, oldest_time = 0, math.inf
        for step in range(PROBES):
            place = (start + step) % SLOTS * SLOT.size
            known, tokens, counted = SLOT.unpack_from(self._memory, place)
            if known == key:
                return place, tokens, counted
            if counted < oldest_time:
                oldest, oldest_time = place, counted
        return oldest, float(per_minute), now

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


def weight_of(wishes: Sequence[Wish]) -> int:
    """Return how many plain questions some count as, from their texts alone.

    Example:
        >>> from hartley.results.quote import Wish
        >>> many = Wish(f"SELECT {', '.join(['AVG(age)'] * 100)} FROM people")
        >>> weight_of([many]), weight_of([Wish("SELECT AVG(age) FROM people")] * 2)
        (4, 2)
    """
    return sum(1 + wish.text.count(",") // ITEMS_OF_A_QUESTION for wish in wishes)


def items_of(plans: Sequence[Selection]) -> int:
    """Return how many numbers plans would give: items of the texts, times their groups."""
    return sum(len(plan.items) for plan in plans)


def is_light(wishes: Sequence[Wish]) -> bool:
    """Tell whether questions are read in a moment, so that looking them up needs no lane.

    Groups are not in the text, so every text with groups may be long to read.
    """
    return sum(len(wish.text) for wish in wishes) <= LIGHT_TEXT and all(
        wish.text.count(",") < ITEMS_OF_A_QUESTION and "group" not in wish.text.lower()
        for wish in wishes
    )


class Resources:
    """The ledger and accounts of a worker, its lanes, rate limits and counters."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.ledger = open_ledger(settings.ledger, create=False)
        try:
            self.accounts = open_accounts(self.ledger)
        except BaseException:
            self.ledger.close()
            raise
        self.lanes = Lanes(
            settings.engine_lanes,
            settings.queue,
            settings.question_seconds,
            settings.limits.lanes_per_account or (settings.engine_lanes + 1) // 2,
            settings.pending_seconds,
        )
        self.guard = LedgerGuard(self.ledger, settings.runtime)
        self.rates = Rates(settings.runtime)
        self.metrics = Metrics(settings.runtime)

    def count(self, identity: Identity, kind: str, wishes: Sequence[Wish]) -> None:
        """Count prices or asks of an account by what their texts list; raise if too many."""
        self.check_batch(wishes)
        self._take(identity, kind, weight_of(wishes))

    def count_items(
        self, identity: Identity, kind: str, wishes: Sequence[Wish], plans: Sequence[Selection]
    ) -> None:
        """Count the numbers that plans would give beyond what their texts list."""
        self.check_items(plans)
        more = items_of(plans) // ITEMS_OF_A_QUESTION - weight_of(wishes)
        if more > 0:
            self._take(identity, kind, more)

    def give_back(self, identity: Identity, kind: str, wishes: Sequence[Wish]) -> None:
        """Take back what was counted for questions that turned out to be repeats."""
        self._take(identity, kind, -weight_of(wishes))

    def _take(self, identity: Identity, kind: str, count: int) -> None:
        limits = self.settings.limits
        most = limits.prices_per_minute if kind == "prices" else limits.asks_per_minute
        self.rates.take(identity.account, kind, most, count)

    def check_items(self, plans: Sequence[Selection]) -> None:
        """Raise an error for plans of more numbers than one request may ask for."""
        most = self.settings.limits.numbers_per_request
        if items_of(plans) > most:
            problem = (
                f"The request asks for {items_of(plans):,} numbers, and one may ask for {most:,}"
            )
            hint = "ask for fewer columns or groups at once"
            raise ServiceError(422, "invalid", problem, hint=hint)

    def check_batch(self, wishes: Sequence[Wish]) -> None:
        """Raise an error for a batch without questions, or with too many."""
        most = self.settings.limits.questions_per_batch
        if not 1 <= len(wishes) <= most:
            problem = f"The batch does not have 1 to {most:,} questions"
            hint = "send the others in a batch of their own"
            raise ServiceError(422, "invalid", problem, hint=hint)

    def close(self) -> None:
        """Close everything; the threads must have ended."""
        self.accounts.close()
        self.ledger.close()
        self.metrics.close()
        self.rates.close()
        self.guard.close()
