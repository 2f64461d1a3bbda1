"""The measures of a report on anonymity as lines of a table: name, number, meaning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.measures.registry import MEASURES
from hartley.numerals import percent_at_most, two_decimals_down, two_decimals_up
from hartley.studies.anonymity_findings import ROUNDED, SKEWED
from hartley.wording import counted, direction, rounded, verb_for

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.studies.anonymity_findings import AnonymityReport, ConfidentialFindings


@dataclass(frozen=True)
class MeasureLine:
    """One number, as a line of a table shows it."""

    title: str
    symbol: str
    shown: str
    sentence: str
    share: float | None = None
    """The share of the worst possible value, for a bar; None if there is no worst value."""


@dataclass(frozen=True)
class Attack:
    """An attack that learns a confidential value from the keys, and whether it succeeds."""

    title: str
    column: str
    succeeds: bool
    records: int
    """The number of records for which it succeeds."""
    of: int
    """How many records have a value of the column."""
    sentence: str


def table_measures(report: AnonymityReport) -> tuple[MeasureLine, ...]:
    """Return the measures of the classes, which do not depend on confidential columns."""
    whole = math.log(report.rows, report.base)
    return (
        _line(
            "k_anonymity",
            f"{report.k:,}",
            f"Every record shares its keys with at least {counted(report.k - 1, 'other')}."
            if report.k > 1
            else "Some record shares its keys with no other.",
        ),
        _line(
            "record_leakage",
            f"{_up(report.leakage)} {report.unit}",
            f"About which record is whose; {_up(whole, words=True)} {report.unit} would settle it.",
            report.leakage / whole if whole else 0.0,
        ),
        _line(
            "unique_records",
            f"{report.unique:,}",
            f"Of the records, {percent_at_most(report.unique, report.rows)} share their keys with "
            "no other."
            if report.unique
            else "Every record shares its keys with another.",
            report.unique / report.rows,
        ),
    )


def risk_measures(report: AnonymityReport) -> tuple[MeasureLine, ...]:
    """Return the chances of finding a person's record by the keys."""
    everybody = report.population
    journalist = (
        "Finds a person who may or may not be in the table. No population is given, so the "
        "prosecutor's risk is the upper bound."
        if everybody is None
        else f"Finds a person who is known to be among the {everybody.rows:,} people of "
        f"{everybody.table}, of whom {everybody.k:,} or more share every released key."
    )
    return (
        _risk(
            "prosecutor_risk",
            report.prosecutor,
            "Finds a person who is known to be in the table, in the worst case.",
        ),
        _risk("journalist_risk", report.journalist, journalist),
        # Without a population the sizes N of its classes are those of the table, n.
        _risk(
            "marketer_risk",
            report.marketer,
            "Looks for everybody at once: the share of the records found on average.",
            symbol=None if everybody else "mean 1/nᵢ",
        ),
    )


def _risk(name: str, risk: Fraction, sentence: str, *, symbol: str | None = None) -> MeasureLine:
    return _line(name, percent_at_most(risk, words=False), sentence, float(risk), symbol=symbol)


def _up(number: float, *, words: bool = False) -> str:
    """Write a logarithm with two decimals, and mark that it was rounded up."""
    text = two_decimals_up(number, ROUNDED)
    return direction(text, number, ROUNDED, words=words) + text


def _down(number: float) -> str:
    """Write a number with two decimals, and mark that it was rounded down."""
    text = two_decimals_down(number, ROUNDED)
    return direction(text, number, ROUNDED) + text


def _line(  # noqa: PLR0913 - each is one part of the line
    name: str,
    shown: str,
    sentence: str,
    share: float | None = None,
    *,
    title: str | None = None,
    symbol: str | None = None,
) -> MeasureLine:
    """Return the line of a measure, with its title and symbol from the registry."""
    entry = MEASURES[name]
    return MeasureLine(title or entry.title, symbol or entry.symbol, shown, sentence, share)


def column_measures(findings: ConfidentialFindings, unit: str) -> tuple[MeasureLine, ...]:
    """Return the measures of one confidential column."""
    closeness = (
        ("equal_closeness", findings.equal_closeness, "values equally far apart"),
        ("ordered_closeness", findings.ordered_closeness, "values as far apart as in their order"),
        (
            "hierarchical_closeness",
            findings.hierarchical_closeness,
            "values as far apart as their groups",
        ),
    )
    return (
        _line(
            "distinct_diversity",
            f"{findings.distinct:,}",
            f"Different values in every class, of {findings.values:,} in all; also the p of "
            "p-sensitive k-anonymity.",
        ),
        _line(
            "entropy_diversity",
            _down(findings.entropy),
            "The least diverse class is as diverse as this many equally frequent values.",
        ),
        *(_recursive(length, least) for length, least in findings.recursive),
        _line(
            "alpha_share",
            percent_at_most(findings.alpha, words=False),
            "The largest share of one value in a class.",
            float(findings.alpha),
        ),
        *(
            _line(
                name,
                direction(rounded(t, 4, up=True), t) + rounded(t, 4, up=True),
                f"Earth mover's distance of the worst class to the table, {words}.",
                float(t),
            )
            for name, t, words in closeness
            if t is not None
        ),
        _line(
            "t_closeness",
            f"{_up(findings.kullback_leibler)} {unit}",
            "Kullback-Leibler divergence of the worst class from the table.",
        ),
        _delta(findings, unit),
    )


def _recursive(length: int, least: Fraction | None) -> MeasureLine:
    return _line(
        "recursive_diversity",
        "none" if least is None else f"> {two_decimals_up(float(least), ROUNDED)}",
        f"No c is enough: a class has fewer than {length} values."
        if least is None
        else "It holds for every c above this number, which is rounded up.",
        title=MEASURES["recursive_diversity"].title.replace("(c, l)", f"(c, {length})"),
    )


def _delta(findings: ConfidentialFindings, unit: str) -> MeasureLine:
    if math.isinf(findings.delta):
        return _line(
            "delta_disclosure",
            "∞",
            "Some class excludes a value; over the values that occur in a class it is "
            f"{_up(findings.delta_of_present, words=True)} {unit}.",
            1.0,
        )
    return _line(
        "delta_disclosure",
        f"{_up(findings.delta)} {unit}",
        "The largest log ratio of the share of a value in a class to that in the table.",
    )


def attacks(report: AnonymityReport) -> tuple[Attack, ...]:
    """Return every attack on every confidential column, and for how many records it succeeds."""
    return tuple(attack for findings in report.confidential for attack in _attacks(findings))


def _attacks(findings: ConfidentialFindings) -> tuple[Attack, ...]:
    given_away = findings.homogeneous_rows if findings.values > 1 else 0
    alike, skewed = findings.homogeneous_classes, findings.skewed_classes
    classes = counted(findings.classes, "class")
    return (
        Attack(
            "homogeneity",
            findings.column,
            given_away > 0,
            given_away,
            findings.rows,
            f"{alike:,} of {classes} {verb_for(alike, 'has')} one value only."
            if given_away
            else "No class has one value only."
            if findings.values > 1
            else "The table has one value only, so there is nothing to learn.",
        ),
        Attack(
            "skewness",
            findings.column,
            findings.skewed_rows > 0,
            findings.skewed_rows,
            findings.rows,
            f"In {skewed:,} of {classes} some value is more than {SKEWED} times "
            "as likely as in the table."
            if skewed
            else f"No class makes a value more than {SKEWED} times as likely as in the table.",
        ),
    )
