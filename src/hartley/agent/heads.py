"""Where the ledger ended when it was last used, noted beside the coded copies.

A ledger that was put back from an older backup has forgotten charges. The note, which lies where
the copies are, shows that: the row that it names is not in the ledger any more. It is written after
the ledger has brought its row to the disk, so it is never ahead of a ledger that nobody put back.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hartley.agent.ledger.entries import Head
from hartley.errors import InputError
from hartley.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.agent.ledger.ledger import Ledger

MARK = 12
"""How much of the hash of the first row the name of the note holds: ledgers may share a folder."""


class HeadNote:
    """The note about one ledger in one folder."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self._ledger, self._folder = ledger, folder.absolute()

    def path(self) -> Path | None:
        """Return where the note is; None of a ledger without rows."""
        first = self._ledger.first_hash()
        if first is None:
            return None
        return self._folder / f"hartley.{first[:MARK]}.head"

    def check(self) -> None:
        """Refuse a ledger that lacks the row which was noted last."""
        path = self.path()
        if path is None or not path.exists():
            return
        try:
            head = Head.from_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, InputError):
            raise InputError(
                f"The note {path.name} of where the ledger ended cannot be read",
                hint="make it readable; removing it gives up noticing an older ledger this once",
            ) from None
        if not self._ledger.contains(head):
            raise InputError(
                f"The ledger {self._ledger.name} is older than the one that was last used here, so "
                "it has forgotten what was charged and answered",
                hint="put the newest ledger back; if it is lost, the promise is void for what was "
                f"told since, and removing {path.name} says that you accept it",
            )

    def save(self) -> None:
        """Note where the ledger ends now, on the disk; not where nothing can be written."""
        path, head = self.path(), self._ledger.head()
        if path is None or head is None:
            return
        text = head.to_json() + "\n"
        # What cannot be written is a weaker check, and no reason to withhold what is paid for.
        with suppress(OSError, InputError):
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                write_whole(path, text)
