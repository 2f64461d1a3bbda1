"""The commands ``hartley schema draft|check|describe|dummy``."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.output import Format, console, print_json, say, wants_json
from hartley.cli.reading import (
    OneTable,
    RolesFile,
    open_tables,
    reads_tables,
    warn_near_misses,
)
from hartley.errors import OptionError, printable
from hartley.exact import log_ratio
from hartley.files import STANDARD_INPUT, refuse_existing, write_whole
from hartley.tables.reading import AS_WRITTEN, ReadingOptions
from hartley.text import command_line, conjugate, count_of

if TYPE_CHECKING:
    from hartley.engines.table import Table
    from hartley.schema.schema import Schema

schema_app = typer.Typer(
    name="schema",
    help="Write and check public schemas: columns, their ranges and steps, and whose data it is.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

SchemaFile = Annotated[
    Path, typer.Argument(metavar="SCHEMA", help="The schema, a TOML file.", show_default=False)
]


@schema_app.command("draft")
@reads_tables
def draft_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: OneTable,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The name of the table in questions; default: the name of the file.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            "--output",
            metavar="FILE",
            help="Write the draft to this new file; default: print it.",
        ),
    ] = None,
    roles: RolesFile = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Make a first schema of a TABLE, for its owner to correct and confirm.

    The draft is made by looking at the data, and no question is answered under it until its line
    draft = true is removed.

    [dim]Example: hartley schema draft people.parquet --out people.toml[/dim]
    """
    from hartley.schema.draft import draft_schema

    opened = open_tables([table], reading, roles=roles)
    text = draft_schema(opened, name, roles=roles)
    if roles is None:
        _warn_repeated(opened)
    if out is not None:
        refuse_existing(out)
        write_whole(out, text)
    if json:
        print_json({"schema": text, "file": None if out is None else str(out)})
    elif out is None:
        say(text, nl=False)
    else:
        say(f"Wrote a draft to {out}: correct it, then remove the line draft = true")
        # By roles, codes such as 01067 are texts, which they are not without.
        with_table = roles is None and table != STANDARD_INPUT
        more = ("--table", table, *reading.words) if with_table else ()
        say(f"Next: {command_line('schema', 'check', out, *more)}")


@schema_app.command("check")
@reads_tables
def check_command(
    schema: SchemaFile,
    table: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="TABLE", help="Also check that this table fits the schema."
        ),
    ] = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Check a SCHEMA and, with --table, that a table fits it.

    [dim]Example: hartley schema check people.toml --table people.parquet[/dim]
    """
    from hartley.schema.schema import Schema

    described = Schema.read(schema)
    rows, moved = None, {}
    if table is not None:
        opened = open_tables([table], reading)
        listed = {name: column.values or () for name, column in described.columns.items()}
        warn_near_misses(opened, listed, "is not what the schema lists")
        rows, moved = described.check_rows(opened), _moved(described, opened)
    if wants_json(json):
        content = {"sound": True, "table_fits": None if rows is None else True, "moved": moved}
        print_json({"schema": str(schema), **content, **_summary(described)})
        return
    words = f"{schema.name} is sound: {len(described.columns)} columns"
    say(f"{words}, {described.record_bits:.1f} bits per record")
    if rows is not None:
        say(f"The table fits it: {rows:,} rows")
    for name, values in moved.items():
        say(
            f"{name}: {count_of(values, 'number')} {conjugate(values, 'is')} not in "
            f"{described.columns[name].grid}; answers are certain for the nearest there instead"
        )
    if described.draft:
        say("It is a draft: correct it, then remove the line draft = true")


@schema_app.command("describe")
def describe_command(schema: SchemaFile, json: Format = None) -> None:
    """Describe in words what a SCHEMA makes public.

    [dim]Example: hartley schema describe people.toml[/dim]
    """
    from hartley.schema.schema import Schema

    described = Schema.read(schema)
    if wants_json(json):
        print_json(_summary(described))
        return
    from rich.table import Table as Grid
    from rich.text import Text

    out = console()
    for line in described.describe().split("\n")[: -len(described.columns)]:
        out.print(Text(printable(line)))
    grid = Grid("column", "kind", "values", "bits", box=None, pad_edge=False)
    for column in described.columns.values():
        words = column.name, column.kind, column.describe(), f"{log_ratio(column.size):.2f}"
        grid.add_row(*(Text(printable(word)) for word in words))
    out.print(grid)


@schema_app.command("dummy")
def dummy_command(
    schema: SchemaFile,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The .parquet or .csv file to write.", show_default=False
        ),
    ],
    rows: Annotated[int, typer.Option("--rows", help="The number of rows.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same rows.")] = 0,
    json: Format = None,
) -> None:
    """Write invented rows that fit a SCHEMA, to try questions on; no data is read.

    [dim]Example: hartley schema dummy people.toml dummy.parquet --rows 1000[/dim]
    """
    import pyarrow.csv
    import pyarrow.parquet

    from hartley.schema.schema import Schema

    writers = {".parquet": pyarrow.parquet.write_table, ".csv": pyarrow.csv.write_csv}
    if file.suffix not in writers:
        raise OptionError(
            f"The file {file} is neither .parquet nor .csv", hint="give it one of these endings"
        )
    invented = Schema.read(schema).dummy_data(rows, seed)
    out = io.BytesIO()
    writers[file.suffix](invented, out)
    written = write_whole(file, out.getvalue())
    if wants_json(json):
        print_json({"file": str(written), "rows": rows, "columns": invented.column_names})
    else:
        say(f"Wrote {rows:,} invented rows to {written}")


def _warn_repeated(table: Table) -> None:
    """Warn about columns that seem to number people and repeat."""
    from hartley.studies.look.scanned_column import numbers_people
    from hartley.tables.view import run

    for name in filter(numbers_people, table.columns):
        column = table.expression[name]
        asked = table.expression.aggregate(rows=column.count(), people=column.nunique())
        counts = run(table, asked.to_pyarrow).to_pylist()[0]
        if 1 < counts["people"] < counts["rows"]:
            said = f"{printable(name)} has {counts['people']:,} values in {counts['rows']:,} "
            typer.echo(
                f"Warning: {said}rows: if it names people, draft by roles that make it the "
                "unit (hartley roles TABLE), or write unit and rows_per_unit",
                err=True,
            )


def _moved(schema: Schema, table: Table) -> dict[str, int]:
    """Count the numbers of each column that answers take as the nearest of the schema."""
    from hartley.tables.column_map import apply_map

    numeric = [column for column in schema.columns.values() if column.numeric and not column.date]
    if not numeric:
        return {}
    rules = [replace(each.coding.cells(), listed=True) for each in numeric]
    counts = apply_map(table, rules).counts
    moved = {each.column: each.below + each.above + each.between for each in counts.columns}
    return {name: values for name, values in moved.items() if values}


def _summary(schema: Schema) -> dict[str, Any]:
    return {
        "name": schema.name,
        "unit": schema.unit,
        "rows_per_unit": schema.rows_per_unit,
        "rows": schema.rows,
        "max_rows": schema.max_rows,
        "default_bits": float(schema.default_bits),
        "draft": schema.draft,
        "record_bits": schema.record_bits,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "values": column.describe(),
                "points": column.points,
                "nullable": column.nullable,
                "bits": log_ratio(column.size),
            }
            for column in schema.columns.values()
        ],
    }
