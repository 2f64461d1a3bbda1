"""The private part of a ledger: a random name, a key, and digests of coded copies.

They are stored in a separate table and are in no row, export or backup. The key is drawn when it is
first needed, so ledgers without a key still work.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hartley.agent.ledger.rows.entries import broken

if TYPE_CHECKING:
    from hartley.agent.ledger.stores.store import LedgerStore, Transaction

TABLE = "hartley_private"
CREATE = f"CREATE TABLE {TABLE} (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
LEDGER, KEY, COPY = "ledger", "key", "copy "


@dataclass(frozen=True)
class Secret:
    """A random name of the ledger, which its copies carry, and the key of their digests."""

    ledger: str
    key: bytes = field(repr=False)


def read_secret(store: LedgerStore) -> Secret:
    """Return the name and the key of a ledger; they are drawn if it has none yet."""
    return store.read(lambda t: _secret(store, t)) or store.write(lambda t: _draw(store, t))


def read_digest(store: LedgerStore, version: str) -> str | None:
    """Return the digest of the copy of a version, None if none was kept."""
    return store.read(lambda t: _value(store, t, COPY + version))


def keep_digest(store: LedgerStore, transaction: Transaction, version: str, digest: str) -> None:
    """Store the digest of the copy of a version; it replaces an earlier one."""
    _create(store, transaction)
    _put(transaction, COPY + version, digest)


def _secret(store: LedgerStore, transaction: Transaction) -> Secret | None:
    name, key = (_value(store, transaction, what) for what in (LEDGER, KEY))
    if name is None or key is None:
        return None
    try:
        return Secret(name, bytes.fromhex(key))
    except ValueError:
        raise broken("the key of its copies is not in the format that a ledger writes") from None


def _draw(store: LedgerStore, transaction: Transaction) -> Secret:
    known = _secret(store, transaction)  # another process may have been quicker
    if known is not None:
        return known
    _create(store, transaction)
    drawn = Secret(secrets.token_hex(8), secrets.token_bytes(32))
    _put(transaction, LEDGER, drawn.ledger)
    _put(transaction, KEY, drawn.key.hex())
    return drawn


def _create(store: LedgerStore, transaction: Transaction) -> None:
    if not store.holds_table(transaction, TABLE):
        transaction.run(CREATE, ())
        store.shield(transaction, TABLE)


def _value(store: LedgerStore, transaction: Transaction, name: str) -> str | None:
    if not store.holds_table(transaction, TABLE):
        return None
    rows = transaction.run(f"SELECT value FROM {TABLE} WHERE name = ?", (name,))  # noqa: S608 - our own name
    return str(rows[0][0]) if rows else None


def _put(transaction: Transaction, name: str, value: str) -> None:
    transaction.run(f"DELETE FROM {TABLE} WHERE name = ?", (name,))  # noqa: S608 - our own name
    transaction.run(f"INSERT INTO {TABLE} VALUES (?, ?)", (name, value))  # noqa: S608 - our own name
