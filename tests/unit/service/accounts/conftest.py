"""The stores that accounts are kept in, a clock that tests move, and processes that use them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hartley import open_ledger
from hartley.service.accounts import Accounts

DRIVER = Path(__file__).with_name("accounts_driver.py")


class Hands:
    """A clock and a stop-watch that stand still until a test moves them."""

    def __init__(self):
        self.time, self.seconds = datetime(2026, 3, 1, 9, 30, tzinfo=UTC), 0.0

    def clock(self):
        return self.time

    def steady(self):
        return self.seconds

    def move(self, **parts):
        step = timedelta(**parts)
        self.time += step
        self.seconds += step.total_seconds()


@pytest.fixture
def hands():
    return Hands()


@pytest.fixture
def address(place):
    return place.fresh()


@pytest.fixture
def accounts(address, hands):
    """Accounts of a fresh service with an owner and an analyst, and a clock that stands still."""
    with open_ledger(address) as ledger:
        opened = Accounts(ledger, clock=hands.clock, steady=hands.steady)
        opened.add("owner", "owner", by="test")
        opened.add("ana", "analyst", by="owner")
        yield opened


@pytest.fixture
def token(accounts):
    return accounts.issue_token("ana", scopes="ask", by="owner")


@pytest.fixture
def other_worker(accounts, address, hands):
    """The same accounts as another process has them open: nothing is shared but the database."""
    del accounts
    with open_ledger(address) as ledger:
        yield Accounts(ledger, clock=hands.clock, steady=hands.steady)


@pytest.fixture
def drive():
    """Run processes against one address: drive(mode, address, **settings) -> what they saw."""

    def run(mode, address, **settings):
        words = [sys.executable, str(DRIVER), mode, address, json.dumps(settings)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=400)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
