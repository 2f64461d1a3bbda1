"""Requests to a service: over TLS, with limits and time-outs, repeated without a second charge."""

from __future__ import annotations

import http.client
import io
import json
import os
import random
import re
import selectors
import ssl
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from hartley.errors import (
    EngineError,
    HartleyError,
    InputError,
    NotPermitted,
    OptionError,
    Pending,
    Refused,
    ReplyError,
    Stale,
)
from hartley.files import UNREADABLE, as_bits, as_text, as_whole, each, parse_json

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

T = TypeVar("T")
JSON = "application/json"
LARGEST_REPLY = 64 * 2**20
"""Bytes of a reply that are read."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts, whatever the service says."""
TRY_AGAIN = {429, 502, 503, 504}
"""Statuses after which the same request can succeed: too many, or not ready."""
KINDS: dict[str | int, type[HartleyError]] = {
    "pending": Pending,
    400: InputError,
    401: NotPermitted,
    403: NotPermitted,
    404: InputError,
    405: InputError,
    413: InputError,
    415: InputError,
    422: OptionError,
}
"""The errors of the agent that errors of a service stand for, by code or status."""
ONE_WORD = re.compile("[!-~]+")
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def as_it_is(reply: Any) -> Any:  # noqa: ANN401 - nested plain values
    """Return a reply as it came."""
    return reply


class _Until(io.RawIOBase):
    """The bytes of a socket until a moment, however many pieces they come in."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock, self._end = sock, end
        self._raw = sock.makefile("rb", buffering=0)

    def makefile(self, *_: object) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - as the base class has it
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _reply_until(end: float, sock: Any, *args: Any, **named: Any) -> http.client.HTTPResponse:  # noqa: ANN401 - as http.client calls it
    return http.client.HTTPResponse(_Until(sock, end), *args, **named)  # type: ignore[arg-type]  # only its makefile is used


class ServiceConnection:
    """A service at an address, and the token that is sent to it and nowhere else.

    Every request can be repeated: those that charge carry an idempotency key, and the ledger makes
    equal questions free. Redirects are not followed, since they would carry the token away.

    Args:
        url: the address, like https://hartley.example.org; a path before /v1 is kept.
        token: the token, as its owner shows it once.
        timeout: seconds to wait for one reply.
        attempts: how often a request is sent at most.
        certificates: a file of certificates to trust instead of the system's.
        insecure: whether to send the token without encryption to another machine.
        pause: waits so many seconds.
    """

    def __init__(  # noqa: PLR0913 - what a connection is made of, each by name
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        attempts: int = 5,
        certificates: str | os.PathLike[str] | None = None,
        insecure: bool = False,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        readable = isinstance(url, str) and url.isprintable() and " " not in url
        try:
            parts = urlsplit(url if readable else "")
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        known = parts.scheme in {"http", "https"} and parts.path.isascii()
        if not known or not parts.hostname:
            raise OptionError(
                "The address of the service cannot be read",
                hint="write https://host or https://host:port",
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise OptionError(
                "The address of the service holds more than host, port and path",
                hint="give the token apart from the address",
            )
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not insecure:
            raise OptionError(
                f"The token would be sent to '{parts.hostname}' without encryption",
                hint="use https://, or allow it in a network that you trust: "
                "insecure=True (--insecure)",
            )
        if not isinstance(token, str) or not ONE_WORD.fullmatch(token):
            raise OptionError(
                "The token is empty or not of the form that a service issues",
                hint="it begins with hartley_ and is one word",
            )
        for name, value, kinds in (("timeout", timeout, (int, float)), ("attempts", attempts, int)):
            right = isinstance(value, kinds) and not isinstance(value, bool)
            if not right or not 0 < value <= threading.TIMEOUT_MAX:
                raise OptionError(
                    f"{name}= is no number above 0 that can be used",
                    hint="pass seconds, as timeout=60, and a whole number, as attempts=5",
                )
        self.host, self._port, self._prefix = parts.hostname, port, parts.path.rstrip("/")
        self._token, self._timeout, self._attempts = token, timeout, attempts
        self._pause = pause
        self._context = _trusted(certificates) if parts.scheme == "https" else None
        self._own = threading.local()

    def __repr__(self) -> str:
        return f"<connection to {self.host}>"

    def get(self, *path: str, read: Callable[[Any], T] = as_it_is, **query: object) -> T:
        """Return what is read from the reply to a GET; what cannot be read raises ReplyError."""
        chosen = {name: str(value) for name, value in query.items() if value is not None}
        words = f"?{urlencode(chosen)}" if chosen else ""
        return self._reply("GET", _path(path) + words, None, {}, read)

    def post(
        self,
        *path: str,
        body: Mapping[str, Any],
        read: Callable[[Any], T] = as_it_is,
        key: str | None = None,
        text: str | None = None,
    ) -> T:
        """Return what is read from the reply to a POST; a refusal points into the question."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._reply("POST", _path(path), json.dumps(body).encode(), headers, read, text)

    def close(self) -> None:
        """Close the connection of this thread; another request opens a new one."""
        connection = getattr(self._own, "connection", None)
        self._own.connection = None
        if connection is not None:
            connection.close()

    # --- one request, several attempts ---

    def _reply(  # noqa: PLR0913, PLR0917 - the parts of a request, and what it expects
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
        read: Callable[[Any], T],
        text: str | None = None,
    ) -> T:
        for attempts_left in reversed(range(self._attempts)):
            waited = 0.1 * 2 ** (self._attempts - attempts_left - 1)
            try:
                status, reply_headers, content = self._send(method, path, body, headers)
            except ssl.SSLCertVerificationError:
                raise EngineError(
                    f"The certificate of '{self.host}' is not trusted",
                    hint="name a file with that of its authority: certificates= (--certificates)",
                ) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                # Whether the request arrived is not known; it is sent again with the same key. Who
                # waited for a reply until the end does not wait for another.
                if not attempts_left or isinstance(error, TimeoutError):
                    raise EngineError(
                        f"The service at '{self.host}' does not answer",
                        hint="check the address and ask again; what was charged is not charged "
                        "again",
                    ) from None
            else:
                if status == 200:
                    return self._result(content, reply_headers.get_content_type(), read)
                if status not in TRY_AGAIN or not attempts_left:
                    raise self._refusal(status, content, text) from None
                waited = max(waited, _seconds(reply_headers.get("Retry-After")))
            # A little apart, so that many clients do not come back at the same moment.
            self._pause(min(waited, LONGEST_PAUSE) * random.uniform(1.0, 1.25))  # noqa: S311 - nothing secret
        raise AssertionError

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        end = time.monotonic() + self._timeout
        connection = self._opened()
        connection.response_class = partial(_reply_until, end)  # type: ignore[assignment]  # called
        if connection.sock is not None:
            connection.sock.settimeout(self._timeout)
            with selectors.DefaultSelector() as unread:
                unread.register(connection.sock, selectors.EVENT_READ)
                if unread.select(0):  # closed, or about to reply to what was not asked
                    connection.close()
        sent = {
            "Accept": JSON,
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "hartley-client",
            **({} if body is None else {"Content-Type": JSON}),
            **headers,
        }
        try:
            connection.request(method, self._prefix + path, body=body, headers=sent)
            with connection.getresponse() as response:
                content = response.read(LARGEST_REPLY + 1)
        except BaseException:
            self.close()  # half a conversation cannot be continued
            raise
        if len(content) > LARGEST_REPLY:
            self.close()
            raise EngineError(
                f"The reply of '{self.host}' is too long", hint="ask for fewer rows at once"
            )
        if response.length:  # the service ended within its reply: what came is not all of it
            self.close()
            raise http.client.IncompleteRead(content, response.length)
        return response.status, response.headers, content

    def _opened(self) -> http.client.HTTPConnection:
        """Return the connection of this thread; one from before a fork belongs to the parent."""
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None or self._own.process != os.getpid():
            if self._context is None:
                connection = http.client.HTTPConnection(
                    self.host, self._port, timeout=self._timeout
                )
            else:
                connection = http.client.HTTPSConnection(
                    self.host, self._port, timeout=self._timeout, context=self._context
                )
            self._own.connection, self._own.process = connection, os.getpid()
        return connection

    def _read(self, content: bytes, kind: str = JSON) -> Any:  # noqa: ANN401 - nested plain values
        """Read JSON or a text that does not repeat the token, which nothing may show."""
        text = content.decode()
        reply = parse_json(text, what="reply of the service") if kind == JSON else text
        # Half a character, which an escape can be, is in no text that could be shown.
        if self._token in json.dumps(reply, ensure_ascii=False).encode().decode():
            raise ValueError
        return reply

    def _result(self, content: bytes, kind: str, read: Callable[[Any], T]) -> T:
        try:
            return read(self._read(content, kind))
        except UNREADABLE:
            self.close()  # what follows may be the rest of it
            raise ReplyError(
                f"The reply of the service at '{self.host}' is cut off, does not fit the request "
                "or itself, or is not in the form that this version of Hartley reads",
                hint="ask again, which is free where it was charged; if it stays so, use the "
                "version of Hartley that the service runs",
            ) from None

    def _refusal(self, status: int, content: bytes, text: str | None) -> HartleyError:
        """Return the error of the agent that an error of the service stands for."""
        try:
            fields = self._read(content)["error"]
            code, message, hint = (as_text(fields[name]) for name in ("code", "message", "hint"))
        except UNREADABLE:
            self.close()
            return ReplyError(
                f"The service at '{self.host}' replies with status {status}",
                hint="check its address, and that of a proxy before it, and ask again; what was "
                "charged is not charged again",
            )
        if code == "stale":
            return Stale(message, hint=hint)
        if status == 409:
            requested, remaining = (
                _if(as_bits, fields, f"{name}_bits") for name in ("requested", "remaining")
            )
            return Refused(message, hint=hint, requested=requested, remaining=remaining)
        if code == "question":
            place = _if(each(as_whole), fields, "place")
            if text is None or place is None or len(place) != 2:
                return Refused(message, hint=hint)
            return Refused(message, hint=hint, text=text, place=place)
        if code == "token":  # the hint of the service is for those who write requests by hand
            hint = "ask the owner of the service for a token"
        return (KINDS.get(code) or KINDS.get(status) or EngineError)(message, hint=hint)


def _trusted(certificates: str | os.PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(
            cafile=None if certificates is None else os.fspath(certificates)
        )
    except (OSError, TypeError, ValueError):
        raise InputError(
            "The file of trusted certificates cannot be read", hint="name a file in PEM format"
        ) from None


def _path(parts: tuple[str, ...]) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in ("v1", *parts))


def _seconds(text: str | None) -> float:
    """Return the seconds of a Retry-After; 0 for a date or anything else."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else 0.0


def _if(read: Callable[[Any], Any], fields: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - what is read
    """Return a field that helps where it can be read, and None otherwise."""
    with suppress(*UNREADABLE):
        return read(fields.get(name))
    return None
