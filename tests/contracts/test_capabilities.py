"""What an engine can do works on it, and what it cannot do is refused by name."""

from __future__ import annotations

import re

import ibis
import polars as pl
import pyarrow as pa
import pytest

from hartley import Agent, Schema, open_table
from hartley.engines.coded_table import code_table, holds_copy, open_coded
from hartley.engines.probes import probe_engine, require_tried
from hartley.engines.registry import DIALECTS, dialect_of
from hartley.errors import EngineError, OptionError

SCHEMA = {
    "table": {"name": "people"},
    "columns": {"age": {"kind": "private", "range": [0, 100], "step": 1}},
}
PEOPLE = pa.table({"age": pa.array([30, 40, 50], pa.int64())})


def test_every_listed_dialect_is_under_contract(listed):
    assert {one.dialect for one in listed} == set(DIALECTS)


def test_a_table_knows_its_dialect_and_every_probe_holds(engine):
    table = open_table(engine.load("capable_people", PEOPLE))
    assert table.dialect is dialect_of(table.backend) is engine.dialect
    assert [probe for probe in probe_engine(table.dialect, table.backend) if not probe.holds] == []
    assert re.fullmatch(
        rf"{engine.dialect.title} \d+\.\d+.*", engine.dialect.describe(table.backend)
    )


def test_an_engine_that_fails_a_probe_is_refused_by_name_and_version(engine, monkeypatch):
    backend = open_table(engine.load("capable_people", PEOPLE)).backend
    probes = probe_engine(engine.dialect, backend)
    wrong = [probes[0].__class__(probes[0].name, probes[0].expected, 0), *probes[1:]]
    monkeypatch.setattr("hartley.engines.probes.probe_engine", lambda *_: wrong)
    backend.hartley_probed = False
    try:
        with pytest.raises(EngineError, match=rf"{engine.dialect.title} .* 'sums beyond 64 bits'"):
            require_tried(engine.dialect, backend)
    finally:
        backend.hartley_probed = True


@pytest.mark.needs("keeps_copies")
def test_an_engine_that_keeps_copies_has_places_for_them(engine):
    assert engine.listed.places


@pytest.mark.lacks("keeps_copies")
def test_an_engine_without_copies_refuses_an_agent_and_copies_by_name(engine, tmp_path):
    held = engine.load("capable_people", PEOPLE)
    codings, table = Schema.read(SCHEMA).codings, open_table(held)
    refused = rf"The engine {engine.dialect.title} keeps no coded copies.*; hint: pass the data"
    asked = [
        lambda: Agent(held, SCHEMA, ledger=tmp_path / "ledger.db", budget=9),
        lambda: Agent(held, SCHEMA, ledger=tmp_path / "ledger.db", budget=9, place="people"),
        lambda: code_table(table, codings),
        lambda: code_table(table, codings, place=tmp_path / "copy.duckdb"),
        lambda: open_coded("people", codings, near=table),
        lambda: holds_copy("people", table),
    ]
    for ask in asked:
        with pytest.raises(EngineError, match=refused):
            ask()
    assert not (tmp_path / "copy.duckdb").exists()


@pytest.mark.needs("holds_frames")
def test_a_frame_is_held_where_it_was_asked_for(engine):
    frame = pl.DataFrame({"age": [30, 40]})
    for source in (frame, frame.lazy(), frame.to_arrow(), frame.to_pandas(), {"age": [30, 40]}):
        table = open_table(source, engine=engine.dialect.name)
        assert table.dialect is engine.dialect
        assert table.expression.to_pyarrow().to_pydict() == {"age": [30, 40]}


@pytest.mark.lacks("holds_frames")
def test_a_frame_is_refused_by_an_engine_that_holds_none(engine):
    with pytest.raises(OptionError, match=f"'{engine.dialect.name}' holds no data frames.*polars"):
        open_table({"age": [30]}, engine=engine.dialect.name)


def test_an_engine_cannot_be_named_for_what_has_one(engine):
    with pytest.raises(OptionError, match="'polars' was named for a source that is no data frame"):
        open_table(engine.load("capable_people", PEOPLE), engine="polars")


def test_an_engine_that_is_not_listed_is_refused_with_those_that_are(tmp_path):
    backend = ibis.sqlite.connect()
    backend.con.execute("CREATE TABLE people (age INTEGER)")
    listed = "DuckDB, PostgreSQL, Spark and Polars"
    for use in (
        open_table,
        lambda table: Agent(table, SCHEMA, ledger=tmp_path / "ledger.db", budget=1),
    ):
        with pytest.raises(EngineError, match=rf"The engine sqlite is not .*; hint: .*{listed}"):
            use(backend.table("people"))
    backend.disconnect()
