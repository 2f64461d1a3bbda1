"""Who asks: roles, scopes, tokens and what a request is known by."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

ACCOUNT_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.ASCII)
TOKEN_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
TOKEN_TEXT = re.compile(r"hartley_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)
LONGEST_LABEL = 100


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

    The secret is random and long, so a plain SHA-256 cannot be searched backwards, and a slow hash
    would only make requests slow.
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

    It is computed from the text of the session, which only the browser has: a reader of the
    database cannot forge a form.
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
