"""The parts of a SELECT list: keys of the groups, and aggregates of linear forms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.linear import LinearExpression, read_linear
from hartley.agent.questions.selection import NumberKind
from hartley.agent.questions.statement import unexpected
from hartley.agent.questions.values import strip

if TYPE_CHECKING:
    from hartley.agent.questions.scope import Scope

SPREADS = {
    "Variance": (NumberKind.VARIANCE, True),
    "VariancePop": (NumberKind.VARIANCE, False),
    "Stddev": (NumberKind.DEVIATION, True),
    "StddevSamp": (NumberKind.DEVIATION, True),
    "StddevPop": (NumberKind.DEVIATION, False),
}
PLAIN = {"Sum": NumberKind.SUM, "Avg": NumberKind.AVERAGE}
ENDS = {"Min": Fraction(0), "Median": Fraction(1, 2), "Max": Fraction(1)}
QUANTILES = ("Quantile", "PercentileDisc", "WithinGroup")


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate: the statistic, and the number of each row that it is computed from."""

    kind: NumberKind
    linear: LinearExpression | None
    """The number of each row; None if rows are counted."""
    present: tuple[str, ...]
    """The columns that must have a value for a row to count."""
    quantile: Fraction | None = None
    sample: bool = False


def is_aggregate(node: Any) -> bool:  # noqa: ANN401 - a part of a tree
    """Tell whether a part of a SELECT list is an aggregate by its name."""
    names = ("Count", *PLAIN, *SPREADS, *ENDS, *QUANTILES)
    return type(node).__name__ in names


def read_aggregate(scope: Scope, node: Any) -> AggregateCall:  # noqa: ANN401 - a part of a tree
    """Read one aggregate, or refuse it by name."""
    name = type(node).__name__
    if name == "Count":
        return _count(scope, node)
    if name in QUANTILES:
        return _quantile(scope, node)
    if unexpected(node, "this"):
        raise scope.refusal(
            f"'{scope.spelled(node)}' has more than one argument",
            "give one column or one sum of columns, for example AVG(a + 2*b)",
            node,
        )
    if name in ENDS:
        return _of(scope, node, node.this, NumberKind.ORDER, quantile=ENDS[name])
    if name in PLAIN:
        return _of(scope, node, node.this, PLAIN[name])
    kind, sample = SPREADS[name]
    return _of(scope, node, node.this, kind, sample=sample)


def _count(scope: Scope, node: Any) -> AggregateCall:  # noqa: ANN401 - a part of a tree
    from sqlglot import exp

    inside = strip(node.this)
    if isinstance(inside, exp.Distinct):
        raise scope.refusal(
            "COUNT(DISTINCT ...) is not answered",
            "count the rows of each declared value: SELECT COUNT(*) ... GROUP BY column",
            node,
        )
    if unexpected(node, "this", "big_int"):
        raise scope.refusal("COUNT takes one column", "write COUNT(*) or COUNT(column)", node)
    if isinstance(inside, exp.Star) and not unexpected(inside):
        return AggregateCall(NumberKind.COUNT, None, ())
    if isinstance(inside, exp.Literal) and not inside.is_string:
        return AggregateCall(NumberKind.COUNT, None, ())
    if isinstance(inside, exp.Column):
        return AggregateCall(NumberKind.COUNT, None, (scope.column(inside).name,))
    raise scope.refusal(
        f"'{scope.spelled(node)}' does not count a column", "write COUNT(*) or COUNT(column)", node
    )


def _quantile(scope: Scope, node: Any) -> AggregateCall:  # noqa: ANN401 - a part of a tree
    from sqlglot import exp

    if isinstance(node, exp.WithinGroup):
        value, share = _within_group(scope, node)
    else:
        value, share = node.this, node.args.get("quantile") or node.args.get("expression")
    if unexpected(node, "this", "quantile", "expression") or share is None:
        raise scope.refusal(
            f"'{scope.spelled(node)}' has no share", "write QUANTILE(column, 0.9)", node
        )
    number = read_linear(scope, share)
    if number.terms or number.days or not 0 <= number.constant <= 1:
        raise scope.refusal(
            f"'{scope.spelled(share)}' is not a share between 0 and 1",
            "write QUANTILE(column, 0.9) for the value that 90 % do not exceed",
            share,
        )
    return _of(scope, node, value, NumberKind.ORDER, quantile=number.constant)


def _within_group(scope: Scope, node: Any) -> tuple[Any, Any]:  # noqa: ANN401 - a part of a tree
    from sqlglot import exp

    inside, order = node.this, node.expression
    keys = order.expressions if isinstance(order, exp.Order) else []
    if not isinstance(inside, exp.PercentileDisc):
        raise scope.refuse(inside)
    if len(keys) != 1 or keys[0].args.get("desc") or unexpected(inside, "this"):
        raise scope.refusal(
            f"'{scope.spelled(node)}' is not answered",
            "write PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY column), or QUANTILE(column, 0.9)",
            node,
        )
    return keys[0].this, inside.this


def _of(  # noqa: PLR0913 - what makes an aggregate
    scope: Scope,
    node: Any,  # noqa: ANN401 - a part of a tree
    value: Any,  # noqa: ANN401 - likewise
    kind: NumberKind,
    *,
    quantile: Fraction | None = None,
    sample: bool = False,
) -> AggregateCall:
    linear = read_linear(scope, value)
    if not any(coefficient for _, coefficient in linear.terms):
        raise scope.refusal(
            f"'{scope.spelled(node)}' depends on no column",
            "name a numeric column, or count rows with COUNT(*)",
            node,
        )
    dated = kind in (NumberKind.ORDER, NumberKind.AVERAGE) and linear.days == 1
    if (
        linear.days
        and not dated
        and kind is not NumberKind.VARIANCE
        and kind is not NumberKind.DEVIATION
    ):
        raise scope.refusal(
            f"'{scope.spelled(node)}' adds up dates",
            "for dates use COUNT, MIN, MAX, MEDIAN, QUANTILE or AVG, or a difference of two dates",
            node,
        )
    names = tuple(name for name, _ in linear.terms)
    return AggregateCall(kind, linear, names, quantile, sample)
