"""The privacy-utility curve: leakage against distortion for many steps of one column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.engines.tables.view import bin_numbers
from hartley.errors import OptionError
from hartley.exact import parse_step
from hartley.measures.guessing import maximal_guessing_leakage
from hartley.measures.leakage import nonstochastic_leakage
from hartley.measures.maximal import maximal_leakage
from hartley.measures.maximin import maximin_information
from hartley.measures.mutual import mutual_information
from hartley.ranges.relations.people import FEW, PeopleCounts
from hartley.ranges.relations.values import ListedValues, encode_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.ranges.relations.relation import Relation

    Progress = Callable[[str, float], None]

MOST_STEPS = 1000
LARGEST_REGROUPED = 5_000_000
"""Up to so many distinct pairs the steps regroup them in memory; beyond, the engine counts anew."""

MISSING_BIN = np.iinfo(np.int64).min


@dataclass(frozen=True)
class SweepPoint:
    """What a release in bins of one step tells, and how far it is from the truth."""

    step: str
    distortion: float
    """The largest distance between a value and the middle of its bin."""
    released_values: int
    nonstochastic_leakage: float
    maximal_guessing_leakage: float
    maximin_information: float
    maximal_leakage: float
    mutual_information: float
    given_away: int
    """People of whom a single secret is left possible."""
    among_few: int
    """People who share their released values with fewer than k, themselves included."""


@dataclass(frozen=True)
class Sweep:
    """A released column and the steps to try on it."""

    column: str
    steps: tuple[Fraction, ...]

    @classmethod
    def parse(cls, wish: Mapping[str, str | Sequence[object]] | None) -> Sweep | None:
        """Read a wish such as {"age": "1:50"}, {"age": "0.5:5:0.5"} or {"age": [1, 2, 5]}.

        Example:
            >>> Sweep.parse({"age": "1:3"}).steps
            (Fraction(1, 1), Fraction(2, 1), Fraction(3, 1))
        """
        if not wish:
            return None
        if len(wish) > 1:
            raise OptionError(
                f"The sweep names {len(wish)} columns", hint="sweep one column at a time"
            )
        ((column, steps),) = wish.items()
        if isinstance(steps, str):
            return cls(column, _parse_range(column, steps))
        steps = list(steps)
        if not steps:
            raise OptionError(
                f"The sweep of column '{column}' has no step", hint="write for example 1:50"
            )
        return cls(column, tuple(parse_step(step, column=column) for step in steps))


def _parse_range(column: str, text: str) -> tuple[Fraction, ...]:
    """Read LOW:HIGH or LOW:HIGH:BY."""
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise OptionError(
            f"The sweep of column '{column}' is not of the form LOW:HIGH",
            hint="write for example 1:50 or 0.5:5:0.5",
        )
    low, high, by = (parse_step(part.strip(), column=column) for part in (*parts, "1")[:3])
    if high < low:
        raise OptionError(
            f"The sweep of column '{column}' ends before it begins",
            hint="write the smaller step first, for example 1:50",
        )
    count = int((high - low) / by) + 1
    if count > MOST_STEPS:
        raise OptionError(
            f"The sweep of column '{column}' has {count:,} steps, more than {MOST_STEPS:,}",
            hint="give a larger increment, LOW:HIGH:BY",
        )
    return tuple(low + i * by for i in range(count))


def sweep_steps(
    open_relation: Callable[[dict[str, object]], Relation],
    sweep: Sweep,
    *,
    base: float = 2,
    k: int = FEW,
    progress: Progress | None = None,
) -> tuple[SweepPoint, ...]:
    """Measure the release of one column in bins of every wanted step.

    Args:
        open_relation: gives the relation with some bins for the swept column, or with none.
        sweep: the column and its steps.
        base: of the logarithms.
        k: people who share their released values with fewer are counted.
        progress: called with the share of the steps that is done.
    """
    for step in {min(sweep.steps), max(sweep.steps, key=lambda step: step.denominator)}:
        open_relation({sweep.column: step})  # refuses what cannot be binned
    plain = open_relation({})
    at = plain.released_names.index(sweep.column)
    columns = plain.released_values.columns()
    numbers = np.array([np.nan if v is None else float(v) for v in columns[at]])
    points: list[SweepPoint] = []
    for step, relation in _relations(open_relation, plain, sweep, numbers, at):
        points.append(_measure(relation, step, _distortion(numbers, step), base, k))
        if progress is not None:
            progress("sweep", len(points) / len(sweep.steps))
    return tuple(points)


def _relations(
    open_relation: Callable[[dict[str, object]], Relation],
    plain: Relation,
    sweep: Sweep,
    numbers: NDArray[np.float64],
    at: int,
) -> Iterator[tuple[Fraction, Relation]]:
    """Give the relation of every step, from one listing of the pairs where they are few."""
    few = plain.summary.pairs <= LARGEST_REGROUPED
    columns = plain.released_values.columns()
    others, _ = encode_list(zip(*(c for i, c in enumerate(columns) if i != at), strict=True), "")
    if others.size == 0:
        others = np.zeros(numbers.size, np.int64)
    for step in sweep.steps:
        if not few:
            yield step, open_relation({sweep.column: step})
            continue
        bins = np.full(numbers.size, MISSING_BIN)
        present = ~np.isnan(numbers)
        bins[present] = bin_numbers(numbers[present], step)
        _, codes = np.unique(bins, return_inverse=True)
        distinct, groups = np.unique(others * numbers.size + codes, return_inverse=True)
        yield step, plain.regroup(groups, ListedValues(distinct.tolist(), plain.released_names))


def _distortion(numbers: NDArray[np.float64], step: Fraction) -> float:
    """Return the largest distance between a value and the middle of its bin."""
    present = numbers[~np.isnan(numbers)]
    middles = (2 * bin_numbers(present, step) + 1) * step.numerator / (2 * step.denominator)
    return float(np.abs(present - middles).max(initial=0.0))


def people_of(relation: Relation, k: int) -> PeopleCounts:
    """Count the people whom a release gives away or leaves among few: a row is a person.

    Example:
        >>> from hartley.ranges.relations.relation import Relation
        >>> relation = Relation.from_pairs([("flu", "F"), ("flu", "F"), ("hiv", "M"), ("flu", "M")])
        >>> people_of(relation, 3).given_away, people_of(relation, 3).among_few
        (2, 4)
    """
    summary = relation.summary
    return PeopleCounts.of_classes(summary.released_rows, k, summary.secret_sizes)


def _measure(
    relation: Relation, step: Fraction, distortion: float, base: float, k: int
) -> SweepPoint:
    people = people_of(relation, k)
    assert people.given_away is not None
    return SweepPoint(
        given_away=people.given_away,
        among_few=people.among_few,
        step=_step_text(step),
        distortion=distortion,
        released_values=relation.summary.released,
        nonstochastic_leakage=nonstochastic_leakage(relation, base=base),
        maximal_guessing_leakage=maximal_guessing_leakage(relation, base=base),
        maximin_information=maximin_information(relation, base=base),
        maximal_leakage=maximal_leakage(relation, base=base),
        mutual_information=mutual_information(relation, base=base),
    )


def _step_text(step: Fraction) -> str:
    """Write a step as files keep it: readable as a double, so never as a fraction."""
    return str(step.numerator) if step.denominator == 1 else f"{float(step):g}"
