"""A hypothesis in whole numbers: which side of a line a record lies on, decided without rounding.

Every column is replaced by its index. Denominators are multiplied out, so that a comparison
becomes the sign of an integer. One with exp, log or sqrt is decided at every point of the lattice
instead, and becomes a comparison with a list of indices. A tree of it is executed alike by
Python's integers, by numpy and, as long as no number exceeds 2^53, by the doubles of every engine:
sums and products of such integers are exact there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.policies.hypotheses.sides.choices import ONE, ZERO
from hartley.policies.hypotheses.sides.tabled_side import tabled_side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from hartley.engines.maps.formula import Tree
    from hartley.policies.hypotheses.hypothesis import Hypothesis
    from hartley.policies.hypotheses.lattice import LatticeColumn
    from hartley.ranges.boxes.expression import Expression
    from hartley.ranges.boxes.signs import Clause

LARGEST_INT64 = 2**62
"""With room for one sum."""
MOST_BITS = 4096
"""Integers of more binary digits are refused: powers of powers take for ever."""


@dataclass(frozen=True)
class WholeNumber:
    """An integer as a tree over indices, between certain bounds."""

    tree: Tree
    low: int
    high: int
    peak: int
    """No part of the tree exceeds it in size."""

    @classmethod
    def constant(cls, number: int) -> WholeNumber:
        """Return a number as a tree."""
        return cls(("const", str(number)), number, number, abs(number))

    @classmethod
    def made(cls, tree: Tree, ends: list[int], *parts: WholeNumber) -> WholeNumber:
        """Return a tree of parts that lies between the least and the largest of some numbers."""
        low, high = min(ends), max(ends)
        _refuse_long(max(abs(low), abs(high)).bit_length())
        return cls(tree, low, high, max(abs(low), abs(high), *(part.peak for part in parts)))

    @property
    def number(self) -> int | None:
        """The number that it always is, or None."""
        return self.low if self.low == self.high else None

    def times(self, other: WholeNumber) -> WholeNumber:
        """Return a product."""
        for constant, rest in ((self, other), (other, self)):
            if constant.number == 1:
                return rest
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return self.made(("*", self.tree, other.tree), ends, self, other)

    def plus(self, other: WholeNumber) -> WholeNumber:
        """Return a sum."""
        ends = [self.low + other.low, self.high + other.high]
        return self.made(("+", self.tree, other.tree), ends, self, other)

    def power(self, exponent: int) -> WholeNumber:
        """Return a power."""
        if exponent == 0:
            return self.constant(1)
        _refuse_long(exponent * (max(abs(self.low), abs(self.high)).bit_length() - 1))
        ends = [self.low**exponent, self.high**exponent]
        if exponent % 2 == 0 and self.low < 0 < self.high:
            ends.append(0)
        # Multiplied one by one, so that no intermediate is larger than the larger end.
        widest = max(abs(self.low), abs(self.high)) ** exponent
        power = self.made(("pow", self.tree, exponent), ends, self)
        return WholeNumber(power.tree, power.low, power.high, max(power.peak, widest))

    def size(self) -> WholeNumber:
        """Return the absolute value."""
        ends = [abs(self.low), abs(self.high)] + [0] * (self.low < 0 < self.high)
        return self.made(("abs", self.tree), ends, self)

    def extreme(self, operation: str, other: WholeNumber) -> WholeNumber:
        """Return the smaller or the larger of two."""
        choose = min if operation == "min" else max
        ends = [choose(self.low, other.low), choose(self.high, other.high)]
        return self.made((operation, self.tree, other.tree), ends, self, other)


@dataclass(frozen=True)
class Ratio:
    """An expression as scale * above / below, with a positive integer below."""

    scale: Fraction
    above: WholeNumber
    below: WholeNumber

    @classmethod
    def of(cls, expression: Expression, columns: Mapping[str, LatticeColumn]) -> Ratio:
        """Multiply the denominators of an expression out."""
        return _ratio(expression, columns)


@dataclass(frozen=True)
class IntegerForm:
    """A hypothesis over indices: a tree that is 1 where it holds and 0 elsewhere.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import Hypothesis
        >>> from hartley.policies.hypotheses.lattice import LatticeColumn
        >>> half = LatticeColumn(0, 10, "0.5")
        >>> form = IntegerForm.of(Hypothesis.parse("x >= 7/3"), {"x": half})
        >>> [int(side) for side in form.at({"x": np.arange(3, 7)})]
        [0, 0, 1, 1]
    """

    tree: Tree
    peak: int
    """No integer on the way is larger in size."""

    @classmethod
    def of(cls, hypothesis: Hypothesis, columns: Mapping[str, LatticeColumn]) -> IntegerForm:
        """Write a hypothesis in whole numbers."""
        tree, peak = _sides(hypothesis.clause, columns)
        return cls(tree, peak)

    @property
    def condition(self) -> Tree:
        """The same as a condition of a formula, which an engine decides without the numbers."""
        return _condition(self.tree)

    @property
    def fits_doubles(self) -> bool:
        """Whether every engine decides it exactly."""
        return self.peak <= LARGEST_EXACT_INTEGER

    def at(self, indices: Mapping[str, Any]) -> NDArray[Any]:
        """Return 1 where it holds and 0 elsewhere, of arrays of indices; exact."""
        return np.asarray(evaluate(self.tree, as_integers(indices, self.peak)))


def as_integers(indices: Mapping[str, Any], peak: int) -> dict[str, Any]:
    """Return arrays of indices in a type that holds every number up to a size."""
    kind: Any = np.int64 if peak <= LARGEST_INT64 else object
    return {name: np.asarray(array).astype(kind) for name, array in indices.items()}


def _refuse_long(bits: int) -> None:
    """Refuse integers that nobody means."""
    if bits > MOST_BITS:
        raise OptionError(
            "The hypothesis takes numbers that are too large to compute with",
            hint="use smaller powers",
        )


# --- from expressions to whole numbers ----------------------------------------------------------


def _sides(clause: Clause, columns: Mapping[str, LatticeColumn]) -> tuple[Tree, int]:
    word, *parts = clause
    if word in (">=", ">") and any(node.operation in _FUNCTIONS for node in parts[0].nodes()):
        for name in parts[0].names:
            _declared(name, columns)
        return tabled_side(word, parts[0], columns)
    if word in (">=", ">"):
        ratio = _ratio(parts[0], columns)
        above = ratio.above
        if ratio.scale == 0:
            return (ONE if word == ">=" else ZERO), 1
        order = (ZERO, above.tree) if ratio.scale > 0 else (above.tree, ZERO)
        compared = ("<=" if word == ">=" else "<", *order)
        return ("if", compared, ONE, ZERO), max(above.peak, ratio.below.peak, 1)
    trees, peaks = zip(*(_sides(part, columns) for part in parts), strict=True)
    if word == "not":
        return ("-", ONE, trees[0]), peaks[0]
    return _joined("min" if word == "and" else "max", trees), max(peaks)


def _condition(tree: Tree) -> Tree:
    """Return where a tree of zeros and ones is one, as a condition."""
    operation, *parts = tree
    if operation == "if" and parts[1:] == [ONE, ZERO]:
        return tuple(parts[0])
    if operation == "min":
        return ("and", *map(_condition, parts))
    return ("<=", ONE, tree)


def _joined(operation: str, trees: tuple[Tree, ...]) -> Tree:
    """Join trees by halves, so that a long list is not nested deeply."""
    if len(trees) == 1:
        return trees[0]
    middle = (len(trees) + 1) // 2
    return (operation, _joined(operation, trees[:middle]), _joined(operation, trees[middle:]))


def _ratio(expression: Expression, columns: Mapping[str, LatticeColumn]) -> Ratio:
    operation, arguments = expression.operation, expression.arguments
    unit = WholeNumber.constant(1)
    if operation == "const":
        return Ratio(Fraction(arguments[0]), unit, unit)
    if operation == "var":
        return _column(arguments[0], columns)
    if operation not in _OPERATIONS:
        raise OptionError(
            f"The line uses {operation}, whose values are not rational",
            hint='leave out exp, log and sqrt, or write a hypothesis with kind = "meet", which '
            "takes them",
        )
    operands = [_ratio(part, columns) for part in expression.parts]
    exponent = arguments[1:] if operation == "pow" else ()
    return _OPERATIONS[operation](*operands, *exponent)


def _column(name: str, columns: Mapping[str, LatticeColumn]) -> Ratio:
    """Return low + k step as (a + b k) times a fraction, with whole a and b."""
    column = _declared(name, columns)
    divisor = math.lcm(column.low.denominator, column.step.denominator)
    first, step = int(column.low * divisor), int(column.step * divisor)
    common = math.gcd(first, step)
    first, step = first // common, step // common
    index = WholeNumber(("var", name), 0, column.last, column.last)
    above = index.times(WholeNumber.constant(step))
    if first:
        above = above.plus(WholeNumber.constant(first))
    return Ratio(Fraction(common, divisor), above, WholeNumber.constant(1))


def _declared(name: str, columns: Mapping[str, LatticeColumn]) -> LatticeColumn:
    if name not in columns:
        raise OptionError(
            f"The hypothesis names column '{name}', whose range and step are not declared",
            hint=f"declare low, high and step of '{name}'",
        )
    return columns[name]


def _aligned(first: Ratio, second: Ratio) -> tuple[Fraction, WholeNumber, WholeNumber, WholeNumber]:
    """Return two ratios over one denominator: a positive scale, both numerators, below."""
    if first.below.tree == second.below.tree:
        above_first, above_second, below = first.above, second.above, first.below
    else:
        above_first, above_second = first.above.times(second.below), second.above.times(first.below)
        below = first.below.times(second.below)
    divisor = math.lcm(first.scale.denominator, second.scale.denominator)
    factors = [int(ratio.scale * divisor) for ratio in (first, second)]
    common = math.gcd(*factors) or 1
    above_first, above_second = (
        number.times(WholeNumber.constant(factor // common))
        for number, factor in zip((above_first, above_second), factors, strict=True)
    )
    return Fraction(common, divisor), above_first, above_second, below


def _add(first: Ratio, second: Ratio) -> Ratio:
    scale, above_first, above_second, below = _aligned(first, second)
    return Ratio(scale, above_first.plus(above_second), below)


def _extreme(operation: str) -> Callable[[Ratio, Ratio], Ratio]:
    def choose(first: Ratio, second: Ratio) -> Ratio:
        scale, above_first, above_second, below = _aligned(first, second)
        return Ratio(scale, above_first.extreme(operation, above_second), below)

    return choose


def _negate(ratio: Ratio) -> Ratio:
    return Ratio(-ratio.scale, ratio.above, ratio.below)


def _multiply(first: Ratio, second: Ratio) -> Ratio:
    above, below = first.above.times(second.above), first.below.times(second.below)
    return Ratio(first.scale * second.scale, above, below)


def _divide(first: Ratio, second: Ratio) -> Ratio:
    above = second.above
    if second.scale == 0 or above.low <= 0 <= above.high:
        raise OptionError(
            "The hypothesis may divide by zero within the declared ranges",
            hint="multiply both sides by the divisor, or declare a range without that point",
        )
    inverse = 1 / second.scale
    if above.high < 0:  # the sign belongs to the scale, so that what stands below is positive
        inverse, above = -inverse, above.times(WholeNumber.constant(-1))
    return _multiply(first, Ratio(inverse, second.below, above))


def _power(ratio: Ratio, exponent: int) -> Ratio:
    sizes = (abs(ratio.scale.numerator), ratio.scale.denominator)
    _refuse_long(exponent * (max(sizes).bit_length() - 1))
    return Ratio(ratio.scale**exponent, ratio.above.power(exponent), ratio.below.power(exponent))


_OPERATIONS: dict[str, Callable[..., Ratio]] = {
    "+": _add,
    "-": lambda first, second: _add(first, _negate(second)),
    "*": _multiply,
    "/": _divide,
    "neg": _negate,
    "pow": _power,
    "abs": lambda ratio: Ratio(abs(ratio.scale), ratio.above.size(), ratio.below),
    "min": _extreme("min"),
    "max": _extreme("max"),
}


_FUNCTIONS = ("exp", "log", "sqrt")
"""Operations whose values are not rational."""


# --- trees executed in Python -------------------------------------------------------------------


def evaluate(tree: Tree, indices: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as what goes in
    """Return the integers of a tree over indices, of arrays or of single numbers.

    Example:
        >>> evaluate(("if", ("<", ("var", "x"), ("const", "2")), ("const", "7"), ("var", "x")),
        ...          {"x": np.arange(4)}).tolist()
        [7, 7, 2, 3]
    """
    operation, *parts = tree
    if operation == "const":
        return int(parts[0])
    if operation == "var":
        return indices[parts[0]]
    if operation == "pow":
        return evaluate(parts[0], indices) ** parts[1]
    return _EVALUATED[operation](*(evaluate(part, indices) for part in parts))


_EVALUATED: dict[str, Callable[..., Any]] = {
    "+": lambda first, second: first + second,
    "-": lambda first, second: first - second,
    "*": lambda first, second: first * second,
    "abs": abs,
    "min": np.minimum,
    "max": np.maximum,
    "<": lambda first, second: first < second,
    "<=": lambda first, second: first <= second,
    "and": lambda first, second: first & second,
    "if": np.where,
}


def substitute(tree: Tree, replaced: Mapping[str, Tree]) -> Tree:
    """Return a tree in which columns are replaced by other trees.

    Example:
        >>> substitute(("+", ("var", "x"), ("const", "1")), {"x": ("var", "y")})
        ('+', ('var', 'y'), ('const', '1'))
    """
    if tree[0] == "var":
        return replaced.get(tree[1], tree)
    return tuple(substitute(part, replaced) if isinstance(part, tuple) else part for part in tree)
