"""The commands ``hartley verify``, ``reproduce``, ``datasets`` and ``sample``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.output import (
    Details,
    Format,
    console,
    print_certificate,
    print_json,
    progress_bar,
    say,
    wants_json,
)
from hartley.errors import OptionError

if TYPE_CHECKING:
    from hartley.reports.gallery import DrawnFigure


def verify_command(
    policy: Annotated[
        list[Path],
        typer.Argument(metavar="POLICY", help="The policy file, or every output that was checked."),
    ],
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="The certificate that came with it.")
    ],
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="The microdata, to compare the contributions of a certificate of tables with.",
        ),
    ] = None,
    details: Details = False,
    json: Format = None,
) -> None:
    """Recompute a CERTIFICATE from its POLICY, and say whether it holds.

    A certificate of hartley check is proved again from the published tables, without a solver.
    Exit code 0: it holds. Exit code 2: it does not, and why.

    [dim]Example: hartley verify policy.toml certificate.json[/dim]
    """
    from hartley.guarantees.promise import is_table_certificate

    if is_table_certificate(certificate):
        from hartley.studies.check.certificate import verify_check

        proved = verify_check(policy, certificate, table)
        if wants_json(json):
            print_json({"holds": True, "counts": proved.counts, "compared": proved.compared})
            return
        say(f"The certificate {certificate} holds. {proved.paragraph}")
        return
    if table is not None:
        raise OptionError(
            f"The certificate {certificate} is of a policy, which needs no microdata",
            hint="leave --table out",
        )
    if len(policy) > 1:
        raise OptionError(
            f"The certificate {certificate} is of one policy, and several files are named",
            hint="name the policy file and its certificate",
        )
    from hartley.guarantees.verify import verify

    verified = verify(policy[0], certificate)
    if wants_json(json):
        print_json({"holds": True, "policy": str(policy[0])} | verified.to_dict())
        return
    say(f"The certificate {certificate} holds for the policy {policy[0]}.")
    if details:
        print_certificate(verified, console())
    else:
        say(verified.claim)


WORDS = ("synthetic", "download")


def reproduce_command(
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="PAPER[/FIGURE]",
            help="A figure such as A/3, all figures of a paper such as A, or all.",
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            "--data",
            metavar="PATH|synthetic|download",
            help="A folder with copies of the data sets, or one file; or download to get them "
            "from their official sources.",
        ),
    ] = "synthetic",
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="The folder to write pictures and numbers to."),
    ] = Path("figures"),
    json: Format = None,
) -> None:
    """Reproduce figures of the papers: pictures, numbers and the claims they should confirm.

    [dim]Example: hartley reproduce A/3 --out figures[/dim]
    """
    from hartley.papers.figure import choose_figures
    from hartley.reports.gallery import print_figure, write_gallery

    names = choose_figures(wanted)
    where = _checked(data)
    folder = _folder(out)
    drawn = _draw(names, where, folder)
    page = write_gallery(drawn, folder) if wanted.strip().lower() == "all" else None
    if wants_json(json):
        figures = [figure.result.to_dict() | {"files": list(figure.files)} for figure in drawn]
        print_json({"folder": str(folder), "figures": figures, "gallery": page and str(page)})
    else:
        shown = console()
        for figure in drawn:
            print_figure(figure, shown)
        say(f"Folder: {folder}")
        if page is not None:
            say(f"Gallery: {page}")
    missing = [figure.result.figure.name for figure in drawn if not figure.files]
    if missing:
        which = f"{'Figure' if len(missing) == 1 else 'Figures'} {', '.join(missing)}"
        rest = "the others are written" if len(missing) < len(drawn) else "nothing is written"
        raise OptionError(
            f"{which} could not be drawn", hint=f"the output gives the reason for each; {rest}"
        )


def _checked(data: str) -> str | Path:
    """Return a known word such as "synthetic", or a path that exists."""
    if data in WORDS:
        return data
    path = Path(data).expanduser()
    if not path.exists():
        raise OptionError(
            f"There is no file or folder {data}",
            hint="name a folder with the data sets, or leave out --data for synthetic data",
        )
    return path


def _folder(out: Path) -> Path:
    """Return the folder to write to; it is created if it does not exist."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise OptionError(
            f"The folder {out} cannot be created", hint="choose another one with --out"
        ) from None
    return out


def _draw(names: tuple[str, ...], data: str | Path, folder: Path) -> list[DrawnFigure]:
    """Compute and write the figures one by one, and show the progress."""
    from hartley.papers.figure import reproduce
    from hartley.reports.gallery import write_figure

    drawn: list[DrawnFigure] = []
    with progress_bar({"all": "Drawing figures"}) as show:

        def show_share(_: str, share: float) -> None:
            if show is not None:
                show("all", (len(drawn) + share) / len(names))

        for name in names:
            (result,) = reproduce(name, data, progress=show_share)
            drawn.append(write_figure(result, folder))
    return drawn


def datasets_command(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="The folder to look for copies in; default: the cache.",
            show_default=False,
        ),
    ] = None,
    fetch: Annotated[
        str | None,
        typer.Option(
            "--fetch",
            metavar="NAME",
            help="First download this data set into the cache, from its official source.",
            show_default=False,
        ),
    ] = None,
    json: Format = None,
) -> None:
    """List the data sets of the papers, their sources, and whether a local copy exists."""
    from hartley.datasets.catalogue import entry_of, list_datasets
    from hartley.datasets.source import cache_folder, locate

    if fetch is not None:
        locate(entry_of(fetch).source, download=True)
    listed = list_datasets(data)
    folder = cache_folder() if data is None else data
    if wants_json(json):
        print_json({"folder": str(folder), "datasets": listed})
    else:
        _print(listed, folder)


def _print(listed: list[dict[str, str | None]], folder: Path) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("name", "what", "copy here", "download", "licence"):
        table.add_column(name, overflow="fold")
    for known in listed:
        here = Text("yes", "green") if known["copy"] else Text("no", "yellow")
        table.add_row(known["name"], known["title"], here, known["download"], known["licence"])
    screen = console()
    screen.print(table)
    screen.print(
        f"\nCopies are searched for in {folder}. Every data set has a synthetic twin:", end=" "
    )
    screen.print("hartley sample FILE --like NAME.")


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
