"""Bytes on a socket that no service sends: one sentence, no token, and an end in time."""

import json
import socket
import threading
import time
from contextlib import suppress

import pytest

from hartley.client.connection import ServiceConnection
from hartley.client.remote_agent import RemoteAgent, connect
from hartley.errors import HartleyError, InputError

TOKEN = f"hartley_{'0' * 16}_{'1' * 64}"
COUNT = "SELECT COUNT(*) FROM people WHERE age > 3"


class Wire:
    """A listening socket; every request of a connection gets the next of some replies."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.replies, self.seen, self.open = [], [], []
        self.ended = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.open.append(connection)
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while request := read_request(stream):
                self.seen.append(request)
                reply = self.replies[min(len(self.seen), len(self.replies)) - 1]
                if callable(reply):
                    reply(self, connection)
                else:
                    connection.sendall(reply)
                if callable(reply) or b"Connection: close" in reply:
                    return

    def close(self):
        self.ended.set()
        self.listener.close()
        for connection in self.open:
            connection.close()


def read_request(stream):
    head = b""
    while line := stream.readline():
        head += line
        if line == b"\r\n":
            length = [
                int(at[15:]) for at in head.split(b"\r\n") if at.startswith(b"Content-Length")
            ]
            return head + stream.read(*length or [0])
    return b""


def framed(content, first="200 OK", kind="application/json", more=""):
    head = (
        f"HTTP/1.1 {first}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n{more}\r\n"
    )
    return head.encode() + content


@pytest.fixture
def wire():
    made = Wire()
    yield made
    made.close()


@pytest.fixture
def people(wire):
    connection = ServiceConnection(wire.url, TOKEN, timeout=5, attempts=2, pause=lambda _: None)
    with RemoteAgent(connection, "people") as remote:
        yield remote


KEPT = {}


@pytest.fixture
def true(request):
    """The bytes of a true answer, price, balance and so on; recorded once."""
    if not KEPT:
        hosted = request.getfixturevalue("hosted")
        with connect(hosted.url, token=hosted.token) as remote:
            send = remote._connection._send

            def recording(method, path, *request):
                reply = send(method, path, *request)
                KEPT[path.partition("?")[0].rpartition("/")[2]] = reply[2]
                return reply

            remote._connection._send = recording
            remote.ask(COUNT, bits=2)
            remote.price(COUNT, bits=2)
            assert remote.spent > 0
            remote.schema.dummy_data(2)
    return KEPT


def refused(use, most=6.0):
    began = time.monotonic()
    with pytest.raises(HartleyError) as error:
        use()
    assert time.monotonic() - began < most
    printed = str(error.value)
    printed.encode()
    assert TOKEN not in printed
    assert "\n" not in printed
    return error.value


def ask(people):
    return people.ask(COUNT, bits=2)


def chunked(size, content=b"{}"):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return (
        head + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\n" + content + b"\r\n0\r\n\r\n"
    )


def test_statuses_and_pieces_that_no_answer_has(wire, people, true):
    for reply in (
        framed(b"", "204 No Content"),
        framed(true["ask"], "206 Partial Content", more="Content-Range: bytes 0-9/99\r\n"),
        framed(true["ask"], "304 Not Modified"),
        framed(b"", "103 Early Hints") + framed(true["ask"]),
        *(chunked(size, true["ask"]) for size in (b"-5", b"-1", b"", b"zz", b"9" * 50)),
        framed(true["ask"]).replace(b"\r\n\r\n", b"\r\n" + b"X: y\r\n" * 200 + b"\r\n"),
        framed(b"\xef\xbb\xbf" + true["ask"]),
        framed(true["ask"][:-1] + b', "bits": 0}'),  # twice
    ):
        wire.replies = [reply]
        assert "charged" in refused(lambda: ask(people)).hint
    wire.replies = [b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + framed(true["ask"])]
    assert ask(people).bits == 1


def test_interim_replies_end_with_the_time_that_was_given(wire):
    def endless(wire, connection):
        while not wire.ended.is_set():
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)

    wire.replies = [endless]
    connection = ServiceConnection(wire.url, TOKEN, timeout=0.2)
    refused(lambda: connection.get("datasets"))
    connection.close()


def test_a_reply_to_nothing_is_not_taken_for_the_next_one(wire, people, true):
    """Two replies to one request: the second one is not read by whoever asks next."""
    budget = json.loads(true["budget"])
    came = threading.Event()

    def twice(wire, connection):
        connection.sendall(framed(true["budget"]))
        came.wait(5)
        connection.sendall(framed(json.dumps(budget | {"spent_bits": 7.0}).encode()))
        came.clear()
        wire.ended.wait(5)

    wire.replies = [
        twice,
        framed(json.dumps(budget | {"spent_bits": 2.0, "remaining_bits": 22.0}).encode()),
    ]
    assert people.spent == budget["spent_bits"]
    kept = people._connection._own.connection.sock
    came.set()
    kept.settimeout(5)
    assert kept.recv(1, socket.MSG_PEEK)  # it has arrived
    assert people.spent == 2
    assert len(wire.seen) == 2


def test_the_token_goes_nowhere_and_comes_back_nowhere(wire, people, true):
    other = Wire()
    other.replies = [framed(true["ask"])]
    more = f"Location: {other.url}/{TOKEN}\r\nWWW-Authenticate: Bearer {TOKEN}\r\n"
    for first in ("200 OK", "301 M", "302 F", "307 T", "308 P", "401 U", "403 F", "422 U", "500 E"):
        for kind in ("text/plain", "text/html", "text/csv", "application/json"):
            wire.replies = [framed(f'"{TOKEN}"'.encode(), first, kind, more)]
            refused(lambda: ask(people))
            refused(people.schema.to_toml)
    wire.replies = [framed(true["schema"] + f"\n# {TOKEN}".encode(), kind="text/plain")]
    refused(people.schema.to_toml)
    assert not other.seen
    other.close()


def answer_with(true, place, **change):
    """Return a true answer of which one part, the place, has other fields."""
    reply = json.loads(true["ask"])
    place(reply, reply["rows"][0]["COUNT(*)"], reply["table"]["rows"][0]["numbers"][0]).update(
        change
    )
    return framed(json.dumps(reply).encode())


STRANGE = ["1e99999999", "5", True, 1e308, 10**399, None, "NaN", [5.0]]


def test_a_double_is_a_number_and_near_the_exact_one(wire, people, true):
    for part in ("low", "value", "high", "error"):
        for value in STRANGE:
            wire.replies = [answer_with(true, lambda _, double, __: double, **{part: value})]
            refused(lambda: ask(people))


def test_bits_that_nobody_is_charged_and_texts_that_steer(wire, people, true):
    for name in ("bits", "spent_bits", "remaining_bits", "open_bits"):
        for value in (-0.0, 1e308, 10**399, "1", True, -1e-320):
            wire.replies = [answer_with(true, lambda all_, *_: all_, **{name: value})]
            refused(lambda: ask(people))
    wire.replies = [answer_with(true, lambda all_, *_: all_, bits=2.0)]  # spent is less
    refused(lambda: ask(people))
    for text in ("a\rb", "\ud800", "\u202e5", "\u2028", "\x9b2J", "\x1b[2J"):
        for reply in (
            answer_with(true, lambda _, __, number: number, shown=[text, "exact", "0"]),
            answer_with(true, lambda all_, *_: all_["certificate"], claim=text),
        ):
            wire.replies = [reply]
            refused(lambda: ask(people))
        price = json.loads(true["price"])
        price["questions"][0]["worst_errors"][text] = "0"
        wire.replies = [framed(json.dumps(price).encode())]
        refused(lambda: people.price(COUNT, bits=2))
        fields = {"code": "x", "message": text, "hint": text}
        wire.replies = [framed(json.dumps({"error": fields}).encode(), "422 U")]
        refused(lambda: ask(people))


def test_invented_rows_hold_values_of_columns(wire, people, true):
    for column in ([{}, {}], [[], []], [2**70, 1], ["x", 1], [1]):
        reply = json.loads(true["dummy"])
        reply["columns"]["age"] = column
        wire.seen.clear()
        wire.replies = [
            framed(true["schema"], kind="text/plain"),
            framed(json.dumps(reply).encode()),
        ]
        refused(lambda: people.schema.dummy_data(2))


@pytest.mark.parametrize("url", ["https://[::1", "https://a..b", "http://127.0.0.1:1/\xfc"])
def test_an_address_that_cannot_be(url):
    refused(lambda: connect(url, token=TOKEN, attempts=1))


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"url": "http://127.0.0.1:1/a b"}, "address of the service"),
        ({"url": "http://127.0.0.1:1/a\x00b"}, "address of the service"),
        ({"url": "http://127.0.0.1:1/\xfc"}, "address of the service"),
        ({"url": "https://a\u2028b..com/"}, "address of the service"),
        ({"url": None}, "address of the service"),
        ({"timeout": float("nan")}, "timeout="),
        ({"timeout": float("inf")}, "timeout="),
        ({"timeout": "5"}, "timeout="),
        ({"timeout": True}, "timeout="),
        ({"timeout": 0}, "timeout="),
        ({"attempts": "2"}, "attempts="),
        ({"attempts": 1.5}, "attempts="),
        ({"attempts": 0}, "attempts="),
        ({"token": 5}, "token"),
        ({"url": "https://127.0.0.1:1", "certificates": 5}, "certificates"),
        ({"url": "https://127.0.0.1:1", "certificates": "none.pem"}, "certificates"),
    ],
)
def test_an_argument_that_cannot_be_is_named_at_once(named, words):
    arguments = {"url": "http://127.0.0.1:1", "token": TOKEN} | named
    error = refused(lambda: connect(arguments.pop("url"), **arguments), most=0.1)
    assert isinstance(error, InputError)
    assert words in error.problem


def test_what_is_no_row_of_the_history_is_named_at_once(people, wire):
    for row in (None, 5, ["a"]):
        error = refused(lambda row=row: people.answers(row))
        assert "history" in error.hint
    assert not wire.seen
