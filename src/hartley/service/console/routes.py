"""All pages of the console: datasets and reports for owners, logging in and out, files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the types of routes

from hartley.errors import OptionError
from hartley.reports.render import page as page_of
from hartley.service.console.ask import ask_router, open_dataset
from hartley.service.console.cards import budget_view
from hartley.service.console.owner import owner_router
from hartley.service.console.pages import (
    FRAMED_POLICY,
    PREFIX,
    STATIC,
    PageFrame,
    asset,
    exact_bits,
    parse_bits,
    report_parts,
)
from hartley.service.console.roles import roles_router
from hartley.service.console.visits import (
    COOKIE,
    LoggedOut,
    PageRoute,
    begin_session,
    carry_out,
    page,
    read_form,
    require_again,
    see_other,
    set_cookie,
    visit_of,
)
from hartley.service.identity import Role
from hartley.service.replies import not_found
from hartley.text import bits_down, bits_up, decimal_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.schema.schema import Schema
    from hartley.service.administration import Administration
    from hartley.service.console.visits import Act, Visit
    from hartley.service.identity import Identity
    from hartley.service.service import Service

FOR_EVER = "public, max-age=31536000, immutable"
LONGEST_FIELD, LONGEST_TOKEN = 500, 200
"""Characters of a field of a report's form, and of a token."""
front, entrance, dataset_router, report_router, nowhere = (
    APIRouter(prefix=prefix, include_in_schema=False, route_class=PageRoute)
    for prefix in ("", PREFIX, f"{PREFIX}/owner", f"{PREFIX}/reports", PREFIX)
)


# --- a dataset for its owner: all charges, allowances, the budget and versions ---


@dataset_router.get("/datasets/{name}")
async def dataset_page(request: Request, name: str) -> Response:
    """Show a dataset to its owner: all charges, allowances, versions."""
    return await _dataset(await visit_of(request), name=name)


async def _dataset(visit: Visit, failed: str | None = None, *, name: str) -> Response:
    acts, identity = visit.administration, visit.identity
    acts.require(identity, Role.OWNER)
    opened = await open_dataset(visit, name)

    def work() -> tuple[dict[str, Any], list[str]]:
        return acts.totals(identity, name), acts.versions(identity, name)["versions"]

    totals, versions = await visit.service.lanes.quick(work)
    view = budget_view(
        opened.schema,
        spent=totals["spent_bits"],
        remaining=totals["remaining_bits"],
        bits=parse_bits(totals["budget_bits"]),
        paid=(),
        own=False,
    )
    shares = [
        {
            "name": account,
            "spent": bits_up(balance["spent_bits"]),
            "bits": bits_down(parse_bits(balance["allowance_bits"])),
        }
        for account, balance in sorted(totals["allowances"].items())
    ]
    problems = [totals["broken"], totals["uncovered"]]
    return page(
        "dataset.html",
        await visit.frame("Owner"),
        422 if failed else 200,
        dataset=opened.card,
        summary=view.promise,
        budget=view,
        budget_text=exact_bits(totals["budget_bits"]),
        shares=shares,
        free=bits_down(parse_bits(totals["free_bits"])),
        versions=versions,
        may_replace=visit.service.settings.datasets[name].data is not None,
        failed=failed or next((f"Look at this: {each}." for each in problems if each), None),
    )


@dataset_router.post("/datasets/{name}/budget")
async def change_budget(request: Request, name: str) -> Response:
    """Change the budget of a dataset, if its name was written again."""
    return await _change_dataset(
        request,
        name,
        lambda acts, who, form: acts.set_budget(who, name, form.get("bits", "").strip()),
    )


@dataset_router.post("/datasets/{name}/versions")
async def add_version(request: Request, name: str) -> Response:
    """Read the configured table again as a new version, if the name was written again."""
    return await _change_dataset(request, name, lambda acts, who, _: acts.add_version(who, name))


async def _change_dataset(request: Request, name: str, act: Act) -> Response:
    """Carry out an act about a dataset whose name was written again."""

    def work(acts: Administration, who: Identity, form: Mapping[str, str]) -> None:
        require_again(form, name, "dataset")
        act(acts, who, form)

    address = f"{PREFIX}/owner/datasets/{quote(name, safe='')}"
    return await carry_out(request, work, partial(_dataset, name=name), address, engine=True)


# --- reports for the owner, in the frame of the console ---

REPORT_HEADERS = {
    # A report alone is a page with its style inside; no script, no form, no other site.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; sandbox"
    ),
}


@dataclass(frozen=True)
class ReportKind:
    """A kind of report and its form."""

    name: str
    title: str
    words: str
    fields: tuple[tuple[str, str, str], ...]
    """Each: its name, its label, and the value that is proposed."""


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
                ("secret", "Secret column", secret),
                ("released", "Released columns", ", ".join(known)),
            ),
        ),
        ReportKind(
            "anonymity",
            "Anonymity",
            "Who could be recognised by key columns, and which confidential values that reveals.",
            (
                ("keys", "Key columns", ", ".join(known)),
                ("confidential", "Confidential columns", secret),
            ),
        ),
        ReportKind(
            "design",
            "Design",
            "The finest release of columns within a number of bits about one person. It reads the "
            "schema alone.",
            (
                ("columns", "Columns", ", ".join(numbers)),
                ("bits", "Bits about one person", "6"),
            ),
        ),
    )


@report_router.get("")
async def reports_page(request: Request) -> Response:
    """Show the forms of all kinds of reports."""
    visit = await _owner(request)
    names = visit.dataset_names
    if not names:
        raise not_found()
    kinds = report_kinds((await open_dataset(visit, names[0])).schema)
    frame = await visit.frame("Reports")
    return page("reports.html", frame, kinds=kinds, datasets=names, failed=None)


@report_router.get("/{kind}")
async def report_frame(request: Request, kind: str) -> Response:
    """Show a report in the frame of the console."""
    visit = await _owner(request)
    chosen, dataset, values = await _wanted(visit, kind)
    text = await _rendered(visit, chosen, dataset, values)
    words = "; ".join(f"{label.lower()}: {values[name]}" for name, label, _ in chosen.fields)
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


@report_router.get("/{kind}/page")
async def report_page(request: Request, kind: str) -> Response:
    """Return a report alone, computed now."""
    visit = await _owner(request)
    text = await _rendered(visit, *await _wanted(visit, kind))
    return HTMLResponse(text, headers=REPORT_HEADERS)


async def _rendered(visit: Visit, kind: ReportKind, dataset: str, values: Mapping[str, str]) -> str:
    opened = await open_dataset(visit, dataset)
    return await visit.service.lanes.engine(
        lambda: page_of(_made(visit, kind.name, dataset, opened.schema, values))
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
    opened = await open_dataset(visit, dataset)
    for known in report_kinds(opened.schema):
        if known.name == kind:
            names = (name for name, _, _ in known.fields)
            values = {name: query.get(name, "").strip()[:LONGEST_FIELD] for name in names}
            return known, dataset, values
    raise not_found("report")


def _made(visit: Visit, kind: str, dataset: str, schema: Schema, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - a result of any kind
    """Make a report, with the study imported on use."""
    room = "release" if kind == "design" else "look"
    study = getattr(import_module(f"hartley.studies.{room}.{kind}"), kind)
    if kind == "design":
        return study(
            {"objective": "bits", "bits": values["bits"], "columns": _columns(schema, values)}
        )
    table = visit.administration.raw_table(visit.identity, dataset)
    return study(table, **{role: _names(text) for role, text in values.items()})


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


# --- everybody's pages ---


def console_router() -> APIRouter:
    """Return every route of the console, for an application whose state has the service."""
    router = APIRouter(include_in_schema=False)
    owners = owner_router, dataset_router, roles_router, report_router
    for part in (front, entrance, ask_router, *owners, nowhere):
        router.include_router(part)
    return router


@front.get("/")
@front.get(f"{PREFIX}/")
async def front_page() -> Response:
    """Go to the console."""
    return see_other(PREFIX)


@nowhere.api_route("/{path:path}", methods=["GET", "POST"])
async def absent_page(path: str) -> Response:  # noqa: ARG001 - any path that no other route has
    """Say that there is no such page, as a page."""
    raise not_found("page")


@entrance.get("/static/{digest}/{name}")
async def static_file(digest: str, name: str) -> Response:
    """Return a file that pages load; its address changes with it."""
    if name not in STATIC or PageFrame.static(name) != f"{PREFIX}/static/{digest}/{name}":
        raise not_found("file")
    headers = {"Cache-Control": FOR_EVER}
    return Response(asset(name), media_type=STATIC[name], headers=headers)


@entrance.get("/login")
async def login_page(request: Request) -> Response:
    """Show the form for a token."""
    try:
        await visit_of(request)
    except LoggedOut:
        return page("login.html", PageFrame(), problem=None)
    return see_other(PREFIX)


@entrance.post("/login")
async def login(request: Request) -> Response:
    """Begin a session with a token; every token that is not valid gets the same reply."""
    service: Service = request.app.state.service
    token = (await read_form(request)).get("token", "").strip()[:LONGEST_TOKEN]
    identity = await service.lanes.quick(lambda: service.accounts.authenticate(token))
    if identity is None:
        return page("login.html", PageFrame(), 401, problem="This token is not valid.")
    response = see_other(PREFIX)
    set_cookie(response, request, await begin_session(service, identity))
    return response


@entrance.post("/logout")
async def logout(request: Request) -> Response:
    """End the session."""
    visit = await visit_of(request)
    await visit.form()
    await visit.service.lanes.quick(lambda: visit.service.accounts.end_session(visit.cookie))
    response = see_other(f"{PREFIX}/login")
    response.delete_cookie(COOKIE, path=PREFIX)
    return response
