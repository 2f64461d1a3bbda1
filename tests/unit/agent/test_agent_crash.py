"""Agents that are killed while they ask, or while their data are replaced."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("agent_driver.py")


def drive(mode, address, **settings):
    words = [sys.executable, str(DRIVER), mode, str(address), json.dumps(settings)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "seed"), [(30, 1000), pytest.param(200, 2000, marks=pytest.mark.long)]
)
def test_nothing_is_lost_or_charged_twice_when_asking_is_killed(tmp_path, kills, seed):
    outcome = drive("killed", tmp_path / "ledger.db", rounds=kills, seed=seed)
    assert outcome["problem"] is None
    assert outcome["kills"] == kills
    assert outcome["pending"] > kills / 20, "some are killed between the charge and the answer"
    assert outcome["shown"] > kills / 2
    assert outcome["charges"] > kills / 4


@pytest.mark.slow
def test_a_version_is_there_whole_or_not_at_all_when_replacing_is_killed(tmp_path):
    found = drive("replaced", tmp_path / "ledger.db", rounds=6, seed=3000)
    assert found["problem"] is None
    assert found["versions"] > 0
    left = [path.name for path in tmp_path.iterdir() if path.suffix == ".duckdb"]
    assert left
