"""Exponentials and logarithms in arithmetic that every engine has: how far off, and where none."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from hartley.boxes.box import Interval
from hartley.boxes.expression import parse_expression
from hartley.errors import OptionError
from hartley.policies.vector import arithmetic_tree, outside
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table
from hartley.tables.release_rules import Formula


def evaluated(tree, x):
    """Evaluate a tree in doubles, in the order in which it is written."""
    operation, *arguments = tree
    if operation == "const":
        return float(Fraction(arguments[0]))
    if operation == "var":
        return x
    if operation == "if":
        return evaluated(arguments[1 if holds(arguments[0], x) else 2], x)
    if operation == "pow":
        base = result = evaluated(arguments[0], x)
        for _ in range(arguments[1] - 1):
            result = result * base
        return result
    numbers = [evaluated(argument, x) for argument in arguments]
    if operation == "/" and numbers[1] == 0:
        return None
    return {
        "+": lambda: numbers[0] + numbers[1],
        "-": lambda: numbers[0] - numbers[1],
        "*": lambda: numbers[0] * numbers[1],
        "/": lambda: numbers[0] / numbers[1],
        "abs": lambda: abs(numbers[0]),
        "sqrt": lambda: math.sqrt(numbers[0]),
        "min": lambda: min(numbers),
        "max": lambda: max(numbers),
    }[operation]()


def holds(condition, x):
    if condition[0] == "and":
        return holds(condition[1], x) and holds(condition[2], x)
    one, other = (evaluated(part, x) for part in condition[1:])
    return one < other if condition[0] == "<" else one <= other


@pytest.mark.parametrize(
    ("query", "reach", "most"),
    [("exp(x)", 1, 1e-15), ("exp(x)", 32, 5e-14)],
)
def test_exponentials_are_close_to_the_truth(query, reach, most):
    tree = arithmetic_tree(parse_expression(query))
    for x in np.random.default_rng(7).uniform(-reach, reach, 200).tolist():
        with localcontext() as context:
            context.prec = 50
            truth = Decimal(x).exp()
            assert abs(Decimal(evaluated(tree, x)) - truth) <= Decimal(most) * truth


@pytest.mark.parametrize(("bits", "most"), [(1, 1e-15), (64, 5e-14)])
def test_logarithms_are_close_to_the_truth(bits, most):
    tree = arithmetic_tree(parse_expression("log(x)"))
    for power in np.random.default_rng(8).uniform(-bits, bits, 200).tolist():
        with localcontext() as context:
            context.prec = 50
            assert abs(Decimal(evaluated(tree, 2.0**power)) - Decimal(2.0**power).ln()) <= most


def test_there_is_no_value_where_there_is_none_or_where_it_is_not_computed():
    logarithm = arithmetic_tree(parse_expression("log(x)"))
    assert [evaluated(logarithm, x) for x in (0.0, -1.0, 2.0**65, 2.0**-65)] == [None] * 4
    assert evaluated(logarithm, 1.0) == 0.0
    exponential = arithmetic_tree(parse_expression("exp(x)"))
    assert [evaluated(exponential, x) for x in (32.5, -32.5)] == [None] * 2
    assert evaluated(exponential, 0.0) == 1.0


@pytest.mark.parametrize(
    ("query", "sides", "named"),
    [
        ("exp(x) + 1", (-32, 32), None),
        ("exp(x) + 1", (0, 33), "exp(x)"),
        ("2*log(x)", (1, 2**64), None),
        ("2*log(x)", (1, 2**65), "log(x)"),
        ("exp(-log(x))", (Fraction(1, 2**65), 1), "log(x)"),
        ("x**2", (0, 10**9), None),
    ],
)
def test_an_argument_that_may_lie_outside_is_named(query, sides, named):
    assert outside(parse_expression(query), {"x": Interval(*sides)}) == named


def test_an_engine_computes_the_same_doubles_and_nothing_where_it_is_undefined():
    values = [*np.random.default_rng(9).uniform(-2, 30, 60).tolist(), 0.0, -1.0]
    for query in ("exp(x)", "log(x)"):
        tree = arithmetic_tree(parse_expression(query))
        rules = (Formula("x", tree, Fraction(-2), Fraction(30)),)
        released = apply_map(open_table({"x": values}), rules).expression.to_pyarrow()
        assert released["x"].to_pylist() == [evaluated(tree, x) for x in values]


def test_queries_without_them_stay_as_they_are_and_deep_ones_are_refused():
    plain = parse_expression("sqrt(x)/2 + x**3")
    assert arithmetic_tree(plain) == plain.to_tree()
    with pytest.raises(OptionError, match="nests exp too deeply"):
        arithmetic_tree(parse_expression("exp(exp(exp(x)))"))
