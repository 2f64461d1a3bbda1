"""WHO TRIES TO LEARN MORE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "guessing": ("BruteForceGuessing", "HypothesisTesting"),
        "homogeneity": ("Similarity", "Skewness"),
        "load_monitoring": ("LoadMonitoring",),
        "membership": ("MembershipGame",),
        "policy": ("PolicyInversion",),
        "uniqueness": ("grid_policy",),
    },
)

if TYPE_CHECKING:
    from hartley.attacks.guessing import (
        BruteForceGuessing as BruteForceGuessing,
        HypothesisTesting as HypothesisTesting,
    )
    from hartley.attacks.homogeneity import Similarity as Similarity, Skewness as Skewness
    from hartley.attacks.load_monitoring import LoadMonitoring as LoadMonitoring
    from hartley.attacks.membership import MembershipGame as MembershipGame
    from hartley.attacks.policy import PolicyInversion as PolicyInversion
    from hartley.attacks.uniqueness import grid_policy as grid_policy
