"""The methods of the solver: coarse starts, first and second order, arrays of any library."""

import math
import types

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from hartley import HartleyError, PrivacyDistortion
from hartley.policies.distortion import search
from hartley.policies.distortion.newton import one_blas_thread, solve_second
from hartley.policies.distortion.problem import Incumbent, Problem, evaluate, lower_bound, namespace
from hartley.policies.distortion.search import solve_first, start_coarse


def gaussian_problem(points, lam=1.22):
    model = PrivacyDistortion.gaussian(rho=0.95, points=points)
    return Problem.of(model.joint.matrix, model.distortion, lam), np.array(model.values)


@pytest.mark.slow
def test_a_coarse_start_proves_a_bound_for_all_key_values():
    problem, grid = gaussian_problem(61)
    start = start_coarse(problem, grid, size=21)
    cold = solve_second(problem, tolerance=1e-7)
    bound = lower_bound(problem, start.scores)
    assert cold.cost - 0.02 < bound <= cold.cost
    assert evaluate(problem, start.rule).cost < cold.cost + 0.05
    warm = solve_second(
        problem, tolerance=1e-7, start=start_coarse(problem, grid, size=21, tolerance=1e-3)
    )
    assert warm.cost == pytest.approx(cold.cost, abs=2e-7)
    assert warm.gap <= 1e-7
    assert warm.steps < cold.steps


def test_large_alphabets_take_the_first_order_method_and_say_what_they_reached(monkeypatch):
    monkeypatch.setattr(search, "SECOND_WORK", 1.0)
    monkeypatch.setattr(search, "FIRST_STEPS", (200, 200))
    model = PrivacyDistortion.gaussian(rho=0.9, points=15, base=math.e)
    rough = model.solve(lam=1.0)
    exact = PrivacyDistortion.gaussian(rho=0.9, points=15, base=math.e, method="second").solve(
        lam=1.0
    )
    assert exact.cost <= rough.cost <= exact.cost + rough.gap + 1e-12
    assert 1e-9 < rough.gap < 1e-2


@pytest.mark.slow
def test_a_method_can_be_chosen(joint):
    first = PrivacyDistortion(joint, "squared", method="first").solve(lam=5, tolerance=1e-6)
    second = PrivacyDistortion(joint, "squared", method="second").solve(lam=5)
    assert first.gap < 1e-6
    assert abs(first.cost - second.cost) < 1e-6


class Guarded:
    """An array that only takes the operators and functions that all array libraries share."""

    def __init__(self, data):
        self.data = data

    def __array__(self, *args, **kwargs):
        raise AssertionError("turned into a NumPy array")

    def __array_namespace__(self):
        return SHARED

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    T = property(lambda self: Guarded(self.data.T))

    def __getitem__(self, place):
        return Guarded(self.data[place])

    def __float__(self):
        return float(self.data)


def bare(value):
    return value.data if isinstance(value, Guarded) else value


def operator(name):
    return lambda self, *others: Guarded(getattr(self.data, name)(*map(bare, others)))


for _name in (
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "matmul",
    "gt",
    "lt",
    "ge",
    "le",
    "neg",
    "and",
):
    setattr(Guarded, f"__{_name}__", operator(f"__{_name}__"))


def guarded(function):
    return lambda *args, **kwargs: Guarded(np.asarray(function(*map(bare, args), **kwargs)))


FUNCTIONS = (
    *("sum", "exp", "log", "abs", "where", "amax", "amin"),
    *("isfinite", "clip", "ones_like", "zeros_like"),
)


SHARED = types.SimpleNamespace(
    finfo=np.finfo, **{name: guarded(getattr(np, name)) for name in FUNCTIONS}
)


def test_the_first_order_method_runs_on_arrays_of_any_library(joint):
    plain = Problem.of(joint, (np.arange(3)[:, None] - np.arange(3.0)) ** 2, 0.5)
    joint = Guarded(joint)
    other = Problem.of(joint, Guarded(plain.distortion), 0.5)
    assert namespace(joint) is SHARED
    best = solve_first(plain, tolerance=1e-6, most=60)
    other = solve_first(other, tolerance=1e-6, most=60)
    assert isinstance(other.rule, Guarded)
    assert (other.cost, other.bound) == (best.cost, best.bound)


def test_the_first_order_method_can_be_stopped(joint):
    problem = Problem.of(joint, (np.arange(3)[:, None] - np.arange(3.0)) ** 2, 0.5)
    seen = []
    solve_first(problem, tolerance=0.0, stop=lambda step, gap: seen.append((step, gap)) or True)
    assert len(seen) == 1


def test_a_rule_that_costs_more_is_not_kept(joint):
    problem = Problem.of(joint, 1 - np.eye(3), 0.5)
    found = Incumbent(np.zeros((2, 3)))
    found.try_rule(problem, np.eye(3))
    best = found.cost
    found.try_rule(problem, np.full((3, 3), 1 / 3))
    assert found.cost == best


def test_every_error_is_one_of_ours():
    with pytest.raises(HartleyError):
        PrivacyDistortion("nothing", "squared")


def test_the_number_of_blas_threads_is_what_it_was():
    def threads():
        return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]

    def fail():
        with one_blas_thread():
            inside.extend(threads())
            raise ValueError("inside")

    before, inside = threads(), []
    with pytest.raises(ValueError, match="inside"):
        fail()
    assert set(inside) <= {1}
    assert threads() == before
