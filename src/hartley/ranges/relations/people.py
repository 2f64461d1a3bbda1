"""How many people a release is about: given away, unique, or among few."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.wording import counted, percent_up, verb_for

if TYPE_CHECKING:
    import numpy as np
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
        if self.given_away is None:
            return few
        return (
            f"The secret of {counted(self.given_away, 'person')} of {self.rows:,} "
            f"({self._share(self.given_away)}) is given away; {few}"
        )

    def _share(self, people: int) -> str:
        return percent_up(Fraction(people, max(self.rows, 1)))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON."""
        return asdict(self) | {"sentence": self.sentence}


def check_k(k: object) -> None:
    """Raise an error unless k is a whole number of 2 or more."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise OptionError("k is not a whole number of 2 or more", hint="write for example k=5")
