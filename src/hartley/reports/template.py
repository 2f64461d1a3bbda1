"""Self-contained HTML pages from templates."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hartley.text import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markupsafe import Markup

    from hartley.reports.evidence import Evidence

_EVIDENCE: ContextVar[Evidence | None] = ContextVar("evidence", default=None)


def render_page(template: str, **content: Any) -> str:  # noqa: ANN401 - the values of the template
    """Return a page: a filled-in template with the style sheet that all pages share.

    All values are escaped, unless the template marks them as safe.

    Example:
        >>> from hartley.reports import template
        >>> "@media print" in template.asset("page.css")
        True
    """
    environment = page_environment(asset)
    environment.filters |= {
        "shown": value_text,
        "bar": bar,
        "words": unbroken_words,
    }
    page: str = environment.get_template(template).render(
        style=asset("page.css"), version=version("hartley"), evidence=_EVIDENCE.get(), **content
    )
    return page


@contextmanager
def evidence_on_page(evidence: Evidence) -> Iterator[None]:
    """Show evidence at the end of the pages that are rendered in the block."""
    mark = _EVIDENCE.set(evidence)
    try:
        yield
    finally:
        _EVIDENCE.reset(mark)


def page_environment(read: Callable[[str], str]) -> Any:  # noqa: ANN401 - jinja2 is imported on use
    """Return an environment of templates: all values are escaped, unknown names are errors.

    Args:
        read: a function from the name of a template to its text.

    Example:
        >>> templates = page_environment({"hello": "<p>{{ name }}</p>"}.get)
        >>> templates.get_template("hello").render(name="<i>")
        '<p>&lt;i&gt;</p>'
    """
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def asset(name: str) -> str:
    """Return the content of a file in the folder of templates."""
    return files("hartley.reports").joinpath("templates", name).read_text("utf-8")


def bar(value: float, total: float) -> float:
    """Return a value as a percentage of the whole.

    Example:
        >>> bar(1.0, 4.0), bar(9.0, 4.0), bar(1.0, 0.0)
        (25.0, 100.0, 0)
    """
    return 0 if total <= 0 else round(min(max(value / total, 0.0), 1.0) * 100, 1)


def unbroken_words(command: str) -> Markup:
    """Return a command as HTML in which no line ends within a word, after the - of an option.

    Example:
        >>> str(unbroken_words("a --b"))
        '<span class="word">a</span> <span class="word">--b</span>'
    """
    from markupsafe import Markup

    word = Markup('<span class="word">{}</span>')
    return Markup(" ").join(word.format(part) for part in command.split(" "))
