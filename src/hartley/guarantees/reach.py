"""How far one person's data can move a query."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.ranges.boxes.box import Box
from hartley.ranges.boxes.enclosure import range_bounds
from hartley.ranges.boxes.expression import Expression

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_VARIABLES = 6
"""Up to so many variables of a query that is not linear its reach is computed."""


def reach_of(query: Expression, box: Box, declared: object = None) -> Fraction:
    r"""Return how far one variable can move a query while the others stay fixed, at most.

    .. math:: S = \max_i \sup_{v, x, x'} |f(x, v) - f(x', v)|

    The sensitivity of Farokhi 2019 (Noiseless Privacy), Theorem 8. Exact for linear queries. For
    others a bound by branch and bound on f(x, v) - f(x', v); a declared number counts where that
    bound allows it, and not where the query certainly reaches more.

    Args:
        query: the query.
        box: the ranges of its variables.
        declared: what somebody says that it is, where they know it better.

    Example:
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> square = Box({"x": (0, 1), "y": (0, 2)})
        >>> reach_of(parse_expression("x + y/4"), square)
        Fraction(1, 1)
        >>> round(float(reach_of(parse_expression("x*y"), square)), 6)
        2.0
        >>> reach_of(parse_expression("x*y"), square, declared=1) > Fraction("1.99")
        True
    """
    told = None if declared is None else parse_number(declared, name="the sensitivity")
    least, most = reach_bounds(query, box)
    if most is None and told is None:
        raise OptionError(
            "How far one person can move this query is not known",
            hint="give sensitivity=, or a linear query with the ranges of its variables",
        )
    known = [number for number in (told, most) if number is not None]
    return raised(min(known), (least, most))


def raised(declared: Fraction, bounds: tuple[Fraction, Fraction | None]) -> Fraction:
    """Return a declared reach, or the most that a query moves where it certainly moves further.

    What it certainly reaches is a bound from within: whoever declared less was wrong, and the
    truth may lie above it.

    Example:
        >>> around_two = (Fraction("1.9"), Fraction("2.1"))
        >>> [float(raised(Fraction(declared), around_two)) for declared in (1, 2, 3)]
        [2.1, 2.0, 3.0]
    """
    least, most = bounds
    return declared if declared >= least or most is None else most


def reach_bounds(query: Expression, box: Box) -> tuple[Fraction, Fraction | None]:
    """Return how far one variable can move a query, at least and at most.

    None where that is not known: of many variables, and not linear.
    """
    form = query.linear()
    if form is not None:
        moves = [abs(by) * box[name].length for name, by in form[0].items()]
        reach = max(moves, default=Fraction(0))
        return reach, reach
    if len(query.names) > MOST_VARIABLES:
        return Fraction(0), None
    bounds = [_moves(query, box, name) for name in query.names]
    return max(low for low, _ in bounds), max(high for _, high in bounds)


def _moves(query: Expression, box: Box, name: str) -> tuple[Fraction, Fraction]:
    """Return how far one variable moves a query, at least and at most."""
    other = name + "'"
    sides = {n: box[n] for n in query.names}
    outer, inner = range_bounds(
        query - _renamed(query, {name: other}), Box(sides | {other: box[name]})
    )
    return max(inner.high, -inner.low), max(outer.high, -outer.low)


def _renamed(query: Expression, names: Mapping[str, str]) -> Expression:
    """Return a query with other names for some of its variables."""
    made: dict[int, Expression] = {}
    for node in query.nodes():
        if node.operation == "var":
            name = node.arguments[0]
            made[id(node)] = Expression("var", (names.get(name, name),))
        else:
            parts = (made[id(a)] if isinstance(a, Expression) else a for a in node.arguments)
            made[id(node)] = Expression(node.operation, tuple(parts))
    return made[id(query)]
