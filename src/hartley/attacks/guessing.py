"""The brute-force guessing attack: how many trials a release saves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hartley.attacks.finding import AttackEstimate, AttackResult
from hartley.exact import log_ratio
from hartley.measures.entropy import expected_guesses
from hartley.measures.guessing import attribute_codes, worst_attribute
from hartley.measures.hypothesis import analyse_hypothesis
from hartley.report import Chart, Panel, Series
from hartley.text import count_of, number, percent

if TYPE_CHECKING:
    from hartley.measures.entropy import ExpectedGuesses
    from hartley.measures.guessing import Attribute
    from hartley.measures.hypothesis import Hypothesis
    from hartley.ranges.relation import Relation


MOST_PAIRS = 1_000_000
"""With more distinct pairs it is not said how many trials frequent values first would take."""


@dataclass(frozen=True)
class BruteForceGuessing:
    r"""Tries every value of a secret that the release leaves possible, one after the other.

    .. math:: |[U]| \text{ trials without the release}, \quad |[U|y]| \text{ after seeing } y

    at worst, and (m + 1)/2 on average if m values are equally likely (Farokhi and Ding 2021).
    A release reveals a secret if only one value is left. Exact integers and fractions. Linear
    in the number of released values; with an attribute, one sort of the distinct pairs.

    Args:
        attribute: what is guessed: a column of the secret side, a mapping from secrets, or a
            function of a secret. By default, the secret itself.

    Example:
        >>> from hartley import Relation
        >>> votes = Relation.from_pairs([((a, b), a + b >= 1) for a in (0, 1) for b in (0, 1)])
        >>> finding = BruteForceGuessing().attack(votes)
        >>> finding.trials, finding.least, finding.most, finding.average
        (4, 1, 3, Fraction(7, 4))
    """

    attribute: Attribute | None = None

    def attack(self, relation: Relation) -> GuessingFinding:
        """Return how many trials the release leaves."""
        summary = relation.summary
        if self.attribute is None:
            trials, remaining = summary.secrets, summary.secret_sizes
        else:
            image = attribute_codes(relation, self.attribute)
            trials, remaining = int(image.max()) + 1, relation.pairs().distinct_images(image)
        sizes, where = np.unique(remaining, return_inverse=True)
        rows = np.zeros(sizes.size, np.int64)
        np.add.at(rows, where, summary.released_rows)
        worst = worst_attribute(relation)
        secret = ", ".join(relation.secret_names) or "the secret"
        if self.attribute is not None:
            secret = self.attribute if isinstance(self.attribute, str) else "an attribute"
        return GuessingFinding(
            secret=secret,
            trials=trials,
            left=tuple(zip(sizes.tolist(), rows.tolist(), strict=True)),
            outputs=int((remaining == sizes[0]).sum()),
            attribute_values=worst.values,
            attribute_merged=worst.merged_count,
            leakage=log_ratio(trials, int(sizes[0])),
            attribute_leakage=worst.leakage,
            rows_left_out=relation.left_out,
            left_out=relation.left_out_sentence,
            expected=(
                expected_guesses(relation, self.attribute) if summary.pairs <= MOST_PAIRS else None
            ),
        )


@dataclass(frozen=True)
class GuessingFinding(AttackResult):
    """How many trials a brute-force guesser needs with and without a release; exact."""

    secret: str
    trials: int
    """The number of values of the secret: the trials needed without the release, at worst."""
    left: tuple[tuple[int, int], ...]
    """Pairs, in ascending order: a number of values left, and the rows for which it is left."""
    outputs: int
    """How many released values leave the fewest."""
    attribute_values: int
    """How many values the worst attribute has; the release leaves one of them."""
    attribute_merged: int
    """How many secrets the worst attribute does not tell apart."""
    leakage: float
    """In bits: trials without the release over those after the most revealing released value."""
    attribute_leakage: float
    """In bits: the same for the worst attribute."""
    rows_left_out: int = 0
    left_out: str = ""
    """Which rows do not count because a value is missing; empty if all rows count."""
    expected: ExpectedGuesses | None = None
    """The average trials of somebody who knows how frequent values are and tries those first."""
    measured: ClassVar[str] = "bits of trials saved by the most revealing released value"

    @property
    def least(self) -> int:
        """Trials after the most revealing released value, at worst."""
        return self.left[0][0]

    @property
    def most(self) -> int:
        """Trials after the least revealing released value, at worst."""
        return self.left[-1][0]

    @property
    def rows(self) -> int:
        """How many rows the relation has."""
        return sum(rows for _, rows in self.left)

    @property
    def average(self) -> Fraction:
        """Trials on average over the rows, if the values left are equally likely."""
        return Fraction(sum((size + 1) * rows for size, rows in self.left), 2 * self.rows)

    @property
    def average_before(self) -> Fraction:
        """The same without the release."""
        return Fraction(self.trials + 1, 2)

    @property
    def found_at_once(self) -> int:
        """For how many rows the release leaves one of several values."""
        return self.left[0][1] if self.least == 1 < self.trials else 0

    @property
    def number(self) -> AttackEstimate:
        """The guessing leakage in bits; exact up to the rounding of one logarithm."""
        return AttackEstimate.exact(self.leakage)

    @property
    def headline(self) -> str:
        """The result in one sentence, and one more if rows are left out of it."""
        trials, least = count_of(self.trials, "trial"), count_of(self.least, "trial")
        summary = (
            f"The release saves a brute-force guesser of {self.secret} nothing: {trials} with and "
            "without it."
            if self.least == self.trials
            else f"The most revealing released value leaves a brute-force guesser of {self.secret} "
            f"{least} of {self.trials:,}."
        )
        return f"{summary} {self.left_out}".rstrip()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The details, one sentence each."""
        some = f"{self.outputs:,} released values leave"
        if self.outputs == 1:
            some = "1 released value leaves"
        frequent_first: list[str] = []
        if self.expected is not None:
            before = _average(self.expected.without)
            after = _average(self.expected.with_release)
            frequent_first.append(
                "Somebody who knows how frequent each value is with each released value, and tries "
                f"frequent ones first, takes {before} on average without the release and {after} "
                "with it."
            )
        sentences = [
            (
                f"Without the release it takes {count_of(self.trials, 'trial')} at worst and "
                f"{_average(self.average_before)} on average if all values are equally likely."
            ),
            (
                f"With it, it takes between {self.least:,} and {count_of(self.most, 'trial')} "
                f"at worst and {_average(self.average)} on average over the rows."
            ),
            *frequent_first,
            f"{some} as few as {self.least:,}, in {self.left[0][1]:,} of {self.rows:,} rows.",
        ]
        if self.found_at_once:
            sentences.append(
                f"For {self.found_at_once:,} of {self.rows:,} rows nothing is left to guess."
            )
        if self.attribute_values > 1:
            what = "the secret itself"
            if self.attribute_merged > 1:
                what = (
                    f"the attribute that merges {self.attribute_merged:,} secrets and tells all "
                    "others apart"
                )
            sentences.append(
                f"Worst attribute: {what}, which takes {count_of(self.attribute_values, 'trial')} "
                "without the release and 1 after it."
            )
        return tuple(sentences)

    def chart(self) -> Chart:
        """Return a chart: the share of rows guessed by number of trials, with and without it."""
        sizes = np.array([size for size, _ in self.left], np.float64)
        shares = np.array([rows for _, rows in self.left], np.float64) / self.rows
        # Where the curve bends, and evenly between.
        spread = np.geomspace(1, max(self.trials, 1), 60).round()
        bends = sizes[:: -(-sizes.size // 60)]
        at = np.unique(np.concatenate([spread, bends, [1, self.trials]])).astype(int).tolist()
        guessed = [float(shares @ np.minimum(trials / sizes, 1.0)) for trials in at]
        plain = [min(trials / self.trials, 1.0) for trials in at]
        x = tuple(map(float, at))
        lines = (
            Series("with the release", x, tuple(guessed), tone=1),
            Series("without", x, tuple(plain), dash="dashed", tone=5),
        )
        panel = Panel("trials", "share of rows found", lines, x_log=self.trials > 1, from_zero=True)
        title = f"Brute-force guessing of {self.secret}"
        return Chart(title, (panel,), note="all values that are left being equally likely")

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "format": 1,
            **self._said(),
            "secret": self.secret,
            "rows": self.rows,
            "rows_left_out": self.rows_left_out,
            "trials_without": {"worst": self.trials, "average": float(self.average_before)},
            "trials_with": {"least": self.least, "most": self.most, "average": float(self.average)},
            "trials_frequent_first": None
            if self.expected is None
            else {
                "without": float(self.expected.without),
                "with": float(self.expected.with_release),
            },
            "rows_found_at_once": self.found_at_once,
            "leakage": self.leakage,
            "worst_attribute": {
                "values": self.attribute_values,
                "merged": self.attribute_merged,
                "leakage": self.attribute_leakage,
            },
        }


def _average(mean: Fraction) -> str:
    return number(mean, round="nearest", places=0 if mean.denominator == 1 else 2, zeros=True)


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
class TestingFinding(AttackResult):
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
        decided, total = sum(self.rows_decided), sum(self.rows)
        summary = f"No released value decides for certain whether {self.hypothesis}."
        if decided:
            summary = (
                f"The release decides for certain whether {self.hypothesis} for {decided:,} of "
                f"{total:,} rows ({percent(self.share, round='up')})."
            )
        return f"{summary} {self.left_out}".rstrip()

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
        rows, values = (
            tuple(n / max(sum(counts), 1) for n in counts) for counts in (self.rows, self.outputs)
        )
        series = (
            Series("rows", places, rows, "bars", tone=0),
            Series("released values", places, values, "bars", tone=5),
        )
        panel = Panel("by the released values", "share", series, from_zero=True)
        return Chart(f"Testing whether {self.hypothesis}", (panel,))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        kinds = ("true", "false", "open")
        return {
            "format": 1,
            **self._said(),
            "hypothesis": self.hypothesis,
            "rows": dict(zip(kinds, self.rows, strict=True)),
            "released_values": dict(zip(kinds, self.outputs, strict=True)),
            "rows_left_out": self.rows_left_out,
            "performance": self.performance,
            "privacy": self.privacy,
        }
