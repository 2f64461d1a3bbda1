"""The ledger: a durable, append-only, hash-chained record of charges and answers.

What shows, checks and keeps a ledger is imported on first use, since no answer rests on it.
"""

import warnings
from typing import TYPE_CHECKING

from hartley.agent.ledger.charging import Reservation
from hartley.agent.ledger.reading import State
from hartley.agent.ledger.rows.balances import Balance, Population
from hartley.agent.ledger.rows.entries import NULL, Entry, Head, schema_version

if TYPE_CHECKING:
    from hartley.agent.ledger.auditable_ledger import Ledger, open_ledger
    from hartley.agent.ledger.backup import Restored
    from hartley.agent.ledger.overview import Charge, Overview
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
    """Return what shows, checks and keeps a ledger; a class by its old name with a warning."""
    if name not in __all__ and name != "Report":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from hartley.agent.ledger.auditable_ledger import Ledger, open_ledger
    from hartley.agent.ledger.backup import Restored
    from hartley.agent.ledger.overview import Charge, Overview
    from hartley.agent.ledger.verification import LedgerReport

    if name == "Report":
        warnings.warn("Report is called LedgerReport now", DeprecationWarning, stacklevel=2)
        return LedgerReport
    globals().update(
        Charge=Charge,
        Ledger=Ledger,
        LedgerReport=LedgerReport,
        Overview=Overview,
        Restored=Restored,
        open_ledger=open_ledger,
    )
    return globals()[name]
