"""Plots and documents from result objects."""

from hartley.reports.document import write_html
from hartley.reports.pictures import plot

__all__ = ["plot", "write_html"]
