"""Errors of estimators: how far from a continuous secret a guess from its release must be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.boxes.box import Interval
from hartley.boxes.zonotope import even_slab_ball, slab_corners, smallest_ball
from hartley.errors import OptionError
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hartley.boxes.cut_box import CutBox
    from hartley.boxes.volumes import Volume

MOST_SIDES = 6
"""The corners of a cell, and the balls through some of them, are listed up to this dimension."""


def largest_error_bound(cut: CutBox) -> float:
    r"""Return a lower bound on the largest error of any estimator, over all outputs.

    .. math:: d_{\max}(X, \hat X(Y)) \ge \frac{\Gamma(n/2 + 1)^{1/n}}{\sqrt\pi}\,
        2^{h_0(X|Y)/n}

    Farokhi 2019, Theorem II.1: the radius of a ball as large as the largest cell. A bound,
    rounded down. Costs the volumes of the cells.

    Example:
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.cut_box import CutBox
        >>> round(largest_error_bound(CutBox(Box.cube(0, 1, size=1), "x1", [0, "0.5", 1])), 9)
        0.25
    """
    return _ball_radius(cut, cut.largest)


def smallest_error_bound(cut: CutBox) -> float:
    r"""Return a lower bound on the error of any estimator, for each output.

    .. math:: d_{\min}(X, \hat X(Y)) \ge \frac{\Gamma(n/2 + 1)^{1/n}}{\sqrt\pi}\,
        2^{d_0(X|Y)/n}

    Farokhi 2019, Theorem II.2: the radius of a ball as large as the smallest cell. A bound,
    rounded down. Costs the volumes of the cells.

    Example:
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.cut_box import CutBox
        >>> round(smallest_error_bound(CutBox(Box.cube(0, 1, size=1), "x1", [0, "0.2", 1])), 9)
        0.1
    """
    return _ball_radius(cut, cut.smallest)


def _ball_radius(cut: CutBox, volume: Volume) -> float:
    if volume.low == 0:
        return 0.0
    sides = len(cut.box.names)
    nats = volume.log(math.e)[0]
    radius = math.exp((math.lgamma(sides / 2 + 1) + nats) / sides) / math.sqrt(math.pi)
    return radius * (1 - 1e-12)  # exp and lgamma are accurate to far more digits


@dataclass(frozen=True)
class CellEstimate:
    """The best guess of the secret given an output, and its largest error."""

    centre: Mapping[str, Fraction]
    squared_error: Fraction

    @property
    def error(self) -> float:
        """The largest distance between the guess and a secret that is still possible."""
        return math.sqrt(self.squared_error)


def best_estimator(cut: CutBox, cell: int) -> CellEstimate:
    r"""Return the guess that minimises the largest possible distance from the secret.

    .. math:: \hat X(y) = \arg\min_c \max_{x \in [X|y]} \|x - c\|_2

    This is the centre of the smallest ball around the cell. It lies in the cell, since that is
    convex, as Farokhi 2019, Assumption II.1 requires. Exact, for linear queries over at most six
    variables: the ball around the corners of a polytope. Grows as n 2^n. For a mean or a total
    over equal ranges there is a closed form, linear in the number of people.

    Example:
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.cut_box import CutBox
        >>> mean_of_two = CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2])
        >>> guess = best_estimator(mean_of_two, 0)
        >>> {name: str(value) for name, value in guess.centre.items()}, str(guess.squared_error)
        ({'x1': '-1', 'x2': '-1'}, '2')
    """
    if cell not in cut.outputs:
        raise OptionError(
            f"Cell {cell} is not an output", hint=f"there are {len(cut.cells)} cells, from 0 on"
        )
    centre, square = _CellBalls.of(cut).ball(cell)
    return CellEstimate(dict(zip(cut.box.names, centre, strict=True)), square)


@dataclass(frozen=True)
class _CellBalls:
    """The smallest balls around the cells of a linear query over a box."""

    cut: CutBox
    weights: list[Fraction]
    constant: Fraction
    even: bool
    """Whether all variables count alike, so that the ball is known in closed form."""

    @classmethod
    def of(cls, cut: CutBox) -> _CellBalls:
        form, sides = cut.query.linear(), cut.box.sides
        weights = [] if form is None else [form[0].get(name, Fraction(0)) for name in sides]
        lengths, sizes = {side.length for side in sides.values()}, {abs(w) for w in weights}
        even = len(lengths) == len(sizes) == 1 and 0 not in lengths | sizes
        if form is None or (len(sides) > MOST_SIDES and not even):
            raise OptionError(
                "The best estimator is known for linear queries of a few variables only, or of "
                "many that count alike",
                hint=f"use up to {MOST_SIDES} variables, or bound its error by "
                "smallest_error_bound",
            )
        return cls(cut, weights, form[1], even)

    def ball(self, cell: int) -> tuple[Iterable[Fraction], Fraction]:
        """Return the smallest ball around a cell: its centre and its squared radius."""
        part = self.cut.cells[cell].intersect(self.cut.query_range)
        assert part is not None  # an output meets the range
        slab = Interval(part.low - self.constant, part.high - self.constant)
        if not self.even:
            return smallest_ball(slab_corners(self.cut.box, self.weights, slab))
        sides = self.cut.box.sides.values()
        bottom = self.cut.query_range.low - self.constant
        length = next(iter(sides)).length
        unit = abs(self.weights[0]) * length
        # The place on each side, in units of its length, from the end where it counts least.
        place, square = even_slab_ball(
            len(self.weights), (slab.low - bottom) / unit, (slab.high - bottom) / unit
        )
        centre = (
            side.low + (place if weight > 0 else 1 - place) * length
            for side, weight in zip(sides, self.weights, strict=True)
        )
        return centre, square * length**2

    def squares(self) -> list[Fraction]:
        """Return the squared error of the best estimator for every output."""
        return [self.ball(cell)[1] for cell in self.cut.outputs]


def largest_error(cut: CutBox) -> float:
    r"""Return the largest error of the best estimator: dmax.

    .. math:: d_{\max} = \max_y \min_c \max_{x \in [X|y]} \|x - c\|_2

    Farokhi 2019, eq. 4. Exact, for linear queries over at most six variables or variables that
    count alike; otherwise use ``largest_error_bound``. Costs one smallest ball per output.

    Example:
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.cut_box import CutBox
        >>> largest_error(CutBox(Box.cube(0, 1, size=1), "x1", [0, "0.2", 1]))
        0.4
    """
    return math.sqrt(max(_CellBalls.of(cut).squares()))


def smallest_error(cut: CutBox) -> float:
    r"""Return the error of the best estimator for the most revealing output: dmin.

    .. math:: d_{\min} = \min_y \min_c \max_{x \in [X|y]} \|x - c\|_2

    Farokhi 2019, eq. 7, with the minimum that discrete outputs need. Exact, for linear queries
    over at most six variables or variables that count alike; otherwise use
    ``smallest_error_bound``. Costs one smallest ball per output.

    Example:
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.cut_box import CutBox
        >>> smallest_error(CutBox(Box.cube(0, 1, size=1), "x1", [0, "0.2", 1]))
        0.1
    """
    return math.sqrt(min(_CellBalls.of(cut).squares()))


def expected_error_bound(
    length: object, outputs: int, *, power: object = 1, density: object = None
) -> float:
    r"""Return a bound on the expected error of any estimate of one person's value.

    .. math:: E|X_i - \hat X|^p \ge \frac{\rho\,\mu([X_i])^{p+1}}{(p+1)\,2^p N^p}

    Farokhi 2019 (Noiseless Privacy), Theorem 4, corrected: for any p > 0, given everybody else's
    data, where the value causes at most N outputs and its density given the others is nowhere
    below rho. A bound, rounded down; N equal cells and an even density attain it. Constant time.

    Args:
        length: of the range of the value.
        outputs: how many outputs the value can cause, N = floor(2^epsilon).
        power: p, of the error.
        density: rho; without one all values are equally likely, rho = 1 / length.

    Example:
        >>> expected_error_bound(1, 2)  # halves, guessed by their middles: an eighth on average
        0.125
        >>> expected_error_bound(1, 1, power=2)  # the variance of an even density
        0.08333333333333333
    """
    whole, exponent = (
        parse_number(length, name="the length"),
        parse_number(power, name="the power"),
    )
    least = 1 / whole if density is None and whole > 0 else parse_number(density or 0, name="rho")
    if whole <= 0 or exponent <= 0 or outputs < 1 or not 0 <= least * whole <= 1:
        raise OptionError(
            "The length, the power or the number of outputs is not positive, or no density is as "
            "large as that everywhere",
            hint="give at least one output, and a density of at most 1 / length",
        )
    if exponent.denominator == 1:
        p = int(exponent)
        bound = least * whole ** (p + 1) / ((p + 1) * (2 * outputs) ** p)
        nearest = float(bound)
        return nearest if Fraction(nearest) <= bound else math.nextafter(nearest, -math.inf)
    cell, real = float(whole) / (2 * outputs), float(exponent)
    return float(least * whole) * math.pow(cell, real) / (real + 1) * (1 - 1e-12)
