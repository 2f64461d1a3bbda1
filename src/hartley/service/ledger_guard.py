"""Whether the ledger still has the rows that this service has seen: a restored backup may not.

A ledger that went back has lost charges and answers that analysts have seen. Everything would be
charged again from there, and the promise would not cover what was shown. So nothing is asked,
repeated or changed until the newest ledger is back, or the operator has accepted the loss.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.service.envelope import went_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.data import HeadNote
    from hartley.agent.ledger.ledger import Ledger
    from hartley.agent.ledger.stores.store import Transaction

RECORD = struct.Struct("<8sq64s")
"""A checksum, the number of a row, and its hash."""
FILE_NAME = "head"
LOOK_SECONDS = 0.25
"""How long a worker relies on its last look before it only reads."""


def create_head(folder: Path) -> None:
    """Create the file in which workers note the last row that any of them has seen."""
    Path(folder, FILE_NAME).write_bytes(bytes(RECORD.size))


class LedgerGuard:
    """Compares the ledger with the last row that a worker of this service has seen."""

    def __init__(
        self,
        ledger: Ledger,
        folder: Path | None = None,
        *,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger, self._steady = ledger, steady
        self._looked = float("-inf")
        if folder is None:
            self._memory = mmap.mmap(-1, RECORD.size)
        else:
            with Path(folder, FILE_NAME).open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), 0)

    def check(self) -> None:
        """Raise an error if the ledger went back; looks at it every quarter of a second."""
        begun = self._steady()
        if begun - self._looked >= LOOK_SECONDS:
            self._ledger.store.read(self.check_in)
            self._looked = begun

    def check_in(self, transaction: Transaction, *, note: bool = True) -> None:
        """Raise an error if the ledger went back, as a transaction sees it; note its last row.

        Inside a transaction that writes, ``note`` must be False: its last row may not be committed,
        and workers that do not see it yet would miss it.
        """
        seen = self._seen()  # before the row is read: others may note newer ones meanwhile
        head = transaction.head()
        if seen is not None:
            sequence, known = seen
            if head is None or transaction.hash_of(sequence) != known:
                self._looked = float("-inf")  # the next request looks again
                raise went_back()
        if note and head is not None and (seen is None or head.sequence > seen[0]):
            text = _packed(head.sequence, head.hash)
            RECORD.pack_into(self._memory, 0, hashlib.sha256(text).digest()[:8], *_parts(text))

    def _seen(self) -> tuple[int, str] | None:
        """Return the last row that was noted; None before the first, or while one is written."""
        checksum, sequence, digest = RECORD.unpack_from(self._memory, 0)
        known = digest.rstrip(b"\0").decode("ascii", "replace")
        if hashlib.sha256(_packed(sequence, known)).digest()[:8] != checksum:
            return None
        return sequence, known

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


def _packed(sequence: int, digest: str) -> bytes:
    return struct.pack("<q64s", sequence, digest.encode())


def _parts(packed: bytes) -> tuple[int, bytes]:
    sequence, digest = struct.unpack("<q64s", packed)
    return sequence, digest


class LaterNote:
    """A note of where the ledger ends that is written every second, and not for every question.

    Between two writes, workers remember the last row themselves. What a note needs on the disk
    would take longer than the charge. Answers do not wait for the disk either: they are on it
    before the note that names them.
    """

    at_once = False

    def __init__(self, note: HeadNote) -> None:
        self._note, self._due = note, False

    def save(self) -> None:
        """Note that the ledger has grown."""
        self._due = True

    def write(self) -> None:
        """Write the note, if the ledger has grown since."""
        if self._due:
            self._due = False
            try:
                self._note.save()
            except BaseException:
                self._due = True  # the answers that it names still have to get to the disk
                raise
