"""Coded copies on every engine: compared, known again, and removed when a crash left them."""

# ruff: noqa: S608 - our own names

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hartley.agent.agent import Agent
from hartley.agent.ledger import open_ledger
from hartley.engines.coded import digests
from hartley.engines.coded.copying import (
    CopyJob,
    code_table,
    drop_copy,
    holds_copy,
    holds_rows_of,
    ledger_of,
    marks_at,
    place_of,
)
from hartley.engines.coded.digests import Owner, read_sums
from hartley.engines.dialects.spark import part_of_copy, session_of
from hartley.engines.tables.sources import open_table
from hartley.errors import EngineError, InputError
from hartley.ranges.schema.schema import Schema

pytestmark = pytest.mark.needs("keeps_copies")

SCHEMA = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 1, "nullable": True},
            "area": {"kind": "public", "values": ["north", "south"]},
        },
    }
)
PEOPLE = pa.table(
    {
        "age": pa.array([30, 40, None, 50, 60, 60, 0, 100], pa.int64()),
        "area": pa.array(["north", "south"] * 4, pa.string()),
    }
)
COUNT = "SELECT COUNT(*) FROM people WHERE age >= 50"


@pytest.fixture
def held(engine: Any) -> Any:
    return engine.load("copies_people", PEOPLE)


@pytest.fixture
def place(engine: Any, kind_of_place: int, tmp_path: Any) -> str:
    """A place of its own on the engine, of every kind that it has: on Spark a table, a folder."""
    return engine.place(f"copies_{secrets.token_hex(4)}", tmp_path, kind_of_place)


def tamper(engine: Any, near: Any, copy: str) -> None:
    """Change one code behind the agent's back; the number of rows stays."""
    if engine.name == "duckdb":
        import duckdb

        with duckdb.connect(copy) as connection:
            connection.execute("UPDATE coded SET c1 = 1 - c1 WHERE c0 = 30")
    elif engine.name == "postgres":
        with near.backend.con.transaction():
            near.backend.con.execute(f"UPDATE {copy} SET c1 = 1 - c1 WHERE c0 = 30")
    else:
        session = session_of(near.backend)
        rows = part_of_copy(session, copy, "rows").toPandas()
        rows.loc[rows["c0"] == 30, "c1"] = 1 - rows["c1"]
        changed = session.createDataFrame(rows.astype(object).where(rows.notna(), None))
        if "/" in copy:
            changed.write.parquet(f"{copy}/rows", mode="overwrite")
        else:
            changed.write.saveAsTable(copy, format="parquet", mode="overwrite")


def test_a_changed_copy_is_refused(engine, held, place, tmp_path):
    ledger, near = tmp_path / "ledger.db", open_table(held)
    with Agent(held, SCHEMA, ledger=ledger, budget=9, place=place) as agent:
        version = agent._held.coded.version
        assert agent.ask(COUNT).value == 4
    copy = Path(place_of(place, version, near))
    if copy.exists():  # a file or a folder, which only its owner may enter
        assert copy.stat().st_mode & 0o077 == 0
    Agent(held, SCHEMA, ledger=ledger, place=place).close()
    digests._digests.clear()  # as in a process that was started anew
    tamper(engine, near, place_of(place, version, near))
    with pytest.raises(InputError, match=r"changed after it was made, .*; hint: .*--update"):
        Agent(held, SCHEMA, ledger=ledger, place=place)
    with Agent(held, SCHEMA, ledger=ledger, place=place, update=True) as agent:
        assert agent.ask(COUNT).value == 4


def test_a_copy_on_another_engine_is_compared_row_by_row(held, tmp_path, monkeypatch):
    """The sums of both engines are the same numbers; a broken stream between them is refused."""
    near = open_table(held)
    copy = code_table(near, SCHEMA.codings, place=tmp_path / "copy.duckdb")
    assert holds_rows_of(copy, near, thorough=True)
    copy.close()
    monkeypatch.setattr(CopyJob, "sums_of", lambda *_: read_sums([8, 1, 2]))
    job = CopyJob(near, None, SCHEMA.codings)
    job.compare([8, 1, 2], copy.store)
    with pytest.raises(EngineError, match="does not hold the rows"):
        job.compare([8, 1, 1], copy.store)
    with pytest.raises(EngineError, match="does not hold the rows"):
        code_table(near, SCHEMA.codings, place=tmp_path / "other.duckdb")
    assert not (tmp_path / "other.duckdb").exists()


def test_a_copy_that_came_out_wrong_is_not_left_behind(held, place, monkeypatch):
    near = open_table(held)
    monkeypatch.setattr(CopyJob, "sums_of", lambda *_: read_sums([8, 1, 1]))
    with pytest.raises(EngineError, match="does not hold the rows"):
        code_table(near, SCHEMA.codings, place=place_of(place, "ab" * 16, near))
    assert marks_at(place, near) == set()


def test_what_a_crash_has_left_is_removed_and_nothing_else(held, place, tmp_path):
    path, near = tmp_path / "ledger.db", open_table(held)
    with open_ledger(path) as ledger:
        secret = ledger.secret()
    mine = Owner(secret.ledger, secret.key)
    other = Owner("0123456789abcdef", secret.key)
    copies = {}
    with Agent(held, SCHEMA, ledger=path, budget=9, place=place) as agent:
        present = place_of(place, agent._held.coded.version, near)
        for name, owner in {"lost": mine, "another's": other, "nobody's": None}.items():
            version = secrets.token_hex(16)
            copies[name] = place_of(place, version, near)
            code_table(
                near, SCHEMA.codings, place=copies[name], version=version, owner=owner
            ).close()
        assert ledger_of(copies["lost"], near) == ledger_of(present, near) == secret.ledger
        assert ledger_of(copies["nobody's"], near) is None
        assert len(marks_at(place, near)) == 4
        with agent.ledger.making():  # somebody is at it: perhaps this is what is being made
            Agent(held, SCHEMA, ledger=path, place=place).close()
        assert len(marks_at(place, near)) == 4
    with Agent(held, SCHEMA, ledger=path, place=place) as agent:
        assert agent.ask(COUNT).value == 4
    assert not holds_copy(copies["lost"], near)
    assert all(holds_copy(copies[name], near) for name in ("another's", "nobody's"))
    assert holds_copy(present, near)
    for copy in (present, copies["another's"], copies["nobody's"]):
        drop_copy(copy, near)


def test_a_copy_without_a_digest_is_compared_with_the_table_once(engine, held, place, tmp_path):
    path = tmp_path / "ledger.db"
    with Agent(held, SCHEMA, ledger=path, budget=9, place=place) as agent:
        version = agent._held.coded.version
        forget = f"DELETE FROM hartley_private WHERE name = 'copy {version}'"
        agent.ledger._store.write(lambda t: t.run(forget, ()))
    if engine.dialect.copies_are_files:
        with pytest.raises(InputError, match=r"no digest .*; hint: pass the table once"):
            Agent(None, SCHEMA, ledger=path, place=place)
    changed = PEOPLE.set_column(0, "age", pa.array([31, 39, None, 50, 60, 60, 0, 100], pa.int64()))
    other = engine.load("copies_changed", changed)
    with pytest.raises(InputError, match="differs from the one its coded copy was made from"):
        Agent(other, SCHEMA, ledger=path, place=place)
    with Agent(held, SCHEMA, ledger=path, place=place) as agent:
        assert agent.ledger.copy_digest(version) == agent._held.coded.digest
        assert agent.ask(COUNT).value == 4
