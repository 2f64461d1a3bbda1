"""The roles of the columns of a raw table, as a page: look, correct, count, release."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the types of routes

from hartley.errors import InputError, OptionError
from hartley.files import parse_toml
from hartley.reports.render import page as page_of
from hartley.schema.roles import RELEASED, Roles
from hartley.service.console.pages import FRAMED_POLICY, PREFIX, report_parts
from hartley.service.console.visits import PageRoute, page, require_again, visit_of
from hartley.service.hosting import hints_about_reading
from hartley.service.identity import Role

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
USUAL_K = "5"
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


@roles_router.api_route("/{name}/roles", methods=["GET", "POST"])
async def roles_page(request: Request, name: str) -> Response:
    """Show what every column seems to be and why, and count whom the chosen roles give away."""
    visit = await visit_of(request)
    fields = await visit.form(MOST_COLUMNS) if request.method == "POST" else {}
    return await _roles(visit, name, fields)


@roles_router.post("/{name}/release")
async def show_release(request: Request, name: str) -> Response:
    """Show what a release by confirmed roles would give away, before anything leaves."""
    visit = await visit_of(request)
    fields = await visit.form(MOST_COLUMNS)
    try:
        made = await _released(visit, name, fields)
    except InputError as error:
        return await _roles(visit, name, fields, error)
    style, content = report_parts(page_of(made))
    response = page(
        "release.html",
        await visit.frame("Owner"),
        dataset=name,
        address=_address(name),
        style=style,
        content=content,
        fields=fields,
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
    def work() -> AnonymizedTable:
        from hartley.studies.release.generalisation import anonymize  # analysts never wait for it

        table, roles = _chosen(visit, name, fields)
        if fields.get("confirmed") != "yes":
            hint = "look at every column, then tick the box"
            raise OptionError("Nobody has confirmed these roles", hint=hint)
        made = anonymize(table, k=_group_size(fields), roles=_confirmed(roles))
        who = visit.identity.account
        visit.service.accounts.note(who, "anonymize table", name, f"k = {made.k}")
        return made

    return await visit.service.lanes.engine(work)


async def _roles(
    visit: Visit, name: str, fields: Mapping[str, str], failed: InputError | None = None
) -> Response:
    def work() -> tuple[Roles, AnonymityReport | None, InputError | None]:
        from hartley.studies.look.anonymity import anonymity

        table, roles = _chosen(visit, name, fields)
        try:
            k, confirmed = _group_size(fields), _confirmed(roles)
            keys = roles.named("key")
            return roles, anonymity(table, roles=confirmed, few=k) if keys else None, failed
        except InputError as error:
            return roles, None, error

    roles, report, failed = await visit.service.lanes.engine(work)
    return page(
        "roles.html",
        await visit.frame("Owner"),
        422 if failed else 200,
        dataset=name,
        address=_address(name),
        columns=roles.columns.values(),
        hidden=[column.name for column in roles.columns.values() if column.role not in RELEASED],
        field=FIELD,
        meanings=MEANINGS,
        report=report,
        k=fields.get("k", USUAL_K),
        failed=failed and f"{failed.problem}; {failed.hint}.",
    )


def _chosen(visit: Visit, name: str, fields: Mapping[str, str]) -> tuple[str, Roles]:
    """Return the configured table with the roles of a form; without one, with those of a draft."""
    from hartley.studies.look.scan import scan

    acts, settings = visit.administration, visit.service.settings.datasets
    table = acts.raw_table(visit.identity, name)
    if not fields or name not in acts.drafts:
        with hints_about_reading(settings[name]):
            acts.drafts[name] = scan(table, reading=settings[name].reading).roles
    columns = {
        column.name: replace(column, role=fields.get(FIELD + column.name, "undecided"))
        for column in acts.drafts[name].columns.values()
    }
    return table, replace(acts.drafts[name], columns=columns) if fields else acts.drafts[name]


def _confirmed(roles: Roles) -> Roles:
    """Return roles read as a file of them would be, so that every contradiction is refused."""
    return Roles.read(parse_toml(roles.to_toml(), what="roles", kind=OptionError)).confirm()


def _group_size(fields: Mapping[str, str]) -> int:
    text = fields.get("k", USUAL_K).strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text) >= 2):
        problem = f"'{text[:20]}' is no size of a group"
        raise OptionError(problem, hint="write a whole number from 2 on")
    return int(text)


def _address(name: str) -> str:
    return f"{PREFIX}/owner/datasets/{quote(name, safe='')}"
