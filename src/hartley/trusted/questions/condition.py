"""Conditions in a normal form, so that different spellings of a set of rows are one object.

A condition is a positive tree of tests: nested parts of one kind are flattened, the tests of one
column on one level are merged into one, parts that always or never hold are resolved, and the rest
is sorted. Equal trees are equal sets of rows; two spellings of a condition over one column, or of a
conjunction of such conditions, always give equal trees.
"""

from __future__ import annotations

import operator
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from hartley.trusted.questions.batch import All, Either, Test
from hartley.trusted.questions.parsing import BARE, unexpected
from hartley.trusted.questions.terms import ONE, category_codes, numeric_codes, read_linear, strip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hartley.schema.schema import Column
    from hartley.trusted.questions.batch import Condition, Form
    from hartley.trusted.questions.parsing import Node, Scope
    from hartley.trusted.questions.terms import LinearExpression


# --- condition ------------------------------------------------------------------------------------


Ranges = tuple[tuple[int, int], ...]
"""Closed ranges of codes, in order, neither overlapping nor adjacent."""

EVERY = All()
"""Every row."""
NONE = Either()
"""No row."""


def passing(
    column: Column, codes: Iterable[tuple[int, int]], *, missing: bool = False
) -> Condition:
    """Return the rows whose code of one column lies in closed ranges, or is missing.

    Example:
        >>> from hartley.schema.schema import Column
        >>> ward = Column("ward", "public", values=("a", "b", "c"), nullable=True)
        >>> passing(ward, [(2, 9), (1, 1)])
        Test(column='ward', codes=((1, 2),), missing=False)
        >>> passing(ward, [(0, 2)], missing=True) == EVERY
        True
    """
    ranges = united((max(low, 0), min(high, column.points - 1)) for low, high in codes)
    missing = missing and column.nullable
    if not ranges and not missing:
        return NONE
    if ranges == ((0, column.points - 1),) and (missing or not column.nullable):
        return EVERY
    return Test(column.name, ranges, missing)


def present(column: Column) -> Condition:
    """Return the rows that have a value in a column."""
    return passing(column, [(0, column.points - 1)])


def absent(column: Column) -> Condition:
    """Return the rows that have no value in a column."""
    return passing(column, [], missing=True)


def united(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort and merge closed ranges of whole numbers; a range with low > high is empty.

    Example:
        >>> united([(4, 5), (0, 1), (2, 3), (9, 8)])
        ((0, 5),)
    """
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for pair in ranges if pair[0] <= pair[1]):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


def shared(first: Ranges, second: Ranges) -> Ranges:
    """Return the intersection of two unions of closed ranges, in linear time.

    Example:
        >>> shared(((0, 4), (6, 9)), ((3, 7),))
        ((3, 4), (6, 7))
    """
    common, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        low, high = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if low <= high:
            common.append((low, high))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def complement(codes: Ranges, column: Column) -> Ranges:
    """Return the codes of a column that lie in none of the ranges.

    Example:
        >>> from hartley.schema.schema import Column
        >>> complement(((1, 2),), Column("ward", "public", values=("a", "b", "c", "d")))
        ((0, 0), (3, 3))
    """
    starts = [0, *(high + 1 for _, high in codes)]
    ends = [*(low - 1 for low, _ in codes), column.points - 1]
    return united(zip(starts, ends, strict=True))


def conjoin(parts: Iterable[Condition], columns: Mapping[str, Column]) -> Condition:
    """Return the rows that pass every part, in normal form; the parts are in normal form already.

    Example:
        >>> from hartley.schema.schema import Column
        >>> ward = Column("ward", "public", values=("a", "b", "c"))
        >>> conjoin([passing(ward, [(0, 1)]), passing(ward, [(1, 2)])], {"ward": ward})
        Test(column='ward', codes=((1, 1),), missing=False)
    """
    tests: dict[str, Test] = {}
    rest: list[Condition] = []
    for part in _flat(parts, All):
        if isinstance(part, Test):
            old = tests.get(part.column)
            new: Condition = part
            if old is not None:
                codes, missing = shared(old.codes, part.codes), old.missing and part.missing
                new = passing(columns[part.column], codes, missing=missing)
            if new == NONE:
                return NONE
            assert isinstance(new, Test)
            tests[part.column] = new
        elif part == NONE:
            return NONE
        else:
            rest.append(part)
    parts_in_order = _sorted([*tests.values(), *rest])
    return parts_in_order[0] if len(parts_in_order) == 1 else All(parts_in_order)


def disjoin(parts: Iterable[Condition], columns: Mapping[str, Column]) -> Condition:
    """Return the rows that pass some part, in normal form; the parts are in normal form already.

    Example:
        >>> from hartley.schema.schema import Column
        >>> ward = Column("ward", "public", values=("a", "b", "c"))
        >>> disjoin([passing(ward, [(0, 1)]), passing(ward, [(1, 2)])], {"ward": ward}) == EVERY
        True
    """
    tests: dict[str, list[Test]] = {}
    rest: list[Condition] = []
    for part in _flat(parts, Either):
        if isinstance(part, Test):
            tests.setdefault(part.column, []).append(part)
        elif part == EVERY:
            return EVERY
        else:
            rest.append(part)
    for name, listed in tests.items():
        codes = [pair for test in listed for pair in test.codes]
        merged = passing(columns[name], codes, missing=any(test.missing for test in listed))
        if merged == EVERY:
            return EVERY
        rest.append(merged)
    parts_in_order = _sorted(rest)
    return parts_in_order[0] if len(parts_in_order) == 1 else Either(parts_in_order)


def code_bounds(condition: Condition, column: Column) -> tuple[int, int] | None:
    """Return bounds of the codes of a column among the rows of a condition; None if it has none.

    Outer bounds: every row of the condition that has a value in the column keeps them.

    Example:
        >>> from hartley.schema.schema import Column
        >>> ward = Column("ward", "public", values=("a", "b", "c", "d"))
        >>> [code_bounds(each, ward) for each in (Test("ward", ((0, 0), (2, 2))), EVERY, NONE)]
        [(0, 2), (0, 3), None]
    """
    if isinstance(condition, Test):
        if condition.column != column.name:
            return 0, column.points - 1
        return (condition.codes[0][0], condition.codes[-1][1]) if condition.codes else None
    parts = [code_bounds(part, column) for part in condition.parts]
    if isinstance(condition, Either):
        bounds = [part for part in parts if part is not None]
        return (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else None
    low, high = 0, column.points - 1
    for part in parts:
        if part is None:
            return None
        low, high = max(low, part[0]), min(high, part[1])
    return (low, high) if low <= high else None


def form_bounds(
    condition: Condition, form: Form, columns: Mapping[str, Column]
) -> tuple[int, int] | None:
    """Return bounds of a form among the rows of a condition; None if there is certainly none."""
    least = most = form.constant
    for name, coefficient in form.terms:
        codes = code_bounds(condition, columns[name])
        if codes is None:
            return None
        ends = sorted(coefficient * code for code in codes)
        least, most = least + ends[0], most + ends[1]
    return least, most


def _flat(parts: Iterable[Condition], kind: type[All | Either]) -> Iterable[Condition]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts  # in normal form, so no part of it is of its own kind
        else:
            yield part


def _sorted(parts: Iterable[Condition]) -> tuple[Condition, ...]:
    return tuple(sorted(dict.fromkeys(parts), key=_place))


def _place(condition: Condition) -> tuple[Any, ...]:
    if isinstance(condition, Test):
        return 0, condition.column, condition.codes, condition.missing
    return 1 + isinstance(condition, Either), tuple(_place(part) for part in condition.parts)


# --- as an OR of conjunctions: which records can count, for the price and for the engine alike ---

MOST_TERMS = 64
"""A filter that is an OR of more conjunctions than this is priced without being examined."""

Leaf: TypeAlias = tuple[tuple[tuple[int, int], ...], bool]
"""The codes that pass, and whether a missing value does."""

Conjunction: TypeAlias = tuple[tuple[str, Leaf], ...]
"""A conjunction: one leaf per column, in the order of the columns' names."""


class Coded(Protocol):
    """A column as a schema or a coded copy describes it: codes 0 to points - 1."""

    @property
    def points(self) -> int:
        """How many codes there are."""

    @property
    def nullable(self) -> bool:
        """Whether a value may be missing."""


def conjunctions(condition: Condition) -> tuple[Conjunction, ...] | None:
    """Write a condition as an OR of conjunctions; None if there are too many.

    Example:
        >>> from hartley.trusted.questions.batch import Either
        >>> adult, north = Test("age", ((18, 99),)), Test("region", ((0, 0),))
        >>> [len(term) for term in conjunctions(All((adult, Either((north, adult)))))]
        [2, 1]
    """
    terms = _expand(condition)
    return None if terms is None else tuple(tuple(sorted(term.items())) for term in terms)


def _expand(condition: Condition) -> list[dict[str, Leaf]] | None:
    if isinstance(condition, Test):
        leaf = (condition.codes, condition.missing)
        return [] if leaf == ((), False) else [{condition.column: leaf}]
    parts = [_expand(part) for part in condition.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if not isinstance(condition, All):
        terms = [term for part in known for term in part]
        return terms if len(terms) <= MOST_TERMS else None
    if prod(len(part) for part in known) > MOST_TERMS:
        return None
    return [term for chosen in product(*known) if (term := _join(chosen)) is not None]


def _join(terms: Iterable[dict[str, Leaf]]) -> dict[str, Leaf] | None:
    """Return the conjunction of terms; None if it never holds."""
    joined: dict[str, Leaf] = {}
    for term in terms:
        for column, leaf in term.items():
            if column in joined:
                codes, missing = joined[column]
                leaf = (shared(codes, leaf[0]), missing and leaf[1])  # noqa: PLW2901 - both of them
            joined[column] = leaf
    return None if ((), False) in joined.values() else joined


def possible_terms(
    condition: Condition, form: Form | None, columns: Mapping[str, Coded]
) -> tuple[Conjunction, ...] | None:
    """Return the conjunctions that some record with all columns of the form satisfies.

    None if there are too many conjunctions to look into. Columns take their codes freely, so a
    conjunction is satisfied by some record exactly if each of its leaves is.
    """
    terms = conjunctions(condition)
    if terms is None:
        return None
    there: dict[str, Leaf] = {
        name: (((0, columns[name].points - 1),), False)
        for name, _ in (form.terms if form else ())
        if columns[name].nullable
    }
    if there:
        joined = (_join((dict(term), there)) for term in terms)
        terms = tuple(tuple(sorted(term.items())) for term in joined if term is not None)
    return tuple(term for term in terms if all(_passable(columns[c], leaf) for c, leaf in term))


def _passable(column: Coded, leaf: Leaf) -> bool:
    """Whether some value of a column passes a leaf."""
    codes, missing = leaf
    return (missing and column.nullable) or any(
        low <= high and low < column.points and high >= 0 for low, high in codes
    )


def about_nobody(condition: Condition, form: Form | None, columns: Mapping[str, Coded]) -> bool:
    """Whether it is certain, by the columns alone, that no record ever counts for a question.

    Such a question has the same answer for all data: prices leave it out, and no engine is asked.
    It is decided here for both, so that they cannot differ. If there are too many conjunctions, it
    is not decided: the engine is asked, and the price covers every answer.
    """
    return possible_terms(condition, form, columns) == ()


# --- predicate ------------------------------------------------------------------------------------
# From a WHERE clause to the rows where it is TRUE, in SQL's three-valued logic.
#
# A predicate divides the rows into three: TRUE, FALSE, and unknown if a missing value is
# compared. NOT swaps TRUE and FALSE and leaves the unknown; so a clause is read together with the
# truth value that is wanted, and each comparison becomes the codes that give that value.
# Comparisons use the values of the schema: those of the table after clamping and snapping.

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
}
MIRRORED = {"LT": "GT", "LTE": "GTE", "GT": "LT", "GTE": "LTE"}


def read_predicate(scope: Scope, node: Node, *, truth: bool = True) -> Condition:
    """Return the rows where a predicate is TRUE, or those where it is FALSE."""
    kind = type(node).__name__
    if kind in COMPARISONS:
        return _comparison(scope, node, node.this, kind, node.expression, truth=truth)
    if kind not in READERS:
        raise scope.refuse(node)
    return READERS[kind](scope, node, truth=truth)


def _chained(scope: Scope, node: Node, *, truth: bool, every: bool) -> Condition:
    parts = [read_predicate(scope, part, truth=truth) for part in _chain(node)]
    return (conjoin if truth == every else disjoin)(parts, scope.schema.columns)


def _chain(node: Node) -> list[Any]:
    """List the parts of a long AND or OR without deep recursion."""
    kind, parts = type(node), []
    while type(node) is kind:
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def _chosen(column: Column, codes: Iterable[tuple[int, int]], *, truth: bool) -> Condition:
    """Return the rows where a comparison is TRUE or FALSE, from the codes where it is TRUE."""
    ranges = united(codes)
    return passing(column, ranges if truth else complement(ranges, column))


def _comparison(  # noqa: PLR0913 - the parts of one comparison
    scope: Scope,
    node: Node,
    left: Node,
    sign: str,
    right: Node,
    *,
    truth: bool,
) -> Condition:
    left, right = strip(left), strip(right)
    category = _category(scope, left)
    if category is None and (category := _category(scope, right)) is not None:
        left, right, sign = right, left, MIRRORED.get(sign, sign)
    if category is not None:
        codes = category_codes(scope, node, category, sign, COMPARISONS[sign], right)
        return _chosen(category, codes, truth=truth)
    difference = read_linear(scope, left).plus(read_linear(scope, right), -ONE)
    return _linear(scope, node, difference, sign, truth=truth)


def _category(scope: Scope, node: Node) -> Column | None:
    from sqlglot import exp

    if not isinstance(node, exp.Column):
        return None
    column = scope.column(node)
    return None if column.numeric else column


def _linear(
    scope: Scope,
    node: Node,
    difference: LinearExpression,
    sign: str,
    *,
    truth: bool,
) -> Condition:
    """Return the rows where the difference of two sides, compared with zero, gives the truth."""
    if len(difference.terms) > 1:
        raise scope.refusal(
            f"'{scope.spelled(node)}' compares columns with each other",
            "compare one column with constants, for example age >= 40",
            node,
        )
    if difference.days:
        raise scope.refusal(
            f"'{scope.spelled(node)}' compares a date with something that is not a date",
            "compare a date column with DATE '2020-01-31'",
            node,
        )
    if not difference.terms:
        return EVERY if COMPARISONS[sign](difference.constant, 0) == truth else NONE
    ((name, coefficient),) = difference.terms
    column = scope.schema.columns[name]
    if coefficient < 0:
        sign = MIRRORED.get(sign, sign)
    if not coefficient:
        holds = COMPARISONS[sign](difference.constant, 0)
        return _chosen(column, [(0, column.points - 1)] if holds else [], truth=truth)
    bound = -difference.constant if coefficient == 1 else -difference.constant / coefficient
    return _chosen(column, numeric_codes(scope, node, column, sign, bound), truth=truth)


def _between(scope: Scope, node: Node, *, truth: bool) -> Condition:
    if unexpected(node, "this", "low", "high"):
        raise scope.refusal(
            "BETWEEN SYMMETRIC is not answered", "write the smaller end first, without it", node
        )
    value = node.this
    ends = [
        _comparison(scope, node, value, sign, node.args[end], truth=truth)
        for sign, end in (("GTE", "low"), ("LTE", "high"))
    ]
    return (conjoin if truth else disjoin)(ends, scope.schema.columns)


def _in(scope: Scope, node: Node, *, truth: bool) -> Condition:
    from sqlglot import exp

    if node.args.get("query") is not None:
        raise scope.refusal("A subquery is not answered", "write the values themselves", node)
    if unexpected(node, "this", "expressions") or not node.expressions:
        raise scope.refusal(
            "IN is not followed by a list", "write the values: column IN ('a', 'b')", node
        )
    for value in node.expressions:
        if isinstance(strip(value), exp.Null):
            raise scope.refusal(
                "NULL in a list never matches, and makes NOT IN never TRUE",
                "leave it out and add OR column IS NULL",
                node,
            )
    columns = scope.schema.columns
    equalities = [
        _comparison(scope, node, node.this, "EQ", v, truth=True) for v in node.expressions
    ]
    matched = disjoin(equalities, columns)
    if truth:
        return matched
    if isinstance(matched, Test):  # a long list is complemented once, not value by value
        column = columns[matched.column]
        return passing(column, complement(matched.codes, column))
    parts = [_comparison(scope, node, node.this, "EQ", v, truth=False) for v in node.expressions]
    return conjoin(parts, columns)


def _is(scope: Scope, node: Node, *, truth: bool) -> Condition:
    from sqlglot import exp

    value, column = strip(node.this), None
    if isinstance(value, exp.Column) and not unexpected(node, "this", "expression"):
        column = scope.column(value)
        if isinstance(node.expression, exp.Null):
            return absent(column) if truth else present(column)
        if isinstance(node.expression, exp.Boolean):
            passed = _truth_column(scope, value, truth=bool(node.expression.this))
            if truth:
                return passed
            failed = _truth_column(scope, value, truth=not node.expression.this)
            return disjoin([failed, absent(column)], scope.schema.columns)
    raise scope.refusal(
        f"'{scope.spelled(node)}' is not answered",
        "write IS NULL and IS NOT NULL after a column, IS TRUE and IS FALSE after a column of "
        "truth values",
        node,
    )


def _truth_column(scope: Scope, node: Node, *, truth: bool) -> Condition:
    """Return the rows where a column of truth values is TRUE, or FALSE."""
    column = scope.column(node)
    values = column.values or ()
    if not values or column.other or not all(isinstance(value, bool) for value in values):
        raise scope.refuse(node, f"compare it, for example {column.name} = ...; {BARE}")
    return passing(column, [(i, i) for i, value in enumerate(values) if value == truth])


READERS: dict[str, Callable[..., Condition]] = {
    "Paren": lambda scope, node, *, truth: read_predicate(scope, node.this, truth=truth),
    "Not": lambda scope, node, *, truth: read_predicate(scope, node.this, truth=not truth),
    "And": partial(_chained, every=True),
    "Or": partial(_chained, every=False),
    "Between": _between,
    "In": _in,
    "Is": _is,
    "Boolean": lambda _, node, *, truth: EVERY if bool(node.this) == truth else NONE,
    "Column": _truth_column,
}
