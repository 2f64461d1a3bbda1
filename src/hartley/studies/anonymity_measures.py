"""Every measure of a report on anonymity as a line of a table: name, number, meaning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.measures.registry import MEASURES
from hartley.studies.anonymity_findings import SKEWED, counted, down, has, percent, up

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
    """Which part of the worst it is, for a bar; None where there is no worst."""


@dataclass(frozen=True)
class Attack:
    """Whether a way to learn a confidential value from the keys succeeds."""

    title: str
    column: str
    succeeds: bool
    records: int
    """For how many records, at least where the count is not known."""
    of: int
    """How many records have a value of the column."""
    sentence: str


def table_measures(report: AnonymityReport) -> tuple[MeasureLine, ...]:
    """Return what holds of the classes, whatever is confidential."""
    whole = math.log(report.rows, report.base)
    return (
        _line(
            "k_anonymity",
            f"{report.k:,}",
            f"Everybody shares the keys with at least {counted(report.k - 1, 'other')}."
            if report.k > 1
            else "Somebody shares the keys with nobody.",
        ),
        _line(
            "record_leakage",
            f"{up(report.leakage)} {report.unit}",
            f"About which record somebody is; {up(whole)} {report.unit} would be all.",
            report.leakage / whole if whole else 0.0,
        ),
        _line(
            "unique_records",
            f"{report.unique:,}",
            f"{percent_of(report.unique, report.rows)} of the records share their keys with nobody."
            if report.unique
            else "Nobody is alone with the keys.",
            report.unique / report.rows,
        ),
    )


def risk_measures(report: AnonymityReport) -> tuple[MeasureLine, ...]:
    """Return the chances to find somebody by the keys."""
    everybody = report.population
    journalist = (
        "No population is given, so whoever does not know that is taken to be as sure: an upper "
        "bound."
        if everybody is None
        else f"Finds somebody who is known to be among the {everybody.rows:,} people of "
        f"{everybody.table}, of whom {everybody.k:,} or more share every released key."
    )
    return (
        _risk(
            "prosecutor_risk",
            report.prosecutor,
            "Finds somebody who is known to be in the table, at worst.",
        ),
        _risk("journalist_risk", report.journalist, journalist),
        # Without a population its sizes N are those of the table, n.
        _risk(
            "marketer_risk",
            report.marketer,
            "Looks for everybody at once: the share of the records that is found, on average.",
            symbol=None if everybody else "mean 1/nᵢ",
        ),
    )


def _risk(name: str, risk: Fraction, sentence: str, *, symbol: str | None = None) -> MeasureLine:
    return _line(name, percent(risk), sentence, float(risk), symbol=symbol)


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


def column_measures(found: ConfidentialFindings, unit: str) -> tuple[MeasureLine, ...]:
    """Return what the keys tell about one confidential column."""
    closeness = (
        ("equal_closeness", found.equal_closeness, "values equally far apart"),
        ("ordered_closeness", found.ordered_closeness, "values as far apart as in their order"),
        (
            "hierarchical_closeness",
            found.hierarchical_closeness,
            "values as far apart as their groups",
        ),
    )
    return (
        _line(
            "distinct_diversity",
            f"{found.distinct:,}",
            f"Different values in every class, of {found.values:,} in all; also the p of "
            "p-sensitive k-anonymity.",
        ),
        _line(
            "entropy_diversity",
            down(found.entropy),
            "The least diverse class is as diverse as so many equally frequent values.",
        ),
        *(_recursive(length, least) for length, least in found.recursive),
        _line(
            "alpha_share",
            percent(found.alpha),
            "One value makes up at most so much of a class.",
            float(found.alpha),
        ),
        *(
            _line(
                name,
                up4(t),
                f"Earth mover's distance of the worst class to the table, {words}.",
                float(t),
            )
            for name, t, words in closeness
            if t is not None
        ),
        _line(
            "t_closeness",
            f"{up(found.kullback_leibler)} {unit}",
            "Kullback-Leibler divergence of the worst class from the table.",
        ),
        _delta(found, unit),
    )


def _recursive(length: int, least: Fraction | None) -> MeasureLine:
    return _line(
        "recursive_diversity",
        "none" if least is None else f"> {up(float(least))}",
        f"No c is enough: a class has fewer than {length} values."
        if least is None
        else "It holds for every c above this, which is rounded up.",
        title=MEASURES["recursive_diversity"].title.replace("(c, l)", f"(c, {length})"),
    )


def _delta(found: ConfidentialFindings, unit: str) -> MeasureLine:
    if math.isinf(found.delta):
        return _line(
            "delta_disclosure",
            "∞",
            "Some class excludes a value for certain; over the values that a class has it is "
            f"{up(found.delta_of_present)} {unit}.",
            1.0,
        )
    return _line(
        "delta_disclosure",
        f"{up(found.delta)} {unit}",
        "The log of the share of a value in a class over that in the table, at most.",
    )


def attacks(report: AnonymityReport) -> tuple[Attack, ...]:
    """Return every attack on every confidential column, and for how many records it succeeds."""
    return tuple(attack for found in report.confidential for attack in _attacks(found))


def _attacks(found: ConfidentialFindings) -> tuple[Attack, ...]:
    given_away = found.homogeneous_rows if found.values > 1 else 0
    alike, skewed = found.homogeneous_classes, found.skewed_classes
    classes = counted(found.classes, "class")
    return (
        Attack(
            "homogeneity",
            found.column,
            given_away > 0,
            given_away,
            found.rows,
            f"{alike:,} of {classes} {has(alike)} one value only."
            if given_away
            else "No class has one value only."
            if found.values > 1
            else "The table has one value only, so there is nothing to tell.",
        ),
        Attack(
            "skewness",
            found.column,
            found.skewed_rows > 0,
            found.skewed_rows,
            found.rows,
            f"In {skewed:,} of {classes} some value is more than {SKEWED} times "
            "as likely as in the table."
            if skewed
            else f"No class makes a value more than {SKEWED} times as likely as in the table.",
        ),
    )


def up4(share: Fraction) -> str:
    """Show a share from 0 to 1 with four digits, rounded up.

    Example:
        >>> from fractions import Fraction
        >>> up4(Fraction(1, 3))
        '0.3334'
    """
    return f"{math.ceil(share * 10_000) / 10_000:.4f}"


def percent_of(part: int, whole: int) -> str:
    """Show a part in percent, to three digits.

    Example:
        >>> percent_of(1, 3), percent_of(0, 3)
        ('33.3 %', '0 %')
    """
    return f"{100 * part / whole:.3g} %"
