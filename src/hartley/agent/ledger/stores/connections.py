"""Connections to a store: each used by one thread at a time, none carried over a fork.

If two processes shared a database connection, they would corrupt the ledger: SQLite keeps its file
locks per process, and a server would receive two mixed conversations. So before the process forks,
every connection is returned and closed; both sides open new ones.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 60.0
"""Seconds that a fork waits for running transactions, which take milliseconds."""


class Pool:
    """A pool of open connections, and a lock for the single writer of this process."""

    def __init__(self, connect: Callable[[], Any], usable: Callable[[Any], bool]) -> None:
        self._connect, self._usable = connect, usable
        self._idle: list[Any] = []
        self._prepare()
        with REGISTERING:
            POOLS.add(self)

    def _prepare(self) -> None:
        self.writer = threading.Lock()
        """Queues the writers of this process, which is fairer than the store's own lock."""
        self.waiting: deque[Any] = deque()
        """Writes that may share a transaction with others."""
        self._changed = threading.Condition()
        self._lent: list[int] = []
        self._paused = self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Any]:
        """Lend a connection to this thread."""
        me = threading.get_ident()
        with self._changed:
            if self._paused:
                self._changed.wait_for(lambda: not self._paused or me in self._lent)
            connection = self._idle.pop() if self._idle else None
            self._lent.append(me)
        try:
            if connection is None:
                connection = self._connect()
            yield connection
        finally:
            keep = connection is not None and self._usable(connection)
            with self._changed:
                self._lent.remove(me)
                keep = keep and not self._closed
                if keep:
                    self._idle.append(connection)
                if self._paused:  # else nobody waits
                    self._changed.notify_all()
            if connection is not None and not keep:
                connection.close()

    def forget(self) -> None:
        """Close the unused connections, for example after the server was lost."""
        with self._changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close the unused connections now, and the others when they are returned."""
        self._closed = True
        self.forget()

    def pause(self) -> None:
        """Wait until no other thread uses a connection, and close them all."""
        me = threading.get_ident()
        with self._changed:
            self._paused = True
            self._changed.wait_for(lambda: all(who == me for who in self._lent), PATIENCE)
        self.forget()

    def resume(self) -> None:
        """Lend again."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def start_again(self) -> None:
        """Start again in a child process, in which the threads that held locks do not exist."""
        closed = self._closed
        self._idle = []
        self._prepare()
        self._closed = closed


POOLS: WeakSet[Pool] = WeakSet()
REGISTERING = threading.Lock()
"""Also held during a fork, so that no pool is created meanwhile."""


def _before_a_fork() -> None:
    REGISTERING.acquire()
    for pool in list(POOLS):
        pool.pause()


def _after_a_fork() -> None:
    for pool in list(POOLS):
        pool.resume()
    REGISTERING.release()


def _in_the_child() -> None:
    for pool in list(POOLS):
        pool.start_again()
    REGISTERING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_a_fork, after_in_parent=_after_a_fork, after_in_child=_in_the_child
    )
