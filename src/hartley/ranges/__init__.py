"""WHAT COULD BE TRUE: ranges of uncertain variables, and their relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "classes": (
            "are_unrelated",
            "is_markov_chain",
        ),
        "dynamics": ("FiniteSystem",),
        "relation": (
            "OverlapPartition",
            "overlap_partition",
        ),
    },
)

if TYPE_CHECKING:
    from hartley.ranges.classes import (
        are_unrelated as are_unrelated,
        is_markov_chain as is_markov_chain,
    )
    from hartley.ranges.dynamics import FiniteSystem as FiniteSystem
    from hartley.ranges.relation import (
        OverlapPartition as OverlapPartition,
        overlap_partition as overlap_partition,
    )
