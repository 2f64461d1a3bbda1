"""The tables of the accounts, beside those of the ledger, and their migrations.

A step leads from one format to the next. A new database goes through all steps, an older one
through those that it lacks, in one transaction: it has the old format or the new one, never a part.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from hartley.errors import EngineError, InputError

if TYPE_CHECKING:
    from hartley.agent.ledger.stores.store import LedgerStore, Transaction

HEAD = "hartley_service_head"
FIRST_STEP = f"""
CREATE TABLE {HEAD} (
    one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, mark TEXT NOT NULL
);
INSERT INTO {HEAD} VALUES (1, 0, '');
CREATE TABLE hartley_service_accounts (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, created TEXT NOT NULL, revoked TEXT, daily_cap TEXT
);
CREATE TABLE hartley_service_grants (
    account TEXT NOT NULL, dataset TEXT NOT NULL, PRIMARY KEY (account, dataset)
);
CREATE TABLE hartley_service_tokens (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, scope TEXT NOT NULL, verifier TEXT NOT NULL,
    label TEXT, created TEXT NOT NULL, expires TEXT, revoked TEXT, last_used TEXT
);
CREATE INDEX hartley_service_tokens_by_account ON hartley_service_tokens (account);
CREATE TABLE hartley_service_sessions (
    verifier TEXT PRIMARY KEY, account TEXT NOT NULL, token TEXT, scope TEXT NOT NULL,
    expires TEXT NOT NULL
);
CREATE TABLE hartley_service_replies (
    account TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, reply TEXT NOT NULL,
    time TEXT NOT NULL, PRIMARY KEY (account, key)
);
CREATE INDEX hartley_service_replies_by_time ON hartley_service_replies (time);
CREATE TABLE hartley_service_audit (
    sequence BIGINT PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, act TEXT NOT NULL,
    subject TEXT NOT NULL, detail TEXT NOT NULL
);
"""  # noqa: S608 - our own names
SECOND_STEP = """
ALTER TABLE hartley_service_replies ADD COLUMN dataset TEXT;
ALTER TABLE hartley_service_replies ADD COLUMN sequence BIGINT;
ALTER TABLE hartley_service_replies ADD COLUMN spent_before TEXT;
"""
"""Which row of the ledger charged for a request, and what the account had spent before."""
STEPS = [FIRST_STEP, SECOND_STEP]
"""What leads from each format to the next; the present format is their number."""
KEPT = "rows of the audit log stay as they are"
IN_A_FILE = f"""
CREATE TRIGGER hartley_service_audit_stays BEFORE UPDATE ON hartley_service_audit
    BEGIN SELECT RAISE(ABORT, '{KEPT}'); END;
CREATE TRIGGER hartley_service_audit_remains BEFORE DELETE ON hartley_service_audit
    BEGIN SELECT RAISE(ABORT, '{KEPT}'); END;
"""
ON_A_SERVER = f"""
CREATE OR REPLACE FUNCTION hartley_service_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{KEPT}'; END $$;
CREATE TRIGGER hartley_service_audit_stays BEFORE UPDATE OR DELETE OR TRUNCATE
    ON hartley_service_audit FOR EACH STATEMENT EXECUTE FUNCTION hartley_service_refuse();
"""
"""The triggers protect the audit log from accidents; who owns the database can remove them."""
SHIELDED = ("accounts", "grants", "tokens", "sessions", "replies", "audit", "head")


def prepare(store: LedgerStore, *, create: bool) -> None:
    """Create the tables if they do not exist, and migrate them if they are older."""
    noted = store.read(lambda t: format_of(store, t))
    if noted == len(STEPS):
        return
    check_format(noted, store.name)
    if noted == 0 and not create:
        raise InputError(
            f"The ledger {store.name} has no accounts",
            hint="add one with 'hartley account add', or start the service once",
        )
    store.write(lambda t: _take_steps(store, t))


def format_of(store: LedgerStore, transaction: Transaction) -> int:
    """Return the format of the tables, 0 if there are none."""
    if not store.holds_table(transaction, HEAD):
        return 0
    rows = transaction.run(f"SELECT format FROM {HEAD}", ())  # noqa: S608 - our own name
    return int(rows[0][0])


def check_format(noted: int, name: str) -> None:
    """Raise an error for tables that a newer version of Hartley wrote."""
    if noted > len(STEPS):
        raise EngineError(
            f"The accounts in the ledger {name} have format {noted}, but this version of Hartley "
            f"reads formats up to {len(STEPS)}",
            hint="use the version of Hartley that wrote them, or a newer one",
        )


def _take_steps(store: LedgerStore, transaction: Transaction) -> None:
    noted = format_of(store, transaction)  # another process may have been quicker
    for step in STEPS[noted:]:
        _run_all(transaction, step)
    if noted == 0:
        _run_all(transaction, ON_A_SERVER if store.path is None else IN_A_FILE)
        for table in SHIELDED:
            store.shield(transaction, f"hartley_service_{table}")
    transaction.run(f"UPDATE {HEAD} SET format = ?", (len(STEPS),))  # noqa: S608 - our own name
    change(transaction)


def _run_all(transaction: Transaction, statements: str) -> None:
    for statement in statements.split(";\n"):
        if statement.strip():
            transaction.run(statement, ())


def change(transaction: Transaction) -> None:
    """Note that something changed that other workers may remember.

    The mark is random and not a counter: after a restored backup, a counter could reach a value
    again that a worker has seen with other accounts.
    """
    transaction.run(f"UPDATE {HEAD} SET mark = ?", (secrets.token_hex(8),))  # noqa: S608 - our own name


def mark_of(transaction: Transaction) -> str:
    """Return a text that differs after every change."""
    rows = transaction.run(f"SELECT mark FROM {HEAD}", ())  # noqa: S608 - our own name
    return str(rows[0][0])
