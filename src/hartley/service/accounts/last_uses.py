"""When tokens were last used: written once a minute at most, and while no request waits for it."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from hartley.errors import HartleyError
from hartley.service.accounts.identity import time_text

if TYPE_CHECKING:
    from datetime import datetime

    from hartley.agent.ledger.stores.store import LedgerStore, Transaction

NOTED_EVERY = timedelta(minutes=1)
"""How often the last use of a token is written."""
PATIENCE = 10.0
"""Seconds to wait for the last write."""


class LastUses:
    """Notes uses of tokens; a thread of its own writes them, so that no request waits."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._noted: dict[str, datetime] = {}
        """When each token was noted from here."""
        self._changed = threading.Condition()
        self._waiting: dict[str, datetime] = {}
        self._writing = False

    def note(self, token_id: str, moment: datetime) -> None:
        """Note that a token is used."""
        last = self._noted.get(token_id)
        if last is not None and moment - last < NOTED_EVERY:
            return
        self._noted[token_id] = moment  # before writing, so that a failing disk is tried rarely
        with self._changed:
            self._waiting[token_id] = moment
            if self._writing:
                return
            self._writing = True
        threading.Thread(target=self._write, name="hartley last uses", daemon=True).start()

    def flush(self) -> None:
        """Wait until everything is written, or for some seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing, PATIENCE)

    def _write(self) -> None:
        try:
            while uses := self._taken():
                with suppress(HartleyError):  # read-only or full: a token may still be used
                    self._store.write(partial(_write_uses, uses=uses))
        except BaseException:
            with self._changed:
                self._writing = False
            raise

    def _taken(self) -> dict[str, datetime]:
        """Return what waits; if it is nothing, the thread ends, and a note starts another."""
        with self._changed:
            uses, self._waiting = self._waiting, {}
            if not uses:
                self._writing = False
                self._changed.notify_all()
            return uses


def _write_uses(transaction: Transaction, uses: dict[str, datetime]) -> None:
    transaction.run_many(
        "UPDATE hartley_service_tokens SET last_used = ? "
        "WHERE id = ? AND (last_used IS NULL OR last_used <= ?)",
        [
            (time_text(moment), token_id, time_text(moment - NOTED_EVERY))
            for token_id, moment in uses.items()
        ],
    )
