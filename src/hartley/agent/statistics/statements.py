"""Conditions and sums over codes as parts of statements, built as trees and never as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.agent.questions.batch import All, Test
from hartley.engines.coded.coded_copy import Cast, Part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hartley.agent.questions.batch import Condition
    from hartley.engines.coded.coded_copy import CodedTable, Term

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


# --- conditions -------------------------------------------------------------------------------


def condition(coded: CodedTable, where: Condition) -> Term | None:
    """Return a condition that is TRUE for exactly these rows; None if it is TRUE for all."""
    if isinstance(where, Test):
        return _test(coded, where)
    parts = [condition(coded, part) for part in where.parts]
    if isinstance(where, All):
        return conjoined(parts)
    if None in parts:
        return None
    return disjoined([part for part in parts if part is not None])


def disjoined(parts: list[Term]) -> Term:
    """Return the condition that some part holds; FALSE if there is no part."""
    return Part("false") if not parts else _joined("or", parts)


def conjoined(parts: Iterable[Term | None]) -> Term | None:
    """Return the condition that all parts hold; None if there is none."""
    held = [part for part in parts if part is not None]
    return _joined("and", held) if held else None


def present(coded: CodedTable, columns: Iterable[str]) -> Term | None:
    """Return the condition that no column is missing; None if none can be."""
    return conjoined(
        Part("is not null", (coded.column(name),))
        for name in sorted(columns)
        if coded.coding(name).nullable
    )


def inside(value: Term, low: int, high: int) -> Term:
    """Return the condition that a value lies in a closed range."""
    return Part("=", (value, low)) if low == high else Part("between", (value, low, high))


def _joined(kind: str, parts: list[Term]) -> Term:
    """Join conditions in a tree of the least depth."""
    # Neighbours are paired until one is left: a chain of a thousand ORs would be a thousand deep,
    # and DuckDB refuses expressions of that depth.
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [*(Part(kind, pair) for pair in pairs), *parts[len(parts) // 2 * 2 :]]
    return parts[0]


def _test(coded: CodedTable, test: Test) -> Term | None:
    coding = coded.coding(test.column)
    last = coding.points - 1
    if test.codes == ((0, last),):
        if test.missing or not coding.nullable:
            return None
        return Part("is not null", (coded.column(test.column),))
    parts = _ranges(coded, test, last)
    if test.missing:
        parts.append(Part("is null", (coded.column(test.column),)))
    return disjoined(parts)


def _ranges(coded: CodedTable, test: Test, last: int) -> list[Term]:
    column, codes = coded.column(test.column), test.codes
    # All codes but one: one comparison instead of two ranges.
    if len(codes) == 2 and (codes[0][0], codes[1][1]) == (0, last):
        (_, before), (after, _) = codes
        if after - before == 2:
            return [Part("<>", (column, before + 1))]
    lone = [low for low, high in codes if low == high]
    parts: list[Term] = []
    if len(lone) > 1:
        parts.append(Part("in", (column, *lone)))
    for low, high in codes:
        if low == high and len(lone) > 1:
            continue
        if low == high or (low > 0 and high < last):
            parts.append(inside(column, low, high))
        elif low > 0:
            parts.append(Part(">=", (column, low)))
        else:
            parts.append(Part("<=", (column, high)))
    return parts


# --- aggregates -------------------------------------------------------------------------------


def aggregate(coded: CodedTable, measure: RowMeasure, where: Condition | None = None) -> Term:
    """Return a measure of the rows of a condition, as a 64-bit integer if it fits.

    No sum can overflow: its largest value follows from the points of its columns and the number
    of rows, and beyond 64 bits it is taken in 128 bits or 38 decimal digits.
    """
    fits, needed = True, set(measure.present)
    if measure.kind == "count":
        # COUNT of a column leaves out missing values by itself, which spares a FILTER.
        counted = [column for column in needed if coded.coding(column).nullable]
        alone = len(counted) == 1
        call: Term = Part("count", (coded.column(counted[0]),)) if alone else Part("count rows")
        needed -= set(counted) if alone else set()
    elif measure.kind == "sum":
        value, fits = _summand(coded, measure.columns)
        call = Part("sum", (value,))
    else:
        call = Part(measure.kind, (form_value(coded, measure.terms),))
    # SUM, MIN and MAX skip rows in which their value is NULL, as a product or form is with one
    # column missing.
    needed -= set(measure.columns)
    row_filter = conjoined(
        [None if where is None else condition(coded, where), present(coded, needed)]
    )
    if row_filter is not None:
        call = Part("filter", (call, row_filter))
    # DuckDB and PostgreSQL give sums back as 128-bit integers or decimals, which arrive as Python
    # objects; 64 bits arrive as an array.
    return Cast(call, "BIGINT") if fits and measure.kind == "sum" else call


def _summand(coded: CodedTable, columns: tuple[str, ...]) -> tuple[Term, bool]:
    """Return a product of columns, wide enough, and whether its sum fits into 64 bits."""
    # int64 wraps silently in several engines. How large a sum can be follows from the schema and
    # the number of rows, so the width is chosen before anything is added.
    largest = math.prod(coded.coding(column).points - 1 for column in columns)
    fits = largest * coded.rows < WHOLE
    first, *others = [coded.column(column) for column in columns]
    value: Term = first
    if others:
        if largest < WHOLE:
            # Codes are stored as narrow as they fit, and engines multiply in the type of a factor.
            kind = "INT" if largest < 2**31 else "BIGINT"
        else:
            # Wide enough for the product: DECIMAL(18,0) twice makes 36 digits, which 38 hold.
            kind = coded.dialect.wide_factor
        value = Cast(first, kind)
        for factor in others:
            value = Part("*", (value, Cast(factor, kind)))
    if not fits and coded.dialect.wide_sum is not None:
        value = Cast(value, coded.dialect.wide_sum)
    return value, fits


def form_value(coded: CodedTable, terms: tuple[tuple[str, int], ...]) -> Term:
    """Return the sum of coefficients times codes; a lone code is returned itself."""
    if len(terms) == 1 and terms[0][1] == 1:
        return coded.column(terms[0][0])
    value: Term | None = None
    for column, coefficient in terms:
        part = Part("*", (coefficient, Cast(coded.column(column), "BIGINT")))
        value = part if value is None else Part("+", (value, part))
    assert value is not None
    return value
