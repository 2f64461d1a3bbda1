"""WHAT COMES BACK: data only, the same for agent, service and client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "answer": ("Reading",),
        "plan": ("WorkloadEntry",),
    },
)

if TYPE_CHECKING:
    from hartley.results.answer import Reading as Reading
    from hartley.results.plan import WorkloadEntry as WorkloadEntry
