"""Accounts of a service: who may ask, with which tokens, and what owners did."""

from hartley.service.accounts.accounts import Accounts, open_accounts
from hartley.service.accounts.identity import (
    AuditRow,
    BrowserSession,
    Identity,
    IssuedToken,
    Role,
    ServiceAccount,
    TokenRecord,
    TokenScope,
)

__all__ = [
    "Accounts",
    "AuditRow",
    "BrowserSession",
    "Identity",
    "IssuedToken",
    "Role",
    "ServiceAccount",
    "TokenRecord",
    "TokenScope",
    "open_accounts",
]
