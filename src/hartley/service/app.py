"""The application of one worker: routes, limits and headers of every request, errors, repeats."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import multiprocessing
import secrets
import signal
import sqlite3
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httptools
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from hartley.errors import EngineError, HartleyError, Refused
from hartley.service.administration import Administration
from hartley.service.api import (
    ErrorEnvelope,
    administration_router,
    datasets_router,
    operations_router,
)
from hartley.service.console.routes import console_router
from hartley.service.logs import LOGGER
from hartley.service.replies import ServiceError, as_service_error, not_found, too_large
from hartley.service.service import Service
from hartley.trusted.ledger.chain import find

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
    from fractions import Fraction

    from starlette.requests import Request

    from hartley.service.identity import Identity
    from hartley.service.settings import ServiceSettings
    from hartley.trusted.pricing.regions import PublicParts

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]
    Headers = tuple[tuple[bytes, bytes], ...]
    Basis = tuple[str, str, Fraction | None, PublicParts | None]

SAVE_SECONDS = 1.0
SEND_JSON = "send JSON, as in /openapi.json"
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
    """Return the application of one worker, for a ledger and copies that ``prepare`` has made."""
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
    app.state.cache = ReplyCache(service)
    app.add_middleware(
        RequestGuard, service=service, cache=app.state.cache, tls=settings.tls is not None
    )
    app.add_exception_handler(HartleyError, _reply)
    app.add_exception_handler(HTTPException, _reply_http)
    app.add_exception_handler(RequestValidationError, _reply_invalid)
    for part in (datasets_router, operations_router, administration_router):
        app.include_router(part)
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
        app.state.cache.close()
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
    unreadable = ServiceError(400, "invalid", "The body cannot be read", hint=SEND_JSON)
    return _reply(request, replies.get(error.status_code, unreadable))


def _reply_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0] if error.errors() else {}
    where = ".".join(str(part) for part in first.get("loc", ()) if part != "body")
    what = str(first.get("msg", "")).removesuffix(".")
    problem, hint = f"The body is not valid: {what}", "see the fields in /openapi.json"
    if first.get("type") == "json_invalid":
        place = int(first.get("loc", ("body", 0))[-1]) + 1
        problem, hint = f"The body is not JSON, from its character {place} on", SEND_JSON
    elif where:
        problem = f"The field '{where}' is not valid: {what}"
    return _reply(request, ServiceError(422, "invalid", problem, hint=hint))


# --- every request ---

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
"""Sent with every reply, unless the reply has a header of that name itself."""
ONLY_ONCE = (b"content-type", b"cookie", b"host", b"idempotency-key", b"origin", b"sec-fetch-site")
"""Headers of which a proxy before the service may have looked at another one. Two tokens and two
names of users are refused where they are read, and two lengths by the server."""
ONLY_TLS = (b"strict-transport-security", b"max-age=31536000")


class RequestGuard:
    """Wraps the whole application: limits, headers, kept replies, a log without what was sent."""

    def __init__(
        self, app: Application, *, service: Service, cache: ReplyCache, tls: bool = False
    ) -> None:
        self._app, self._cache = app, cache
        self._keeps = service.settings.keep_replies
        self._limit, self._metrics = service.settings.body_limit, service.metrics
        self._headers = SECURITY_HEADERS + ((ONLY_TLS,) if tls else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        request_id = secrets.token_hex(8)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        headers = dict(scope["headers"])
        if len(headers) < len(scope["headers"]):  # perhaps two tokens: no kept reply is looked for
            headers.pop(b"authorization", None)
        receive = self._limited(headers, receive)
        reply = _Reply(send, self._headers, request_id)
        try:
            if len(headers) < len(scope["headers"]):
                _refuse_doubled([name for name, _ in scope["headers"]])
            if scope["method"] == "POST" and scope["path"].endswith("/ask"):
                if await self._sent_again(scope, headers, receive, reply):
                    self._note(scope, 200, begun, kept=True)
                    return
            else:
                await self._app(scope, receive, reply)
        except Exception as error:  # noqa: BLE001 - what nobody expected is logged without its message
            await self._failed(error, reply, request_id)
        self._note(scope, reply.status or 500, begun)

    async def _sent_again(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, reply: _Reply
    ) -> bool:
        """Answer a question with a kept reply if there is one, otherwise with the application."""
        authorization = headers.get(b"authorization", b"")
        scheme, _, token = authorization.partition(b" ")
        if not self._keeps or scheme.lower() != b"bearer" or b"idempotency-key" in headers:
            await self._app(scope, receive, reply)
            return False
        body = b""
        messages: list[Message] = []
        while not messages or messages[-1].get("more_body"):
            messages.append(await receive())
            body += messages[-1].get("body", b"")
            if messages[-1]["type"] == "http.disconnect":
                break
        kind = headers.get(b"content-type", b"")
        # What the request is recognised by; the token itself is not kept.
        key = scope["path"], hashlib.sha256(authorization).digest(), kind, body
        kept = await self._cache.find(key, token.strip().decode("latin-1"))
        if kept is not None:
            await reply.send_json(200, kept)
            return True
        stamp = await self._cache.stamp()

        async def replay() -> Message:
            return messages.pop(0) if messages else await receive()

        reply.captured = []
        await self._app(scope, replay, reply)
        repeat = scope["state"].get("repeat")
        if repeat is not None and reply.status == 200:
            identity, dataset = repeat
            await self._cache.keep(key, identity, dataset, stamp, b"".join(reply.captured))
        return False

    @staticmethod
    async def _failed(error: Exception, reply: _Reply, request_id: str) -> None:
        known = error
        if isinstance(error, HTTPException):
            known = too_large()
        elif not isinstance(error, ServiceError):
            LOGGER.error("failed", exc_info=error, extra={"request_id": request_id})
        if reply.status is None:
            answer = as_service_error(known)
            body = json.dumps(answer.body(request_id)).encode()
            await reply.send_json(answer.status, body, answer.headers)

    def _limited(self, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """Return the body of a request up to the limit; a longer one is an error."""
        length = headers.get(b"content-length", b"")
        announced = int(length) if length.isdigit() else 0
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            # The framework passes this one on, and turns any other into a body it cannot read.
            if announced > self._limit:  # before a client that asks first is told to send it
                raise HTTPException(413)
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._limit:
                raise HTTPException(413)
            return message

        return limited

    def _note(self, scope: Scope, status: int, begun: float, *, kept: bool = False) -> None:
        """Count a request; log it unless its reply was kept, since lines of those fill a disk."""
        seconds = time.perf_counter() - begun
        method = scope["method"] if scope["method"] in METHODS else "other"
        # The path itself may hold whatever a client put there; its pattern does not.
        route = getattr(scope.get("route"), "path", None) or "unknown"
        route = "/v1/datasets/{name}/ask" if kept else route
        self._metrics.count("requests", route=route, method=method, status=str(status))
        self._metrics.time("request_seconds", seconds, route=route)
        if not kept:
            line = {
                "request_id": scope["state"]["request_id"],
                "method": method,
                "route": route,
                "status": status,
                "milliseconds": round(seconds * 1000, 2),
                "account": scope["state"].get("account"),
            }
            LOGGER.info("request", extra=line)


def _refuse_doubled(names: list[bytes]) -> None:
    for name in ONLY_ONCE:
        if names.count(name) > 1:
            raise ServiceError(
                400,
                "invalid",
                f"The header {name.decode().title()} was sent more than once",
                hint="send it once; if a proxy adds it, let it replace the client's",
            )


class _Reply:
    """Sends a reply with the headers of every reply, and notes its status."""

    def __init__(self, send: Send, headers: Headers, request_id: str) -> None:
        self._send, self._headers, self._request_id = send, headers, request_id
        self.status: int | None = None
        self.captured: list[bytes] | None = None
        """The body, where it may be kept."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            headers += [header for header in self._headers if header[0] not in names]
            headers.append((b"x-request-id", self._request_id.encode()))
            message["headers"] = headers
        elif self.captured is not None and "body" in message:
            self.captured.append(message["body"])
        await self._send(message)

    async def send_json(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        own = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"x-request-id", self._request_id.encode()),
            *((key.lower().encode(), value.encode()) for key, value in (headers or {}).items()),
            *self._headers,
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": own})
        await self._send({"type": "http.response.body", "body": body})


METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


# --- replies to repeats ---

MOST_REPLIES, MOST_BYTES = 4096, 32 << 20
"""What a worker keeps; then it starts again from nothing."""
ReplyKey = tuple[str, bytes, bytes, bytes]


@dataclass
class CachedReply:
    """A rendered reply, and what it rests on."""

    identity: Identity
    dataset: str
    stamp: object
    """The state of the ledger's database in which the rest was checked last."""
    body: bytes
    basis: Basis | None = None
    """Version of data and schema, allowance and charges of the account; None without allowance."""


class ReplyCache:
    """Rendered replies to repeats, kept by one worker and used from its event loop alone.

    A reply to a repeat is a function of the token's state, the version of data and schema, the
    text, and the account's own charges: plans and prices look at no other rows. So it is sent again
    if the token still stands for the same identity, and the ledger did not change, or changed only
    in rows that leave version, schema, allowance and charges of the account as they were.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._replies: dict[ReplyKey, CachedReply] = {}
        self._bytes = 0
        self._watching: sqlite3.Connection | None = None

    async def find(self, key: ReplyKey, token: str) -> bytes | None:
        """Return the reply to a request if it is still right; None otherwise."""
        kept, service = self._replies.get(key), self._service
        if kept is None:
            return None
        if await service.authenticate(token) == kept.identity:
            # A ledger that went back may be in the very state that the reply was kept in.
            await service.look_up(service.resources.guard.check)
            stamp = await self.stamp()
            same = stamp == kept.stamp
            if same or await service.look_up(lambda: self._basis(kept)) == kept.basis:
                kept.stamp = stamp
                service.metrics.count("questions", dataset=kept.dataset, outcome="kept")
                return kept.body
        self._forget(key)
        return None

    async def keep(
        self, key: ReplyKey, identity: Identity, dataset: str, stamp: object, body: bytes
    ) -> None:
        """Keep a reply that was computed after the stamp was taken."""
        if len(self._replies) >= MOST_REPLIES or self._bytes + len(body) > MOST_BYTES:
            self._replies.clear()
            self._bytes = 0
        kept = CachedReply(identity, dataset, stamp, body)
        kept.basis = await self._service.look_up(lambda: self._basis(kept))
        if await self.stamp() != stamp:
            return  # the reply may be older than its basis
        self._forget(key)
        self._replies[key] = kept
        self._bytes += len(body) + len(key[-1])

    def _forget(self, key: ReplyKey) -> None:
        kept = self._replies.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.body) + len(key[-1])

    def _basis(self, kept: CachedReply) -> Basis | None:
        name = kept.identity.account
        place = self._service.ledger.store.read(lambda t: find(t, kept.dataset, name))
        if place.holder != name:
            return None
        state, account = place.state, place.account
        return state.version, state.schema, account.bits, account.parts

    async def stamp(self) -> object:
        """Return something that differs after every change of the ledger's database."""
        ledger = self._service.ledger
        if ledger.path is None:
            return await self._service.look_up(lambda: ledger.store.read(lambda t: t.head()))
        # This connection never writes, so it sees every commit of all others, in 3 microseconds.
        try:
            if self._watching is None:
                self._watching = sqlite3.connect(
                    ledger.path, isolation_level=None, check_same_thread=False
                )
            (version,) = self._watching.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return object()  # the ledger itself says what is wrong with its file
        return version

    def close(self) -> None:
        """Close the connection."""
        if self._watching is not None:
            self._watching.close()


# --- one connection ---

LARGEST_HEAD = 32 << 10
"""Bytes of the request line and all headers together."""
REQUEST_SECONDS = 30.0
"""Within which a client sends a whole request, from its first byte or from the connection."""


class EnvelopeProtocol(HttpToolsProtocol):
    """One connection: limits before anything is known of a request, refusals as envelopes.

    The server below has no limit on the size of headers and no time limit for a request, and
    answers what is not HTTP in words of its own.
    """

    largest_head, request_seconds = LARGEST_HEAD, REQUEST_SECONDS

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - of the server's own making
        super().__init__(*given, **named)
        self._head, self._reading_head, self._begun = 0, True, False
        """``_head`` counts what is no body: the head, or what stands between parts of a body."""
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        """Whether nothing is read any more."""
        self._refusal: ServiceError | None = None
        """What is sent after the replies to earlier requests."""

    # --- the connection ---

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; never more of its head than the limit."""
        if self._ended:
            return
        self._unset_keepalive_if_required()
        if self._timer is None:
            self._wait()
        self._begun = True
        rest = b""
        if self._reading_head:
            free = self.largest_head - self._head
            data, rest = data[:free], data[free:]
        self._feed(data)
        if rest and not self._ended:
            if self._reading_head:
                self._refuse(_too_large_head())
            else:  # what is left is of the body
                self._feed(rest)

    def _feed(self, data: bytes) -> None:
        self._head += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Answered as if it had not asked for another protocol. What follows is a body to some
            # proxies and a request to the parser, so it is neither.
            self._ended, self.cycle.keep_alive = True, False
        except httptools.HttpParserError:
            self.send_400_response("")
        else:
            if not self._reading_head and self._head > self.largest_head:
                self._refuse(_too_large_head())

    # --- what the parser finds ---

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a field after the body is none, since no proxy has looked at it."""
        if self._reading_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request to the application; its body has a limit there."""
        self._reading_head, self._head = False, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Hand over a part of the body."""
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next request."""
        self._head, self._reading_head, self._begun = 0, True, False
        self._stop_waiting()
        super().on_message_complete()

    # --- refusals ---

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        del msg  # the server's own words
        problem = "The request is not valid HTTP/1.1"
        self._refuse(ServiceError(400, "invalid", problem, hint="see /openapi.json"))

    def _refuse(self, error: ServiceError) -> None:
        """Send an envelope and close the connection, in the place of the request that is read.

        Earlier requests on the connection are answered first, and none is answered twice.
        """
        self._stop_waiting()
        self._ended, cycle = True, self.cycle
        if cycle is None or self.transport.is_closing():
            self._send(error)
        elif self._reading_head:
            if cycle.response_complete:
                self._send(error)
            else:
                self._refusal = error
        elif self.pipeline:  # its head was read, and it waits for its turn
            self.pipeline.popleft()
            self._refusal = error
        elif not cycle.response_started:
            cycle.disconnected = True  # what the application says from now on is not sent
            self._send(error)
        elif cycle.response_complete:
            self.transport.close()
        else:
            cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """Go on with the next request, or with what is refused after the last reply."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._refusal is not None:
            self._send(self._refusal)

    def _send(self, error: ServiceError) -> None:
        """Send an envelope and close the connection."""
        if self.transport.is_closing():
            return
        request_id = secrets.token_hex(8)
        body = json.dumps(error.body(request_id)).encode()
        headers = (
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            (b"x-request-id", request_id.encode()),
            *SECURITY_HEADERS,
        )
        lines = [b"%s: %s\r\n" % header for header in headers]
        self.transport.write(b"".join([STATUS_LINE[error.status], *lines, b"\r\n", body]))
        line = {"request_id": request_id, "route": "none", "status": error.status}
        LOGGER.info("request", extra=line)
        self.transport.close()

    # --- time ---

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.request_seconds, self._late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._begun:
            problem = f"The request was not complete within {self.request_seconds:g} s"
            self._refuse(ServiceError(408, "late", problem, hint="send it at once"))
        else:  # nothing was sent
            self.transport.close()


def _too_large_head() -> ServiceError:
    return ServiceError(
        431,
        "headers",
        f"The headers are larger than {LARGEST_HEAD >> 10} KiB",
        hint="send fewer headers; a question belongs in the body",
    )
