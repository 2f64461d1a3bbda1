"""Pictures, HTML pages and terminal output of results."""

from hartley.reports.document import plot, write_html

__all__ = ["plot", "write_html"]
