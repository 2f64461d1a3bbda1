"""The outermost part of the service: request ids, limits on bodies, headers, logs, last errors."""

from __future__ import annotations

import json
import secrets
import time
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from hartley.service.envelope import ServiceError, as_service_error
from hartley.service.logs import LOGGER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from hartley.service.metrics import Metrics

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

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
ONLY_TLS = (b"strict-transport-security", b"max-age=31536000")


class Gate:
    """Wraps the whole application; nothing that it raises reaches the server's own log."""

    def __init__(
        self, app: Application, *, body_limit: int, metrics: Metrics, tls: bool = False
    ) -> None:
        self._app, self._limit, self._metrics = app, body_limit, metrics
        self._headers = SECURITY_HEADERS + ((ONLY_TLS,) if tls else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        started: list[int] = []

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message["status"])
                headers = list(message.get("headers", ()))
                names = {name.lower() for name, _ in headers}
                headers += [header for header in self._headers if header[0] not in names]
                headers.append((b"x-request-id", request_id.encode()))
                message["headers"] = headers
            await send(message)

        try:
            await self._app(scope, self._limited(scope, receive), send_with_headers)
        except Exception as error:  # noqa: BLE001 - what nobody expected is logged without its message
            if not isinstance(error, ServiceError):
                LOGGER.error("failed", exc_info=error, extra={"request_id": request_id})
            if not started:
                await reply_error(send_with_headers, as_service_error(error), request_id)
        self._note(scope, started[0] if started else 500, begun, request_id)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Return the body of a request up to the limit; a longer one is an error."""
        length = dict(scope["headers"]).get(b"content-length", b"")
        announced = int(length) if length.isdigit() else 0
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if max(taken, announced) > self._limit:
                # The framework passes this one on, and turns any other into a body it cannot read.
                raise HTTPException(413)
            return message

        return limited

    def _note(self, scope: Scope, status: int, begun: float, request_id: str) -> None:
        seconds = time.perf_counter() - begun
        # The path itself may hold whatever a client put there; its pattern does not.
        route = getattr(scope.get("route"), "path", None) or "unknown"
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.count("requests", route=route, method=method, status=str(status))
        self._metrics.time("request_seconds", seconds, route=route)
        LOGGER.info(
            "request",
            extra={
                "request_id": request_id,
                "method": method,
                "route": route,
                "status": status,
                "milliseconds": round(seconds * 1000, 2),
                "account": scope["state"].get("account"),
            },
        )


METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


async def reply_error(send: Send, error: ServiceError, request_id: str) -> None:
    """Send the envelope of an error."""
    body = json.dumps(error.body(request_id)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [(key.lower().encode(), value.encode()) for key, value in error.headers.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
