"""A design as a picture, a page and lines in a terminal."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hartley.report import Groups, Ruler
from hartley.reports.draw import INK, STYLE, page_picture
from hartley.reports.template import render_page
from hartley.reports.terminal import print_sentences
from hartley.studies.release.design import Band, Plane
from hartley.text import counted

if TYPE_CHECKING:
    from rich.console import Console

    from hartley.studies.release.design import Design

BLUE, PALE_BLUE, DEEP_BLUE = "#2563a8", "#dbe8f6", "#7da7d9"
RED, SOFT = "#b4232a", "#64748b"


def plot_design(design: Design) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a design; returns None if it only has categories."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    drawn = [part for part in design.pictures if isinstance(part, (Ruler, Plane, Band))]
    if not drawn:
        return None
    planes = [part for part in drawn if not isinstance(part, Ruler)]
    rulers = [part for part in drawn if isinstance(part, Ruler)]
    parts: list[tuple[float, Any, Any]] = [
        (4.4, _draw_band if isinstance(part, Band) else _draw_plane, part) for part in planes
    ]
    for ruler in rulers:
        parts.append((1.5, _draw_ruler, ruler))
        if ruler.reach is not None and ruler.levels > 1:
            parts.append((1.3, _draw_reach, ruler))
    heights = [height for height, _, _ in parts]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, sum(heights)), layout="constrained")
        boxes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        for axes, (_, paint, part) in zip(boxes, parts, strict=True):
            paint(axes, part)
    return figure


def _draw_ruler(axes: Any, ruler: Ruler) -> None:  # noqa: ANN401 - untyped
    """Draw the cells as a strip."""
    _bare(axes)
    axes.set_xlim(ruler.low, ruler.high)
    axes.set_ylim(0, 1)
    axes.set_xlabel(f"{ruler.name}: {counted(ruler.levels, 'cell')}")
    _strip(axes, ruler, 0.1, 0.9)


def _bare(axes: Any) -> None:  # noqa: ANN401 - untyped
    """Remove all axes except the one along the bottom."""
    axes.grid(visible=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _strip(axes: Any, ruler: Ruler, bottom: float, top: float) -> None:  # noqa: ANN401 - untyped
    from matplotlib.collections import PolyCollection

    edges = ruler.edges if 1 < len(ruler.edges) <= 400 else (ruler.low, ruler.high)
    corners = [[(a, bottom), (b, bottom), (b, top), (a, top)] for a, b in pairwise(edges)]
    colours = [PALE_BLUE if k % 2 else DEEP_BLUE for k in range(len(corners))]
    if len(corners) == 1:
        colours = [PALE_BLUE if ruler.levels == 1 else DEEP_BLUE]
    axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors="none"))


def _draw_reach(axes: Any, ruler: Ruler) -> None:  # noqa: ANN401 - untyped
    """Draw the cells around one edge, enlarged, and how far one person can move the number."""
    assert ruler.reach is not None  # checked by the caller
    view = 1.3 * max(ruler.reach, 3 * ruler.width)
    middle = ruler.edges[len(ruler.edges) // 2] if ruler.edges else (ruler.low + ruler.high) / 2
    left, right = max(middle - view / 2, ruler.low), min(middle + view / 2, ruler.high)
    _bare(axes)
    axes.set_xlim(left, right)
    axes.set_ylim(0, 1)
    near = [edge for edge in ruler.edges if left <= edge <= right]
    for edge in near[:: max(1, len(near) // 40)]:
        axes.plot([edge, edge], [0.0, 0.42], color=DEEP_BLUE, linewidth=1)
    ends = max(middle - ruler.reach / 2, left), min(middle + ruler.reach / 2, right)
    axes.plot(ends, [0.21, 0.21], color=RED, linewidth=5, solid_capstyle="butt")
    caption = (
        f"enlarged: one person moves it by {ruler.reach:.3g}, a cell is {ruler.width:.3g} wide"
    )
    axes.text(0.5, 0.62, caption, ha="center", fontsize=9, color=RED, transform=axes.transAxes)
    axes.set_xlabel(ruler.name)


def _draw_plane(axes: Any, plane: Plane) -> None:  # noqa: ANN401 - untyped
    """Draw the cells of a query over two columns, neighbours in different shades."""
    import numpy as np
    from matplotlib.colors import ListedColormap

    cells = np.clip(np.searchsorted(plane.edges, plane.values, "right") - 1, 0, None)
    cells = np.minimum(cells, len(plane.edges) - 2)
    last = max(len(plane.edges) - 2, 1)
    shades = ListedColormap([_shade(k / last, k % 2) for k in range(last + 1)])
    axes.imshow(
        cells,
        origin="lower",
        extent=plane.ends,
        cmap=shades,
        vmin=-0.5,
        vmax=last + 0.5,
        aspect="auto",
        interpolation="nearest",
    )
    across = np.linspace(plane.ends[0], plane.ends[1], plane.values.shape[1])
    up = np.linspace(plane.ends[2], plane.ends[3], plane.values.shape[0])
    if len(plane.edges) > 2:
        axes.contour(across, up, plane.values, plane.edges[1:-1], colors="white", linewidths=0.8)
    axes.grid(visible=False)
    axes.set_xlabel(plane.names[0])
    axes.set_ylabel(plane.names[1])
    axes.set_title("all records of one shade give the same release", fontsize=9.5, color=SOFT)


def _shade(share: float, odd: int) -> tuple[float, float, float]:
    """Mix pale and deep blue, every second cell a little lighter."""
    pale, deep = (0.86, 0.91, 0.965), (0.145, 0.388, 0.659)
    at = min(max(0.12 + 0.8 * share - 0.07 * odd, 0.0), 1.0)
    red, green, blue = (low + (high - low) * at for low, high in zip(pale, deep, strict=True))
    return red, green, blue


def _draw_band(axes: Any, band: Band) -> None:  # noqa: ANN401 - untyped
    """Draw a line, and the band around it in which values are moved."""
    import numpy as np

    crossed = (band.line > band.low) & (band.line < band.high)
    low = np.maximum(band.line - band.reach, band.low)
    high = np.minimum(band.line + band.reach, band.high)
    spread = band.kind != "blur"
    colour = DEEP_BLUE if spread else "#f1c4c6"
    label = "does not show on which side" if spread else "collapses onto the line"
    axes.fill_between(band.at, low, high, where=crossed, color=colour, linewidth=0, label=label)
    inside = (band.line >= band.low) & (band.line <= band.high)
    axes.plot(band.at[inside], band.line[inside], color=INK, linewidth=1.4, label="the line")
    axes.set_xlim(band.at[0], band.at[-1])
    axes.set_ylim(band.low, band.high)
    axes.set_xlabel(band.across + (f" ({band.note})" if band.note else ""))
    axes.set_ylabel(band.column)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=9)


def render_design(design: Design) -> str:
    """Return the page of a design."""
    figure = plot_design(design)
    return render_page(
        "design.html",
        design=design,
        certificate=design.certificate,
        wanted=design.specification,
        tiles=design.figures,
        picture=None if figure is None else page_picture(figure),
        groups=[picture for picture in design.pictures if isinstance(picture, Groups)],
        policy=design.document.to_toml(),
    )


def print_design(design: Design, console: Console) -> None:
    """Print a design: the headline and the details."""
    print_sentences(design.headline, design.sentences, console)
