"""Deterministic privacy: measure exactly what a release of data tells about a secret.

Every public name is imported on first use, so that ``import hartley`` stays quick.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from hartley.version import __version__

_HOMES = {
    "hartley.agent.agent": ("Agent", "ask"),
    "hartley.agent.curve": ("price_curve",),
    "hartley.agent.ledger": ("Ledger", "open_ledger"),
    "hartley.agent.planning": ("plan",),
    "hartley.agent.quoting": ("price",),
    "hartley.agent.transcript": ("transcripts_of",),
    "hartley.agent.workload": ("read_workload",),
    "hartley.attacks.differencing": ("Differencing",),
    "hartley.attacks.homogeneity": ("Homogeneity",),
    "hartley.attacks.policy": ("attack_policy",),
    "hartley.attacks.reconstruction": ("Reconstruction",),
    "hartley.attacks.uniqueness": ("Uniqueness",),
    "hartley.boxes.box": ("Box", "Interval"),
    "hartley.boxes.cut_box": ("CutBox",),
    "hartley.client.remote_agent": ("RemoteAgent", "connect"),
    "hartley.datasets.catalogue": ("dataset", "sample"),
    "hartley.datasets.people": ("people",),
    "hartley.datasets.source": ("Dataset",),
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
    "hartley.guarantees.accountant": ("Accountant",),
    "hartley.guarantees.exhaustive": ("verify_exhaustively",),
    "hartley.guarantees.verify": ("certify", "Certificate", "verify"),
    "hartley.knowledge.transcript": ("Transcript",),
    "hartley.measures.capacity": ("zero_error_capacity",),
    "hartley.measures.entropy": ("hartley_entropy",),
    "hartley.measures.estimation": ("smallest_error",),
    "hartley.measures.guessing": (
        "guessing_leakage",
        "maximal_guessing_leakage",
        "worst_attribute",
    ),
    "hartley.measures.hypothesis": ("analyse_hypothesis",),
    "hartley.measures.leakage": (
        "nonstochastic_leakage",
        "maximin_information",
        "maximal_leakage",
        "mutual_information",
    ),
    "hartley.measures.noiseless": ("noiseless_privacy",),
    "hartley.measures.rules": ("Dominance", "Frequency", "Homogeneous", "PPercent"),
    "hartley.papers.figure": ("reproduce",),
    "hartley.policies.distortion.model": ("PrivacyDistortion",),
    "hartley.policies.document": ("PolicyDocument",),
    "hartley.policies.gaussian.bound": ("quadratic_gaussian_bound",),
    "hartley.policies.hypotheses.hypothesis": ("Hypothesis",),
    "hartley.policies.hypotheses.lines": ("BlurringPolicy", "StretchPolicy", "Threshold"),
    "hartley.policies.hypotheses.meeting": ("MeetPolicy",),
    "hartley.policies.optimal": ("CutQuantizer", "optimal_quantizer"),
    "hartley.policies.quantizer": ("UniformQuantizer",),
    "hartley.policies.random.pram": ("Pram",),
    "hartley.policies.vector": ("VectorQuantizer",),
    "hartley.ranges.distribution": ("Channel", "JointDistribution"),
    "hartley.ranges.relation": ("ROW", "Relation"),
    "hartley.reports": ("plot", "write_html"),
    "hartley.results.answer": ("Answer", "BatchAnswer", "Estimate"),
    "hartley.results.plan": ("PriceCurve", "Plan"),
    "hartley.results.quote": ("Quote", "Wish"),
    "hartley.schema.draft": ("draft_schema",),
    "hartley.schema.roles": ("Roles",),
    "hartley.schema.schema": ("Column", "Schema"),
    "hartley.service.accounts": ("Accounts", "open_accounts"),
    "hartley.studies.check.check": ("check",),
    "hartley.studies.check.check_report": ("CheckReport",),
    "hartley.studies.check.doctor": ("doctor",),
    "hartley.studies.check.gate": ("assert_safe",),
    "hartley.studies.look.anonymity": ("anonymity", "AnonymityReport"),
    "hartley.studies.look.audit": ("AuditReport", "audit"),
    "hartley.studies.look.scan": ("scan", "ScanReport"),
    "hartley.studies.look.special_uniques": ("special_uniques",),
    "hartley.studies.look.verdict": ("Verdict",),
    "hartley.studies.release.curve": ("CurveReport", "curve"),
    "hartley.studies.release.design": ("Design", "design"),
    "hartley.studies.release.gaussian": ("gaussian", "GaussianReport"),
    "hartley.studies.release.generalisation": ("AnonymizedTable", "anonymize"),
    "hartley.studies.release.microaggregation": ("Microaggregation", "microaggregate"),
    "hartley.studies.release.pram": ("PramReport", "estimate", "pram"),
    "hartley.studies.release.release": ("ReleaseReport", "release"),
    "hartley.studies.release.specification": ("Specification",),
    "hartley.studies.release.tradeoff": ("Tradeoff", "tradeoff"),
    "hartley.tables.opening": ("open_table",),
    "hartley.tables.reading": ("ReadingOptions",),
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
MOVED = {
    "attacks": (
        "BruteForceGuessing",
        "HypothesisTesting",
        "LoadMonitoring",
        "MembershipGame",
        "PolicyInversion",
        "Similarity",
        "Skewness",
        "grid_policy",
    ),
    "boxes": (
        "IntervalUnion",
        "Volume",
        "Zonotope",
        "parse_expression",
        "variables",
        "volume",
    ),
    "guarantees": ("verify_certificate",),
    "measures": (
        "AlphaLeakage",
        "CellEstimate",
        "ExpectedGuesses",
        "HypothesisAnalysis",
        "InformationAt",
        "IntervalAnalysis",
        "LeakageAt",
        "LearnedByAnyone",
        "NoiselessPrivacy",
        "WorstAttribute",
        "ZeroErrorCapacity",
        "analyse_intervals",
        "best_estimator",
        "best_success_bound",
        "conditional_entropy",
        "covering_number",
        "delta_disclosure",
        "epsilon_entropy",
        "equal_closeness",
        "expected_error_bound",
        "expected_guesses",
        "hierarchical_closeness",
        "identifiability",
        "indistinguishability",
        "information_transmission",
        "largest_error",
        "largest_error_bound",
        "leakage_over_time",
        "linear_indistinguishability",
        "maximal_alpha_leakage",
        "maximal_leakage_within",
        "nonstochastic_information",
        "ordered_closeness",
        "relative_disarray",
        "smallest_error_bound",
        "symmetric_leakage",
        "t_closeness",
        "trajectory_information",
        "zero_error_capacity_bound",
    ),
    "policies": (
        "Allocation",
        "BoxTable",
        "CategoryMerging",
        "CellBounds",
        "ComparedPolicy",
        "ContinuousMeetPolicy",
        "FrequencyEstimate",
        "GaussianBound",
        "GaussianRule",
        "LatticeColumn",
        "LeastLeaking",
        "LineTable",
        "OpenRecords",
        "PramLeakage",
        "ReconstructedRelease",
        "TablePolicy",
        "TradeoffCurve",
        "TradeoffResult",
        "WaterFilling",
        "allocate_bits",
        "best_box",
        "best_line",
        "best_lines",
        "cells_needed",
        "compare_policies",
        "count_open",
        "coverable",
        "estimable",
        "least_leaking",
        "most_pairs",
        "mutual_information_bound",
        "pram_leakage",
        "rank_line",
        "read_hierarchy",
        "reconstruct",
        "water_filling_bound",
    ),
    "ranges": (
        "FiniteSystem",
        "OverlapPartition",
        "are_unrelated",
        "is_markov_chain",
        "overlap_partition",
    ),
    "results": ("Reading", "WorkloadEntry"),
    "schema": ("open_with_roles",),
    "studies": (
        "Diagnosis",
        "SpecialUniques",
        "leaking_release",
        "mdav",
        "mu_approx",
        "univariate_microaggregation",
    ),
}
"""Names of version 0.1 that stand in their room now."""
_NEW_NAMES = {name: f"{room}.{name}" for room, names in MOVED.items() for name in names} | RENAMED
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604 - the names are all text


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use; an old name warns and gives the new one."""
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    elif name in _NEW_NAMES:
        new = _NEW_NAMES[name]
        warnings.warn(f"hartley.{name} is now called hartley.{new}", DeprecationWarning, 2)
        room, _, last = f"hartley.{new}".rpartition(".")
        return getattr(import_module(room), last)
    elif name in MOVED:
        value = import_module(f"hartley.{name}")
    else:
        raise AttributeError(f"module 'hartley' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from hartley import (
        attacks as attacks,
        boxes as boxes,
        guarantees as guarantees,
        measures as measures,
        policies as policies,
        ranges as ranges,
        results as results,
        schema as schema,
        studies as studies,
    )
    from hartley.agent.agent import Agent as Agent, ask as ask
    from hartley.agent.curve import price_curve as price_curve
    from hartley.agent.ledger import Ledger as Ledger, open_ledger as open_ledger
    from hartley.agent.planning import plan as plan
    from hartley.agent.quoting import price as price
    from hartley.agent.transcript import transcripts_of as transcripts_of
    from hartley.agent.workload import read_workload as read_workload
    from hartley.attacks.differencing import Differencing as Differencing
    from hartley.attacks.homogeneity import Homogeneity as Homogeneity
    from hartley.attacks.policy import attack_policy as attack_policy
    from hartley.attacks.reconstruction import Reconstruction as Reconstruction
    from hartley.attacks.uniqueness import Uniqueness as Uniqueness
    from hartley.boxes.box import Box as Box, Interval as Interval
    from hartley.boxes.cut_box import CutBox as CutBox
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
    from hartley.guarantees.exhaustive import verify_exhaustively as verify_exhaustively
    from hartley.guarantees.verify import (
        Certificate as Certificate,
        certify as certify,
        verify as verify,
    )
    from hartley.knowledge.transcript import Transcript as Transcript
    from hartley.measures.capacity import zero_error_capacity as zero_error_capacity
    from hartley.measures.entropy import hartley_entropy as hartley_entropy
    from hartley.measures.estimation import smallest_error as smallest_error
    from hartley.measures.guessing import (
        guessing_leakage as guessing_leakage,
        maximal_guessing_leakage as maximal_guessing_leakage,
        worst_attribute as worst_attribute,
    )
    from hartley.measures.hypothesis import analyse_hypothesis as analyse_hypothesis
    from hartley.measures.leakage import (
        maximal_leakage as maximal_leakage,
        maximin_information as maximin_information,
        mutual_information as mutual_information,
        nonstochastic_leakage as nonstochastic_leakage,
    )
    from hartley.measures.noiseless import noiseless_privacy as noiseless_privacy
    from hartley.measures.rules import (
        Dominance as Dominance,
        Frequency as Frequency,
        Homogeneous as Homogeneous,
        PPercent as PPercent,
    )
    from hartley.papers.figure import reproduce as reproduce
    from hartley.policies.distortion.model import PrivacyDistortion as PrivacyDistortion
    from hartley.policies.document import PolicyDocument as PolicyDocument
    from hartley.policies.gaussian.bound import quadratic_gaussian_bound as quadratic_gaussian_bound
    from hartley.policies.hypotheses.hypothesis import Hypothesis as Hypothesis
    from hartley.policies.hypotheses.lines import (
        BlurringPolicy as BlurringPolicy,
        StretchPolicy as StretchPolicy,
        Threshold as Threshold,
    )
    from hartley.policies.hypotheses.meeting import MeetPolicy as MeetPolicy
    from hartley.policies.optimal import (
        CutQuantizer as CutQuantizer,
        optimal_quantizer as optimal_quantizer,
    )
    from hartley.policies.quantizer import UniformQuantizer as UniformQuantizer
    from hartley.policies.random.pram import Pram as Pram
    from hartley.policies.vector import VectorQuantizer as VectorQuantizer
    from hartley.ranges.distribution import (
        Channel as Channel,
        JointDistribution as JointDistribution,
    )
    from hartley.ranges.relation import ROW as ROW, Relation as Relation
    from hartley.reports import plot as plot, write_html as write_html
    from hartley.results.answer import (
        Answer as Answer,
        BatchAnswer as BatchAnswer,
        Estimate as Estimate,
    )
    from hartley.results.plan import Plan as Plan, PriceCurve as PriceCurve
    from hartley.results.quote import Quote as Quote, Wish as Wish
    from hartley.schema.draft import draft_schema as draft_schema
    from hartley.schema.roles import Roles as Roles
    from hartley.schema.schema import Column as Column, Schema as Schema
    from hartley.service.accounts import Accounts as Accounts, open_accounts as open_accounts
    from hartley.studies.check.check import check as check
    from hartley.studies.check.check_report import CheckReport as CheckReport
    from hartley.studies.check.doctor import doctor as doctor
    from hartley.studies.check.gate import assert_safe as assert_safe
    from hartley.studies.look.anonymity import (
        AnonymityReport as AnonymityReport,
        anonymity as anonymity,
    )
    from hartley.studies.look.audit import AuditReport as AuditReport, audit as audit
    from hartley.studies.look.scan import ScanReport as ScanReport, scan as scan
    from hartley.studies.look.special_uniques import special_uniques as special_uniques
    from hartley.studies.look.verdict import Verdict as Verdict
    from hartley.studies.release.curve import CurveReport as CurveReport, curve as curve
    from hartley.studies.release.design import Design as Design, design as design
    from hartley.studies.release.gaussian import (
        GaussianReport as GaussianReport,
        gaussian as gaussian,
    )
    from hartley.studies.release.generalisation import (
        AnonymizedTable as AnonymizedTable,
        anonymize as anonymize,
    )
    from hartley.studies.release.microaggregation import (
        Microaggregation as Microaggregation,
        microaggregate as microaggregate,
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
