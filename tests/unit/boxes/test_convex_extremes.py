"""Convex and concave quadratics of many variables, against all faces and known answers."""

import random
from fractions import Fraction

import numpy as np
import pytest

from hartley import Box, Interval
from hartley.boxes import parse_expression
from hartley.boxes.exact_range import convex_extremes, is_convex, known_range
from hartley.boxes.polynomial import Polynomial, quadratic_extremes


def variance(size):
    names = [f"x{i + 1}" for i in range(size)]
    squares = "+".join(f"{name}**2" for name in names)
    return parse_expression(f"({squares})/{size} - (({'+'.join(names)})/{size})**2")


@pytest.mark.parametrize("size", [9, 12])
def test_the_variance_of_many_people_has_an_exact_range(size):
    known = known_range(variance(size), Box.cube(0, 1, size=size))
    assert known.exact
    assert known.outer == Interval(0, Fraction((size // 2) * ((size + 1) // 2), size**2))


@pytest.mark.parametrize("seed", range(12))
def test_all_faces_give_the_same_range(seed):
    """A sum of squares of random linear forms is convex; the other rule looks at every face."""
    draw = random.Random(seed)  # noqa: S311 - repeatable cases
    names = ["a", "b", "c", "d"]
    forms = [
        "("
        + " + ".join(f"{draw.randint(-3, 3)}*{name}" for name in names)
        + f" - {draw.randint(-4, 4)})"
        for _ in range(draw.randint(1, 4))
    ]
    sign = draw.choice(["", "-"])
    text = sign + "(" + " + ".join(f"{form}**2" for form in forms) + ")"
    text += " + " + " + ".join(f"{draw.randint(-5, 5)}/3*{name}" for name in names)
    polynomial = Polynomial.of(parse_expression(text))
    sides = {name: Interval(draw.randint(-3, 0), draw.randint(1, 3)) for name in names}
    if not polynomial.names:
        return
    ends = convex_extremes(polynomial, sides)
    assert ends == quadratic_extremes(polynomial, sides)


def test_what_is_neither_convex_nor_concave_has_no_such_rule():
    unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
    assert convex_extremes(Polynomial.of(parse_expression("x*y - x**2")), unit) is None


@pytest.mark.parametrize("seed", range(20))
def test_convexity_is_what_eigenvalues_say(seed):
    draw = np.random.default_rng(seed)
    factor = draw.integers(-2, 3, (3, 4))
    matrix = factor.T @ factor - np.diag(draw.integers(0, 2, 4) * (seed % 2))
    least = np.linalg.eigvalsh(matrix.astype(float)).min()
    assert is_convex(matrix.tolist()) == (least > -1e-9)
