"""Deterministic privacy: measure exactly what a release of data tells about a secret.

Every public name is imported on first use, so that ``import hartley`` stays quick.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "hartley.ranges.relations.relation": ("ROW", "Relation"),
    "hartley.ranges.relations.partition": ("OverlapPartition", "overlap_partition"),
    "hartley.ranges.relations.relatedness": ("are_unrelated", "is_markov_chain"),
    "hartley.ranges.relations.distribution": ("Channel", "JointDistribution"),
    "hartley.measures.entropy": (
        "conditional_entropy",
        "hartley_entropy",
        "relative_disarray",
        "covering_number",
        "epsilon_entropy",
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
    ),
    "hartley.measures.maximin": ("maximin_information",),
    "hartley.measures.guessing": (
        "WorstAttribute",
        "guessing_leakage",
        "identifiability",
        "maximal_guessing_leakage",
        "maximal_leakage_within",
        "worst_attribute",
    ),
    "hartley.measures.alpha_leakage": ("AlphaLeakage", "maximal_alpha_leakage"),
    "hartley.measures.guesswork": ("ExpectedGuesses", "expected_guesses"),
    "hartley.measures.capacity": (
        "ZeroErrorCapacity",
        "zero_error_capacity",
        "zero_error_capacity_bound",
    ),
    "hartley.measures.maximal": ("maximal_leakage",),
    "hartley.measures.mutual": ("mutual_information",),
    "hartley.measures.closeness": (
        "delta_disclosure",
        "equal_closeness",
        "hierarchical_closeness",
        "ordered_closeness",
        "t_closeness",
    ),
    "hartley.ranges.relations.dynamics": ("FiniteSystem",),
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
    "hartley.measures.noiseless": ("LearnedByAnyone", "NoiselessPrivacy", "noiseless_privacy"),
    "hartley.ranges.boxes.box": ("Box", "Interval", "IntervalUnion"),
    "hartley.ranges.boxes.cut_box": ("CutBox",),
    "hartley.ranges.boxes.expression": ("parse_expression", "variables"),
    "hartley.ranges.boxes.volume": ("Volume", "volume"),
    "hartley.ranges.boxes.zonotope": ("Zonotope",),
    "hartley.policies.quantizers.allocation": ("Allocation", "allocate_bits"),
    "hartley.policies.hypotheses.best_box": ("BoxTable", "best_box"),
    "hartley.policies.hypotheses.best_line": ("LineTable", "best_line", "best_lines", "rank_line"),
    "hartley.policies.hypotheses.blurring": ("BlurringPolicy", "StretchPolicy", "Threshold"),
    "hartley.policies.hypotheses.comparison": ("ComparedPolicy", "compare_policies"),
    "hartley.policies.hypotheses.continuous_meet": ("ContinuousMeetPolicy",),
    "hartley.policies.hypotheses.hypothesis": ("Hypothesis",),
    "hartley.policies.hypotheses.lattice": ("LatticeColumn",),
    "hartley.policies.hypotheses.meeting": ("MeetPolicy",),
    "hartley.policies.hypotheses.open_records": (
        "OpenRecords",
        "count_open",
        "coverable",
        "most_pairs",
    ),
    "hartley.policies.hypotheses.table_policy": ("TablePolicy",),
    "hartley.policies.categories.merging": ("CategoryMerging",),
    "hartley.policies.quantizers.optimal": ("CutQuantizer", "optimal_quantizer"),
    "hartley.policies.quantizers.quantizer": ("UniformQuantizer",),
    "hartley.policies.quantizers.vector": ("CellBounds", "VectorQuantizer", "cells_needed"),
    "hartley.guarantees.certify": ("certify", "verify_exhaustively"),
    "hartley.guarantees.verify": ("Certificate", "verify", "verify_certificate"),
    "hartley.policies.document": ("PolicyDocument",),
    "hartley.studies.doctor": ("Diagnosis", "doctor"),
    "hartley.studies.microdata": ("microaggregate",),
    "hartley.papers.reproduce": ("reproduce",),
    "hartley.ranges.schema.draft": ("draft_schema",),
    "hartley.studies.release": ("ReleaseReport", "release"),
    "hartley.ranges.schema.schema": ("Column", "Schema"),
    "hartley.guarantees.accountant": ("Accountant",),
    "hartley.agent.planning_agent": ("Agent",),
    "hartley.agent.quotes": ("Wish",),
    "hartley.agent.asking": ("price",),
    "hartley.agent.opening_agent": ("ask",),
    "hartley.agent.plan": ("Plan",),
    "hartley.agent.planning": ("plan",),
    "hartley.agent.price_curve": ("PriceCurve", "price_curve"),
    "hartley.agent.workload": ("WorkloadEntry", "read_workload"),
    "hartley.agent.answers.answer": ("Answer", "BatchAnswer"),
    "hartley.agent.answers.quote": ("Quote",),
    "hartley.agent.answers.estimate": ("Estimate", "Reading"),
    "hartley.agent.ledger.auditable_ledger": ("Ledger", "open_ledger"),
    "hartley.client.remote_agent": ("RemoteAgent", "connect"),
    "hartley.service.accounts.accounts": ("Accounts", "open_accounts"),
    "hartley.studies.tradeoff": ("Tradeoff", "tradeoff"),
    "hartley.policies.records.group_averages": ("Microaggregation",),
    "hartley.policies.records.microaggregation": (
        "mdav",
        "mu_approx",
        "univariate_microaggregation",
    ),
    "hartley.policies.distortion.model": ("PrivacyDistortion",),
    "hartley.policies.distortion.curve": ("TradeoffCurve",),
    "hartley.policies.distortion.result": ("TradeoffResult",),
    "hartley.studies.curve": ("CurveReport", "curve"),
    "hartley.studies.gaussian": ("gaussian",),
    "hartley.studies.gaussian_report": ("GaussianReport",),
    "hartley.policies.gaussian.bound": ("GaussianBound", "quadratic_gaussian_bound"),
    "hartley.policies.gaussian.closed_form": ("WaterFilling", "water_filling_bound"),
    "hartley.policies.gaussian.mixture": ("mutual_information_bound",),
    "hartley.policies.gaussian.rule": ("GaussianRule",),
    "hartley.policies.perturbation.pram": ("Pram",),
    "hartley.policies.perturbation.leakage": ("PramLeakage", "pram_leakage"),
    "hartley.policies.perturbation.frequencies": ("FrequencyEstimate", "estimable"),
    "hartley.policies.perturbation.best_matrix": ("LeastLeaking", "least_leaking"),
    "hartley.policies.perturbation.reconstruction": ("ReconstructedRelease", "reconstruct"),
    "hartley.studies.pram": ("PramReport", "estimate", "pram"),
    "hartley.policies.records.generalisation": ("AnonymizedTable", "anonymize"),
    "hartley.policies.records.hierarchy": ("read_hierarchy",),
    "hartley.studies.anonymity": ("anonymity", "leaking_release"),
    "hartley.studies.anonymity_findings": ("AnonymityReport",),
    "hartley.studies.special_uniques": ("SpecialUniques", "special_uniques"),
    "hartley.studies.scan": ("scan",),
    "hartley.studies.scan_report": ("ScanReport",),
    "hartley.ranges.schema.roles": ("Roles", "open_with_roles"),
    "hartley.engines.tables.sources": ("open_table",),
    "hartley.engines.tables.reading_options": ("ReadingOptions",),
    "hartley.datasets.catalogue": ("dataset",),
    "hartley.datasets.dataset": ("Dataset",),
    "hartley.datasets.people": ("people",),
    "hartley.datasets.sample": ("sample",),
    "hartley.adversaries.homogeneity": ("Homogeneity", "Similarity", "Skewness"),
    "hartley.adversaries.guessing": ("BruteForceGuessing",),
    "hartley.adversaries.hypothesis": ("HypothesisTesting",),
    "hartley.adversaries.differencing": ("Differencing",),
    "hartley.adversaries.reconstruction": ("Reconstruction",),
    "hartley.adversaries.membership": ("MembershipGame",),
    "hartley.adversaries.load_monitoring": ("LoadMonitoring",),
    "hartley.adversaries.uniqueness": ("Uniqueness", "grid_policy"),
    "hartley.adversaries.policy": ("PolicyInversion",),
    "hartley.studies.attack_policy": ("attack_policy",),
    "hartley.ranges.transcripts.transcript": ("Transcript",),
    "hartley.agent.transcript": ("transcripts_of",),
    "hartley.studies.audit": ("AuditReport", "audit"),
    "hartley.studies.check": ("check",),
    "hartley.studies.check_report": ("CheckReport",),
    "hartley.studies.gate": ("assert_safe",),
    "hartley.measures.sensitivity": ("Dominance", "Frequency", "Homogeneous", "PPercent"),
    "hartley.studies.design": ("Design", "design"),
    "hartley.studies.specification": ("Specification",),
    "hartley.reports": ("plot", "write_html"),
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
    from hartley.adversaries.differencing import Differencing as Differencing
    from hartley.adversaries.guessing import BruteForceGuessing as BruteForceGuessing
    from hartley.adversaries.homogeneity import (
        Homogeneity as Homogeneity,
        Similarity as Similarity,
        Skewness as Skewness,
    )
    from hartley.adversaries.hypothesis import HypothesisTesting as HypothesisTesting
    from hartley.adversaries.load_monitoring import LoadMonitoring as LoadMonitoring
    from hartley.adversaries.membership import MembershipGame as MembershipGame
    from hartley.adversaries.policy import PolicyInversion as PolicyInversion
    from hartley.adversaries.reconstruction import Reconstruction as Reconstruction
    from hartley.adversaries.uniqueness import Uniqueness as Uniqueness, grid_policy as grid_policy
    from hartley.agent.answers.answer import (
        Answer as Answer,
        BatchAnswer as BatchAnswer,
    )
    from hartley.agent.answers.estimate import Estimate as Estimate, Reading as Reading
    from hartley.agent.answers.quote import Quote as Quote
    from hartley.agent.asking import price as price
    from hartley.agent.ledger.auditable_ledger import (
        Ledger as Ledger,
        open_ledger as open_ledger,
    )
    from hartley.agent.opening_agent import ask as ask
    from hartley.agent.plan import Plan as Plan
    from hartley.agent.planning import plan as plan
    from hartley.agent.planning_agent import Agent as Agent
    from hartley.agent.price_curve import PriceCurve as PriceCurve, price_curve as price_curve
    from hartley.agent.quotes import Wish as Wish
    from hartley.agent.transcript import transcripts_of as transcripts_of
    from hartley.agent.workload import (
        WorkloadEntry as WorkloadEntry,
        read_workload as read_workload,
    )
    from hartley.client.remote_agent import RemoteAgent as RemoteAgent, connect as connect
    from hartley.datasets.catalogue import dataset as dataset
    from hartley.datasets.dataset import Dataset as Dataset
    from hartley.datasets.people import people as people
    from hartley.datasets.sample import sample as sample
    from hartley.engines.tables.reading_options import ReadingOptions as ReadingOptions
    from hartley.engines.tables.sources import open_table as open_table
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
    from hartley.guarantees.certify import (
        certify as certify,
        verify_exhaustively as verify_exhaustively,
    )
    from hartley.guarantees.verify import (
        Certificate as Certificate,
        verify as verify,
        verify_certificate as verify_certificate,
    )
    from hartley.measures.alpha_leakage import (
        AlphaLeakage as AlphaLeakage,
        maximal_alpha_leakage as maximal_alpha_leakage,
    )
    from hartley.measures.capacity import (
        ZeroErrorCapacity as ZeroErrorCapacity,
        zero_error_capacity as zero_error_capacity,
        zero_error_capacity_bound as zero_error_capacity_bound,
    )
    from hartley.measures.closeness import (
        delta_disclosure as delta_disclosure,
        equal_closeness as equal_closeness,
        hierarchical_closeness as hierarchical_closeness,
        ordered_closeness as ordered_closeness,
        t_closeness as t_closeness,
    )
    from hartley.measures.entropy import (
        conditional_entropy as conditional_entropy,
        covering_number as covering_number,
        epsilon_entropy as epsilon_entropy,
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
    from hartley.measures.guesswork import (
        ExpectedGuesses as ExpectedGuesses,
        expected_guesses as expected_guesses,
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
        information_transmission as information_transmission,
        nonstochastic_information as nonstochastic_information,
        nonstochastic_leakage as nonstochastic_leakage,
        symmetric_leakage as symmetric_leakage,
    )
    from hartley.measures.maximal import maximal_leakage as maximal_leakage
    from hartley.measures.maximin import maximin_information as maximin_information
    from hartley.measures.mutual import mutual_information as mutual_information
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
    from hartley.measures.sensitivity import (
        Dominance as Dominance,
        Frequency as Frequency,
        Homogeneous as Homogeneous,
        PPercent as PPercent,
    )
    from hartley.papers.reproduce import reproduce as reproduce
    from hartley.policies.categories.merging import CategoryMerging as CategoryMerging
    from hartley.policies.distortion.curve import TradeoffCurve as TradeoffCurve
    from hartley.policies.distortion.model import PrivacyDistortion as PrivacyDistortion
    from hartley.policies.distortion.result import TradeoffResult as TradeoffResult
    from hartley.policies.document import PolicyDocument as PolicyDocument
    from hartley.policies.gaussian.bound import (
        GaussianBound as GaussianBound,
        quadratic_gaussian_bound as quadratic_gaussian_bound,
    )
    from hartley.policies.gaussian.closed_form import (
        WaterFilling as WaterFilling,
        water_filling_bound as water_filling_bound,
    )
    from hartley.policies.gaussian.mixture import (
        mutual_information_bound as mutual_information_bound,
    )
    from hartley.policies.gaussian.rule import GaussianRule as GaussianRule
    from hartley.policies.hypotheses.best_box import BoxTable as BoxTable, best_box as best_box
    from hartley.policies.hypotheses.best_line import (
        LineTable as LineTable,
        best_line as best_line,
        best_lines as best_lines,
        rank_line as rank_line,
    )
    from hartley.policies.hypotheses.blurring import (
        BlurringPolicy as BlurringPolicy,
        StretchPolicy as StretchPolicy,
        Threshold as Threshold,
    )
    from hartley.policies.hypotheses.comparison import (
        ComparedPolicy as ComparedPolicy,
        compare_policies as compare_policies,
    )
    from hartley.policies.hypotheses.continuous_meet import (
        ContinuousMeetPolicy as ContinuousMeetPolicy,
    )
    from hartley.policies.hypotheses.hypothesis import Hypothesis as Hypothesis
    from hartley.policies.hypotheses.lattice import LatticeColumn as LatticeColumn
    from hartley.policies.hypotheses.meeting import MeetPolicy as MeetPolicy
    from hartley.policies.hypotheses.open_records import (
        OpenRecords as OpenRecords,
        count_open as count_open,
        coverable as coverable,
        most_pairs as most_pairs,
    )
    from hartley.policies.hypotheses.table_policy import TablePolicy as TablePolicy
    from hartley.policies.perturbation.best_matrix import (
        LeastLeaking as LeastLeaking,
        least_leaking as least_leaking,
    )
    from hartley.policies.perturbation.frequencies import (
        FrequencyEstimate as FrequencyEstimate,
        estimable as estimable,
    )
    from hartley.policies.perturbation.leakage import (
        PramLeakage as PramLeakage,
        pram_leakage as pram_leakage,
    )
    from hartley.policies.perturbation.pram import Pram as Pram
    from hartley.policies.perturbation.reconstruction import (
        ReconstructedRelease as ReconstructedRelease,
        reconstruct as reconstruct,
    )
    from hartley.policies.quantizers.allocation import (
        Allocation as Allocation,
        allocate_bits as allocate_bits,
    )
    from hartley.policies.quantizers.optimal import (
        CutQuantizer as CutQuantizer,
        optimal_quantizer as optimal_quantizer,
    )
    from hartley.policies.quantizers.quantizer import UniformQuantizer as UniformQuantizer
    from hartley.policies.quantizers.vector import (
        CellBounds as CellBounds,
        VectorQuantizer as VectorQuantizer,
        cells_needed as cells_needed,
    )
    from hartley.policies.records.generalisation import (
        AnonymizedTable as AnonymizedTable,
        anonymize as anonymize,
    )
    from hartley.policies.records.group_averages import Microaggregation as Microaggregation
    from hartley.policies.records.hierarchy import read_hierarchy as read_hierarchy
    from hartley.policies.records.microaggregation import (
        mdav as mdav,
        mu_approx as mu_approx,
        univariate_microaggregation as univariate_microaggregation,
    )
    from hartley.ranges.boxes.box import (
        Box as Box,
        Interval as Interval,
        IntervalUnion as IntervalUnion,
    )
    from hartley.ranges.boxes.cut_box import CutBox as CutBox
    from hartley.ranges.boxes.expression import (
        parse_expression as parse_expression,
        variables as variables,
    )
    from hartley.ranges.boxes.volume import Volume as Volume, volume as volume
    from hartley.ranges.boxes.zonotope import Zonotope as Zonotope
    from hartley.ranges.relations.distribution import (
        Channel as Channel,
        JointDistribution as JointDistribution,
    )
    from hartley.ranges.relations.dynamics import FiniteSystem as FiniteSystem
    from hartley.ranges.relations.partition import (
        OverlapPartition as OverlapPartition,
        overlap_partition as overlap_partition,
    )
    from hartley.ranges.relations.relatedness import (
        are_unrelated as are_unrelated,
        is_markov_chain as is_markov_chain,
    )
    from hartley.ranges.relations.relation import ROW as ROW, Relation as Relation
    from hartley.ranges.schema.draft import draft_schema as draft_schema
    from hartley.ranges.schema.roles import Roles as Roles, open_with_roles as open_with_roles
    from hartley.ranges.schema.schema import Column as Column, Schema as Schema
    from hartley.ranges.transcripts.transcript import Transcript as Transcript
    from hartley.reports import plot as plot, write_html as write_html
    from hartley.service.accounts.accounts import (
        Accounts as Accounts,
        open_accounts as open_accounts,
    )
    from hartley.studies.anonymity import (
        anonymity as anonymity,
        leaking_release as leaking_release,
    )
    from hartley.studies.anonymity_findings import AnonymityReport as AnonymityReport
    from hartley.studies.attack_policy import attack_policy as attack_policy
    from hartley.studies.audit import AuditReport as AuditReport, audit as audit
    from hartley.studies.check import check as check
    from hartley.studies.check_report import CheckReport as CheckReport
    from hartley.studies.curve import CurveReport as CurveReport, curve as curve
    from hartley.studies.design import Design as Design, design as design
    from hartley.studies.doctor import Diagnosis as Diagnosis, doctor as doctor
    from hartley.studies.gate import assert_safe as assert_safe
    from hartley.studies.gaussian import gaussian as gaussian
    from hartley.studies.gaussian_report import GaussianReport as GaussianReport
    from hartley.studies.microdata import microaggregate as microaggregate
    from hartley.studies.pram import (
        PramReport as PramReport,
        estimate as estimate,
        pram as pram,
    )
    from hartley.studies.release import ReleaseReport as ReleaseReport, release as release
    from hartley.studies.scan import scan as scan
    from hartley.studies.scan_report import ScanReport as ScanReport
    from hartley.studies.special_uniques import (
        SpecialUniques as SpecialUniques,
        special_uniques as special_uniques,
    )
    from hartley.studies.specification import Specification as Specification
    from hartley.studies.tradeoff import Tradeoff as Tradeoff, tradeoff as tradeoff
