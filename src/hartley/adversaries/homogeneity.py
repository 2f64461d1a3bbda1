"""Attacks on a table in which people share their keys: classes with one value, or nearly so."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.adversaries.disclosure import Disclosure, Guess, TableFinding
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.view import missing_note, prepare
from hartley.errors import ColumnError, OptionError
from hartley.exact import parse_number
from hartley.measures.anonymity import skewed_classes
from hartley.measures.reidentification import k_anonymity
from hartley.policies.records.hierarchy import nested_levels
from hartley.ranges.relations.classes import count_classes
from hartley.wording import exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.adversaries.disclosure import Attack
    from hartley.engines.tables.view import ViewColumn
    from hartley.kernels.cube import ClassCounts
    from hartley.ranges.relations.classes import KeyClasses

    Judge = Callable[[ViewColumn, KeyClasses], Iterable[Disclosure]]
    """What an attack learns about one confidential column."""

ROUNDING = 2.0**-50
"""Doubles that are further apart by no more than this share of the largest one count as near."""
LARGEST = 2**62
"""Whole numbers below can be subtracted in one word."""


@dataclass(frozen=True)
class Homogeneity:
    r"""Whoever knows somebody's keys learns the value that everybody with these keys has.

    .. math:: \frac{1}{n} \sum_{i \,:\, \max_s n_{is} = n_i} n_i

    The homogeneity attack (Machanavajjhala et al. 2007): no k helps where a class has one value.
    A column with one value in the whole table tells nothing. Exact. One pass over the rows a
    confidential column.

    Args:
        keys: the columns by which somebody can be recognised.
        confidential: the columns whose values should stay unknown.

    Example:
        >>> ill = {"age": [30, 30, 40, 40], "ill": ["flu", "flu", "flu", "hiv"]}
        >>> found = Homogeneity(["age"], ["ill"]).attack(ill)
        >>> found.number.value, found.worst.people, found.worst.smallest
        (0.5, 2, 2)
    """

    keys: Sequence[str]
    confidential: Sequence[str]

    def attack(self, table: object) -> TableFinding:
        """Return how many people's values the classes of a table give away."""

        def judge(column: ViewColumn, found: KeyClasses) -> Iterable[Disclosure]:
            told = found.counts.distinct == 1
            learned = f"the value of {column.name}"
            yield _disclosure("homogeneity", column.name, learned, found.counts, told)

        return _attack(table, self.keys, self.confidential, judge)


@dataclass(frozen=True)
class Skewness:
    r"""Whoever knows somebody's keys holds a value for much likelier than the table says.

    .. math:: \frac{1}{n} \sum_{i \,:\, \max_s p_{is} / q_s > r} n_i

    The skewness attack (Li, Li and Venkatasubramanian 2007). Exact. One pass over the rows a
    confidential column.

    Args:
        keys: the columns by which somebody can be recognised.
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

        def judge(column: ViewColumn, found: KeyClasses) -> Iterable[Disclosure]:
            learned = (
                f"a value of {column.name} more than {self.times} times as likely as in the table"
            )
            told = skewed_classes(found.counts, self.times)
            yield _disclosure("skewness", column.name, learned, found.counts, told)

        return _attack(table, self.keys, self.confidential, judge)


@dataclass(frozen=True)
class Similarity:
    r"""Whoever knows somebody's keys learns the value nearly: all in the class are alike.

    .. math:: \max_{s : n_{is} > 0} s - \min_{s : n_{is} > 0} s \le d

    or all values of a class lie in one group of a hierarchy: the similarity attack (Li, Li and
    Venkatasubramanian 2007), against which no number of different values helps. Records whose
    value is missing are left out. Classes with one value count too; a column that is all alike in
    the whole table tells nothing. Exact for whole numbers and groups; differences of doubles
    within their rounding count as near. One pass over the rows a confidential column.

    Args:
        keys: the columns by which somebody can be recognised.
        near: for confidential columns of numbers, how far apart values that are alike may be.
        hierarchy: for confidential columns, the groups of every value from narrow to wide.

    Example:
        >>> pay = {"age": [30, 30, 40, 40], "pay": [900, 950, 900, 5000]}
        >>> found = Similarity(["age"], near={"pay": 100}).attack(pay)
        >>> found.number.value, found.worst.learned
        (0.5, 'the value of pay to within 100')
    """

    keys: Sequence[str]
    near: Mapping[str, object] = field(default_factory=dict)
    hierarchy: Mapping[str, Mapping[Any, Sequence[object]]] = field(default_factory=dict)

    def attack(self, table: object) -> TableFinding:
        """Return for how many people the classes of a table give the value away nearly."""
        opened = open_table(table)
        distances = {name: _distance(name, text) for name, text in self.near.items()}

        def judge(column: ViewColumn, found: KeyClasses) -> Iterable[Disclosure]:
            name = column.name
            if name in distances:
                told = _within(column, found, distances[name])
                learned = f"the value of {name} to within {exactly(distances[name])}"
                yield _disclosure("similarity", name, learned, found.counts, told)
            if name not in self.hierarchy:
                return
            levels = nested_levels(name, found.values, self.hierarchy[name], opened)
            for place, level in enumerate(levels):
                groups = found.counts.regroup(level.groups)
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
    listed = (names,) if isinstance(names, str) else tuple(names)
    if not listed:
        raise OptionError(f"No {what} was named", hint="name at least one column")
    for i, name in enumerate(listed):
        if name in listed[:i]:
            raise OptionError(f"Column '{name}' is named twice", hint="name it once")
    return listed


def _disclosure(
    attack: Attack, column: str, learned: str, counts: ClassCounts, told: NDArray[np.bool_]
) -> Disclosure:
    """Say for whom a class tells something; where the whole table tells the same, for nobody."""
    if counts.width == 1:
        told = np.zeros(len(counts), bool)
    sizes = counts.sizes[told]
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
    found = parse_number(distance, name=f"the distance of column '{column}'")
    if found < 0:
        raise OptionError(
            f"The distance of column '{column}' is negative", hint="choose 0 or a larger number"
        )
    return found


def _within(column: ViewColumn, found: KeyClasses, distance: Fraction) -> NDArray[np.bool_]:
    """Tell for every class whether all its values lie within a distance of each other."""
    if not column.kind.numeric:
        raise ColumnError(
            f"Column '{column.name}' does not hold numbers, so its values have no distance",
            hint="give it a hierarchy that names the groups of every value",
        )
    counts = found.counts
    listed = found.values
    first, last = counts.codes[counts.starts[:-1]], counts.codes[counts.starts[1:] - 1]
    values, limit = np.array(listed, np.float64), float(distance)
    if all(isinstance(value, int) for value in listed):
        small = max(map(abs, listed)) < LARGEST
        values, limit = np.array(listed, np.int64 if small else object), math.floor(distance)
    else:
        limit += ROUNDING * float(np.abs(values).max())
    if values[-1] - values[0] <= limit:
        return np.zeros(len(counts), bool)  # the whole table says as much
    near: NDArray[np.bool_] = (values[last] - values[first] <= limit).astype(bool)
    return near
