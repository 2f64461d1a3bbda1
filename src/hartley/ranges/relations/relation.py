"""The relation: the finite joint range of a secret side and a released side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from hartley.errors import ColumnError, OptionError, TableError
from hartley.exact import parse_step
from hartley.ranges.relations.counting import (
    CountedRange,
    ListedOrigin,
    Origin,
    Pairs,
    RecordOrigin,
    Summary,
    TableOrigin,
)
from hartley.ranges.relations.values import JointValues, Values, encode_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.engines.counting.pairs import Progress
    from hartley.engines.tables.view import View
    from hartley.kernels.cube import ClassCounts
    from hartley.ranges.joint_range import Beliefs


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
        from hartley.engines.counting.pairs import parse_memory
        from hartley.engines.tables.periods import in_periods, is_period
        from hartley.engines.tables.sources import open_table
        from hartley.engines.tables.view import prepare

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

    @cached_property
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
        """Return the relation after the released values were replaced by their groups.

        Args:
            groups: for every released code the code of its group.
            values: what the groups stand for.
        """
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
        from hartley.kernels.cube import ClassCounts

        pairs = self.pairs()
        columns = (pairs.released, pairs.secret, pairs.counts)
        return ClassCounts.from_cells(*(np.asarray(column, np.int64) for column in columns))

    def beliefs(self) -> Beliefs:
        """Return what each released value makes somebody believe about the secret."""
        from hartley.ranges.relations.beliefs import CountedBeliefs, ranks

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
