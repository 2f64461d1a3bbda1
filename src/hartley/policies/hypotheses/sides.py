"""On which side a record lies, as formulas."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.box import Box, Interval
from hartley.boxes.enclosure import check_defined
from hartley.boxes.expression import ExactColumn, truth_at, undecided
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.expression import Clause, Expression
    from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
    from hartley.tables.release_rules import Tree


ZERO, ONE = ("const", "0"), ("const", "1")
MOST_POINTS = 2**20
"""A comparison is decided at up to this many combinations of values."""
MOST_PARTS = 2000
"""Up to this many stretches of values are sent to an engine."""


def runs(values: Sequence[int]) -> list[tuple[int, Tree]]:
    """Return where a list changes its value, and the value from there on."""
    return starts([("const", str(value)) for value in values])


def starts(trees: Sequence[Tree]) -> list[tuple[int, Tree]]:
    """Return the places of a list of formulas at which another one begins, and that one."""
    return [
        (place, tree) for place, tree in enumerate(trees) if not place or tree != trees[place - 1]
    ]


def chosen(value: Tree, listed: Sequence[tuple[int, Tree]]) -> Tree:
    """Return the formula of the last start that is not above a value, by bisection."""
    if len(listed) == 1:
        return listed[0][1]
    middle = len(listed) // 2
    below = ("<", value, ("const", str(listed[middle][0])))
    return ("if", below, chosen(value, listed[:middle]), chosen(value, listed[middle:]))


def place_tree(names: Sequence[str], columns: Mapping[str, LatticeColumn]) -> Tree:
    """Return the number of a combination of indices, the last column running fastest."""
    tree: Tree = ZERO
    for place, name in enumerate(names):
        size = ("const", str(columns[name].last + 1))
        tree = ("+", ("*", tree, size), ("var", name)) if place else ("var", name)
    return tree


# --- comparisons with exp, log and sqrt, decided record by record ---------------------------------


def tabled_side(
    sign: str, expression: Expression, columns: Mapping[str, LatticeColumn]
) -> tuple[Tree, int]:
    """Return a tree over indices that is 1 where an expression is above zero, and its largest part.

    Values of exp, log and sqrt are not rational, but a lattice has finitely many points: at each
    the sign is certain, by intervals of rising precision. What is written down is, for every
    fibre, the index from which on the comparison holds, or a list of stretches. Exact. Refused
    where the expression may have no value within the ranges, or where no precision decides. Costs
    an interval a point.

    Example:
        >>> from hartley.policies.hypotheses.hypothesis import LatticeColumn
        >>> from hartley.boxes.expression import parse_expression
        >>> tabled_side(">=", parse_expression("exp(x) - 3"), {"x": LatticeColumn(0, 4, "0.5")})[0]
        ('if', ('<=', ('const', '0'), ('+', ('var', 'x'), ('const', '-3'))), ('const', '1'), \
('const', '0'))
    """
    names = expression.names
    shape = tuple(columns[name].last + 1 for name in names)
    if math.prod(shape) > MOST_POINTS:
        raise OptionError(
            f"The hypothesis uses exp, log or sqrt of {math.prod(shape):,} combinations of values, "
            "too many to decide it at each",
            hint=f"declare coarser steps: up to {MOST_POINTS:,} combinations",
        )
    check_defined(
        expression, Box({name: Interval(columns[name].low, columns[name].high) for name in names})
    )
    holds = _truths(sign, expression, columns).reshape(shape)
    fibres = {
        name: np.moveaxis(holds, axis, -1).reshape(-1, shape[axis])
        for axis, name in enumerate(names)
    }
    parts = {}
    for name, rows in fibres.items():  # the stretches of all fibres that differ from the one before
        changed = np.ones(len(rows), bool)
        changed[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        switches = (rows[:, 1:] != rows[:, :-1]).sum(axis=1)
        parts[name] = int((switches + 1)[changed].sum())
    along = min(parts, key=parts.__getitem__)
    if parts[along] > MOST_PARTS:
        raise OptionError(
            f"On these steps the hypothesis has {parts[along]:,} different parts, too many to be "
            "executed",
            hint=f"declare coarser steps: up to {MOST_PARTS:,} are executed",
        )
    others = [name for name in names if name != along]
    return _tree(fibres[along], along, place_tree(others, columns)), 2 * math.prod(shape)


def _tree(rows: NDArray[np.bool_], name: str, fibre: Tree) -> Tree:
    """Return 1 where the place of a fibre and the index of a column are marked."""
    own: Tree = ("var", name)
    for falls, sides in ((False, rows), (True, ~rows)):
        if (sides[:, :-1] <= sides[:, 1:]).all():  # from one index on
            firsts = (~sides).sum(axis=1)
            if falls:
                own, firsts = ("*", own, ("const", "-1")), 1 - firsts
            line = chosen(fibre, runs([-int(first) for first in firsts]))
            return ("if", ("<=", ZERO, ("+", own, line)), ONE, ZERO)
    leaves = [chosen(own, runs([int(side) for side in row])) for row in rows]
    return chosen(fibre, starts(leaves))


def _truths(
    sign: str, expression: Expression, columns: Mapping[str, LatticeColumn]
) -> NDArray[np.bool_]:
    """Decide a comparison at every combination of values, the last column running fastest."""
    names = expression.names
    indices = np.indices([columns[name].last + 1 for name in names])

    def numbers(column: LatticeColumn, at: NDArray[np.intp]) -> ExactColumn:
        doubles = np.array([float(column.value(index)) for index in range(column.last + 1)])
        return ExactColumn(doubles[at], lambda i: column.value(int(at[i])))

    points = {
        name: numbers(columns[name], at.ravel()) for name, at in zip(names, indices, strict=True)
    }
    can_hold, can_fail = truth_at((sign, expression), points)
    if (can_hold & can_fail).any():
        raise undecided(expression)
    return can_hold


# --- integer form ---------------------------------------------------------------------------------
# A hypothesis in whole numbers: which side of a line a record lies on, decided without rounding.
#
# Every column is replaced by its index. Denominators are multiplied out, so that a comparison
# becomes the sign of an integer. One with exp, log or sqrt is decided at every point of the
# lattice instead, and becomes a comparison with a list of indices. A tree of it is executed alike
# by Python's integers, by numpy and, as long as no number exceeds 2^53, by the doubles of every
# engine: sums and products of such integers are exact there.


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
        return replace(power, peak=max(power.peak, widest))

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


@dataclass(frozen=True)
class IntegerForm:
    """A hypothesis over indices: a tree that is 1 where it holds and 0 elsewhere."""

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

    def at(self, indices: Mapping[str, Any]) -> NDArray[Any]:
        """Return 1 where it holds and 0 elsewhere, of arrays of indices; exact."""
        return np.asarray(evaluate(self.tree, as_integers(indices, self.peak)))


def as_integers(indices: Mapping[str, Any], peak: int) -> dict[str, Any]:
    """Return arrays of indices in a type that holds every number up to a size."""
    kind: Any = np.int64 if peak <= 2**62 else object  # with room for one sum
    return {name: np.asarray(array).astype(kind) for name, array in indices.items()}


def _refuse_long(bits: int) -> None:
    """Refuse integers that nobody means: powers of powers take for ever."""
    if bits > 4096:
        raise OptionError(
            "The hypothesis takes numbers that are too large to compute with",
            hint="use smaller powers",
        )


def _sides(clause: Clause, columns: Mapping[str, LatticeColumn]) -> tuple[Tree, int]:
    word, *parts = clause
    if word in (">=", ">") and any(
        node.operation in ("exp", "log", "sqrt") for node in parts[0].nodes()
    ):  # whose values are not rational
        for name in parts[0].names:
            declared_column(name, columns)
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
    column = declared_column(name, columns)
    divisor = math.lcm(column.low.denominator, column.step.denominator)
    first, step = int(column.low * divisor), int(column.step * divisor)
    common = math.gcd(first, step)
    first, step = first // common, step // common
    index = WholeNumber(("var", name), 0, column.last, column.last)
    above = index.times(WholeNumber.constant(step))
    if first:
        above = above.plus(WholeNumber.constant(first))
    return Ratio(Fraction(common, divisor), above, WholeNumber.constant(1))


def declared_column(name: str, columns: Mapping[str, LatticeColumn]) -> LatticeColumn:
    """Return the lattice of a column, or refuse one that is not declared."""
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
    "-": lambda first, second: _add(first, replace(second, scale=-second.scale)),
    "*": _multiply,
    "/": _divide,
    "neg": lambda ratio: replace(ratio, scale=-ratio.scale),
    "pow": _power,
    "abs": lambda ratio: Ratio(abs(ratio.scale), ratio.above.size(), ratio.below),
    "min": _extreme("min"),
    "max": _extreme("max"),
}


def evaluate(tree: Tree, indices: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as what goes in
    """Return the integers of a tree over indices, of arrays or of single numbers."""
    operation, *parts = tree
    if operation == "const":
        return int(parts[0])
    if operation == "var":
        return indices[parts[0]]
    if operation == "pow":
        return evaluate(parts[0], indices) ** parts[1]
    return _EVALUATED[operation](*(evaluate(part, indices) for part in parts))


_EVALUATED: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "abs": abs,
    "min": np.minimum,
    "max": np.maximum,
    "<": operator.lt,
    "<=": operator.le,
    "and": operator.and_,
    "if": np.where,
}


def substitute(tree: Tree, replaced: Mapping[str, Tree]) -> Tree:
    """Return a tree in which columns are replaced by other trees."""
    if tree[0] == "var":
        return replaced.get(tree[1], tree)
    return tuple(substitute(part, replaced) if isinstance(part, tuple) else part for part in tree)


# --- linear in the moved column: near the line by a few comparisons -------------------------------


@dataclass(frozen=True)
class LinearSide:
    r"""A hypothesis in whole numbers of the form a k + r >= 0, or a k + r > 0.

    Here k is the index of the moved column, a a whole number and r a formula over the indices of
    the other columns. With T = a k + r, the hypothesis at a partner D steps away is a comparison
    of T with a number, so that T is computed once a record.

    Example:
        >>> condition = ("<=", ("const", "0"), ("+", ("var", "x"), ("const", "-5")))
        >>> LinearSide.of(condition, "x")
        LinearSide(name='x', slope=1, rest=-5, strict=False)
    """

    name: str
    slope: int
    """The number a; not zero."""
    rest: Tree | int
    """The formula r, or the number that it always is."""
    strict: bool
    """Whether zero belongs to the records for which the hypothesis fails."""

    @classmethod
    def of(cls, condition: Tree, name: str) -> LinearSide | None:
        """Read a condition of an integer form; None where it is not of this form."""
        operation, first, second = condition
        if operation not in ("<", "<=") or ZERO not in (first, second):
            return None
        parts = _linear(second if first == ZERO else first, name)
        if parts is None or not parts[0]:
            return None
        slope, rest = parts
        if first != ZERO:
            slope, rest = -slope, _product(-1, rest)
        return cls(name, slope, rest, operation == "<")

    @property
    def here(self) -> Tree:
        """The hypothesis itself."""
        return self._holds(self._total)

    def near(self, distance: int, last: int) -> Tree | None:
        """Return where a partner lies on the other side; None where that happens nowhere.

        The partner is ``distance`` steps away, or at the end of the range where that is nearer.
        Since T is monotone in k, a comparison holds at the nearer of two places if and only if it
        holds at both.
        """
        step = abs(self.slope) * distance
        first, end = self.rest, _sum(self.rest, self.slope * last)
        least, largest = (first, end) if self.slope > 0 else (end, first)
        conditions: list[Tree] = [self._holds(self._total, step), self._fails(self._total, -step)]
        for number, holds in ((least, False), (largest, True)):
            if not isinstance(number, int):
                conditions.append(self._holds(number) if holds else self._fails(number))
            elif (number > 0 or (number == 0 and not self.strict)) != holds:
                return None
        return functools.reduce(lambda joined, condition: ("and", joined, condition), conditions)

    @property
    def _total(self) -> Tree:
        total = _sum(_product(self.slope, ("var", self.name)), self.rest)
        assert isinstance(total, tuple)  # the slope is not zero
        return total

    def _holds(self, number: Tree, more: int = 0) -> Tree:
        """Return the condition that a number, with a constant added, lies on the side."""
        return ("<" if self.strict else "<=", ("const", str(-more)), number)

    def _fails(self, number: Tree, more: int = 0) -> Tree:
        """Return the condition that a number, with a constant added, lies on the other side."""
        return ("<=" if self.strict else "<", number, ("const", str(-more)))


def _linear(tree: Tree, name: str) -> tuple[int, Tree | int] | None:
    """Return a tree as a number times a column, and a rest without the column."""
    operation, *parts = tree
    if operation == "const":
        return 0, int(parts[0])
    if operation == "var":
        return (1, 0) if parts[0] == name else (0, tree)
    operands = [_linear(part, name) for part in parts if isinstance(part, tuple)]
    if None in operands:
        return None
    (slope, rest), *more = [operand for operand in operands if operand is not None]
    if not slope and not any(other[0] for other in more):
        return 0, tree
    if operation == "+":
        return slope + more[0][0], _sum(rest, more[0][1])
    return _times((slope, rest), more[0]) if operation == "*" else None


def _times(
    first: tuple[int, Tree | int], second: tuple[int, Tree | int]
) -> tuple[int, Tree | int] | None:
    """Return a product of two linear trees, one of which has to be a number."""
    for (slope, factor), (other, rest) in ((first, second), (second, first)):
        if not slope and isinstance(factor, int):
            return factor * other, _product(factor, rest)
    return None


def _product(factor: int, tree: Tree | int) -> Tree | int:
    if isinstance(tree, int):
        return factor * tree
    return tree if factor == 1 else ("*", tree, ("const", str(factor)))


def _sum(first: Tree | int, second: Tree | int) -> Tree | int:
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    if isinstance(first, int):
        first, second = second, first
    if isinstance(second, int):
        return first if second == 0 else ("+", first, ("const", str(second)))
    return ("+", first, second)
