"""Who sends a request: a token in the header, or a name from a trusted reverse proxy."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from hartley.service.accounts import Identity
from hartley.service.administration import Administration
from hartley.service.envelope import unauthorized
from hartley.service.service import Service

if TYPE_CHECKING:
    from fastapi.security import HTTPAuthorizationCredentials

SCHEME = HTTPBearer(auto_error=False, description="A token that the owner issued.")
FORWARDED = ("forwarded", "x-forwarded-", "x-real-ip", "via")
"""How the names of headers begin that a proxy adds."""


def service_of(request: Request) -> Service:
    """Return the service of this worker."""
    service: Service = request.app.state.service
    return service


def administration_of(request: Request) -> Administration:
    """Return the acts of owners."""
    administration: Administration = request.app.state.administration
    return administration


async def current_identity(
    request: Request,
    bearer: Annotated[object, Security(SCHEME)],
) -> Identity:
    """Return who sends a request; all tokens that are not valid get the same reply."""
    identity = await identity_of(request, bearer)  # type: ignore[arg-type]
    if identity is None:
        raise unauthorized()
    request.scope["state"]["account"] = identity.account
    return identity


async def identity_of(
    request: Request, bearer: HTTPAuthorizationCredentials | None
) -> Identity | None:
    """Return who a token, or else a trusted proxy, stands for; None if neither does."""
    service = service_of(request)
    if len(request.headers.getlist("authorization")) > 1:
        return None  # a proxy before the service may have looked at another one
    if bearer is not None:
        return await service.authenticate(bearer.credentials)
    name = proxied_name(request, service)
    return None if name is None else await service.identity_of(name)


def proxied_name(request: Request, service: Service) -> str | None:
    """Return the user that a listed proxy names; the header of anybody else is not looked at."""
    proxy = service.settings.proxy
    if proxy is None or request.client is None or request.client.host not in proxy.addresses:
        return None
    if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return None  # a page elsewhere makes the browser of somebody who is logged in send this
    names = request.headers.getlist(proxy.user_header)
    return names[0] if len(names) == 1 else None


def is_local(request: Request) -> bool:
    """Tell whether a request comes from this machine itself, and not through a proxy on it."""
    if any(name.startswith(FORWARDED) for name in request.headers):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


# A dependency that is not a coroutine would run in a thread, at several times the cost.
async def _service(request: Request) -> Service:
    return service_of(request)


async def _administration(request: Request) -> Administration:
    return administration_of(request)


Caller = Annotated[Identity, Depends(current_identity)]
Host = Annotated[Service, Depends(_service)]
Acts = Annotated[Administration, Depends(_administration)]
