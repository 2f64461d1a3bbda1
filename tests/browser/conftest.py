"""A real service in two workers, and a real browser: what the tests of the console share."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pyarrow.parquet
import pytest
import uvicorn

from hartley.datasets.people import people
from hartley.service.app import create_app
from hartley.service.server import prepare
from hartley.service.settings import DatasetSettings, ServiceSettings
from hartley.trusted.data import DataVersion

SCHEMA = Path(__file__).parents[2] / "examples" / "people.schema.toml"
NEEDED = "run tools/need-chromium, as make test does"
AXE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hartley" / "axe.min.js"
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""The rules of axe about colours: those that can be broken in the dark alone."""
WIDE, NARROW = 1280, 390


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
        deadline = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < deadline, "the worker does not start"
            time.sleep(0.02)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)


class Hospital:
    """A service after its first start: two workers, a dataset or more, the owner's token."""

    def __init__(self, folder: Path, more: tuple[str, ...] = ()) -> None:
        data, runtime = folder / "people.parquet", folder / "runtime"
        pyarrow.parquet.write_table(people(), data)
        runtime.mkdir()
        datasets = {"people": DatasetSettings("people", SCHEMA, budget="40", data=str(data))}
        for name in more:  # the same table under other names
            schema = folder / f"{name}.schema.toml"
            schema.write_text(SCHEMA.read_text("utf-8").replace('"people"', f'"{name}"'), "utf-8")
            datasets[name] = DatasetSettings(name, schema, budget="12", data=str(data))
        settings = ServiceSettings(
            str(folder / "ledger.db"), datasets, folder=folder, runtime=runtime
        )
        first = prepare(settings)
        assert first is not None
        self.owner_token = first.text
        self.names: list[str] = []
        self.workers = [Worker(settings), Worker(settings)]
        self.url = self.workers[0].url

    @property
    def service(self):
        return self.workers[0].app.state.service

    def analyst(self, name: str, bits: str = "3", scope: str = "ask") -> str:
        """Add an analyst without the console; return a token."""
        accounts = self.service.accounts
        self.names.append(name)
        accounts.add(name, "analyst", by="owner")
        accounts.grant(name, "people", by="owner")
        self.service.ledger.record("people", "allowance", {"analyst": name, "bits": bits})
        return accounts.issue_token(name, scopes=scope, by="owner").text

    def take_back(self) -> None:
        """Take back what analysts have not spent, so that the next test can give it away."""
        ledger = self.service.ledger
        while self.names:
            name = self.names.pop()
            bits = math.ceil(ledger.balance("people", name).spent_bits)
            ledger.record("people", "allowance", {"analyst": name, "bits": str(bits)})

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """A service that ends with its module, since its threads would run beside all other tests."""
    service = Hospital(tmp_path_factory.mktemp("hospital"))
    yield service
    service.close()


@pytest.fixture
def rebuilt(tmp_path_factory):
    """A service of its own with several datasets, for a test that replaces the data."""
    service = Hospital(tmp_path_factory.mktemp("rebuilt"), more=("staff", "outpatients"))
    yield service
    service.close()


@pytest.fixture(scope="module")
def browser():
    """A browser; closed after each module: its event loop keeps other tests from their own."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program is not None, f"Chromium is missing: {NEEDED}"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def axe():
    """Return a function that lists what axe-core finds wrong with a page, or with its colours."""
    assert AXE.exists(), f"axe-core is missing: {NEEDED}"
    source = AXE.read_text("utf-8")

    def problems(page, *, colours_only: bool = False) -> list[str]:
        options = {"resultTypes": ["violations"]} | (COLOURS if colours_only else {})
        page.evaluate(source)
        report = page.evaluate("(options) => axe.run(document, options)", options)
        return [
            f"{found['id']}: {node['html'][:160]} ({node['failureSummary'][:200]})"
            for found in report["violations"]
            for node in found["nodes"]
        ]

    return problems


@pytest.fixture
def slow_engine(hospital, monkeypatch):
    """Keep the engine from answering within the time limit, until the test lets it."""
    lanes, may_answer, cells = hospital.service.lanes, threading.Event(), DataVersion.cells

    def waiting(self, questions):
        may_answer.wait(120)
        return cells(self, questions)

    async def until_charged(job):
        """The time is over as soon as a question is charged, however busy the machine is."""
        while not (job.future.done() or job.ticket.charging):  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(0.02)
        if not job.future.done():
            raise TimeoutError
        return await job.future

    monkeypatch.setattr(DataVersion, "cells", waiting)
    monkeypatch.setattr(lanes, "_in_time", until_charged)
    yield may_answer
    may_answer.set()


class Visitor:
    """A person with a browser: pages, and everything that the browser complains about."""

    def __init__(self, browser, url: str, **context) -> None:
        self.url = url
        self.context = browser.new_context(
            **{"viewport": {"width": WIDE, "height": 800}, "reduced_motion": "reduce"} | context
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.complaints: list[str] = []
        self.outside: list[str] = []
        self.page.on("console", lambda message: self._complain(message.text))
        self.page.on("pageerror", lambda error: self._complain(str(error)))
        self.page.on("request", lambda request: self._note(request.url))

    def _complain(self, text: str) -> None:
        # A refusal has a status of its own, and a test may type before the page takes the focus.
        if not text.startswith(("Failed to load resource", "Autofocus processing was blocked")):
            self.complaints.append(text)

    def _note(self, address: str) -> None:
        if not address.startswith((self.url, "data:")):
            self.outside.append(address)

    def log_in(self, token: str):
        self.page.goto(self.url)
        self.page.fill("#token", token)
        self.page.click("button:text-is('Log in')")
        return self.page

    def go(self, path: str):
        self.page.goto(f"{self.url}/console{path}")
        return self.page


@pytest.fixture
def visitors(browser, hospital):
    """Return a function that opens a browser window; no window may complain or look elsewhere."""
    opened: list[Visitor] = []

    def visitor(**context) -> Visitor:
        opened.append(Visitor(browser, context.pop("url", hospital.url), **context))
        return opened[-1]

    yield visitor
    hospital.take_back()
    for each in opened:
        each.context.close()
        assert each.complaints == []
        assert each.outside == []


@pytest.fixture(scope="session")
def photograph():
    """Return a function that keeps a picture of a page where HARTLEY_SCREENSHOTS names a folder."""
    named = os.environ.get("HARTLEY_SCREENSHOTS")
    if named:
        Path(named).mkdir(parents=True, exist_ok=True)

    def take(page, name: str) -> None:
        if named:
            page.screenshot(path=Path(named) / f"{name}.png", full_page=True)

    return take


class Look:
    """Looks at the present page, wide and narrow, light and dark."""

    def __init__(self, photograph, axe):
        self.photograph, self.axe = photograph, axe

    def __call__(self, page, name, *, check=True):
        problems = []
        for width in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": 800})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                reach = page.evaluate("document.documentElement.scrollWidth")
                if reach > width:
                    problems.append(f"{name} reaches {reach} of {width} pixels")
                self.photograph(page, f"{name}-{scheme}-{width}")
                if check and (scheme, width) != ("dark", NARROW):  # each was checked before
                    complaints = self.axe(page, colours_only=scheme == "dark")
                    problems += [f"{name} {scheme} {width}: {each}" for each in complaints]
        page.set_viewport_size({"width": WIDE, "height": 800})
        assert problems == []

    def print(self, page, name):
        """Look at a page as it is printed; it stays so."""
        page.emulate_media(media="print", color_scheme="dark")  # paper is white all the same
        self.photograph(page, f"{name}-print")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"


@pytest.fixture
def look(photograph, axe):
    return Look(photograph, axe)


@pytest.fixture
def price():
    """Return a function that prices a question with the keyboard and waits for its price."""

    def priced(page, question: str) -> None:
        page.fill("#question", question)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#result[aria-busy=false]")

    return priced
