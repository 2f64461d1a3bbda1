"""A hypothesis about a record: comparisons of expressions, joined by and, or and not."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.files import one_line
from hartley.ranges.boxes.expression import Expression, parse_expression
from hartley.ranges.boxes.signs import sign_at, undecided

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from hartley.ranges.boxes.signs import Clause

MOST_OPERATIONS = 100
"""More than anybody writes by hand, and few enough to be nested without end of the stack."""


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
        if _operations(clause) > MOST_OPERATIONS:
            raise OptionError(
                f"The hypothesis has more than {MOST_OPERATIONS} operations",
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
        if self.clause[0] not in (">=", ">"):
            return self.names[0] if len(self.names) == 1 else None
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
    if clause[0] == "and" and all(part[0] == ">=" and _is_plain(part[1]) for part in clause[1:]):
        return 1  # one value of a list
    return 1 + sum(_operations(part) for part in clause[1:])


def _is_plain(expression: Expression) -> bool:
    """Tell whether an expression is a column less a number, or the other way round."""
    kinds = {part.operation for part in expression.parts}
    return expression.operation == "-" and kinds == {"var", "const"}


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
