"""Checking a ledger in its store: the rows, the tables that index them, and a saved head."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.agent.ledger.entries import FORMAT
from hartley.agent.ledger.replay import replay

if TYPE_CHECKING:
    from hartley.agent.ledger.entries import Head
    from hartley.agent.ledger.replay import OpenFactor, Replay, Report, Reprice
    from hartley.agent.ledger.store import Transaction


def verify(
    transaction: Transaction,
    reprice: Reprice | None = None,
    head: Head | None = None,
    open_factor: OpenFactor | None = None,
) -> Report:
    """Replay every row, then compare what lies beside the rows with what they give."""
    state, report = replay(transaction.entries(), reprice, open_factor)
    if not report.holds:
        return report
    problem = _beside(transaction, state, report) or _older(transaction, report, head)
    return replace(report, holds=problem is None, problem=problem)


def _beside(transaction: Transaction, state: Replay, report: Report) -> str | None:
    """Say what lies beside the rows and does not belong to them."""
    noted = transaction.head()
    if noted != report.head:
        at = noted.sequence if noted else 0
        return f"the store says that it ends with row {at}, and its rows are others"
    asked, answers = transaction.indexed()
    if {(digest, account): row for digest, account, row in asked} != state.asked:
        return "the index of the questions that were charged does not belong to the rows"
    if {digest: (answer, row) for digest, answer, row in answers} != state.answers:
        return "the index of the answers does not belong to the rows"
    return None


def hash_at(transaction: Transaction, head: Head) -> str | None:
    """Return the hash of the row that a saved head names; None where there is no such row."""
    if head.format != FORMAT:
        return transaction.hash_before_migration(head.format, head.sequence)
    entry = transaction.entry(head.sequence)
    return None if entry is None else entry.hash


def _older(transaction: Transaction, report: Report, head: Head | None) -> str | None:
    """Say whether the chain lacks a row that a saved head names."""
    if head is None:
        return None
    found = hash_at(transaction, head)
    if found == head.hash:
        return None
    if found is None:
        return (
            f"it ends with row {report.rows} and the saved head is row {head.sequence}, so an "
            "older ledger was put in its place"
        )
    return f"row {head.sequence} is another one than the saved head, so the history was replaced"
