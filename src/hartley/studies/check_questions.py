"""Published tables in the words of the agent: how conditions lie to each other, and the price."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.agent.asking import open_desk, price
from hartley.agent.questions.batch import Question, Statistic, columns_of, from_plain, to_plain
from hartley.agent.quotes import questions_of
from hartley.agent.transcript import Domain, cut_column
from hartley.engines.tables.condition import condition_columns, evaluate_condition
from hartley.errors import HartleyError, OptionError
from hartley.files import one_line
from hartley.ranges.schema.schema import Schema
from hartley.ranges.tables.cover import Selections

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.engines.crosstabs.crosstab import Crosstab

MOST_COMBINATIONS = 100_000
"""Categories that conditions look at, combined."""


def select(
    conditions: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    schema: Schema | None,
    resolved: Mapping[str, Any] | None = None,
) -> Selections:
    """Decide which conditions can hold together, and for which categories.

    Args:
        conditions: the conditions of the outputs.
        categories: the categories of each dimension that is a column.
        schema: the public schema, whose finite ranges decide; without one, a single condition
            about other columns than the dimensions, or conditions about dimensions alone.
        resolved: conditions that an agent has resolved already, by their names.

    Example:
        >>> select(["age >= 20"], {"sex": ["F", "M"]}, None).patterns
        ((True,), (False,))
    """
    distinct = list(dict.fromkeys(conditions))
    if not distinct:
        return Selections.nothing()
    if schema is not None:
        return _by_schema(distinct, categories, schema, resolved or {})
    named = {text: condition_columns(text) for text in distinct}
    if all(columns <= set(categories) for columns in named.values()):
        return _by_dimensions(distinct, categories)
    if len(distinct) == 1 and named[distinct[0]].isdisjoint(categories):
        return Selections.part(distinct[0])
    raise OptionError(
        f"How the condition '{one_line(distinct[-1])}' lies to the others is not known",
        hint="give the schema of the table (--schema), whose ranges decide it",
    )


def _by_dimensions(conditions: list[str], categories: Mapping[str, Sequence[str]]) -> Selections:
    """Evaluate conditions that look at dimensions alone, category by category."""
    dims = tuple(categories)
    combined = _combined(categories)
    columns = {dim: [_number(keys[i]) for keys in combined] for i, dim in enumerate(dims)}
    columns = {
        dim: values if all(isinstance(v, int) for v in values) else [str(v) for v in values]
        for dim, values in columns.items()
    }
    truth = np.stack([evaluate_condition(text, columns) for text in conditions], axis=1)
    patterns = sorted({tuple(map(bool, row)) for row in truth.tolist()}, reverse=True)
    possible = {
        keys: frozenset([patterns.index(tuple(map(bool, row)))])
        for keys, row in zip(combined, truth.tolist(), strict=True)
    }
    return Selections(tuple(conditions), tuple(patterns), dims, possible)


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _combined(categories: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    size = int(np.prod([len(keys) for keys in categories.values()]))
    if size > MOST_COMBINATIONS:
        raise OptionError(
            f"The conditions look at {size:,} combinations of categories",
            hint="check fewer outputs at once",
        )
    return list(product(*categories.values()))


def _by_schema(
    conditions: list[str],
    categories: Mapping[str, Sequence[str]],
    schema: Schema,
    resolved: Mapping[str, Any],
) -> Selections:
    """Decide on the ranges of the schema, as the agent does for its prices."""
    asked = [
        _counted(resolved[text]) if text in resolved else resolve_condition(text, schema)
        for text in conditions
    ]
    used = {name for question in asked for name in columns_of(question.where)}
    dims = tuple(dim for dim in categories if dim in used)
    names = {dim: categories[dim] for dim in dims}
    tests = {(dim, key): _test(key, schema, dim) for dim in dims for key in names[dim]}
    wheres = [*asked, *(resolve_condition(text, schema) for text in tests.values())]
    columns = sorted(used)
    cuts = [cut_column(schema.columns[name], wheres) for name in columns]
    domain = Domain(cuts, absent=False)
    held = [domain.passing(question.where) for question in wheres]
    truth = np.stack(held[: len(conditions)], axis=1)
    inside = dict(zip(tests, held[len(conditions) :], strict=True))
    patterns = sorted({tuple(map(bool, row)) for row in truth.tolist()}, reverse=True)
    number = {pattern: at for at, pattern in enumerate(patterns)}
    codes = np.array([number[tuple(map(bool, row))] for row in truth.tolist()])
    possible = {}
    for keys in _combined(names) if dims else []:
        mine = np.ones(len(codes), bool)
        for dim, key in zip(dims, keys, strict=True):
            mine &= inside[dim, key]
        possible[keys] = frozenset(np.unique(codes[mine]).tolist())
    return Selections(tuple(conditions), tuple(patterns), dims, possible)


def resolve_condition(text: str, schema: Schema) -> Any:  # noqa: ANN401 - a question of the agent
    """Resolve a condition as the agent does."""
    with open_desk(schema, rows=1) as (desk, _):
        try:
            plans = desk.plan([f'SELECT COUNT(*) FROM "{schema.name}" WHERE {text}'], 0, None)  # noqa: S608 - resolved, never run
        except HartleyError as error:
            raise OptionError(
                f"The condition '{one_line(text)}' does not fit the schema: {error.problem}",
                hint=error.hint,
            ) from None
        return questions_of(plans)[0]


def _counted(where: Any) -> Question:  # noqa: ANN401 - a condition of the agent
    """Return the count of the rows of a condition."""
    return Question(Statistic.COUNT, where, None, None, 0, 1)


def rows_passing(
    conditions: Mapping[str, Any], codes: Mapping[str, NDArray[np.int64]], schema: Schema
) -> dict[str, NDArray[np.bool_]]:
    """Return where conditions of an agent hold.

    Args:
        conditions: the conditions, by their names.
        codes: the codes of each column, row by row; a missing value is the number of points.
        schema: the public schema.
    """
    held = {}
    for name, where in conditions.items():
        columns = [schema.columns[column] for column in columns_of(where)]
        cuts = [cut_column(column, [_counted(where)]) for column in columns]
        pieces = tuple(cut.pieces(codes[cut.column.name]) for cut in cuts)
        records = np.ravel_multi_index(pieces, tuple(cut.size for cut in cuts))
        held[name] = Domain(cuts, absent=False).passing(where)[records]
    return held


def write_condition(where: Any) -> dict[str, Any]:  # noqa: ANN401 - a condition of the agent
    """Return a condition that an agent resolved as plain values."""
    return to_plain(_counted(where))


def read_condition(plain: dict[str, Any]) -> Any:  # noqa: ANN401 - a condition of the agent
    """Return the condition that ``write_condition`` wrote."""
    return from_plain(plain).where


def _test(key: str, schema: Schema, dim: str) -> str:
    """Write the condition that a row has a label."""
    column, name = schema.columns[dim], _name(dim)
    own = next((str(v) for v in column.values or () if str(v).strip() == key), None)
    if own is None:
        if key == "missing" and column.nullable:
            return f"{name} IS NULL"
        if key == "other" and column.other:
            every = ", ".join(_literal(str(value), schema, dim) for value in column.values or ())
            return f"{name} NOT IN ({every})"
    return f"{name} = {_literal(key if own is None else own, schema, dim)}"


def _literal(key: str, schema: Schema, dim: str) -> str:
    column = schema.columns[dim]
    text = column.date or (column.values is not None and isinstance(column.values[0], str))
    if not text and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|True|False", key):
        return key
    escaped = key.replace("'", "''")
    return f"'{escaped}'"


def price_publication(questions: Sequence[str], schema: Schema) -> tuple[int, float]:
    """Return how many publications one person can cause, and their bits.

    Args:
        questions: the outputs as questions to an agent.
        schema: the public schema.
    """
    quote = price(list(questions), schema, rows=1_000, error=0, vacuous=True)
    return int(quote.cells), float(quote.bits_alone)


class PublishedNumbers(NamedTuple):
    """What the description of an output says, and its price rests on."""

    name: str
    dims: tuple[str, ...]
    statistic: str
    where: str | None
    complete: bool

    @classmethod
    def of(cls, table: Crosstab) -> PublishedNumbers:
        """Return that of an output that was read."""
        complete = bool(table.described.get("complete"))
        return cls(table.name, table.dims, table.statistic, table.where, complete)


def publication_questions(
    outputs: Sequence[PublishedNumbers],
    schema: Schema,
    contributor: str | None = None,
    *,
    reads: bool = False,
) -> list[str]:
    """Return all that a publication can depend on, as questions to an agent, each once.

    Nothing is looked at but descriptions: how many publications there can be, and so the price, is
    known before there is a table. Which cells are hidden, absent or rounded, and whether an output
    is withheld, is a function of the counts and sums of its cells; only where an output promises to
    be complete are the sums alone all there is. (Two cells, values 0 and 1, sums: one person can
    cause three tables, and four if empty cells are left out.) A missing value adds nothing to a
    sum, but a cell without values can be left out: how many there are is read too.

    Args:
        outputs: what is described of each output.
        schema: the public schema.
        contributor: the column of who contributes; without one, every row is another.
        reads: whether a rule or an insider looks at contributions.
    """
    questions: dict[str, None] = {}
    for output in outputs:
        dims, column = sorted(output.dims), output.statistic[4:-1]
        own = [contributor] if reads and contributor not in {None, schema.unit} else []
        for name in [*dims, *([column] if column else []), *own]:
            if name not in schema.columns:
                raise OptionError(
                    f"The column '{one_line(str(name))}' of {output.name} is not in the schema",
                    hint="name dims, statistic and contributor after the columns, or leave the "
                    "schema out",
                )
        if not output.complete:
            dims = sorted({*dims, *map(str, own)})
            questions[_question("COUNT(*)", dims, output.where, schema)] = None
        if column:
            questions[_question(f"SUM({_name(column)})", dims, output.where, schema)] = None
        if column and not output.complete:
            if schema.columns[column].nullable:
                questions[_question(f"COUNT({_name(column)})", dims, output.where, schema)] = None
            if reads and contributor is None and schema.rows_per_unit > 1:
                # Every row is a contributor of its own, and a person has several.
                rows = sorted({*dims, column})
                questions[_question("COUNT(*)", rows, output.where, schema)] = None
    return sorted(questions)


def _question(number: str, dims: Sequence[str], where: str | None, schema: Schema) -> str:
    named = ", ".join(map(_name, dims))
    condition = f" WHERE {where}" if where else ""
    return f"SELECT {named}, {number} FROM {_name(schema.name)}{condition} GROUP BY {named}"  # noqa: S608 - resolved, never run


def _name(column: str) -> str:
    escaped = column.replace('"', '""')
    return f'"{escaped}"'


def read_schema(
    source: Schema | Mapping[str, Any] | str | os.PathLike[str] | None,
) -> Schema | None:
    """Read a schema, if there is one."""
    return None if source is None else Schema.read(source)
