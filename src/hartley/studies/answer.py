"""Release one number of a whole table: the cell in which a mean or a total lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.engines.totals import exact_totals
from hartley.engines.writing import write_record
from hartley.errors import ColumnError, InputError
from hartley.policies.quantizer import UniformQuantizer

if TYPE_CHECKING:
    import os

    from hartley.engines.met import ColumnCounts
    from hartley.engines.table import Table
    from hartley.engines.totals import ColumnTotal
    from hartley.policies.columns import CutColumn, QuantizedColumn
    from hartley.policies.document import PolicyDocument
    from hartley.policies.query import Aggregate

    Answering = QuantizedColumn | CutColumn


@dataclass(frozen=True)
class ReleasedAnswer:
    """The answer to one query, as it is released, and what was met on the way."""

    column: Answering
    query: Aggregate
    counts: ColumnCounts
    people: int
    """How many values were added up."""
    value: float
    """What stands for the cell of the answer."""
    low: float
    """The lower edge of that cell, rounded down."""
    high: float
    """Its upper edge, rounded up."""
    grid: Fraction
    """The power of two to a multiple of which every value was rounded down."""


def release_answers(
    table: Table, document: PolicyDocument, out: str | os.PathLike[str], *, strict: bool
) -> tuple[ReleasedAnswer, ...]:
    """Write one row: for every query of a policy its released value and the ends of its cell.

    The total is exact whatever the engine, and so is the cell. A table is refused for which one
    person could move an answer further than the policy was designed for.
    """
    people, ranges = _people(document), document.ranges
    for query in document.aggregates:
        if query.column not in ranges:
            raise InputError(
                f"The policy releases {query}, but declares no range of '{query.column}'",
                hint=f'write in [design]: columns = {{{query.column} = ["100", "250"]}}',
            )
    read = dict.fromkeys(query.column for query in document.aggregates)
    _, totals = exact_totals(table, {name: ranges[name] for name in read}, strict=strict)
    answers = []
    for column, asked in zip(document.columns, document.aggregates, strict=True):
        found = totals[asked.column]
        _check_people(table, asked, found, people, ranges[asked.column])
        answers.append(_answer(column, asked, found))  # type: ignore[arg-type]  # a column with a query
    write_record(_record(answers), out)
    return tuple(answers)


def _people(document: PolicyDocument) -> int:
    people = document.design.get("people")
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise InputError(
            "The policy does not say for how many people it was designed",
            hint="write people = 5000 in the section [design]",
        )
    return people


def _check_people(
    table: Table,
    query: Aggregate,
    found: ColumnTotal,
    people: int,
    ends: tuple[Fraction, Fraction],
) -> None:
    """Refuse a number of people for which the promise of the policy does not hold.

    One of n people moves a mean by the length of the range over n, also by a value that is
    missing: so n may be larger than designed for, not smaller. A total moves by the length of the
    range, but its own range depends on n; and a missing value counts as zero, which must then lie
    in the range.
    """
    designed = f"the policy was designed for {people:,}"
    holds = f"Column '{query.column}' of {table.name} holds {found.present:,} values"
    again = f"design the release again, for people = {found.present}"
    if query.function == "mean" and found.present < people:
        raise ColumnError(
            f"{holds} and {designed}, so that one person would move {query} further than certified",
            hint=again,
        )
    if query.function == "total" and found.present > people:
        raise ColumnError(
            f"{holds} and {designed}, so that {query} could leave its range", hint=again
        )
    if query.function == "total" and found.present < people and not ends[0] <= 0 <= ends[1]:
        raise ColumnError(
            f"{holds} and {designed}, so that {query} could leave its range and tell who is "
            "missing",
            hint=again + ", once no value is missing",
        )


def _answer(column: Answering, query: Aggregate, found: ColumnTotal) -> ReleasedAnswer:
    exact = found.total / found.present if query.function == "mean" else found.total
    quantizer = column.quantizer
    cell = quantizer.cell(exact)
    if isinstance(quantizer, UniformQuantizer):
        value, low = quantizer.middle(cell), quantizer.low + cell * quantizer.width
        high = low + quantizer.width
    else:
        value, low, high = quantizer.released[cell], *quantizer.edges[cell : cell + 2]
    return ReleasedAnswer(
        column=column,
        query=query,
        counts=found.counts,
        people=found.present,
        value=float(value),
        low=_below(low),
        high=-_below(-high),
        grid=found.grid,
    )


def _below(number: Fraction) -> float:
    """Return the largest double that is not above a number.

    Example:
        >>> _below(Fraction(1, 2)), Fraction(_below(Fraction(1, 10))) <= Fraction(1, 10)
        (0.5, True)
    """
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def _record(answers: list[ReleasedAnswer]) -> dict[str, float]:
    cells = [(answer.column.name, answer.value, answer.low, answer.high) for answer in answers]
    listed = [
        pair
        for name, value, low, high in cells
        for pair in ((name, value), (f"{name}_low", low), (f"{name}_high", high))
    ]
    record = dict(listed)
    if len({name.lower() for name in record}) < len(listed):
        raise InputError(
            "Two columns of the release would have one name",
            hint="no answer may be named like another with _low or _high behind it",
        )
    return record
