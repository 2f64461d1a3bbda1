"""Plots and documents from result objects."""

from hartley.reports.document import plot, write_html

__all__ = ["plot", "write_html"]
