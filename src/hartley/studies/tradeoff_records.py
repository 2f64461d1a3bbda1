"""One point of a tradeoff for records: how a budget is shared among the columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import bits_at_least
from hartley.guarantees.documents import missing_of
from hartley.guarantees.records import count_outputs
from hartley.policies.column import Output
from hartley.policies.quantizers.allocation import allocate_bits
from hartley.studies.drafting import draft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.studies.specification import Specification


@dataclass(frozen=True)
class Sharing:
    """How a budget is shared among the columns of a record, and the error of each."""

    levels: Mapping[str, int]
    errors: Mapping[str, Fraction]
    outputs: int
    """How many combinations a record is released as, missing values aside."""
    bits: float
    """The most that a release tells about its person: log2 of the outputs, with one more output a
    column for a missing value if the budget has room for it."""
    counts_missing: bool
    """Whether the budget has room for missing values."""
    largest_error: Fraction
    """The largest weighted error of a column."""
    mean_error: Fraction
    """The weighted mean of the errors."""


@dataclass(frozen=True)
class BitsPoint:
    """A budget for a record, and the least errors that it allows."""

    budget: Fraction
    chosen: bool
    """Whether it is what the design asks for."""
    largest: Sharing
    """With the least largest error, as ``hartley design`` shares it."""
    mean: Sharing | None
    """With the least mean error."""
    reasons: Mapping[str, str] = field(default_factory=dict)


def bits_point(spec: Specification, budget: Fraction, *, chosen: bool = False) -> BitsPoint:
    """Share a budget among the columns of a record, for the least largest and mean error.

    Farokhi 2019 (Noiseless Privacy), Definition 2. Exact.

    Example:
        >>> from hartley.studies.specification import Specification
        >>> spec = Specification.read({
        ...     "objective": "bits", "bits": 5,
        ...     "columns": {"age": {"range": [0, 120]}, "height": {"range": [100, 250]}},
        ... })
        >>> shared = bits_point(spec, spec.bits).largest
        >>> dict(shared.levels), str(shared.largest_error)
        ({'age': 5, 'height': 6}, '25/2')
    """
    levels, errors = {}, {}
    columns = draft(replace(spec, bits=budget))
    for column in columns:
        if column.cells is not None:
            levels[column.name] = column.cells.levels
            errors[column.name] = column.cells.error
    if not levels:
        raise OptionError(
            "The design has no column of numbers, so no error depends on the bits",
            hint="declare a column with a range",
        )
    outputs = [column.outputs() for column in columns]
    largest = _sharing(spec, levels, errors, outputs, budget)
    if len(levels) < len(columns):
        return BitsPoint(budget, chosen, largest, None, {"mean": "not computed with categories"})
    try:
        ranges = {
            name: {"range": spec.columns[name].range, "step": spec.columns[name].step}
            for name in levels
        }
        shared = allocate_bits(ranges, budget, weights=spec.weights, objective="mean")
    except OptionError as refused:
        return BitsPoint(budget, chosen, largest, None, {"mean": refused.problem})
    outputs = [Output(name, count, frozenset({name})) for name, count in shared.levels.items()]
    mean = _sharing(spec, shared.levels, shared.errors, outputs, budget)
    return BitsPoint(budget, chosen, largest, mean)


def _sharing(
    spec: Specification,
    levels: Mapping[str, int],
    errors: Mapping[str, Fraction],
    columns: Sequence[Output],
    budget: Fraction,
) -> Sharing:
    weights = {name: spec.weights.get(name, Fraction(1)) for name in levels}
    weighted = [weights[name] * errors[name] for name in levels]
    missing = missing_of(columns, budget)
    with_missing = count_outputs(columns, missing).values()
    return Sharing(
        levels=dict(levels),
        errors=dict(errors),
        outputs=math.prod(column.count or 1 for column in columns),
        bits=bits_at_least(math.prod(count or 1 for count in with_missing)),
        counts_missing=missing == "counted",
        largest_error=max(weighted),
        mean_error=sum(weighted, Fraction(0)) / sum(weights.values()),
    )
