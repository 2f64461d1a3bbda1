"""Rate limits of accounts, counted over all workers of a service in a shared file."""

from __future__ import annotations

import hashlib
import math
import mmap
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.service.envelope import too_many

if TYPE_CHECKING:
    from collections.abc import Callable

SLOT = struct.Struct("<16sdd")
"""A slot: the digest of an account and a kind, its tokens, and when they were counted."""
SLOTS, PROBES = 1 << 14, 16
FILE_NAME = "rates"
MINUTE = 60.0


def create_rates(folder: Path) -> None:
    """Create the file that workers count in."""
    Path(folder, FILE_NAME).write_bytes(bytes(SLOT.size * SLOTS))


class Rates:
    """A token bucket for each account and kind of request: so many a minute, and a burst of those.

    Workers write without a lock. Two that write at the same moment may count one request instead
    of two; a limit on load need not be exact, and a lock would be held by a worker that is killed.
    """

    def __init__(
        self, folder: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        if folder is None:
            self._memory: mmap.mmap = mmap.mmap(-1, SLOT.size * SLOTS)
        else:
            with Path(folder, FILE_NAME).open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), 0)

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
