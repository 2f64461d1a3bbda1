"""Multipliers that a solver proposes, as exact rationals: any of them prove a bound."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRECISION = 2**40
"""Multipliers are whole numbers over this where no small denominator fits them."""
DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 60, 2520)
"""Tried first: a combination such as (x + y - z)/2 is then proved, and shown, as it is."""
NEAR = 1e-6
"""A multiplier this close to a multiple of a denominator is rounded to it."""


def over_one_denominator(prices: NDArray[np.float64]) -> list[tuple[tuple[int, ...], int]]:
    """Return multipliers as whole numbers over one denominator: a small one, then a precise one.

    Example:
        >>> over_one_denominator(np.array([0.5, -1.0]))[0]
        ((1, -2), 2)
    """
    exact = [Fraction(float(price)) for price in prices]
    return [
        (tuple(round(price * d) for price in exact), d)
        for d in dict.fromkeys((small_denominator(prices), PRECISION))
    ]


def small_denominator(prices: NDArray[np.float64]) -> int:
    """Return the smallest common denominator that is near all multipliers."""
    for d in DENOMINATORS:
        if (np.abs(prices * d - np.round(prices * d)) < NEAR).all():
            return d
    return PRECISION


def lifted(remainder: int, prime: int) -> Fraction | None:
    """Return the small rational that a remainder modulo a prime stands for, None without one.

    Wang's rational reconstruction: numerator and denominator below the root of half the prime.

    Example:
        >>> lifted(pow(2, -1, 101), 101), lifted(100, 101)
        (Fraction(1, 2), Fraction(-1, 1))
    """
    limit = int((prime // 2) ** 0.5)
    before, now = (prime, 0), (remainder % prime, 1)
    while now[0] > limit:
        quotient = before[0] // now[0]
        before, now = now, (before[0] - quotient * now[0], before[1] - quotient * now[1])
    if not now[1] or abs(now[1]) > limit:
        return None
    return Fraction(now[0], now[1])
