"""Whether a row counts: its hash fits what it says, and the chain goes on from it."""

from __future__ import annotations

from hartley.agent.ledger.entries import STRANGE, Entry, canonical, question_digest
from hartley.errors import EngineError, HartleyError

NO_NOTE = "the note where it ends is missing"


def broken(problem: str) -> EngineError:
    """Return the error for a ledger that does not hold together; nothing is written to it."""
    return EngineError(
        f"The ledger cannot be used: {problem}",
        hint="run 'hartley ledger verify' on it, and restore a backup",
    )


def check_hash(entry: Entry) -> None:
    """Refuse to build on a row that was changed."""
    try:
        good = entry.hash == entry.expected_hash
    except STRANGE:
        good = False
    if not good:
        raise broken(f"row {entry.sequence} was changed")


def continued(entry: Entry, previous: object, end: object, end_hash: object) -> Entry:
    """Return a row that is as it was written, and still where it was in the chain."""
    check_hash(entry)
    if end is None:
        raise broken(NO_NOTE)
    if previous is None and end != entry.sequence:
        raise broken(f"the row after row {entry.sequence} is missing")
    if (end_hash if previous is None else previous) != entry.hash:
        raise broken(f"row {entry.sequence} was changed, and its hash with it")
    return entry


def charged_digests(entry: Entry) -> set[str]:
    """Return the questions that a row charges for."""
    if entry.kind != "reserve":
        return set()
    try:
        version = entry.told["version"]
        return {
            question_digest(entry.dataset, version, entry.schema, canonical(question))
            for question in entry.told["questions"]
        }
    except (*STRANGE, HartleyError):
        raise unreadable(entry) from None


def committed_answers(entry: Entry) -> dict[str, str]:
    """Return the answers that a row holds, by the digest of their question."""
    if entry.kind != "commit":
        return {}
    try:
        return dict(entry.told["answers"])
    except STRANGE:
        raise unreadable(entry) from None


def unreadable(entry: Entry) -> EngineError:
    """Return the error for a row with hashes that fit and words that no ledger writes."""
    return broken(f"row {entry.sequence} says something that a ledger does not")
