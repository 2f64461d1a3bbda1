"""What the engine tests share: values that no message may repeat, and the search for them."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager

import pyarrow as pa
import pytest

from hartley.engines.registry import EMBEDDED
from hartley.engines.table import Table
from hartley.tables.column_map import apply_map

NUMBER = 987_654_321


@pytest.fixture(scope="session")
def refused():
    """Expect a well-said refusal: ``with refused(ColumnError, "'age'", "people.csv"): ...``.

    The message is one line, names the culprit, carries a hint and repeats no planted value; and
    no other exception hides behind it whose words might.
    """

    @contextmanager
    def expect(kind, *named):
        with pytest.raises(kind) as caught:
            yield caught
        message = str(caught.value)
        assert type(caught.value) is kind
        assert re.fullmatch(r"[^\n\r]+; hint: [^\n\r]+", message)
        for planted in ("SECRET-7741", "SECRET", "7741", str(NUMBER), "9.87654321", f"{NUMBER:,}"):
            assert planted not in message
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        for name in named:
            assert name in message

    return expect


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
