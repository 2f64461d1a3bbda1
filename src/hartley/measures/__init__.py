"""Measures of what a release reveals: pure functions from a range to a number, by family.

Every measure can be imported from here; its module is imported on first use. The list is in
``hartley.measures.registry``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING


def __getattr__(name: str) -> object:
    """Import a measure from its family on first use."""
    from hartley.measures.registry import HOMES

    if name == "__all__":
        return sorted(HOMES)
    if name not in HOMES:
        raise AttributeError(f"module 'hartley.measures' has no attribute '{name}'")
    value = getattr(import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from hartley.measures.registry import HOMES

    return sorted(HOMES)


if TYPE_CHECKING:
    from hartley.measures.anonymity import (
        alpha_share as alpha_share,
        delta_disclosure as delta_disclosure,
        delta_of_present as delta_of_present,
        distinct_diversity as distinct_diversity,
        entropy_diversity as entropy_diversity,
        equal_closeness as equal_closeness,
        hierarchical_closeness as hierarchical_closeness,
        homogeneous_rows as homogeneous_rows,
        journalist_risk as journalist_risk,
        k_anonymity as k_anonymity,
        marketer_risk as marketer_risk,
        ordered_closeness as ordered_closeness,
        prosecutor_risk as prosecutor_risk,
        record_leakage as record_leakage,
        recursive_diversity as recursive_diversity,
        skewed_rows as skewed_rows,
        t_closeness as t_closeness,
        unique_records as unique_records,
    )
    from hartley.measures.capacity import (
        ZeroErrorCapacity as ZeroErrorCapacity,
        ZeroErrorCode as ZeroErrorCode,
        zero_error_capacity as zero_error_capacity,
        zero_error_capacity_bound as zero_error_capacity_bound,
    )
    from hartley.measures.entropy import (
        ExpectedGuesses as ExpectedGuesses,
        conditional_entropy as conditional_entropy,
        covering_number as covering_number,
        epsilon_entropy as epsilon_entropy,
        expected_guesses as expected_guesses,
        hartley_entropy as hartley_entropy,
        relative_disarray as relative_disarray,
    )
    from hartley.measures.estimation import (
        CellEstimate as CellEstimate,
        best_estimator as best_estimator,
        expected_error_bound as expected_error_bound,
        largest_error as largest_error,
        largest_error_bound as largest_error_bound,
        smallest_error as smallest_error,
        smallest_error_bound as smallest_error_bound,
    )
    from hartley.measures.guessing import (
        WorstAttribute as WorstAttribute,
        guessing_leakage as guessing_leakage,
        identifiability as identifiability,
        maximal_guessing_leakage as maximal_guessing_leakage,
        maximal_leakage_within as maximal_leakage_within,
        worst_attribute as worst_attribute,
    )
    from hartley.measures.hypothesis import (
        HypothesisAnalysis as HypothesisAnalysis,
        IntervalAnalysis as IntervalAnalysis,
        analyse_hypothesis as analyse_hypothesis,
        analyse_intervals as analyse_intervals,
        best_success_bound as best_success_bound,
        indistinguishability as indistinguishability,
        linear_indistinguishability as linear_indistinguishability,
    )
    from hartley.measures.leakage import (
        AlphaLeakage as AlphaLeakage,
        information_transmission as information_transmission,
        maximal_alpha_leakage as maximal_alpha_leakage,
        maximal_leakage as maximal_leakage,
        maximin_information as maximin_information,
        mutual_information as mutual_information,
        nonstochastic_information as nonstochastic_information,
        nonstochastic_leakage as nonstochastic_leakage,
        symmetric_leakage as symmetric_leakage,
    )
    from hartley.measures.likelihood import (
        dependence as dependence,
        guessing_success as guessing_success,
        pointwise_leakage as pointwise_leakage,
    )
    from hartley.measures.noiseless import (
        LearnedByAnyone as LearnedByAnyone,
        NoiselessPrivacy as NoiselessPrivacy,
        noiseless_privacy as noiseless_privacy,
    )
    from hartley.measures.over_time import (
        InformationAt as InformationAt,
        LeakageAt as LeakageAt,
        leakage_over_time as leakage_over_time,
        trajectory_information as trajectory_information,
    )
