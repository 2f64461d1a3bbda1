"""Replies that get lost after the service has charged: the client asks again and pays once."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from hartley.client.connection import ServiceConnection
from hartley.client.remote_agent import RemoteAgent

pytestmark = pytest.mark.slow


class Losing(BaseHTTPRequestHandler):
    """Passes requests on to a service, and loses as many replies as it is told to."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        service = http.client.HTTPConnection(self.server.target.hostname, self.server.target.port)
        service.request(self.command, self.path, body=body or None, headers=dict(self.headers))
        response = service.getresponse()
        content = response.read()
        service.close()
        self.server.statuses.append(response.status)
        if self.server.losing:
            self.server.losing -= 1
            self.close_connection = True
            return
        self.send_response(response.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST  # noqa: N815 - as http.server names it

    def log_message(self, *_):
        pass


@pytest.fixture
def wire(hosted):
    """A wire between client and service that loses replies."""
    started = ThreadingHTTPServer(("127.0.0.1", 0), Losing)
    started.daemon_threads = True
    started.target, started.statuses, started.losing = urlsplit(hosted.url), [], 0
    thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield started
    started.shutdown()
    thread.join()
    started.server_close()


@pytest.mark.parametrize("lost", [1, 3])
def test_an_answer_is_paid_once_however_many_replies_are_lost(wire, hosted, lost):
    url = f"http://127.0.0.1:{wire.server_port}"
    connection = ServiceConnection(url, hosted.token, attempts=5, pause=lambda _: None)
    with RemoteAgent(connection, "people") as people:
        before, charges = people.spent, len(people.history())
        wire.statuses.clear()
        wire.losing = lost
        asked = f"SELECT COUNT(*) FROM people WHERE age = {10 + lost}"  # noqa: S608 - a question
        answer = people.ask(asked, bits=1, vacuous=True)
        assert wire.statuses == [200] * (lost + 1)  # the service answered every time
        assert answer.bits == 1.0  # what was charged, as the lost reply said
        assert people.spent == before + 1.0
        assert len(people.history()) == charges + 1
