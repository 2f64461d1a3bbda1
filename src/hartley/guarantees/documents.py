"""The promise of a policy file, computed from the file alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hartley.errors import InputError
from hartley.exact import floor_power, parse_number
from hartley.guarantees.answers import (
    MOST_CELLS_CUT,
    OTHERS,
    ReleasedAnswerClaim,
    answer_aggregate,
    of_query,
    promise_answers,
    raised,
    reach_bounds,
)
from hartley.guarantees.categories import promise_perturbation
from hartley.guarantees.hypotheses import promise_lines
from hartley.guarantees.promise import UNRELATED
from hartley.guarantees.records import (
    INSIDE,
    MISSING,
    count_outputs,
    count_together,
    promise_records,
)
from hartley.policies.quantizers.query import Aggregate
from hartley.ranges.boxes.box import Box, Interval
from hartley.ranges.boxes.expression import Expression
from hartley.wording import counted, exactly

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from hartley.guarantees.promise import Consequence, Promise
    from hartley.guarantees.records import Missing, Together
    from hartley.policies.column import ColumnPolicy, Output
    from hartley.policies.document import PolicyDocument
    from hartley.policies.hypotheses.blurring import LinePolicy
    from hartley.policies.quantizers.quantizer import Quantizer


@dataclass(frozen=True)
class Conditions:
    """The conditions on a table under which the promise of a policy file covers its release."""

    complete: frozenset[str] = frozenset()
    """The released columns that may hold no missing value."""
    people: int | None = None
    """How many rows the table has, one a person; None where any number will do."""
    lines: tuple[LinePolicy, ...] = ()
    """How columns are moved near a line: their values must be fine enough to be hidden."""


def conditions_of(document: PolicyDocument) -> Conditions:
    """Return what a release of a policy file must check of its table; costs nothing."""
    everything = frozenset(name for column in document.columns for name in column.columns)
    if document.aggregates:
        return Conditions(everything, people=_people(document))
    if document.prams:
        return Conditions()
    lines = tuple(document.lines.values())
    if lines or document.stepped:
        read = frozenset(name for line in lines for name in line.box.names)
        # Values that have no index are refused by the rule itself, missing ones among them.
        return Conditions(read & everything, lines=lines)
    if _moved(document):
        return Conditions(everything)
    outputs = [column.outputs() for column in document.columns]
    together = _together(_expressions(document))
    strict = missing_of(outputs, document.design.get("bits"), together) == "refused"
    return Conditions(everything if strict else frozenset())


def promise_document(document: PolicyDocument, budget: object = None) -> Promise:
    """Return what a policy file promises.

    Everything is recomputed from the columns. Of the section [design] only what nobody could
    compute is read, and named as an assumption: declared ranges, the number of people, the
    sensitivity of a query, and the budget that the policy is held against.

    Args:
        document: the policy.
        budget: the bits that were asked for; by default the ``bits`` of its design.
    """
    asked = document.design.get("bits") if budget is None else budget
    if document.aggregates:
        return _promise_aggregates(document, asked)
    if document.prams:
        return promise_perturbation(document, asked)
    if document.lines or document.stepped:
        return promise_lines(document)
    expressions = _expressions(document)
    if _moved(document):
        return _promise_moved(document, *expressions[0], asked)
    return _promise_rows(document, expressions, asked)


def _moved(document: PolicyDocument) -> bool:
    """Tell whether the policy is one query that a person moves by no more than is declared."""
    return (
        "sensitivity" in document.design
        and len(document.columns) == 1
        and isinstance(document.columns[0].query, Expression)
    )


# --- records one by one -------------------------------------------------------------------------


def _promise_rows(
    document: PolicyDocument, expressions: list[tuple[ColumnPolicy, Expression]], budget: object
) -> Promise:
    outputs = [column.outputs() for column in document.columns]
    read = frozenset[str]().union(*(output.reads for output in outputs))
    # Only listed points are possible, so the error over all numbers does not apply.
    listed = {column.name for column in document.columns if column.lists_values}
    lengths = {
        name: high - low
        for name, (low, high) in document.ranges.items()
        if name in read and name not in listed
    }
    more: list[Consequence] = []
    for column, expression in expressions:
        consequences = _cells(document, column, expression)
        more += consequences if len(expressions) == 1 else _named(consequences, column.name)
    together = _together(expressions)
    return promise_records(
        outputs,
        {name: length for name, length in lengths.items() if length},
        budget,
        missing=missing_of(outputs, budget, together),
        together=together,
        more=tuple(more),
    )


def _together(expressions: Sequence[tuple[ColumnPolicy, Expression]]) -> Together:
    """Return how many values columns that release one query take jointly, at most.

    They are computed from one number, so that they change where it passes an edge of one of them:
    the cells of the common refinement. Queries that differ are left to the product even where not
    all combinations are possible, because engines compute them in doubles, whose rounding may
    reach a combination that no exact value has.
    """
    by_query: dict[Expression, list[ColumnPolicy]] = {}
    for column, expression in expressions:
        by_query.setdefault(expression, []).append(column)
    return [
        (tuple(column.name for column in columns), 1 + len(_inner_edges(columns)))
        for columns in by_query.values()
        if len(columns) > 1 and sum(map(_levels, columns)) <= MOST_CELLS_CUT
    ]


def _levels(column: ColumnPolicy) -> int:
    return quantizer_of(column).levels


def _inner_edges(columns: Sequence[ColumnPolicy]) -> set[Fraction]:
    return {edge for column in columns for edge in quantizer_of(column).edges[1:-1]}


def missing_of(outputs: Sequence[Output], budget: object, together: Together = ()) -> Missing:
    """Count missing values, unless a budget is kept without them alone.

    By default a release gives missing values out as missing. A budget that leaves no room for
    that can be kept by a strict release, and then the promise says so.
    """
    if budget is None:
        return "counted"
    allowed = floor_power(budget)
    treated: tuple[Missing, Missing] = ("counted", "refused")
    with_missing, without = (
        count_together(count_outputs(outputs, missing), missing, together) for missing in treated
    )
    strict = without <= allowed < with_missing
    return "refused" if strict else "counted"


def _expressions(document: PolicyDocument) -> list[tuple[ColumnPolicy, Expression]]:
    """Return the columns that quantize an expression over the columns of a row."""
    return [
        (column, column.query)
        for column in document.columns
        if isinstance(column.query, Expression)
    ]


def _cells(
    document: PolicyDocument, column: ColumnPolicy, expression: Expression
) -> tuple[Consequence, ...]:
    """Return what the cells of an expression tell, where the ranges of its columns are known."""
    ranges = document.ranges
    if not expression.names or not all(name in ranges for name in expression.names):
        return ()
    box = Box({name: Interval(*ranges[name]) for name in expression.names})
    return of_query(box, expression, quantizer_of(column))


def quantizer_of(column: ColumnPolicy) -> Quantizer:
    """Return the cells of a column that releases a query."""
    assert column.cells is not None  # only columns in cells have queries
    return column.cells


def _promise_moved(
    document: PolicyDocument, column: ColumnPolicy, expression: Expression, budget: object
) -> Promise:
    """Certify an answer that one person moves by no more than is declared."""
    reach = parse_number(document.design["sensitivity"], name="the sensitivity of the design")
    if reach < 0:
        raise InputError(
            "The sensitivity of the design is negative",
            hint="it is how far one person's data can move the query",
        )
    ranges = document.ranges
    if expression.names and all(name in ranges for name in expression.names):
        # One column alone is no more than one person's data.
        box = Box({name: Interval(*ranges[name]) for name in expression.names})
        reach = raised(reach, reach_bounds(expression, box))
    declared = f"one person's data moves {column.of} by {exactly(reach)} at most, as declared"
    return promise_answers(
        [ReleasedAnswerClaim(str(column.of), quantizer_of(column), reach)],
        budget,
        assumptions=(declared, OTHERS, UNRELATED, INSIDE, *MISSING["refused"][:1]),
        more=_cells(document, column, expression),
        parameters={"query": column.of, "sensitivity": str(reach), "missing": "refused"},
    )


# --- one answer for all -------------------------------------------------------------------------


def _promise_aggregates(document: PolicyDocument, budget: object) -> Promise:
    people = _people(document)
    ranges, answers = document.ranges, []
    more: list[Consequence] = []
    read: dict[str, list[str]] = {}
    for column in document.columns:
        query = column.query
        assert isinstance(query, Aggregate)  # a policy mixes them with nothing else
        if query.column not in ranges:
            raise InputError(
                f"The policy releases {query}, but declares no range of '{query.column}'",
                hint=f'write in [design]: columns = {{{query.column} = ["100", "250"]}}',
            )
        side = Interval(*ranges[query.column])
        answer, consequences = answer_aggregate(query, quantizer_of(column), side, people)
        answers.append(answer)
        more += consequences if len(document.columns) == 1 else _named(consequences, str(query))
        read[query.column] = [str(side.low), str(side.high)]
    table = (
        f"the table has exactly {counted(people, 'row')}, one a person, no value is missing, and "
        "the answer is exact before it is put into a cell"
    )
    return promise_answers(
        answers,
        budget,
        assumptions=(OTHERS, UNRELATED, INSIDE, table),
        more=tuple(more),
        parameters={
            "queries": [str(query) for query in document.aggregates],
            "people": people,
            "ranges": read,
            "missing": "ruled out",
        },
    )


def _people(document: PolicyDocument) -> int:
    people = document.design.get("people")
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise InputError(
            f"The policy releases {document.aggregates[0]}, but does not say over how many people",
            hint="write for example people = 5000 in its section [design]",
        )
    return people


def _named(consequences: tuple[Consequence, ...], of: str) -> tuple[Consequence, ...]:
    """Tell what follows for one column from what follows for another."""
    return tuple(
        replace(
            consequence,
            name=f"{consequence.name} of {of}",
            sentence=f"About {of}: {consequence.sentence}",
        )
        for consequence in consequences
    )
