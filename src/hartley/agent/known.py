"""What earlier questions of an account tell, in words: why a later question costs less.

Only questions are read, never answers, and no answer or charge rests on these sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from math import isqrt, prod
from typing import TYPE_CHECKING

from hartley.text import count_of, decimal_text, listed, number
from hartley.trusted.pricing.regions import CellGrid
from hartley.trusted.questions.batch import (
    COUNT,
    ORDER,
    SQUARES,
    SUM,
    All,
    Test,
    columns_named,
    columns_of,
)
from hartley.trusted.questions.condition import EVERY, conjoin, passing, present, shared, united
from hartley.trusted.questions.terms import point

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hartley.schema.schema import Column, Schema
    from hartley.trusted.questions.batch import Condition, Form, Question

MOST_FILTERS, MOST_WINDOWS = 4, 3
"""At most this many filters and sums are named in a sentence."""
LONGEST_CONDITION = 80
"""A condition with more letters is named by its columns alone."""
QUANTILES = {Fraction(0): "minimum", Fraction(1, 2): "median", Fraction(1): "maximum"}


def known_words(
    asked: Sequence[Question], rows: Mapping[int, Sequence[Question]], schema: Schema
) -> str:
    """Say what earlier rows told that bears on some questions; empty if that is nothing.

    Whoever was charged for an exact count knows whom it counts, and whoever was charged for a sum
    knows it up to the width of its cells (docs/accountant.md, "What was told before").

    ``rows`` are the questions that each row of the ledger charged the account for.

    Example:
        >>> from hartley.trusted.questions.batch import Question, Statistic
        >>> from hartley.schema.schema import Schema
        >>> age = {"age": {"kind": "private", "range": [18, 95], "step": 1}}
        >>> people = Schema.read({"table": {"name": "people"}, "columns": age})
        >>> old, young = Test("age", ((47, 77),)), Test("age", ((0, 46),))
        >>> told = Question(Statistic.COUNT, old, None, None, 0, 50)
        >>> known_words([Question(Statistic.COUNT, young, None, None, 0, 50)], {4: [told]}, people)
        'Known: age >= 65.'
    """
    bearing = _Bearing.of(asked, schema)
    filters: dict[str, None] = {}
    windows: dict[str, _KnownWidth] = {}
    told = [question for row in sorted(rows) for question in rows[row] if _tells(question)]
    decided = {question.where for question in told if _tells_filter(question)}
    for row in sorted(rows):
        questions = [question for question in rows[row] if _tells(question)]
        wheres = dict.fromkeys(q.where for q in questions if bearing.by_filter(q))
        filters |= dict.fromkeys(_FilterWords(schema).of([*wheres]))
        for window in _windows([q for q in questions if bearing.by_window(q, decided)], schema):
            known = windows.get(window.subject)
            windows[window.subject] = window if known is None else min(known, window)
    parts = [
        _first([*filters], MOST_FILTERS),
        _first([str(window) for window in windows.values()], MOST_WINDOWS),
    ]
    if parts[0] and schema.rows_per_unit > 1:
        parts[0] = f"how many rows of a person count for {parts[0]}"
    words = "; ".join(part for part in parts if part)
    return f"Known: {words}." if words else ""


def _first(words: list[str], most: int) -> str:
    """Write the first words of a list, and how many more there are."""
    more = len(words) - most
    return ", ".join(words) if more <= 1 else f"{', '.join(words[:most])} and {more} more"


def _tells(question: Question) -> bool:
    """Return whether a question told something: it has more than one cell."""
    return question.statistic is ORDER or not CellGrid.of(question).constant


def _tells_filter(question: Question) -> bool:
    """Return whether a question told whom it counts; a sum does not (docs/accountant.md)."""
    exact = question.statistic is COUNT and question.step <= 1
    return exact or question.statistic is ORDER


@dataclass(frozen=True)
class _Bearing:
    """Which earlier questions bear on a price: those about the same columns."""

    schema: Schema
    columns: frozenset[str]
    """The private columns that are asked about."""
    statistics: frozenset[Question]
    """The statistics that are asked for, without their steps."""

    @classmethod
    def of(cls, asked: Sequence[Question], schema: Schema) -> _Bearing:
        touched: frozenset[str] = frozenset().union(*map(columns_named, asked))
        statistics = frozenset(replace(question, step=Fraction(1)) for question in asked)
        return cls(schema, _private(touched, schema), statistics)

    def by_filter(self, told: Question) -> bool:
        """Return whether it helps to know whom an earlier question counts."""
        private = _private(columns_named(told), self.schema)
        several = self.schema.rows_per_unit > 1
        if not _tells_filter(told) or (several and told.statistic is ORDER):
            return False
        if not private:  # where rows are private, a count of everybody tells who is there
            return self.schema.rows == "private"
        return not private.isdisjoint(self.columns)

    def by_window(self, told: Question, decided: set[Condition]) -> bool:
        """Return whether it helps to know a sum or an order statistic up to a cell."""
        if replace(told, step=Fraction(1)) in self.statistics:
            return told.statistic is not COUNT or told.step > 1
        form = told.form
        if told.statistic not in {SUM, SQUARES} or form is None or self.schema.rows_per_unit > 1:
            return False
        private = _private((column for column, _ in form.terms), self.schema)
        certain = told.where in decided or not _private(columns_of(told.where), self.schema)
        return certain and not private.isdisjoint(self.columns) and self._narrows(told, form)

    def _narrows(self, told: Question, form: Form) -> bool:
        """Return whether a cell is narrower than the range of one person's form."""
        room = -(-told.step.numerator // told.step.denominator) - 1
        reach = sum(
            abs(times) * (self.schema.columns[column].points - 1)
            for column, times in form.terms
            if self.schema.columns[column].kind == "private"
        )
        return (isqrt(room) if told.statistic is SQUARES else room) < reach


def _private(columns: Iterable[str], schema: Schema) -> frozenset[str]:
    return frozenset(column for column in columns if schema.columns[column].kind == "private")


# --- filters --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FilterWords:
    """Writes the conditions of one row: groups of a column together, others as in SQL."""

    schema: Schema

    def of(self, conditions: Sequence[Condition]) -> Iterator[str]:
        for run in _runs([condition for condition in conditions if self._says(condition)]):
            keys = self.keys(run)
            if keys is not None:
                yield self._groups(run, keys)
            else:
                yield from map(self._alone, run)

    def _says(self, condition: Condition) -> bool:
        """Return whether a condition is about something private; where rows are private, any is."""
        private = _private(columns_of(condition), self.schema)
        return bool(private) or self.schema.rows == "private"

    def _alone(self, condition: Condition) -> str:
        words = self.condition(condition)
        if not _private(columns_of(condition), self.schema):
            return self._everybody(f" where {words}" if words else "", "")
        return words

    def _everybody(self, where: str, by: str) -> str:
        """Write a condition on nothing private; of several rows of a person, they are counted."""
        if self.schema.rows_per_unit == 1:
            return f"who is in the table{where}{by}"
        return f"{where.removeprefix(' where ') or 'the whole table'}{by}"

    def keys(self, run: Sequence[Condition]) -> tuple[str, ...] | None:
        """Return the columns whose groups a run lists; None if it is no GROUP BY."""
        tests = [_tests(condition) for condition in run]
        by_column = {column: {test[column] for test in tests} for column in tests[0]}
        keys = tuple(column for column, several in by_column.items() if len(several) > 1)
        sizes = [len(by_column[column]) for column in keys]
        if not keys or prod(sizes) != len(run):
            return None
        return keys if all(self._listed(run, key) for key in keys) else None

    def _listed(self, run: Sequence[Condition], key: str) -> bool:
        """Return whether the groups of a column come from a GROUP BY, not from a few conditions."""
        column = self.schema.columns[key]
        tests = {_tests(condition)[key] for condition in run}
        if column.values is not None:
            return len(tests) > 2 or self._whole(run, key) == EVERY
        return len(tests) > 2 and len(united(pair for t in tests for pair in t.codes)) == 1

    def _groups(self, run: Sequence[Condition], keys: tuple[str, ...]) -> str:
        private = [key for key in keys if self.schema.columns[key].kind == "private"]
        where, by = self.around(run, keys)
        known = [_name(key) for key in keys if key not in private]
        by_known = f" by {listed(known)}" if known else ""
        if len(private) == 1:
            return self._group(run, private[0]) + where + by_known
        if private:
            groups = count_of(len({tuple(_tests(c)[k] for k in private) for c in run}), "group")
            return f"{listed([*map(_name, private)])} ({groups}){where}{by_known}"
        words = where.removeprefix(" where ")
        if not _private(columns_of(run[0]), self.schema):
            return self._everybody(where, by)
        return f"{words}{by}"

    def around(self, run: Sequence[Condition], keys: tuple[str, ...]) -> tuple[str, str]:
        """Write what the groups of a run have in common, and what they are groups of."""
        common: list[Condition] = [*_others(run[0])]
        common += [test for column, test in _tests(run[0]).items() if column not in keys]
        for key in keys:
            whole = self._whole(run, key)
            common += [] if whole == EVERY else [whole]
        where = self.condition(conjoin(common, self.schema.columns)) if common else ""
        by = listed([self._group(run, key, counts=False) for key in keys])
        return (f" where {where}" if where else ""), f" by {by}"

    def _whole(self, run: Sequence[Condition], key: str) -> Condition:
        """Return the rows of all groups together; a group for missing values may be left out."""
        column = self.schema.columns[key]
        tests = [_tests(condition)[key] for condition in run]
        codes = united(pair for test in tests for pair in test.codes)
        missing = any(test.missing for test in tests)
        whole = codes == ((0, column.points - 1),)
        return EVERY if whole else passing(column, codes, missing=missing)

    def _group(self, run: Sequence[Condition], key: str, *, counts: bool = True) -> str:
        """Write the groups of a column, and how many there are unless they are bins."""
        column = self.schema.columns[key]
        tests = {_tests(condition)[key] for condition in run}
        width = _bin_width(tests, column)
        if width is not None:
            days = " days" if column.date else ""
            return f"{_name(key)} in bins of {decimal_text(width)}{days}"
        return f"{_name(key)} ({count_of(len(tests), 'group')})" if counts else _name(key)

    # --- conditions as in SQL ---

    def condition(self, condition: Condition, *, inside: bool = False) -> str:
        """Write a condition as in SQL; a long one by its columns alone. Nothing for every row."""
        words = self._sql(condition, inside=inside)
        if len(words) <= LONGEST_CONDITION:
            return words
        return f"a condition on {listed([*map(_name, dict.fromkeys(columns_of(condition)))])}"

    def _sql(self, condition: Condition, *, inside: bool) -> str:
        if isinstance(condition, Test):
            return self._test(condition, self.schema.columns[condition.column], inside=inside)
        joint = " AND " if isinstance(condition, All) else " OR "
        words = [self._sql(part, inside=True) for part in condition.parts]
        words.sort(key=lambda part: part.endswith(" IS NOT NULL"))  # what was asked for first
        return f"({joint.join(words)})" if inside else joint.join(words)

    def _test(self, test: Test, column: Column, *, inside: bool) -> str:
        name = _name(test.column)
        if test.codes == ((0, column.points - 1),):
            return f"{name} IS NOT NULL"
        if column.values is not None:
            words = _category_words(test, column)
        else:
            words = [_range_words(name, low, high, column) for low, high in test.codes]
        words += [f"{name} IS NULL"] if test.missing else []
        return f"({' OR '.join(words)})" if inside and len(words) > 1 else " OR ".join(words)


def _runs(conditions: Sequence[Condition]) -> Iterator[list[Condition]]:
    """Yield neighbours that may be the groups of one question: apart, about the same columns."""
    run: list[Condition] = []
    for condition in conditions:
        if run and not all(_apart(condition, other) for other in run):
            yield run
            run = []
        run.append(condition)
    if run:
        yield run


def _tests(condition: Condition) -> dict[str, Test]:
    """Return the parts of a conjunction that test one column, by their columns."""
    parts = condition.parts if isinstance(condition, All) else (condition,)
    return {part.column: part for part in parts if isinstance(part, Test)}


def _others(condition: Condition) -> tuple[Condition, ...]:
    """Return the other parts of a conjunction."""
    parts = condition.parts if isinstance(condition, All) else (condition,)
    return tuple(part for part in parts if not isinstance(part, Test))


def _apart(first: Condition, second: Condition) -> bool:
    """Return whether two conjunctions differ in tests of the same columns and share no row."""
    tests, others = _tests(first), _tests(second)
    if tests.keys() != others.keys() or _others(first) != _others(second):
        return False
    return any(
        not shared(test.codes, others[column].codes)
        and not (test.missing and others[column].missing)
        for column, test in tests.items()
    )


def _bin_width(tests: Iterable[Test], column: Column) -> Fraction | None:
    """Return the width of the bins of a numeric column; None if the groups are no bins."""
    if column.values is not None or column.low is None or column.step is None:
        return None
    ranges = sorted(pair for test in tests for pair in test.codes)
    lengths = [high - low + 1 for low, high in ranges]
    length = max(lengths, default=1)
    adjacent = all(low == before + 1 for (_, before), (low, _) in zip(ranges, ranges[1:]))  # noqa: B905, RUF007 - neighbours
    if length == 1 or not adjacent or {*lengths[1:-1]} - {length}:
        return None
    width = length * column.step
    begins = [column.low + low * column.step for low, _ in ranges[1:]]
    return width if all(begin % width < column.step for begin in begins) else None


def _category_words(test: Test, column: Column) -> list[str]:
    values = column.values or ()
    codes = [code for low, high in test.codes for code in range(low, high + 1)]
    named = [_literal(values[code]) for code in codes if code < len(values)]
    name, words = _name(test.column), list[str]()
    if len(named) == 1:
        words.append(f"{name} = {named[0]}")
    elif len(named) == len(values) - 1 > 2 and not column.other:
        (left_out,) = {*range(len(values))} - {*codes}
        words.append(f"{name} <> {_literal(values[left_out])}")
    elif named:
        words.append(f"{name} IN ({', '.join(named)})")
    if len(values) in codes:
        words.append(f"{name} has another value")
    return words


def _name(column: str) -> str:
    """Write the name of a column, quoted as in SQL unless it is a plain word."""
    escaped = column.replace('"', '""')
    return column if column.isidentifier() else f'"{escaped}"'


def _literal(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return str(value).upper() if isinstance(value, bool) else str(value)


def _range_words(name: str, low: int, high: int, column: Column) -> str:
    first, last = _value_words(column, low), _value_words(column, high)
    if low == high:
        return f"{name} = {first}"
    if high == column.points - 1:
        return f"{name} >= {first}"
    return f"{name} <= {last}" if low == 0 else f"{name} BETWEEN {first} AND {last}"


def _value_words(column: Column, code: int) -> str:
    words = point(column, code)
    return f"'{words}'" if column.date else words


# --- sums and order statistics --------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class _KnownWidth:
    """Up to which width a statistic is known."""

    width: Fraction
    exact: bool
    subject: str
    unit: str = ""

    def __str__(self) -> str:
        if self.exact:
            return f"{self.subject} exactly"
        return f"{self.subject} up to {number(self.width, round='up')}{self.unit}"


def _windows(questions: Sequence[Question], schema: Schema) -> Iterator[_KnownWidth]:
    """Yield what the sums and order statistics of one row tell, groups of one form together."""

    def form_of(question: Question) -> tuple[object, ...]:
        return question.statistic, question.form, question.quantile

    order = list(dict.fromkeys(map(form_of, questions)))
    by_form = sorted(questions, key=lambda question: order.index(form_of(question)))
    words = _FilterWords(schema)
    for _, alike in groupby(by_form, key=form_of):
        steps: dict[Condition, Question] = {}
        for question in alike:
            where = _without_presence(question, schema)
            # Of one statistic at several steps, the finest says most.
            if where not in steps or question.step < steps[where].step:
                steps[where] = question
        for run in _runs([*steps]):
            keys = words.keys(run)
            if keys is not None:
                common, by = words.around(run, keys)
                yield _window([steps[condition] for condition in run], f"{by}{common}", schema)
                continue
            for condition in run:
                text = words.condition(condition)
                around = f" where {text}" if text else ""
                yield _window([steps[condition]], around, schema)


def _without_presence(question: Question, schema: Schema) -> Condition:
    """Return the filter of a statistic; that its own values are there goes without saying."""
    form = question.form.terms if question.form else ()
    there = [present(schema.columns[column]) for column, _ in form]
    where = question.where
    parts = where.parts if isinstance(where, All) else (where,)
    return conjoin([part for part in parts if part not in there], schema.columns)


def _window(questions: Sequence[Question], around: str, schema: Schema) -> _KnownWidth:
    """Write the statistic of some groups, and the width of their widest cell."""
    question = max(questions, key=lambda each: each.step)
    exact = question.step <= 1
    if question.form is None:
        return _KnownWidth(question.step, exact, f"the number of rows{around}")
    words, factor = _form_words(question.form, schema)
    if question.statistic is SUM:
        words = words.removeprefix("-")
    ((column, _), *others) = question.form.terms
    width = question.step * question.form.unit / factor
    unit = schema.columns[column].unit or ("days" if schema.columns[column].date else "")
    unit = f" {unit}" if unit and not others else ""
    if question.statistic is ORDER:
        quantile = question.quantile or Fraction(0)
        name = QUANTILES.get(quantile) or f"{decimal_text(quantile, 6)}-quantile"
        return _KnownWidth(width, exact, f"the {name} of {words}{around}", unit)
    if question.statistic is SQUARES:
        squared = question.step * (question.form.unit / factor) ** 2
        words = _squared_words(question.form, words, factor, schema)
        return _KnownWidth(squared, exact, f"the sum of squares of {words}{around}")
    return _KnownWidth(width, exact, f"the sum of {words}{around}", unit)


def _form_words(form: Form, schema: Schema) -> tuple[str, Fraction]:
    """Write a form in its columns' own values, without its constant; and by what it is divided."""
    times = [(column, _times(form, column, c, schema)) for column, c in form.terms]
    factor = abs(times[0][1])
    words = ""
    for column, value in times:
        share = abs(value) / factor
        sign = ("-" if value < 0 else "") if not words else (" - " if value < 0 else " + ")
        words += f"{sign}{'' if share == 1 else f'{decimal_text(share, 6)} '}{_name(column)}"
    return words, factor


def _times(form: Form, column: str, coefficient: int, schema: Schema) -> Fraction:
    """Return how often a column's own value counts in a form."""
    step = schema.columns[column].step
    assert step is not None
    return coefficient * form.unit / step


def _squared_words(form: Form, words: str, factor: Fraction, schema: Schema) -> str:
    """Write a form with its constant, which a sum of squares depends on."""
    shift = form.constant * form.unit
    for column, coefficient in form.terms:
        low = schema.columns[column].low
        assert low is not None
        shift -= _times(form, column, coefficient, schema) * low
    shift /= factor
    if not shift:
        return f"({words})" if len(form.terms) > 1 else words
    return f"({words} {'-' if shift < 0 else '+'} {decimal_text(abs(shift), 6)})"
