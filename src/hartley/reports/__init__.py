"""Pictures, HTML pages and terminal output of results."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hartley.reports.document import plot, write_html

__all__ = ["plot", "write_html"]


def __getattr__(name: str) -> object:
    """Import the pages on first use: every command needs the evidence, and few write a page."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hartley.reports import document

    return getattr(document, name)
