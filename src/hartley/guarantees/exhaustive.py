"""Confirm a certified number by brute force, where there are few enough cases."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from hartley.engines.maps.column_map import apply_map
from hartley.engines.tables.sources import open_table
from hartley.errors import InputError, OptionError
from hartley.exact import parse_number
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizers.query import Aggregate
from hartley.ranges.boxes.expression import as_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.policies.column import ColumnPolicy
    from hartley.policies.quantizers.quantizer import Quantizer
    from hartley.ranges.boxes.expression import Expression

    Query = Expression | str | Callable[..., Any]

MOST_CASES = 5_000_000
MOST_RECORDS = 1_000_000


def verify_exhaustively(
    policy: Quantizer | PolicyDocument,
    query: Query | None = None,
    people: Mapping[str, Sequence[object]] | None = None,
) -> int:
    """Return how many outputs one person can really produce, by trying everything.

    Of a quantized query, every value of one person is tried beside every combination of the
    others'. Of a policy file that releases records, every combination of the given values of its
    columns (None for a missing one) is released by the engine itself, and different releases are
    counted; of one that releases means or totals, every person takes every given record, and all
    answers are counted together. Refused where that is too much. Exact.

    Args:
        policy: what releases.
        query: the query that a quantizer releases; a policy file has its own.
        people: for every person, or for every column of a policy file, the values to try.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.policies.quantizers.quantizer import UniformQuantizer
        >>> quarters = UniformQuantizer(0, 1, 4)
        >>> halves = [Fraction(k, 8) for k in range(9)]
        >>> verify_exhaustively(quarters, "(x1 + x2)/2", {"x1": halves, "x2": halves})
        3
        >>> from hartley.policies.kinds import QuantizedColumn
        >>> ages = PolicyDocument((QuantizedColumn("age", UniformQuantizer(0, 100, 4)),))
        >>> verify_exhaustively(ages, people={"age": [*range(101), None]})
        5
    """
    if not people:
        raise OptionError("No values were given to try", hint="give people={name: [values]}")
    if isinstance(policy, PolicyDocument):
        return _try_document(policy, people)
    if query is None:
        raise OptionError("A quantizer is tried with a query", hint="give query=")
    exact = {name: _exact(name, values) for name, values in people.items()}
    return _try_people(policy, as_expression(query, exact), exact)


def _exact(name: str, values: Sequence[object]) -> list[Fraction]:
    return [parse_number(value, name=f"a value of '{name}'") for value in values]


def _try_people(
    policy: Quantizer,
    expression: Expression,
    people: Mapping[str, Sequence[Fraction]],
) -> int:
    """Count the outputs of the person who can produce most of them."""
    cases = math.prod(map(len, people.values()))
    _refuse_too_many(cases * len(people), MOST_CASES)
    most = 0
    for name, values in people.items():
        others = [other for other in people if other != name]
        for fixed in product(*(people[other] for other in others)):
            point = dict(zip(others, fixed, strict=True))
            cells = {policy.cell(expression.at(point | {name: v})) for v in values}
            most = max(most, len(cells))
    return most


def _try_document(document: PolicyDocument, values: Mapping[str, Sequence[object]]) -> int:
    if document.lines:
        raise OptionError(
            "A policy against a hypothesis promises no number of outputs",
            hint="its certificate measures volumes; try a policy that quantizes or merges",
        )
    if document.prams:
        raise OptionError(
            f"Column '{document.prams[0].name}' is drawn at random, so that trying everything once "
            "counts nothing",
            hint="its certificate bounds guesses: hartley.certify(policy)",
        )
    if document.aggregates:
        return _try_aggregates(document, values)
    _refuse_too_many(math.prod(map(len, values.values())), MOST_RECORDS)
    records = zip(*product(*values.values()), strict=True)
    table = open_table(dict(zip(values, map(list, records), strict=True)))
    released = apply_map(table, document.to_map())
    return int(released.expression.distinct().count().to_pyarrow().as_py())


def _try_aggregates(document: PolicyDocument, values: Mapping[str, Sequence[object]]) -> int:
    """Count the joint answers to all queries that one person can produce.

    Answers depend on the totals of the columns alone, so that instead of everybody's values all
    totals t of the others are tried: with V the records of one person, max over t in V + ... + V
    of |{(cell_j(t_j + v_j))_j : v in V}|.
    """
    size = document.design.get("people")
    if not isinstance(size, int) or size < 1:
        raise InputError(
            "The policy does not say over how many people it is", hint="write people in [design]"
        )
    names = dict.fromkeys(query.column for query in document.aggregates)
    for name in names:
        if name not in values:
            raise OptionError(
                f"There are no values of '{name}' to try", hint="give them in people="
            )
    exact = [_exact(name, values[name]) for name in names]
    # Whole multiples of one unit a column are added and compared quickly.
    units = [math.lcm(*(value.denominator for value in column)) for column in exact]
    steps = [{int(value * unit) for value in c} for c, unit in zip(exact, units, strict=True)]
    cases = math.prod(map(len, steps))
    _refuse_too_many(cases, MOST_CASES)
    records = list(product(*steps))
    totals = {(0,) * len(names)}
    for _ in range(size - 1):
        _refuse_too_many(cases := cases + len(totals) * len(records), MOST_CASES)
        totals = {tuple(map(operator.add, t, v)) for t in totals for v in records}
    _refuse_too_many(cases + len(totals) * len(records), MOST_CASES)
    cells = _cells_of(document, dict(zip(names, units, strict=True)), size)
    return max(len({cells(tuple(map(operator.add, t, v))) for v in records}) for t in totals)


def _cells_of(
    document: PolicyDocument, units: Mapping[str, int], size: int
) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """Return the function from the totals of the columns, in units, to the cells of all answers."""
    places = {name: place for place, name in enumerate(units)}

    def cell_of(column: ColumnPolicy) -> tuple[int, Callable[[int], int]]:
        query, cells = column.query, column.cells
        assert isinstance(query, Aggregate)  # a policy mixes them with nothing else
        assert cells is not None  # only columns in cells have queries
        whole = units[query.column] * (size if query.function == "mean" else 1)
        return places[query.column], cache(lambda total: cells.cell(Fraction(total, whole)))

    asked = [cell_of(column) for column in document.columns]
    return lambda totals: tuple(cell(totals[place]) for place, cell in asked)


def _refuse_too_many(cases: int, most: int) -> None:
    if cases > most:
        raise OptionError(
            f"Trying everything would take {cases:,} cases",
            hint=f"give fewer people or values, up to {most:,} cases",
        )
