"""All pages of the console: logging in and out, the files that pages load, and the other routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the types of routes
from starlette.responses import Response

from hartley.service.console import ask_routes, dataset_routes, owner_routes, report_routes
from hartley.service.console.pages import PREFIX, STATIC, PageFrame, asset
from hartley.service.console.visits import (
    COOKIE,
    LoggedOut,
    PageRoute,
    begin_session,
    page,
    read_form,
    see_other,
    set_cookie,
    visit_of,
)
from hartley.service.envelope import not_found

if TYPE_CHECKING:
    from hartley.service.service import Service

FOR_EVER = "public, max-age=31536000, immutable"
LONGEST_TOKEN = 200

entrance = APIRouter(prefix=PREFIX, include_in_schema=False, route_class=PageRoute)
front = APIRouter(include_in_schema=False, route_class=PageRoute)
nowhere = APIRouter(prefix=PREFIX, include_in_schema=False, route_class=PageRoute)


def console_router() -> APIRouter:
    """Return every route of the console, for an application whose state has the service."""
    router = APIRouter(include_in_schema=False)
    for part in (front, entrance):
        router.include_router(part)
    for pages in (ask_routes, owner_routes, dataset_routes, report_routes):
        router.include_router(pages.router)
    router.include_router(nowhere)
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
