"""Idempotency keys: which request a key belongs to, what it was charged, and what was replied.

A key is bound in the transaction that charges for its request. So a request is charged with its key
bound, or not at all, also where the process ends between the charge and the reply: the same request
again finds the charge in the row of the ledger that the key names.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.agent.ledger.rows.entries import read_integer, write_integer
from hartley.agent.ledger.rows.state import read_standing
from hartley.agent.ledger.stores.chain import find
from hartley.errors import InputError, OptionError
from hartley.exact import bits_at_least

if TYPE_CHECKING:
    from hartley.agent.ledger.stores.store import Transaction

LONGEST_KEY = 200
"""Characters of an idempotency key."""
UNANSWERED = ""
"""Stands in the column of the reply until there is one."""


@dataclass(frozen=True)
class KeyedRequest:
    """A request with an idempotency key."""

    account: str
    """Who sends it; the keys of others are separate."""
    key: str
    digest: str
    """Of everything that the request asks for."""

    def __post_init__(self) -> None:
        """Raise an error for a key that is empty, too long or not printable."""
        key = self.key
        if not key or len(key) > LONGEST_KEY or not (key.isascii() and key.isprintable()):
            raise OptionError(
                "The idempotency key is empty, too long or not printable",
                hint=f"send 1 to {LONGEST_KEY} printable ASCII characters, such as a random UUID",
            )


@dataclass(frozen=True)
class BoundKey:
    """What is known of a key: the charge for its request, and the reply if it was given."""

    reply: str | None
    """None if the request was charged and never replied to."""
    bits: float
    """What the request was charged."""


def find_key(transaction: Transaction, request: KeyedRequest, since: str) -> BoundKey | None:
    """Return what a key is bound to, None if it is free; raise an error for another request."""
    rows = transaction.run(
        "SELECT digest, reply, dataset, sequence, spent_before FROM hartley_service_replies "
        "WHERE account = ? AND key = ? AND time > ?",
        (request.account, request.key, since),
    )
    if not rows:
        return None
    digest, reply, dataset, sequence, before = rows[0]
    if digest != request.digest:
        raise InputError(
            "The idempotency key was sent with another request before",
            hint="draw a new random key for every request",
        )
    bits = 0.0
    if reply == UNANSWERED and sequence is not None:
        bits = _charged(transaction, dataset, request.account, sequence, read_integer(before))
    return BoundKey(None if reply == UNANSWERED else str(reply), bits)


def _charged(
    transaction: Transaction, dataset: str, account: str, sequence: int, before: int
) -> float:
    """Return what a row charged an account, in bits: by how much its largest product grew."""
    entry = transaction.entry(sequence)
    if entry is None or (entry.dataset, entry.account, entry.kind) != (dataset, account, "reserve"):
        raise InputError(
            "The ledger does not have the row that charged for this idempotency key",
            hint="draw a new random key; an equal question that was paid for is free",
        )
    _, after = read_standing(entry)
    due = Fraction(after.spent, before)
    return bits_at_least(due.numerator, due.denominator)


def bind_key(
    transaction: Transaction, request: KeyedRequest, dataset: str, now: str, since: str
) -> None:
    """Bind a key inside the transaction that is about to charge for its request.

    Nobody else writes meanwhile, so the row of the charge will be the next one.
    """
    if find_key(transaction, request, since) is not None:
        # Paid for once, and unpaid again: the data were replaced between the two.
        raise InputError(
            "The request was charged before the dataset was replaced, and would be charged again",
            hint="draw a new random key to ask about the new version",
        )
    head = transaction.head()
    sequence = 1 if head is None else head.sequence + 1
    spent = find(transaction, dataset, request.account).account.spent
    _insert(transaction, request, UNANSWERED, now, since, (dataset, sequence, write_integer(spent)))


def keep_reply(
    transaction: Transaction, request: KeyedRequest, reply: str, now: str, since: str
) -> str:
    """Keep the reply to a request; return the one that is kept, which may be an earlier one."""
    bound = find_key(transaction, request, since)
    if bound is None:
        _insert(transaction, request, reply, now, since, (None, None, None))
        return reply
    if bound.reply is None:
        transaction.run(
            "UPDATE hartley_service_replies SET reply = ? WHERE account = ? AND key = ?",
            (reply, request.account, request.key),
        )
    return bound.reply or reply


def _insert(  # noqa: PLR0913, PLR0917 - the parts of a row
    transaction: Transaction,
    request: KeyedRequest,
    reply: str,
    now: str,
    since: str,
    charge: tuple[str | None, int | None, str | None],
) -> None:
    transaction.run("DELETE FROM hartley_service_replies WHERE time <= ?", (since,))
    transaction.run(
        "INSERT INTO hartley_service_replies "
        "(account, key, digest, reply, time, dataset, sequence, spent_before) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (request.account, request.key, request.digest, reply, now, *charge),
    )
