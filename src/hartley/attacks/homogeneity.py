"""Attacks on a k-anonymous table: homogeneity, skewness and similarity of its classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hartley.attacks.finding import Disclosure, Guess, TableFinding
from hartley.engines.table import names_of
from hartley.errors import ColumnError, OptionError
from hartley.exact import parse_number
from hartley.kernels.draws import Steps
from hartley.measures.anonymity import k_anonymity, skewed_classes
from hartley.policies.hierarchy import nested_levels
from hartley.policies.quantizer import Quantizer
from hartley.ranges.classes import count_classes
from hartley.tables.opening import open_table
from hartley.tables.view import missing_note, prepare
from hartley.text import count_of, exactly

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from hartley.attacks.finding import Attack
    from hartley.kernels.classes import ClassCounts
    from hartley.ranges.classes import KeyClasses
    from hartley.tables.view import ViewColumn

    Judge = Callable[[ViewColumn, KeyClasses], Iterable[Disclosure]]
    """What an attack learns about one confidential column."""


# --- homogeneity ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Homogeneity:
    r"""Counts people whose value follows from their keys: everybody with the same keys has it.

    .. math:: \frac{1}{n} \sum_{i \,:\, \max_s n_{is} = n_i} n_i

    The homogeneity attack (Machanavajjhala et al. 2007): k-anonymity does not help if a class has
    one value. A column with one value in the whole table reveals nothing. Exact. One pass over the
    rows for each confidential column.

    Args:
        keys: the columns by which a person can be recognised.
        confidential: the columns whose values should stay unknown.

    Example:
        >>> ill = {"age": [30, 30, 40, 40], "ill": ["flu", "flu", "flu", "hiv"]}
        >>> finding = Homogeneity(["age"], ["ill"]).attack(ill)
        >>> finding.number.value, finding.worst.people, finding.worst.smallest
        (0.5, 2, 2)
    """

    keys: Sequence[str]
    confidential: Sequence[str]

    def attack(self, table: object) -> TableFinding:
        """Return for how many people the classes of a table reveal the value."""

        def judge(column: ViewColumn, classes: KeyClasses) -> Iterable[Disclosure]:
            disclosing = classes.counts.distinct == 1
            learned = f"the value of {column.name}"
            yield _disclosure("homogeneity", column.name, learned, classes.counts, disclosing)

        return _attack(table, self.keys, self.confidential, judge)


@dataclass(frozen=True)
class Skewness:
    r"""Counts people whose keys make some value much likelier than it is in the whole table.

    .. math:: \frac{1}{n} \sum_{i \,:\, \max_s p_{is} / q_s > r} n_i

    The skewness attack (Li, Li and Venkatasubramanian 2007). Exact. One pass over the rows for
    each confidential column.

    Args:
        keys: the columns by which a person can be recognised.
        confidential: the columns whose values should stay unknown.
        times: the ratio r that has to be exceeded.

    Example:
        >>> ill = {"age": [30, 30, *[40] * 6], "ill": ["hiv", *["flu"] * 7]}
        >>> Skewness(["age"], ["ill"]).attack(ill).worst.people
        2
    """

    keys: Sequence[str]
    confidential: Sequence[str]
    times: int = 2

    def attack(self, table: object) -> TableFinding:
        """Return for how many people the classes of a table make a value much likelier."""
        if self.times < 1:
            raise OptionError(
                f"The ratio of a skewness attack is {self.times}",
                hint="choose a whole number of 1 or more",
            )

        def judge(column: ViewColumn, classes: KeyClasses) -> Iterable[Disclosure]:
            learned = (
                f"a value of {column.name} more than {self.times} times as likely as in the table"
            )
            disclosing = skewed_classes(classes.counts, self.times)
            yield _disclosure("skewness", column.name, learned, classes.counts, disclosing)

        return _attack(table, self.keys, self.confidential, judge)


@dataclass(frozen=True)
class Similarity:
    r"""Counts people whose keys nearly reveal the value: all values of their class are alike.

    .. math:: \max_{s : n_{is} > 0} s - \min_{s : n_{is} > 0} s \le d

    or all values of a class lie in one group of a hierarchy. This is the similarity attack (Li, Li
    and Venkatasubramanian 2007); having many different values in a class does not prevent it.
    Records with a missing value are left out. Classes with one value count too; a column whose
    values are alike in the whole table reveals nothing. Exact for whole numbers and groups;
    differences of doubles within their rounding count as near. One pass over the rows for each
    confidential column.

    Args:
        keys: the columns by which a person can be recognised.
        near: for confidential columns of numbers, how far apart values that count as alike may be.
        hierarchy: for confidential columns, the groups of every value from narrow to wide.

    Example:
        >>> pay = {"age": [30, 30, 40, 40], "pay": [900, 950, 900, 5000]}
        >>> finding = Similarity(["age"], near={"pay": 100}).attack(pay)
        >>> finding.number.value, finding.worst.learned
        (0.5, 'the value of pay to within 100')
    """

    keys: Sequence[str]
    near: Mapping[str, object] = field(default_factory=dict)
    hierarchy: Mapping[str, Mapping[Any, Sequence[object]]] = field(default_factory=dict)

    def attack(self, table: object) -> TableFinding:
        """Return for how many people the classes of a table nearly reveal the value."""
        opened = open_table(table)
        distances = {name: _distance(name, text) for name, text in self.near.items()}

        def judge(column: ViewColumn, classes: KeyClasses) -> Iterable[Disclosure]:
            name = column.name
            if name in distances:
                disclosing = _within(column, classes, distances[name])
                learned = f"the value of {name} to within {exactly(distances[name])}"
                yield _disclosure("similarity", name, learned, classes.counts, disclosing)
            if name not in self.hierarchy:
                return
            levels = nested_levels(name, classes.values, self.hierarchy[name], opened)
            for place, level in enumerate(levels):
                groups = classes.counts.regroup(level.groups)
                learned = f"the group of {name} at level {place + 1} of its hierarchy"
                yield _disclosure("similarity", name, learned, groups, groups.distinct == 1)

        return _attack(opened, self.keys, [*dict.fromkeys([*self.near, *self.hierarchy])], judge)


# --- classes ----------------------------------------------------------------------------------


def _attack(
    table: object, keys: Sequence[str], confidential: Sequence[str], judge: Judge
) -> TableFinding:
    """Count the classes of every confidential column and let the attack judge them."""
    opened = open_table(table)
    known, hidden = _names(keys, "key"), _names(confidential, "confidential column")
    both = [name for name in hidden if name in known]
    if both:
        raise OptionError(
            f"Column '{both[0]}' is both a key and confidential", hint="give it one role"
        )
    view = prepare(opened, [*known, *hidden], missing="value")
    made: list[Disclosure] = []
    classes: ClassCounts | None = None
    guesses: list[Guess] = []
    for i, name in enumerate(hidden):
        column = view.columns[len(known) + i]
        tally = count_classes(view, range(len(known)), len(known) + i)
        counts = tally.counts
        classes = classes or (None if column.missing else counts)
        made += judge(column, tally)
        top = int(np.maximum.reduceat(counts.counts, counts.starts[:-1]).sum())
        rest = Fraction(int(counts.totals.max()), counts.rows)
        guesses.append(Guess(name, Fraction(top, counts.rows), rest))
    classes = classes or count_classes(view, range(len(known))).counts
    columns = view.columns[len(known) :]
    return TableFinding(
        table=opened.name,
        keys=known,
        rows=classes.rows,
        classes=len(classes),
        k=k_anonymity(classes),
        disclosures=tuple(made),
        guesses=tuple(guesses),
        left_out={column.name: column.missing for column in columns if column.missing},
        notes=tuple(
            missing_note(column.name, column.missing)
            for column in view.columns[: len(known)]
            if column.missing
        ),
    )


def _names(names: Sequence[str], what: str) -> tuple[str, ...]:
    listed = names_of(names)
    if not listed:
        raise OptionError(f"No {what} was named", hint="name at least one column")
    for i, name in enumerate(listed):
        if name in listed[:i]:
            raise OptionError(f"Column '{name}' is named twice", hint="name it once")
    return listed


def _disclosure(
    attack: Attack, column: str, learned: str, counts: ClassCounts, disclosing: NDArray[np.bool_]
) -> Disclosure:
    """Count the people in disclosing classes; nobody if the whole table discloses the same."""
    if counts.width == 1:
        disclosing = np.zeros(len(counts), bool)
    sizes = counts.sizes[disclosing]
    return Disclosure(
        attack,
        column,
        learned,
        int(sizes.sum()),
        sizes.size,
        int(sizes.min()) if sizes.size else None,
        counts.rows,
    )


# --- numbers that are near each other ---------------------------------------------------------


def _distance(column: str, distance: object) -> Fraction:
    number = parse_number(distance, name=f"the distance of column '{column}'")
    if number < 0:
        raise OptionError(
            f"The distance of column '{column}' is negative", hint="choose 0 or a larger number"
        )
    return number


def _within(column: ViewColumn, classes: KeyClasses, distance: Fraction) -> NDArray[np.bool_]:
    """Tell for every class whether all its values lie within a distance of each other."""
    if not column.kind.numeric:
        raise ColumnError(
            f"Column '{column.name}' does not hold numbers, so its values have no distance",
            hint="give it a hierarchy that names the groups of every value",
        )
    counts = classes.counts
    listed = classes.values
    first, last = counts.codes[counts.starts[:-1]], counts.codes[counts.starts[1:] - 1]
    values, limit = np.array(listed, np.float64), float(distance)
    if all(isinstance(value, int) for value in listed):
        small = max(map(abs, listed)) < 2**62  # then differences have 64 bits
        values, limit = np.array(listed, np.int64 if small else object), math.floor(distance)
    else:
        limit += 2.0**-50 * float(np.abs(values).max())  # what rounding may add
    if values[-1] - values[0] <= limit:
        return np.zeros(len(counts), bool)  # the whole table reveals as much
    near: NDArray[np.bool_] = (values[last] - values[first] <= limit).astype(bool)
    return near


# --- group releases -------------------------------------------------------------------------------
# Policies that release the sum of a group's readings, as step functions over whole numbers.

Function: TypeAlias = Callable[[Any], Any]
Policy: TypeAlias = Quantizer | Function | Sequence[Quantizer | Function] | None
Aggregate: TypeAlias = Literal["mean", "sum"]

MOST_CELLS = 1_000_000
MOST_SUMS = 4_000_000
"""A function that is not a quantizer is called for every sum that a group can have."""


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
    """Return the edges between the cells of a quantizer, and the value released for each cell."""
    if quantizer.levels > MOST_CELLS:
        raise OptionError(
            f"A policy of {quantizer.levels:,} cells is too fine to attack",
            hint=f"attack a policy of at most {MOST_CELLS:,} cells, or the aggregate without one",
        )
    return quantizer.steps()


def released(policy: Policy, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a policy releases for each number; edges are rounded to the nearest double.

    So a decimal lies in the cell that its digits say: 0.3 in the fourth of ten.
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
    """Describe in a few words how a policy releases values."""
    if policy is None:
        return "as it is"
    if isinstance(policy, (list, tuple)):
        return f"by {len(policy):,} policies in turn"
    levels = getattr(policy, "levels", None)
    if levels is None:
        return "through a function"
    return f"in {count_of(levels, 'cell')}"


def steps_of(policy: Policy, sums: Sums, readings: int) -> Steps:
    """Return a policy in the form that the kernel executes.

    A quantizer is exact: a sum is compared with the least whole number that reaches the edge. A
    function is called once for every sum. If one number is released for several stretches of
    sums, everything between them counts as possible, so no candidate is excluded wrongly.
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
    # Below 2^48, a quotient of whole numbers plus a half never rounds past an edge.
    if factor * (2 * largest + abs(origin) + (policy.levels + 1) * width) >= 2**48:
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
        return np.clip(firsts, -(2.0**53), 2.0**53), values
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
        # Few stretches of the guide contain an edge, so that the first cell is mostly right.
        stretches = min(max(32 * values.size, 64), 2**16)
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
