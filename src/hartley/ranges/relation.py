"""The relation: the finite joint range of a secret side and a released side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from hartley.errors import ColumnError, OptionError, TableError
from hartley.exact import parse_step
from hartley.ranges.counting import (
    CountedRange,
    ListedOrigin,
    Origin,
    Pairs,
    RecordOrigin,
    Summary,
    TableOrigin,
    numbered,
)
from hartley.ranges.joint_range import JointValues, Values, encode_list
from hartley.text import conjugate, count_of, share_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.kernels.classes import ClassCounts
    from hartley.ranges.joint_range import Beliefs
    from hartley.tables.counts import Progress
    from hartley.tables.view import View


FEW = 5
"""People who share what is known with fewer than so many, themselves included, stand among few."""


class RowType:
    """The type of ``ROW``, which is its only instance."""

    _only: Self | None = None

    def __new__(cls) -> Self:
        """Return the only instance."""
        cls._only = cls._only or super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "hartley.ROW"

    def __reduce__(self) -> str:
        return "ROW"


ROW: Final = RowType()
"""The record itself, as a secret: who of all the people in the table it is."""


class Relation(CountedRange):
    r"""The joint range of a secret and a released side: which values occur together.

    .. math:: [X, Y] = \{(X(\omega), Y(\omega)) : \omega \in \Omega\}

    Both sides are uncertain variables (Nair 2013; Farokhi 2019, Section II): all that is assumed is
    which pairs can occur. The counts of the rows serve the stochastic measures alone. Everything
    is lazy: the engine that holds the table counts the distinct pairs when a measure asks.

    Example:
        >>> relation = Relation.from_pairs([(1, "low"), (2, "low"), (3, "high")])
        >>> relation.secret_range, relation.released_range
        ([1, 2, 3], ['low', 'high'])
        >>> relation.conditional_range(released="low")
        [1, 2]
    """

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    # --- where relations come from ----------------------------------------------------------

    @classmethod
    def from_table(  # noqa: PLR0913 - each is one choice of the user's
        cls,
        table: object,
        *,
        secret: str | Sequence[str] | RowType,
        released: str | Sequence[str],
        bins: Mapping[str, object] | None = None,
        missing: str = "released",
        memory_limit: int | str | None = None,
    ) -> Relation:
        """Return the relation of some columns of a table to others.

        Args:
            table: a path or a list of paths (Parquet, CSV), a pandas, Polars or Arrow table, a
                dict of columns, or an Ibis table on any engine.
            secret: the column or columns that should stay secret, or ``hartley.ROW``.
            released: the column or columns that are released.
            bins: for numeric columns, the width of the bins in which they are given, and for
                dates a period such as "month" or "year". A column
                on both sides is binned where it is released, not where it is secret.
            missing: "released" makes missing a value of the released side, since a reader of the
                release sees it, and leaves out rows whose secret is missing; "value" makes it a
                value of both sides; "drop" leaves out every row in which a value is missing.
            memory_limit: above this, for example "1GB", the engine counts and spills to disk.

        Example:
            >>> people = {"age": [31, 32, 47], "height": [171, 178, 183]}
            >>> relation = Relation.from_table(
            ...     people, secret="age", released="height", bins={"height": 10})
            >>> relation.released_range
            [175.0, 185.0]
        """
        from hartley.tables.counts import parse_memory
        from hartley.tables.opening import open_table
        from hartley.tables.reading import in_periods, is_period
        from hartley.tables.view import prepare

        opened = open_table(table)
        secret_columns = [] if isinstance(secret, RowType) else _column_list(secret, "secret")
        released_columns = _column_list(released, "released")
        if not isinstance(bins or {}, Mapping):
            raise OptionError(
                "The bins are not a mapping from columns to steps", hint='write bins={"age": 10}'
            )
        periods = {name: str(step) for name, step in (bins or {}).items() if is_period(step)}
        steps = {
            name: parse_step(step, column=name)
            for name, step in (bins or {}).items()
            if name not in periods
        }
        for name in (*steps, *periods):
            if name not in (*secret_columns, *released_columns):
                raise ColumnError(
                    f"The bins name column '{name}', which is neither secret nor released",
                    hint=f"choose from {', '.join((*secret_columns, *released_columns))}",
                )
        both = {name: f"{name} by {periods[name]}" for name in periods if name in secret_columns}
        both = {name: new for name, new in both.items() if name in released_columns}
        opened = in_periods(opened, periods, beside=both)
        released_columns = [both.get(name, name) for name in released_columns]
        view = prepare(
            opened,
            [*secret_columns, *released_columns],
            steps=[
                *(None if name in released_columns else steps.get(name) for name in secret_columns),
                *(steps.get(name) for name in released_columns),
            ],
            missing=missing,
            secrets=len(secret_columns),
        )
        limit = parse_memory(memory_limit)
        if not secret_columns:
            return cls(RecordOrigin(view))
        split = len(secret_columns)
        sides = range(split), range(split, split + len(released_columns))
        return cls(TableOrigin(view, *sides, limit))

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Any, Any]]) -> Relation:
        """Return the relation of listed pairs (secret, released); repeats count as rows.

        Example:
            >>> Relation.from_pairs([(0, "a"), (0, "a"), (1, "b")]).rows
            3
        """
        try:
            secret, released = zip(*pairs, strict=True)
        except (TypeError, ValueError):
            raise TableError(
                "The list of pairs is empty or contains something that is not a pair",
                hint="pass pairs (secret, released), at least one",
            ) from None
        try:
            secret_codes, secret_values = encode_list(secret, "secret")
            released_codes, released_values = encode_list(released, "released")
        except TypeError:
            raise TableError(
                "A value in the list of pairs cannot be compared with others",
                hint="use numbers, text or tuples, not lists or sets",
            ) from None
        sizes = len(secret_values), len(released_values)
        gathered = Pairs.gather(
            secret_codes, released_codes, np.ones(secret_codes.size, np.int64), sizes
        )
        return cls(ListedOrigin(gathered, secret_values, released_values))

    def swap(self) -> Relation:
        """Return the same relation with the sides exchanged.

        Example:
            >>> Relation.from_pairs([(1, "a"), (2, "a")]).swap().secret_range
            ['a']
        """
        return self._swapped

    @cached_property  # counted once, however often it is asked for
    def _swapped(self) -> Relation:
        return Relation(self._origin.swap())

    def joint(self) -> Relation:
        """Return the relation whose secret is the pair of both sides; the released side stays.

        Its Hartley entropy is the joint entropy of the two sides.

        Example:
            >>> Relation.from_pairs([(1, "a"), (2, "a")]).joint().secret_range
            [(1, 'a'), (2, 'a')]
        """
        pairs = self.pairs()
        numbered = np.arange(pairs.secret.size)
        values = JointValues(
            self.secret_values, self.released_values, (pairs.secret, pairs.released)
        )
        joint = Pairs(numbered, pairs.released, pairs.counts, (numbered.size, pairs.sizes[1]))
        return Relation(ListedOrigin(joint, values, self.released_values))

    def regroup(self, groups: np.ndarray[Any, np.dtype[np.int64]], values: Values) -> Relation:
        """Return the relation after every released code was replaced by the code of its group."""
        pairs = self.pairs()
        merged = Pairs.gather(
            pairs.secret, groups[pairs.released], pairs.counts, (pairs.sizes[0], len(values))
        )
        return Relation(ListedOrigin(merged, self.secret_values, values))

    # --- what they hold -----------------------------------------------------------------------

    def compute(self, progress: Progress | None = None) -> Summary:
        """Count now what the measures need, telling how far the work is; later calls are free."""
        return self._origin.summary(progress)

    @property
    def summary(self) -> Summary:
        """Sizes of all ranges and conditional ranges, counted on first use."""
        return self._origin.summary()

    def pairs(self) -> Pairs:
        """Return the distinct pairs by code."""
        return self._origin.pairs()

    def class_counts(self) -> ClassCounts:
        """Return how often each secret occurs with each released value, a class of its own.

        Example:
            >>> Relation.from_pairs([(1, "a"), (2, "a"), (1, "b")]).class_counts().sizes
            array([2, 1])
        """
        from hartley.kernels.classes import ClassCounts

        pairs = self.pairs()
        columns = (pairs.released, pairs.secret, pairs.counts)
        return ClassCounts.from_cells(*(np.asarray(column, np.int64) for column in columns))

    def beliefs(self) -> Beliefs:
        """Return what each released value makes somebody believe about the secret."""
        from hartley.ranges.distribution import CountedBeliefs, ranks

        return CountedBeliefs(self.class_counts(), lambda: ranks(self.secret_range), rounded=True)

    @property
    def view(self) -> View | None:
        """The view of a table that this relation comes from, if it does."""
        return self._origin.view

    @property
    def left_out(self) -> int:
        """Rows of the table that do not count because a value is missing."""
        return 0 if self.view is None else self.view.dropped

    @property
    def left_out_sentence(self) -> str:
        """Which rows do not count because a value is missing; empty where all count."""
        return "" if self.view is None else self.view.left_out_sentence

    @property
    def note(self) -> str | None:
        """How the pairs were counted, where that is worth saying."""
        return self._origin.note

    @property
    def secret_values(self) -> Values:
        """What the secret codes stand for."""
        return self._origin.values()[0]

    @property
    def released_values(self) -> Values:
        """What the released codes stand for."""
        return self._origin.values()[1]

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The columns of the secret side."""
        return self._origin.names[0]

    @property
    def released_names(self) -> tuple[str, ...]:
        """The columns of the released side."""
        return self._origin.names[1]

    @property
    def binned_secrets(self) -> tuple[str, ...]:
        """The columns of the secret side that are given in bins."""
        return self.secret_values.binned

    @property
    def rows(self) -> int:
        """How many rows the relation was counted from."""
        return self.summary.rows

    @property
    def secret_range(self) -> list[Any]:
        """All values of the secret, [X]."""
        return self.secret_values.all()

    @property
    def released_range(self) -> list[Any]:
        """All values of the released side, [Y]."""
        return self.released_values.all()

    def conditional_range(self, **given: object) -> list[Any]:
        """Return what one side can be, given a value of the other.

        Example:
            >>> relation = Relation.from_pairs([(1, "a"), (2, "a"), (2, "b")])
            >>> relation.conditional_range(released="a"), relation.conditional_range(secret=2)
            ([1, 2], ['a', 'b'])
        """
        if given.keys() == {"secret"}:
            return self.swap().conditional_range(released=given["secret"])
        if given.keys() != {"released"}:
            raise OptionError(
                "A conditional range needs exactly one side",
                hint="write released=... or secret=...",
            )
        code = self.released_values.code(given["released"])
        return self.secret_values.take(self.pairs().secrets_of(code))

    def is_unrelated(self) -> bool:
        """Return whether the released side says nothing: every pair of values can occur.

        Unrelatedness in the sense of Farokhi 2019, Definition II.1.

        Example:
            >>> Relation.from_pairs([(0, 0), (0, 1), (1, 0), (1, 1)]).is_unrelated()
            True
        """
        summary = self.summary
        return summary.pairs == summary.secrets * summary.released

    def __repr__(self) -> str:
        secret, released = (", ".join(names) for names in self._origin.names)
        return f"Relation(secret={secret}, released={released})"


def _column_list(columns: str | Sequence[str], side: str) -> list[str]:
    """Return the names of the columns of one side."""
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise OptionError(
            f"The {side} side is not a list of column names",
            hint="pass a name or a list of names, or hartley.ROW as the secret",
        )
    names = list(names)
    if not names:
        raise OptionError(f"The {side} side has no column", hint="name at least one")
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise OptionError(
            f"Column '{doubled}' is named twice on the {side} side", hint="name it once"
        )
    return names


# --- how many people a release is about: given away, unique, or among few -------------------------


@dataclass(frozen=True)
class ExposureCounts:
    """How many people what is released singles out, leaves among few, or gives away.

    One row counts as one person.
    """

    rows: int
    k: int
    unique: int
    """People whom nobody else equals in what is released."""
    among_few: int
    """People who share it with fewer than k, themselves included."""
    given_away: int | None = None
    """People of whom a single secret is left possible; None where no secret was named."""
    household_among_few: int | None = field(default=None, repr=False)
    """People who live with somebody among few, or stand there themselves; None without households.
    """
    expected: float | None = field(default=None, repr=False)
    """An estimate by sampling weights of how many people would be found in the population."""

    @classmethod
    def of_classes(cls, sizes: NDArray[np.int64], k: int = FEW) -> ExposureCounts:
        """Count people by the sizes of the classes that a release does not tell apart."""
        check_group_size(k)
        return cls(int(sizes.sum()), k, int((sizes == 1).sum()), int(sizes[sizes < k].sum()))

    @property
    def sentence(self) -> str:
        """The counts in one sentence."""
        few = (
            f"{count_of(self.among_few, 'person')} of {self.rows:,} "
            f"({self._share(self.among_few)}) {conjugate(self.among_few, 'stands')} among fewer "
            f"than {self.k}, and {self.unique:,} {conjugate(self.unique, 'is')} unique."
        )
        if self.given_away is not None:
            few = (
                f"The secret of {count_of(self.given_away, 'person')} of {self.rows:,} "
                f"({self._share(self.given_away)}) is given away; {few}"
            )
        sentences = [few]  # and what households and sampling weights add
        if self.household_among_few is not None:
            people = self.household_among_few
            sentences.append(
                "If everybody is as exposed as the most exposed member of their household, "
                f"{people:,} {conjugate(people, 'stands')} among fewer than {self.k} "
                f"({self._share(people)})."
            )
        if self.expected is not None:
            sentences.append(
                f"By the sampling weights about {self.expected:,.1f} of all {self.rows:,} people "
                "would be found in the population; this is an estimate and no promise."
            )
        return " ".join(sentences)

    def _share(self, people: int) -> str:
        return share_text(Fraction(people, max(self.rows, 1)))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON."""
        roles = {"household_among_few", "expected"}  # nothing where no roles name them
        fields = {
            name: value
            for name, value in asdict(self).items()
            if value is not None or name not in roles
        }
        return fields | {"sentence": self.sentence}


def check_group_size(k: object) -> None:
    """Raise an error unless k is a whole number of 2 or more."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise OptionError("k is not a whole number of 2 or more", hint="write for example k=5")


def household_codes(encoded: Sequence[tuple[NDArray[np.int64], list[Any]]]) -> NDArray[np.int64]:
    """Return the household of every record, from 0 on; who has none has one of their own."""
    from hartley.ranges.classes import combine_codes  # not needed to count people

    homes, _ = combine_codes([codes for codes, _ in encoded], [len(v) for _, v in encoded])
    alone = np.zeros(homes.size, bool)
    for codes, values in encoded:
        alone |= is_missing(codes, values)
    homes[alone] = int(homes.max(initial=-1)) + 1 + np.arange(int(alone.sum()))
    return numbered(homes)


def is_missing(codes: NDArray[np.int64], values: Sequence[Any]) -> NDArray[np.bool_]:
    """Tell which records have no value in an encoded column."""
    missing: NDArray[np.bool_] = codes == (len(values) - 1 if values and values[-1] is None else -1)
    return missing


# --- the overlap (taxicab) partition of a finite joint range --------------------------------------


@dataclass(frozen=True)
class OverlapPartition:
    """The classes of values that both sides can always agree on."""

    relation: Relation
    secret_labels: NDArray[np.int32]
    """The class of every secret, by code."""
    released_labels: NDArray[np.int32]
    """The class of every released value, by code."""

    def __len__(self) -> int:
        return int(self.secret_labels.max()) + 1

    def secret_class(self, value: object) -> int:
        """Return the class of a secret."""
        return int(self.secret_labels[self.relation.secret_values.code(value)])

    def released_class(self, value: object) -> int:
        """Return the class of a released value."""
        return int(self.released_labels[self.relation.released_values.code(value)])

    def classes(self) -> list[tuple[list[Any], list[Any]]]:
        """Return for every class its secrets and its released values."""
        secret_codes = _split(self.secret_labels, len(self))
        released_codes = _split(self.released_labels, len(self))
        secret, released = self.relation.secret_values, self.relation.released_values
        return [
            (secret.take(secrets), released.take(releases))
            for secrets, releases in zip(secret_codes, released_codes, strict=True)
        ]


def overlap_partition(relation: Relation) -> OverlapPartition:
    r"""Return the finest partition of the joint range whose classes never overlap.

    .. math:: [X|Y]_\star

    Two pairs lie in one class when a chain of pairs leads from one to the other, each step
    keeping the secret or the released value: the connected components of the bipartite graph of
    the joint range (Nair 2013; Farokhi 2019, Definition II.2). It is unique, and the same seen
    from either side. Exact. Near-linear in the number of distinct pairs.

    Example:
        >>> from hartley import Relation
        >>> relation = Relation.from_pairs([(1, "a"), (2, "a"), (2, "b"), (3, "c")])
        >>> overlap_partition(relation).classes()
        [([1, 2], ['a', 'b']), ([3], ['c'])]
    """
    summary = relation.summary
    return OverlapPartition(relation, summary.secret_labels, summary.released_labels)


def _split(labels: NDArray[np.int32], classes: int) -> list[NDArray[np.int64]]:
    """Return the codes of every class."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=classes))[:-1])
