"""The page of a design: what is promised, how it looks, what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.chart import Groups
from hartley.reports.design_plots import plot_design
from hartley.reports.page import render_page
from hartley.reports.plots import figure_svg

if TYPE_CHECKING:
    from hartley.studies.design import Design


def render_design(design: Design) -> str:
    """Return the page of a design."""
    figure = plot_design(design)
    return render_page(
        "design.html",
        design=design,
        certificate=design.certificate,
        wanted=design.specification,
        tiles=design.figures,
        picture=None if figure is None else figure_svg(figure),
        groups=[picture for picture in design.pictures if isinstance(picture, Groups)],
        policy=design.document.to_toml(),
    )
