"""Policies that release the sum of a group's readings, as step functions over whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hartley.errors import OptionError
from hartley.kernels.releasing import Steps
from hartley.policies.quantizers.quantizer import Quantizer
from hartley.wording import counted

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

Function: TypeAlias = Callable[[Any], Any]
Policy: TypeAlias = Quantizer | Function | Sequence[Quantizer | Function] | None
Aggregate: TypeAlias = Literal["mean", "sum"]

MOST_CELLS = 1_000_000
MOST_SUMS = 4_000_000
"""A function that is not a quantizer is called for every sum that a group can have."""
FAR = 2.0**53
MOST_WHOLE = 2**48
"""Below this, a quotient of whole numbers plus a half never rounds past an edge."""
STRETCHES = 32
"""Stretches of the guide per cell: few of them contain an edge, so the first cell is right."""


@dataclass(frozen=True)
class Sums:
    """The sums of codes that a group can have, and what a code of 1 stands for."""

    unit: Fraction
    group: int
    aggregate: Aggregate
    low: int
    high: int
    others_low: int
    others_high: int
    """What the codes of all members but one can sum up to."""

    @property
    def aggregate_unit(self) -> Fraction:
        """What a sum of codes of 1 adds to the aggregate."""
        return self.unit / self.group if self.aggregate == "mean" else self.unit


def cells_of(quantizer: Quantizer) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the edges between the cells of a quantizer, and the value released for each cell.

    Example:
        >>> from hartley.policies.quantizers.quantizer import UniformQuantizer
        >>> edges, values = cells_of(UniformQuantizer(0, 4, 2))
        >>> [str(number) for number in (*edges, *values)]
        ['2', '1', '3']
    """
    if quantizer.levels > MOST_CELLS:
        raise OptionError(
            f"A policy of {quantizer.levels:,} cells is too fine to attack",
            hint=f"attack a policy of at most {MOST_CELLS:,} cells, or the aggregate without one",
        )
    return quantizer.steps()


def released(policy: Policy, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a policy releases for each number; edges are rounded to the nearest double.

    So a decimal lies in the cell that its digits say: 0.3 in the fourth of ten.

    Example:
        >>> from hartley.policies.quantizers.quantizer import UniformQuantizer
        >>> released(UniformQuantizer(0, 1, 10), np.array([0.3, 0.9999, 7.0])).tolist()
        [0.35, 0.95, 0.95]
    """
    if policy is None:
        return values
    if isinstance(policy, Quantizer):
        edges, middles = cells_of(policy)
        at = np.searchsorted([float(edge) for edge in edges], values, side="right")
        return np.array([float(middle) for middle in middles])[at]
    if not callable(policy):
        raise _no_policy(policy)
    return _asked(policy, values)


def policy_words(policy: Policy) -> str:
    """Describe in a few words how a policy releases values.

    Example:
        >>> from hartley.policies.quantizers.quantizer import UniformQuantizer
        >>> policy_words(None), policy_words(UniformQuantizer(0, 1, 4))
        ('as it is', 'in 4 cells')
    """
    if policy is None:
        return "as it is"
    if isinstance(policy, (list, tuple)):
        return f"by {len(policy):,} policies in turn"
    levels = getattr(policy, "levels", None)
    if levels is None:
        return "through a function"
    return f"in {counted(levels, 'cell')}"


def steps_of(policy: Policy, sums: Sums, readings: int) -> Steps:
    """Return a policy in the form that the kernel executes.

    A quantizer is exact: a sum is compared with the least whole number that reaches the edge. A
    function is called once for every sum. If one number is released for several stretches of
    sums, everything between them counts as possible, so no candidate is excluded wrongly.

    Args:
        policy: None, a quantizer or a function of an array, or a list of them: one per reading,
            or a number that divides the readings and is repeated.
        sums: the sums that a group can have.
        readings: how many readings everybody has.
    """
    several = list(policy) if isinstance(policy, (list, tuple)) else [policy]
    check_number(several, readings)
    distinct = list({id(single): single for single in several}.values())
    number = {id(single): i for i, single in enumerate(distinct)}
    which = np.tile([number[id(single)] for single in several], readings // len(several))
    starts = np.flatnonzero(np.concatenate(([True], which[1:] != which[:-1])))
    runs = np.column_stack((starts, np.append(starts[1:], readings), which[starts]))
    if policy is None:
        runs[:, 2] = -1
    equal = np.array([_equal_cells(single, sums) for single in distinct])
    stairs = [
        (np.zeros(0), np.zeros(1)) if policy is None or factor > 0 else _stairs(single, sums)
        for single, factor in zip(distinct, equal[:, 0], strict=True)
    ]
    return _joined(stairs, sums, runs.astype(np.int64), equal)


def check_number(policies: Sequence[object], readings: int) -> None:
    """Raise an error if the number of policies does not divide the readings."""
    if not policies or readings % len(policies):
        raise OptionError(
            f"{len(policies):,} policies do not fit {readings:,} readings",
            hint="give one policy, one per reading, or a number that divides the readings",
        )


def _equal_cells(policy: object, sums: Sums) -> tuple[float, ...]:
    """Return equal cells as whole numbers for the kernel; zeros if the policy has no such cells.

    Cell k begins at the sum origin + k width, both rational. Multiplied by their common
    denominator they are whole numbers, which small enough doubles hold exactly.
    """
    if not isinstance(policy, Quantizer) or not policy.is_equal or policy.low == policy.high:
        return (0.0,) * 6
    cell_width = policy.widths()[0]
    origin, width = policy.low / sums.aggregate_unit, cell_width / sums.aggregate_unit
    factor = math.lcm(origin.denominator, width.denominator)
    largest = max(abs(sums.low), abs(sums.high), abs(sums.others_low), abs(sums.others_high))
    if factor * (2 * largest + abs(origin) + (policy.levels + 1) * width) >= MOST_WHOLE:
        return (0.0,) * 6
    one_person = sums.aggregate_unit * sums.group
    first, step = policy.middle(0) / one_person, cell_width / one_person
    numbers = (factor, origin * factor, width * factor, policy.levels - 1, first, step)
    return tuple(float(number) for number in numbers)


def _stairs(policy: Any, sums: Sums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # noqa: ANN401 - checked here
    """Return the first sum of every cell but the first, and the value released for each cell."""
    # The adversary compares what is released with one person's readings.
    one_person = sums.aggregate_unit * sums.group
    if isinstance(policy, Quantizer):
        edges, middles = cells_of(policy)
        firsts = np.array([float(math.ceil(edge / sums.aggregate_unit)) for edge in edges])
        values = np.array([float(middle / one_person) for middle in middles])
        return np.clip(firsts, -FAR, FAR), values
    if not callable(policy):
        raise _no_policy(policy)
    if sums.high - sums.low >= MOST_SUMS:
        raise OptionError(
            f"A group has more than {MOST_SUMS:,} possible sums, too many to call a function for",
            hint="round the readings first, or pass a quantizer",
        )
    every = np.arange(sums.low, sums.high + 1, dtype=np.float64)
    unit = sums.aggregate_unit
    values = _asked(policy, every * float(unit.numerator) / float(unit.denominator))
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    at_start = np.concatenate(([0], changes))
    return every[changes], values[at_start] / float(one_person)


def _asked(policy: Function, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Call a function twice: this attack only works on policies without randomness."""
    answers = [np.asarray(policy(values.copy()), dtype=np.float64) for _ in range(2)]
    if answers[0].shape != values.shape or not np.isfinite(answers[0]).all():
        raise OptionError(
            "The policy does not give one finite number for every number",
            hint="pass a function that takes an array and returns one of the same length",
        )
    if not np.array_equal(answers[0], answers[1]):
        raise OptionError(
            "The policy gives different answers for the same numbers",
            hint="pass a policy without randomness",
        )
    return answers[0]


def _joined(
    stairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    sums: Sums,
    runs: NDArray[np.int64],
    equal: NDArray[np.float64],
) -> Steps:
    """Concatenate step functions, each with its guide."""
    cells = np.cumsum([0, *(values.size for _, values in stairs)])
    hulls = [_hull(firsts, values) for firsts, values in stairs]
    guides, scales = [], []
    for (firsts, values), at in zip(stairs, cells, strict=False):
        stretches = min(max(STRETCHES * values.size, 64), 2**16)
        scales.append(stretches / (sums.high - sums.low + 1))
        bucket = np.floor((firsts - sums.low) * scales[-1])
        guides.append(at + np.searchsorted(bucket, np.arange(stretches + 1), side="left"))
    return Steps(
        runs,
        equal,
        np.concatenate([np.append(firsts, np.inf) for firsts, _ in stairs]),
        np.concatenate([values for _, values in stairs]),
        np.concatenate([low for low, _ in hulls]) - sums.others_high,
        np.concatenate([high for _, high in hulls]) - sums.others_low,
        np.concatenate(guides).astype(np.uint32),
        np.cumsum([0, *(guide.size for guide in guides)])[:-1].astype(np.int64),
        float(sums.low),
        np.array(scales),
        float(sums.others_low),
        float(sums.others_high),
    )


def _hull(
    firsts: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest sum for which the number of each cell is released."""
    lows, highs = np.append(-np.inf, firsts), np.append(firsts - 1, np.inf)
    distinct, at = np.unique(values, return_inverse=True)
    least, most = np.full(distinct.size, np.inf), np.full(distinct.size, -np.inf)
    np.minimum.at(least, at, lows)
    np.maximum.at(most, at, highs)
    return least[at], most[at]


def _no_policy(policy: object) -> OptionError:
    return OptionError(
        f"A {type(policy).__name__} is not a policy for numbers",
        hint="pass a quantizer, a function of an array, or a list of them",
    )
