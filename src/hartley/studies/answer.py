"""Release one number of a whole table: the cell in which a mean or a total lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.engines.counting.totals import exact_totals
from hartley.engines.maps.writing import write_record
from hartley.errors import ColumnError, InputError
from hartley.wording import counted, verb_for

if TYPE_CHECKING:
    import os

    from hartley.engines.counting.totals import ColumnTotal
    from hartley.engines.maps.unfit_values import ColumnCounts
    from hartley.engines.tables.table import Table
    from hartley.policies.column import ColumnPolicy
    from hartley.policies.document import PolicyDocument
    from hartley.policies.quantizers.query import Aggregate


@dataclass(frozen=True)
class ReleasedAnswer:
    """The released answer to one query, and the counts of clamped and missing values."""

    column: ColumnPolicy
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


def release_answers(  # noqa: PLR0913 - what ``release`` takes
    table: Table,
    document: PolicyDocument,
    out: str | os.PathLike[str],
    *,
    people: int,
    strict: bool,
    spreadsheet_safe: bool = False,
) -> tuple[ReleasedAnswer, ...]:
    """Write one row: for every query of a policy its released value and the ends of its cell.

    The total is exact on every engine, and so is the cell. A table of another number of
    people than the policy promises something about is refused, and so is one with missing values:
    of a mean one person could move it further, of a total it could leave its range.
    """
    ranges = document.ranges
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
        total = totals[asked.column]
        refuse_missing(str(asked), total.counts)
        if total.present != people:
            raise ColumnError(
                f"{table.name} holds {total.present:,} values of '{asked.column}', but the policy "
                f"promises {asked} over {people:,} people",
                hint=f"design the release again, for people = {total.present}",
            )
        answers.append(_answer(column, asked, total))
    write_record(_record(answers), out, spreadsheet_safe=spreadsheet_safe)
    return tuple(answers)


def refuse_missing(what: str, counts: ColumnCounts) -> None:
    """Refuse values that are missing, or undefined, where a promise does not allow for them."""
    lost = counts.missing + counts.undefined
    if lost:
        raise ColumnError(
            f"{counted(lost, 'value')} of '{what}' "
            f"{verb_for(lost, 'is')} missing, which the promise of the policy does not "
            "allow for",
            hint="leave these rows out of the table, or design a release that counts them",
        )


def _answer(column: ColumnPolicy, query: Aggregate, total: ColumnTotal) -> ReleasedAnswer:
    exact = total.total / total.present if query.function == "mean" else total.total
    cells = column.cells
    assert cells is not None  # only columns in cells have queries
    cell = cells.cell(exact)
    low, high = cells.ends(cell)
    return ReleasedAnswer(
        column=column,
        query=query,
        counts=total.counts,
        people=total.present,
        value=float(cells.middle(cell)),
        low=_below(low),
        high=-_below(-high),
        grid=total.grid,
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
