"""What a worker remembers of tokens and sessions, for a quarter of a second at most."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from hartley.service.accounts.tables import mark_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.ledger.stores.store import LedgerStore, Transaction
    from hartley.service.accounts.rows import KnownIdentity

LOOK_SECONDS = 0.25
"""How long a worker relies on what it remembers: a revocation must count within a second."""
MOST_REMEMBERED = 10_000


class Remembered(NamedTuple):
    """The identities that hold as long as a mark does, and when the mark was looked at."""

    mark: str
    identities: dict[str, KnownIdentity]
    looked: float


class IdentityMemory:
    """Identities by the digest of what proved them, forgotten as soon as any account changes.

    A change of accounts writes a new mark; a worker reads the mark once in a quarter of a second.
    Only valid identities are remembered, so that guessing fills no memory.
    """

    def __init__(self, store: LedgerStore, steady: Callable[[], float]) -> None:
        self._store, self._steady = store, steady
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Forget everything, after a change that this worker made."""
        self._state = Remembered("", {}, float("-inf"))

    def get(
        self, key: str, load: Callable[[Transaction], KnownIdentity | None]
    ) -> KnownIdentity | None:
        """Return what is remembered, or load it."""
        begun = self._steady()
        state = self._state  # read once: mark and identities belong together
        known = state.identities.get(key) if begun - state.looked < LOOK_SECONDS else None
        if known is not None:
            return known

        def look(transaction: Transaction) -> tuple[str, KnownIdentity | None]:
            mark = mark_of(transaction)  # in one snapshot with what is loaded
            known = state.identities.get(key) if mark == state.mark else None
            return mark, known or load(transaction)

        mark, known = self._store.read(look)
        with self._lock:
            state = self._state
            if mark != state.mark or len(state.identities) >= MOST_REMEMBERED:
                state = Remembered(mark, {}, begun)
            if known is not None:
                state.identities[key] = known
            # The mark was valid at some time since the call began, and is relied on from there.
            self._state = state._replace(looked=max(begun, state.looked))
        return known
