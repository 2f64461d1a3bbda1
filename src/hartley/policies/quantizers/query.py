"""What a policy quantizes: an expression over the columns of a row, or one number of a table."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from hartley.errors import OptionError
from hartley.files import one_line
from hartley.ranges.boxes.expression import Expression, parse_expression

Function = Literal["mean", "total"]


@dataclass(frozen=True)
class Aggregate:
    """The mean or the total of a column over all people: one number for a whole table.

    Example:
        >>> print(Aggregate("mean", "height"))
        mean(height)
    """

    function: Function
    column: str

    def __str__(self) -> str:
        return f"{self.function}({self.column})"


Query: TypeAlias = Expression | Aggregate
"""What is quantized: row by row, or over a whole table."""


def parse_query(text: str) -> Query:
    """Read a query: the mean or total of one column, or an expression over columns of a row.

    An expression in which a mean or total of one column is only a part is refused: read row by
    row it would say something else, and release more than it was certified for.

    Example:
        >>> parse_query("mean(height)")
        Aggregate(function='mean', column='height')
        >>> print(parse_query("x1**2 + 2*x2**2"))
        x1**2 + 2*x2**2
        >>> parse_query("mean(height) + 1")
        Traceback (most recent call last):
            ...
        hartley.errors.OptionError: The query 'mean(height) + 1' uses the mean of a column as a \
part; hint: ask for mean(COLUMN) alone, and compute with the released value
    """
    stripped = text.strip()
    for function in get_args(Function):
        inner = _argument(stripped, function)
        if inner is not None:
            return Aggregate(function, inner)
    _refuse_parts(text)
    return parse_expression(text)


def _argument(text: str, function: str) -> str | None:
    """Return the column that a function is applied to, or None where the text is another."""
    name, bracket, rest = text.partition("(")
    if name.strip() != function or not bracket or not rest.endswith(")"):
        return None
    inner = rest[:-1].strip()
    plain = inner and not any(letter in inner for letter in "()+-*/,<>=")
    return inner if plain and not inner[0].isdigit() else None


def _refuse_parts(text: str) -> None:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return  # said better where it is read
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in (*get_args(Function), "sum") and len(node.args) == 1:
            called = "total" if node.func.id == "sum" else node.func.id
            raise OptionError(
                f"The query '{one_line(text)}' uses the {called} of a column as a part",
                hint=f"ask for {called}(COLUMN) alone, and compute with the released value",
            )
