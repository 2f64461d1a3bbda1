"""A publication beside a ledger: what it asks, what it costs, and its booking."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import gcd, lcm, prod
from operator import contains
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.agent.ledger import open_ledger
from hartley.agent.quoting import open_desk, price
from hartley.agent.transcript import Domain, cut_column
from hartley.engines.codes import UNIT, coded_rows
from hartley.errors import HartleyError, InputError, OptionError, Refused, Stale
from hartley.exact import bits_at_least
from hartley.files import one_line
from hartley.knowledge.cover import Selections
from hartley.measures.rules import Dominance, PPercent
from hartley.schema.schema import Schema, day_of
from hartley.studies.check.judging import negative_shares
from hartley.tables.crosstab import Crosstab, PublishedCell
from hartley.tables.opening import open_table
from hartley.tables.published import TOTALS
from hartley.tables.view import condition_columns, evaluate_condition
from hartley.text import bits_down, bits_up, decimal_text, listed
from hartley.trusted.cells import cell_bounds
from hartley.trusted.ledger.rows import NULL
from hartley.trusted.precision import questions_of
from hartley.trusted.pricing.conditional_price import RULES
from hartley.trusted.questions.batch import Question, Statistic, columns_of, from_plain, to_plain
from hartley.trusted.questions.condition import EVERY

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.measures.rules import Rule
    from hartley.schema.schema import Column
    from hartley.tables.described import Descriptions, OutputDescription


# --- check questions ------------------------------------------------------------------------------
# Published tables in the words of the agent: how conditions lie to each other, and the price.

MOST_COMBINATIONS = 100_000
"""Categories that conditions look at, combined."""


def select(
    conditions: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    schema: Schema | None,
    resolved: Mapping[str, Any] | None = None,
) -> Selections:
    """Decide which conditions can hold together, and for which categories."""
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
    columns: dict[str, Sequence[object]] = {
        dim: [*map(int, texts)] if all(t.lstrip("-").isdigit() for t in texts) else texts
        for dim, texts in zip(dims, zip(*combined, strict=True), strict=True)
    }
    truth = np.stack([evaluate_condition(text, columns) for text in conditions], axis=1)
    patterns = sorted({tuple(map(bool, row)) for row in truth.tolist()}, reverse=True)
    possible = {
        keys: frozenset([patterns.index(tuple(map(bool, row)))])
        for keys, row in zip(combined, truth.tolist(), strict=True)
    }
    return Selections(tuple(conditions), tuple(patterns), dims, possible)


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
    """Return where conditions of an agent hold."""
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
    """Return how many publications one person can cause, and their bits."""
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


# --- check ledger ---------------------------------------------------------------------------------
# Agents and publications together: answers as published cells, publications as charges.


@dataclass(frozen=True)
class LedgerAnswers:
    """The answers of a ledger as published cells, and the conditions that they are about."""

    tables: tuple[Crosstab, ...] = ()
    conditions: dict[str, Any] | None = None
    """The conditions as the agent resolved them, by their names; None without a ledger."""
    notes: tuple[str, ...] = ()
    rows: int = 0
    """The number of rows, or the largest possible one."""
    version: str = ""
    """Of the dataset."""


def read_ledger(path: str | os.PathLike[str], schema: Schema) -> LedgerAnswers:
    """Read the answers about the present version of the schema's dataset.

    Every count and every sum of one column states an interval for the rows of its condition.
    Other answers are left out, and a note says how many.
    """
    ledger = open_ledger(path, create=False)
    try:
        known = schema.name in ledger.datasets()
        state = ledger.state(schema.name) if known else None
        if state is None or state.schema != schema.to_toml():
            raise InputError(
                f"The ledger {path} is of another schema than '{schema.name}'",
                hint="give the schema that the agent was asked under",
            )
        charges = [c for c in ledger.history(schema.name) if c.version == state.version]
        rows = state.rows if schema.rows == "public" else None
        most = (schema.max_rows or 0) if rows is None else rows
    finally:
        ledger.close()
    tables: list[Crosstab] = []
    conditions: dict[str, Any] = {}
    left_out = 0
    for charge in charges:
        for plain, answer in zip(charge.questions, charge.answers, strict=True):
            if answer is None or answer == NULL:
                continue
            question = from_plain(plain)
            statistic = _statistic(question, schema)
            if statistic is None:
                left_out += 1
                continue
            low, high = cell_bounds(question, int(answer))
            name = None
            if question.where != EVERY:
                note = one_line(charge.note or "an answer", 60)
                name = f"{note} [{len(conditions) + 1}]"
                conditions[name] = question.where
            tables.append(_cell(f"answer {len(tables) + 1}", statistic, name, (low, high)))
    if rows is not None:
        tables.append(_cell("number of rows", "count", None, (rows, rows)))
    notes = (f"{left_out} answers of the ledger are no counts or sums.",) if left_out else ()
    return LedgerAnswers(tuple(tables), conditions, notes, most, state.version)


def _statistic(question: Question, schema: Schema) -> str | None:
    """Return what an answer is about, as outputs say it; None for what outputs do not hold."""
    if question.statistic is Statistic.COUNT:
        return "count"
    form = question.form
    if question.statistic is not Statistic.SUM or form is None or form.unit != 1:
        return None
    if len(form.terms) != 1 or form.terms[0][1] != 1 or question.least < 0:
        return None
    column = form.terms[0][0]
    # The form adds up the values themselves only if it begins with the smallest of them.
    return f"sum({column})" if schema.columns[column].low == form.constant else None


def _cell(name: str, statistic: str, where: str | None, ends: tuple[int, int]) -> Crosstab:
    cell = PublishedCell((), ends[0], ends[1], "number", "", 1)
    return Crosstab(name, None, name, (), statistic, where, (cell,), 0, ())


@dataclass(frozen=True)
class Publication:
    """A publication that is described, to be booked in a ledger before it leaves."""

    number: str
    questions: tuple[str, ...]
    """All that it can depend on, as questions to an agent."""
    schema: Schema
    version: str
    """Of the dataset."""
    ledger: str | os.PathLike[str]

    def book(self) -> str:
        """Book the batch price in one step, and say so; what was paid for before is free.

        Raises Refused if the budget does not cover it; then nothing is recorded.
        """
        opened = open_ledger(self.ledger, create=False)
        try:
            with open_desk(self.schema, ledger=opened) as (desk, _):
                plans = desk.plan(list(self.questions), 0, None)
                questions = questions_of(desk.known_plans(plans, opened.trusted, None))
                paid = opened.reserve(
                    self.schema.name,
                    None,
                    [to_plain(question) for question in questions],
                    desk.prices(questions),
                    note=f"publication {self.number}: " + "\n".join(self.questions),
                    version=self.version,
                    rules=RULES,
                )
        except Stale:
            raise
        except Refused as error:
            raise Refused(
                error.problem.replace("The question", "The publication", 1),
                hint="describe fewer outputs or fewer dims, or raise the budget",
                requested=error.requested,
                remaining=error.remaining,
            ) from None
        finally:
            opened.close()
        spent, left = paid.balance.spent_bits, paid.balance.remaining
        due = bits_up(bits_at_least(paid.due.numerator, paid.due.denominator))
        how = f" for {due}" if paid.sequence else ", before: it costs nothing now"
        remain = "there is no budget" if left is None else f"{bits_down(left)} remain"
        return f"Booked as publication {self.number}{how}. {bits_up(spent)} are spent, {remain}."


# --- check publication ----------------------------------------------------------------------------
# A publication that is described before its tables exist: what it costs, and what it can be.

NEEDED = ("dims", "statistic", "where")
"""What a description says itself, so that no price rests on a guess."""


def describe_publication(  # noqa: PLR0913, PLR0917 - what a publication is described by
    described: Descriptions,
    schema: Schema | None,
    ledger: str | os.PathLike[str] | None,
    answers: LedgerAnswers,
    rules: Sequence[Rule],
    insider: str,
    contributor: str | None,
    *,
    reads: bool,
) -> tuple[Publication, Descriptions]:
    """Return a publication to be booked, and its description with every label of the schema.

    Its number is the digest of all that its price rests on. No file is looked at.
    """
    if schema is None or ledger is None or not described.outputs:
        raise OptionError(
            "A publication is booked by its description, its schema and the ledger",
            hint="give spec=, schema= and against= (--spec, --schema, --against)",
        )
    for name, output in described.outputs.items():
        missing = [field for field in NEEDED if field not in output.stated]
        if missing:
            raise OptionError(
                f"The description of {one_line(name)} does not state {listed(missing)}, and a "
                "guess has no price",
                hint='write for example dims = ["region"], statistic = "count" and '
                'where = "all rows"',
            )
    outputs = [
        PublishedNumbers(name, output.dims or (), output.statistic, output.where, output.complete)
        for name, output in sorted(described.outputs.items())
    ]
    questions = tuple(publication_questions(outputs, schema, contributor, reads=reads))
    for name, output in described.outputs.items():
        _refuse_unwritable(name, output, schema, answers.rows, rules)
        for values in (schema.columns[dim].values or () for dim in output.dims or ()):
            if len({str(value).strip() for value in values}) < len(values):
                raise OptionError(
                    f"Two labels of {one_line(name)} differ by spaces at an end only",
                    hint="outputs are read without these: change or merge the values of the schema",
                )
        labels = {label for dim in output.dims or () for label in labels_of(schema.columns[dim])}
        totals = labels & {output.total} or {
            label for label in labels if label.casefold() in TOTALS
        }
        if totals and output.total in {None, *totals}:
            raise OptionError(
                f"The label '{one_line(min(totals))}' of the schema reads as a total in "
                f"{one_line(name)}",
                hint="declare another label as its total, whether it has one or not: "
                'total = "sum of all"',
            )
    blocks = {name: output.to_dict() for name, output in described.outputs.items()}
    trees = [[tree.dim, sorted(tree.parents.items())] for tree in described.trees]
    stated = [
        blocks,
        trees,
        sorted(map(str, rules)),
        insider,
        contributor,
        schema.to_toml(),
        answers.version,
    ]
    number = hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()[:16]
    # The last digit and the labels are those of the schema, whatever a file happens to show.
    labelled = {
        name: replace(
            output,
            labels={dim: labels_of(schema.columns[dim]) for dim in output.dims or ()},
            decimals=0 if output.statistic == "count" else _decimals(output.statistic, schema),
        )
        for name, output in described.outputs.items()
    }
    publication = Publication(number, questions, schema, answers.version, ledger)
    return publication, replace(described, outputs=labelled)


def _refuse_unwritable(
    name: str, output: OutputDescription, schema: Schema, rows: int, rules: Sequence[Rule]
) -> None:
    """Refuse sums that some data of the schema would have and a file or a rule cannot."""
    if output.statistic == "count":
        return
    column = schema.columns[output.statistic[4:-1]]
    low, high = _range(column, rows)
    for rule in rules:
        if low < 0 and isinstance(rule, (PPercent, Dominance)):
            raise negative_shares(rule)
    bounds = output.bounds or (Fraction(0), high)
    if low < bounds[0] or bounds[1] < high:
        raise OptionError(
            f"The sums of {one_line(name)} can be outside its bounds",
            hint=f"declare bounds = [{decimal_text(low)}, {decimal_text(high)}]",
        )


def _range(column: Column, rows: int, *, counted: bool = False) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest sum of up to this many rows, or of exactly these."""
    assert column.low is not None
    assert column.high is not None
    low, high = rows * column.low, rows * column.high
    return (
        (low, high)
        if counted and not column.nullable
        else (min(low, Fraction(0)), max(high, Fraction(0)))
    )


def _grain(column: Column) -> Fraction:
    """Return the largest number that all sums are multiples of."""
    assert column.low is not None
    assert column.step is not None
    below = lcm(column.low.denominator, column.step.denominator)
    return Fraction(gcd(int(column.low * below), int(column.step * below)), below)


def _decimals(statistic: str, schema: Schema) -> int:
    """Return how many decimals the sums of a column can have."""
    column = schema.columns[statistic[4:-1]]
    for places in range(13):
        if _grain(column) * 10**places % 1 == 0:
            return places
    raise OptionError(
        f"The sums of '{one_line(column.name)}' have no last decimal",
        hint="choose a step of the schema that has one",
    )


def labels_of(column: Column) -> tuple[str, ...]:
    """Return how outputs name all values of a column, trimmed; 'other' and 'missing' come last."""
    if column.values is not None:
        labels = [str(value).strip() for value in column.values]
        labels += ["other"] if column.other else []
    else:
        assert column.low is not None
        assert column.step is not None
        numbers = [column.low + code * column.step for code in range(column.points)]
        labels = [day_of(n).isoformat() if column.date else decimal_text(n) for n in numbers]
    return tuple(dict.fromkeys([*labels, *(["missing"] if column.nullable else [])]))


def refuse_impossible(
    tables: Sequence[Crosstab], described: Descriptions, schema: Schema, rows: int
) -> None:
    """Refuse outputs that do not follow their description, whatever the data are.

    Data that follow the schema never cause this, so it tells nothing about them.
    """
    outputs = {id(table): _block(table, described) for table in tables}
    given = set(map(id, outputs.values()))
    withheld = [n for n, o in described.outputs.items() if o.complete and id(o) not in given]
    if withheld:
        raise OptionError(
            f"The output {one_line(withheld[0])} is complete and was not given",
            hint="give every file that is published whatever is in it",
        )
    told: dict[Any, int] = {}
    if schema.rows == "public":
        told[None, frozenset()] = rows
    for table in tables:
        if table.statistic == "count":
            whole = _whole(table, outputs[id(table)])
            told |= {_rows_of(table, cell): cell.low for cell in whole if cell.exact}
    for table in tables:
        _refuse_labels(table, outputs[id(table)], described)
        complete = outputs[id(table)].complete
        if complete and len(table.cells) != _listed(outputs[id(table)], described):
            raise _strange(table, (), "lacks some of its totals, or has some that are not declared")
        for cell in table.cells:
            if complete and cell.kind in {"hidden", "mark"}:
                raise _strange(table, cell.keys, "is hidden or not listed in a complete output")
        _refuse_numbers(table, outputs[id(table)], told, schema, rows)


def _whole(table: Crosstab, output: OutputDescription) -> list[PublishedCell]:
    """Return the cells that are certainly about all of their rows, shown or not."""
    labels = [output.labels[dim] for dim in table.dims]
    return [
        cell
        for cell in table.cells
        if output.margins == "all" or all(map(contains, labels, cell.keys))
    ]


def _refuse_numbers(
    table: Crosstab,
    output: OutputDescription,
    told: Mapping[Any, int],
    schema: Schema,
    rows: int,
) -> None:
    whole = set(_whole(table, output))
    for cell in table.cells:
        counted = told.get(_rows_of(table, cell)) if cell in whole else None
        low, high, grain = Fraction(0), Fraction(rows), Fraction(1)
        if table.statistic != "count":
            column = schema.columns[table.statistic[4:-1]]
            low, high = _range(
                column, rows if counted is None else counted, counted=counted is not None
            )
            grain = _grain(column)
        least, most = (
            None if end is None else Fraction(end, 10**table.places)
            for end in (cell.low, cell.high)
        )
        outside = (most is not None and most < low) or (least is not None and high < least)
        if outside or (cell.kind == "number" and least is not None and least % grain):
            raise _strange(table, cell.keys, "is a number that no data of the schema have")


def _block(table: Crosstab, described: Descriptions) -> OutputDescription:
    output = described.of(table.path or table.name)
    if not output.stated:
        raise OptionError(
            f"{table.name} is not described",
            hint=f'write an [[outputs]] block with file = "{one_line(table.name)}"',
        )
    return output


def _listed(output: OutputDescription, described: Descriptions) -> int:
    """Count the cells of a complete output: every label, sum of labels and declared total."""
    parents = {
        dim: {name for tree in described.trees if tree.dim == dim for name in tree.parents}
        for dim in output.labels
    }
    totals = output.total is not None
    return prod(len({*labels} | parents[dim]) + totals for dim, labels in output.labels.items())


def _refuse_labels(table: Crosstab, output: OutputDescription, described: Descriptions) -> None:
    for dim, column in zip(table.dims, table.columns, strict=True):
        trees = {name for tree in described.trees if tree.dim == dim for name in tree.parents}
        strange = {label for label in column if label is not None} - trees - {*output.labels[dim]}
        if strange:
            raise InputError(
                f"{table.name}: the label '{one_line(min(strange))}' of {dim} is not in the schema",
                hint="write the values of the schema as they are there, what it does not list as "
                "other, and what is missing as missing",
            )


def _rows_of(table: Crosstab, cell: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a published cell
    """Name the rows that a cell is about."""
    pairs = zip(table.dims, cell.keys, strict=True)
    return table.where, frozenset(pair for pair in pairs if pair[1] is not None)


def _strange(table: Crosstab, keys: Sequence[str | None], problem: str) -> InputError:
    named = one_line(", ".join(key for key in keys if key is not None) or "everything")
    return InputError(
        f"{table.name}: the cell {named} {problem}",
        hint="check that the file was made from data of the schema, as it is described",
    )


def clamped_rows(table: object, schema: Schema, conditions: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    """Return the microdata as the schema has them: values on the grid, 'other' where unlisted.

    Conditions of an agent become columns that say where they hold, of the same names.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    opened = open_table(table)
    schema.check_rows(opened)
    codes = coded_rows(opened, schema.codings, schema.unit).to_pyarrow()
    columns = {} if schema.unit is None else {schema.unit: codes.column(UNIT)}
    coded = {}
    for place, (name, column) in enumerate(schema.columns.items()):
        code = codes.column(f"c{place}").cast(pa.int64())
        coded[name] = code.fill_null(column.points).to_numpy()
        if column.values is not None:
            values = (
                list(column.values)
                if not column.other
                else labels_of(replace(column, nullable=False))
            )
            columns[name] = pa.array(values).take(code)
            continue
        assert column.low is not None
        assert column.step is not None
        places = next((p for p in range(18) if _grain(column) * 10**p % 1 == 0), None)
        if places is None:
            columns[name] = pa.array(labels_of(replace(column, nullable=False))).take(code)
            continue
        units = pc.add(
            pc.multiply(code, int(column.step * 10**places)), int(column.low * 10**places)
        )
        if column.date:
            columns[name] = units.cast(pa.int32()).cast(pa.date32())
        elif places:
            columns[name] = pc.multiply(units.cast(pa.decimal128(19)), Decimal(1).scaleb(-places))
        else:
            columns[name] = units
    return pa.table(columns | rows_passing(conditions, coded, schema))
