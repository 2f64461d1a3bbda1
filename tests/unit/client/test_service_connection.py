"""Requests that fail: repeated with the same key, never more than asked for, and worded."""

import http.client
import json
import shutil
import ssl
import subprocess
import threading
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as st

from hartley.client import connection as service_connection
from hartley.client.connection import ServiceConnection
from hartley.client.remote_agent import RemoteAgent, connect
from hartley.errors import (
    EngineError,
    HartleyError,
    InputError,
    NotPermitted,
    OptionError,
    Pending,
    Refused,
)
from servers import Answering, answering

TOKEN = f"hartley_{'0' * 16}_{'1' * 64}"


def envelope(code="busy", **fields):
    content = {"code": code, "message": "It is so", "hint": "do this", "place": None}
    return {"error": content | {"requested_bits": None, "remaining_bits": None} | fields}


class Script(Answering):
    """Replies from a list; "drop" ends the connection after the request has arrived."""

    def answer(self, body):
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        reply = self.server.replies.pop(0)
        if reply == "drop":
            self.close_connection = True
            return
        status, content, *headers = reply
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Type" for name, _ in headers):
            self.send_header("Content-Type", "application/json")
        cut = self.server.cuts.pop(0) if self.server.cuts else len(text)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[:cut])
        self.close_connection = cut < len(text)


@pytest.fixture
def server():
    """A server that replies as a test says."""
    with answering(Script, replies=[], requests=[], cuts=[]) as started:
        yield started


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def connection(server, pauses):
    opened = ServiceConnection(server.url + "/under/", TOKEN, attempts=4, pause=pauses.append)
    yield opened
    opened.close()


def test_a_request_carries_the_token_and_the_path_before_the_routes(server, connection):
    server.replies = [(200, {"datasets": ["people"]})]
    assert connection.get("datasets", "a b/c", rows=3, seed=None) == {"datasets": ["people"]}
    ((method, path, headers, _),) = server.requests
    assert (method, path) == ("GET", "/under/v1/datasets/a%20b%2Fc?rows=3")
    assert headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_lost_reply_is_asked_for_again_with_the_same_key(server, connection, pauses):
    server.replies = ["drop", (503, envelope("pending"), ("Retry-After", "2")), (200, {"a": 1})]
    assert connection.post("ask", body={"question": "q"}, key="k") == {"a": 1}
    assert [headers["Idempotency-Key"] for *_, headers, _ in server.requests] == ["k"] * 3
    assert len({body for *_, body in server.requests}) == 1
    assert 0.1 <= pauses[0] <= 0.2
    assert 2 <= pauses[1] <= 2.5


def test_half_a_reply_is_asked_for_again(server, connection):
    server.replies = [(200, {"a": 1})] * 3 + [(409, envelope("budget"))] * 2
    server.cuts = [0, 5, len('{"a": 1}'), 4]
    assert connection.post("ask", body={"question": "q"}, key="k") == {"a": 1}
    assert len(server.requests) == 3
    with pytest.raises(Refused):
        connection.post("ask", body={"question": "q"}, key="k")


def test_two_calls_have_two_keys(server, connection):
    answer = (500, envelope("internal"))
    server.replies = [answer, answer]
    agent = RemoteAgent(connection, "people")
    for _ in range(2):
        with pytest.raises(EngineError):
            agent.ask("SELECT COUNT(*) FROM people")
    keys = [headers["Idempotency-Key"] for *_, headers, _ in server.requests]
    assert len(set(keys)) == 2


def test_attempts_end(server, connection, pauses):
    server.replies = ["drop"] * 4
    with pytest.raises(EngineError, match="does not answer") as error:
        connection.get("datasets")
    assert "not charged again" in error.value.hint
    assert (len(server.requests), len(pauses)) == (4, 3)


def test_a_service_may_not_make_a_client_wait_for_ever(server, connection, pauses):
    server.replies = [
        (503, envelope(), ("Retry-After", "999999")),
        (429, envelope("rate"), ("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT")),
        (200, {}),
    ]
    connection.get("datasets")
    assert pauses[0] <= 1.25 * service_connection.LONGEST_PAUSE
    assert pauses[1] < 1


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (401, envelope("token"), NotPermitted),
        (403, envelope("scope"), NotPermitted),
        (404, envelope("not_found"), InputError),
        (409, envelope("budget", requested_bits=3.0, remaining_bits=1.0), Refused),
        (413, envelope("body"), InputError),
        (422, envelope("invalid"), OptionError),
        (422, envelope("question", place=[7, 9]), Refused),
        (422, envelope("question", place="x"), Refused),
        (500, envelope("internal"), EngineError),
    ],
)
def test_an_error_is_that_of_the_agent_and_is_not_repeated(
    server, connection, status, content, kind
):
    server.replies = [(status, content)]
    hint = "ask the owner of the service" if status == 401 else "do this"
    with pytest.raises(kind, match=f"It is so; hint: {hint}") as error:
        connection.post("ask", body={}, text="SELECT x")
    assert type(error.value) is kind
    assert len(server.requests) == 1
    if status == 409:
        assert (error.value.requested, error.value.remaining) == (3.0, 1.0)
    if content["error"]["place"] == [7, 9]:
        assert (error.value.text, error.value.place) == ("SELECT x", (7, 9))


@pytest.mark.parametrize(
    ("code", "kind"), [("pending", Pending), ("busy", EngineError), ("unavailable", EngineError)]
)
def test_what_may_pass_is_repeated_and_then_worded(server, connection, code, kind):
    server.replies = [(503, envelope(code))] * 4
    with pytest.raises(kind):
        connection.get("x")
    assert len(server.requests) == 4


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"error": 1}', b"", b"\xff", b"[" * 9999])
def test_a_reply_of_something_else_is_worded(server, connection, content):
    server.replies = [(400, content)]
    with pytest.raises(EngineError, match="replies with status 400"):
        connection.get("x")


def test_a_redirect_is_not_followed(server, connection):
    server.replies = [(302, b"", ("Location", "http://127.0.0.1:1/"))]
    with pytest.raises(EngineError, match="status 302"):
        connection.get("x")
    assert len(server.requests) == 1


def test_a_reply_that_is_too_long_is_not_read(server, connection, monkeypatch):
    monkeypatch.setattr(service_connection, "LARGEST_REPLY", 100)
    server.replies = [(200, {"a": "x" * 200})]
    with pytest.raises(EngineError, match="too long"):
        connection.get("x")


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
FIELDS = ("answers", "bits", "cells", "curves", "datasets", "next", "points", "questions", "rows")
NAMES = st.sampled_from([*FIELDS, "text"])
REPLIES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
)


@pytest.mark.slow
@given(REPLIES)
@settings(max_examples=60)
def test_no_reply_breaks_the_client(reply):
    """Whatever a service replies, the client returns a result or raises one of our errors."""

    connection = ServiceConnection("http://127.0.0.1:1", TOKEN)
    headers = http.client.HTTPMessage()
    headers["Content-Type"] = "application/json"
    connection._send = lambda *_: (200, headers, json.dumps(reply).encode())
    agent = RemoteAgent(connection, "people")
    for use in (
        lambda: str(agent.ask("SELECT 1")),
        lambda: str(agent.ask(["SELECT 1"])),
        lambda: str(agent.price("SELECT 1")),
        lambda: str(agent.curve("SELECT 1")),
        lambda: str(agent.plan(["SELECT 1"])),
        lambda: agent.explain("SELECT 1"),
        lambda: agent.answers("row"),
        lambda: agent.spent + agent.remaining,
        agent.summary,
        lambda: (agent.schema.rows, agent.schema.record_bits, agent.schema.describe()),
        lambda: agent.schema.dummy_data(2),
    ):
        with suppress(HartleyError):
            use()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://a", "cannot be read"),
        ("a", "cannot be read"),
        ("http://127.0.0.1:port", "cannot be read"),
        ("https://me:secret@a", "more than host"),
        ("https://a/?token=x", "more than host"),
        ("http://hartley.example.org", "without encryption"),
    ],
)
def test_an_address_is_checked_before_anything_is_sent(url, problem):
    with pytest.raises(OptionError, match=problem) as error:
        connect(url, token=TOKEN)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "é"])
def test_a_token_is_one_word(token):
    with pytest.raises(OptionError, match="The token is empty"):
        connect("http://127.0.0.1:1", token=token)


def test_the_dataset_is_the_only_one_or_named(server):
    for names, dataset, problem in (
        ([], None, "sees 0 datasets; hint: ask an owner"),
        (["a", "b"], None, "sees 2 datasets; hint: choose a or b with"),
        (["a"], "b", "sees no dataset 'b'"),
    ):
        server.replies = [(200, {"datasets": names})]
        with pytest.raises(InputError, match=problem):
            connect(server.url, token=TOKEN, dataset=dataset)
    server.replies = [(200, {"datasets": ["a", "b"]})]
    with connect(server.url, token=TOKEN, dataset="b") as agent:
        assert agent.dataset == "b"


@pytest.fixture
def certificate(tmp_path):
    """A certificate for this machine, and its key, made by OpenSSL."""
    if shutil.which("openssl") is None:
        pytest.skip("OpenSSL makes the certificate of this test")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test"
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    name = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words.split(), *files, *name], capture_output=True, check=True)
    return tmp_path / "cert.pem", tmp_path / "key.pem"


@pytest.mark.slow
def test_a_certificate_is_checked_before_the_token_is_sent(server, certificate):
    cert, key = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http://", "https://")
    with pytest.raises(EngineError, match=r"The certificate of '127\.0\.0\.1' is not trusted"):
        connect(url, token=TOKEN)
    assert server.requests == []
    server.replies = [(200, {"datasets": ["people"]})]
    with connect(url, token=TOKEN, certificates=cert) as agent:
        assert agent.dataset == "people"
    with pytest.raises(EngineError, match=r"does not answer|is not trusted"):
        connect(url.replace("127.0.0.1", "localhost"), token=TOKEN, certificates=cert, attempts=1)
    assert len(server.requests) == 1


def test_every_thread_has_a_connection_of_its_own(server, connection):
    server.replies = [(200, {"n": 1})] * 8
    threads = [
        threading.Thread(target=lambda: (connection.get("x"), connection.close())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 8
