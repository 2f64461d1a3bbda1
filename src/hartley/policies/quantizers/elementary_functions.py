"""Exponentials and logarithms as sums, products, quotients and roots, alike on every engine.

The engines' own exp and log differ in the last digit. Sums, products, quotients and square roots
do not, so that a query with exp or log is rewritten in these before it reaches an engine.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.maps.formula import Tree
    from hartley.ranges.boxes.expression import Expression

TERMS = 19
"""Terms of the series: with arguments up to 1 what follows is below the last digit of a double."""
LOWEST, HIGHEST = -708, 709
"""Between these an exponential is a double; beyond them it is taken at the end."""
MOST_PARTS = 50_000
"""A query that is written in more operations is refused."""


def arithmetic_tree(expression: Expression) -> Tree:
    """Return a query as nested tuples without exp and log, which every engine computes alike.

    exp(x) is the series of x for up to 1, and that of x/16 or x/1024 raised to the power of 16 or
    1024 beyond. log(x) is twice the series of artanh((x - 1)/(x + 1)) near 1, and that of the
    fourth or the tenth square root times 16 or 1024 elsewhere. Rounded to double precision: off by
    less than 1e-12 of the value of exp, and than 1e-12 for log. Cost: some 60 operations each.

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


def _exponential(x: Tree) -> Tree:
    cut = ("max", ("min", x, _const(HIGHEST)), _const(LOWEST))
    factorials = [Fraction(1, math.factorial(n)) for n in range(TERMS + 1)]

    def raised(*powers: int) -> Tree:
        scale = math.prod(powers)
        result = _series(factorials, cut if scale == 1 else ("/", cut, _const(scale)))
        for power in powers:
            result = ("pow", result, power)
        return result

    size: Tree = ("abs", cut)
    far: Tree = ("if", ("<=", size, _const(16)), raised(16), raised(32, 32))
    return ("if", ("<=", size, _const(1)), raised(), far)


def _logarithm(x: Tree) -> Tree:
    odd = [Fraction(2, 2 * n + 1) for n in range(TERMS + 1)]

    def rooted(times: int) -> Tree:
        root = x
        for _ in range(times):
            root = ("sqrt", root)
        share: Tree = ("/", ("-", root, _const(1)), ("+", root, _const(1)))
        near: Tree = ("*", share, _series(odd, ("*", share, share)))
        return near if times == 0 else ("*", _const(2**times), near)

    def within(bits: int) -> Tree:
        return (
            "and",
            ("<=", _const(Fraction(1, 2**bits)), x),
            ("<=", x, _const(2**bits)),
        )

    far: Tree = ("if", within(16), rooted(4), rooted(10))
    near_or_far: Tree = ("if", within(1), rooted(0), far)
    # A quotient by zero has no value on any engine, and neither has the logarithm there.
    nothing: Tree = ("/", _const(0), _const(0))
    return ("if", ("<=", x, _const(0)), nothing, near_or_far)


def _series(coefficients: Sequence[Fraction], x: Tree) -> Tree:
    """Return a polynomial by Horner's rule."""
    result = _const(coefficients[-1])
    for by in reversed(coefficients[:-1]):
        result = ("+", ("*", result, x), _const(by))
    return result


def _const(number: int | Fraction) -> Tree:
    return ("const", str(number))
