"""WHAT IS PROMISED: certificates, recomputed from the finished policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "verify": ("verify_certificate",),
    },
)

if TYPE_CHECKING:
    from hartley.guarantees.verify import verify_certificate as verify_certificate
