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
SEEDS = range(8_000_000, 8_000_006)
BUSY = (8_000_016,)
"""One world in which all people are told apart, with a refusal, a failure and a reopened agent."""


def holder(engine: Any, folder: Path) -> Any:
    """Return how an agent is given a table of the engine, and a place for its copy there."""

    def hold(table: Any, _: str) -> tuple[Any, dict[str, Any]]:
        number = next(NUMBER)
        # Ledgers of one world begin alike: in one folder, each would miss what others noted there.
        own = folder / f"{number}"
        own.mkdir()
        place = engine.place(f"transcripts_copy_{number}", own)
        return engine.load(f"transcripts_{number}", table), {"place": place}

    return hold


@pytest.mark.needs("keeps_copies")
def test_no_person_makes_more_transcripts_than_were_charged(engine, tmp_path):
    asked, seeds, secrets = 0, *((BUSY, 2) if engine.listed.slow else (SEEDS, 6))
    for seed in seeds:
        world = draw_world(seed, most=secrets)
        runs, problems = enumerate_world(world, hold=holder(engine, tmp_path), length=5)
        assert not problems, "\n".join(problems)
        asked += sum(step.questions for run in runs for step in run.steps)
    assert asked > 10 * len(seeds)
