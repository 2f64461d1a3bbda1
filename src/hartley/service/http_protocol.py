"""HTTP as the service speaks it: limits before anything is known of a request, errors as envelopes.

The server below has no limit on the size of headers and no time limit for a request, and answers
what is not HTTP in words of its own.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from hartley.service.envelope import ServiceError
from hartley.service.gate import SECURITY_HEADERS
from hartley.service.logs import LOGGER

if TYPE_CHECKING:
    import asyncio
    from typing import Any

LARGEST_HEAD = 32 << 10
"""Bytes of the request line and all headers together."""
REQUEST_SECONDS = 30.0
"""Within which a client sends a whole request, from its first byte or from the connection."""


class EnvelopeProtocol(HttpToolsProtocol):
    """One connection; everything it refuses has the envelope of errors."""

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
        self._refuse(
            ServiceError(
                400, "invalid", "The request is not valid HTTP/1.1", hint="see /openapi.json"
            )
        )

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
        LOGGER.info(
            "request",
            extra={"request_id": request_id, "route": "none", "status": error.status},
        )
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
            self._refuse(
                ServiceError(
                    408,
                    "late",
                    f"The request was not complete within {self.request_seconds:g} s",
                    hint="send it at once",
                )
            )
        else:  # nothing was sent
            self.transport.close()


def _too_large_head() -> ServiceError:
    return ServiceError(
        431,
        "headers",
        f"The headers are larger than {LARGEST_HEAD >> 10} KiB",
        hint="send fewer headers; a question belongs in the body",
    )
