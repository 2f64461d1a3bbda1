"""A real service in two workers, and a real browser: what the tests of the console share."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pyarrow.parquet
import pytest
import uvicorn

from hartley.agent.agent import Agent
from hartley.agent.ledger.ledger import open_ledger
from hartley.datasets.people import people
from hartley.service.accounts import open_accounts
from hartley.service.app import create_app
from hartley.service.rates import create_rates
from hartley.service.settings import DatasetSettings, ServiceSettings

SCHEMA = Path(__file__).parents[2] / "examples" / "people.schema.toml"


class Worker:
    """One worker: an application of its own, in a thread, on a port of its own."""

    def __init__(self, settings: ServiceSettings) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.app = create_app(settings)
        config = uvicorn.Config(self.app, port=self.port, log_level="critical", lifespan="on")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 30
        while not self._server.started:
            assert time.monotonic() < deadline, "the worker does not start"
            time.sleep(0.02)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)


class Hospital:
    """A service after its first start: two workers, one dataset, the owner's token."""

    def __init__(self, folder: Path) -> None:
        data = folder / "people.parquet"
        pyarrow.parquet.write_table(people(), data)
        ledger = str(folder / "ledger.db")
        with Agent(str(data), SCHEMA, budget=24, ledger=ledger):
            pass
        with open_ledger(ledger) as opened, open_accounts(opened) as accounts:
            first = accounts.first_owner()
            assert first is not None
            self.owner_token = first.text
        dataset = DatasetSettings("people", SCHEMA, budget="24", data=str(data))
        runtime = folder / "runtime"
        runtime.mkdir()
        create_rates(runtime)
        settings = ServiceSettings(ledger, {"people": dataset}, folder=folder, runtime=runtime)
        self.workers = [Worker(settings), Worker(settings)]
        self.url = self.workers[0].url

    @property
    def accounts(self):
        return self.workers[0].app.state.service.accounts

    @property
    def ledger(self):
        return self.workers[0].app.state.service.ledger

    def analyst(self, name: str, bits: str = "8", scope: str = "ask") -> str:
        """Add an analyst without the console; return a token."""
        self.accounts.add(name, "analyst", by="owner")
        self.accounts.grant(name, "people", by="owner")
        self.ledger.record("people", "allowance", {"analyst": name, "bits": bits})
        return self.accounts.issue_token(name, scopes=scope, by="owner").text

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


@pytest.fixture(scope="session")
def hospital(tmp_path_factory):
    service = Hospital(tmp_path_factory.mktemp("hospital"))
    yield service
    service.close()


CHROMIUM = os.environ.get("HARTLEY_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()
