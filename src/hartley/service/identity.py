"""Who asks: roles, scopes, tokens and what a request is known by."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from hartley.errors import HartleyError, InputError, OptionError
from hartley.exact import bits_at_least, read_integer, write_integer
from hartley.text import listed
from hartley.trusted.ledger.chain import find
from hartley.trusted.ledger.state import read_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hartley.trusted.ledger.store import LedgerStore, Transaction

ACCOUNT_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.ASCII)
TOKEN_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
TOKEN_TEXT = re.compile(r"hartley_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)
LONGEST_LABEL, LONGEST_KEY = 100, 200
"""Characters of a token's label and of an idempotency key."""
UNANSWERED = ""
"""Stands in the column of the reply until there is one."""
NOTED_EVERY = timedelta(minutes=1)
"""How often the last use of a token is written."""
PATIENCE = 10.0
"""Seconds to wait for the last write."""


class Role(StrEnum):
    """What an account is for."""

    OWNER = "owner"
    """Manages datasets, accounts, tokens and allowances."""
    ANALYST = "analyst"
    """Asks about the datasets that an owner granted."""
    AUDITOR = "auditor"
    """Verifies the ledger and reads the audit log."""


class TokenScope(StrEnum):
    """What a token may do; each scope includes those before it."""

    PRICE = "price"
    """See prices, which costs nothing."""
    REPEAT = "repeat"
    """See again what the account has paid for."""
    ASK = "ask"
    """Ask new questions, which spends the account's allowance."""

    def includes(self, other: TokenScope | str) -> bool:
        """Tell whether this scope allows what another one does.

        Example:
            >>> TokenScope.REPEAT.includes("price"), TokenScope.REPEAT.includes("ask")
            (True, False)
        """
        order = list(TokenScope)
        return order.index(TokenScope(other)) <= order.index(self)


@dataclass(frozen=True)
class ServiceAccount:
    """An account of a service, as an owner sees it."""

    name: str
    role: Role
    created: str
    revoked: str | None
    """When it was revoked in UTC, None if it is in use."""
    datasets: frozenset[str]
    """The granted datasets; an owner sees all, without a grant."""
    daily_cap: Fraction | None
    """The most that the account may spend on one UTC day, in bits; None without a cap."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {
            "name": self.name,
            "role": self.role.value,
            "created": self.created,
            "revoked": self.revoked,
            "datasets": sorted(self.datasets),
            "daily_cap_bits": None if self.daily_cap is None else str(self.daily_cap),
        }


@dataclass(frozen=True)
class TokenRecord:
    """What is kept of a token: everything but its secret."""

    token_id: str
    account: str
    scope: TokenScope
    label: str | None
    created: str
    expires: str | None
    revoked: str | None
    last_used: str | None
    """Correct to about a minute."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return asdict(self) | {"scope": self.scope.value}


@dataclass(frozen=True)
class IssuedToken:
    """A new token; its text is shown once and kept nowhere."""

    token_id: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class Identity:
    """What a request is known by, once its token or session was checked."""

    account: str
    role: Role
    scope: TokenScope
    token_id: str | None
    """None where a reverse proxy names the account."""
    datasets: frozenset[str] = frozenset()
    """The granted datasets."""

    def sees(self, dataset: str) -> bool:
        """Tell whether the account may know of a dataset: owners of all, others of granted ones."""
        return self.role is Role.OWNER or dataset in self.datasets


@dataclass(frozen=True)
class BrowserSession:
    """A browser that is logged in, and the text that its forms must carry."""

    identity: Identity
    csrf: str = field(repr=False)


@dataclass(frozen=True)
class AuditRow:
    """One act in the audit log."""

    sequence: int
    time: str
    who: str
    act: str
    subject: str
    """The account, token or dataset that was acted on."""
    detail: str


def new_token() -> tuple[IssuedToken, str]:
    """Draw a token of 256 random bits; return it with the verifier that is kept of it.

    The secret is random and long, so a plain SHA-256 of it cannot be searched backwards.
    """
    token_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    text = f"hartley_{token_id}_{secret}"
    return IssuedToken(token_id, text), verifier_of(text)


def token_id_of(text: str) -> str:
    """Return the public part of a token's text; of any other text, an id that no token has."""
    parts = TOKEN_TEXT.fullmatch(text)
    return parts[1] if parts else "-" * 16


def verifier_of(text: str) -> str:
    """Return the SHA-256 of a secret text, in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def csrf_of(session: str) -> str:
    """Return the text that the forms of a session carry.

    It rests on what only the browser has: a reader of the database cannot forge a form.
    """
    return hmac.new(session.encode(), b"hartley csrf", hashlib.sha256).hexdigest()


def check_account_name(name: object) -> str:
    """Return the name of an account; raise an error for one that could confuse a reader."""
    if not isinstance(name, str) or not ACCOUNT_NAME.fullmatch(name):
        raise OptionError(
            "The name of the account is not of the allowed form",
            hint="use 1 to 64 lower-case letters, digits and . _ @ + -, beginning with a letter or "
            "digit",
        )
    return name


def read_role(role: object) -> Role:
    """Return a role from its name."""
    try:
        return Role(str(role))
    except ValueError:
        raise OptionError(
            f"There is no role '{role}'", hint=f"use {listed(Role, joint='or')}"
        ) from None


def widest_scope(scopes: TokenScope | str | Iterable[TokenScope | str]) -> TokenScope:
    """Return the scope that includes all of those named.

    Example:
        >>> widest_scope(["price", "repeat"]).value
        'repeat'
    """
    named = [scopes] if isinstance(scopes, str) else list(scopes)
    unknown = [str(scope) for scope in named if str(scope) not in list(TokenScope)]
    if unknown or not named:
        problem = f"There is no scope '{unknown[0]}'" if unknown else "A token has no scope"
        raise OptionError(problem, hint=f"use {listed(TokenScope, joint='or')}")
    return max((TokenScope(scope) for scope in named), key=list(TokenScope).index)


def check_label(label: object) -> str | None:
    """Return the label of a token; raise an error for one that is too long or not printable."""
    if label is None:
        return None
    if not isinstance(label, str) or not label.isprintable() or len(label) > LONGEST_LABEL:
        raise OptionError(
            "The label of the token is too long or not printable",
            hint=f"use up to {LONGEST_LABEL} printable characters",
        )
    return label


def time_text(moment: datetime) -> str:
    """Return a time as it is stored: UTC, of fixed length, so that texts compare like times.

    Example:
        >>> time_text(datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
        '2026-03-01T09:30:00.000000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


# --- idempotency keys ---
# A key is bound in the transaction that charges for its request. So a request is charged with its
# key bound, or not at all, also where the process ends between the charge and the reply: the same
# request again finds the charge in the row of the ledger that the key names.


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
    _, after = read_state(entry)
    due = Fraction(after.spent, before)
    return bits_at_least(due.numerator, due.denominator)


def bind_key(
    transaction: Transaction, request: KeyedRequest, dataset: str, now: str, since: str
) -> None:
    """Bind a key inside the transaction that is about to charge for its request."""
    if find_key(transaction, request, since) is not None:
        # Paid for once, and unpaid again: the data were replaced between the two.
        raise InputError(
            "The request was charged before the dataset was replaced, and would be charged again",
            hint="draw a new random key to ask about the new version",
        )
    head = transaction.head()  # nobody else writes meanwhile: the row of the charge is the next one
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


# --- last uses of tokens ---


class LastUses:
    """Notes uses of tokens; a thread of its own writes them, so that no request waits."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._noted: dict[str, datetime] = {}
        """When each token was noted from here."""
        self._changed = threading.Condition()
        self._waiting: dict[str, datetime] = {}
        self._writing = False

    def note(self, token_id: str, moment: datetime) -> None:
        """Note that a token is used."""
        last = self._noted.get(token_id)
        if last is not None and moment - last < NOTED_EVERY:
            return
        self._noted[token_id] = moment  # before writing, so that a failing disk is tried rarely
        with self._changed:
            self._waiting[token_id] = moment
            if self._writing:
                return
            self._writing = True
        threading.Thread(target=self._write, name="hartley last uses", daemon=True).start()

    def flush(self) -> None:
        """Wait until everything is written, or for some seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing, PATIENCE)

    def _write(self) -> None:
        try:
            while uses := self._taken():
                with suppress(HartleyError):  # read-only or full: a token may still be used
                    self._store.write(partial(_write_uses, uses=uses))
        except BaseException:
            with self._changed:
                self._writing = False
            raise

    def _taken(self) -> dict[str, datetime]:
        """Return what waits; if it is nothing, the thread ends, and a note starts another."""
        with self._changed:
            uses, self._waiting = self._waiting, {}
            if not uses:
                self._writing = False
                self._changed.notify_all()
            return uses


def _write_uses(transaction: Transaction, uses: dict[str, datetime]) -> None:
    transaction.run_many(
        "UPDATE hartley_service_tokens SET last_used = ? "
        "WHERE id = ? AND (last_used IS NULL OR last_used <= ?)",
        [
            (time_text(moment), token_id, time_text(moment - NOTED_EVERY))
            for token_id, moment in uses.items()
        ],
    )
