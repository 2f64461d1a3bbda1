"""Polynomials of several variables with exact coefficients, read off an expression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING

from hartley.boxes.intervals import natural_power, natural_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from flint import arb, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly, fmpz_poly

    from hartley.boxes.box import Interval
    from hartley.boxes.expression import Expression

    Ends = tuple[Fraction | float, Fraction | float]
    """Both ends; a float only where it is infinite, as the slope of a root is at zero."""
    Sides = Mapping[str, Interval]
    Name = TypeVar("Name")
    Part = TypeVar("Part")


# --- polynomial -----------------------------------------------------------------------------------


MOST_TERMS = 2_000
"""A query that multiplies out to more terms is not treated as a polynomial."""
MOST_DEGREE = 64


def multiplied_out(expression: Expression) -> fmpq_mpoly | None:
    """Return an expression as a polynomial; None where it is none, or a long one.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> print(multiplied_out(parse_expression("(x - y)**2 - x**2")))
        -2*x*y + y^2
    """
    import flint  # on use: few queries need it

    context = flint.fmpq_mpoly_ctx.get(expression.names, "lex")
    made: dict[int, fmpq_mpoly] = {}
    for node in expression.nodes():
        value = _combined(node, [made[id(part)] for part in node.parts], context)
        if value is None or len(value) > MOST_TERMS or _degree(value) > MOST_DEGREE:
            return None
        made[id(node)] = value
    return made[id(expression)]


def _combined(
    node: Expression, parts: list[fmpq_mpoly], context: fmpq_mpoly_ctx
) -> fmpq_mpoly | None:
    """Apply one operation of an expression to polynomials; None where that gives none."""
    value: fmpq_mpoly | None = None
    match node.operation, parts:
        case ("const", []):
            value = context.constant(rational(node.arguments[0]))
        case ("var", []):
            value = context.gen(context.variable_to_index(node.arguments[0]))
        case ("neg", [part]):
            value = -part
        case ("+" | "-" as sign, [first, second]):
            value = first + second if sign == "+" else first - second
        case ("*", [first, second]):
            value = _product(first, second)
        case ("/", [first, second]) if second.is_constant() and not second.is_zero():
            value = first / second.leading_coefficient()
        case ("pow", [part]):
            value = context.constant(1)
            for _ in range(node.arguments[1]):
                value = _product(value, part)
                if value is None or len(value) > MOST_TERMS:
                    return None
    return value


def _product(first: fmpq_mpoly, second: fmpq_mpoly) -> fmpq_mpoly | None:
    if _degree(first) + _degree(second) > MOST_DEGREE or len(first) * len(second) > 10**5:
        return None
    return first * second


def _degree(polynomial: fmpq_mpoly) -> int:
    """Return the largest sum of exponents of a term; 0 of a constant."""
    return max(int(polynomial.total_degree()), 0)


def rational(number: Fraction) -> fmpq:
    """Return a number for FLINT."""
    import flint

    return flint.fmpq(number.numerator, number.denominator)


def fraction(number: fmpq) -> Fraction:
    """Return a number of FLINT."""
    return Fraction(int(number.p), int(number.q))


def components(polynomial: fmpq_mpoly) -> list[fmpq_mpoly]:
    """Split a polynomial, without its constant, into sums that share no variable.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> whole = multiplied_out(parse_expression("x*y + z**2 + y + 1"))
        >>> [str(part) for part in components(whole)]
        ['x*y + y', 'z^2']
    """
    import flint

    names = polynomial.context().names()
    parts = []
    terms = ((powers, by) for powers, by in polynomial.terms() if any(powers))
    groups = independent(terms, lambda term: {i for i, power in enumerate(term[0]) if power})
    for occurring, group in groups:
        chosen = sorted(occurring, key=lambda i: names[i])
        context = flint.fmpq_mpoly_ctx.get([names[i] for i in chosen], "lex")
        parts.append(
            context.from_dict({tuple(powers[i] for i in chosen): by for powers, by in group})
        )
    return parts


def independent(
    parts: Iterable[Part], named: Callable[[Part], Iterable[Name]]
) -> list[tuple[set[Name], list[Part]]]:
    """Group parts that share a variable, or are linked by others that do, with their variables."""
    groups: list[tuple[set[Name], list[Part]]] = []
    for part in parts:
        names, joined, apart = set(named(part)), [part], []
        for group in groups:
            if group[0] & names:
                names |= group[0]
                joined = group[1] + joined
            else:
                apart.append(group)
        groups = [*apart, (names, joined)]
    return groups


def enclosed(polynomial: fmpq_mpoly, sides: Sides) -> tuple[Fraction, Fraction]:
    """Return two numbers between which its values in a box lie, in exact arithmetic.

    A bound, exact where no variable stands in two terms.
    """
    low = high = Fraction(0)
    names = polynomial.context().names()
    for powers, by in polynomial.terms():
        ends = fraction(by), fraction(by)
        for name, power in zip(names, powers, strict=True):
            if power:
                side = natural_power((sides[name].low, sides[name].high), int(power))
                corners = [a * b for a in ends for b in side]
                ends = min(corners), max(corners)
        low, high = low + ends[0], high + ends[1]
    return low, high


# --- slope signs ----------------------------------------------------------------------------------
# Whether a query rises or falls along one variable in a whole box, in exact arithmetic.

ZERO = (Fraction(0), Fraction(0))


def slope_signs(expression: Expression, sides: Sides) -> dict[str, int]:
    """Return for every variable 1 where a query never falls along it, -1 where it never rises.

    And 0 where that is not known. The slopes are enclosed by interval arithmetic without rounding
    (Moore 1966). At a kink of abs, min or max the slopes of both sides are taken together: a
    continuous function whose slopes are nowhere negative does not fall. A bound: 0 says nothing.
    Grows as the number of operations times that of variables.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> unit = {"x": Interval(0, 1), "y": Interval(1, 2)}
        >>> slope_signs(parse_expression("x*exp(y) - x**2/y"), unit)
        {'x': 1, 'y': 1}
    """
    ranges = slope_ranges(expression, sides)
    return {name: 0 if ends is None else sign_between(*ends) for name, ends in ranges.items()}


def sign_between(low: Fraction | float, high: Fraction | float) -> int:
    """Return the sign of all numbers between two; 0 where they have both."""
    return 1 if low >= 0 else -1 if high <= 0 else 0


def slope_ranges(expression: Expression, sides: Sides) -> dict[str, Ends | None]:
    """Return bounds on the slope of a query along every variable; None where there are none.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> low, high = slope_ranges(parse_expression("x**2"), {"x": Interval(1, 3)})["x"]
        >>> print(low, high)
        2 6
    """
    values = natural_ranges(expression, sides)
    return {name: expression.fold(partial(_slope, name, values)) for name in expression.names}


def _slope(
    name: str, ranges: Mapping[int, Ends | None], node: Expression, slopes: list[Ends | None]
) -> Ends | None:
    """Enclose the derivative of one operation; None where it has no bounds."""
    operation = node.operation
    if operation in ("const", "var"):
        is_name = operation == "var" and node.arguments[0] == name
        return (Fraction(1), Fraction(1)) if is_name else ZERO
    if all(slope == ZERO for slope in slopes):
        return ZERO
    known = [slope for slope in slopes if slope is not None]
    values = [value for value in (ranges[id(part)] for part in node.parts) if value is not None]
    if len(known) < len(slopes) or len(values) < len(slopes):
        return None
    if len(known) == 2:
        return _pair_slope(operation, known, values)
    factor = _outer_slope(node, values[0], ranges[id(node)])
    return None if factor is None else _times_ends(factor, known[0])


def _pair_slope(operation: str, slopes: list[Ends], values: Sequence[Ends]) -> Ends | None:
    """Enclose the derivative of an operation of two parts."""
    first, second = slopes
    if operation in ("min", "max"):
        return min(first[0], second[0]), max(first[1], second[1])
    if operation == "/" and values[1][0] <= 0 <= values[1][1]:
        return None
    if operation == "/" and second == ZERO:  # f' / g is tighter than f' g / g squared
        return _times_ends(first, (1 / values[1][1], 1 / values[1][0]))
    if operation in ("*", "/"):  # f' g and f g'; of a quotient both over g squared
        first, second = _times_ends(first, values[1]), _times_ends(second, values[0])
    sum_of_both = (first[0] + second[0], first[1] + second[1])
    difference = (first[0] - second[1], first[1] - second[0])
    if operation != "/":
        return difference if operation == "-" else sum_of_both
    squares = sorted(1 / end**2 for end in values[1])
    return _times_ends(difference, (squares[0], squares[1]))


def _outer_slope(node: Expression, value: Ends, itself: Ends | None) -> Ends | None:
    """Enclose the derivative of a function of one variable over the values of its argument."""
    operation = node.operation
    if operation in ("neg", "abs"):
        rises, falls = operation == "abs" and value[0] >= 0, operation == "neg" or value[1] <= 0
        return Fraction(1 if rises else -1), Fraction(-1 if falls else 1)
    if operation == "pow":
        power = node.arguments[1]
        if power == 0:
            return ZERO
        low, high = natural_power((Fraction(value[0]), Fraction(value[1])), power - 1)
        return power * low, power * high
    if operation == "log":
        return (1 / value[1], 1 / value[0]) if value[0] > 0 else None
    # The slopes of exp and sqrt follow from their own values.
    if itself is None or operation == "exp" or itself[1] <= 0:
        return itself if operation == "exp" else None
    return 1 / (2 * itself[1]), 1 / (2 * itself[0]) if itself[0] > 0 else math.inf


def _times_ends(first: Ends, second: Ends) -> Ends:
    # A slope of zero times one without bound is zero: the infinite end itself is never reached.
    corners = [a * b if a and b else Fraction(0) for a in first for b in second]
    return min(corners), max(corners)


# --- critical values ------------------------------------------------------------------------------
# The least and the largest value of a polynomial, exactly: of one variable, or of degree two.
#
# Both look at every point where an extreme value can be attained, and at none that is not in the
# box: corners, and points where the derivatives along a face are zero.

FINEST = Fraction(1, 2**60)
"""How closely an irrational value is enclosed, as a share of the range."""
MOST_SIDES = 8
"""The 3^d faces of a box are looked at up to this dimension."""
FEWEST_BITS = 256
"""Of the numbers with which irrational values are computed, until that is not enough."""


@dataclass(frozen=True)
class Bracket:
    """A number that is known exactly, or to lie between two rationals.

    Example:
        >>> print(Bracket.exactly(2).low, Bracket(Fraction(1), Fraction(2)).exact)
        2 False
    """

    low: Fraction
    high: Fraction

    @classmethod
    def exactly(cls, number: int | Fraction) -> Bracket:
        """Return a number that is known exactly."""
        return cls(Fraction(number), Fraction(number))

    @property
    def exact(self) -> bool:
        """Whether the number is known exactly."""
        return self.low == self.high

    def __add__(self, other: Bracket) -> Bracket:
        return Bracket(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Bracket:
        return Bracket(-self.high, -self.low)


def least(values: Sequence[Bracket]) -> Bracket:
    """Return the least of some numbers; which of them it is need not be known."""
    return Bracket(min(value.low for value in values), min(value.high for value in values))


def largest(values: Sequence[Bracket]) -> Bracket:
    """Return the largest of some numbers; which of them it is need not be known."""
    return Bracket(max(value.low for value in values), max(value.high for value in values))


# --- degree two -----------------------------------------------------------------------------------


def quadratic_extremes(polynomial: fmpq_mpoly, sides: Sides) -> tuple[Fraction, Fraction]:
    r"""Return the least and the largest value of a polynomial of degree two in a box.

    On every face, given by the variables that are free and by an end for each of the others, the
    derivatives by the free variables vanish at the solution of a linear system. A face whose
    system is singular is skipped: if it holds a point where all of them vanish, the polynomial is
    constant along a line through it, and that line leaves the face through a smaller one with the
    same value. Exact. Grows as 3^d for d variables.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
        >>> ends = quadratic_extremes(multiplied_out(parse_expression("x*y - x**2")), unit)
        >>> print(*ends)
        -1 1/4
    """
    import flint

    (offset, linear, curved), scale = whole_unit(polynomial, sides)
    values = []
    for size in range(len(linear) + 1):
        for free in combinations(range(len(linear)), size):
            try:
                inverse = flint.fmpq_mat([[curved[i][j] for j in free] for i in free]).inv()
            except ZeroDivisionError:
                continue
            numbers, denominator = inverse.numer_denom()
            whole, shared = [list(map(int, row)) for row in numbers.tolist()], int(denominator)
            fixed = [i for i in range(len(linear)) if i not in free]
            for chosen in product((0, 1), repeat=len(fixed)):
                high = [i for i, end in zip(fixed, chosen, strict=True) if end]
                pull = [linear[i] + sum(curved[i][j] for j in high) for i in free]
                place = [-sum(a * b for a, b in zip(row, pull, strict=True)) for row in whole]
                if all(0 < x < shared for x in place):
                    corner = 2 * (offset + sum(linear[i] for i in high))
                    corner += sum(curved[i][j] for i in high for j in high)
                    # Where the slopes along the face are zero, half of the pull stays.
                    bend = sum(a * b for a, b in zip(pull, place, strict=True))
                    values.append(Fraction(corner * shared + bend, 2 * shared))
    return min(values) / scale, max(values) / scale


def whole_unit(
    polynomial: fmpq_mpoly, sides: Sides
) -> tuple[tuple[int, list[int], list[list[int]]], int]:
    """Return whole c, b and H: c + b u + u H u / 2 is a polynomial of degree two times a number.

    The box becomes the unit cube, so that its corners are zeros and ones.
    """
    context = polynomial.context()
    unit = polynomial.compose(
        *(
            rational(sides[name].low) + rational(sides[name].length) * axis
            for name, axis in zip(context.names(), context.gens(), strict=True)
        )
    )
    scale = math.lcm(*(int(by.q) for by in unit.coeffs()))
    offset, size = 0, len(context.names())
    linear, curved = [0] * size, [[0] * size for _ in range(size)]
    for powers, by in unit.terms():
        match [i for i, power in enumerate(powers) for _ in range(int(power))]:
            case []:
                offset = int(by * scale)
            case [i]:
                linear[i] = int(by * scale)
            case [i, j]:
                curved[i][j] += int(by * scale)
                curved[j][i] += int(by * scale)
    return (offset, linear, curved), scale


# --- one variable ---------------------------------------------------------------------------------


class _ImpreciseError(ArithmeticError):
    """More binary digits are needed."""


def curve_extremes(coefficients: Sequence[Fraction], side: Interval) -> tuple[Bracket, Bracket]:
    r"""Return the least and the largest value of a polynomial of one variable on an interval.

    The derivative is taken apart into factors without rational divisors. At the root of a linear
    one the value is exact; at a root of another one it is rational only if the polynomial leaves a
    number when it is divided by the factor, as (x^2 - 2)^2 leaves 0. Every other value is enclosed
    to 2^-60 of the range. Exact, or such a bracket. Cost: factors and roots of the derivative.

    Args:
        coefficients: of the polynomial, the constant first.
        side: the interval.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> low, high = curve_extremes([Fraction(4), 0, Fraction(-4), 0, 1], Interval(0, 2))
        >>> print(low.low, low.high, high.low, high.high)  # (x^2 - 2)^2
        0 0 4 4
    """
    import flint

    curve = flint.fmpq_poly([rational(Fraction(by)) for by in coefficients])
    low, high = rational(side.low), rational(side.high)
    values = [Bracket.exactly(fraction(curve(x))) for x in (low, high)]
    slope = curve.derivative().numer()
    if not slope.is_zero() and low < high:
        factors = [factor for factor, _ in slope.factor()[1]]
        bits = FEWEST_BITS
        while True:
            try:
                with flint.ctx.workprec(bits):
                    values += _critical_values(curve, factors, (low, high))
                break
            except _ImpreciseError:
                bits *= 2
    return least(values), largest(values)


def _critical_values(
    curve: fmpq_poly, factors: list[fmpz_poly], side: tuple[fmpq, fmpq]
) -> list[Bracket]:
    """Return the values at the roots of the derivative, given its factors."""
    import flint

    roots: list[tuple[fmpq | arb, fmpz_poly]] = []
    for factor in factors:
        if factor.degree() == 1:
            roots.append((flint.fmpq(-factor[0], factor[1]), factor))
        else:
            pairs = factor.complex_roots()  # each with its multiplicity
            roots += ((root.real, factor) for root, _ in pairs if root.imag == 0)  # type: ignore[misc, has-type]
    roots = [(x, factor) for x, factor in roots if _is_between(x, *side)]
    middles = [curve((a + b) / 2) for a, b in _isolated([x for x, _ in roots], *side)]
    heights = [fraction(height) for height in (*map(curve, side), *middles)]
    scale = max(heights) - min(heights) or max(map(abs, heights)) or Fraction(1)
    digits = 2 ** (math.ceil(4 / (scale * FINEST)) - 1).bit_length()
    values = []
    for root, factor in roots:
        rest = curve % flint.fmpq_poly(factor)
        if rest.degree() <= 0:
            values.append(Bracket.exactly(fraction(rest[0])))
            continue
        value = flint.arb_poly(rest)(root)
        ends = fraction(value.lower().fmpq()), fraction(value.upper().fmpq())
        if ends[1] - ends[0] > scale * FINEST**2:
            raise _ImpreciseError
        down, up = math.floor(ends[0] * digits), math.ceil(ends[1] * digits)
        values.append(Bracket(Fraction(down, digits), Fraction(up, digits)))
    return values


def _is_between(root: fmpq | arb, low: fmpq, high: fmpq) -> bool:
    """Return whether a root lies in (low, high]; the ball of one is never around a rational."""
    for end in (low, high):
        if not (root <= end or root > end):
            raise _ImpreciseError
    return bool(root > low and root <= high)


def _isolated(roots: Sequence[fmpq | arb], low: fmpq, high: fmpq) -> list[tuple[fmpq, fmpq]]:
    """Return intervals (a, b] that hold one of these roots each, by halving (low, high]."""
    waiting, alone = [(roots, low, high)], []
    while waiting:
        inside, first, last = waiting.pop()
        if len(inside) == 1:
            alone.append((first, last))
        elif inside:
            middle = (first + last) / 2
            waiting += [
                ([root for root in inside if _is_between(root, a, b)], a, b)
                for a, b in ((first, middle), (middle, last))
            ]
    return alone
