"""Checking a ledger in its store: the rows, the tables that index them, and a saved head."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.agent.ledger.entries import FORMAT
from hartley.agent.ledger.past import Past
from hartley.agent.ledger.replay import Broken, Report, replay
from hartley.agent.ledger.store import FIRST
from hartley.errors import EngineError

if TYPE_CHECKING:
    from hartley.agent.ledger.entries import Head
    from hartley.agent.ledger.replay import OpenFactor, Replay, Reprice
    from hartley.agent.ledger.store import Transaction


def verify(
    transaction: Transaction,
    reprice: Reprice | None = None,
    head: Head | None = None,
    open_factor: OpenFactor | None = None,
    since: Head | None = None,
) -> Report:
    """Replay every row, or those after a saved head; then compare what lies beside the rows."""
    try:
        past = None if since is None else _past(transaction, since)
    except (Broken, EngineError) as error:
        return Report(
            holds=False,
            rows=0,
            first_bad=None,
            problem=getattr(error, "problem", str(error)),
            head=None,
            intact=False,
            since=since,
        )
    start = FIRST if since is None else since.sequence + 1
    state, report = replay(transaction.entries(start), reprice, open_factor, past)
    if not report.intact:
        return report
    problem = _beside(transaction, state, report)
    if problem is None and head is not None:
        problem = _older(transaction, head)
    if problem is None:
        return report
    return replace(report, holds=False, intact=False, first_bad=None, problem=problem)


def _past(transaction: Transaction, since: Head) -> Past:
    """Return how everything stood at a saved head, if its row is in the chain."""
    problem = _older(transaction, since)
    if problem is None and since.format != FORMAT:
        problem = "the saved head is of an older format, whose rows were all written again"
    row = None if problem else transaction.entry(since.sequence)
    if row is None:
        raise Broken(problem)
    return Past(transaction, since, row)


def _beside(transaction: Transaction, state: Replay, report: Report) -> str | None:
    """Say what lies beside the rows and does not belong to them."""
    noted = transaction.head()
    if noted != report.head:
        at = noted.sequence if noted else 0
        return f"the store says that it ends with row {at}, and its rows are others"
    asked, answers = transaction.indexed(0 if report.since is None else report.since.sequence)
    if {(digest, account): row for digest, account, row in asked} != state.asked:
        return "the index of the questions that were charged does not belong to the rows"
    if {digest: (answer, row) for digest, answer, row in answers} != state.answers:
        return "the index of the answers does not belong to the rows"
    return None


def hash_at(transaction: Transaction, head: Head) -> str | None:
    """Return the hash of the row that a saved head names; None where there is no such row."""
    if head.format != FORMAT:
        return transaction.hash_before_migration(head.format, head.sequence)
    return transaction.hash_of(head.sequence)


def _older(transaction: Transaction, head: Head) -> str | None:
    """Say whether the chain lacks a row that a saved head names."""
    known = hash_at(transaction, head)
    if known == head.hash:
        return None
    if known is None:
        end = transaction.head()
        return (
            f"it ends with row {0 if end is None else end.sequence} and the saved head is row "
            f"{head.sequence}, so an older ledger was put in its place"
        )
    return f"row {head.sequence} is another one than the saved head, so the history was replaced"
