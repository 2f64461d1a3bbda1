"""The charges of a ledger, computed again from its recorded schemas and resolved questions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.cells import cell_bounds, cell_of
from hartley.agent.ledger.rows.balances import one_part
from hartley.agent.ledger.rows.entries import NULL, read_integer
from hartley.agent.pricing.given_price import KNOWN_RULES, RULES, price_given, price_paths
from hartley.agent.pricing.price import open_factor, price
from hartley.agent.pricing.told import ToldBefore
from hartley.agent.questions.batch import All, Form, Statistic, Test, columns_named, from_plain
from hartley.agent.questions.condition import EVERY, possible_terms
from hartley.agent.questions.question import parse
from hartley.errors import HartleyError, InputError, Refused
from hartley.files import parse_toml
from hartley.ranges.schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hartley.agent.ledger.auditable_ledger import Ledger
    from hartley.agent.ledger.verification import LedgerReport
    from hartley.agent.pricing.public_parts import PublicParts
    from hartley.agent.questions.batch import Condition, Question
    from hartley.ranges.schema.column import Column

ANY_STEP = Fraction(1)
"""Stands for the step where only the rest of a question is compared."""


def reprice(
    schema: object,
    questions: Sequence[dict[str, Any]],
    rules: str,
    told: Sequence[dict[str, Any]] = (),
) -> int | None:
    """Return what a batch costs, from a recorded schema and plain questions.

    Args:
        schema: as an agent recorded it, the text of a TOML file.
        questions: as ``to_plain`` writes them.
        rules: the version of the pricing rules that the charge was made under.
        told: the questions of the earlier rows that it was priced from, from version 2 on.

    Returns:
        the cells, or None if no agent recorded the schema or the rules have another version.

    Example:
        >>> from hartley.agent.questions.batch import Question, Statistic, Test, to_plain
        >>> sex = {"sex": {"kind": "private", "values": ["F", "M"]}}
        >>> people = Schema.read({"table": {"name": "people"}, "columns": sex}).to_toml()
        >>> women = Question(Statistic.COUNT, Test("sex", ((0, 0),)), None, None, 0, 50)
        >>> reprice(people, [to_plain(women)], "1"), reprice(people, [to_plain(women)], "0")
        (2, None)
    """
    parts = reprice_by_public(schema, questions, rules, told)
    return None if parts is None else parts.most


def reprice_by_public(
    schema: object,
    questions: Sequence[dict[str, Any]],
    rules: str,
    told: Sequence[dict[str, Any]] = (),
) -> PublicParts | None:
    """Return what a batch costs every type of the public columns, as in ``reprice``."""
    read_schema = _schema(schema, rules)
    if read_schema is None:
        return None
    batch, earlier = ([from_plain(plain) for plain in listed] for listed in (questions, told))
    known = read_schema.columns.keys()
    if any(not columns_named(question) <= known for question in (*batch, *earlier)):
        raise InputError(
            "A recorded question is about a column that its recorded schema does not have",
            hint="verify the ledger, or restore it from a backup",
        )
    if rules == RULES:
        return price_paths(batch, ToldBefore(read_schema, earlier)).parts
    if rules == "1":
        return one_part(price(batch, read_schema).cells)
    return one_part(price_given(batch, ToldBefore(read_schema, earlier)).cells)


def may_answer(  # noqa: PLR0913, PLR0917 - what a charge and an answer rest on
    schema: object,
    question: dict[str, Any],
    rules: str,
    rows: int | None,
    answer: str | None,
    note: str = "",
) -> bool:
    """Tell whether the rows of a plain question can give an answer, and its price allows it.

    Without an answer: whether the note of its charge asks for it, if that is a question at all and
    was written under the present rules, which read it as this version does.

    Only an order statistic of no rows is NULL. A question that costs nothing has one answer: the
    same in all tables with as many rows, as one person after the other changes, so that of rows
    which all have the first code of every private column. Where it looks at public or open columns,
    its answer depends on them, and a ledger does not hold them; nor does it hold a private number
    of rows, which open columns tell.
    """
    read_schema = _schema(schema, rules)
    if read_schema is None:
        return True
    asked, order = from_plain(question), Statistic.ORDER
    most_rows = rows if rows is not None else read_schema.max_rows or 0
    if answer is None:
        said = _noted(str(schema), note, most_rows) if rules == RULES else None
        return said is None or replace(asked, step=ANY_STEP) in said
    names = columns_named(asked) if rows is not None else read_schema.columns
    kinds = {read_schema.columns[name].kind for name in names}
    if kinds <= {"private"} and price([asked], read_schema).cells == 1:
        counts = _passes_first(asked.where) and bool(rows)
        value = 1 if asked.form is None else asked.form.constant
        value **= 2 if asked.statistic is Statistic.SQUARES else 1
        total = (
            (value if counts else None)
            if asked.statistic is order
            else value * counts * (rows or 0)
        )
        cell = cell_of(asked, total)
        return answer == (NULL if cell is None else str(cell))
    fewest = most_rows if asked.where == EVERY and rows is not None else 0
    if answer == NULL:
        return asked.statistic is order and not fewest
    reaches = list(_reaches(asked, read_schema.columns))
    bounds = cell_bounds(asked, read_integer(answer))
    if asked.statistic is order:
        return any(least <= bounds[1] and bounds[0] <= most for least, most in reaches)
    return _may_total(asked, reaches, bounds, (fewest, most_rows))


def _may_total(
    asked: Question,
    reaches: Sequence[tuple[int, int]],
    bounds: tuple[int, int],
    rows: tuple[int, int],
) -> bool:
    """Tell whether so many rows, with values in these reaches, can have a total within bounds."""
    (low, high), (fewest, most_rows) = bounds, rows
    power = 2 if asked.statistic is Statistic.SQUARES else 1
    least = min((end**power for end, _ in reaches), default=0)
    most = max((end**power for _, end in reaches), default=0)
    for value, bound in ((least, high), (-most, -low)):  # as many rows as: rows * value <= bound
        if value > 0:
            most_rows = min(most_rows, bound // value)
        elif value < 0:
            fewest = max(fewest, -(bound // -value))
        elif bound < 0:
            return False
    return low <= high and fewest <= most_rows


def _reaches(asked: Question, columns: Mapping[str, Column]) -> Iterator[tuple[int, int]]:
    """Yield bounds of the form in parts of the rows that count: exact ones for a single column."""
    form = asked.form or Form((), 1, ANY_STEP)
    terms = possible_terms(asked.where, asked.form, columns)
    for term in ((),) if terms is None else terms:
        leaves = {name: codes for name, (codes, _) in term}
        ranges = [leaves.get(name) or ((0, columns[name].points - 1),) for name, _ in form.terms]
        if len(ranges) > 1:
            ranges = [((some[0][0], some[-1][1]),) for some in ranges]
        for codes in product(*ranges):
            pairs = zip(form.terms, codes, strict=True)
            ends = [sorted(factor * end for end in pair) for (_, factor), pair in pairs]
            low, high = (form.constant + sum(pair[side] for pair in ends) for side in (0, 1))
            yield low, high


@lru_cache(maxsize=64)
def _noted(text: str, note: str, rows: int) -> frozenset[Question] | None:
    """Return what a note asks that is a question, or one in each line; None for another note."""
    schema = _read(text)
    assert schema is not None
    for texts in ([note], note.split("\n")):
        try:
            plans = [parse(question, schema, rows) for question in texts]
        except Refused:
            continue
        asked = (asked for plan in plans for asked in plan.questions)
        return frozenset(replace(each, step=ANY_STEP) for each in asked)
    return None


def _passes_first(condition: Condition) -> bool:
    """Tell whether a record with the first code of every column passes."""
    if isinstance(condition, Test):
        return any(low == 0 for low, _ in condition.codes)
    passed = map(_passes_first, condition.parts)
    return all(passed) if isinstance(condition, All) else any(passed)


def open_cells(schema: object, rules: str) -> int | None:
    """Return the factor of the open columns of a recorded schema, or None as in ``reprice``."""
    read_schema = _schema(schema, rules)
    return None if read_schema is None else open_factor(read_schema)


def verify_prices(ledger: Ledger, **more: Any) -> LedgerReport:  # noqa: ANN401 - what Ledger.verify takes
    """Replay a ledger and compute every price in it again; linear in the number of rows."""
    return ledger.verify(reprice_by_public, open_factor=open_cells, may_answer=may_answer, **more)


def _schema(schema: object, rules: str) -> Schema | None:
    return _read(schema) if isinstance(schema, str) and rules in KNOWN_RULES else None


@lru_cache(maxsize=64)
def _read(text: str) -> Schema | None:
    try:
        return Schema.read(parse_toml(text, what="recorded schema"))
    except HartleyError:
        return None
