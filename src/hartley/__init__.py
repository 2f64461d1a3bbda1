"""Deterministic privacy: measure exactly what a release of data tells about a secret.

Every public name is imported on first use, so that ``import hartley`` stays quick.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "hartley.ranges.relation": (
        "ROW",
        "Relation",
        "OverlapPartition",
        "overlap_partition",
    ),
    "hartley.ranges.classes": (
        "are_unrelated",
        "is_markov_chain",
    ),
    "hartley.ranges.distribution": (
        "Channel",
        "JointDistribution",
    ),
    "hartley.measures.entropy": (
        "conditional_entropy",
        "hartley_entropy",
        "relative_disarray",
        "covering_number",
        "epsilon_entropy",
        "ExpectedGuesses",
        "expected_guesses",
    ),
    "hartley.measures.estimation": (
        "CellEstimate",
        "best_estimator",
        "expected_error_bound",
        "largest_error",
        "largest_error_bound",
        "smallest_error",
        "smallest_error_bound",
    ),
    "hartley.measures.leakage": (
        "information_transmission",
        "nonstochastic_information",
        "nonstochastic_leakage",
        "symmetric_leakage",
        "maximin_information",
        "AlphaLeakage",
        "maximal_alpha_leakage",
        "maximal_leakage",
        "mutual_information",
    ),
    "hartley.measures.guessing": (
        "WorstAttribute",
        "guessing_leakage",
        "identifiability",
        "maximal_guessing_leakage",
        "maximal_leakage_within",
        "worst_attribute",
    ),
    "hartley.measures.capacity": (
        "ZeroErrorCapacity",
        "zero_error_capacity",
        "zero_error_capacity_bound",
    ),
    "hartley.measures.anonymity": (
        "delta_disclosure",
        "equal_closeness",
        "hierarchical_closeness",
        "ordered_closeness",
        "t_closeness",
    ),
    "hartley.ranges.dynamics": ("FiniteSystem",),
    "hartley.measures.over_time": (
        "InformationAt",
        "LeakageAt",
        "leakage_over_time",
        "trajectory_information",
    ),
    "hartley.measures.hypothesis": (
        "HypothesisAnalysis",
        "IntervalAnalysis",
        "analyse_hypothesis",
        "analyse_intervals",
        "best_success_bound",
        "indistinguishability",
        "linear_indistinguishability",
    ),
    "hartley.measures.noiseless": (
        "LearnedByAnyone",
        "NoiselessPrivacy",
        "noiseless_privacy",
    ),
    "hartley.boxes.box": (
        "Box",
        "Interval",
        "IntervalUnion",
    ),
    "hartley.boxes.cut_box": ("CutBox",),
    "hartley.boxes.expression": (
        "parse_expression",
        "variables",
    ),
    "hartley.boxes.volume": (
        "Volume",
        "volume",
    ),
    "hartley.boxes.zonotope": ("Zonotope",),
    "hartley.policies.quantized_column": (
        "Allocation",
        "allocate_bits",
    ),
    "hartley.policies.hypotheses.tables": (
        "BoxTable",
        "best_box",
        "TablePolicy",
    ),
    "hartley.policies.hypotheses.lines": (
        "LineTable",
        "best_line",
        "best_lines",
        "rank_line",
        "BlurringPolicy",
        "StretchPolicy",
        "Threshold",
        "ComparedPolicy",
        "compare_policies",
    ),
    "hartley.policies.hypotheses.open_records": (
        "ContinuousMeetPolicy",
        "OpenRecords",
        "count_open",
        "coverable",
        "most_pairs",
    ),
    "hartley.policies.hypotheses.hypothesis": (
        "Hypothesis",
        "LatticeColumn",
    ),
    "hartley.policies.hypotheses.meeting": ("MeetPolicy",),
    "hartley.policies.categories": ("CategoryMerging",),
    "hartley.policies.optimal": (
        "CutQuantizer",
        "optimal_quantizer",
    ),
    "hartley.policies.quantizer": ("UniformQuantizer",),
    "hartley.policies.vector": (
        "CellBounds",
        "VectorQuantizer",
        "cells_needed",
    ),
    "hartley.guarantees.verify": (
        "certify",
        "verify_exhaustively",
        "Certificate",
        "verify",
        "verify_certificate",
    ),
    "hartley.policies.document": ("PolicyDocument",),
    "hartley.studies.check.doctor": (
        "Diagnosis",
        "doctor",
    ),
    "hartley.studies.look.records": ("microaggregate",),
    "hartley.papers.figure": ("reproduce",),
    "hartley.schema.draft": ("draft_schema",),
    "hartley.studies.release.release": (
        "ReleaseReport",
        "release",
    ),
    "hartley.schema.schema": (
        "Column",
        "Schema",
    ),
    "hartley.guarantees.accountant": ("Accountant",),
    "hartley.agent.agent": (
        "Agent",
        "ask",
    ),
    "hartley.agent.quoting": ("price",),
    "hartley.results.plan": (
        "Plan",
        "PriceCurve",
        "WorkloadEntry",
    ),
    "hartley.agent.planning": ("plan",),
    "hartley.agent.curve": ("price_curve",),
    "hartley.agent.workload": ("read_workload",),
    "hartley.results.answer": (
        "Answer",
        "BatchAnswer",
        "Estimate",
        "Reading",
    ),
    "hartley.results.quote": (
        "Quote",
        "Wish",
    ),
    "hartley.agent.ledger": (
        "Ledger",
        "open_ledger",
    ),
    "hartley.client.remote_agent": (
        "RemoteAgent",
        "connect",
    ),
    "hartley.service.accounts": (
        "Accounts",
        "open_accounts",
    ),
    "hartley.studies.release.tradeoff": (
        "Tradeoff",
        "tradeoff",
    ),
    "hartley.policies.microaggregation": (
        "Microaggregation",
        "mdav",
        "mu_approx",
        "univariate_microaggregation",
    ),
    "hartley.policies.distortion.model": ("PrivacyDistortion",),
    "hartley.policies.distortion.curve": (
        "TradeoffCurve",
        "TradeoffResult",
    ),
    "hartley.studies.release.curve": (
        "CurveReport",
        "curve",
    ),
    "hartley.studies.release.gaussian": (
        "gaussian",
        "GaussianReport",
    ),
    "hartley.policies.gaussian.bound": (
        "GaussianBound",
        "quadratic_gaussian_bound",
        "WaterFilling",
        "water_filling_bound",
        "mutual_information_bound",
    ),
    "hartley.policies.gaussian.rule": ("GaussianRule",),
    "hartley.policies.random.pram": (
        "Pram",
        "PramLeakage",
        "pram_leakage",
    ),
    "hartley.policies.random.estimates": (
        "FrequencyEstimate",
        "estimable",
        "LeastLeaking",
        "least_leaking",
    ),
    "hartley.policies.random.reconstruction": (
        "ReconstructedRelease",
        "reconstruct",
    ),
    "hartley.studies.release.pram": (
        "PramReport",
        "estimate",
        "pram",
    ),
    "hartley.policies.generalisation": (
        "AnonymizedTable",
        "anonymize",
    ),
    "hartley.policies.hierarchy": ("read_hierarchy",),
    "hartley.studies.look.anonymity": (
        "anonymity",
        "leaking_release",
        "AnonymityReport",
    ),
    "hartley.studies.look.special_uniques": (
        "SpecialUniques",
        "special_uniques",
    ),
    "hartley.studies.look.scan": (
        "scan",
        "ScanReport",
    ),
    "hartley.schema.roles": (
        "Roles",
        "open_with_roles",
    ),
    "hartley.tables.opening": ("open_table",),
    "hartley.tables.reading": ("ReadingOptions",),
    "hartley.datasets.catalogue": (
        "dataset",
        "sample",
    ),
    "hartley.datasets.source": ("Dataset",),
    "hartley.datasets.people": ("people",),
    "hartley.attacks.homogeneity": (
        "Homogeneity",
        "Similarity",
        "Skewness",
    ),
    "hartley.attacks.guessing": (
        "BruteForceGuessing",
        "HypothesisTesting",
    ),
    "hartley.attacks.differencing": ("Differencing",),
    "hartley.attacks.reconstruction": ("Reconstruction",),
    "hartley.attacks.membership": ("MembershipGame",),
    "hartley.attacks.load_monitoring": ("LoadMonitoring",),
    "hartley.attacks.uniqueness": (
        "Uniqueness",
        "grid_policy",
    ),
    "hartley.attacks.policy": (
        "PolicyInversion",
        "attack_policy",
    ),
    "hartley.knowledge.transcript": ("Transcript",),
    "hartley.agent.transcript": ("transcripts_of",),
    "hartley.studies.look.audit": (
        "AuditReport",
        "audit",
    ),
    "hartley.studies.check.check": ("check",),
    "hartley.studies.check.check_report": ("CheckReport",),
    "hartley.studies.check.gate": ("assert_safe",),
    "hartley.measures.rules": (
        "Dominance",
        "Frequency",
        "Homogeneous",
        "PPercent",
    ),
    "hartley.studies.release.design": (
        "Design",
        "design",
    ),
    "hartley.studies.release.specification": ("Specification",),
    "hartley.reports": (
        "plot",
        "write_html",
    ),
    "hartley.errors": (
        "CertificateError",
        "ColumnError",
        "EngineError",
        "ReplyError",
        "HartleyError",
        "InputError",
        "NotPermitted",
        "OptionError",
        "Pending",
        "Refused",
        "Stale",
        "TableError",
        "UndefinedMeasure",
    ),
}
RENAMED = {
    "anonymity_report": "anonymity",
    "estimate_frequencies": "estimate",
    "k_anonymize": "anonymize",
    "perturb": "pram",
    "privacy_curve": "curve",
    "quote": "price",
}
"""Names of version 0.1 that still work and warn: a function is called as its command is."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604 - the names are all text


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use; an old name warns and gives the new one."""
    if name in RENAMED:
        warnings.warn(
            f"hartley.{name} is now called hartley.{RENAMED[name]}",
            DeprecationWarning,
            stacklevel=2,
        )
        return __getattr__(RENAMED[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hartley' has no attribute '{name}'")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from hartley.agent.agent import Agent as Agent, ask as ask
    from hartley.agent.curve import price_curve as price_curve
    from hartley.agent.ledger import (
        Ledger as Ledger,
        open_ledger as open_ledger,
    )
    from hartley.agent.planning import plan as plan
    from hartley.agent.quoting import price as price
    from hartley.agent.transcript import transcripts_of as transcripts_of
    from hartley.agent.workload import read_workload as read_workload
    from hartley.attacks.differencing import Differencing as Differencing
    from hartley.attacks.guessing import (
        BruteForceGuessing as BruteForceGuessing,
        HypothesisTesting as HypothesisTesting,
    )
    from hartley.attacks.homogeneity import (
        Homogeneity as Homogeneity,
        Similarity as Similarity,
        Skewness as Skewness,
    )
    from hartley.attacks.load_monitoring import LoadMonitoring as LoadMonitoring
    from hartley.attacks.membership import MembershipGame as MembershipGame
    from hartley.attacks.policy import (
        PolicyInversion as PolicyInversion,
        attack_policy as attack_policy,
    )
    from hartley.attacks.reconstruction import Reconstruction as Reconstruction
    from hartley.attacks.uniqueness import Uniqueness as Uniqueness, grid_policy as grid_policy
    from hartley.boxes.box import (
        Box as Box,
        Interval as Interval,
        IntervalUnion as IntervalUnion,
    )
    from hartley.boxes.cut_box import CutBox as CutBox
    from hartley.boxes.expression import (
        parse_expression as parse_expression,
        variables as variables,
    )
    from hartley.boxes.volume import Volume as Volume, volume as volume
    from hartley.boxes.zonotope import Zonotope as Zonotope
    from hartley.client.remote_agent import RemoteAgent as RemoteAgent, connect as connect
    from hartley.datasets.catalogue import dataset as dataset, sample as sample
    from hartley.datasets.people import people as people
    from hartley.datasets.source import Dataset as Dataset
    from hartley.errors import (
        CertificateError as CertificateError,
        ColumnError as ColumnError,
        EngineError as EngineError,
        HartleyError as HartleyError,
        InputError as InputError,
        NotPermitted as NotPermitted,
        OptionError as OptionError,
        Pending as Pending,
        Refused as Refused,
        ReplyError as ReplyError,
        Stale as Stale,
        TableError as TableError,
        UndefinedMeasure as UndefinedMeasure,
    )
    from hartley.guarantees.accountant import Accountant as Accountant
    from hartley.guarantees.verify import (
        Certificate as Certificate,
        certify as certify,
        verify as verify,
        verify_certificate as verify_certificate,
        verify_exhaustively as verify_exhaustively,
    )
    from hartley.knowledge.transcript import Transcript as Transcript
    from hartley.measures.anonymity import (
        delta_disclosure as delta_disclosure,
        equal_closeness as equal_closeness,
        hierarchical_closeness as hierarchical_closeness,
        ordered_closeness as ordered_closeness,
        t_closeness as t_closeness,
    )
    from hartley.measures.capacity import (
        ZeroErrorCapacity as ZeroErrorCapacity,
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
    from hartley.measures.rules import (
        Dominance as Dominance,
        Frequency as Frequency,
        Homogeneous as Homogeneous,
        PPercent as PPercent,
    )
    from hartley.papers.figure import reproduce as reproduce
    from hartley.policies.categories import CategoryMerging as CategoryMerging
    from hartley.policies.distortion.curve import (
        TradeoffCurve as TradeoffCurve,
        TradeoffResult as TradeoffResult,
    )
    from hartley.policies.distortion.model import PrivacyDistortion as PrivacyDistortion
    from hartley.policies.document import PolicyDocument as PolicyDocument
    from hartley.policies.gaussian.bound import (
        GaussianBound as GaussianBound,
        WaterFilling as WaterFilling,
        mutual_information_bound as mutual_information_bound,
        quadratic_gaussian_bound as quadratic_gaussian_bound,
        water_filling_bound as water_filling_bound,
    )
    from hartley.policies.gaussian.rule import GaussianRule as GaussianRule
    from hartley.policies.generalisation import (
        AnonymizedTable as AnonymizedTable,
        anonymize as anonymize,
    )
    from hartley.policies.hierarchy import read_hierarchy as read_hierarchy
    from hartley.policies.hypotheses.hypothesis import (
        Hypothesis as Hypothesis,
        LatticeColumn as LatticeColumn,
    )
    from hartley.policies.hypotheses.lines import (
        BlurringPolicy as BlurringPolicy,
        ComparedPolicy as ComparedPolicy,
        LineTable as LineTable,
        StretchPolicy as StretchPolicy,
        Threshold as Threshold,
        best_line as best_line,
        best_lines as best_lines,
        compare_policies as compare_policies,
        rank_line as rank_line,
    )
    from hartley.policies.hypotheses.meeting import MeetPolicy as MeetPolicy
    from hartley.policies.hypotheses.open_records import (
        ContinuousMeetPolicy as ContinuousMeetPolicy,
        OpenRecords as OpenRecords,
        count_open as count_open,
        coverable as coverable,
        most_pairs as most_pairs,
    )
    from hartley.policies.hypotheses.tables import (
        BoxTable as BoxTable,
        TablePolicy as TablePolicy,
        best_box as best_box,
    )
    from hartley.policies.microaggregation import (
        Microaggregation as Microaggregation,
        mdav as mdav,
        mu_approx as mu_approx,
        univariate_microaggregation as univariate_microaggregation,
    )
    from hartley.policies.optimal import (
        CutQuantizer as CutQuantizer,
        optimal_quantizer as optimal_quantizer,
    )
    from hartley.policies.quantized_column import (
        Allocation as Allocation,
        allocate_bits as allocate_bits,
    )
    from hartley.policies.quantizer import UniformQuantizer as UniformQuantizer
    from hartley.policies.random.estimates import (
        FrequencyEstimate as FrequencyEstimate,
        LeastLeaking as LeastLeaking,
        estimable as estimable,
        least_leaking as least_leaking,
    )
    from hartley.policies.random.pram import (
        Pram as Pram,
        PramLeakage as PramLeakage,
        pram_leakage as pram_leakage,
    )
    from hartley.policies.random.reconstruction import (
        ReconstructedRelease as ReconstructedRelease,
        reconstruct as reconstruct,
    )
    from hartley.policies.vector import (
        CellBounds as CellBounds,
        VectorQuantizer as VectorQuantizer,
        cells_needed as cells_needed,
    )
    from hartley.ranges.classes import (
        are_unrelated as are_unrelated,
        is_markov_chain as is_markov_chain,
    )
    from hartley.ranges.distribution import (
        Channel as Channel,
        JointDistribution as JointDistribution,
    )
    from hartley.ranges.dynamics import FiniteSystem as FiniteSystem
    from hartley.ranges.relation import (
        ROW as ROW,
        OverlapPartition as OverlapPartition,
        Relation as Relation,
        overlap_partition as overlap_partition,
    )
    from hartley.reports import plot as plot, write_html as write_html
    from hartley.results.answer import (
        Answer as Answer,
        BatchAnswer as BatchAnswer,
        Estimate as Estimate,
        Reading as Reading,
    )
    from hartley.results.plan import (
        Plan as Plan,
        PriceCurve as PriceCurve,
        WorkloadEntry as WorkloadEntry,
    )
    from hartley.results.quote import Quote as Quote, Wish as Wish
    from hartley.schema.draft import draft_schema as draft_schema
    from hartley.schema.roles import Roles as Roles, open_with_roles as open_with_roles
    from hartley.schema.schema import Column as Column, Schema as Schema
    from hartley.service.accounts import (
        Accounts as Accounts,
        open_accounts as open_accounts,
    )
    from hartley.studies.check.check import check as check
    from hartley.studies.check.check_report import CheckReport as CheckReport
    from hartley.studies.check.doctor import Diagnosis as Diagnosis, doctor as doctor
    from hartley.studies.check.gate import assert_safe as assert_safe
    from hartley.studies.look.anonymity import (
        AnonymityReport as AnonymityReport,
        anonymity as anonymity,
        leaking_release as leaking_release,
    )
    from hartley.studies.look.audit import AuditReport as AuditReport, audit as audit
    from hartley.studies.look.records import microaggregate as microaggregate
    from hartley.studies.look.scan import ScanReport as ScanReport, scan as scan
    from hartley.studies.look.special_uniques import (
        SpecialUniques as SpecialUniques,
        special_uniques as special_uniques,
    )
    from hartley.studies.release.curve import CurveReport as CurveReport, curve as curve
    from hartley.studies.release.design import Design as Design, design as design
    from hartley.studies.release.gaussian import (
        GaussianReport as GaussianReport,
        gaussian as gaussian,
    )
    from hartley.studies.release.pram import (
        PramReport as PramReport,
        estimate as estimate,
        pram as pram,
    )
    from hartley.studies.release.release import ReleaseReport as ReleaseReport, release as release
    from hartley.studies.release.specification import Specification as Specification
    from hartley.studies.release.tradeoff import Tradeoff as Tradeoff, tradeoff as tradeoff
    from hartley.tables.opening import open_table as open_table
    from hartley.tables.reading import ReadingOptions as ReadingOptions
