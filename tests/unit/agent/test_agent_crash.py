"""Agents that are killed while they ask, or while their data are replaced."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("agent_driver.py")
KILLS = 100
SEEDS = (1000, 2000)


def drive(mode, address, **settings):
    words = [sys.executable, str(DRIVER), mode, str(address), json.dumps(settings)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_charged_twice_when_asking_is_killed(tmp_path, seed):
    found = drive("killed", tmp_path / "ledger.db", rounds=KILLS, seed=seed)
    assert found["problem"] is None
    assert found["kills"] == KILLS
    assert found["pending"] > KILLS / 20, "some are killed between the charge and the answer"
    assert found["shown"] > KILLS / 2
    assert found["charges"] > KILLS / 4


def test_asking_is_killed_200_times_in_all():
    assert KILLS * len(SEEDS) >= 200


def test_a_version_is_there_whole_or_not_at_all_when_replacing_is_killed(tmp_path):
    found = drive("replaced", tmp_path / "ledger.db", rounds=6, seed=3000)
    assert found["problem"] is None
    assert found["versions"] > 0
    left = [path.name for path in tmp_path.iterdir() if path.suffix == ".duckdb"]
    assert left
