"""Arithmetic over columns as nested tuples, executed in the same order on every engine.

A tree is ("const", "1/3"), ("var", "height"), an operation and its arguments (``+ - * /``,
``neg``, ``abs``, ``sqrt``, ``min``, ``max``, ("pow", tree, n) with a natural n), or
("if", condition, then, else), where a condition is ("<", a, b), ("<=", a, b) or
("and", condition, condition). A condition chooses nothing where a number that it compares is
missing.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.engines.dialects.dialect import null_unless, number
from hartley.engines.maps.cell_rules import nearest_double
from hartley.errors import OptionError
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from hartley.engines.dialects.dialect import Dialect

Tree: TypeAlias = tuple[Any, ...]
"""Nested tuples of plain values."""

SHAPES = {
    "const": "v",
    **dict.fromkeys(("neg", "abs", "sqrt"), "v"),
    **dict.fromkeys(("+", "-", "*", "/", "min", "max", "<", "<="), "vv"),
    "and": "cc",
    "if": "cvv",
}
"""What an operation is applied to: values and conditions."""
CONDITIONS = ("<", "<=", "and")
MOST_POWER = 64
MOST_COPIES = 4
"""A part inside a choice is repeated at most this often, to be computed only where it is chosen."""
LARGEST = 1.7976931348623157e308


def check_tree(tree: object, *, column: str) -> None:
    """Raise an error for a formula that not every engine would execute in the same way.

    Example:
        >>> check_tree(("exp", ("var", "x")), column="x")
        Traceback (most recent call last):
            ...
        hartley.errors.OptionError: The formula for column 'x' uses exp, whose last digit differs \
between engines; hint: use + - * /, natural powers, abs, min, max and sqrt
    """
    operation = tree[0] if isinstance(tree, tuple) and tree else None
    if operation in ("exp", "log"):
        raise OptionError(
            f"The formula for column '{column}' uses {operation}, whose last digit differs between "
            "engines",
            hint="use + - * /, natural powers, abs, min, max and sqrt",
        )
    if not _is_well_formed(tree):
        raise OptionError(
            f"The formula for column '{column}' holds a part that is not known",
            hint="use + - * /, natural powers, abs, min, max, sqrt and if",
        )
    if operation == "const":
        constant = parse_number(tree[1], name=f"a constant of the formula for column '{column}'")  # type: ignore[index]  # well formed
        nearest_double(constant, column=column)
    for part in _parts(tree):
        check_tree(part, column=column)


def names_of(tree: Tree) -> tuple[str, ...]:
    """Return the columns that a formula reads, in the order of their first appearance.

    Example:
        >>> names_of(("-", ("var", "weight"), ("pow", ("var", "height"), 2)))
        ('weight', 'height')
    """
    if tree[0] == "var":
        return (tree[1],)
    return tuple(dict.fromkeys(name for part in _parts(tree) for name in names_of(part)))


def formula_steps(
    dialect: Dialect,
    tree: Tree,
    inputs: Mapping[str, str],
    *,
    prefix: str,
    bounded: bool = False,
) -> Generator[dict[str, Any], Any, Any]:
    """Compute a formula step by step; each part that is used twice is computed once.

    Every step names new columns and receives the rows that have them. A quotient by zero, a root
    of a negative number and a result that is not finite become NULL, and so does everything that
    needs them. The last step names the column ``prefix`` itself.

    Args:
        dialect: of the engine, which divides.
        tree: the formula.
        inputs: for every column that it names, the column of the rows that holds its value.
        prefix: how the names of the new columns begin.
        bounded: whether every part has a finite value wherever all inputs have one. Then missing
            inputs are looked for once, at the end, and not in every choice.
    """
    known: dict[Tree, str] = {("var", name): held for name, held in inputs.items()}
    rows = yield {}
    for level, group in enumerate(_levels(tree, bounded=bounded)):
        names = {part: f"{prefix}_{level}_{i}" for i, part in enumerate(group)}
        new = {
            name: _value(dialect, part, rows, known, bounded=bounded)
            for part, name in names.items()
        }
        rows = yield new
        known |= names
    result = _value(dialect, tree, rows, known, bounded=bounded)
    if bounded:
        present = [rows[held].notnull() for held in inputs.values()]
        return (yield {prefix: null_unless(functools.reduce(operator.and_, present), result)})
    return (yield {prefix: null_unless(result.abs() <= number(LARGEST), result)})


# --- the tree ---------------------------------------------------------------------------------


def _is_well_formed(tree: object) -> bool:
    if not isinstance(tree, tuple) or not tree:
        return False
    operation, *arguments = tree
    shape = "".join("c" if _is_condition(part) else "v" for part in arguments)
    if operation == "var":
        return shape == "v" and isinstance(arguments[0], str)
    if operation == "pow":
        return shape == "vv" and arguments[1] in range(MOST_POWER + 1)
    return shape == SHAPES.get(operation)


def _is_condition(tree: object) -> bool:
    return isinstance(tree, tuple) and bool(tree) and tree[0] in CONDITIONS


def _parts(tree: object) -> tuple[Tree, ...]:
    """Return the trees that a tree is made of."""
    if not isinstance(tree, tuple) or not tree or tree[0] in ("const", "var"):
        return ()
    return tree[1:2] if tree[0] == "pow" else tree[1:]


def _written(tree: Tree, *, bounded: bool) -> tuple[int, ...]:
    """Return how often an operation writes each of its operands down."""
    operation, parts = tree[0], _parts(tree)
    if operation in ("min", "max"):
        return (2, 1) if parts[1][0] == "const" else (3, 2)
    if operation in ("<", "<=") and not bounded:  # perhaps asked as well whether they are there
        return tuple(2 if part in _sources(part) else 1 for part in parts)
    return ({"sqrt": 2, "pow": tree[-1]}.get(operation, 1),) * len(parts)


def _sources(tree: Tree) -> tuple[Tree, ...]:
    """Return the parts of a formula that are missing if and only if it is."""
    operation, parts = tree[0], _parts(tree)
    total = operation in ("+", "-", "*", "neg", "abs", "pow", "min", "max", "<", "<=", "and")
    if total or operation == "const" or _divides_by_constant(tree):
        return tuple(dict.fromkeys(source for part in parts for source in _sources(part)))
    return (tree,)


def _divides_by_constant(tree: Tree) -> bool:
    return tree[0] == "/" and tree[2][0] == "const" and _constant(tree[2]) != 0


def _levels(tree: Tree, *, bounded: bool) -> Iterator[list[Tree]]:
    """Group the parts that are computed once, so that a part needs earlier groups only.

    Those are the parts that are written down more than once, save where all of that happens in a
    choice of an "if": there they stay, a few copies at most, and are computed in the rows that
    choose them alone.
    """
    level: dict[Tree, int] = {}

    def visit(part: Tree) -> None:
        if part in level:
            return
        for operand in _parts(part):
            visit(operand)
        level[part] = 1 + max((level[operand] for operand in _parts(part)), default=-1)

    visit(tree)
    looks = 1 if bounded else 2  # the last step asks as well whether the result is finite
    always, copies = Counter({tree: looks}), Counter({tree: looks})
    shared = []
    for part in sorted(level, key=level.__getitem__, reverse=True):  # what needs a part goes first
        chosen = always[part] == 0
        if level[part] and (copies[part] > MOST_COPIES if chosen else always[part] > 1):
            shared.append(part)
            always[part] = copies[part] = 1
        operands = zip(_parts(part), _written(part, bounded=bounded), strict=True)
        for place, (operand, times) in enumerate(operands):
            copies[operand] += times * copies[part]
            lazily = part[0] == "if" and place > 0
            always[operand] += 0 if lazily or always[part] == 0 else times * always[part]
    for depth in sorted({level[part] for part in shared}):
        yield [part for part in shared if level[part] == depth]


# --- execution --------------------------------------------------------------------------------


def _value(
    dialect: Dialect, tree: Tree, rows: Any, known: Mapping[Tree, str], *, bounded: bool
) -> Any:
    """Return a part of a formula as an expression over the rows."""
    operation = tree[0]
    if tree in known or operation == "const":
        return rows[known[tree]] if tree in known else number(_constant(tree))
    operands = [_value(dialect, part, rows, known, bounded=bounded) for part in _parts(tree)]
    if operation == "if":
        holds, then, otherwise = operands
        sources = [part for part in _sources(tree[1]) if part != tree[3] and not bounded]
        needed = [_value(dialect, part, rows, known, bounded=bounded) for part in sources]
        return _choose(holds, then, otherwise, needed)
    if operation in ("min", "max"):
        constant = bounded or tree[2][0] == "const"
        return _extreme(operation, *operands, constant=constant)
    if operation == "pow":
        return _power(operands[0], tree[2])
    if operation == "/":
        dividend, divisor = operands
        safe = divisor if _divides_by_constant(tree) else divisor.nullif(number(0.0))
        return dialect.divide(dividend, safe)
    return _OPERATIONS[operation](*operands)


def _constant(tree: Tree) -> float:
    return float(parse_number(tree[1], name="a constant"))


def _choose(holds: Any, then: Any, otherwise: Any, needed: Sequence[Any]) -> Any:
    """Choose by a condition; where something that it needs is missing, nothing."""
    import ibis

    if not needed:
        return ibis.ifelse(holds, then, otherwise)
    decided = functools.reduce(operator.and_, (value.notnull() for value in needed))
    return ibis.cases((holds, then), (decided, otherwise))


def _extreme(operation: str, a: Any, b: Any, *, constant: bool) -> Any:
    """Choose the more extreme of two numbers; NULL if one is missing."""
    import ibis

    if constant:
        return ibis.ifelse(a > b if operation == "min" else a < b, b, a)
    first = a <= b if operation == "min" else a >= b
    return ibis.cases((first, a), (a.notnull(), b))


def _power(base: Any, power: int) -> Any:
    """Multiply again and again, in one order: the engines' own powers differ in the last digit."""
    if power == 0:
        return null_unless(base.notnull(), number(1.0))
    result = base
    for _ in range(power - 1):
        result = result * base
    return result


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": lambda a: a.abs(),
    "sqrt": lambda a: null_unless(a >= number(0.0), a).sqrt(),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "and": lambda a, b: a & b,
}
