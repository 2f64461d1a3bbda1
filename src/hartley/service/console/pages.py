"""The frame of every page, and the templates filled with what it shows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hartley.reports.template import page_environment
from hartley.service.console.roundings import bits_due

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX = "/console"
"""Where the pages are."""
STATIC = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files that pages load, with their types: all of them are ours."""


@dataclass(frozen=True)
class NavigationEntry:
    """A page in the bar at the top."""

    name: str
    address: str
    current: bool


@dataclass(frozen=True)
class Purse:
    """What is spent of the allowance, for the bar at the top."""

    words: str
    gauge: str


@dataclass(frozen=True)
class SignedIn:
    """Whose page it is, and the text that its forms carry."""

    account: str
    role: str
    csrf: str


@dataclass(frozen=True)
class PageFrame:
    """What every page has around its content."""

    session: SignedIn | None = None
    home: str = PREFIX
    pages: Sequence[NavigationEntry] = ()
    purse: Purse | None = None
    prefix: str = PREFIX

    @staticmethod
    def static(name: str) -> str:
        """Return the address of a file; it changes with the file, so it can be kept for ever."""
        return f"{PREFIX}/static/{_digest(name)}/{name}"


def render(template: str, frame: PageFrame, **content: Any) -> str:  # noqa: ANN401 - the values of the template
    """Return a page."""
    page: str = _environment().get_template(template).render(frame=frame, **content)
    return page


def asset(name: str) -> str:
    """Return the text of a template or of a file that pages load."""
    return files("hartley.service.console").joinpath("templates", name).read_text("utf-8")


def sentence(text: str) -> str:
    """Write a hint as sentences: each begins with a capital, and the last one ends.

    Example:
        >>> sentence("did you mean age? the columns are age and sex")
        'Did you mean age? The columns are age and sex.'
    """
    parts = [part[:1].upper() + part[1:] for part in text.split("? ")]
    whole = "? ".join(parts)
    return whole if whole.endswith((".", "?", "!")) else whole + "."


@cache
def _environment() -> Any:  # noqa: ANN401 - jinja2 is imported on use
    environment = page_environment(asset)
    environment.filters |= {"sentence": sentence, "bits": bits_due}
    return environment


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(asset(name).encode()).hexdigest()[:16]
