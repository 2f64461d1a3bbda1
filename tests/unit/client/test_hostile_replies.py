"""Replies that no service gives: the very same result, or one sentence without the token."""

# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: PT017 - some changes of a reply are refused, and none is believed

import copy
import gzip
import http.client
import json
import random
import sys
import threading
import time
from contextlib import suppress

import pytest

from hartley.cli import main
from hartley.client.connection import ServiceConnection
from hartley.client.remote_agent import RemoteAgent, connect
from hartley.errors import EngineError, HartleyError, OptionError, ReplyError
from servers import Answering, answering

TOKEN = f"hartley_{'0' * 16}_{'1' * 64}"
ONE = "SELECT city, AVG(age), MEDIAN(born) FROM people WHERE age > 3 GROUP BY city"
TWO = ["SELECT COUNT(*) FROM people WHERE age > 3", "SELECT AVG(age) FROM people WHERE age < 50"]
USES = {
    "ask": lambda people: people.ask(ONE, bits=4, most_bits=4.0).to_dict(),
    "batch": lambda people: people.ask(TWO, bits=2).to_dict(),
    "price": lambda people: price_of(people.price(TWO, bits=2)),
    "explain": lambda people: people.explain(TWO[1], bits=2),
    "curve": lambda people: curve_of(people.curve(TWO[1], bits=2, most=3)),
    "plan": lambda people: (
        people.plan(TWO, budget=3).to_dict(),
        people.plan(TWO, budget=3).wishes,
    ),
    "history": lambda people: people.history(),
    "answers": lambda people: people.answers("0" * 16).to_dict(),
    "budget": lambda people: (people.spent, people.remaining),
    "about": lambda people: (people.schema.rows, people.schema.record_bits, str(people.schema)),
}
FREE = ("parameters", "consequences", "period", "version", "schema_version", "rules")
FREE += ("default_bits", "name", "request_id")
"""Fields that may be anything, or that the client does not read."""


def price_of(quote):
    parts = quote.to_dict(), quote.errors, quote.errors_if, quote.cells, quote.certificate
    return *parts, str(quote)


def curve_of(curve):
    return curve.to_dict(), curve.points, curve.next_point, curve.at(2), curve.after(2), str(curve)


class Hostile(Answering):
    """Sends the bytes that a test says."""

    wbufsize = -1  # one packet, for which the other side need not be waited for

    def answer(self, _):
        self.server.requests += 1
        with suppress(OSError):
            self.server.reply(self)


def sending(content, status=200, kind="application/json", **headers):
    """Return a reply of these bytes."""

    def reply(handler):
        handler.send_response(status)
        named = {"Content_Type": kind, "Content_Length": str(len(content))}
        for name, value in (named | headers).items():
            if value is not None:
                handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return reply


@pytest.fixture
def hostile():
    """A server that replies as a test says."""
    with answering(Hostile, requests=0, reply=sending(b"{}")) as server:
        yield server


@pytest.fixture
def people(hostile):
    """A client of the hostile server."""
    connection = ServiceConnection(hostile.url, TOKEN, timeout=20, pause=lambda _: None)
    with RemoteAgent(connection, "people") as remote:
        yield remote


@pytest.fixture
def recorded(hosted):
    """The true replies of a service, by use."""
    found = {}
    with connect(hosted.url, token=hosted.token) as remote:
        send = remote._connection._send
        remote.ask(ONE, bits=4)
        row = remote.history()[0].row
        for name, use in USES.items():
            kept = []

            def recording(*request, kept=kept):
                status, headers, content = send(*request)
                kept.append(content)
                return status, headers, content

            remote._connection._send = recording
            if name == "answers":
                remote.answers(row)
            else:
                use(remote)
            found[name] = kept[0].replace(row.encode(), b"0" * 16)
    return found


def places(value, path=()):
    """Yield the path of every value inside a reply."""
    yield path
    if isinstance(value, (dict, list)):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, name))


GONE = object()
STRANGE = [GONE, None, True, -1, -0.5, 7, "x", "-1", "1e99999999", "9" * 500, "\x1b[2J", [], {}]
STRANGE += [[[]], 10**300, {"low": 1}, ["x"], "1/0", TOKEN, "NaN"]


def changed(reply, path, value):
    """Return a reply in which one value is another one, or gone."""
    if not path:
        return value
    result = copy.deepcopy(reply)
    inside = result
    for name in path[:-1]:
        inside = inside[name]
    if value is GONE:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return result


def kind_of(value):
    return "number" if type(value) in {int, float} else type(value).__name__


def check_changes(people, hostile, recorded, most):
    """Serve changed replies; return how many were refused and how many gave the same."""
    cases = [
        (name, path, value)
        for name, content in recorded.items()
        for path in places(json.loads(content))
        for value in STRANGE
        if path or value is not GONE
    ]
    random.Random(29).shuffle(cases)
    refused, same, truths = 0, 0, {}
    for name, content in recorded.items():
        hostile.reply = sending(content)
        truths[name] = USES[name](people)
    for name, path, value in cases[:most]:
        reply = json.loads(recorded[name])
        truth, old = truths[name], reply
        for part in path:
            old = old[part]
        hostile.reply = sending(json.dumps(changed(reply, path, value)).encode())
        began = time.monotonic()
        try:
            found = USES[name](people)
        except HartleyError as error:
            refused += 1
            assert isinstance(error, ReplyError), (name, path, value)
            assert "127.0.0.1" in error.problem
            assert "ask again, which is free" in error.hint
            assert TOKEN not in str(error)
        else:
            same += found == truth
            free = any(part in FREE for part in path)
            free |= path[-1:] == ("city",) and not isinstance(
                value, (list, dict)
            )  # a value of a column
            alike = kind_of(value) == kind_of(old) or None in (old, value)
            if value is GONE:  # a list or errors by label may have fewer
                alike = isinstance(path[-1], int) or (
                    len(path) > 1 and "errors" in str(path[-2:-1])
                )
            assert found == truth or free or alike, (name, path, value)
            assert TOKEN not in repr(found)
        assert time.monotonic() - began < 10, (name, path, value)
    return refused, same


@pytest.mark.slow
def test_a_changed_reply_gives_the_same_or_one_sentence(people, hostile, recorded):
    refused, same = check_changes(people, hostile, recorded, 400)
    assert refused > 150
    assert same


@pytest.mark.long
def test_every_changed_reply_gives_the_same_or_one_sentence(people, hostile, recorded):
    check_changes(people, hostile, recorded, 10**9)


@pytest.mark.slow
def test_what_a_reply_cannot_be(people, hostile, recorded):
    batch = json.loads(recorded["batch"])
    for answers in ([], batch["answers"][:1], batch["answers"][::-1], batch["answers"] * 2):
        hostile.reply = sending(json.dumps(batch | {"answers": answers}).encode())
        with pytest.raises(ReplyError):
            USES["batch"](people)
        with pytest.raises(HartleyError):
            people.ask([])
    row = json.loads(recorded["history"])["rows"][0]
    for page in (
        {"rows": [row], "next": "a"},
        {"rows": [], "next": "a"},
        {"rows": [row] * 2},
        {"rows": [row | {"added_bits": 99.0}]},
    ):
        hostile.reply = sending(json.dumps({"next": None} | page).encode())
        with pytest.raises(ReplyError):  # pages that come again never end
            people.history()
    hostile.reply = sending(json.dumps({"rows": [row], "next": None}).encode())
    assert len(people.history()) == 1


COUNT = "SELECT COUNT(*) FROM people WHERE age < 33"
NUMBER = ("table", "rows", 0, "numbers", 0)


def wide(reply):
    """Return an answer that says next to nothing, in all places where it says so."""
    ends = {"low": -1e6, "value": 0.0, "high": 1e6, "error": 1e6}
    reply["rows"][0]["COUNT(*)"].update(ends)
    shown = {"shown": ["0", "[-1,000,000, 1,000,000]", "±1,000,000"]}
    reply["table"]["rows"][0]["numbers"][0].update(low="-1000000", high="1000000", **shown)
    return reply


def relabelled(reply):
    reply["table"]["labels"] = ["MAX(age)"]
    reply["rows"][0] = {"MAX(age)": reply["rows"][0]["COUNT(*)"]}
    return reply


def of_rows(reply, times):
    return changed(reply, ("rows",), reply["rows"] * times) | {
        "table": changed(reply["table"], ("rows",), reply["table"]["rows"] * times)
    }


def answers_that_cannot_be(reply):
    """Yield answers to a question about one number, asked for 1 bit, that no service gives."""
    yield of_rows(reply, 2)
    yield of_rows(reply, 0)
    yield relabelled(copy.deepcopy(reply))
    yield reply | {"question": TWO[0]}
    yield changed(reply, ("certificate", "parameters", "questions"), TWO)
    yield changed(reply, (*NUMBER, "promised"), value=False)  # nobody named a number of rows


def prices_that_cannot_be(reply):
    yield reply | {"text": reply["text"].replace("The price is 1 bit", "The price is 0 bits")}
    yield reply | {"remaining_bits": 0.0}
    for errors in ({}, {"MAX(age)": "5"}, {"COUNT(*)": "5"}):
        yield changed(reply, ("questions", 0, "worst_errors"), errors)


@pytest.fixture
def refuses(hostile):
    """Require that none of these replies is believed."""

    def refuse(use, replies):
        for number, reply in enumerate(replies):
            hostile.reply = sending(json.dumps(reply).encode())
            with pytest.raises(ReplyError):
                pytest.fail(f"believed number {number}: {use()}")

    return refuse


PATH, WISH = ("datasets", "people"), {"question": COUNT, "vacuous": False}


@pytest.mark.slow
def test_an_answer_or_a_price_that_cannot_be_for_what_was_asked(people, hostile, hosted, refuses):
    with connect(hosted.url, token=hosted.token) as remote:
        price = remote._connection.post(*PATH, "price", body=WISH | {"bits": 1})
        answer = remote._connection.post(*PATH, "ask", body=WISH | {"bits": 1})
        curve = remote._connection.post(*PATH, "price", body=WISH | {"curve": True, "most": 2})
        plan = remote._connection.post(*PATH, "plan", body={"questions": TWO, "budget": 3})
    hostile.reply = sending(json.dumps(answer).encode())
    assert people.ask(COUNT, bits=1).bits == 1
    assert people.ask(COUNT, error=0.5).value == 2
    refuses(lambda: people.ask(COUNT, bits=1), answers_that_cannot_be(answer))
    refuses(lambda: people.ask(COUNT, bits="0.5"), [answer])
    refuses(lambda: people.ask(COUNT, most_bits=0.5), [answer])
    refuses(lambda: people.ask(COUNT, error=0.5), [wide(copy.deepcopy(answer))])
    south = changed(json.loads(json.dumps(answer)), ("question",), ONE)
    refuses(lambda: people.ask(ONE, bits=1), [south])
    hostile.reply = sending(json.dumps(price).encode())
    assert people.price(COUNT, bits=1).bits == people.price(COUNT, error=0.5).bits == 1
    refuses(lambda: people.price(COUNT, bits=1), prices_that_cannot_be(price))
    wider = changed(price, ("questions", 0, "worst_errors", "COUNT(*)"), "5")
    wider["text"] = wider["text"].replace("COUNT(*): exact", "COUNT(*): within 5 of the truth")
    hostile.reply = sending(json.dumps(wider).encode())
    assert people.price(COUNT, bits=1).errors == ((("COUNT(*)", 5),),)
    refuses(lambda: people.price(COUNT, error=0.5), [wider])
    point = ("curves", 0, "points", 0)
    lies = [changed(curve, (*point, "bits"), 500.0), changed(curve, (*point, "worst_errors"), {})]
    refuses(lambda: people.curve(COUNT, most=2), lies)
    lies = [changed(plan, ("refusal",), "no"), plan | {"batch_bits": 3.5, "batch_alone_bits": 3.5}]
    refuses(lambda: people.plan(TWO, budget=3), lies)


@pytest.mark.slow
def test_an_account_that_cannot_be(people, hostile, hosted, refuses):
    with connect(hosted.url, token=hosted.token) as remote:
        remote.ask(COUNT, bits=1)
        remote.ask(TWO, bits=3)
        one, batch = remote.history()
        rows = [one.row, batch.row]
        kept = [remote._connection.get(*PATH, "answers", row) for row in rows]
        budget = remote._connection.get(*PATH, "budget")
        about = remote._connection.get(*PATH)
    hostile.reply = sending(json.dumps(kept[1]).encode())
    assert len(people.answers(batch)) == len(people.answers(batch.row)) == 2
    other = changed(kept[0], ("question",), TWO[0])
    lies = [kept[1], other, kept[0] | {"id": "9" * 16}, changed(kept[0], ("answers", 0, "bits"), 1)]
    refuses(lambda: people.answers(one), lies)
    both = changed(other, ("answers", 0, "question"), TWO[0])
    refuses(lambda: people.answers(one), [both])
    half = changed(kept[1], ("answers",), kept[1]["answers"][:1])
    refuses(lambda: people.answers(batch), [half])
    refuses(lambda: people.answers(batch.row), [half])
    lies = [{"dataset": "other"}, {"spent_bits": 50.0, "allowance_bits": "1"}]
    lies += [{"remaining_bits": 24.0}]
    refuses(lambda: people.spent, [budget | lie for lie in lies])
    refuses(lambda: people.schema.rows, [about | {"name": "other"}])


@pytest.mark.slow
def test_bytes_that_are_no_reply(people, hostile, recorded):
    true = recorded["ask"]
    spoiled = true.replace(b"north", b"n\xf6rth")
    for reply in (
        sending(true, kind="text/html"),
        sending(b"<html>Bad gateway</html>", kind="text/html"),
        sending(spoiled, kind="application/json; charset=latin-1"),
        sending(true.decode().encode("utf-16"), kind="application/json; charset=utf-16"),
        sending(gzip.compress(b"0" * 10**7), Content_Encoding="gzip"),
        sending(b"[" * 100_000 + b"]" * 100_000),
        sending(b'{"bits": NaN}'),
        sending(true.replace(b'"bits":', b'"bits": 1e999, "b":', 1)),
        sending(true.replace(b'"bits":', b'"bits": ' + b"9" * 9999 + b', "b":', 1)),
        sending(b"", status=204, Content_Length=None),
        sending(b"", Content_Length="0"),
        sending(true, Content_Length=str(len(true) // 2)),
        sending(true, Content_Length=str(len(true) + 1), Connection="close"),
        sending(true, status=302, Location="http://127.0.0.1:1/"),
        sending(true, status=500),
        sending(json.dumps({"error": 1}).encode(), status=422),
        lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n"),
    ):

        def closing(handler, reply=reply):
            reply(handler)
            handler.close_connection = True

        hostile.reply = closing
        with pytest.raises(EngineError) as error:
            USES["ask"](people)
        assert "127.0.0.1" in error.value.problem
        assert TOKEN not in str(error.value)


@pytest.mark.slow
def test_a_reply_that_is_cut_off_anywhere(people, hostile, recorded):
    true = recorded["ask"]
    hostile.reply = sending(true)
    truth = USES["ask"](people)
    for cut in range(0, len(true), 41):
        for headers in ({}, {"Content_Length": None}):

            def cutting(handler, cut=cut, headers=headers):
                sending(true[:cut], **{"Content_Length": str(len(true))} | headers)(handler)
                handler.close_connection = True

            hostile.reply = cutting
            with pytest.raises(EngineError) as error:
                USES["ask"](people)
            assert "ask again" in error.value.hint
            assert "charged" in error.value.hint
    hostile.reply = sending(true)
    assert USES["ask"](people) == truth


def dripping(handler):
    """Send headers at once, and a byte of the body again and again."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while not handler.server.ended.wait(0.02):
        handler.wfile.write(b"1\r\n \r\n")
        handler.wfile.flush()


def dripping_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.ended.wait(0.02):
        handler.wfile.write(b"x")
        handler.wfile.flush()


@pytest.mark.parametrize("reply", [dripping, dripping_headers])
def test_a_drip_does_not_outlast_the_time_that_was_given(hostile, reply):
    hostile.reply, hostile.ended = reply, threading.Event()
    connection = ServiceConnection(hostile.url, TOKEN, timeout=0.3)
    try:
        with pytest.raises(EngineError, match="does not answer") as error:
            connection.get("datasets")
        assert "not charged again" in error.value.hint
        assert hostile.requests == 1
    finally:
        hostile.ended.set()
        connection.close()


@pytest.mark.parametrize("escaped", [False, True])
def test_no_message_repeats_the_token(hostile, escaped):
    """Also one that is spelled with escapes, in an error or among the names of datasets."""
    echo = TOKEN.replace("h", "\\u0068") if escaped else TOKEN
    fields = f'"code": "x", "message": "Token {echo}", "hint": "use {echo}"'
    for status in (200, 400, 401, 409, 422, 500):
        text = f'{{"error": {{{fields}}}, "datasets": ["{echo}", "b"]}}'
        hostile.reply = sending(text.encode(), status=status)
        with pytest.raises(HartleyError) as error:
            connect(hostile.url, token=TOKEN, attempts=1)
        assert TOKEN not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["ask", "price"])
def test_a_command_ends_with_one_sentence(hostile, monkeypatch, capsys, command):
    def replying(handler):
        lie = {"datasets": ["people"]} if handler.command == "GET" else {"bits": -1}
        sending(json.dumps(lie).encode())(handler)

    hostile.reply = replying
    monkeypatch.setenv("HARTLEY_TOKEN", TOKEN)
    monkeypatch.setattr(sys, "argv", ["hartley", command, TWO[0], "--url", hostile.url])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 1
    assert printed.out == ""
    assert len(printed.err.strip().splitlines()) == 1
    assert "The reply of the service at '127.0.0.1'" in printed.err
    assert TOKEN not in printed.err


def test_an_error_of_a_strange_form_is_still_one_sentence(people, hostile):
    fields = {"code": "question", "message": "No", "hint": "do"}
    for more in (
        {"place": ["a", "b"]},
        {"place": [1]},
        {"place": [-1, 10**300]},
        {"requested_bits": "x", "remaining_bits": -3},
    ):
        for status in (409, 422):
            hostile.reply = sending(json.dumps({"error": fields | more}).encode(), status=status)
            with pytest.raises(HartleyError, match="No; hint: do") as error:
                people.ask(ONE)
            assert error.value.place is error.value.requested is error.value.remaining is None


def test_the_time_is_that_of_one_reply(hostile):
    """A connection that is kept open gets the whole time again."""
    hostile.reply = sending(b'{"datasets": ["people"]}')
    connection = ServiceConnection(hostile.url, TOKEN, timeout=5)
    for _ in range(3):
        assert connection.get("datasets") == {"datasets": ["people"]}
    assert isinstance(connection._own.connection, http.client.HTTPConnection)
    connection.close()
    with pytest.raises(OptionError):
        ServiceConnection(hostile.url, TOKEN, timeout=-1)
