"""The command ``hartley sample``."""

from __future__ import annotations

import io
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.output import Format, print_json, say, wants_json
from hartley.errors import OptionError

PEOPLE = "people"


def sample_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The .parquet or .csv file to write.")
    ],
    like: Annotated[
        str,
        typer.Option(
            "--like",
            metavar="NAME",
            help="What the table resembles: people, or a name that `hartley datasets` lists.",
        ),
    ] = PEOPLE,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            help="How many people, patients, trips, homes or days; default: the usual size of "
            "the data set.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same table.")] = 1928,
    json: Format = None,
) -> None:
    """Write a synthetic table to experiment with: invented people, or one like a known data set."""
    import pyarrow.csv
    import pyarrow.parquet

    from hartley.datasets.catalogue import sample
    from hartley.files import write_whole

    writers = {".parquet": pyarrow.parquet.write_table, ".csv": pyarrow.csv.write_csv}
    if file.suffix not in writers:
        raise OptionError(
            f"The file {file} is neither .parquet nor .csv", hint="give it one of these endings"
        )
    made = sample(like, rows=rows, seed=seed)
    out = io.BytesIO()
    table = made.table.replace_schema_metadata({"synthetic": made.source})
    writers[file.suffix](table, out)
    written = write_whole(file, out.getvalue())
    if wants_json(json):
        print_json({"file": str(written), **made.to_dict()})
        return
    what = f"{made.rows:,} synthetic {'people' if like == PEOPLE else f'rows like {like}'}"
    names = [*made.columns[:12], *(["..."] if len(made.columns) > 12 else [])]
    say(f"Wrote {what} to {written}: {', '.join(names)}")
