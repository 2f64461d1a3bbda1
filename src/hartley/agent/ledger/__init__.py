"""Durable, append-only, hash-chained record of what was charged and answered."""

from hartley.agent.ledger.backup import Restored
from hartley.agent.ledger.charging import Reservation
from hartley.agent.ledger.entries import NULL, Entry, Head, schema_version
from hartley.agent.ledger.ledger import Ledger, open_ledger
from hartley.agent.ledger.reading import Charge, Overview, State
from hartley.agent.ledger.state import Balance, Population
from hartley.agent.ledger.verification import Report

__all__ = [
    "NULL",
    "Balance",
    "Charge",
    "Entry",
    "Head",
    "Ledger",
    "Overview",
    "Population",
    "Report",
    "Reservation",
    "Restored",
    "State",
    "open_ledger",
    "schema_version",
]
