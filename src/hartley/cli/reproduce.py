"""The command ``hartley reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.output import Format, console, print_json, progress_bar, say, wants_json
from hartley.errors import OptionError

if TYPE_CHECKING:
    from hartley.reports.gallery import DrawnFigure

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
