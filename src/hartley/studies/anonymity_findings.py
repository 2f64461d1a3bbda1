"""What a report on anonymity holds: numbers and plain sentences, never a value of the table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.tables.view import OF_COLUMN, left_out_sentence
from hartley.errors import OptionError

if TYPE_CHECKING:
    from hartley.measures.reidentification import SizeBand

ROUNDED = 1e-9
"""Far more than what a logarithm is off by, far less than what is shown."""
SKEWED = 2
"""A skewness attack counts as successful where some value is more than so many times as likely."""


@dataclass(frozen=True)
class ConfidentialFindings:
    """What the keys tell about one confidential column; counts and shares, never a value."""

    column: str
    rows: int
    """Records that have a value of the column; all that is said is about these."""
    left_out: int
    """Records in which it is missing."""
    classes: int
    """Classes that hold a record with a value."""
    values: int
    distinct: int
    """The l of distinct l-diversity and the p of p-sensitive k-anonymity."""
    entropy: float
    """The l of entropy l-diversity."""
    recursive: tuple[tuple[int, Fraction | None], ...]
    """For some l the c above which recursive (c, l)-diversity holds; None: for no c."""
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
        """Say in plain words what succeeds against this column."""
        name, classes = self.column, counted(self.classes, "class")
        return (
            (
                f"Every class has at least {counted(self.distinct, 'different value')} of {name}, "
                f"as diverse as {down(self.entropy)} equally frequent ones; one value makes up at "
                f"most {percent(self.alpha)} of a class."
            ),
            self._homogeneity,
            f"Skewness attack on {name}: it fails, no class makes a value more than {SKEWED} times "
            "as likely as in the table."
            if not self.skewed_rows
            else f"Skewness attack on {name}: it succeeds for {self.skewed_rows:,} of "
            f"{self.rows:,} records, in {self.skewed_classes:,} of {classes} some value is more "
            f"than {SKEWED} times as likely as in the table.",
            (
                f"To be like the table, a class would have to move up to "
                f"{percent(self.equal_closeness)} of its records to another value of {name}."
            ),
            self._exclusion(unit),
        )

    @property
    def _homogeneity(self) -> str:
        if self.values == 1:
            return f"{self.column} has one value in the whole table, so there is nothing to tell."
        if not self.homogeneous_rows:
            return f"Homogeneity attack on {self.column}: it fails, no class has one value only."
        return (
            f"Homogeneity attack on {self.column}: it succeeds for {self.homogeneous_rows:,} of "
            f"{self.rows:,} records, {self.homogeneous_classes:,} of "
            f"{counted(self.classes, 'class')} "
            f"{has(self.homogeneous_classes)} one value only."
        )

    def _exclusion(self, unit: str) -> str:
        if math.isinf(self.delta):
            return (
                f"Some class excludes a value of {self.column} for certain, so delta is infinite; "
                f"over the values that a class has it is {up(self.delta_of_present)} {unit}."
            )
        return (
            f"No class excludes a value of {self.column}; shares differ from the table's by up to "
            f"{up(self.delta)} {unit} (delta)."
        )


@dataclass(frozen=True)
class SampledPopulation:
    """The people of whom a table is a sample, as far as its classes tell."""

    table: str
    rows: int
    k: int
    """The size of the smallest class that the table has, there: the k of a k-map."""


@dataclass(frozen=True)
class AnonymityReport:
    """How anonymous the records of a table are, in numbers and in plain sentences.

    Of the table's values none appears: only counts and shares.
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
    """Without a population, the bound by the prosecutor's risk."""
    marketer: Fraction
    """Over the population where there is one, else over the table."""
    population: SampledPopulation | None
    base: float
    sizes: tuple[SizeBand, ...]
    """How many classes, and records, there are of every size, in bands."""
    confidential: tuple[ConfidentialFindings, ...]
    notes: tuple[str, ...]

    @property
    def unit(self) -> str:
        """What the logarithms count."""
        return {2: "bits", math.e: "nats", 10: "digits"}.get(self.base, f"log{self.base:g} units")

    @property
    def p_sensitive(self) -> int | None:
        """The p of p-sensitive k-anonymity over all confidential columns."""
        return min((findings.distinct for findings in self.confidential), default=None)

    @property
    def headline(self) -> str:
        """The report in one sentence, and one for each column that records are left out of."""
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
        tail = f", and still gives a confidential value away for {counted(sure, 'record')}"
        return (
            f"{self.table} is {self.k:,}-anonymous over {', '.join(self.keys)}{tail * (sure > 0)}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        return (
            (
                f"{counted(self.rows, 'record')} fall{'s' * (self.rows == 1)} into "
                f"{counted(self.classes, 'class')} of equal keys, the smallest of "
                f"{counted(self.k, 'record')}; "
                f"{counted(self.unique, 'record')} {'is' if self.unique == 1 else 'are'} unique."
            ),
            (
                f"The keys tell up to {up(self.leakage)} {self.unit} about which record somebody "
                "is (non-stochastic leakage, the record as the secret)."
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
        """What re-identification finds, in plain words."""
        sure = (
            "Whoever knows that somebody is in the table finds the record with a chance of up to "
            f"{percent(self.prosecutor)}"
        )
        everybody = f"looking for everybody finds {percent(self.marketer)} on average"
        if self.population is None:
            return (
                f"{sure} (prosecutor); {everybody} (marketer). Without a population the "
                "journalist, who does not know that, is taken to be as sure: an upper bound."
            )
        return (
            f"{sure} (prosecutor); whoever knows no more than that somebody is among the "
            f"{counted(self.population.rows, 'person')} of {self.population.table}, of up to "
            f"{percent(self.journalist)} (journalist); {everybody} (marketer)."
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
        tail = {"p_sensitive": self.p_sensitive, "sentences": list(self.sentences)}
        return head | {name: _plain(value) for name, value in asdict(self).items()} | tail


def _plain(value: Any) -> Any:  # noqa: ANN401 - nested plain values
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Fraction):
        return float(value)
    return "Infinity" if isinstance(value, float) and math.isinf(value) else value


def counted(number: int, noun: str) -> str:
    """Show a number of things.

    Example:
        >>> counted(1, "class"), counted(2000, "class")
        ('1 class', '2,000 classes')
    """
    plural = "people" if noun == "person" else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def has(number: int) -> str:
    """Say that so many have something."""
    return "has" if number == 1 else "have"


def percent(share: Fraction) -> str:
    """Show a share in percent, rounded up: no risk is shown smaller than it is."""
    return f"{math.ceil(share * 10_000) / 100:g} %"


def up(number: float) -> str:
    """Show a number with two digits, rounded up; what rounding to doubles did is no part of it.

    Example:
        >>> up(1.231), up(1.23 + 1e-15)
        ('1.24', '1.23')
    """
    return f"{math.ceil(number * 100 - ROUNDED) / 100:.2f}"


def down(number: float) -> str:
    """Show a number with two digits, rounded down; what rounding to doubles did is no part of it.

    Example:
        >>> down(1.239), down(3 - 1e-15)
        ('1.23', '3.00')
    """
    return f"{math.floor(number * 100 + ROUNDED) / 100:.2f}"
