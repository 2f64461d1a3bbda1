"""Hypotheses that are linear in the moved column: near the line by a few comparisons."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.policies.hypotheses.sides.choices import ZERO

if TYPE_CHECKING:
    from hartley.engines.maps.formula import Tree


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

        Args:
            distance: how many steps D the two lie apart.
            last: the last index U of the moved column.
        """
        step = abs(self.slope) * distance
        first, end = self.rest, _sum(self.rest, self.slope * last)
        least, largest = (first, end) if self.slope > 0 else (end, first)
        conditions: list[Tree] = [self._holds(self._total, step), self._fails(self._total, -step)]
        for number, holds in ((least, False), (largest, True)):
            if not isinstance(number, int):
                conditions.append(self._holds(number) if holds else self._fails(number))
            elif self._is_above(number) != holds:
                return None
        return functools.reduce(lambda joined, condition: ("and", joined, condition), conditions)

    @property
    def _total(self) -> Tree:
        total = _sum(_product(self.slope, ("var", self.name)), self.rest)
        assert isinstance(total, tuple)  # the slope is not zero
        return total

    def _is_above(self, number: int) -> bool:
        return number > 0 if self.strict else number >= 0

    def _holds(self, number: Tree, more: int = 0) -> Tree:
        """Return the condition that a number, with a constant added, lies on the side."""
        return ("<" if self.strict else "<=", ("const", str(-more)), number)

    def _fails(self, number: Tree, more: int = 0) -> Tree:
        """Return the condition that a number, with a constant added, lies on the other side."""
        return ("<=" if self.strict else "<", number, ("const", str(-more)))


# --- sums and products of formulas and numbers --------------------------------------------------


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
