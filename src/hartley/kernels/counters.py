"""Random numbers that depend on a seed and a count only, not on threads or the order of draws."""

from __future__ import annotations

import numpy as np

from hartley.kernels.compiling import compiled

GOLDEN, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
S27, S30, S31, S32, ONE = (np.uint64(shift) for shift in (27, 30, 31, 32, 1))


@compiled
def mixed(state: np.uint64) -> np.uint64:
    """Return the scrambled state of SplitMix64 (Steele, Lea and Flood 2014)."""
    state = (state ^ (state >> S30)) * FIRST
    state = (state ^ (state >> S27)) * SECOND
    return state ^ (state >> S31)


@compiled
def first_state(seed: np.uint64, game: np.uint64) -> np.uint64:
    """Return the state with which the random numbers of one game, or of one trial, begin."""
    return mixed(seed ^ mixed(game + ONE))


@compiled
def bounded_draw(state: np.uint64, below: int) -> np.int64:
    """Return the whole number below a bound that a state stands for; even to one part in 2^32."""
    # The upper 32 bits times a bound below 2^32 fit into 64 bits; no division, no rejection.
    return np.int64(((mixed(state) >> S32) * np.uint64(below)) >> S32)
