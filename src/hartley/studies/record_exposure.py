"""How exposed every record is: by itself, with its household, and estimated by sampling weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.tables.failures import run
from hartley.engines.tables.periods import in_periods, is_period
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.view import prepare
from hartley.errors import ColumnError
from hartley.exact import parse_step
from hartley.ranges.relations.classes import combine_codes, encode_column
from hartley.ranges.relations.people import household_codes, is_missing
from hartley.ranges.schema.roles import Roles
from hartley.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table
    from hartley.ranges.relations.people import PeopleCounts
    from hartley.ranges.schema.roles import RolesSource

    _Encoded = tuple[NDArray[np.int64], list[Any]]


@dataclass(frozen=True, eq=False)
class RecordExposure:
    """How exposed every record is: by itself, with its household, and estimated by weights."""

    alike: NDArray[np.int64]
    """How many records share what is known about each."""
    household_alike: NDArray[np.int64] | None = None
    """The least such number in the household: who finds one member finds the others."""
    estimated_risk: NDArray[np.float64] | None = None
    """The chance to be found in the population: see ``population_risk``. With households, the
    chance that one member at least is found, each independently of the others."""
    expected: float | None = None
    """The estimated number of records that are found, if everybody is looked for."""

    @property
    def least_alike(self) -> NDArray[np.int64]:
        """How many share what is known about the most exposed member of the household."""
        return self.alike if self.household_alike is None else self.household_alike


def record_exposure(
    table: object,
    columns: Sequence[str],
    *,
    bins: Mapping[str, str] | None = None,
    roles: RolesSource | None = None,
    needed: Sequence[str] = (),
) -> RecordExposure:
    """Return how exposed every record is by some columns, a missing value being a value.

    With a household in the roles, a record is as exposed as the most exposed member of its
    household; somebody whose household is missing lives alone. With a sampling weight, the first
    one of the roles, the risk that somebody in the population is the one in the table is estimated:
    see ``population_risk``; in a household it is the chance that one member at least is found. That
    is an estimate, never a bound. The columns are held in memory; linear in the rows, but for
    sorting.

    Args:
        table: anything that ``open_table`` opens.
        columns: what is known about people.
        bins: widths of bins, or periods, of some of them.
        roles: the confirmed roles.
        needed: columns whose missing values leave a row out.

    Example:
        >>> roles = {"confirmed": True, "columns": {
        ...     "age": {"role": "key"}, "home": {"role": "household"}, "w": {"role": "weight"}}}
        >>> people = {"age": [30, 30, 40], "home": ["a", "b", "b"], "w": [10, 30, 4]}
        >>> exposure = record_exposure(people, ["age"], roles=roles)
        >>> exposure.alike, exposure.household_alike
        (array([2, 2, 1]), array([2, 1, 1]))
        >>> exposure.estimated_risk.round(3), round(exposure.expected, 3)
        (array([0.044, 0.486, 0.486]), 0.551)
    """
    opened = open_table(table)
    confirmed = None if roles is None else Roles.confirmed_by_owner(roles)
    household = () if confirmed is None else confirmed.named("household")
    weight = None if confirmed is None else _weight_column(confirmed)
    more = [*household, *([] if weight is None else [weight])]
    encoded = encoded_columns(opened, [*columns, *more, *needed], bins or {})
    present = np.ones(encoded[0][0].size, bool)
    for codes, values in encoded[len(columns) + len(more) :]:
        present &= ~is_missing(codes, values)
    encoded = [(codes[present], values) for codes, values in encoded]
    classes = class_codes(encoded[: len(columns)])
    alike = np.bincount(classes)[classes]
    estimated, expected, household_alike = None, None, None
    if weight is not None:
        weights = _weights(*encoded[len(columns) + len(household)], weight, opened)
        mass = np.bincount(classes, weights).astype(float)
        estimated = population_risk(np.bincount(classes), mass)[classes]
        expected = float(estimated.sum())
    if household:
        homes = household_codes(encoded[len(columns) : len(columns) + len(household)])
        least = np.full(int(homes.max(initial=-1)) + 1, alike.size)
        np.minimum.at(least, homes, alike)
        household_alike = least[homes]
        if estimated is not None:
            with np.errstate(divide="ignore"):  # who is certainly found
                hidden = np.bincount(homes, np.log1p(-estimated))
            estimated = -np.expm1(hidden)[homes]
    return RecordExposure(alike, household_alike, estimated, expected)


def population_risk(alike: NDArray[np.int64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Estimate the risk to be found in the population, by the sampling weights of those alike.

    f records are alike and their weights sum to F, so that a share of p = f / F was sampled. How
    many are alike in the population is then f and a negative binomial number, and the risk is the
    mean of one over it,

    .. math:: r_f = \frac{p}{f} \sum_{k \ge 0} (1 - p)^k \Big/ \binom{f + k}{k}

    Benedetti and Franconi 1998: an estimate. It is at most 1/f, which it is where the weights sum
    to f or less. Accurate to 13 digits; linear in the number of classes.

    Args:
        alike: how many records are alike, class by class.
        mass: the sums of their weights.

    Example:
        >>> population_risk(np.array([1, 2, 3]), np.array([1.0, 200.0, 300.0])).round(6)
        array([1.      , 0.009631, 0.004953])
    """
    f = alike.astype(float)
    p = f / np.maximum(mass, f)
    q = 1 - p
    term: NDArray[np.float64] = p / f
    risk = term
    for k in range(1, 60):  # the terms of many records, or of a large share, vanish soon
        term = term * (q * k / (f + k))
        risk = risk + term
    slow = (alike < 40) & (q > 0.5)
    odds = p[slow] / q[slow]
    step = -odds * np.log(p[slow])  # r_1; r_f+1 = (1/f - r_f) p / (1 - p), which damps errors
    few = risk[slow]
    for size in range(1, 40):
        few = np.where(alike[slow] == size, step, few)
        step = odds * (1 / size - step)
    risk[slow] = few
    return risk


def with_exposure(people: PeopleCounts, exposure: RecordExposure) -> PeopleCounts:
    """Return counts of people with what households and sampling weights add to them.

    Example:
        >>> from hartley.ranges.relations.people import PeopleCounts
        >>> counts = PeopleCounts.of_classes(np.array([1, 2]), 2)
        >>> exposure = RecordExposure(np.array([2, 2, 1]), np.array([2, 1, 1]), expected=0.3)
        >>> with_exposure(counts, exposure).household_among_few
        2
    """
    least = exposure.household_alike
    return replace(
        people,
        household_among_few=None if least is None else int((least < people.k).sum()),
        expected=exposure.expected,
    )


def counts_more(roles: Roles | None) -> bool:
    """Tell whether roles name a household or a sampling weight."""
    return roles is not None and bool(roles.named("household", "weight"))


def _weight_column(roles: Roles) -> str | None:
    """Return the first sampling weight of the file: a survey may have weights of households too."""
    return next(iter(roles.named("weight")), None)


def _weights(
    codes: NDArray[np.int64], values: Sequence[Any], column: str, table: Table
) -> NDArray[np.float64]:
    """Return the weight of every record; raise an error if one is no positive number."""
    if not table.kind(column).numeric:
        raise ColumnError(
            f"Column '{column}' of {table.name} is a sampling weight, but holds no numbers",
            hint='give it another role than "weight"',
        )
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    weights = numbers[codes]
    wrong = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if wrong:
        raise ColumnError(
            f"The sampling weight '{column}' of {table.name} is missing or not positive in "
            f"{counted(wrong, 'row')}",
            hint='correct it, or give it another role than "weight"',
        )
    return weights


def encoded_columns(
    table: Table, columns: Sequence[str], bins: Mapping[str, str]
) -> list[_Encoded]:
    """Return for every column the codes of the records, and the values in order."""
    periods = {name: step for name, step in bins.items() if is_period(step)}
    steps = {name: parse_step(s, column=name) for name, s in bins.items() if name not in periods}
    binned = in_periods(table, {n: p for n, p in periods.items() if n in columns})
    view = prepare(binned, columns, steps=[steps.get(name) for name in columns], missing="value")
    data = run(table, view.expression.to_pyarrow)
    return [encode_column(data.column(f"c{i}")) for i in range(len(columns))]


def class_codes(encoded: Sequence[_Encoded]) -> NDArray[np.int64]:
    """Return one code a record, equal exactly where all columns are."""
    combined, _ = combine_codes([codes for codes, _ in encoded], [len(v) for _, v in encoded])
    return np.unique(combined, return_inverse=True)[1]
