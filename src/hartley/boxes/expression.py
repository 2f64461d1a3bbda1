"""Symbolic queries over named variables, written as text or as Python."""

from __future__ import annotations

import ast
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes import intervals as outward
from hartley.boxes.intervals import plain_value
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias, TypeVar

    from numpy.typing import NDArray

    from hartley.boxes.intervals import Pair

    Linear: TypeAlias = tuple[dict[str, Fraction], Fraction]
    """The coefficients of a linear query, by variable, and its constant."""
    Clause = tuple[Any, ...]
    """(">=", e) for e >= 0, (">", e) for e > 0, ("and", ...), ("or", ...) or ("not", clause)."""
    Flags = NDArray[np.bool_]
    Value = TypeVar("Value")
    Number = Any
    """A Fraction, or a ball of flint that holds a number."""


# --- expression -----------------------------------------------------------------------------------


FUNCTIONS = ("abs", "exp", "log", "sqrt", "min", "max")
MOST_POWER = 64


@dataclass(frozen=True)
class Expression:
    """A query as a tree: an operation and what it is applied to.

    Operations: ``const`` (a Fraction), ``var`` (a name), ``+``, ``-``, ``*``, ``/`` of two,
    ``neg``, ``pow`` (of an expression and a natural number), ``abs``, ``exp``, ``log``, ``sqrt``
    of one, ``min`` and ``max`` of two.

    Example:
        >>> x1, x2 = variables("x1", "x2")
        >>> query = x1**2 + 2 * x2**2
        >>> print(query)
        x1**2 + 2*x2**2
        >>> query == parse_expression("x1**2 + 2*x2**2")
        True
    """

    operation: str
    arguments: tuple[Any, ...]

    # --- built by Python's operators --------------------------------------------------------

    def __add__(self, other: object) -> Expression:
        return _apply("+", self, other)

    def __radd__(self, other: object) -> Expression:
        return _apply("+", other, self)

    def __sub__(self, other: object) -> Expression:
        return _apply("-", self, other)

    def __rsub__(self, other: object) -> Expression:
        return _apply("-", other, self)

    def __mul__(self, other: object) -> Expression:
        return _apply("*", self, other)

    def __rmul__(self, other: object) -> Expression:
        return _apply("*", other, self)

    def __truediv__(self, other: object) -> Expression:
        return _apply("/", self, other)

    def __rtruediv__(self, other: object) -> Expression:
        return _apply("/", other, self)

    def __neg__(self) -> Expression:
        return Expression("neg", (self,))

    def __abs__(self) -> Expression:
        return Expression("abs", (self,))

    def __pow__(self, power: object) -> Expression:
        number = parse_number(power, name="the exponent")
        if number.denominator != 1 or not 0 <= number <= MOST_POWER:
            raise OptionError(
                f"The exponent {power} is not a whole number from 0 to {MOST_POWER}",
                hint="use sqrt(...), exp(...) or a quotient instead",
            )
        return Expression("pow", (self, int(number)))

    # --- what it says ------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that occur, in the order of their first appearance."""
        occurring = (node.arguments[0] for node in self.nodes() if node.operation == "var")
        return tuple(dict.fromkeys(occurring))

    @property
    def parts(self) -> tuple[Expression, ...]:
        """What the operation is applied to, without names, numbers and exponents."""
        return tuple(part for part in self.arguments if isinstance(part, Expression))

    def nodes(self) -> list[Expression]:
        """Return all operations, each once and after those it is applied to.

        Without recursion, since a sum over ten thousand people is as many operations deep.

        Example:
            >>> [node.operation for node in parse_expression("2*x + y").nodes()]
            ['const', 'var', '*', 'var', '+']
        """
        ordered: dict[int, Expression] = {}
        waiting = [(self, False)]
        while waiting:
            node, opened = waiting.pop()
            if opened:
                ordered[id(node)] = node
            elif id(node) not in ordered:
                waiting.append((node, True))
                waiting.extend((part, False) for part in reversed(node.parts))
        return list(ordered.values())

    def fold(self, step: Callable[[Expression, list[Value]], Value]) -> Value:
        """Return what a step makes of every operation and of the values of its parts, in the end.

        Example:
            >>> parse_expression("(x + y)*z").fold(lambda node, parts: 1 + sum(parts))
            5
        """
        values: dict[int, Value] = {}
        for node in self.nodes():
            values[id(node)] = step(node, [values[id(part)] for part in node.parts])
        return values[id(self)]

    def put_in(self, values: Mapping[str, Expression | Fraction]) -> Expression:
        """Return the query with other expressions, or numbers, in the place of some variables."""

        def step(node: Expression, parts: list[Expression]) -> Expression:
            if node.operation == "var" and node.arguments[0] in values:
                return _lift(values[node.arguments[0]])
            return Expression(node.operation, (*parts, *node.arguments[len(parts) :]))

        return self.fold(step)

    def linear(self) -> Linear | None:
        """Return the coefficients and the constant of a linear query, or None of another.

        Example:
            >>> parse_expression("(x + 2*y) / 4 - 1").linear()
            ({'x': Fraction(1, 4), 'y': Fraction(1, 2)}, Fraction(-1, 1))
        """
        return self._form

    @cached_property
    def _form(self) -> Linear | None:
        # Asked for again and again, and thousands of people take a while.
        return _linear(self)

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """Return the exact value at a point of a query without exp, log and sqrt.

        Example:
            >>> parse_expression("30*(height/100)**2").at({"height": Fraction(200)})
            Fraction(120, 1)
        """
        return Fraction(self.fold(lambda node, operands: _exact(node, operands, values)))

    def to_tree(self) -> tuple[Any, ...]:
        """Return nested tuples of plain values, which every engine can execute.

        Example:
            >>> parse_expression("2*x").to_tree()
            ('*', ('const', '2'), ('var', 'x'))
        """
        if self.operation == "const":
            return ("const", str(self.arguments[0]))
        return (
            self.operation,
            *(a.to_tree() if isinstance(a, Expression) else a for a in self.arguments),
        )

    def __str__(self) -> str:
        return _text(self, 0)


def variables(*names: str) -> tuple[Expression, ...]:
    """Return symbolic variables to write queries with.

    Example:
        >>> height, weight = variables("height", "weight")
        >>> print(weight - 30 * (height / 100) ** 2)
        weight - 30*(height/100)**2
    """
    return tuple(Expression("var", (name,)) for name in names)


def mean(items: Iterable[Expression]) -> Expression:
    """Return the mean of some expressions.

    Example:
        >>> print(mean(variables("x1", "x2")))
        (x1 + x2)/2
    """
    listed = list(items)
    return total(listed) / len(listed)


def total(items: Iterable[Expression]) -> Expression:
    """Return the sum of some expressions, as a balanced tree: thousands of people are no depth.

    Example:
        >>> print(total(variables("x1", "x2", "x3")))
        x1 + x2 + x3
    """
    sums = list(items)
    while len(sums) > 2:
        sums = [
            sums[i] + sums[i + 1] if i + 1 < len(sums) else sums[i] for i in range(0, len(sums), 2)
        ]
    return sums[0] + sums[1] if len(sums) == 2 else sums[0]


def maximum(one: object, other: object) -> Expression:
    """Return the larger of two expressions."""
    return _apply("max", one, other)


def as_expression(query: Expression | str | Callable[..., Any], names: Iterable[str]) -> Expression:
    """Return a query as an expression: one already, text, or a Python function of the variables.

    Example:
        >>> print(as_expression(lambda x, y: x * y, ["x", "y"]))
        x*y
    """
    if isinstance(query, Expression):
        return query
    if isinstance(query, str):
        return parse_expression(query)
    if callable(query):
        return _lift(query(*variables(*names)))
    raise OptionError(
        "The query is neither text nor a function", hint="write for example 'x1**2 + 2*x2**2'"
    )


def parse_expression(text: str) -> Expression:
    """Read a query: numbers, variables, + - * / **, abs, exp, log, sqrt, min, max, mean, sum.

    Example:
        >>> print(parse_expression("max(a, b) - mean(a, b)"))
        max(a, b) - (a + b)/2
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _Reader(text).read(tree)
    except RecursionError:
        raise OptionError(
            "The query is nested too deeply", hint="write long sums as sum(...) or mean(...)"
        ) from None
    except (SyntaxError, ValueError, MemoryError):
        raise OptionError(
            f"The query '{one_line(text)}' cannot be read", hint="write for example x1**2 + 2*x2**2"
        ) from None


class _Reader:
    """Turns Python's own syntax tree into an expression, by an allow-list."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Constant) and not isinstance(node.value, (bool, str, bytes)):
            written = ast.get_source_segment(self._text.strip(), node) or str(node.value)
            return Expression("const", (parse_number(written, name="a number of the query"),))
        if isinstance(node, ast.Name):
            return Expression("var", (node.id,))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.read(node.operand)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
            return self.read(node.operand)
        if isinstance(node, ast.BinOp):
            return self._read_binary(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._read_call(node.func.id, [self.read(argument) for argument in node.args])
        raise self._refused(node)

    def _read_binary(self, node: ast.BinOp) -> Expression:
        signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
        if isinstance(node.op, ast.Pow):
            power = self.read(node.right).linear()
            if power is None or power[0]:
                raise self._refused(node)
            return self.read(node.left) ** power[1]
        if type(node.op) not in signs:
            raise self._refused(node)
        return _apply(signs[type(node.op)], self.read(node.left), self.read(node.right))

    def _read_call(self, name: str, arguments: list[Expression]) -> Expression:
        if name in ("min", "max") and len(arguments) >= 2:
            result = arguments[0]
            for argument in arguments[1:]:
                result = Expression(name, (result, argument))
            return result
        if name in ("mean", "sum") and arguments:
            return mean(arguments) if name == "mean" else total(arguments)
        if name in FUNCTIONS[:4] and len(arguments) == 1:
            return Expression(name, (arguments[0],))
        raise OptionError(
            f"The query '{one_line(self._text)}' uses {one_line(name)} in an unsupported way",
            hint="use abs, exp, log and sqrt of one value, and min, max, mean and sum of several",
        )

    def _refused(self, node: ast.expr) -> OptionError:
        place = ast.get_source_segment(self._text.strip(), node) or "something"
        return OptionError(
            f"The query '{one_line(self._text)}' contains '{one_line(place)}', which is not "
            "supported",
            hint="use numbers, variables, + - * / **, abs, exp, log, sqrt, min, max, mean and sum",
        )


def _lift(value: object) -> Expression:
    if isinstance(value, Expression):
        return value
    return Expression("const", (parse_number(value, name="a number of the query"),))


def _apply(operation: str, one: object, other: object) -> Expression:
    return Expression(operation, (_lift(one), _lift(other)))


def _linear(expression: Expression) -> Linear | None:
    """Walk down from the root with the factor in front of every part; sums need no recursion."""
    coefficients: dict[str, Fraction] = {}
    constant = Fraction(0)
    waiting = [(expression, Fraction(1))]
    while waiting:
        node, factor = waiting.pop()
        if node.operation == "const":
            constant += factor * node.arguments[0]
        elif node.operation == "var":
            name = node.arguments[0]
            coefficients[name] = coefficients.get(name, Fraction(0)) + factor
        else:
            below = _factors(node)
            if below is None:
                return None
            # In reverse, so that variables are met in the order in which they are written.
            waiting.extend((part, factor * by) for part, by in reversed(below))
    return {name: value for name, value in coefficients.items() if value}, constant


def _factors(node: Expression) -> list[tuple[Expression, Fraction]] | None:
    """Return the parts that a linear operation adds up and their factors, or None."""
    operation, arguments = node.operation, node.arguments
    if operation in ("+", "-"):
        sign = Fraction(1 if operation == "+" else -1)
        return [(arguments[0], Fraction(1)), (arguments[1], sign)]
    if operation == "neg":
        return [(arguments[0], Fraction(-1))]
    if operation == "*":
        for scale, other in (arguments, reversed(arguments)):
            number = _constant(scale)
            if number is not None:
                return [(other, number)]
    if operation == "/":
        number = _constant(arguments[1])
        return [(arguments[0], 1 / number)] if number else None
    if operation == "pow":
        return _power_factors(*arguments)
    return None


def _power_factors(base: Expression, power: int) -> list[tuple[Expression, Fraction]] | None:
    if power == 1:
        return [(base, Fraction(1))]
    number = Fraction(1) if power == 0 else _constant(base)
    return None if number is None else [(Expression("const", (number**power,)), Fraction(1))]


def _constant(expression: Expression) -> Fraction | None:
    """Return the number that an expression always is, or None."""
    form = expression.linear()
    if form is None or form[0]:
        return None
    return form[1]


_RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "pow": 4}


def _text(expression: Expression, outer: int) -> str:
    operation, arguments = expression.operation, expression.arguments
    if operation == "var":
        return str(arguments[0])
    if operation == "const":
        value = arguments[0]
        apart = outer > 0 and (value < 0 or (value.denominator > 1 and outer > 1))
        return f"({value})" if apart else str(value)
    if operation not in _RANK:
        return f"{operation}({', '.join(_text(argument, 0) for argument in arguments)})"
    rank = _RANK[operation]
    if operation == "neg":
        text = f"-{_text(arguments[0], rank)}"
    elif operation == "pow":
        text = f"{_text(arguments[0], rank + 1)}**{arguments[1]}"
    elif rank == 1:
        text = _sum_text(expression)
    else:
        left, right = _text(arguments[0], rank), _text(arguments[1], rank + (operation == "/"))
        text = f"{left}{operation}{right}"
    return f"({text})" if rank < outer else text


def _sum_text(expression: Expression) -> str:
    """Write a sum without recursion along it, since it may be ten thousand people long."""
    terms: list[str] = []
    while expression.operation in ("+", "-"):
        sign, term = expression.operation, expression.arguments[1]
        terms.append(f" {sign} {_text(term, 1 + (sign == '-'))}")
        expression = expression.arguments[0]
    return _text(expression, 1) + "".join(reversed(terms))


# --- signs ----------------------------------------------------------------------------------------
# On which side of zero a query lies at many points: by intervals, and exactly where it is near.

PRECISIONS = (64, 256, 1024, 4096)
"""In how many binary digits a value is enclosed, one after the other."""


@dataclass(frozen=True)
class ExactColumn:
    """One exact number a point: the double next to it, and the number itself where it is needed."""

    doubles: NDArray[np.float64]
    """The nearest doubles."""
    number: Callable[[int], Fraction]
    """Return the exact number of a point."""


def nonnegative_at(
    expression: Expression, points: Mapping[str, ExactColumn]
) -> tuple[Flags, Flags]:
    """Tell for every point whether a query can be at least zero there, and whether below zero.

    Outward-rounded intervals decide nearly all points at once; ``sign_at`` decides the others.
    Exact, save where a query with exp, log or sqrt is so near to zero that not even that decides,
    or is not defined: there both are possible. One pass, and some arithmetic for each point near
    zero.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.boxes.expression import parse_expression
        >>> tenths = ExactColumn(np.array([0.2, 0.3, 0.4]), lambda i: Fraction(i + 2, 10))
        >>> at_least, below = nonnegative_at(parse_expression("x - 3/10"), {"x": tenths})
        >>> at_least.tolist(), below.tolist()
        ([False, True, True], [True, False, False])
    """
    sides: dict[str, Pair] = {}
    for name in expression.names:
        nearest = points[name].doubles
        sides[name] = np.nextafter(nearest, -np.inf), np.nextafter(nearest, np.inf)
    low, high = outward.enclose(expression, sides)
    size = max((len(column.doubles) for column in points.values()), default=1)
    can_hold = ~np.broadcast_to(high < 0, size)
    can_fail = ~np.broadcast_to(low >= 0, size)
    for i in np.flatnonzero(can_hold & can_fail).tolist():
        try:
            sign = sign_at(expression, {n: points[n].number(i) for n in expression.names})
        except OptionError:
            continue
        if sign is not None:
            can_hold[i], can_fail[i] = sign >= 0, sign < 0
    return can_hold, can_fail


def sign_at(expression: Expression, values: Mapping[str, Fraction]) -> int | None:
    """Return -1, 0 or 1: whether a query is below zero, zero or above it at one point.

    Rational parts are computed exactly, exp(0), log(1) and the roots of squares among them; all
    other values of exp, log and sqrt are enclosed by balls of up to 4,096 binary digits. None
    where zero lies in the smallest of them, as for exp(log(3)) - 3. A query that has no value at
    the point is refused.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.boxes.expression import parse_expression
        >>> ratio = parse_expression("exp(x) - 1")
        >>> sign_at(ratio, {"x": Fraction(1, 10**400)}), sign_at(ratio, {"x": Fraction(0)})
        (1, 0)
    """
    import flint  # on use: few queries need it

    for bits in PRECISIONS:
        with flint.ctx.workprec(bits):
            value = expression.fold(lambda node, operands: _value(node, operands, values))
            if isinstance(value, Fraction) or not value.contains(0):
                return int(value > 0) - int(value < 0)
    return None


def undecided(expression: Expression) -> OptionError:
    """Return the error for a query whose sign ``sign_at`` does not decide."""
    return OptionError(
        f"At some point '{expression}' is so near to zero that its side cannot be decided",
        hint="write it without exp, log and sqrt that undo each other, such as exp(log(x))",
    )


def _exact(node: Expression, operands: list[Fraction], values: Mapping[str, Fraction]) -> Fraction:
    """Return the value of an operation at a point; refuse what may not be rational."""
    if node.operation in ("exp", "log", "sqrt"):
        raise OptionError(
            f"The query '{node}' has no exact value",
            hint="leave out exp, log and sqrt, whose values are not rational",
        )
    if node.operation == "/" and not operands[1]:
        raise OptionError(
            f"The query '{node}' divides by zero", hint="choose a range without that point"
        )
    return _value(node, operands, values)  # type: ignore[no-any-return]  # a Fraction of Fractions


def _value(node: Expression, operands: list[Number], values: Mapping[str, Fraction]) -> Number:
    operation = node.operation
    if not operands:
        return node.arguments[0] if operation == "const" else values[node.arguments[0]]
    if operation in ("exp", "log", "sqrt"):
        return _function_value(operation, operands[0], node)
    if operation == "pow":
        return operands[0] ** node.arguments[1]
    if operation == "*" and 0 in [part for part in operands if isinstance(part, Fraction)]:
        return Fraction(0)
    if operation == "/" and isinstance(operands[1], Fraction) and not operands[1]:
        raise _no_value(node)
    if not all(isinstance(part, Fraction) for part in operands):
        operands = [_ball(part) for part in operands]
    return _ARITHMETIC[operation](*operands)


def _function_value(operation: str, argument: Number, node: Expression) -> Number:
    if (operation == "log" and argument <= 0) or (operation == "sqrt" and argument < 0):
        raise _no_value(node)
    exact = plain_value(operation, argument) if isinstance(argument, Fraction) else None
    return getattr(_ball(argument), operation)() if exact is None else exact


def _ball(number: Number) -> Number:
    import flint

    if not isinstance(number, Fraction):
        return number
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def _no_value(node: Expression) -> OptionError:
    return OptionError(
        f"'{node}' has no value at some point", hint="choose ranges on which it has one"
    )


def _extreme(choose: Callable[..., Fraction], method: str) -> Callable[[Number, Number], Number]:
    def apply(first: Number, second: Number) -> Number:
        if isinstance(first, Fraction):
            return choose(first, second)
        return getattr(first, method)(second)

    return apply


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
}


def truth_at(clause: Clause, points: Mapping[str, ExactColumn]) -> tuple[Flags, Flags]:
    """Tell for every point whether a condition can hold there, and whether it can fail.

    Args:
        clause: comparisons with zero, joined by and, or and not.
        points: the columns that it names.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.boxes.expression import parse_expression
        >>> x = ExactColumn(np.array([0.0, 1.0, 2.0]), Fraction)
        >>> between = ("and", (">", parse_expression("x")), (">=", parse_expression("1 - x")))
        >>> truth_at(between, {"x": x})[0].tolist()
        [False, True, False]
    """
    word, *parts = clause
    if word == ">=":
        return nonnegative_at(parts[0], points)
    if word == ">":  # e > 0 unless -e >= 0
        at_most, above = nonnegative_at(-parts[0], points)
        return above, at_most
    answers = [truth_at(part, points) for part in parts]
    if word == "not":
        (can_hold, can_fail), *_ = answers
        return can_fail, can_hold
    both, either = (
        (np.logical_and, np.logical_or) if word == "and" else (np.logical_or, np.logical_and)
    )
    return (
        both.reduce([can_hold for can_hold, _ in answers]),
        either.reduce([can_fail for _, can_fail in answers]),
    )
