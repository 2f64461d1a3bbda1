"""Rendered replies to repeats, kept by a worker and checked against token, version and balance.

A reply to a repeat is a function of the token's state, the version of data and schema, the text,
and the account's own charges: plans and prices look at no other rows. So a kept reply is sent again
if the token still stands for the same identity, and the ledger did not change, or changed only in
rows that leave version, schema, allowance and charges of the account as they were.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from hartley.agent.ledger.stores.chain import find

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from hartley.agent.pricing.public_parts import PublicParts
    from hartley.service.accounts import Identity
    from hartley.service.service import Service

MOST_REPLIES, MOST_BYTES = 4096, 32 << 20
"""What a worker keeps; then it starts again from nothing."""
T = TypeVar("T")
ReplyKey = tuple[str, bytes, bytes, bytes]
Standing = tuple[str, str, "Fraction | None", "PublicParts | None"]


@dataclass
class KeptReply:
    """A rendered reply, and what it rests on."""

    identity: Identity
    dataset: str
    standing: Standing
    """Version of the data and of the schema, the account's allowance and its charges."""
    stamp: object
    """The state of the ledger's database in which the rest was checked last."""
    body: bytes


class KeptReplies:
    """The replies that one worker keeps; used from its event loop alone."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._replies: dict[ReplyKey, KeptReply] = {}
        self._bytes = 0
        self._watching: sqlite3.Connection | None = None

    @staticmethod
    def key(path: str, authorization: bytes, kind: bytes, body: bytes) -> ReplyKey:
        """Return what a request is recognised by; the token itself is not kept."""
        return path, hashlib.sha256(authorization).digest(), kind, body

    async def find(self, key: ReplyKey, token: str) -> bytes | None:
        """Return the reply to a request if it is still right; None otherwise."""
        kept = self._replies.get(key)
        if kept is None:
            return None
        if await self._service.authenticate(token) == kept.identity:
            # A ledger that went back may be in the very state that the reply was kept in.
            await self._looked_up(self._service.resources.guard.check)
            stamp = await self.stamp()
            same = stamp == kept.stamp
            if same or await self._looked_up(lambda: self._standing(kept)) == kept.standing:
                kept.stamp = stamp
                self._service.metrics.count("questions", dataset=kept.dataset, outcome="kept")
                return kept.body
        self._forget(key)
        return None

    async def keep(
        self, key: ReplyKey, identity: Identity, dataset: str, stamp: object, body: bytes
    ) -> None:
        """Keep a reply that was computed after the stamp was taken."""
        if len(self._replies) >= MOST_REPLIES or self._bytes + len(body) > MOST_BYTES:
            self._replies.clear()
            self._bytes = 0
        kept = KeptReply(identity, dataset, ("", "", None, None), stamp, body)
        kept.standing = await self._looked_up(lambda: self._standing(kept))
        if await self.stamp() != stamp:
            return  # the reply may be older than the standing
        self._forget(key)
        self._replies[key] = kept
        self._bytes += len(body) + len(key[-1])

    def _forget(self, key: ReplyKey) -> None:
        kept = self._replies.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.body) + len(key[-1])

    def _standing(self, kept: KeptReply) -> Standing:
        place = self._service.ledger.store.read(
            lambda t: find(t, kept.dataset, kept.identity.account)
        )
        standing, account = place.standing, place.account
        if place.holder != kept.identity.account:
            return "", "", None, None
        return standing.version, standing.schema, account.bits, account.parts

    async def stamp(self) -> object:
        """Return something that differs after every change of the ledger's database."""
        path = self._service.ledger.path
        if path is None:
            store = self._service.ledger.store
            return await self._looked_up(lambda: store.read(lambda t: t.head()))
        # This connection never writes, so it sees every commit of all others, in 3 microseconds.
        try:
            if self._watching is None:
                self._watching = sqlite3.connect(
                    path, isolation_level=None, check_same_thread=False
                )
            (version,) = self._watching.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return object()  # the ledger itself says what is wrong with its file
        return version

    async def _looked_up(self, work: Callable[[], T]) -> T:
        if self._service.ledger.path is not None:
            return work()
        return await self._service.lanes.quick(work)

    def close(self) -> None:
        """Close the connection."""
        if self._watching is not None:
            self._watching.close()
