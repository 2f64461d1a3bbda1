"""What reaches the service before it is a request: sizes, slowness, what is not HTTP, redirects."""

import json
import socket

import pytest

from hartley.service.gate import SECURITY_HEADERS
from hartley.service.http_protocol import LARGEST_HEAD, EnvelopeProtocol

FIELDS = {"code", "message", "hint", "place", "requested_bits", "remaining_bits", "request_id"}


def converse(live, *parts, pause=None):
    """Send bytes and return the whole reply."""
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                if pause is not None:
                    pause()
        except OSError:
            pass  # refused while it was still being sent
        received = b""
        try:
            while more := connection.recv(1 << 16):
                received += more
        except OSError:
            pass
    return received


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
    token = shared.place.tokens["ana"]
    request = (
        "POST /v1/datasets/people/price HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"X-Filler: {'a' * 20_000}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    assert converse(shared, request.encode()).split(b" ")[1] == b"200"


def test_several_requests_on_one_connection(shared):
    first = head(LARGEST_HEAD - 20_000).replace(b"Connection: close\r\n", b"")
    reply = converse(shared, first, first, head(10))
    assert reply.count(b'{"status":"ok"}') == 3


def test_a_request_that_does_not_end_is_ended(shared, monkeypatch):
    monkeypatch.setattr(EnvelopeProtocol, "request_seconds", 0.3)
    envelope(converse(shared, b"GET /healthz HTTP/1.1\r\nX-Slow: "), 408, "late")
    assert converse(shared) == b""  # a connection without a request
    token = shared.place.tokens["ana"].encode()
    slow = (
        b"POST /v1/datasets/people/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
        b'Content-Length: 500\r\n\r\n{"question":' % token
    )
    envelope(converse(shared, slow), 408, "late")


def test_a_body_that_ends_in_garbage_has_the_envelope(shared):
    token = shared.place.tokens["ana"].encode()
    begun = (
        b"POST /v1/datasets/people/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" % token
    )
    envelope(converse(shared, begun + b"zz\r\n"), 400, "invalid")
    # A reply to an earlier request on the connection may be on its way: nothing comes between.
    first = head(10).replace(b"Connection: close\r\n", b"")
    reply = converse(shared, first + begun + b"zz\r\n")
    assert reply.count(b"HTTP/1.1 ") <= 2
    assert b" 200 " in reply.partition(b"\r\n")[0] or not reply


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
    reply = shared.api("ana").post(
        "/v1/datasets/people/ask", content=b"{", headers={"Content-Type": "application/json"}
    )
    message = reply.json()["error"]["message"]
    assert "JSON" in message
    assert "field" not in message
    assert "character 2" in message
