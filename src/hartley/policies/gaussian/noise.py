"""The noise of a Gaussian rule: how it is drawn, and what a noisy key tells at most."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from hartley.errors import OptionError
from hartley.policies.gaussian.certificate import half_log
from hartley.policies.gaussian.exact_matrices import Dyadic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.policies.gaussian.model import GaussianModel

    Floats = NDArray[np.float64]


def check_seed(seed: object) -> None:
    """Refuse a seed that is no whole number of 0 or more; none is one that nobody knows."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if seed is not None and not (whole and cast("int", seed) >= 0):
        raise OptionError(
            f"The seed {seed} is not a whole number of 0 or more", hint="write seed=7"
        )


def noise_source(seed: int | None) -> Callable[[int, int], Floats]:
    """Return what draws rows of standard normal numbers, one after the other.

    With a seed by NumPy's generator, for reproduction. Without one by the words of a cipher under
    a fresh key: the state of an ordinary generator follows from some of its numbers, and somebody
    who knows a few keys would know all the noise.

    Example:
        >>> noise_source(7)(2, 3).shape, noise_source(None)(2, 3).shape
        ((2, 3), (2, 3))
    """
    check_seed(seed)
    if seed is not None:
        generator = np.random.default_rng(seed)
        return lambda rows, columns: generator.standard_normal((rows, columns))
    from scipy.special import ndtri

    from hartley.kernels.draw import random_words

    key = np.frombuffer(secrets.token_bytes(32), dtype="<u4").astype(np.uint32)
    first = 0

    def draw(rows: int, columns: int) -> Floats:
        nonlocal first
        words = random_words(key, first, rows * columns)
        first += rows * columns
        # 52 bits and a half: exact in a double, and never 0 or 1, which would be infinitely far.
        uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        return np.asarray(ndtri(uniform).reshape(rows, columns))

    return draw


def channel_information(model: GaussianModel, inner: Floats, noise: Floats) -> float:
    r"""Return what noisy combinations of a key tell at most about it, whatever its distribution.

    .. math:: I(X; LX + N) \le \tfrac12 \sum_i \log(1 + c_i / n_i)

    with c the variances of the combinations LX and n those of the independent Gaussian noise: of
    all distributions with a variance the Gaussian has the largest entropy (Shannon 1948, section
    20). A bound in nats from exact variances, rounded up; infinite without noise. One product of
    matrices.
    """
    total = 0.0
    for row, deviation in zip(inner, noise, strict=True):
        if deviation == 0:
            return math.inf
        combination = Dyadic.of(row[None, :])
        signal = (combination @ model.exact.key @ combination.T).trace()
        ratio = 1 + signal / Fraction(float(deviation)) ** 2
        total = math.nextafter(total + half_log(ratio.numerator, ratio.denominator)[1], math.inf)
    return total
