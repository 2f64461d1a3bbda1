"""Pictures, HTML pages and terminal output of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.lazy import exports

# Every command needs the evidence, and few write a page.
__getattr__, __dir__, __all__ = exports(__name__, {"render": ("plot", "write_html")})

if TYPE_CHECKING:
    from hartley.reports.render import plot as plot, write_html as write_html
