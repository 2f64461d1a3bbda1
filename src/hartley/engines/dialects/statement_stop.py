"""Ending the statements of one piece of work from another thread, and those of no other."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AGAIN_SECONDS = 0.02
"""After this time a statement is ended once more: an engine forgets what came before its start."""

_PRESENT: ContextVar[StatementStop | None] = ContextVar("statement_stop", default=None)


class StatementStop:
    """Ends what an engine computes for one piece of work, and lets nothing else of it begin.

    The work runs inside ``present()``; any other thread may call ``stop()``. A statement is
    registered only while it runs and holds a connection of its own, so that no statement of
    another piece of work can be ended instead.

    Example:
        >>> import duckdb
        >>> from hartley.engines.dialects.duckdb import EmbeddedStore
        >>> stop, store = StatementStop(), EmbeddedStore(duckdb.connect())
        >>> stop.stop()
        >>> with stop.present():
        ...     store.fetch("SELECT 1 AS n")
        Traceback (most recent call last):
            ...
        InterruptedError: the work was stopped
        >>> store.fetch("SELECT 1 AS n").to_pylist()  # of other work
        [{'n': 1}]
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stopped = False
        self._end: Callable[[], None] | None = None

    @contextmanager
    def present(self) -> Iterator[None]:
        """Let the statements that this thread runs in the block be stopped."""
        before = _PRESENT.set(self)
        try:
            yield
        finally:
            _PRESENT.reset(before)

    def stop(self) -> None:
        """End the statement that runs, if any, and return when it has ended."""
        with self._changed:
            self._stopped = True
            while self._end is not None:
                self._end()
                self._changed.wait(AGAIN_SECONDS)

    @contextmanager
    def running(self, end: Callable[[], None]) -> Iterator[None]:
        """Run a statement that ``end`` ends from another thread."""
        with self._changed:
            if self._stopped:
                raise InterruptedError("the work was stopped")
            self._end = end
        try:
            yield
        finally:
            with self._changed:
                self._end = None
                self._changed.notify_all()


@contextmanager
def stoppable(end: Callable[[], None]) -> Iterator[None]:
    """Run a statement that ``end`` ends if the present work is stopped."""
    stop = _PRESENT.get()
    if stop is None:
        yield
    else:
        with stop.running(end):
            yield
