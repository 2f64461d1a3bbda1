"""From SQL text to resolved questions over codes, or to a refusal that points at the place.

One SELECT over one table: aggregates of linear forms, WHERE, GROUP BY. The result says which
integer statistics are needed and how the answer is computed from them; it depends only on the
text, the schema and the public number of rows, never on data.

Choices that SQL leaves open: comparisons use the values of the schema (clamped and snapped), a
quantile is the ceil(p n)-th smallest value without interpolation, MEDIAN is the quantile of 1/2,
the sum of no rows is 0, every other aggregate of no rows is NULL, VARIANCE and STDDEV divide by
n - 1.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.aggregate import is_aggregate, read_aggregate
from hartley.agent.questions.condition import EVERY, conjoin
from hartley.agent.questions.grouping import MOST_GROUPS, is_grouping, read_grouping
from hartley.agent.questions.planning import QuestionPlan
from hartley.agent.questions.predicate import read_predicate
from hartley.agent.questions.scope import Scope, open_scope
from hartley.agent.questions.selection import Selection
from hartley.agent.questions.statement import reading, shorten
from hartley.agent.questions.values import PLACES, strip
from hartley.errors import Refused
from hartley.wording import decimal_text

if TYPE_CHECKING:
    from hartley.agent.questions.grouping import Grouping
    from hartley.agent.questions.planning import Wanted
    from hartley.agent.questions.statement import Statement
    from hartley.ranges.schema.schema import Schema

MOST_QUESTIONS = 5000
"""The largest number of integer statistics of one SELECT."""


def parse(text: str, schema: Schema, rows: int) -> Selection:
    """Resolve a question in SQL; `rows` is the public number of rows, or the largest possible one.

    Linear in the text times the number of groups. Raises `Refused` and nothing else.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1))
        >>> found = parse("SELECT AVG(age) FROM people", Schema("people", {"age": age}), 1000)
        >>> found.labels, found.questions[0].statistic.value, found.questions[0].most
        (('AVG(age)',), 'sum', 120000)
    """
    try:
        with reading(text) as statement:
            return _resolved(statement, schema, rows)
    except RecursionError:
        raise Refused(
            "The question is nested too deeply",
            hint="leave out parentheses, signs and NOTs that change nothing",
            text=text,
            place=(0, len(text)),
        ) from None


def _resolved(statement: Statement, schema: Schema, rows: int) -> Selection:
    scope = open_scope(statement, schema)
    where = statement.select.args.get("where")
    filtered = EVERY if where is None else read_predicate(scope, where.this)
    groupings = _groupings(scope)
    keys, wanted = _selected(scope, groupings)
    _check_size(scope, groupings, len(wanted))
    lists = [list(grouping.groups()) for grouping in groupings]
    plan = QuestionPlan(scope, rows)
    groups = []
    for number, group in enumerate(itertools.product(*lists)):
        conditions = [filtered, *(condition for _, condition in group)]
        plan.add(number, conjoin(conditions, schema.columns), wanted)
        groups.append(tuple(key for key, _ in group))
    return Selection(statement.text, schema.name, keys, tuple(groups), *plan.finished())


def _groupings(scope: Scope) -> list[Grouping]:
    """Read the GROUP BY; a name that is not a column may be an alias of the SELECT list."""
    from sqlglot import exp

    group = scope.statement.select.args.get("group")
    if group is None:
        return []
    known = {name.casefold() for name in scope.schema.columns}
    aliases = {
        node.alias.casefold(): node.this
        for node in scope.statement.select.expressions
        if isinstance(node, exp.Alias) and not is_aggregate(strip(node.this))
    }
    groupings: list[Grouping] = []
    for node in group.expressions:
        plain = strip(node)
        name = plain.name.casefold() if isinstance(plain, exp.Column) else ""
        grouping = read_grouping(scope, aliases[name] if name in aliases.keys() - known else node)
        if grouping.column in [other.column for other in groupings]:
            raise scope.refusal(
                f"GROUP BY names {grouping.column.name} twice", "name every column once", node
            )
        groupings.append(grouping)
    return groupings


def _selected(scope: Scope, groupings: list[Grouping]) -> tuple[tuple[str, ...], list[Wanted]]:
    """Read the SELECT list: names of the keys, and the aggregates with their names and places."""
    from sqlglot import exp

    keys = {grouping: _key_name(grouping) for grouping in groupings}
    wanted: list[Wanted] = []
    spans = _spans(scope)
    nodes = scope.statement.select.expressions
    for number, node in enumerate(nodes):
        span = spans[number] if len(spans) == len(nodes) else scope.statement.place(node) or (0, 0)
        inside, label = strip(node), shorten(scope.statement.text[slice(*span)])
        if isinstance(node, exp.Alias):
            inside, label = strip(node.this), node.alias
        if is_grouping(inside):
            grouping = read_grouping(scope, inside)
            if grouping not in keys:
                raise _not_grouped(scope, grouping, inside)
            if isinstance(node, exp.Alias):
                keys[grouping] = label
        elif is_aggregate(inside):
            wanted.append((label, span, read_aggregate(scope, inside)))
        else:
            raise _not_selected(scope, inside)
    if not wanted:
        raise scope.refusal(
            "The question does not ask for an aggregate", "add one, for example COUNT(*)"
        )
    names = distinct([*keys.values(), *(label for label, _, _ in wanted)])
    renamed = [
        (name, span, aggregate)
        for name, (_, span, aggregate) in zip(names[len(keys) :], wanted, strict=True)
    ]
    return tuple(names[: len(keys)]), renamed


def _key_name(grouping: Grouping) -> str:
    name = grouping.column.name
    if grouping.width is None:
        return name
    width = decimal_text(grouping.width, PLACES)
    return f"FLOOR({name} / {width})" if grouping.numbered else f"BIN({name}, {width})"


def _spans(scope: Scope) -> list[tuple[int, int]]:
    """Return the places of the parts of the SELECT list, between its outermost commas."""
    text, depth, spans = scope.statement.text, 0, []
    begin: int | None = None
    end = 0
    for token in scope.statement.tokens[1:]:
        raw = text[token.start : token.end + 1]
        if depth == 0 and raw.upper() in (",", "FROM"):
            if begin is not None:
                spans.append((begin, end))
            begin = None
            if raw != ",":
                break
        else:
            depth += (raw in "([{") - (raw in ")]}")
            begin = token.start if begin is None else begin
        end = token.end + 1
    return spans


def distinct(names: list[str]) -> list[str]:
    """Number repeated names, so that each column of the answer has its own.

    Example:
        >>> distinct(["n", "n", "m"])
        ['n', 'n (2)', 'm']
    """
    unique: dict[str, None] = {}  # in order; a list would be searched once for every name
    tried: dict[str, int] = {}
    for name in names:
        number, numbered = tried.get(name, 1), name
        while numbered in unique:
            number += 1
            numbered = f"{name} ({number})"
        tried[name] = number
        unique[numbered] = None
    return list(unique)


def _not_grouped(scope: Scope, grouping: Grouping, node: Any) -> Refused:  # noqa: ANN401 - a part of a tree
    return scope.refusal(
        f"'{scope.spelled(node)}' would show individual rows",
        f"add GROUP BY {_key_name(grouping)}, or ask an aggregate such as COUNT(*)",
        node,
    )


def _not_selected(scope: Scope, node: Any) -> Refused:  # noqa: ANN401 - a part of a tree
    from sqlglot import exp

    if isinstance(node, (exp.Binary, exp.Neg)) and any(is_aggregate(n) for n in node.walk()):
        return scope.refusal(
            f"Arithmetic with aggregates, '{scope.spelled(node)}', is not answered",
            "select the aggregates and compute with the answers yourself",
            node,
        )
    if isinstance(node, (exp.Binary, exp.Literal, exp.Boolean, exp.Null, exp.Neg)):
        return scope.refusal(
            f"'{scope.spelled(node)}' is not an aggregate", "select for example SUM(a + 2*b)", node
        )
    return scope.refuse(node)


def _check_size(scope: Scope, groupings: list[Grouping], wanted: int) -> None:
    size = math.prod(grouping.size for grouping in groupings)
    group = scope.statement.select.args.get("group")
    if size > MOST_GROUPS:
        raise scope.refusal(
            f"The question has more than {MOST_GROUPS:,} groups",
            "group by fewer columns, or by wider bins: BIN(column, width)",
            group,
        )
    if size * wanted > MOST_QUESTIONS:
        raise scope.refusal(
            f"The question has more than {MOST_QUESTIONS:,} numbers",
            "ask for fewer groups or fewer aggregates at a time",
            group,
        )
