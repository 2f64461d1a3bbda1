"""The ledger that ``hartley.open_ledger`` opens: it charges, and is shown, checked and kept.

Overviews, verification, exports, backups and restores read rows that are already written, and no
answer rests on them. They are added here, so that what ``hartley.agent.agent`` can reach stays
small.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.agent.ledger.backup import back_up, export, restore, save_head
from hartley.agent.ledger.ledger import Ledger as ChargingLedger, open_store
from hartley.agent.ledger.overview import (
    Charge,
    Overview,
    add_budgets,
    list_charges,
    list_pending,
    list_populations,
    read_overview,
)
from hartley.agent.ledger.verification import verify
from hartley.errors import OptionError

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.agent.ledger.backup import Restored
    from hartley.agent.ledger.charging import Reservation
    from hartley.agent.ledger.replay import MayAnswer, OpenFactor, Reprice
    from hartley.agent.ledger.rows.balances import Population
    from hartley.agent.ledger.rows.entries import Head
    from hartley.agent.ledger.verification import LedgerReport


class AuditableLedger(ChargingLedger):
    """A durable, append-only, hash-chained record, used by many threads and processes at once.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = open_ledger(folder.name + "/ledger.db")
        >>> _ = ledger.record("people", "created", {"bits": 3, "schema": {}, "rows": 5000})
        >>> _ = ledger.reserve("people", "ann", [{"count": "all"}], lambda new: 2)
        >>> [charge.cells for charge in ledger.history("people")], len(ledger.pending("people"))
        ([2], 1)
        >>> ledger.verify().holds
        True
        >>> ledger.close(); folder.cleanup()
    """

    # --- what its owner is shown ---

    def overview(self, dataset: str) -> Overview:
        """Return the state of a dataset and how much was asked, without reading the charges."""
        return self.read(lambda t: read_overview(t, dataset))

    def added_budgets(self) -> tuple[int, Fraction]:
        """Return the number of budgets, counting a shared one once, and their sum in bits.

        If all datasets are about the same people, that sum can be learned about one of them.
        """
        return self.read(add_budgets)

    def populations(self) -> list[Population]:
        """Return the state of every population: datasets about the same people with one budget."""
        return self.read(list_populations)

    def pending(self, dataset: str) -> list[Reservation]:
        """Return the charged questions about the present version that have no answer."""
        return self.read(lambda t: list_pending(t, dataset))

    def history(self, dataset: str, analyst: str | None = None) -> list[Charge]:
        """Return every paid batch; for an analyst, only those with the analyst's own charges."""
        return self.read(lambda t: list_charges(t, dataset, analyst))

    # --- checking and keeping ---

    def verify(
        self,
        reprice: Reprice | None = None,
        head: Head | None = None,
        *,
        open_factor: OpenFactor | None = None,
        may_answer: MayAnswer | None = None,
        since: Head | None = None,
    ) -> LedgerReport:
        """Replay every row: hashes, balances, repeats, and prices if they can be computed.

        Args:
            reprice: a function from a schema, questions and the version of the rules to cells.
            head: a saved end of the chain.
            open_factor: a function from a schema and the version of the rules to the price of its
                open columns.
            may_answer: a function that tells whether a question can have an answer.
            since: the end of the chain at the last verification; only the rows after it are
                replayed.

        Detects every edit, removal, insertion and swap of rows, unless all later hashes were
        recomputed; with a head that was saved elsewhere, everything before that head.
        Linear in the number of rows.
        """
        report = self._store.read(
            lambda t: verify(t, reprice, head, open_factor, since, may_answer)
        )
        self._store.flush()  # what is given out names rows that stay
        return report

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write every row to a new file of JSON lines; return how many."""
        rows = export(self._store, Path(path))
        self._store.flush()
        return rows

    def save_head(self, path: str | os.PathLike[str]) -> Head:
        """Write the end of the chain to a file, to be kept apart from the ledger."""
        head = self.head()
        save_head(head, Path(path))
        assert head is not None
        return head

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot to a new file; questions may go on meanwhile."""
        back_up(self._store, Path(path))
        self._store.flush()

    def restore(self, path: str | os.PathLike[str], *, force: bool = False) -> Restored:
        """Add the rows of a backup or an export; rows are never lost unless forced."""
        done = restore(self._store, Path(path), force=force)
        self.seen = done.head
        return done


Ledger = AuditableLedger
"""The public name."""


def open_ledger(address: str | os.PathLike[str], *, create: bool = True) -> AuditableLedger:
    """Open a ledger: a file, ``sqlite:///file`` or ``postgresql://user@host/database``.

    Args:
        address: a file or a database; a path after three slashes is relative, after four absolute.
        create: whether to create the ledger if it does not exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_ledger(folder + "/ledger.db") as ledger:
        ...         ledger.datasets()
        []
    """
    return AuditableLedger(open_store(address, create=create))


def opened_ledger(
    ledger: ChargingLedger | str | os.PathLike[str], *, create: bool
) -> ChargingLedger:
    """Return a ledger that is open already as it is, and open one that is named."""
    if isinstance(ledger, ChargingLedger):
        return ledger
    if not isinstance(ledger, (str, os.PathLike)):
        raise OptionError(
            "The ledger is neither a path, an address nor an open ledger",
            hint="name the file of the ledger, for example 'ledger.db'",
        )
    return open_ledger(ledger, create=create)
