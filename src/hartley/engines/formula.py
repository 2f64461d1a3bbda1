"""Arithmetic over columns as nested tuples, executed in the same order on every engine.

A tree is ("const", "1/3"), ("var", "height"), an operation and its arguments (``+ - * /``,
``neg``, ``abs``, ``sqrt``, ``min``, ``max``, ("pow", tree, n) with a natural n), or
("if", condition, then, else), where a condition is ("<", a, b), ("<=", a, b) or
("and", condition, condition). A missing number is neither below nor above another; what is
neither true nor false chooses nothing, and "and" is false as soon as one of the two is.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.errors import OptionError
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

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
LARGEST = 1.7976931348623157e308


def check_tree(tree: object, *, column: str) -> None:
    """Refuse a tree that not every engine would execute alike.

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


def nearest_double(number: Any, *, column: str) -> float:
    """Return the double nearest to a rational number, or say that there is none."""
    try:
        return float(number)
    except OverflowError:
        raise OptionError(
            f"A number given for column '{column}' is too large for any engine",
            hint="stay below 1e308",
        ) from None


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
    tree: Tree, inputs: Mapping[str, str], *, prefix: str
) -> Generator[dict[str, Any], Any, None]:
    """Compute a formula step by step; each part that is used twice is computed once.

    Every step names new columns and receives the rows that have them. A quotient by zero, a root
    of a negative number and a result that is not finite become NULL, and so does whatever needs
    them. The last step names the column ``prefix`` itself.

    Args:
        tree: the formula.
        inputs: for every column that it names, the column of the rows that holds its value.
        prefix: how the names of the new columns begin.
    """
    known: dict[Tree, str] = {("var", name): held for name, held in inputs.items()}
    rows = yield {}
    for level, group in enumerate(_levels(tree)):
        names = {part: f"{prefix}_{level}_{i}" for i, part in enumerate(group)}
        rows = yield {name: _value(part, rows, known) for part, name in names.items()}
        known |= names
    result = _value(tree, rows, known)
    yield {prefix: null_unless(result.abs() <= number(LARGEST), result)}


def number(value: float) -> Any:
    """Return a double as every engine reads it, exactly.

    Text is the one form that all read as the nearest double: DuckDB takes 0.1 for a decimal.
    """
    import ibis

    return ibis.literal(repr(value)).cast("float64")


def null_unless(condition: Any, value: Any) -> Any:
    """Return a value where a condition holds, and NULL elsewhere."""
    import ibis

    return ibis.cases((condition, value))


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


def _written(tree: Tree) -> tuple[int, ...]:
    """Return how often an operation writes each of its operands down."""
    operation = tree[0]
    if operation == "if":
        return 2, 1, 1
    times = {"min": 2, "max": 2, "sqrt": 2, "pow": tree[-1]}.get(operation, 1)
    return (times,) * len(_parts(tree))


def _levels(tree: Tree) -> Iterator[list[Tree]]:
    """Group the parts that are used more than once, so that a part needs earlier groups only."""
    used: Counter[Tree] = Counter({tree: 2})  # the last step looks at the result twice
    level: dict[Tree, int] = {}

    def visit(part: Tree) -> None:
        if part in level:
            return
        operands = _parts(part)
        for operand, times in zip(operands, _written(part), strict=True):
            used[operand] += times
            visit(operand)
        level[part] = 1 + max((level[operand] for operand in operands), default=-1)

    visit(tree)
    shared = [part for part in level if level[part] and used[part] > 1]
    for depth in sorted({level[part] for part in shared}):
        yield [part for part in shared if level[part] == depth]


# --- execution --------------------------------------------------------------------------------


def _value(tree: Tree, rows: Any, known: Mapping[Tree, str]) -> Any:
    """Return a part of a formula as an expression over the rows."""
    if tree in known:
        return rows[known[tree]]
    operation = tree[0]
    if operation == "const":
        return number(float(parse_number(tree[1], name="a constant")))
    operands = [_value(part, rows, known) for part in _parts(tree)]
    if operation == "pow":
        return _power(operands[0], tree[2])
    return _OPERATIONS[operation](*operands)


def _choose(holds: Any, then: Any, otherwise: Any) -> Any:
    """Choose by a condition; an undecided one chooses nothing."""
    import ibis

    return ibis.cases((holds, then), (~holds, otherwise))


def _power(base: Any, power: int) -> Any:
    """Multiply again and again, in one order: the engines' own powers differ in the last digit."""
    if power == 0:
        return null_unless(base.notnull(), number(1.0))
    result = base
    for _ in range(power - 1):
        result = result * base
    return result


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other.nullif(number(0.0)),
    "neg": lambda one: -one,
    "abs": lambda one: one.abs(),
    "sqrt": lambda one: null_unless(one >= number(0.0), one).sqrt(),
    "min": lambda one, other: _choose(one <= other, one, other),
    "max": lambda one, other: _choose(one >= other, one, other),
    "if": _choose,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    "and": lambda one, other: one & other,
}
