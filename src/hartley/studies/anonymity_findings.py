"""The report on anonymity: numbers and plain sentences, never a value of the table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.tables.view import OF_COLUMN, left_out_sentence
from hartley.errors import OptionError
from hartley.numerals import (
    percent_at_most,
    percent_up,
    two_decimals_down,
    two_decimals_up,
    unit_of,
)
from hartley.readable import ReadableResult
from hartley.wording import counted, direction, verb_for

if TYPE_CHECKING:
    from hartley.measures.reidentification import SizeBand
    from hartley.ranges.relations.people import PeopleCounts

ROUNDED = 1e-9
"""Far more than the rounding error of a logarithm, far less than the digits shown."""
SKEWED = 2
"""A skewness attack succeeds if some value is more than so many times as likely."""


def _at_least(number: float) -> str:
    """Write a number with two decimals, rounded down, and say so where it was."""
    text = two_decimals_down(number, ROUNDED)
    return direction(text, number, ROUNDED, words=True) + text


@dataclass(frozen=True)
class ConfidentialFindings:
    """How much the keys tell about one confidential column: counts and shares, never a value."""

    column: str
    rows: int
    """Records that have a value of the column; all numbers are about these."""
    left_out: int
    """Records in which the value is missing."""
    classes: int
    """Classes that hold a record with a value."""
    values: int
    distinct: int
    """The l of distinct l-diversity and the p of p-sensitive k-anonymity."""
    entropy: float
    """The l of entropy l-diversity."""
    recursive: tuple[tuple[int, Fraction | None], ...]
    """For some l, the c above which recursive (c, l)-diversity holds; None if it holds for no c."""
    alpha: Fraction
    equal_closeness: Fraction
    ordered_closeness: Fraction | None
    hierarchical_closeness: Fraction | None
    kullback_leibler: float
    delta: float
    delta_of_present: float
    homogeneous_classes: int
    homogeneous_rows: int
    skewed_classes: int
    skewed_rows: int

    def sentences(self, unit: str) -> tuple[str, ...]:
        """Say in plain words which attacks on this column succeed."""
        name, classes = self.column, counted(self.classes, "class")
        return (
            (
                f"Every class has at least {counted(self.distinct, 'different value')} of {name}, "
                f"as diverse as {_at_least(self.entropy)} equally frequent ones; "
                f"one value makes up at most {percent_up(self.alpha)} of a class."
            ),
            self._homogeneity,
            f"Skewness attack on {name}: fails. No class makes a value more than {SKEWED} times "
            "as likely as in the table."
            if not self.skewed_rows
            else f"Skewness attack on {name}: succeeds for {self.skewed_rows:,} of "
            f"{self.rows:,} records. In {self.skewed_classes:,} of {classes} some value is more "
            f"than {SKEWED} times as likely as in the table.",
            (
                f"Up to {percent_up(self.equal_closeness)} of the records of a class would need "
                f"another value of {name} for the class to match the table."
            ),
            self._exclusion(unit),
        )

    @property
    def _homogeneity(self) -> str:
        if self.values == 1:
            return f"{self.column} has one value in the whole table, so there is nothing to learn."
        if not self.homogeneous_rows:
            return f"Homogeneity attack on {self.column}: fails. No class has one value only."
        return (
            f"Homogeneity attack on {self.column}: succeeds for {self.homogeneous_rows:,} of "
            f"{self.rows:,} records. {self.homogeneous_classes:,} of "
            f"{counted(self.classes, 'class')} "
            f"{verb_for(self.homogeneous_classes, 'has')} one value only."
        )

    def _exclusion(self, unit: str) -> str:
        if math.isinf(self.delta):
            present = two_decimals_up(self.delta_of_present, ROUNDED)
            present = direction(present, self.delta_of_present, ROUNDED, words=True) + present
            return (
                f"Some class excludes a value of {self.column}, so delta is infinite; over the "
                f"values that occur in a class it is {present} {unit}."
            )
        return (
            f"No class excludes a value of {self.column}; shares differ from the table's by up to "
            f"{two_decimals_up(self.delta, ROUNDED)} {unit} (delta)."
        )


@dataclass(frozen=True)
class SampledPopulation:
    """The population that a table is a sample of: its size and its smallest class."""

    table: str
    rows: int
    k: int
    """The smallest size in the population of a class that the table has: the k of a k-map."""


@dataclass(frozen=True)
class AnonymityReport(ReadableResult):
    """How anonymous the records of a table are, in numbers and in plain sentences.

    It contains only counts and shares, never a value of the table.
    """

    table: str
    keys: tuple[str, ...]
    rows: int
    classes: int
    k: int
    unique: int
    leakage: float
    """Non-stochastic leakage with the record as the secret: log of rows over k."""
    prosecutor: Fraction
    journalist: Fraction
    """Without a population, the prosecutor's risk as an upper bound."""
    marketer: Fraction
    """Over the population if there is one, else over the table."""
    population: SampledPopulation | None
    base: float
    sizes: tuple[SizeBand, ...]
    """How many classes and records there are of each size, in bands."""
    confidential: tuple[ConfidentialFindings, ...]
    notes: tuple[str, ...]
    people: PeopleCounts
    """How many people are unique or stand among few."""

    @property
    def unit(self) -> str:
        """What the logarithms count."""
        return unit_of(self.base)

    @property
    def p_sensitive(self) -> int | None:
        """The p of p-sensitive k-anonymity over all confidential columns."""
        return min((findings.distinct for findings in self.confidential), default=None)

    @property
    def headline(self) -> str:
        """The report in one sentence, and one more for each column with missing values."""
        left_out = (
            left_out_sentence(findings.left_out, [findings.column], noun="record", of=OF_COLUMN)
            for findings in self.confidential
            if findings.left_out
        )
        return " ".join((self._sentence, *left_out))

    @property
    def _sentence(self) -> str:
        broken = (
            findings.homogeneous_rows for findings in self.confidential if findings.values > 1
        )
        sure = max(broken, default=0)
        tail = f", but still reveals a confidential value for {counted(sure, 'record')}"
        return (
            f"{self.table} is {self.k:,}-anonymous over {', '.join(self.keys)}{tail * (sure > 0)}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        return (
            (
                f"{counted(self.rows, 'record')} {verb_for(self.rows, 'falls')} into "
                f"{counted(self.classes, 'class')} of equal keys, the smallest of "
                f"{counted(self.k, 'record')}; "
                f"{counted(self.unique, 'record')} {verb_for(self.unique, 'is')} unique."
            ),
            self.people.sentence,
            (
                f"The keys tell up to {two_decimals_up(self.leakage, ROUNDED)} {self.unit} about "
                "which record is whose (non-stochastic leakage with the record as the secret)."
            ),
            self.risk,
            *(
                sentence
                for findings in self.confidential
                for sentence in findings.sentences(self.unit)
            ),
            *self.notes,
        )

    @property
    def risk(self) -> str:
        """The risks of re-identification, in plain words."""
        sure = (
            "An adversary who knows that a person is in the table finds the record with a chance "
            f"of up to {percent_up(self.prosecutor)} (prosecutor)"
        )
        everybody = (
            f"an adversary who looks for everybody finds {percent_at_most(self.marketer)} "
            "on average (marketer)"
        )
        if self.population is None:
            return (
                f"{sure}; {everybody}. Without a population the risk from an adversary who does "
                "not know who is in the table (journalist) is bounded by that of the prosecutor."
            )
        return (
            f"{sure}; one who only knows that the person is among the "
            f"{counted(self.population.rows, 'person')} of {self.population.table}, with a chance "
            f"of up to {percent_up(self.journalist)} (journalist); {everybody}."
        )

    def __getitem__(self, column: str) -> ConfidentialFindings:
        for findings in self.confidential:
            if findings.column == column:
                return findings
        raise OptionError(
            f"The report has no confidential column '{column}'",
            hint=f"it has {', '.join(findings.column for findings in self.confidential) or 'none'}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; infinity becomes text."""
        head = {"format": 1, "headline": self.headline, "unit": self.unit}
        tail = {
            "p_sensitive": self.p_sensitive,
            "people": self.people.to_dict(),
            "sentences": list(self.sentences),
        }
        return head | {name: _plain(value) for name, value in asdict(self).items()} | tail


def _plain(value: Any) -> Any:  # noqa: ANN401 - nested plain values
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Fraction):
        return float(value)
    return "Infinity" if isinstance(value, float) and math.isinf(value) else value
