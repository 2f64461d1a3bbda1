"""The roles of the columns of a raw table, as a page: look, correct, count, release."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.requests import Request  # noqa: TC002 - likewise

from hartley.errors import HartleyError, OptionError
from hartley.files import parse_toml
from hartley.reports.render import page as page_of
from hartley.schema.roles import RELEASED, ROLES, Roles
from hartley.service.console.pages import FRAMED_POLICY, PREFIX, report_parts
from hartley.service.console.visits import PageRoute, page, require_again, visit_of
from hartley.service.replies import ServiceError
from hartley.text import count_of, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.service.console.visits import Visit
    from hartley.studies.release.generalisation import AnonymizedTable

roles_router = APIRouter(
    prefix=f"{PREFIX}/owner/datasets", include_in_schema=False, route_class=PageRoute
)
FIELD = "role of "
"""Before the name of a column, in the form."""
USUAL_K = 5
MOST_COLUMNS = 5000
"""Fields of a form of roles."""
MEANINGS = {
    "identifier": "never released",
    "unit": "whose row it is: never released, counted",
    "undecided": "not released",
    "key": "others may know it: coarsened",
    "confidential": "released and measured",
    "kept": "released as it is",
    "weight": "a sampling weight: not released",
    "household": "who lives together: not released",
}


@roles_router.get("/{name}/roles")
async def roles_page(request: Request, name: str) -> Response:
    """Show what every column seems to be and why, with a menu of roles."""
    visit = await visit_of(request)
    draft = await visit.service.lanes.engine(
        lambda: visit.administration.draft_roles(visit.identity, name, again=True)
    )
    return await _roles(visit, name, draft, USUAL_K)


@roles_router.post("/{name}/roles")
async def count_again(request: Request, name: str) -> Response:
    """Count whom the chosen roles give away; nothing is released."""
    visit = await visit_of(request)
    fields = await visit.form(MOST_COLUMNS)
    try:
        return await _roles(visit, name, *await _chosen(visit, name, fields))
    except HartleyError as error:
        return await _refused(visit, name, fields, error)


@roles_router.post("/{name}/release")
async def show_release(request: Request, name: str) -> Response:
    """Show what a release by confirmed roles would give away, before anything leaves."""
    visit = await visit_of(request)
    fields = await visit.form(MOST_COLUMNS)
    try:
        made = await _released(visit, name, fields)
    except HartleyError as error:
        return await _refused(visit, name, fields, error)
    style, content = report_parts(page_of(made))
    response = page(
        "release.html",
        await visit.frame("Owner"),
        dataset=name,
        address=_address(name),
        style=style,
        content=content,
        fields=[(key, value) for key, value in fields.items() if key not in {"csrf", "again"}],
    )
    response.headers["Content-Security-Policy"] = FRAMED_POLICY
    return response


@roles_router.post("/{name}/release.csv")
async def download_release(request: Request, name: str) -> Response:
    """Return the released rows as a file, if the name was written again."""
    visit = await visit_of(request)
    fields = await visit.form(MOST_COLUMNS)
    require_again(fields, name, "dataset")
    made = await _released(visit, name, fields)
    with tempfile.TemporaryDirectory() as folder:
        text = made.write(Path(folder) / "release.csv", spreadsheet_safe=True).read_bytes()
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}-k{made.k}.csv"}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


async def _released(visit: Visit, name: str, fields: Mapping[str, str]) -> AnonymizedTable:
    roles, k = await _chosen(visit, name, fields)
    if fields.get("confirmed") != "yes":
        raise OptionError(
            "Nobody has confirmed these roles", hint="look at every column, then tick the box"
        )
    return await visit.service.lanes.engine(
        lambda: visit.administration.release_table(visit.identity, name, roles.confirm(), k)
    )


async def _chosen(visit: Visit, name: str, fields: Mapping[str, str]) -> tuple[Roles, int]:
    """Return the draft with the roles and the group size of a form."""
    draft = await visit.service.lanes.engine(
        lambda: visit.administration.draft_roles(visit.identity, name)
    )
    roles = _with_roles(draft, fields)
    text = fields.get("k", "").strip()
    if not (text.isascii() and text.isdecimal() and int(text[:9]) >= 2 and len(text) < 9):
        raise OptionError(
            f"'{text[:20]}' is no size of a group", hint="write a whole number from 2 on"
        )
    # Read as a file of them would be, so that every contradiction is refused.
    content = parse_toml(roles.to_toml(), what="roles", kind=OptionError)
    return replace(Roles.read(content), columns=roles.columns), int(text)


def _with_roles(draft: Roles, fields: Mapping[str, str]) -> Roles:
    """Return a draft with the roles of a form; what is not a key loses its bins."""
    columns = {}
    for name, column in draft.columns.items():
        role = fields.get(FIELD + name, "undecided")  # the form may be of an older table
        bins = {} if role == "key" else {"levels": (), "mask": None, "rare": ()}
        columns[name] = replace(column, role=role, **bins)
    return replace(draft, columns=columns)


async def _refused(
    visit: Visit, name: str, fields: Mapping[str, str], error: HartleyError
) -> Response:
    if isinstance(error, ServiceError):
        raise error
    draft = await visit.service.lanes.engine(
        lambda: visit.administration.draft_roles(visit.identity, name)
    )
    problem = f"{error.problem}; {error.hint}."
    return await _roles(visit, name, _with_roles(draft, fields), None, problem)


async def _roles(
    visit: Visit, name: str, roles: Roles, k: int | None, failed: str | None = None
) -> Response:
    counted: dict[str, Any] | None = None
    if failed is None and k is not None:
        report = await visit.service.lanes.engine(
            lambda: visit.administration.judge_roles(visit.identity, name, roles, k)
        )
        counted = _counted(roles, report)
    return page(
        "roles.html",
        await visit.frame("Owner"),
        422 if failed else 200,
        dataset=name,
        address=_address(name),
        columns=list(roles.columns.values()),
        field=FIELD,
        roles=[(role, MEANINGS[role]) for role in ROLES],
        counted=counted,
        k=USUAL_K if k is None else k,
        failed=failed,
    )


def _counted(roles: Roles, report: Any) -> dict[str, Any]:  # noqa: ANN401 - an AnonymityReport
    """Say in words whom the keys give away as the table is, and which columns stay in the house."""
    hidden = [column.name for column in roles.columns.values() if column.role not in RELEASED]
    return {
        "people": None if report is None else report.people,
        "keys": listed(roles.named("key")) if report is not None else "",
        "words": "" if report is None else report.headline,
        "hidden": f"{count_of(len(hidden), 'column')} not released"
        + (f": {listed(hidden)}." if hidden else "."),
    }


def _address(name: str) -> str:
    return f"{PREFIX}/owner/datasets/{quote(name, safe='')}"
