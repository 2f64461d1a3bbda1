"""The tables of accounts beside those of the ledger: their rows, migrations, what is remembered."""

from __future__ import annotations

import hmac
import secrets
import threading
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import EngineError, InputError, NotPermitted, printable
from hartley.service.identity import (
    ACCOUNT_NAME,
    Identity,
    Role,
    ServiceAccount,
    TokenRecord,
    TokenScope,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hartley.trusted.ledger.store import LedgerStore, Transaction

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
"""What leads from each format to the next; the present format is their number. A database goes
through those that it lacks in one transaction."""
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
ACCOUNT_COLUMNS = "name, role, created, revoked, daily_cap"
TOKEN_COLUMNS = "id, account, scope, label, created, expires, revoked, last_used"  # noqa: S105 - names of columns
NO_VERIFIER = "0" * 64
"""Compared with where there is no token, so that an unknown token takes the same steps."""
LOOK_SECONDS = 0.25
"""How long a worker relies on what it remembers: a revocation must count within a second."""
MOST_REMEMBERED = 10_000


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
    """Note that something changed that other workers may remember."""
    # A counter could reach a value again after a restored backup, with other accounts.
    transaction.run(f"UPDATE {HEAD} SET mark = ?", (secrets.token_hex(8),))  # noqa: S608 - our own name


def mark_of(transaction: Transaction) -> str:
    """Return a text that differs after every change."""
    rows = transaction.run(f"SELECT mark FROM {HEAD}", ())  # noqa: S608 - our own name
    return str(rows[0][0])


# --- rows of accounts ---


class KnownIdentity(NamedTuple):
    """An identity that was checked, and until when it can be valid."""

    identity: Identity
    expires: str | None


def read_accounts(
    transaction: Transaction, where: str = "", values: Sequence[str] = ()
) -> list[ServiceAccount]:
    """Return the accounts of a condition, by name."""
    datasets: dict[str, set[str]] = {}
    grants = transaction.run("SELECT account, dataset FROM hartley_service_grants", ())
    for account, dataset in grants:
        datasets.setdefault(account, set()).add(dataset)
    statement = f"SELECT {ACCOUNT_COLUMNS} FROM hartley_service_accounts {where}"  # noqa: S608 - our own words
    accounts = [
        _account(row, datasets.get(row[0], ())) for row in transaction.run(statement, values)
    ]
    return sorted(accounts, key=lambda account: account.name)


def find_account(transaction: Transaction, name: str) -> ServiceAccount | None:
    """Return an account, None if there is none of this name; both take the same statements."""
    known = name if ACCOUNT_NAME.fullmatch(name) else ""  # a database cannot hold every text
    rows = transaction.run(
        f"SELECT {ACCOUNT_COLUMNS} FROM hartley_service_accounts WHERE name = ?",  # noqa: S608 - our own words
        (known,),
    )
    granted = transaction.run(
        "SELECT dataset FROM hartley_service_grants WHERE account = ?", (known,)
    )
    return _account(rows[0], [dataset for (dataset,) in granted]) if rows else None


def _account(row: Sequence[Any], datasets: Iterable[str]) -> ServiceAccount:
    name, role, created, revoked, cap = row
    limit = None if cap is None else Fraction(cap)
    return ServiceAccount(name, Role(role), created, revoked, frozenset(datasets), limit)


def account_of(transaction: Transaction, name: str) -> ServiceAccount:
    """Return an account; raise an error if there is none of this name."""
    account = find_account(transaction, name)
    if account is None:
        raise InputError(
            f"There is no account '{name}'", hint="list the accounts, or add one of this name"
        )
    return account


def active_account(transaction: Transaction, name: str) -> ServiceAccount:
    """Return an account that is in use; raise an error if it is revoked."""
    account = account_of(transaction, name)
    if account.revoked is not None:
        raise InputError(f"The account '{name}' is revoked", hint="add an account of another name")
    return account


def insert_account(transaction: Transaction, name: str, role: Role, now: str) -> None:
    """Add the row of an account."""
    transaction.run(
        "INSERT INTO hartley_service_accounts (name, role, created) VALUES (?, ?, ?)",
        (name, role.value, now),
    )


# --- rows of tokens and sessions ---


def read_tokens(transaction: Transaction, where: str, values: Sequence[str]) -> list[TokenRecord]:
    """Return what is kept of the tokens of a condition, oldest first."""
    statement = f"SELECT {TOKEN_COLUMNS} FROM hartley_service_tokens {where}"  # noqa: S608 - our own words
    tokens = [
        TokenRecord(token_id, account, TokenScope(scope), *rest)
        for token_id, account, scope, *rest in transaction.run(statement, values)
    ]
    return sorted(tokens, key=lambda token: (token.created, token.token_id))


def insert_token(transaction: Transaction, record: TokenRecord, verifier: str) -> None:
    """Add the row of a token that is not in use yet."""
    values = (record.token_id, record.account, record.scope.value, verifier)
    transaction.run(
        "INSERT INTO hartley_service_tokens "
        "(id, account, scope, verifier, label, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*values, record.label, record.created, record.expires),
    )


def checked_token(transaction: Transaction, token_id: str, verifier: str) -> KnownIdentity | None:
    """Return the identity of a token with this verifier, unless it or its account is revoked.

    A token that does not exist takes the same statements and the same comparison as one that does.
    """
    rows = transaction.run(
        "SELECT verifier, account, scope, expires, revoked FROM hartley_service_tokens "
        "WHERE id = ?",
        (token_id,),
    )
    kept, name, scope, expires, revoked = rows[0] if rows else (NO_VERIFIER, "", "price", None, "")
    same = hmac.compare_digest(kept.encode(), verifier.encode())
    account = find_account(transaction, name)
    if not same or account is None or revoked is not None or account.revoked is not None:
        return None
    return KnownIdentity(_identity(account, TokenScope(scope), token_id), expires)


def named_account(transaction: Transaction, name: str) -> KnownIdentity | None:
    """Return the identity of an account without a token, if it is not revoked."""
    account = find_account(transaction, name)
    if account is None or account.revoked is not None:
        return None
    return KnownIdentity(_identity(account, TokenScope.ASK, None), None)


def resumed_session(transaction: Transaction, verifier: str) -> KnownIdentity | None:
    """Return the identity of a session, if its token and its account are not revoked."""
    rows = transaction.run(
        "SELECT account, token, scope, expires FROM hartley_service_sessions WHERE verifier = ?",
        (verifier,),
    )
    name, token_id, scope, expires = rows[0] if rows else ("", None, "price", "")
    account = find_account(transaction, name)
    if account is None or account.revoked is not None:
        return None
    if token_id is not None:
        tokens = read_tokens(transaction, "WHERE id = ?", (token_id,))
        if not tokens or tokens[0].revoked is not None:
            return None
        expires = min(expires, tokens[0].expires or expires)
    return KnownIdentity(_identity(account, TokenScope(scope), token_id), expires)


def permitted_account(transaction: Transaction, identity: Identity, now: str) -> ServiceAccount:
    """Return the account of an identity that may be charged now; raise an error if it may not."""
    account = find_account(transaction, identity.account)
    tokens = read_tokens(transaction, "WHERE id = ?", (identity.token_id or "",))
    if identity.token_id is not None and not any(
        token.revoked is None and (token.expires is None or token.expires > now) for token in tokens
    ):
        account = None
    if account is None or account.revoked is not None:
        raise NotPermitted(
            "The account or its token was revoked or expired meanwhile, and nothing was charged",
            hint="ask an owner of the service for another token",
        )
    if not identity.scope.includes(TokenScope.ASK):
        raise NotPermitted(
            "This token may repeat what the account has paid for, but ask nothing new",
            hint="use a token with the scope 'ask'",
        )
    return account


def _identity(account: ServiceAccount, scope: TokenScope, token_id: str | None) -> Identity:
    return Identity(account.name, account.role, scope, token_id, account.datasets)


def append_act(  # noqa: PLR0913, PLR0917 - the parts of a row
    transaction: Transaction, now: str, by: str, act: str, subject: str, detail: str = ""
) -> None:
    """Add a row to the audit log, and note that something changed."""
    ((last,),) = transaction.run("SELECT max(sequence) FROM hartley_service_audit", ())
    transaction.run(
        "INSERT INTO hartley_service_audit (sequence, time, who, act, subject, detail) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        ((last or 0) + 1, now, *(printable(text) for text in (by, act, subject, detail))),
    )
    change(transaction)


# --- what a worker remembers ---


class Remembered(NamedTuple):
    """The identities that hold as long as a mark does, and when the mark was looked at."""

    mark: str
    identities: dict[str, KnownIdentity]
    looked: float


class IdentityMemory:
    """Valid identities by the digest of what proved them, forgotten when any account changes.

    A change of accounts writes a new mark; a worker reads the mark once in a quarter of a second.
    """

    def __init__(self, store: LedgerStore, steady: Callable[[], float]) -> None:
        self._store, self._steady = store, steady
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Forget everything, after a change that this worker made."""
        self._state = Remembered("", {}, float("-inf"))

    def get(
        self, key: str, load: Callable[[Transaction], KnownIdentity | None]
    ) -> KnownIdentity | None:
        """Return what is remembered, or load it."""
        begun = self._steady()
        state = self._state  # read once: mark and identities belong together
        known = state.identities.get(key) if begun - state.looked < LOOK_SECONDS else None
        if known is not None:
            return known

        def look(transaction: Transaction) -> tuple[str, KnownIdentity | None]:
            mark = mark_of(transaction)  # in one snapshot with what is loaded
            known = state.identities.get(key) if mark == state.mark else None
            return mark, known or load(transaction)

        mark, known = self._store.read(look)
        with self._lock:
            state = self._state
            if mark != state.mark or len(state.identities) >= MOST_REMEMBERED:
                state = Remembered(mark, {}, begun)
            if known is not None:
                state.identities[key] = known
            # The mark was valid at some time since the call began, and is relied on from there.
            self._state = state._replace(looked=max(begun, state.looked))
        return known
