"""Joint laws and channels in exact rationals, for measures that are exact or proved."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.ranges.relations.counting import CountedRange
from hartley.ranges.relations.distribution import TOLERANCE, Channel, JointDistribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hartley.ranges.joint_range import GuessedSide

ExactRows: TypeAlias = tuple[tuple[Fraction, ...], ...]
"""One row per secret, one entry per released value."""


LARGEST_LAW = 40_000
"""Entries of the largest channel that is made of a relation's counts."""


def exact_joint(source: JointDistribution | ArrayLike) -> ExactRows:
    """Return the probabilities of the pairs as rationals that add up to 1.

    Numbers are read as they are written, 0.1 as one tenth, and divided by their sum, which has to
    be 1 up to rounding.

    Example:
        >>> exact_joint([[0.1, 0.2], ["1/2", "1/5"]])[1]
        (Fraction(1, 2), Fraction(1, 5))
    """
    matrix = source.matrix if isinstance(source, JointDistribution) else source
    rows = _read(matrix, "joint distribution")
    whole = sum((_total(row) for row in rows), Fraction(0))
    if float(abs(whole - 1)) > TOLERANCE:
        raise OptionError(
            "The joint distribution does not add up to 1",
            hint="divide by the sum, or pass a relation to use its counts",
        )
    return tuple(tuple(entry / whole for entry in row) for row in rows)


def exact_channel(source: GuessedSide | ArrayLike) -> ExactRows:
    """Return the probabilities of the released values given each secret, as rationals.

    Rows of a relation are counted. Secrets that never occur are left out. Numbers are read as
    ``exact_joint`` reads them, and each row is divided by its sum.

    Example:
        >>> exact_channel([[0.9, 0.1], [0, 1]])[0]
        (Fraction(9, 10), Fraction(1, 10))
    """
    given: object = source
    if isinstance(given, CountedRange):
        rows = _counted(given)
    elif isinstance(given, JointDistribution):
        rows = _read(given.matrix, "joint distribution")
    else:
        rows = _read(given.matrix if isinstance(given, Channel) else given, "channel")
        if any(float(abs(_total(row) - 1)) > TOLERANCE for row in rows):
            raise OptionError(
                "A row of the channel does not add up to 1",
                hint="give one row per secret, with the probabilities of the released values",
            )
    return tuple(tuple(entry / whole for entry in row) for row in rows if (whole := _total(row)))


def check_size(secrets: int, released: int) -> None:
    """Refuse a channel whose rationals would take for ever."""
    if secrets * released > LARGEST_LAW:
        raise OptionError(
            f"A channel of {secrets:,} secrets and {released:,} released values is too large",
            hint=f"take bins or groups, so that their product is at most {LARGEST_LAW:,}",
        )


def _total(row: list[Fraction]) -> Fraction:
    return sum(row, Fraction(0))


def _counted(source: CountedRange) -> list[list[Fraction]]:
    check_size(source.summary.secrets, source.summary.released)
    pairs = source.pairs()
    rows = [[Fraction(0)] * pairs.sizes[1] for _ in range(pairs.sizes[0])]
    cells = (pairs.secret.tolist(), pairs.released.tolist(), pairs.counts.tolist())
    for secret, released, count in zip(*cells, strict=True):
        rows[secret][released] = Fraction(count)
    return rows


def _read(matrix: Any, name: str) -> list[list[Fraction]]:  # noqa: ANN401 - checked here
    """Read a matrix of numbers that are probabilities."""
    listed = matrix.tolist() if isinstance(matrix, np.ndarray) else matrix
    try:
        rows = [[parse_number(entry, name="an entry") for entry in row] for row in listed]
    except (TypeError, OptionError):
        rows = []
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise OptionError(
            f"The {name} is not a matrix of numbers", hint="pass a list of rows of equal length"
        )
    if min(map(min, rows)) < 0:
        raise OptionError(
            f"The {name} contains an entry that is not a probability",
            hint="give a number of 0 or more in every entry",
        )
    return rows
