"""A real service over HTTP for one dataset, and a client of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hartley import Agent, open_ledger
from hartley.client.remote_agent import connect
from hartley.service.accounts import open_accounts
from hartley.service.app import create_app
from hartley.service.settings import read_settings
from servers import serving

SCHEMA = """\
[table]
name = "people"

[columns.age]
kind = "private"
range = [0, 100]
step = 1

[columns.city]
kind = "private"
values = ["north", "south"]

[columns.born]
kind = "private"
range = [2000-01-01, 2020-12-31]
"""
TABLE = {
    "age": [30, 40, 50, 61, 7],
    "city": ["north", "south", "south", "north", "north"],
    "born": ["2001-05-01", "2002-05-01", "2003-05-01", "2004-05-01", "2010-05-01"],
}


@pytest.fixture
def hosted(tmp_path_factory):
    """A service on a free port, with accounts of 24 bits and of 1; and an agent beside it."""
    import datetime as dt

    import pyarrow as pa

    folder = tmp_path_factory.mktemp("service")
    (folder / "people.toml").write_text(SCHEMA)
    (folder / "config.toml").write_text(
        '[service]\nledger = "ledger.db"\nlisten = "127.0.0.1:0"\nquestion_seconds = 100\n'
        '[datasets.people]\nschema = "people.toml"\n'
        "[limits]\nasks_per_minute = 100000\nprices_per_minute = 100000\n"
    )
    dates = [dt.date.fromisoformat(text) for text in TABLE["born"]]
    table = pa.table(TABLE | {"born": dates})
    agent = Agent(table, folder / "people.toml", ledger=folder / "ledger.db", budget=48)
    agent.allow("ana", 24)
    agent.allow("ben", 1)
    with open_accounts(str(folder / "ledger.db")) as accounts:
        accounts.first_owner()
        accounts.add("ana", "analyst", by="owner")
        accounts.grant("ana", "people", by="owner")
        token = accounts.issue_token("ana", scopes="ask", by="owner")
        prices = accounts.issue_token("ana", scopes="price", by="owner")
        repeats = accounts.issue_token("ana", scopes="repeat", by="owner")
        accounts.add("ben", "analyst", by="owner")
        accounts.grant("ben", "people", by="owner")
        small = accounts.issue_token("ben", scopes="ask", by="owner")
    with serving(create_app(read_settings(folder / "config.toml"))) as url:
        yield SimpleNamespace(
            url=url,
            token=token.text,
            price_token=prices.text,
            repeat_token=repeats.text,
            small_token=small.text,
            agent=agent,
            ledger=folder / "ledger.db",
            table=table,
            schema=folder / "people.toml",
        )
    agent.close()


@pytest.fixture
def people(hosted):
    """The dataset as an analyst's client sees it."""
    with connect(hosted.url, token=hosted.token) as remote:
        yield remote


@pytest.fixture
def beside(hosted, tmp_path):
    """An agent over the same table with a ledger of its own and the same allowance."""
    path = tmp_path / "ledger.db"
    with (
        open_ledger(path) as ledger,
        Agent(
            hosted.table, hosted.schema, ledger=ledger, budget=48, place=str(tmp_path / "c.duckdb")
        ) as agent,
    ):
        agent.allow("ana", 24)
        yield agent
