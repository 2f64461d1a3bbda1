"""Numbers whose covariance overflows are refused without a warning of numpy."""

import warnings

import numpy as np

from hartley.policies.gaussian.model import moments


def test_moments_that_overflow_are_not_finite_and_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, covariances = moments(np.array([[1.0], [1e308], [-1e308]]))
    assert not np.isfinite(covariances).any()
