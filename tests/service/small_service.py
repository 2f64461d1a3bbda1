"""A small service: its tables, the questions that tests ask, and clients of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from hartley import open_ledger
from hartley.agent.replay import verify_prices
from hartley.service.accounts import open_accounts
from hartley.service.app import EnvelopeProtocol, create_app
from hartley.service.server import prepare
from hartley.service.settings import read_settings
from servers import serving

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
SCHEMA = """\
[table]
name = "{name}"

[columns.region]
kind = "public"
values = ["north", "south"]

[columns.age]
kind = "private"
range = [0, 100]
step = 1

[columns.ill]
kind = "private"
values = ["no", "yes"]
"""
AGES = [(17 * i + 5) % 101 for i in range(60)]
TABLE = {
    "region": ["north" if i % 3 else "south" for i in range(60)],
    "age": AGES,
    "ill": ["yes" if i % 4 == 0 else "no" for i in range(60)],
}
CONFIG = """\
[service]
listen = "127.0.0.1:0"
workers = 2
ledger = "{ledger}"
body_limit = "16KiB"
{service}
[datasets.people]
schema = "people.toml"
budget = 40
data = "people.parquet"
[datasets.others]
schema = "others.toml"
budget = 40
data = "others.parquet"
[limits]
asks_per_minute = {minute}
prices_per_minute = {minute}
{limits}
"""
AVERAGE = "SELECT AVG(age) FROM people"
COUNT = "SELECT COUNT(*) FROM people WHERE ill = 'yes'"
TRUTH = 15
FIELDS = {"code", "message", "hint", "place", "requested_bits", "remaining_bits", "request_id"}
PEOPLE = "/v1/datasets/people"


def above(age):
    return COUNT.replace("ill = 'yes'", f"age > {age}")


def until(condition, seconds=60.0):
    """Wait until something holds, and return it.

    The last look begins after the time is over: on a busy machine a look takes seconds itself, and
    one that began before says nothing about a limit.
    """
    waiting, end = threading.Event(), time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        if value := condition():
            return value
        assert begun < end, "it did not happen in time"
        waiting.wait(0.02)


def error_of(reply, status, code):
    """Return the error of a reply, which must have this status and the whole envelope."""
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], set(error)) == (status, code, FIELDS)
    assert error["request_id"] == reply.headers["x-request-id"]
    assert error["message"]
    assert error["hint"]
    return error


def ask_until(api, code, question=COUNT):
    """Ask until a reply has a code; on a busy machine a question is late before its charge."""
    replies = []

    def ask():
        replies.append(api.ask(question, bits=1).json())
        seen = replies[-1].get("error", {"code": "answered"})["code"]
        assert seen in {code, "busy", "pending"}, replies[-1]
        return seen == code

    until(ask)
    return replies[-1]


def value(content):
    """Return the number of an answer that is a count."""
    return content["rows"][0]["COUNT(*)"]["value"]


def replace_people(folder, name="people.parquet"):
    """Write a table of eight people who are ill."""
    table = pa.table({"region": ["north"] * 8, "age": list(range(8)), "ill": ["yes"] * 8})
    pq.write_table(table, folder / name)


def ask_and_die(place, *words):
    """Ask as ana in a process that kills itself: at a step with a key, or once it is pending."""
    driver = Path(__file__).with_name("killed_driver.py")
    done = subprocess.run(
        [sys.executable, str(driver), str(place.config), place.tokens["ana"], *words],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -9, done.stderr


@dataclass
class Place:
    """A folder with the files of a service, and tokens of its accounts."""

    folder: Path
    settings: object
    tokens: dict = field(default_factory=dict)

    @property
    def config(self):
        return self.folder / "config.toml"

    def issue(self, account, scope="ask", **more):
        with open_accounts(self.settings.ledger) as accounts:
            return accounts.issue_token(account, scopes=scope, by="owner", **more)

    def allow(self, account, bits, dataset="people"):
        with open_ledger(self.settings.ledger) as ledger:
            ledger.record(dataset, "allowance", {"analyst": account, "bits": str(bits)})

    def verify(self):
        """Check all prices of the ledger; return the charges without an answer."""
        with open_ledger(self.settings.ledger) as ledger:
            assert verify_prices(ledger).holds
            return list(ledger.pending("people"))


def make_place(folder, *, service="", limits="", ledger="ledger.db", minute=100_000):
    """Make a service with two datasets; ana and ben see one of them and may spend 10 bits each."""
    for name in ("people", "others"):
        (folder / f"{name}.toml").write_text(SCHEMA.format(name=name))
        pq.write_table(pa.table(TABLE), folder / f"{name}.parquet")
    if "question_seconds" not in service:
        service += "\nquestion_seconds = 100"  # for a busy machine
    text = CONFIG.format(ledger=ledger, service=service, limits=limits, minute=minute)
    (folder / "config.toml").write_text(text)
    place = Place(folder, read_settings(folder / "config.toml"))
    place.tokens["owner"] = prepare(place.settings).text
    with open_accounts(place.settings.ledger) as accounts:
        accounts.add("eve", "auditor", by="owner")
        for name in ("ana", "ben"):
            accounts.add(name, "analyst", by="owner")
            accounts.grant(name, "people", by="owner")
    for name in ("ana", "ben"):
        place.allow(name, 10)
    for name in ("eve", "ana", "ben"):
        place.tokens[name] = place.issue(name).text
    return place


class Api(httpx.Client):
    """A client with the token of one account."""

    def __init__(self, url, token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(base_url=url, headers=headers, timeout=150, trust_env=False)

    def ask(self, question=AVERAGE, dataset="people", headers=None, **body):
        body = body if question is None else {"question": question} | body
        return self.post(f"/v1/datasets/{dataset}/ask", json=body, headers=headers)

    def price(self, question=AVERAGE, **body):
        body = body if question is None else {"question": question} | body
        return self.post(f"{PEOPLE}/price", json=body)

    def plan(self, **body):
        return self.post(f"{PEOPLE}/plan", json=body)

    def budget(self):
        return self.get(f"{PEOPLE}/budget").json()

    @property
    def spent(self):
        return self.budget()["spent_bits"]

    def history(self, **params):
        return self.get(f"{PEOPLE}/history", params=params).json()["rows"]

    def answer(self, row):
        return self.get(f"{PEOPLE}/answers/{row}")


@dataclass
class Live:
    """A service that answers."""

    url: str
    place: Place
    app: object = None
    clients: dict = field(default_factory=dict)

    @property
    def service(self):
        return self.app.state.service

    def api(self, account=None, token=None):
        """Return a client of an account or a token; one of neither without."""
        text = token or (account and self.place.tokens[account])
        if text not in self.clients:
            self.clients[text] = Api(self.url, text)
        return self.clients[text]

    def metrics(self):
        return self.api().get("/metrics").text

    def close(self):
        for client in self.clients.values():
            client.close()


@contextmanager
def live_in_thread(place):
    """Serve in this process, over a socket of this machine."""
    app = create_app(place.settings)
    options = {"http": EnvelopeProtocol, "proxy_headers": False, "server_header": False}
    with serving(app, **options) as url:
        live = Live(url, place, app)
        try:
            yield live
        finally:
            live.close()
