"""Several queries released together: the cells of a grid, their error, and how few there can be."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from hartley.boxes.box import Interval
from hartley.boxes.intervals import natural_range
from hartley.errors import OptionError
from hartley.exact import floor_power, parse_number
from hartley.policies.quantizer import (
    UniformQuantizer,
    cells_per_person,
    levels_for_error,
    levels_for_outputs,
    read_outputs,
)
from hartley.text import conjugate, count_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.boxes.expression import Expression
    from hartley.boxes.zonotope import Zonotope
    from hartley.tables.release_rules import Tree


# --- grid levels ----------------------------------------------------------------------------------
# How many equal cells each of several queries gets that are released together.

Norm = Literal["sup", "euclidean"]
"""How errors of several queries are put together: the largest, or the length of their vector."""
MOST_SHARED = 2**16
"""Up to so many outputs every way to share them among queries is compared."""


# --- the fewest cells within an error -------------------------------------------------------------


def grid_within_error(lengths: Sequence[Fraction], error: Fraction) -> tuple[int, ...]:
    r"""Return the numbers of cells of the smallest grid within a Euclidean error.

    .. math:: \min \prod_j q_j \quad\text{s.t.}\quad \sum_j (L_j / q_j)^2 \le 4 e^2

    Exact: branch and bound in rationals, one query after another. While the rest may take any
    real numbers of cells, the least product is known in closed form and has one minimum over the
    cells of the present query, so that the search walks away from it in both directions until it
    exceeds the best grid so far. Of grids of one size it is the first in lexicographic order.
    """
    if error <= 0:
        raise OptionError(
            "The error is not positive",
            hint="give a positive error; a release with an error of 0 is the truth",
        )
    places = [j for j, length in enumerate(lengths) if length]
    squares = [lengths[j] ** 2 for j in places]
    levels = _smallest_grid(squares, 4 * error**2)
    placed = dict(zip(places, levels, strict=True))
    return tuple(placed.get(j, 1) for j in range(len(lengths)))


def _smallest_grid(squares: Sequence[Fraction], allowed: Fraction) -> tuple[int, ...]:
    """Search for the least product of q_j with the sum of squares[j] / q_j^2 within a limit."""
    if not squares:
        return ()
    equal = tuple(_root_above(len(squares) * square / allowed) for square in squares)
    if max(equal) > 2**53:  # doubles tell no more cells apart
        raise _too_many_cells()
    best = (math.prod(equal), equal)
    tried = 0

    def search(chosen: tuple[int, ...], product: int, allowance: Fraction) -> None:
        nonlocal best
        square, rest = squares[len(chosen)], squares[len(chosen) + 1 :]
        if not rest:
            levels = _root_above(square / allowance)
            best = min(best, (product * levels, (*chosen, levels)))
            return

        def is_hopeless(levels: int) -> bool:
            nonlocal tried
            tried += 1
            if tried > 400_000:  # some seconds; the number grows like the cells of the others
                raise _too_many_cells()
            after = allowance - square / levels**2
            if after <= 0:
                return True
            # The least product of the rest, any real numbers allowed: all terms are equal then.
            least = math.prod(rest) * (len(rest) / after) ** len(rest)
            return (product * levels) ** 2 * least > best[0] ** 2

        middle = _root_above((len(rest) + 1) * square / allowance)
        for levels, step in ((middle, 1), (middle - 1, -1)):
            while levels >= 1 and not is_hopeless(levels):
                search((*chosen, levels), product * levels, allowance - square / levels**2)
                levels += step  # noqa: PLW2901 - walks away from the middle

    search((), 1, allowed)
    return best[1]


def _too_many_cells() -> OptionError:
    return OptionError(
        "This error takes too many cells to look for the smallest grid", hint="allow a larger error"
    )


def _root_above(number: Fraction) -> int:
    """Return the least natural number of 1 or more whose square is not below a number."""
    whole = math.ceil(number)
    root = math.isqrt(whole)
    return max(1, root if root * root == whole else root + 1)


def balls_needed(volume: Fraction, dimension: int, error: Fraction) -> int:
    r"""Return so many cells that no release within a Euclidean error has fewer, by volume.

    .. math:: \lceil \mu / (V_k e^k) \rceil

    A cell is released as one point, so that it lies in a ball of radius e, whatever its shape. A
    lower bound, with the volume of the ball rounded up.
    """
    return math.ceil(volume / (ball_volume_above(dimension) * error**dimension))


def ball_volume_above(dimension: int) -> Fraction:
    r"""Return a rational number that is not below the volume of the unit ball.

    .. math:: V_k = \frac{2 \pi}{k} V_{k-2}, \qquad V_0 = 1, \quad V_1 = 2
    """
    if dimension < 2:
        return Fraction(1 + dimension)
    more_than_pi = Fraction(31415926535897932384627, 10**22)
    return 2 * more_than_pi / dimension * ball_volume_above(dimension - 2)


# --- the least error within a number of outputs ---------------------------------------------------


def levels_within_outputs(
    errors: Sequence[Fraction], reaches: Sequence[Fraction], outputs: int, norm: Norm = "sup"
) -> tuple[int, ...]:
    r"""Return the numbers of cells with the least error of which one person meets so many.

    .. math:: \prod_j N_j \le K, \qquad q_j = \max(N_j, \lfloor (N_j - 1) L_j / S_j \rfloor)

    Farokhi 2019 (Noiseless Privacy), Theorem 8, corrected, for several queries. All ways to share
    K outputs among the queries are compared; where the largest error is the same, the Euclidean
    one decides, then the lexicographic order. Exact. Grows like K^(3/4) a query. Of more than
    2^16 outputs the largest error is least still, but no tie is broken.
    """
    fewest = [1] * len(errors)
    if norm == "sup":
        largest = _least_largest(errors, reaches, outputs)
        needed = [max(1, math.ceil(error / largest)) for error in errors]
        fewest = [
            cells_per_person(Fraction(1), reach, q)
            for reach, q in zip(reaches, needed, strict=True)
        ]
    if outputs > MOST_SHARED:
        if norm == "euclidean":
            raise OptionError(
                f"The least Euclidean error is looked for among up to {MOST_SHARED:,} outputs",
                hint='give fewer bits, or norm = "sup"',
            )
        return tuple(_levels(reach, n) for reach, n in zip(reaches, fewest, strict=True))
    return _least_sum_of_squares(errors, reaches, outputs, fewest)


def _levels(reach: Fraction, outputs: int) -> int:
    return levels_for_outputs(Fraction(1), reach, outputs)


def _least_largest(
    errors: Sequence[Fraction], reaches: Sequence[Fraction], outputs: int
) -> Fraction:
    """Return the least error that all queries can keep at once; one of them has it exactly."""

    def is_kept(largest: Fraction) -> bool:
        reached = 1
        for error, reach in zip(errors, reaches, strict=True):
            reached *= cells_per_person(Fraction(1), reach, max(1, math.ceil(error / largest)))
        return reached <= outputs

    feasible = [max(errors)]
    for error, reach in zip(errors, reaches, strict=True):
        # The most cells that are known to fit, and the most that could.
        low, high = 0, _levels(reach, outputs)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if is_kept(error / middle) else (low, middle - 1)
        if low:
            feasible.append(error / low)
    return min(feasible)


def _least_sum_of_squares(
    errors: Sequence[Fraction], reaches: Sequence[Fraction], outputs: int, fewest: Sequence[int]
) -> tuple[int, ...]:
    """Share outputs among queries, each with its fewest at least, by dynamic programming.

    Of all shares that leave the others as much, the largest is best, so that for a limit B only
    the numbers floor(B / m) are tried.
    """
    last = len(errors) - 1
    after = [math.prod(fewest[j + 1 :]) for j in range(len(errors))]

    @cache
    def best(j: int, limit: int) -> tuple[Fraction, tuple[int, ...]]:
        error, reach = errors[j], reaches[j]
        if j == last:
            levels = _levels(reach, limit)
            return (error / levels) ** 2, (levels,)
        options = []
        share = limit // after[j]
        while share >= fewest[j]:
            rest = limit // share
            share = limit // rest  # the largest share that leaves as much
            if rest >= after[j]:
                levels = _levels(reach, share)
                squares, others = best(j + 1, rest)
                options.append(((error / levels) ** 2 + squares, (levels, *others)))
            share = limit // (rest + 1)
        return min(options)

    return best(0, outputs)[1]


# --- vector ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellBounds:
    """How many cells a release of several queries needs within an error: two bounds."""

    at_least: int
    """No release within the error has fewer cells, whatever their shape."""
    at_most: int
    """So many cells of a grid are enough."""

    @property
    def is_fewest(self) -> bool:
        """Whether both bounds meet, so that the number is the fewest."""
        return self.at_least == self.at_most

    def __str__(self) -> str:
        if self.is_fewest:
            return f"The fewest cells are {self.at_most:,}."
        return (
            f"{count_of(self.at_most, 'cell')} of a grid {conjugate(self.at_most, 'is')} enough, "
            f"and no release has fewer than {self.at_least:,}."
        )


@dataclass(frozen=True)
class VectorQuantizer:
    """Several queries released together, each in equal cells: one output a cell of the grid.

    Example:
        >>> both = VectorQuantizer.for_error(ranges=[(0, 1), (0, 2)], error="0.5")
        >>> both.levels, both.outputs, both.cell([0, "1.5"])
        ((1, 2), 2, (0, 1))
    """

    parts: tuple[UniformQuantizer, ...]
    norm: Norm = "sup"
    """Whether the error is that of the worst query, or the length of the vector of errors."""

    def __post_init__(self) -> None:
        _check_norm(self.norm)
        if not self.parts:
            raise OptionError("There is no query to quantize", hint="give at least one range")

    @classmethod
    def for_error(
        cls, *, ranges: Sequence[object], error: object, norm: Norm = "sup"
    ) -> VectorQuantizer:
        """Return the grid of the fewest cells within an error.

        Of "sup" every query is within the error, or within its own where one is listed for each:
        q_j = max(1, ceil(L_j / (2 e_j))), the fewest cells of all where every combination of
        answers is possible. Of "euclidean" the vector of answers is within the error: the fewest
        cells of a grid of equal cells, not of all shapes of cells. Extends Farokhi 2019,
        Theorem IV.2, to several queries. Exact.

        Args:
            ranges: the range of every query.
            error: how far off the release may be; for "sup" also one error a query.
            norm: "sup" or "euclidean".

        Example:
            >>> square = [(0, 1), (0, 1)]
            >>> VectorQuantizer.for_error(ranges=square, error="0.3").levels
            (2, 2)
            >>> VectorQuantizer.for_error(ranges=square, error="0.3", norm="euclidean").levels
            (2, 4)
        """
        _check_norm(norm)
        sides = _sides(ranges)
        lengths = [side.length for side in sides]
        if norm == "euclidean":
            if isinstance(error, (list, tuple)):
                raise OptionError(
                    "A Euclidean error is one number for all queries",
                    hint='give one number, or norm="sup" with an error for each',
                )
            levels = grid_within_error(lengths, parse_number(error, name="the error"))
        else:
            errors = error if isinstance(error, (list, tuple)) else [error] * len(sides)
            _check_size(errors, sides, "errors")
            levels = tuple(map(levels_for_error, lengths, errors))
        return cls._of(sides, levels, norm)

    @classmethod
    def for_bits(
        cls,
        *,
        ranges: Sequence[object],
        sensitivities: Sequence[object],
        bits: object,
        norm: Norm = "sup",
        weights: Sequence[object] | None = None,
    ) -> VectorQuantizer:
        """Return the grid of least error of which one person's data reaches at most 2^bits cells.

        Args:
            ranges: the range of every query.
            sensitivities: how far one person's data can move each query.
            bits: the budget.
            norm: which error is least: "sup" or "euclidean".
            weights: by how much the error of each query is multiplied before; 1 by default.

        Example:
            >>> means = {"ranges": [(0, 1)] * 2, "sensitivities": ["0.1"] * 2}
            >>> VectorQuantizer.for_bits(**means, bits=3).levels
            (10, 30)
        """
        return cls.for_outputs(
            floor_power(bits),
            ranges=ranges,
            sensitivities=sensitivities,
            norm=norm,
            weights=weights,
        )

    @classmethod
    def for_outputs(
        cls,
        outputs: int,
        *,
        ranges: Sequence[object],
        sensitivities: Sequence[object],
        norm: Norm = "sup",
        weights: Sequence[object] | None = None,
    ) -> VectorQuantizer:
        """Return the grid of least error of which one person's data reaches at most so many cells.

        Every way to share the outputs among the queries is compared (Farokhi 2019, Noiseless
        Privacy, Theorem 8, corrected, for several queries). That the answers move
        independently is assumed for the worst case: where they move together, one person reaches
        fewer cells, and a finer grid may be as private.

        Args:
            outputs: how many outputs one person may produce.
            ranges: the range of every query.
            sensitivities: how far one person's data can move each query.
            norm: which error is least: "sup" or "euclidean".
            weights: by how much the error of each query is multiplied before; 1 by default.

        Example:
            >>> means = {"ranges": [(0, 1)] * 2, "sensitivities": ["0.1"] * 2}
            >>> [VectorQuantizer.for_outputs(K, **means).levels for K in (2, 4, 9)]
            [(1, 10), (10, 10), (20, 20)]
        """
        _check_norm(norm)
        sides = _sides(ranges)
        _check_size(sensitivities, sides, "sensitivities")
        listed = [1] * len(sides) if weights is None else weights
        _check_size(listed, sides, "weights")
        factors = [parse_number(weight, name="a weight") for weight in listed]
        if min(factors) <= 0:
            raise OptionError("A weight is not positive", hint="leave out what does not matter")
        reaches = [parse_number(reach, name="a sensitivity") for reach in sensitivities]
        for reach, side in zip(reaches, sides, strict=True):
            if not 0 < reach <= side.length:
                raise OptionError(
                    f"The sensitivity {reach} is not above 0 and up to the length {side.length} of "
                    "the range",
                    hint="give how far one person's data can move the query",
                )
        levels = levels_within_outputs(
            [factor * side.length / 2 for factor, side in zip(factors, sides, strict=True)],
            [reach / side.length for reach, side in zip(reaches, sides, strict=True)],
            read_outputs(outputs),
            norm,
        )
        return cls._of(sides, levels, norm)

    @classmethod
    def _of(cls, sides: Sequence[Interval], levels: Sequence[int], norm: Norm) -> VectorQuantizer:
        cells = zip(sides, levels, strict=True)
        return cls(tuple(UniformQuantizer(side.low, side.high, q) for side, q in cells), norm)

    @property
    def levels(self) -> tuple[int, ...]:
        """How many cells each query is released in."""
        return tuple(part.levels for part in self.parts)

    @property
    def outputs(self) -> int:
        """How many cells the grid has."""
        return math.prod(part.outputs for part in self.parts)

    @property
    def squared_error(self) -> Fraction:
        """The square of the largest distance between the answers and what is released; exact."""
        squares = [part.error**2 for part in self.parts]
        return max(squares) if self.norm == "sup" else sum(squares, Fraction(0))

    @property
    def error(self) -> Fraction:
        """The largest distance between the answers and what is released.

        Exact for "sup", and where the Euclidean one is rational; else a little above it.
        """
        if self.norm == "sup":
            return max(part.error for part in self.parts)
        return _root_up(self.squared_error)

    def cell(self, values: Sequence[object]) -> tuple[int, ...]:
        """Return the cell of some answers; values outside are clamped."""
        _check_size(values, self.parts, "values")
        return tuple(part.cell(value) for part, value in zip(self.parts, values, strict=True))

    def middle(self, cell: Sequence[int]) -> tuple[Fraction, ...]:
        """Return what is released for a cell."""
        return tuple(part.middle(place) for part, place in zip(self.parts, cell, strict=True))

    def outputs_within(self, reaches: Sequence[Fraction]) -> int:
        """Return how many cells are reached at most while every answer moves over its own length.

        The product of N(q) = min(q, ceil(q S / L) + 1); attained where the answers move
        independently of each other.

        Example:
            >>> means = VectorQuantizer.for_error(ranges=[(0, 1)] * 2, error="1/8")
            >>> means.outputs_within([Fraction(1, 2)] * 2)
            9
        """
        pairs = zip(self.parts, reaches, strict=True)
        return math.prod(part.outputs_within(reach) for part, reach in pairs)


def cells_needed(image: Zonotope, error: object, *, norm: Norm = "sup") -> CellBounds:
    """Return how many cells a release of several linear queries needs within an error.

    Sup error: exact where every combination of answers is possible, since prod ceil(L_j / (2e))
    points lie more than 2e apart in some coordinate; else the cells of the grid that hold a
    possible answer are an upper bound. Euclidean error: the smallest grid against the volume of
    balls and against such points. Both bounds are certain.

    Args:
        image: the possible answers.
        error: how far off the release may be; for "sup" also one error a query.
        norm: "sup" or "euclidean".

    Example:
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.zonotope import Zonotope
        >>> square = Zonotope.of(["x1", "x2"], Box.cube(0, 1, size=2))
        >>> print(cells_needed(square, "0.1"))
        The fewest cells are 25.
        >>> print(cells_needed(square, "0.3", norm="euclidean"))
        8 cells of a grid are enough, and no release has fewer than 4.
    """
    grid = VectorQuantizer.for_error(ranges=image.sides, error=error, norm=norm)
    listed = error if isinstance(error, (list, tuple)) else [error] * image.size
    errors = [parse_number(each, name="the error") for each in listed]
    enough = grid.outputs
    if not image.is_box and sum(grid.levels) <= 1_000_000:  # edges, which are listed
        enough, _ = image.cells_met([part.edges[1:-1] for part in grid.parts])
    # Points more than twice the error apart in one coordinate have cells of their own. Every
    # answer alone takes all values of its range; all together do so in a box only.
    apart = [levels_for_error(side.length, e) for side, e in zip(image.sides, errors, strict=True)]
    least = math.prod(apart) if image.is_box else max(apart)
    volume = image.volume or Fraction(0)
    if norm == "euclidean":
        least = max(least, balls_needed(volume, image.size, errors[0]))
    else:
        least = max(least, math.ceil(volume / math.prod(2 * e for e in errors)))
    return CellBounds(least, enough)


def _root_up(square: Fraction) -> Fraction:
    """Return a square root, exact where it is rational, else rounded up at the eighteenth digit.

    Example:
        >>> _root_up(Fraction(1, 4)), _root_up(Fraction(2)) ** 2 >= 2
        (Fraction(1, 2), True)
    """
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if exact * exact == square:
        return exact
    # Of small numbers as many digits as of large ones.
    scale = 10**18 * max(1, square.denominator // max(1, square.numerator))
    return Fraction(math.isqrt(square.numerator * scale**2 // square.denominator) + 1, scale)


def _sides(ranges: Sequence[object]) -> list[Interval]:
    _check_list(ranges, "ranges")
    sides = [Interval.of(ends) for ends in ranges]
    if not sides:
        raise OptionError("There is no query to quantize", hint="give at least one range")
    return sides


def _check_norm(norm: object) -> None:
    if norm not in get_args(Norm):
        raise OptionError(f"The norm {norm!r} is unknown", hint="choose 'sup' or 'euclidean'")


def _check_size(items: Sequence[object], queries: Sequence[object], what: str) -> None:
    _check_list(items, what)
    if len(items) != len(queries):
        raise OptionError(
            f"There are {len(items)} {what} for {count_of(len(queries), 'query')}",
            hint="give one a query",
        )


def _check_list(items: object, what: str) -> None:
    if isinstance(items, str) or not isinstance(items, Collection):
        raise OptionError(f"The {what} are not a list", hint="list one for every query")


# --- elementary functions -------------------------------------------------------------------------
# Exponentials and logarithms as sums, products, quotients and roots, alike on every engine.
#
# The engines' own exp and log differ in the last digit. Sums, products, quotients and square
# roots do not, so that a query with exp or log is rewritten in these before it reaches an engine.

TERMS = 19
"""Terms of the series: with arguments up to 1 what follows is below the last digit of a double."""
MOST_EXPONENT, MOST_BITS = 32, 64
"""exp is computed of numbers up to 32 in size, log of those between 2^-64 and 2^64.

Engines that put one formula into another write the argument down once for every time that it is
used, so that a wider range would be paid for by all."""


def arithmetic_tree(expression: Expression) -> Tree:
    """Return a query as nested tuples without exp and log, which every engine computes alike.

    exp(x) is the series of x for up to 1, and the 32nd power of that of x/32 up to 32. log(x) is
    twice the series of artanh((x - 1)/(x + 1)) between 1/2 and 2, and 64 times that of the sixth
    square root between 2^-64 and 2^64. Elsewhere there is no value. Rounded to double precision:
    off by less than 1e-13 of the value for exp, and by less than 1e-13 for log. Cost: some 60
    operations each.
    """
    rounded = [node for node in expression.nodes() if node.operation in ("exp", "log")]
    if not rounded:
        return expression.to_tree()
    sizes: dict[int, int] = {}
    for node in expression.nodes():
        # Every occurrence of the argument in a series is written down again.
        copies = 6 * TERMS if node.operation in ("exp", "log") else 1
        sizes[id(node)] = 1 + copies * sum(sizes[id(part)] for part in node.parts)
    if sizes[id(expression)] > 50_000:
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
