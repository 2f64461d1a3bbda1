"""The ledger: a durable, append-only, hash-chained record of charges and answers."""

import warnings

from hartley.agent.ledger.backup import Restored
from hartley.agent.ledger.charging import Reservation
from hartley.agent.ledger.ledger import Ledger, open_ledger
from hartley.agent.ledger.reading import Charge, Overview, State
from hartley.agent.ledger.rows.balances import Balance, Population
from hartley.agent.ledger.rows.entries import NULL, Entry, Head, schema_version
from hartley.agent.ledger.verification import LedgerReport

__all__ = [
    "NULL",
    "Balance",
    "Charge",
    "Entry",
    "Head",
    "Ledger",
    "LedgerReport",
    "Overview",
    "Population",
    "Reservation",
    "Restored",
    "State",
    "open_ledger",
    "schema_version",
]


def __getattr__(name: str) -> object:
    """Return a class by its old name, with a warning."""
    if name == "Report":
        warnings.warn("Report is called LedgerReport now", DeprecationWarning, stacklevel=2)
        return LedgerReport
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
