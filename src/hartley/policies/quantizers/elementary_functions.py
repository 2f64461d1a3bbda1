"""Exponentials and logarithms as sums, products, quotients and roots, alike on every engine.

The engines' own exp and log differ in the last digit. Sums, products, quotients and square roots
do not, so that a query with exp or log is rewritten in these before it reaches an engine.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.ranges.boxes.exact_intervals import natural_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.maps.formula import Tree
    from hartley.ranges.boxes.box import Interval
    from hartley.ranges.boxes.expression import Expression

TERMS = 19
"""Terms of the series: with arguments up to 1 what follows is below the last digit of a double."""
MOST_EXPONENT, MOST_BITS = 32, 64
"""exp is computed of numbers up to 32 in size, log of those between 2^-64 and 2^64.

Engines that put one formula into another write the argument down once for every time that it is
used, so that a wider range would be paid for by all."""
MOST_PARTS = 50_000
"""A query that is written in more operations is refused."""


def arithmetic_tree(expression: Expression) -> Tree:
    """Return a query as nested tuples without exp and log, which every engine computes alike.

    exp(x) is the series of x for up to 1, and the 32nd power of that of x/32 up to 32. log(x) is
    twice the series of artanh((x - 1)/(x + 1)) between 1/2 and 2, and 64 times that of the sixth
    square root between 2^-64 and 2^64. Elsewhere there is no value. Rounded to double precision:
    off by less than 1e-13 of the value for exp, and by less than 1e-13 for log. Cost: some 60
    operations each.

    Example:
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> arithmetic_tree(parse_expression("2*x"))
        ('*', ('const', '2'), ('var', 'x'))
        >>> arithmetic_tree(parse_expression("log(x)"))[0]
        'if'
    """
    rounded = [node for node in expression.nodes() if node.operation in ("exp", "log")]
    if not rounded:
        return expression.to_tree()
    sizes: dict[int, int] = {}
    for node in expression.nodes():
        # Every occurrence of the argument in a series is written down again.
        copies = 6 * TERMS if node.operation in ("exp", "log") else 1
        sizes[id(node)] = 1 + copies * sum(sizes[id(part)] for part in node.parts)
    if sizes[id(expression)] > MOST_PARTS:
        raise OptionError(
            f"The query nests {rounded[0].operation} too deeply in other functions",
            hint="release the inner part by itself, or simplify the query",
        )
    return _rewritten(expression.to_tree())


def _rewritten(tree: Tree) -> Tree:
    if tree[0] in ("const", "var"):
        return tree
    parts = tuple(_rewritten(part) if isinstance(part, tuple) else part for part in tree[1:])
    if tree[0] == "exp":
        return _exponential(parts[0])
    return _logarithm(parts[0]) if tree[0] == "log" else (tree[0], *parts)


def outside(expression: Expression, sides: Mapping[str, Interval]) -> str | None:
    """Name an exp or log whose argument may lie where it is not computed, or return None."""
    for node in expression.nodes():
        if node.operation not in ("exp", "log"):
            continue
        ends = natural_range(node.parts[0], sides)
        largest = Fraction(2**MOST_BITS)
        allowed = (
            (Fraction(-MOST_EXPONENT), Fraction(MOST_EXPONENT))
            if node.operation == "exp"
            else (1 / largest, largest)
        )
        if ends is None or ends[0] < allowed[0] or ends[1] > allowed[1]:
            return str(node)
    return None


def _exponential(x: Tree) -> Tree:
    factorials = [Fraction(1, math.factorial(n)) for n in range(TERMS + 1)]
    size: Tree = ("abs", x)
    far: Tree = ("pow", _series(factorials, ("/", x, _const(MOST_EXPONENT))), MOST_EXPONENT)
    beyond: Tree = ("if", ("<=", size, _const(MOST_EXPONENT)), far, NOTHING)
    usual: Tree = ("if", ("<=", size, _const(1)), _series(factorials, x), beyond)
    # PostgreSQL stops where a product is too small for a double.
    return ("if", ("<", size, _const(Fraction(1, 2**60))), ("+", x, _const(1)), usual)


def _logarithm(x: Tree) -> Tree:
    root = x
    for _ in range(MOST_BITS.bit_length() - 1):
        root = ("sqrt", root)
    far: Tree = ("*", _const(MOST_BITS), _near_one(root))
    beyond: Tree = ("if", _within(x, MOST_BITS), far, NOTHING)
    return ("if", _within(x, 1), _near_one(x), beyond)


def _near_one(x: Tree) -> Tree:
    """Return the logarithm of a number between 1/2 and 2."""
    odd = [Fraction(2, 2 * n + 1) for n in range(TERMS + 1)]
    share: Tree = ("/", ("-", x, _const(1)), ("+", x, _const(1)))
    return ("*", share, _series(odd, ("*", share, share)))


def _within(x: Tree, bits: int) -> Tree:
    return ("and", ("<=", _const(Fraction(1, 2**bits)), x), ("<=", x, _const(2**bits)))


def _series(coefficients: Sequence[Fraction], x: Tree) -> Tree:
    """Return a polynomial by Horner's rule."""
    result = _const(coefficients[-1])
    for by in reversed(coefficients[:-1]):
        result = ("+", ("*", result, x), _const(by))
    return result


def _const(number: int | Fraction) -> Tree:
    return ("const", str(number))


NOTHING: Tree = ("/", ("const", "0"), ("const", "0"))
"""A quotient by zero has no value on any engine."""
