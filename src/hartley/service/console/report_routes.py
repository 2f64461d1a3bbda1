"""Reports for the owner: the pages that reports make, in the frame of the console."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the types of routes

from hartley.errors import OptionError
from hartley.reports.document import render_html
from hartley.service.accounts import Role
from hartley.service.console.pages import PREFIX
from hartley.service.console.questions import open_dataset
from hartley.service.console.visits import PageRoute, page, visit_of
from hartley.service.envelope import not_found
from hartley.wording import decimal_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.schema.schema import Schema
    from hartley.service.console.visits import Visit

router = APIRouter(prefix=f"{PREFIX}/reports", include_in_schema=False, route_class=PageRoute)
FRAMED_POLICY = (
    # As for every page, but for the widths and figures of a report, which have their style inside.
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_HEADERS = {
    # A report alone is a page with its style inside; no script, no form, no other site.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; sandbox"
    ),
}
LONGEST_FIELD = 500


@dataclass(frozen=True)
class ReportField:
    """A field of the form of a report."""

    name: str
    label: str
    value: str


@dataclass(frozen=True)
class ReportKind:
    """A kind of report and its form."""

    name: str
    title: str
    words: str
    fields: tuple[ReportField, ...]


def report_kinds(schema: Schema) -> tuple[ReportKind, ...]:
    """Return the kinds of reports, with columns of a dataset as a first proposal."""
    columns = [column for column in schema.columns.values() if column.name != schema.unit]
    known = [c.name for c in columns if c.kind != "private"] or [columns[0].name]
    secret = next(
        (c.name for c in reversed(columns) if c.values is not None and c.kind == "private"),
        columns[-1].name,
    )
    numbers = [c.name for c in columns if c.numeric][:2] or known
    return (
        ReportKind(
            "audit",
            "Audit",
            "How many bits released columns reveal about a secret one, in this table.",
            (
                ReportField("secret", "Secret column", secret),
                ReportField("released", "Released columns", ", ".join(known)),
            ),
        ),
        ReportKind(
            "anonymity",
            "Anonymity",
            "Who could be recognised by key columns, and which confidential values that reveals.",
            (
                ReportField("keys", "Key columns", ", ".join(known)),
                ReportField("confidential", "Confidential columns", secret),
            ),
        ),
        ReportKind(
            "design",
            "Design",
            "The finest release of columns within a number of bits about one person. It reads the "
            "schema alone.",
            (
                ReportField("columns", "Columns", ", ".join(numbers)),
                ReportField("bits", "Bits about one person", "6"),
            ),
        ),
    )


@router.get("")
async def reports_page(request: Request) -> Response:
    """Show the forms of all kinds of reports."""
    visit = await _owner(request)
    names = await visit.dataset_names()
    if not names:
        raise not_found()
    opened = await open_dataset(visit.service, visit.identity, names[0])
    return page(
        "reports.html",
        await visit.frame("Reports"),
        kinds=report_kinds(opened.schema),
        datasets=names,
        said=None,
        failed=None,
    )


@router.get("/{kind}")
async def report_frame(request: Request, kind: str) -> Response:
    """Show a report in the frame of the console."""
    visit = await _owner(request)
    chosen, dataset, values = await _wanted(visit, kind)
    text = await _rendered(visit, chosen, dataset, values)
    words = "; ".join(f"{field.label.lower()}: {values[field.name]}" for field in chosen.fields)
    query = urlencode({"dataset": dataset, **values}, quote_via=quote)
    style, content = report_parts(text)
    response = page(
        "report.html",
        await visit.frame("Reports"),
        title=f"{chosen.title} of {dataset}",
        words=f"{words[:1].upper()}{words[1:]}.",
        page=f"{PREFIX}/reports/{kind}/page?{query}",
        style=style,
        content=content,
    )
    response.headers["Content-Security-Policy"] = FRAMED_POLICY
    return response


@router.get("/{kind}/page")
async def report_page(request: Request, kind: str) -> Response:
    """Return a report alone, computed now."""
    visit = await _owner(request)
    text = await _rendered(visit, *await _wanted(visit, kind))
    return HTMLResponse(text, headers=REPORT_HEADERS)


def report_parts(text: str) -> tuple[str, str]:
    """Return the style of a report and what stands in its page, to show both in another page.

    Example:
        >>> report_parts("<style>p { margin: 0 }</style></head><body><main><p>1</p></main></body>")
        ('p { margin: 0 }', '<p>1</p>')
    """
    style = text.partition("<style>")[2].partition("</style>")[0]
    return style.strip(), text.partition("<main>")[2].rpartition("</main>")[0].strip()


async def _rendered(visit: Visit, kind: ReportKind, dataset: str, values: Mapping[str, str]) -> str:
    opened = await open_dataset(visit.service, visit.identity, dataset)
    data = visit.service.settings.datasets[dataset].data
    return await visit.service.lanes.engine(
        lambda: render_html(_made(kind.name, opened.schema, data, values))
    )


async def _owner(request: Request) -> Visit:
    visit = await visit_of(request)
    visit.administration.require(visit.identity, Role.OWNER)
    return visit


async def _wanted(visit: Visit, kind: str) -> tuple[ReportKind, str, dict[str, str]]:
    """Return which report is wanted, of which dataset, with the values of its form."""
    query = visit.request.query_params
    dataset = query.get("dataset", "")
    visit.service.dataset(visit.identity, dataset)
    opened = await open_dataset(visit.service, visit.identity, dataset)
    for known in report_kinds(opened.schema):
        if known.name == kind:
            values = {
                field.name: query.get(field.name, "").strip()[:LONGEST_FIELD]
                for field in known.fields
            }
            return known, dataset, values
    raise not_found("report")


def _made(kind: str, schema: Schema, data: str | None, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - a result of any kind
    """Make a report: a study and its function have one name, and are imported on use."""
    study = getattr(import_module(f"hartley.studies.{kind}"), kind)
    if kind == "design":
        return study(
            {"objective": "bits", "bits": values["bits"], "columns": _columns(schema, values)}
        )
    if data is None:
        raise OptionError(
            "The configuration of the dataset has no key data",
            hint="name the table there, since a report reads it",
        )
    return study(data, **{role: _names(text) for role, text in values.items()})


def _columns(schema: Schema, values: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Return the named columns as a design describes them."""
    columns: dict[str, dict[str, object]] = {}
    for name in _names(values["columns"]):
        column = schema.columns.get(name)
        if column is None or column.date:
            raise OptionError(
                f"The column '{name}' is not one of the schema that can be designed",
                hint="name columns of numbers or categories, with commas between them",
            )
        if column.values is not None:
            columns[name] = {"values": list(column.values)}
        else:
            assert column.low is not None
            assert column.high is not None
            assert column.step is not None
            ends = [decimal_text(column.low), decimal_text(column.high)]
            columns[name] = {"range": ends, "step": decimal_text(column.step)}
    return columns


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
