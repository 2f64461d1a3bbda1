"""Pictures of classes and groups: how many share a size, and what a column loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.reports.plots import STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

BLUE, RED, AMBER = "#2563a8", "#b4232a", "#d97706"
LEAST_BARS = 5
"""Fewer bars are drawn as wide as so many would be."""
SHORT = 18
"""Longer names of columns are cut in a picture."""


def plot_sizes(bands: Sequence[Any], noun: str = "class") -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw how many records are in classes of every size."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        _draw_sizes(figure.subplots(), bands, noun)
    return figure


def plot_release(
    bands: Sequence[Any],
    losses: Sequence[tuple[str, float]],
    *,
    noun: str = "class",
    lost: str = "of its variation",
) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the sizes beside what every column loses."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        height = max(3.4, 0.34 * len(losses) + 1.2)
        figure = Figure(figsize=(7.6, height), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _draw_sizes(left, bands, noun)
        _draw_losses(right, losses, lost)
    return figure


def _draw_sizes(axes: Any, bands: Sequence[Any], noun: str) -> None:  # noqa: ANN401 - untyped
    places = range(len(bands))
    axes.bar(
        places,
        [band.records for band in bands],
        color=[RED if band.high == 1 else BLUE for band in bands],
        width=0.78,
    )
    for place, band in zip(places, bands, strict=True):
        if band.classes:
            axes.annotate(
                f"{band.classes:,}",
                (place, band.records),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color="#64748b",
            )
    crowded = sum(len(band.label) for band in bands) > 40
    axes.set_xticks(
        places,
        [band.label for band in bands],
        rotation=35 if crowded else 0,
        ha="right" if crowded else "center",
        fontsize=8.5,
    )
    spare = max(LEAST_BARS - len(bands), 0) / 2
    axes.set_xlim(-0.7 - spare, len(bands) - 0.3 + spare)
    axes.margins(y=0.12)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"records in a {noun}")
    axes.set_ylabel(f"records in {noun}{'es' if noun.endswith('s') else 's'} of that size")
    axes.grid(visible=False, axis="x")
    axes.tick_params(axis="x", length=0)


def _draw_losses(axes: Any, losses: Sequence[tuple[str, float]], lost: str) -> None:  # noqa: ANN401 - untyped
    names = [_short(name) for name, _ in reversed(losses)]
    shares = [100 * share for _, share in reversed(losses)]
    axes.barh(range(len(names)), shares, color=AMBER, height=0.62)
    for place, share in enumerate(shares):
        axes.annotate(
            f"{share:.3g} %",
            (share, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(0, max(*shares, 1e-9) * 1.35)
    spare = max(LEAST_BARS - 1 - len(names), 0) / 2
    axes.set_ylim(-0.7 - spare, len(names) - 0.3 + spare)
    axes.set_xlabel(f"lost {lost} (%)")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _short(name: str) -> str:
    return name if len(name) <= SHORT else f"{name[: SHORT - 1]}…"
