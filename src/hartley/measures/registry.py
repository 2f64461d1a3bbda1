"""Every measure by name: its symbol, source and unit, which ranges it takes, and how it is told.

The audit, the reports and the tables of docs/reference.md and docs/notation.md are made from this
list. A new measure is one function in the module of its family and one entry here; then
``python tools/measure_tables.py`` writes the tables anew, and a test fails until that was done.
Importing this module imports no measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from hartley.text import count_of, number, times

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.ranges.counting import CountedRange

Certainty = Literal["exact", "bound", "estimate"]
"""Exact; a bound that is never on the wrong side; or an estimate from relative frequencies."""
Unit = Literal["logarithm", "count", "share", "ratio", "distance", "analysis"]
Taken = Literal[
    "relation",
    "class table",
    "box",
    "distribution",
    "channel",
    "intervals",
    "system",
    "numbers",
    "mechanism",
    "table",
]


@dataclass(frozen=True)
class AuditFacts:
    """The counts of a relation that the sentences of an audit speak of."""

    secrets: int
    released: int
    pairs: int
    least: int
    """How many secrets the most telling released value leaves possible."""
    most: int
    """How many the least telling one leaves possible."""
    classes: int
    """Of the overlap partition."""
    peak_share: float
    gain: Fraction
    """How many times as likely as in the table the most telling released value makes a secret."""

    @classmethod
    def of(cls, relation: CountedRange) -> AuditFacts:
        """Read them off a relation."""
        from hartley.measures.likelihood import likelihood_gain

        summary = relation.summary
        return cls(
            summary.secrets,
            summary.released,
            summary.pairs,
            int(summary.secret_sizes.min()),
            int(summary.secret_sizes.max()),
            summary.classes,
            summary.peak_share,
            likelihood_gain(relation),
        )

    @property
    def one_side_is_a_function(self) -> bool:
        """Whether one side is a function of the other."""
        return self.pairs in (self.secrets, self.released)


@dataclass(frozen=True)
class MeasureEntry:
    """One measure, as everything that lists measures shows it."""

    name: str
    module: str
    """The module of its family, below ``hartley.measures``."""
    title: str
    symbol: str
    source: str
    """Where it is defined; the letters of the papers are those of docs/notation.md."""
    takes: tuple[Taken, ...]
    unit: Unit = "logarithm"
    certainty: Certainty = "exact"
    notation: str = ""
    """How the papers write it, where that is more than the symbol."""
    results: tuple[str, ...] = ()
    """Classes of the same module in which it answers."""
    sentence: Callable[[AuditFacts], str] | None = None
    """What the number means, in an audit; without one, audits leave the measure out."""
    note: Callable[[AuditFacts], str] | None = None
    """What a reader of an audit should know about how it was computed; empty where nothing."""
    is_left: bool = False
    """Whether it measures what stays unknown, and is rounded down; what leaks is rounded up."""

    @property
    def home(self) -> str:
        """The full name of its module."""
        return f"hartley.measures.{self.module}"

    @property
    def function(self) -> Callable[..., Any]:
        """The measure itself, imported on first use."""
        function: Callable[..., Any] = getattr(import_module(self.home), self.name)
        return function


def _capacity_note(facts: AuditFacts) -> str:
    from hartley.measures.capacity import LARGEST_PROGRAMME

    if facts.pairs <= LARGEST_PROGRAMME or facts.one_side_is_a_function:
        return ""
    return (
        f"With {facts.pairs:,} distinct pairs the zero-error capacity is bounded by the "
        "smaller range instead of the linear programme."
    )


# --- the measures -----------------------------------------------------------------------------

SIZES: tuple[Taken, ...] = ("relation", "class table", "box")
COUNTS: tuple[Taken, ...] = ("relation", "class table")
FREQUENCIES: tuple[Taken, ...] = ("relation", "class table", "distribution")

_OF_RELEASES = (
    MeasureEntry(
        "hartley_entropy",
        "entropy",
        "Entropy of the secret",
        "H₀(X)",
        "A (1), B (1)",
        SIZES,
        notation="H₀(X), h₀(X)",
        sentence=lambda facts: (
            f"Before the release the secret can be any of {count_of(facts.secrets, 'value')}."
        ),
    ),
    MeasureEntry(
        "conditional_entropy",
        "entropy",
        "Entropy left at best",
        "H₀(X|Y)",
        "A (2), B (3)",
        SIZES,
        notation="H₀(X|Y), h₀(X|Y)",
        is_left=True,
        sentence=lambda facts: (
            f"The least telling released value leaves {count_of(facts.most, 'value')} possible."
        ),
    ),
    MeasureEntry(
        "relative_disarray",
        "entropy",
        "Entropy left at worst",
        "d₀(X|Y)",
        "A (5)",
        SIZES,
        is_left=True,
        sentence=lambda facts: (
            f"The most telling released value leaves {count_of(facts.least, 'value')} possible"
            + (": it gives the secret away." if facts.least == 1 < facts.secrets else ".")
        ),
    ),
    MeasureEntry(
        "nonstochastic_information",
        "leakage",
        "Information",
        "I₀(X;Y)",
        "A (3), B (5)",
        SIZES,
        sentence=lambda facts: (
            "Some released value leaves every secret possible."
            if facts.most == facts.secrets
            else "Every released value shortens the list of possible secrets at least "
            f"{times(Fraction(facts.secrets, facts.most), up=False)}."
        ),
    ),
    MeasureEntry(
        "nonstochastic_leakage",
        "leakage",
        "Leakage",
        "L₀(X;Y)",
        "A (6), B (6)",
        SIZES,
        sentence=lambda facts: (
            "Every released value leaves every secret possible."
            if facts.least == facts.secrets
            else "The most telling released value shortens the list of possible secrets "
            f"{times(Fraction(facts.secrets, facts.least), up=True)}."
        ),
    ),
    MeasureEntry(
        "symmetric_leakage",
        "leakage",
        "Symmetric leakage",
        "L₀ˢ(X;Y)",
        "B (8)",
        COUNTS,
        sentence=lambda _facts: (
            "The smaller of what the release tells about the secret and the secret about the "
            "release."
        ),
    ),
    MeasureEntry(
        "information_transmission",
        "leakage",
        "Transmission",
        "T₀(X;Y)",
        "A (8)",
        COUNTS,
        sentence=lambda facts: (
            f"Of {facts.secrets * facts.released:,} conceivable pairs of values "
            f"{facts.pairs:,} occur."
        ),
    ),
    MeasureEntry(
        "maximin_information",
        "leakage",
        "Maximin information",
        "I⋆(X;Y)",
        "A (9), B (9)",
        SIZES,
        sentence=lambda facts: (
            "No attribute of the secret is always revealed."
            if facts.classes == 1
            else f"The overlap partition has {facts.classes:,} classes, and every released "
            "value reveals the class of the secret for certain."
        ),
    ),
    MeasureEntry(
        "guessing_leakage",
        "guessing",
        "Guessing leakage",
        "L(X→Y)",
        "C Def. 1",
        COUNTS,
        notation="L(U → Y)",
        sentence=lambda facts: (
            f"Trying all possibilities takes up to {count_of(facts.secrets, 'trial')} without the "
            f"release; after the most telling released value, up to {facts.least:,}."
        ),
    ),
    MeasureEntry(
        "maximal_guessing_leakage",
        "guessing",
        "Maximal guessing leakage",
        "L⋆(X→Y)",
        "C Def. 2, Prop. 4",
        COUNTS,
        notation="L⋆(X → Y)",
        sentence=lambda facts: (
            "No attribute of the secret is narrowed."
            if facts.least == facts.secrets
            else "An attribute of the secret with "
            f"{count_of(facts.secrets - facts.least + 1, 'value')} can be given away in one trial."
        ),
    ),
    MeasureEntry(
        "worst_attribute",
        "guessing",
        "Attribute that leaks most",
        "u*, g of (17)",
        "C (17)",
        ("relation",),
        unit="analysis",
        results=("WorstAttribute",),
    ),
    MeasureEntry(
        "identifiability",
        "guessing",
        "Identifiability",
        "ε",
        "C Def. 3",
        COUNTS,
        notation="ε-identifiable",
        sentence=lambda facts: (
            "The smallest budget for which the release is identifiable: every released value "
            "leaves at least "
            f"{number(Fraction(100 * facts.least, facts.secrets), 2, round='down', zeros=True)} % "
            "of the secrets possible."
        ),
    ),
    MeasureEntry(
        "expected_guesses",
        "entropy",
        "Guessing entropy (stochastic)",
        "H_G(U), H_G(U|Y)",
        "Massey 1994; C Sec. III",
        FREQUENCIES,
        unit="analysis",
        results=("ExpectedGuesses",),
    ),
    MeasureEntry(
        "maximal_leakage_within",
        "guessing",
        "Leakage within a budget",
        "L⋆ ≤",
        "C Cor. 5",
        ("numbers",),
        certainty="bound",
    ),
    MeasureEntry(
        "zero_error_capacity_bound",
        "capacity",
        "Zero-error capacity",
        "C₀ ≤",
        "B Prop. 2",
        COUNTS,
        certainty="bound",
        notation="C₀ ≤ log α*",  # noqa: RUF001 - a symbol of the papers
        sentence=lambda _facts: (
            "A stream of such releases carries at most this much a record about the secrets "
            "without any error."
        ),
        note=_capacity_note,
    ),
    MeasureEntry(
        "zero_error_capacity",
        "capacity",
        "Zero-error capacity, both sides",
        "≤ C₀ ≤",
        "B Prop. 2; Shannon 1956, Lovász 1979",
        ("relation",),
        unit="analysis",
        certainty="bound",
        notation="log α(Gᵏ)/k ≤ C₀ ≤ log θ(G)",  # noqa: RUF001 - a symbol of the papers
        results=("ZeroErrorCapacity", "ZeroErrorCode"),
    ),
    MeasureEntry(
        "maximal_leakage",
        "leakage",
        "Maximal leakage (stochastic)",
        "L̃⋆(X→Y)",
        "C Def. 4",
        (*FREQUENCIES, "channel"),
        certainty="estimate",
        notation="L̃⋆(X → Y), I_∞(X;Y)",
        sentence=lambda facts: (
            "If people were drawn at random, one guess at any function of the secret would succeed "
            + (
                f"at most {times(Fraction(facts.peak_share), up=True)} as often with the release."
                if facts.peak_share > 1
                else "no more often with the release."
            )
        ),
    ),
    MeasureEntry(
        "pointwise_leakage",
        "likelihood",
        "Pointwise maximal leakage (stochastic)",
        "ℓ(X→y)",  # noqa: RUF001 - a symbol of the papers
        "Saeidian et al. 2023",
        COUNTS,
        certainty="estimate",
        notation="max log p(x|y)/p(x)",
        sentence=lambda facts: (
            "In the most telling group some secret is "
            f"{times(facts.gain, up=True)} as likely as in the whole table."
            if facts.gain > 1
            else "In no group is any secret likelier than in the whole table."
        ),
    ),
    MeasureEntry(
        "guessing_success",
        "likelihood",
        "Guesses that are right, with and without",
        "V, V₀",
        "Smith 2009",
        COUNTS,
        unit="share",
        notation="Σ max p(x,y), max p(x)",
    ),
    MeasureEntry(
        "dependence",
        "likelihood",
        "How well one column foretells another",
        "λ",
        "Goodman and Kruskal 1954",
        ("table",),
        unit="share",
    ),
    MeasureEntry(
        "maximal_alpha_leakage",
        "leakage",
        "Maximal α-leakage (stochastic)",  # noqa: RUF001 - a symbol of the papers
        "L_α",  # noqa: RUF001
        "Liao et al. 2019; C Sec. VII",
        (*FREQUENCIES, "channel"),
        unit="analysis",
        certainty="bound",
        notation="sup I_α(X;Y), 1 ≤ α ≤ ∞",  # noqa: RUF001
        results=("AlphaLeakage",),
    ),
    MeasureEntry(
        "mutual_information",
        "leakage",
        "Mutual information (stochastic)",
        "I(X;Y)",
        "Shannon 1948, E (1), (2)",
        FREQUENCIES,
        certainty="estimate",
        notation="I(X;Y), R = I(W; X̂)",
        sentence=lambda _facts: (
            "If people were drawn at random, the release would tell this much on average; the "
            "person whom a rare value gives away disappears in the average."
        ),
    ),
)
_OTHERS = (
    # --- beliefs about a confidential side ----------------------------------------------------
    MeasureEntry("t_closeness", "anonymity", "t-closeness, divergence", "max KL", "E Sec. 4.3",
                 FREQUENCIES, certainty="estimate", notation="max KL, D(p(w|x̂) ‖ p(w)) ≤ t"),
    MeasureEntry("delta_disclosure", "anonymity", "δ-disclosure", "δ",
                 "Brickell and Shmatikov 2008, E Sec. 4.3", FREQUENCIES, certainty="estimate",
                 notation="δ, max |log p(w|x̂)/p(w)| < δ"),
    MeasureEntry("equal_closeness", "anonymity", "t-closeness, equal distances", "t",
                 "Li et al. 2007", FREQUENCIES, unit="distance"),
    MeasureEntry("ordered_closeness", "anonymity", "t-closeness, ordered distances", "t",
                 "Li et al. 2007", FREQUENCIES, unit="distance"),
    MeasureEntry("hierarchical_closeness", "anonymity", "t-closeness, hierarchy", "t",
                 "Li et al. 2007", FREQUENCIES, unit="distance"),
    # --- systems that move, hypotheses --------------------------------------------------------
    MeasureEntry("leakage_over_time", "over_time", "Leakage over time", "L₀(t)",
                 "beyond C Sec. VII", ("system",), unit="analysis", results=("LeakageAt",)),
    MeasureEntry("trajectory_information", "over_time", "Maximin information of trajectories",
                 "I⋆(t)", "beyond C Sec. VII", ("system",), unit="analysis",
                 results=("InformationAt",)),
    MeasureEntry("analyse_hypothesis", "hypothesis", "What decides a hypothesis", "Priv",
                 "D Thms 1 and 2, (10)", ("relation",), unit="analysis",
                 results=("HypothesisAnalysis",)),
    MeasureEntry("analyse_intervals", "hypothesis", "What decides a hypothesis, continuous",
                 "Priv", "D Thm 2, (9)", ("intervals",), unit="analysis",
                 results=("IntervalAnalysis",)),
    # --- one person among many ----------------------------------------------------------------
    MeasureEntry("noiseless_privacy", "noiseless", "Outputs that one person can produce", "N",
                 "B Def. 1", ("mechanism", "relation", "channel"), unit="analysis",
                 notation="N, ε = log₂ N", results=("NoiselessPrivacy", "LearnedByAnyone")),
    # --- errors of estimators -----------------------------------------------------------------
    MeasureEntry("largest_error", "estimation", "Error of the best estimator, at most", "dmax",
                 "A (4)", ("box",), unit="distance"),
    MeasureEntry("smallest_error", "estimation", "Error of the best estimator, at least", "dmin",
                 "A (7)", ("box",), unit="distance", is_left=True),
    MeasureEntry("largest_error_bound", "estimation", "Bound on the largest error", "dmax ≥",
                 "A Thm II.1", ("box",), unit="distance", certainty="bound", is_left=True),
    MeasureEntry("smallest_error_bound", "estimation", "Bound on the smallest error", "dmin ≥",
                 "A Thm II.2", ("box",), unit="distance", certainty="bound", is_left=True),
    MeasureEntry("best_estimator", "estimation", "Best estimator", "X̂(y)", "A Ass. II.1",
                 ("box",), unit="analysis", results=("CellEstimate",)),
    MeasureEntry("expected_error_bound", "estimation",
                 "Bound on the expected error about one person", "E|X−X̂|ᵖ ≥",  # noqa: RUF001 - a minus sign
                 "B Thm 4, corrected", ("numbers",), unit="distance", certainty="bound",
                 is_left=True),
    MeasureEntry("best_success_bound", "hypothesis", "Success of the best test, at least",
                 "P(Ĥ=H) ≥", "D Thm 3, corrected", ("intervals",), unit="share",
                 certainty="bound"),
    MeasureEntry("indistinguishability", "hypothesis", "What tells two secrets apart", "ε",
                 "D Def. 5, (13)", ("relation",), notation="ε-indistinguishability"),
    MeasureEntry("linear_indistinguishability", "hypothesis",
                 "What tells two values of a person apart, continuous", "ε", "D Def. 5, (12)",
                 ("box",), notation="ε-indistinguishability, continuous"),
    MeasureEntry("covering_number", "entropy", "Sets of diameter 2ε that cover a range", "N_ε",
                 "A Rem. II.1", ("box", "intervals"), unit="count"),
    MeasureEntry("epsilon_entropy", "entropy", "ε-entropy", "h_ε(X)", "A Rem. II.1, corrected",
                 ("box", "intervals")),
    # --- classes of records with equal keys ---------------------------------------------------
    MeasureEntry("k_anonymity", "anonymity", "k-anonymity", "k", "Samarati and Sweeney 1998",
                 COUNTS, unit="count", is_left=True),
    MeasureEntry("record_leakage", "anonymity", "non-stochastic leakage", "L₀ = log(n/k)",
                 "A (6)", COUNTS),
    MeasureEntry("unique_records", "anonymity", "unique records", "nᵢ = 1", "a count", COUNTS,
                 unit="count"),
    MeasureEntry("prosecutor_risk", "anonymity", "prosecutor", "max 1/nᵢ",
                 "El Emam and Dankar 2008", COUNTS, unit="share"),
    MeasureEntry("journalist_risk", "anonymity", "journalist", "max 1/Nᵢ",
                 "El Emam and Dankar 2008", ("numbers",), unit="share"),
    MeasureEntry("marketer_risk", "anonymity", "marketer", "mean 1/Nᵢ", "Dankar and El Emam 2010",
                 COUNTS, unit="share"),
    MeasureEntry("distinct_diversity", "anonymity", "distinct l-diversity", "l, p",
                 "Machanavajjhala et al. 2007", COUNTS, unit="count", is_left=True),
    MeasureEntry("entropy_diversity", "anonymity", "entropy l-diversity", "min 2ᴴ",
                 "Machanavajjhala et al. 2007", COUNTS, unit="count", certainty="estimate",
                 is_left=True),
    MeasureEntry("recursive_diversity", "anonymity", "recursive (c, l)-diversity", "c",
                 "Machanavajjhala et al. 2007", COUNTS, unit="ratio"),
    MeasureEntry("alpha_share", "anonymity", "(alpha, k)-anonymity", "max nᵢₛ/nᵢ",
                 "Wong et al. 2006", COUNTS, unit="share"),
    MeasureEntry("delta_of_present", "anonymity", "δ of the values that a class has", "δ",
                 "Brickell and Shmatikov 2008", COUNTS),
    MeasureEntry("homogeneous_rows", "anonymity", "homogeneity attack", "nᵢₛ = nᵢ",
                 "Machanavajjhala et al. 2007", COUNTS, unit="count"),
    MeasureEntry("skewed_rows", "anonymity", "skewness attack", "pᵢₛ/qₛ > r", "Li et al. 2007",
                 COUNTS, unit="count"),
)  # fmt: skip

_ENTRIES = (*_OF_RELEASES, *_OTHERS)

MEASURES: dict[str, MeasureEntry] = {entry.name: entry for entry in _ENTRIES}
"""By name, in the order in which audits and tables list them."""
AUDITED: tuple[MeasureEntry, ...] = tuple(entry for entry in _ENTRIES if entry.sentence)
"""Those that an audit of a relation reports."""
HOMES: dict[str, str] = {
    name: entry.home for entry in _ENTRIES for name in (entry.name, *entry.results)
}
"""The module of every name that ``hartley.measures`` exports."""
