"""The Newton matrices of the interior-point methods: one block a released value."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


SUFFIXES = ("64_", "")
"""Endings of the function names: of builds with 64-bit integers, and of others."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the OpenBLAS of NumPy and SciPy to one thread, and restore the number afterwards.

    Factors of matrices of a few hundred rows take microseconds, and threads spend more than that
    waiting for each other: ten times and more on a busy machine. Another BLAS is not changed. The
    setting holds for the whole process.

    Example:
        >>> with one_blas_thread():
        ...     all(ask() == 1 for ask, _ in _settings())
        True
    """
    before = [ask() for ask, _ in _settings()]
    for _, choose in _settings():
        choose(1)
    try:
        yield
    finally:
        for (_, choose), threads in zip(_settings(), before, strict=True):
            choose(threads)


@cache
def _settings() -> tuple[tuple[Any, Any], ...]:
    """Return for each library the functions that get and set its number of threads."""
    import numpy as np
    import scipy

    settings = []
    for package in (np, scipy):
        folder = Path(str(package.__file__)).parent.parent / f"{package.__name__}.libs"
        for file in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(file))
            except OSError:  # not of this platform
                continue
            for suffix in SUFFIXES:
                names = [f"scipy_openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    settings.append((getattr(library, names[0]), getattr(library, names[1])))
                    break
    return tuple(settings)


RIDGES = (0.0, 1e-15, 1e-13, 1e-11, 1e-9)
"""Shares by which a diagonal grows until the block has a factor."""


class Blocks:
    r"""Factored blocks M_c = s (F'F) s + D of all released values, and the sum of their inverses.

    .. math:: S = \sum_c s_c M_c^{-1} s_c

    A block is a sum of squares plus a diagonal, scaled by the variables s themselves, so that
    nothing cancels even where some of them are nearly zero. |C| N^2 (N + rows) operations.

    Args:
        scale: s, a column a released value.
        diagonal: D, of the first variables of each column.
        rows: F of a released value.
        ridges: what may be added to a diagonal, as shares of it, where rounding spoils a block;
            without, the failure is an error.
    """

    def __init__(
        self,
        scale: Floats,
        diagonal: Floats,
        rows: Callable[[int], Floats],
        *,
        ridges: tuple[float, ...] = RIDGES[:1],
    ) -> None:
        from scipy.linalg.blas import dsyrk
        from scipy.linalg.lapack import dpotri

        self.scale = scale
        size, released = scale.shape
        self.factors = np.empty((released, size, size))
        schur = np.zeros((size, size))
        first = np.arange(diagonal.shape[0])
        for c in range(released):
            column = scale[:, c]
            block = dsyrk(1.0, rows(c) * column, trans=1, lower=1)
            block[first, first] += diagonal[:, c]
            factor = _factor(block, ridges)
            self.factors[c] = factor.T  # transposed: both lie in memory as LAPACK wrote them
            inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
            schur += inverse * column[:, None] * column
        self.schur = np.tril(schur) + np.tril(schur, -1).T

    def solve(self, right: Floats) -> Floats:
        """Return s M^-1 right for the blocks of all released values."""
        from scipy.linalg.lapack import dpotrs

        out = np.empty_like(right)
        for c in range(right.shape[1]):
            out[:, c] = dpotrs(self.factors[c].T, right[:, c], lower=1)[0]
        return out * self.scale


class ThinBlocks:
    r"""The same of all released values at once, where F has few rows and D no zero.

    .. math:: s (F'F) s + D = \sqrt{D} \, (I + Q' \Sigma^2 Q) \sqrt{D}

    by the singular values of F s / sqrt(D), so that nothing of the size of a block is formed. What
    is orthogonal to Q is found twice, since most of a vector may lie along it. |C| N rows
    (N + rows) operations.

    Args:
        scale: s, a column a released value.
        diagonal: D.
        rows: F of every released value.
    """

    def __init__(self, scale: Floats, diagonal: Floats, rows: Floats) -> None:
        self.root = np.sqrt(diagonal)
        self.weight = scale / self.root
        _, sizes, self.along = np.linalg.svd(rows * self.weight.T[:, None], full_matrices=False)
        self.left = 1 / (1 + sizes**2)
        taken = self.along * (sizes * np.sqrt(self.left))[:, :, None] * self.weight.T[:, None]
        taken = taken.reshape(-1, scale.shape[0])
        self.schur = np.diag((self.weight**2).sum(axis=1)) - taken.T @ taken

    def solve(self, right: Floats) -> Floats:
        """Return s M^-1 right for the blocks of all released values."""
        across = (right / self.root).T[:, :, None]
        parts = np.zeros((*self.along.shape[:2], 1))
        for _ in range(2):
            more = self.along @ across
            across = across - self.along.mT @ more
            parts += more
        solved: Floats = (across + self.along.mT @ (parts * self.left[:, :, None]))[:, :, 0].T
        return solved * self.weight


def _factor(block: Floats, ridges: tuple[float, ...]) -> Floats:
    from scipy.linalg.lapack import dpotrf

    places = np.diag_indices(block.shape[0])
    for ridge in ridges:
        if ridge:
            block[places] *= 1 + ridge
        factor, failed = dpotrf(block, lower=1)
        if not failed:
            return np.asarray(factor)
    raise np.linalg.LinAlgError


def reach(point: Floats, step: Floats) -> float:
    """Return how far a step can go before an entry becomes zero.

    Example:
        >>> reach(np.array([1.0, 2.0]), np.array([1.0, -4.0]))
        0.5
    """
    steepest = float((-step / point).max())
    return 1 / steepest if steepest > 0 else np.inf
