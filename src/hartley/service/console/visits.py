"""Who visits a page: the session in a cookie, the text that forms carry, errors as pages."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from hartley.errors import HartleyError
from hartley.service.console.cards import purse
from hartley.service.console.pages import (
    PREFIX,
    NavigationEntry,
    PageFrame,
    SignedIn,
    parse_bits,
    render,
)
from hartley.service.identity import Role
from hartley.service.logs import LOGGER
from hartley.service.own_rows import own_balance
from hartley.service.replies import ServiceError, as_service_error, forbidden, not_found, too_large
from hartley.service.service import proxied_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from hartley.service.administration import Administration
    from hartley.service.console.pages import Purse
    from hartley.service.identity import BrowserSession, Identity
    from hartley.service.service import Service

    Act = Callable[[Administration, Identity, Mapping[str, str]], object]

COOKIE = "hartley_session"
LIFETIME = timedelta(hours=12)
MOST_FIELDS = 60
"""Of one form; one of roles has more, since every column has one."""
OWN_PAGES = {"same-origin", "none"}
"""Where a browser says that a form came from: a page of ours, or the user's own address bar."""
TITLES = {
    401: "Please log in",
    403: "Not allowed",
    404: "There is no such page",
    409: "Not possible now",
    413: "Too long",
    422: "Not possible",
    429: "Too many requests",
    503: "Busy",
}


class LoggedOut(HartleyError):  # noqa: N818 - reads as what it says: the visitor is logged out
    """A page that needs a session, visited without one."""

    def __init__(self) -> None:
        super().__init__("The page needs a session", hint="log in")


@dataclass(frozen=True)
class Visit:
    """One request to a page: whose it is, and what the service has for it."""

    request: Request
    service: Service
    administration: Administration
    session: BrowserSession
    cookie: str

    @property
    def identity(self) -> Identity:
        """Who visits."""
        return self.session.identity

    @property
    def here(self) -> str:
        """The address of the service, as the browser knows it."""
        scheme = "https" if is_secure(self.request) else "http"
        return str(self.request.base_url.replace(scheme=scheme)).rstrip("/")

    @property
    def dataset_names(self) -> list[str]:
        """The names of the datasets that the visitor sees."""
        return self.service.visible(self.identity)

    async def frame(self, current: str, dataset: str | None = None) -> PageFrame:
        """Return what stands around a page: the bar at the top, with the account's balance."""
        identity, names = self.identity, self.dataset_names
        chosen = dataset if dataset in names else (names[0] if names else None)
        entries: list[tuple[str, str]] = []
        if chosen is not None and identity.role is not Role.AUDITOR:
            base = f"{PREFIX}/d/{quote(chosen, safe='')}"
            entries = [(name, f"{base}/{name.lower()}") for name in ("Ask", "Budget", "History")]
        if identity.role is Role.OWNER:
            entries += [("Owner", f"{PREFIX}/owner"), ("Reports", f"{PREFIX}/reports")]
        elif identity.role is Role.AUDITOR:
            entries += [("Audit", f"{PREFIX}/owner")]
        return PageFrame(
            SignedIn(identity.account, identity.role.value, self.session.csrf),
            home=PREFIX,
            pages=[NavigationEntry(name, where, name == current) for name, where in entries],
            purse=None if dataset is None else await self.purse(dataset),
        )

    async def purse(self, dataset: str) -> Purse:
        """Return what is spent of the account's allowance."""
        hosted = self.service.dataset(self.identity, dataset)
        own = await self.service.lanes.quick(lambda: own_balance(hosted.own(self.identity.account)))
        return purse(own.spent, parse_bits(own.bits))

    async def form(self, most: int = MOST_FIELDS) -> dict[str, str]:
        """Return the fields of a form that carries the text of the session."""
        fields = await read_form(self.request, most)
        if not hmac.compare_digest(fields.get("csrf", "").encode(), self.session.csrf.encode()):
            raise forbidden("The form is not of this session", "open the page again")
        return fields


async def read_form(request: Request, most: int = MOST_FIELDS) -> dict[str, str]:
    """Return the fields of a form that a page of ours sent; of equal names, the last."""
    if request.headers.get("sec-fetch-site", "none") not in OWN_PAGES:
        raise forbidden("The form comes from another site", "open the page here and send it again")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=most)
    except ValueError:
        problem = "The form has too many fields"
        raise ServiceError(422, "invalid", problem, hint="open the page again") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


async def visit_of(request: Request) -> Visit:
    """Return who visits; raise ``LoggedOut`` without a session that is valid now."""
    service: Service = request.app.state.service
    cookie = request.cookies.get(COOKIE, "")
    session = (
        await service.lanes.quick(lambda: service.accounts.session(cookie)) if cookie else None
    )
    name = proxied_name(request, service)
    if session is not None and session.identity.token_id is None and name is None:
        session = None  # it began by the proxy's word, which this request does not carry
    if name is not None and (session is None or session.identity.account != name):
        # The proxy has identified somebody: a session of theirs begins without a token.
        identity = await service.lanes.quick(lambda: service.accounts.identity_of(name))
        if identity is None:
            raise LoggedOut
        cookie = await begin_session(service, identity)
        session = await service.lanes.quick(lambda: service.accounts.session(cookie))
        request.scope["state"]["new_cookie"] = cookie
    if session is None:
        raise LoggedOut
    request.scope["state"]["account"] = session.identity.account
    administration: Administration = request.app.state.administration
    return Visit(request, service, administration, session, cookie)


async def begin_session(service: Service, identity: Identity) -> str:
    """Begin a session; return the text of its cookie."""
    return await service.lanes.quick(
        lambda: service.accounts.begin_session(identity, lifetime=LIFETIME)
    )


def set_cookie(response: Response, request: Request, text: str) -> None:
    """Give a browser its session: no script can read it, and no other site can use it."""
    response.set_cookie(
        COOKIE,
        text,
        max_age=int(LIFETIME.total_seconds()),
        path=PREFIX,
        httponly=True,
        samesite="strict",
        secure=is_secure(request),
    )


def is_secure(request: Request) -> bool:
    """Tell whether the browser speaks TLS: with the service, or with a reverse proxy.

    Anybody may send the proxy's word: it only keeps the sender's own cookie from going without TLS.
    """
    settings = request.app.state.service.settings
    forwarded = request.headers.get("x-forwarded-proto") == "https"
    return settings.tls is not None or request.url.scheme == "https" or forwarded


def page(template: str, frame: PageFrame, status: int = 200, **content: Any) -> HTMLResponse:  # noqa: ANN401 - the values of the template
    """Return a page as a reply."""
    return HTMLResponse(render(template, frame, **content), status)


def see_other(address: str) -> RedirectResponse:
    """Return the reply to a form that was carried out: look there."""
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)


async def carry_out(
    request: Request,
    act: Act,
    show: Callable[[Visit, str], Awaitable[Response]],
    address: str,
    *,
    engine: bool = False,
) -> Response:
    """Carry out the act of a form, and go to an address or show what was wrong with the form."""
    visit = await visit_of(request)
    form = await visit.form()
    lanes = visit.service.lanes
    try:
        await (lanes.engine if engine else lanes.quick)(
            lambda: act(visit.administration, visit.identity, form)
        )
    except HartleyError as error:
        if isinstance(error, ServiceError) and error.status in {403, 404}:
            raise
        return await show(visit, f"{error.problem}; {error.hint}.")
    return see_other(address)


def require_again(fields: Mapping[str, str], name: str, what: str) -> None:
    """Refuse an act that cannot be undone unless the name of what it is about was written again."""
    if fields.get("again", "").strip() != name:
        problem = f"The name that was written is not that of the {what}"
        hint = f"write {name} to go on; nothing was changed"
        raise ServiceError(422, "invalid", problem, hint=hint)


class PageRoute(APIRoute):
    """A route whose errors are pages, in the frame of the visitor where there is one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route with its errors caught."""
        handle = super().get_route_handler()

        async def handle_page(request: Request) -> Response:
            try:
                response = await handle(request)
            except LoggedOut:
                response = see_other(f"{PREFIX}/login")
            except HTTPException as error:
                known = too_large() if error.status_code == 413 else not_found("page")
                response = await error_page(request, known)
            except RequestValidationError:
                response = await error_page(request, not_found("page"))
            except HartleyError as error:
                response = await error_page(request, as_service_error(error))
            except Exception as error:  # noqa: BLE001 - a person sees a page, and the log the rest
                request_id = request.scope["state"]["request_id"]
                LOGGER.error("failed", exc_info=error, extra={"request_id": request_id})
                response = await error_page(request, as_service_error(error))
            cookie = request.scope.get("state", {}).get("new_cookie")
            if cookie is not None:
                set_cookie(response, request, cookie)
            return response

        return handle_page


async def error_page(request: Request, error: ServiceError) -> Response:
    """Return the page of an error."""
    try:
        visit = await visit_of(request)
        frame, back, words = await visit.frame(""), PREFIX, "Back to the console"
    except Exception:  # noqa: BLE001 - where the ledger does not answer, a page without a frame
        frame, back, words = PageFrame(), f"{PREFIX}/login", "Log in"
    response = page(
        "message.html",
        frame,
        error.status,
        title=TITLES.get(error.status, "Something went wrong"),
        problem=f"{error.problem}.",
        hint=error.hint,
        request_id=request.scope["state"]["request_id"] if error.status >= 500 else None,
        back=back,
        back_words=words,
    )
    response.headers.update(error.headers)
    return response
