"""An engine is refused by its version or by the first probe that it answers wrongly."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace

import duckdb
import ibis
import pytest

from hartley import open_table
from hartley.engines import duckdb as embedded, probes
from hartley.engines.registry import EMBEDDED
from hartley.errors import EngineError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def untried(monkeypatch):
    """Make the installed DuckDB one that was never tried."""
    monkeypatch.setattr(embedded, "FIRST_UNTRIED", (1, 4))
    embedded._require_tried_library.cache_clear()
    yield
    embedded._require_tried_library.cache_clear()


def test_the_tried_versions_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert embedded.tried_versions() in project["dependencies"]


@pytest.mark.parametrize("version", ["1.3.9", "1.5.0", "1.5.5", "2.0.0", "0.10.3"])
def test_an_untried_version_is_refused_by_name(monkeypatch, version):
    monkeypatch.setattr(duckdb, "__version__", version)
    with pytest.raises(EngineError, match=rf"DuckDB {version} is not one of .*; hint: pip install"):
        probes.require_tried(EMBEDDED, ibis.duckdb.connect())


@pytest.mark.parametrize("version", ["1.4.0", "1.4.5", "1.4.6.dev3"])
def test_a_tried_version_is_not(monkeypatch, version):
    monkeypatch.setattr(duckdb, "__version__", version)
    probes.require_tried(EMBEDDED, ibis.duckdb.connect())


@pytest.mark.usefixtures("untried")
def test_every_way_to_the_embedded_engine_looks_at_its_version(tmp_path):
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age")
    ways = [
        EMBEDDED.open,
        lambda: open_table({"age": [1]}),
        lambda: open_table(str(tmp_path / "people.duckdb")),
        lambda: open_table(ibis.duckdb.connect(str(tmp_path / "people.duckdb")).table("people")),
    ]
    for way in ways:
        with pytest.raises(EngineError, match="not one of the versions"):
            way()


def test_a_connection_whose_settings_change_answers_is_refused_by_the_probe():
    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE people AS SELECT 'a' AS name")
    backend.con.execute("SET default_collation = 'nocase'")
    with pytest.raises(EngineError, match=r"DuckDB .* fails the probe 'different texts differ'"):
        open_table(backend.table("people"))
    backend.con.execute("RESET default_collation")
    assert open_table(backend.table("people")).columns == ("name",)


def test_every_probe_holds_and_each_can_fail(monkeypatch):
    backend = ibis.duckdb.connect()
    asked = probes.probe_engine(EMBEDDED, backend)
    assert all(probe.holds for probe in asked)
    assert len({probe.name for probe in asked}) == len(asked)
    right = [probe.answer for probe in asked]
    for i, probe in enumerate(asked):
        for wrong in (right[i] + 1, None):
            answers = [*right[:i], wrong, *right[i + 1 :]]
            monkeypatch.setattr(EMBEDDED, "fetch_row", lambda *_, answers=answers: answers)
            with pytest.raises(EngineError, match=f"fails the probe '{probe.name}'"):
                probes.require_tried(EMBEDDED, SimpleNamespace(con=None))


def test_a_connection_is_probed_once(monkeypatch):
    backend = ibis.duckdb.connect()
    probes.require_tried(EMBEDDED, backend)
    monkeypatch.setattr(probes, "probe_engine", lambda *_: pytest.fail("probed again"))
    probes.require_tried(EMBEDDED, backend)


def test_an_address_of_nothing_is_refused(tmp_path):
    with pytest.raises(Exception, match="There is no file"):
        EMBEDDED.connect(str(tmp_path / "none.duckdb"))
