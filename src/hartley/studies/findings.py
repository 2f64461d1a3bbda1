"""Every measure of a relation, with its symbol and one plain sentence of what it means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from hartley.measures import capacity, entropy, guessing, guessing as identifiability, leakage
from hartley.measures.maximal import maximal_leakage
from hartley.measures.maximin import maximin_information
from hartley.measures.mutual import mutual_information

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.ranges.relations.relation import Relation

Certainty = Literal["exact", "bound", "estimate"]


@dataclass(frozen=True)
class Finding:
    """One measure: its value, how certain it is and what it means."""

    name: str
    title: str
    symbol: str
    value: float
    certainty: Certainty
    """Exact; an upper bound; or an estimate from the frequencies of the rows."""
    sentence: str

    @property
    def shown(self) -> str:
        """The value with four decimals: what may leak rounded up, what is left rounded down."""
        if not math.isfinite(self.value):
            return str(self.value)
        left = self.name in ("conditional_entropy", "relative_disarray")
        cut = (math.floor if left else math.ceil)(Fraction(self.value) * 10_000)
        return f"{cut / 10_000:.4f}"


def find_all(relation: Relation, *, base: float = 2) -> tuple[tuple[Finding, ...], list[str]]:
    """Return every measure of a relation, and notes on how they were computed."""
    summary = relation.summary
    secrets, released = summary.secrets, summary.released
    least, most = int(summary.secret_sizes.min()), int(summary.secret_sizes.max())
    worst = guessing.worst_attribute(relation, base=base)
    notes = []
    if summary.pairs > capacity.LARGEST_PROGRAMME and not _is_function(relation):
        notes.append(
            f"With {summary.pairs:,} distinct pairs the zero-error capacity is bounded by the "
            "smaller range instead of the linear programme."
        )
    found = (
        Finding(
            "hartley_entropy",
            "Entropy of the secret",
            "H₀(X)",
            entropy.hartley_entropy(relation, base=base),
            "exact",
            f"Before the release the secret can be any of {_count(secrets, 'value')}.",
        ),
        Finding(
            "conditional_entropy",
            "Entropy left at best",
            "H₀(X|Y)",
            entropy.conditional_entropy(relation, base=base),
            "exact",
            f"The least telling released value leaves {_count(most, 'value')} possible.",
        ),
        Finding(
            "relative_disarray",
            "Entropy left at worst",
            "d₀(X|Y)",
            entropy.relative_disarray(relation, base=base),
            "exact",
            f"The most telling released value leaves {_count(least, 'value')} possible"
            + (": it gives the secret away." if least == 1 < secrets else "."),
        ),
        Finding(
            "nonstochastic_information",
            "Information",
            "I₀(X;Y)",
            leakage.nonstochastic_information(relation, base=base),
            "exact",
            "Some released value leaves every secret possible."
            if most == secrets
            else "Every released value shortens the list of possible secrets at least "
            f"{_times(secrets, most, math.floor)}.",
        ),
        Finding(
            "nonstochastic_leakage",
            "Leakage",
            "L₀(X;Y)",
            leakage.nonstochastic_leakage(relation, base=base),
            "exact",
            "Every released value leaves every secret possible."
            if least == secrets
            else "The most telling released value shortens the list of possible secrets "
            f"{_times(secrets, least, math.ceil)}.",
        ),
        Finding(
            "symmetric_leakage",
            "Symmetric leakage",
            "L₀ˢ(X;Y)",
            leakage.symmetric_leakage(relation, base=base),
            "exact",
            "The smaller of what the release tells about the secret and the secret about the "
            "release.",
        ),
        Finding(
            "information_transmission",
            "Transmission",
            "T₀(X;Y)",
            leakage.information_transmission(relation, base=base),
            "exact",
            f"Of {secrets * released:,} conceivable pairs of values {summary.pairs:,} occur.",
        ),
        Finding(
            "maximin_information",
            "Maximin information",
            "I⋆(X;Y)",
            maximin_information(relation, base=base),
            "exact",
            "No attribute of the secret is always revealed."
            if summary.classes == 1
            else f"The overlap partition has {summary.classes:,} classes, and every released "
            "value reveals the class of the secret for certain.",
        ),
        Finding(
            "guessing_leakage",
            "Guessing leakage",
            "L(X→Y)",
            guessing.guessing_leakage(relation, base=base),
            "exact",
            f"Trying all possibilities takes up to {_count(secrets, 'trial')} without the "
            f"release; after the most telling released value, up to {least:,}.",
        ),
        Finding(
            "maximal_guessing_leakage",
            "Maximal guessing leakage",
            "L⋆(X→Y)",
            guessing.maximal_guessing_leakage(relation, base=base),
            "exact",
            "No attribute of the secret is narrowed."
            if least == secrets
            else f"An attribute of the secret with {_count(worst.values, 'value')} can be given "
            "away in one trial.",
        ),
        Finding(
            "identifiability",
            "Identifiability",
            "ε",
            identifiability.identifiability(relation, base=base),
            "exact",
            "The smallest budget for which the release is identifiable: every released value "
            f"leaves at least {_share(least, secrets)} of the secrets possible.",
        ),
        Finding(
            "zero_error_capacity_bound",
            "Zero-error capacity",
            "C₀ ≤",
            capacity.zero_error_capacity_bound(relation, base=base),
            "bound",
            "A stream of such releases carries at most this much a record about the secrets "
            "without any error.",
        ),
        Finding(
            "maximal_leakage",
            "Maximal leakage (stochastic)",
            "L̃⋆(X→Y)",
            maximal_leakage(relation, base=base),
            "estimate",
            "If people were drawn at random, one guess at any function of the secret would succeed "
            + (
                f"at most {_times(summary.peak_share, 1, math.ceil)} as often with the release."
                if summary.peak_share > 1
                else "no more often with the release."
            ),
        ),
        Finding(
            "mutual_information",
            "Mutual information (stochastic)",
            "I(X;Y)",
            mutual_information(relation, base=base),
            "estimate",
            "If people were drawn at random, the release would tell this much on average; the "
            "person whom a rare value gives away disappears in the average.",
        ),
    )
    return found, notes


def _is_function(relation: Relation) -> bool:
    """Tell whether one side is a function of the other, which makes the capacity exact."""
    summary = relation.summary
    return summary.pairs in (summary.secrets, summary.released)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _times(whole: float, part: int, rounding: Callable[[float], int]) -> str:
    """Show a ratio, rounded so that what is said of it stays true."""
    ratio = Fraction(whole) / part
    digits = 0 if ratio >= 100 or ratio.denominator == 1 else 2 if ratio < 10 else 1
    return f"{rounding(ratio * 10**digits) / 10**digits:,.{digits}f} times"


def _share(part: int, whole: int) -> str:
    """Show a share in percent, rounded down to two digits."""
    digits = 0 if part == whole else max(0, 1 - math.floor(math.log10(100 * part / whole)))
    percent = math.floor(Fraction(100 * 10**digits * part, whole)) / 10**digits
    return f"{percent:.{digits}f} %"
