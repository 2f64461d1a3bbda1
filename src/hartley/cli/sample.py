"""The command ``hartley sample``."""

from __future__ import annotations

import io
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.output import Format, print_json, wants_json
from hartley.errors import OptionError


def sample_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where to write it: a .parquet or a .csv file.")
    ],
    rows: Annotated[int, typer.Option("--rows", help="How many people.")] = 5000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same table.")] = 1928,
    json: Format = None,
) -> None:
    """Write a table of people who do not exist, to try things on."""
    import pyarrow.csv
    import pyarrow.parquet

    from hartley.datasets.people import people
    from hartley.reports.files import write_whole

    writers = {".parquet": pyarrow.parquet.write_table, ".csv": pyarrow.csv.write_csv}
    if file.suffix not in writers:
        raise OptionError(
            f"The file {file} is neither .parquet nor .csv", hint="give it one of these endings"
        )
    table = people(rows, seed=seed)
    out = io.BytesIO()
    writers[file.suffix](table, out)
    written = write_whole(file, out.getvalue())
    if wants_json(json):
        print_json({"file": str(written), "rows": rows, "columns": table.column_names})
    else:
        typer.echo(f"Wrote {rows:,} synthetic people to {written}: {', '.join(table.column_names)}")
