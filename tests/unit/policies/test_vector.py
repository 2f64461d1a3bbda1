"""Several queries released together: grids, their errors and the functions of a query."""

import math
import operator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from brute_force import set_partitions
from hartley import (
    Box,
    Interval,
    OptionError,
    PolicyDocument,
    UniformQuantizer,
    VectorQuantizer,
    open_table,
    verify_exhaustively,
)
from hartley.boxes import Zonotope, parse_expression
from hartley.policies import CellBounds, QuantizedColumn, cells_needed
from hartley.policies.quantizer import cells_per_person
from hartley.policies.vector import (
    arithmetic_tree,
    ball_volume_above,
    balls_needed,
    grid_within_error,
    levels_within_outputs,
    outside,
)
from hartley.tables.column_map import apply_map
from hartley.tables.release_rules import Formula


def box_of(*lengths):
    box = Box({f"x{k}": (0, length) for k, length in enumerate(lengths)})
    return Zonotope.of(list(box.names), box)


# --- the fewest cells -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lengths", "error", "levels"),
    [
        ((1, 1), "1/2", (2, 2)),
        ((1, 1), "0.3", (2, 4)),
        ((1, 1), "0.1", (7, 8)),
        ((1, 2), "1/2", (2, 3)),
        ((150, 170), "10", (10, 13)),
        ((1, 1, 1), "1/2", (2, 2, 2)),
        ((1, 1, 1), "0.9", (1, 1, 1)),
    ],
)
def test_the_smallest_grid_within_a_euclidean_error(lengths, error, levels):
    ranges = [(0, length) for length in lengths]
    grid = VectorQuantizer.for_error(ranges=ranges, error=error, norm="euclidean")
    assert grid.levels == levels
    assert grid.squared_error <= Fraction(error) ** 2
    bounds = cells_needed(box_of(*lengths), error, norm="euclidean")
    assert bounds.at_most == math.prod(levels)
    assert bounds.at_least <= bounds.at_most


def test_the_volume_bound_on_heights_and_weights():
    assert cells_needed(box_of(150, 170), 10, norm="euclidean") == CellBounds(82, 130)
    assert balls_needed(Fraction(25500), 2, Fraction(10)) == 82
    # The fewest cells of any shape are not those of a grid: seven discs cover the unit square.
    bounds = cells_needed(box_of(1, 1), "0.3", norm="euclidean")
    assert (bounds.at_least <= 7 < bounds.at_most, bounds.is_fewest) == (True, False)
    assert "no release has fewer than 4" in str(bounds)


@pytest.mark.slow
@given(
    lengths=st.lists(st.fractions(0, 4, max_denominator=6), min_size=1, max_size=3),
    error=st.fractions("1/3", 3, max_denominator=9),
)
@settings(max_examples=80, deadline=None)
def test_no_grid_of_fewer_cells_is_within_the_error(lengths, error):
    levels = grid_within_error(lengths, error)
    size = math.prod(levels)

    def is_within(grid):
        return sum((a / q) ** 2 for a, q in zip(lengths, grid, strict=True)) <= 4 * error**2

    assert is_within(levels)
    grids = product(range(1, size + 1), repeat=len(lengths))
    better = [grid for grid in grids if math.prod(grid) <= size and is_within(grid)]
    assert min(better, key=lambda grid: (math.prod(grid), grid)) == levels


def test_the_volume_of_a_ball_is_rounded_up():
    for k in range(1, 9):
        exact = math.pi ** (k / 2) / math.gamma(k / 2 + 1)
        assert ball_volume_above(k) >= Fraction(exact) * (1 - Fraction(1, 10**15))
        assert float(ball_volume_above(k)) == pytest.approx(exact, rel=1e-12)
    # 22/7 > pi > 223/71 (Archimedes), so that two dimensions can be compared without doubles.
    assert Fraction(223, 71) < ball_volume_above(2) < Fraction(22, 7)


def fewest_by_partitions(points, fits):
    return min(len(part) for part in set_partitions(points) if all(map(fits, part)))


@pytest.mark.parametrize(
    ("lengths", "error"),
    [((1, 2), "0.3"), ((1, 1), "0.2"), ((2, 3), "0.5"), ((1, 1, 1), "0.3"), ((5, 1), "2.5")],
)
@pytest.mark.slow
def test_no_partition_of_points_has_fewer_cells_within_a_sup_error(lengths, error):
    """Points of the box that are more than twice the error apart in some coordinate."""
    e = Fraction(error)
    counts = [max(1, math.ceil(length / (2 * e))) for length in lengths]
    steps = [
        [Fraction(i * length, max(count - 1, 1)) for i in range(count)]
        for length, count in zip(lengths, counts, strict=True)
    ]
    points = list(product(*steps))[:9]

    def fits(cell):
        return all(max(c) - min(c) <= 2 * e for c in zip(*cell, strict=True))

    assert fewest_by_partitions(points, fits) == len(points)
    bounds = cells_needed(box_of(*lengths), error)
    assert bounds.is_fewest
    assert bounds.at_most == math.prod(counts)
    assert str(bounds) == f"The fewest cells are {math.prod(counts)}."


@pytest.mark.slow
@given(
    points=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=6),
    error=st.fractions("1/2", 3, max_denominator=4),
)
@settings(max_examples=40, deadline=None)
def test_a_grid_over_points_has_no_fewer_cells_than_the_best_partition(points, error):
    """Of both norms: the cells of the grid that hold points are a release within the error."""
    points = sorted(set(points))
    ranges = [(min(c), max(c)) for c in zip(*points, strict=True)]

    def within_sup(cell):
        return all(max(c) - min(c) <= 2 * error for c in zip(*cell, strict=True))

    def within_ball(cell):
        """The least ball has two of the points, or three, on its sphere."""
        centres = list(cell)
        centres += [
            tuple(Fraction(a + b, 2) for a, b in zip(p, q, strict=True))
            for p, q in combinations(cell, 2)
        ]
        centres += [c for c in map(centre, combinations(cell, 3)) if c is not None]
        return any(
            all(sum((a - b) ** 2 for a, b in zip(p, c, strict=True)) <= error**2 for p in cell)
            for c in centres
        )

    for norm, fits in (("sup", within_sup), ("euclidean", within_ball)):
        grid = VectorQuantizer.for_error(ranges=ranges, error=error, norm=norm)
        cells = {}
        for point in points:
            cells.setdefault(grid.cell(point), []).append(point)
            middle = grid.middle(grid.cell(point))
            off = [abs(a - b) for a, b in zip(point, middle, strict=True)]
            size = max(off) ** 2 if norm == "sup" else sum(d**2 for d in off)
            assert size <= grid.squared_error <= error**2
        assert all(map(fits, cells.values()))
        assert fewest_by_partitions(points, fits) <= len(cells) <= grid.outputs


def centre(corners):
    """The centre of the circle through three points; None where they lie on a line."""
    (ax, ay), (bx, by), (cx, cy) = corners
    twice = 2 * (ax * (by - cy) + bx * (cy - ay) + cx * (ay - by))
    if twice == 0:
        return None
    a, b, c = ax**2 + ay**2, bx**2 + by**2, cx**2 + cy**2
    return (
        Fraction(a * (by - cy) + b * (cy - ay) + c * (ay - by), twice),
        Fraction(a * (cx - bx) + b * (ax - cx) + c * (bx - ax), twice),
    )


def test_an_image_smaller_than_its_box_has_a_gap():
    diamond = Zonotope.of(["x1 + x2", "x1 - x2"], Box.cube(0, 1, size=2))
    assert cells_needed(diamond, "1/4") == CellBounds(8, 13)
    assert cells_needed(diamond, ["1/4", "1/2"]) == CellBounds(4, 8)
    assert cells_needed(diamond, "1/4", norm="euclidean") == CellBounds(11, 27)
    segment = Zonotope.of(["x1", "2*x1"], Box.cube(0, 1, size=1))
    assert cells_needed(segment, "1/4") == CellBounds(4, 4)


def test_every_query_may_have_an_error_of_its_own():
    grid = VectorQuantizer.for_error(ranges=[(0, 1), (0, 100)], error=["0.1", 10])
    assert grid.levels == (5, 5)
    assert [part.error for part in grid.parts] == [Fraction(1, 10), 10]


# --- the least error within a number of outputs ---------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "levels", "sup", "euclidean"),
    [
        (2, (1, 10), "1/2", 0.502494),
        (4, (10, 10), "1/20", 0.070711),
        (8, (10, 30), "1/20", 0.052705),
        (9, (20, 20), "1/40", 0.035355),
        (16, (30, 30), "1/60", 0.023570),
    ],
)
def test_two_means_of_ten(outputs, levels, sup, euclidean):
    means = {"ranges": [(0, 1)] * 2, "sensitivities": ["1/10"] * 2}
    by_sup = VectorQuantizer.for_outputs(outputs, **means)
    by_length = VectorQuantizer.for_outputs(outputs, **means, norm="euclidean")
    assert by_sup.levels == by_length.levels == levels
    assert by_sup.error == Fraction(sup)
    assert float(by_length.error) == pytest.approx(euclidean, abs=5e-7)
    assert by_length.error**2 >= by_length.squared_error
    assert by_sup.outputs_within([Fraction(1, 10)] * 2) <= outputs
    if outputs.bit_count() == 1:
        bits = VectorQuantizer.for_bits(**means, bits=outputs.bit_length() - 1)
        assert bits == by_sup


@pytest.mark.slow
@given(
    queries=st.lists(
        st.tuples(st.fractions("1/4", 5, max_denominator=4), st.integers(1, 7)),
        min_size=1,
        max_size=3,
    ),
    outputs=st.integers(1, 20),
    norm=st.sampled_from(["sup", "euclidean"]),
)
@settings(max_examples=80, deadline=None)
def test_no_way_to_share_the_outputs_has_a_smaller_error(queries, outputs, norm):
    """The oracle takes every grid, and the number of its cells that one person can meet."""
    lengths = [length for length, _ in queries]
    reaches = [length / people for length, people in queries]
    grid = VectorQuantizer.for_outputs(
        outputs, ranges=[(0, length) for length in lengths], sensitivities=reaches, norm=norm
    )

    def squares(levels):
        return [(a / (2 * q)) ** 2 for a, q in zip(lengths, levels, strict=True)]

    def cost(levels):
        errors = squares(levels)
        return (max(errors) if norm == "sup" else 0, sum(errors), levels)

    def met(levels):
        cells = zip(lengths, reaches, levels, strict=True)
        return math.prod(cells_per_person(*cell) for cell in cells)

    assert met(grid.levels) == grid.outputs_within(reaches) <= outputs
    finest = [max(outputs, outputs * people) for _, people in queries]
    candidates = [
        [q for q in range(1, most + 1) if cells_per_person(a, s, q) <= outputs]
        for a, s, most in zip(lengths, reaches, finest, strict=True)
    ]
    # Of every number of met cells the finest is enough, since errors fall with the levels.
    finest_of = [
        {cells_per_person(a, s, q): q for q in sorted(options)}
        for a, s, options in zip(lengths, reaches, candidates, strict=True)
    ]
    best = min(
        cost(levels)
        for levels in product(*(of.values() for of in finest_of))
        if met(levels) <= outputs
    )
    assert cost(grid.levels)[:2] == best[:2]


def test_many_outputs_are_shared_for_the_largest_error_alone():
    levels = levels_within_outputs([Fraction(75), Fraction(85)], [Fraction(1)] * 2, 2**40)
    assert math.prod(levels) <= 2**40 < math.prod(levels) * (1 + 1e-5)
    with pytest.raises(OptionError, match="among up to 65,536 outputs"):
        levels_within_outputs([Fraction(1)] * 2, [Fraction(1)] * 2, 2**40, "euclidean")


def test_weights_say_which_error_matters_more():
    means = {"ranges": [(0, 1), (0, 100)], "sensitivities": ["0.1", 10]}
    alike = VectorQuantizer.for_outputs(9, **means, weights=["1", "0.01"])
    assert alike.levels == (20, 20)
    assert VectorQuantizer.for_outputs(9, **means).levels == (1, 80)


@pytest.mark.parametrize(("levels", "met"), [((2, 2), 4), ((4, 2), 6), ((4, 4), 9), ((3, 5), 12)])
def test_one_person_meets_the_product_where_answers_move_independently(levels, met):
    """Two means of two people, against trying every record in eighths."""
    quantizers = [UniformQuantizer(0, 1, q) for q in levels]
    assert VectorQuantizer(tuple(quantizers)).outputs_within([Fraction(1, 2)] * 2) == met
    columns = tuple(
        QuantizedColumn(f"m{name}", cells, of=f"mean({name})")
        for name, cells in zip("xy", quantizers, strict=True)
    )
    document = PolicyDocument(
        columns, design={"people": 2, "columns": {"x": ["0", "1"], "y": ["0", "1"]}}
    )
    grid = [Fraction(k, 15) for k in range(16)] + [Fraction(1, 8), Fraction(3, 8)]
    assert verify_exhaustively(document, people={"x": grid, "y": grid}) == met


# --- one query ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("outputs", "levels"), [(1, 1), (2, 10), (3, 20), (4, 30)])
def test_a_number_of_outputs_instead_of_bits(outputs, levels):
    mean = {"low": 100, "high": 250, "sensitivity": 15}
    cells = UniformQuantizer.for_outputs(outputs, **mean)
    assert cells.levels == levels
    assert cells.outputs_within(Fraction(15)) == outputs
    finer = UniformQuantizer(100, 250, levels + 1)
    assert finer.outputs_within(Fraction(15)) > outputs
    if outputs.bit_count() == 1:
        assert UniformQuantizer.for_bits(**mean, bits=outputs.bit_length() - 1) == cells


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"ranges": []}, "no query"),
        ({"error": 0}, "not positive"),
        ({"error": 0, "norm": "euclidean"}, "positive"),
        ({"norm": "l1"}, "'l1' is unknown"),
        ({"error": [1, 2], "norm": "euclidean"}, "one number for all"),
        ({"error": [1]}, "1 errors for 2 queries"),
    ],
)
def test_an_error_that_makes_no_sense_is_refused(wish, problem):
    with pytest.raises(OptionError, match=problem):
        VectorQuantizer.for_error(**{"ranges": [(0, 1)] * 2, "error": 1} | wish)


def test_no_query_and_half_an_output_are_refused():
    with pytest.raises(OptionError, match="no query"):
        VectorQuantizer(())
    with pytest.raises(OptionError, match=r"cannot have 1.5 outputs"):
        UniformQuantizer.for_outputs(1.5, low=0, high=1, sensitivity=1)


@pytest.mark.parametrize(
    ("lengths", "error"),
    [
        ((10, 10), "1e-60"),
        ((10, 10), "1e-400"),
        pytest.param((10, 17, 23), "1e-10", marks=pytest.mark.slow),
    ],
)
def test_a_grid_of_too_many_cells_is_not_searched_for(lengths, error):
    ranges = [(0, length) for length in lengths]
    with pytest.raises(OptionError, match="too many cells to look for the smallest grid"):
        VectorQuantizer.for_error(ranges=ranges, error=error, norm="euclidean")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ranges": None}, "The ranges are not a list"),
        ({"ranges": "ab"}, "The ranges are not a list"),
        ({"sensitivities": None}, "The sensitivities are not a list"),
        ({"weights": 3}, "The weights are not a list"),
        ({"sensitivities": ["0.1"]}, "1 sensitivities for 2 queries"),
        ({"sensitivities": [0, 1]}, "is not above 0"),
        ({"sensitivities": [2, 1]}, "is not above 0 and up to"),
        ({"weights": [0, 1]}, "weight is not positive"),
        ({"outputs": 0}, "cannot have 0 outputs"),
        ({"outputs": "many"}, "number of outputs is not a number"),
        ({"outputs": "5/2"}, "cannot have 5/2 outputs"),
    ],
)
def test_outputs_and_lists_that_make_no_sense_are_refused(change, problem):
    wish = {"outputs": 4, "ranges": [(0, 1)] * 2, "sensitivities": ["0.1"] * 2} | change
    with pytest.raises(OptionError, match=problem):
        VectorQuantizer.for_outputs(**wish)


def test_a_number_of_outputs_may_be_text():
    means = {"ranges": [(0, 1)] * 2, "sensitivities": ["0.1"] * 2}
    assert VectorQuantizer.for_outputs("9", **means) == VectorQuantizer.for_outputs(9, **means)


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
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "abs": abs,
        "sqrt": math.sqrt,
    }[operation](*numbers)


def holds(condition, x):
    if condition[0] == "and":
        return holds(condition[1], x) and holds(condition[2], x)
    one, other = (evaluated(part, x) for part in condition[1:])
    return one < other if condition[0] == "<" else one <= other


@pytest.mark.parametrize(("reach", "most"), [(1, 1e-15), (32, 5e-14)])
def test_exponentials_are_close_to_the_truth(reach, most):
    tree = arithmetic_tree(parse_expression("exp(x)"))
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
