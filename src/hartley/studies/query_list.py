"""A design whose query is a list: what each of the queries would be as a design of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.errors import ColumnError, InputError
from hartley.files import one_line
from hartley.policies.quantizers.query import Aggregate, parse_query
from hartley.studies.specification_fields import read_number, read_objective
from hartley.wording import listed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

ONE_QUERY_ONLY = ("sensitivity", "rule")
"""Fields that have a meaning for one query alone."""


def is_query_list(content: Mapping[str, Any]) -> bool:
    """Tell whether a design asks for several queries together."""
    return isinstance(content.get("query"), (list, tuple))


def split_queries(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the content of a design for each of its queries.

    Example:
        >>> both = {"objective": "bits", "query": ["a", "b"], "bits": 4,
        ...         "columns": {"a": {"range": [0, 1]}, "b": {"range": [0, 9]}}}
        >>> [(part["query"], list(part["columns"])) for part in split_queries(both)]
        [('a', ['a']), ('b', ['b'])]
    """
    objective = read_objective(content)
    if objective not in ("maximin", "bits"):
        raise InputError(
            f"The objective {objective} is for one query, and several were given",
            hint='use objective = "maximin" or "bits", or design each query by itself',
        )
    for name in ONE_QUERY_ONLY:
        if name in content:
            raise InputError(
                f"The field '{name}' has no meaning for several queries", hint="leave it out"
            )
    queries = _read_texts(content["query"], "query")
    if len(queries) == 1:
        raise InputError("The list of queries holds one query", hint="write it without brackets")
    parsed = [parse_query(query) for query in queries]
    about_table = [isinstance(query, Aggregate) for query in parsed]
    if any(about_table) and not all(about_table):
        whole, row = (queries[about_table.index(kind)] for kind in (True, False))
        raise InputError(
            f"The design asks for {one_line(whole)} of a whole table beside '{one_line(row)}' of "
            "every record",
            hint="write two designs",
        )
    names = _read_names(content.get("name"), queries)
    errors = _read_errors(content.get("error"), queries, content.get("norm"))
    columns = content.get("columns")
    declared = columns if isinstance(columns, dict) else {}
    used = [(query.column,) if isinstance(query, Aggregate) else query.names for query in parsed]
    idle = [name for name in declared if not any(name in of for of in used)]
    if idle:
        raise ColumnError(
            f"Column '{idle[0]}' is declared, but no query names it",
            hint="leave it out: what a design does not use is not released",
        )
    parts = []
    for query, called, error, needed in zip(queries, names, errors, used, strict=True):
        part = {
            key: value for key, value in content.items() if key in ("objective", "bits", "people")
        }
        own = {column: fields for column, fields in declared.items() if column in needed}
        part |= {"query": query, "columns": own or columns}
        part |= {} if error is None else {"error": error}
        parts.append(part | ({} if called is None else {"name": called}))
    return parts


def read_query_weights(weights: object, queries: tuple[str, ...]) -> dict[str, Fraction]:
    """Read how much the error of each query matters; those of "range" follow from the ranges."""
    if weights is None or weights == "range":
        return {}
    if not isinstance(weights, dict):
        raise InputError(
            "The weights are not a table", hint='write weights = { "mean(height)" = 2 }, or "range"'
        )
    read = {}
    for query, weight in weights.items():
        if query not in queries:
            raise InputError(
                f"A weight names '{one_line(query)}', which the design does not ask for",
                hint=f"the queries are {listed(map(one_line, queries))}",
            )
        read[query] = read_number(weight, f"the weight of '{one_line(query)}'")
        if read[query] <= 0:
            raise InputError(
                f"The weight of '{one_line(query)}' is not positive",
                hint="leave out a query that does not matter",
            )
    return read


def _read_texts(items: object, field: str) -> list[str]:
    texts = [item.strip() if isinstance(item, str) else "" for item in items]  # type: ignore[attr-defined]  # a list
    if not texts or not all(texts):
        raise InputError(
            f"The field '{field}' is not a list of texts",
            hint='write query = ["mean(height)", "mean(weight)"]',
        )
    doubled = [text for text in texts if texts.count(text) > 1]
    if doubled:
        raise InputError(
            f"The field '{field}' lists '{one_line(doubled[0])}' twice", hint="list it once"
        )
    return texts


def _read_names(names: object, queries: list[str]) -> list[str | None]:
    if names is None:
        return [None] * len(queries)
    if not isinstance(names, (list, tuple)) or len(names) != len(queries):
        raise InputError(
            "The field 'name' does not name every answer",
            hint=f"write a list of {len(queries)} names, in the order of the queries",
        )
    return list(_read_texts(names, "name"))


def _read_errors(error: object, queries: list[str], norm: object) -> list[Any]:
    if not isinstance(error, (list, tuple)):
        return [error] * len(queries)
    if norm == "euclidean":
        raise InputError(
            "A Euclidean error is one number for all queries",
            hint='write error = 10, or leave out norm = "euclidean"',
        )
    if len(error) != len(queries):
        raise InputError(
            f"There are {len(error)} errors for {len(queries)} queries",
            hint="write one error for all of them, or one for each",
        )
    return list(error)
