"""The Accounts class: accounts, tokens, sessions, audit log and kept replies of a service."""

from __future__ import annotations

import secrets
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from hartley.agent.ledger import Ledger, open_ledger
from hartley.errors import InputError, OptionError, Refused
from hartley.exact import bits_at_least, bits_at_most, floor_power, parse_number, read_integer
from hartley.service.account_tables import (
    IdentityMemory,
    account_of,
    active_account,
    append_act,
    change,
    checked_token,
    find_account,
    insert_account,
    insert_token,
    named_account,
    permitted_account,
    prepare,
    read_accounts,
    read_tokens,
    resumed_session,
)
from hartley.service.identity import (
    TOKEN_ID,
    AuditRow,
    BrowserSession,
    Identity,
    IssuedToken,
    LastUses,
    Role,
    ServiceAccount,
    TokenRecord,
    TokenScope,
    bind_key,
    check_account_name,
    check_label,
    csrf_of,
    find_key,
    keep_reply,
    new_token,
    read_role,
    time_text,
    token_id_of,
    verifier_of,
    widest_scope,
)
from hartley.text import bits_down, bits_up
from hartley.trusted.ledger.rows import check_name

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator
    from fractions import Fraction
    from typing import Any

    from hartley.service.identity import BoundKey, KeyedRequest
    from hartley.trusted.ledger.store import Transaction

PAGE = 500
"""Rows of the ledger that are read at once."""
COLUMNS = "sequence, time, analyst, kind, account_cells, hash"
REPLIES_KEPT = timedelta(hours=24)
FIRST_OWNER = "owner"
LARGEST = 2**62
"""Beyond every number of a row; a database cannot take larger ones."""


class DailyCharges:
    """The charges of one UTC day by analyst, over all datasets, as products of cells.

    Only the rows since the last look are read. Their hashes are not checked again: no promise to
    people in the data rests on a cap, and verifying the ledger finds a changed row.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin("")

    def _begin(self, day: str) -> None:
        self._day, self._last, self._hash = day, 0, ""
        self._products: dict[str, int] = {}

    def of(self, transaction: Transaction, analyst: str, day: str) -> int:
        """Return the product of an analyst's charges on a day, written like 2026-03-01."""
        with self._lock:
            # A ledger that was restored from a backup continues with other rows.
            same = not self._last or transaction.hash_of(self._last) == self._hash
            if day != self._day or not same:
                self._begin(day)
            # Read to the end before anything is noted: a store that fails on the way would leave
            # a part of the day's charges, which reads as less than was spent.
            rows = [*self._new_rows(transaction)]
            products = dict(self._products)
            for _, time, name, kind, cells, _ in rows:
                if kind == "reserve" and time[: len(day)] >= day:
                    products[name] = products.get(name, 1) * read_integer(cells)
            self._products = products
            if rows:
                self._last, *_, self._hash = max(rows)
            return products.get(analyst, 1)

    def _new_rows(self, transaction: Transaction) -> Iterator[Any]:
        """Yield what came after the last row; at first the day's rows backwards, and one more."""
        select = f"SELECT {COLUMNS} FROM hartley_entries WHERE sequence"  # noqa: S608 - our own words
        if self._last:
            yield from transaction.run(f"{select} > ? ORDER BY sequence", (self._last,))
            return
        statement = f"{select} < ? ORDER BY sequence DESC LIMIT {PAGE}"
        before = LARGEST
        while page := transaction.run(statement, (before,)):
            for row in page:
                yield row
                if row[1][: len(self._day)] < self._day:
                    return
            before = page[-1][0]


def check_cap(cap: Fraction, spent: int, cells: int) -> None:
    """Raise an error if a charge exceeds what a daily cap has left; all in exact integers.

    Example:
        >>> from fractions import Fraction
        >>> check_cap(Fraction(2), spent=2, cells=2)  # one bit of two spent, and one more
        >>> check_cap(Fraction(2), spent=2, cells=3)
        Traceback (most recent call last):
            ...
        hartley.errors.Refused: The question costs 1.585 bits and the account may spend 1 bit \
more today; hint: ask for a coarser answer, or again after midnight UTC
    """
    most = floor_power(cap, what="daily cap")
    if spent * cells <= most:
        return
    bits, remaining = bits_at_least(cells), max(0.0, bits_at_most(most, spent))
    raise Refused(
        f"The question costs {bits_up(bits)} and the account may spend {bits_down(remaining)} "
        "more today",
        hint="ask for a coarser answer, or again after midnight UTC",
        requested=bits,
        remaining=remaining,
    )


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Accounts:
    """The accounts of a service, in the database of its ledger; for many threads and processes.

    Allowances are not here but in the ledger, where a charge is checked against them.

    Args:
        ledger: the open ledger.
        create: whether to create the tables of accounts if they do not exist.
        clock: returns the present time, with a time zone.
        steady: returns seconds that never go back, by which memory ages.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> accounts = open_accounts(folder.name + "/ledger.db")
        >>> _ = accounts.add("ana", "analyst", by="owner")
        >>> token = accounts.issue_token("ana", scopes="ask", by="owner")
        >>> identity = accounts.authenticate(token.text)
        >>> identity.account, identity.role.value, identity.scope.value
        ('ana', 'analyst', 'ask')
        >>> accounts.revoke_token(token.token_id, by="owner")
        >>> accounts.authenticate(token.text) is None
        True
        >>> accounts.close(); folder.cleanup()
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        create: bool = True,
        clock: Callable[[], datetime] = _utc_now,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ledger, self.owns_ledger = ledger, False
        self._store, self._clock = ledger.store, clock
        self._memory = IdentityMemory(self._store, steady)
        self._daily = DailyCharges()
        self._uses = LastUses(self._store)
        prepare(self._store, create=create)

    def close(self) -> None:
        """Finish writing, and close the ledger if it was opened for the accounts."""
        self.flush()
        if self.owns_ledger:
            self.ledger.close()

    def flush(self) -> None:
        """Wait until the last uses of tokens are written."""
        self._uses.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- accounts ---

    def add(self, name: str, role: Role | str, *, by: str) -> ServiceAccount:
        """Add an account without token, grant and allowance; no name is ever used twice."""
        check_account_name(name)
        chosen = read_role(role)
        if name == FIRST_OWNER and chosen is not Role.OWNER:
            raise OptionError(
                f"The name '{FIRST_OWNER}' is of the service's first owner",
                hint="choose another name",
            )

        def work(transaction: Transaction) -> ServiceAccount:
            if find_account(transaction, name) is not None:
                raise InputError(
                    f"There is an account '{name}' already",
                    hint="choose another name; that of a revoked account stays taken",
                )
            insert_account(transaction, name, chosen, self._now())
            append_act(transaction, self._now(), by, "add account", name, chosen.value)
            return account_of(transaction, name)

        return self._store.write(work, again=False)

    def get(self, name: str) -> ServiceAccount:
        """Return an account; raise an error if there is none of this name."""
        return self._store.read(lambda t: account_of(t, name))

    def revoke_account(self, name: str, *, by: str) -> None:
        """Revoke an account with all its tokens and sessions, for good."""

        def work(transaction: Transaction) -> None:
            account = active_account(transaction, name)
            owners = read_accounts(transaction, "WHERE role = 'owner' AND revoked IS NULL")
            if owners == [account]:
                raise InputError(
                    f"The account '{name}' is the last owner of the service",
                    hint="add another owner first",
                )
            transaction.run(
                "UPDATE hartley_service_accounts SET revoked = ? WHERE name = ?",
                (self._now(), name),
            )
            transaction.run("DELETE FROM hartley_service_sessions WHERE account = ?", (name,))
            append_act(transaction, self._now(), by, "revoke account", name)

        self._write(work)

    def grant(self, name: str, dataset: str, *, by: str) -> None:
        """Let an account see a dataset; without effect if it does already."""
        check_name(dataset, what="dataset")

        def work(transaction: Transaction) -> None:
            if dataset not in active_account(transaction, name).datasets:
                transaction.run(
                    "INSERT INTO hartley_service_grants (account, dataset) VALUES (?, ?)",
                    (name, dataset),
                )
                append_act(transaction, self._now(), by, "grant", name, dataset)

        self._write(work)

    def withdraw(self, name: str, dataset: str, *, by: str) -> None:
        """Withdraw a grant; without effect if there is none."""

        def work(transaction: Transaction) -> None:
            if dataset in account_of(transaction, name).datasets:
                transaction.run(
                    "DELETE FROM hartley_service_grants WHERE account = ? AND dataset = ?",
                    (name, dataset),
                )
                append_act(transaction, self._now(), by, "withdraw", name, dataset)

        self._write(work)

    def set_daily_cap(self, name: str, bits: object, *, by: str) -> None:
        """Set the most that an account may spend on one UTC day, in bits; None removes the cap."""
        cap = None if bits is None else str(parse_number(bits, name="the daily cap"))
        if cap is not None:
            floor_power(cap, what="daily cap")  # refuses what is negative or out of reach

        def work(transaction: Transaction) -> None:
            active_account(transaction, name)
            transaction.run(
                "UPDATE hartley_service_accounts SET daily_cap = ? WHERE name = ?", (cap, name)
            )
            append_act(transaction, self._now(), by, "set daily cap", name, cap or "none")

        self._write(work)

    # --- tokens ---

    def issue_token(
        self,
        name: str,
        *,
        scopes: TokenScope | str | Iterable[TokenScope | str],
        expires: datetime | timedelta | None = None,
        label: str | None = None,
        by: str,
    ) -> IssuedToken:
        """Issue a token of 256 random bits; its text is in the result and kept nowhere.

        Args:
            name: the account.
            scopes: what it may do; of several the widest, since each includes those before it.
            expires: when, or after how long, it stops being valid; None for never.
            label: for its owner to recognise it by.
            by: who issues it, for the audit log.
        """
        scope = widest_scope(scopes)
        until = None if expires is None else self._expiry(expires)
        issued, verifier = new_token()
        words, now = check_label(label), self._now()
        record = TokenRecord(issued.token_id, name, scope, words, now, until, None, None)

        def work(transaction: Transaction) -> None:
            active_account(transaction, name)
            insert_token(transaction, record, verifier)
            detail = f"{record.token_id} {scope.value}"
            append_act(transaction, self._now(), by, "issue token", name, detail)

        self._store.write(work, again=False)
        return issued

    def revoke_token(self, token_id: str, *, by: str) -> None:
        """Revoke a token; every worker refuses it within a second, and its sessions end."""

        def work(transaction: Transaction) -> None:
            known = token_id if TOKEN_ID.fullmatch(token_id) else ""
            records = read_tokens(transaction, "WHERE id = ?", (known,))
            if not records:
                raise InputError(
                    "There is no token of this id", hint="list the tokens of the account"
                )
            if records[0].revoked is None:
                transaction.run(
                    "UPDATE hartley_service_tokens SET revoked = ? WHERE id = ?",
                    (self._now(), token_id),
                )
                transaction.run("DELETE FROM hartley_service_sessions WHERE token = ?", (token_id,))
                account = records[0].account
                append_act(transaction, self._now(), by, "revoke token", account, token_id)

        self._write(work)

    def tokens(self, name: str) -> list[TokenRecord]:
        """Return what is kept of the tokens of an account, oldest first."""

        def work(transaction: Transaction) -> list[TokenRecord]:
            account_of(transaction, name)
            return read_tokens(transaction, "WHERE account = ?", (name,))

        return self._store.read(work)

    def first_owner(self) -> IssuedToken | None:
        """Create the account ``owner`` with a token if the service never had an owner.

        Of several processes that start at once, one gets the token and the others None.
        """
        issued, verifier = new_token()
        made = (FIRST_OWNER, TokenScope.ASK, "first start", self._now())
        record = TokenRecord(issued.token_id, *made, None, None, None)

        def work(transaction: Transaction) -> bool:
            if read_accounts(transaction, "WHERE role = 'owner'"):
                return False
            insert_account(transaction, FIRST_OWNER, Role.OWNER, self._now())
            insert_token(transaction, record, verifier)
            detail = record.token_id
            append_act(transaction, self._now(), "service", "first owner", FIRST_OWNER, detail)
            return True

        return issued if self._store.write(work, again=False) else None

    # --- who asks ---

    def authenticate(self, text: str) -> Identity | None:
        """Return who a token stands for; None, in the same steps, for every other text."""
        verifier, token_id = verifier_of(text), token_id_of(text)
        known = self._memory.get(verifier, lambda t: checked_token(t, token_id, verifier))
        if known is None or self._is_over(known.expires):
            return None
        self._uses.note(token_id, self._clock())
        return known.identity

    def identity_of(self, name: str) -> Identity | None:
        """Return who an account is that a trusted proxy names; None if it is not valid."""
        known = self._memory.get(f"account {name}", lambda t: named_account(t, name))
        return None if known is None else known.identity

    def begin_session(self, identity: Identity, *, lifetime: timedelta) -> str:
        """Begin a session of a browser; return the secret text for its cookie."""
        text, until = secrets.token_hex(32), self._expiry(lifetime)

        def work(transaction: Transaction) -> None:
            active_account(transaction, identity.account)
            transaction.run(
                "DELETE FROM hartley_service_sessions WHERE expires <= ?", (self._now(),)
            )
            transaction.run(
                "INSERT INTO hartley_service_sessions (verifier, account, token, scope, expires) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    verifier_of(text),
                    identity.account,
                    identity.token_id,
                    identity.scope.value,
                    until,
                ),
            )

        self._store.write(work, again=False)
        return text

    def session(self, text: str) -> BrowserSession | None:
        """Return the session of a cookie; None once it, its token or its account has ended."""
        verifier = verifier_of(text)
        known = self._memory.get(f"session {verifier}", lambda t: resumed_session(t, verifier))
        if known is None or self._is_over(known.expires):
            return None
        return BrowserSession(known.identity, csrf_of(text))

    def end_session(self, text: str) -> None:
        """End a session; without effect if there is none."""

        def work(transaction: Transaction) -> None:
            transaction.run(
                "DELETE FROM hartley_service_sessions WHERE verifier = ?", (verifier_of(text),)
            )
            change(transaction)

        self._write(work)

    # --- spending ---

    def charge_check(self, identity: Identity) -> Callable[[Transaction, int], None]:
        """Return the check that ``Agent.ask`` makes inside the transaction of a charge.

        It raises NotPermitted unless token and account may ask now, and Refused above a daily cap.
        """

        def check(transaction: Transaction, cells: int) -> None:
            account = permitted_account(transaction, identity, self._now())
            if account.daily_cap is not None:
                day = self._now()[:10]
                check_cap(account.daily_cap, self._daily.of(transaction, account.name, day), cells)

        return check

    def spent_today(self, name: str) -> float:
        """Return what an account has spent on the present UTC day in all datasets, in bits."""
        day = self._now()[:10]
        return bits_at_least(self._store.read(lambda t: self._daily.of(t, name, day)))

    def left_today(self, name: str) -> int | None:
        """Return what the daily cap of an account leaves, in cells; None without a cap."""
        cap, day = self.get(name).daily_cap, self._now()[:10]
        if cap is None:
            return None
        return floor_power(cap) // self._store.read(lambda t: self._daily.of(t, name, day))

    # --- audit log and replies ---

    def note(self, by: str, act: str, subject: str, detail: str = "") -> None:
        """Add a row to the audit log for an act outside of this class, such as an allowance."""
        self._store.write(
            lambda t: append_act(t, self._now(), by, act, subject, detail), again=False
        )

    def audit(self, *, after: int = 0, limit: int = 100) -> list[AuditRow]:
        """Return rows of the audit log after one, in order."""
        statement = (
            "SELECT sequence, time, who, act, subject, detail FROM hartley_service_audit "
            "WHERE sequence > ? ORDER BY sequence LIMIT ?"
        )
        start, most = (min(max(number, 0), LARGEST) for number in (after, limit))
        rows = self._store.read(lambda t: t.run(statement, (start, most)))
        return [AuditRow(*row) for row in rows]

    def bound_key(self, request: KeyedRequest) -> BoundKey | None:
        """Return the charge and the reply of a key in the last 24 hours; None if it is free.

        Raises an error if the key was sent with another request.
        """
        since = self._now(-REPLIES_KEPT)
        return self._store.read(lambda t: find_key(t, request, since))

    def bind_key(self, transaction: Transaction, request: KeyedRequest, dataset: str) -> None:
        """Bind a key to its request inside the transaction that charges for it."""
        bind_key(transaction, request, dataset, self._now(), self._now(-REPLIES_KEPT))

    def keep_reply(self, request: KeyedRequest, reply: str) -> str:
        """Keep a reply for 24 hours; return the one that is kept, which may be an earlier one."""
        now, since = self._now(), self._now(-REPLIES_KEPT)
        return self._store.write(lambda t: keep_reply(t, request, reply, now, since))

    # --- time ---

    def _now(self, shift: timedelta = timedelta()) -> str:
        return time_text(self._clock() + shift)

    def _expiry(self, expires: datetime | timedelta) -> str:
        try:
            moment = self._clock() + expires if isinstance(expires, timedelta) else expires
        except OverflowError:
            raise OptionError("The expiry is too far away", hint="give an earlier time") from None
        if moment.tzinfo is None:
            raise OptionError("The expiry has no time zone", hint="give it one, such as UTC")
        if moment <= self._clock():
            raise OptionError("The expiry is not in the future", hint="give a later time")
        return time_text(moment)

    def _is_over(self, expires: str | None) -> bool:
        return expires is not None and expires <= self._now()

    def _write(self, work: Callable[[Transaction], None]) -> None:
        """Make a change that can be repeated, and forget at once what it may have ended."""
        self._store.write(work, again=False)
        self._memory.forget()

    # The last method, since its name hides the type in what follows.
    def list(self) -> list[ServiceAccount]:
        """Return every account by name, revoked ones too."""
        return self._store.read(read_accounts)


def open_accounts(address: Ledger | str | os.PathLike[str], *, create: bool = True) -> Accounts:
    """Open the accounts in the database of a ledger.

    Args:
        address: an address as of ``open_ledger``, or an open ledger, whose connections are shared.
        create: whether to create the ledger and the accounts if they do not exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_accounts(folder + "/ledger.db") as accounts:
        ...         accounts.first_owner() is None, accounts.first_owner() is None
        (False, True)
    """
    if isinstance(address, Ledger):
        return Accounts(address, create=create)
    ledger = open_ledger(address, create=create)
    try:
        accounts = Accounts(ledger, create=create)
    except BaseException:
        ledger.close()
        raise
    accounts.owns_ledger = True
    return accounts
