"""The table that agents are asked about, its schema, and an engine that can be made to fail."""

from __future__ import annotations

import pytest

from hartley import Agent
from hartley.engines.dialect import Store
from hartley.trusted.cells import cell_of, read_cells


def read(selection, totals):
    """Turn the totals of a selection's questions into intervals, through their cells."""
    return read_cells(selection, list(map(cell_of, selection.questions, totals)))


@pytest.fixture
def people():
    """Ten people: values on the schema's steps, beside them, outside of the range, and missing."""
    return {
        "age": [0, 10, 20, 30, 40, 50, 60, 70, 80, 90],
        "pay": [None, 1.0, 1.25, 2.5, 4.0, 0.0, 9.0, None, 3.0, 2.0],
        "sex": list("FMFMFMFMFM"),
        "area": ["north", "north", "south", "south", "south"] * 2,
    }


@pytest.fixture
def schema():
    """Private, open and public columns; the open one costs one bit."""
    return {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 1},
            "pay": {"kind": "private", "range": [0, 4], "step": 0.5, "nullable": True},
            "sex": {"kind": "open", "values": ["F", "M"]},
            "area": {"kind": "public", "values": ["north", "south", "west"]},
        },
    }


@pytest.fixture
def with_columns(schema):
    """Declare some columns otherwise: with_columns(age={...}) -> a schema."""
    return lambda **changed: {**schema, "columns": {**schema["columns"], **changed}}


@pytest.fixture
def ledger(tmp_path):
    """Where a ledger may be made."""
    return tmp_path / "ledger.db"


@pytest.fixture
def agent(people, schema, ledger):
    """An agent with a budget of 12 bits, of which the open column has taken one."""
    with Agent(people, schema, ledger=ledger, budget=12) as opened:
        yield opened


class Failing(Store):
    """A store that cannot be read for a while."""

    def __init__(self, store, times, error=None):
        self.dialect, self.relation = store.dialect, store.relation
        self.store, self.times = store, times
        self.error = error or RuntimeError("the secret is 4711")

    def fetch(self, text):
        if self.times:
            self.times -= 1
            raise self.error
        return self.store.fetch(text)

    def close(self):
        self.store.close()


@pytest.fixture
def let_fail():
    """Let the engine of an agent fail: let_fail(agent, times, error=...) -> the failing store."""

    def replace(agent, times, **error):
        failing = Failing(agent.trusted.data.coded.store, times, **error)
        object.__setattr__(agent.trusted.data.coded, "store", failing)
        return failing

    return replace
