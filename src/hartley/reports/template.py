"""One self-contained page from a template."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from typing import Any

from hartley.studies.audit import rounded_up, shown


def render_page(template: str, **content: Any) -> str:  # noqa: ANN401 - whatever the template shows
    """Return a page: a template filled in, with the style sheet that all pages share.

    Whatever is filled in is escaped, unless the template says that it is safe.

    Example:
        >>> from hartley.reports import template
        >>> "@media print" in template.asset("page.css")
        True
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"shown": shown, "bar": bar, "up": rounded_up}
    page: str = environment.get_template(template).render(
        style=asset("page.css"), version=version("hartley"), **content
    )
    return page


def asset(name: str) -> str:
    """Return a file of the folder of templates."""
    return files("hartley.reports").joinpath("templates", name).read_text("utf-8")


def bar(value: float, total: float) -> float:
    """Return which percentage of the whole a value is.

    Example:
        >>> bar(1.0, 4.0), bar(9.0, 4.0), bar(1.0, 0.0)
        (25.0, 100.0, 0)
    """
    return 0 if total <= 0 else round(min(max(value / total, 0.0), 1.0) * 100, 1)
