"""Every measure of a relation that an audit reports, with what its number means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.measures.registry import AUDITED, MEASURES, AuditFacts
from hartley.wording import direction, rounded

if TYPE_CHECKING:
    from hartley.measures.registry import Certainty
    from hartley.ranges.relations.relation import Relation

DOUBLES = 1e-9
"""A logarithm may miss a whole number by less than this."""


@dataclass(frozen=True)
class MeasureFinding:
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
        """The value with four decimals: leakage is rounded up, remaining uncertainty down."""
        if not math.isfinite(self.value):
            return str(self.value)
        return rounded(Fraction(self.value), 4, up=not MEASURES[self.name].is_left)

    @property
    def marked(self) -> str:
        """The same with a sign where it was rounded: at most (≤), at least (≥)."""
        return direction(self.shown, self.value, DOUBLES) + self.shown

    @property
    def in_words(self) -> str:
        """The same for a sentence, with words where it was rounded."""
        return direction(self.shown, self.value, DOUBLES, words=True) + self.shown


def find_all(
    relation: Relation, *, base: float = 2
) -> tuple[tuple[MeasureFinding, ...], list[str]]:
    """Return every measure that audits report of a relation, and notes on how they were computed.

    Example:
        >>> from hartley.ranges.relations.relation import Relation
        >>> findings, notes = find_all(Relation.from_pairs([(0, "a"), (1, "a"), (2, "b")]))
        >>> findings[1].shown, findings[1].sentence, notes
        ('1.0000', 'The least telling released value leaves 2 values possible.', [])
    """
    facts = AuditFacts.of(relation)
    findings = tuple(
        MeasureFinding(
            entry.name,
            entry.title,
            entry.symbol,
            entry.function(relation, base=base),
            entry.certainty,
            entry.sentence(facts),
        )
        for entry in AUDITED
        if entry.sentence is not None
    )
    return findings, [note for entry in AUDITED if entry.note and (note := entry.note(facts))]
