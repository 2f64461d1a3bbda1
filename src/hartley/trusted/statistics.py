"""The integer statistics of questions, computed on the engine that holds the coded copy.

An engine only computes counts, sums of codes, sums of products of codes and counts of values;
forms are composed from them here, in integers of any size. So the same questions have the same
totals on every engine and in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hartley.trusted.questions.batch import All, Statistic, Test
from hartley.trusted.questions.condition import about_nobody
from hartley.trusted.scans import LARGEST, WHOLE, RowMeasure, scan, select_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.engines.coded_table import CodedTable
    from hartley.schema.schema import Schema
    from hartley.trusted.questions.batch import Condition, Form, Question
    from hartley.trusted.scans import Request

    Recipe: TypeAlias = list[tuple[int, Request]]
    """Measures of conditions, each with a factor."""


def totals(coded: CodedTable, questions: Sequence[Question]) -> list[int | None]:
    """Return the statistic of every question: an exact integer, or None for an end without rows.

    Questions are answered together: one scan if they share a condition, one GROUP BY if their
    conditions are over the same columns. Sums are exact: codes are added in 128 bits or 38 digits
    if 64 bits could overflow, and ``fits`` says at price time whether that is enough. A question
    that no record can count for never reaches the engine: its price is one cell, so its total is a
    constant.
    """
    # "Questions about nobody" (docs/accountant.md): they are priced as one cell, so what an engine
    # would say must not matter. 0 and None are what it says of no rows.
    columns = {coding.column: coding for coding in coded.codings}
    asked = [
        place
        for place, question in enumerate(questions)
        if not about_nobody(question.where, question.form, columns)
    ]
    results = [None if question.statistic is Statistic.ORDER else 0 for question in questions]
    for place, total in zip(asked, _run(coded, [questions[k] for k in asked]), strict=True):
        results[place] = total
    return results


def _run(coded: CodedTable, questions: Sequence[Question]) -> list[int | None]:
    """Compute questions that some record may count for."""
    recipes = [_recipe(coded, question) for question in questions]
    wanted = [request for recipe in recipes if recipe for _, request in recipe]
    measured = scan(coded, wanted) if wanted else {}
    results: list[int | None] = []
    for question, recipe in zip(questions, recipes, strict=True):
        if recipe is None:
            results.append(None)  # ranked below, with all others of its form
        elif question.statistic is Statistic.ORDER:
            results.append(_shifted(question.form, measured[recipe[0][1]]))
        else:
            # Coefficients are multiplied here, where integers have no size: an engine adds codes.
            results.append(sum(factor * (measured[request] or 0) for factor, request in recipe))
    for place, value in _ranks(coded, questions, recipes).items():
        results[place] = _shifted(questions[place].form, value)
    return results


def fits(question: Question, schema: Schema, rows: int) -> bool:
    """Tell, from the schema alone, whether every engine can compute a question exactly."""
    last = {name: column.points - 1 for name, column in schema.columns.items()}
    terms = () if question.form is None else question.form.terms
    largest = max((last[column] for column, _ in terms), default=0)
    if question.statistic is Statistic.ORDER:
        # A form of several columns is computed row by row in 64 bits, and the search subtracts
        # its smallest value: half of them leaves room for both.
        reach = sum(abs(factor) * last[column] for column, factor in terms)
        return len(terms) <= 1 or reach < WHOLE // 2
    if question.statistic is Statistic.SQUARES:
        largest **= 2
    return max(largest, 1) * rows < LARGEST and rows < WHOLE


# --- recipes ----------------------------------------------------------------------------------


def _recipe(coded: CodedTable, question: Question) -> Recipe | None:
    """Return a question as measures of rows, or None if rows have to be ranked."""
    rest, present = _without_presence(coded, question.where)
    form = question.form
    if question.statistic is Statistic.ORDER:
        assert form is not None
        end = _end(question)
        if end is None:
            return None
        terms, _ = _base(form)
        needed = present | {column for column, _ in terms}
        return [(1, (rest, RowMeasure(end, terms, frozenset(needed))))]
    count = rest, RowMeasure("count", present=present)
    if form is None or question.statistic is Statistic.COUNT:
        return [(1, count)]
    # (c + sum of f_i x_i)^2 is expanded into counts, sums and sums of products of two codes.
    constant, square = form.constant, question.statistic is Statistic.SQUARES
    recipe: Recipe = [(constant**2 if square else constant, count)]
    for i, (column, factor) in enumerate(form.terms):
        alone = rest, RowMeasure("sum", ((column, 1),), present)
        recipe.append((2 * constant * factor if square else factor, alone))
        for other, second in form.terms[i:] if square else ():
            both = rest, RowMeasure("sum", ((column, 1), (other, 1)), present)
            recipe.append((factor * second * (1 if other == column else 2), both))
    return [(factor, request) for factor, request in recipe if factor] or [(0, count)]


def _without_presence(
    coded: CodedTable, where: Condition, columns: Iterable[str] | None = None
) -> tuple[Condition, frozenset[str]]:
    """Remove from a condition that columns are present: sums skip missing values anyway."""
    # Questions about several columns then share one condition, and so one scan.
    parts = where.parts if isinstance(where, All) else (where,)
    taken = [
        part
        for part in parts
        if isinstance(part, Test)
        and not part.missing
        and part.codes == ((0, coded.coding(part.column).points - 1),)
        and (columns is None or part.column in columns)
    ]
    present = frozenset(part.column for part in taken)
    return All(tuple(part for part in parts if part not in taken)), present


# --- order statistics -------------------------------------------------------------------------


def _base(form: Form) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the form that is ranked and the factor that leads back: of one column its code."""
    if len(form.terms) == 1:
        ((column, factor),) = form.terms
        return ((column, 1),), factor
    return form.terms, 1


def _end(question: Question) -> str | None:
    """Return which end of its base form an order statistic is, if it is an end."""
    assert question.form is not None
    assert question.quantile is not None
    if question.quantile not in (0, 1):
        return None
    _, factor = _base(question.form)
    # The smallest of -x is that of the largest x.
    return "min" if (question.quantile == 0) == (factor > 0) else "max"


def _shifted(form: Form | None, value: int | None) -> int | None:
    assert form is not None
    return None if value is None else form.constant + _base(form)[1] * value


def _ranks(
    coded: CodedTable, questions: Sequence[Question], recipes: Sequence[Recipe | None]
) -> dict[int, int | None]:
    """Rank rows for the remaining questions, all questions about one form together."""
    places: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for place, (question, recipe) in enumerate(zip(questions, recipes, strict=True)):
        if recipe is None:
            assert question.form is not None
            places.setdefault(_base(question.form)[0], []).append(place)
    values: dict[int, int | None] = {}
    for terms, listed in places.items():
        columns = [column for column, _ in terms]
        wanted = []
        for place in listed:
            form, quantile = questions[place].form, questions[place].quantile
            assert form is not None
            assert quantile is not None
            rest, _ = _without_presence(coded, questions[place].where, columns)
            wanted.append((rest, quantile, _base(form)[1] < 0))
        values |= dict(zip(listed, select_ranks(coded, terms, wanted), strict=True))
    return values
