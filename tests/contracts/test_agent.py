"""The same agent on every engine: bit-identical answers, prices and charges."""

# ruff: noqa: S608 - texts of questions
# ruff: noqa: S311 - random tables, not secrets

from __future__ import annotations

import datetime as dt
import random
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from hartley import Agent, Wish, open_table
from hartley.agent.replay import verify_prices
from hartley.engines.coded_table import holds_copy
from hartley.errors import InputError, Refused
from hartley.trusted.data import place_of

pytestmark = pytest.mark.needs("keeps_copies")

SCHEMA = {
    "table": {"name": "people"},
    "columns": {
        "age": {"kind": "private", "range": [18, 90], "step": 1},
        "height": {"kind": "private", "range": [150, 200], "step": 0.5, "nullable": True},
        "score": {"kind": "private", "range": ["-1/3", "5/3"], "step": "1/3", "nullable": True},
        "pay": {"kind": "private", "range": [0, 100], "step": 0.01, "nullable": True},
        "town": {"kind": "private", "values": ["Aa", "ä", "it's"], "other": True, "nullable": True},
        "day": {"kind": "private", "range": ["2000-01-01", "2024-12-31"], "nullable": True},
        "smokes": {"kind": "open", "values": [True, False], "nullable": True},
        "area": {"kind": "public", "values": ["north", "south", "west"]},
    },
}
ROWS = 240


@cache
def source(seed: int = 5, rows: int = ROWS) -> pa.Table:
    """Values between grid points, outside the ranges, missing and tied."""
    order = random.Random(seed)

    def drawn(values: list[Any], missing: float = 0.15) -> list[Any]:
        return [None if order.random() < missing else order.choice(values) for _ in range(rows)]

    halves = [150 + k / 4 for k in range(200)]  # every second one lies between two points
    thirds = [-0.5, -1 / 6, 0.0, 1 / 6, 1 / 3, 0.5, 5 / 6, 1.5, 1.6666666666666667, 7.0]
    days = [dt.date(1999, 5, 5), dt.date(2000, 1, 1), dt.date(2024, 2, 29), dt.date(2030, 1, 1)]
    return pa.table(
        {
            "age": pa.array(drawn(list(range(10, 95)), 0), pa.int64()),
            "height": pa.array(drawn([*halves, 12.5, 1e300, -1e300, float("nan")]), pa.float64()),
            "score": pa.array(drawn(thirds), pa.float64()),
            "pay": pa.array(drawn([k / 1000 for k in range(0, 120_000, 317)]), pa.float64()),
            "town": pa.array(drawn(["Aa", "aa", "ä", "it's", "", "zz"]), pa.string()),
            "day": pa.array(drawn(days), pa.date32()),
            "smokes": pa.array(drawn([True, False]), pa.bool_()),
            "area": pa.array(drawn(["north", "south"], 0), pa.string()),
        }
    )


NUMBERS = ("age", "height", "score", "pay", "age - 2 * height", "height / 2 + 3 * score")
FILTERS = (
    "height >= 170.25 OR town = 'ä'",
    "NOT (age < 40 AND score > 0)",
    "town IS NULL OR smokes",
    "day BETWEEN DATE '2000-01-01' AND DATE '2024-02-29' AND area <> 'north'",
    "pay IN (0, 12.68, 0.32) OR height IS NULL",
    "age > 90",
)


def questions() -> list[list[Wish]]:
    """Return batches of every kind of question, each told exactly or coarsely."""
    exact, coarse = {"error": 0}, {"bits": 5}
    several = "SUM({0}), AVG({0}), MIN({0}), MAX({0}), MEDIAN({0}), QUANTILE({0}, 2/3)"
    spread = "VAR_POP({0}), VAR_SAMP({0}), STDDEV({0})"
    spelled = [
        *((f"SELECT {several.format(form)} FROM people", coarse) for form in NUMBERS),
        *((f"SELECT {spread.format(form)} FROM people", {"bits": 9}) for form in NUMBERS),
        *(
            (f"SELECT COUNT(*), SUM(height), MIN(pay) FROM people WHERE {w}", exact)
            for w in FILTERS
        ),
        *((f"SELECT MEDIAN(score), AVG(age) FROM people WHERE {w}", coarse) for w in FILTERS),
        ("SELECT COUNT(*), AVG(age), MAX(height) FROM people GROUP BY town", {"bits": 8}),
        ("SELECT COUNT(*), SUM(pay) FROM people GROUP BY smokes, area", {"bits": 8}),
        ("SELECT COUNT(*), MEDIAN(pay) FROM people GROUP BY FLOOR(age / 20)", {"bits": 8}),
        ("SELECT BIN(height, 10), COUNT(*) FROM people GROUP BY BIN(height, 10)", {"bits": 8}),
        ("SELECT MIN(day), MAX(day), QUANTILE(day, 0.25) FROM people WHERE age > 30", exact),
        ("SELECT AVG(age) FROM people WHERE area = 'south'", {"error": 0.5}),
        ("SELECT VAR_POP(height), SUM(age + pay) FROM people GROUP BY area", coarse),
    ]
    wishes = [Wish(text, **wish) for text, wish in spelled]
    return [wishes[start : start + 12] for start in range(0, len(wishes), 12)]


def transcript(agent: Agent) -> list[Any]:
    """Ask everything; return all that is told and all that is charged."""
    told: list[Any] = []
    for batch in questions():
        quoted, answers = agent.price(batch), agent.ask(batch)
        told += [quoted, answers.bits, *(answer.reading for answer in answers)]
    charges = [(charge.questions, charge.answers, charge.cells) for charge in agent.history()]
    return [*told, charges, agent.spent]


@pytest.fixture(scope="session")
def expected(embedded: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What the embedded engine tells."""
    path = tmp_path_factory.mktemp("agent") / "ledger.db"
    held = embedded.load("agent_people", source())
    with Agent(held, SCHEMA, ledger=path, budget=5000) as agent:
        return transcript(agent)


def test_every_answer_price_and_charge_is_the_same_on_every_engine(engine, expected, tmp_path):
    held = engine.load("agent_people", source())
    place = engine.place("agent_copy", tmp_path)
    with Agent(held, SCHEMA, ledger=tmp_path / "l.db", budget=5000, place=place) as agent:
        assert agent.trusted.data.coded.dialect is engine.dialect
        found = transcript(agent)
        for one, other in zip(found, expected, strict=True):
            assert one == other
        report = verify_prices(agent.ledger)
        assert report.holds, report.problem
        assert report.unpriced == 0
        batches = len(agent.history())
    with Agent(held, SCHEMA, ledger=tmp_path / "l.db", place=place) as agent:
        for batch in questions():
            assert agent.ask(batch).bits == 0
        again = agent.ask("SELECT SUM(age) FROM people WHERE score <= 1/3", error=0)
        assert len(agent.history()) == batches + 1
        ages = zip(source()["age"].to_pylist(), source()["score"].to_pylist(), strict=True)
        # 1/2 lies between the points 1/3 and 2/3, and goes up.
        kept = [min(max(a, 18), 90) for a, s in ages if s is not None and s < 0.5]
        assert again.value == sum(kept)


def test_new_data_replace_the_old_copy_on_every_engine(engine, tmp_path):
    held = engine.load("agent_people", source())
    few = engine.load("agent_few", source(6, 30))
    place = engine.place("agent_update", tmp_path, -1)
    ledger = tmp_path / "ledger.db"
    with Agent(held, SCHEMA, ledger=ledger, budget=90, place=place) as agent:
        first = agent.trusted.data.coded.version
        agent.update(few)
        second = agent.trusted.data.coded.version
        assert agent.ask("SELECT COUNT(*) FROM people").value == 30
    near = open_table(held)
    assert not holds_copy(place_of(place, first, near), near)
    assert holds_copy(place_of(place, second, near), near)
    with Agent(few, SCHEMA, ledger=ledger, place=place) as agent:
        assert agent.ask("SELECT COUNT(*) FROM people").bits == 0
    with pytest.raises(InputError, match="differs from the one"):
        Agent(held, SCHEMA, ledger=ledger, place=place)


def test_a_copy_that_the_ledger_refuses_does_not_stay(engine, tmp_path):
    held = engine.load("agent_people", source())
    place = engine.place("agent_refused", tmp_path)
    with Agent(held, SCHEMA, ledger=tmp_path / "l.db", budget=2, place=place) as agent:
        before = agent.ledger.head()
        with pytest.raises(Refused):
            agent.update(held)  # the open column costs 1.6 bits a version
        assert agent.ledger.head() == before
        assert agent.ask("SELECT COUNT(*) FROM people").value == ROWS
    names = list_copies(engine, held, tmp_path)
    assert len([name for name in names if "agent_refused" in name and "about" not in name]) == 1


def list_copies(engine: Any, held: Any, folder: Any) -> list[str]:
    if engine.dialect.copies_are_files:
        return [path.name for path in folder.iterdir()]
    return [str(name) for name in open_table(held).backend.list_tables()]
