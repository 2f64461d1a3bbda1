"""The semidefinite programme of the quadratic-Gaussian bound, given to a convex solver."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.policies.gaussian.model import GaussianModel

    Floats = NDArray[np.float64]

TOLERANCE = 1e-12
"""Finer than the solver reaches: it then goes on as long as it gets anywhere."""


class Programme:
    r"""The covariance of the release that tells least, for any distortion of one model.

    .. math:: \max \log\det(I - K T K^\top), \quad 0 \preceq T \preceq I, \quad
        \mathrm{tr}(G T) \ge 1 - d

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (6), in coordinates in which both sides are
    white: n(n+1)/2 variables. What the solver says is a start for a certificate and no more.
    """

    def __init__(self, model: GaussianModel) -> None:
        self._model = model

    def solve(self, share: float) -> tuple[Floats, Floats] | None:
        """Return a covariance of the release and the slope of its log det, or None if none came.

        Args:
            share: the distortion, as a share of the key's variance.
        """
        import cvxpy

        problem, allowed, released, equal = self._compiled
        allowed.value = share
        try:
            with warnings.catch_warnings():
                # It warns where it stops before the tolerance; the certificate says how near it is.
                warnings.simplefilter("ignore")
                problem.solve(
                    solver="CLARABEL",
                    tol_gap_abs=TOLERANCE,
                    tol_gap_rel=TOLERANCE,
                    tol_feas=TOLERANCE,
                )
        except cvxpy.error.SolverError:
            return None
        if released.value is None or equal.dual_value is None:
            return None
        slope = np.asarray(equal.dual_value, dtype=np.float64)
        slope = (slope + slope.T) * math.copysign(0.5, slope.trace())
        return np.asarray(released.value, dtype=np.float64), slope

    @cached_property
    def _compiled(self) -> tuple[Any, Any, Any, Any]:
        """The programme with the distortion left open, so that it is prepared once."""
        import cvxpy as package

        cvxpy: Any = package  # it ships types that do not know its own functions
        whitened, weight = self._model.whitened, self._model.weight
        of_secret, of_key = whitened.shape
        released = cvxpy.Variable((of_key, of_key), PSD=True)
        left = cvxpy.Variable((of_secret, of_secret), symmetric=True)
        allowed = cvxpy.Parameter(nonneg=True)
        equal = left == np.eye(of_secret) - whitened @ released @ whitened.T
        constraints = [
            equal,
            np.eye(of_key) - released >> 0,
            cvxpy.trace(weight @ released) >= 1 - allowed,
        ]
        problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.log_det(left)), constraints)
        return problem, allowed, released, equal
