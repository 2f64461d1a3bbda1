"""A hypothesis about a record: comparisons of expressions, joined by and, or and not."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from hartley.boxes.box import Interval, SteppedRange
from hartley.boxes.expression import Expression, parse_expression, sign_at, undecided
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line
from hartley.tables.column_map import LatticeSide
from hartley.text import exact_text, exactly

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from hartley.boxes.expression import Clause


@dataclass(frozen=True)
class Hypothesis:
    """A condition that somebody would like to decide: true or false of every record.

    Comparisons (``<``, ``<=``, ``==``, ``!=``, ``>=``, ``>``, also chained) of expressions over
    columns, and lists of what one may be (``in``, ``not in``), joined by ``and``, ``or`` and
    ``not``.

    Example:
        >>> from fractions import Fraction
        >>> obese = Hypothesis.parse("weight >= 30 * (height/100)**2")
        >>> obese.names, obese.holds({"weight": Fraction(120), "height": Fraction(200)})
        (('weight', 'height'), True)
        >>> Hypothesis.parse("5 <= x <= 8 or x in (11, 13)").holds({"x": Fraction(9)})
        False
    """

    text: str
    clause: Clause

    @classmethod
    def parse(cls, text: str) -> Hypothesis:
        """Read a hypothesis such as "weight >= 30 * (height/100)**2"."""
        stripped = text.strip()
        try:
            clause = _read(ast.parse(stripped, mode="eval").body, stripped)
        except RecursionError:
            raise OptionError(
                "The hypothesis is nested too deeply", hint="use fewer brackets"
            ) from None
        except (SyntaxError, ValueError, MemoryError):
            raise _unreadable(text) from None
        hypothesis = cls(stripped, clause)
        # More than anybody writes by hand, and few enough to be nested without end of the stack.
        if _operations(clause) > 100:
            raise OptionError(
                "The hypothesis has more than 100 operations",
                hint="compute a part of it as a column of its own first",
            )
        if not hypothesis.names:
            raise OptionError(
                f"The hypothesis '{one_line(text)}' names no column",
                hint="compare a column with something, for example weight >= 100",
            )
        return hypothesis

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it names, in the order of their first appearance."""
        return tuple(dict.fromkeys(name for part in self.expressions for name in part.names))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What is compared with zero."""
        return tuple(_expressions(self.clause))

    @property
    def line_column(self) -> str | None:
        """The column that stands alone on one side of a single comparison, if there is one."""
        if self.clause[0] in (">=", ">"):
            left, right = self.clause[1].arguments
            for column, line in ((left, right), (right, left)):
                if column.operation == "var" and column.arguments[0] not in line.names:
                    return str(column.arguments[0])
        return self.names[0] if len(self.names) == 1 else None

    def holds(self, record: Mapping[str, Fraction]) -> bool:
        """Tell whether it holds of a record, exactly."""
        return _holds(self.clause, record)

    def __str__(self) -> str:
        return self.text


def _expressions(clause: Clause) -> list[Expression]:
    if clause[0] in (">=", ">"):
        return [clause[1]]
    return [expression for part in clause[1:] for expression in _expressions(part)]


def _operations(clause: Clause) -> int:
    """Count the operations, comparisons and words of a clause."""
    if clause[0] in (">=", ">"):
        return 1 + sum(1 for node in clause[1].nodes() if node.parts)
    if clause[0] == "and" and all(
        part[0] == ">="
        and part[1].operation == "-"
        and {side.operation for side in part[1].parts} == {"var", "const"}
        for part in clause[1:]
    ):
        return 1  # a column is one value of a list
    return 1 + sum(_operations(part) for part in clause[1:])


def _holds(clause: Clause, record: Mapping[str, Fraction]) -> bool:
    word, *parts = clause
    if word in (">=", ">"):
        sign = sign_at(parts[0], record)
        if sign is None:
            raise undecided(parts[0])
        return sign >= (0 if word == ">=" else 1)
    if word == "not":
        return not _holds(parts[0], record)
    return (all if word == "and" else any)(_holds(part, record) for part in parts)


def _read(node: ast.expr, text: str) -> Clause:
    if isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        return (word, *(_read(part, text) for part in node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ("not", _read(node.operand, text))
    if not isinstance(node, ast.Compare):
        raise _unreadable(text)
    sides = [node.left, *node.comparators]
    parts = [
        _read_list(operator, sides[place], sides[place + 1], text)
        if isinstance(operator, (ast.In, ast.NotIn))
        else _compare(
            operator, _expression(sides[place], text), _expression(sides[place + 1], text), text
        )
        for place, operator in enumerate(node.ops)
    ]
    return parts[0] if len(parts) == 1 else ("and", *parts)


def _expression(node: ast.expr, text: str) -> Expression:
    """Read one side of a comparison."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Mod, ast.FloorDiv)):
            sign = "%" if isinstance(part.op, ast.Mod) else "//"
            raise OptionError(
                f"The hypothesis '{one_line(text)}' uses {sign}, for which there is no rule",
                hint="list the values that are meant: x in (0, 2, 4)",
            )
    return parse_expression(ast.get_source_segment(text, node) or "")


def _read_list(sign: ast.cmpop, left: ast.expr, right: ast.expr, text: str) -> Clause:
    """Read that an expression is one of a list, or none of it."""
    values = [right] if _in_brackets(right, text) else []
    if isinstance(right, (ast.Tuple, ast.List, ast.Set)):
        values = right.elts
    if not values:
        raise OptionError(
            f"The hypothesis '{one_line(text)}' has no list after 'in'",
            hint="write the values in brackets: x in (1, 2, 5)",
        )
    value = _expression(left, text)
    clauses = [_compare(ast.Eq(), value, _expression(item, text), text) for item in values]
    one_of = clauses[0] if len(clauses) == 1 else ("or", *clauses)
    return one_of if isinstance(sign, ast.In) else ("not", one_of)


def _in_brackets(node: ast.expr, text: str) -> bool:
    """Tell whether brackets stand around an expression: (5) is a list of one value, as in SQL."""
    line = text.splitlines()[node.lineno - 1].encode()  # offsets count bytes
    before, after = line[: node.col_offset].rstrip(), line[node.end_col_offset :].lstrip()
    return before.endswith(b"(") and after.startswith(b")")


def _compare(sign: ast.cmpop, left: Expression, right: Expression, text: str) -> Clause:
    clauses: dict[type[ast.cmpop], Clause] = {
        ast.GtE: (">=", left - right),
        ast.Gt: (">", left - right),
        ast.LtE: (">=", right - left),
        ast.Lt: (">", right - left),
        ast.Eq: ("and", (">=", left - right), (">=", right - left)),
        ast.NotEq: ("or", (">", left - right), (">", right - left)),
    }
    if type(sign) not in clauses:
        raise _unreadable(text)
    return clauses[type(sign)]


def _unreadable(text: str) -> OptionError:
    return OptionError(
        f"The hypothesis '{one_line(text)}' cannot be read",
        hint="compare expressions, for example weight >= 30*(height/100)**2 or 5 <= x <= 8",
    )


# --- columns whose values lie on a step: a value is its index, and the index comes first ----------


@dataclass(frozen=True)
class LatticeColumn(SteppedRange):
    r"""The values low, low + step, low + 2 step, ... up to high, each known by its index.

    .. math:: x_k = low + k\,step, \qquad k = 0, \dots, U = \lfloor (high - low) / step \rfloor

    Everything that a guarantee rests on is computed from indices. The value is one function of
    the index and is applied last: 0.1 + 0.2 and 0.3 are two doubles, but one index.

    Example:
        >>> weights = LatticeColumn("30", "200", "0.1")
        >>> weights.last, weights.value(5), weights.index("30.5")
        (1700, Fraction(61, 2), 5)
    """

    def __post_init__(self) -> None:
        low, high = (parse_number(e, name="an end of a range") for e in (self.low, self.high))
        step = parse_number(self.step, name="the step")
        for name, number in (("low", low), ("high", high), ("step", step)):
            object.__setattr__(self, name, number)
        if step <= 0:
            raise OptionError(
                f"The step {exactly(step)} is not a positive number",
                hint="write a positive number, for example 10 or 0.5",
            )
        if high - low < step:
            raise OptionError(
                f"The range from {exactly(low)} to {exactly(high)} holds no whole step of "
                f"{exactly(step)}",
                hint="the values are low, low + step, low + 2 step ... up to high",
            )

    @property
    def last(self) -> int:
        """The index U of the last value; there are U + 1."""
        return self.size - 1

    @property
    def is_whole(self) -> bool:
        """Whether the range ends on a value."""
        return self.value(self.last) == self.high

    def value(self, index: int) -> Fraction:
        """Return the value of an index, exactly."""
        return self.number(index)

    def index(self, value: object) -> int:
        """Return the index of a value; a value off the lattice is refused."""
        index = (parse_number(value, name="a value") - self.low) / self.step
        if index.denominator != 1 or not 0 <= index <= self.last:
            raise OptionError(
                "A value does not lie on the declared step, or outside the declared range",
                hint="declare the step that values are recorded in, or round them to it first",
            )
        return int(index)

    def side(self, name: str, rounding: str | None = None) -> LatticeSide:
        """Return how an engine reads the indices of a column of this name."""
        return LatticeSide(name, self.low, self.step, self.last, rounding)

    def texts(self) -> list[str]:
        """Return low, high and step as a file holds them."""
        return [exact_text(number) for number in (self.low, self.high, self.step)]

    def sentence(self, name: str) -> str:
        """Describe the lattice in a few words."""
        return (
            f"{name} from {exactly(self.low)} to {exactly(self.high)} in steps of "
            f"{exactly(self.step)}"
        )


def read_others(
    value: object, moved: Mapping[str, object]
) -> tuple[dict[str, LatticeColumn], dict[str, Interval]]:
    """Read the columns that are not moved: low, high and step of each, or low and high alone."""
    if not isinstance(value, dict):
        raise OptionError(
            "The field 'others' is not a table",
            hint='write for example others = {height = ["120", "220", "1"]}',
        )
    lattices, ranges = {}, {}
    for name, numbers in value.items():
        if not isinstance(numbers, list) or len(numbers) not in (2, 3) or name in moved:
            raise OptionError(
                f"The other column '{name}' is not given by low, high and step",
                hint='write for example others = {height = ["120", "220", "1"]}, or low and high '
                "alone of values without a step",
            )
        texts = [str(part) if isinstance(part, Decimal) else part for part in numbers]
        exact = [parse_number(text, name=f"'{name}'") for text in texts]
        if len(exact) == 3:
            lattices[name] = LatticeColumn(*exact)
            continue
        ranges[name] = Interval(exact[0], exact[1])
        if not ranges[name].length:
            raise OptionError(
                f"The range of the other column '{name}' is a single number",
                hint="write that number in the hypothesis instead of the column",
            )
    return lattices, ranges
