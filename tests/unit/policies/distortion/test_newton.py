"""The blocks of Newton's method, and what they make possible: many key values, few secrets."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import PrivacyDistortion
from hartley.policies.distortion import newton as second_order, search
from hartley.policies.distortion.newton import Blocks, ThinBlocks, solve_second
from hartley.policies.distortion.problem import Problem


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(4, 12), st.integers(1, 5))
@settings(max_examples=60)
def test_thin_blocks_are_the_blocks(seed, rows, size, released):
    random = np.random.default_rng(seed)
    scale = random.random((size, released)) + 1e-3
    diagonal = 10.0 ** random.uniform(-6, 1, (size, released))
    factors = random.normal(size=(released, rows, size))
    right = random.normal(size=(size, released))
    thin = ThinBlocks(scale, diagonal, factors)
    for c in range(released):
        squares = (factors[c] * scale[:, c]).T @ (factors[c] * scale[:, c])
        solved = np.linalg.solve(squares + np.diag(diagonal[:, c]), right[:, c])
        np.testing.assert_allclose(thin.solve(right)[:, c], scale[:, c] * solved, rtol=1e-6)
    full = Blocks(scale, diagonal, lambda c: factors[c])
    np.testing.assert_allclose(thin.schur, full.schur, rtol=1e-6, atol=1e-9 * full.schur.max())


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(8, 24), st.floats(-3, 3))
@settings(max_examples=25)
def test_few_confidential_values_are_certified_as_tightly_without_blocks(seed, keys, power):
    random = np.random.default_rng(seed)
    joint = random.random((2, keys)) ** 4 * 10.0 ** -random.choice([0, 0, 6], size=keys)
    problem = Problem.of(joint / joint.sum(), random.random((keys, keys)), 10.0**power)
    tolerance = 1e-11 * max(1.0, problem.weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(second_order, "is_thin", lambda _: False)
        full = solve_second(problem, tolerance=tolerance)
    thin = solve_second(problem, tolerance=tolerance)
    assert thin.gap <= max(4 * full.gap, tolerance)
    assert thin.cost >= full.bound
    assert full.cost >= thin.bound


@pytest.mark.slow
def test_hundreds_of_key_values_are_certified_where_few_values_are_confidential():
    shares = 1 / (1 + np.exp(-np.linspace(-3, 3, 250)))
    apart = np.subtract.outer(np.arange(250), np.arange(250)) / 250
    joint = np.stack([shares, 1 - shares]) / 250
    best = solve_second(Problem.of(joint, apart**2, 10.0), tolerance=1e-9)
    assert best.gap <= 1e-9


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(8, 16))
@settings(max_examples=10)
def test_a_problem_too_large_for_the_programme_still_has_a_rule_that_tells_nothing(seed, keys):
    random = np.random.default_rng(seed)
    joint = random.random((2, keys)) / keys
    model = PrivacyDistortion(joint / joint.sum(), 1 - np.eye(keys))
    exact = model.solve(risk=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "LARGEST_PROGRAMME", 0)
        best = PrivacyDistortion(joint / joint.sum(), 1 - np.eye(keys)).solve(risk=0)
    assert best.risk < 1e-12
    assert exact.distortion - exact.gap <= best.distortion
    assert best.distortion - best.gap <= exact.distortion <= best.distortion + 1e-9
    assert best.gap < 0.01
