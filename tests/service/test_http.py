"""What reaches the service before it is a request: sizes, slowness, what is not HTTP, redirects."""

import json
import socket
from contextlib import suppress

import pytest
from small_service import AVERAGE, FIELDS, PEOPLE, above, error_of

from hartley.service.app import LARGEST_HEAD, SECURITY_HEADERS, EnvelopeProtocol


def connect(live):
    host, port = live.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def rest_of(connection):
    """Return what is received until the connection ends."""
    received = b""
    with suppress(OSError):
        while more := connection.recv(1 << 16):
            received += more
    return received


def converse(live, *parts):
    """Send bytes and return the whole reply."""
    with connect(live) as connection:
        with suppress(OSError):  # refused while it was still being sent
            for part in parts:
                connection.sendall(part)
        return rest_of(connection)


def statuses(received):
    return [int(reply.split(b" ")[1]) for reply in replies_of(received)]


def posted(route, *lines, end=b""):
    """Return the beginning of a request to a route, with some more headers."""
    head = b"POST /v1/datasets/people/%s HTTP/1.1\r\nHost: x\r\n" % route
    return head + b"".join(b"%s\r\n" % line for line in lines) + end


def bearer(live):
    return b"Authorization: Bearer %s" % live.place.tokens["ana"].encode()


def envelope(reply, status, code):
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == str(status).encode(), head
    error = json.loads(body)["error"]
    assert set(error) == FIELDS
    assert (error["code"], bool(error["message"]), bool(error["hint"])) == (code, True, True)
    lines = {line.partition(b": ")[0].lower() for line in head.split(b"\r\n")[1:]}
    assert {name for name, _ in SECURITY_HEADERS} <= lines
    assert error["request_id"].encode() in head
    return error


@pytest.mark.parametrize(
    "request_line",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT evil:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_not_http_has_the_envelope(shared, request_line):
    reply = converse(shared, request_line)
    assert b"Invalid HTTP request" not in reply
    assert int(reply.split(b" ")[1]) in {400, 404, 405}
    code = {400: "invalid", 404: "not_found", 405: "method"}[int(reply.split(b" ")[1])]
    envelope(reply, int(reply.split(b" ")[1]), code)


CLOSE, JSON = b"Connection: close", b"Content-Type: application/json"
CHUNKED = b"Transfer-Encoding: chunked"


def head(size, lines=1):
    filler = b"".join(b"X-%d: %s\r\n" % (number, b"a" * (size // lines)) for number in range(lines))
    return b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + filler + b"\r\n"


@pytest.mark.parametrize("lines", [1, 2000])
def test_headers_have_a_limit_before_anything_is_known(shared, lines):
    reply = converse(shared, head(2 * LARGEST_HEAD, lines))
    assert "KiB" in envelope(reply, 431, "headers")["message"]
    # Also without an end, and whatever follows is not read.
    without_end = head(2 * LARGEST_HEAD, lines)[:-2]
    envelope(converse(shared, *[without_end] * 20), 431, "headers")
    assert converse(shared, head(LARGEST_HEAD - 20_000, lines)).split(b" ")[1] == b"200"


def test_a_long_address_has_the_same_limit(shared):
    line = b"GET /" + b"a" * 2 * LARGEST_HEAD + b" HTTP/1.1\r\n\r\n"
    envelope(converse(shared, line), 431, "headers")


def test_a_large_body_behind_small_headers_is_of_the_body(shared):
    body = json.dumps({"question": "SELECT AVG(age) FROM people" + " " * 14_000, "bits": 1})
    lines = (CLOSE, bearer(shared), JSON, b"X-Filler: " + b"a" * 20_000)
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    request = posted(b"price", *lines, end=length + body.encode())
    assert statuses(converse(shared, request)) == [200]


def test_several_requests_on_one_connection(shared):
    first = head(LARGEST_HEAD - 20_000).replace(b"Connection: close\r\n", b"")
    reply = converse(shared, first, first, head(10))
    assert reply.count(b'{"status":"ok"}') == 3


def test_a_request_that_does_not_end_is_ended(shared, monkeypatch):
    monkeypatch.setattr(EnvelopeProtocol, "request_seconds", 0.3)
    envelope(converse(shared, b"GET /healthz HTTP/1.1\r\nX-Slow: "), 408, "late")
    assert converse(shared) == b""  # a connection without a request
    end = b'Content-Length: 500\r\n\r\n{"question":'
    envelope(converse(shared, posted(b"ask", bearer(shared), end=end)), 408, "late")


def test_a_body_that_ends_in_garbage_has_the_envelope(shared):
    begun = posted(b"ask", bearer(shared), CHUNKED, end=b"\r\n")
    good = b"2\r\n{}\r\n"
    for garbage in (b"zz\r\n", good + b"-1\r\n", good + b"0\r\nbad\r\n\r\n", b"2\n{}\n0\n\n"):
        envelope(converse(shared, begun + garbage), 400, "invalid")
        # The replies to earlier requests on the connection come first, each once.
        earlier = head(10).replace(b"Connection: close\r\n", b"")
        reply = converse(shared, earlier * 3 + begun + garbage + earlier)
        assert statuses(reply) == [200, 200, 200, 400]
        envelope(replies_of(reply)[-1], 400, "invalid")
    reply = converse(shared, earlier * 2 + b"no request\r\n\r\n" + earlier)
    assert statuses(reply) == [200, 200, 400]


def replies_of(received):
    """Split what came over a connection into replies, by their lengths."""
    replies = []
    while received:
        before, _, rest = received.partition(b"\r\n\r\n")
        length = int(before.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        replies.append(before + b"\r\n\r\n" + rest[:length])
        received = rest[length:]
    return replies


def test_a_request_that_was_answered_is_not_answered_again(shared, monkeypatch):
    """Its body goes on: a second reply would be taken for that to the next request."""
    begun = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    monkeypatch.setattr(EnvelopeProtocol, "request_seconds", 2.0)
    for garbage in (b"zz\r\n", b""):  # broken, or late
        with connect(shared) as connection:
            connection.sendall(begun)
            received = connection.recv(1 << 16)
            while b"request_id" not in received:
                received += connection.recv(1 << 16)
            connection.sendall(garbage)
            assert statuses(received + rest_of(connection)) == [404]


@pytest.mark.parametrize(
    "name", ["Idempotency-Key", "Content-Type", "Host", "Cookie", "Origin", "Sec-Fetch-Site"]
)
def test_a_header_that_is_sent_twice_is_refused_before_anything_is_charged(shared, name):
    ana = shared.api("ana")
    spent, token = ana.spent, shared.place.tokens["ana"]
    content = json.dumps({"question": above(3), "bits": 1})
    for values in (("a", "a"), ("a", "b")):
        lines = "".join(f"{name}: {value}\r\n" for value in values)
        request = (
            f"POST /v1/datasets/people/ask HTTP/1.1\r\nAuthorization: Bearer {token}\r\n{lines}"
            f"Connection: close\r\nContent-Length: {len(content)}\r\n\r\n{content}"
        )
        error = envelope(converse(shared, request.encode()), 400, "invalid")
        assert error["message"] == f"The header {name} was sent more than once"
    assert ana.spent == spent


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 2\r\nContent-Length: 2\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length: 2, 2\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Transfer-Encoding: identity, chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b" Content-Length: 2\r\n",
    ],
)
def test_a_body_of_two_lengths_is_no_request(shared, lines):
    """A proxy could take a part of it for the next request."""
    hidden = b"{}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    reply = converse(shared, b"POST /v1/me HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n" + hidden)
    assert b'{"status":"ok"}' not in reply
    envelope(reply, 400, "invalid")


@pytest.mark.parametrize("path", ["/v1/datasets/", "/console/", "/console/login/", "//evil.org/"])
def test_no_redirect_follows_the_host_header(shared, path):
    request = f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    reply = converse(shared, request.encode())
    assert b"evil.example" not in reply
    assert b"evil.org" not in reply.partition(b"\r\n\r\n")[0]
    if reply.split(b" ")[1].startswith(b"3"):
        location = next(
            line for line in reply.lower().split(b"\r\n") if line.startswith(b"location:")
        )
        assert location.startswith(b"location: /console")
    elif path.startswith("/console"):
        assert b" 404 " in reply.partition(b"\r\n")[0]
        assert b"content-type: text/html" in reply.lower()
    else:
        envelope(reply, 404, "not_found")


def test_a_body_that_is_no_json_says_where(shared):
    headers = {"Content-Type": "application/json"}
    reply = shared.api("ana").post(f"{PEOPLE}/ask", content=b"{", headers=headers)
    message = error_of(reply, 422, "invalid")["message"]
    assert message == "The body is not JSON, from its character 2 on"


def test_fields_after_a_body_are_no_headers(shared):
    """A proxy looks at headers alone: somebody could name a user, or send a token, behind it."""
    content = json.dumps({"question": AVERAGE, "bits": 1}).encode()
    begun = posted(b"price", CLOSE, JSON, CHUNKED)
    body = b"\r\n%x\r\n%s\r\n0\r\n" % (len(content), content)
    token = bearer(shared) + b"\r\n"
    envelope(converse(shared, begun + body + token + b"\r\n"), 401, "token")
    for after in (b"", token, b"X-Remote-User: owner\r\n"):
        assert statuses(converse(shared, begun + token + body + after + b"\r\n")) == [200]


def test_fields_after_a_body_have_the_limit_of_headers(shared):
    begun = b"POST /v1/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    endless = [b"a" * 10_000] * 20
    for first in (b"0\r\nX-Endless: ", b"1;extension="):
        assert converse(shared, begun + first, *endless).count(b"HTTP/1.1 ") == 1
    many = [b"X-Many: %s\r\n" % (b"a" * 1000)] * 200
    assert converse(shared, begun + b"0\r\n", *many).count(b"HTTP/1.1 ") == 1
    with connect(shared) as connection:  # it is read on
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_the_body_of_a_request_for_another_protocol_is_no_request(shared):
    """To a proxy it is a body: what stands in it was sent by the client alone."""
    hidden = b"GET /v1/me HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n" % bearer(shared)
    for protocol in (b"websocket", b"h2c"):
        lines = (b"Connection: Upgrade", b"Upgrade: " + protocol)
        length = b"Content-Length: %d\r\n\r\n" % len(hidden)
        with connect(shared) as connection:
            connection.sendall(posted(b"ask", *lines, end=length))
            received = connection.recv(1 << 16)
            with suppress(OSError):  # it is closed already
                connection.sendall(hidden)
            received += rest_of(connection)
        assert b'"account"' not in received
        assert statuses(received) == [401]


def test_a_client_that_asks_first_does_not_send_a_body_that_is_too_large(shared):
    lines = (bearer(shared), JSON, b"Expect: 100-continue", b"Content-Length: 99999")
    for route in (b"ask", b"price"):
        envelope(converse(shared, posted(route, *lines, end=b"\r\n")), 413, "body")
