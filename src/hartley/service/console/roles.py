"""The roles of the columns of a raw table, as a page: look, correct, count, release."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.requests import Request  # noqa: TC002 - likewise

from hartley.errors import HartleyError, OptionError
from hartley.files import parse_toml
from hartley.reports.render import page as page_of
from hartley.schema.roles import RELEASED, ColumnRole, Roles
from hartley.service.console.pages import FRAMED_POLICY, PREFIX, report_parts
from hartley.service.console.visits import PageRoute, page, require_again, visit_of
from hartley.service.identity import Role
from hartley.service.replies import ServiceError
from hartley.text import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.service.console.visits import Visit
    from hartley.studies.look.anonymity import AnonymityReport
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
    return await _roles(await visit_of(request), name)


@roles_router.post("/{name}/roles")
async def count_again(request: Request, name: str) -> Response:
    """Count whom the chosen roles give away; nothing is released."""
    visit = await visit_of(request)
    return await _roles(visit, name, await visit.form(MOST_COLUMNS))


@roles_router.post("/{name}/release")
async def show_release(request: Request, name: str) -> Response:
    """Show what a release by confirmed roles would give away, before anything leaves."""
    visit = await visit_of(request)
    fields = await visit.form(MOST_COLUMNS)
    try:
        made = await _released(visit, name, fields)
    except ServiceError:
        raise
    except HartleyError as error:
        return await _roles(visit, name, fields, error)
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
async def take_release(request: Request, name: str) -> Response:
    """Return the released rows as a file, if the name was written again."""
    visit = await visit_of(request)
    fields = await visit.form(MOST_COLUMNS)
    visit.administration.require(visit.identity, Role.OWNER)
    require_again(fields, name, "dataset")
    made = await _released(visit, name, fields)
    with tempfile.TemporaryDirectory() as folder:
        text = made.write(Path(folder) / "release.csv", spreadsheet_safe=True).read_bytes()
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}-k{made.k}.csv"}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


async def _released(visit: Visit, name: str, fields: Mapping[str, str]) -> AnonymizedTable:
    acts, who = visit.administration, visit.identity
    if fields.get("confirmed") != "yes":
        raise OptionError(
            "Nobody has confirmed these roles", hint="look at every column, then tick the box"
        )

    def work() -> AnonymizedTable:
        roles = _checked(_with_roles(acts.draft_roles(who, name), fields))
        made: AnonymizedTable = acts.release_table(who, name, roles.confirm(), _group_size(fields))
        return made

    return await visit.service.lanes.engine(work)


def _with_roles(draft: Roles, fields: Mapping[str, str]) -> Roles:
    """Return a draft with the roles of a form; what is not a key loses its bins."""
    columns = {}
    for name, column in draft.columns.items():
        role = fields.get(FIELD + name, "undecided")  # the form may be of an older table
        plain = ColumnRole(name, role, why=column.why)
        columns[name] = replace(column, role=role) if role == "key" else plain
    return replace(draft, columns=columns)


def _checked(roles: Roles) -> Roles:
    """Return roles read as a file of them would be, so that every contradiction is refused."""
    return Roles.read(parse_toml(roles.to_toml(), what="roles", kind=OptionError))


def _group_size(fields: Mapping[str, str]) -> int:
    text = fields.get("k", "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text) >= 2):
        problem = f"'{text[:20]}' is no size of a group"
        raise OptionError(problem, hint="write a whole number from 2 on")
    return int(text)


async def _roles(
    visit: Visit,
    name: str,
    fields: Mapping[str, str] | None = None,
    error: HartleyError | None = None,
) -> Response:
    acts, who = visit.administration, visit.identity

    def work() -> tuple[Roles, AnonymityReport | None, HartleyError | None]:
        roles = acts.draft_roles(who, name, again=fields is None)
        if fields is not None:
            roles = _with_roles(roles, fields)
        if error is not None:
            return roles, None, error
        try:
            k = USUAL_K if fields is None else _group_size(fields)
            return roles, acts.judge_roles(who, name, _checked(roles), k), None
        except ServiceError:
            raise
        except HartleyError as problem:
            return roles, None, problem

    roles, report, failed = await visit.service.lanes.engine(work)
    hidden = [column.name for column in roles.columns.values() if column.role not in RELEASED]
    return page(
        "roles.html",
        await visit.frame("Owner"),
        422 if failed else 200,
        dataset=name,
        address=_address(name),
        columns=list(roles.columns.values()),
        field=FIELD,
        roles=MEANINGS,
        report=report,
        hidden=f"{count_of(len(hidden), 'column')} not released" + ": " * bool(hidden),
        names=", ".join(hidden),
        k=USUAL_K if fields is None else fields.get("k", ""),
        failed=failed and f"{failed.problem}; {failed.hint}.",
    )


def _address(name: str) -> str:
    return f"{PREFIX}/owner/datasets/{quote(name, safe='')}"
