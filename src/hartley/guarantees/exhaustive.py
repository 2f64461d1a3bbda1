"""Confirm a certified number by brute force, where there are few enough cases."""

from __future__ import annotations

import math
import operator
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from hartley.boxes.expression import as_expression
from hartley.errors import InputError, OptionError
from hartley.exact import parse_number
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import Aggregate
from hartley.policies.vector import VectorQuantizer
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hartley.boxes.expression import Expression
    from hartley.policies.column import ColumnPolicy
    from hartley.policies.quantizer import Quantizer

    Query = Expression | str | Callable[..., Any]
    Contribution = tuple[int, ...]
    """What one person adds to every answer, in whole multiples of a unit each."""

MOST_CASES = 5_000_000
MOST_RECORDS = 1_000_000


def verify_exhaustively(
    policy: Quantizer | VectorQuantizer | PolicyDocument,
    query: Query | Sequence[Query] | None = None,
    people: Mapping[str, Sequence[object]] | None = None,
) -> int:
    """Return how many outputs one person can really produce, by trying everything.

    Of quantized queries, every value of one person is tried beside every combination of the
    others'; where the queries are linear, beside every total of the others'. Of a policy file that
    releases records, every combination of the given values of its columns (None for a missing one)
    is released by the engine itself, and different releases are counted; of one that releases
    means or totals, every person takes every given record, and all answers are counted together.
    Refused where that is too much. Exact.

    Args:
        policy: what releases.
        query: the query that a quantizer releases, or the list of queries of a vector quantizer; a
            policy file has its own.
        people: for every person, or for every column of a policy file, the values to try.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.policies.quantizer import UniformQuantizer
        >>> quarters = UniformQuantizer(0, 1, 4)
        >>> halves = [Fraction(k, 8) for k in range(9)]
        >>> verify_exhaustively(quarters, "(x1 + x2)/2", {"x1": halves, "x2": halves})
        3
        >>> from hartley.policies.quantized_column import QuantizedColumn
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
    parts, queries = queries_of(policy, query)
    expressions = [as_expression(each, exact) for each in queries]
    _refuse_lacking((name for expression in expressions for name in expression.names), exact)
    forms = [expression.linear() for expression in expressions]
    linear = [form for form in forms if form is not None]
    if len(linear) == len(forms):
        return _try_totals(parts, linear, exact)
    return _try_people(parts, expressions, exact)


def queries_of(
    policy: Quantizer | VectorQuantizer, query: Query | Sequence[Query]
) -> tuple[Sequence[Quantizer], Sequence[Query]]:
    """Return the quantizers of a policy and the query of each."""
    if not isinstance(policy, VectorQuantizer):
        return [policy], [query]  # type: ignore[list-item]  # refused where it is no query
    queries: Sequence[Query] = query if isinstance(query, (list, tuple)) else [query]  # type: ignore[list-item]  # one query
    if len(queries) != len(policy.parts):
        raise OptionError(
            f"A quantizer of {len(policy.parts)} queries got {len(queries)}",
            hint="give a list with one query for each",
        )
    return policy.parts, queries


def _refuse_lacking(names: Iterable[str], given: Mapping[str, object]) -> None:
    for name in names:
        if name not in given:
            raise OptionError(
                f"There are no values of '{name}' to try", hint="give them in people="
            )


def _exact(name: str, values: Sequence[object]) -> list[Fraction]:
    if not len(values):
        raise OptionError(f"There are no values of '{name}' to try", hint="give at least one")
    return [parse_number(value, name=f"a value of '{name}'") for value in values]


def _try_people(
    policies: Sequence[Quantizer],
    expressions: Sequence[Expression],
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
            cells = {
                tuple(
                    policy.cell(expression.at(point | {name: value}))
                    for policy, expression in zip(policies, expressions, strict=True)
                )
                for value in values
            }
            most = max(most, len(cells))
    return most


def _try_totals(
    policies: Sequence[Quantizer],
    forms: Sequence[tuple[Mapping[str, Fraction], Fraction]],
    people: Mapping[str, Sequence[Fraction]],
) -> int:
    """Count the joint outputs of linear queries, over all totals of the others."""
    parts = {
        name: [
            tuple(weights.get(name, Fraction(0)) * value for weights, _ in forms)
            for value in values
        ]
        for name, values in people.items()
    }
    columns = zip(*(part for listed in parts.values() for part in listed), strict=True)
    units = [math.lcm(*(number.denominator for number in column)) for column in columns]
    kinds = Counter(
        frozenset(tuple(int(n * u) for n, u in zip(part, units, strict=True)) for part in listed)
        for listed in parts.values()
    )
    cell_of = [
        cache(lambda total, p=policy, u=unit, c=shift: p.cell(Fraction(total, u) + c))
        for policy, unit, (_, shift) in zip(policies, units, forms, strict=True)
    ]
    return _most_joint(
        kinds, lambda totals: tuple(cell(t) for cell, t in zip(cell_of, totals, strict=True))
    )


def _most_joint(
    kinds: Counter[frozenset[Contribution]], cells: Callable[[Contribution], tuple[int, ...]]
) -> int:
    """Count the joint answers that one person can produce; answers depend on totals alone."""
    # Instead of everybody's values all totals t of the others are tried: with V the contributions
    # of one person, max over t in V + ... + V of |{cells(t + v) : v in V}|. People with the same
    # possible contributions are of one kind.
    most, cases = 0, 0
    for kind in kinds:
        totals: set[Contribution] = {(0,) * len(next(iter(kind)))}
        for other, times in (kinds - Counter([kind])).items():
            for _ in range(times):
                _refuse_too_many(cases := cases + len(totals) * len(other), MOST_CASES)
                totals = {tuple(map(operator.add, t, v)) for t in totals for v in other}
        _refuse_too_many(cases := cases + len(totals) * len(kind), MOST_CASES)
        for t in totals:
            most = max(most, len({cells(tuple(map(operator.add, t, v))) for v in kind}))
    return most


def _try_document(document: PolicyDocument, values: Mapping[str, Sequence[object]]) -> int:
    if document.lines or document.stepped:
        raise OptionError(
            "A policy against a hypothesis promises no number of outputs",
            hint="its certificate measures records; try a policy that quantizes or merges",
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
    """Count the joint answers to all queries that one person can produce."""
    size = document.design.get("people")
    if not isinstance(size, int) or size < 1:
        raise InputError(
            "The policy does not say over how many people it is", hint="write people in [design]"
        )
    names = dict.fromkeys(query.column for query in document.aggregates)
    _refuse_lacking(names, values)
    exact = [_exact(name, values[name]) for name in names]
    # Whole multiples of one unit a column are added and compared quickly.
    units = [math.lcm(*(value.denominator for value in column)) for column in exact]
    steps = [{int(value * unit) for value in c} for c, unit in zip(exact, units, strict=True)]
    _refuse_too_many(math.prod(map(len, steps)), MOST_CASES)
    records = frozenset(product(*steps))
    cells = _cells_of(document, dict(zip(names, units, strict=True)), size)
    return _most_joint(Counter({records: size}), cells)


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
