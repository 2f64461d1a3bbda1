"""The use cases: a function for each command that reads, releases, checks or attacks tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "attack": (
            "attack_differencing",
            "attack_guessing",
            "attack_homogeneity",
            "attack_hypothesis",
            "attack_load_monitoring",
            "attack_membership",
            "attack_reconstruction",
            "attack_uniqueness",
        ),
        "check.doctor": ("Diagnosis",),
        "look.anonymity": ("leaking_release",),
        "look.special_uniques": ("SpecialUniques",),
        "release.microaggregation": ("mdav", "mu_approx", "univariate_microaggregation"),
    },
)

if TYPE_CHECKING:
    from hartley.studies.attack import (
        attack_differencing as attack_differencing,
        attack_guessing as attack_guessing,
        attack_homogeneity as attack_homogeneity,
        attack_hypothesis as attack_hypothesis,
        attack_load_monitoring as attack_load_monitoring,
        attack_membership as attack_membership,
        attack_reconstruction as attack_reconstruction,
        attack_uniqueness as attack_uniqueness,
    )
    from hartley.studies.check.doctor import Diagnosis as Diagnosis
    from hartley.studies.look.anonymity import leaking_release as leaking_release
    from hartley.studies.look.special_uniques import SpecialUniques as SpecialUniques
    from hartley.studies.release.microaggregation import (
        mdav as mdav,
        mu_approx as mu_approx,
        univariate_microaggregation as univariate_microaggregation,
    )
