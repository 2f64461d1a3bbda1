"""Writes of several threads in one transaction, each with or without its own effect.

A transaction takes its turn among processes and waits for the disk. Threads that wait for the same
turn share it: the first to get it does the work of all that wait by then, one after the other.
"""

from __future__ import annotations

import sqlite3
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.agent.ledger.stores.store import Transaction


class SharedWrite:
    """The work of one thread, and what came of it.

    Args:
        work: called inside a transaction, perhaps by another thread, with the context of this one;
            called again if the store could not finish it.
        durable: whether its commit waits for the disk.
    """

    def __init__(self, work: Callable[[Transaction], Any], *, durable: bool) -> None:
        self._context, self._work, self.durable = copy_context(), work, durable
        self.is_done = False
        self._result: Any = None
        self._error: Exception | None = None

    def run(self, transaction: Transaction) -> None:
        """Do the work, which leaves nothing behind if it raises an error.

        The next one sees what it wrote, as if it had been committed: so every charge is checked
        against all charges before it.
        """
        self._result = self._error = None
        transaction.run("SAVEPOINT shared_write", ())
        try:
            self._result = self._context.run(self._work, transaction)
        except sqlite3.Error:
            raise  # SQLite may have ended the transaction
        except Exception as error:  # noqa: BLE001 - raised where it belongs
            self._error = error
            transaction.run("ROLLBACK TO shared_write", ())
        transaction.run("RELEASE shared_write", ())

    def outcome(self) -> Any:  # noqa: ANN401 - what the work returns
        """Return what the work returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result


def run_all(writes: Sequence[SharedWrite], transaction: Transaction) -> None:
    """Do the work of several threads in the order in which they came."""
    for write in writes:
        write.run(transaction)


def end_all(writes: Sequence[SharedWrite]) -> None:
    """Note that the transaction of some writes was committed."""
    for write in writes:
        write.is_done = True
