"""Replies that get lost after the service has charged: the client asks again and pays once."""

import http.client
from urllib.parse import urlsplit

import pytest

from hartley.client.connection import ServiceConnection
from hartley.client.remote_agent import RemoteAgent
from servers import Answering, answering

pytestmark = pytest.mark.slow


class Losing(Answering):
    """Passes requests on to a service, and loses as many replies as it is told to."""

    def answer(self, body):
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


@pytest.fixture
def wire(hosted):
    """A wire between client and service that loses replies."""
    with answering(Losing, target=urlsplit(hosted.url), statuses=[], losing=0) as started:
        yield started


@pytest.mark.parametrize("lost", [1, 3])
def test_an_answer_is_paid_once_however_many_replies_are_lost(wire, hosted, lost):
    connection = ServiceConnection(wire.url, hosted.token, attempts=5, pause=lambda _: None)
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
