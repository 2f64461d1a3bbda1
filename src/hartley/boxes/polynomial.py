"""Polynomials of several variables with exact coefficients, read off an expression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, TypeAlias

from hartley.boxes.intervals import natural_power, natural_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.boxes.box import Interval
    from hartley.boxes.expression import Expression

    Ends = tuple[Fraction | float, Fraction | float]
    """Both ends; a float only where it is infinite, as the slope of a root is at zero."""
    Sides = Mapping[str, Interval]
    Coefficients = Sequence[Fraction]
    Matrix = list[list[Fraction]]


# --- polynomial -----------------------------------------------------------------------------------


Monomial: TypeAlias = tuple[tuple[str, int], ...]
"""Variables and their positive exponents, sorted by name; empty for the constant."""
MOST_TERMS = 2_000
"""A query that multiplies out to more terms is not treated as a polynomial."""
MOST_DEGREE = 64


@dataclass(frozen=True)
class Polynomial:
    """A sum of monomials with exact coefficients, none of which is zero.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> found = Polynomial.of(parse_expression("(x - y)**2 - x**2"))
        >>> {name: str(by) for name, by in found.terms.items()}
        {(('x', 1), ('y', 1)): '-2', (('y', 2),): '1'}
    """

    terms: Mapping[Monomial, Fraction]

    @classmethod
    def of(cls, expression: Expression) -> Polynomial | None:
        """Multiply an expression out, or return None where it is no polynomial, or a long one."""
        form = expression.linear()
        if form is not None:
            terms: dict[Monomial, Fraction] = {((name, 1),): by for name, by in form[0].items()}
            return cls(_without_zeros(terms | {(): form[1]}))
        made: dict[int, Polynomial] = {}
        for node in expression.nodes():
            parts = [made[id(part)] for part in node.parts]
            value = _combined(node, parts)
            if value is None or len(value.terms) > MOST_TERMS or value.degree > MOST_DEGREE:
                return None
            made[id(node)] = value
        return made[id(expression)]

    @property
    def constant(self) -> Fraction:
        """The term without variables."""
        return self.terms.get((), Fraction(0))

    @property
    def degree(self) -> int:
        """The largest sum of exponents of a term; 0 of a constant."""
        return max((sum(power for _, power in term) for term in self.terms), default=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that occur, sorted."""
        return tuple(sorted({name for term in self.terms for name, _ in term}))

    def degree_in(self, name: str) -> int:
        """Return the largest exponent of one variable."""
        return max((power for term in self.terms for n, power in term if n == name), default=0)

    def __add__(self, other: Polynomial) -> Polynomial:
        total = dict(self.terms)
        for term, by in other.terms.items():
            total[term] = total.get(term, Fraction(0)) + by
        return Polynomial(_without_zeros(total))

    def __mul__(self, other: Polynomial) -> Polynomial:
        total: dict[Monomial, Fraction] = {}
        for mine, by in self.terms.items():
            for theirs, times in other.terms.items():
                term = _joined(mine, theirs)
                total[term] = total.get(term, Fraction(0)) + by * times
        return Polynomial(_without_zeros(total))

    def __neg__(self) -> Polynomial:
        return self.scaled(Fraction(-1))

    def scaled(self, factor: Fraction) -> Polynomial:
        """Return the polynomial times a number."""
        return Polynomial(_without_zeros({term: by * factor for term, by in self.terms.items()}))

    def derivative(self, name: str) -> Polynomial:
        """Return the partial derivative by one variable."""
        total: dict[Monomial, Fraction] = {}
        for term, by in self.terms.items():
            powers = dict(term)
            power = powers.pop(name, 0)
            if not power:
                continue
            if power > 1:
                powers[name] = power - 1
            total[tuple(sorted(powers.items()))] = by * power
        return Polynomial(total)

    def at(self, values: Mapping[str, Fraction]) -> Polynomial:
        """Put numbers in for some variables."""
        total: dict[Monomial, Fraction] = {}
        for term, by in self.terms.items():
            rest = tuple((name, power) for name, power in term if name not in values)
            number = by
            for name, power in term:
                if name in values:
                    number *= values[name] ** power
            total[rest] = total.get(rest, Fraction(0)) + number
        return Polynomial(_without_zeros(total))

    def components(self) -> list[Polynomial]:
        """Split it, without its constant, into sums that share no variable.

        Example:
            >>> from hartley.boxes.expression import parse_expression
            >>> whole = Polynomial.of(parse_expression("x*y + z**2 + y + 1"))
            >>> [part.names for part in whole.components()]
            [('x', 'y'), ('z',)]
        """
        groups: list[tuple[set[str], dict[Monomial, Fraction]]] = []
        for term, by in sorted(self.terms.items()):
            if not term:
                continue
            names, joined = {name for name, _ in term}, {term: by}
            apart = []
            for group in groups:
                if group[0] & names:
                    names |= group[0]
                    joined = group[1] | joined
                else:
                    apart.append(group)
            groups = [*apart, (names, joined)]
        return [Polynomial(terms) for _, terms in sorted(groups, key=lambda group: min(group[0]))]

    def coefficients(self) -> list[Fraction]:
        """Return the coefficients of a polynomial of one variable, the constant first."""
        listed = [Fraction(0)] * (self.degree + 1)
        for term, by in self.terms.items():
            listed[sum(power for _, power in term)] = by
        return listed

    def enclosed(self, sides: Mapping[str, Interval]) -> tuple[Fraction, Fraction]:
        """Return two numbers between which its values in a box lie, in exact arithmetic.

        A bound, exact where no variable stands in two terms.
        """
        low = high = self.constant
        for term, by in self.terms.items():
            if not term:
                continue
            ends = (by, by)
            for name, power in term:
                ends = _times(ends, _power(sides[name], power))
            low, high = low + ends[0], high + ends[1]
        return low, high


def _combined(node: Expression, parts: list[Polynomial]) -> Polynomial | None:
    """Apply one operation of an expression to polynomials; None where that gives none."""
    operation = node.operation
    if not parts:
        is_number = operation == "const"
        term, by = ((), node.arguments[0]) if is_number else (((node.arguments[0], 1),), 1)
        return Polynomial(_without_zeros({term: Fraction(by)}))
    if operation in ("+", "-"):
        return parts[0] + (parts[1] if operation == "+" else -parts[1])
    if operation == "pow":
        return _raised(parts[0], node.arguments[1])
    if operation == "/":
        number = parts[1].constant
        return parts[0].scaled(1 / number) if number and not parts[1].names else None
    if operation == "neg":
        return -parts[0]
    return _product(parts[0], parts[1]) if operation == "*" else None


def _product(first: Polynomial, second: Polynomial) -> Polynomial | None:
    if first.degree + second.degree > MOST_DEGREE or len(first.terms) * len(second.terms) > 10**5:
        return None
    return first * second


def _raised(base: Polynomial, power: int) -> Polynomial | None:
    result: Polynomial | None = Polynomial({(): Fraction(1)})
    for _ in range(power):
        if result is None or len(result.terms) > MOST_TERMS:
            return None
        result = _product(result, base)
    return result


def _joined(first: Monomial, second: Monomial) -> Monomial:
    powers = dict(first)
    for name, power in second:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def _without_zeros(terms: Mapping[Monomial, Fraction]) -> dict[Monomial, Fraction]:
    return {term: by for term, by in terms.items() if by}


def _power(side: Interval, power: int) -> tuple[Fraction, Fraction]:
    ends = sorted((side.low**power, side.high**power))
    crosses = power % 2 == 0 and side.low < 0 < side.high
    return (Fraction(0) if crosses else ends[0]), ends[1]


def _times(
    first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction]
) -> tuple[Fraction, Fraction]:
    corners = [a * b for a in first for b in second]
    return min(corners), max(corners)


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
    signs = {}
    for name, ends in slope_ranges(expression, sides).items():
        signs[name] = 0 if ends is None else 1 if ends[0] >= 0 else -1 if ends[1] <= 0 else 0
    return signs


def slope_ranges(expression: Expression, sides: Sides) -> dict[str, Ends | None]:
    """Return bounds on the slope of a query along every variable; None where there are none.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> low, high = slope_ranges(parse_expression("x**2"), {"x": Interval(1, 3)})["x"]
        >>> print(low, high)
        2 6
    """
    values, nodes = natural_ranges(expression, sides), expression.nodes()
    ranges = {}
    for name in expression.names:
        slopes: dict[int, Ends | None] = {}
        for node in nodes:
            slopes[id(node)] = _slope(node, [slopes[id(part)] for part in node.parts], name, values)
        ranges[name] = slopes[id(expression)]
    return ranges


def _slope(
    node: Expression, slopes: list[Ends | None], name: str, ranges: Mapping[int, Ends | None]
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
SEARCHED = Fraction(1, 2**180)
"""How much more closely it is looked at to recognise a rational value at an irrational point."""


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


def quadratic_extremes(
    polynomial: Polynomial, sides: Mapping[str, Interval]
) -> tuple[Fraction, Fraction]:
    r"""Return the least and the largest value of a polynomial of degree two in a box.

    On every face, given by the variables that are free and by an end for each of the others, the
    derivatives by the free variables vanish at the solution of a linear system. A face whose
    system is singular is skipped: if it holds a point where all of them vanish, the polynomial is
    constant along a line through it, and that line leaves the face through a smaller one with the
    same value. Exact. Grows as 3^d for d variables.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> from hartley.boxes.polynomial import Polynomial
        >>> unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
        >>> ends = quadratic_extremes(Polynomial.of(parse_expression("x*y - x**2")), unit)
        >>> print(*ends)
        -1 1/4
    """
    names = polynomial.names
    unit, scale = whole_unit(polynomial, sides)
    offset, linear, curved = unit
    values = []
    for size in range(len(names) + 1):
        for free in combinations(range(len(names)), size):
            solved = _inverse([[Fraction(curved[i][j]) for j in free] for i in free])
            if solved is None:
                continue
            shared = math.lcm(1, *(value.denominator for row in solved for value in row))
            whole = [[int(value * shared) for value in row] for row in solved]
            fixed = [i for i in range(len(names)) if i not in free]
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
    polynomial: Polynomial, sides: Mapping[str, Interval]
) -> tuple[tuple[int, list[int], list[list[int]]], int]:
    """Return whole c, b and H with c + b u + u H u / 2 the polynomial times a number.

    The box becomes the unit cube, so that its corners are zeros and ones.
    """
    names = polynomial.names
    bottom = {name: sides[name].low for name in names}
    slopes = [polynomial.derivative(name) for name in names]
    offset = polynomial.at(bottom).constant
    linear = [
        slope.at(bottom).constant * sides[name].length
        for slope, name in zip(slopes, names, strict=True)
    ]
    curved = [
        [
            slope.terms.get(((other, 1),), Fraction(0)) * sides[name].length * sides[other].length
            for other in names
        ]
        for slope, name in zip(slopes, names, strict=True)
    ]
    numbers = [offset, *linear, *(value for row in curved for value in row)]
    scale = math.lcm(*(number.denominator for number in numbers))
    whole = [[int(value * scale) for value in row] for row in curved]
    return (int(offset * scale), [int(value * scale) for value in linear], whole), scale


def _inverse(matrix: Matrix) -> Matrix | None:
    """Return the inverse of a square matrix, or None where it has none."""
    size = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = next((i for i in range(column, size) if rows[i][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column][column]
        rows[column] = [value / head for value in rows[column]]
        for i in range(size):
            factor = rows[i][column]
            if i != column and factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[size:] for row in rows]


# --- one variable ---------------------------------------------------------------------------------


def curve_extremes(coefficients: Coefficients, side: Interval) -> tuple[Bracket, Bracket]:
    r"""Return the least and the largest value of a polynomial of one variable on an interval.

    The roots of the derivative are isolated by Sturm's theorem. A rational root has a denominator
    that divides the leading coefficient, so that it is recognised once its interval is short
    enough, and its value is exact. The value at an irrational root may be rational all the same, as
    0 is for (x^2 - 2)^2: the only fraction v nearby with a denominator of up to a hundred bits is
    that value where gcd(f - v, f') has the root. Every other value is enclosed to 2^-60 of the
    range. Exact, or such a bracket. Cost: a Sturm sequence, which grows with the cube of the
    degree.

    Args:
        coefficients: of the polynomial, the constant first.
        side: the interval.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> low, high = curve_extremes([Fraction(4), 0, Fraction(-4), 0, 1], Interval(0, 2))
        >>> print(low.low, low.high, high.low, high.high)  # (x^2 - 2)^2
        0 0 4 4
    """
    curve = [Fraction(by) for by in coefficients]
    slope = [power * by for power, by in enumerate(curve)][1:]
    ends = [Bracket.exactly(_value(curve, x)) for x in (side.low, side.high)]
    if not any(slope) or side.low == side.high:
        return least(ends), largest(ends)
    roots = _isolated(slope, side.low, side.high)
    middles = [_value(curve, (low + high) / 2) for low, high in roots]
    heights = [*(end.low for end in ends), *middles]
    scale = max(heights) - min(heights) or max(map(abs, heights)) or Fraction(1)
    values = [*ends, *(_value_at_root(curve, slope, root, scale * FINEST) for root in roots)]
    return least(values), largest(values)


def _value(coefficients: Coefficients, x: Fraction) -> Fraction:
    total = Fraction(0)
    for by in reversed(coefficients):
        total = total * x + by
    return total


def _value_at_root(
    curve: list[Fraction], slope: list[Fraction], root: tuple[Fraction, Fraction], finest: Fraction
) -> Bracket:
    """Return the value at the only root of the derivative in an interval."""
    simple = _whole(_square_free(slope))
    rational = _rational_root(simple, root)
    if rational is not None:
        return Bracket.exactly(_value(curve, rational))
    low, high = root
    value, steps = _curve_value(curve, slope, root), 8
    while value.high - value.low > finest * SEARCHED:
        for _ in range(steps):
            low, high = _halved(simple, low, high)
        value, steps = _curve_value(curve, slope, (low, high)), 2 * steps
    # Two fractions with denominators up to d are 1/d^2 apart, so only one comes close.
    width = value.high - value.low
    nearest = (value.low + value.high) / 2
    if width:
        nearest = nearest.limit_denominator(math.isqrt(math.floor(1 / (4 * width))) or 1)
    if value.low <= nearest <= value.high:
        shared = _greatest_divisor([curve[0] - nearest, *curve[1:]], slope)
        changes = _sturm(shared) if len(shared) > 1 else []
        if _sign_changes(changes, low) > _sign_changes(changes, high):
            return Bracket.exactly(nearest)
    digits = 2 ** (math.ceil(4 / finest) - 1).bit_length()
    return Bracket(
        Fraction(math.floor(value.low * digits), digits),
        Fraction(math.ceil(value.high * digits), digits),
    )


def _curve_value(
    curve: list[Fraction], slope: list[Fraction], place: tuple[Fraction, Fraction]
) -> Bracket:
    """Enclose the values on a short interval by the middle and the steepest slope."""
    low, high = place
    steepest = (Fraction(0), Fraction(0))
    for by in reversed(slope):
        corners = [end * x for end in steepest for x in place]
        steepest = min(corners) + by, max(corners) + by
    reach = max(map(abs, steepest)) * (high - low) / 2
    middle = _value(curve, (low + high) / 2)
    return Bracket(middle - reach, middle + reach)


def _rational_root(simple: list[int], root: tuple[Fraction, Fraction]) -> Fraction | None:
    """Return the root where it is rational: its denominator divides the leading coefficient."""
    low, high = root
    lead = abs(simple[-1])
    while high - low >= Fraction(1, 2 * lead * lead):
        low, high = _halved(simple, low, high)
    # Two fractions with denominators up to ``lead`` are 1/lead^2 apart, so only one comes close.
    nearest = ((low + high) / 2).limit_denominator(lead)
    is_root = low <= nearest <= high and not _value([Fraction(by) for by in simple], nearest)
    return nearest if is_root else None


def _halved(simple: list[int], low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Halve an interval (low, high] that holds one simple root, which it still holds after."""
    if low == high:
        return low, high
    middle = (low + high) / 2
    sign = _sign_at(simple, middle)
    if sign == 0:
        return middle, middle
    # A simple root changes the sign between the ends, unless it is the upper end itself.
    end = _sign_at(simple, high)
    return (middle, high) if end == 0 or sign != end else (low, middle)


def _sign_at(simple: Sequence[int], x: Fraction) -> int:
    """Return the sign of a polynomial with whole coefficients, in whole numbers alone."""
    total, power = 0, 1
    for by in reversed(simple):
        total = total * x.numerator + by * power
        power *= x.denominator
    return (total > 0) - (total < 0)


def _isolated(
    slope: list[Fraction], low: Fraction, high: Fraction
) -> list[tuple[Fraction, Fraction]]:
    """Return intervals (a, b] that hold one root each, of all the roots in (low, high]."""
    sequence = _sturm(slope)
    waiting = [(low, high, _sign_changes(sequence, low), _sign_changes(sequence, high))]
    alone = []
    while waiting:
        first, last, before, after = waiting.pop()
        if before - after == 1:
            alone.append((first, last))
        elif before > after:
            middle = (first + last) / 2
            between = _sign_changes(sequence, middle)
            waiting += [(first, middle, before, between), (middle, last, between, after)]
    return alone


def _sturm(coefficients: Coefficients) -> list[list[int]]:
    """Return the Sturm sequence of the square-free part, in whole numbers without common factor."""
    first = _whole(_square_free(coefficients))
    sequence = [first, _whole([power * Fraction(by) for power, by in enumerate(first)][1:])]
    while len(sequence[-1]) > 1:
        rest = _remainder(list(map(Fraction, sequence[-2])), list(map(Fraction, sequence[-1])))
        if not rest:
            break
        sequence.append(_whole([-by for by in rest]))
    return [part for part in sequence if part]


def _sign_changes(sequence: list[list[int]], x: Fraction) -> int:
    signs = [sign for sign in (_sign_at(part, x) for part in sequence) if sign]
    return sum(before != after for before, after in pairwise(signs))


def _square_free(coefficients: Coefficients) -> list[Fraction]:
    """Return a polynomial with the same roots, each of them once."""
    whole = _trimmed(coefficients)
    shared = _greatest_divisor(whole, [power * by for power, by in enumerate(whole)][1:])
    return whole if len(shared) <= 1 else _quotient(whole, shared)


def _greatest_divisor(larger: Coefficients, smaller: Coefficients) -> list[Fraction]:
    first, second = _trimmed(larger), _trimmed(smaller)
    while second:
        rest = _remainder(first, second)
        first, second = second, [Fraction(by) for by in _whole(rest)]
    return first


def _remainder(dividend: list[Fraction], divisor: list[Fraction]) -> list[Fraction]:
    rest = list(dividend)
    while len(rest) >= len(divisor):
        factor, shift = rest[-1] / divisor[-1], len(rest) - len(divisor)
        for place, by in enumerate(divisor):
            rest[shift + place] -= factor * by
        rest.pop()
    return _trimmed(rest)


def _quotient(dividend: list[Fraction], divisor: list[Fraction]) -> list[Fraction]:
    rest, parts = list(dividend), [Fraction(0)] * (len(dividend) - len(divisor) + 1)
    for shift in reversed(range(len(parts))):
        parts[shift] = rest[shift + len(divisor) - 1] / divisor[-1]
        for place, by in enumerate(divisor):
            rest[shift + place] -= parts[shift] * by
    return parts


def _trimmed(coefficients: Coefficients) -> list[Fraction]:
    """Return the coefficients without zeros at the end; none of the polynomial that is zero."""
    listed = [Fraction(by) for by in coefficients]
    while listed and not listed[-1]:
        listed.pop()
    return listed


def _whole(coefficients: Coefficients) -> list[int]:
    """Return whole coefficients without a common factor, of the same signs."""
    listed = _trimmed(coefficients)
    if not listed:
        return []
    scale = math.lcm(*(by.denominator for by in listed))
    whole = [int(by * scale) for by in listed]
    shared = math.gcd(*whole)
    return [by // shared for by in whole]
