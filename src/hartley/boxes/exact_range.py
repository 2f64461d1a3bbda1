"""The range of a query over a box: exact where it can be, else known from both sides."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.box import Box, Interval
from hartley.boxes.enclosure import check_defined, range_bounds
from hartley.boxes.expression import Expression, total
from hartley.boxes.intervals import natural_range
from hartley.boxes.polynomial import (
    MOST_SIDES,
    Bracket,
    components,
    curve_extremes,
    enclosed,
    fraction,
    independent,
    largest,
    least,
    multiplied_out,
    quadratic_extremes,
    rational,
    sign_between,
    slope_signs,
    whole_unit,
)
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flint import fmpq_mpoly
    from numpy.typing import NDArray

    Sides = Mapping[str, Interval]


# --- convex extremes ------------------------------------------------------------------------------
# Exact ranges of convex and concave polynomials of degree two in many variables.

MOST_CORNERED = 16
"""Up to so many variables all corners of the box are looked at."""
NEAR = 1e-7
"""A numerical minimum so near to an end is tried at the end."""
FINEST = 2**20
"""A variable along which nothing changes is put at a fraction of so fine a denominator."""


def convex_extremes(polynomial: fmpq_mpoly, sides: Sides) -> tuple[Fraction, Fraction] | None:
    r"""Return the least and the largest value of a convex or concave quadratic in a box.

    A convex one is largest at a corner; all are compared. Where it is least a numerical search
    proposes, and the conditions of Karush, Kuhn and Tucker prove in exact numbers: slopes of zero
    between the ends, none that falls at a lower end and none that rises at an upper one. Convexity
    itself is decided by the signs of the characteristic polynomial. None of other polynomials, and
    where the proof fails. Exact. Grows as 2^d for d variables.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
        >>> ends = convex_extremes(multiplied_out(parse_expression("(x - y)**2 + x")), unit)
        >>> print(*ends)
        0 2
    """
    if polynomial.context().nvars() > MOST_CORNERED:
        return None
    (offset, linear, curved), scale = whole_unit(polynomial, sides)
    for sign in (1, -1):
        bent = [[sign * entry for entry in row] for row in curved]
        if not is_convex(bent):
            continue
        slopes = [sign * slope for slope in linear]
        bottom = _least(slopes, bent)
        if bottom is None:
            return None
        ends = [
            sign * (bottom + sign * offset),
            sign * (_largest_at_corners(slopes, bent) + sign * offset),
        ]
        return min(ends) / scale, max(ends) / scale
    return None


def is_convex(matrix: Sequence[Sequence[int]]) -> bool:
    """Return whether a symmetric matrix has no negative eigenvalue, exactly.

    All its eigenvalues are real; none is negative if the signs of the coefficients of the
    characteristic polynomial alternate, which is then not zero at any negative number.

    Example:
        >>> is_convex([[1, -1], [-1, 1]]), is_convex([[1, 2], [2, 1]]), is_convex([[0, 1], [1, 0]])
        (True, False, False)
    """
    import flint  # on use: few queries need it

    falling = reversed(flint.fmpz_mat(matrix).charpoly().coeffs())
    return all(by * (-1) ** place >= 0 for place, by in enumerate(falling))


def _largest_at_corners(slopes: Sequence[int], bent: Sequence[Sequence[int]]) -> Fraction:
    """Return the largest value of b u + u H u / 2 at a corner of the unit cube."""
    size = len(slopes)
    bound = 2 * sum(map(abs, slopes)) + sum(abs(entry) for row in bent for entry in row)
    kind: Any = np.int64 if bound < 2**62 else object
    corners = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(kind)
    curved = (corners @ np.array(bent, dtype=kind) * corners).sum(axis=1)
    values = curved + 2 * (corners @ np.array(slopes, dtype=kind))
    return Fraction(int(values.max()), 2)


def _least(slopes: Sequence[int], bent: Sequence[Sequence[int]]) -> Fraction | None:
    """Return the proved least value of a convex b u + u H u / 2 in the unit cube."""
    place = _proved_place(slopes, bent, _proposed(slopes, bent))
    if place is None:
        return None
    pulls = [sum((h * u for h, u in zip(row, place, strict=True)), Fraction(0)) for row in bent]
    return sum(
        ((b + pull / 2) * u for b, pull, u in zip(slopes, pulls, place, strict=True)), Fraction(0)
    )


def _proposed(slopes: Sequence[int], bent: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return a place near which the least value is, numerically."""
    from scipy.optimize import minimize

    largest = max(1, *map(abs, slopes), *(abs(entry) for row in bent for entry in row))
    b = np.array([float(Fraction(slope, largest)) for slope in slopes])
    h = np.array([[float(Fraction(entry, largest)) for entry in row] for row in bent])
    answer = minimize(
        lambda u: float(b @ u + u @ h @ u / 2),
        np.full(len(b), 0.5),
        jac=lambda u: b + h @ u,
        method="L-BFGS-B",
        bounds=[(0, 1)] * len(b),
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000},
    )
    return np.asarray(answer.x)


def _proved_place(
    slopes: Sequence[int], bent: Sequence[Sequence[int]], near: NDArray[np.float64]
) -> list[Fraction] | None:
    """Return an exact place with the conditions of a least value, near a proposed one."""
    size = len(slopes)
    place = [
        Fraction(0) if u < NEAR else Fraction(1) if u > 1 - NEAR else None for u in near.tolist()
    ]
    free = [i for i in range(size) if place[i] is None]
    fixed = [(i, u) for i, u in enumerate(place) if u is not None]
    system = [
        [Fraction(bent[i][j]) for j in free]
        + [-slopes[i] - sum((bent[i][j] * u for j, u in fixed), Fraction(0))]
        for i in free
    ]
    guesses = [Fraction(round(float(near[i]) * FINEST), FINEST) for i in free]
    solved = _solution(system, guesses)
    if solved is None:
        return None
    values = dict(fixed) | dict(zip(free, solved, strict=True))
    whole = [values[i] for i in range(size)]
    for i, u in enumerate(whole):
        slope = slopes[i] + sum((h * v for h, v in zip(bent[i], whole, strict=True)), Fraction(0))
        is_least = slope == 0 or (u == 0 and slope > 0) or (u == 1 and slope < 0)
        if not 0 <= u <= 1 or not is_least:
            return None
    return whole


def _solution(system: list[list[Fraction]], guesses: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve linear equations exactly; what they leave open is as guessed. None without solution."""
    import flint

    if not system:
        return []
    reduced, rank = flint.fmpq_mat([[rational(by) for by in row] for row in system]).rref()
    rows = [list(map(fraction, row)) for row in reduced.tolist()[:rank]]
    pivots = [next(column for column, by in enumerate(row) if by) for row in rows]
    if len(guesses) in pivots:  # 0 = 1
        return None
    values = [Fraction(0) if i in pivots else guess for i, guess in enumerate(guesses)]
    for pivot, (*row, right) in zip(pivots, rows, strict=True):
        values[pivot] = right - sum(by * u for by, u in zip(row, values, strict=True))
    return values


# --- exact range ----------------------------------------------------------------------------------


MOST_ENDS = 10
"""Up to so many variables of degree one are tried at both of their ends."""


@dataclass(frozen=True)
class KnownRange:
    """The ends of a query's range; each is known exactly, or to lie between two numbers.

    Example:
        >>> known = KnownRange(Bracket.exactly(0), Bracket(Fraction(3), Fraction(4)))
        >>> print(known.outer, known.inner, known.exact)
        [0, 4] [0, 3] False
    """

    low: Bracket
    high: Bracket

    @property
    def exact(self) -> bool:
        """Whether both ends are known exactly."""
        return self.low.exact and self.high.exact

    @property
    def outer(self) -> Interval:
        """An interval that holds every value."""
        return Interval(self.low.low, self.high.high)

    @property
    def inner(self) -> Interval:
        """An interval that is all attained; a single number where none is known."""
        if self.low.high > self.high.low:
            return Interval(self.low.high, self.low.high)
        return Interval(self.low.high, self.high.low)

    def __add__(self, other: KnownRange) -> KnownRange:
        return KnownRange(self.low + other.low, self.high + other.high)

    def __neg__(self) -> KnownRange:
        return KnownRange(-self.high, -self.low)


def known_range(expression: Expression, box: Box) -> KnownRange:
    """Return the range of a query over a box, exactly where one of these rules applies.

    Polynomials of degree two in up to eight variables (see ``quadratic_extremes``), and convex or
    concave ones, such as a variance, in up to 16 (``convex_extremes``); polynomials of one
    variable (``curve_extremes``); sums of parts that share no variable, whose ranges add; a
    variable of degree one, which is extreme at an end; a slope whose sign is certain, which puts
    the variable at a corner; a function of such a part, and whatever holds no variable twice.
    Everything else is enclosed from both sides by branch and bound. Exact or a bound, as it says.
    Cost: at most that of ``range_bounds`` for every part that no rule applies to.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> known = known_range(parse_expression("x1*x2 - x1**2"), Box.cube(0, 1, size=2))
        >>> print(known.outer, known.exact)
        [-1, 1/4] True
    """
    if not expression.names:
        raise OptionError(
            "The query does not name a variable", hint=f"the box has {', '.join(box.names)}"
        )
    check_defined(expression, box)
    fixed = {name: box[name].low for name in expression.names if not box[name].length}
    return _ends(expression.put_in(fixed) if fixed else expression, box.sides)


def _ends(expression: Expression, sides: Sides) -> KnownRange:
    """Return the range by the first rule that applies."""
    for rule in (_without_repetition, _of_polynomial, _of_parts, _of_function, _at_corners):
        known = rule(expression, sides)
        if known is not None:
            return known
    return _enclosed(expression, sides)


def _without_repetition(expression: Expression, sides: Sides) -> KnownRange | None:
    """Use natural interval arithmetic where it is exact: no variable twice, rational values."""
    if expression.linear() is None:
        times = expression.fold(lambda node, parts: sum(parts) + int(node.operation == "var"))
        rounded = any(node.operation in ("exp", "log", "sqrt") for node in expression.nodes())
        if rounded or times > len(expression.names):
            return None
    ends = natural_range(expression, sides)
    return None if ends is None else KnownRange(*map(Bracket.exactly, ends))


# --- polynomials ----------------------------------------------------------------------------------


def _of_polynomial(expression: Expression, sides: Sides) -> KnownRange | None:
    polynomial = multiplied_out(expression)
    return None if polynomial is None else _polynomial_ends(polynomial, sides)


def _polynomial_ends(polynomial: fmpq_mpoly, sides: Sides) -> KnownRange | None:
    """Add the ranges of the parts that share no variable; None where one has no exact rule."""
    constant = Bracket.exactly(fraction(polynomial[(0,) * polynomial.context().nvars()]))
    known = KnownRange(constant, constant)
    for part in components(polynomial):
        ends = _component_ends(part, sides)
        if ends is None:
            return None
        known += ends
    return known


def _component_ends(part: fmpq_mpoly, sides: Sides) -> KnownRange | None:
    names, degree = part.context().names(), part.total_degree()
    if len(names) == 1:
        curve = [fraction(part[power,]) for power in range(degree + 1)]
        return KnownRange(*curve_extremes(curve, sides[names[0]]))
    if degree <= 2 and len(names) <= MOST_SIDES:
        return KnownRange(*map(Bracket.exactly, quadratic_extremes(part, sides)))
    signs = {name: sign_between(*enclosed(part.derivative(name), sides)) for name in names}
    certain = {name: sign for name, sign in signs.items() if sign}
    if certain:
        lowest, highest = (
            _polynomial_ends(_at(part, _corner(certain, sides, way)), sides) for way in (-1, 1)
        )
        if lowest is None or highest is None:
            return None
        return KnownRange(lowest.low, highest.high)
    ends = convex_extremes(part, sides) if degree <= 2 else None
    return _by_ends(part, sides) if ends is None else KnownRange(*map(Bracket.exactly, ends))


def _by_ends(part: fmpq_mpoly, sides: Sides) -> KnownRange | None:
    """Try both ends of every variable of degree one: along it, the polynomial has no bend."""
    degrees = zip(part.context().names(), part.degrees(), strict=True)
    straight = [name for name, degree in degrees if degree == 1]
    if not straight or len(straight) > MOST_ENDS:
        return None
    side = sides[straight[0]]
    at_low = _polynomial_ends(_at(part, {straight[0]: side.low}), sides)
    if at_low is None:  # no rule applies there: do not try the other ends in vain
        return None
    at_high = _polynomial_ends(_at(part, {straight[0]: side.high}), sides)
    if at_high is None:
        return None
    return KnownRange(least([at_low.low, at_high.low]), largest([at_low.high, at_high.high]))


def _at(polynomial: fmpq_mpoly, values: Mapping[str, Fraction]) -> fmpq_mpoly:
    """Put numbers in for some variables."""
    return polynomial.subs({name: rational(value) for name, value in values.items()})


def _corner(signs: Mapping[str, int], sides: Sides, way: int) -> dict[str, Fraction]:
    """Return where variables with a certain slope are for the least (-1) or largest (1) value."""
    return {
        name: sides[name].high if sign == way else sides[name].low for name, sign in signs.items()
    }


# --- other queries --------------------------------------------------------------------------------


def _of_parts(expression: Expression, sides: Sides) -> KnownRange | None:
    """Add the ranges of the parts of a sum that share no variable; None where there is one."""
    groups = independent(_addends(expression), lambda part: part.names)
    if len(groups) < 2:
        return None
    parts = [_ends(total(joined), sides) for _, joined in groups]
    known = parts[0]
    for part_range in parts[1:]:
        known += part_range
    return known


def _addends(expression: Expression) -> list[Expression]:
    """Return the terms of a sum, each with the number that it is multiplied by."""
    terms: list[Expression] = []
    waiting = [(expression, Fraction(1))]
    while waiting:
        node, factor = waiting.pop()
        if node.operation in ("+", "-"):
            sign = 1 if node.operation == "+" else -1
            waiting += [(node.arguments[0], factor), (node.arguments[1], sign * factor)]
        elif node.operation == "neg":
            waiting.append((node.arguments[0], -factor))
        else:
            scaled = _scaled(node)
            if scaled is None:
                terms.append(node if factor == 1 else factor * node)
            else:
                waiting.append((scaled[0], factor * scaled[1]))
    return terms


def _scaled(node: Expression) -> tuple[Expression, Fraction] | None:
    """Read a product with a number, or a quotient by one, as the rest and the number."""
    if node.operation not in ("*", "/"):
        return None
    first, second = node.arguments
    for rest, number in ((first, second), (second, first))[: 2 if node.operation == "*" else 1]:
        form = number.linear()
        if form is not None and not form[0] and form[1]:
            return rest, form[1] if node.operation == "*" else 1 / form[1]
    return None


def _of_function(expression: Expression, sides: Sides) -> KnownRange | None:
    """Put the range of a part through the function of it that the query is.

    A part is continuous, so it takes every value between its ends, and the range of a function of
    it is the range of that function there.
    """
    operation, arguments = expression.operation, expression.arguments
    scaled = _scaled(expression)
    if scaled is not None:
        inner = _ends(scaled[0], sides)
        ends = [_times(end, scaled[1]) for end in (inner.low, inner.high)]
        return KnownRange(*(ends if scaled[1] > 0 else reversed(ends)))
    if operation == "neg":
        return -_ends(arguments[0], sides)
    if operation in ("exp", "log", "sqrt") or (operation == "pow" and arguments[1] % 2):
        inner = _ends(arguments[0], sides)
        low, high = (_increasing(expression, end) for end in (inner.low, inner.high))
        return None if low is None or high is None else KnownRange(low, high)
    if operation in ("abs", "pow"):
        return _folded(expression, _ends(arguments[0], sides))
    return _reciprocal(expression, sides) if operation == "/" else None


def _reciprocal(expression: Expression, sides: Sides) -> KnownRange | None:
    """Divide a number by a part of one sign; None where the dividend is no number."""
    dividend, divisor = expression.arguments
    form = dividend.linear()
    if form is None or form[0]:
        return None
    inner = _ends(divisor, sides)
    if inner.low.low <= 0 <= inner.high.high:
        return None
    ends = [_times(Bracket(1 / end.high, 1 / end.low), form[1]) for end in (inner.low, inner.high)]
    return KnownRange(*(reversed(ends) if form[1] > 0 else ends))


def _times(number: Bracket, factor: Fraction) -> Bracket:
    return Bracket(*sorted((number.low * factor, number.high * factor)))


def _increasing(function: Expression, number: Bracket) -> Bracket | None:
    """Apply an increasing function to a number; None where that is undefined or too large."""
    ends = number.low, number.high
    if function.operation == "sqrt":  # the query is defined, so only a bracket can reach below 0
        ends = max(ends[0], Fraction(0)), max(ends[1], Fraction(0))
    low, high = (
        natural_range(
            Expression(function.operation, (Expression("const", (end,)), *function.arguments[1:])),
            {},
        )
        for end in ends
    )
    return None if low is None or high is None else Bracket(low[0], high[1])


def _folded(function: Expression, inner: KnownRange) -> KnownRange | None:
    """Apply an even power, or the absolute value, to a part of a known range."""
    power = function.arguments[1] if function.operation == "pow" else 1
    if power == 0:
        return KnownRange(Bracket.exactly(1), Bracket.exactly(1))
    if inner.low.high < 0 < inner.high.low:
        lowest = Bracket.exactly(0)
    elif inner.low.low >= 0:
        lowest = _raised(inner.low, power)
    elif inner.high.high <= 0:
        lowest = _raised(-inner.high, power)
    else:
        return None  # whether zero lies between the ends is not known
    ends = [
        _raised(end if end.low >= 0 else -end, power)
        for end in (inner.low, inner.high)
        if end.low >= 0 or end.high <= 0
    ]
    return KnownRange(lowest, largest(ends)) if len(ends) == 2 else None


def _raised(number: Bracket, power: int) -> Bracket:
    return Bracket(number.low**power, number.high**power)


def _at_corners(expression: Expression, sides: Sides) -> KnownRange | None:
    """Put variables whose slope has a certain sign at the ends where they are extreme."""
    if not expression.names:
        ends = natural_range(expression, sides)
        return None if ends is None else KnownRange(Bracket(*ends), Bracket(*ends))
    certain = {name: sign for name, sign in slope_signs(expression, sides).items() if sign}
    if not certain:
        return None
    lowest, highest = (
        _ends(expression.put_in(_corner(certain, sides, way)), sides) for way in (-1, 1)
    )
    return KnownRange(lowest.low, highest.high)


def _enclosed(expression: Expression, sides: Sides) -> KnownRange:
    """Enclose the range by branch and bound, from both sides."""
    box = Box({name: sides[name] for name in expression.names})
    outer, inner = range_bounds(expression, box)
    if inner.length == 0:  # so short that rounding hides it: no value is known to be attained
        return KnownRange(Bracket(outer.low, outer.high), Bracket(outer.low, outer.high))
    return KnownRange(Bracket(outer.low, inner.low), Bracket(inner.high, outer.high))
