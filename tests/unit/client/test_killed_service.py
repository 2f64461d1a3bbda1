"""A service that is killed between the charge and the reply: the client pays once."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hartley import Agent, open_ledger
from hartley.client.connection import ServiceConnection
from hartley.client.remote_agent import RemoteAgent
from hartley.service.accounts import open_accounts

pytestmark = pytest.mark.slow

# A service in a process of its own, which dies once at the place that is named: before it reads
# any data (the charge is on disk), or when the reply is complete and not sent.
SERVICE = """
import os, pathlib, signal, sys
import uvicorn
from hartley.trusted.data import DataVersion
from hartley.service import app as gate
from hartley.service.app import create_app
from hartley.service.settings import read_settings

config, port, place, mark = sys.argv[1:]

def die_once():
    if not pathlib.Path(mark).exists():
        pathlib.Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)

if place == "before the answer":
    cells = DataVersion.cells
    def dying(self, questions):
        die_once()
        return cells(self, questions)
    DataVersion.cells = dying
else:
    send = gate._Reply.__call__
    async def dying(self, message):
        if message["type"] == "http.response.body" and b'"open_bits"' in message["body"]:
            die_once()
        await send(self, message)
    gate._Reply.__call__ = dying

uvicorn.run(create_app(read_settings(config)), port=int(port), log_config=None)
"""
SCHEMA = """\
[table]
name = "people"

[columns.age]
kind = "private"
range = [0, 100]
step = 1
"""
QUESTION = "SELECT COUNT(*) FROM people WHERE age >= 40"


class Supervisor:
    """Starts the service, and starts it again when it is dead."""

    def __init__(self, folder: Path, place: str) -> None:
        # Bound and not listening, so that nobody else gets the port while the service is dead.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self.port = self._reserved.getsockname()[1]
        self._words = [folder / "config.toml", self.port, place, folder / "died"]
        self.starts, self.statuses = 0, []
        self._process: subprocess.Popen | None = None

    def start(self, _: float = 0.0) -> None:
        """Start the service unless it runs, and wait until it listens."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(10)  # a killed process takes a moment to end
            if self._process.poll() is None:
                return
            self.statuses.append(self._process.returncode)
        self.starts += 1
        command = [sys.executable, "-c", SERVICE, *map(str, self._words)]
        self._process = subprocess.Popen(command, env=os.environ)
        while self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            try:
                self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(120)
        self._reserved.close()


@pytest.fixture
def prepared(tmp_path):
    (tmp_path / "people.toml").write_text(SCHEMA)
    (tmp_path / "config.toml").write_text(
        '[service]\nledger = "ledger.db"\n[datasets.people]\nschema = "people.toml"\n'
    )
    ledger = tmp_path / "ledger.db"
    table = {"age": [30, 40, 50, 61, 7]}
    with Agent(table, tmp_path / "people.toml", ledger=ledger, budget=9) as agent:
        agent.allow("ana", 4)
    with open_accounts(str(ledger)) as accounts:
        accounts.first_owner()
        accounts.add("ana", "analyst", by="owner")
        accounts.grant("ana", "people", by="owner")
        token = accounts.issue_token("ana", scopes="ask", by="owner").text
    return tmp_path, token


@pytest.mark.parametrize("place", ["before the answer", "before the reply"])
def test_a_killed_service_charges_once(prepared, place):
    folder, token = prepared
    supervisor = Supervisor(folder, place)
    supervisor.start()
    try:
        url = f"http://127.0.0.1:{supervisor.port}"
        # Instead of waiting before another attempt, the service is started again.
        connection = ServiceConnection(url, token, attempts=4, pause=supervisor.start)
        with RemoteAgent(connection, "people") as people:
            answer = people.ask(QUESTION, bits=1)
            assert (answer.value, answer.error) == (3, 0)
            assert (people.spent, people.remaining) == (1.0, 3.0)
            assert len(people.history()) == 1
            assert people.ask(QUESTION, bits=1).bits == 0.0
    finally:
        supervisor.stop()
    assert supervisor.statuses == [-signal.SIGKILL]
    assert supervisor.starts == 2
    with open_ledger(folder / "ledger.db") as ledger:
        (charge,) = ledger.history("people", "ana")
        assert charge.cells == 2
