"""A service in this process, and browsers without script that keep cookies."""

from __future__ import annotations

import re
import warnings
from html import unescape
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet
import pytest

from hartley.service.app import create_app
from hartley.service.server import prepare
from hartley.service.settings import DatasetSettings, ServiceSettings, TrustedProxy

with warnings.catch_warnings():
    # Starlette would rather have another package than httpx, which does the same here.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = """
[table]
name = "people"
default_bits = 1

[columns.sex]
kind = "public"
values = ["F", "M"]

[columns.age]
kind = "private"
range = [0, 100]
step = 1
"""
ROWS = {"sex": ["F", "M"] * 20, "age": list(range(0, 80, 2))}


class Window:
    """A browser without script: it keeps a cookie and sends the forms of its last page."""

    def __init__(self, app, **options):
        self.client = TestClient(app, follow_redirects=True, **options)
        self.reply = None

    def get(self, path):
        self.reply = self.client.get(f"/console{path}")
        return self.reply

    @property
    def csrf(self):
        return re.search(r'name="csrf" value="([^"]*)"', self.reply.text)[1]

    def post(self, path, *, csrf=None, headers=None, **fields):
        if csrf is None and path != "/login":
            csrf = self.csrf
        data = fields if csrf is None else {"csrf": csrf, **fields}
        self.reply = self.client.post(f"/console{path}", data=data, headers=headers)
        return self.reply

    def log_in(self, token):
        self.post("/login", token=token)
        return self

    def ask(self, question, bits):
        self.get("/d/people/ask")
        spend = f"{bits} {float(bits)!r}"  # what may be charged is what it costs alone
        return self.post("/d/people/ask", question=question, quoted=question, spend=spend)

    @property
    def button(self):
        """What the button that spends sends."""
        return re.search(r'id="spend" name="spend" value="([^"]*)"', self.reply.text)[1]

    def hidden(self, name):
        return unescape(re.search(rf'name="{name}" value="([^"]*)"', self.reply.text)[1])


class House:
    """A service with two datasets, of which analysts see one."""

    def __init__(self, folder: Path, proxy: TrustedProxy | None = None):
        pyarrow.parquet.write_table(pa.table(ROWS), folder / "people.parquet")
        datasets = {}
        for name in ("people", "other"):
            schema = folder / f"{name}.toml"
            schema.write_text(SCHEMA.replace('"people"', f'"{name}"'))
            data = str(folder / "people.parquet")
            datasets[name] = DatasetSettings(name, schema, budget="300", data=data)
        settings = ServiceSettings(
            str(folder / "ledger.db"),
            datasets,
            folder=folder,
            proxy=proxy,
            question_seconds=600,  # a report reads many modules first, which a busy machine delays
        )
        self.owner_token = prepare(settings).text
        self.app = create_app(settings)
        self.service = self.app.state.service

    def analyst(self, name, bits="3", scope="ask"):
        accounts = self.service.accounts
        accounts.add(name, "analyst", by="owner")
        accounts.grant(name, "people", by="owner")
        self.service.ledger.record("people", "allowance", {"analyst": name, "bits": bits})
        return accounts.issue_token(name, scopes=scope, by="owner").text

    def window(self, token=None, **options):
        window = Window(self.app, **options)
        return window if token is None else window.log_in(token)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = House(tmp_path_factory.mktemp("house"))
    yield made
    made.service.close()


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    proxy = TrustedProxy(("testclient",), "X-Remote-User")
    made = House(tmp_path_factory.mktemp("proxied"), proxy)
    yield made
    made.service.close()
