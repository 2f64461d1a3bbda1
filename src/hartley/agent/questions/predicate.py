"""From a WHERE clause to the rows where it is TRUE, in SQL's three-valued logic.

A predicate divides the rows into three: TRUE, FALSE, and unknown if a missing value is compared.
NOT swaps TRUE and FALSE and leaves the unknown; so a clause is read together with the truth value
that is wanted, and each comparison becomes the codes that give that value. Comparisons use the
values of the schema: those of the table after clamping and snapping.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.batch import Test
from hartley.agent.questions.condition import (
    EVERY,
    NONE,
    absent,
    complement,
    conjoin,
    disjoin,
    passing,
    present,
    united,
)
from hartley.agent.questions.linear import ONE, read_linear
from hartley.agent.questions.scope import BARE
from hartley.agent.questions.statement import unexpected
from hartley.agent.questions.values import category_codes, numeric_codes, strip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hartley.agent.questions.batch import Condition
    from hartley.agent.questions.linear import LinearExpression
    from hartley.agent.questions.scope import Scope
    from hartley.ranges.schema.schema import Column

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
}
MIRRORED = {"LT": "GT", "LTE": "GTE", "GT": "LT", "GTE": "LTE"}


def read_predicate(scope: Scope, node: Any, *, truth: bool = True) -> Condition:  # noqa: ANN401 - a tree
    """Return the rows where a predicate is TRUE, or those where it is FALSE."""
    kind = type(node).__name__
    if kind in COMPARISONS:
        return _comparison(scope, node, node.this, kind, node.expression, truth=truth)
    if kind not in READERS:
        raise scope.refuse(node)
    return READERS[kind](scope, node, truth=truth)


def _inside(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
    return read_predicate(scope, node.this, truth=truth)


def _not(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
    return read_predicate(scope, node.this, truth=not truth)


def _and(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
    parts = [read_predicate(scope, part, truth=truth) for part in _chain(node)]
    return (conjoin if truth else disjoin)(parts, scope.schema.columns)


def _or(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
    parts = [read_predicate(scope, part, truth=truth) for part in _chain(node)]
    return (disjoin if truth else conjoin)(parts, scope.schema.columns)


def _boolean(_: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
    return EVERY if bool(node.this) == truth else NONE


def _chain(node: Any) -> list[Any]:  # noqa: ANN401 - a part of a tree
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
    node: Any,  # noqa: ANN401 - a part of a tree
    left: Any,  # noqa: ANN401 - likewise
    sign: str,
    right: Any,  # noqa: ANN401 - likewise
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


def _category(scope: Scope, node: Any) -> Column | None:  # noqa: ANN401 - a part of a tree
    from sqlglot import exp

    if not isinstance(node, exp.Column):
        return None
    column = scope.column(node)
    return None if column.numeric else column


def _linear(
    scope: Scope,
    node: Any,  # noqa: ANN401 - a part of a tree
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


def _between(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
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


def _in(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
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


def _is(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
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


def _truth_column(scope: Scope, node: Any, *, truth: bool) -> Condition:  # noqa: ANN401 - a tree
    """Return the rows where a column of truth values is TRUE, or FALSE."""
    column = scope.column(node)
    values = column.values or ()
    if not values or column.other or not all(isinstance(value, bool) for value in values):
        raise scope.refuse(node, f"compare it, for example {column.name} = ...; {BARE}")
    return passing(column, [(i, i) for i, value in enumerate(values) if value == truth])


READERS: dict[str, Callable[..., Condition]] = {
    "Paren": _inside,
    "Not": _not,
    "And": _and,
    "Or": _or,
    "Between": _between,
    "In": _in,
    "Is": _is,
    "Boolean": _boolean,
    "Column": _truth_column,
}
