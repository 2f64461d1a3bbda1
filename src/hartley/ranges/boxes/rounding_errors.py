"""How far a query computed in doubles can be from its exact value: in a box, or row by row."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.ranges.boxes.box import Interval  # noqa: TC001 - the example uses it
from hartley.ranges.boxes.exact_intervals import natural_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.maps.formula import Tree
    from hartley.ranges.boxes.expression import Expression

    Ends = tuple[Fraction, Fraction]

UNIT = Fraction(1, 2**53)
"""An operation on doubles is off by no more than this part of its result."""
SMALLEST = Fraction(1, 2**1074)
"""Or by no more than this, where the result is too small to have all its digits."""
SAFE_UNIT = ("const", str(Fraction(1, 2**51)))
"""Four times as much: what is computed of errors row by row is rounded itself."""
TINIEST = ("const", "1e-300")


def double_error(expression: Expression, sides: Mapping[str, Interval]) -> Fraction:
    """Return how far an expression computed in doubles is from its value at most, in a box.

    Forward error analysis (Higham 2002, chapter 3) in exact numbers: each operation adds half a
    unit in the last place of its largest result to what its operands bring along. Columns count as
    rounded once. A bound, for + - * /, natural powers, abs, min and max.

    Example:
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> error = double_error(parse_expression("x/10 + 1"), {"x": Interval(0, 1)})
        >>> Fraction(1, 2**53) <= error <= Fraction(1, 2**51)
        True
    """
    ranges = natural_ranges(expression, sides)
    errors: dict[int, Fraction] = {}
    for node in expression.nodes():
        ends = ranges[id(node)]
        parts = [ranges[id(part)] for part in node.parts]
        if ends is None or any(part is None for part in parts):
            raise OptionError(
                "The line is not defined everywhere within the declared ranges",
                hint="declare ranges without the points at which it divides by zero",
            )
        errors[id(node)] = _node_error(
            node, ends, [part for part in parts if part is not None],
            [errors[id(part)] for part in node.parts],
        )  # fmt: skip
    return errors[id(expression)]


def _node_error(  # noqa: PLR0911 - one line a rule
    node: Expression, ends: Ends, parts: list[Ends], errors: list[Fraction]
) -> Fraction:
    """Return the error of one operation, from those of its operands."""
    operation = node.operation
    size = max(map(abs, ends))
    if operation == "const":
        number = Fraction(node.arguments[0])
        return abs(Fraction(float(number)) - number)
    if operation == "var":
        return size * UNIT + SMALLEST
    if operation in ("neg", "abs"):
        return errors[0]
    if operation in ("min", "max"):
        return max(errors)
    sizes = [max(map(abs, part)) for part in parts]
    if operation in ("+", "-"):
        return _rounded(sum(errors, Fraction(0)), size)
    if operation == "*":
        return _rounded(_product_error(sizes, errors), size)
    if operation == "pow":
        return _power_error(sizes[0], errors[0], node.arguments[1])
    if operation == "/":
        low, high = parts[1]
        least = (low if low > 0 else -high) - errors[1]
        if least <= 0:
            raise OptionError(
                "The line may divide by zero within the declared ranges",
                hint="declare ranges without that point",
            )
        quotient = sizes[0] / (least + errors[1])
        return _rounded((errors[0] + quotient * errors[1]) / least, quotient)
    raise OptionError(
        f"The line uses {operation}, whose last digit differs between engines",
        hint="use + - * /, natural powers, abs, min and max, or declare the steps of all columns",
    )


def _product_error(sizes: Sequence[Fraction], errors: Sequence[Fraction]) -> Fraction:
    return sizes[0] * errors[1] + sizes[1] * errors[0] + errors[0] * errors[1]


def _power_error(size: Fraction, error: Fraction, power: int) -> Fraction:
    """Return the error of multiplying again and again, as an engine does."""
    total, product = error, size
    for _ in range(power - 1):
        total = _rounded(_product_error((product, size), (total, error)), product * size)
        product *= size
    return total if power else Fraction(0)


def _rounded(error: Fraction, size: Fraction) -> Fraction:
    """Return an error after the result, of at most this size, is rounded to a double."""
    return error + UNIT * (size + error) + SMALLEST


# --- row by row -----------------------------------------------------------------------------------


def running_error(expression: Expression) -> Tree:
    """Return a formula for how far a query computed in doubles is from its value, at every row.

    Running error analysis (Higham 2002, section 3.3), beside the query and in doubles itself, with
    a unit four times as large to cover its own rounding. Columns count as rounded once. For
    + - * /, natural powers, abs, min, max and sqrt; a divisor must be known to half of its size.

    Example:
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> running_error(parse_expression("x"))[0]
        '*'
    """
    trees: dict[int, Tree] = {}
    for node in expression.nodes():
        trees[id(node)] = _running(node, [trees[id(part)] for part in node.parts])
    return trees[id(expression)]


def _running(node: Expression, errors: list[Tree]) -> Tree:  # noqa: PLR0911 - one line a rule
    """Return the formula for the error of one operation, from those of its operands."""
    operation, value = node.operation, node.to_tree()
    own: Tree = ("*", ("abs", value), SAFE_UNIT)
    if operation in ("const", "var"):
        return own
    if operation in ("neg", "abs"):
        return errors[0]
    if operation in ("min", "max"):
        return ("max", errors[0], errors[1])
    sizes: list[Tree] = [("abs", part.to_tree()) for part in node.parts]
    if operation in ("+", "-"):
        return ("+", ("+", errors[0], errors[1]), own)
    if operation == "*":
        crossed = ("+", ("*", sizes[0], errors[1]), ("*", sizes[1], errors[0]))
        return ("+", ("+", crossed, ("*", errors[0], errors[1])), ("+", own, TINIEST))
    if operation == "/":
        carried: Tree = ("+", errors[0], ("*", ("abs", value), errors[1]))
        return ("+", ("/", ("*", ("const", "2"), carried), sizes[1]), ("+", own, TINIEST))
    if operation == "pow":
        power = node.arguments[1]
        reached: Tree = ("+", sizes[0], errors[0])
        slope = ("*", ("const", str(power)), ("pow", reached, max(power - 1, 0)))
        rounded = ("*", ("const", str(power)), ("*", ("pow", reached, power), SAFE_UNIT))
        return ("+", ("*", slope, errors[0]), ("+", rounded, TINIEST))
    if operation == "sqrt":
        carried = ("if", ("<", ("const", "0"), value), ("/", errors[0], value), ("sqrt", errors[0]))
        return ("+", carried, ("+", own, TINIEST))
    raise OptionError(
        f"The query uses {operation}, whose last digit differs between engines",
        hint="use + - * /, natural powers, abs, min, max and sqrt",
    )
