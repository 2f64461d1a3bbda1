"""Enclosures hold every value of a query, and say where it is not defined."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from hartley import Box, Interval, OptionError
from hartley.boxes import intervals as outward, parse_expression
from hartley.boxes.enclosure import (
    UnitBox,
    check_defined,
    linearise,
    natural_range,
    range_bounds,
    split_boxes,
)
from queries import queries

NAMES = ("x", "y")
numbers = st.fractions(min_value=-4, max_value=4, max_denominator=16)


PAIRS = ["+", "-", "*", "/", "min", "max"]
expressions = queries((PAIRS, ["exp", "log", "sqrt", "abs", "neg"]), numbers, power=4, leaves=8)
rational_expressions = queries((PAIRS, ["abs", "neg"]), numbers, power=4, leaves=8)
sides = st.tuples(numbers, numbers).map(sorted)
places = st.lists(
    st.tuples(*[st.fractions(min_value=0, max_value=1, max_denominator=8)] * 2),
    min_size=1,
    max_size=6,
)


class NotDefined(Exception):  # noqa: N818 - a signal of the oracle
    pass


def value(expression, point):
    """Evaluate in 60 digits, by Python's decimals: an oracle that shares no code."""
    operation, arguments = expression.operation, expression.arguments
    if operation == "const":
        return Decimal(arguments[0].numerator) / Decimal(arguments[0].denominator)
    if operation == "var":
        return Decimal(point[arguments[0]].numerator) / Decimal(point[arguments[0]].denominator)
    if operation == "pow":
        base = value(arguments[0], point)
        return base ** arguments[1] if arguments[1] else Decimal(1)
    parts = [value(part, point) for part in arguments]
    if (
        (operation == "/" and parts[1] == 0)
        or (operation == "log" and parts[0] <= 0)
        or (operation == "sqrt" and parts[0] < 0)
        or (operation == "exp" and abs(parts[0]) > 600)
    ):
        raise NotDefined
    return {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "min": min,
        "max": max,
        "neg": lambda a: -a,
        "abs": abs,
        "exp": Decimal.exp,
        "log": Decimal.ln,
        "sqrt": Decimal.sqrt,
    }[operation](*parts)


def holds(low, high, number):
    """Whether a number of 60 digits lies in an interval, up to the last ten of them."""
    slack = abs(number) * Decimal(10) ** -50 + Decimal(10) ** -50
    return (low == -np.inf or Decimal(low) <= number + slack) and (
        high == np.inf or number - slack <= Decimal(high)
    )


def floats(box):
    return {
        n: (
            np.array([outward.float_below(box[n].low)]),
            np.array([outward.float_above(box[n].high)]),
        )
        for n in NAMES
    }


def points_of(box, shares):
    for share in shares:
        yield {n: box[n].low + s * box[n].length for n, s in zip(NAMES, share, strict=True)}


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(expressions, sides, sides, places)
def test_an_enclosure_holds_the_value_at_every_point_of_the_box(expression, x, y, shares):
    box = Box({"x": x, "y": y})
    low, high = outward.enclose(expression, floats(box))
    exact = natural_range(expression, box.sides)
    with localcontext() as context:
        context.prec = 60
        for point in points_of(box, shares):
            try:
                number = value(expression, point)
            except NotDefined:
                continue
            assert holds(float(low[0]), float(high[0]), number)
            if exact is not None:
                ends = [Decimal(e.numerator) / Decimal(e.denominator) for e in exact]
                slack = abs(number) * Decimal(10) ** -50 + Decimal(10) ** -50
                assert ends[0] - slack <= number <= ends[1] + slack


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(expressions, sides, sides, places)
def test_a_box_with_a_natural_range_has_no_undefined_point(expression, x, y, shares):
    box = Box({"x": x, "y": y})
    if natural_range(expression, box.sides) is None:
        return
    with localcontext() as context:
        context.prec = 60
        for point in points_of(box, shares):
            try:
                value(expression, point)
            except NotDefined:
                # The oracle gives up on exponents that the enclosure may still manage.
                assert "exp" in {node.operation for node in expression.nodes()}


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(expressions, sides, sides, places)
def test_slopes_hold_every_difference_quotient_against_the_middle(expression, x, y, shares):
    box = Box({"x": x, "y": y})
    middle = {n: box[n].middle for n in NAMES}
    form = linearise(expression, floats(box), {n: outward.constant(middle[n]) for n in NAMES})
    if natural_range(expression, box.sides) is None:
        return  # slopes promise nothing in a box in which the query may be undefined
    with localcontext() as context:
        context.prec = 60
        for point in points_of(box, shares):
            try:
                number = value(expression, point)
            except NotDefined:
                continue
            least, most = (Decimal(float(end[0])) for end in form.middle)
            for name in expression.names:
                away = point[name] - middle[name]
                step = Decimal(away.numerator) / Decimal(away.denominator)
                ends = [Decimal(float(end[0])) * step for end in form.slopes[name]]
                if not all(end.is_finite() for end in ends):
                    if away:
                        least, most = Decimal("-Infinity"), Decimal("Infinity")
                    continue
                least, most = least + min(ends), most + max(ends)
            if least.is_finite() and most.is_finite():
                assert holds(least, most, number)


def test_slopes_are_twice_as_tight_as_derivatives_for_a_square():
    one, two, three = (np.array([float(n)]) for n in (1, 2, 3))
    form = linearise(parse_expression("x**2"), {"x": (one, three)}, {"x": (two, two)})
    low, high = (float(end[0]) for end in form.slopes["x"])
    assert (low, high) == pytest.approx((3, 5))


def test_an_expression_is_enclosed_in_many_boxes_at_once():
    x, y = ([0.0, -1.0], [1.0, 1.0]), ([2.0], [3.0])
    sides = {"x": tuple(map(np.array, x)), "y": tuple(map(np.array, y))}
    low, high = outward.enclose(parse_expression("x*y - 1"), sides)
    assert low.shape == high.shape == (2,)
    assert low == pytest.approx([-1, -4])
    assert high == pytest.approx([2, 2])


def test_halves_cover_a_box_without_overlap():
    start, size = split_boxes(np.zeros((2, 1)), np.ones((2, 1)), np.array([0]))
    start, size = split_boxes(start, size, np.array([1, 0]))
    assert size.prod(axis=0).sum() == 1
    frame = UnitBox(parse_expression("x + y"), Box({"x": (0, 1), "y": (0, 1)}))
    form, changes = frame.linearise(start, size)
    assert len(changes) == 2
    assert float(form.values[0].min()) <= 0
    assert float(form.values[1].max()) >= 2


@pytest.mark.slow
@given(st.fractions(min_value=-(10**6), max_value=10**6))
def test_doubles_beside_an_exact_number_are_the_nearest_ones(number):
    below, above = outward.float_below(number), outward.float_above(number)
    assert Fraction(below) <= number <= Fraction(above)
    assert above in (below, np.nextafter(below, np.inf))


@pytest.mark.parametrize("huge", [Fraction(10) ** 400, -(Fraction(10) ** 400)])
def test_numbers_beyond_the_doubles_are_enclosed(huge):
    below, above = outward.float_below(huge), outward.float_above(huge)
    assert below <= huge <= above
    assert np.isinf(below) != np.isinf(above)


# --- ranges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x1**2 + 2*x2**2", 0, 12),
        ("(x1 + x2)/2", -2, 2),
        ("x1 - x1 + x2", -2, 2),
        ("max(x1, 0) * min(x2, 1)", -4, 2),
        ("abs(x1) / (abs(x2) + 1)", 0, 2),
        ("sqrt(x1**2)", 0, 2),
        ("exp(0*x1) + log(1)", 1, 1),
    ],
)
def test_the_range_is_exact_where_every_variable_occurs_once(text, low, high):
    assert range_bounds(parse_expression(text), Box.cube(-2, 2, size=2))[0] == Interval(low, high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x1 - x1**2", -6, Fraction(1, 4)),
        ("x1*x1*x2 - x2", -6, 6),
        ("(x1 - 1)*(x1 + 1)*x1", -6, 6),
        ("x1*exp(-x1*x1)", -0.42888194248, 0.42888194248),
        ("abs(x1 - x2) - x1*x2", -4, 8),
    ],
)
def test_the_range_is_tight_from_both_sides_where_variables_recur(text, low, high):
    box = Box.cube(-2, 2, size=2)
    outer, inner = range_bounds(parse_expression(text), box, gap=1e-7)
    assert outer.low <= low + 1e-9
    assert high - 1e-9 <= outer.high
    assert outer.low <= inner.low <= inner.high <= outer.high
    assert float(outer.low) == pytest.approx(low, abs=1e-4)
    assert float(inner.low) == pytest.approx(low, abs=1e-4)
    assert float(outer.high) == pytest.approx(float(high), abs=1e-4)
    assert float(inner.high) == pytest.approx(float(high), abs=1e-4)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(rational_expressions, sides, sides, places)
def test_no_value_lies_outside_the_range(expression, x, y, shares):
    box = Box({"x": x, "y": y})
    try:
        outer, inner = range_bounds(expression, box, gap=1e-3)
    except OptionError:
        reject()
    values = [expression.at(point) for point in points_of(box, shares)]
    assert all(outer.low <= number <= outer.high for number in values)
    assert outer.low <= inner.low
    assert inner.high <= outer.high


def test_the_attained_range_of_a_linear_query_is_its_range():
    query = parse_expression("x1 - 3*x2 + 1")
    assert range_bounds(query, Box.cube(0, 1, size=2)) == (Interval(-2, 2), Interval(-2, 2))


# --- where a query is defined --------------------------------------------------------------------

SQUARE = Box.cube(-1, 2, size=2)


@pytest.mark.parametrize(
    "text",
    [
        "1/(x1 + 2)",
        "1/(x1**2 + x2**2 + 1/10)",
        "log(x1*x1 - x1 + 1)",
        "log(x1 + x2 + 21/10)",
        "sqrt(x1**2)",
        "sqrt(4 - x1**2)",
        "sqrt(x1 + 1)",
        "1/exp(x1)",
        "1/(x1*x1 - x1 + 1)",
        "x1/3",
    ],
)
def test_a_query_that_is_defined_everywhere_passes(text):
    check_defined(parse_expression(text), SQUARE)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1/x1", "divides by zero somewhere"),
        ("1/(x1 - 1/3)", "divides by zero somewhere"),
        ("1/(x1*x2 - 1/3)", "divides by zero somewhere"),
        ("x2/(x1 + 1)", "divides by zero somewhere"),
        ("x1/0", "divides by zero somewhere"),
        ("1/x1**2", "divides by zero"),
        ("log(x1)", "takes the logarithm of a number that is not positive somewhere"),
        ("log(x1 + 1)", "takes the logarithm of a number that is not positive somewhere"),
        ("log(x1*x2 - x1)", "takes the logarithm of a number that is not positive somewhere"),
        ("sqrt(x1)", "takes the square root of a negative number somewhere"),
        ("sqrt(x1*x1 - x1)", "takes the square root of a negative number somewhere"),
        ("1/(x1 - sqrt(2))", "divides by zero somewhere"),
        ("max(x1, 1/x2)", "divides by zero somewhere"),
    ],
)
def test_a_query_that_is_undefined_somewhere_is_refused_by_name(text, what):
    with pytest.raises(OptionError) as found:
        check_defined(parse_expression(text), SQUARE)
    assert what in str(found.value)
    assert str(parse_expression(text)) in str(found.value)
    assert "; hint: choose ranges in which" in str(found.value)


def test_what_cannot_be_decided_is_refused_and_says_so():
    # Zero at x1 = 1/3 without a change of sign, where no halving of the box ever lands.
    query = parse_expression("1/((x1 - 1/3)*(x1 - 1/3))")
    with pytest.raises(OptionError, match=r"Whether the query .* cannot be decided"):
        check_defined(query, SQUARE)


def test_a_variable_that_the_box_does_not_have_is_refused():
    with pytest.raises(OptionError, match="no variable 'z'"):
        check_defined(parse_expression("x1 + z"), SQUARE)


def test_a_long_query_is_cut_in_messages():
    query = parse_expression(
        "1/(x1 - x1 + " + " + ".join(f"0*x{1 + k % 2}" for k in range(60)) + ")"
    )
    with pytest.raises(OptionError) as found:
        check_defined(query, SQUARE)
    assert len(str(found.value)) < 400


def test_a_query_whose_values_no_double_holds_is_refused_by_name():
    box = Box({"height": (0, 10), "age": (0, 10)})
    with pytest.raises(OptionError, match="No bounds were found for the query"):
        range_bounds(parse_expression("height - 30*(age/5e-324)**2"), box)
