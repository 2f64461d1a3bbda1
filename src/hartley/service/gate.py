"""The outermost part of the service: request ids, limits on bodies, headers, logs, last errors."""

from __future__ import annotations

import json
import secrets
import time
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from hartley.service.envelope import ServiceError, as_service_error, too_large
from hartley.service.logs import LOGGER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from hartley.service.kept_replies import KeptReplies
    from hartley.service.service import Service

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
ONLY_ONCE = (b"content-type", b"cookie", b"host", b"idempotency-key", b"origin", b"sec-fetch-site")
"""Headers of which a proxy before the service may have looked at another one. Two tokens and two
names of users are refused where they are read, and two lengths by the server."""
ONLY_TLS = (b"strict-transport-security", b"max-age=31536000")


class Gate:
    """Wraps the whole application; nothing that it raises reaches the server's own log."""

    def __init__(
        self, app: Application, *, service: Service, kept: KeptReplies, tls: bool = False
    ) -> None:
        self._app, self._kept = app, kept
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
                    self._count(scope, 200, begun, "/v1/datasets/{name}/ask")
                    return
            else:
                await self._app(scope, receive, reply)
        except Exception as error:  # noqa: BLE001 - what nobody expected is logged without its message
            await self._failed(error, reply, request_id)
        self._note(scope, reply.status or 500, begun, request_id)

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
        key = self._kept.key(scope["path"], authorization, kind, body)
        kept = await self._kept.find(key, token.strip().decode("latin-1"))
        if kept is not None:
            await reply.send_json(200, kept)
            return True
        stamp = await self._kept.stamp()

        async def replay() -> Message:
            return messages.pop(0) if messages else await receive()

        reply.captured = []
        await self._app(scope, replay, reply)
        repeat = scope["state"].get("repeat")
        if repeat is not None and reply.status == 200:
            identity, dataset = repeat
            await self._kept.keep(key, identity, dataset, stamp, b"".join(reply.captured))
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

    def _note(self, scope: Scope, status: int, begun: float, request_id: str) -> None:
        # The path itself may hold whatever a client put there; its pattern does not.
        route = getattr(scope.get("route"), "path", None) or "unknown"
        seconds = self._count(scope, status, begun, route)
        LOGGER.info(
            "request",
            extra={
                "request_id": request_id,
                "method": scope["method"] if scope["method"] in METHODS else "other",
                "route": route,
                "status": status,
                "milliseconds": round(seconds * 1000, 2),
                "account": scope["state"].get("account"),
            },
        )

    def _count(self, scope: Scope, status: int, begun: float, route: str) -> float:
        """Count a request. Kept replies are only counted: a line each would fill the disk."""
        seconds = time.perf_counter() - begun
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.count("requests", route=route, method=method, status=str(status))
        self._metrics.time("request_seconds", seconds, route=route)
        return seconds


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

    def __init__(
        self, send: Send, headers: tuple[tuple[bytes, bytes], ...], request_id: str
    ) -> None:
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
        """Send a whole reply."""
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
