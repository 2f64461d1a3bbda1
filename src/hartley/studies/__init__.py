"""Studies of tables and releases: one function for each command that is not about an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "check.doctor": ("Diagnosis",),
        "look.anonymity": ("leaking_release",),
        "look.special_uniques": ("SpecialUniques",),
        "release.microaggregation": ("mdav", "mu_approx", "univariate_microaggregation"),
    },
)

if TYPE_CHECKING:
    from hartley.studies.check.doctor import Diagnosis as Diagnosis
    from hartley.studies.look.anonymity import leaking_release as leaking_release
    from hartley.studies.look.special_uniques import SpecialUniques as SpecialUniques
    from hartley.studies.release.microaggregation import (
        mdav as mdav,
        mu_approx as mu_approx,
        univariate_microaggregation as univariate_microaggregation,
    )
