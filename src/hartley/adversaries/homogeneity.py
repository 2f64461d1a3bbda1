"""Attacks on a k-anonymous table: homogeneity, skewness and similarity of its classes."""

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
"""Doubles may exceed a distance by this share of the largest value and still count as near."""
LARGEST = 2**62
"""Whole numbers below this can be subtracted in 64 bits."""


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
    listed = (names,) if isinstance(names, str) else tuple(names)
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
        small = max(map(abs, listed)) < LARGEST
        values, limit = np.array(listed, np.int64 if small else object), math.floor(distance)
    else:
        limit += ROUNDING * float(np.abs(values).max())
    if values[-1] - values[0] <= limit:
        return np.zeros(len(counts), bool)  # the whole table reveals as much
    near: NDArray[np.bool_] = (values[last] - values[first] <= limit).astype(bool)
    return near
