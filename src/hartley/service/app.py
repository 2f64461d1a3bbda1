"""The application: routes, one envelope for all errors, and what starts and ends with a worker."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from hartley.errors import EngineError, HartleyError, Refused
from hartley.service.administration import Administration
from hartley.service.api import administration, datasets, operations
from hartley.service.api.models import ErrorEnvelope
from hartley.service.console.routes import console_router
from hartley.service.envelope import ServiceError, as_service_error, not_found, too_large
from hartley.service.gate import Gate
from hartley.service.kept_replies import KeptReplies
from hartley.service.logs import LOGGER
from hartley.service.service import Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from hartley.service.settings import ServiceSettings

SAVE_SECONDS = 1.0
DESCRIPTION = """
Questions about private tables, answered truthfully within a budget of bits.

Every request carries `Authorization: Bearer TOKEN`. Every error has the same envelope; its `code`
is for programs, `message` and `hint` are for people, and `place` is where in the question the
problem lies. Asking the same question again is always free.
"""
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorEnvelope, "description": words}
    for status, words in {
        400: "the body cannot be read, or a header was sent twice",
        401: "the token is missing or not valid",
        403: "the role or scope of the token does not allow this",
        404: "absent, or not for this account",
        409: "the allowance or the daily cap is too small, or more is due than a price said",
        413: "the body is too large",
        422: "the question or a field is not valid",
        429: "too many requests in a minute",
        500: "the service failed",
        503: "busy, pending (paid for; ask the same again) or unavailable",
    }.items()
}


def create_app(settings: ServiceSettings) -> FastAPI:
    """Return the application of one worker, with everything it needs opened.

    The ledger and the coded copies must exist: ``hartley.service.server.prepare`` makes them.
    """
    service = Service(settings)
    app = FastAPI(
        title="Hartley",
        version="1",
        description=DESCRIPTION,
        docs_url=None,  # the pages would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a redirect would name the host that the client claims
        lifespan=_lifespan,
        responses=ERRORS,
    )
    app.state.service = service
    app.state.administration = Administration(service)
    app.state.kept = KeptReplies(service)
    app.add_middleware(
        Gate,
        service=service,
        kept=app.state.kept,
        tls=settings.tls is not None,
    )
    app.add_exception_handler(HartleyError, _reply)
    app.add_exception_handler(HTTPException, _reply_http)
    app.add_exception_handler(RequestValidationError, _reply_invalid)
    for part in (datasets, operations, administration):
        app.include_router(part.router)
    app.include_router(console_router())
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    await asyncio.to_thread(service.open)
    # What is open now stays until the end. Looking through all of it for garbage, again and again,
    # would stop every request for a tenth of a second.
    gc.collect()
    gc.freeze()
    saving = asyncio.create_task(_save(service))
    try:
        yield
    finally:
        saving.cancel()
        with suppress(asyncio.CancelledError):
            await saving
        gc.unfreeze()
        app.state.kept.close()
        await asyncio.to_thread(service.close)


async def _save(service: Service) -> None:
    while True:
        await asyncio.sleep(SAVE_SECONDS)
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            # Nobody would replace this worker, and it would keep the address from a new start.
            LOGGER.error("the parent process ended, so this worker ends")
            signal.raise_signal(signal.SIGTERM)
            return
        with suppress(HartleyError):  # a ledger that does not answer is reported elsewhere
            await asyncio.to_thread(service.save)


# --- errors -------------------------------------------------------------------------------------


def _reply(request: Request, error: Exception) -> JSONResponse:
    service: Service = request.app.state.service
    request_id = request.scope["state"]["request_id"]
    # A refused question repeats its own text, which may hold anything; of an engine none is shown.
    known = isinstance(error, (ServiceError, Refused, EngineError))
    if not known and service.ledger.name in str(error):
        assert isinstance(error, HartleyError)
        error = EngineError(error.problem, hint=error.hint)  # where it lies is the operator's
    reply = as_service_error(error)
    if reply.status >= 500 and not isinstance(error, ServiceError):
        extra = {"request_id": request_id, "problem": str(error)}
        LOGGER.warning("failed", exc_info=error, extra=extra)
    return JSONResponse(reply.body(request_id), reply.status, headers=reply.headers)


def _reply_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    replies = {
        404: not_found("route"),
        413: too_large(),
        405: ServiceError(
            405,
            "method",
            "The route does not have this method",
            hint="see /openapi.json",
            headers=error.headers,
        ),
    }
    unreadable = ServiceError(
        400, "invalid", "The body cannot be read", hint="send JSON, as in /openapi.json"
    )
    return _reply(request, replies.get(error.status_code, unreadable))


def _reply_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0] if error.errors() else {}
    if first.get("type") == "json_invalid":
        place = first.get("loc", ("body", 0))[-1]
        problem = f"The body is not JSON, from its character {int(place) + 1} on"
        return _reply(
            request,
            ServiceError(422, "invalid", problem, hint="send JSON, as in /openapi.json"),
        )
    where = ".".join(str(part) for part in first.get("loc", ()) if part != "body")
    what = str(first.get("msg", "")).removesuffix(".")
    problem = (
        f"The field '{where}' is not valid: {what}" if where else f"The body is not valid: {what}"
    )
    return _reply(
        request, ServiceError(422, "invalid", problem, hint="see the fields in /openapi.json")
    )
