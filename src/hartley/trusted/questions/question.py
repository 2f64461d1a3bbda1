"""From SQL text to resolved questions over codes, or to a refusal that points at the place.

One SELECT over one table: aggregates of linear forms, WHERE, GROUP BY. The result says which
integer statistics are needed and how the answer is computed from them; it depends only on the
text, the schema and the public number of rows, never on data.

Choices that SQL leaves open: comparisons use the values of the schema (clamped and snapped), a
quantile is the ceil(p n)-th smallest value without interpolation, MEDIAN is the quantile of 1/2,
the sum of no rows is 0, every other aggregate of no rows is NULL, VARIANCE and STDDEV divide by
n - 1.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.errors import Refused
from hartley.results.answer import Key
from hartley.text import as_date, decimal_text, distinct
from hartley.trusted.questions.batch import Form, Question, Statistic
from hartley.trusted.questions.condition import (
    EVERY,
    NONE,
    about_nobody,
    absent,
    conjoin,
    form_bounds,
    passing,
    present,
    read_predicate,
)
from hartley.trusted.questions.parsing import Scope, open_scope, reading, shorten, unexpected
from hartley.trusted.questions.terms import (
    PLACES,
    LinearExpression,
    grid_of,
    point,
    read_linear,
    strip,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hartley.schema.schema import Column, Schema
    from hartley.trusted.questions.batch import Condition
    from hartley.trusted.questions.parsing import Node, Statement


# --- selection ------------------------------------------------------------------------------------
# A resolved SELECT: its groups, its numbers, and the integer questions behind them.


class NumberKind(StrEnum):
    """The kind of a number in an answer, computed from one to three integer statistics."""

    COUNT = "count"
    SUM = "sum"
    AVERAGE = "average"
    VARIANCE = "variance"
    DEVIATION = "standard deviation"
    ORDER = "order statistic"


@dataclass(frozen=True)
class Item:
    """One number of the answer: which statistics it is read from, and how.

    A row's value is `scale` times the whole number of its form, plus `shift`. The numbers `sum`,
    `squares`, `count` and `order` are places in the questions of the selection.
    """

    label: str
    group: int
    kind: NumberKind
    place: tuple[int, int]
    """Its place in the text: begin and end."""
    rows: tuple[int, int]
    """The number of rows it can be about, by the schema alone."""
    scale: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)
    bounds: tuple[int, int] | None = None
    """Bounds of the form among the rows that it is about; None if there is certainly none."""
    sample: bool = False
    """Whether n - 1 divides a variance instead of n."""
    date: bool = False
    """Whether the number is a day, counted from 1970-01-01."""
    sum: int | None = None
    squares: int | None = None
    count: int | None = None
    order: int | None = None
    min_rows: int | None = None
    """The number of rows from which on an error was promised; None if it holds for any number."""

    @property
    def parts(self) -> tuple[int, ...]:
        """The places of the questions that it is read from."""
        places = (self.sum, self.squares, self.count, self.order)
        return tuple(place for place in places if place is not None)

    @property
    def ends(self) -> tuple[int, int]:
        """The bounds of the form, where there are any."""
        assert self.bounds is not None
        return self.bounds


@dataclass(frozen=True)
class Selection:
    """A resolved SELECT: its table, its groups, its numbers and the integer questions behind them.

    The items of the first group come first, in the order of the text, then those of the next; a
    SELECT without GROUP BY has one group without keys. Questions that items share are asked once.
    """

    text: str
    table: str
    """The name of the table as the schema spells it."""
    keys: tuple[str, ...]
    """What the question groups by."""
    groups: tuple[tuple[Key, ...], ...]
    """For each group, one key for each of these."""
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    """The questions, with the finest steps unless other steps were set."""
    average: int | None = None
    """How many rows a group that is not empty has on average, at least; None if rows may be left
    out, or their number is private."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the numbers, in the order of the text."""
        return tuple(item.label for item in self.items if item.group == 0)

    @property
    def coarse_counts(self) -> frozenset[Question]:
        """The counts that may be answered in cells of several rows.

        Averages, spreads and shifted sums are read from exact counts.
        """
        free = NumberKind.COUNT, NumberKind.SUM
        others = {item.count for item in self.items if item.kind not in free or item.shift}
        return frozenset(
            self.questions[item.count]
            for item in self.items
            if item.kind is NumberKind.COUNT and item.count is not None and item.count not in others
        )

    def with_steps(self, steps: Sequence[Fraction | int]) -> Selection:
        """Return the same selection with other steps, one per question."""
        pairs = list(zip(self.questions, steps, strict=True))
        if all(question.step == step for question, step in pairs):
            return self
        questions = [
            question if question.step == step else replace(question, step=Fraction(step))
            for question, step in pairs
        ]
        return replace(self, questions=tuple(questions))


# --- aggregate ------------------------------------------------------------------------------------
# The parts of a SELECT list: keys of the groups, and aggregates of linear forms.

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


def is_aggregate(node: Node) -> bool:
    """Tell whether a part of a SELECT list is an aggregate by its name."""
    names = ("Count", *PLAIN, *SPREADS, *ENDS, *QUANTILES)
    return type(node).__name__ in names


def read_aggregate(scope: Scope, node: Node) -> AggregateCall:
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


def _count(scope: Scope, node: Node) -> AggregateCall:
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


def _quantile(scope: Scope, node: Node) -> AggregateCall:
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


def _within_group(scope: Scope, node: Node) -> tuple[Any, Any]:
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
    node: Node,
    value: Node,
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
    spread = kind in (NumberKind.VARIANCE, NumberKind.DEVIATION)
    if linear.days and not dated and not spread:
        raise scope.refusal(
            f"'{scope.spelled(node)}' adds up dates",
            "for dates use COUNT, MIN, MAX, MEDIAN, QUANTILE or AVG, or a difference of two dates",
            node,
        )
    names = tuple(name for name, _ in linear.terms)
    return AggregateCall(kind, linear, names, quantile, sample)


# --- grouping -------------------------------------------------------------------------------------
# GROUP BY: the groups that the schema declares, never those that happen to be in the data.
#
# A column stands for its declared values, in their order. A numeric column may be put into bins
# of one width, `BIN(age, 10)` or `FLOOR(age / 10)`: bin j holds the values from j times the width
# up to, but not including, the next. BIN shows where a bin begins, FLOOR shows j. Rows without a
# value, and rows with an undeclared value if the schema allows such, are groups of their own.

MOST_GROUPS = 1000
"""The largest number of groups of one question."""
MISSING = Key(None, "(missing)")
OTHER = Key(None, "(other)")


@dataclass(frozen=True)
class Grouping:
    """One part of a GROUP BY: a column, or its bins."""

    column: Column
    width: Fraction | None = None
    """The width of the bins; None if every value is a group."""
    numbered: bool = False
    """Whether a bin is shown as its number (FLOOR) instead of where it begins (BIN)."""

    @property
    def size(self) -> int:
        """A bound on the number of groups; cheap, so that too many are refused early."""
        if self.width is None:
            return self.column.size
        first, last = self._bins()
        return min(last - first + 1, self.column.points) + self.column.nullable

    def groups(self) -> Iterator[tuple[Key, Condition]]:
        """List the keys and the rows of each."""
        yield from self._values() if self.width is None else self._binned(self.width)
        if self.column.nullable:
            yield MISSING, absent(self.column)

    def _values(self) -> Iterator[tuple[Key, Condition]]:
        column = self.column
        for code in range(column.points):
            if column.values is None:
                low, step = grid_of(column)
                value = low + code * step
                key = Key(as_date(value) if column.date else value, point(column, code))
            elif code < len(column.values):
                key = Key(column.values[code], str(column.values[code]))
            else:
                key = OTHER
            yield key, passing(column, [(code, code)])

    def _bins(self) -> tuple[int, int]:
        assert self.width is not None
        low, step = grid_of(self.column)
        top = low + (self.column.points - 1) * step
        return math.floor(low / self.width), math.floor(top / self.width)

    def _binned(self, width: Fraction) -> Iterator[tuple[Key, Condition]]:
        column, code = self.column, 0
        low, step = grid_of(column)
        while code < column.points:
            number = math.floor((low + code * step) / width)
            after = math.ceil(((number + 1) * width - low) / step)
            key, begin = Key(number, str(number)), number * width
            if not self.numbered and column.date:
                key = Key(as_date(begin), str(as_date(begin)))
            elif not self.numbered:
                key = Key(begin, decimal_text(begin, PLACES))
            yield key, passing(column, [(code, after - 1)])
            code = after


def read_grouping(scope: Scope, node: Node) -> Grouping:
    """Read one part of a GROUP BY, or refuse it."""
    from sqlglot import exp

    node = strip(node)
    if isinstance(node, exp.Column):
        return Grouping(scope.column(node))
    if isinstance(node, exp.Floor) and not unexpected(node, "this"):
        inside = strip(node.this)
        if isinstance(inside, exp.Div):
            return _bins(scope, node, inside.this, inside.expression, numbered=True)
    if isinstance(node, exp.Anonymous) and node.name.upper() == "BIN":
        if len(node.expressions) == 2:
            return _bins(scope, node, *node.expressions, numbered=False)
        raise scope.refusal("BIN takes a column and a width", "write BIN(age, 10)", node)
    if isinstance(node, exp.Literal):
        raise scope.refusal(
            "GROUP BY takes columns, not their positions", "name the column: GROUP BY region", node
        )
    raise scope.refuse(node, "group by a column, by BIN(column, width) or FLOOR(column / width)")


def is_grouping(node: Node) -> bool:
    """Tell whether a part of a SELECT list looks like a key of groups."""
    from sqlglot import exp

    node = strip(node)
    named = isinstance(node, exp.Anonymous) and node.name.upper() == "BIN"
    return named or isinstance(node, (exp.Column, exp.Floor))


def _bins(scope: Scope, node: Node, inside: Node, width: Node, *, numbered: bool) -> Grouping:
    from sqlglot import exp

    inside = strip(inside)
    if not isinstance(inside, exp.Column):
        raise scope.refusal(
            f"'{scope.spelled(node)}' does not put a plain column into bins",
            "write BIN(age, 10) or FLOOR(age / 10)",
            node,
        )
    column = scope.column(inside)
    if not column.numeric or (numbered and column.date):
        hint = f"BIN({column.name}, 30)" if column.date else f"GROUP BY {column.name}"
        raise scope.refusal(
            f"The column '{column.name}' cannot be divided into bins by '{scope.spelled(node)}'",
            f"write {hint}",
            node,
        )
    size = read_linear(scope, width)
    if size.terms or size.days or size.constant <= 0:
        raise scope.refusal(
            f"The width of '{scope.spelled(node)}' is not a positive number",
            f"write for example BIN({column.name}, 10)",
            node,
        )
    return Grouping(column, size.constant, numbered)


# --- planning -------------------------------------------------------------------------------------
# Planning: the fewest integer statistics from which the aggregates of groups can be computed.

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
    """
    factor, terms, unit, offset = _primitive(linear, columns, signed=signed)
    constant = -sum(min(0, c * (columns[name].points - 1)) for name, c in terms)
    shift = factor * (offset - unit * constant if constant else offset) + linear.constant
    most = constant + sum(max(0, c * (columns[name].points - 1)) for name, c in terms)
    return CodedForm(Form(terms, constant, unit), factor * unit, shift, 0, most)


def natural(linear: LinearExpression, columns: Mapping[str, Column]) -> CodedForm:
    """Return a form that is the value itself, up to a factor, for sums of an unknown number."""
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
        low, step = grid_of(columns[name])
        return factor, ((name, 1),), step, low
    steps, offset = [], Fraction(0)
    for name, value in nonzero:
        low, step = grid_of(columns[name])
        steps.append(value / factor * step)
        offset += value / factor * low
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
        wheres = []  # the rows that each is about; NONE if no record can be one of them
        for _, _, want in wanted:
            there = [present(self.columns[name]) for name in want.present]
            where = conjoin([condition, *there], self.columns)
            wheres.append(NONE if about_nobody(where, None, self.columns) else where)
        counted = {
            where
            for where, (_, _, want) in zip(wheres, wanted, strict=True)
            if want.kind not in (NumberKind.SUM, NumberKind.ORDER)
        }
        for where, (label, place, want) in zip(wheres, wanted, strict=True):
            item = Item(label, group, want.kind, place, self._rows(where), sample=want.sample)
            if want.linear is None:
                self.items.append(replace(item, count=self._count(where)))
            elif want.kind is NumberKind.ORDER:
                self._order(item, where, want)
            else:
                self._totals(item, where, want.linear, shared=where in counted)

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
            bounds=form_bounds(where, measure.form, self.columns),
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


# --- question -------------------------------------------------------------------------------------


MOST_QUESTIONS = 5000
"""The largest number of integer statistics of one SELECT."""


def parse(text: str, schema: Schema, rows: int) -> Selection:
    """Resolve a question in SQL; `rows` is the public number of rows, or the largest possible one.

    Linear in the text times the number of groups. Raises `Refused` and nothing else.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1))
        >>> found = parse("SELECT AVG(age) FROM people", Schema("people", {"age": age}), 1000)
        >>> found.labels, found.questions[0].statistic.value, found.questions[0].most
        (('AVG(age)',), 'sum', 120000)
    """
    try:
        with reading(text) as statement:
            return _resolved(statement, schema, rows)
    except RecursionError:
        raise Refused(
            "The question is nested too deeply",
            hint="leave out parentheses, signs and NOTs that change nothing",
            text=text,
            place=(0, len(text)),
        ) from None


def _resolved(statement: Statement, schema: Schema, rows: int) -> Selection:
    scope = open_scope(statement, schema)
    where = statement.select.args.get("where")
    filtered = EVERY if where is None else read_predicate(scope, where.this)
    groupings = _groupings(scope)
    keys, wanted = _selected(scope, groupings)
    _check_size(scope, groupings, len(wanted))
    lists = [list(grouping.groups()) for grouping in groupings]
    plan = QuestionPlan(scope, rows)
    groups = []
    for number, group in enumerate(itertools.product(*lists)):
        conditions = [filtered, *(condition for _, condition in group)]
        plan.add(number, conjoin(conditions, schema.columns), wanted)
        groups.append(tuple(key for key, _ in group))
    collected = tuple(plan.items), tuple(plan.places)
    used = {name for _, _, want in wanted for name in want.present}
    all_count = where is None and all(present(schema.columns[name]) == EVERY for name in used)
    average = max(rows // len(groups), 1) if all_count and schema.rows == "public" else None
    return Selection(statement.text, schema.name, keys, tuple(groups), *collected, average)


def _groupings(scope: Scope) -> list[Grouping]:
    """Read the GROUP BY; a name that is not a column may be an alias of the SELECT list."""
    from sqlglot import exp

    group = scope.statement.select.args.get("group")
    if group is None:
        return []
    known = {name.casefold() for name in scope.schema.columns}
    aliases = {
        node.alias.casefold(): node.this
        for node in scope.statement.select.expressions
        if isinstance(node, exp.Alias) and not is_aggregate(strip(node.this))
    }
    groupings: list[Grouping] = []
    for node in group.expressions:
        plain = strip(node)
        name = plain.name.casefold() if isinstance(plain, exp.Column) else ""
        grouping = read_grouping(scope, aliases[name] if name in aliases.keys() - known else node)
        if grouping.column in [other.column for other in groupings]:
            raise scope.refusal(
                f"GROUP BY names {grouping.column.name} twice", "name every column once", node
            )
        groupings.append(grouping)
    return groupings


def _selected(scope: Scope, groupings: list[Grouping]) -> tuple[tuple[str, ...], list[Wanted]]:
    """Read the SELECT list: names of the keys, and the aggregates with their names and places."""
    from sqlglot import exp

    keys = {grouping: _key_name(grouping) for grouping in groupings}
    wanted: list[Wanted] = []
    spans = _spans(scope)
    nodes = scope.statement.select.expressions
    for number, node in enumerate(nodes):
        span = spans[number] if len(spans) == len(nodes) else scope.statement.place(node) or (0, 0)
        inside, label = strip(node), shorten(scope.statement.text[slice(*span)])
        if isinstance(node, exp.Alias):
            inside, label = strip(node.this), node.alias
        if is_grouping(inside):
            grouping = read_grouping(scope, inside)
            if grouping not in keys:
                raise scope.refusal(
                    f"'{scope.spelled(inside)}' would show individual rows",
                    f"add GROUP BY {_key_name(grouping)}, or ask an aggregate such as COUNT(*)",
                    inside,
                )
            if isinstance(node, exp.Alias):
                keys[grouping] = label
        elif is_aggregate(inside):
            wanted.append((label, span, read_aggregate(scope, inside)))
        else:
            raise _not_selected(scope, inside)
    if not wanted:
        raise scope.refusal(
            "The question does not ask for an aggregate", "add one, for example COUNT(*)"
        )
    names = distinct([*keys.values(), *(label for label, _, _ in wanted)])
    renamed = [
        (name, span, aggregate)
        for name, (_, span, aggregate) in zip(names[len(keys) :], wanted, strict=True)
    ]
    return tuple(names[: len(keys)]), renamed


def _key_name(grouping: Grouping) -> str:
    name = grouping.column.name
    if grouping.width is None:
        return name
    width = decimal_text(grouping.width, PLACES)
    return f"FLOOR({name} / {width})" if grouping.numbered else f"BIN({name}, {width})"


def _spans(scope: Scope) -> list[tuple[int, int]]:
    """Return the places of the parts of the SELECT list, between its outermost commas."""
    text, depth, spans = scope.statement.text, 0, []
    begin: int | None = None
    end = 0
    for token in scope.statement.tokens[1:]:
        raw = text[token.start : token.end + 1]
        if depth == 0 and raw.upper() in (",", "FROM"):
            if begin is not None:
                spans.append((begin, end))
            begin = None
            if raw != ",":
                break
        else:
            depth += (raw in "([{") - (raw in ")]}")
            begin = token.start if begin is None else begin
        end = token.end + 1
    return spans


def _not_selected(scope: Scope, node: Node) -> Refused:
    from sqlglot import exp

    if isinstance(node, (exp.Binary, exp.Neg)) and any(is_aggregate(n) for n in node.walk()):
        return scope.refusal(
            f"Arithmetic with aggregates, '{scope.spelled(node)}', is not answered",
            "select the aggregates and compute with the answers yourself",
            node,
        )
    if isinstance(node, (exp.Binary, exp.Literal, exp.Boolean, exp.Null, exp.Neg)):
        return scope.refusal(
            f"'{scope.spelled(node)}' is not an aggregate", "select for example SUM(a + 2*b)", node
        )
    return scope.refuse(node)


def _check_size(scope: Scope, groupings: list[Grouping], wanted: int) -> None:
    size = math.prod(grouping.size for grouping in groupings)
    group = scope.statement.select.args.get("group")
    if size > MOST_GROUPS:
        raise scope.refusal(
            f"The question has more than {MOST_GROUPS:,} groups",
            "group by fewer columns, or by wider bins: BIN(column, width)",
            group,
        )
    if size * wanted > MOST_QUESTIONS:
        raise scope.refusal(
            f"The question has more than {MOST_QUESTIONS:,} numbers",
            "ask for fewer groups or fewer aggregates at a time",
            group,
        )
