"""What an engine does to a column: cells, lookups, formulas, steps."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.engines.cells import (
    MOST_BUCKETS,
    MOST_COMPARED,
    CutCells,
    EqualCellGrid,
    UniformCells,
    as_doubles,
    clamp,
    cut_lists,
    list_item,
    locate_steps,
    nearest_double,
    search_steps,
    set_range,
    with_lists,
)
from hartley.engines.dialect import LARGEST_DOUBLE, null_unless, number
from hartley.engines.table import Kind
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.tables.view import run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from hartley.engines.cells import Steps
    from hartley.engines.dialect import Dialect
    from hartley.engines.table import Table


# --- arithmetic over columns as nested tuples, executed in the same order on every engine ---------
#
# A tree is ("const", "1/3"), ("var", "height"), an operation and its arguments (``+ - * /``,
# ``neg``, ``abs``, ``sqrt``, ``min``, ``max``, ("pow", tree, n) with a natural n), or ("if",
# condition, then, else), where a condition is ("<", a, b), ("<=", a, b) or ("and", condition,
# condition). A condition chooses nothing where a number that it compares is missing.

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
CONDITIONS = (("<",), ("<=",), ("and",))
MOST_POWER = 64
MOST_COPIES = 4
"""A part inside a choice is repeated at most this often, to be computed only where it is chosen."""


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
    """Return the columns that a formula reads, in the order of their first appearance."""
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
    return (yield {prefix: null_unless(result.abs() <= number(LARGEST_DOUBLE), result)})


def _is_well_formed(tree: object) -> bool:
    if not isinstance(tree, tuple) or not tree:
        return False
    operation, *arguments = tree
    conditions = [isinstance(part, tuple) and part[:1] in CONDITIONS for part in arguments]
    shape = "".join("c" if condition else "v" for condition in conditions)
    if operation == "var":
        return shape == "v" and isinstance(arguments[0], str)
    if operation == "pow":
        return shape == "vv" and arguments[1] in range(MOST_POWER + 1)
    return shape == SHAPES.get(operation)


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
    """Group the parts that are computed once, so that a part needs earlier groups only."""
    # Those are the parts that are written down more than once, save where all of that happens in a
    # choice of an "if": there they stay, a few copies at most, and are computed in the rows that
    # choose them alone.
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


def _value(
    dialect: Dialect, tree: Tree, rows: Any, known: Mapping[Tree, str], *, bounded: bool
) -> Any:
    """Return a part of a formula as an expression over the rows."""
    import ibis

    operation = tree[0]
    if tree in known or operation == "const":
        return rows[known[tree]] if tree in known else number(_constant(tree))
    operands = [_value(dialect, part, rows, known, bounded=bounded) for part in _parts(tree)]
    if operation == "if":  # where something that the condition needs is missing, nothing
        holds, then, otherwise = operands
        sources = [part for part in _sources(tree[1]) if part != tree[3] and not bounded]
        needed = [_value(dialect, part, rows, known, bounded=bounded) for part in sources]
        decided = [value.notnull() for value in needed]
        other = (functools.reduce(operator.and_, decided), otherwise) if decided else None
        return ibis.cases((holds, then), other) if other else ibis.ifelse(holds, then, otherwise)
    if operation in ("min", "max"):
        return _extreme(operation, *operands, constant=bounded or tree[2][0] == "const")
    if operation == "pow":
        return _power(operands[0], tree[2])
    if operation != "/":
        return _OPERATIONS[operation](*operands)
    dividend, divisor = operands
    safe = divisor if _divides_by_constant(tree) else divisor.nullif(number(0.0))
    return dialect.divide(dividend, safe)


def _constant(tree: Tree) -> float:
    return float(parse_number(tree[1], name="a constant"))


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
    return functools.reduce(operator.mul, [base] * power)


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


# --- rules for releasing columns, which every engine executes in the same way ---------------------
#
# A map is a list of rules, one per released column. A column that no rule names is NOT released.
# Every engine computes the same doubles, bit for bit: a rule uses comparisons and IEEE sums,
# products, quotients and square roots in a fixed order, and its numbers reach the engine as text.
#
# NULL stays NULL, and NaN is released as NULL; both are counted as missing. Minus zero is
# released as zero. Infinite values lie outside every range. Rows keep the order in which the
# engine gives them.


@dataclass(frozen=True)
class Lookup:
    """Categories: a value becomes its label.

    A value that no group names becomes ``other``; without one the release is refused. Labels are
    all text, all whole numbers or all truth values. On the embedded engine as many comparisons a
    row as the number of values has binary digits, elsewhere one look-up a label.
    """

    column: str
    groups: tuple[tuple[object, object], ...]
    other: object | None = None

    def __post_init__(self) -> None:
        keys = [key for key, _ in self.groups]
        others = [] if self.other is None else [self.other]
        labels = [*(label for _, label in self.groups), *others]  # not self.labels: of any type
        for what, items in (("values", keys), ("labels", labels)):
            if len({type(item) for item in items}) != 1 or type(items[0]) not in (str, int, bool):
                raise OptionError(
                    f"The {what} of the groups for column '{self.column}' are not all text, all "
                    "whole numbers or all truth values",
                    hint="write them in one form; to keep a column as it is, use Keep",
                )
        if len(set(keys)) < len(keys):
            raise OptionError(
                f"A value stands in two groups of column '{self.column}'",
                hint="name every value once",
            )
        if any(isinstance(item, int) and abs(item) >= 2**53 for item in (*keys, *self.labels)):
            raise OptionError(
                f"A number in the groups for column '{self.column}' is too large to be exact",
                hint="stay below 2**53, or write codes as text",
            )

    @property
    def labels(self) -> tuple[object, ...]:
        """Everything that can be released, in the order of its first appearance."""
        named = [label for _, label in self.groups]
        return tuple(dict.fromkeys([*named, *([] if self.other is None else [self.other])]))


@dataclass(frozen=True)
class Formula:
    """A column released as arithmetic over columns, in doubles and in a fixed order.

    ``tree`` is what ``hartley.tables.release_rules`` describes. The column is clamped to [low,
    high] first, and so is every other column that the formula names and for which the map has a
    rule with a range. A row in which the formula is undefined is released as NULL and counted. exp
    and log are refused: their last digit differs between engines. PostgreSQL stops where a product
    is too small or too large for a double.
    """

    column: str
    tree: Tree
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        set_range(self, self.low, self.high)
        check_tree(self.tree, column=self.column)


@dataclass(frozen=True)
class Quantized:
    """Arithmetic over columns whose result is put into cells; only the cell is released.

    ``tree`` is computed as by ``Formula``, in doubles and in a fixed order, over columns that are
    clamped where the map declares their ranges; the result is clamped to the range of the cells.
    """

    column: str
    """The name under which it is released; the table need not have it."""
    tree: Tree
    cells: UniformCells | CutCells

    def __post_init__(self) -> None:
        check_tree(self.tree, column=self.column)

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        return self.cells.low

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        return self.cells.high


@dataclass(frozen=True)
class Keep:
    """A column released unchanged, or clamped to a range and then released as a double."""

    column: str
    low: Fraction | None = None
    high: Fraction | None = None

    def __post_init__(self) -> None:
        if self.low is not None or self.high is not None:
            set_range(self, self.low, self.high)


class ProgramRule:
    """A rule that executes itself: it says what it reads, computes, counts and refuses."""

    column: str
    """The name under which it is released, and of the column that it reads."""

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        raise NotImplementedError

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        raise NotImplementedError

    def inputs(self, table: Table, i: int) -> dict[str, Any]:
        """Return the columns of the table that rule number i reads, under names of its own."""
        raise NotImplementedError

    def steps(self, table: Table, i: int) -> Generator[dict[str, Any], Any, None]:
        """Return the program that computes the result, column ``r``."""
        raise NotImplementedError

    def counted(self, table: Table, rows: Any, i: int) -> dict[str, Any]:
        """Return what is counted besides missing values and those outside the range, by name."""
        raise NotImplementedError

    @property
    def leaves_out_unfit(self) -> bool:
        """Whether NULL is released exactly where something does not fit, all of it refused.

        Such a table need not be counted before it is written: the NULLs written show it.
        """
        return False

    def refuse(self, row: Mapping[str, Any], i: int) -> None:
        """Refuse a table by what was counted of it."""
        raise NotImplementedError


Rule: TypeAlias = UniformCells | CutCells | Lookup | Formula | Quantized | Keep | ProgramRule
"""How one column is released."""


def range_of(rule: Rule) -> tuple[float, float] | None:
    """Return the range to which a rule clamps its column, as doubles, or None."""
    if isinstance(rule, Lookup) or rule.low is None or rule.high is None:
        return None
    return float(rule.low), float(rule.high)


# --- whether the numbers of a column are multiples of a step, and so not continuous ---------------

DECIMALS, BINARY_DIGITS = 10**14, 2**46
"""A step is looked for as long as the range has at most so many of them.

Doubles are about a hundred times finer, so that fewer than four in a hundred numbers without a
step lie on one by chance."""
LATTICE_STEPS = 2**19
"""A lattice is searched for up to this many of its least distances; rounding hides a finer one."""
FIRST_ROWS = 2**16
"""So many rows are looked at first."""
PARTS, TOLERANCE = 60, 0.01
"""The least distance may be up to six steps; so near must a number be to a sixtieth of it."""
MOST_EXPONENT = 290
"""Powers of ten and of two beyond these would overflow on some engine."""


@dataclass(frozen=True)
class StepEvidence:
    """Evidence of a step in a column; only numbers strictly inside the range count."""

    inside: int
    rounded: int
    """Those that are short decimals or short binary fractions."""
    repeated: int
    """Rows less different values."""

    @property
    def shows_step(self) -> bool:
        """Whether a tenth is rounded, or one in a thousand occurs again.

        Of numbers without a step nearly none are rounded and none occur twice.
        """
        return 10 * self.rounded >= self.inside > 0 or 1000 * self.repeated > self.inside


def look_for_step(table: Table, name: str, low: Fraction, high: Fraction) -> StepEvidence:
    """Look for a step in a column of numbers, by two queries on the engine that holds it.

    A number x is a decimal of k digits exactly if it is the double nearest to round(x 10^k) / 10^k:
    with at most 15 digits the product rounds to the right integer, and the quotient is correctly
    rounded. Likewise for k binary digits, where the product itself is exact. So each row is
    decided exactly. A step that no such fraction is a multiple of (a third, a pound in
    kilograms) shows in values that occur again.
    """
    values, dialect, largest = (
        _inside(table, name, low, high),
        table.dialect,
        max(abs(low), abs(high)),
    )
    tens, twos = _exponent(largest, 10, DECIMALS), _exponent(largest, 2, BINARY_DIGITS)
    half, scale = number(0.5), number(10.0 ** abs(tens))
    if tens >= 0:
        decimal = dialect.divide(dialect.floor(values.x * scale + half), scale) == values.x
    else:
        decimal = dialect.floor(dialect.divide(values.x, scale) + half) * scale == values.x
    binary = values.x * number(2.0**twos)
    on_step = decimal | (dialect.floor(binary) == binary)
    query = values.aggregate(inside=values.count(), rounded=on_step.sum())
    row = run(table, query.to_pyarrow).to_pylist()[0]
    # By itself: beside other aggregates, DuckDB counts different values in one thread.
    different = int(run(table, dialect.count_distinct(values.x).to_pyarrow).as_py())
    inside = int(row["inside"])
    return StepEvidence(inside, rounded=int(row["rounded"] or 0), repeated=inside - different)


def least_distance(table: Table, name: str, low: Fraction, high: Fraction) -> float | None:
    """Return the least distance between two numbers strictly inside a range, None without two."""
    return _spacing(table, _inside(table, name, low, high))[2]


def lie_on_lattice(table: Table, name: str, low: Fraction, high: Fraction) -> bool:
    """Tell whether the numbers of a column are whole multiples of some step apart.

    For steps that neither decimals nor repeated values show, such as pounds in kilograms when all
    weigh differently. Of numbers without a step one in fifty fits by chance; nine in ten have to,
    beside the two that give the distance. Fewer than four different numbers show nothing.
    """
    inside, largest = _inside(table, name, low, high), max(abs(low), abs(high))

    def too_close(least: float | None) -> bool:
        return least is not None and least * LATTICE_STEPS < largest

    # All numbers together lie no further apart than some of them. In a column without a step a few
    # are close enough, so that sorting all of a long one is rare.
    if too_close(_spacing(table, inside.limit(FIRST_ROWS))[2]):
        return False
    different, first, least = _spacing(table, inside)
    if different < 4 or least is None or too_close(least):
        return False
    values = inside.distinct()
    dialect = table.dialect
    steps = dialect.divide(values.x - number(first), number(least / PARTS))
    on_lattice = (steps - dialect.floor(steps + number(0.5))).abs() <= number(TOLERANCE)
    fitting = int(run(table, values.filter(on_lattice).count().to_pyarrow).as_py())
    return 10 * (fitting - 2) >= 9 * (different - 2)


def count_at_ends(table: Table, name: str, low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return how many numbers of a column lie at or beyond either end of a range."""
    values = table.expression.select(x=as_doubles(table, name))
    values = values.filter(values.x.notnull(), ~values.x.isnan())
    query = values.aggregate(
        below=(values.x <= number(float(low))).sum(), above=(values.x >= number(float(high))).sum()
    )
    row = run(table, query.to_pyarrow).to_pylist()[0]
    return int(row["below"] or 0), int(row["above"] or 0)


def _spacing(table: Table, values: Any) -> tuple[int, float, float | None]:
    """Return how many different numbers there are, the first, and the least distance."""
    different = values.distinct()
    paired = table.dialect.with_previous(different, "x", "previous")
    apart = paired.mutate(d=paired.x - paired.previous)
    query = apart.aggregate(different=apart.count(), first=apart.x.min(), least=apart.d.min())
    row = run(table, query.to_pyarrow).to_pylist()[0]
    return int(row["different"]), float(row["first"] or 0.0), row["least"]


def _inside(table: Table, name: str, low: Fraction, high: Fraction) -> Any:
    """Return the numbers of a column strictly inside a range, as one column of doubles."""
    values = table.expression.select(x=as_doubles(table, name))
    # NaN is above every number on some engines and compares with none on others.
    return values.filter(
        values.x.notnull(),
        ~values.x.isnan(),
        values.x > number(float(low)),
        values.x < number(float(high)),
    )


def _exponent(largest: Fraction, base: int, most: int) -> int:
    """Return the largest k with largest * base^k <= most."""
    exponent = 0
    while largest * Fraction(base) ** (exponent + 1) <= most and exponent < MOST_EXPONENT:
        exponent += 1
    while largest * Fraction(base) ** exponent > most and exponent > -MOST_EXPONENT:
        exponent -= 1
    return exponent


# --- labels of categories: nested cases, or lists on engines that search lists faster -------------


def label_steps(table: Table, rule: Lookup, value: str, result: str) -> Steps:
    """Label categories in the fastest way that an engine has."""
    lists = label_lists(table, rule)
    if not lists:
        return look_up_steps(rule, value, result)
    if "keys" in lists:
        return search_label_steps(table.dialect, rule, value, result)
    return index_steps(rule, value, result)


def label_lists(table: Table, rule: Lookup) -> dict[str, Sequence[Any]]:
    """Return the lists in which labels are looked up, by name; none where cases are quicker.

    Of integers that lie close together every one has a label or a hole. Else the values in order,
    the label of each and, of numbers, the starts of the buckets of a grid. Text is ordered by code
    points here and by its bytes on the engine, which is the same.
    """
    if not table.dialect.searches_lists or len(rule.groups) <= MOST_COMPARED:
        return {}
    pairs: list[Any] = sorted(rule.groups)
    keys, labels = zip(*pairs, strict=True)
    if isinstance(keys[0], str):
        return {"keys": keys, "labels": labels}
    if table.kind(rule.column) is Kind.INTEGER and keys[-1] - keys[0] < MOST_BUCKETS:
        known = dict(pairs)
        return {"labels": [known.get(key) for key in range(keys[0], keys[-1] + 1)]}
    edges = number_edges(rule)
    return {"keys": edges[:-1], "labels": labels, "starts": EqualCellGrid.over(edges).starts}


def look_up_steps(rule: Lookup, value: str, result: str) -> Steps:
    """Label the values group by group; the column ``_unknown`` marks the others."""
    rows = yield {}
    members: dict[object, list[object]] = {}
    for key, label in rule.groups:
        members.setdefault(label, []).append(key)
    cases = [(rows[value].isin(keys), _literal(label)) for label, keys in members.items()]
    is_listed = rows[value].isin([key for key, _ in rule.groups])
    yield _labelled(rule, rows[value], result, cases, is_listed)


def index_steps(rule: Lookup, value: str, result: str) -> Steps:
    """Label integers by their place in a list of all labels, ``_labels``."""
    import ibis

    rows = yield {}
    pairs: list[Any] = list(rule.groups)
    low, high = min(key for key, _ in pairs), max(key for key, _ in pairs)
    label, within = f"{result}_label", rows[value].between(low, high)
    item = list_item(type_of(rule.labels[0]))
    listed_label = item(
        rows[f"{result}_labels"], rows[value].cast("int64") - ibis.literal(low - 1, "int64")
    )
    if high - low + 1 == len(pairs):
        yield _labelled(rule, rows[value], result, [(within, listed_label)], within)
        return
    rows = yield {label: null_unless(within, listed_label)}
    known = rows[label].notnull()
    yield _labelled(rule, rows[value], result, [(known, rows[label])], known)


def search_label_steps(dialect: Dialect, rule: Lookup, value: str, result: str) -> Steps:
    """Label the values by a search in a sorted list of them, ``_keys``."""
    import ibis

    keys, labels, starts = (f"{result}_{name}" for name in ("keys", "labels", "starts"))
    at, hit, label = f"{result}_at", f"{result}_found", f"{result}_label"
    kind = "string" if isinstance(rule.groups[0][0], str) else "float64"
    if kind == "string":
        rows = yield {at: ibis.literal(1, type="int64")}
        rows = yield from search_steps(rows, len(rule.groups) - 1, kind, (value, keys, at))
    else:
        edges, near = number_edges(rule), f"{result}_near"
        rows = yield {}
        rows = yield {near: clamp(rows[value].cast(kind), edges[0], edges[-1])}
        rows = yield from locate_steps(
            dialect, rows, EqualCellGrid.over(edges), (near, keys, starts), at
        )
    rows = yield {
        hit: list_item(kind)(rows[keys], rows[at]) == rows[value].cast(kind),
        label: list_item(type_of(rule.labels[0]))(rows[labels], rows[at]),
    }
    yield _labelled(rule, rows[value], result, [(rows[hit], rows[label])], rows[hit])


def number_edges(rule: Lookup) -> list[float]:
    """Return numbers as the lower edges of cells, and an edge above them all."""
    pairs: list[Any] = list(rule.groups)
    keys = sorted(float(key) for key, _ in pairs)
    return [*keys, keys[-1] + 1]


def type_of(item: object) -> str:
    """Return the type of the column that holds such an item."""
    return {str: "string", int: "int64", bool: "boolean"}[type(item)]


def _labelled(
    rule: Lookup, value: Any, result: str, cases: list[tuple[Any, Any]], is_listed: Any
) -> dict[str, Any]:
    import ibis

    others = [] if rule.other is None else [(value.notnull(), _literal(rule.other))]
    return {
        result: ibis.cases(*cases, *others),
        f"{result}_unknown": value.notnull() & ~is_listed,
    }


def _literal(label: object) -> Any:
    import ibis

    return ibis.literal(label, type=type_of(label))


def as_executed(rule: Rule) -> Rule:
    """Return a rule as engines execute it: equal cells that are too fine are listed."""
    if isinstance(rule, Quantized) and isinstance(rule.cells, UniformCells):
        return rule if rule.cells.fits else replace(rule, cells=rule.cells.as_cuts())
    return rule.as_cuts() if isinstance(rule, UniformCells) and not rule.fits else rule


def join_lists(table: Table, rows: Any, rules: Sequence[Rule]) -> Any:
    """Add the lists that the rules search to every row."""
    # A join by value would be quicker for categories, but loses the order of the rows.
    lists: dict[str, Sequence[Any]] = {}
    for i, rule in enumerate(rules):
        cells = rule.cells if isinstance(rule, Quantized) else rule
        if isinstance(rule, Lookup):
            lists |= {f"r{i}_{name}": items for name, items in label_lists(table, rule).items()}
        if isinstance(cells, CutCells):
            for end, same in ({"": cells} | ends_of(cells)).items():
                start = f"r{i}_{end}_" if end else f"r{i}_"
                lists |= {start + name: items for name, items in cut_lists(table, same).items()}
    return with_lists(rows, lists)


def ends_of(cells: CutCells) -> dict[str, CutCells]:
    """Return cells released as the first and as the last declared value in each, if any are."""
    ends = zip(("first", "last"), zip(*cells.spans, strict=True), strict=False)
    return {end: replace(cells, values=tuple(map(float, at)), spans=()) for end, at in ends}
