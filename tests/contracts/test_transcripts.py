"""Whole agents on every engine: transcripts counted, intervals compared with the plain truth."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "theorems"))

from transcripts import enumerate_world
from worlds import draw_world

NUMBER = count()


def holder(engine: Any, folder: Path) -> Any:
    """Return how an agent is given a table of the engine, and a place for its copy there."""

    def hold(table: Any, _: str) -> tuple[Any, dict[str, Any]]:
        number = next(NUMBER)
        place = {
            "duckdb": str(folder / f"copy_{number}.duckdb"),
            "postgres": f"public.transcripts_copy_{number}",
            "spark": f"transcripts_copy_{number}",
        }[engine.name]
        return engine.load(f"transcripts_{number}", table), {"place": place}

    return hold


@pytest.mark.parametrize("seed", [8_000_000, 8_000_001])
def test_no_person_makes_more_transcripts_than_were_charged(engine, seed, tmp_path):
    few = {"spark": 3, "postgres": 6, "duckdb": 6}[engine.name]
    world = draw_world(seed, most=few)
    runs, problems = enumerate_world(world, hold=holder(engine, tmp_path), length=5)
    assert not problems, "\n".join(problems)
    assert sum(len(run.nodes) for run in runs) > len(runs)
