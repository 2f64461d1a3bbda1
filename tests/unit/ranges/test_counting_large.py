"""Large tables are tallied in two ways that agree, and nothing is left behind on the engine."""

from __future__ import annotations

import numpy as np
import pytest

from hartley import open_table
from hartley.errors import EngineError
from hartley.ranges.counting import tally_pairs
from hartley.tables import counts as counting
from hartley.tables.view import prepare


@pytest.fixture
def view():
    random = np.random.default_rng(11)
    columns = {
        "text": random.choice(["x", "y", "z"], 500).tolist(),
        "number": random.integers(-5, 5, 500).tolist(),
        "real": random.choice([0.5, -0.0, 0.0, 2.5], 500).tolist(),
    }
    return prepare(open_table(columns), ["text", "number", "real"])


def settings_of(view):
    (limit,) = view.table.backend.con.execute("SELECT current_setting('memory_limit')").fetchone()
    return limit, sorted(view.table.backend.list_tables())


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 1])
def test_tables_and_settings_of_the_engine_are_left_as_they_were(view, limit):
    before = settings_of(view)
    tally = tally_pairs(view, [0], [1, 2], memory_limit=limit)
    assert tally.spilled == (limit is not None)
    assert settings_of(view) == before


@pytest.mark.parametrize("limit", [None, 1])
def test_tables_and_settings_are_put_back_after_a_failure(view, limit, monkeypatch):
    before = settings_of(view)

    def fail(*_: object) -> None:
        raise RuntimeError("SECRET-7741")

    monkeypatch.setattr(counting, "_stream", fail)
    with pytest.raises(EngineError, match=r"^[^7]*; hint: "):
        tally_pairs(view, [0], [1, 2], memory_limit=limit)
    assert settings_of(view) == before


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_progress_rises_to_one_however_the_rows_are_cut(view, limit, batch, monkeypatch):
    monkeypatch.setattr(counting, "BATCH", batch)
    told: list[float] = []
    tally_pairs(view, [0], [1], memory_limit=limit, progress=told.append)
    assert told == sorted(told)
    assert 0 < told[0] <= told[-1] == 1.0


def test_both_ways_of_counting_agree(view):
    kernel = tally_pairs(view, [0, 2], [1]).tally
    engine = tally_pairs(view, [0, 2], [1], memory_limit=1).tally
    for name in ("secret_rows", "released_rows", "secrets_seen", "released_seen", "labels"):
        np.testing.assert_array_equal(getattr(kernel, name), getattr(engine, name))
    assert kernel.row_bits == pytest.approx(engine.row_bits, rel=1e-12)
    assert kernel.peak_share == pytest.approx(engine.peak_share, rel=1e-12)


def test_integers_spread_too_wide_are_numbered_by_the_engine(monkeypatch):
    view = prepare(open_table({"a": [0, 10**9, 5, 5], "b": [1, 2, 3, 4]}), ["a", "b"])
    tally = tally_pairs(view, [0], [1])
    assert (tally.secret.low, tally.secret.width) == (None, 3)
    assert (tally.released.low, tally.released.width) == (1, 4)
    monkeypatch.setattr(counting, "WIDEST_CODE", 3)
    assert tally_pairs(view, [0], [1]).released.low is None
