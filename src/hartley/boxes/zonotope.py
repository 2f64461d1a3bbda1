"""The image of a box under several linear queries: its extent, its volume, the grid cells in it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

from hartley.boxes.box import Interval
from hartley.boxes.expression import as_expression
from hartley.boxes.polynomial import fraction, rational
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from hartley.boxes.box import Box
    from hartley.boxes.expression import Expression

    Point = tuple[Fraction, ...]
    Cuts = Sequence[Sequence[Fraction]]
    Ball = tuple[Point, Fraction]
    """A centre and the square of a radius; a negative one for the empty ball."""


# --- zonotope -------------------------------------------------------------------------------------


MOST_DETERMINANTS = 20_000
"""Up to so many sets of generators are added up to a volume."""
MOST_STRIPS = 200_000
"""Up to so many strips of a grid are compared with a polygon."""


@dataclass(frozen=True)
class Zonotope:
    r"""All values that several linear queries take together while their variables fill a box.

    .. math:: \{s + \sum_i t_i g_i : 0 \le t_i \le 1\}

    Example:
        >>> from hartley.boxes.box import Box
        >>> diamond = Zonotope.of(["x1 + x2", "x1 - x2"], Box.cube(0, 1, size=2))
        >>> [str(side) for side in diamond.sides], diamond.volume, diamond.is_box
        (['[0, 2]', '[-1, 1]'], Fraction(2, 1), False)
    """

    start: Point
    """The values at one corner of the box."""
    generators: tuple[Point, ...]
    """How far each variable moves the values on its way through its range."""

    @classmethod
    def of(cls, queries: Sequence[Expression | str | Callable[..., Any]], box: Box) -> Zonotope:
        """Return the image of a box; queries that are not linear are refused."""
        forms = [as_expression(query, box.names).linear() for query in queries]
        linear = [form for form in forms if form is not None]
        if not queries or len(linear) < len(forms):
            raise OptionError(
                "The image of a box is computed for linear queries only",
                hint="give one weighted sum of variables or more",
            )
        start = tuple(
            shift + sum((by * box[name].low for name, by in weights.items()), Fraction(0))
            for weights, shift in linear
        )
        moves = (
            tuple(weights.get(name, Fraction(0)) * box[name].length for weights, _ in linear)
            for name in box.names
        )
        return cls(start, tuple(move for move in moves if any(move)))

    @property
    def size(self) -> int:
        """How many queries there are."""
        return len(self.start)

    @cached_property  # every cell and every query asks for it
    def sides(self) -> tuple[Interval, ...]:
        """The range of every query."""
        return tuple(
            Interval(
                low + sum((min(move[j], Fraction(0)) for move in self.generators), Fraction(0)),
                low + sum((max(move[j], Fraction(0)) for move in self.generators), Fraction(0)),
            )
            for j, low in enumerate(self.start)
        )

    @property
    def is_box(self) -> bool:
        """Whether every combination of values of the queries is possible."""
        return all(sum(map(bool, move)) == 1 for move in self.generators)

    @property
    def volume(self) -> Fraction | None:
        r"""The volume, \sum |det| over all sets of as many generators as queries; None of many.

        Shephard 1974, equation 57. Exact.
        """
        import flint  # on use: few queries need it

        moves = _merged(self.generators)
        if math.comb(len(moves), self.size) > MOST_DETERMINANTS:
            return None
        flint_moves = [[rational(by) for by in move] for move in moves]
        chosen = (flint.fmpq_mat(rows).det() for rows in combinations(flint_moves, self.size))
        return fraction(sum(map(abs, chosen), flint.fmpq(0)))

    # --- grids --------------------------------------------------------------------------------

    def cells_met(self, cuts: Cuts) -> tuple[int, bool]:
        """Return how many cells of a grid hold a value, and whether that is exact.

        Cells are half-open: [cut, next cut). Queries that share no variable are counted apart. Two
        that do are counted exactly, strip by strip. Of three or more that hang together a pair is
        counted, and the others as if they were free: an upper bound. Grows with the number of
        cuts of one query.

        Args:
            cuts: for every query the edges between its cells, in order, without the ends.

        Example:
            >>> from hartley.boxes.box import Box
            >>> diamond = Zonotope.of(["x1 + x2", "x1 - x2"], Box.cube(0, 1, size=2))
            >>> quarters = [Fraction(1, 2), Fraction(1), Fraction(3, 2)]
            >>> diamond.cells_met([quarters, [cut - 1 for cut in quarters]])
            (13, True)
        """
        product, exact = 1, True
        for block in self._blocks():
            count, is_exact = self._block_cells(block, cuts)
            product, exact = product * count, exact and is_exact
        return product, exact

    def _blocks(self) -> list[list[int]]:
        """Group the queries that hang together by the variables that they share."""
        blocks = [{j} for j in range(self.size)]
        for move in self.generators:
            moved = {j for j, by in enumerate(move) if by}
            joined = [block for block in blocks if block & moved]
            blocks = [block for block in blocks if not block & moved]
            blocks.append(set().union(*joined))
        return sorted(sorted(block) for block in blocks)

    def _block_cells(self, block: list[int], cuts: Cuts) -> tuple[int, bool]:
        alone = {j: _cells_between(self.sides[j].low, self.sides[j].high, cuts[j]) for j in block}
        product = math.prod(alone.values())
        if len(block) == 1:
            return product, True
        pairs = [
            (across, up) if alone[across] <= alone[up] else (up, across)
            for across, up in combinations(block, 2)
        ]
        together = {
            (across, up): self._pair_cells(across, up, cuts)
            for across, up in pairs
            if alone[across] <= MOST_STRIPS
        }
        if len(block) == 2:
            return (next(iter(together.values())), True) if together else (product, product == 1)
        share = min(
            (Fraction(n, alone[across] * alone[up]) for (across, up), n in together.items()),
            default=Fraction(1),
        )
        return int(share * product), product == 1

    def _pair_cells(self, across: int, up: int, cuts: Cuts) -> int:
        """Count the cells of two queries: of every strip of the first those of the second."""
        polygon = _Polygon.of(
            (self.start[across], self.start[up]),
            [(move[across], move[up]) for move in self.generators],
        )
        count = 0
        for begin, end in _strips(polygon.left, polygon.right, cuts[across]):
            low = polygon.lowest(begin, end)
            high, is_attained = polygon.highest(begin, end)
            # From just below an edge, not from the edge, where the top is not reached.
            last = (bisect_right if is_attained else bisect_left)(cuts[up], high)
            count += last - bisect_right(cuts[up], low) + 1
        return count


@dataclass(frozen=True)
class _Polygon:
    """The image of two queries, between a lower and an upper chain of corners."""

    lower: tuple[tuple[Fraction, Fraction], ...]
    upper: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(
        cls, start: tuple[Fraction, Fraction], moves: Sequence[tuple[Fraction, Fraction]]
    ) -> _Polygon:
        x, y = start
        rising = []
        upright = Fraction(0)
        for move in moves:
            right, up = move
            if right < 0 or (right == 0 and up < 0):  # walked the other way, from its other end
                x, y, right, up = x + right, y + up, -right, -up
            if right == 0:
                upright += up
            else:
                rising.append((right, up))
        rising.sort(key=lambda move: move[1] / move[0])
        return cls(_chain((x, y), rising), _chain((x, y + upright), rising[::-1]))

    @property
    def left(self) -> Fraction:
        return self.lower[0][0]

    @property
    def right(self) -> Fraction:
        return self.lower[-1][0]

    def lowest(self, begin: Fraction, end: Fraction | None) -> Fraction:
        """Return the infimum over begin <= x < end, or up to the last corner."""
        return min(y for _, y in _part(self.lower, begin, end))

    def highest(self, begin: Fraction, end: Fraction | None) -> tuple[Fraction, bool]:
        """Return the supremum over begin <= x < end, and whether it is attained."""
        part = _part(self.upper, begin, end)
        highest = max(y for _, y in part)
        # Straight between corners: the supremum is attained before the end, or nowhere but there.
        return highest, end is None or any(y == highest for x, y in part if x < end)


def _chain(
    corner: tuple[Fraction, Fraction], moves: Sequence[tuple[Fraction, Fraction]]
) -> tuple[tuple[Fraction, Fraction], ...]:
    corners = [corner]
    for right, up in moves:
        x, y = corners[-1]
        corners.append((x + right, y + up))
    return tuple(corners)


def _part(
    chain: Sequence[tuple[Fraction, Fraction]], begin: Fraction, end: Fraction | None
) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of a chain between two places, and its points there."""
    last = chain[-1][0] if end is None else end
    first, after = (bisect_right(chain, x, key=lambda corner: corner[0]) for x in (begin, last))
    return [(begin, _height(chain, begin)), *chain[first:after], (last, _height(chain, last))]


def _height(chain: Sequence[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    place = bisect_right(chain, x, key=lambda corner: corner[0])
    (x0, y0) = chain[place - 1]
    if x == x0:
        return y0
    (x1, y1) = chain[place]
    return y0 + (x - x0) * (y1 - y0) / (x1 - x0)


def _strips(
    low: Fraction, high: Fraction, cuts: Sequence[Fraction]
) -> list[tuple[Fraction, Fraction | None]]:
    """Return where strips meet a range: each from a place up to before the next, None at last."""
    inner = cuts[bisect_right(cuts, low) : bisect_right(cuts, high)]
    return list(zip((low, *inner), (*inner, None), strict=True))


def _cells_between(low: Fraction, high: Fraction, cuts: Sequence[Fraction]) -> int:
    return bisect_right(cuts, high) - bisect_right(cuts, low) + 1


def _merged(moves: Sequence[Point]) -> list[Point]:
    """Add up generators that point the same way or the opposite one, which changes no volume."""
    directions: dict[Point, Fraction] = {}
    for move in moves:
        leading = next(by for by in move if by)
        direction = tuple(by / leading for by in move)
        directions[direction] = directions.get(direction, Fraction(0)) + abs(leading)
    return [tuple(length * by for by in way) for way, length in directions.items()]


# --- enclosing ball -------------------------------------------------------------------------------
# Smallest enclosing balls of polytopes, in exact numbers.


def slab_corners(box: Box, coefficients: Sequence[Fraction], slab: Interval) -> list[Point]:
    """Return the corners of the part of a box where a linear form lies in a closed interval.

    Every corner lies on an edge of the box. Exact. Grows as n 2^n for n sides.

    Example:
        >>> from hartley.boxes.box import Box, Interval
        >>> triangle = slab_corners(Box.cube(0, 2, size=2), [1, 1], Interval(0, 1))
        >>> [tuple(map(str, corner)) for corner in triangle]
        [('0', '0'), ('1', '0'), ('0', '1')]
    """
    sides = list(box.sides.values())
    corners: dict[Point, None] = {}
    for corner in product(*((side.low, side.high) for side in sides)):
        value = sum((c * x for c, x in zip(coefficients, corner, strict=True)), Fraction(0))
        if slab.low <= value <= slab.high:
            corners[corner] = None
        for axis, side in enumerate(sides):
            by = coefficients[axis]
            # Every edge is looked at once, from its lower end; along a variable that does not count
            # the form does not change, and the edge meets a plane nowhere or wholly.
            if corner[axis] != side.low or not by:
                continue
            for level in (slab.low, slab.high):
                place = side.low + (level - value) / by
                if side.low < place < side.high:
                    corners[*corner[:axis], place, *corner[axis + 1 :]] = None
    return list(corners)


def even_slab_ball(size: int, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    r"""Return the ball around the part of the unit cube whose coordinates add up to a range.

    .. math:: \{u \in [0,1]^n : s_1 \le \textstyle\sum_i u_i \le s_2\}

    Nothing changes when coordinates are swapped, so the centre is (c, ..., c). Of all points whose
    coordinates add up to s, the longest has ones, zeros and a rest: |u|^2 = floor(s) + frac(s)^2,
    and the square distance from the centre is that less 2 c s plus n c^2. Largest at the ends or
    at the first or last whole number between them, so four parabolas decide. Exact, at any n.

    Returns:
        The coordinate c of the centre and the square of the radius.

    Example:
        >>> centre, square = even_slab_ball(3, Fraction(0), Fraction(1, 2))  # t^2 (n - 1) / n
        >>> print(centre, square)
        1/6 1/6
    """
    places = {Fraction(low), Fraction(high)}
    if math.ceil(low) <= math.floor(high):
        places |= {Fraction(math.ceil(low)), Fraction(math.floor(high))}
    squares = {s: math.floor(s) + (s - math.floor(s)) ** 2 for s in places}
    centres = {s / size for s in places} | {
        (squares[s] - squares[t]) / (2 * (s - t)) for s, t in combinations(places, 2)
    }
    balls = [
        (max(squares[s] - 2 * c * s for s in places) + size * c * c, c) for c in sorted(centres)
    ]
    square, centre = min(balls)
    return centre, square


def smallest_ball(points: Sequence[Point]) -> Ball:
    """Return the centre and the squared radius of the smallest ball that holds some points.

    The ball of a few points is found by Welzl's recursion (1991); the point furthest outside
    joins those on its surface until none is outside, and the radius grows each time. Exact.

    Example:
        >>> centre, square = smallest_ball([(0, 0), (0, 2), (2, 0), (1, 1)])
        >>> tuple(map(str, centre)), str(square)
        (('1', '1'), '2')
    """
    support: list[Point] = [points[0]]
    while True:
        (centre, square), support = _welzl(support, [])
        furthest, far = max(
            ((point, _square_distance(point, centre)) for point in points),
            key=lambda candidate: candidate[1],
        )
        if far <= square:
            return centre, square
        support = [furthest, *support]


def _welzl(points: list[Point], surface: list[Point]) -> tuple[Ball, list[Point]]:
    """Return the smallest ball of points with others on its surface, and what pins it down."""
    if not points:
        return _round(surface), surface
    ball, pinned = _welzl(points[:-1], surface)
    # The comparison is exact, so the recursion cannot go round in circles as it may in doubles.
    if ball[1] >= 0 and _square_distance(points[-1], ball[0]) <= ball[1]:
        return ball, pinned
    return _welzl(points[:-1], [*surface, points[-1]])


def _round(surface: list[Point]) -> Ball:
    """Return the smallest ball with affinely independent points on its surface."""
    import flint

    if not surface:
        return (), Fraction(-1)
    origin = surface[0]
    edges = [[x - o for x, o in zip(point, origin, strict=True)] for point in surface[1:]]
    matrix = flint.fmpq_mat(
        len(edges), len(origin), [rational(by) for edge in edges for by in edge]
    )
    products = matrix * matrix.transpose()
    squares = flint.fmpq_mat(len(edges), 1, [products[i, i] / 2 for i in range(len(edges))])
    shift = [fraction(by) for by in (products.solve(squares).transpose() * matrix).entries()]
    return tuple(o + s for o, s in zip(origin, shift, strict=True)), sum(
        (s * s for s in shift), Fraction(0)
    )


def _square_distance(point: Point, from_point: Point) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(point, from_point, strict=True)), Fraction(0))
