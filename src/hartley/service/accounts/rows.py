"""Inside a transaction: read and write the rows of accounts, tokens, sessions and the audit log."""

from __future__ import annotations

import hmac
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import InputError, NotPermitted, printable
from hartley.service.accounts.identity import (
    ACCOUNT_NAME,
    Identity,
    Role,
    ServiceAccount,
    TokenRecord,
    TokenScope,
)
from hartley.service.accounts.tables import change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.agent.ledger.stores.store import Transaction

ACCOUNT_COLUMNS = "name, role, created, revoked, daily_cap"
TOKEN_COLUMNS = "id, account, scope, label, created, expires, revoked, last_used"  # noqa: S105 - names of columns
NO_VERIFIER = "0" * 64
"""Compared with where there is no token, so that an unknown token takes the same steps."""


class KnownIdentity(NamedTuple):
    """An identity that was checked, and until when it can be valid."""

    identity: Identity
    expires: str | None


# --- accounts -------------------------------------------------------------------------------------


def read_accounts(
    transaction: Transaction, where: str = "", values: Sequence[str] = ()
) -> list[ServiceAccount]:
    """Return the accounts of a condition, by name."""
    datasets: dict[str, set[str]] = {}
    for account, dataset in transaction.run(
        "SELECT account, dataset FROM hartley_service_grants", ()
    ):
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


# --- tokens and sessions --------------------------------------------------------------------------


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
    """Return the identity of a token with this verifier, if neither it nor its account is revoked.

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


def insert_session(
    transaction: Transaction, identity: Identity, verifier: str, expires: str
) -> None:
    """Add the row of a session."""
    transaction.run(
        "INSERT INTO hartley_service_sessions (verifier, account, token, scope, expires) "
        "VALUES (?, ?, ?, ?, ?)",
        (verifier, identity.account, identity.token_id, identity.scope.value, expires),
    )


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


# --- audit log ------------------------------------------------------------------------------------


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
