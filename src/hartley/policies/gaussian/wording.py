"""Numbers of the Gaussian bounds in words, rounded so that a sentence stays true."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DISCRETE = (
    "A discrete confidential side has no differential entropy: for one this is a comparison and "
    "no bound."
)


def shown_below(value: float) -> str:
    """Show a number with six decimals, rounded down."""
    return _rounded(value, math.floor)


def shown_above(value: float) -> str:
    """Show a number with six decimals, rounded up."""
    return _rounded(value, math.ceil)


def _rounded(value: float, whole: Callable[[Fraction], int]) -> str:
    if math.isinf(value):
        return "infinitely many"
    return f"{whole(Fraction(value) * 10**6) / 1e6:.6f}"


def plain(value: float) -> float | str:
    """Return a number as JSON can hold it."""
    return "inf" if math.isinf(value) else value
