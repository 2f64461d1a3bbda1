"""What the tests of rooms share: columns held and released on the embedded engine."""

from __future__ import annotations

import tempfile

import pyarrow as pa
import pytest

from hartley.engines.registry import EMBEDDED
from hartley.engines.table import Table
from hartley.tables.column_map import apply_map


@pytest.fixture(scope="session")
def hold():
    """Hold columns as a table: ``hold(x=[1.0])``; one connection for all, one table at a time."""
    backend = EMBEDDED.open()

    def put(**columns):
        backend.con.register("held", pa.table(columns))
        return Table(backend.table("held"), "the table")

    yield put
    backend.disconnect()


@pytest.fixture(scope="session")
def released(hold):
    """Release columns by rules: ``released([Keep("x")], x=[1.0])``."""

    def release(rules, *, ranges=None, **columns):
        mapped = apply_map(hold(**columns), rules, ranges=ranges)
        return mapped.expression.to_pyarrow().to_pydict()

    return release


@pytest.fixture
def copies(tmp_path_factory, monkeypatch):
    """List the copies that reading leaves behind, in a folder that no other process uses."""
    folder = tmp_path_factory.mktemp("copies")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return lambda: sorted(folder.glob(".hartley-copy.*"))
