"""WHAT EVERYBODY MAY KNOW of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "roles": ("open_with_roles",),
    },
)

if TYPE_CHECKING:
    from hartley.schema.roles import open_with_roles as open_with_roles
