"""Connections to a store: each used by one thread at a time, none carried over a fork.

A database connection that two processes share is a corrupted ledger waiting to happen: SQLite
keeps its file locks a process, a server sees one conversation from two mouths. So before the
process forks, every connection is handed back and closed; both sides open new ones.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 60.0
"""Seconds that a fork waits for transactions in flight, which take milliseconds."""


class Pool:
    """Open connections that wait to be used, and a lock for the one writer of this process."""

    def __init__(self, connect: Callable[[], Any], usable: Callable[[Any], bool]) -> None:
        self._connect, self._usable = connect, usable
        self._idle: list[Any] = []
        self._prepare()
        with REGISTERING:
            POOLS.add(self)

    def _prepare(self) -> None:
        self.writer = threading.Lock()
        """Queues the writers of this process, which is fairer than the store's own waiting."""
        self._changed = threading.Condition()
        self._lent: list[int] = []
        self._paused = self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Any]:
        """Give a connection to this thread for a while."""
        me = threading.get_ident()
        with self._changed:
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
                self._changed.notify_all()
            if connection is not None and not keep:
                connection.close()

    def forget(self) -> None:
        """Close the connections that wait, as after the server went away."""
        with self._changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what waits now, and what is in use when it comes back."""
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
        """Begin anew in a child, where the threads that held the locks do not exist."""
        closed = self._closed
        self._idle = []
        self._prepare()
        self._closed = closed


POOLS: WeakSet[Pool] = WeakSet()
REGISTERING = threading.Lock()
"""Held over a fork too, so that no pool comes to be while it happens."""


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
