"""Polynomials of several variables with exact coefficients, read off an expression."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.boxes.box import Interval
    from hartley.ranges.boxes.expression import Expression

Monomial: TypeAlias = tuple[tuple[str, int], ...]
"""Variables and their positive exponents, sorted by name; empty for the constant."""
MOST_TERMS = 2_000
"""A query that multiplies out to more terms is not treated as a polynomial."""
MOST_DEGREE = 64


@dataclass(frozen=True)
class Polynomial:
    """A sum of monomials with exact coefficients, none of which is zero.

    Example:
        >>> from hartley.ranges.boxes.expression import parse_expression
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
            >>> from hartley.ranges.boxes.expression import parse_expression
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
