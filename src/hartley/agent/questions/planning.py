"""Planning: the fewest integer statistics from which the aggregates of groups can be computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.agent.questions.aggregate import AggregateCall
from hartley.agent.questions.batch import Form, Question, Statistic
from hartley.agent.questions.condition import (
    EVERY,
    NONE,
    about_nobody,
    conjoin,
    form_reach,
    present,
)
from hartley.agent.questions.selection import Item, NumberKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.agent.questions.batch import Condition
    from hartley.agent.questions.linear import LinearExpression
    from hartley.agent.questions.scope import Scope
    from hartley.ranges.schema.schema import Column


LARGEST_ROW = 2**62
"""No form of a row is as large as this, nor any part of it: 64-bit integers hold it."""
LARGEST_TOTAL = 10**37
"""No total is larger than this: 128-bit integers and decimals of 38 digits hold it."""
LARGEST_SCALE = Fraction(10**60)
"""No factor or constant of an answer is larger, nor a factor smaller than one over this."""
SMALLEST_SCALE = 1 / LARGEST_SCALE


@dataclass(frozen=True)
class CodedForm:
    """A form of codes, and how its whole numbers become values: scale times form, plus shift."""

    form: Form
    scale: Fraction
    shift: Fraction
    least: int
    """The smallest value of the form, by the schema."""
    most: int


def coded(
    linear: LinearExpression, columns: Mapping[str, Column], *, signed: bool = True
) -> CodedForm:
    """Return a form that begins at 0, for statistics that a constant does not change.

    If not `signed`, the direction of the values is kept: a median of -a is not one of a.

    Example:
        >>> from hartley.agent.questions.linear import LinearExpression
        >>> from hartley.ranges.schema.schema import Column
        >>> low, high, step = Fraction(100), Fraction(250), Fraction(1, 2)
        >>> height = Column("h", "private", low=low, high=high, step=step)
        >>> twice = LinearExpression((("h", Fraction(2)),), Fraction(3), Fraction(0))
        >>> found = coded(twice, {"h": height})
        >>> found.form  # 2 h + 3 is 1 k + 203
        Form(terms=(('h', 1),), constant=0, unit=Fraction(1, 2))
        >>> found.scale, found.shift, found.least, found.most
        (Fraction(1, 1), Fraction(203, 1), 0, 300)
    """
    factor, terms, unit, offset = _primitive(linear, columns, signed=signed)
    constant = -sum(min(0, c * (columns[name].points - 1)) for name, c in terms)
    shift = factor * (offset - unit * constant if constant else offset) + linear.constant
    most = constant + sum(max(0, c * (columns[name].points - 1)) for name, c in terms)
    return CodedForm(Form(terms, constant, unit), factor * unit, shift, 0, most)


def natural(linear: LinearExpression, columns: Mapping[str, Column]) -> CodedForm:
    """Return a form that is the value itself, up to a factor, for sums of an unknown number.

    Example:
        >>> from hartley.agent.questions.linear import LinearExpression
        >>> from hartley.ranges.schema.schema import Column
        >>> low, high, step = Fraction(100), Fraction(250), Fraction(1, 2)
        >>> height = Column("h", "private", low=low, high=high, step=step)
        >>> twice = LinearExpression((("h", Fraction(2)),), Fraction(0), Fraction(0))
        >>> found = natural(twice, {"h": height})
        >>> found.form, found.scale, found.least, found.most
        (Form(terms=(('h', 1),), constant=200, unit=Fraction(1, 2)), Fraction(1, 1), 200, 500)
    """
    factor, terms, unit, offset = _primitive(linear, columns, signed=True)
    total = offset + linear.constant / factor
    fine = _divisor(unit, total)
    constant = int(total / fine)
    finer = tuple((name, c * int(unit / fine)) for name, c in terms)
    ends = [sorted((0, c * (columns[name].points - 1))) for name, c in finer]
    least, most = (constant + sum(pair[side] for pair in ends) for side in (0, 1))
    return CodedForm(Form(finer, constant, fine), factor * fine, Fraction(0), least, most)


def _primitive(
    linear: LinearExpression, columns: Mapping[str, Column], *, signed: bool
) -> tuple[Fraction, tuple[tuple[str, int], ...], Fraction, Fraction]:
    """Return factor, coefficients, unit and offset: factor (unit sum c k + offset) + constant."""
    nonzero = [(name, value) for name, value in linear.terms if value]
    factor = nonzero[0][1] if signed else abs(nonzero[0][1])
    if len(nonzero) == 1 and nonzero[0][1] == factor:
        name, _ = nonzero[0]
        low, step = columns[name].low, columns[name].step
        assert low is not None
        assert step is not None
        return factor, ((name, 1),), step, low
    steps, offset = [], Fraction(0)
    for name, value in nonzero:
        column = columns[name]
        assert column.low is not None
        assert column.step is not None
        steps.append(value / factor * column.step)
        offset += value / factor * column.low
    unit = reduce(_divisor, steps, Fraction(0))
    terms = tuple((name, int(s / unit)) for (name, _), s in zip(nonzero, steps, strict=True))
    return factor, terms, unit, offset


def _divisor(first: Fraction, second: Fraction) -> Fraction:
    """Return the greatest common divisor of two rationals; every number divides zero."""
    numerator = math.gcd(first.numerator * second.denominator, second.numerator * first.denominator)
    return Fraction(numerator, first.denominator * second.denominator)


def fits(measure: CodedForm, columns: Mapping[str, Column], rows: int, *, power: int = 1) -> bool:
    """Tell whether every engine can hold the form of every row and its total over all rows."""
    form = measure.form
    parts = [abs(form.constant), *(abs(c) * columns[name].points for name, c in form.terms)]
    largest = max(abs(measure.least), abs(measure.most))
    if not SMALLEST_SCALE < abs(measure.scale) < LARGEST_SCALE > abs(measure.shift):
        return False
    return sum(parts) < LARGEST_ROW and max(rows, 1) * largest**power <= LARGEST_TOTAL


Wanted: TypeAlias = tuple[str, tuple[int, int], AggregateCall]
"""A name in the answer, its place in the text, and what is wanted."""


class QuestionPlan:
    """Collects items and questions; a question that two items need is asked once.

    A constant added to a column changes a sum by that constant per row. So if the number of rows
    is known or asked for anyway, the sum of codes that begin at 0 is asked for, and an average, a
    variance and a sum share it.
    """

    def __init__(self, scope: Scope, rows: int) -> None:
        self.scope, self.rows = scope, rows
        self.columns = scope.schema.columns
        self.items: list[Item] = []
        self.places: dict[Question, int] = {}

    def add(self, group: int, condition: Condition, wanted: Sequence[Wanted]) -> None:
        """Plan the aggregates of one group."""
        wheres = [self._where(condition, want) for _, _, want in wanted]
        counted = {
            where
            for where, (_, _, want) in zip(wheres, wanted, strict=True)
            if want.kind not in (NumberKind.SUM, NumberKind.ORDER)
        }
        for where, (label, place, want) in zip(wheres, wanted, strict=True):
            if want.linear is None:
                self.items.append(
                    Item(
                        label,
                        group,
                        NumberKind.COUNT,
                        place,
                        self._rows(where),
                        count=self._count(where),
                    )
                )
            elif want.kind is NumberKind.ORDER:
                self._order(
                    Item(label, group, NumberKind.ORDER, place, self._rows(where)), where, want
                )
            else:
                item = Item(label, group, want.kind, place, self._rows(where), sample=want.sample)
                self._totals(item, where, want.linear, shared=where in counted)

    def _where(self, condition: Condition, want: AggregateCall) -> Condition:
        """Return the rows that an aggregate is about; NONE if no record can be one of them."""
        there = [present(self.columns[name]) for name in want.present]
        where = conjoin([condition, *there], self.columns)
        return NONE if about_nobody(where, None, self.columns) else where

    def finished(self) -> tuple[tuple[Item, ...], tuple[Question, ...]]:
        """Return the collected items and questions."""
        return tuple(self.items), tuple(self.places)

    def _certain(self, where: Condition) -> bool:
        return where == NONE or (where == EVERY and self.scope.schema.rows == "public")

    def _rows(self, where: Condition) -> tuple[int, int]:
        if where == NONE:
            return 0, 0
        return (self.rows if self._certain(where) else 0), self.rows

    def _ask(self, question: Question) -> int:
        return self.places.setdefault(question, len(self.places))

    def _count(self, where: Condition) -> int:
        least, most = self._rows(where)
        return self._ask(Question(Statistic.COUNT, where, None, None, least, most))

    def _totals(
        self, item: Item, where: Condition, linear: LinearExpression, *, shared: bool
    ) -> None:
        """Plan a sum, an average or a spread."""
        spread = item.kind in (NumberKind.VARIANCE, NumberKind.DEVIATION)
        certain = self._certain(where)
        lone = item.kind is NumberKind.SUM and not certain and not shared
        measure = natural(linear, self.columns) if lone else coded(linear, self.columns)
        self._check(item, measure, power=2 if spread else 1)
        self.items.append(
            self._with(
                item,
                where,
                measure,
                date=item.kind is NumberKind.AVERAGE and linear.days == 1,
                sum=self._ask(self._total(Statistic.SUM, where, measure)),
                squares=self._ask(self._total(Statistic.SQUARES, where, measure))
                if spread
                else None,
                count=None if certain or lone else self._count(where),
            )
        )

    def _order(self, item: Item, where: Condition, want: AggregateCall) -> None:
        assert want.linear is not None
        assert want.quantile is not None
        quantile = want.quantile
        ends = quantile in (0, 1)
        measure = coded(want.linear, self.columns, signed=ends)
        self._check(item, measure)
        if ends and measure.scale < 0:  # the smallest of -a is the largest of a
            quantile = 1 - quantile
        question = Question(
            Statistic.ORDER, where, measure.form, quantile, measure.least, measure.most
        )
        self.items.append(
            self._with(item, where, measure, date=want.linear.days == 1, order=self._ask(question))
        )

    def _with(self, item: Item, where: Condition, measure: CodedForm, **rest: Any) -> Item:  # noqa: ANN401 - fields
        return replace(
            item,
            scale=measure.scale,
            shift=measure.shift,
            reach=form_reach(where, measure.form, self.columns),
            **rest,
        )

    def _total(self, statistic: Statistic, where: Condition, measure: CodedForm) -> Question:
        least_rows, most_rows = self._rows(where)
        power = 2 if statistic is Statistic.SQUARES else 1
        least, most = measure.least**power, measure.most**power
        bounds = [rows * end for rows in (least_rows, most_rows) for end in (least, most)]
        return Question(statistic, where, measure.form, None, min(bounds), max(bounds))

    def _check(self, item: Item, measure: CodedForm, *, power: int = 1) -> None:
        """Raise an error for numbers so large that an engine's integers could overflow."""
        if not fits(measure, self.columns, self.rows, power=power):
            raise self.scope.statement.refusal(
                f"The numbers of '{item.label}' can become too large for an engine to add up",
                "use smaller or rounder factors and constants",
                place=item.place,
            )
