"""Conditions and sums over codes as parts of statements, built as trees and never as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from hartley.agent.questions.batch import All, Test
from hartley.engines.dialects.registry import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hartley.agent.questions.batch import Condition
    from hartley.engines.coded.coded_copy import CodedTable

WHOLE = 2**63
"""Sums below this fit into 64 bits; larger ones need 128 bits or decimal digits."""
LARGEST = 10**38
"""Every engine holds whole numbers below this exactly."""


@dataclass(frozen=True)
class RowMeasure:
    """What an engine computes for a set of rows: a count, a sum of products, an end of a form."""

    kind: str
    """count, sum, min or max."""
    terms: tuple[tuple[str, int], ...] = ()
    """For a sum, the columns of the product, one per factor; for an end, the form."""
    present: frozenset[str] = frozenset()
    """Columns that must have a value for a row to count."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the terms."""
        return tuple(column for column, _ in self.terms)


def number(value: int) -> exp.Expression:
    """Return a whole number."""
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


# --- conditions -------------------------------------------------------------------------------


def condition(coded: CodedTable, where: Condition) -> exp.Expression | None:
    """Return a condition that is TRUE for exactly these rows; None if it is TRUE for all."""
    if isinstance(where, Test):
        return _test(coded, where)
    parts = [condition(coded, part) for part in where.parts]
    if isinstance(where, All):
        return conjoined(parts)
    if None in parts:
        return None
    return disjoined([part for part in parts if part is not None])


def disjoined(parts: list[exp.Expression]) -> exp.Expression:
    """Return the condition that some part holds; FALSE if there is no part."""
    return _joined(exp.Or, parts) or exp.false()


def conjoined(parts: Iterable[exp.Expression | None]) -> exp.Expression | None:
    """Return the condition that all parts hold; None if there is none."""
    return _joined(exp.And, [part for part in parts if part is not None])


def present(coded: CodedTable, columns: Iterable[str]) -> exp.Expression | None:
    """Return the condition that no column is missing; None if none can be."""
    return conjoined(
        _not_null(coded.column(name)) for name in sorted(columns) if coded.coding(name).nullable
    )


def inside(value: exp.Expression, low: int, high: int) -> exp.Expression:
    """Return the condition that a value lies in a closed range."""
    if low == high:
        return exp.EQ(this=value, expression=number(low))
    return exp.Between(this=value, low=number(low), high=number(high))


def _joined(kind: type[exp.And | exp.Or], parts: list[exp.Expression]) -> exp.Expression | None:
    """Join conditions in a tree of the least depth."""
    # Neighbours are paired until one is left: a chain of a thousand ORs would be a thousand deep,
    # and DuckDB refuses expressions of that depth.
    while len(parts) > 1:
        pairs: list[exp.Expression] = [
            kind(this=_wrapped(kind, first), expression=_wrapped(kind, second))
            for first, second in zip(parts[::2], parts[1::2], strict=False)
        ]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0] if parts else None


def _wrapped(kind: type[exp.And | exp.Or], part: exp.Expression) -> exp.Expression:
    # sqlglot writes what the tree holds: an OR inside an AND gets no parentheses of its own.
    mixed = isinstance(part, exp.Connector) and not isinstance(part, kind)
    return exp.Paren(this=part) if mixed else part


def _not_null(column: exp.Expression) -> exp.Expression:
    return exp.Not(this=exp.Is(this=column, expression=exp.null()))


def _test(coded: CodedTable, test: Test) -> exp.Expression | None:
    coding = coded.coding(test.column)
    last = coding.points - 1
    if test.codes == ((0, last),):
        if test.missing or not coding.nullable:
            return None
        return _not_null(coded.column(test.column))
    parts = _ranges(coded, test, last)
    if test.missing:
        parts.append(exp.Is(this=coded.column(test.column), expression=exp.null()))
    return disjoined(parts)


def _ranges(coded: CodedTable, test: Test, last: int) -> list[exp.Expression]:
    column, codes = coded.column(test.column), test.codes
    # All codes but one: one comparison instead of two ranges.
    if len(codes) == 2 and (codes[0][0], codes[1][1]) == (0, last):
        (_, before), (after, _) = codes
        if after - before == 2:
            return [exp.NEQ(this=column, expression=number(before + 1))]
    lone = [low for low, high in codes if low == high]
    parts: list[exp.Expression] = []
    if len(lone) > 1:
        parts.append(exp.In(this=column, expressions=[number(code) for code in lone]))
    for low, high in codes:
        if low == high and len(lone) > 1:
            continue
        if low == high or (low > 0 and high < last):
            parts.append(inside(coded.column(test.column), low, high))
        elif low > 0:
            parts.append(exp.GTE(this=coded.column(test.column), expression=number(low)))
        else:
            parts.append(exp.LTE(this=coded.column(test.column), expression=number(high)))
    return parts


# --- aggregates -------------------------------------------------------------------------------


def aggregate(
    coded: CodedTable, measure: RowMeasure, where: Condition | None = None
) -> exp.Expression:
    """Return a measure of the rows of a condition, as a 64-bit integer if it fits.

    No sum can overflow: its largest value follows from the points of its columns and the number
    of rows, and beyond 64 bits it is taken in 128 bits or 38 decimal digits.
    """
    fits, needed = True, set(measure.present)
    if measure.kind == "count":
        # COUNT of a column leaves out missing values by itself, which spares a FILTER.
        counted = [column for column in needed if coded.coding(column).nullable]
        alone = len(counted) == 1
        call: exp.Expression = exp.Count(this=coded.column(counted[0]) if alone else exp.Star())
        needed -= set(counted) if alone else set()
    elif measure.kind == "sum":
        value, fits = _summand(coded, measure.columns)
        call = exp.Sum(this=value)
    else:
        end = form_value(coded, measure.terms)
        call = exp.Min(this=end) if measure.kind == "min" else exp.Max(this=end)
    # SUM, MIN and MAX skip rows in which their value is NULL, as a product or form is with one
    # column missing.
    needed -= set(measure.columns)
    row_filter = conjoined(
        [None if where is None else condition(coded, where), present(coded, needed)]
    )
    if row_filter is not None:
        call = exp.Filter(this=call, expression=exp.Where(this=row_filter))
    # DuckDB and PostgreSQL give sums back as 128-bit integers or decimals, which arrive as Python
    # objects; 64 bits arrive as an array.
    return cast(call, "BIGINT") if fits and measure.kind == "sum" else call


def _summand(coded: CodedTable, columns: tuple[str, ...]) -> tuple[exp.Expression, bool]:
    """Return a product of columns, wide enough, and whether its sum fits into 64 bits."""
    # int64 wraps silently in several engines. How large a sum can be follows from the schema and
    # the number of rows, so the width is chosen before anything is added.
    largest = math.prod(coded.coding(column).points - 1 for column in columns)
    fits = largest * coded.rows < WHOLE
    factors = [coded.column(column) for column in columns]
    value: exp.Expression = factors[0]
    if len(factors) > 1:
        if largest < WHOLE:
            # Codes are stored as narrow as they fit, and engines multiply in the type of a factor.
            kind = "INT" if largest < 2**31 else "BIGINT"
        else:
            # Wide enough for the product: DECIMAL(18,0) twice makes 36 digits, which 38 hold.
            kind = coded.dialect.wide_factor
        value = cast(factors[0], kind)
        for factor in factors[1:]:
            value = exp.Mul(this=value, expression=cast(factor, kind))
    if not fits and coded.dialect.wide_sum is not None:
        value = cast(value, coded.dialect.wide_sum)
    return value, fits


def form_value(coded: CodedTable, terms: tuple[tuple[str, int], ...]) -> exp.Expression:
    """Return the sum of coefficients times codes; a lone code is returned itself."""
    if len(terms) == 1 and terms[0][1] == 1:
        return coded.column(terms[0][0])
    value: exp.Expression | None = None
    for column, coefficient in terms:
        part = exp.Mul(this=number(coefficient), expression=cast(coded.column(column), "BIGINT"))
        value = part if value is None else exp.Add(this=value, expression=part)
    assert value is not None
    return value


def cast(value: exp.Expression, kind: str) -> exp.Expression:
    """Return a value as another kind of whole number."""
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect=EMBEDDED.sql))


def select(
    coded: CodedTable,
    keys: list[exp.Expression],
    values: list[exp.Expression],
    where: exp.Expression | None,
) -> exp.Select:
    """Return the statement that groups by keys and computes values: columns k0.., v0.."""
    named = [
        exp.Alias(this=value, alias=exp.Identifier(this=f"{letter}{i}", quoted=True))
        for letter, listed in (("k", keys), ("v", values))
        for i, value in enumerate(listed)
    ]
    query = exp.Select(expressions=named).from_(coded.relation(), copy=False)
    if where is not None:
        query.where(where, copy=False)
    return query.group_by(*(key.copy() for key in keys), copy=False)
