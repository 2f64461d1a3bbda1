"""How many people a release is about: given away, unique, or among few."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.numerals import percent_at_most
from hartley.wording import counted, verb_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FEW = 5
"""People who share what is known with fewer than so many, themselves included, stand among few."""


@dataclass(frozen=True)
class PeopleCounts:
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
    def of_classes(
        cls,
        sizes: NDArray[np.int64],
        k: int = FEW,
        secrets_left: NDArray[np.int64] | None = None,
    ) -> PeopleCounts:
        """Count people by the sizes of the classes that a release does not tell apart.

        Args:
            sizes: how many people each class has.
            k: whoever stands among fewer counts as among few.
            secrets_left: how many secrets stay possible in each class.

        Example:
            >>> import numpy as np
            >>> PeopleCounts.of_classes(np.array([1, 4, 9]), 5, np.array([1, 1, 3]))
            PeopleCounts(rows=14, k=5, unique=1, among_few=5, given_away=5)
        """
        check_k(k)
        return cls(
            rows=int(sizes.sum()),
            k=k,
            unique=int((sizes == 1).sum()),
            among_few=int(sizes[sizes < k].sum()),
            given_away=None if secrets_left is None else int(sizes[secrets_left == 1].sum()),
        )

    @property
    def sentence(self) -> str:
        """The counts in one sentence."""
        few = (
            f"{counted(self.among_few, 'person')} of {self.rows:,} "
            f"({self._share(self.among_few)}) {verb_for(self.among_few, 'stands')} among fewer "
            f"than {self.k}, and {self.unique:,} {verb_for(self.unique, 'is')} unique."
        )
        if self.given_away is not None:
            few = (
                f"The secret of {counted(self.given_away, 'person')} of {self.rows:,} "
                f"({self._share(self.given_away)}) is given away; {few}"
            )
        return " ".join((few, *self._by_roles))

    @property
    def _by_roles(self) -> tuple[str, ...]:
        """What households and sampling weights add, a sentence each."""
        said = []
        if self.household_among_few is not None:
            people = self.household_among_few
            said.append(
                "If everybody is as exposed as the most exposed member of their household, "
                f"{people:,} {verb_for(people, 'stands')} among fewer than {self.k} "
                f"({self._share(people)})."
            )
        if self.expected is not None:
            said.append(
                f"By the sampling weights about {self.expected:,.1f} of them would be found in the "
                "population; this is an estimate and no promise."
            )
        return tuple(said)

    def _share(self, people: int) -> str:
        return percent_at_most(Fraction(people, max(self.rows, 1)))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON."""
        roles = {"household_among_few", "expected"}  # nothing where no roles name them
        fields = {
            name: value
            for name, value in asdict(self).items()
            if value is not None or name not in roles
        }
        return fields | {"sentence": self.sentence}


def check_k(k: object) -> None:
    """Raise an error unless k is a whole number of 2 or more."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise OptionError("k is not a whole number of 2 or more", hint="write for example k=5")


def check_wanted_k(k: object) -> None:
    """Raise an error unless k is None, so that nobody is counted, or a number of 2 or more."""
    if k is not None:
        check_k(k)


def household_codes(encoded: Sequence[tuple[NDArray[np.int64], list[Any]]]) -> NDArray[np.int64]:
    """Return the household of every record, from its encoded columns.

    Who has no household has one of their own.

    Example:
        >>> household_codes([(np.array([0, 1, 0, 1]), ["a", None])])
        array([0, 2, 0, 3])
    """
    from hartley.ranges.relations.classes import combine_codes  # not needed to count people

    combined, _ = combine_codes([codes for codes, _ in encoded], [len(v) for _, v in encoded])
    homes = np.unique(combined, return_inverse=True)[1]
    alone = np.zeros(homes.size, bool)
    for codes, values in encoded:
        alone |= is_missing(codes, values)
    homes[alone] = int(homes.max(initial=-1)) + 1 + np.arange(int(alone.sum()))
    return homes


def is_missing(codes: NDArray[np.int64], values: Sequence[Any]) -> NDArray[np.bool_]:
    """Tell which records have no value in an encoded column.

    Example:
        >>> is_missing(np.array([0, 1]), ["a", None])
        array([False,  True])
    """
    missing: NDArray[np.bool_] = codes == (len(values) - 1 if values and values[-1] is None else -1)
    return missing
