"""A publication that is described before its tables exist: what it costs, and what it can be."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm, prod
from operator import contains
from typing import TYPE_CHECKING, Any

from hartley.engines.coded.coding import UNIT, coded_rows
from hartley.engines.crosstabs.reading import TOTALS
from hartley.engines.tables.sources import open_table
from hartley.errors import InputError, OptionError
from hartley.files import one_line
from hartley.measures.sensitivity import Dominance, PPercent
from hartley.ranges.schema.file import day_of
from hartley.studies.check_judging import negative_shares
from hartley.studies.check_ledger import Publication
from hartley.studies.check_questions import (
    PublishedNumbers,
    publication_questions,
    rows_passing,
)
from hartley.wording import decimal_text, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
    from hartley.engines.crosstabs.description import Descriptions, OutputDescription
    from hartley.measures.sensitivity import Rule
    from hartley.ranges.schema.schema import Column, Schema
    from hartley.studies.check_ledger import LedgerAnswers

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

    Args:
        described: what is declared about every output of it.
        schema: the public schema.
        ledger: the ledger of the dataset.
        answers: what was read from that ledger.
        rules: the rules.
        insider: what an insider knows.
        contributor: the column of who contributes.
        reads: whether a rule or an insider looks at contributions.
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
    """Return the smallest and the largest sum of at most, or of exactly, so many rows."""
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
    """Return how outputs name all values of a column, trimmed; 'other' and 'missing' come last.

    Example:
        >>> from hartley.ranges.schema.schema import Column
        >>> labels_of(Column("sex", "private", values=("F", "M"), other=True, nullable=True))
        ('F', 'M', 'other', 'missing')
    """
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

    Args:
        tables: the outputs.
        described: what is declared about them.
        schema: the public schema.
        rows: the number of rows, or the largest possible one.
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
