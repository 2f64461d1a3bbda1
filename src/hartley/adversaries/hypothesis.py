"""The hypothesis-testing attack: for how many people a release decides a hypothesis for certain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hartley.adversaries.finding import AttackEstimate
from hartley.chart import Chart, Panel, Series
from hartley.measures.hypothesis import analyse_hypothesis
from hartley.numerals import percent_up
from hartley.readable import ReadableResult

if TYPE_CHECKING:
    from hartley.measures.hypothesis import Hypothesis
    from hartley.ranges.relations.relation import Relation


@dataclass(frozen=True)
class HypothesisTesting:
    r"""Decides a hypothesis about the secret wherever the release leaves no doubt.

    .. math:: y \in [Y|p_0] \,\Delta\, [Y|p_1]

    The consistent test (Farokhi 2021, Theorems 1 and 2): it says true if every secret that can
    lead to the released value fulfils the hypothesis, and false if none does. It only errs where
    every test can err. Exact. One pass over the distinct pairs.

    Args:
        hypothesis: a comparison over the secret's columns such as "age >= 50", a function of a
            secret, or the secrets for which it holds.

    Example:
        >>> from hartley import Relation
        >>> dice = Relation.from_pairs([(1, "low"), (2, "low"), (3, "mid"), (4, "mid"), (6, "top")])
        >>> finding = HypothesisTesting(lambda eyes: eyes >= 4).attack(dice)
        >>> finding.share, finding.rows_decided
        (Fraction(3, 5), (1, 2))
    """

    hypothesis: Hypothesis

    def attack(self, relation: Relation) -> TestingFinding:
        """Return for how many rows the hypothesis is decided."""
        analysis = analyse_hypothesis(relation, self.hypothesis)
        rows = np.zeros(4, np.int64)
        np.add.at(rows, analysis.possible, relation.summary.released_rows)
        outputs = analysis.counts
        return TestingFinding(
            hypothesis=self.hypothesis if isinstance(self.hypothesis, str) else "the hypothesis",
            rows=(int(rows[1]), int(rows[2]), int(rows[3])),
            outputs=(outputs["true"], outputs["false"], outputs["ambiguous"]),
            performance=_finite(analysis.performance_bound),
            privacy=_finite(analysis.privacy),
            rows_left_out=relation.left_out,
            left_out=relation.left_out_sentence,
        )


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None


@dataclass(frozen=True)
class TestingFinding(ReadableResult):
    """For how many rows a release decides a hypothesis; exact."""

    hypothesis: str
    rows: tuple[int, int, int]
    """Rows for which it is certainly true, certainly false, and open."""
    outputs: tuple[int, int, int]
    """Released values that show it true, show it false, and leave it open."""
    performance: float | None
    """In bits: the logarithm of the released values that decide; None if none does."""
    privacy: float | None
    """In bits: how far those fall short of all released values; None (infinite) if none decides."""
    rows_left_out: int = 0
    left_out: str = ""
    """Which rows do not count because a value is missing; empty if all rows count."""
    measured: ClassVar[str] = "share of rows for which the hypothesis is decided for certain"
    __test__: ClassVar[bool] = False  # pytest would collect a class of this name

    @property
    def rows_decided(self) -> tuple[int, int]:
        """Rows for which it is certainly true and certainly false."""
        return self.rows[0], self.rows[1]

    @property
    def share(self) -> Fraction:
        """The share of rows for which it is decided."""
        return Fraction(sum(self.rows_decided), sum(self.rows))

    @property
    def number(self) -> AttackEstimate:
        """The share of rows for which it is decided; exact."""
        return AttackEstimate.exact(float(self.share))

    @property
    def headline(self) -> str:
        """The result in one sentence, and one more if rows are left out of it."""
        return f"{self._summary} {self.left_out}".rstrip()

    @property
    def _summary(self) -> str:
        decided, total = sum(self.rows_decided), sum(self.rows)
        if not decided:
            return f"No released value decides for certain whether {self.hypothesis}."
        return (
            f"The release decides for certain whether {self.hypothesis} for {decided:,} of "
            f"{total:,} rows ({percent_up(self.share)})."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        true, false, doubt = self.outputs
        return (
            (
                f"It is certainly true for {self.rows[0]:,} rows, certainly false for "
                f"{self.rows[1]:,}, and open for {self.rows[2]:,}."
            ),
            (
                f"Of {true + false + doubt:,} released values {true:,} show it true, {false:,} "
                f"show it false, and {doubt:,} leave it open."
            ),
            (
                "Where it is open, no test can be right for every remaining secret, and the "
                "consistent test is as good as any."
            ),
        )

    def chart(self) -> Chart:
        """Return the shares of rows and of released values that are decided."""
        places = ("certainly true", "certainly false", "open")
        series = tuple(
            Series(
                name, places, tuple(n / max(sum(numbers), 1) for n in numbers), "bars", tone=tone
            )
            for name, numbers, tone in (
                ("rows", self.rows, 0),
                ("released values", self.outputs, 5),
            )
        )
        return Chart(
            f"Testing whether {self.hypothesis}", (Panel("", "share", series, from_zero=True),)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        kinds = ("true", "false", "open")
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "number": self.number.to_dict(),
            "hypothesis": self.hypothesis,
            "rows": dict(zip(kinds, self.rows, strict=True)),
            "released_values": dict(zip(kinds, self.outputs, strict=True)),
            "rows_left_out": self.rows_left_out,
            "performance": self.performance,
            "privacy": self.privacy,
        }
